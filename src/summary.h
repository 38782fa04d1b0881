/* summary.h - durations of every phase, and a decoded trace as text and as JSON.
 *
 * The public functions ktrace_trace_phase, ktrace_trace_phase_count, ktrace_trace_summary_text and
 * ktrace_trace_summary_json are implemented beside this.
 */
#ifndef KT_SUMMARY_H
#define KT_SUMMARY_H

#include "trace.h"

/* Fill trace->statistics, one a phase, from paired events: the last step of making a trace. The array is the trace's to
 * free(). Fails with KTRACE_ERROR_MEMORY only. */
int kt_summarize(struct ktrace_trace *trace);

/* Of a phase, as text and JSON call it: "mark", "token" or "range". */
static inline const char *kt_phase_kind_name(uint32_t kind)
{
    return kind == KTRACE_KIND_MARK ? "mark" : kind == KTRACE_KIND_START ? "token" : "range";
}

#endif
