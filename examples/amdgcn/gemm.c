/* gemm.c - C = A * B on matrix cores: half precision in, single precision out, all matrices row-major. Plain C.
 *
 * A workgroup of 2 x 2 waves computes 64 x 64 elements of C, 32 of K at a time. The tiles of A and B for the next 32 of K come
 * from memory to registers while the current ones, in LDS, multiply; two stages of LDS, so that one barrier a tile is enough.
 *
 * m, n and k are multiples of 64, 64 and 32.
 */
#include "device.h"

enum { BLOCK = 64, BLOCK_K = 32, THREADS = 256, PADDED_K = BLOCK_K + 4 }; /* rows of LDS begin in different banks */

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));

/* Row i of `a` is row i of the tile of A; row j of `b` is column j of the tile of B. */
struct stage {
    _Float16 a[BLOCK][PADDED_K], b[BLOCK][PADDED_K];
};
SHARED struct stage stages[2];

/* What one thread brings of each tile: 8 consecutive elements of A, and of B. */
struct part {
    half8 a, b;
};

static inline __attribute__((always_inline)) struct part load(const GLOBAL _Float16 *a, const GLOBAL _Float16 *b, int n,
                                                              int k, int tile)
{
    const int thread = thread_x();
    const GLOBAL _Float16 *from_a = a + (thread / 4) * k + tile * BLOCK_K + thread % 4 * 8;
    const GLOBAL _Float16 *from_b = b + (tile * BLOCK_K + thread / 8) * n + thread % 8 * 8;
    return (struct part){*(const GLOBAL half8 *)from_a, *(const GLOBAL half8 *)from_b};
}

static inline __attribute__((always_inline)) void store(int stage, struct part part)
{
    const int thread = thread_x();
    for (int i = 0; i < 8; i++) {
        stages[stage].a[thread / 4][thread % 4 * 8 + i] = part.a[i];
        stages[stage].b[thread % 8 * 8 + i][thread / 8] = part.b[i];
    }
}

/* The wave's 32 x 32 elements, 8 of K at a time: v_mfma_f32_32x32x8_f16. Lane l has 4 consecutive elements of K, from
 * l / 32 * 4 on, of row and of column l % 32. */
static inline __attribute__((always_inline)) float16 multiply(int stage, int row, int column, float16 sum)
{
    const int lane = thread_x() % 64;
    for (int k = 0; k < BLOCK_K; k += 8) {
        half4 a, b;
        for (int i = 0; i < 4; i++) {
            a[i] = stages[stage].a[row + lane % 32][k + lane / 32 * 4 + i];
            b[i] = stages[stage].b[column + lane % 32][k + lane / 32 * 4 + i];
        }
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sum, 0, 0, 0);
    }
    return sum;
}

WORKGROUP(THREADS) KERNEL gemm(GLOBAL float *c, const GLOBAL _Float16 *a, const GLOBAL _Float16 *b, int n, int k)
{
    KTRACE_KERNEL("gemm");
    const int wave = thread_x() / 64, lane = thread_x() % 64;
    const int row = wave / 2 * 32, column = wave % 2 * 32;
    float16 sum = {0};
    a += group_y() * BLOCK * k;
    b += group_x() * BLOCK;
    c += (group_y() * BLOCK + row) * n + group_x() * BLOCK + column;
    {
        KTRACE_RANGE("prologue");
        store(0, load(a, b, n, k, 0));
        barrier();
    }
    {
        KTRACE_RANGE("mainloop", k / BLOCK_K);
        ktrace_token tile = KTRACE_INACTIVE_TOKEN("k_tile");
        for (int i = 0; i < k / BLOCK_K; i++) {
            tile = KTRACE_RANGE_NEXT(tile, "k_tile", i);
            struct part next = {0};
            if (i + 1 < k / BLOCK_K)
                next = load(a, b, n, k, i + 1);
            sum = multiply(i % 2, row, column, sum);
            if (i + 1 < k / BLOCK_K)
                store((i + 1) % 2, next);
            barrier();
        }
        KTRACE_RANGE_STOP(tile);
    }
    KTRACE_RANGE("epilogue");
    for (int i = 0; i < 16; i++)
        c[(i / 4 * 8 + lane / 32 * 4 + i % 4) * n + lane % 32] = sum[i];
    KTRACE_MARK("first element", sum[0]);
}
