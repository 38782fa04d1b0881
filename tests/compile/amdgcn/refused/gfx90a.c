// expect: ktrace: this is compiled for gfx90a, but ktrace records on gfx942 and gfx950 only
// chip: gfx90a
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__attribute__((amdgpu_kernel)) void kernel(void)
{
    KTRACE_KERNEL("kernel");
}
