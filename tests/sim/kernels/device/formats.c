/* Floats of 16 bits beyond multiply-add. */
#include "kernel.h"

KERNEL formats_f16(u16 *out, const f16 *a, const f16 *b)
{
    u32 i = global_x();
    f16 x = a[i], y = b[i];
    f16 results[8] = {x + y,         x - y,       x * y, (f16)(x / y), (f16)__builtin_sqrtf16(x < (f16)0 ? -x : x),
                      x < y ? x : y, (f16)(i16)i, -x};
    for (u32 r = 0; r < 8; r++)
        out[i * 8 + r] = __builtin_bit_cast(u16, results[r]);
}

KERNEL formats_bf16(u16 *out, float *wide, const float *in)
{
    u32 i = global_x();
    __bf16 narrow = (__bf16)in[i];
    out[i] = __builtin_bit_cast(u16, narrow);
    wide[i] = (float)narrow * 2.0f;
}
