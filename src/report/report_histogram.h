/* report_histogram.h - how the durations of each phase are spread. */
#ifndef KT_REPORT_HISTOGRAM_H
#define KT_REPORT_HISTOGRAM_H

#include "report_parts.h"

/* Bins of equal width from the shortest to the longest, or of equal ratio where these are far apart. */
struct kt_report_histogram {
    double low_ns, high_ns;
    bool logarithmic;
    uint64_t counts[KT_REPORT_BINS];
};
/* One a phase of the trace, of its closed ranges; an array to free(). */
int kt_report_histograms(struct kt_report_histogram **out, const struct ktrace_trace *trace);

#endif
