/* host_clock.h - the host's side of a struct kt_host_anchor. */
#ifndef KT_HOST_CLOCK_H
#define KT_HOST_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_REALTIME. */
static inline uint64_t kt_host_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
