#include "check.h"

static void scan(unsigned threads)
{
    enum { COUNT = 2500 };
    uint32_t values[COUNT], result[COUNT], expected[COUNT], sum = 0, count = COUNT;
    unsigned blocks = (COUNT + threads - 1) / threads;
    random_fill(values, sizeof values, 5);
    for (int i = 0; i < COUNT; i++)
        expected[i] = sum += values[i];
    void *d_result = device_zeros(sizeof result), *d_totals = device_zeros(4 * blocks),
         *d_values = device_copy(values, sizeof values);
    LAUNCH("scan_blocks", SHAPE_1D(blocks, threads), &d_result, &d_totals, &d_values, &count);
    LAUNCH("scan_add", SHAPE_1D(blocks, threads), &d_result, &d_totals, &count);
    device_read(result, d_result, sizeof result);
    check_equal("prefix sums", result, expected, COUNT, 4);
}

void check_scan(void **state)
{
    (void)state;
    scan(256);
    scan(1024);
    scan(192);
}

void check_scan_wave(void **state)
{
    (void)state;
    enum { COUNT = 256 };
    uint32_t values[COUNT], result[COUNT], expected[COUNT];
    random_fill(values, sizeof values, 6);
    for (int i = 0; i < COUNT; i++)
        expected[i] = values[i] + (i % 64 ? expected[i - 1] : 0);
    void *d_result = device_zeros(sizeof result), *d_values = device_copy(values, sizeof values);
    LAUNCH("scan_wave", SHAPE_1D(2, 128), &d_result, &d_values);
    device_read(result, d_result, sizeof result);
    check_equal("prefix sums of waves", result, expected, COUNT, 4);
}
