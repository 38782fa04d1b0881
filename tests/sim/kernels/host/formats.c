/* Results as doubles round to the narrow format once: 53 bits are more than twice 11, so that rounding twice changes nothing
 * even of quotients and roots. */
#include "check.h"

#include <math.h>
#include <string.h>

void check_formats_f16(void **state)
{
    (void)state;
    enum { COUNT = 512 };
    uint16_t a[COUNT], b[COUNT], out[COUNT][8], expected[COUNT][8];
    random_fill(a, sizeof a, 62);
    random_fill(b, sizeof b, 63);
    for (int i = 0; i < COUNT; i++) {
        /* Finite; a third of any exponent, subnormals included, the others about 1. */
        a[i] = (uint16_t)(i % 3 ? (a[i] & 0x87ff) | 0x3800 : a[i]);
        b[i] = (uint16_t)(i % 3 ? (b[i] & 0x87ff) | 0x3800 : b[i] & ~0x4000);
        if ((a[i] & 0x7c00) == 0x7c00)
            a[i] ^= 0x4000;
        double x = half_to_double(a[i]), y = half_to_double(b[i]);
        if (y == 0)
            y = half_to_double(b[i] = 1);
        const double results[8] = {x + y, x - y, x * y, x / y, sqrt(x < 0 ? -x : x), x < y ? x : y, i, -x};
        for (int r = 0; r < 8; r++)
            expected[i][r] = half_from_double(results[r]);
    }
    void *d_out = device_zeros(sizeof out), *d_a = device_copy(a, sizeof a), *d_b = device_copy(b, sizeof b);
    LAUNCH("formats_f16", SHAPE_1D(COUNT / 64, 64), &d_out, &d_a, &d_b);
    device_read(out, d_out, sizeof out);
    for (int r = 0; r < 8; r++)
        for (int i = 0; i < COUNT; i++)
            if (out[i][r] != expected[i][r])
                fail_msg("result %d of 0x%x and 0x%x is 0x%x, not 0x%x", r, a[i], b[i], out[i][r], expected[i][r]);
}

void check_formats_bf16(void **state)
{
    (void)state;
    enum { COUNT = 256 };
    float in[COUNT], wide[COUNT], expected_wide[COUNT];
    uint16_t out[COUNT], expected[COUNT];
    random_fill(in, sizeof in, 64);
    for (int i = 0; i < COUNT; i++) {
        uint32_t bits;
        memcpy(&bits, &in[i], 4);
        bits &= 0xbfffffff; /* finite, and its double too */
        if (i < 8)
            bits = 0x3f808000 + (uint32_t)(i / 2) * 0x8000 - (uint32_t)(i % 2); /* ties and those just below */
        memcpy(&in[i], &bits, 4);
        uint32_t up = (bits & 0xffff) > 0x8000 || (bits & 0x1ffff) == 0x18000;
        expected[i] = (uint16_t)((bits >> 16) + up);
        uint32_t rounded = (uint32_t)expected[i] << 16;
        memcpy(&expected_wide[i], &rounded, 4);
        expected_wide[i] *= 2;
    }
    void *d_out = device_zeros(sizeof out), *d_wide = device_zeros(sizeof wide), *d_in = device_copy(in, sizeof in);
    LAUNCH("formats_bf16", SHAPE_1D(COUNT / 64, 64), &d_out, &d_wide, &d_in);
    device_read(out, d_out, sizeof out);
    device_read(wide, d_wide, sizeof wide);
    check_equal("bf16", out, expected, COUNT, 2);
    check_equal("twice as wide", wide, expected_wide, COUNT, 4);
}
