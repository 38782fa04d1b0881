/* A module whose descriptors are in global memory: each event carries its descriptor's address. */
#define KTRACE_SITES_IN_GLOBAL 1
#include "modules.h"

#include <cuda_runtime.h>
#include <ktrace/device.h>

__global__ void kernel_global(int *out)
{
    KTRACE_KERNEL("global sites");
    const int lane = (int)threadIdx.x;
    int x = (int)blockIdx.x;
    KTRACE_MARK("shared name", x + 200);
    KTRACE_RANGE("body");
    const ktrace_token token = KTRACE_RANGE_START("token", 1.5f);
    if (lane >= 7)
        KTRACE_MARK("upper", lane);
    __syncwarp();
    KTRACE_RANGE_STOP(token);
    const ktrace_token other = KTRACE_RANGE_START("other token");
    KTRACE_RANGE_STOP(other, x - 1);
    KTRACE_MARK("plain");
    if (lane == 0)
        out[blockIdx.x] = x;
}

extern "C" int launch_module_global(int *out, int blocks)
{
    kernel_global<<<blocks, 32>>>(out);
    return (int)cudaGetLastError();
}
