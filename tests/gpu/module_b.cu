/* The other of two translation units with equal and different names. */
#include "modules.h"

#include <cuda_runtime.h>
#include <ktrace/device.h>

namespace
{

/* As in module_a.cu, and not the same. */
__device__ int hidden(int x KTRACE_PARAM)
{
    KTRACE_RANGE("hidden", (double)x);
    KTRACE_MARK("in hidden of b");
    x = x * 5 + 2;
    KTRACE_PIN(x);
    return x;
}

} /* namespace */

#if defined(__CUDACC_RDC__)
__device__ int across(int x KTRACE_PARAM)
{
    KTRACE_RANGE("across", x);
    x = hidden(x KTRACE_ARG);
    return x;
}
#endif

__global__ void kernel_b(int *out)
{
    KTRACE_KERNEL("same kernel");
    int x = (int)blockIdx.x;
    KTRACE_MARK("b");
    const ktrace_token token = KTRACE_RANGE_START("only in b", x);
    x = hidden(x KTRACE_ARG);
    KTRACE_RANGE_STOP(token);
    KTRACE_MARK("shared name", 100 + (int)blockIdx.x);
    out[blockIdx.x] = x;
}

extern "C" int launch_module_b(int *out, int blocks)
{
    kernel_b<<<blocks, 32>>>(out);
    return (int)cudaGetLastError();
}
