/* vector_compare.c: floats are ordered here by their bits, as signed magnitudes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "check_cases.h"

/* How two numbers may lie. A predicate is a set of these. */
enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8, ORDERED = LESS | EQUAL | GREATER };

static int has(int set, int element)
{
    return (set & element) != 0;
}
#define ORDER(type, x, y) order(as_##type(x), as_##type(y))
static int order(signed_wide x, signed_wide y)
{
    return x < y ? LESS : x > y ? GREATER : EQUAL;
}
static signed_wide as_u16(uint64_t x)
{
    return (uint16_t)x;
}
static signed_wide as_i16(uint64_t x)
{
    return (int16_t)x;
}
static signed_wide as_u32(uint64_t x)
{
    return (uint32_t)x;
}
static signed_wide as_i32(uint64_t x)
{
    return (int32_t)x;
}
static signed_wide as_u64(uint64_t x)
{
    return x;
}
static signed_wide as_i64(uint64_t x)
{
    return (int64_t)x;
}

/* `infinity` is its bits without the sign; larger magnitudes are NaNs. */
static int order_floats(uint64_t x, uint64_t y, uint64_t sign, uint64_t infinity)
{
    const signed_wide p = x & (sign - 1), q = y & (sign - 1);
    if (p > (signed_wide)infinity || q > (signed_wide)infinity)
        return UNORDERED;
    return order(x & sign ? -p : p, y & sign ? -q : q);
}
static int order_f16(uint64_t x, uint64_t y)
{
    return order_floats(x, y, 0x8000, 0x7C00);
}
static int order_f32(uint64_t x, uint64_t y)
{
    return order_floats(x, y, 0x80000000, 0x7F800000);
}
static int order_f64(uint64_t x, uint64_t y)
{
    return order_floats(x, y, 0x8000000000000000, 0x7FF0000000000000);
}

/* By what C calls it. */
static int class_of(int classified, int negative, int quiet)
{
    switch (classified) {
    case FP_NAN: return quiet ? 1 : 0;
    case FP_INFINITE: return negative ? 2 : 9;
    case FP_NORMAL: return negative ? 3 : 8;
    case FP_SUBNORMAL: return negative ? 4 : 7;
    default: return negative ? 5 : 6;
    }
}
static int class_f64(uint64_t x)
{
    double value;
    memcpy(&value, &x, sizeof value);
    return class_of(fpclassify(value), x >> 63 & 1, x >> 51 & 1);
}
static int class_f32(uint64_t x)
{
    const uint32_t bits = (uint32_t)x;
    float value;
    memcpy(&value, &bits, sizeof value);
    return class_of(fpclassify(value), x >> 31 & 1, x >> 22 & 1);
}
static int class_f16(uint64_t x)
{
    const uint64_t magnitude = x & 0x7FFF;
    const int classified = magnitude > 0x7C00    ? FP_NAN
                           : magnitude == 0x7C00 ? FP_INFINITE
                           : magnitude >= 0x0400 ? FP_NORMAL
                           : magnitude > 0       ? FP_SUBNORMAL
                                                 : FP_ZERO;
    return class_of(classified, x >> 15 & 1, x >> 9 & 1);
}

#define BOTH_SIGNS(x, sign) (x), (x) | (sign)
/* With content above a half, which is not to count. */
static const uint64_t edges_f16[] = {
    BOTH_SIGNS(0, 0x8000),      BOTH_SIGNS(1, 0x8000),          BOTH_SIGNS(0x3FF, 0x8000),
    BOTH_SIGNS(0x400, 0x8000),  BOTH_SIGNS(0x3800, 0x8000),     BOTH_SIGNS(0x3C00, 0x8000),
    BOTH_SIGNS(0x7BFF, 0x8000), BOTH_SIGNS(0x7C00, 0x8000),     BOTH_SIGNS(0x7C01, 0x8000),
    BOTH_SIGNS(0x7E00, 0x8000), BOTH_SIGNS(0x12343C00, 0x8000), BOTH_SIGNS(0xFFFF0000, 0x8000),
};
static const uint64_t edges_f32[] = {
    BOTH_SIGNS(0, 0x80000000),          BOTH_SIGNS(1, 0x80000000),          BOTH_SIGNS(0x7FFFFF, 0x80000000),
    BOTH_SIGNS(0x800000, 0x80000000),   BOTH_SIGNS(0x3F000000, 0x80000000), BOTH_SIGNS(0x3F800000, 0x80000000),
    BOTH_SIGNS(0x7F7FFFFF, 0x80000000), BOTH_SIGNS(0x7F800000, 0x80000000), BOTH_SIGNS(0x7F800001, 0x80000000),
    BOTH_SIGNS(0x7FC00000, 0x80000000),
};
#define SIGN_64 0x8000000000000000
static const uint64_t edges_f64[] = {
    BOTH_SIGNS(0, SIGN_64),
    BOTH_SIGNS(1, SIGN_64),
    BOTH_SIGNS(0xFFFFFFFFFFFFF, SIGN_64),
    BOTH_SIGNS(0x10000000000000, SIGN_64),
    BOTH_SIGNS(0x3FE0000000000000, SIGN_64),
    BOTH_SIGNS(0x3FF0000000000000, SIGN_64),
    BOTH_SIGNS(0x3FF0000000000001, SIGN_64),
    BOTH_SIGNS(0x4059000000000001, SIGN_64),
    BOTH_SIGNS(0x7FEFFFFFFFFFFFFF, SIGN_64),
    BOTH_SIGNS(0x7FF0000000000000, SIGN_64),
    BOTH_SIGNS(0x7FF0000000000001, SIGN_64),
    BOTH_SIGNS(0x7FF8000000000000, SIGN_64),
};
static const uint64_t edges_32[] = {
    0,      1,       7,          0x7F,       0x80,       0xFF,       0x7FFF,     0x8000,     0x8001,
    0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x00070007, 0xFFFF0001, 0xFFFFFFF0, 0xFFFFFFFF,
};
static const uint64_t edges_64[] = {
    0,
    1,
    0x7FFFFFFF,
    0x80000000,
    0x80000002,
    0xFFFFFFFF,
    0x100000000,
    0x7FFFFFFFFFFFFFFF,
    0x8000000000000000,
    0xFFFFFFFF00000000,
    0xFFFFFFFF80000001,
    0xFFFFFFFF80000002,
    0xFFFFFFFFFFFFFFFB,
    0xFFFFFFFFFFFFFFFC,
    0xFFFFFFFFFFFFFFFF,
};

#define CASES_FILE "compare_integer_cases.inc"
#define CASES_NAME integer_cases
#include "define_cases.h"
#define CASES_FILE "compare_f16_cases.inc"
#define CASES_NAME f16_cases
#include "define_cases.h"
#define CASES_FILE "compare_f32_cases.inc"
#define CASES_NAME f32_cases
#include "define_cases.h"
#define CASES_FILE "compare_f64_cases.inc"
#define CASES_NAME f64_cases
#include "define_cases.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define EDGES(values) \
    { \
        values, COUNT(values) \
    }

static void test_integers(void **state)
{
    (void)state;
    static const struct edges edges[2] = {EDGES(edges_32), EDGES(edges_64)};
    check_cases(SIM_GFX942, integer_cases, COUNT(integer_cases), edges);
}
static void test_f16(void **state)
{
    (void)state;
    static const struct edges edges[2] = {EDGES(edges_f16), EDGES(edges_f64)};
    check_cases(SIM_GFX942, f16_cases, COUNT(f16_cases), edges);
}
static void test_f32(void **state)
{
    (void)state;
    static const struct edges edges[2] = {EDGES(edges_f32), EDGES(edges_f64)};
    check_cases(SIM_GFX942, f32_cases, COUNT(f32_cases), edges);
}
static void test_f64(void **state)
{
    (void)state;
    static const struct edges edges[2] = {EDGES(edges_f32), EDGES(edges_f64)};
    check_cases(SIM_GFX942, f64_cases, COUNT(f64_cases), edges);
}

/* MODE bits 5:4 are for f32, 7:6 for f16 and f64; without their low bit subnormal sources are 0. Classes see them always. */
static void test_subnormal_sources(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t allowing_mode;
    } cases[] = {
        {"v_cmp_lg_f32_e64 s[6:7], v2, 0", 0x10},     {"v_cmp_lg_f16_e64 s[6:7], v2, 0", 0x40},
        {"v_cmp_lg_f64_e64 s[6:7], v[2:3], 0", 0x40}, {"v_cmp_class_f32_e64 s[6:7], v2, v4", 0},
        {"v_cmp_class_f16_e64 s[6:7], v2, v4", 0},    {"v_cmp_class_f64_e64 s[6:7], v[2:3], v4", 0},
    };
    static struct fixture fixture;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sim_instruction instruction;
        assemble(&instruction, SIM_GFX942, &cases[i].text, 1);
        for (uint32_t mode = 0; mode < 0x100; mode += 0x10) {
            fixture_init(&fixture);
            fixture.wave.mode = mode;
            for (size_t lane = 0; lane < SIM_LANES; lane++) {
                fixture.vector[2][lane] = 0x1; /* the smallest subnormal number of every width */
                fixture.vector[3][lane] = 0;
                fixture.vector[4][lane] = 1 << 7;
            }
            fixture_execute(&fixture, &instruction);
            const int differs = (mode & cases[i].allowing_mode) == cases[i].allowing_mode;
            assert_int_equal(sim_sgpr64(&fixture.wave, 6), differs ? UINT64_MAX : 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_f16),
        cmocka_unit_test(test_f32),
        cmocka_unit_test(test_f64),
        cmocka_unit_test(test_subnormal_sources),
    };
    skip_without_llvm_mc();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
