// expect: ktrace: a payload is a bool, an integer of up to 64 bits, half, bfloat16, float or double
#define KTRACE_ENABLE 1
#include "hip.h"

#include <ktrace/device.h>

__global__ void kernel(long long value)
{
    KTRACE_KERNEL("kernel");
    KTRACE_MARK("mark", (__int128)value << 64);
}
