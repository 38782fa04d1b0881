#include "check.h"

/* 1000 words per grid: the last workgroup's last lanes have none. */
static void reduce_words(const char *kernel, unsigned blocks, unsigned threads, uint32_t count)
{
    uint32_t values[5000], sums[8], expected[8] = {0};
    assert_true(count <= 5000 && blocks <= 8);
    random_fill(values, sizeof values, 1);
    for (uint32_t i = 0; i < count; i++)
        expected[i / threads % blocks] += values[i];
    void *d_sums = device_zeros(sizeof sums), *d_values = device_copy(values, sizeof values);
    LAUNCH(kernel, SHAPE_1D(blocks, threads), &d_sums, &d_values, &count);
    device_read(sums, d_sums, sizeof sums);
    check_equal(kernel, sums, expected, blocks, 4);
}

void check_reduce_lds(void **state)
{
    (void)state;
    reduce_words("reduce_lds", 3, 256, 5000);
    reduce_words("reduce_lds", 2, 1024, 5000);
    reduce_words("reduce_lds", 8, 64, 999);
    reduce_words("reduce_lds", 1, 1, 5);
}

void check_reduce_dpp(void **state)
{
    (void)state;
    reduce_words("reduce_dpp", 4, 256, 1000);
    reduce_words("reduce_dpp", 2, 1024, 1999);
}

/* Floats are added in the kernel's order: each thread's, then the tree. */
void check_reduce_float_lds(void **state)
{
    (void)state;
    enum { BLOCKS = 2, THREADS = 128, COUNT = 3000 };
    float values[COUNT], sums[BLOCKS], expected[BLOCKS];
    uint64_t seed = 2;
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)(int32_t)random_u32(&seed) * 0x1p-20f;
    for (int b = 0; b < BLOCKS; b++) {
        float partial[THREADS] = {0};
        for (int t = 0; t < THREADS; t++)
            for (int i = b * THREADS + t; i < COUNT; i += BLOCKS * THREADS)
                partial[t] += values[i];
        for (int half = THREADS / 2; half > 0; half /= 2)
            for (int t = 0; t < half; t++)
                partial[t] += partial[t + half];
        expected[b] = partial[0];
    }
    void *d_sums = device_zeros(sizeof sums), *d_values = device_copy(values, sizeof values);
    uint32_t count = COUNT;
    LAUNCH("reduce_float_lds", SHAPE_1D(BLOCKS, THREADS), &d_sums, &d_values, &count);
    device_read(sums, d_sums, sizeof sums);
    check_equal("sums", sums, expected, BLOCKS, 4);
}

void check_reduce_permute(void **state)
{
    (void)state;
    enum { COUNT = 256 };
    float values[COUNT], sums[COUNT], expected[COUNT];
    uint64_t seed = 3;
    for (int i = 0; i < COUNT; i++)
        expected[i] = values[i] = (float)(int32_t)random_u32(&seed) * 0x1p-16f;
    for (int distance = 1; distance < 64; distance *= 2) {
        float next[COUNT];
        for (int i = 0; i < COUNT; i++)
            next[i] = expected[i] + expected[i ^ distance];
        for (int i = 0; i < COUNT; i++)
            expected[i] = next[i];
    }
    void *d_sums = device_zeros(sizeof sums), *d_values = device_copy(values, sizeof values);
    LAUNCH("reduce_permute", SHAPE_1D(1, COUNT), &d_sums, &d_values);
    device_read(sums, d_sums, sizeof sums);
    check_equal("sums", sums, expected, COUNT, 4);
}

void check_reduce_swizzle(void **state)
{
    (void)state;
    enum { COUNT = 128 };
    uint32_t values[COUNT], results[COUNT][4], expected[COUNT][4];
    random_fill(values, sizeof values, 4);
    for (int i = 0; i < COUNT; i++) {
        uint32_t most = 0, sum = 0;
        for (int j = 0; j < 16; j++)
            most = values[i / 16 * 16 + j] > most ? values[i / 16 * 16 + j] : most;
        for (int j = 0; j < 32; j++)
            sum += values[i / 32 * 32 + j];
        expected[i][0] = most;
        expected[i][1] = sum;
        expected[i][2] = values[i / 16 * 16 + (i + 12) % 16];
        expected[i / 64 * 64 + (i * 5 + 3) % 64][3] = values[i];
    }
    void *d_results = device_zeros(sizeof results), *d_values = device_copy(values, sizeof values);
    LAUNCH("reduce_swizzle", SHAPE_1D(2, 64), &d_results, &d_values);
    device_read(results, d_results, sizeof results);
    check_equal("{greatest of 16, sum of 32, rotated, permuted}", results, expected, COUNT * 4, 4);
}
