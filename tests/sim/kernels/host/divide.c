#include "check.h"

#include <math.h>
#include <string.h>

/* Numbers of every magnitude, and those around which algorithms go wrong. */
static uint64_t interesting(uint64_t *seed, unsigned i)
{
    static const uint64_t special[] = {1,
                                       2,
                                       3,
                                       7,
                                       0xffffffff,
                                       0x100000000,
                                       0x7fffffffffffffff,
                                       0x8000000000000000,
                                       0xffffffffffffffff,
                                       0xfffffffffffffffe,
                                       0x80000000,
                                       0x7fffffff,
                                       0x100000001};
    enum { SPECIAL = sizeof special / sizeof special[0] };
    return i % 4 == 0 ? special[random_u32(seed) % SPECIAL] : random_u64(seed) >> random_u32(seed) % 63 | 1;
}

enum { COUNT = 384 };

void check_divide_64(void **state)
{
    (void)state;
    __extension__ typedef unsigned __int128 u128;
    __extension__ typedef __int128 i128;
    uint64_t a[COUNT], b[COUNT], out[COUNT][6], expected[COUNT][6], seed = 21;
    for (unsigned i = 0; i < COUNT; i++) {
        a[i] = interesting(&seed, i);
        b[i] = interesting(&seed, i / 4);
        int64_t x = (int64_t)a[i], y = (int64_t)b[i];
        int64_t divisor = x == INT64_MIN && y == -1 ? 1 : y;
        expected[i][0] = a[i] / b[i];
        expected[i][1] = a[i] % b[i];
        expected[i][2] = (uint64_t)(x / divisor);
        expected[i][3] = (uint64_t)(x % divisor);
        expected[i][4] = (uint64_t)((u128)a[i] * b[i] >> 64);
        /* The kernel's own y is the replaced one only for signed quotients. */
        expected[i][5] = (uint64_t)((i128)x * y >> 64);
    }
    void *d_out = device_zeros(sizeof out), *d_a = device_copy(a, sizeof a), *d_b = device_copy(b, sizeof b);
    LAUNCH("divide_64", SHAPE_1D(COUNT / 64, 64), &d_out, &d_a, &d_b);
    device_read(out, d_out, sizeof out);
    check_equal("{quotient, remainder, signed ones, products' high halves}", out, expected, COUNT * 6, 8);
}

void check_divide_32(void **state)
{
    (void)state;
    uint32_t a[COUNT], b[COUNT], out[COUNT][10], expected[COUNT][10];
    uint64_t seed = 22;
    for (unsigned i = 0; i < COUNT; i++) {
        a[i] = (uint32_t)(interesting(&seed, i) >> (i % 3 ? 0 : 31));
        b[i] = (uint32_t)interesting(&seed, i / 4);
        b[i] = b[i] ? b[i] : 5;
        int32_t x = (int32_t)a[i], y = (int32_t)b[i];
        if (x == INT32_MIN && y == -1)
            y = 1;
        expected[i][0] = a[i] / b[i];
        expected[i][1] = a[i] % b[i];
        expected[i][2] = (uint32_t)(x / y);
        expected[i][3] = (uint32_t)(x % y);
        expected[i][4] = (a[i] & 0xffff) / ((b[i] & 0xffff) | 1);
        expected[i][5] = (uint32_t)((int16_t)a[i] % (int16_t)(b[i] | 3));
        expected[i][6] = (a[i] & 0xff) / ((b[i] & 0xff) | 1);
        expected[i][7] = a[i] / 7;
        expected[i][8] = (uint32_t)((int32_t)a[i] % 1000);
        expected[i][9] = (uint32_t)((uint64_t)a[i] * b[i] >> 32);
    }
    void *d_out = device_zeros(sizeof out), *d_a = device_copy(a, sizeof a), *d_b = device_copy(b, sizeof b);
    LAUNCH("divide_32", SHAPE_1D(COUNT / 64, 64), &d_out, &d_a, &d_b);
    device_read(out, d_out, sizeof out);
    check_equal("{quotients and remainders of 32, 16, 8 bits, by constants, high product}", out, expected, COUNT * 10,
                4);
}

/* Division and square root are correctly rounded, denormals and infinities included. */
void check_divide_float(void **state)
{
    (void)state;
    float fa[COUNT], fb[COUNT], f[COUNT][2], expected_f[COUNT][2];
    double da[COUNT], db[COUNT], d[COUNT][2], expected_d[COUNT][2];
    uint64_t seed = 23;
    for (int i = 0; i < COUNT; i++) {
        /* Any exponent in a third, sums of them in range in the others. */
        int range_f = i % 3 ? 60 : 149, range_d = i % 3 ? 500 : 1074;
        fa[i] = ldexpf(1 + (float)(random_u32(&seed) >> 8) * 0x1p-24f, (int)(random_integer(&seed, range_f)));
        fb[i] = ldexpf(1 + (float)(random_u32(&seed) >> 8) * 0x1p-24f, (int)(random_integer(&seed, range_f)));
        da[i] = ldexp(1 + (double)(random_u64(&seed) >> 12) * 0x1p-52, (int)(random_integer(&seed, range_d)));
        db[i] = ldexp(1 + (double)(random_u64(&seed) >> 12) * 0x1p-52, (int)(random_integer(&seed, range_d)));
        if (i % 7 == 0) {
            fb[i] = -fb[i];
            db[i] = -db[i];
        }
    }
    fa[1] = 0;
    da[1] = 0;
    fb[2] = 0;
    db[2] = 0;
    fa[4] = INFINITY;
    da[4] = INFINITY;
    fb[5] = INFINITY;
    db[5] = -INFINITY;
    fa[7] = 1;
    fb[7] = 3;
    for (int i = 0; i < COUNT; i++) {
        expected_f[i][0] = fa[i] / fb[i];
        expected_f[i][1] = sqrtf(fa[i]);
        expected_d[i][0] = da[i] / db[i];
        expected_d[i][1] = sqrt(da[i]);
    }
    void *d_f = device_zeros(sizeof f), *d_d = device_zeros(sizeof d), *d_fa = device_copy(fa, sizeof fa),
         *d_fb = device_copy(fb, sizeof fb), *d_da = device_copy(da, sizeof da), *d_db = device_copy(db, sizeof db);
    LAUNCH("divide_float", SHAPE_1D(COUNT / 64, 64), &d_f, &d_d, &d_fa, &d_fb, &d_da, &d_db);
    device_read(f, d_f, sizeof f);
    device_read(d, d_d, sizeof d);
    check_equal("{quotient, root} in f32", f, expected_f, COUNT * 2, 4);
    check_equal("{quotient, root} in f64", d, expected_d, COUNT * 2, 8);
}
