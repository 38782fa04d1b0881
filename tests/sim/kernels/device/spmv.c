/* Sparse matrix (CSR) times vector: a row a lane in f64, a row a wave in f32. */
#include "kernel.h"

KERNEL spmv_lane(double *y, const double *values, const u32 *columns, const u32 *starts, const double *x, u32 rows)
{
    u32 row = global_x();
    if (row >= rows)
        return;
    double sum = 0;
    for (u32 i = starts[row]; i < starts[row + 1]; i++)
        sum = __builtin_fma(values[i], x[columns[i]], sum);
    y[row] = sum;
}

KERNEL spmv_wave(float *y, const float *values, const u32 *columns, const u32 *starts, const float *x, u32 rows)
{
    u32 row = global_x() / LANES, lane = lane_id();
    if (row >= rows)
        return;
    float sum = 0;
    for (u32 i = starts[row] + lane; i < starts[row + 1]; i += LANES)
        sum += values[i] * x[columns[i]];
    for (u32 distance = LANES / 2; distance > 0; distance /= 2) {
        i32 other = __builtin_amdgcn_ds_bpermute((i32)((lane + distance) % LANES * 4), __builtin_bit_cast(i32, sum));
        sum += __builtin_bit_cast(float, other);
    }
    if (lane == 0)
        y[row] = sum;
}
