/* float.h - halves, floats and doubles as bits, and what the wave's MODE asks of a result. */
#ifndef SIM_FLOAT_H
#define SIM_FLOAT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../machine/wave.h"
#include "float_number.h"
#include "vector_table.h" /* sim_float_of and its like */

static inline int sim_is_nan16(uint32_t bits)
{
    return (bits & 0x7FFF) > 0x7C00;
}
static inline int sim_is_nan32(uint32_t bits)
{
    return (bits & 0x7FFFFFFF) > 0x7F800000;
}
static inline int sim_is_nan64(uint64_t bits)
{
    return (bits & INT64_MAX) > 0x7FF0000000000000;
}
#define SIM_QUIET_16 0x0200u
#define SIM_QUIET_32 0x00400000u
#define SIM_QUIET_64 0x0008000000000000ull

/* Exact. NaNs become quiet and keep the rest of their fraction. */
static inline float sim_float_of_half(uint32_t half)
{
    const uint32_t sign = (half & 0x8000) << 16, magnitude = half & 0x7FFF;
    const float subnormal = (float)(int32_t)magnitude * 0x1p-24f;
    const uint32_t finite = (magnitude << 13) + ((127 - 15) << 23);
    const uint32_t special = 0x7F800000 | magnitude << 13 | (magnitude > 0x7C00 ? SIM_QUIET_32 : 0);
    const uint32_t normal = magnitude >= 0x7C00 ? special : finite;
    return sim_float_of(sign | (magnitude < 0x0400 ? sim_float_bits(subnormal) : normal));
}

/* Rounded to nearest even. NaNs become quiet and keep the upper bits of their fraction. */
static inline uint32_t sim_half_of_float(float value)
{
    const uint32_t bits = sim_float_bits(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    /* Adding 0.5 leaves multiples of 2^-24, which is the unit of subnormal halves, in the lowest bits. */
    const uint32_t subnormal = sim_float_bits(sim_float_of(magnitude) + 0.5f) - 0x3F000000;
    const uint32_t normal = (magnitude - ((127 - 15) << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
    const uint32_t finite = magnitude < 0x38800000 ? subnormal : normal;
    const uint32_t nan = 0x7C00 | SIM_QUIET_16 | (magnitude >> 13 & 0x3FF);
    const uint32_t special = magnitude > 0x7F800000 ? nan : 0x7C00;
    return sign | (magnitude >= 0x47800000 ? special : finite);
}

/* Rounded to odd (towards zero, and what is cut off sets the last bit): rounding this to a format of at most 22 bits, however
 * small or large the value, gives what rounding `value` itself would. */
static inline float sim_float_to_odd(double value)
{
    const float nearest = (float)value;
    uint32_t bits = sim_float_bits(nearest);
    bits -= fabs((double)nearest) > fabs(value);
    bits |= (double)sim_float_of(bits) != value;
    return value != value ? nearest : sim_float_of(bits);
}
static inline uint32_t sim_half_of_double(double value)
{
    return sim_half_of_float(sim_float_to_odd(value));
}

static inline float sim_float_of_bf16(uint32_t bf16)
{
    return sim_float_of(bf16 << 16);
}

/* MODE, as the CDNA3 ISA manual's table of its bits has it. */
enum sim_mode_bits {
    SIM_MODE_ROUND_32 = 0, /* 2 bits each, enum sim_round */
    SIM_MODE_ROUND_16_64 = 2,
    SIM_MODE_DENORMALS_32 = 4, /* 2 bits each: 1 allows subnormal sources, 2 subnormal results */
    SIM_MODE_DENORMALS_16_64 = 6,
    SIM_MODE_DX10_CLAMP = 8, /* clamp makes 0 of NaN */
    SIM_MODE_IEEE = 9,       /* min and max quiet signalling NaNs; no output modifiers */
    SIM_MODE_FP16_OVFL = 23, /* f16 and 8-bit results saturate instead of overflowing */
};

struct sim_float_mode {
    enum sim_round round;
    uint8_t flush_sources, flush_results;
    uint8_t omod, clamp, clamp_nan, ieee, saturate;
};

/* `single`: for f32; else for f16 and f64. Output modifiers are ignored where results may be subnormal and in IEEE mode, as
 * the manual says. */
static inline struct sim_float_mode sim_float_mode(const struct sim_wave *wave,
                                                   const struct sim_instruction *instruction, int single)
{
    const uint32_t mode = wave->mode;
    const uint32_t denormals = mode >> (single ? SIM_MODE_DENORMALS_32 : SIM_MODE_DENORMALS_16_64);
    const struct sim_float_mode result = {
        .round = (enum sim_round)(mode >> (single ? SIM_MODE_ROUND_32 : SIM_MODE_ROUND_16_64) & 3),
        .flush_sources = !(denormals & 1),
        .flush_results = !(denormals & 2),
        .omod = denormals & 2 || mode >> SIM_MODE_IEEE & 1 ? 0 : instruction->omod,
        .clamp = instruction->clamp,
        .clamp_nan = mode >> SIM_MODE_DX10_CLAMP & 1,
        .ieee = mode >> SIM_MODE_IEEE & 1,
        .saturate = mode >> SIM_MODE_FP16_OVFL & 1,
    };
    return result;
}

/* Subnormal to zero of its sign. */
static inline uint32_t sim_flush16(uint32_t bits)
{
    return bits & 0x7C00 ? bits : bits & 0x8000;
}
static inline uint32_t sim_flush32(uint32_t bits)
{
    return bits & 0x7F800000 ? bits : bits & 0x80000000;
}
static inline uint64_t sim_flush64(uint64_t bits)
{
    return bits & 0x7FF0000000000000 ? bits : bits & 0x8000000000000000;
}

#endif
