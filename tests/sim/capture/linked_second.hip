#include "linked.h"

#include <ktrace/device.h>

__global__ void second(int *out)
{
    KTRACE_KERNEL("second");
    KTRACE_MARK("in the second unit");
    out[64 + __builtin_amdgcn_workgroup_id_x()] = 2;
}

void launch_second(int *out)
{
    second<<<2, 64>>>(out);
}
