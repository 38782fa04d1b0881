#include "watch_view.h"

#include "../array.h"
#include "../clock_host.h"
#include "../selection.h"

#include <stdlib.h>
#include <string.h>

/* A wave that is inside of its kernel. */
struct inside {
    const struct kt_wave *wave;
    const struct kt_event *last;     /* NULL: none */
    const struct kt_site *last_name; /* that the event goes by */
    size_t first_open;
    uint32_t open_count;
};

struct watch_memory {
    struct inside *inside; /* by launch, then alike ones beside each other */
    size_t inside_count;
    const struct kt_event **open; /* of all of them */
    size_t open_count, open_room;
};

/* ---- Time -------------------------------------------------------------------------------------------------------- */

/* A file can say anything: where that has no meaning, now is not known. */
static int find_now(struct watch_view *view)
{
    const struct ktrace_trace *trace = view->trace;
    const struct kt_snapshot *snapshot = trace->snapshot;
    const struct kt_device *device = &snapshot->devices[trace->timeline_device];
    struct kt_host_line line;
    int64_t behind_ns;
    if (snapshot->taken_ns == 0 || device->anchor_count == 0 || trace->wave_count == 0 ||
        snapshot->taken_ns > INT64_MAX || trace->origin_ns > INT64_MAX)
        return KTRACE_OK;
    const uint64_t first_ns =
        device->anchors[0].device_ns < trace->origin_ns ? device->anchors[0].device_ns : trace->origin_ns;
    const int status = kt_host_line_fit(&line, device, first_ns, trace->origin_ns);
    if (status < 0)
        return status;
    const uint64_t about_ns = snapshot->taken_ns - (uint64_t)kt_host_offset_ns(&line, trace->origin_ns);
    const uint64_t now_ns = snapshot->taken_ns - (uint64_t)kt_host_offset_ns(&line, about_ns);
    if (now_ns > INT64_MAX)
        return KTRACE_OK;
    behind_ns = (int64_t)now_ns - (int64_t)trace->origin_ns;
    view->now_known = !__builtin_mul_overflow(behind_ns, 1000, &view->now_ps);
    return KTRACE_OK;
}

double watch_age_ns(const struct watch_view *view, int64_t time_ps)
{
    if (!view->now_known)
        return -1;
    const double age_ns = ((double)view->now_ps - (double)time_ps) / 1000;
    return age_ns < 0 ? 0 : age_ns;
}

/* ---- Waves that are inside --------------------------------------------------------------------------------------- */

static int note_open(struct watch_memory *memory, struct inside *inside, const struct ktrace_trace *trace)
{
    const struct kt_event *events = &trace->events[inside->wave->first_event];
    inside->first_open = memory->open_count;
    for (uint32_t i = 0; i < inside->wave->event_count; i++) {
        if (!(events[i].flags & KT_EVENT_UNCLOSED))
            continue;
        const int status =
            kt_array_reserve(&memory->open, &memory->open_room, memory->open_count + 1, sizeof *memory->open);
        if (status < 0)
            return status;
        memory->open[memory->open_count++] = &events[i];
    }
    inside->open_count = (uint32_t)(memory->open_count - inside->first_open);
    return KTRACE_OK;
}

static int find_inside(struct watch_view *view)
{
    const struct ktrace_trace *trace = view->trace;
    struct watch_memory *memory = view->memory;
    memory->inside = kt_array_new((size_t)trace->waves_unfinished, sizeof *memory->inside);
    int status = memory->inside ? KTRACE_OK : KTRACE_ERROR_MEMORY;
    for (uint64_t i = 0; i < trace->wave_count && status == KTRACE_OK; i++) {
        const struct kt_wave *wave = &trace->waves[i];
        if (!wave->unfinished || memory->inside_count == trace->waves_unfinished)
            continue;
        struct inside *inside = &memory->inside[memory->inside_count++];
        *inside = (struct inside){.wave = wave};
        if (wave->event_count) {
            inside->last = &trace->events[wave->first_event + wave->event_count - 1];
            inside->last_name = kt_event_name_site(trace, wave, inside->last);
        }
        status = note_open(memory, inside, trace);
    }
    return status;
}

/* What comparing waves needs besides them: qsort has no place for it, and the command has one thread. */
static const struct watch_memory *comparing;

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* 0: they belong to one group. */
static int compare_groups(const struct inside *a, const struct inside *b)
{
    int order = compare_numbers(a->wave->launch, b->wave->launch);
    if (order == 0)
        order = compare_numbers(a->open_count, b->open_count);
    if (order == 0)
        order = compare_numbers(a->last == NULL, b->last == NULL);
    if (order == 0)
        order = compare_numbers(a->wave->slots_lost != 0, b->wave->slots_lost != 0);
    for (uint32_t i = 0; i < a->open_count && order == 0; i++) {
        const struct kt_site *one = comparing->open[a->first_open + i]->site;
        const struct kt_site *other = comparing->open[b->first_open + i]->site;
        order = one == other ? 0 : compare_numbers(one->kind, other->kind);
        if (order == 0 && one != other)
            order = strcmp(one->name, other->name);
    }
    if (order == 0 && a->last)
        order = compare_numbers(a->last->site->kind, b->last->site->kind);
    if (order == 0 && a->last && a->last_name != b->last_name)
        order = strcmp(a->last_name->name, b->last_name->name);
    return order;
}

static int by_group(const void *left, const void *right)
{
    const struct inside *a = left, *b = right;
    const int order = compare_groups(a, b);
    return order ? order : (a->wave > b->wave) - (a->wave < b->wave);
}

/* ---- Ranges of numbers ------------------------------------------------------------------------------------------- */

static int by_value(const void *left, const void *right)
{
    return compare_numbers(*(const uint64_t *)left, *(const uint64_t *)right);
}

/* Sorts `numbers`, which may repeat. */
static int make_ranges(struct watch_ranges *out, uint64_t *numbers, size_t count)
{
    out->ranges = kt_array_new(count, sizeof *out->ranges);
    if (!out->ranges)
        return KTRACE_ERROR_MEMORY;
    qsort(numbers, count, sizeof *numbers, by_value);
    for (size_t i = 0; i < count; i++) {
        struct watch_range *range = out->count ? &out->ranges[out->count - 1] : NULL;
        if (range && numbers[i] == range->last)
            continue;
        if (range && numbers[i] == range->last + 1)
            range->last++;
        else
            out->ranges[out->count++] = (struct watch_range){numbers[i], numbers[i]};
        out->numbers++;
    }
    return KTRACE_OK;
}

static uint64_t workgroup_number(const struct kt_launch *launch, const struct kt_wave *wave)
{
    return wave->workgroup[0] + launch->grid[0] * (wave->workgroup[1] + (uint64_t)launch->grid[1] * wave->workgroup[2]);
}

/* `members` are of one group. */
static int find_places(struct watch_group *group, const struct kt_launch *launch, const struct inside *members,
                       size_t count)
{
    uint64_t *numbers = kt_array_new(count, sizeof *numbers);
    int status = numbers ? KTRACE_OK : KTRACE_ERROR_MEMORY;
    for (size_t i = 0; i < count && numbers; i++)
        numbers[i] = workgroup_number(launch, members[i].wave);
    if (status == KTRACE_OK)
        status = make_ranges(&group->workgroups, numbers, count);
    for (size_t i = 0; i < count && status == KTRACE_OK; i++)
        numbers[i] = members[i].wave->wave;
    if (status == KTRACE_OK)
        status = make_ranges(&group->numbers, numbers, count);
    for (size_t i = 0; i < count && status == KTRACE_OK; i++)
        numbers[i] = members[i].wave->place;
    if (status == KTRACE_OK)
        status = make_ranges(&group->places, numbers, count);
    free(numbers);
    return status;
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

static int is_signed(uint8_t type)
{
    return type == KTRACE_PAYLOAD_INT32 || type == KTRACE_PAYLOAD_INT64;
}

static int is_integer(uint8_t type)
{
    return is_signed(type) || type == KTRACE_PAYLOAD_UINT32 || type == KTRACE_PAYLOAD_UINT64;
}

static int is_less(uint8_t type, uint64_t a, uint64_t b)
{
    return is_signed(type) ? (int64_t)a < (int64_t)b : a < b;
}

static void add_payload(struct watch_payload *payload, const struct kt_event *event, int is_first)
{
    const uint8_t type = event->site->payload_type;
    if (is_first)
        *payload = (struct watch_payload){(event->flags & KT_EVENT_PAYLOAD) != 0, type, event->payload, event->payload};
    else if (!(event->flags & KT_EVENT_PAYLOAD) || type != payload->type ||
             (!is_integer(type) && event->payload != payload->first))
        payload->is_there = 0;
    else if (is_less(type, event->payload, payload->first))
        payload->first = event->payload;
    else if (is_less(type, payload->last, event->payload))
        payload->last = event->payload;
}

static void find_payloads(struct watch_group *group, const struct watch_memory *memory, const struct inside *members,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct kt_event *last = members[i].last;
        const struct kt_event *begin =
            group->open_count ? memory->open[members[i].first_open + group->open_count - 1] : NULL;
        if (begin)
            add_payload(&group->payload, begin, i == 0);
        if (last)
            add_payload(&group->last_payload, last, i == 0);
        if (last && last == begin)
            group->last_payload.is_there = 0;
    }
}

/* A wave without events has begun, at least. */
static int64_t last_ps(const struct inside *inside)
{
    return inside->last ? inside->last->time_ps : inside->wave->begin_ps;
}

static int make_group(struct watch_group *group, const struct watch_view *view, const struct inside *members,
                      size_t count)
{
    const struct watch_memory *memory = view->memory;
    const struct inside *first = &members[0];
    *group = (struct watch_group){.open = first->open_count ? &memory->open[first->first_open] : NULL,
                                  .open_count = first->open_count,
                                  .cut = first->wave->slots_lost != 0,
                                  .last = first->last_name,
                                  .waves = count,
                                  .oldest_ps = INT64_MAX,
                                  .newest_ps = INT64_MIN};
    if (first->last)
        group->last_is_end = first->last->site->kind == KTRACE_KIND_POP || first->last->site->kind == KTRACE_KIND_STOP;
    for (size_t i = 0; i < count; i++) {
        const int64_t time_ps = last_ps(&members[i]);
        group->oldest_ps = time_ps < group->oldest_ps ? time_ps : group->oldest_ps;
        group->newest_ps = time_ps > group->newest_ps ? time_ps : group->newest_ps;
    }
    find_payloads(group, memory, members, count);
    return find_places(group, &view->trace->launches[first->wave->launch], members, count);
}

static int by_oldest(const void *left, const void *right)
{
    const struct watch_group *a = left, *b = right;
    const int order = (a->oldest_ps > b->oldest_ps) - (a->oldest_ps < b->oldest_ps);
    return order ? order : -compare_numbers(a->waves, b->waves);
}

static int by_last(const void *left, const void *right)
{
    const struct watch_launch *a = left, *b = right;
    const int order = (a->last_ps > b->last_ps) - (a->last_ps < b->last_ps);
    return order ? order : compare_numbers(a->launch, b->launch);
}

/* The newest event of all waves, also of those that finished. */
static int64_t newest_of_launch(const struct ktrace_trace *trace, const struct kt_launch *launch)
{
    int64_t newest_ps = INT64_MIN;
    for (uint64_t i = 0; i < launch->wave_count; i++) {
        const struct kt_wave *wave = &trace->waves[launch->first_wave + i];
        newest_ps = wave->end_ps > newest_ps ? wave->end_ps : newest_ps;
    }
    return newest_ps;
}

static int make_groups(struct watch_view *view)
{
    struct watch_memory *memory = view->memory;
    const struct inside *inside = memory->inside;
    const size_t count = memory->inside_count;
    view->groups = kt_array_new(count, sizeof *view->groups);
    view->launches = kt_array_new(count, sizeof *view->launches);
    if (!view->groups || !view->launches)
        return KTRACE_ERROR_MEMORY;
    comparing = memory;
    if (count)
        qsort(memory->inside, count, sizeof *memory->inside, by_group);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && compare_groups(&inside[begin], &inside[end]) == 0;)
            end++;
        const uint32_t index = inside[begin].wave->launch;
        struct watch_launch *launch = view->launch_count ? &view->launches[view->launch_count - 1] : NULL;
        if (!launch || launch->launch != index) {
            launch = &view->launches[view->launch_count++];
            *launch = (struct watch_launch){.launch = index,
                                            .last_ps = newest_of_launch(view->trace, &view->trace->launches[index]),
                                            .unchanged_ns = -1,
                                            .first_group = view->group_count};
        }
        launch->inside += end - begin;
        launch->group_count++;
        const int status = make_group(&view->groups[view->group_count++], view, &inside[begin], end - begin);
        if (status < 0)
            return status;
    }
    for (size_t i = 0; i < view->launch_count; i++)
        qsort(&view->groups[view->launches[i].first_group], view->launches[i].group_count, sizeof *view->groups,
              by_oldest);
    if (view->launch_count)
        qsort(view->launches, view->launch_count, sizeof *view->launches, by_last);
    return KTRACE_OK;
}

/* ---- Totals ------------------------------------------------------------------------------------------------------ */

static int count_kernels(struct watch_view *view)
{
    const struct ktrace_trace *trace = view->trace;
    view->kernels = kt_array_new_zeroed(trace->kernel_count, sizeof *view->kernels);
    if (!view->kernels)
        return KTRACE_ERROR_MEMORY;
    for (uint64_t i = 0; i < trace->launch_count; i++) {
        const struct kt_launch *launch = &trace->launches[i];
        struct watch_kernel *kernel = &view->kernels[launch->kernel];
        kernel->launches++;
        kernel->waves += launch->wave_count;
        kernel->events += launch->event_count;
    }
    for (size_t i = 0; i < view->launch_count; i++) {
        struct watch_kernel *kernel = &view->kernels[trace->launches[view->launches[i].launch].kernel];
        kernel->running++;
        kernel->inside += view->launches[i].inside;
        view->inside += view->launches[i].inside;
    }
    view->newest_ps = INT64_MIN;
    for (uint64_t i = 0; i < trace->wave_count; i++)
        view->newest_ps = trace->waves[i].end_ps > view->newest_ps ? trace->waves[i].end_ps : view->newest_ps;
    return KTRACE_OK;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

int watch_view_make(struct watch_view *out, const struct watch_history *history, const struct ktrace_trace *trace,
                    const struct kt_watch_answer *facts)
{
    struct watch_view view = {.trace = trace, .memory = kt_array_new_zeroed(1, sizeof *view.memory)};
    int status = view.memory ? KTRACE_OK : KTRACE_ERROR_MEMORY;
    if (status == KTRACE_OK)
        status = find_now(&view);
    if (status == KTRACE_OK)
        status = find_inside(&view);
    if (status == KTRACE_OK)
        status = make_groups(&view);
    if (status == KTRACE_OK)
        status = count_kernels(&view);
    if (status == KTRACE_OK)
        status = watch_view_compare(&view, history, facts);
    if (status < 0) {
        watch_view_free(&view);
        return status;
    }
    *out = view;
    return KTRACE_OK;
}

void watch_view_free(struct watch_view *view)
{
    for (size_t i = 0; i < view->group_count; i++) {
        free(view->groups[i].workgroups.ranges);
        free(view->groups[i].numbers.ranges);
        free(view->groups[i].places.ranges);
    }
    free(view->groups);
    free(view->launches);
    free(view->kernels);
    free(view->phases_since);
    free(view->unchanged);
    if (view->memory) {
        free(view->memory->inside);
        free(view->memory->open);
        free(view->memory);
    }
    *view = (struct watch_view){.trace = NULL};
}
