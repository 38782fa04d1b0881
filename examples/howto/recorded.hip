// recorded - a program without a capture, for `ktrace record` and KTRACE_ENABLE=1.
#include <hip/hip_runtime.h>
#include <ktrace/device.h>
#include <ktrace/ktrace.h>

constexpr int blocks = 64, threads = 64;

__global__ void twice(float *x)
{
    KTRACE_KERNEL("twice");
    KTRACE_RANGE("all");
    x[blockIdx.x * threads + threadIdx.x] *= 2;
}

int main()
{
    if (ktrace_active()) // where the environment asks for it
        ktrace_enable(NULL);
    float *x;
    if (hipMalloc(&x, blocks * threads * sizeof(float)) != hipSuccess)
        return 1;
    twice<<<blocks, threads>>>(x);
    return hipDeviceSynchronize() != hipSuccess;
}
