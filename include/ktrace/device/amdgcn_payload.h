/* device/amdgcn_payload.h - which values an event can carry on amdgcn, and their bits. Part of amdgcn.h.
 *
 * KTRACE_PAYLOAD_TYPE(x) is a constant, KTRACE_PAYLOAD_BITS(x) its 64 bits; the event takes those of the first active
 * lane.
 */
#ifndef KTRACE_DEVICE_AMDGCN_PAYLOAD_H
#define KTRACE_DEVICE_AMDGCN_PAYLOAD_H

#if defined(__cplusplus)

struct __half;
struct __hip_bfloat16;

namespace ktrace_detail
{
KTRACE_DEVICE_INLINE ktrace_u32 bits_of(float value)
{
    ktrace_u32 bits = __builtin_bit_cast(ktrace_u32, value);
    return bits;
}
KTRACE_DEVICE_INLINE ktrace_u64 bits_of(double value)
{
    ktrace_u64 bits = __builtin_bit_cast(ktrace_u64, value);
    return bits;
}
KTRACE_DEVICE_INLINE float half_to_float(unsigned short half)
{
    return (float)__builtin_bit_cast(_Float16, half);
}
} /* namespace ktrace_detail */

#include "payload.h"

namespace ktrace_detail
{
template <>
struct payload<__half> : half_payload {
};
template <>
struct payload<__hip_bfloat16> : bfloat16_payload {
};
template <>
struct payload<_Float16> : payload<float> { /* to which it converts without loss */
};
template <>
struct payload<__bf16> {
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_FLOAT32;
    static KTRACE_DEVICE_INLINE ktrace_u32 bits(__bf16 value)
    {
        ktrace_u32 bits = (ktrace_u32) __builtin_bit_cast(unsigned short, value) << 16;
        return bits;
    }
};
} /* namespace ktrace_detail */

#define KTRACE_PAYLOAD_OF(x) ::ktrace_detail::payload_of<decltype(x)>
#define KTRACE_PAYLOAD_TYPE(x) (KTRACE_PAYLOAD_OF(x)::type)
#define KTRACE_PAYLOAD_BITS(x) ((ktrace_u64)KTRACE_PAYLOAD_OF(x)::bits(x))

#else

/* What the compiler names when a payload has another type. */
struct ktrace_a_payload_is_a_bool_an_integer_half_bfloat16_float_or_double {
    int unused;
};

#if defined(__OPENCL_C_VERSION__)
#define KTRACE_FOR_HALF half
#define KTRACE_FOR_OTHER_TYPES(of_int64, of_uint64, of_bfloat16)
#else
#define KTRACE_FOR_HALF _Float16
#define KTRACE_FOR_OTHER_TYPES(of_int64, of_uint64, of_bfloat16) \
    long long : of_int64, unsigned long long : of_uint64, __bf16 : of_bfloat16,
#endif
#define KTRACE_BY_TYPE(x, of_bool, of_int32, of_uint32, of_int64, of_uint64, of_half, of_bfloat16, of_float, \
                       of_double, of_others) \
    _Generic((x), KTRACE_FOR_OTHER_TYPES(of_int64, of_uint64, of_bfloat16) _Bool \
             : of_bool, char \
             : of_int32, signed char \
             : of_int32, unsigned char \
             : of_uint32, short \
             : of_int32, unsigned short \
             : of_uint32, int \
             : of_int32, unsigned int \
             : of_uint32, long \
             : of_int64, unsigned long \
             : of_uint64, KTRACE_FOR_HALF \
             : of_half, float \
             : of_float, double \
             : of_double, default \
             : of_others)
#define KTRACE_PAYLOAD_TYPE(x) \
    KTRACE_BY_TYPE(x, KTRACE_PAYLOAD_BOOL, KTRACE_PAYLOAD_INT32, KTRACE_PAYLOAD_UINT32, KTRACE_PAYLOAD_INT64, \
                   KTRACE_PAYLOAD_UINT64, KTRACE_PAYLOAD_FLOAT32, KTRACE_PAYLOAD_FLOAT32, KTRACE_PAYLOAD_FLOAT32, \
                   KTRACE_PAYLOAD_FLOAT64, KTRACE_PAYLOAD_NONE)
#define KTRACE_PAYLOAD_BITS(x) \
    KTRACE_BY_TYPE(x, ktrace_bits_of_u32, ktrace_bits_of_u32, ktrace_bits_of_u32, ktrace_bits_of_u64, \
                   ktrace_bits_of_u64, ktrace_bits_of_float, ktrace_bits_of_bfloat16, ktrace_bits_of_float, \
                   ktrace_bits_of_double, ktrace_bits_of_others) \
    (x)

KTRACE_DEVICE_INLINE ktrace_u64 ktrace_bits_of_u32(ktrace_u32 value)
{
    return value;
}
KTRACE_DEVICE_INLINE ktrace_u64 ktrace_bits_of_u64(ktrace_u64 value)
{
    return value;
}
KTRACE_DEVICE_INLINE ktrace_u64 ktrace_bits_of_float(float value)
{
    union {
        float number;
        ktrace_u32 bits;
    } both = {value};
    return both.bits;
}
KTRACE_DEVICE_INLINE ktrace_u64 ktrace_bits_of_double(double value)
{
    union {
        double number;
        ktrace_u64 bits;
    } both = {value};
    return both.bits;
}
#if !defined(__OPENCL_C_VERSION__)
KTRACE_DEVICE_INLINE ktrace_u64 ktrace_bits_of_bfloat16(__bf16 value)
{
    union {
        __bf16 number;
        ktrace_u16 bits;
    } both = {value};
    ktrace_u32 bits = (ktrace_u32)both.bits << 16;
    return bits;
}
#endif
ktrace_u64 ktrace_bits_of_others(struct ktrace_a_payload_is_a_bool_an_integer_half_bfloat16_float_or_double value);

#endif

#endif
