// expect: ktrace: annotated kernels are compiled as C++17 or newer (-std=c++17)
// options: -std=c++14
#define KTRACE_ENABLE 1
#include "hip.h"

#include <ktrace/device.h>

__global__ void kernel()
{
    KTRACE_KERNEL("kernel");
}
