#include "check.h"

#include <math.h>
#include <string.h>

enum { ROWS = 70, COLUMNS = 90, MOST = ROWS * COLUMNS };

void check_spmv(void **state)
{
    (void)state;
    static double values[MOST];
    static float values_f[MOST];
    static uint32_t columns[MOST];
    uint32_t starts[ROWS + 1] = {0}, rows = ROWS;
    double x[COLUMNS], y[ROWS], expected[ROWS];
    float x_f[COLUMNS], y_f[ROWS], expected_f[ROWS];
    uint64_t seed = 18;
    for (int c = 0; c < COLUMNS; c++)
        x_f[c] = (float)(x[c] = random_integer(&seed, 1 << 20) * 0x1p-13);
    for (int row = 0; row < ROWS; row++) {
        uint32_t at = starts[row];
        for (uint32_t c = 0; c < COLUMNS; c++) /* row 0 is empty, the last ones nearly full */
            if (random_u32(&seed) % ROWS < (uint32_t)row) {
                columns[at] = c;
                values_f[at] = (float)(values[at] = random_integer(&seed, 1 << 20) * 0x1p-11);
                at++;
            }
        starts[row + 1] = at;
        double sum = 0;
        float of_lane[64] = {0};
        for (uint32_t i = starts[row]; i < at; i++) {
            sum = fma(values[i], x[columns[i]], sum);
            of_lane[(i - starts[row]) % 64] += values_f[i] * x_f[columns[i]];
        }
        expected[row] = sum;
        for (int distance = 32; distance > 0; distance /= 2) {
            float before[64];
            memcpy(before, of_lane, sizeof before);
            for (int lane = 0; lane < 64; lane++)
                of_lane[lane] = before[lane] + before[(lane + distance) % 64];
        }
        expected_f[row] = of_lane[0];
    }
    void *d_y = device_zeros(sizeof y), *d_values = device_copy(values, sizeof values),
         *d_columns = device_copy(columns, sizeof columns), *d_starts = device_copy(starts, sizeof starts),
         *d_x = device_copy(x, sizeof x);
    LAUNCH("spmv_lane", SHAPE_1D(2, 64), &d_y, &d_values, &d_columns, &d_starts, &d_x, &rows);
    device_read(y, d_y, sizeof y);
    check_equal("y in f64", y, expected, ROWS, 8);
    void *d_y_f = device_zeros(sizeof y_f), *d_values_f = device_copy(values_f, sizeof values_f),
         *d_x_f = device_copy(x_f, sizeof x_f);
    LAUNCH("spmv_wave", SHAPE_1D((ROWS + 3) / 4, 256), &d_y_f, &d_values_f, &d_columns, &d_starts, &d_x_f, &rows);
    device_read(y_f, d_y_f, sizeof y_f);
    check_equal("y in f32", y_f, expected_f, ROWS, 4);
}
