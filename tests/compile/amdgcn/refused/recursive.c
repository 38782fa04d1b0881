// expect: an annotation outside of a kernel: is its function inlined?
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

static inline __attribute__((always_inline)) int fibonacci(int n KTRACE_PARAM)
{
    KTRACE_RANGE("fibonacci", n);
    return n < 2 ? n : fibonacci(n - 1 KTRACE_ARG) + fibonacci(n - 2 KTRACE_ARG);
}

__attribute__((amdgpu_kernel)) void kernel(__attribute__((address_space(1))) int *out, int n)
{
    KTRACE_KERNEL("kernel");
    out[0] = fibonacci(n KTRACE_ARG);
}
