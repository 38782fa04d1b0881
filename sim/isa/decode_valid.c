/* decode_valid.c - which operands an instruction may have.
 *
 * Vector operands of two and more registers begin at an even one (gfx90a and later). Scalar ones are aligned to their
 * size, up to four; lower bits are ignored.
 */
#include "decode.h"

int sim_vector_valid(uint16_t operand, unsigned dwords)
{
    unsigned number = operand >= SIM_ACC_FIRST ? operand - SIM_ACC_FIRST : operand - SIM_VGPR_FIRST;
    return number + dwords <= 256 && (dwords == 1 || number % 2 == 0);
}

int sim_scalar_valid(uint16_t *operand, unsigned dwords)
{
    unsigned code = *operand;
    if (code > SIM_EXEC_HI)
        return 0;
    if (dwords == 1)
        return code != 125;
    if (code <= SIM_SGPR_LAST || (code >= SIM_TTMP_FIRST && code <= SIM_TTMP_LAST)) {
        code &= dwords == 2 ? ~1u : ~3u;
        *operand = (uint16_t)code;
        unsigned last = code + dwords - 1;
        return code <= SIM_SGPR_LAST ? last <= SIM_SGPR_LAST : code >= SIM_TTMP_FIRST && last <= SIM_TTMP_LAST;
    }
    return dwords == 2 &&
           (code == SIM_FLAT_SCRATCH_LO || code == SIM_XNACK_MASK_LO || code == SIM_VCC_LO || code == SIM_EXEC_LO);
}

static int is_constant(unsigned code)
{
    return (code >= SIM_INT_0 && code <= 208) || (code >= SIM_FLOAT_0_5 && code <= SIM_FLOAT_1_OVER_2PI);
}

/* Read-only values: apertures, the wave's id in ordered rendering, VCCZ, EXECZ, SCC. */
static int is_special(unsigned code)
{
    return (code >= SIM_SHARED_BASE && code <= 239) || (code >= SIM_VCCZ && code <= SIM_SCC);
}

int sim_source_valid(struct sim_instruction *instruction, unsigned i)
{
    const struct sim_opcode *opcode = instruction->opcode;
    unsigned kind = opcode->src_kind[i], code = instruction->src[i];
    if (kind == 0) /* soffset of buffers; what VOP2 and VOPC have in 8 bits */
        kind = opcode->format == SIM_MUBUF || opcode->format == SIM_MTBUF ? SIM_SOURCE_SCALAR | SIM_SOURCE_CONST
                                                                          : SIM_SOURCE_VECTOR | SIM_SOURCE_SCALAR;
    if (code >= SIM_VGPR_FIRST)
        return kind & SIM_SOURCE_VECTOR && sim_vector_valid(instruction->src[i], opcode->src_dwords[i]);
    if (code == SIM_LITERAL)
        return !instruction->is_sdwa &&
               (opcode->format < SIM_SMEM || (opcode->format >= SIM_VOP2 && opcode->format <= SIM_VOPC));
    if (code <= SIM_EXEC_HI)
        return kind & SIM_SOURCE_SCALAR && sim_scalar_valid(&instruction->src[i], opcode->src_dwords[i]);
    if (is_constant(code))
        return (kind & SIM_SOURCE_CONST) != 0;
    if (is_special(code))
        return (kind & SIM_SOURCE_SCALAR) != 0;
    return code == 254 && kind & SIM_SOURCE_VECTOR && kind & SIM_SOURCE_SCALAR && opcode->src_dwords[i] == 1;
}

int sim_operands_valid(struct sim_instruction *instruction)
{
    const struct sim_opcode *opcode = instruction->opcode;
    if (instruction->dst != SIM_NO_OPERAND) {
        if (instruction->dst >= SIM_VGPR_FIRST ? !sim_vector_valid(instruction->dst, opcode->dst_dwords)
                                               : !sim_scalar_valid(&instruction->dst, opcode->dst_dwords))
            return 0;
    }
    if (instruction->sdst != SIM_NO_OPERAND && !sim_scalar_valid(&instruction->sdst, opcode->sdst_dwords))
        return 0;
    for (unsigned i = 0; i < 3; i++)
        if (instruction->src[i] != SIM_NO_OPERAND && !sim_source_valid(instruction, i))
            return 0;
    return 1;
}
