#include <ktrace/device.h>

__global__ void horner(float *out, float x, int wanted)
{
    KTRACE_KERNEL("horner");
    KTRACE_RANGE_PUSH("math");
    KTRACE_PIN(x); // what uses x comes after the range opened
    for (int i = 0; i < 8; i++)
        x = fmaf(x, x, 1.0f);
    KTRACE_PIN(x); // x is computed before it closes
    KTRACE_RANGE_POP();
    if (wanted > 0)
        out[threadIdx.x] = x;
}
