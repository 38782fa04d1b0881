// expect: ktrace: KTRACE_PIN and KTRACE_WAIT take a value of 1, 2, 4 or 8 bytes
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__global__ void kernel(float4 value)
{
    KTRACE_KERNEL("kernel");
    KTRACE_PIN(value);
}
