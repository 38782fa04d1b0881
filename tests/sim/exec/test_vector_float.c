/* vector_float*.c against the host in each rounding mode (fesetround), against integers for f16, and against long double for
 * what is approximate. Every rounding and every treatment of subnormals that MODE knows. */
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "float_reference.h"
#include "wave_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct width {
    unsigned bits, dwords;
    uint64_t sign, infinity, quiet;
    const uint64_t *edges;
    size_t edge_count;
    unsigned round_shift, denormal_shift;
};
static const struct width widths[] = {
    {16, 1, 0x8000, 0x7C00, 0x200, edges_f16, COUNT(edges_f16), 2, 6},
    {32, 1, 0x80000000, 0x7F800000, 0x400000, edges_f32, COUNT(edges_f32), 0, 4},
    {64, 2, 1ull << 63, 0x7FF0000000000000, 1ull << 51, edges_f64, COUNT(edges_f64), 2, 6},
};
enum { HALF, SINGLE, DOUBLE };

static int is_nan(const struct width *width, uint64_t bits)
{
    return (bits & (width->sign - 1)) > width->infinity;
}
static uint64_t flushed(const struct width *width, uint64_t bits)
{
    return bits & width->infinity ? bits : bits & width->sign;
}

/* ---- Arithmetic ------------------------------------------------------------------------------------------------------ */

struct arithmetic {
    const char *text; /* sources v[2:3], v[4:5], v[6:7] or the destination v[8:9] */
    int width;
    unsigned sources, third_row;
    uint64_t (*reference)(uint64_t a, uint64_t b, uint64_t c, int round); /* of sources that are not NaN */
};

static void use_rounding(int round)
{
    static const int modes[] = {
        [NEAREST] = FE_TONEAREST, [UP] = FE_UPWARD, [DOWN] = FE_DOWNWARD, [ZERO] = FE_TOWARDZERO};
    assert_int_equal(fesetround(modes[round]), 0);
}

/* The volatile ones keep the computation between the two changes of the rounding. */
#define HOST(name, bits, F, B, T, ...) \
    static uint64_t name##bits(uint64_t x, uint64_t y, uint64_t z, int round) \
    { \
        volatile T a = F(x), b = F(y), c = F(z), result; \
        use_rounding(round); \
        result = __VA_ARGS__; \
        use_rounding(NEAREST); \
        (void)c; \
        return B(result); \
    }
#define HOST_BOTH(name, value32, value64) \
    HOST(name, 32, f32, bits32, float, value32) \
    HOST(name, 64, f64, bits64, double, value64)
HOST_BOTH(sum, a + b, a + b)
HOST_BOTH(product, a *b, a *b)
HOST_BOTH(fused, fmaf(a, b, c), fma(a, b, c))
HOST(difference, 32, f32, bits32, float, a - b)
HOST(difference_reverse, 32, f32, bits32, float, b - a)

/* f16: special values by the host's float, finite ones by integers. */
static uint32_t half_special(double value)
{
    return value != value ? 0x7E00 : value > 0 ? 0x7C00 : 0xFC00;
}
static int is_finite_half(uint64_t half)
{
    return (half & 0x7C00) != 0x7C00;
}
static uint64_t fused16(uint64_t a, uint64_t b, uint64_t c, int round)
{
    const uint32_t x = a & 0xFFFF, y = b & 0xFFFF, z = c & 0xFFFF;
    if (!is_finite_half(x) || !is_finite_half(y) || !is_finite_half(z))
        return half_special(value_of_half(x) * value_of_half(y) + value_of_half(z));
    const fixed product = (fixed)units_of_half(x) * units_of_half(y);
    const int negative_product = (x ^ y) >> 15 & 1, negative_c = z >> 15;
    const int negative_zero = negative_product == negative_c ? negative_c : round == DOWN;
    return half_of_fixed(product + (fixed)units_of_half(z) * 16777216, round, negative_zero);
}
static uint64_t sum16(uint64_t a, uint64_t b, uint64_t c, int round)
{
    (void)c;
    return fused16(a, 0x3C00, b, round);
}
static uint64_t difference16(uint64_t a, uint64_t b, uint64_t c, int round)
{
    (void)c;
    return fused16(a, 0x3C00, b ^ 0x8000, round);
}
static uint64_t difference_reverse16(uint64_t a, uint64_t b, uint64_t c, int round)
{
    return difference16(b, a, c, round);
}
static uint64_t product16(uint64_t a, uint64_t b, uint64_t c, int round)
{
    (void)c;
    if (!is_finite_half(a) || !is_finite_half(b))
        return half_special(value_of_half((uint32_t)a) * value_of_half((uint32_t)b));
    return half_of_fixed((fixed)units_of_half((uint32_t)a) * units_of_half((uint32_t)b), round, (a ^ b) >> 15 & 1);
}

static const struct arithmetic arithmetic[] = {
    {"v_add_f16 v8, v2, v4", HALF, 2, 0, sum16},
    {"v_sub_f16 v8, v2, v4", HALF, 2, 0, difference16},
    {"v_subrev_f16 v8, v2, v4", HALF, 2, 0, difference_reverse16},
    {"v_mul_f16 v8, v2, v4", HALF, 2, 0, product16},
    {"v_fma_legacy_f16 v8, v2, v4, v6", HALF, 3, 6, fused16},
    {"v_add_f32 v8, v2, v4", SINGLE, 2, 0, sum32},
    {"v_sub_f32 v8, v2, v4", SINGLE, 2, 0, difference32},
    {"v_subrev_f32 v8, v2, v4", SINGLE, 2, 0, difference_reverse32},
    {"v_mul_f32 v8, v2, v4", SINGLE, 2, 0, product32},
    {"v_fma_f32 v8, v2, v4, v6", SINGLE, 3, 6, fused32},
    {"v_fmac_f32 v8, v2, v4", SINGLE, 3, 8, fused32},
    {"v_add_f64 v[8:9], v[2:3], v[4:5]", DOUBLE, 2, 0, sum64},
    {"v_mul_f64 v[8:9], v[2:3], v[4:5]", DOUBLE, 2, 0, product64},
    {"v_fma_f64 v[8:9], v[2:3], v[4:5], v[6:7]", DOUBLE, 3, 6, fused64},
    {"v_fmac_f64 v[8:9], v[2:3], v[4:5]", DOUBLE, 3, 8, fused64},
};

/* Edges, and numbers whose exponents are near one another, where rounding is interesting. */
static uint64_t any_source(struct fixture *fixture, const struct width *width)
{
    const uint64_t random = fixture_random(fixture);
    const uint64_t all = width->sign | (width->sign - 1), one = width->infinity >> 1 & width->infinity;
    const uint64_t exponent = 2 * width->quiet; /* 1 in the exponent field */
    switch (random & 3) {
    case 0: return width->edges[(random >> 2) % width->edge_count];
    case 1: return fixture_random(fixture) & all;
    default:
        return ((one - (random >> 2 & 7) * exponent + (fixture_random(fixture) & (exponent * 16 - 1))) & all) ^
               (random >> 5 & 1 ? width->sign : 0);
    }
}

static uint64_t get(const struct fixture *fixture, unsigned row, unsigned dwords, unsigned lane)
{
    return fixture->vector[row][lane] | (dwords == 2 ? (uint64_t)fixture->vector[row + 1][lane] << 32 : 0);
}
static void put(struct fixture *fixture, unsigned row, unsigned dwords, unsigned lane, uint64_t value)
{
    fixture->vector[row][lane] = (uint32_t)value;
    if (dwords == 2)
        fixture->vector[row + 1][lane] = (uint32_t)(value >> 32);
}

static uint64_t expected_of(const struct arithmetic *checked, const struct width *width, const uint64_t *given,
                            int round, unsigned denormals)
{
    uint64_t source[3] = {given[0], given[1], given[2]};
    for (unsigned i = 0; i < checked->sources; i++) {
        if (is_nan(width, source[i]))
            return source[i] | width->quiet;
        if (!(denormals & 1))
            source[i] = flushed(width, source[i]);
    }
    const uint64_t result = checked->reference(source[0], source[1], source[2], round);
    if (is_nan(width, result))
        return width->infinity | width->quiet;
    return denormals & 2 ? result : flushed(width, result);
}

static void test_arithmetic(void **state)
{
    (void)state;
    static struct fixture fixture;
    struct sim_instruction instructions[COUNT(arithmetic)];
    const char *texts[COUNT(arithmetic)];
    for (size_t i = 0; i < COUNT(arithmetic); i++)
        texts[i] = arithmetic[i].text;
    assemble(instructions, SIM_GFX942, texts, COUNT(arithmetic));
    fixture_init(&fixture);
    for (size_t i = 0; i < COUNT(arithmetic); i++)
        for (unsigned mode = 0; mode < 16; mode++)
            for (unsigned batch = 0; batch < 60; batch++) {
                const struct arithmetic *checked = &arithmetic[i];
                const struct width *width = &widths[checked->width];
                const int round = (int)mode & 3;
                const unsigned denormals = mode >> 2;
                uint64_t source[SIM_LANES][3];
                fixture.wave.mode = 0x300 | (unsigned)round << width->round_shift | denormals << width->denormal_shift;
                for (unsigned lane = 0; lane < SIM_LANES; lane++)
                    for (unsigned s = 0; s < 3; s++) {
                        const size_t pair = batch * SIM_LANES + lane;
                        source[lane][s] = any_source(&fixture, width);
                        if (pair < width->edge_count * width->edge_count && s < 2)
                            source[lane][s] = width->edges[(s ? pair / width->edge_count : pair) % width->edge_count];
                        if (s < 2 || checked->third_row)
                            put(&fixture, s < 2 ? 2 + 2 * s : checked->third_row, width->dwords, lane, source[lane][s]);
                    }
                fixture_execute(&fixture, &instructions[i]);
                for (unsigned lane = 0; lane < SIM_LANES; lane++) {
                    const uint64_t expected = expected_of(checked, width, source[lane], round, denormals);
                    const uint64_t result = get(&fixture, 8, width->dwords, lane);
                    if (result != expected)
                        fail_msg("%s of %llx, %llx, %llx, rounding %d, denormals %u: %llx, not %llx", checked->text,
                                 (unsigned long long)source[lane][0], (unsigned long long)source[lane][1],
                                 (unsigned long long)source[lane][2], round, denormals, (unsigned long long)result,
                                 (unsigned long long)expected);
                }
            }
}

/* ---- One source ------------------------------------------------------------------------------------------------------ */

/* All f16 and a million f32, or random f64: results within `ulps` of the reference. */
struct unary {
    const char *text;
    int width;
    double ulps;
    long double (*reference)(long double x);
    int flushes; /* f32 that never sees or makes subnormals */
};
#define UNARY(name, ...) \
    static long double name(long double x) \
    { \
        return __VA_ARGS__; \
    }
#define PI 3.14159265358979323846264338327950288L
UNARY(of_rcp, 1 / x)
UNARY(of_rsq, 1 / sqrtl(x))
UNARY(of_sqrt, sqrtl(x))
UNARY(of_log, log2l(x))
UNARY(of_exp, exp2l(x))
UNARY(of_floor, floorl(x))
UNARY(of_ceil, ceill(x))
UNARY(of_trunc, truncl(x))
UNARY(of_rndne, rintl(x))
UNARY(of_mantissa, isfinite(x) ? frexpl(x, &(int){0}) : x)
static const struct unary unary[] = {
    {"v_rcp_f16 v8, v2", HALF, 0.5, of_rcp, 0},
    {"v_rcp_f32 v8, v2", SINGLE, 0.5, of_rcp, 1},
    {"v_rsq_f16 v8, v2", HALF, 0.5, of_rsq, 0},
    {"v_rsq_f32 v8, v2", SINGLE, 0.500001, of_rsq, 1},
    {"v_sqrt_f16 v8, v2", HALF, 0.5, of_sqrt, 0},
    {"v_sqrt_f32 v8, v2", SINGLE, 0.5, of_sqrt, 1},
    {"v_log_f16 v8, v2", HALF, 0.5, of_log, 0},
    {"v_log_f32 v8, v2", SINGLE, 0.500001, of_log, 1},
    {"v_exp_f16 v8, v2", HALF, 0.5, of_exp, 0},
    {"v_exp_f32 v8, v2", SINGLE, 0.500001, of_exp, 1},
    {"v_rcp_iflag_f32 v8, v2", SINGLE, 0.5, of_rcp, 1},
    {"v_rcp_f64 v[8:9], v[2:3]", DOUBLE, 0.5005, of_rcp, 0},
    {"v_rsq_f64 v[8:9], v[2:3]", DOUBLE, 1.5, of_rsq, 0},
    {"v_sqrt_f64 v[8:9], v[2:3]", DOUBLE, 0.5005, of_sqrt, 0},
    {"v_floor_f16 v8, v2", HALF, 0, of_floor, 0},
    {"v_floor_f32 v8, v2", SINGLE, 0, of_floor, 0},
    {"v_ceil_f16 v8, v2", HALF, 0, of_ceil, 0},
    {"v_ceil_f32 v8, v2", SINGLE, 0, of_ceil, 0},
    {"v_trunc_f16 v8, v2", HALF, 0, of_trunc, 0},
    {"v_trunc_f32 v8, v2", SINGLE, 0, of_trunc, 0},
    {"v_rndne_f16 v8, v2", HALF, 0, of_rndne, 0},
    {"v_rndne_f32 v8, v2", SINGLE, 0, of_rndne, 0},
    {"v_floor_f64 v[8:9], v[2:3]", DOUBLE, 0, of_floor, 0},
    {"v_ceil_f64 v[8:9], v[2:3]", DOUBLE, 0, of_ceil, 0},
    {"v_trunc_f64 v[8:9], v[2:3]", DOUBLE, 0, of_trunc, 0},
    {"v_rndne_f64 v[8:9], v[2:3]", DOUBLE, 0, of_rndne, 0},
    {"v_frexp_mant_f16 v8, v2", HALF, 0, of_mantissa, 0},
    {"v_frexp_mant_f32 v8, v2", SINGLE, 0, of_mantissa, 0},
    {"v_frexp_mant_f64 v[8:9], v[2:3]", DOUBLE, 0, of_mantissa, 0},
};

static long double value_of(int width, uint64_t bits)
{
    return width == HALF     ? value_of_half((uint32_t)bits)
           : width == SINGLE ? (long double)f32(bits)
                             : (long double)f64(bits);
}
/* The distance of neighbours at |x|. */
static long double ulp_of(int width, long double x)
{
    static const int digits[] = {11, 24, 53}, least[] = {-24, -149, -1074};
    int exponent;
    (void)frexpl(x, &exponent);
    return ldexpl(1, exponent - digits[width] < least[width] ? least[width] : exponent - digits[width]);
}

static void check_unary(const struct unary *checked, uint64_t source, uint64_t result)
{
    const struct width *width = &widths[checked->width];
    static const long double largest[] = {65504, 3.40282346638528859812e38L, 1.79769313486231570815e308L};
    uint64_t seen = checked->flushes ? flushed(width, source) : source;
    const long double expected = checked->reference(value_of(checked->width, seen));
    const long double value = value_of(checked->width, result), ulp = ulp_of(checked->width, expected);
    int right;
    if (is_nan(width, source))
        right = result == (source | width->quiet);
    else if (expected != expected)
        right = result == (width->infinity | width->quiet);
    else if (isinf(value))
        right =
            (expected > 0) == (value > 0) &&
            fabsl(expected) >= largest[checked->width] + ulp_of(checked->width, largest[checked->width]) / 2 * 0.999L;
    else if (checked->flushes && fabsl(expected) < 0x1p-126L * (1 - 0x1p-25L))
        right = value == 0 && signbit(value) == signbit(expected);
    else
        right = fabsl(value - expected) <= ulp * checked->ulps && (value != 0 || signbit(value) == signbit(expected));
    if (!right)
        fail_msg("%s of %llx: %llx", checked->text, (unsigned long long)source, (unsigned long long)result);
}

static void test_unary(void **state)
{
    (void)state;
    static struct fixture fixture;
    struct sim_instruction instructions[COUNT(unary)];
    const char *texts[COUNT(unary)];
    for (size_t i = 0; i < COUNT(unary); i++)
        texts[i] = unary[i].text;
    assemble(instructions, SIM_GFX942, texts, COUNT(unary));
    fixture_init(&fixture);
    fixture.wave.mode = 0x3F0;
    for (size_t i = 0; i < COUNT(unary); i++) {
        const struct width *width = &widths[unary[i].width];
        for (uint32_t batch = 0; batch < 0x10000 / SIM_LANES; batch++) {
            uint64_t source[SIM_LANES];
            for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
                const uint32_t index = batch * SIM_LANES + lane;
                source[lane] = unary[i].width == HALF      ? index
                               : index < width->edge_count ? width->edges[index]
                                                           : any_source(&fixture, width);
                put(&fixture, 2, width->dwords, lane, source[lane]);
            }
            fixture_execute(&fixture, &instructions[i]);
            for (uint32_t lane = 0; lane < SIM_LANES; lane++)
                check_unary(&unary[i], source[lane], get(&fixture, 8, width->dwords, lane));
        }
    }
}

/* Sine and cosine: absolute error, exact at quarters of a turn; 0 and 1 beyond 256 turns. */
static void test_sine(void **state)
{
    (void)state;
    static struct fixture fixture;
    struct sim_instruction instructions[2];
    const char *const texts[] = {"v_sin_f32 v8, v2", "v_cos_f32 v9, v2"};
    assemble(instructions, SIM_GFX942, texts, 2);
    fixture_init(&fixture);
    for (int i = -4096; i <= 4096; i++) {
        const float turns = (float)i / 16;
        fixture.vector[2][0] = bits32(turns);
        fixture_execute(&fixture, &instructions[0]);
        fixture_execute(&fixture, &instructions[1]);
        const float sine = f32(fixture.vector[8][0]), cosine = f32(fixture.vector[9][0]);
        assert_true(fabsl(sine - sinl(2 * PI * (long double)turns)) < 1e-7L);
        assert_true(fabsl(cosine - cosl(2 * PI * (long double)turns)) < 1e-7L);
        if (i % 8 == 0)
            assert_true(sine == 0 && fabsf(cosine) == 1);
        else if (i % 4 == 0)
            assert_true(cosine == 0 && fabsf(sine) == 1);
    }
    fixture.vector[2][0] = bits32(256.5f);
    fixture_execute(&fixture, &instructions[0]);
    fixture_execute(&fixture, &instructions[1]);
    assert_int_equal(fixture.vector[8][0], 0);
    assert_int_equal(fixture.vector[9][0], 0x3F800000);
}

/* ---- Division: the sequence that LLVM makes of a / b ------------------------------------------------------------------- */

#define F32_SEQUENCE \
    "v_div_scale_f32 v8, s[6:7], v4, v4, v2", "v_rcp_f32 v9, v8", "v_div_scale_f32 v10, vcc, v2, v4, v2", \
        "v_fma_f32 v11, -v8, v9, 1.0", "v_fmac_f32 v9, v11, v9", "v_mul_f32 v11, v10, v9", \
        "v_fma_f32 v12, -v8, v11, v10", "v_fmac_f32 v11, v12, v9", "v_fma_f32 v8, -v8, v11, v10", \
        "v_div_fmas_f32 v8, v8, v9, v11", "v_div_fixup_f32 v8, v8, v4, v2"
#define F64_SEQUENCE \
    "v_div_scale_f64 v[8:9], s[6:7], v[4:5], v[4:5], v[2:3]", "v_rcp_f64 v[10:11], v[8:9]", \
        "v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0", "v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]", \
        "v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0", "v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]", \
        "v_div_scale_f64 v[12:13], vcc, v[2:3], v[4:5], v[2:3]", "v_mul_f64 v[14:15], v[12:13], v[10:11]", \
        "v_fma_f64 v[8:9], -v[8:9], v[14:15], v[12:13]", "v_div_fmas_f64 v[8:9], v[8:9], v[10:11], v[14:15]", \
        "v_div_fixup_f64 v[8:9], v[8:9], v[4:5], v[2:3]"

static void check_division(const char *const *texts, size_t count, int which, uint64_t (*quotient)(uint64_t, uint64_t))
{
    static struct fixture fixture;
    struct sim_instruction instructions[16];
    const struct width *width = &widths[which];
    assemble(instructions, SIM_GFX942, texts, count);
    fixture_init(&fixture);
    fixture.wave.mode = 0x3F0;
    for (unsigned batch = 0; batch < 2000; batch++) {
        for (unsigned lane = 0; lane < SIM_LANES; lane++) {
            const size_t pair = batch * SIM_LANES + lane;
            const int is_edge = pair < width->edge_count * width->edge_count;
            const uint64_t a = is_edge ? width->edges[pair % width->edge_count] : any_source(&fixture, width);
            const uint64_t b = is_edge ? width->edges[pair / width->edge_count] : any_source(&fixture, width);
            put(&fixture, 2, width->dwords, lane, a);
            put(&fixture, 4, width->dwords, lane, b);
        }
        for (size_t i = 0; i < count; i++)
            fixture_execute(&fixture, &instructions[i]);
        for (unsigned lane = 0; lane < SIM_LANES; lane++) {
            const uint64_t a = get(&fixture, 2, width->dwords, lane), b = get(&fixture, 4, width->dwords, lane);
            const uint64_t result = get(&fixture, 8, width->dwords, lane), expected = quotient(a, b);
            if (is_nan(width, expected) ? !is_nan(width, result) : result != expected)
                fail_msg("%llx / %llx is %llx, not %llx", (unsigned long long)a, (unsigned long long)b,
                         (unsigned long long)result, (unsigned long long)expected);
        }
    }
}
static uint64_t quotient32(uint64_t a, uint64_t b)
{
    return bits32(f32(a) / f32(b));
}
static uint64_t quotient64(uint64_t a, uint64_t b)
{
    return bits64(f64(a) / f64(b));
}
static void test_division(void **state)
{
    (void)state;
    static const char *const single[] = {F32_SEQUENCE}, *const twice[] = {F64_SEQUENCE};
    check_division(single, COUNT(single), SINGLE, quotient32);
    check_division(twice, COUNT(twice), DOUBLE, quotient64);
}

/* Segments of 2/pi, which together are it: of 1, bits after the point; the sum of three is 2/pi to double's precision. */
static void test_trig_preop(void **state)
{
    (void)state;
    static struct fixture fixture;
    fixture_init(&fixture);
    put(&fixture, 2, 2, 0, bits64(1.0));
    long double sum = 0;
    for (unsigned segment = 0; segment < 3; segment++) {
        fixture.vector[4][0] = segment;
        fixture_run(&fixture, "v_trig_preop_f64 v[8:9], v[2:3], v4");
        sum += (long double)f64(get(&fixture, 8, 2, 0));
    }
    assert_true(fabsl(sum - 2 / PI) < 1e-18L);
    put(&fixture, 2, 2, 0, bits64(0x1p1000)); /* exponent 2023: 946 bits further, scaled by 2^128 */
    fixture.vector[4][0] = 0;
    fixture_run(&fixture, "v_trig_preop_f64 v[8:9], v[2:3], v4");
    const double part = f64(get(&fixture, 8, 2, 0));
    assert_true(part > 0 && part < 0x1p-816 && part == ldexp(rint(ldexp(part, 946 + 53 - 128)), -946 - 53 + 128));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_unary),      cmocka_unit_test(test_sine),
        cmocka_unit_test(test_division),   cmocka_unit_test(test_trig_preop),
    };
    skip_without_llvm_mc();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
