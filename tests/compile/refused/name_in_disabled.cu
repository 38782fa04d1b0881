// expect: error
#include <ktrace/device.h>

__global__ void kernel(const char *name)
{
    KTRACE_KERNEL("kernel");
    KTRACE_MARK(name);
}
