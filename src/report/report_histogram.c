/* report_histogram.c - how the durations of each phase are spread. */
#include "report_histogram.h"

#include "../array.h"

#include <math.h>

/* Where the longest is this many times the shortest, bins grow by a factor. */
#define LOGARITHMIC_FROM 20

static size_t bin_of(const struct kt_report_histogram *histogram, double duration_ns)
{
    const double low = histogram->low_ns, high = histogram->high_ns;
    const double part =
        histogram->logarithmic ? log(duration_ns / low) / log(high / low) : (duration_ns - low) / (high - low);
    if (!(part > 0))
        return 0;
    return part < 1 ? (size_t)(part * KT_REPORT_BINS) : KT_REPORT_BINS - 1;
}

int kt_report_histograms(struct kt_report_histogram **out, const struct ktrace_trace *trace)
{
    struct kt_report_histogram *histograms = kt_array_new_zeroed(trace->phase_count, sizeof *histograms);
    struct kt_report_range *ranges = NULL;
    size_t capacity = 0;
    int64_t count = histograms ? 0 : KTRACE_ERROR_MEMORY;
    for (uint32_t i = 0; count >= 0 && i < trace->phase_count; i++) {
        const struct ktrace_phase_info *phase = &trace->statistics[i];
        histograms[i] = (struct kt_report_histogram){
            .low_ns = phase->min_ns,
            .high_ns = phase->max_ns > phase->min_ns ? phase->max_ns : phase->min_ns + 1,
            .logarithmic = phase->min_ns > 0 && phase->max_ns > LOGARITHMIC_FROM * phase->min_ns};
    }
    for (uint64_t w = 0; count >= 0 && w < trace->wave_count; w++) {
        count = kt_report_ranges(&ranges, &capacity, trace, &trace->waves[w]);
        for (int64_t i = 0; i < count; i++) {
            const struct kt_report_range *range = &ranges[i];
            if (range->phase >= trace->phase_count || trace->phases[range->phase].kind == KTRACE_KIND_MARK ||
                range->shape & KT_REPORT_UNCLOSED)
                continue;
            const double duration_ns = (double)((uint64_t)range->end_ps - (uint64_t)range->begin_ps) / 1000;
            histograms[range->phase].counts[bin_of(&histograms[range->phase], duration_ns)]++;
        }
    }
    free(ranges);
    if (count < 0) {
        free(histograms);
        return (int)count;
    }
    *out = histograms;
    return 0;
}
