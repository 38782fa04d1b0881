/* A second translation unit of the same module. */
#include "hip.h"

#include <ktrace/device.h>

extern "C" __global__ void second(int *out)
{
    KTRACE_KERNEL("second");
    KTRACE_MARK("in the second unit", 2);
    out[0] = 1;
}
