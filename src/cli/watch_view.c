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

/* When a launch was first seen as it is. */
struct watch_unchanged {
    const char *kernel; /* of the trace that the history keeps */
    uint32_t device, occurrence;
    uint64_t grid_id, queue;
    int64_t last_ns_ps[2]; /* its newest event: origin in ns, and ps from there */
    uint64_t since_ns;     /* CLOCK_MONOTONIC */
};

struct watch_memory {
    struct inside *inside; /* by launch, then alike ones beside each other */
    size_t inside_count;
    const struct kt_event **open; /* of all of them */
    size_t open_count, open_room;
    struct watch_unchanged *unchanged; /* one a launch of the view */
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

/* Of the innermost range of each. */
static void find_payload(struct watch_group *group, const struct watch_memory *memory, const struct inside *members,
                         size_t count)
{
    uint8_t type = 0;
    for (size_t i = 0; i < count && group->open_count; i++) {
        const struct kt_event *begin = memory->open[members[i].first_open + group->open_count - 1];
        if (!(begin->flags & KT_EVENT_PAYLOAD) || (i > 0 && begin->site->payload_type != type)) {
            group->has_payload = 0;
            return;
        }
        type = begin->site->payload_type;
        if (i == 0) {
            group->has_payload = 1;
            group->payload = group->payload_last = begin->payload;
        } else if (is_integer(type)) {
            group->payload = is_less(type, begin->payload, group->payload) ? begin->payload : group->payload;
            group->payload_last =
                is_less(type, group->payload_last, begin->payload) ? begin->payload : group->payload_last;
        } else if (begin->payload != group->payload) {
            group->has_payload = 0;
            return;
        }
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
    find_payload(group, memory, members, count);
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

/* ---- Since the look before --------------------------------------------------------------------------------------- */

/* Times of two traces of one device are compared on its wall clock. */
static int is_newer(const struct ktrace_trace *trace, int64_t time_ps, const struct ktrace_trace *before,
                    int64_t then_ps)
{
    const int64_t origins_ns = (int64_t)(trace->origin_ns - before->origin_ns);
    return (double)time_ps + (double)origins_ns * 1000 > (double)then_ps + 1;
}

static uint64_t count_newer(const struct ktrace_trace *trace, const struct ktrace_trace *before)
{
    int64_t newest_ps = INT64_MIN;
    uint64_t newer = 0;
    for (uint64_t i = 0; i < before->event_count; i++)
        newest_ps = before->events[i].time_ps > newest_ps ? before->events[i].time_ps : newest_ps;
    if (before->event_count == 0)
        return trace->event_count;
    for (uint64_t i = 0; i < trace->event_count; i++)
        newer += is_newer(trace, trace->events[i].time_ps, before, newest_ps) != 0;
    return newer;
}

static uint64_t launches_running(const struct ktrace_trace *trace)
{
    uint64_t running = 0;
    for (uint64_t i = 0; i < trace->launch_count; i++) {
        const struct kt_launch *launch = &trace->launches[i];
        uint64_t wave = 0;
        while (wave < launch->wave_count && !trace->waves[launch->first_wave + wave].unfinished)
            wave++;
        running += wave < launch->wave_count;
    }
    return running;
}

static uint64_t events_of_kernel(const struct ktrace_trace *trace, const char *name)
{
    uint64_t events = 0;
    for (uint64_t i = 0; i < trace->launch_count; i++)
        if (strcmp(trace->kernels[trace->launches[i].kernel].name, name) == 0)
            events += trace->launches[i].event_count;
    return events;
}

static uint64_t count_of_phase(const struct ktrace_trace *trace, const struct ktrace_phase_info *phase)
{
    for (uint32_t i = 0; i < trace->phase_count; i++) {
        const struct ktrace_phase_info *other = &trace->statistics[i];
        if (other->kind == phase->kind && strcmp(other->name, phase->name) == 0 &&
            strcmp(other->kernel, phase->kernel) == 0)
            return other->count;
    }
    return 0;
}

/* What both looks have whole is compared. */
static void compare_counts(struct watch_view *view, const struct ktrace_trace *before)
{
    const struct ktrace_trace *trace = view->trace;
    for (uint32_t i = 0; i < trace->kernel_count; i++)
        view->kernels[i].events_since =
            (int64_t)(view->kernels[i].events - events_of_kernel(before, trace->kernels[i].name));
    for (uint32_t i = 0; i < trace->phase_count; i++)
        view->phases_since[i] = (int64_t)(trace->statistics[i].count - count_of_phase(before, &trace->statistics[i]));
}

static int compare_with_before(struct watch_view *view, const struct watch_history *history,
                               const struct kt_watch_answer *facts)
{
    const struct ktrace_trace *trace = view->trace, *before = history->trace;
    view->phases_since = kt_array_new(trace->phase_count, sizeof *view->phases_since);
    if (!view->phases_since)
        return KTRACE_ERROR_MEMORY;
    for (uint32_t i = 0; i < trace->phase_count; i++)
        view->phases_since[i] = -1;
    for (uint32_t i = 0; i < trace->kernel_count; i++)
        view->kernels[i].events_since = -1;
    if (!before || facts->now_ns < history->now_ns)
        return KTRACE_OK;
    view->has_previous = 1;
    view->since_ns = (double)(facts->now_ns - history->now_ns);
    view->began_anew = facts->capture != history->capture || facts->gathered != history->gathered ||
                       trace->event_count < before->event_count || trace->launch_count < before->launch_count;
    view->at_least = view->began_anew || trace->slots_lost;
    view->events_since = view->at_least ? count_newer(trace, before) : trace->event_count - before->event_count;
    if (view->at_least)
        return KTRACE_OK;
    const uint64_t finished = trace->launch_count - view->launch_count;
    const uint64_t were_finished = before->launch_count - launches_running(before);
    view->finished_since = finished > were_finished ? finished - were_finished : 0;
    compare_counts(view, before);
    return KTRACE_OK;
}

static struct watch_unchanged describe(const struct watch_view *view, const struct watch_launch *open, uint64_t now_ns)
{
    const struct ktrace_trace *trace = view->trace;
    const struct kt_launch *launch = &trace->launches[open->launch];
    return (struct watch_unchanged){.kernel = trace->kernels[launch->kernel].name,
                                    .device = trace->snapshot->devices[launch->device].ordinal,
                                    .occurrence = launch->occurrence,
                                    .grid_id = launch->grid_id,
                                    .queue = launch->queue,
                                    .last_ns_ps = {(int64_t)trace->origin_ns, open->last_ps},
                                    .since_ns = now_ns};
}

static int is_unchanged(const struct watch_unchanged *now, const struct watch_unchanged *then)
{
    const double moved_ps = (double)(int64_t)((uint64_t)now->last_ns_ps[0] - (uint64_t)then->last_ns_ps[0]) * 1000 +
                            (double)now->last_ns_ps[1] - (double)then->last_ns_ps[1];
    return now->device == then->device && now->occurrence == then->occurrence && now->grid_id == then->grid_id &&
           now->queue == then->queue && strcmp(now->kernel, then->kernel) == 0 && moved_ps > -1 && moved_ps < 1;
}

/* Since when each launch has been as it is. */
static int find_unchanged(struct watch_view *view, const struct watch_history *history, uint64_t now_ns)
{
    struct watch_unchanged *unchanged = kt_array_new(view->launch_count, sizeof *unchanged);
    view->memory->unchanged = unchanged;
    if (!unchanged)
        return KTRACE_ERROR_MEMORY;
    for (size_t i = 0; i < view->launch_count; i++) {
        unchanged[i] = describe(view, &view->launches[i], now_ns);
        for (size_t k = 0; k < history->launch_count; k++) {
            if (!is_unchanged(&unchanged[i], &history->launches[k]) || history->launches[k].since_ns > now_ns)
                continue;
            unchanged[i].since_ns = history->launches[k].since_ns;
            view->launches[i].unchanged_ns = (double)(now_ns - unchanged[i].since_ns);
        }
    }
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
        status = compare_with_before(&view, history, facts);
    if (status == KTRACE_OK)
        status = find_unchanged(&view, history, facts->now_ns);
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
    if (view->memory) {
        free(view->memory->inside);
        free(view->memory->open);
        free(view->memory->unchanged);
        free(view->memory);
    }
    *view = (struct watch_view){.trace = NULL};
}

int watch_history_keep(struct watch_history *history, struct ktrace_trace *trace, const struct watch_view *view,
                       const struct kt_watch_answer *facts)
{
    struct watch_unchanged *launches = kt_array_new(view->launch_count, sizeof *launches);
    watch_history_free(history);
    if (!launches) {
        ktrace_trace_destroy(trace);
        return KTRACE_ERROR_MEMORY;
    }
    if (view->launch_count)
        memcpy(launches, view->memory->unchanged, view->launch_count * sizeof *launches);
    *history = (struct watch_history){.trace = trace,
                                      .capture = facts->capture,
                                      .gathered = facts->gathered,
                                      .now_ns = facts->now_ns,
                                      .launches = launches,
                                      .launch_count = view->launch_count};
    return KTRACE_OK;
}

void watch_history_free(struct watch_history *history)
{
    ktrace_trace_destroy(history->trace);
    free(history->launches);
    *history = (struct watch_history){.trace = NULL};
}
