/* The second translation unit of programs linked from two: all_macros.cu is the first. Both have a control block. */
#include <ktrace/device.h>

#include <cstdio>

__global__ void second(int *out)
{
    KTRACE_KERNEL("second");
    KTRACE_RANGE("body", threadIdx.x);
    out[threadIdx.x] = 1;
}

int main()
{
    std::printf("second %p\n", (const void *)second);
    return 0;
}
