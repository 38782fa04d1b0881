// expect: ktrace: annotated kernels are compiled as OpenCL C 2.0 or newer (-cl-std=CL2.0)
// options: -cl-std=CL1.2
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__kernel void kernel_of_12(void)
{
    KTRACE_KERNEL("kernel");
}
