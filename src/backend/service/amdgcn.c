/* amdgcn.c - the kernels that libktrace itself runs on AMD devices. Not compiled with the library, which needs no clang:
 * amdgcn_code.h holds the code objects, and `ninja update_service_code` makes it again.
 */
#include "ktrace/record.h"

#define GLOBAL __attribute__((address_space(1)))
#define KERNEL __attribute__((amdgpu_kernel))

enum {
    LINES = sizeof(struct ktrace_counters) / sizeof(struct ktrace_counter_line),
    READINGS = 4096 /* KT_SURVEY_READINGS, whose header needs more of C than there is here */
};

/* Puts each counter to what a half begins with, and hands over what was there: one step for each counter, so that what waves
 * count meanwhile is in one of the two. 64 lanes a workgroup, a line each. */
KERNEL void ktrace_exchange_counters(GLOBAL struct ktrace_counters *counters, ktrace_u64 claims,
                                     GLOBAL struct ktrace_counters *before)
{
    const ktrace_u32 number = __builtin_amdgcn_workitem_id_x() + 64 * __builtin_amdgcn_workgroup_id_x();
    if (number >= LINES)
        return;
    GLOBAL struct ktrace_counter_line *line = &counters->partition[number], *old = &before->partition[number];
    old->claims = __atomic_exchange_n(&line->claims, number < KTRACE_MAX_PARTITIONS ? claims : 0, __ATOMIC_RELAXED);
    old->full = __atomic_exchange_n(&line->full, 0, __ATOMIC_RELAXED);
    old->filtered = __atomic_exchange_n(&line->filtered, 0, __ATOMIC_RELAXED);
}

static inline ktrace_u64 read_clock(void)
{
    ktrace_u64 now;
    __asm__ volatile("s_memrealtime %0\n\ts_waitcnt lgkmcnt(0)" : "=s"(now)::"memory");
    return now;
}

/* The clock that waves read, in its ticks of 10 ns. */
KERNEL void ktrace_read_clock(GLOBAL ktrace_u64 *ticks)
{
    *ticks = read_clock();
}

/* It, again and again. */
KERNEL void ktrace_survey_clock(GLOBAL ktrace_u64 *ticks)
{
    for (int i = 0; i < READINGS; i++)
        ticks[i] = read_clock();
}
