// expect: ktrace: __global__ was defined again behind ktrace/device.h
#define KTRACE_ENABLE 1
#include "hip.h"

#include <ktrace/device.h>
#undef __global__
#define __global__ __attribute__((global))

__global__ void kernel()
{
    KTRACE_KERNEL("kernel");
}
