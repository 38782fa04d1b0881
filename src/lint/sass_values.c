#include "sass.h"

#include <string.h>

enum { DEPTH = 12, MOST_STEPS = 4096 };

uint32_t sass_find_write(const struct lint_code *code, uint32_t at, uint32_t reg)
{
    for (uint32_t before = lint_only_source(code, at), steps = 0; before != LINT_NONE && steps < MOST_STEPS;
         before = lint_only_source(code, before), steps++) {
        const struct lint_instruction *instruction = &code->items[before];
        if (instruction->calls)
            return LINT_NONE;
        if (sass_writes(instruction, reg))
            return before;
    }
    return LINT_NONE;
}

const struct sass_operand *sass_moved(struct sass_operand operands[SASS_OPERANDS], const struct lint_instruction *from)
{
    const int count = sass_operands(operands, from);
    if ((sass_is(from, "MOV") || sass_is(from, "UMOV") || sass_is(from, "R2UR") || sass_is(from, "MOV32I")) &&
        count >= 2)
        return &operands[1];
    if (sass_is(from, "IMAD") && count == 4 && operands[1].kind == SASS_REGISTER && operands[1].number == SASS_ZERO &&
        operands[2].kind == SASS_REGISTER && operands[2].number == SASS_ZERO)
        return &operands[3];
    return NULL;
}

bool sass_is_clock_read(const struct lint_instruction *instruction)
{
    return strstr(instruction->operands, "SR_CLOCKLO") &&
           (sass_is(instruction, "CS2R") || sass_is(instruction, "S2R") || sass_is(instruction, "S2UR") ||
            sass_is(instruction, "CS2UR"));
}

uint32_t sass_find_clock(const struct lint_code *code, uint32_t at, uint32_t reg)
{
    for (int depth = 0; depth < DEPTH; depth++) {
        struct sass_operand operands[SASS_OPERANDS];
        at = sass_find_write(code, at, reg);
        if (at == LINT_NONE)
            return LINT_NONE;
        if (sass_is_clock_read(
                &code->items[at])) /* of 64 bits, too, the register that was asked for must be the low one */
            return sass_operands(operands, &code->items[at]) > 0 && operands[0].number == reg ? at : LINT_NONE;
        const struct sass_operand *from = sass_moved(operands, &code->items[at]);
        if (!from || from->kind != SASS_REGISTER || from->number == SASS_ZERO)
            return LINT_NONE;
        reg = from->number;
    }
    return LINT_NONE;
}

static const struct sass_word unknown = {false, 0, LINT_NONE, LINT_NONE};

static struct sass_word constant(int64_t value)
{
    return (struct sass_word){true, (uint16_t)value, LINT_NONE, LINT_NONE};
}

static struct sass_word evaluate(const struct lint_code *code, uint32_t at, uint32_t reg, int depth);

static struct sass_word evaluate_operand(const struct lint_code *code, uint32_t at, const struct sass_operand *operand,
                                         int depth)
{
    if (operand->kind == SASS_IMMEDIATE)
        return constant(operand->value);
    if (operand->kind != SASS_REGISTER || operand->is_predicate)
        return unknown;
    return operand->number == SASS_ZERO ? constant(0) : evaluate(code, at, operand->number, depth + 1);
}

static struct sass_word sum(struct sass_word a, struct sass_word b)
{
    if (!a.known || !b.known)
        return unknown;
    a.low = (uint16_t)(a.low + b.low);
    if (a.token_register == LINT_NONE) {
        a.token_register = b.token_register;
        a.token_at = b.token_at;
    }
    return a;
}

/* A count, of which the low three bits are 0, by 13 bits; a token by 16. */
static struct sass_word shifted(uint32_t at, const struct sass_operand *operand, uint64_t by)
{
    struct sass_word result = by == 13 || by == 16 ? constant(0) : unknown;
    if (by == 16 && operand->kind == SASS_REGISTER && operand->number != SASS_ZERO) {
        result.token_register = operand->number;
        result.token_at = at;
    }
    return result;
}

static struct sass_word evaluate(const struct lint_code *code, uint32_t at, uint32_t reg, int depth)
{
    struct sass_operand operands[SASS_OPERANDS], *o = operands;
    at = depth < DEPTH ? sass_find_write(code, at, reg) : LINT_NONE;
    if (at == LINT_NONE)
        return unknown;
    const struct lint_instruction *from = &code->items[at];
    const struct sass_operand *value = sass_moved(operands, from);
    if (value)
        return evaluate_operand(code, at, value, depth);
    int count = sass_operands(operands, from);
    if (count >= 2 && o[1].kind == SASS_REGISTER && o[1].is_predicate) { /* a carry */
        o++;
        count--;
    }
    if ((sass_is(from, "LEA") || sass_is(from, "ULEA")) && count >= 4 && o[3].kind == SASS_IMMEDIATE)
        return sum(shifted(at, &o[1], (uint64_t)o[3].value), evaluate_operand(code, at, &o[2], depth));
    if ((sass_is(from, "IMAD") || sass_is(from, "UIMAD")) && !sass_has(from, ".WIDE") && !sass_has(from, ".HI") &&
        count >= 4) {
        if (o[2].kind != SASS_IMMEDIATE)
            return unknown;
        if (o[2].value == 1)
            return sum(evaluate_operand(code, at, &o[1], depth), evaluate_operand(code, at, &o[3], depth));
        const uint64_t by = o[2].value == 0x2000 ? 13 : o[2].value == 0x10000 ? 16 : 0;
        return sum(shifted(at, &o[1], by), evaluate_operand(code, at, &o[3], depth));
    }
    if ((sass_is(from, "SHF") || sass_is(from, "USHF")) && sass_has(from, ".L") && count >= 3 &&
        o[2].kind == SASS_IMMEDIATE)
        return shifted(at, &o[1], (uint64_t)o[2].value);
    if ((sass_is(from, "VIADD") || sass_is(from, "UVIADD")) && count >= 3)
        return sum(evaluate_operand(code, at, &o[1], depth), evaluate_operand(code, at, &o[2], depth));
    if ((sass_is(from, "IADD3") || sass_is(from, "UIADD3")) && count >= 4 && !sass_has(from, ".X"))
        return sum(
            sum(evaluate_operand(code, at, &o[count - 3], depth), evaluate_operand(code, at, &o[count - 2], depth)),
            evaluate_operand(code, at, &o[count - 1], depth));
    return unknown;
}

struct sass_word sass_evaluate(const struct lint_code *code, uint32_t at, uint32_t reg)
{
    return evaluate(code, at, reg, 0);
}
