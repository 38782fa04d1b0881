/* decode_vector.c - VOP1, VOP2, VOPC, with SDWA, DPP and literals. */
#include "decode.h"

static void sdwa(struct sim_instruction *out, enum sim_format format)
{
    uint32_t word = out->words[1];
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
}

static void dpp(struct sim_instruction *out)
{
    uint32_t word = out->words[1];
    out->is_dpp = 1;
    out->src[0] = (uint16_t)(SIM_VGPR_FIRST | sim_bits(word, 0, 8));
    out->dpp_control = (uint16_t)sim_bits(word, 8, 9);
    out->dpp_bound_control = (uint8_t)sim_bits(word, 19, 1);
    out->neg = (uint8_t)(sim_bits(word, 20, 1) | sim_bits(word, 22, 1) << 1);
    out->abs = (uint8_t)(sim_bits(word, 21, 1) | sim_bits(word, 23, 1) << 1);
    out->dpp_bank_mask = (uint8_t)sim_bits(word, 24, 4);
    out->dpp_row_mask = (uint8_t)sim_bits(word, 28, 4);
}

unsigned sim_decode_vector(struct sim_instruction *out, enum sim_chip chip, enum sim_format format)
{
    uint32_t word = out->words[0];
    unsigned code = format == SIM_VOP2   ? sim_bits(word, 25, 6)
                    : format == SIM_VOPC ? sim_bits(word, 17, 8)
                                         : sim_bits(word, 9, 8);
    const struct sim_opcode *opcode = out->opcode = sim_find_opcode(chip, format, code);
    if (!opcode)
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
        return 1;

    unsigned src0 = sim_bits(word, 0, 9);
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
        return 2;
    }
    switch (src0) {
    case SIM_SDWA: sdwa(out, format); return 2;
    case SIM_DPP: dpp(out); return 2;
    case SIM_LITERAL: out->literal = out->words[1]; return 2;
    default: return 1;
    }
}
