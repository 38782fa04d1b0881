/* scale.hip - what docs/annotating.md compiles without ROCm: HIP C++ without HIP's headers, and so with its words declared here. */
#define __global__ __attribute__((global))
#include <ktrace/device.h>

extern "C" __global__ void scale(float *x, float factor)
{
    KTRACE_KERNEL("scale");
    KTRACE_RANGE("all", factor);
    x[__builtin_amdgcn_workitem_id_x()] *= factor;
}
