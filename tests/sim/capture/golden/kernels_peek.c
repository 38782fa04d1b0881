/* Kernels that do not end by themselves. Cases: golden_peek.c. */
#include "golden_device.h"

/* Until the host stores to out[0]. */
INLINE void wait_for_host(GLOBAL int *out)
{
    while (*(GLOBAL volatile int *)out == 0)
        __builtin_amdgcn_s_sleep(1);
}

KERNEL(waits_in_ranges)
{
    KTRACE_KERNEL("waits in ranges");
    KTRACE_MARK("first", n);
    KTRACE_RANGE("outer", group_x());
    const ktrace_token token = KTRACE_RANGE_START("token");
    {
        KTRACE_RANGE("inner");
        wait_for_host(out);
        KTRACE_MARK("released");
    }
    KTRACE_RANGE_STOP(token);
}

/* Odd workgroups wait, the others do not. */
KERNEL(some_wait)
{
    KTRACE_KERNEL("some wait");
    KTRACE_RANGE("body", group_x());
    if ((group_x() & 1) == n)
        wait_for_host(out);
}

KERNEL(waits_after_many)
{
    KTRACE_KERNEL("waits after many");
#pragma unroll 1
    for (int i = 0; i < n; i++)
        KTRACE_MARK("many", i);
    wait_for_host(out);
    KTRACE_MARK("released");
}

/* For ever. */
KERNEL(hangs)
{
    KTRACE_KERNEL("hangs");
    KTRACE_MARK("alive", n);
    KTRACE_RANGE("loop");
    int x = thread_x();
    while (n)
        x = work(x);
    out[thread_x()] = x;
}
