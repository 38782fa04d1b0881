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

/* Codes of the formats of f8f6f4 matrices: 2 and 3 are the two 6-bit floats, 4 is the 4-bit one. A source has 32 values. */
unsigned sim_source_dwords(const struct sim_instruction *instruction, unsigned i)
{
    const struct sim_opcode *opcode = instruction->opcode;
    unsigned dwords = opcode->src_dwords[i];
    if (!(opcode->flags & SIM_OP_MATRIX) || opcode->flags & SIM_OP_SPARSE || i > 1 || dwords != 8)
        return dwords; /* no other dense matrix has sources A and B of 8 */
    unsigned format = i == 0 ? instruction->cbsz : instruction->blgp;
    return format == 2 || format == 3 ? 6 : format == 4 ? 4 : 8;
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
    unsigned kind = opcode->src_kind[i], code = instruction->src[i], dwords = sim_source_dwords(instruction, i);
    if (kind == 0) { /* soffset of buffers; what VOP2 and VOPC have in 8 bits, to which SDWA adds one */
        int is_buffer = opcode->format == SIM_MUBUF || opcode->format == SIM_MTBUF;
        kind = SIM_SOURCE_SCALAR | (is_buffer ? 0 : SIM_SOURCE_VECTOR) |
               (is_buffer || instruction->is_sdwa ? SIM_SOURCE_CONST : 0);
    }
    if (code >= SIM_VGPR_FIRST)
        return kind & SIM_SOURCE_VECTOR && sim_vector_valid(instruction->src[i], dwords);
    if (code == SIM_LITERAL)
        return !instruction->is_sdwa && (kind & SIM_SOURCE_CONST || opcode->flags & SIM_OP_LITERAL_K) &&
               (opcode->format < SIM_SMEM || (opcode->format >= SIM_VOP2 && opcode->format <= SIM_VOPC));
    if (code <= SIM_EXEC_HI)
        return kind & SIM_SOURCE_SCALAR && sim_scalar_valid(&instruction->src[i], dwords);
    if (is_constant(code))
        return (kind & SIM_SOURCE_CONST) != 0;
    if (is_special(code))
        return (kind & SIM_SOURCE_SCALAR) != 0;
    /* src_lds_direct is where any 32-bit value can be, and in v_readlane_b32 and v_readfirstlane_b32. */
    return code == 254 && kind & SIM_SOURCE_VECTOR && (kind & SIM_SOURCE_SCALAR || opcode->sdst_dwords == 1) &&
           dwords == 1;
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
    if (instruction->sdst == SIM_M0) /* LLVM: v_readlane_b32 and v_readfirstlane_b32 do not write M0 */
        return 0;
    for (unsigned i = 0; i < 3; i++)
        if (instruction->src[i] != SIM_NO_OPERAND && !sim_source_valid(instruction, i))
            return 0;
    return 1;
}
