/* decode.c - which format machine words have; the table of opcodes. */
#include "decode.h"

#include <string.h>

static const struct sim_opcode opcodes[] = {
#include "opcodes.inc"
};
#define OPCODE_COUNT (sizeof opcodes / sizeof opcodes[0])

const struct sim_opcode *sim_opcodes(size_t *count)
{
    *count = OPCODE_COUNT;
    return opcodes;
}

/* The table is sorted by format and code; a code that means different things on the chips is there twice. */
const struct sim_opcode *sim_find_opcode(enum sim_chip chip, enum sim_format format, unsigned code)
{
    size_t low = 0, high = OPCODE_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct sim_opcode *opcode = &opcodes[middle];
        if (opcode->format < format || (opcode->format == format && opcode->code < code))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < OPCODE_COUNT && opcodes[low].format == format && opcodes[low].code == code; low++)
        if (opcodes[low].chips >> chip & 1)
            return &opcodes[low];
    return NULL;
}

/* Encodings are told apart by their topmost bits; a longer prefix is taken out of the space of a shorter one. */
static enum sim_format format_of(uint32_t word)
{
    if (word >> 31 == 0) {
        switch (word >> 25) {
        case 0x3E: return SIM_VOPC;
        case 0x3F: return SIM_VOP1;
        default: return SIM_VOP2;
        }
    }
    if (word >> 30 == 2) {
        switch (word >> 23) {
        case 0x17D: return SIM_SOP1;
        case 0x17E: return SIM_SOPC;
        case 0x17F: return SIM_SOPP;
        default: return word >> 28 == 0xB ? SIM_SOPK : SIM_SOP2;
        }
    }
    switch (word >> 26) {
    case 0x30: return SIM_SMEM;
    case 0x34: return word >> 23 == 0x1A7 ? SIM_VOP3P : SIM_VOP3;
    case 0x36: return SIM_DS;
    case 0x37: return SIM_FLAT;
    case 0x38: return SIM_MUBUF;
    case 0x3A: return SIM_MTBUF;
    default: return SIM_FORMATS;
    }
}

static unsigned decode_format(struct sim_instruction *out, enum sim_chip chip, enum sim_format format)
{
    switch (format) {
    case SIM_SOP2:
    case SIM_SOPK:
    case SIM_SOP1:
    case SIM_SOPC:
    case SIM_SOPP: return sim_decode_scalar(out, chip, format);
    case SIM_VOP2:
    case SIM_VOP1:
    case SIM_VOPC: return sim_decode_vector(out, chip, format);
    case SIM_VOP3:
    case SIM_VOP3P: return sim_decode_vop3(out, chip, format);
    case SIM_SMEM:
    case SIM_DS:
    case SIM_FLAT:
    case SIM_MUBUF:
    case SIM_MTBUF: return sim_decode_memory(out, chip, format);
    case SIM_FORMATS: break;
    }
    return 0;
}

size_t sim_decode(struct sim_instruction *out, enum sim_chip chip, const uint32_t *words, size_t count)
{
    memset(out, 0, sizeof *out);
    out->dst = out->sdst = SIM_NO_OPERAND;
    out->src[0] = out->src[1] = out->src[2] = SIM_NO_OPERAND;
    if (count == 0)
        return 0;
    size_t available = count < 4 ? count : 4;
    memcpy(out->words, words, available * sizeof words[0]);
    unsigned length = decode_format(out, chip, format_of(words[0]));
    if (length == 0 || length > available)
        return 0;
    for (unsigned i = length; i < 4; i++)
        out->words[i] = 0;
    out->bytes = (uint8_t)(length * 4);
    return out->bytes;
}
