/* Inclusive prefix sums: Hillis and Steele in LDS over two buffers, and within waves by DPP. */
#include "kernel.h"

KERNEL scan_blocks(u32 *result, u32 *totals, const u32 *values, u32 count)
{
    SHARED u32 buffers[2][1024];
    u32 t = thread_x(), i = global_x(), from = 0;
    buffers[0][t] = i < count ? values[i] : 0;
    barrier();
    for (u32 distance = 1; distance < threads_x(); distance *= 2) {
        u32 sum = buffers[from][t];
        if (t >= distance)
            sum += buffers[from][t - distance];
        from ^= 1;
        buffers[from][t] = sum;
        barrier();
    }
    if (i < count)
        result[i] = buffers[from][t];
    if (t == threads_x() - 1)
        totals[block_x()] = buffers[from][t];
}

KERNEL scan_add(u32 *result, const u32 *totals, u32 count)
{
    u32 i = global_x(), before = 0;
    for (u32 b = 0; b < block_x(); b++)
        before += totals[b];
    if (i < count)
        result[i] += before;
}

KERNEL scan_wave(u32 *result, const u32 *values)
{
    u32 i = global_x(), sum = values[i];
    sum += (u32)__builtin_amdgcn_update_dpp(0, (i32)sum, 0x111, 0xf, 0xf, false);
    sum += (u32)__builtin_amdgcn_update_dpp(0, (i32)sum, 0x112, 0xf, 0xf, false);
    sum += (u32)__builtin_amdgcn_update_dpp(0, (i32)sum, 0x114, 0xf, 0xe, false);
    sum += (u32)__builtin_amdgcn_update_dpp(0, (i32)sum, 0x118, 0xf, 0xc, false);
    sum += (u32)__builtin_amdgcn_update_dpp(0, (i32)sum, 0x142, 0xa, 0xf, false);
    sum += (u32)__builtin_amdgcn_update_dpp(0, (i32)sum, 0x143, 0xc, 0xf, false);
    result[i] = sum;
}
