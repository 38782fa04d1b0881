/* Kernels that record as much as they are told. Cases: golden_capacity.c. */
#include "golden_device.h"

KERNEL(plain_marks)
{
    KTRACE_KERNEL("plain marks");
#pragma unroll 1
    for (int i = 0; i < n; i++)
        KTRACE_MARK("plain");
    out[thread_x()] = n;
}

/* n is before << 16 | count << 8 | behind: marks without a payload, `count` with one, and some without again. */
KERNEL(payload_marks)
{
    KTRACE_KERNEL("payload marks");
#pragma unroll 1
    for (int i = 0; i < n >> 16; i++)
        KTRACE_MARK("before");
#pragma unroll 1
    for (int i = 0; i < (n >> 8 & 255); i++)
        KTRACE_MARK("payload", i);
#pragma unroll 1
    for (int i = 0; i < (n & 255); i++)
        KTRACE_MARK("behind");
    out[thread_x()] = n;
}

KERNEL(one_mark)
{
    KTRACE_KERNEL("one mark");
    KTRACE_MARK("group", group_x());
    KTRACE_MARK("number", n);
    out[thread_x()] = n;
}

/* 6 slots a turn */
KERNEL(ranges_and_tokens)
{
    KTRACE_KERNEL("ranges and tokens");
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        KTRACE_RANGE("turn", i);
        const ktrace_token token = KTRACE_RANGE_START("token");
        KTRACE_RANGE_STOP(token, i);
    }
    out[thread_x()] = n;
}
