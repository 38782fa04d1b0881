/* vector_float.c - sums and products of f16, f32, f64. */
#include "vector_float.h"

enum third_source { NO_THIRD, OF_INSTRUCTION, DESTINATION };

static void execute16(struct sim_wave *wave, const struct sim_instruction *instruction,
                      const struct sim_float_operation *operation, enum third_source third, enum sim_other_half other)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_16);
    uint32_t buffer[3][SIM_LANES] = {{0}}, result[SIM_LANES];
    const uint32_t *source[3] = {sim_source32(wave, instruction, 0, SIM_F16, buffer[0]),
                                 sim_source32(wave, instruction, 1, SIM_F16, buffer[1]), buffer[2]};
    if (third == OF_INSTRUCTION)
        source[2] = sim_source32(wave, instruction, 2, SIM_F16, buffer[2]);
    sim_compute16(result, operation, source, &mode);
    sim_write16(wave, instruction, result, other);
}

static void execute32(struct sim_wave *wave, const struct sim_instruction *instruction,
                      const struct sim_float_operation *operation, enum third_source third)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    uint32_t buffer[3][SIM_LANES], result[SIM_LANES];
    const uint32_t *source[3] = {sim_source32(wave, instruction, 0, SIM_F32, buffer[0]),
                                 sim_source32(wave, instruction, 1, SIM_F32, buffer[1]), NULL};
    if (third == OF_INSTRUCTION) {
        source[2] = sim_source32(wave, instruction, 2, SIM_F32, buffer[2]);
    } else if (third == DESTINATION) {
        uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
        if (!rows)
            return;
        source[2] = rows[0];
    }
    sim_compute32(result, operation, source, &mode);
    sim_write32(wave, instruction, result);
}

static void execute64(struct sim_wave *wave, const struct sim_instruction *instruction,
                      const struct sim_float_operation *operation, enum third_source third)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_64);
    uint64_t buffer[3][SIM_LANES], result[SIM_LANES];
    const uint64_t *source[3] = {sim_source64(wave, instruction, 0, SIM_F64, buffer[0]),
                                 sim_source64(wave, instruction, 1, SIM_F64, buffer[1]), buffer[2]};
    if (third == OF_INSTRUCTION) {
        sim_source64(wave, instruction, 2, SIM_F64, buffer[2]);
    } else if (third == DESTINATION) {
        uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 2);
        if (!rows)
            return;
        SIM_EACH_LANE(lane) buffer[2][lane] = rows[0][lane] | (uint64_t)rows[1][lane] << 32;
    }
    sim_compute64(result, operation, source, &mode);
    sim_write64(wave, instruction, result);
}

/* v_mad_f16 and its like: the product is rounded before the sum. LLVM uses them only where f16 subnormals are flushed,
 * because they always flush. */
static void multiply_add16(struct sim_wave *wave, const struct sim_instruction *instruction, enum third_source third,
                           enum sim_other_half other)
{
    struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_16);
    mode.flush_sources = mode.flush_results = 1;
    mode.omod = wave->mode >> SIM_MODE_IEEE & 1 ? 0 : instruction->omod;
    struct sim_float_mode product_mode = mode;
    product_mode.omod = product_mode.clamp = 0;

    uint32_t buffer[3][SIM_LANES], result[SIM_LANES];
    const uint32_t *source[3] = {sim_source32(wave, instruction, 0, SIM_F16, buffer[0]),
                                 sim_source32(wave, instruction, 1, SIM_F16, buffer[1]), NULL};
    const uint32_t *addend;
    if (third == DESTINATION) {
        uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
        if (!rows)
            return;
        const unsigned shift = instruction->op_sel & 8 ? 16 : 0;
        SIM_EACH_LANE(lane) buffer[2][lane] = rows[0][lane] >> shift;
        addend = buffer[2];
    } else {
        addend = sim_source32(wave, instruction, 2, SIM_F16, buffer[2]);
    }
    sim_compute16(result, &sim_operation_multiply, source, &product_mode);
    const uint32_t *const sum[3] = {result, addend, NULL};
    sim_compute16(result, &sim_operation_add, sum, &mode);
    sim_write16(wave, instruction, result, other);
}

static void v_mul_legacy_f32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    uint32_t buffer[2][SIM_LANES], result[SIM_LANES];
    const uint32_t *const a = sim_float_source32(wave, instruction, 0, &mode, buffer[0]);
    const uint32_t *const b = sim_float_source32(wave, instruction, 1, &mode, buffer[1]);
    const uint32_t *const source[3] = {a, b, NULL};
    sim_compute32(result, &sim_operation_multiply, source, &mode);
    SIM_EACH_LANE(lane)
    result[lane] = a[lane] << 1 == 0 || b[lane] << 1 == 0 ? 0 : result[lane]; /* 0 times anything, NaN too, is +0 */
    sim_write32(wave, instruction, result);
}

#define OPERATION_16(opcode, operation, third, other) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        execute16(wave, instruction, &sim_operation_##operation, third, other); \
    }
#define MULTIPLY_ADD_16(opcode, third, other) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        multiply_add16(wave, instruction, third, other); \
    }
#define OPERATION_32(opcode, operation, third) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        execute32(wave, instruction, &sim_operation_##operation, third); \
    }
#define OPERATION_64(opcode, operation, third) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        execute64(wave, instruction, &sim_operation_##operation, third); \
    }

OPERATION_16(v_add_f16, add, NO_THIRD, SIM_ZERO_HIGH)
OPERATION_16(v_sub_f16, subtract, NO_THIRD, SIM_ZERO_HIGH)
OPERATION_16(v_subrev_f16, subtract_reverse, NO_THIRD, SIM_ZERO_HIGH)
OPERATION_16(v_mul_f16, multiply, NO_THIRD, SIM_ZERO_HIGH)
OPERATION_16(v_fma_f16, fma, OF_INSTRUCTION, SIM_KEEP_HIGH)
OPERATION_16(v_fma_legacy_f16, fma, OF_INSTRUCTION, SIM_ZERO_HIGH)
MULTIPLY_ADD_16(v_mac_f16, DESTINATION, SIM_ZERO_HIGH)
MULTIPLY_ADD_16(v_madmk_f16, OF_INSTRUCTION, SIM_ZERO_HIGH)
MULTIPLY_ADD_16(v_madak_f16, OF_INSTRUCTION, SIM_ZERO_HIGH)
MULTIPLY_ADD_16(v_mad_f16, OF_INSTRUCTION, SIM_KEEP_HIGH)
MULTIPLY_ADD_16(v_mad_legacy_f16, OF_INSTRUCTION, SIM_ZERO_HIGH)

OPERATION_32(v_add_f32, add, NO_THIRD)
OPERATION_32(v_sub_f32, subtract, NO_THIRD)
OPERATION_32(v_subrev_f32, subtract_reverse, NO_THIRD)
OPERATION_32(v_mul_f32, multiply, NO_THIRD)
OPERATION_32(v_fma_f32, fma, OF_INSTRUCTION)
OPERATION_32(v_fmac_f32, fma, DESTINATION)
OPERATION_32(v_fmamk_f32, fma, OF_INSTRUCTION)
OPERATION_32(v_fmaak_f32, fma, OF_INSTRUCTION)

OPERATION_64(v_add_f64, add, NO_THIRD)
OPERATION_64(v_mul_f64, multiply, NO_THIRD)
OPERATION_64(v_fma_f64, fma, OF_INSTRUCTION)
OPERATION_64(v_fmac_f64, fma, DESTINATION)

static const struct sim_binding entries[] = {
    SIM_BIND(v_add_f16),   SIM_BIND(v_sub_f16),    SIM_BIND(v_subrev_f16), SIM_BIND(v_mul_f16),
    SIM_BIND(v_fma_f16),   SIM_BIND(v_mac_f16),    SIM_BIND(v_madmk_f16),  SIM_BIND(v_fma_legacy_f16),
    SIM_BIND(v_madak_f16), SIM_BIND(v_mad_f16),    SIM_BIND(v_add_f32),    SIM_BIND(v_mad_legacy_f16),
    SIM_BIND(v_sub_f32),   SIM_BIND(v_subrev_f32), SIM_BIND(v_mul_f32),    SIM_BIND(v_mul_legacy_f32),
    SIM_BIND(v_fma_f32),   SIM_BIND(v_fmac_f32),   SIM_BIND(v_fmamk_f32),  SIM_BIND(v_fmaak_f32),
    SIM_BIND(v_add_f64),   SIM_BIND(v_mul_f64),    SIM_BIND(v_fma_f64),    SIM_BIND(v_fmac_f64),
};
const struct sim_bindings sim_vector_float = {entries, sizeof entries / sizeof *entries};
