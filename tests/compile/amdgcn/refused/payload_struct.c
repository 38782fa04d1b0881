// expect: struct ktrace_a_payload_is_a_bool_an_integer_half_bfloat16_float_or_double
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

struct pair {
    int first, second;
};

__attribute__((amdgpu_kernel)) void kernel(int a, int b)
{
    KTRACE_KERNEL("kernel");
    struct pair value = {a, b};
    KTRACE_MARK("mark", value);
}
