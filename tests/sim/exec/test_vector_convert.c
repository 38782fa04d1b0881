/* vector_convert.c against the host's conversions, and for small formats against a search among all their values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "check_cases.h"
#include "float_reference.h"

#define F(x) ((double)f32(x))
#define H(x) ((uint32_t)(x)&0xFFFF)

/* Towards zero, within limits; 0 of NaN. */
static int64_t whole(double x, double least, double greatest)
{
    if (x != x)
        return 0;
    return (int64_t)fmax(fmin(trunc(x), greatest), least);
}
static uint32_t normal(double x, int least, int greatest)
{
    if (x != x)
        return 0;
    const double limited = fmax(fmin(x, 1), least < 0 ? -1 : 0) * greatest;
    double below = floor(limited);
    if (limited - below > 0.5 || (limited - below == 0.5 && fmod(below, 2) != 0))
        below += 1;
    return (uint32_t)(int32_t)below & 0xFFFF;
}
static uint32_t quiet32(uint32_t bits)
{
    return (bits & 0x7FFFFFFF) > 0x7F800000 ? bits | 0x400000 : bits;
}
static uint32_t half_widened(uint32_t half)
{
    if ((half & 0x7FFF) > 0x7C00)
        return (half & 0x8000) << 16 | 0x7FC00000 | (half & 0x3FF) << 13;
    return bits32((float)value_of_half(half));
}

/* Formats of up to 16 bits: the values of all positive encodings, in order, and what encodes the rest. */
struct format {
    unsigned bits, finite; /* encodings 0 to finite - 1 are numbers */
    double (*value)(unsigned encoding);
    double next;       /* what would come after the last */
    uint32_t overflow; /* without its sign; 0: no infinity and no NaN, the last number instead */
    int nan_is_sign;   /* FNUZ: the only NaN is the sign bit alone, and there is no -0 */
};
static double eight(unsigned encoding, unsigned mantissa_bits, int bias)
{
    const int exponent = (int)(encoding >> mantissa_bits), digits = (int)mantissa_bits;
    const unsigned fraction = encoding % (1u << mantissa_bits);
    return exponent ? ldexp(fraction + (1u << mantissa_bits), exponent - bias - digits)
                    : ldexp(fraction, 1 - bias - digits);
}
static double of_fp8(unsigned encoding)
{
    return eight(encoding, 3, 7);
}
static double of_bf8(unsigned encoding)
{
    return eight(encoding, 2, 15);
}
static double of_fp8_fnuz(unsigned encoding)
{
    return eight(encoding, 3, 8);
}
static double of_bf8_fnuz(unsigned encoding)
{
    return eight(encoding, 2, 16);
}
static double of_half(unsigned encoding)
{
    return value_of_half(encoding);
}
static double of_brain(unsigned encoding)
{
    return (double)f32((uint64_t)encoding << 16);
}
static const struct format ocp_fp8 = {8, 0x7F, of_fp8, 480, 0x7F, 0}, ocp_bf8 = {8, 0x7C, of_bf8, 65536, 0x7C, 0};
static const struct format fnuz_fp8 = {8, 0x80, of_fp8_fnuz, 256, 0x80, 1};
static const struct format fnuz_bf8 = {8, 0x80, of_bf8_fnuz, 65536, 0x80, 1};
static const struct format half = {16, 0x7C00, of_half, 65536, 0x7C00, 0};
static const struct format brain = {16, 0x7F80, of_brain, 0x1p128, 0x7F80, 0};
static double of_fp6(unsigned encoding)
{
    return eight(encoding, 3, 1);
}
static double of_bf6(unsigned encoding)
{
    return eight(encoding, 2, 3);
}
static double of_fp4(unsigned encoding)
{
    return eight(encoding, 1, 1);
}
static const struct format fp6 = {6, 32, of_fp6, 8, 0, 0}, bf6 = {6, 32, of_bf6, 32, 0, 0};
static const struct format fp4 = {4, 8, of_fp4, 8, 0, 0};
static const struct format *fp8 = &fnuz_fp8, *bf8 = &fnuz_bf8;
static int saturating;

static uint32_t finished(const struct format *format, uint32_t encoding, double x)
{
    const uint32_t sign = 1u << (format->bits - 1);
    if (encoding >= format->finite && !format->overflow)
        encoding = format->finite - 1;
    if (encoding >= format->finite && saturating && (isfinite(x) || format->overflow != 0x7C))
        encoding = format->finite - 1;
    else if (encoding >= format->finite)
        return format->nan_is_sign ? sign : format->overflow | (signbit(x) ? sign : 0);
    return encoding | (signbit(x) && !(format->nan_is_sign && encoding == 0) ? sign : 0);
}
static uint32_t encoded_nan(const struct format *format, float x)
{
    if (format->nan_is_sign)
        return 0x80;
    const uint32_t sign = signbit(x) ? 1u << (format->bits - 1) : 0, fraction = bits32(x) & 0x7FFFFF;
    if (!format->overflow)
        return sign | (format->finite - 1);
    if (format == &half)
        return sign | 0x7E00 | fraction >> 13;
    if (format == &brain)
        return sign | 0x7FC0 | fraction >> 16;
    return sign | (format == &ocp_fp8 ? 0x7F : 0x7E | fraction >> 21);
}
/* Encoding whose value is the largest not above |x|; format->finite where |x| is at least `next`. */
static uint32_t below(const struct format *format, double x)
{
    const double magnitude = fabs(x);
    uint32_t low = 0, high = format->finite;
    if (magnitude >= format->next)
        return high;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        *(format->value(middle) <= magnitude ? &low : &high) = middle;
    }
    return low;
}
/* How far |x| is from there to the next, 0 to 1. */
static double part(const struct format *format, uint32_t encoding, double x)
{
    const double at = format->value(encoding);
    const double next = encoding + 1 == format->finite ? format->next : format->value(encoding + 1);
    return (fabs(x) - at) / (next - at);
}
static uint32_t nearest(const struct format *format, double x)
{
    if (x != x)
        return encoded_nan(format, (float)x);
    uint32_t encoding = below(format, x);
    if (encoding < format->finite) {
        const double rest = part(format, encoding, x);
        encoding += rest > 0.5 || (rest == 0.5 && encoding % 2);
    }
    return finished(format, encoding, x);
}
/* Up if the cut off part, to `bits` bits, plus random / 2^bits is 1 or more. */
static uint32_t between(const struct format *format, double x, uint64_t random, unsigned bits)
{
    if (x != x)
        return encoded_nan(format, (float)x);
    uint32_t encoding = below(format, x);
    if (encoding < format->finite)
        encoding += floor(ldexp(part(format, encoding, x), (int)bits)) + (double)random >= ldexp(1, (int)bits);
    return finished(format, encoding, x);
}
static uint32_t half_of(float x, int round)
{
    if (x != x)
        return encoded_nan(&half, x);
    if (round == NEAREST)
        return nearest(&half, x);
    if (isinf(x))
        return x > 0 ? 0x7C00 : 0xFC00;
    const uint32_t encoding = below(&half, x);
    return (encoding == 0x7C00 ? 0x7BFF : encoding) | (signbit(x) ? 0x8000 : 0);
}
static uint32_t bf16_of(uint32_t bits)
{
    return nearest(&brain, f32(bits));
}
static uint32_t eight_widened(const struct format *format, uint64_t bits)
{
    const unsigned magnitude = bits & 0x7F;
    if (format->nan_is_sign && bits == 0x80)
        return 0x7FC00000;
    if (magnitude >= format->finite && format == &ocp_bf8)
        return (uint32_t)(bits & 0x80) << 24 | 0x7F800000 | (magnitude % 4 ? 0x400000 | magnitude % 4 << 21 : 0);
    if (magnitude >= format->finite)
        return (uint32_t)(bits & 0x80) << 24 | 0x7FC00000;
    const float value = (float)format->value(magnitude);
    return bits32(bits & 0x80 ? -value : value);
}

/* What is left of x divided by the scale in an f32's exponent; NaN where that is 255. */
static double reduced(double x, uint64_t scale)
{
    const int exponent = scale >> 23 & 255;
    if (x == x && exponent == 255)
        return (double)f32(0x7FC00000);
    return ldexp(x, 127 - exponent);
}
static double enlarged(double x, uint64_t scale)
{
    const int exponent = scale >> 23 & 255;
    return x == x && exponent == 255 ? (double)f32(0x7FC00000) : ldexp(x, exponent - 127);
}
/* A value of an OCP format, with its sign. */
static double ocp(const struct format *format, uint64_t bits)
{
    const unsigned sign = 1u << (format->bits - 1), magnitude = bits & (sign - 1);
    if (format->bits == 8)
        return (double)f32(eight_widened(format, bits));
    return bits & sign ? -format->value(magnitude) : format->value(magnitude);
}
static uint32_t following(uint64_t random)
{
    return (uint32_t)(random * 2) ^ (random >> 31 & 1 ? 197 : 0);
}

static const struct edges edges[2] = {
    {edges_f32, sizeof edges_f32 / sizeof *edges_f32},
    {edges_f64, sizeof edges_f64 / sizeof *edges_f64},
};
static const struct edges half_edges[2] = {
    {edges_f16, sizeof edges_f16 / sizeof *edges_f16},
    {edges_f64, sizeof edges_f64 / sizeof *edges_f64},
};

#define CASES_FILE "convert_cases.inc"
#define CASES_NAME convert_cases
#include "define_cases.h"
#define CASES_FILE "eight_cases.inc"
#define CASES_NAME eight_cases
#include "define_cases.h"

#define CASES_FILE "scaled_cases.inc"
#define CASES_NAME scaled_cases
#include "define_cases.h"

/* Scales near 1, and the extremes of the exponent; f16, bf16 and f32 of moderate size. */
static const uint64_t scaled_edges_32[] = {
    0x3F800000, 0x3F000000, 0x40000000, 0x41000000, 0x3C003C00, 0x42000000, 0x3D800000, 0x35800000,
    0x4A800000, 0x00000000, 0x7F000000, 0x80000001, 0xBF8000FF, 0x3FC00001, 0x3E123456, 0xC1F00000,
    0x43E00001, 0x47654321, 0x7C003555, 0x38003801, 0x3B00BEEF, 0x2C004500, 0x00800000, 0x40E00000,
};
static const struct edges scaled_edges[2] = {
    {scaled_edges_32, sizeof scaled_edges_32 / sizeof *scaled_edges_32},
    {edges_f64, sizeof edges_f64 / sizeof *edges_f64},
};

static void test_scaled(void **state)
{
    (void)state;
    stub_chip = SIM_GFX950;
    fp8 = &ocp_fp8, bf8 = &ocp_bf8;
    check_cases(SIM_GFX950, scaled_cases, sizeof scaled_cases / sizeof *scaled_cases, scaled_edges);
}

/* 32 values of 6 bits: element i is bits 6 * i to 6 * i + 5. */
static uint32_t six(const struct fixture *fixture, unsigned row, unsigned i, unsigned lane)
{
    uint32_t bits = 0;
    for (unsigned j = 0; j < 6; j++)
        bits |= (fixture->vector[row + (6 * i + j) / 32][lane] >> (6 * i + j) % 32 & 1) << j;
    return bits;
}
static void test_scaled_by_32(void **state)
{
    (void)state;
    static struct fixture fixture;
    fixture_init(&fixture);
    for (unsigned lane = 0; lane < SIM_LANES; lane++) {
        for (unsigned row = 0; row < 16; row++)
            fixture.vector[row][lane] = (uint32_t)fixture_random(&fixture) & 0xBFFFBFFF; /* no exponent of 31 */
        fixture.wave.sgpr[20] = bits32(0.25f);
    }
    fixture_run(&fixture, "v_cvt_scalef32_pk32_fp6_f16 v[16:21], v[0:15], s20");
    fixture_run(&fixture, "v_cvt_scalef32_pk32_bf6_bf16 v[22:27], v[0:15], 1.0");
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        for (unsigned i = 0; i < 32; i++) {
            const uint32_t bits = fixture.vector[i / 2][lane] >> i % 2 * 16 & 0xFFFF;
            assert_int_equal(six(&fixture, 16, i, lane), nearest(&fp6, value_of_half(bits) * 4));
            assert_int_equal(six(&fixture, 22, i, lane), nearest(&bf6, (double)f32((uint64_t)bits << 16)));
        }
    fixture_run(&fixture, "v_cvt_scalef32_pk32_f16_bf6 v[0:15], v[22:27], 4.0");
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        for (unsigned i = 0; i < 32; i++)
            assert_int_equal(fixture.vector[i / 2][lane] >> i % 2 * 16 & 0xFFFF,
                             nearest(&half, 4 * ocp(&bf6, six(&fixture, 22, i, lane))));
}

static void test_conversions(void **state)
{
    (void)state;
    stub_chip = SIM_GFX950;
    check_cases(SIM_GFX950, convert_cases, sizeof convert_cases / sizeof *convert_cases, edges);
    check_cases(SIM_GFX950, convert_cases, sizeof convert_cases / sizeof *convert_cases, half_edges);
}

static void test_fnuz(void **state)
{
    (void)state;
    stub_chip = SIM_GFX942;
    fp8 = &fnuz_fp8, bf8 = &fnuz_bf8;
    check_cases(SIM_GFX942, eight_cases, sizeof eight_cases / sizeof *eight_cases, edges);
}
static void test_ocp(void **state)
{
    (void)state;
    stub_chip = SIM_GFX950;
    fp8 = &ocp_fp8, bf8 = &ocp_bf8;
    check_cases(SIM_GFX950, eight_cases, sizeof eight_cases / sizeof *eight_cases, edges);
}

/* MODE.FP16_OVFL: f16 and 8-bit floats become the largest number where they would overflow. */
static void test_saturation(void **state)
{
    (void)state;
    static struct fixture fixture;
    saturating = 1;
    for (int is_gfx950 = 0; is_gfx950 < 2; is_gfx950++) {
        stub_chip = is_gfx950 ? SIM_GFX950 : SIM_GFX942;
        fp8 = is_gfx950 ? &ocp_fp8 : &fnuz_fp8;
        bf8 = is_gfx950 ? &ocp_bf8 : &fnuz_bf8;
        fixture_init(&fixture);
        fixture.wave.mode |= 1u << 23;
        for (size_t i = 0; i < sizeof edges_f32 / sizeof *edges_f32; i++)
            fixture.vector[2][i] = (uint32_t)edges_f32[i];
        fixture_run(&fixture, "v_cvt_pk_fp8_f32 v8, v2, v2");
        fixture_run(&fixture, "v_cvt_pk_bf8_f32 v9, v2, v2");
        fixture_run(&fixture, "v_cvt_f16_f32 v10, v2");
        for (size_t i = 0; i < SIM_LANES; i++) {
            const float x = f32(fixture.vector[2][i]);
            assert_int_equal(fixture.vector[8][i] & 0xFF, nearest(fp8, x));
            assert_int_equal(fixture.vector[9][i] >> 8 & 0xFF, nearest(bf8, x));
            const uint32_t overflowed = isfinite(x) && fabsf(x) > 65504 ? (signbit(x) ? 0xFBFF : 0x7BFF) : 0;
            saturating = 0;
            assert_int_equal(fixture.vector[10][i], overflowed ? overflowed : half_of(x, NEAREST));
            saturating = 1;
        }
    }
    saturating = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversions), cmocka_unit_test(test_fnuz),   cmocka_unit_test(test_ocp),
        cmocka_unit_test(test_saturation),  cmocka_unit_test(test_scaled), cmocka_unit_test(test_scaled_by_32),
    };
    skip_without_llvm_mc();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
