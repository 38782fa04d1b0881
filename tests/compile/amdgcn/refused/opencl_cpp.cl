// expect: ktrace: kernels in C++ for OpenCL are not supported
// options: -cl-std=CLC++
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__kernel void kernel_in_cpp()
{
    KTRACE_KERNEL("kernel");
}
