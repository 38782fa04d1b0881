/* A kernel as simple as any, whose registers are those of the annotations: 1024 threads of it must fit, also in debug builds. */
#include <ktrace/device.h>

__global__ void largest_block(int *out)
{
    KTRACE_KERNEL("largest block");
    KTRACE_RANGE("all", (int)blockIdx.x);
    if ((threadIdx.x & 31) >= 8)
        KTRACE_MARK("upper", (int)threadIdx.x);
    out[threadIdx.x] = 1;
}
