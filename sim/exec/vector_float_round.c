/* vector_float_round.c - to integers and to parts: floor, ceil, trunc, rndne, fract, frexp, ldexp of f16, f32, f64. */
#include "vector_float.h"

/* The host computes floor and its like of f16 and f32 in double, where they are exact. `of` and `to` are how a lane becomes
 * double and double a lane. A NaN is made quiet and kept. */
#define OF_16(bits) ((double)sim_float_of_half(bits))
#define TO_16(value) sim_half_of_double(value)
#define OF_32(bits) ((double)sim_float_of(bits))
#define TO_32(value) sim_float_bits((float)(value))
#define OF_64(bits) sim_double_of(bits)
#define TO_64(value) sim_double_bits(value)
#define WRITE_16 sim_write16(wave, instruction, result, SIM_ZERO_HIGH)
#define WRITE_32 sim_write32(wave, instruction, result)
#define WRITE_64 sim_write64(wave, instruction, result)

#define UNARY(opcode, W, L, ...) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_##W); \
        L buffer[SIM_LANES], result[SIM_LANES]; \
        const L *const lanes = sim_float_source##W(wave, instruction, 0, &mode, buffer); \
        SIM_EACH_LANE(lane) \
        { \
            const double a = OF_##W(lanes[lane]); \
            result[lane] = sim_is_nan##W(lanes[lane]) ? lanes[lane] | SIM_QUIET_##W : TO_##W(__VA_ARGS__); \
        } \
        sim_finish##W(result, &mode); \
        WRITE_##W; \
    }

/* The host's rounding mode is nearest even; ktrace never changes it. */
#define ROUNDINGS(W, L) \
    UNARY(v_floor_f##W, W, L, floor(a)) \
    UNARY(v_ceil_f##W, W, L, ceil(a)) \
    UNARY(v_trunc_f##W, W, L, trunc(a)) \
    UNARY(v_rndne_f##W, W, L, nearbyint(a))

ROUNDINGS(16, uint32_t)
ROUNDINGS(32, uint32_t)
ROUNDINGS(64, uint64_t)

/* x - floor(x), rounded as MODE says, but below 1: LLVM makes these instructions of min(x - floor(x), largest below 1). */
#define FRACT(opcode, W, L, LARGEST) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_##W); \
        struct sim_float_mode plain = mode; \
        plain.omod = plain.clamp = 0; \
        L buffer[SIM_LANES], floors[SIM_LANES], result[SIM_LANES]; \
        const L *const lanes = sim_float_source##W(wave, instruction, 0, &mode, buffer); \
        SIM_EACH_LANE(lane) floors[lane] = TO_##W(floor(OF_##W(lanes[lane]))); \
        const L *const source[3] = {lanes, floors, NULL}; \
        sim_compute##W(result, &sim_operation_subtract, source, &plain); \
        SIM_EACH_LANE(lane) \
        if (OF_##W(result[lane]) >= 1) \
            result[lane] = LARGEST; \
        sim_finish##W(result, &mode); \
        WRITE_##W; \
    }
FRACT(v_fract_f16, 16, uint32_t, 0x3BFF)
FRACT(v_fract_f32, 32, uint32_t, 0x3F7FFFFF)
FRACT(v_fract_f64, 64, uint64_t, 0x3FEFFFFFFFFFFFFF)

/* The mantissa is in [0.5, 1); of infinities and NaNs it is themselves and their exponent 0. */
static double mantissa_of(double value)
{
    int exponent;
    return isfinite(value) ? frexp(value, &exponent) : value;
}
static int exponent_of(double value)
{
    int exponent = 0;
    if (isfinite(value))
        (void)frexp(value, &exponent);
    return exponent;
}
UNARY(v_frexp_mant_f16, 16, uint32_t, mantissa_of(a))
UNARY(v_frexp_mant_f32, 32, uint32_t, mantissa_of(a))
UNARY(v_frexp_mant_f64, 64, uint64_t, mantissa_of(a))

#define FREXP_EXPONENT(opcode, W, L, write) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_##W); \
        L buffer[SIM_LANES]; \
        uint32_t result[SIM_LANES]; \
        const L *const lanes = sim_float_source##W(wave, instruction, 0, &mode, buffer); \
        for (int lane = 0; lane < SIM_LANES; lane++) \
            result[lane] = (uint32_t)exponent_of(OF_##W(lanes[lane])); \
        write; \
    }
FREXP_EXPONENT(v_frexp_exp_i16_f16, 16, uint32_t, WRITE_16)
FREXP_EXPONENT(v_frexp_exp_i32_f32, 32, uint32_t, WRITE_32)
FREXP_EXPONENT(v_frexp_exp_i32_f64, 64, uint64_t, WRITE_32)

/* ldexp: the exponent is an integer, of 16 bits for f16. Rounded once, subnormal results too. */
static int32_t limited(int32_t exponent, int32_t limit)
{
    return exponent > limit ? limit : exponent < -limit ? -limit : exponent;
}
static uint64_t scaled(const struct sim_float_format *format, uint64_t bits, int32_t exponent, enum sim_round round)
{
    return sim_pack(format, sim_number_scale(sim_unpack(format, bits), limited(exponent, 1 << 16)), round);
}

/* Doubles hold every f16 and f32 times 2^-400 to 2^400 exactly, and beyond that all results are 0 or infinite. */
#define LDEXP_SMALL(opcode, W, EXPONENT, C, MASK, FORMAT) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_##W); \
        uint32_t buffer[2][SIM_LANES], result[SIM_LANES]; \
        const uint32_t *const lanes = sim_float_source##W(wave, instruction, 0, &mode, buffer[0]); \
        const uint32_t *const exponents = sim_source32(wave, instruction, 1, EXPONENT, buffer[1]); \
        for (int lane = 0; lane < SIM_LANES; lane++) { \
            const int32_t exponent = (C)exponents[lane]; \
            if (sim_is_nan##W(lanes[lane])) \
                result[lane] = (lanes[lane] & MASK) | SIM_QUIET_##W; \
            else if (mode.round == SIM_ROUND_NEAREST_EVEN) \
                result[lane] = TO_##W(ldexp(OF_##W(lanes[lane]), limited(exponent, 400))); \
            else \
                result[lane] = (uint32_t)scaled(&FORMAT, lanes[lane] & MASK, exponent, mode.round); \
        } \
        sim_finish##W(result, &mode); \
        WRITE_##W; \
    }
LDEXP_SMALL(v_ldexp_f16, 16, SIM_B16, int16_t, 0xFFFF, sim_f16)
LDEXP_SMALL(v_ldexp_f32, 32, SIM_B32, int32_t, UINT32_MAX, sim_f32)

static void v_ldexp_f64(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_64);
    uint64_t buffer[SIM_LANES], result[SIM_LANES];
    uint32_t exponent_buffer[SIM_LANES];
    const uint64_t *const lanes = sim_float_source64(wave, instruction, 0, &mode, buffer);
    const uint32_t *const exponents = sim_source32(wave, instruction, 1, SIM_B32, exponent_buffer);
    for (int lane = 0; lane < SIM_LANES; lane++)
        result[lane] = scaled(&sim_f64, lanes[lane], (int32_t)exponents[lane], mode.round);
    sim_finish64(result, &mode);
    sim_write64(wave, instruction, result);
}

#define BIND_WIDTHS(opcode) SIM_BIND(opcode##_f16), SIM_BIND(opcode##_f32), SIM_BIND(opcode##_f64)
static const struct sim_binding entries[] = {
    BIND_WIDTHS(v_floor),          BIND_WIDTHS(v_ceil),           BIND_WIDTHS(v_trunc), BIND_WIDTHS(v_rndne),
    BIND_WIDTHS(v_fract),          BIND_WIDTHS(v_frexp_mant),     BIND_WIDTHS(v_ldexp), SIM_BIND(v_frexp_exp_i16_f16),
    SIM_BIND(v_frexp_exp_i32_f32), SIM_BIND(v_frexp_exp_i32_f64),
};
const struct sim_bindings sim_vector_float_round = {entries, sizeof entries / sizeof *entries};
