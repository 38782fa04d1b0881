#include "check.h"

#include <string.h>

static void compact(uint32_t blocks, uint32_t threads, uint32_t divisor)
{
    enum { MOST = 2048 };
    uint32_t values[MOST], kept[MOST], expected[MOST] = {0}, counts[8], expected_counts[8] = {0};
    uint32_t count = blocks * threads - 9;
    assert_true(blocks <= 8 && blocks * threads <= MOST);
    random_fill(values, sizeof values, 19);
    for (uint32_t i = 0; i < count; i++)
        if (values[i] % divisor == 0)
            expected[i / threads * threads + expected_counts[i / threads]++] = values[i];
    void *d_kept = device_zeros(sizeof kept), *d_counts = device_zeros(sizeof counts),
         *d_values = device_copy(values, sizeof values);
    LAUNCH("compact", SHAPE_1D(blocks, threads), &d_kept, &d_counts, &d_values, &count, &divisor);
    device_read(kept, d_kept, sizeof kept);
    device_read(counts, d_counts, sizeof counts);
    check_equal("counts", counts, expected_counts, 8, 4);
    check_equal("kept", kept, expected, MOST, 4);
}

void check_compact(void **state)
{
    (void)state;
    compact(3, 256, 3);
    compact(2, 1024, 7);
    compact(1, 64, 1);
}

void check_elect(void **state)
{
    (void)state;
    enum { COUNT = 128 };
    uint32_t values[COUNT], leaders[COUNT], expected[COUNT] = {0};
    uint64_t seed = 20;
    for (int i = 0; i < COUNT; i++)
        values[i] = random_u32(&seed) % (i < 64 ? 5 : 40);
    for (int wave = 0; wave < COUNT; wave += 64)
        for (uint32_t round = 1, left = 64; left > 0; round++) {
            int first = wave;
            while (expected[first] != 0)
                first++;
            for (int i = first; i < wave + 64; i++)
                if (expected[i] == 0 && values[i] == values[first]) {
                    expected[i] = round << 16 | values[first];
                    left--;
                }
        }
    void *d_leaders = device_zeros(sizeof leaders), *d_values = device_copy(values, sizeof values);
    LAUNCH("elect", SHAPE_1D(1, COUNT), &d_leaders, &d_values);
    device_read(leaders, d_leaders, sizeof leaders);
    check_equal("round and value", leaders, expected, COUNT, 4);
}
