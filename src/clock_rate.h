/* clock_rate.h - how fast the places' clocks ran, over the time of a trace. Part of the clock fit: see clock.c. */
#ifndef KT_CLOCK_RATE_H
#define KT_CLOCK_RATE_H

#include "snapshot.h"

/* A duration that one wave measured on both clocks, from begin_wall_ns on. */
struct kt_baseline {
    uint64_t begin_wall_ns;
    double wall_ns, clock_ticks;
    double error_ns; /* wall_ns is right to within this much */
};

/* What to expect of any place's clock from begin_wall_ns to the next entry. */
struct kt_rate {
    uint64_t begin_wall_ns;
    double ns_per_tick;
    double deviation; /* standard deviation of a place's rate from ns_per_tick */
    double low, high; /* ns per tick that are possible */
};

struct kt_rate_profile {
    size_t count;          /* at least 1 */
    struct kt_rate *rates; /* by time */
};

/* Sorts `baselines`. `nominal_ns_per_tick` counts where they leave it open. KTRACE_ERROR_MEMORY; else free with
 * kt_rate_profile_destroy. */
int kt_rate_profile_make(struct kt_rate_profile *out, struct kt_baseline *baselines, size_t count,
                         double nominal_ns_per_tick);
/* Clocks that tick at exactly this rate. */
int kt_rate_profile_exact(struct kt_rate_profile *out, double ns_per_tick);
void kt_rate_profile_destroy(struct kt_rate_profile *profile);

const struct kt_rate *kt_rate_at(const struct kt_rate_profile *profile, uint64_t wall_ns);

#endif
