// expect: ktrace: a payload is a bool, an integer of up to 64 bits, half, bfloat16, float or double
#define KTRACE_ENABLE 1
#include "hip.h"

#include <ktrace/device.h>

struct pair {
    int first, second;
};

__global__ void kernel(pair value)
{
    KTRACE_KERNEL("kernel");
    KTRACE_MARK("mark", value);
}
