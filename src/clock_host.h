/* clock_host.h - how a device's wall clock runs against the host's. Part of the clock fit: see clock.c. */
#ifndef KT_CLOCK_HOST_H
#define KT_CLOCK_HOST_H

#include "snapshot.h"

/* How fast the two clocks may run apart. Linux turns the rate of CLOCK_REALTIME by up to 500 ppm, for NTP, and by as much again
 * while it makes good a difference (adjtimex(2)); crystals are good to 100 ppm. */
#define KT_HOST_DRIFT_MAX 1e-3

/* While the device's wall clock shows device_ns + x, the host's shows host_ns + x + offset_ns + drift * x. */
struct kt_host_line {
    uint64_t device_ns, host_ns;
    double offset_ns, drift;
    double uncertainty_ns; /* from first_ns to last_ns the host's clock is no further than this from the line */
    double
        contradiction_ns; /* no line is nearer than this to all anchors; 0: they agree, as readings of one clock do */
};

/* The line for a device that recorded from first_ns to last_ns on its wall clock, which has at least one anchor.
 * KTRACE_ERROR_MEMORY. */
int kt_host_line_fit(struct kt_host_line *out, const struct kt_device *device, uint64_t first_ns, uint64_t last_ns);

/* Where a wall clock `from` lies on the wall clock `to` of another device: origin_ns + x of the one is, for any x, from
 * to_origin_ns + begin_ns + rate * x on the other. */
struct kt_host_shift {
    double begin_ns, rate;
};
struct kt_host_shift kt_host_shift(const struct kt_host_line *from, uint64_t origin_ns, const struct kt_host_line *to,
                                   uint64_t to_origin_ns);

/* Host's clock minus the device's, when the device's shows `device_ns`. */
int64_t kt_host_offset_ns(const struct kt_host_line *line, uint64_t device_ns);

#endif
