/* decode_vector.c - VOP1, VOP2, VOPC, with SDWA, DPP and literals. */
#include "decode.h"

static unsigned sdwa(struct sim_instruction *out, enum sim_format format)
{
    const struct sim_opcode *opcode = out->opcode;
    uint32_t word = out->words[1] & ~opcode->sdwa.ignored;
    if (!(opcode->flags & SIM_OP_HAS_SDWA) || (word & opcode->sdwa.zero))
        return 0;
    out->is_sdwa = 1;
    out->src[0] = (uint16_t)(sim_bits(word, 0, 8) | (sim_bits(word, 23, 1) ? 0 : SIM_VGPR_FIRST));
    if (out->src[1] != SIM_NO_OPERAND && sim_bits(word, 31, 1))
        out->src[1] = (uint16_t)(out->src[1] - SIM_VGPR_FIRST);
    if (format == SIM_VOPC) {
        if (sim_bits(word, 15, 1))
            out->sdst = (uint16_t)sim_bits(word, 8, 7);
    } else {
        out->sdwa_dst = (uint8_t)sim_bits(word, 8, 3);
        out->sdwa_dst_unused = (uint8_t)sim_bits(word, 11, 2);
        out->clamp = (uint8_t)sim_bits(word, 13, 1);
        out->omod = (uint8_t)sim_bits(word, 14, 2);
    }
    out->sdwa_src[0] = (uint8_t)sim_bits(word, 16, 3);
    out->sdwa_src[1] = (uint8_t)sim_bits(word, 24, 3);
    out->sdwa_sext = (uint8_t)(sim_bits(word, 19, 1) | sim_bits(word, 27, 1) << 1);
    out->neg = (uint8_t)(sim_bits(word, 20, 1) | sim_bits(word, 28, 1) << 1);
    out->abs = (uint8_t)(sim_bits(word, 21, 1) | sim_bits(word, 29, 1) << 1);
    if (out->sdwa_dst > SIM_DWORD || out->sdwa_src[0] > SIM_DWORD || out->sdwa_src[1] > SIM_DWORD ||
        out->sdwa_dst_unused > 2)
        return 0;
    if (opcode->flags & SIM_OP_WHOLE_DST) {
        if (out->sdwa_dst != SIM_DWORD)
            return 0;
        out->sdwa_dst_unused = 0; /* nothing is unused */
    }
    return sim_operands_valid(out) ? 2 : 0;
}

/* quad_perm, row_shl, row_shr, row_ror by 1 to 15, wave_shl/rol/shr/ror by 1, row_mirror, row_half_mirror, row_bcast 15 and
 * 31, row_newbcast, which is the only one for 64-bit operands. */
static int is_dpp_control(unsigned control, int is_wide)
{
    unsigned group = control >> 4, amount = control & 15;
    if (group == 0x15)
        return 1;
    if (is_wide)
        return 0;
    if (control < 0x100)
        return 1;
    if (group >= 0x10 && group <= 0x12)
        return amount != 0;
    return control == 0x130 || control == 0x134 || control == 0x138 || control == 0x13C ||
           (control >= 0x140 && control <= 0x143);
}

static unsigned dpp(struct sim_instruction *out)
{
    const struct sim_opcode *opcode = out->opcode;
    uint32_t word = out->words[1] & ~opcode->dpp.ignored;
    if (!(opcode->flags & SIM_OP_HAS_DPP) || (word & opcode->dpp.zero))
        return 0;
    out->is_dpp = 1;
    out->src[0] = (uint16_t)(SIM_VGPR_FIRST | sim_bits(word, 0, 8));
    out->dpp_control = (uint16_t)sim_bits(word, 8, 9);
    out->dpp_bound_control = (uint8_t)sim_bits(word, 19, 1);
    out->neg = (uint8_t)(sim_bits(word, 20, 1) | sim_bits(word, 22, 1) << 1);
    out->abs = (uint8_t)(sim_bits(word, 21, 1) | sim_bits(word, 23, 1) << 1);
    out->dpp_bank_mask = (uint8_t)sim_bits(word, 24, 4);
    out->dpp_row_mask = (uint8_t)sim_bits(word, 28, 4);
    int is_wide = opcode->dst_dwords > 1 || opcode->src_dwords[0] > 1 || opcode->src_dwords[1] > 1;
    return is_dpp_control(out->dpp_control, is_wide) && sim_operands_valid(out) ? 2 : 0;
}

unsigned sim_decode_vector(struct sim_instruction *out, enum sim_chip chip, enum sim_format format)
{
    uint32_t word = out->words[0];
    unsigned code = format == SIM_VOP2   ? sim_bits(word, 25, 6)
                    : format == SIM_VOPC ? sim_bits(word, 17, 8)
                                         : sim_bits(word, 9, 8);
    const struct sim_opcode *opcode = out->opcode = sim_find_opcode(chip, format, code);
    if (!opcode || !sim_reserved_is_zero(out, 1))
        return 0;

    unsigned vdst = sim_bits(word, 17, 8);
    if (opcode->dst_dwords)
        out->dst = (uint16_t)(vdst + (opcode->flags & SIM_OP_ACC_DST ? SIM_ACC_FIRST : SIM_VGPR_FIRST));
    else if (opcode->sdst_dwords)
        out->sdst = (uint16_t)vdst;
    if (opcode->flags & SIM_OP_IMPLICIT_VCC_OUT)
        out->sdst = SIM_VCC_LO;
    if (opcode->flags & SIM_OP_IMPLICIT_VCC_IN)
        out->src[2] = SIM_VCC_LO;
    if (format != SIM_VOP1 && opcode->src_dwords[1])
        out->src[1] = (uint16_t)(SIM_VGPR_FIRST + sim_bits(word, 9, 8));
    if (opcode->src_dwords[0] == 0)
        return 1; /* v_nop */

    unsigned src0 = sim_bits(word, 0, 9);
    if (opcode->flags & SIM_OP_ACC_SRC && src0 < SIM_VGPR_FIRST)
        return 0;
    out->src[0] = (uint16_t)(opcode->flags & SIM_OP_ACC_SRC ? src0 - SIM_VGPR_FIRST + SIM_ACC_FIRST : src0);
    if (opcode->flags & SIM_OP_LITERAL_K) {
        if (src0 == SIM_SDWA || src0 == SIM_DPP)
            return 0;
        out->src[2] = SIM_LITERAL;
        if (opcode->flags & SIM_OP_FACTOR_K) {
            out->src[2] = out->src[1];
            out->src[1] = SIM_LITERAL;
        }
        out->literal = out->words[1];
        return sim_operands_valid(out) ? 2 : 0;
    }
    switch (src0) {
    case SIM_SDWA: return sdwa(out, format);
    case SIM_DPP: return dpp(out);
    case SIM_LITERAL: out->literal = out->words[1]; return sim_operands_valid(out) ? 2 : 0;
    default: return sim_operands_valid(out) ? 1 : 0;
    }
}
