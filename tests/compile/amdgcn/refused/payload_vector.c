// expect: struct ktrace_a_payload_is_a_bool_an_integer_half_bfloat16_float_or_double
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

typedef float float4 __attribute__((ext_vector_type(4)));

__attribute__((amdgpu_kernel)) void kernel(float4 value)
{
    KTRACE_KERNEL("kernel");
    KTRACE_RANGE("range", value);
}
