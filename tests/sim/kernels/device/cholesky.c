/* Cholesky factor of a small matrix in LDS, f64, one workgroup a matrix: a barrier a column. */
#include "kernel.h"

#define CHOLESKY_MAX 24

KERNEL cholesky(double *matrices, u32 n)
{
    SHARED double a[CHOLESKY_MAX][CHOLESKY_MAX + 1];
    double *matrix = matrices + (u64)block_x() * n * n;
    u32 t = thread_x();
    for (u32 i = t; i < n * n; i += threads_x())
        a[i / n][i % n] = matrix[i];
    barrier();
    for (u32 k = 0; k < n; k++) {
        if (t == 0)
            a[k][k] = __builtin_sqrt(a[k][k]);
        barrier();
        for (u32 i = k + 1 + t; i < n; i += threads_x())
            a[i][k] /= a[k][k];
        barrier();
        for (u32 i = t; i < n * n; i += threads_x()) {
            u32 row = i / n, column = i % n;
            if (column > k && row >= column)
                a[row][column] = __builtin_fma(-a[row][k], a[column][k], a[row][column]);
        }
        barrier();
    }
    for (u32 i = t; i < n * n; i += threads_x())
        matrix[i] = i % n <= i / n ? a[i / n][i % n] : 0;
}
