/* C = A B in f32 by tiles in LDS; every lane has a 2x2 part. The order of additions is that of k. */
#include "kernel.h"

KERNEL gemm_f32(float *c, const float *a, const float *b, u32 m, u32 n, u32 k)
{
    SHARED float tile_a[32][17], tile_b[16][33];
    u32 x = thread_x(), y = thread_y(), flat = y * 16 + x;
    u32 row = block_y() * 32, column = block_x() * 32;
    float sum[2][2] = {{0, 0}, {0, 0}};
    for (u32 k0 = 0; k0 < k; k0 += 16) {
        for (u32 i = flat; i < 32 * 16; i += 256) {
            u32 r = row + i / 16, kk = k0 + i % 16;
            tile_a[i / 16][i % 16] = r < m && kk < k ? a[r * k + kk] : 0.0f;
            u32 s = column + i % 32;
            kk = k0 + i / 32;
            tile_b[i / 32][i % 32] = s < n && kk < k ? b[kk * n + s] : 0.0f;
        }
        barrier();
        for (u32 kk = 0; kk < 16; kk++)
            for (u32 i = 0; i < 2; i++)
                for (u32 j = 0; j < 2; j++)
                    sum[i][j] = __builtin_fmaf(tile_a[y + 16 * i][kk], tile_b[kk][x + 16 * j], sum[i][j]);
        barrier();
    }
    for (u32 i = 0; i < 2; i++)
        for (u32 j = 0; j < 2; j++)
            if (row + y + 16 * i < m && column + x + 16 * j < n)
                c[(row + y + 16 * i) * n + column + x + 16 * j] = sum[i][j];
}
