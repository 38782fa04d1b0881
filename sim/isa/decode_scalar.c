/* decode_scalar.c - SOP2, SOPK, SOP1, SOPC, SOPP. */
#include "decode.h"

/* Operand i is a scalar source; a literal is the word after the instruction's. */
static void scalar_source(struct sim_instruction *out, unsigned i, uint32_t code, unsigned *length)
{
    if (out->opcode->src_dwords[i] == 0)
        return;
    out->src[i] = (uint16_t)code;
    if (code == SIM_LITERAL) {
        out->literal = out->words[1];
        *length = 2;
    }
}

unsigned sim_decode_scalar(struct sim_instruction *out, enum sim_chip chip, enum sim_format format)
{
    uint32_t word = out->words[0];
    unsigned code = 0;
    switch (format) {
    case SIM_SOP2: code = sim_bits(word, 23, 7); break;
    case SIM_SOPK: code = sim_bits(word, 23, 5); break;
    case SIM_SOP1: code = sim_bits(word, 8, 8); break;
    default: code = sim_bits(word, 16, 7); break;
    }
    const struct sim_opcode *opcode = out->opcode = sim_find_opcode(chip, format, code);
    if (!opcode || !sim_reserved_is_zero(out, 1))
        return 0;

    unsigned length = 1;
    if (opcode->dst_dwords)
        out->dst = (uint16_t)sim_bits(word, 16, 7);
    switch (format) {
    case SIM_SOPP: out->immediate = sim_sign_extend(word & 0xFFFF, 16); break;
    case SIM_SOPK:
        out->immediate = sim_sign_extend(word & 0xFFFF, 16);
        if (opcode->flags & SIM_OP_LITERAL_K) {
            out->src[0] = SIM_LITERAL;
            out->literal = out->words[1];
            length = 2;
        } else if (opcode->src_dwords[0]) {
            out->src[0] = (uint16_t)sim_bits(word, 16, 7);
        }
        break;
    default:
        scalar_source(out, 0, sim_bits(word, 0, 8), &length);
        if (format != SIM_SOP1)
            scalar_source(out, 1, sim_bits(word, 8, 8), &length);
    }
    return sim_operands_valid(out) ? length : 0;
}
