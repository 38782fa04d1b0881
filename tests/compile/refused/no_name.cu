// expect: ktrace: an annotation needs a name, a string literal
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__global__ void kernel()
{
    KTRACE_KERNEL("kernel");
    KTRACE_MARK();
}
