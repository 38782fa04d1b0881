/* decode.h - between decode.c and the decoders of formats. */
#ifndef SIM_ISA_DECODE_H
#define SIM_ISA_DECODE_H

#include "isa.h"

/* `count` bits of a word from bit `first` on. */
static inline uint32_t sim_bits(uint32_t word, unsigned first, unsigned count)
{
    return word >> first & ((1u << count) - 1);
}

static inline int32_t sim_sign_extend(uint32_t value, unsigned bits)
{
    uint32_t sign = 1u << (bits - 1);
    return (int32_t)((value ^ sign) - sign);
}

/* The opcode of a number of a format on a chip, or NULL. */
const struct sim_opcode *sim_find_opcode(enum sim_chip chip, enum sim_format format, unsigned code);

/* Word i without the bits that mean nothing to the opcode. */
static inline uint32_t sim_word(const struct sim_instruction *instruction, unsigned i)
{
    return instruction->words[i] & ~instruction->opcode->words[i].ignored;
}

/* The first `count` words have no bit that must be 0. */
static inline int sim_reserved_is_zero(const struct sim_instruction *instruction, unsigned count)
{
    uint32_t wrong = 0;
    for (unsigned i = 0; i < count; i++)
        wrong |= instruction->words[i] & instruction->opcode->words[i].zero;
    return wrong == 0;
}

/* Whether the operands may be what they are, decode_valid.c: sources by the opcode's kinds, vector registers by number and
 * alignment. Pairs of scalar registers lose their lowest bit, as the hardware ignores it. */
int sim_operands_valid(struct sim_instruction *instruction);
int sim_source_valid(struct sim_instruction *instruction, unsigned i);
/* One scalar register operand (a destination, or a source that can be nothing else) of `dwords`. */
int sim_scalar_valid(uint16_t *operand, unsigned dwords);
/* One vector register operand of `dwords`. */
int sim_vector_valid(uint16_t operand, unsigned dwords);

/* Each fills in what its formats have; words[] of the instruction are those that there are, 0 past them. The opcode is set
 * by it. Returns the number of words, which may be more than there are, or 0. */
unsigned sim_decode_scalar(struct sim_instruction *out, enum sim_chip chip, enum sim_format format);
unsigned sim_decode_vector(struct sim_instruction *out, enum sim_chip chip, enum sim_format format);
unsigned sim_decode_vop3(struct sim_instruction *out, enum sim_chip chip, enum sim_format format);
unsigned sim_decode_memory(struct sim_instruction *out, enum sim_chip chip, enum sim_format format);

#endif
