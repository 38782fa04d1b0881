// expect: ktrace: more than 65536 annotations in one translation unit
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

/* As if there had been so many: what annotations would have assembled. */
__asm__(".pushsection ktrace_sites, \"a\", @progbits\n.p2align 4\n.Lktrace_sites:\n.zero 16 * 65535\n.popsection");

__attribute__((amdgpu_kernel)) void kernel(void)
{
    KTRACE_KERNEL("kernel");
    KTRACE_MARK("mark");
}
