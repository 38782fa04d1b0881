/* sass.h - what an instruction of NVIDIA's machine code names: operands, and which registers it reads and writes.
 *
 * As far as it takes to follow an event's few values. Registers have one numbering: R0 to R254, then uniform ones, predicates and
 * uniform predicates. RZ, URZ, PT and UPT are none.
 */
#ifndef LINT_SASS_H
#define LINT_SASS_H

#include "code.h"

enum { SASS_UNIFORM = 256, SASS_PREDICATE = 512, SASS_UNIFORM_PREDICATE = 544, SASS_ZERO = 600 };
enum { SASS_OPERANDS = 16, SASS_USES = 40 };

enum sass_kind {
    SASS_REGISTER,  /* `number`; SASS_ZERO of all that are constant */
    SASS_IMMEDIATE, /* `value` */
    SASS_CONSTANT,  /* c[`number`][`value`] */
    SASS_MEMORY,    /* an address of at most two registers: `number`, `second` */
    SASS_OTHER
};
struct sass_operand {
    enum sass_kind kind;
    uint32_t number, second;
    int64_t value;
    bool is_pair; /* an address or value of 64 bits */
    bool is_predicate;
};

int sass_operands(struct sass_operand out[SASS_OPERANDS], const struct lint_instruction *instruction);
/* "IMAD" of "IMAD.MOV.U32", and whether there is a modifier ".MOV". */
bool sass_is(const struct lint_instruction *instruction, const char *base);
bool sass_has(const struct lint_instruction *instruction, const char *modifier);
/* The operand that a guard is: SASS_ZERO where there is none. */
uint32_t sass_guard(const struct lint_instruction *instruction);
bool sass_writes(const struct lint_instruction *instruction, uint32_t reg);
int sass_uses(uint32_t out[SASS_USES], const struct lint_instruction *instruction);
enum lint_weight sass_weight(const struct lint_instruction *instruction);

/* ---- Values: sass_values.c ----------------------------------------------------------------------------------------- */

/* The write of `reg` that `at` sees, where only one way leads there; LINT_NONE: it is not clear. */
uint32_t sass_find_write(const struct lint_code *code, uint32_t at, uint32_t reg);
/* A move of one value: its operand. NULL: it is none. */
const struct sass_operand *sass_moved(struct sass_operand operands[SASS_OPERANDS],
                                      const struct lint_instruction *instruction);
bool sass_is_clock_read(const struct lint_instruction *instruction);
/* The clock read that `reg` has at `at`, through moves; LINT_NONE. */
uint32_t sass_find_clock(const struct lint_code *code, uint32_t at, uint32_t reg);

/* The low 16 bits of a value, and the register that was shifted out of their way by 16 bits: a token. */
struct sass_word {
    bool known;
    uint16_t low;
    uint32_t token_register, token_at; /* LINT_NONE: none */
};
struct sass_word sass_evaluate(const struct lint_code *code, uint32_t at, uint32_t reg);

#endif
