// expect: KTRACE_PIN and KTRACE_WAIT take a variable that is not const
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__global__ void kernel(int *p)
{
    KTRACE_KERNEL("kernel");
    const int value = p[0];
    KTRACE_WAIT(value);
    KTRACE_MARK("mark");
    p[1] = value;
}
