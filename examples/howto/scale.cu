// scale.cu - a kernel that a program loads by itself, as a cubin.
#include <ktrace/device.h>

extern "C" __global__ void scale(float *x, int count, float factor)
{
    KTRACE_KERNEL("scale");
    KTRACE_RANGE("all", factor);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        x[i] *= factor;
}
