#include "check.h"

#include <math.h>

void check_softmax(void **state)
{
    (void)state;
    enum { ROWS = 3, COLUMNS = 300 };
    float in[ROWS][COLUMNS], out[ROWS][COLUMNS];
    double expected[ROWS][COLUMNS];
    uint64_t seed = 8;
    for (int row = 0; row < ROWS; row++) {
        double most = -INFINITY, sum = 0;
        for (int c = 0; c < COLUMNS; c++) {
            in[row][c] = (float)(random_u32(&seed) % 20000) * 0x1p-10f - 8;
            most = fmax(most, in[row][c]);
        }
        for (int c = 0; c < COLUMNS; c++)
            sum += exp(in[row][c] - most);
        for (int c = 0; c < COLUMNS; c++)
            expected[row][c] = exp(in[row][c] - most) / sum;
    }
    void *d_out = device_zeros(sizeof out), *d_in = device_copy(in, sizeof in);
    uint32_t columns = COLUMNS;
    LAUNCH("softmax", SHAPE_1D(ROWS, 128), &d_out, &d_in, &columns);
    device_read(out, d_out, sizeof out);
    /* The exponent is up to 20 * log2(e) = 29, rounded twice to 24 bits: 2 * 29 * 2^-24 * ln 2. v_exp_f32 is within one
     * ulp (CDNA3 ISA manual), twice; at most 10 additions follow each other, and a division. */
    check_close("softmax", out[0], expected[0], ROWS * COLUMNS, (41 + 2 * 2 + 10 + 1) * 0x1p-24, 0);
}

void check_transcendental(void **state)
{
    (void)state;
    enum { COUNT = 256 };
    static const char *const names[6] = {"log2",       "sine of turns", "cosine of turns",
                                         "reciprocal", "square root",   "reciprocal square root"};
    float in[COUNT], out[COUNT][6];
    uint64_t seed = 9;
    for (int i = 0; i < COUNT; i++)
        in[i] = ldexpf((float)(random_u32(&seed) | 1), (int)(random_u32(&seed) % 40) - 52);
    void *d_out = device_zeros(sizeof out), *d_in = device_copy(in, sizeof in);
    LAUNCH("transcendental", SHAPE_1D(2, COUNT / 2), &d_out, &d_in);
    device_read(out, d_out, sizeof out);
    for (int i = 0; i < COUNT; i++) {
        double x = in[i], turns = 2 * 3.14159265358979323846 * fmod(x, 1);
        double expected[6] = {log2(x), sin(turns), cos(turns), 1 / x, sqrt(x), 1 / sqrt(x)};
        for (int f = 0; f < 6; f++) {
            /* One ulp is at most 2^-23 of the value; sine and cosine are absolute, as is the logarithm near 1. */
            double floor = f == 1 || f == 2 ? 0x1p-20 : f == 0 ? 0x1p-22 : 0;
            check_close(names[f], &out[i][f], &expected[f], 1, 0x1p-22, floor);
        }
    }
}
