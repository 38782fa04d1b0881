/* A second translation unit of the same module. */
#include <ktrace/device.h>

__attribute__((amdgpu_kernel)) void second(__attribute__((address_space(1))) int *out)
{
    KTRACE_KERNEL("second");
    KTRACE_MARK("in the second unit", 2);
    out[0] = 1;
}
