#include "check.h"

#include <math.h>

enum { LANES = 128, TAPS = 9 };

void check_convolution_f16(void **state)
{
    (void)state;
    uint16_t in[2 * LANES + TAPS], taps[TAPS], out[2 * LANES], expected[2 * LANES];
    uint64_t seed = 24;
    for (int i = 0; i < 2 * LANES + TAPS; i++)
        in[i] = half_from_double(random_integer(&seed, 1000) / 64);
    for (int t = 0; t < TAPS; t++)
        taps[t] = half_from_double(random_integer(&seed, 1000) / 512);
    /* Products have 20 bits and sums stay below 2^9 in steps of at least 2^-15: exact as doubles, rounded once as fma does. */
    for (int i = 0; i < 2 * LANES; i++) {
        uint16_t sum = 0;
        for (int t = 0; t < TAPS; t++)
            sum = half_from_double(half_to_double(in[i + t]) * half_to_double(taps[t]) + half_to_double(sum));
        expected[i] = sum;
    }
    uint32_t count = TAPS;
    void *d_out = device_zeros(sizeof out), *d_in = device_copy(in, sizeof in),
         *d_taps = device_copy(taps, sizeof taps);
    LAUNCH("convolution_f16", SHAPE_1D(2, LANES / 2), &d_out, &d_in, &d_taps, &count);
    device_read(out, d_out, sizeof out);
    check_equal("sums", out, expected, 2 * LANES, 2);
}

void check_convolution_u16(void **state)
{
    (void)state;
    uint16_t in[2 * LANES + TAPS], taps[TAPS], out[2 * LANES], expected[2 * LANES];
    random_fill(in, sizeof in, 25);
    random_fill(taps, sizeof taps, 26);
    for (int i = 0; i < 2 * LANES; i++) {
        uint16_t sum = 0;
        for (int t = 0; t < TAPS; t++) {
            sum = (uint16_t)(sum + (uint32_t)in[i + t] * taps[t]);
            sum = sum > in[i + t] ? sum : in[i + t];
        }
        expected[i] = sum;
    }
    uint32_t count = TAPS;
    void *d_out = device_zeros(sizeof out), *d_in = device_copy(in, sizeof in),
         *d_taps = device_copy(taps, sizeof taps);
    LAUNCH("convolution_u16", SHAPE_1D(2, LANES / 2), &d_out, &d_in, &d_taps, &count);
    device_read(out, d_out, sizeof out);
    check_equal("sums", out, expected, 2 * LANES, 2);
}

void check_convolution_complex(void **state)
{
    (void)state;
    float in[LANES + TAPS][2], taps[TAPS][2], out[LANES][2], expected[LANES][2];
    uint64_t seed = 27;
    random_floats(in[0], 2 * (LANES + TAPS), &seed, 1 << 22, 0x1p-11f);
    random_floats(taps[0], 2 * TAPS, &seed, 1 << 22, 0x1p-17f);
    for (int i = 0; i < LANES; i++) {
        float re = 0, im = 0;
        for (int t = 0; t < TAPS; t++) {
            re = fmaf(in[i + t][0], taps[t][0], re);
            im = fmaf(in[i + t][1], taps[t][0], im);
            re = fmaf(-in[i + t][1], taps[t][1], re);
            im = fmaf(in[i + t][0], taps[t][1], im);
        }
        expected[i][0] = re + in[i][0] * taps[0][0];
        expected[i][1] = im + in[i][1] * taps[0][1];
    }
    uint32_t count = TAPS;
    void *d_out = device_zeros(sizeof out), *d_in = device_copy(in, sizeof in),
         *d_taps = device_copy(taps, sizeof taps);
    LAUNCH("convolution_complex", SHAPE_1D(2, LANES / 2), &d_out, &d_in, &d_taps, &count);
    device_read(out, d_out, sizeof out);
    check_equal("sums", out, expected, 2 * LANES, 4);
}
