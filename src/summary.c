#include "summary.h"

#include "array.h"

/* ---- Which phase --------------------------------------------------------------------------------------------------- */

#define CACHE_ENTRIES 256

/* kt_trace_phase_of for the sites of one kernel, most of which were asked for before. */
struct phase_cache {
    const struct ktrace_trace *trace;
    uint32_t kernel;
    struct {
        const struct kt_site *site;
        uint32_t phase;
    } entries[CACHE_ENTRIES];
};

static void select_kernel(struct phase_cache *cache, uint32_t kernel)
{
    if (cache->kernel == kernel)
        return;
    memset(cache->entries, 0, sizeof cache->entries);
    cache->kernel = kernel;
}

static uint32_t phase_of(struct phase_cache *cache, const struct kt_site *site)
{
    size_t entry = (uintptr_t)site / sizeof *site % CACHE_ENTRIES;
    if (cache->entries[entry].site != site) {
        cache->entries[entry].site = site;
        cache->entries[entry].phase = kt_trace_phase_of(cache->trace, cache->kernel, site);
    }
    return cache->entries[entry].phase;
}

/* ---- Durations ----------------------------------------------------------------------------------------------------- */

/* Called for every mark (duration 0) and every begin. */
typedef void visit(void *context, uint32_t phase, const struct kt_event *event, uint64_t duration_ps);

static uint64_t duration_ps(const struct kt_event *events, const struct kt_wave *wave, const struct kt_event *begin)
{
    if (begin->partner >= wave->event_count)
        return 0;
    const struct kt_event *end = &events[wave->first_event + begin->partner];
    return end->time_ps > begin->time_ps ? (uint64_t)end->time_ps - (uint64_t)begin->time_ps : 0;
}

static int is_closed(const struct kt_event *begin)
{
    return begin->partner != KT_NONE && !(begin->flags & KT_EVENT_UNCLOSED);
}

/* Waves whose events are described: all, or those of a launch. */
struct scope {
    const struct ktrace_trace *trace;
    uint64_t first_wave, wave_count;
};

static void visit_phases(const struct scope *scope, visit *function, void *context)
{
    const struct ktrace_trace *trace = scope->trace;
    struct phase_cache cache = {.trace = trace, .kernel = KT_NONE};
    for (uint64_t w = 0; w < scope->wave_count; w++) {
        const struct kt_wave *wave = &trace->waves[scope->first_wave + w];
        select_kernel(&cache, trace->launches[wave->launch].kernel);
        for (uint32_t i = 0; i < wave->event_count; i++) {
            const struct kt_event *event = &trace->events[wave->first_event + i];
            uint8_t kind = event->site->kind;
            if (kind != KTRACE_KIND_MARK && kind != KTRACE_KIND_PUSH && kind != KTRACE_KIND_START)
                continue;
            uint32_t phase = phase_of(&cache, event->site);
            if (phase < trace->phase_count)
                function(context, phase, event, duration_ps(trace->events, wave, event));
        }
    }
}

static void count_event(void *context, uint32_t phase, const struct kt_event *event, uint64_t duration)
{
    struct ktrace_phase_info *info = &((struct ktrace_phase_info *)context)[phase];
    (void)duration;
    if (event->site->kind == KTRACE_KIND_MARK || is_closed(event))
        info->count++;
    else
        info->unclosed++;
}

struct collection {
    uint64_t *durations_ps;
    uint64_t *next; /* one a phase: where its next duration goes */
};

static void collect_duration(void *context, uint32_t phase, const struct kt_event *event, uint64_t duration)
{
    struct collection *collection = context;
    if (event->site->kind != KTRACE_KIND_MARK && is_closed(event))
        collection->durations_ps[collection->next[phase]++] = duration;
}

/* ---- Statistics ---------------------------------------------------------------------------------------------------- */

/* Least significant byte first, bytes that are equal everywhere left out: O(n), and the result is in `values`. */
static void radix_sort(uint64_t *values, uint64_t *scratch, size_t count)
{
    uint64_t *from = values, *to = scratch;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t starts[257] = {0};
        for (size_t i = 0; i < count; i++)
            starts[(from[i] >> shift & 0xFF) + 1]++;
        if (starts[(from[0] >> shift & 0xFF) + 1] == count)
            continue;
        for (size_t i = 1; i < 257; i++)
            starts[i] += starts[i - 1];
        for (size_t i = 0; i < count; i++)
            to[starts[from[i] >> shift & 0xFF]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != values)
        memcpy(values, from, count * sizeof *values);
}

/* Nearest rank: the smallest value that `percent` of all values do not exceed. */
static double percentile_ns(const uint64_t *sorted_ps, uint64_t count, uint64_t percent)
{
    uint64_t rank = count / 100 * percent + (count % 100 * percent + 99) / 100;
    return (double)sorted_ps[rank - 1] / 1000;
}

static double total_ns(const uint64_t *durations_ps, uint64_t count)
{
    uint64_t whole_ns = 0, rest_ps = 0; /* apart, so that the sum is exact for 584 years */
    for (uint64_t i = 0; i < count; i++) {
        if (__builtin_add_overflow(whole_ns, durations_ps[i] / 1000, &whole_ns))
            return (double)UINT64_MAX;
        rest_ps += durations_ps[i] % 1000;
    }
    return (double)whole_ns + (double)rest_ps / 1000;
}

static void describe(struct ktrace_phase_info *info, uint64_t *durations_ps, uint64_t *scratch)
{
    uint64_t count = info->count;
    radix_sort(durations_ps, scratch, (size_t)count);
    info->total_ns = total_ns(durations_ps, count);
    info->mean_ns = info->total_ns / (double)count;
    info->min_ns = (double)durations_ps[0] / 1000;
    info->p50_ns = percentile_ns(durations_ps, count, 50);
    info->p90_ns = percentile_ns(durations_ps, count, 90);
    info->p99_ns = percentile_ns(durations_ps, count, 99);
    info->max_ns = (double)durations_ps[count - 1] / 1000;
}

static int has_durations(const struct ktrace_phase_info *info)
{
    return info->kind != KTRACE_KIND_MARK && info->count > 0;
}

static void start_statistics(struct ktrace_phase_info *statistics, const struct scope *scope)
{
    const struct ktrace_trace *trace = scope->trace;
    for (uint32_t i = 0; i < trace->phase_count; i++) {
        const struct kt_phase *phase = &trace->phases[i];
        statistics[i] = (struct ktrace_phase_info){.struct_size = sizeof statistics[i],
                                                   .kernel = trace->kernels[phase->kernel].name,
                                                   .name = phase->name,
                                                   .kind = phase->kind};
    }
    visit_phases(scope, count_event, statistics);
}

static int describe_all(struct ktrace_phase_info *statistics, const struct scope *scope)
{
    const struct ktrace_trace *trace = scope->trace;
    uint64_t total = 0, largest = 0;
    struct collection collection = {NULL, kt_array_new(trace->phase_count, sizeof *collection.next)};
    if (!collection.next)
        return KTRACE_ERROR_MEMORY;
    for (uint32_t i = 0; i < trace->phase_count; i++) {
        uint64_t count = has_durations(&statistics[i]) ? statistics[i].count : 0;
        collection.next[i] = total;
        total += count;
        if (count > largest)
            largest = count;
    }
    collection.durations_ps = kt_array_new((size_t)total, sizeof *collection.durations_ps);
    uint64_t *scratch = kt_array_new((size_t)largest, sizeof *scratch);
    int status = collection.durations_ps && scratch ? 0 : KTRACE_ERROR_MEMORY;
    if (status == 0) {
        visit_phases(scope, collect_duration, &collection);
        for (uint32_t i = 0; i < trace->phase_count; i++) {
            struct ktrace_phase_info *info = &statistics[i]; /* next is behind its durations now */
            if (has_durations(info))
                describe(info, collection.durations_ps + collection.next[i] - info->count, scratch);
        }
    }
    free(scratch);
    free(collection.durations_ps);
    free(collection.next);
    return status;
}

int kt_summarize_waves(struct ktrace_phase_info *statistics, const struct ktrace_trace *trace, uint64_t first_wave,
                       uint64_t wave_count)
{
    const struct scope scope = {trace, first_wave, wave_count};
    start_statistics(statistics, &scope);
    return describe_all(statistics, &scope);
}

int kt_summarize(struct ktrace_trace *trace)
{
    trace->statistics = kt_array_new(trace->phase_count, sizeof *trace->statistics);
    if (!trace->statistics)
        return KTRACE_ERROR_MEMORY;
    return kt_summarize_waves(trace->statistics, trace, 0, trace->wave_count);
}

/* ---- Public -------------------------------------------------------------------------------------------------------- */

uint64_t ktrace_trace_phase_count(const struct ktrace_trace *trace)
{
    return trace ? trace->phase_count : 0;
}

int kt_answer_phase(struct ktrace_phase_info *out, const struct ktrace_phase_info *info, const char *function)
{
    size_t size = out->struct_size, known = sizeof *out;
    if (size < sizeof out->struct_size)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "%s: set struct_size to sizeof(struct ktrace_phase_info)", function);
    /* A caller of another version has a shorter or a longer struct: what it knows is filled, the rest is 0. */
    memset(out, 0, size);
    memcpy(out, info, size < known ? size : known);
    out->struct_size = size;
    return 0;
}

int ktrace_trace_phase(struct ktrace_phase_info *out, const struct ktrace_trace *trace, uint64_t index)
{
    if (!out || !trace)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_phase: an argument is NULL");
    if (index >= trace->phase_count)
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "there is no phase %llu: the trace has %u", (unsigned long long)index,
                       (unsigned)trace->phase_count);
    return kt_answer_phase(out, &trace->statistics[index], "ktrace_trace_phase");
}
