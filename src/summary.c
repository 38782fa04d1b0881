#include "summary.h"

#include "array.h"
#include "phase.h"
#include "statistics.h"

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

/* Called for every mark (duration 0) and every begin. `phase` is counted from the scope's first. */
typedef void visit(void *context, uint32_t phase, const struct kt_event *event, uint64_t duration_ps);

/* Waves whose events are described, and the phases that these can have: all, or those of a launch. */
struct scope {
    const struct ktrace_trace *trace;
    uint64_t first_wave, wave_count;
    uint32_t first_phase, phase_count;
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
            uint32_t phase = phase_of(&cache, event->site) - scope->first_phase;
            if (phase < scope->phase_count)
                function(context, phase, event, kt_range_ps(trace, wave, event));
        }
    }
}

static void count_event(void *context, uint32_t phase, const struct kt_event *event, uint64_t duration)
{
    struct ktrace_phase_info *info = &((struct ktrace_phase_info *)context)[phase];
    (void)duration;
    if (event->site->kind == KTRACE_KIND_MARK || kt_range_is_closed(event))
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
    if (event->site->kind != KTRACE_KIND_MARK && kt_range_is_closed(event))
        collection->durations_ps[collection->next[phase]++] = duration;
}

/* ---- Statistics ---------------------------------------------------------------------------------------------------- */

static void describe(struct ktrace_phase_info *info, uint64_t *durations_ps, uint64_t *scratch)
{
    struct kt_statistics statistics;
    kt_describe_durations(&statistics, durations_ps, scratch, info->count);
    info->total_ns = statistics.total_ns;
    info->mean_ns = statistics.mean_ns;
    info->min_ns = statistics.min_ns;
    info->p50_ns = statistics.p50_ns;
    info->p90_ns = statistics.p90_ns;
    info->p99_ns = statistics.p99_ns;
    info->max_ns = statistics.max_ns;
}

static int has_durations(const struct ktrace_phase_info *info)
{
    return info->kind != KTRACE_KIND_MARK && info->count > 0;
}

static void start_statistics(struct ktrace_phase_info *statistics, const struct scope *scope)
{
    const struct ktrace_trace *trace = scope->trace;
    for (uint32_t i = 0; i < scope->phase_count; i++) {
        const struct kt_phase *phase = &trace->phases[scope->first_phase + i];
        statistics[i] = (struct ktrace_phase_info){.struct_size = sizeof statistics[i],
                                                   .kernel = trace->kernels[phase->kernel].name,
                                                   .name = phase->name,
                                                   .kind = phase->kind};
    }
    visit_phases(scope, count_event, statistics);
}

static int describe_all(struct ktrace_phase_info *statistics, const struct scope *scope)
{
    uint64_t total = 0, largest = 0;
    struct collection collection = {NULL, kt_array_new(scope->phase_count, sizeof *collection.next)};
    if (!collection.next)
        return KTRACE_ERROR_MEMORY;
    for (uint32_t i = 0; i < scope->phase_count; i++) {
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
        for (uint32_t i = 0; i < scope->phase_count; i++) {
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

static int summarize(struct ktrace_phase_info *statistics, const struct scope *scope)
{
    start_statistics(statistics, scope);
    return describe_all(statistics, scope);
}

int kt_summarize_launch(struct ktrace_phase_info *statistics, const struct ktrace_trace *trace,
                        const struct kt_launch *launch)
{
    struct scope scope = {trace, launch->first_wave, launch->wave_count, 0, 0};
    kt_phases_of_kernel(&scope.first_phase, &scope.phase_count, trace, launch->kernel);
    return summarize(statistics, &scope);
}

int kt_summarize(struct ktrace_trace *trace)
{
    const struct scope scope = {trace, 0, trace->wave_count, 0, trace->phase_count};
    trace->statistics = kt_array_new(trace->phase_count, sizeof *trace->statistics);
    if (!trace->statistics)
        return KTRACE_ERROR_MEMORY;
    return summarize(trace->statistics, &scope);
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
