/* clock_device.h - the clocks of one device's places, on its own wall clock. Part of the clock fit: see clock.c. */
#ifndef KT_CLOCK_DEVICE_H
#define KT_CLOCK_DEVICE_H

#include "trace.h"

/* How much memory is behind trace->place_clocks and trace->knots, which grow with every device. */
struct kt_clock_room {
    size_t place_clocks, knots;
};

struct kt_device_fit {
    /* what the fit is of */
    uint32_t device;                         /* index into snapshot->devices */
    const struct ktrace_wave_header **waves; /* of that device, at least one */
    size_t wave_count;
    /* what came out */
    uint64_t origin_ns;         /* on the device's wall clock; its knots count from here, and no wave starts before */
    uint64_t latest_ns;         /* the end of its last wave, on the same clock */
    double line_ticks, line_ns; /* the straight stretches of all its places, laid end to end */
    double ns_per_tick;         /* expected of its places when it began */
    double residual_ns, uncertainty_ns, unanchored_ns; /* largest of its places' */
};

/* Adds the device's place_clocks and knots to those of the trace. KTRACE_ERROR_MEMORY. */
int kt_clock_fit_device(struct kt_device_fit *fit, struct ktrace_trace *trace, struct kt_clock_room *room);

#endif
