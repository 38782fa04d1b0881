#include "check.h"

static uint32_t fold(uint64_t value)
{
    return (uint32_t)value ^ (uint32_t)(value >> 32);
}

static uint32_t byte(uint32_t word, int at)
{
    return word >> 8 * at & 0xff;
}

static int64_t sign_extend(uint64_t value, int bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return (int64_t)(((value & (2 * sign - 1)) ^ sign) - sign);
}

static uint32_t leading_zeros(uint64_t value, uint32_t width)
{
    uint32_t zeros = 0;
    while (zeros < width && !(value >> (width - 1 - zeros) & 1))
        zeros++;
    return zeros;
}

static void expect(uint32_t *to, uint32_t x, uint32_t y)
{
    uint32_t n = y % 32;
    uint64_t xy = (uint64_t)x << 32 | y, yx = (uint64_t)y << 32 | x;
    int32_t sx = (int32_t)x, sy = (int32_t)y;
    for (int i = 0; i < 40; i++)
        to[i] = 0;
    for (int i = 0; i < 32; i++) {
        to[0] += x >> i & 1;
        to[3] |= (x >> i & 1) << (31 - i);
        to[22] += (x >> i & 1) + (y >> i & 1);
    }
    to[1] = leading_zeros(x, 32);
    to[2] = 32 - leading_zeros(x & -x, 32) - (x != 0) + (x == 0) * 32;
    to[4] = byte(x, 0) << 24 | byte(x, 1) << 16 | byte(x, 2) << 8 | byte(x, 3);
    to[5] = (uint32_t)((uint64_t)x << n) | (uint32_t)((uint64_t)x << n >> 32);
    to[6] = (uint32_t)(xy >> n);
    to[7] = x / 32 % 2048;
    to[8] = (uint32_t)sign_extend(x >> 13, 12);
    to[9] = (x & y) | (~x & 0x12345678);
    to[10] = x * 8 + y;
    to[11] = (x + y) * 16;
    to[12] = (x ^ y) + 0x1234;
    to[13] = (x & 0xffffff) * (y & 0xffffff) + 5;
    to[14] = x < y ? x : y;
    to[15] = (uint32_t)(sx > sy ? sx : sy);
    to[16] = (uint32_t)((xy + yx) >> 32);
    to[17] = fold(xy - yx * 3);
    to[18] = fold(xy * yx);
    to[19] = fold(xy << y % 64);
    to[20] = fold((uint64_t)((int64_t)xy >> x % 64));
    to[21] = leading_zeros(xy, 64);
    uint32_t bx = byte(x, 1), by = byte(y, 2);
    to[23] =
        ((bx + by) & 0xff) | (bx * by & 0xff) << 8 | ((uint32_t)(sign_extend(byte(x, 3), 8) >> y % 8) & 0xff) << 16;
    to[24] = (uint32_t)sign_extend(byte(x, 3) - byte(y, 0), 8);
    uint32_t hx = x >> 16, hy = y & 0xffff;
    int64_t shx = sign_extend(hx, 16), shy = sign_extend(hy, 16);
    to[25] = ((hx + hy) & 0xffff) | hx * hy << 16;
    to[26] = hx >> y % 16 | (uint32_t)(shx >> y % 16) << 16;
    to[27] = (hx < hy ? hx : hy) | (shx > shy ? hx : hy) << 16;
    to[28] = (uint32_t)(sign_extend(x, 16) * shy);
    to[29] = (uint64_t)x + y > UINT32_MAX ? UINT32_MAX : x + y;
    int64_t sum = (int64_t)sx + sy;
    to[30] = (x + y) ^ (uint32_t)(sum < INT32_MIN || sum > INT32_MAX);
    to[31] = x * y ^ (uint32_t)((uint64_t)x * y > UINT32_MAX);
    uint32_t low = x < y ? x : y, high = x < y ? y : x;
    to[32] = low > 0x40000000 ? low : high < 0x40000000 ? high : 0x40000000;
    to[33] = byte(x, 0) | byte(x, 3) << 8 | byte(y, 1) << 16;
    to[34] = 7;
    to[38] = to[39] = 100;
    for (int i = 0; i < 4; i++) {
        to[34] += byte(x, i) > byte(y, i) ? byte(x, i) - byte(y, i) : byte(y, i) - byte(x, i);
        to[38] += (uint32_t)(sign_extend(byte(x, i), 8) * sign_extend(byte(y, i), 8));
        to[39] += byte(x, i) * byte(y, i);
    }
    to[35] = (uint32_t)(xy >> n);
    to[36] = x >> y % 16 & 511;
    to[37] = (uint32_t)sign_extend(x >> y % 16, 9);
}

void check_bits(void **state)
{
    (void)state;
    enum { COUNT = 256 };
    static const uint32_t special[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xffff, 0x8000, 0x00800080};
    uint32_t a[COUNT], b[COUNT], out[COUNT][40], expected[COUNT][40];
    random_fill(a, sizeof a, 41);
    random_fill(b, sizeof b, 42);
    for (int i = 0; i < 64; i++) {
        a[i] = special[i / 8];
        b[i] = special[i % 8];
    }
    for (int i = 0; i < COUNT; i++)
        expect(expected[i], a[i], b[i]);
    void *d_out = device_zeros(sizeof out), *d_a = device_copy(a, sizeof a), *d_b = device_copy(b, sizeof b);
    LAUNCH("bits", SHAPE_1D(2, COUNT / 2), &d_out, &d_a, &d_b);
    device_read(out, d_out, sizeof out);
    for (int kind = 0; kind < 40; kind++) /* one kind after the other, so that a failure names it */
        for (int i = 0; i < COUNT; i++)
            if (out[i][kind] != expected[i][kind])
                fail_msg("result %d of 0x%x and 0x%x is 0x%x, not 0x%x", kind, a[i], b[i], out[i][kind],
                         expected[i][kind]);
}
