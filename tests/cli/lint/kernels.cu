#include <ktrace/device.h>

#define LANE threadIdx.x
#define WAIT_FOR_ALL() __syncthreads()
#include "kernels.h"

/* A function that records and is not inlined. */
__device__ __noinline__ float recording(float x KTRACE_PARAM)
{
    KTRACE_RANGE("function");
    return sinf(x) + __expf(x);
}
extern "C" __global__ void calls(float *out)
{
    KTRACE_KERNEL("calls");
    KTRACE_RANGE("around");
    out[threadIdx.x] = recording(out[threadIdx.x] KTRACE_ARG);
}

#ifdef WITH_MAIN
int main()
{
    relax<true><<<1, 32>>>(nullptr);
    return 0;
}
#endif
