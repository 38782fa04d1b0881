/* Takes many registers. */
#include <ktrace/device.h>

extern "C" __global__ void big(float *out)
{
    KTRACE_KERNEL("big");
    float x[64];
    KTRACE_RANGE("big");
    for (int i = 0; i < 64; i++)
        x[i] = out[i * 64 + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 64; i++)
        out[i * 64 + threadIdx.x] = x[i] * x[63 - i];
}
