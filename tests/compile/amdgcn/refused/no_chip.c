// expect: ktrace: this is compiled for no processor: say -mcpu=gfx942 or -mcpu=gfx950
// options: -mcpu= -Wno-unused-command-line-argument
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__attribute__((amdgpu_kernel)) void kernel(void)
{
    KTRACE_KERNEL("kernel");
}
