#include "groups.h"

#include "array.h"

enum { FIRST_SLOTS = 256 };

struct grouping {
    struct kt_groups *out;
    const struct ktrace_trace *trace;
    struct kt_selection *selection;
    size_t capacity;
    uint32_t *slots; /* 1 + index into groups, open addressing; at most half full */
    size_t slot_count;
    uint64_t *durations_ps, *next; /* NULL while durations are counted; next: where a group's next one goes */
};

/* ---- Finding groups ---------------------------------------------------------------------------------------------- */

static size_t hash_of(const struct kt_group_of *of)
{
    uint32_t words[sizeof *of / 4];
    uint64_t hash = 0;
    memcpy(words, of, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ words[i]) * 0x9E3779B97F4A7C15u ^ hash >> 29;
    return (size_t)(hash >> 20);
}

/* The group's slot, or the free one where it belongs. */
static uint32_t *slot_of(const struct grouping *grouping, const struct kt_group_of *of)
{
    size_t i = hash_of(of) & (grouping->slot_count - 1);
    while (grouping->slots[i] && memcmp(&grouping->out->groups[grouping->slots[i] - 1].of, of, sizeof *of) != 0)
        i = (i + 1) & (grouping->slot_count - 1);
    return &grouping->slots[i];
}

static int grow_slots(struct grouping *grouping)
{
    const size_t count = grouping->slot_count ? grouping->slot_count * 2 : FIRST_SLOTS;
    uint32_t *slots = kt_array_new_zeroed(count, sizeof *slots);
    if (!slots)
        return KTRACE_ERROR_MEMORY;
    free(grouping->slots);
    grouping->slots = slots;
    grouping->slot_count = count;
    for (size_t i = 0; i < grouping->out->count; i++)
        *slot_of(grouping, &grouping->out->groups[i].of) = (uint32_t)i + 1;
    return KTRACE_OK;
}

/* Its index, made where it is new. */
static int group_of(size_t *index, struct grouping *grouping, const struct kt_group_of *of)
{
    struct kt_groups *out = grouping->out;
    if (out->count * 2 >= grouping->slot_count && grow_slots(grouping) < 0)
        return KTRACE_ERROR_MEMORY;
    uint32_t *slot = slot_of(grouping, of);
    if (!*slot) {
        if (out->count >= UINT32_MAX - 1)
            return kt_fail(KTRACE_ERROR_UNSUPPORTED, "there are more groups than 2^32");
        if (kt_array_reserve(&out->groups, &grouping->capacity, out->count + 1, sizeof *out->groups) < 0)
            return KTRACE_ERROR_MEMORY;
        out->groups[out->count++] = (struct kt_group){.of = *of};
        *slot = (uint32_t)out->count;
    }
    *index = *slot - 1;
    return KTRACE_OK;
}

static struct kt_group_of group_of_wave(const struct grouping *grouping, const struct kt_wave *wave)
{
    const unsigned keys = grouping->out->keys;
    const struct kt_launch *launch = &grouping->trace->launches[wave->launch];
    struct kt_group_of of = {0};
    if (keys & (1u << KT_BY_DEVICE | 1u << KT_BY_PLACE))
        of.device = launch->device;
    if (keys & (1u << KT_BY_KERNEL | 1u << KT_BY_PHASE))
        of.kernel = launch->kernel;
    if (keys & 1u << KT_BY_LAUNCH)
        of.launch = wave->launch;
    if (keys & 1u << KT_BY_PLACE)
        of.place = wave->place;
    if (keys & 1u << KT_BY_WORKGROUP)
        memcpy(of.workgroup, wave->workgroup, sizeof of.workgroup);
    if (keys & 1u << KT_BY_WAVE)
        of.wave = wave->wave;
    return of;
}

/* ---- Durations --------------------------------------------------------------------------------------------------- */

static void add(struct grouping *grouping, size_t index, bool closed, uint64_t duration_ps)
{
    struct kt_group *group = &grouping->out->groups[index];
    if (!grouping->durations_ps) {
        group->statistics.count += closed;
        group->unclosed += !closed;
    } else if (closed) {
        grouping->durations_ps[grouping->next[index]++] = duration_ps;
    }
}

static int add_ranges(struct grouping *grouping, const struct kt_wave *wave)
{
    const struct ktrace_trace *trace = grouping->trace;
    const bool by_phase = grouping->out->keys & 1u << KT_BY_PHASE;
    struct kt_group_of of = group_of_wave(grouping, wave);
    const struct kt_site *last_site = NULL;
    size_t index = 0;
    for (uint32_t i = 0; i < wave->event_count; i++) {
        const struct kt_event *event = &trace->events[wave->first_event + i];
        const uint8_t kind = event->site->kind;
        if ((kind != KTRACE_KIND_MARK && kind != KTRACE_KIND_PUSH && kind != KTRACE_KIND_START) ||
            !kt_selects_event(grouping->selection, wave, event))
            continue;
        if (!last_site || (by_phase && event->site != last_site)) {
            if (by_phase)
                of.phase = kt_trace_phase_of(trace, trace->launches[wave->launch].kernel, event->site);
            if (group_of(&index, grouping, &of) < 0)
                return KTRACE_ERROR_MEMORY;
            last_site = event->site;
        }
        if (!grouping->durations_ps) {
            grouping->out->ranges_selected++;
            grouping->out->groups[index].marks += kind == KTRACE_KIND_MARK;
        }
        if (kind != KTRACE_KIND_MARK)
            add(grouping, index, kt_range_is_closed(event), kt_range_ps(trace, wave, event));
    }
    return KTRACE_OK;
}

static int add_span(struct grouping *grouping, const struct kt_wave *wave)
{
    const struct kt_group_of of = group_of_wave(grouping, wave);
    size_t index;
    if (group_of(&index, grouping, &of) < 0)
        return KTRACE_ERROR_MEMORY;
    add(grouping, index, !wave->unfinished, kt_wave_span_ps(wave));
    return KTRACE_OK;
}

static int visit(struct grouping *grouping)
{
    const struct ktrace_trace *trace = grouping->trace;
    int status = KTRACE_OK;
    for (uint64_t i = 0; i < trace->wave_count && status == KTRACE_OK; i++) {
        const struct kt_wave *wave = &trace->waves[i];
        if (!kt_selects_wave(grouping->selection, wave))
            continue;
        if (!grouping->durations_ps) {
            grouping->out->waves_selected++;
            grouping->out->wave_ns += (double)kt_wave_span_ps(wave) / 1000;
        }
        status = grouping->out->ranges ? add_ranges(grouping, wave) : add_span(grouping, wave);
    }
    return status;
}

static int describe_all(struct grouping *grouping)
{
    struct kt_groups *out = grouping->out;
    uint64_t total = 0, largest = 0;
    grouping->next = kt_array_new(out->count, sizeof *grouping->next);
    if (!grouping->next)
        return KTRACE_ERROR_MEMORY;
    for (size_t i = 0; i < out->count; i++) {
        const uint64_t count = out->groups[i].statistics.count;
        grouping->next[i] = total;
        total += count;
        largest = count > largest ? count : largest;
    }
    uint64_t *scratch = kt_array_new((size_t)largest, sizeof *scratch);
    grouping->durations_ps = kt_array_new((size_t)total, sizeof *grouping->durations_ps);
    int status = scratch && grouping->durations_ps ? visit(grouping) : KTRACE_ERROR_MEMORY;
    for (size_t i = 0; status == KTRACE_OK && i < out->count; i++) {
        struct kt_statistics *statistics = &out->groups[i].statistics; /* next is behind its durations now */
        kt_describe_durations(statistics, grouping->durations_ps + grouping->next[i] - statistics->count, scratch,
                              statistics->count);
    }
    free(scratch);
    return status;
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static int compare_of(const struct kt_group_of *a, const struct kt_group_of *b)
{
    const uint32_t left[] = {a->device,       a->kernel,       a->launch,       a->phase, a->place,
                             a->workgroup[2], a->workgroup[1], a->workgroup[0], a->wave};
    const uint32_t right[] = {b->device,       b->kernel,       b->launch,       b->phase, b->place,
                              b->workgroup[2], b->workgroup[1], b->workgroup[0], b->wave};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

static int by_total(const void *a, const void *b)
{
    const struct kt_group *left = a, *right = b;
    if (left->statistics.total_ns != right->statistics.total_ns)
        return left->statistics.total_ns > right->statistics.total_ns ? -1 : 1;
    return compare_of(&left->of, &right->of);
}

/* ---- Imbalance --------------------------------------------------------------------------------------------------- */

static int by_mean(const void *a, const void *b)
{
    const struct kt_imbalance *left = a, *right = b;
    if (left->mean_ns != right->mean_ns)
        return left->mean_ns > right->mean_ns ? -1 : 1;
    return compare_of(&left->of, &right->of);
}

static struct kt_group_of without_place(const struct kt_groups *groups, const struct kt_group *group)
{
    struct kt_group_of of = group->of;
    of.place = 0;
    if (!(groups->keys & 1u << KT_BY_DEVICE))
        of.device = 0;
    return of;
}

static int by_other_keys(const void *a, const void *b)
{
    return compare_of(&((const struct kt_imbalance *)a)->of, &((const struct kt_imbalance *)b)->of);
}

/* First one for each group that has durations, then those of equal keys become one. */
static int make_imbalances(struct kt_groups *groups)
{
    groups->imbalances = kt_array_new(groups->count, sizeof *groups->imbalances);
    if (!groups->imbalances)
        return KTRACE_ERROR_MEMORY;
    struct kt_imbalance *all = groups->imbalances;
    size_t singles = 0, count = 0;
    for (size_t i = 0; i < groups->count; i++) {
        const struct kt_group *group = &groups->groups[i];
        const double total_ns = group->statistics.total_ns;
        if (group->statistics.count)
            all[singles++] = (struct kt_imbalance){without_place(groups, group), 1, total_ns, total_ns, group};
    }
    qsort(all, singles, sizeof *all, by_other_keys);
    for (size_t i = 0; i < singles; i++) {
        if (count == 0 || by_other_keys(&all[count - 1], &all[i]) != 0) {
            all[count++] = all[i];
            continue;
        }
        struct kt_imbalance *imbalance = &all[count - 1];
        imbalance->places++;
        imbalance->mean_ns += all[i].mean_ns; /* the sum, for now */
        if (all[i].max_ns > imbalance->max_ns ||
            (all[i].max_ns == imbalance->max_ns && compare_of(&all[i].at->of, &imbalance->at->of) < 0)) {
            imbalance->max_ns = all[i].max_ns;
            imbalance->at = all[i].at;
        }
    }
    for (size_t i = 0; i < count; i++)
        all[i].mean_ns /= (double)all[i].places;
    qsort(all, count, sizeof *all, by_mean);
    groups->imbalance_count = count;
    return KTRACE_OK;
}

/* ---- Making groups ----------------------------------------------------------------------------------------------- */

int kt_groups_make(struct kt_groups *out, const struct ktrace_trace *trace, unsigned keys, bool ranges,
                   struct kt_selection *selection)
{
    *out = (struct kt_groups){.keys = keys, .ranges = ranges || keys & 1u << KT_BY_PHASE, .waves = trace->wave_count};
    struct grouping grouping = {.out = out, .trace = trace, .selection = selection};
    for (uint32_t i = 0; i < trace->phase_count; i++)
        out->ranges_all += trace->statistics[i].count + trace->statistics[i].unclosed;
    int status = visit(&grouping);
    if (status == KTRACE_OK)
        status = describe_all(&grouping);
    if (status == KTRACE_OK) {
        if (out->count)
            qsort(out->groups, out->count, sizeof *out->groups, by_total);
        if (keys & 1u << KT_BY_PLACE)
            status = make_imbalances(out);
    }
    free(grouping.slots);
    free(grouping.durations_ps);
    free(grouping.next);
    if (status < 0)
        kt_groups_free(out);
    return status;
}

void kt_groups_free(struct kt_groups *groups)
{
    free(groups->groups);
    free(groups->imbalances);
    *groups = (struct kt_groups){0};
}
