// expect: an annotation outside of a kernel: is its function inlined?
#define KTRACE_ENABLE 1
#include "hip.h"

#include <ktrace/device.h>

template <class T>
__device__ __attribute__((noinline)) void called(T value KTRACE_PARAM)
{
    KTRACE_MARK("mark", value);
}

__global__ void kernel(int value)
{
    KTRACE_KERNEL("kernel");
    called(value KTRACE_ARG);
}
