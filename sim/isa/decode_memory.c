/* decode_memory.c - SMEM, DS, FLAT, MUBUF, MTBUF. All are two words. */
#include "decode.h"

static int scalar_or_none(uint16_t *operand, unsigned dwords)
{
    return *operand == SIM_NO_OPERAND || sim_scalar_valid(operand, dwords);
}

static int vector_or_none(uint16_t operand, unsigned dwords)
{
    return operand == SIM_NO_OPERAND || sim_vector_valid(operand, dwords);
}

/* LLVM's register class of scalar data has neither M0 nor EXEC. */
static int is_scalar_data(uint16_t operand)
{
    return operand != SIM_M0 && operand != SIM_EXEC_LO && operand != SIM_EXEC_HI;
}

static int smem(struct sim_instruction *out)
{
    const struct sim_opcode *opcode = out->opcode;
    uint32_t low = sim_word(out, 0), high = sim_word(out, 1);
    unsigned has_immediate = sim_bits(low, 17, 1), has_register = sim_bits(low, 14, 1);
    if (opcode->src_dwords[0])
        out->src[0] = (uint16_t)(sim_bits(low, 0, 6) * 2);
    if (opcode->dst_dwords)
        out->dst = (uint16_t)sim_bits(low, 6, 7);
    out->glc = (uint8_t)sim_bits(low, 16, 1);
    if (!is_scalar_data(out->dst))
        return 0;
    if (!opcode->src_dwords[0])
        return scalar_or_none(&out->dst, opcode->dst_dwords);
    /* With an immediate the offset register is in a field of its own; alone it is where the immediate would be. */
    if (has_immediate)
        out->immediate = sim_sign_extend(sim_bits(high, 0, 21), 21);
    if (has_register)
        out->src[1] = (uint16_t)sim_bits(high, 25, 7);
    else if (!has_immediate)
        out->src[1] = (uint16_t)sim_bits(high, 0, 7);
    return scalar_or_none(&out->dst, opcode->dst_dwords) && sim_scalar_valid(&out->src[0], opcode->src_dwords[0]) &&
           scalar_or_none(&out->src[1], 1);
}

static uint16_t vector_register(unsigned number, unsigned is_accumulation)
{
    return (uint16_t)(number + (is_accumulation ? SIM_ACC_FIRST : SIM_VGPR_FIRST));
}

static int ds(struct sim_instruction *out)
{
    const struct sim_opcode *opcode = out->opcode;
    uint32_t low = sim_word(out, 0), high = sim_word(out, 1);
    unsigned acc = sim_bits(low, 25, 1);
    out->gds = (uint8_t)sim_bits(low, 16, 1);
    if (opcode->flags & SIM_OP_TWO_OFFSETS) {
        out->immediate = (int32_t)sim_bits(low, 0, 8);
        out->offset1 = (uint8_t)sim_bits(low, 8, 8);
    } else {
        out->immediate = (int32_t)sim_bits(low, 0, 16);
    }
    if (opcode->src_dwords[0])
        out->src[0] = vector_register(sim_bits(high, 0, 8), acc && opcode->flags & SIM_OP_GDS_ONLY); /* is its data */
    if (opcode->src_dwords[1])
        out->src[1] = vector_register(sim_bits(high, 8, 8), acc);
    if (opcode->src_dwords[2])
        out->src[2] = vector_register(sim_bits(high, 16, 8), acc);
    if (opcode->dst_dwords)
        out->dst = vector_register(sim_bits(high, 24, 8), acc);
    if (opcode->flags & SIM_OP_GDS_ONLY && !out->gds)
        return 0;
    return vector_or_none(out->dst, opcode->dst_dwords) && vector_or_none(out->src[1], opcode->src_dwords[1]) &&
           vector_or_none(out->src[2], opcode->src_dwords[2]);
}

static int flat(struct sim_instruction *out)
{
    const struct sim_opcode *opcode = out->opcode;
    uint32_t low = sim_word(out, 0), high = sim_word(out, 1);
    unsigned acc = sim_bits(high, 23, 1), saddr = sim_bits(high, 16, 7);
    out->segment = (uint8_t)sim_bits(low, 14, 2);
    /* FLAT's offset has no sign: 12 bits. */
    out->immediate =
        out->segment == SIM_SEGMENT_FLAT ? (int32_t)sim_bits(low, 0, 12) : sim_sign_extend(sim_bits(low, 0, 13), 13);
    out->scratch_has_vaddr = out->segment == SIM_SEGMENT_SCRATCH && sim_bits(low, 13, 1);
    out->glc = (uint8_t)sim_bits(low, 16, 1);
    out->nt = (uint8_t)sim_bits(low, 17, 1);
    out->sc1 = (uint8_t)sim_bits(low, 25, 1);
    if (opcode->src_dwords[0] && (out->segment != SIM_SEGMENT_SCRATCH || out->scratch_has_vaddr))
        out->src[0] = vector_register(sim_bits(high, 0, 8), 0);
    if (opcode->src_dwords[1])
        out->src[1] = vector_register(sim_bits(high, 8, 8), acc);
    if (out->segment != SIM_SEGMENT_FLAT && saddr != 0x7F) /* 0x7F: none */
        out->src[2] = (uint16_t)saddr;
    if (opcode->dst_dwords && (!(opcode->flags & SIM_OP_ATOMIC) || out->glc))
        out->dst = vector_register(sim_bits(high, 24, 8), acc);
    unsigned is_global = out->segment == SIM_SEGMENT_GLOBAL;
    if (is_global && out->src[2] == SIM_EXEC_LO) /* not in LLVM's register class of addresses */
        return 0;
    unsigned address_dwords = is_global && out->src[2] != SIM_NO_OPERAND ? 1 : opcode->src_dwords[0];
    return vector_or_none(out->src[0], address_dwords) && vector_or_none(out->src[1], opcode->src_dwords[1]) &&
           vector_or_none(out->dst, opcode->dst_dwords) && scalar_or_none(&out->src[2], is_global ? 2 : 1);
}

static int buffer(struct sim_instruction *out, enum sim_format format)
{
    const struct sim_opcode *opcode = out->opcode;
    uint32_t low = sim_word(out, 0), high = sim_word(out, 1);
    out->immediate = (int32_t)sim_bits(low, 0, 12);
    out->offen = (uint8_t)sim_bits(low, 12, 1);
    out->idxen = (uint8_t)sim_bits(low, 13, 1);
    out->glc = (uint8_t)sim_bits(low, 14, 1);
    if (format == SIM_MUBUF) {
        out->sc1 = (uint8_t)sim_bits(low, 15, 1);
        out->lds = (uint8_t)sim_bits(low, 16, 1);
        out->nt = (uint8_t)sim_bits(low, 17, 1);
    } else {
        out->sc1 = (uint8_t)sim_bits(high, 21, 1);
        out->nt = (uint8_t)sim_bits(high, 22, 1);
    }
    if (opcode->src_dwords[0] == 0)
        return 1;
    if (out->offen || out->idxen)
        out->src[0] = vector_register(sim_bits(high, 0, 8), 0);
    out->src[1] = (uint16_t)(sim_bits(high, 16, 5) * 4);
    out->src[2] = (uint16_t)sim_bits(high, 24, 8);
    if (opcode->dst_dwords && !out->lds)
        out->dst = vector_register(sim_bits(high, 8, 8), sim_bits(high, 23, 1));
    if (out->lds && sim_bits(high, 23, 1)) /* accumulation registers, of data that goes to LDS */
        return 0;
    return vector_or_none(out->src[0], out->offen && out->idxen ? 2 : 1) &&
           vector_or_none(out->dst, opcode->dst_dwords) && sim_scalar_valid(&out->src[1], 4) &&
           sim_source_valid(out, 2);
}

unsigned sim_decode_memory(struct sim_instruction *out, enum sim_chip chip, enum sim_format format)
{
    uint32_t word = out->words[0];
    unsigned code = 0;
    switch (format) {
    case SIM_SMEM: code = sim_bits(word, 18, 8); break;
    case SIM_DS: code = sim_bits(word, 17, 8); break;
    case SIM_FLAT: code = sim_bits(word, 18, 7) | sim_bits(word, 14, 2) << 7; break;
    case SIM_MUBUF: code = sim_bits(word, 18, 7); break;
    default: code = sim_bits(word, 15, 4); break;
    }
    out->opcode = sim_find_opcode(chip, format, code);
    if (!out->opcode || !sim_reserved_is_zero(out, 2))
        return 0;
    int valid = 0;
    switch (format) {
    case SIM_SMEM: valid = smem(out); break;
    case SIM_DS: valid = ds(out); break;
    case SIM_FLAT: valid = flat(out); break;
    default: valid = buffer(out, format); break;
    }
    return valid ? 2 : 0;
}
