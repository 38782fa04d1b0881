/* decode_vop3.c - VOP3A, VOP3B, VOP3P with matrix instructions (MAI). */
#include "decode.h"

static void sources(struct sim_instruction *out)
{
    uint32_t word = sim_word(out, 1);
    for (unsigned i = 0; i < 3; i++)
        if (out->opcode->src_dwords[i])
            out->src[i] = (uint16_t)sim_bits(word, 9 * i, 9);
}

static void accumulation(uint16_t *operand)
{
    if (*operand >= SIM_VGPR_FIRST && *operand <= SIM_VGPR_LAST)
        *operand = (uint16_t)(*operand - SIM_VGPR_FIRST + SIM_ACC_FIRST);
}

static void vop3(struct sim_instruction *out)
{
    const struct sim_opcode *opcode = out->opcode;
    uint32_t low = sim_word(out, 0), high = sim_word(out, 1);
    out->clamp = (uint8_t)sim_bits(low, 15, 1);
    out->omod = (uint8_t)sim_bits(high, 27, 2);
    out->neg = (uint8_t)sim_bits(high, 29, 3);
    if (opcode->dst_dwords && opcode->sdst_dwords) { /* VOP3B */
        out->sdst = (uint16_t)sim_bits(out->words[0], 8, 7);
    } else {
        out->abs = (uint8_t)sim_bits(low, 8, 3);
        out->op_sel = (uint8_t)sim_bits(low, 11, 4);
    }
    if (opcode->flags & SIM_OP_TRUTH_TABLE) {
        out->truth_table = (uint8_t)(out->neg | out->abs << 3 | out->omod << 6);
        out->neg = out->abs = out->omod = 0;
    }
    if (!opcode->dst_dwords && opcode->sdst_dwords)
        out->sdst = (uint16_t)sim_bits(low, 0, 8);
}

static void packed(struct sim_instruction *out)
{
    uint32_t low = sim_word(out, 0), high = sim_word(out, 1);
    out->clamp = (uint8_t)sim_bits(low, 15, 1);
    out->neg = (uint8_t)sim_bits(high, 29, 3);
    out->neg_hi = (uint8_t)sim_bits(low, 8, 3);
    out->op_sel = (uint8_t)sim_bits(low, 11, 3);
    out->op_sel_hi = (uint8_t)(sim_bits(high, 27, 2) | sim_bits(low, 14, 1) << 2);
}

static void matrix(struct sim_instruction *out)
{
    uint32_t low = sim_word(out, 0), high = sim_word(out, 1);
    out->cbsz = (uint8_t)sim_bits(low, 8, 3);
    out->abid = (uint8_t)sim_bits(low, 11, 4);
    out->blgp = (uint8_t)sim_bits(high, 29, 3);
    if (sim_bits(low, 15, 1)) {
        accumulation(&out->dst);
        if (!(out->opcode->flags & SIM_OP_SPARSE))
            accumulation(&out->src[2]);
    }
    for (unsigned i = 0; i < 2; i++)
        if (sim_bits(high, 27 + i, 1))
            accumulation(&out->src[i]);
}

unsigned sim_decode_vop3(struct sim_instruction *out, enum sim_chip chip, enum sim_format format)
{
    uint32_t word = out->words[0];
    unsigned code = format == SIM_VOP3P ? sim_bits(word, 16, 7) : sim_bits(word, 16, 10);
    const struct sim_opcode *opcode = out->opcode = sim_find_opcode(chip, format, code);
    if (!opcode || !sim_reserved_is_zero(out, 2))
        return 0;

    if (opcode->dst_dwords)
        out->dst = (uint16_t)(SIM_VGPR_FIRST + sim_bits(word, 0, 8));
    sources(out);
    if (opcode->flags & SIM_OP_ACC_DST)
        accumulation(&out->dst);
    if (opcode->flags & SIM_OP_ACC_SRC)
        accumulation(&out->src[0]);
    if (opcode->flags & SIM_OP_MATRIX)
        matrix(out);
    else if (format == SIM_VOP3P)
        packed(out);
    else
        vop3(out);
    return sim_operands_valid(out) ? 2 : 0;
}
