#include "check.h"

#include <math.h>

/* Odd sizes, so that tiles hang over every edge. */
void check_gemm(void **state)
{
    (void)state;
    enum { M = 45, N = 70, K = 37 };
    static float a[M][K], b[K][N], c[M][N], expected[M][N];
    uint64_t seed = 11;
    random_floats(a[0], M * K, &seed, 1000000, 0x1p-19f);
    random_floats(b[0], K * N, &seed, 1000000, 0x1p-17f);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum = fmaf(a[i][k], b[k][j], sum);
            expected[i][j] = sum;
        }
    void *d_c = device_zeros(sizeof c), *d_a = device_copy(a, sizeof a), *d_b = device_copy(b, sizeof b);
    uint32_t m = M, n = N, k = K;
    struct shape shape = {{(N + 31) / 32, (M + 31) / 32, 1}, {16, 16, 1}, 0};
    LAUNCH("gemm_f32", shape, &d_c, &d_a, &d_b, &m, &n, &k);
    device_read(c, d_c, sizeof c);
    check_equal("C", c, expected, M * N, 4);
}
