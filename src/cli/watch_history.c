/* watch_history.c - what a look has that the one before had not, and what it has had for long. */
#include "watch_view.h"

#include "../array.h"

#include <stdlib.h>
#include <string.h>

/* When a launch was first seen as it is. */
struct watch_unchanged {
    const char *kernel; /* of the trace that the history keeps */
    uint32_t device, occurrence;
    uint64_t grid_id, queue;
    int64_t last_ns_ps[2]; /* its newest event: origin in ns, and ps from there */
    uint64_t since_ns;     /* CLOCK_MONOTONIC */
};

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
    view->unchanged = unchanged;
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

int watch_view_compare(struct watch_view *view, const struct watch_history *history,
                       const struct kt_watch_answer *facts)
{
    const int status = compare_with_before(view, history, facts);
    return status < 0 ? status : find_unchanged(view, history, facts->now_ns);
}

/* ---- From look to look ------------------------------------------------------------------------------------------- */

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
        memcpy(launches, view->unchanged, view->launch_count * sizeof *launches);
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
