// expect: ktrace: a payload is a bool, an integer of up to 64 bits, half, bfloat16, float or double
#define KTRACE_ENABLE 1
#include "hip.h"

#include <ktrace/device.h>

typedef float float4 __attribute__((ext_vector_type(4)));

__global__ void kernel(float4 value)
{
    KTRACE_KERNEL("kernel");
    KTRACE_MARK("mark", value);
}
