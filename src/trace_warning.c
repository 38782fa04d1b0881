/* What of a trace is not there, or not what it looks like, as one sentence. */
#include "array.h"
#include "clock.h"
#include "text.h"
#include "trace.h"

#include <stdio.h>

static void say_count(struct kt_text *sentence, uint64_t count, const char *one, const char *many)
{
    if (count)
        kt_put(sentence, "%s%llu %s", sentence->length ? ", " : "", (unsigned long long)count, count == 1 ? one : many);
}

/* Readings of the wall clock off by this many of its ticks, and waves this long without a reading, are worth a word. */
#define RESIDUAL_TICKS 4
#define UNANCHORED_NS 1e7

/* Digits behind the point that three in all leave. */
static int digits_of(double value)
{
    return value < 10 ? 2 : value < 100 ? 1 : 0;
}

static int residual_is_large(const struct ktrace_trace *trace)
{
    for (uint32_t i = 0; i < trace->snapshot->device_count; i++)
        if (trace->devices[i].residual_ns >
            RESIDUAL_TICKS * (double)kt_clock_wall_tick_ns(&trace->snapshot->devices[i]))
            return 1;
    return 0;
}

static void say_clocks(struct kt_text *sentence, const struct ktrace_trace *trace)
{
    const double residual_us = trace->clock_residual_ns / 1e3, uncertainty_us = trace->clock_uncertainty_ns / 1e3;
    const double unanchored_ms = trace->clock_unanchored_ns / 1e6;
    if (residual_is_large(trace))
        kt_put(sentence, "readings of the wall clock contradict each other by up to %.*f us", digits_of(residual_us),
               residual_us);
    if (trace->clock_unanchored_ns > UNANCHORED_NS)
        kt_put(
            sentence,
            "%swaves ran for up to %.*f ms between two readings of the wall clock, which are taken where waves begin "
            "and end: instants in between may be off by up to %.*f us",
            sentence->length ? "; " : "", digits_of(unanchored_ms), unanchored_ms, digits_of(uncertainty_us),
            uncertainty_us);
}

/* Of several devices: what stands against comparing their times. */
static void say_devices(struct kt_text *sentence, const struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    for (uint32_t i = 0; i < snapshot->device_count && snapshot->device_count > 1 && trace->wave_count; i++) {
        const struct kt_device *device = &snapshot->devices[i];
        const struct kt_trace_device *more = &trace->devices[i];
        const double contradiction_us = more->contradiction_ns / 1e3;
        const char *separator = sentence->length ? "; " : "";
        if (!more->related)
            kt_put(sentence,
                   "%sthe times of %s (%s) cannot be compared with those of the others, beside which they are "
                   "shown "
                   "from the same begin: its clock %s",
                   separator, more->words, device->name,
                   device->anchor_count ? "and the host's are further apart than one capture can be"
                                        : "was not read together with the host's");
        else if (more->contradiction_ns > kt_clock_wall_tick_ns(device))
            kt_put(sentence,
                   "%sreadings of the host's clock and that of %s (%s) contradict each other by up to %.*f us: its "
                   "times may be off by up to %.*f us from those of other devices",
                   separator, more->words, device->name, digits_of(contradiction_us), contradiction_us,
                   digits_of(more->uncertainty_ns / 1e3), more->uncertainty_ns / 1e3);
    }
}

/* "rank 1, rank 2 and 5 more" of those with that relation; how many there are. */
static uint32_t list_processes(struct kt_text *list, const struct ktrace_trace *trace, uint32_t relation)
{
    enum { NAMED = 4 };
    uint32_t count = 0, named = 0;
    for (uint32_t i = 0; i < trace->snapshot->process_count; i++)
        count += trace->processes[i].relation == relation && trace->processes[i].wave_count;
    for (uint32_t i = 0; i < trace->snapshot->process_count && named < NAMED; i++)
        if (trace->processes[i].relation == relation && trace->processes[i].wave_count) {
            const char *separator = named == 0 ? "" : named + 1 == count ? " and " : ", ";
            kt_put(list, "%s%s", separator, trace->processes[i].label);
            named++;
        }
    if (count > named)
        kt_put(list, " and %u more", count - named);
    return count;
}

/* Of several processes: what relates them less well than a device's or a host's clock. */
static void say_processes(struct kt_text *sentence, const struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    struct kt_text placed = {.length = 0}, realtime = {.length = 0};
    if (snapshot->process_count == 1 || trace->wave_count == 0)
        return;
    const char *first = trace->processes[snapshot->devices[trace->timeline_device].process].label;
    if (list_processes(&realtime, trace, KTRACE_RELATION_REALTIME))
        kt_put(sentence,
               "%sthe times of %s are related to those of %s by the hosts' CLOCK_REALTIME, as they ran on different "
               "hosts or "
               "did not say where: how well these clocks agreed is not known",
               sentence->length ? "; " : "", realtime.text, first);
    if (list_processes(&placed, trace, KTRACE_RELATION_PLACED))
        kt_put(sentence,
               "%sthe times of %s were placed beside those of %s as was asked for, and cannot be compared with them",
               sentence->length ? "; " : "", placed.text, first);
}

int kt_make_warning(struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    struct kt_text counts = {.length = 0};
    if (trace->wave_count && trace->event_count == 0)
        kt_put(&counts, "waves ran, but none came to an annotation");
    say_count(&counts, snapshot->waves_dropped, "wave found no room", "waves found no room");
    say_count(&counts, trace->waves_unfinished, "wave is unfinished", "waves are unfinished");
    say_count(&counts, trace->slots_lost, "slot was overwritten", "slots were overwritten");
    say_count(&counts, trace->ranges_unclosed, "range is unclosed", "ranges are unclosed");
    say_count(&counts, trace->ends_unmatched, "pop or stop has no begin", "pops or stops have no begin");
    say_count(&counts, trace->slots_corrupt, "slot is corrupt", "slots are corrupt");
    say_count(&counts, trace->clocks_ambiguous, "wave has clocks that its anchors do not explain",
              "waves have clocks that their anchors do not explain");
    struct kt_text clocks = {.length = 0};
    say_clocks(&clocks, trace);
    say_devices(&clocks, trace);
    say_processes(&clocks, trace);
    const char *why = snapshot->warning ? snapshot->warning : "";
    size_t bytes = strlen(why) + counts.length + clocks.length + 5;
    trace->warning = kt_array_new(bytes, 1);
    if (!trace->warning)
        return KTRACE_ERROR_MEMORY;
    snprintf(trace->warning, bytes, "%s%s%s%s%s", why, *why && counts.length ? "; " : "", counts.text,
             (*why || counts.length) && clocks.length ? "; " : "", clocks.text);
    trace->clock_warning = trace->warning + strlen(trace->warning) - clocks.length;
    return 0;
}
