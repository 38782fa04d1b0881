/* square.hip - what docs/howto/hip.md shows to be refused: a function that records and is not inlined. */
#include <hip/hip_runtime.h>
#include <ktrace/device.h>

__attribute__((noinline)) __device__ float square(float x KTRACE_PARAM)
{
    KTRACE_RANGE("square");
    return x * x;
}

__global__ void squares(float *x)
{
    KTRACE_KERNEL("squares");
    x[threadIdx.x] = square(x[threadIdx.x] KTRACE_ARG);
}
