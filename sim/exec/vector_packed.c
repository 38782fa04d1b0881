/* vector_packed.c - VOP3P: two results of 16 bits in a register, or two of 32 in a pair, and f16 mixed with f32.
 *
 * op_sel and neg choose and negate the halves that the low result is made of, op_sel_hi and neg_hi those of the high one.
 */
#include "vector_float.h"

/* ---- Two halves ------------------------------------------------------------------------------------------------------ */

/* The half of source `index` for one of the results, in bits 15:0. */
static void choose16(uint32_t *out, const uint32_t *lanes, const struct sim_instruction *instruction, unsigned index,
                     int is_high, int is_float)
{
    const unsigned select = is_high ? instruction->op_sel_hi : instruction->op_sel;
    const unsigned negate = is_high ? instruction->neg_hi : instruction->neg;
    const unsigned shift = select >> index & 1 ? 16 : 0;
    const uint32_t sign = is_float && negate >> index & 1 ? 0x8000 : 0;
    SIM_EACH_LANE(lane) out[lane] = (lanes[lane] >> shift & 0xFFFF) ^ sign;
}

/* Sources of both results: halves[result][source]. Sources that an opcode has not are 0. */
static void sources16(uint32_t halves[2][3][SIM_LANES], struct sim_wave *wave,
                      const struct sim_instruction *instruction, enum sim_type type)
{
    for (unsigned i = 0; i < 3; i++) {
        uint32_t buffer[SIM_LANES] = {0};
        const uint32_t *lanes = buffer;
        if (instruction->src[i] != SIM_NO_OPERAND)
            lanes = sim_source32_plain(wave, instruction, i, type, buffer);
        choose16(halves[0][i], lanes, instruction, i, 0, type == SIM_F16);
        choose16(halves[1][i], lanes, instruction, i, 1, type == SIM_F16);
    }
}

static void write_halves(struct sim_wave *wave, const struct sim_instruction *instruction, const uint32_t *low,
                         const uint32_t *high)
{
    uint32_t result[SIM_LANES];
    SIM_EACH_LANE(lane) result[lane] = (low[lane] & 0xFFFF) | high[lane] << 16;
    sim_write32(wave, instruction, result);
}

static void arithmetic16(struct sim_wave *wave, const struct sim_instruction *instruction,
                         const struct sim_float_operation *operation)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_16);
    uint32_t halves[2][3][SIM_LANES], result[2][SIM_LANES];
    sources16(halves, wave, instruction, SIM_F16);
    for (unsigned half = 0; half < 2; half++) {
        const uint32_t *const source[3] = {halves[half][0], halves[half][1], halves[half][2]};
        sim_compute16(result[half], operation, source, &mode);
    }
    write_halves(wave, instruction, result[0], result[1]);
}

static void order16(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_order order)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_16);
    uint32_t halves[2][3][SIM_LANES], result[2][SIM_LANES];
    sources16(halves, wave, instruction, SIM_F16);
    for (unsigned half = 0; half < 2; half++) {
        const uint32_t *const source[3] = {halves[half][0], halves[half][1], halves[half][2]};
        sim_order16(result[half], order, source, &mode);
    }
    write_halves(wave, instruction, result[0], result[1]);
}

#define ARITHMETIC_16(opcode, operation) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        arithmetic16(wave, instruction, &sim_operation_##operation); \
    }
#define ORDER_16(opcode, order) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        order16(wave, instruction, order); \
    }
ARITHMETIC_16(v_pk_add_f16, add)
ARITHMETIC_16(v_pk_mul_f16, multiply)
ARITHMETIC_16(v_pk_fma_f16, fma)
ORDER_16(v_pk_min_f16, SIM_MIN)
ORDER_16(v_pk_max_f16, SIM_MAX)
ORDER_16(v_pk_minimum3_f16, SIM_MINIMUM3)
ORDER_16(v_pk_maximum3_f16, SIM_MAXIMUM3)

/* VOP2: no selects, and the destination is the third source. */
static void v_pk_fmac_f16(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_16);
    uint32_t buffer[2][SIM_LANES], halves[3][SIM_LANES], result[2][SIM_LANES];
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    if (!rows)
        return;
    const uint32_t *const lanes[3] = {sim_source32(wave, instruction, 0, SIM_B32, buffer[0]),
                                      sim_source32(wave, instruction, 1, SIM_B32, buffer[1]), rows[0]};
    for (unsigned half = 0; half < 2; half++) {
        for (unsigned i = 0; i < 3; i++)
            SIM_EACH_LANE(lane) halves[i][lane] = lanes[i][lane] >> 16 * half & 0xFFFF;
        const uint32_t *const source[3] = {halves[0], halves[1], halves[2]};
        sim_compute16(result[half], &sim_operation_fma, source, &mode);
    }
    write_halves(wave, instruction, result[0], result[1]);
}

/* Integers: a result beyond its type wraps, or with clamp is the nearest that exists. */
static int32_t clamped_to(int64_t value, int clamp, int32_t least, int32_t greatest)
{
    if (clamp && value < least)
        return least;
    if (clamp && value > greatest)
        return greatest;
    return (int32_t)value;
}
#define INTEGER_16(opcode, T, least, greatest, ...) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        uint32_t halves[2][3][SIM_LANES], result[2][SIM_LANES]; \
        sources16(halves, wave, instruction, SIM_B16); \
        const int clamp = instruction->clamp; \
        for (unsigned half = 0; half < 2; half++) \
            SIM_EACH_LANE(lane) \
            { \
                const int64_t a = (T)halves[half][0][lane], b = (T)halves[half][1][lane]; \
                const int64_t c = (T)halves[half][2][lane]; \
                (void)c; \
                result[half][lane] = (uint32_t)clamped_to(__VA_ARGS__, clamp, least, greatest); \
            } \
        write_halves(wave, instruction, result[0], result[1]); \
    }
#define SIGNED_16(opcode, ...) INTEGER_16(opcode, int16_t, INT16_MIN, INT16_MAX, __VA_ARGS__)
#define UNSIGNED_16(opcode, ...) INTEGER_16(opcode, uint16_t, 0, UINT16_MAX, __VA_ARGS__)
SIGNED_16(v_pk_mad_i16, a *b + c)
SIGNED_16(v_pk_add_i16, a + b)
SIGNED_16(v_pk_sub_i16, a - b)
SIGNED_16(v_pk_max_i16, a > b ? a : b)
SIGNED_16(v_pk_min_i16, a < b ? a : b)
SIGNED_16(v_pk_ashrrev_i16, b >> (a & 15))
UNSIGNED_16(v_pk_mad_u16, a *b + c)
UNSIGNED_16(v_pk_mul_lo_u16, (uint16_t)(a *b))
UNSIGNED_16(v_pk_add_u16, a + b)
UNSIGNED_16(v_pk_sub_u16, a - b)
UNSIGNED_16(v_pk_max_u16, a > b ? a : b)
UNSIGNED_16(v_pk_min_u16, a < b ? a : b)
UNSIGNED_16(v_pk_lshlrev_b16, (uint16_t)(b << (a & 15)))
UNSIGNED_16(v_pk_lshrrev_b16, b >> (a & 15))

/* ---- Two dwords ------------------------------------------------------------------------------------------------------ */

/* Both dwords of source `index`. A constant is the low one; what the high one then is no document says, and LLVM never
 * reads it: 0. */
static void pair_of(uint32_t pair[2][SIM_LANES], struct sim_wave *wave, const struct sim_instruction *instruction,
                    unsigned index)
{
    const unsigned code = instruction->src[index];
    memset(pair, 0, 2 * sizeof *pair);
    if (code >= SIM_VGPR_FIRST) {
        uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, code, 2);
        if (rows)
            memcpy(pair, rows, 2 * sizeof *pair);
        return;
    }
    const uint64_t sgprs = code < SIM_INT_0 ? sim_scalar64(wave, instruction, code, SIM_B64)
                                            : sim_scalar32(wave, instruction, code, SIM_F32);
    SIM_EACH_LANE(lane)
    {
        pair[0][lane] = (uint32_t)sgprs;
        pair[1][lane] = (uint32_t)(sgprs >> 32);
    }
}

static void write_pair(struct sim_wave *wave, const struct sim_instruction *instruction, const uint32_t *low,
                       const uint32_t *high)
{
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 2);
    if (!rows)
        return;
    sim_write_row(rows[0], low, sim_exec(wave));
    sim_write_row(rows[1], high, sim_exec(wave));
}

static void arithmetic32(struct sim_wave *wave, const struct sim_instruction *instruction,
                         const struct sim_float_operation *operation)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    uint32_t pairs[3][2][SIM_LANES], chosen[3][SIM_LANES], result[2][SIM_LANES];
    for (unsigned i = 0; i < operation->sources; i++)
        pair_of(pairs[i], wave, instruction, i);
    for (unsigned half = 0; half < 2; half++) {
        const unsigned select = half ? instruction->op_sel_hi : instruction->op_sel;
        const unsigned negate = half ? instruction->neg_hi : instruction->neg;
        for (unsigned i = 0; i < operation->sources; i++) {
            const uint32_t *const lanes = pairs[i][select >> i & 1];
            const uint32_t sign = negate >> i & 1 ? 0x80000000 : 0;
            SIM_EACH_LANE(lane) chosen[i][lane] = lanes[lane] ^ sign;
        }
        const uint32_t *const source[3] = {chosen[0], chosen[1], chosen[2]};
        sim_compute32(result[half], operation, source, &mode);
    }
    write_pair(wave, instruction, result[0], result[1]);
}
#define ARITHMETIC_32(opcode, operation) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        arithmetic32(wave, instruction, &sim_operation_##operation); \
    }
ARITHMETIC_32(v_pk_fma_f32, fma)
ARITHMETIC_32(v_pk_mul_f32, multiply)
ARITHMETIC_32(v_pk_add_f32, add)

/* The low result is a dword of the first source, the high one of the second. */
static void v_pk_mov_b32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    uint32_t a[2][SIM_LANES], b[2][SIM_LANES];
    pair_of(a, wave, instruction, 0);
    pair_of(b, wave, instruction, 1);
    write_pair(wave, instruction, a[instruction->op_sel & 1], b[instruction->op_sel >> 1 & 1]);
}

/* ---- f16 mixed with f32 ---------------------------------------------------------------------------------------------- */

/* Source `index` as f32: op_sel_hi says that it is f16, then op_sel in which half; neg_hi is abs here. */
static void mixed_source(uint32_t *out, struct sim_wave *wave, const struct sim_instruction *instruction,
                         unsigned index)
{
    const int is_half = instruction->op_sel_hi >> index & 1;
    uint32_t buffer[SIM_LANES];
    const uint32_t *const lanes = sim_source32_plain(wave, instruction, index, is_half ? SIM_F16 : SIM_F32, buffer);
    if (is_half) {
        const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_16);
        const unsigned shift = instruction->op_sel >> index & 1 ? 16 : 0;
        SIM_EACH_LANE(lane)
        {
            const uint32_t half = lanes[lane] >> shift & 0xFFFF;
            out[lane] = sim_float_bits(sim_float_of_half(mode.flush_sources ? sim_flush16(half) : half));
        }
    } else {
        memcpy(out, lanes, sizeof buffer);
    }
    const uint32_t keep = instruction->neg_hi >> index & 1 ? 0x7FFFFFFF : UINT32_MAX;
    const uint32_t sign = instruction->neg >> index & 1 ? 0x80000000 : 0;
    SIM_EACH_LANE(lane) out[lane] = (out[lane] & keep) ^ sign;
}

static void mixed_fma(uint32_t *result, struct sim_wave *wave, const struct sim_instruction *instruction,
                      const struct sim_float_mode *mode)
{
    uint32_t lanes[3][SIM_LANES];
    for (unsigned i = 0; i < 3; i++)
        mixed_source(lanes[i], wave, instruction, i);
    const uint32_t *const source[3] = {lanes[0], lanes[1], lanes[2]};
    sim_compute32(result, &sim_operation_fma, source, mode);
}

static void v_fma_mix_f32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    uint32_t result[SIM_LANES];
    mixed_fma(result, wave, instruction, &mode);
    sim_write32(wave, instruction, result);
}

/* The f32 result rounded to f16, into one half of the destination: LLVM selects this for fptrunc(fma), two roundings. */
static void mixed_to_half(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned shift)
{
    struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    const struct sim_float_mode half_mode = sim_float_mode(wave, instruction, SIM_SINGLE_16);
    uint32_t result[SIM_LANES];
    mode.clamp = 0;
    mixed_fma(result, wave, instruction, &mode);
    sim_convert_f32_to_f16(result, result, &half_mode);
    sim_finish16(result, &half_mode);
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    if (!rows)
        return;
    SIM_EACH_LANE(lane) result[lane] = (rows[0][lane] & 0xFFFFu << (16 - shift)) | (result[lane] & 0xFFFF) << shift;
    sim_write32(wave, instruction, result);
}
static void v_fma_mixlo_f16(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    mixed_to_half(wave, instruction, 0);
}
static void v_fma_mixhi_f16(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    mixed_to_half(wave, instruction, 16);
}

static const struct sim_binding entries[] = {
    SIM_BIND(v_pk_add_f16),     SIM_BIND(v_pk_mul_f16),      SIM_BIND(v_pk_fma_f16),  SIM_BIND(v_pk_min_f16),
    SIM_BIND(v_pk_max_f16),     SIM_BIND(v_pk_minimum3_f16), SIM_BIND(v_pk_fmac_f16), SIM_BIND(v_pk_maximum3_f16),
    SIM_BIND(v_pk_mad_i16),     SIM_BIND(v_pk_add_i16),      SIM_BIND(v_pk_sub_i16),  SIM_BIND(v_pk_max_i16),
    SIM_BIND(v_pk_min_i16),     SIM_BIND(v_pk_ashrrev_i16),  SIM_BIND(v_pk_mad_u16),  SIM_BIND(v_pk_mul_lo_u16),
    SIM_BIND(v_pk_add_u16),     SIM_BIND(v_pk_sub_u16),      SIM_BIND(v_pk_max_u16),  SIM_BIND(v_pk_min_u16),
    SIM_BIND(v_pk_lshlrev_b16), SIM_BIND(v_pk_lshrrev_b16),  SIM_BIND(v_pk_fma_f32),  SIM_BIND(v_pk_mul_f32),
    SIM_BIND(v_pk_add_f32),     SIM_BIND(v_pk_mov_b32),      SIM_BIND(v_fma_mix_f32), SIM_BIND(v_fma_mixlo_f16),
    SIM_BIND(v_fma_mixhi_f16),
};
const struct sim_bindings sim_vector_packed = {entries, sizeof entries / sizeof *entries};
