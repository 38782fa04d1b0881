/* C = A B of one wave by matrix instructions: A is M x K, B is K x N, both row-major, C is M x N of 32-bit or f64 elements.
 * Which lane holds which elements: AMD's matrix instruction calculator and the CDNA3 ISA manual, "Matrix fused-multiply-add".
 */
#include "kernel.h"

/* D of 32x32 with 64 lanes: lane l has column l % 32 and rows 8 * (i / 4) + 4 * (l / 32) + i % 4 in its 16 registers. */
#define STORE_32(c, sum) \
    for (u32 i = 0; i < 16; i++) \
    c[(8 * (i / 4) + 4 * (lane / 32) + i % 4) * 32 + lane % 32] = sum[i]
/* D of 16x16: column l % 16, rows 4 * (l / 16) + i. */
#define STORE_16(c, sum) \
    for (u32 i = 0; i < 4; i++) \
    c[(4 * (lane / 16) + i) * 16 + lane % 16] = sum[i]

KERNEL matrix_f16_32(float *c, const f16 *a, const f16 *b, u32 k)
{
    u32 lane = lane_id(), at = lane % 32, group = lane / 32;
    f32x16 sum = {0};
    for (u32 k0 = 0; k0 < k; k0 += 8) {
        f16x4 left, right;
        for (u32 i = 0; i < 4; i++) {
            left[i] = a[at * k + k0 + 4 * group + i];
            right[i] = b[(k0 + 4 * group + i) * 32 + at];
        }
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(left, right, sum, 0, 0, 0);
    }
    STORE_32(c, sum);
}

KERNEL matrix_f16_16(float *c, const f16 *a, const f16 *b, u32 k)
{
    u32 lane = lane_id(), at = lane % 16, group = lane / 16;
    f32x4 sum = {0};
    for (u32 k0 = 0; k0 < k; k0 += 16) {
        f16x4 left, right;
        for (u32 i = 0; i < 4; i++) {
            left[i] = a[at * k + k0 + 4 * group + i];
            right[i] = b[(k0 + 4 * group + i) * 16 + at];
        }
        sum = __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, sum, 0, 0, 0);
    }
    STORE_16(c, sum);
}

KERNEL matrix_bf16_32(float *c, const i16 *a, const i16 *b, u32 k)
{
    u32 lane = lane_id(), at = lane % 32, group = lane / 32;
    f32x16 sum = {0};
    for (u32 k0 = 0; k0 < k; k0 += 8) {
        i16x4 left, right;
        for (u32 i = 0; i < 4; i++) {
            left[i] = a[at * k + k0 + 4 * group + i];
            right[i] = b[(k0 + 4 * group + i) * 32 + at];
        }
        sum = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(left, right, sum, 0, 0, 0);
    }
    STORE_32(c, sum);
}

KERNEL matrix_i8_16(i32 *c, const i8 *a, const i8 *b, u32 k)
{
    u32 lane = lane_id(), at = lane % 16, group = lane / 16;
    i32x4 sum = {0};
    for (u32 k0 = 0; k0 < k; k0 += 32) {
        u64 left = 0, right = 0;
        for (u32 i = 0; i < 8; i++) {
            left |= (u64)(u8)a[at * k + k0 + 8 * group + i] << 8 * i;
            right |= (u64)(u8)b[(k0 + 8 * group + i) * 16 + at] << 8 * i;
        }
        sum = __builtin_amdgcn_mfma_i32_16x16x32_i8((i64)left, (i64)right, sum, 0, 0, 0);
    }
    STORE_16(c, sum);
}

KERNEL matrix_f32_32(float *c, const float *a, const float *b, u32 k)
{
    u32 lane = lane_id(), at = lane % 32, group = lane / 32;
    f32x16 sum = {0};
    for (u32 k0 = 0; k0 < k; k0 += 2)
        sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a[at * k + k0 + group], b[(k0 + group) * 32 + at], sum, 0, 0, 0);
    STORE_32(c, sum);
}

KERNEL matrix_f32_16(float *c, const float *a, const float *b, u32 k)
{
    u32 lane = lane_id(), at = lane % 16, group = lane / 16;
    f32x4 sum = {0};
    for (u32 k0 = 0; k0 < k; k0 += 4)
        sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[at * k + k0 + group], b[(k0 + group) * 16 + at], sum, 0, 0, 0);
    STORE_16(c, sum);
}

/* f64 has its rows in steps of 4: row 4 * i + l / 16. */
KERNEL matrix_f64_16(double *c, const double *a, const double *b, u32 k)
{
    u32 lane = lane_id(), at = lane % 16, group = lane / 16;
    f64x4 sum = {0};
    for (u32 k0 = 0; k0 < k; k0 += 4)
        sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[at * k + k0 + group], b[(k0 + group) * 16 + at], sum, 0, 0, 0);
    for (u32 i = 0; i < 4; i++)
        c[(4 * i + lane / 16) * 16 + lane % 16] = sum[i];
}

/* What gfx950 adds has twice the k; the kernels are there on both chips. */
KERNEL matrix_f16_32_wide(float *c, const f16 *a, const f16 *b, u32 k)
{
#ifdef __gfx950__
    u32 lane = lane_id(), at = lane % 32, group = lane / 32;
    f32x16 sum = {0};
    for (u32 k0 = 0; k0 < k; k0 += 16) {
        f16x8 left, right;
        for (u32 i = 0; i < 8; i++) {
            left[i] = a[at * k + k0 + 8 * group + i];
            right[i] = b[(k0 + 8 * group + i) * 32 + at];
        }
        sum = __builtin_amdgcn_mfma_f32_32x32x16_f16(left, right, sum, 0, 0, 0);
    }
    STORE_32(c, sum);
#else
    for (u32 i = lane_id(); i < 32 * 32; i += LANES) {
        float sum = 0;
        for (u32 j = 0; j < k; j++)
            sum += (float)a[i / 32 * k + j] * (float)b[j * 32 + i % 32];
        c[i] = sum;
    }
#endif
}
