#include "check.h"

#include <math.h>

void check_cpp_templates(void **state)
{
    (void)state;
    enum { BLOCKS = 3 };
    uint32_t words[BLOCKS][128], sums[BLOCKS], expected[BLOCKS] = {0}, scale = 3;
    double values[BLOCKS][64], sums_f64[BLOCKS], expected_f64[BLOCKS], scale_f64 = 0.1;
    uint64_t seed = 50;
    random_fill(words, sizeof words, 51);
    for (int b = 0; b < BLOCKS; b++) {
        for (int t = 0; t < 128; t++)
            expected[b] += words[b][t] * scale;
        double partial[64];
        for (int t = 0; t < 64; t++)
            partial[t] = (values[b][t] = random_integer(&seed, 1 << 20)) * scale_f64;
        for (int half = 32; half > 0; half /= 2)
            for (int t = 0; t < half; t++)
                partial[t] += partial[t + half];
        expected_f64[b] = partial[0];
    }
    void *d_sums = device_zeros(sizeof sums), *d_words = device_copy(words, sizeof words),
         *d_sums_f64 = device_zeros(sizeof sums_f64), *d_values = device_copy(values, sizeof values);
    LAUNCH("_Z7cpp_sumIjLj128EEvPT_PKS0_S0_", SHAPE_1D(BLOCKS, 128), &d_sums, &d_words, &scale);
    LAUNCH("_Z7cpp_sumIdLj64EEvPT_PKS0_S0_", SHAPE_1D(BLOCKS, 64), &d_sums_f64, &d_values, &scale_f64);
    device_read(sums, d_sums, sizeof sums);
    device_read(sums_f64, d_sums_f64, sizeof sums_f64);
    check_equal("sums of words", sums, expected, BLOCKS, 4);
    check_equal("sums of doubles", sums_f64, expected_f64, BLOCKS, 8);
}

void check_cpp_virtual(void **state)
{
    (void)state;
    enum { COUNT = 128 };
    uint64_t out[COUNT], expected[COUNT];
    for (uint64_t i = 0; i < COUNT; i++)
        expected[i] = i % 3 == 0 ? i * i * 10 + 4 : i % 3 == 1 ? i * 7 * 10 + 4 : i * 9 / 2 * 10 + 3;
    void *d_out = device_zeros(sizeof out);
    LAUNCH("cpp_virtual", SHAPE_1D(2, COUNT / 2), &d_out);
    device_read(out, d_out, sizeof out);
    check_equal("areas and corners", out, expected, COUNT, 8);
}

void check_cpp_lambda(void **state)
{
    (void)state;
    enum { COUNT = 128 };
    uint32_t masks[COUNT], out[COUNT], expected[COUNT], factor = 17;
    random_fill(masks, sizeof masks, 52);
    masks[5] = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t sum = 0, last = 99;
        for (uint32_t bit = 0; bit < 32; bit++)
            if (masks[i] >> bit & 1) {
                sum += bit * factor;
                last = bit;
            }
        expected[i] = sum + last + 200 + i + (i ^ 21);
    }
    void *d_out = device_zeros(sizeof out), *d_masks = device_copy(masks, sizeof masks);
    LAUNCH("cpp_lambda", SHAPE_1D(2, COUNT / 2), &d_out, &d_masks, &factor);
    device_read(out, d_out, sizeof out);
    check_equal("sums over bits", out, expected, COUNT, 4);
}

void check_cpp_matrix(void **state)
{
    (void)state;
    enum { COUNT = 128 };
    float out[COUNT][9], expected[COUNT][9], factor[3][3];
    uint32_t power = 5, launches;
    for (int i = 0; i < 9; i++)
        factor[i / 3][i % 3] = (float)(i * i % 7) * 0.25f - 0.5f;
    for (int lane = 0; lane < COUNT; lane++) {
        float m[3][3] = {{1, 0, 0}, {0, 1, (float)lane}, {0, 0, 1}};
        for (uint32_t p = 0; p < power; p++)
            for (int row = 0; row < 3; row++) {
                float product[3];
                for (int column = 0; column < 3; column++)
                    product[column] = fmaf(m[row][2], factor[2][column],
                                           fmaf(m[row][1], factor[1][column], m[row][0] * factor[0][column]));
                for (int column = 0; column < 3; column++)
                    m[row][column] = product[column];
            }
        for (int i = 0; i < 9; i++)
            expected[lane][i] = m[i / 3][i % 3] + 0.0f; /* the kernel's sums begin with 0: no -0 */
    }
    const uint32_t before = 5;
    device_set_variable("cpp_launches", &before, 4);
    void *d_out = device_zeros(sizeof out);
    LAUNCH("cpp_matrix", SHAPE_1D(2, COUNT / 2), &d_out, &power);
    device_read(out, d_out, sizeof out);
    check_equal("matrices", out, expected, COUNT * 9, 4);
    device_get_variable(&launches, "cpp_launches", 4);
    assert_int_equal(launches, 5 * 2 + 2);
}
