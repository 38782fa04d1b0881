#include "check.h"

#include <math.h>
#include <string.h>

static uint64_t of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}
static uint64_t of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static void expect(uint64_t *to, double d, double next)
{
    float f = (float)d, next_f = (float)next;
    uint16_t h = half_from_double(f);
    double small = d > -30000 && d < 30000 ? d : 12.75;
    float small_f = (float)small;
    uint64_t bits = of_double(d);
    uint16_t small_h = half_from_double(small_f);
    uint64_t order = 0;
    const int holds[14] = {d<next, d <= next, d == next, d != next, d> next,
                           d >= next,
                           f < next_f,
                           f != next_f,
                           isnan(d),
                           isinf(f) != 0,
                           !(d < next),
                           !(f >= next_f),
                           half_to_double(h) < 2.5,
                           !(half_to_double(h) > -1.5)};
    for (int i = 0; i < 14; i++)
        order |= (uint64_t)(holds[i] != 0) << i;
    const uint64_t results[32] = {
        of_float(f),
        h,
        (uint64_t)(int64_t)small,
        (uint64_t)fabs(small),
        (uint64_t)(int64_t)small_f,
        (uint64_t)fabsf(small_f),
        (uint64_t)(int64_t)(small * 1e12),
        (uint64_t)(int64_t)small_f,
        of_double(floor(d)),
        of_double(ceil(d)),
        of_double(trunc(d)),
        of_double(nearbyint(d)),
        of_float(floorf(f)),
        of_float(ceilf(f)),
        of_float(truncf(f)),
        of_float(nearbyintf(f)),
        of_float((float)(int32_t)small * 0.25f + (float)((int32_t)small & 0xff)),
        of_double((double)(int64_t)bits),
        of_double((double)bits),
        of_float((float)(int64_t)bits),
        of_float((float)bits),
        of_float((float)(uint32_t)bits),
        of_double((double)(int32_t)(uint32_t)bits),
        of_float(copysignf(small_f, f) + fabsf(small_f)),
        of_double(fmin(small, 3.5) + fmax(small, -3.5)),
        order,
        of_double(half_to_double(small_h)),
        half_from_double(half_to_double(half_from_double(half_to_double(small_h) / 2)) + 1),
        of_double(ldexp(small, (int)(bits % 64) - 32)),
        of_float(ldexpf(small_f, (int)(bits % 32) - 16)),
        (uint64_t)(int64_t)half_to_double(small_h),
        of_float(fmaf(small_f, 1.5f, -0.125f) - small_f * 2),
    };
    memcpy(to, results, sizeof results);
}

void check_convert(void **state)
{
    (void)state;
    enum { COUNT = 256 };
    static const double special[] = {
        0.0,      -0.0,      0.5,      -0.5,     1.5,        2.5,          -2.5,          0.49999999999999994,
        1e300,    -1e300,    1e-40,    -1e-310,  65504.0,    65519.99,     65520.0,       6.0e-8,
        2.9e-8,   6.1e-5,    3e-5,     29999.9,  -29999.9,   2147483647.5, 4294967295.5,  255.999,
        INFINITY, -INFINITY, 0x1p-149, 0x1p-150, 0x1.8p-150, 1.0009765625, 1.00048828125, NAN};
    enum { SPECIAL = sizeof special / sizeof special[0] };
    double in[COUNT];
    uint64_t out[COUNT][32], expected[COUNT][32], seed = 43;
    for (int i = 0; i < COUNT; i++) {
        double mantissa = 1 + (double)(random_u64(&seed) >> 12) * 0x1p-52;
        in[i] = ldexp(random_u32(&seed) % 2 ? mantissa : -mantissa, (int)random_integer(&seed, i % 4 ? 18 : 160));
        if (i < SPECIAL)
            in[i] = special[i];
    }
    for (int i = 0; i < COUNT; i++)
        expect(expected[i], in[i], in[i ^ 1]);
    void *d_out = device_zeros(sizeof out), *d_in = device_copy(in, sizeof in);
    LAUNCH("convert", SHAPE_1D(2, COUNT / 2), &d_out, &d_in);
    device_read(out, d_out, sizeof out);
    for (int kind = 0; kind < 32; kind++)
        for (int i = 0; i < COUNT; i++)
            if (out[i][kind] != expected[i][kind])
                fail_msg("result %d of %a is 0x%llx, not 0x%llx", kind, in[i], (unsigned long long)out[i][kind],
                         (unsigned long long)expected[i][kind]);
}
