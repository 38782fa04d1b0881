#include "check.h"

#include <string.h>

/* A 32-bit word at a byte offset, 0 beyond the end. */
static uint32_t load(const uint8_t *bytes, size_t size, size_t at, size_t count)
{
    uint32_t value = 0;
    if (at + count <= size)
        memcpy(&value, bytes + at, count);
    return value;
}

void check_buffers_copy(void **state)
{
    (void)state;
    enum { LANES = 128, IN = 1000, STORED = 100 };
    uint8_t in[IN];
    uint32_t out[LANES][4], expected[LANES][4] = {{0}}, in_bytes = IN, out_bytes = STORED * 16;
    random_fill(in, sizeof in, 60);
    for (size_t i = 0; i < STORED; i++) {
        uint32_t word = load(in, IN, i * 4, 4), four[4];
        for (size_t w = 0; w < 4; w++)
            four[w] = load(in, IN, i * 16 + 16 + 4 * w, 4);
        expected[i][0] = word + load(in, IN, i + 3, 1);
        expected[i][1] = word ^ load(in, IN, i * 2, 2);
        expected[i][2] = four[0] + four[1] * 3;
        expected[i][3] = four[2] ^ four[3];
    }
    void *d_out = device_zeros(sizeof out), *d_in = device_copy(in, sizeof in);
    LAUNCH("buffers_copy", SHAPE_1D(2, LANES / 2), &d_out, &d_in, &in_bytes, &out_bytes);
    device_read(out, d_out, sizeof out);
    check_equal("words", out, expected, LANES * 4, 4);
}

void check_buffers_to_local(void **state)
{
    (void)state;
    enum { BLOCKS = 2, THREADS = 256, COUNT = 301 };
    uint32_t in[COUNT], out[BLOCKS * THREADS], expected[BLOCKS * THREADS], count = COUNT;
    random_fill(in, sizeof in, 61);
    for (uint32_t i = 0; i < BLOCKS * THREADS; i++)
        expected[i] = in[(i / THREADS * THREADS + (i + 1) % THREADS) * 7 % COUNT];
    void *d_out = device_zeros(sizeof out), *d_in = device_copy(in, sizeof in);
    LAUNCH("buffers_to_local", SHAPE_1D(BLOCKS, THREADS), &d_out, &d_in, &count);
    device_read(out, d_out, sizeof out);
    check_equal("words by way of LDS", out, expected, BLOCKS * THREADS, 4);
}
