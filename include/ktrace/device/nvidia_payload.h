/* device/nvidia_payload.h - the bits of values that an event can carry, on NVIDIA. Part of nvidia.h. */
#ifndef KTRACE_DEVICE_NVIDIA_PAYLOAD_H
#define KTRACE_DEVICE_NVIDIA_PAYLOAD_H

#include "../record.h"

#define KTRACE_DEVICE_INLINE __device__ __forceinline__

struct __half;
struct __nv_bfloat16;

namespace ktrace_detail
{

KTRACE_DEVICE_INLINE ktrace_u32 bits_of(float value)
{
    ktrace_u32 word;
    asm("mov.b32 %0, %1;" : "=r"(word) : "f"(value));
    return word;
}
KTRACE_DEVICE_INLINE ktrace_u64 bits_of(double value)
{
    unsigned long long word;
    asm("mov.b64 %0, %1;" : "=l"(word) : "d"(value));
    return word;
}
KTRACE_DEVICE_INLINE float half_to_float(unsigned short half)
{
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(half));
    return wide;
}

} /* namespace ktrace_detail */

#include "payload.h"

namespace ktrace_detail
{

template <>
struct payload<__half> : half_payload {
};
template <>
struct payload<__nv_bfloat16> : bfloat16_payload {
};

} /* namespace ktrace_detail */

#endif
