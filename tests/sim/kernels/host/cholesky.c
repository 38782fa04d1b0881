#include "check.h"

#include <math.h>

/* By elements instead of by columns: each element sees the same operations in the same order. */
void check_cholesky(void **state)
{
    (void)state;
    enum { N = 19, MATRICES = 3 };
    double a[MATRICES][N][N], result[MATRICES][N][N], expected[MATRICES][N][N];
    uint64_t seed = 28;
    for (int m = 0; m < MATRICES; m++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j <= i; j++)
                a[m][i][j] = a[m][j][i] = i == j ? N + i * 0.1 : random_integer(&seed, 1000) / 1000;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                double sum = a[m][i][j];
                for (int k = 0; k < j && j <= i; k++)
                    sum = fma(-expected[m][i][k], expected[m][j][k], sum);
                expected[m][i][j] = j > i ? 0 : j == i ? sqrt(sum) : sum / expected[m][j][j];
            }
    }
    assert_false(isnan(expected[0][N - 1][N - 1]));
    void *d_matrices = device_copy(a, sizeof a);
    uint32_t n = N;
    LAUNCH("cholesky", SHAPE_1D(MATRICES, 64), &d_matrices, &n);
    device_read(result, d_matrices, sizeof result);
    check_equal("factors", result, expected, MATRICES * N * N, 8);
}
