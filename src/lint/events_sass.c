/* Events of NVIDIA's machine code. nvidia_event.h says what they are in PTX; ptxas chooses instructions and mixes them with the
 * kernel's own. What is left of an event in any order is this:
 *
 *     @!P0 STG.E.64 [R4], R8       R8 has a clock read, the low 16 bits of R9 are a constant: where the descriptor is
 *
 * All else follows values from there: P0 is the election's, R4 the address, what is guarded by the same P0 are the payload's store
 * and the count.
 */
#include "events.h"
#include "sass.h"

#include "../array.h"
#include "ktrace/record.h"

enum { DEPTH = 12, MOST_STARTS = 64, MOST_SEEN = 4096 };

struct finder {
    struct lint_code *code;
    const struct lint_sites *sites;
    const struct lint_elf *elf;
    struct lint_section constants, constants_relocations; /* of bank 4, which has addresses */
    struct lint_symbols symbols;
    uint32_t *token_at, *token_register; /* of event i: where its word was made of which register; LINT_NONE: of none */
    size_t token_capacity;
};

/* ---- Values -------------------------------------------------------------------------------------------------------- */

/* The write of `reg` that `at` sees, where only one way leads there; LINT_NONE: it is not clear. */
static uint32_t find_write(const struct lint_code *code, uint32_t at, uint32_t reg)
{
    for (uint32_t before = lint_only_source(code, at), steps = 0; before != LINT_NONE && steps < MOST_SEEN;
         before = lint_only_source(code, before), steps++) {
        const struct lint_instruction *instruction = &code->items[before];
        if (instruction->calls)
            return LINT_NONE;
        if (sass_writes(instruction, reg))
            return before;
    }
    return LINT_NONE;
}

/* A move of one value: its operand. */
static const struct sass_operand *moved(struct sass_operand operands[SASS_OPERANDS],
                                        const struct lint_instruction *from)
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

static bool is_clock_read(const struct lint_instruction *instruction)
{
    return strstr(instruction->operands, "SR_CLOCKLO") &&
           (sass_is(instruction, "CS2R") || sass_is(instruction, "S2R") || sass_is(instruction, "S2UR") ||
            sass_is(instruction, "CS2UR"));
}

/* The clock read that `reg` has at `at`, through moves. */
static uint32_t find_clock(const struct lint_code *code, uint32_t at, uint32_t reg)
{
    for (int depth = 0; depth < DEPTH; depth++) {
        struct sass_operand operands[SASS_OPERANDS];
        at = find_write(code, at, reg);
        if (at == LINT_NONE)
            return LINT_NONE;
        if (is_clock_read(&code->items[at])) /* of 64 bits, too, the register that was asked for must be the low one */
            return sass_operands(operands, &code->items[at]) > 0 && operands[0].number == reg ? at : LINT_NONE;
        const struct sass_operand *from = moved(operands, &code->items[at]);
        if (!from || from->kind != SASS_REGISTER || from->number == SASS_ZERO)
            return LINT_NONE;
        reg = from->number;
    }
    return LINT_NONE;
}

/* The low 16 bits of a value, and the register that was shifted out of their way by 16 bits: a token. */
struct word {
    bool known;
    uint16_t low;
    uint32_t token_register, token_at; /* LINT_NONE: none */
};

static const struct word unknown = {false, 0, LINT_NONE, LINT_NONE};

static struct word constant(int64_t value)
{
    return (struct word){true, (uint16_t)value, LINT_NONE, LINT_NONE};
}

static struct word evaluate(const struct lint_code *code, uint32_t at, uint32_t reg, int depth);

static struct word evaluate_operand(const struct lint_code *code, uint32_t at, const struct sass_operand *operand,
                                    int depth)
{
    if (operand->kind == SASS_IMMEDIATE)
        return constant(operand->value);
    if (operand->kind != SASS_REGISTER || operand->is_predicate)
        return unknown;
    return operand->number == SASS_ZERO ? constant(0) : evaluate(code, at, operand->number, depth + 1);
}

static struct word sum(struct word a, struct word b)
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
static struct word shifted(uint32_t at, const struct sass_operand *operand, uint64_t by)
{
    struct word result = by == 13 || by == 16 ? constant(0) : unknown;
    if (by == 16 && operand->kind == SASS_REGISTER && operand->number != SASS_ZERO) {
        result.token_register = operand->number;
        result.token_at = at;
    }
    return result;
}

static struct word evaluate(const struct lint_code *code, uint32_t at, uint32_t reg, int depth)
{
    struct sass_operand operands[SASS_OPERANDS], *o = operands;
    at = depth < DEPTH ? find_write(code, at, reg) : LINT_NONE;
    if (at == LINT_NONE)
        return unknown;
    const struct lint_instruction *from = &code->items[at];
    const struct sass_operand *value = moved(operands, from);
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

/* ---- Annotations in global memory ---------------------------------------------------------------------------------- */

/* What a constant of bank 4 is the address of: a place in global memory. */
static bool find_address(uint64_t *out, const struct finder *finder, int64_t offset)
{
    struct lint_relocation relocation;
    struct lint_symbol symbol;
    struct lint_section target;
    for (uint64_t i = 0; lint_elf_relocation(&relocation, &finder->constants_relocations, i); i++) {
        if (relocation.offset != (uint64_t)offset || !lint_elf_symbol(&symbol, &finder->symbols, relocation.symbol) ||
            !lint_elf_section(&target, finder->elf, symbol.section) || strcmp(target.name, ".nv.global.init") != 0)
            continue;
        *out = symbol.value + (uint64_t)relocation.addend;
        return true;
    }
    return false;
}

/* The descriptor whose address `reg` and the next one have. */
static const struct lint_site *find_wide_site(const struct finder *finder, uint32_t at, uint32_t reg)
{
    const struct lint_code *code = finder->code;
    for (int depth = 0; depth < DEPTH; depth++) {
        struct sass_operand operands[SASS_OPERANDS];
        uint64_t address;
        at = find_write(code, at, reg);
        if (at == LINT_NONE)
            return NULL;
        const struct sass_operand *from = moved(operands, &code->items[at]);
        if (!from && (sass_is(&code->items[at], "LDC") || sass_is(&code->items[at], "ULDC") ||
                      sass_is(&code->items[at], "LDCU")))
            from = sass_operands(operands, &code->items[at]) >= 2 ? &operands[1] : NULL;
        if (from && from->kind == SASS_CONSTANT && from->number == 4)
            return find_address(&address, finder, from->value) ? lint_find_site(finder->sites, address, true) : NULL;
        if (!from || from->kind != SASS_REGISTER || from->number == SASS_ZERO)
            return NULL;
        reg = from->number;
    }
    return NULL;
}

/* ---- Which instructions are an event's ----------------------------------------------------------------------------- */

static bool starts_block(const struct lint_code *code, uint32_t at)
{
    return at == 0 || lint_only_source(code, at) != at - 1 || code->items[at - 1].target_count > 0;
}

/* The write of `reg` before `at` in the same block. */
static uint32_t find_write_in_block(const struct lint_code *code, uint32_t at, uint32_t reg)
{
    while (!starts_block(code, at) && !code->items[at - 1].calls)
        if (sass_writes(&code->items[--at], reg))
            return at;
    return LINT_NONE;
}

static bool reads(const struct lint_instruction *instruction, uint32_t reg)
{
    uint32_t uses[SASS_USES];
    const int count = sass_uses(uses, instruction);
    for (int i = 0; i < count; i++)
        if (uses[i] == reg)
            return true;
    return false;
}

/* Whether all that reads what `at` writes to `reg`, up to the end of the block, are events'. */
static bool is_for_events(const struct lint_code *code, uint32_t at, uint32_t reg)
{
    for (uint32_t i = at + 1; i < code->count && !starts_block(code, i); i++) {
        const struct lint_instruction *reader = &code->items[i];
        if (reader->event == LINT_NONE && reads(reader, reg))
            return false;
        if (sass_writes(reader, reg) && !*reader->guard)
            return true;
    }
    return true;
}

static void own(struct finder *finder, uint32_t at, uint32_t event)
{
    struct lint_instruction *instruction = &finder->code->items[at];
    if (instruction->event != LINT_NONE)
        return;
    instruction->event = event;
    finder->code->events[event].instructions++;
    finder->code->events[event].bytes += instruction->bytes;
}

/* Takes what computes an operand of an event's and nothing else. */
static void own_value(struct finder *finder, uint32_t at, uint32_t reg, uint32_t event, int depth)
{
    const struct lint_code *code = finder->code;
    if (reg == SASS_ZERO || depth > DEPTH)
        return;
    for (uint32_t from = at; (from = find_write_in_block(code, from, reg)) != LINT_NONE;) {
        const struct lint_instruction *instruction = &code->items[from];
        uint32_t uses[SASS_USES];
        if (instruction->event != LINT_NONE || instruction->weight != LINT_CHEAP || is_clock_read(instruction) ||
            !is_for_events(code, from, reg))
            return;
        own(finder, from, event);
        const int count = sass_uses(uses, instruction);
        for (int i = 0; i < count; i++)
            own_value(finder, from, uses[i], event, depth + 1);
        if (!*instruction->guard)
            return; /* else what was there before is seen, too */
    }
}

/* The moves that bring a payload or an address of a descriptor to its store, but not what computes them: that is the user's. */
static void own_moves(struct finder *finder, uint32_t at, uint32_t reg, uint32_t event)
{
    struct sass_operand operands[SASS_OPERANDS];
    const uint32_t from = find_write_in_block(finder->code, at, reg);
    if (from == LINT_NONE)
        return;
    const struct lint_instruction *instruction = &finder->code->items[from];
    const struct sass_operand *value = moved(operands, instruction);
    if (!value && sass_is(instruction, "LDC") && sass_operands(operands, instruction) >= 2)
        value = &operands[1];
    if (value &&
        (value->kind == SASS_IMMEDIATE || value->kind == SASS_REGISTER ||
         (value->kind == SASS_CONSTANT && value->number == 4)) &&
        is_for_events(finder->code, from, reg))
        own(finder, from, event);
}

static bool is_store(const struct lint_instruction *instruction)
{
    return sass_is(instruction, "STG") || sass_is(instruction, "ST");
}

/* What is left of an event once its store and its clock are known. `guard`: the predicate that elects, SASS_ZERO where a branch
 * around the store does. */
static void own_event(struct finder *finder, uint32_t store, uint32_t event)
{
    struct lint_code *code = finder->code;
    struct sass_operand operands[SASS_OPERANDS];
    const uint32_t guard = sass_guard(&code->items[store]);
    const uint32_t clock = code->events[event].clock;
    own(finder, clock, event);
    own(finder, store, event);
    const uint32_t elected = guard == SASS_ZERO ? LINT_NONE : find_write_in_block(code, store, guard);
    for (uint32_t i = elected == LINT_NONE ? store : elected + 1; i < code->count && elected != LINT_NONE; i++) {
        const struct lint_instruction *instruction = &code->items[i];
        if (starts_block(code, i))
            break;
        if (reads(instruction, guard))
            own(finder, i, event);
        if (sass_writes(instruction, guard))
            break;
    }
    /* A start's token: its clock, made odd. */
    for (uint32_t i = clock + 1; i < code->count && !starts_block(code, i); i++) {
        const int count = sass_operands(operands, &code->items[clock]);
        const uint32_t reg = count > 0 ? operands[0].number : SASS_ZERO;
        if (sass_is(&code->items[i], "LOP3") && reads(&code->items[i], reg) &&
            strstr(code->items[i].operands, " 0x1, RZ, 0xfc"))
            own(finder, i, event);
        if (sass_writes(&code->items[i], reg))
            break;
    }
    /* What all of these read; of a store behind the event's own its address only. */
    for (uint32_t i = 0; i < code->count; i++) {
        uint32_t uses[SASS_USES];
        if (i < (elected == LINT_NONE ? clock : elected < clock ? elected : clock))
            continue;
        if (i > store && starts_block(code, i))
            break;
        if (code->items[i].event != event)
            continue;
        if (is_store(&code->items[i]) && i != store) {
            const int count = sass_operands(operands, &code->items[i]);
            if (count >= 2 && operands[0].kind == SASS_MEMORY) {
                own_value(finder, i, operands[0].number, event, 0);
                own_value(finder, i, operands[0].number == SASS_ZERO ? SASS_ZERO : operands[0].number + 1, event, 0);
                own_moves(finder, i, operands[1].number, event);
                own_moves(finder, i, operands[1].number + 1, event);
            }
            continue;
        }
        const int count = sass_uses(uses, &code->items[i]);
        for (int k = 0; k < count; k++)
            own_value(finder, i, uses[k], event, 0);
    }
    if (elected != LINT_NONE)
        own_value(finder, store, guard, event, 0);
}

/* ---- Finding them -------------------------------------------------------------------------------------------------- */

/* The store of the descriptor's address, behind that of an event that has one. */
static const struct lint_site *find_site_behind(const struct finder *finder, uint32_t store)
{
    const struct lint_code *code = finder->code;
    const char *guard = code->items[store].guard;
    struct sass_operand operands[SASS_OPERANDS];
    /* ptxas may put it in front of the event's own, too */
    for (uint32_t i = store > 16 ? store - 16 : 0; i < code->count && i < store + 32; i++) {
        const struct lint_instruction *instruction = &code->items[i];
        if (i == store || !is_store(instruction) || !sass_has(instruction, ".64") ||
            strcmp(instruction->guard, guard) != 0 || sass_operands(operands, instruction) < 2 ||
            operands[1].kind != SASS_REGISTER)
            continue;
        const struct lint_site *site = find_wide_site(finder, i, operands[1].number);
        if (site)
            return site;
    }
    return NULL;
}

/* Whether a store that has a clock is elected as events are: a debug build loads its word from memory. */
static bool looks_elected(const struct lint_code *code, uint32_t clock)
{
    for (uint32_t i = clock; i > 0 && i + 12 > clock; i--)
        if (sass_is(&code->items[i - 1], "LOP3") && strncmp(code->items[i - 1].operands, "P", 1) == 0)
            return true;
    return false;
}

static int remember_token(struct finder *finder, const struct word *word)
{
    const size_t count = finder->code->event_count;
    uint32_t *both;
    size_t capacity = finder->token_capacity;
    if (count > capacity) {
        capacity = capacity ? capacity * 2 : 64;
        both = realloc(finder->token_at, capacity * sizeof *both);
        if (both)
            finder->token_at = both;
        uint32_t *other = realloc(finder->token_register, capacity * sizeof *other);
        if (other)
            finder->token_register = other;
        if (!both || !other)
            return kt_fail_memory(capacity * sizeof *other);
        finder->token_capacity = capacity;
    }
    finder->token_at[count - 1] = word->token_at;
    finder->token_register[count - 1] = word->token_register;
    return KTRACE_OK;
}

static int look_at_store(struct finder *finder, uint32_t store)
{
    struct lint_code *code = finder->code;
    struct sass_operand operands[SASS_OPERANDS];
    const struct lint_instruction *instruction = &code->items[store];
    if (!is_store(instruction) || !sass_has(instruction, ".64") || sass_operands(operands, instruction) < 2 ||
        operands[1].kind != SASS_REGISTER || operands[1].number >= SASS_UNIFORM - 2)
        return KTRACE_OK;
    const uint32_t clock = find_clock(code, store, operands[1].number);
    if (clock == LINT_NONE)
        return KTRACE_OK;
    const struct word word = evaluate(code, store, operands[1].number + 1, 0);
    const struct lint_site *site = NULL;
    if (word.known)
        site = word.low == KTRACE_SITE_WIDE ? find_site_behind(finder, store)
                                            : lint_find_site(finder->sites, word.low, false);
    if (!site) {
        code->unnamed += looks_elected(code, clock);
        return KTRACE_OK;
    }
    const struct lint_event event = {.site = site, .clock = clock};
    int status = lint_add_event(code, &event);
    if (status == KTRACE_OK)
        status = remember_token(finder, &word);
    if (status == KTRACE_OK)
        own_event(finder, store, (uint32_t)code->event_count - 1);
    return status;
}

/* ---- Tokens -------------------------------------------------------------------------------------------------------- */

/* Registers that are to be followed, each from one place backward. What a branch was taken on holds before it, too: a write with
 * the same guard is one. */
struct step {
    uint32_t at, reg;
    uint32_t guard; /* a predicate; SASS_ZERO: nothing is known */
    bool holds;     /* it does, or it does not */
};
struct trail {
    struct step steps[MOST_SEEN];
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
    if (trail->count < MOST_SEEN)
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
static int look_at_write(struct finder *finder, struct trail *trail, struct lint_event *event, uint32_t at,
                         uint32_t reg)
{
    struct lint_code *code = finder->code;
    struct sass_operand operands[SASS_OPERANDS], *o = operands;
    const struct lint_instruction *write = &code->items[at];
    const struct sass_operand *from = moved(operands, write);
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
        const uint32_t clock = find_clock(code, at, o[1].number), start = event_of_clock(code, clock);
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

static int find_starts(struct finder *finder, uint32_t index)
{
    struct lint_code *code = finder->code;
    struct lint_event *event = &code->events[index];
    static _Thread_local struct trail trail;
    int status = KTRACE_OK;
    trail.count = 0;
    trail.lost = false;
    if (finder->token_register[index] != LINT_NONE)
        follow(&trail, &(struct step){finder->token_at[index], finder->token_register[index], SASS_ZERO, false});
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
                status = look_at_write(finder, &trail, event, before.at, step.reg);
            if (!writes || (guard != SASS_ZERO && !(decided && before.holds == wanted)))
                follow(&trail, &before);
        }
    }
    event->starts_known = !trail.lost && event->start_count <= MOST_STARTS;
    return status;
}

/* ---- All of a function --------------------------------------------------------------------------------------------- */

static bool has_wave_magic(const struct lint_code *code)
{
    for (size_t i = 0; i < code->count; i++)
        if (strstr(code->items[i].operands, "0x5657544b")) /* KTRACE_WAVE_MAGIC */
            return true;
    return false;
}

int lint_find_sass_events(struct lint_code *code, const struct lint_sites *sites, const struct lint_elf *elf)
{
    struct finder finder = {.code = code, .sites = sites, .elf = elf};
    int status = KTRACE_OK;
    lint_elf_symbols(&finder.symbols, elf);
    if (!lint_elf_find(&finder.constants, elf, ".nv.constant4") ||
        !lint_elf_find_relocations(&finder.constants_relocations, elf, finder.constants.index))
        finder.constants_relocations = (struct lint_section){0};
    code->begins_wave = has_wave_magic(code);
    for (uint32_t i = 0; i < code->count && status == KTRACE_OK; i++)
        status = look_at_store(&finder, i);
    for (uint32_t i = 0; i < code->event_count && status == KTRACE_OK; i++)
        if (code->events[i].site->kind == KTRACE_KIND_STOP || code->events[i].site->kind == KTRACE_KIND_NEXT)
            status = find_starts(&finder, i);
    free(finder.token_at);
    free(finder.token_register);
    return status;
}
