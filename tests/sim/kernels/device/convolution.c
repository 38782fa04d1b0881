/* 1-D convolution in f16: a lane computes two neighbours with packed instructions. */
#include "kernel.h"

KERNEL convolution_f16(f16x2 *out, const f16 *in, const f16 *taps, u32 tap_count)
{
    u32 i = global_x();
    f16x2 sum = {0, 0};
    for (u32 t = 0; t < tap_count; t++) {
        f16x2 values = {in[2 * i + t], in[2 * i + 1 + t]};
        f16x2 tap = {taps[t], taps[t]};
        sum = __builtin_elementwise_fma(values, tap, sum);
    }
    out[i] = sum;
}

/* The same with integers of 16 bits: packed multiply-add wraps. */
KERNEL convolution_u16(u16x2 *out, const u16 *in, const u16 *taps, u32 tap_count)
{
    u32 i = global_x();
    u16x2 sum = {0, 0};
    for (u32 t = 0; t < tap_count; t++) {
        u16x2 values = {in[2 * i + t], in[2 * i + 1 + t]};
        sum += values * taps[t];
        sum = __builtin_elementwise_max(sum, values);
    }
    out[i] = sum;
}

/* Complex multiply-accumulate: packed f32. */
KERNEL convolution_complex(f32x2 *out, const f32x2 *in, const f32x2 *taps, u32 tap_count)
{
    u32 i = global_x();
    f32x2 sum = {0, 0};
    for (u32 t = 0; t < tap_count; t++) {
        f32x2 value = in[i + t], tap = taps[t], crossed = {-value.y, value.x};
        sum = __builtin_elementwise_fma(value, (f32x2)(tap.x), sum);
        sum = __builtin_elementwise_fma(crossed, (f32x2)(tap.y), sum);
    }
    out[i] = sum + in[i] * taps[0];
}
