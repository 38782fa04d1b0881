/* scale.cl - what docs/annotating.md compiles of OpenCL C. */
#include <ktrace/device.h>

__kernel void scale(__global float *x, float factor)
{
    KTRACE_KERNEL("scale");
    KTRACE_RANGE("all", factor);
    x[__builtin_amdgcn_workitem_id_x()] *= factor;
}
