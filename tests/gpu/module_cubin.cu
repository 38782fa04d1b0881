/* Loaded through the driver API as a cubin; compiled with KTRACE_ENABLE 1 and 0. */
#include <ktrace/device.h>

extern "C" __global__ void cubin_kernel(int *out, int number)
{
    KTRACE_KERNEL("cubin");
    KTRACE_RANGE("body", number);
    KTRACE_MARK("shared name", (int)blockIdx.x + 400);
    if (threadIdx.x == 0)
        out[blockIdx.x] = number;
}
