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
        const double contradiction_us = trace->devices[i].contradiction_ns / 1e3;
        const char *separator = sentence->length ? "; " : "";
        if (!trace->devices[i].related)
            kt_put(sentence,
                   "%sthe times of device %u (%s) cannot be compared with those of the others, beside which they are "
                   "shown "
                   "from the same begin: its clock %s",
                   separator, device->ordinal, device->name,
                   device->anchor_count ? "and the host's are further apart than one capture can be"
                                        : "was not read together with the host's");
        else if (trace->devices[i].contradiction_ns > kt_clock_wall_tick_ns(device))
            kt_put(
                sentence,
                "%sreadings of the host's clock and that of device %u (%s) contradict each other by up to %.*f us: its "
                "times may be off by up to %.*f us from those of other devices",
                separator, device->ordinal, device->name, digits_of(contradiction_us), contradiction_us,
                digits_of(trace->devices[i].uncertainty_ns / 1e3), trace->devices[i].uncertainty_ns / 1e3);
    }
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
