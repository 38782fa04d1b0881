/* One of two translation units with equal and different names. Without -rdc each is a module of its own. */
#include "modules.h"

#include <cuda_runtime.h>
#include <ktrace/device.h>

#if defined(__CUDACC_RDC__)
/* In module_b.cu: its events are this kernel's. */
extern __device__ int across(int x KTRACE_PARAM);
#endif

namespace
{

__device__ int hidden(int x KTRACE_PARAM)
{
    KTRACE_RANGE("hidden", x);
    x = x * 3 + 1;
    KTRACE_PIN(x);
    return x;
}

} /* namespace */

__global__ void kernel_a(int *out)
{
    KTRACE_KERNEL("same kernel");
    int x = (int)blockIdx.x;
    KTRACE_MARK("shared name", x);
    KTRACE_RANGE_PUSH("only in a");
    x = hidden(x KTRACE_ARG);
    KTRACE_RANGE_POP();
#if defined(__CUDACC_RDC__)
    x = across(x KTRACE_ARG);
#endif
    KTRACE_MARK("a");
    out[blockIdx.x] = x;
}

extern "C" int launch_module_a(int *out, int blocks)
{
    kernel_a<<<blocks, 32>>>(out);
    return (int)cudaGetLastError();
}
