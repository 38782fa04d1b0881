/* vector_packed.c, vector_dot.c, vector_float_order.c and modifiers against the host's float, and f16 as integers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "check_cases.h"
#include "float_reference.h"

#define L(x) ((uint32_t)(x)&0xFFFF)
#define U(x) ((uint32_t)((x) >> 16) & 0xFFFF)
#define S(half) ((int)(int16_t)(half))
#define LOW(x) ((uint32_t)(x))
#define HIGH(x) ((uint32_t)((x) >> 32))
#define PAIR(low, high) (((uint32_t)(int32_t)(low)&0xFFFF) | (uint32_t)(int32_t)(high) << 16)
#define PAIR32(low, high) ((uint64_t)(low) | (uint64_t)(high) << 32)

static int is_nan32(uint32_t x)
{
    return (x & 0x7FFFFFFF) > 0x7F800000;
}
static int is_nan16(uint32_t x)
{
    return (x & 0x7FFF) > 0x7C00;
}
static uint32_t quiet32(uint32_t bits)
{
    return is_nan32(bits) ? bits | 0x400000 : bits;
}
/* The first NaN of three, quiet; or else `result`, where a NaN is the one without sign. */
static uint32_t of_nans32(uint32_t a, uint32_t b, uint32_t c, float result)
{
    const uint32_t nan = is_nan32(a) ? a : is_nan32(b) ? b : c;
    if (is_nan32(nan))
        return quiet32(nan);
    return result != result ? 0x7FC00000 : bits32(result);
}
static uint32_t sum32(uint32_t a, uint32_t b)
{
    return of_nans32(a, b, 0, f32(a) + f32(b));
}
static uint32_t product32(uint32_t a, uint32_t b)
{
    return of_nans32(a, b, 0, f32(a) * f32(b));
}
static uint32_t fused32(uint32_t a, uint32_t b, uint32_t c)
{
    return of_nans32(a, b, c, fmaf(f32(a), f32(b), f32(c)));
}
static uint32_t wide16(uint32_t half)
{
    if (is_nan16(half))
        return (half & 0x8000) << 16 | 0x7FC00000 | (half & 0x3FF) << 13;
    return bits32((float)value_of_half(half));
}
/* f32 to f16, nearest even. */
static uint32_t narrow(uint32_t bits)
{
    const uint32_t sign = bits >> 16 & 0x8000;
    const float x = f32(bits);
    if (x != x)
        return sign | 0x7E00 | (bits >> 13 & 0x3FF);
    if (fabsf(x) >= 65520)
        return sign | 0x7C00;
    const double exact = (double)x * 281474976710656.0; /* 2^48: smaller parts only break ties */
    const fixed units = (fixed)exact;
    const int has_more = (double)units != exact;
    return half_of_fixed(units + (has_more ? (x < 0 ? -1 : 1) * (units % 2 == 0) : 0), NEAREST, 0) | sign;
}

static uint32_t fused16(uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t nan = is_nan16(a) ? a : is_nan16(b) ? b : c;
    if (is_nan16(nan))
        return nan | 0x200;
    const double value = value_of_half(a) * value_of_half(b) + value_of_half(c);
    if (!isfinite(value))
        return value != value ? 0x7E00 : value > 0 ? 0x7C00 : 0xFC00;
    const fixed sum = (fixed)units_of_half(a) * units_of_half(b) + (fixed)units_of_half(c) * 16777216;
    return half_of_fixed(sum, NEAREST, ((a ^ b) & c) >> 15 & 1);
}
static uint32_t sum16(uint32_t a, uint32_t b)
{
    return fused16(a, 0x3C00, b);
}
static uint32_t product16(uint32_t a, uint32_t b)
{
    return fused16(a, b, (a ^ b) & 0x8000);
}
static uint32_t without_subnormal(uint32_t half)
{
    return half & 0x7C00 ? half : half & 0x8000;
}
static uint32_t mad16(uint32_t a, uint32_t b, uint32_t c)
{
    a = without_subnormal(a), b = without_subnormal(b), c = without_subnormal(c);
    return without_subnormal(sum16(without_subnormal(product16(a, b)), c));
}

/* IEEE mode: a signalling NaN wins, quiet; else a number; -0 is less than +0. */
#define ORDER(bits, value_of, quiet) \
    static int is_before##bits(uint32_t a, uint32_t b) \
    { \
        const double x = value_of(a), y = value_of(b); \
        return x == y ? a >> (bits - 1) > b >> (bits - 1) : x < y; \
    } \
    static uint32_t chosen##bits(uint32_t a, uint32_t b, int first) \
    { \
        if (is_nan##bits(a) && !(a & quiet)) \
            return a | quiet; \
        if (is_nan##bits(b) && !(b & quiet)) \
            return b | quiet; \
        return is_nan##bits(a) ? b : is_nan##bits(b) ? a : first ? a : b; \
    } \
    static uint32_t least##bits(uint32_t a, uint32_t b) \
    { \
        return chosen##bits(a, b, is_before##bits(a, b)); \
    } \
    static uint32_t greatest##bits(uint32_t a, uint32_t b) \
    { \
        return chosen##bits(a, b, !is_before##bits(a, b)); \
    } \
    static uint32_t of_three##bits(uint32_t a, uint32_t b, uint32_t c, uint32_t (*of)(uint32_t, uint32_t)) \
    { \
        const uint32_t nan = is_nan##bits(a) ? a : is_nan##bits(b) ? b : c; \
        return is_nan##bits(nan) ? nan | quiet : of(of(a, b), c); \
    } \
    static uint32_t middle##bits(uint32_t a, uint32_t b, uint32_t c) \
    { \
        if (is_nan##bits(a) || is_nan##bits(b) || is_nan##bits(c)) \
            return least##bits(least##bits(a, b), c); \
        const uint32_t values[] = {a, b, c}; \
        for (int i = 0; i < 3; i++) { \
            const uint32_t x = values[i], y = values[(i + 1) % 3], z = values[(i + 2) % 3]; \
            if (!is_before##bits(x, y) && !is_before##bits(z, x)) \
                return x; \
            if (!is_before##bits(x, z) && !is_before##bits(y, x)) \
                return x; \
        } \
        return 0; \
    } \
    static uint32_t to_unit##bits(uint32_t a) \
    { \
        const double x = value_of(a); \
        const uint32_t one = bits == 16 ? 0x3C00 : 0x3F800000; \
        return x > 1 ? one : x > 0 ? a : 0; \
    }
#define VALUE_32(bits) ((double)f32(bits))
ORDER(16, value_of_half, 0x200u)
ORDER(32, VALUE_32, 0x400000u)

static int signed_limit(int x)
{
    return x > 32767 ? 32767 : x < -32768 ? -32768 : x;
}
static uint32_t unsigned_limit(int64_t x)
{
    return (int32_t)x < 0 && x > 0xFFFF0000 ? 0 : x > 65535 ? 65535 : (uint32_t)x;
}
static uint32_t fraction32(uint32_t a)
{
    if (is_nan32(a) || isinf(f32(a)))
        return is_nan32(a) ? quiet32(a) : 0x7FC00000;
    const float x = f32(a), part = x - floorf(x);
    return part >= 1 ? 0x3F7FFFFF : bits32(part);
}
static uint32_t exponent(double x)
{
    return x == 0 || !isfinite(x) ? 0 : (uint32_t)(ilogb(x) + 1);
}
static uint32_t fixup16(uint32_t quotient, uint32_t denominator, uint32_t numerator)
{
    const uint32_t sign = (denominator ^ numerator) & 0x8000;
    const double n = fabs(value_of_half(numerator)), d = fabs(value_of_half(denominator));
    if (n != n || d != d)
        return (n != n ? numerator : denominator) | 0x200;
    if (n / d != n / d)
        return 0xFE00;
    if (d == 0 || isinf(n))
        return sign | 0x7C00;
    if (n == 0 || isinf(d))
        return sign;
    return sign | (is_nan16(quotient) ? 0x7C00 : quotient & 0x7FFF); /* NaN: the quotient was too large on its way */
}

static const uint64_t edges_halves[] = {
    0x00000000, 0x80000000, 0x00018000, 0x3C003C00, 0xBC003E00, 0x7BFF7BFF, 0xFBFF0400, 0x7C00FC00,
    0x7C017E55, 0x03FF83FF, 0x40003555, 0x64006401, 0x7FFF8000, 0x80007FFF, 0xFFFF0001, 0x0010000F,
    0x38004248, 0x3F803F80, 0x7F807F81, 0xFF8000FF, 0x3C00FD23, 0x0401B800,
};
static const uint64_t edges_pairs[] = {
    0x0000000080000000, 0x3F8000003F800000, 0xBF8000013F000000, 0x7F7FFFFF7F800000, 0x7F800001FFC00000,
    0x0000000100800000, 0x40490FDB3EAAAAAB, 0x4B80000033800000, 0xFF800000C0000000,
};
#define EDGES(values) \
    { \
        values, sizeof values / sizeof *values \
    }
static const struct edges edges[2] = {EDGES(edges_halves), EDGES(edges_pairs)};
static const struct edges float_edges[2] = {EDGES(edges_f32), EDGES(edges_f64)};

#define CASES_FILE "packed_cases.inc"
#define CASES_NAME packed_cases
#include "define_cases.h"
#define CASES_FILE "order_cases.inc"
#define CASES_NAME order_cases
#include "define_cases.h"

static void test_packed(void **state)
{
    (void)state;
    check_cases(SIM_GFX950, packed_cases, sizeof packed_cases / sizeof *packed_cases, edges);
    check_cases(SIM_GFX950, packed_cases, sizeof packed_cases / sizeof *packed_cases, float_edges);
}

static void test_order(void **state)
{
    (void)state;
    check_cases(SIM_GFX950, order_cases, sizeof order_cases / sizeof *order_cases, edges);
    check_cases(SIM_GFX950, order_cases, sizeof order_cases / sizeof *order_cases, float_edges);
}

static uint32_t run_add(struct fixture *fixture, uint32_t mode, const char *text, uint32_t a)
{
    fixture->wave.mode = mode;
    fixture->vector[2][5] = a;
    fixture_run(fixture, text);
    return fixture->vector[8][5];
}
/* Output modifiers work where results are flushed and IEEE mode is off; -0 becomes +0. Clamp makes 0 of NaN in DX10 mode. */
static void test_output_modifiers(void **state)
{
    (void)state;
    static struct fixture fixture;
    fixture_init(&fixture);
    static const char doubled[] = "v_add_f32_e64 v8, v2, 0 mul:2", fourfold[] = "v_add_f32_e64 v8, v2, 0 mul:4",
                      halved[] = "v_add_f32_e64 v8, v2, 0 div:2", clamped[] = "v_add_f32_e64 v8, v2, 0 clamp";
    assert_int_equal(run_add(&fixture, 0x100, doubled, 0x3F800000), 0x40000000);
    assert_int_equal(run_add(&fixture, 0x100, fourfold, 0x3F800000), 0x40800000);
    assert_int_equal(run_add(&fixture, 0x100, halved, 0x3F800000), 0x3F000000);
    assert_int_equal(run_add(&fixture, 0x100, halved, 0x00800000), 0); /* would be subnormal */
    assert_int_equal(run_add(&fixture, 0x100, doubled, 0x7F000000), 0x7F800000);
    assert_int_equal(run_add(&fixture, 0x100, doubled, 0x7FC12345), 0x7FC12345);
    assert_int_equal(run_add(&fixture, 0x300, doubled, 0x3F800000), 0x3F800000); /* IEEE */
    assert_int_equal(run_add(&fixture, 0x120, doubled, 0x3F800000), 0x3F800000); /* subnormal results */
    assert_int_equal(run_add(&fixture, 0x100, "v_mul_f32_e64 v8, v2, 1.0 mul:2", 0x80000000), 0);
    assert_int_equal(run_add(&fixture, 0x1F0, clamped, 0x7FC00000), 0);
    assert_int_equal(run_add(&fixture, 0x0F0, clamped, 0x7FC00000), 0x7FC00000);
    assert_int_equal(run_add(&fixture, 0x1F0, clamped, 0xC0000000), 0);
    /* Without IEEE mode a signalling NaN is like any. */
    assert_int_equal(run_add(&fixture, 0x0F0, "v_max_f32 v8, 1.0, v2", 0x7F800001), 0x3F800000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_output_modifiers),
    };
    skip_without_llvm_mc();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
