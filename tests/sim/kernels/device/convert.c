/* Conversions, rounding, comparison and classification of floats. */
#include "kernel.h"

KERNEL convert(u64 *out, const double *in)
{
    u32 i = global_x();
    double d = in[i];
    float f = (float)d;
    f16 h = (f16)f;
    double small = d > -30000 && d < 30000 ? d : 12.75;
    float small_f = (float)small;
    u64 *to = out + (u64)i * 32;
    to[0] = __builtin_bit_cast(u32, f);
    to[1] = __builtin_bit_cast(u16, h);
    to[2] = (u64)(i64)(i32)small;
    to[3] = (u64)(u32)(small < 0 ? -small : small);
    to[4] = (u64)(i64)small_f;
    to[5] = (u64)(small_f < 0 ? -small_f : small_f);
    to[6] = (u64)(i64)(small * 1e12);
    to[7] = (u64)(i64)(i16)small_f;
    to[8] = __builtin_bit_cast(u64, __builtin_floor(d));
    to[9] = __builtin_bit_cast(u64, __builtin_ceil(d));
    to[10] = __builtin_bit_cast(u64, __builtin_trunc(d));
    to[11] = __builtin_bit_cast(u64, __builtin_rint(d));
    to[12] = __builtin_bit_cast(u32, __builtin_floorf(f));
    to[13] = __builtin_bit_cast(u32, __builtin_ceilf(f));
    to[14] = __builtin_bit_cast(u32, __builtin_truncf(f));
    to[15] = __builtin_bit_cast(u32, __builtin_rintf(f));
    to[16] = __builtin_bit_cast(u32, (float)(i32)small * 0.25f + (float)(u8)(i32)small);
    u64 bits = __builtin_bit_cast(u64, d);
    to[17] = __builtin_bit_cast(u64, (double)(i64)bits);
    to[18] = __builtin_bit_cast(u64, (double)bits);
    to[19] = __builtin_bit_cast(u32, (float)(i64)bits);
    to[20] = __builtin_bit_cast(u32, (float)bits);
    to[21] = __builtin_bit_cast(u32, (float)(u32)bits);
    to[22] = __builtin_bit_cast(u64, (double)(i32)bits);
    to[23] = __builtin_bit_cast(u32, __builtin_copysignf(small_f, f) + __builtin_fabsf(small_f));
    to[24] = __builtin_bit_cast(u64, __builtin_fmin(small, 3.5) + __builtin_fmax(small, -3.5));
    double next = in[i ^ 1];
    to[25] = (u64)(d < next) | (u64)(d <= next) << 1 | (u64)(d == next) << 2 | (u64)(d != next) << 3 |
             (u64)(d > next) << 4 | (u64)(d >= next) << 5 | (u64)(f < (float)next) << 6 | (u64)(f != (float)next) << 7 |
             (u64)__builtin_isnan(d) << 8 | (u64)__builtin_isinf(f) << 9 | (u64) !(d < next) << 10 |
             (u64) !(f >= (float)next) << 11 | (u64)(h < (f16)2.5) << 12 | (u64) !(h > (f16)-1.5) << 13;
    to[26] = __builtin_bit_cast(u64, (double)(f16)small_f);
    to[27] = __builtin_bit_cast(u16, (f16)((f16)small_f * (f16)0.5 + (f16)1));
    to[28] = __builtin_bit_cast(u64, __builtin_ldexp(small, (i32)(bits & 63) - 32));
    to[29] = __builtin_bit_cast(u32, __builtin_ldexpf(small_f, (i32)(bits & 31) - 16));
    to[30] = (u64)(i64)(i32)(f16)small_f;
    to[31] = __builtin_bit_cast(u32, __builtin_fmaf(small_f, 1.5f, -0.125f) - small_f * 2.0f);
}
