/* vector_float_math.c - reciprocals, roots, logarithms, exponentials, sines.
 *
 * Hardware approximates these: within 1 ulp for f32 (rcp, rsq, sqrt, exp, log; sine and cosine absolutely, not relatively),
 * f64's rcp, rsq and sqrt within 2^29 ulp. Here they are the host's double results, rounded once to nearest even whatever
 * MODE says: f16 and f32 within 0.5 ulp and a trace, f64 rcp and sqrt correctly rounded, rsq within 1.5 ulp.
 *
 * f32 flushes subnormal sources and results whatever MODE says; LLVM scales its operands wherever they might be subnormal
 * (its lowering of log2, exp2, sqrt and fdiv says so). f16 and f64 follow MODE.
 */
#include "vector_float.h"

/* Sine of `turns`, for the fractions of a turn that have a simple one exactly. */
static double sine_of_turns(double turns)
{
    double part = turns - nearbyint(turns); /* exact */
    if (fabs(part) > 0.25)
        part = copysign(0.5, part) - part;
    return sin(part * 6.283185307179586476925);
}
/* The manuals of gfx8 and gfx9 give sources within 256 turns, others make sine 0 and cosine 1; LLVM therefore takes
 * v_fract's result. */
static double sine(double turns)
{
    return fabs(turns) <= 256 ? sine_of_turns(turns) : isinf(turns) ? NAN : 0;
}
static double cosine(double turns)
{
    return fabs(turns) <= 256 ? sine_of_turns(0.25 - fabs(turns - nearbyint(turns))) : isinf(turns) ? NAN : 1;
}

#define OF_16(bits) ((double)sim_float_of_half(bits))
#define TO_16(value) sim_half_of_double(value)
#define OF_32(bits) ((double)sim_float_of(bits))
#define TO_32(value) sim_float_bits((float)(value))
#define OF_64(bits) sim_double_of(bits)
#define TO_64(value) sim_double_bits(value)
#define WRITE_16 sim_write16(wave, instruction, result, SIM_ZERO_HIGH)
#define WRITE_32 sim_write32(wave, instruction, result)
#define WRITE_64 sim_write64(wave, instruction, result)

#define MATH(opcode, W, L, ...) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_##W); \
        if (W == 32) \
            mode.flush_sources = mode.flush_results = 1; \
        L buffer[SIM_LANES], result[SIM_LANES]; \
        const L *const lanes = sim_float_source##W(wave, instruction, 0, &mode, buffer); \
        for (int lane = 0; lane < SIM_LANES; lane++) { \
            const double a = OF_##W(lanes[lane]), value = __VA_ARGS__; \
            const L made = value != value ? (L)(SIM_QUIET_##W | INFINITY_##W) : TO_##W(value); \
            const L infinite_source = (lanes[lane] & (SIGN_##W - 1)) == INFINITY_##W; \
            const L saturated = \
                made - (W == 16 && mode.saturate && !infinite_source && (made & (SIGN_##W - 1)) == INFINITY_##W); \
            result[lane] = sim_is_nan##W(lanes[lane]) ? lanes[lane] | SIM_QUIET_##W : saturated; \
        } \
        sim_finish##W(result, &mode); \
        WRITE_##W; \
    }
#define INFINITY_16 0x7C00u
#define INFINITY_32 0x7F800000u
#define INFINITY_64 0x7FF0000000000000ull
#define SIGN_16 0x8000u
#define SIGN_32 0x80000000u
#define SIGN_64 0x8000000000000000ull

#define MATH_16_32(name, ...) \
    MATH(v_##name##_f16, 16, uint32_t, __VA_ARGS__) \
    MATH(v_##name##_f32, 32, uint32_t, __VA_ARGS__)

MATH_16_32(rcp, 1 / a)
MATH(v_rcp_iflag_f32, 32, uint32_t, 1 / a)
MATH_16_32(rsq, 1 / sqrt(a))
MATH_16_32(sqrt, sqrt(a))
MATH_16_32(log, log2(a))
MATH_16_32(exp, exp2(a))
MATH(v_log_legacy_f32, 32, uint32_t, log2(a))
MATH(v_exp_legacy_f32, 32, uint32_t, exp2(a))
MATH_16_32(sin, sine(a))
MATH_16_32(cos, cosine(a))
MATH(v_rcp_f64, 64, uint64_t, 1 / a)
MATH(v_rsq_f64, 64, uint64_t, 1 / sqrt(a))
MATH(v_sqrt_f64, 64, uint64_t, sqrt(a))

static const struct sim_binding entries[] = {
    SIM_BIND(v_rcp_f16),        SIM_BIND(v_rcp_f32),  SIM_BIND(v_rcp_f64), SIM_BIND(v_rcp_iflag_f32),
    SIM_BIND(v_rsq_f16),        SIM_BIND(v_rsq_f32),  SIM_BIND(v_rsq_f64), SIM_BIND(v_sqrt_f16),
    SIM_BIND(v_sqrt_f32),       SIM_BIND(v_sqrt_f64), SIM_BIND(v_log_f16), SIM_BIND(v_log_f32),
    SIM_BIND(v_log_legacy_f32), SIM_BIND(v_exp_f16),  SIM_BIND(v_exp_f32), SIM_BIND(v_exp_legacy_f32),
    SIM_BIND(v_sin_f16),        SIM_BIND(v_sin_f32),  SIM_BIND(v_cos_f16), SIM_BIND(v_cos_f32),
};
const struct sim_bindings sim_vector_float_math = {entries, sizeof entries / sizeof *entries};
