// expect: KTRACE_KERNEL where amdgpu_kernel or __kernel was not what made the kernel one
// options: -std=c23 -Wno-unknown-attributes
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

[[clang::amdgpu_kernel]] void kernel(void)
{
    KTRACE_KERNEL("kernel");
    KTRACE_MARK("mark");
}
