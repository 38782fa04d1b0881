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

enum { DEPTH = 12 };

/* What is known of an event besides. */
struct found {
    uint32_t store;
    uint32_t first,
        last; /* where the predicate that elects is readable: from `first` to `last`, not with it; none of a branch */
    struct sass_word word;
};

struct finder {
    struct lint_code *code;
    const struct lint_sites *sites;
    const struct lint_elf *elf;
    struct lint_section constants, relocations; /* of bank 4, which has addresses */
    struct lint_symbols symbols;
    struct found *found; /* of event i */
    size_t found_capacity;
};

/* ---- Annotations in global memory ---------------------------------------------------------------------------------- */

/* What a constant of bank 4 is the address of: a place in global memory. */
static bool find_address(uint64_t *out, const struct finder *finder, int64_t offset)
{
    struct lint_relocation relocation;
    struct lint_symbol symbol;
    struct lint_section target;
    for (uint64_t i = 0; lint_elf_relocation(&relocation, &finder->relocations, i); i++) {
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
        at = sass_find_write(code, at, reg);
        if (at == LINT_NONE)
            return NULL;
        const struct sass_operand *from = sass_moved(operands, &code->items[at]);
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
        if (instruction->event != LINT_NONE || instruction->weight != LINT_CHEAP || sass_is_clock_read(instruction) ||
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
    const struct sass_operand *value = sass_moved(operands, instruction);
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

/* All that is done in the lane that leads only, and the clock. */
static void own_core(struct finder *finder, uint32_t event)
{
    const struct found *found = &finder->found[event];
    const struct lint_code *code = finder->code;
    const uint32_t guard = sass_guard(&code->items[found->store]);
    own(finder, code->events[event].clock, event);
    own(finder, found->store, event);
    for (uint32_t i = found->first; i < found->last; i++)
        if (reads(&code->items[i], guard))
            own(finder, i, event);
}

/* A start's token: its clock, made odd. */
static void own_token(struct finder *finder, uint32_t event)
{
    const struct lint_code *code = finder->code;
    const uint32_t clock = code->events[event].clock;
    struct sass_operand operands[SASS_OPERANDS];
    const uint32_t reg = sass_operands(operands, &code->items[clock]) > 0 ? operands[0].number : SASS_ZERO;
    for (uint32_t i = clock + 1; i < code->count && !starts_block(code, i); i++) {
        if (sass_is(&code->items[i], "LOP3") && reads(&code->items[i], reg) &&
            strstr(code->items[i].operands, " 0x1, RZ, 0xfc"))
            own(finder, i, event);
        if (sass_writes(&code->items[i], reg))
            break;
    }
}

/* Of a store behind the event's own: its address, and what brings its value there. */
static void own_payload(struct finder *finder, uint32_t at, uint32_t event)
{
    struct sass_operand operands[SASS_OPERANDS];
    if (sass_operands(operands, &finder->code->items[at]) < 2 || operands[0].kind != SASS_MEMORY)
        return;
    own_value(finder, at, operands[0].number, event, 0);
    if (operands[0].number != SASS_ZERO)
        own_value(finder, at, operands[0].number + 1, event, 0);
    own_moves(finder, at, operands[1].number, event);
    own_moves(finder, at, operands[1].number + 1, event);
}

/* What the event's instructions read, once the core of every event is known. */
static void own_operands(struct finder *finder, uint32_t event)
{
    const struct lint_code *code = finder->code;
    const struct found *found = &finder->found[event];
    const uint32_t clock = code->events[event].clock;
    const uint32_t first = found->first < found->last && found->first < clock ? found->first : clock;
    const uint32_t last = found->last > found->store ? found->last : found->store + 1;
    for (uint32_t i = first; i < last; i++) {
        uint32_t uses[SASS_USES];
        if (code->items[i].event != event)
            continue;
        if (is_store(&code->items[i]) && i != found->store) {
            own_payload(finder, i, event);
            continue;
        }
        const int count = sass_uses(uses, &code->items[i]);
        for (int k = 0; k < count; k++)
            own_value(finder, i, uses[k], event, 0);
    }
}

/* ---- Waits --------------------------------------------------------------------------------------------------------- */

/* The predicate that a comparison is combined with. */
static uint32_t condition_of(const struct lint_instruction *comparison)
{
    struct sass_operand operands[SASS_OPERANDS];
    const int count = sass_operands(operands, comparison);
    return count > 0 && operands[count - 1].is_predicate ? operands[count - 1].number : SASS_ZERO;
}

/* KTRACE_WAIT is no work of the kernel's: a PMTRIG that triggers nothing, and the comparisons that decide whether it is executed. */
static void hide_waits(struct lint_code *code)
{
    for (uint32_t i = 0; i < code->count; i++) {
        uint32_t at = i, predicate = sass_guard(&code->items[i]);
        if (!sass_is(&code->items[i], "PMTRIG") || strcmp(code->items[i].operands, "0x0") != 0)
            continue;
        code->items[i].weight = LINT_IDLE;
        while (predicate != SASS_ZERO && (at = find_write_in_block(code, at, predicate)) != LINT_NONE &&
               (sass_is(&code->items[at], "ISETP") || sass_is(&code->items[at], "UISETP"))) {
            code->items[at].weight = LINT_IDLE;
            predicate = condition_of(&code->items[at]);
        }
    }
}

/* ---- Finding them -------------------------------------------------------------------------------------------------- */

/* Where the predicate that guards `store` has the value that it has there. */
static void find_span(struct found *found, const struct lint_code *code, uint32_t store)
{
    const uint32_t guard = sass_guard(&code->items[store]);
    const uint32_t written = guard == SASS_ZERO ? LINT_NONE : find_write_in_block(code, store, guard);
    found->store = store;
    found->first = found->last = 0;
    if (written == LINT_NONE)
        return;
    found->first = found->last = written + 1;
    while (found->last < code->count && !starts_block(code, found->last) &&
           !sass_writes(&code->items[found->last++], guard)) /* which may read it, too */
        ;
}

/* The store of the descriptor's address, which an event has besides that cannot name its annotation by 16 bits. */
static const struct lint_site *find_second_store(const struct finder *finder, const struct found *found)
{
    const struct lint_code *code = finder->code;
    const uint32_t guard = sass_guard(&code->items[found->store]);
    struct sass_operand operands[SASS_OPERANDS];
    for (uint32_t i = found->first; i < found->last; i++) {
        const struct lint_instruction *instruction = &code->items[i];
        if (i == found->store || !is_store(instruction) || !sass_has(instruction, ".64") ||
            sass_guard(instruction) != guard || sass_operands(operands, instruction) < 2 ||
            operands[1].kind != SASS_REGISTER)
            continue;
        const struct lint_site *site = find_wide_site(finder, i, operands[1].number);
        if (site)
            return site;
    }
    return NULL;
}

static int add(struct finder *finder, const struct lint_event *event, const struct found *found)
{
    struct lint_code *code = finder->code;
    int status =
        kt_array_reserve(&finder->found, &finder->found_capacity, code->event_count + 1, sizeof *finder->found);
    if (status == KTRACE_OK)
        status = lint_add_event(code, event);
    if (status == KTRACE_OK)
        finder->found[code->event_count - 1] = *found;
    return status;
}

static int look_at_store(struct finder *finder, uint32_t store)
{
    const struct lint_code *code = finder->code;
    struct sass_operand operands[SASS_OPERANDS];
    struct found found;
    const struct lint_instruction *instruction = &code->items[store];
    if (!is_store(instruction) || !sass_has(instruction, ".64") || sass_operands(operands, instruction) < 2 ||
        operands[1].kind != SASS_REGISTER || operands[1].number >= SASS_UNIFORM - 2)
        return KTRACE_OK;
    const uint32_t clock = sass_find_clock(code, store, operands[1].number);
    if (clock == LINT_NONE)
        return KTRACE_OK;
    find_span(&found, code, store);
    found.word = sass_evaluate(code, store, operands[1].number + 1);
    const struct lint_site *site = NULL;
    if (found.word.known)
        site = found.word.low == KTRACE_SITE_WIDE ? find_second_store(finder, &found)
                                                  : lint_find_site(finder->sites, found.word.low, false);
    return site ? add(finder, &(struct lint_event){.site = site, .clock = clock}, &found) : KTRACE_OK;
}

/* Whether the lane that stores a clock is elected before it is read, as events do. */
static bool looks_elected(const struct lint_code *code, uint32_t clock)
{
    for (uint32_t i = clock; i > 0 && i + 12 > clock; i--)
        if (sass_is(&code->items[i - 1], "LOP3") && code->items[i - 1].operands[0] == 'P')
            return true;
    return false;
}

/* Events that none was found for: a debug build loads what names the annotation from memory. */
static uint32_t count_unnamed(const struct lint_code *code)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < code->count; i++) {
        const struct lint_instruction *instruction = &code->items[i];
        const bool has_32_bits = !sass_is(instruction, "CS2R") || sass_has(instruction, ".32");
        count +=
            instruction->event == LINT_NONE && sass_is_clock_read(instruction) && has_32_bits && looks_elected(code, i);
    }
    return count;
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
        !lint_elf_find_relocations(&finder.relocations, elf, finder.constants.index))
        finder.relocations = (struct lint_section){0};
    code->begins_wave = has_wave_magic(code);
    for (uint32_t i = 0; i < code->count && status == KTRACE_OK; i++)
        status = look_at_store(&finder, i);
    for (uint32_t i = 0; i < code->event_count; i++)
        own_core(&finder, i);
    for (uint32_t i = 0; i < code->event_count; i++)
        own_token(&finder, i);
    for (uint32_t i = 0; i < code->event_count; i++)
        own_operands(&finder, i);
    hide_waits(code);
    code->unnamed = count_unnamed(code);
    for (uint32_t i = 0; i < code->event_count && status == KTRACE_OK; i++)
        if (code->events[i].site->kind == KTRACE_KIND_STOP || code->events[i].site->kind == KTRACE_KIND_NEXT)
            status = lint_find_sass_starts(code, &code->events[i], &finder.found[i].word);
    free(finder.found);
    return status;
}
