/* disassemble.h - between disassemble.c and the text of formats. */
#ifndef SIM_ISA_DISASSEMBLE_H
#define SIM_ISA_DISASSEMBLE_H

#include "isa.h"

/* Text that is cut off where its room ends, but counted in full. */
struct sim_text {
    char *start;
    size_t bytes, length;
};

void sim_text_add(struct sim_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An operand of `dwords` registers; `kind`, an enum sim_source_type, says how constants look. */
void sim_text_operand(struct sim_text *text, const struct sim_instruction *instruction, unsigned code, unsigned dwords,
                      unsigned kind);
/* A 32-bit constant that is not an operand, as an operand with its value would look. */
void sim_text_constant(struct sim_text *text, uint32_t value);
/* " name:[1,0,1]" of the lowest `count` bits. */
void sim_text_bits(struct sim_text *text, const char *name, unsigned bits, unsigned count);

/* What follows the mnemonic, from the space before the first operand on. */
void sim_text_scalar(struct sim_text *text, const struct sim_instruction *instruction);
void sim_text_vector(struct sim_text *text, const struct sim_instruction *instruction);
void sim_text_memory(struct sim_text *text, const struct sim_instruction *instruction);

#endif
