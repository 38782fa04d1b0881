#include "check.h"

#include <math.h>

enum { POINTS = 256, TRANSFORMS = 2 };

void check_fft(void **state)
{
    (void)state;
    static float data[TRANSFORMS][POINTS][2], result[TRANSFORMS][POINTS][2];
    float factors[POINTS / 2][2];
    const double tau = 2 * 3.14159265358979323846;
    uint64_t seed = 68;
    random_floats(data[0][0], TRANSFORMS * POINTS * 2, &seed, 1 << 20, 0x1p-20f);
    for (int k = 0; k < POINTS / 2; k++) {
        factors[k][0] = (float)cos(tau * k / POINTS);
        factors[k][1] = (float)-sin(tau * k / POINTS);
    }
    void *d_data = device_copy(data, sizeof data), *d_factors = device_copy(factors, sizeof factors);
    LAUNCH("fft", SHAPE_1D(TRANSFORMS, 64), &d_data, &d_factors);
    device_read(result, d_data, sizeof result);
    for (int t = 0; t < TRANSFORMS; t++)
        for (int k = 0; k < POINTS; k++) {
            double sum[2] = {0}, magnitude = 0;
            for (int n = 0; n < POINTS; n++) {
                double re = cos(tau * (k * n % POINTS) / POINTS), im = -sin(tau * (k * n % POINTS) / POINTS);
                sum[0] += data[t][n][0] * re - data[t][n][1] * im;
                sum[1] += data[t][n][0] * im + data[t][n][1] * re;
                magnitude += fabs(data[t][n][0]) + fabs(data[t][n][1]);
            }
            /* Each of eight passes rounds a factor, two products, their sum and a sum, of parts of at most `magnitude`. */
            check_close("transforms", result[t][k], sum, 2, 0, 8 * 5 * 0x1p-24 * magnitude);
        }
}
