#include "check.h"

#include <string.h>

void check_memory_packed(void **state)
{
    (void)state;
    enum { COUNT = 128, BYTES = 15 };
    uint8_t in[COUNT][BYTES];
    uint64_t out[COUNT], expected[COUNT];
    random_fill(in, sizeof in, 65);
    for (int i = 0; i < COUNT; i++) {
        uint32_t word;
        uint16_t half;
        uint64_t wide;
        memcpy(&word, &in[i][1], 4);
        memcpy(&half, &in[i][5], 2);
        memcpy(&wide, &in[i][7], 8);
        expected[i] = in[i][0] + (uint64_t)word * 3 + (uint64_t)half * 5 + wide * 7;
    }
    void *d_out = device_zeros(sizeof out), *d_in = device_copy(in, sizeof in);
    LAUNCH("memory_packed", SHAPE_1D(2, COUNT / 2), &d_out, &d_in);
    device_read(out, d_out, sizeof out);
    check_equal("sums of members", out, expected, COUNT, 8);
}

void check_memory_copy(void **state)
{
    (void)state;
    enum { COUNT = 128 };
    uint8_t in[COUNT][64], out[COUNT][64], expected[COUNT][64];
    random_fill(in, sizeof in, 66);
    for (int i = 0; i < COUNT; i++) {
        uint8_t staged[64];
        for (int b = 0; b < 64; b++) {
            int from = b - i % 13;
            staged[b] = from >= 0 && from < i % 50 ? in[i][from] : (uint8_t)i;
        }
        for (int b = 0; b < 64; b++)
            expected[i][b] = staged[b >= 2 && b < 42 ? b - 2 : b];
    }
    void *d_out = device_zeros(sizeof out), *d_in = device_copy(in, sizeof in);
    LAUNCH("memory_copy", SHAPE_1D(2, COUNT / 2), &d_out, &d_in);
    device_read(out, d_out, sizeof out);
    check_equal("bytes", out, expected, COUNT * 64, 1);
}

void check_memory_clocks(void **state)
{
    (void)state;
    enum { COUNT = 128 };
    uint64_t out[COUNT][2];
    void *d_out = device_zeros(sizeof out);
    LAUNCH("memory_clocks", SHAPE_1D(2, COUNT / 2), &d_out);
    device_read(out, d_out, sizeof out);
    for (int i = 0; i < COUNT; i++) {
        /* s_sleep 10 waits for about 640 cycles; no chip's core clock is as slow as 100 MHz or as fast as 10 GHz. */
        assert_in_range(out[i][0], 40 * 600, 40 * 6400);
        assert_in_range(out[i][1], out[i][0] / 100, out[i][0]);
    }
}

void check_memory_streams(void **state)
{
    (void)state;
    enum { COUNT = 128 };
    uint32_t in[COUNT][4], out[COUNT][4], expected[COUNT][4];
    random_fill(in, sizeof in, 67);
    for (int i = 0; i < COUNT; i++)
        for (int w = 0; w < 4; w++)
            expected[i][w] = in[i][w] * 3 + 1;
    void *d_out = device_zeros(sizeof out), *d_in = device_copy(in, sizeof in);
    LAUNCH("memory_streams", SHAPE_1D(2, COUNT / 2), &d_out, &d_in);
    device_read(out, d_out, sizeof out);
    check_equal("words", out, expected, COUNT * 4, 4);
}
