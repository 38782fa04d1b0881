/* marks.h - kernels that record as many marks as they are told. */
#ifndef KTRACE_TESTS_GPU_MARKS_H
#define KTRACE_TESTS_GPU_MARKS_H

#include <ktrace/device.h>

__global__ void plain_marks(int count)
{
    KTRACE_KERNEL("plain marks");
#pragma unroll 1
    for (int i = 0; i < count; i++)
        KTRACE_MARK("plain");
}

/* `before` marks without a payload, then `count` with one, then `behind` without. */
__global__ void payload_marks(int before, int count, int behind)
{
    KTRACE_KERNEL("payload marks");
#pragma unroll 1
    for (int i = 0; i < before; i++)
        KTRACE_MARK("before");
#pragma unroll 1
    for (int i = 0; i < count; i++)
        KTRACE_MARK("payload", i);
#pragma unroll 1
    for (int i = 0; i < behind; i++)
        KTRACE_MARK("behind");
}

__global__ void one_mark(int number)
{
    KTRACE_KERNEL("one mark");
    KTRACE_MARK("workgroup", (int)blockIdx.x);
    KTRACE_MARK("number", number);
}

#endif
