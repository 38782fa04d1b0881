/* host_clock.h - the host's side of a struct kt_host_anchor, and a struct kt_clock_reading; and the clock for limits of time. */
#ifndef KT_HOST_CLOCK_H
#define KT_HOST_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t kt_host_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_REALTIME. */
static inline uint64_t kt_host_now_ns(void)
{
    return kt_host_clock_ns(CLOCK_REALTIME);
}

/* CLOCK_MONOTONIC, which nobody sets. */
static inline int64_t kt_monotonic_ms(void)
{
    return (int64_t)(kt_host_clock_ns(CLOCK_MONOTONIC) / 1000000);
}

#endif
