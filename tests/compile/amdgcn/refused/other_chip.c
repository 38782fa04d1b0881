// expect: ktrace: this is compiled for gfx1100, but ktrace records on gfx942 and gfx950 only
// chip: gfx1100
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__attribute__((amdgpu_kernel)) void kernel(void)
{
    KTRACE_KERNEL("kernel");
}
