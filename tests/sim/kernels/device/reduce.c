/* Sums of a workgroup: a tree in LDS, DPP within a wave, and ds_bpermute butterflies. */
#include "kernel.h"

KERNEL reduce_lds(u32 *sums, const u32 *values, u32 count)
{
    SHARED u32 partial[1024];
    u32 t = thread_x(), sum = 0;
    for (u32 i = global_x(); i < count; i += threads_x() * blocks_x())
        sum += values[i];
    partial[t] = sum;
    barrier();
    for (u32 half = threads_x() / 2; half > 0; half /= 2) {
        if (t < half)
            partial[t] += partial[t + half];
        barrier();
    }
    if (t == 0)
        sums[block_x()] = partial[0];
}

KERNEL reduce_float_lds(float *sums, const float *values, u32 count)
{
    SHARED float partial[1024];
    u32 t = thread_x();
    float sum = 0;
    for (u32 i = global_x(); i < count; i += threads_x() * blocks_x())
        sum += values[i];
    partial[t] = sum;
    barrier();
    for (u32 half = threads_x() / 2; half > 0; half /= 2) {
        if (t < half)
            partial[t] += partial[t + half];
        barrier();
    }
    if (t == 0)
        sums[block_x()] = partial[0];
}

/* The sum of a wave is in lane 63 after shifts within rows of 16 lanes and two broadcasts across rows. */
#define ADD_SHIFTED(sum, control, row_mask) \
    sum += (u32)__builtin_amdgcn_update_dpp(0, (i32)(sum), control, row_mask, 0xf, false)
DEVICE u32 wave_sum_dpp(u32 sum)
{
    ADD_SHIFTED(sum, 0x111, 0xf); /* row_shr:1 */
    ADD_SHIFTED(sum, 0x112, 0xf);
    ADD_SHIFTED(sum, 0x114, 0xf);
    ADD_SHIFTED(sum, 0x118, 0xf);
    ADD_SHIFTED(sum, 0x142, 0xa); /* row_bcast:15 */
    ADD_SHIFTED(sum, 0x143, 0xc); /* row_bcast:31 */
    return (u32)__builtin_amdgcn_readlane((i32)sum, 63);
}

KERNEL reduce_dpp(u32 *sums, const u32 *values, u32 count)
{
    SHARED u32 of_wave[16];
    u32 i = global_x();
    u32 sum = wave_sum_dpp(i < count ? values[i] : 0);
    if (lane_id() == 0)
        of_wave[wave_id()] = sum;
    barrier();
    if (thread_x() == 0) {
        u32 total = 0;
        for (u32 w = 0; w < threads_x() / LANES; w++)
            total += of_wave[w];
        sums[block_x()] = total;
    }
}

/* Every lane gets the sum; quads by DPP quad_perm, up to 32 lanes by ds_swizzle, 64 by ds_bpermute. */
KERNEL reduce_permute(float *sums, const float *values)
{
    u32 lane = lane_id();
    float sum = values[global_x()];
    for (u32 distance = 1; distance < LANES; distance *= 2) {
        i32 other = __builtin_amdgcn_ds_bpermute((i32)((lane ^ distance) * 4), __builtin_bit_cast(i32, sum));
        sum += __builtin_bit_cast(float, other);
    }
    sums[global_x()] = sum;
}

KERNEL reduce_swizzle(u32 *results, const u32 *values)
{
    u32 i = global_x(), value = values[i], most = value, sum = value;
    u32 other = (u32)__builtin_amdgcn_mov_dpp((i32)most, 0xb1, 0xf, 0xf, true); /* quad_perm:[1,0,3,2] */
    most = other > most ? other : most;
    other = (u32)__builtin_amdgcn_mov_dpp((i32)most, 0x4e, 0xf, 0xf, true); /* quad_perm:[2,3,0,1] */
    most = other > most ? other : most;
    other = (u32)__builtin_amdgcn_mov_dpp((i32)most, 0x141, 0xf, 0xf, true); /* row_half_mirror */
    most = other > most ? other : most;
    other = (u32)__builtin_amdgcn_mov_dpp((i32)most, 0x140, 0xf, 0xf, true); /* row_mirror */
    most = other > most ? other : most;
    sum += (u32)__builtin_amdgcn_ds_swizzle((i32)sum, 0x041f); /* lane ^ 1 */
    sum += (u32)__builtin_amdgcn_ds_swizzle((i32)sum, 0x081f);
    sum += (u32)__builtin_amdgcn_ds_swizzle((i32)sum, 0x101f);
    sum += (u32)__builtin_amdgcn_ds_swizzle((i32)sum, 0x201f);
    sum += (u32)__builtin_amdgcn_ds_swizzle((i32)sum, 0x401f);
    results[i * 4] = most;
    results[i * 4 + 1] = sum;
    results[i * 4 + 2] = (u32)__builtin_amdgcn_mov_dpp((i32)value, 0x124, 0xf, 0xf, true); /* row_ror:4 */
    results[i * 4 + 3] = (u32)__builtin_amdgcn_ds_permute((i32)((lane_id() * 5 + 3) % 64 * 4), (i32)value);
}
