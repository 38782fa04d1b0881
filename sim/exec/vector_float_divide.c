/* vector_float_divide.c - the instructions that divisions, range reduction and cube maps are made of.
 *
 * A division is: div_scale of denominator and numerator, rcp, four or five fma, div_fmas, div_fixup. The first keeps the
 * steps between away from overflow and from subnormals, and says in VCC that the quotient must be scaled back.
 */
#include "vector_float.h"

/* What a division of one width needs to know of its format. */
struct division {
    const struct sim_float_format *format;
    int32_t scale;          /* numbers are scaled by 2^scale or 2^-scale */
    int32_t near_largest;   /* difference of exponents from which a quotient may come near the largest number */
    int32_t tiny_numerator; /* biased exponent up to which steps of the division would be subnormal */
    int32_t underflow;      /* difference of exponents below which a quotient is 0 */
};
static const struct division division32 = {&sim_f32, 64, 96, 23, -150};
static const struct division division64 = {&sim_f64, 128, 768, 53, -1075};

/* Position of the highest bit: floor(log2) of a number that is not 0. */
static int32_t log2_of(struct sim_number number)
{
    const uint64_t significand = (uint64_t)number.significand;
    return number.exponent + 63 - __builtin_clzll(significand);
}
static int is_subnormal(const struct division *division, struct sim_number number)
{
    return number.kind == SIM_NUMBER && log2_of(number) < 1 - division->format->bias;
}
/* The exponent field: subnormals have 0, infinities and NaNs all ones. */
static int32_t exponent_field(const struct division *division, uint64_t bits)
{
    const struct sim_float_format *format = division->format;
    return (int32_t)(bits >> format->mantissa_bits & ((1u << format->exponent_bits) - 1));
}

/* log2 of |numerator / denominator|, rounded down. */
static int32_t log2_of_quotient(struct sim_number numerator, struct sim_number denominator)
{
    uint64_t n = (uint64_t)numerator.significand, d = (uint64_t)denominator.significand;
    const int32_t difference = log2_of(numerator) - log2_of(denominator);
    n <<= __builtin_clzll(n);
    d <<= __builtin_clzll(d);
    return n < d ? difference - 1 : difference;
}

/* Whether exponents are so far from all limits that div_scale changes nothing: nearly always. */
static int needs_no_scale(const struct division *division, uint64_t denominator, uint64_t numerator)
{
    const int32_t d = exponent_field(division, denominator), n = exponent_field(division, numerator);
    const int32_t bias = division->format->bias;
    return d >= 1 && d <= 2 * bias - 2 && n > division->tiny_numerator && n <= 2 * bias && n - d >= 2 - bias &&
           n - d < division->near_largest;
}

/* S0 is the numerator or the denominator, S1 the denominator, S2 the numerator. As the CDNA3 manual has it, but for one
 * line: where both 1/denominator and the quotient are subnormal it multiplies a denominator of more than 2^126 by 2^64,
 * which cannot be meant; here it is divided. */
static uint64_t div_scale(const struct division *division, uint64_t value, uint64_t denominator, uint64_t numerator,
                          int *vcc)
{
    const struct sim_float_format *format = division->format;
    const struct sim_number s0 = sim_unpack(format, value), s1 = sim_unpack(format, denominator),
                            s2 = sim_unpack(format, numerator);
    const int is_denominator = value == denominator, is_numerator = value == numerator;
    const uint64_t up = sim_pack(format, sim_number_scale(s0, division->scale), SIM_ROUND_NEAREST_EVEN);
    const uint64_t down = sim_pack(format, sim_number_scale(s0, -division->scale), SIM_ROUND_NEAREST_EVEN);
    const int32_t smallest = 1 - format->bias; /* log2 of the smallest normal number */

    *vcc = 0;
    if (s1.kind == SIM_ZERO || s2.kind == SIM_ZERO)
        return sim_pack(format, (struct sim_number){.kind = SIM_NAN}, SIM_ROUND_NEAREST_EVEN);
    if (exponent_field(division, numerator) - exponent_field(division, denominator) >= division->near_largest) {
        *vcc = 1;
        return is_denominator ? up : value;
    }
    if (is_subnormal(division, s1))
        return up;
    const int finite = s1.kind == SIM_NUMBER && s2.kind == SIM_NUMBER;
    const struct sim_number one = {.significand = 1, .kind = SIM_NUMBER};
    const int tiny_reciprocal = s1.kind == SIM_NUMBER && log2_of_quotient(one, s1) < smallest;
    const int tiny_quotient = finite && log2_of_quotient(s2, s1) < smallest;
    if (tiny_reciprocal && tiny_quotient) {
        *vcc = 1;
        return is_denominator ? down : value;
    }
    if (tiny_reciprocal)
        return down;
    if (tiny_quotient) {
        *vcc = 1;
        return is_numerator ? up : value;
    }
    return exponent_field(division, numerator) <= division->tiny_numerator ? up : value;
}

/* What div_fmas is where VCC is set: fma times 2^scale if S2, the quotient so far, is 2 or more, else 2^-scale; rounded once. The manual
 * says 2^32 (f64: 2^64), which undoes no scaling of div_scale; the two directions are as gfx11 was found to have them. */
static uint64_t div_fmas(const struct division *division, const uint64_t source[3], enum sim_round round)
{
    const struct sim_float_format *format = division->format;
    const struct sim_number a = sim_unpack(format, source[0]), b = sim_unpack(format, source[1]),
                            c = sim_unpack(format, source[2]);
    const int large = exponent_field(division, source[2]) > format->bias;
    const int32_t scale = large ? division->scale : -division->scale;
    return sim_pack(format, sim_number_scale(sim_number_fma(a, b, c, round), scale), round);
}

/* S0 is the quotient, S1 the denominator, S2 the numerator. */
static uint64_t div_fixup(const struct sim_float_format *format, int32_t underflow, uint64_t quotient,
                          uint64_t denominator, uint64_t numerator, enum sim_round round)
{
    const struct sim_number s1 = sim_unpack(format, denominator), s2 = sim_unpack(format, numerator);
    const uint64_t sign_bit = 1ull << (format->bits - 1);
    const uint64_t sign = (denominator ^ numerator) & sign_bit;
    const struct sim_number infinite = {.kind = SIM_INFINITY, .negative = sign != 0};
    const uint64_t infinity = sim_pack(format, infinite, SIM_ROUND_NEAREST_EVEN);
    const struct sim_number invalid = {.kind = SIM_NAN, .negative = 1};
    /* A number so small that only directed rounding makes more than 0 of it. */
    const struct sim_number vanishing = {
        .significand = 1, .exponent = -5000, .kind = SIM_NUMBER, .negative = sign != 0};
    const struct sim_number overflowing = {
        .significand = 1, .exponent = 5000, .kind = SIM_NUMBER, .negative = sign != 0};

    if (s2.kind == SIM_NAN)
        return sim_pack(format, s2, round);
    if (s1.kind == SIM_NAN)
        return sim_pack(format, s1, round);
    if ((s1.kind == SIM_ZERO && s2.kind == SIM_ZERO) || (s1.kind == SIM_INFINITY && s2.kind == SIM_INFINITY))
        return sim_pack(format, invalid, round);
    if (s1.kind == SIM_ZERO || s2.kind == SIM_INFINITY)
        return infinity;
    if (s1.kind == SIM_INFINITY || s2.kind == SIM_ZERO)
        return sign;
    const uint64_t exponent_mask = (1u << format->exponent_bits) - 1;
    const int32_t difference = (int32_t)(numerator >> format->mantissa_bits & exponent_mask) -
                               (int32_t)(denominator >> format->mantissa_bits & exponent_mask);
    if (difference < underflow)
        return sim_pack(format, vanishing, round);
    /* The steps before this one made infinity minus infinity of a quotient that is too large for the format. Manuals are
     * silent; gfx11 was found to do so, and division could not be right otherwise. */
    if (sim_unpack(format, quotient).kind == SIM_NAN)
        return sim_pack(format, overflowing, round);
    return (quotient & (sign_bit - 1)) | sign;
}

/* ---- Opcodes --------------------------------------------------------------------------------------------------------- */

#define SOURCES(W, L) \
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_##W); \
    L buffer[3][SIM_LANES], result[SIM_LANES]; \
    const L *const a = sim_float_source##W(wave, instruction, 0, &mode, buffer[0]); \
    const L *const b = sim_float_source##W(wave, instruction, 1, &mode, buffer[1]); \
    const L *const c = sim_float_source##W(wave, instruction, 2, &mode, buffer[2]);

#define DIV_SCALE(opcode, W, L) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        SOURCES(W, L) \
        uint64_t mask = 0; \
        for (int lane = 0; lane < SIM_LANES; lane++) { \
            int vcc; \
            result[lane] = a[lane]; \
            if (needs_no_scale(&division##W, b[lane], c[lane])) \
                continue; \
            result[lane] = (L)div_scale(&division##W, a[lane], b[lane], c[lane], &vcc); \
            mask |= (uint64_t)vcc << lane; \
        } \
        sim_finish##W(result, &mode); \
        sim_write##W(wave, instruction, result); \
        sim_write_mask(wave, instruction, mask); \
    }
DIV_SCALE(v_div_scale_f32, 32, uint32_t)
DIV_SCALE(v_div_scale_f64, 64, uint64_t)

/* Without VCC it is fma. */
#define DIV_FMAS(opcode, W, L) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        SOURCES(W, L) \
        const L *const sources[3] = {a, b, c}; \
        struct sim_float_mode plain = {.round = mode.round}; \
        sim_compute##W(result, &sim_operation_fma, sources, &plain); \
        const uint64_t vcc = sim_sgpr64(wave, SIM_VCC_LO); \
        for (int lane = 0; lane < SIM_LANES && vcc; lane++) { \
            const uint64_t source[3] = {a[lane], b[lane], c[lane]}; \
            if (vcc >> lane & 1) \
                result[lane] = (L)div_fmas(&division##W, source, mode.round); \
        } \
        sim_finish##W(result, &mode); \
        sim_write##W(wave, instruction, result); \
    }
DIV_FMAS(v_div_fmas_f32, 32, uint32_t)
DIV_FMAS(v_div_fmas_f64, 64, uint64_t)

#define DIV_FIXUP(opcode, W, L, MASK, FORMAT, UNDERFLOW, write) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        SOURCES(W, L) \
        for (int lane = 0; lane < SIM_LANES; lane++) \
            result[lane] = \
                (L)div_fixup(&FORMAT, UNDERFLOW, a[lane] & MASK, b[lane] & MASK, c[lane] & MASK, mode.round); \
        sim_finish##W(result, &mode); \
        write; \
    }
/* That of f16 has no rule for quotients that vanish. */
DIV_FIXUP(v_div_fixup_f16, 16, uint32_t, 0xFFFF, sim_f16, INT32_MIN,
          sim_write16(wave, instruction, result, SIM_KEEP_HIGH))
DIV_FIXUP(v_div_fixup_legacy_f16, 16, uint32_t, 0xFFFF, sim_f16, INT32_MIN,
          sim_write16(wave, instruction, result, SIM_ZERO_HIGH))
DIV_FIXUP(v_div_fixup_f32, 32, uint32_t, UINT32_MAX, sim_f32, division32.underflow,
          sim_write32(wave, instruction, result))
DIV_FIXUP(v_div_fixup_f64, 64, uint64_t, UINT64_MAX, sim_f64, division64.underflow,
          sim_write64(wave, instruction, result))

/* Bits 1200:0 of the fraction of 2/pi, most significant first, then zeros. */
static const uint64_t two_over_pi[] = {
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB18D5D6B1F,
    0,
};
#define TWO_OVER_PI_BITS 1201

/* 53 bits of 2/pi, from bit `shift` after the point on. */
static uint64_t two_over_pi_bits(uint32_t shift)
{
    uint64_t bits = 0;
    for (uint32_t i = shift; i < shift + 53; i++) {
        const uint64_t bit = i < TWO_OVER_PI_BITS ? two_over_pi[i / 64] >> (63 - i % 64) & 1 : 0;
        bits = bits << 1 | bit;
    }
    return bits;
}

/* Segment S1[4:0] of 2/pi for the reduction of an angle with the exponent of S0. */
static void v_trig_preop_f64(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_64);
    uint64_t buffer[SIM_LANES], result[SIM_LANES];
    uint32_t segment_buffer[SIM_LANES];
    const uint64_t *const angles = sim_float_source64(wave, instruction, 0, &mode, buffer);
    const uint32_t *const segments = sim_source32(wave, instruction, 1, SIM_B32, segment_buffer);
    for (int lane = 0; lane < SIM_LANES; lane++) {
        const int32_t exponent = (int32_t)(angles[lane] >> 52 & 0x7FF);
        int32_t shift = (int32_t)(segments[lane] & 31) * 53;
        shift += exponent > 1077 ? exponent - 1077 : 0;
        const int32_t scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
        result[lane] = sim_double_bits(ldexp((double)two_over_pi_bits((uint32_t)shift), scale));
    }
    sim_finish64(result, &mode);
    sim_write64(wave, instruction, result);
}

/* The face of a cube that the vector (x, y, z) points at, the coordinates on it, and twice the largest coordinate. */
enum cube { CUBE_FACE, CUBE_S, CUBE_T, CUBE_MAJOR };
static float cube(enum cube what, float x, float y, float z)
{
    const float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
    if (az >= ax && az >= ay) {
        const float of[] = {z < 0 ? 5.f : 4.f, z < 0 ? -x : x, -y, z * 2};
        return of[what];
    }
    if (ay >= ax) {
        const float of[] = {y < 0 ? 3.f : 2.f, x, y < 0 ? -z : z, y * 2};
        return of[what];
    }
    const float of[] = {x < 0 ? 1.f : 0.f, x < 0 ? z : -z, -y, x * 2};
    return of[what];
}
#define CUBE(opcode, what) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        SOURCES(32, uint32_t) \
        for (int lane = 0; lane < SIM_LANES; lane++) \
            result[lane] = \
                sim_float_bits(cube(what, sim_float_of(a[lane]), sim_float_of(b[lane]), sim_float_of(c[lane]))); \
        sim_finish32(result, &mode); \
        sim_write32(wave, instruction, result); \
    }
CUBE(v_cubeid_f32, CUBE_FACE)
CUBE(v_cubesc_f32, CUBE_S)
CUBE(v_cubetc_f32, CUBE_T)
CUBE(v_cubema_f32, CUBE_MAJOR)

static const struct sim_binding entries[] = {
    SIM_BIND(v_div_scale_f32),  SIM_BIND(v_div_scale_f64), SIM_BIND(v_div_fmas_f32),  SIM_BIND(v_div_fmas_f64),
    SIM_BIND(v_div_fixup_f16),  SIM_BIND(v_div_fixup_f32), SIM_BIND(v_div_fixup_f64), SIM_BIND(v_div_fixup_legacy_f16),
    SIM_BIND(v_cubeid_f32),     SIM_BIND(v_cubesc_f32),    SIM_BIND(v_cubetc_f32),    SIM_BIND(v_cubema_f32),
    SIM_BIND(v_trig_preop_f64),
};
const struct sim_bindings sim_vector_float_divide = {entries, sizeof entries / sizeof *entries};
