/* vector_dot.c - sums of two products of f16 or bf16, in f32.
 *
 * The products are exact in f32; each sum is rounded as MODE says, in the order in which the CDNA4 manual writes them.
 */
#include "vector_float.h"

enum half_type { OF_F16, OF_BF16 };

/* Half `half` of each lane, as f32. */
static void halves_of(uint32_t *out, const uint32_t *lanes, enum half_type type, unsigned half, uint32_t sign)
{
    SIM_EACH_LANE(lane)
    {
        const uint32_t bits = (lanes[lane] >> 16 * half & 0xFFFF) ^ sign;
        out[lane] = sim_float_bits(type == OF_F16 ? sim_float_of_half(bits) : sim_float_of_bf16(bits));
    }
}

/* result = (c + a0 * b0) + a1 * b1, or with `last`, (a0 * b0 + a1 * b1) + c. */
static void dot(uint32_t *result, const struct sim_instruction *instruction, enum half_type type, int last,
                const uint32_t *const lanes[3], const struct sim_float_mode *mode)
{
    struct sim_float_mode inner = *mode;
    inner.clamp = inner.omod = 0;
    uint32_t a[2][SIM_LANES], b[2][SIM_LANES];
    for (unsigned half = 0; half < 2; half++) {
        const unsigned select = half ? instruction->op_sel_hi : instruction->op_sel;
        const unsigned negate = half ? instruction->neg_hi : instruction->neg;
        const int is_packed = instruction->opcode->format == SIM_VOP3P;
        halves_of(a[half], lanes[0], type, is_packed ? select & 1 : half, is_packed && negate & 1 ? 0x8000 : 0);
        halves_of(b[half], lanes[1], type, is_packed ? select >> 1 & 1 : half, is_packed && negate & 2 ? 0x8000 : 0);
    }
    const uint32_t *const first[3] = {a[0], b[0], lanes[2]}, *const second[3] = {a[1], b[1], result};
    sim_compute32(result, last ? &sim_operation_multiply : &sim_operation_fma, first, &inner);
    sim_compute32(result, &sim_operation_fma, second, last ? &inner : mode);
    const uint32_t *const sum[3] = {result, lanes[2], NULL};
    if (last)
        sim_compute32(result, &sim_operation_add, sum, mode);
}

static void packed_dot(struct sim_wave *wave, const struct sim_instruction *instruction, enum half_type type, int last)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    uint32_t buffer[3][SIM_LANES], addend[SIM_LANES], result[SIM_LANES];
    const uint32_t *const c = sim_source32_plain(wave, instruction, 2, SIM_F32, buffer[2]);
    const uint32_t sign = instruction->neg >> 2 & 1 ? 0x80000000 : 0;
    SIM_EACH_LANE(lane) addend[lane] = c[lane] ^ sign;
    const uint32_t *const lanes[3] = {sim_source32_plain(wave, instruction, 0, SIM_F16, buffer[0]),
                                      sim_source32_plain(wave, instruction, 1, SIM_F16, buffer[1]), addend};
    dot(result, instruction, type, last, lanes, &mode);
    sim_write32(wave, instruction, result);
}

static void accumulating_dot(struct sim_wave *wave, const struct sim_instruction *instruction, enum half_type type)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    uint32_t buffer[2][SIM_LANES], result[SIM_LANES];
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    if (!rows)
        return;
    const uint32_t *const lanes[3] = {sim_source32(wave, instruction, 0, SIM_B32, buffer[0]),
                                      sim_source32(wave, instruction, 1, SIM_B32, buffer[1]), rows[0]};
    dot(result, instruction, type, 0, lanes, &mode);
    sim_write32(wave, instruction, result);
}

static void v_dot2_f32_f16(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    packed_dot(wave, instruction, OF_F16, 0);
}
static void v_dot2_f32_bf16(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    packed_dot(wave, instruction, OF_BF16, 1);
}
static void v_dot2c_f32_f16(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    accumulating_dot(wave, instruction, OF_F16);
}
static void v_dot2c_f32_bf16(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    accumulating_dot(wave, instruction, OF_BF16);
}

static const struct sim_binding entries[] = {
    SIM_BIND(v_dot2_f32_f16),
    SIM_BIND(v_dot2_f32_bf16),
    SIM_BIND(v_dot2c_f32_f16),
    SIM_BIND(v_dot2c_f32_bf16),
};
const struct sim_bindings sim_vector_dot = {entries, sizeof entries / sizeof *entries};
