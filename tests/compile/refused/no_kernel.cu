// expect: ktrace_handle
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__global__ void kernel()
{
    KTRACE_MARK("mark");
}
