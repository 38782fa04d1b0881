#include "check.h"

#include <string.h>

void check_arguments(void **state)
{
    (void)state;
    enum { BLOCKS = 3, THREADS = 64, COUNT = BLOCKS * THREADS };
    struct inner {
        uint8_t tag;
        double value;
    };
    struct {
        uint8_t a;
        uint16_t b;
        struct inner inner[2];
        float c[3];
        uint64_t d;
    } s = {1, 0xfedc, {{3, 4.5}, {5, -6.25}}, {7.5f, 8.5f, 9.5f}, 0x0123456789abcdef};
    uint8_t a = 0xfe, d = 0x81;
    int16_t b = -1234;
    int8_t h = -5;
    float c = 3.25f;
    double e = -1e300;
    uint32_t f[4] = {11, 22, 33, 44}, g[COUNT];
    uint64_t out[COUNT][16], expected[COUNT][16];
    random_fill(g, sizeof g, 32);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t words[2];
        memcpy(&words[0], &s.c[i % 3], 4);
        memcpy(&words[1], &c, 4);
        const uint64_t row[16] = {a,
                                  (uint64_t)b,
                                  s.a,
                                  s.b,
                                  s.inner[i % 2].tag,
                                  0,
                                  words[0],
                                  s.d,
                                  words[1],
                                  d,
                                  0,
                                  f[i % 4],
                                  g[i],
                                  (uint64_t)h,
                                  (uint64_t)(i / THREADS) << 32 | i % THREADS,
                                  (uint64_t)BLOCKS << 32 | THREADS};
        memcpy(expected[i], row, sizeof row);
        memcpy(&expected[i][5], &s.inner[(i + 1) % 2].value, 8);
        memcpy(&expected[i][10], &e, 8);
    }
    void *d_out = device_zeros(sizeof out), *d_g = device_copy(g, sizeof g);
    LAUNCH("arguments", SHAPE_1D(BLOCKS, THREADS), &d_out, &a, &b, &s, &c, &d, &e, f, &d_g, &h);
    device_read(out, d_out, sizeof out);
    check_equal("what the kernel was given", out, expected, COUNT * 16, 8);
}
