// expect: ktrace: an annotation needs a name, a string literal
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__attribute__((amdgpu_kernel)) void kernel(void)
{
    KTRACE_KERNEL("kernel");
    KTRACE_MARK("");
}
