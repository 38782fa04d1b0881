/* report_ranges.c - a wave's ranges and marks, with how they nest. */
#include "report_parts.h"

#include "../array.h"

static int64_t end_of(const struct ktrace_trace *trace, const struct kt_wave *wave, const struct kt_event *begin)
{
    const struct kt_event *events = &trace->events[wave->first_event];
    const uint32_t end = begin->partner < wave->event_count ? begin->partner : wave->event_count - 1;
    return events[end].time_ps > begin->time_ps ? events[end].time_ps : begin->time_ps;
}

int64_t kt_report_ranges(struct kt_report_range **ranges, size_t *capacity, const struct ktrace_trace *trace,
                         const struct kt_wave *wave)
{
    const struct kt_event *events = &trace->events[wave->first_event];
    size_t count = 0;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < wave->event_count; i++) {
        const struct kt_event *event = &events[i];
        const uint8_t kind = event->site->kind;
        /* The end of a range that nests. One that is unclosed has no end, and stays open to the wave's last event. */
        if (kind == KTRACE_KIND_POP || kind == KTRACE_KIND_STOP) {
            depth -= event->partner < i && events[event->partner].track == 0 && depth > 0;
            continue;
        }
        if (kind != KTRACE_KIND_MARK && kind != KTRACE_KIND_PUSH && kind != KTRACE_KIND_START)
            continue;
        if (kt_array_reserve(ranges, capacity, count + 1, sizeof **ranges) < 0)
            return KTRACE_ERROR_MEMORY;
        struct kt_report_range *range = &(*ranges)[count++];
        *range = (struct kt_report_range){
            .begin_ps = event->time_ps,
            .end_ps = event->time_ps,
            .phase = kt_trace_phase_of(trace, trace->launches[wave->launch].kernel, event->site)};
        const uint32_t level = kind == KTRACE_KIND_MARK || event->track == 0 ? depth : event->track;
        range->shape = (uint8_t)(level < KT_REPORT_DEPTH ? level : KT_REPORT_DEPTH);
        if (kind == KTRACE_KIND_MARK)
            continue;
        range->end_ps = end_of(trace, wave, event);
        range->shape |= event->track ? KT_REPORT_CHILD : 0;
        range->shape |= event->flags & KT_EVENT_UNCLOSED ? KT_REPORT_UNCLOSED : 0;
        depth += event->track == 0;
    }
    return (int64_t)count;
}
