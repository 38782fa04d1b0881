// expect: an annotation outside of a kernel: is its function inlined?
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__attribute__((amdgpu_kernel)) void first(void)
{
    KTRACE_KERNEL("first");
}

__attribute__((noinline)) void called(KTRACE_PARAM_ONLY)
{
    KTRACE_MARK("mark");
}

__attribute__((amdgpu_kernel)) void kernel(void)
{
    KTRACE_KERNEL("kernel");
    called(KTRACE_ARG_ONLY);
}
