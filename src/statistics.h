/* statistics.h - what is said of many durations. */
#ifndef KT_STATISTICS_H
#define KT_STATISTICS_H

#include <stdint.h>

/* Nanoseconds; percentiles by nearest rank. All 0 where there are no durations. */
struct kt_statistics {
    uint64_t count;
    double total_ns, mean_ns, min_ns, p50_ns, p90_ns, p99_ns, max_ns;
};

/* Sorts `durations_ps`; `scratch` has room for as many. */
void kt_describe_durations(struct kt_statistics *out, uint64_t *durations_ps, uint64_t *scratch, uint64_t count);

#endif
