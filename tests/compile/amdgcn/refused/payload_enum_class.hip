// expect: ktrace: a payload is a bool, an integer of up to 64 bits, half, bfloat16, float or double
#define KTRACE_ENABLE 1
#include "hip.h"

#include <ktrace/device.h>

enum class phase { load, compute };

__global__ void kernel(phase value)
{
    KTRACE_KERNEL("kernel");
    KTRACE_MARK("mark", value);
}
