// expect: struct ktrace_a_payload_is_a_bool_an_integer_half_bfloat16_float_or_double
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

__attribute__((amdgpu_kernel)) void kernel(long long value)
{
    KTRACE_KERNEL("kernel");
    KTRACE_MARK("mark", (__int128)value << 64);
}
