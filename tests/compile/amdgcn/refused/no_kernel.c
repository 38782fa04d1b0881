// expect: ktrace_handle_that_KTRACE_KERNEL_or_KTRACE_PARAM_declares
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__attribute__((amdgpu_kernel)) void kernel(void)
{
    KTRACE_MARK("mark");
}
