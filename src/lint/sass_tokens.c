/* Which starts a stop or a next may end: where the register of its token was written, on every way to it. */
#include "events.h"
#include "sass.h"

#include "../error.h"

#include <string.h>

enum { MOST_STEPS = 4096 };

/* Registers that are to be followed, each from one place backward. What a branch was taken on holds before it, too: a write with
 * the same guard is one. */
struct step {
    uint32_t at, reg;
    uint32_t guard; /* a predicate; SASS_ZERO: nothing is known */
    bool holds;     /* it does, or it does not */
};
struct trail {
    struct step steps[MOST_STEPS];
    uint32_t count;
    bool lost;
};

static void follow(struct trail *trail, const struct step *step)
{
    if (step->reg == SASS_ZERO)
        return;
    for (uint32_t i = 0; i < trail->count; i++) {
        const struct step *seen = &trail->steps[i];
        if (seen->at == step->at && seen->reg == step->reg && seen->guard == step->guard && seen->holds == step->holds)
            return;
    }
    if (trail->count < MOST_STEPS)
        trail->steps[trail->count++] = *step;
    else
        trail->lost = true;
}

static void follow_operand(struct trail *trail, uint32_t at, const struct sass_operand *operand)
{
    if (operand->kind == SASS_REGISTER && !operand->is_predicate)
        follow(trail, &(struct step){at, operand->number, SASS_ZERO, false});
    else if (operand->kind != SASS_IMMEDIATE || operand->value != 0)
        trail->lost = true;
}

static uint32_t event_of_clock(const struct lint_code *code, uint32_t clock)
{
    for (uint32_t i = 0; i < code->event_count; i++)
        if (code->events[i].clock == clock)
            return i;
    return LINT_NONE;
}

/* What a write of a token is: another register's value, both of a choice, none, or the begin of a range. */
static int look_at_write(struct lint_code *code, struct trail *trail, struct lint_event *event, uint32_t at,
                         uint32_t reg)
{
    struct sass_operand operands[SASS_OPERANDS], *o = operands;
    const struct lint_instruction *write = &code->items[at];
    const struct sass_operand *from = sass_moved(operands, write);
    if (from) {
        follow_operand(trail, at, from);
        return KTRACE_OK;
    }
    int count = sass_operands(operands, write);
    if (sass_is(write, "CS2R") && strstr(write->operands, "SRZ"))
        return KTRACE_OK;
    if (count > 0 && o[0].is_predicate) {
        o++;
        count--;
    }
    if (sass_is(write, "SEL") && count >= 3) {
        follow_operand(trail, at, &o[1]);
        follow_operand(trail, at, &o[2]);
    } else if (sass_is(write, "LOP3") && count >= 5 && o[0].number == reg &&
               strstr(write->operands, " 0x1, RZ, 0xfc")) {
        const uint32_t clock = sass_find_clock(code, at, o[1].number), start = event_of_clock(code, clock);
        if (clock == LINT_NONE || start == LINT_NONE) {
            trail->lost = true;
            return KTRACE_OK;
        }
        for (uint32_t i = 0; i < event->start_count; i++)
            if (code->starts[event->first_start + i] == start)
                return KTRACE_OK;
        return lint_add_start(code, event, start);
    } else {
        trail->lost = true;
    }
    return KTRACE_OK;
}

int lint_find_sass_starts(struct lint_code *code, struct lint_event *event, const struct sass_word *word)
{
    static _Thread_local struct trail trail;
    int status = KTRACE_OK;
    trail.count = 0;
    trail.lost = false;
    if (word->token_register != LINT_NONE)
        follow(&trail, &(struct step){word->token_at, word->token_register, SASS_ZERO, false});
    for (uint32_t i = 0; i < trail.count && !trail.lost && status == KTRACE_OK; i++) {
        const struct step step = trail.steps[i];
        trail.lost |=
            code->first_source[step.at] == code->first_source[step.at + 1]; /* from where the function begins */
        for (uint32_t s = code->first_source[step.at]; s < code->first_source[step.at + 1] && status == KTRACE_OK;
             s++) {
            struct step before = step;
            const struct lint_instruction *instruction = &code->items[before.at = code->sources[s]];
            const uint32_t guard = sass_guard(instruction);
            const bool wanted = *instruction->guard != '!', writes = sass_writes(instruction, step.reg);
            trail.lost |= instruction->calls;
            if (instruction->target_count > 0 && guard != SASS_ZERO) {
                before.guard = guard;
                before.holds = (step.at == before.at + 1) != wanted; /* gone on: it was not taken */
            } else if (before.guard != SASS_ZERO && sass_writes(instruction, before.guard)) {
                before.guard = SASS_ZERO;
            }
            const bool decided = guard != SASS_ZERO && guard == before.guard;
            if (writes && !(decided && before.holds != wanted))
                status = look_at_write(code, &trail, event, before.at, step.reg);
            if (!writes || (guard != SASS_ZERO && !(decided && before.holds == wanted)))
                follow(&trail, &before);
        }
    }
    return status;
}
