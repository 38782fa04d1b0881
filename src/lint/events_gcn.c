/* Events of gfx942 and gfx950. Each is one asm statement of amdgcn_event.h, into which no compiler puts anything: its instructions
 * follow each other, and the registers are always the same. A descriptor also says how far its event is from KTRACE_KERNEL. */
#include "events.h"

#include "../array.h"
#include "ktrace/record.h"

enum { MOST_FORM = 12, MOST_SEEN = 4096 };

/* ---- What an event is: amdgcn_event.h ------------------------------------------------------------------------------ */

/* Instructions as "opcode operands"; '*' stands for anything up to what follows it. */
#define CLOCK "s_memrealtime s[76:77]"
#define OFFSET "s_and_b32 s85, s82, s83"
#define INDEX "s_lshr_b32 s86, s82, 3"
#define WAIT "s_waitcnt lgkmcnt(0)"
#define WORD "s_pack_ll_b32_b16 s77, *, *"
#define STORE "s_store_dwordx2 s[76:77], s[80:81], s85 glc"
#define PAYLOAD "s_mov_b64 s[78:79], *"
#define STORE_PAYLOAD "s_store_dwordx4 s[76:79], s[80:81], s85 glc"
#define IF_TOKEN "s_add_u32 s86, s83, 17", "s_cmp_lg_u32 *, 0", "s_cselect_b32 s85, s85, s86", "s_cselect_b32 s86, *, 0"
#define ADVANCE "s_add_u32 s82, s82, *"
#define TOKEN "s_lshl1_add_u32 *, s86, 1"

enum form_kind { PLAIN, START, NEXT, STOP, READ };
struct form {
    enum form_kind kind;
    const char *lines[MOST_FORM];
};
/* The first that fits is it. */
static const struct form forms[] = {
    {START, {INDEX, TOKEN, CLOCK, OFFSET, INDEX, WAIT, WORD, STORE, ADVANCE}},
    {START, {INDEX, TOKEN, CLOCK, OFFSET, INDEX, WAIT, WORD, PAYLOAD, STORE_PAYLOAD, ADVANCE}},
    {PLAIN, {CLOCK, OFFSET, INDEX, WAIT, WORD, STORE, ADVANCE}},
    {PLAIN, {CLOCK, OFFSET, INDEX, WAIT, WORD, PAYLOAD, STORE_PAYLOAD, ADVANCE}},
    {NEXT, {OFFSET, INDEX, WORD, STORE, ADVANCE, TOKEN}},
    {NEXT, {OFFSET, INDEX, WORD, PAYLOAD, STORE_PAYLOAD, ADVANCE, TOKEN}},
    {STOP, {OFFSET, IF_TOKEN, WORD, STORE, ADVANCE}},
    {STOP, {OFFSET, IF_TOKEN, WORD, PAYLOAD, STORE_PAYLOAD, ADVANCE}},
    {READ, {CLOCK, WAIT}},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* Whether `text` is `pattern`, or begins with what is before its '*' and so on. */
static bool fits(const char *pattern, const char *text)
{
    for (; *pattern; pattern++, text++) {
        if (*pattern == '*') {
            if (!pattern[1])
                return *text != 0;
            for (; *text; text++)
                if (fits(pattern + 1, text))
                    return true;
            return false;
        }
        if (*pattern != *text)
            return false;
    }
    return *text == 0;
}

static bool line_fits(const char *pattern, const struct lint_instruction *instruction)
{
    const size_t opcode = strcspn(pattern, " ");
    return strncmp(pattern, instruction->opcode, opcode) == 0 && instruction->opcode[opcode] == 0 &&
           fits(pattern + opcode + (pattern[opcode] == ' '), instruction->operands);
}

/* How many instructions from `at` on are of this form; 0: they are not. */
static uint32_t form_length(const struct form *form, const struct lint_code *code, uint32_t at)
{
    uint32_t length = 0;
    for (; length < MOST_FORM && form->lines[length]; length++)
        if (at + length >= code->count || !line_fits(form->lines[length], &code->items[at + length]))
            return 0;
    return length;
}

/* ---- Annotations --------------------------------------------------------------------------------------------------- */

/* Of a kernel: where KTRACE_KERNEL is, and the module's number of its translation unit's first descriptor. */
struct unit {
    uint64_t begin; /* UINT64_MAX: there is none */
    uint64_t base;
};

/* "s77, lit(0x1), s86", "s77, 1, s86" */
static int64_t site_number(const struct lint_instruction *word)
{
    const char *at = strchr(word->operands, ',');
    at += 1 + strspn(at + 1, " ");
    if (strncmp(at, "lit(", 4) == 0)
        at += 4;
    char *end;
    const int64_t number = strtoll(at, &end, 0);
    return end == at ? -1 : number;
}

/* The operand behind the number. */
static const char *token_of(const struct lint_instruction *word)
{
    const char *at = strrchr(word->operands, ',');
    return at + 1 + strspn(at + 1, " ");
}

/* A descriptor also says where its event is: that must be here. */
static const struct lint_site *find_site(const struct lint_sites *sites, const struct unit *unit, uint64_t address,
                                         int64_t number)
{
    if (number < 0 || unit->begin == UINT64_MAX)
        return NULL;
    const struct lint_site *site = lint_find_site(sites, unit->base + (uint64_t)number, false);
    return site && site->distance == (uint32_t)(address - unit->begin) ? site : NULL;
}

/* KTRACE_KERNEL begins with the address of its translation unit's descriptors: "s_getpc_b64 s[76:77]", "s_add_u32 s76, s76, *". */
static bool is_begin(struct unit *out, const struct lint_code *code, uint32_t at, const struct lint_sites *sites)
{
    if (at + 1 >= code->count || !line_fits("s_getpc_b64 s[76:77]", &code->items[at]) ||
        !line_fits("s_add_u32 s76, s76, *", &code->items[at + 1]))
        return false;
    const struct lint_instruction *add = &code->items[at + 1];
    const char *distance = strrchr(add->operands, ',') + 2;
    if (strncmp(distance, "lit(", 4) == 0)
        distance += 4;
    const uint32_t low =
        (uint32_t)(add->address + (uint32_t)strtoll(distance, NULL, 0)); /* add follows the program counter */
    out->begin = code->items[at].address;
    out->base = (uint32_t)(low - (uint32_t)sites->address) / sizeof(struct ktrace_site);
    return true;
}

/* ---- Clocks that were read before ----------------------------------------------------------------------------------- */

struct finder {
    struct lint_code *code;
    uint32_t *read_at;  /* of instruction i: the clock read that ends there; LINT_NONE */
    const char **token; /* of event i: the register; "": none */
    size_t token_capacity;
};

/* The last clock read on the way to `at`, going back through a loop that looks for the latest token, too. */
static uint32_t find_read(const struct finder *finder, uint32_t at)
{
    const struct lint_code *code = finder->code;
    for (uint32_t i = at; i > 0 && i + 64 > at; i--)
        if (finder->read_at[i - 1] != LINT_NONE)
            return finder->read_at[i - 1];
    return at < code->count ? LINT_NONE : at;
}

/* ---- Registers ------------------------------------------------------------------------------------------------------ */

/* "s5", "v12", and of "s[4:5]" the first; as text of at most 7 characters. */
static bool is_register(const char *text)
{
    return (text[0] == 's' || text[0] == 'v') && text[1] >= '0' && text[1] <= '9';
}

static size_t register_length(const char *text)
{
    return 1 + strspn(text + 1, "0123456789");
}

static bool same_register(const char *a, const char *b)
{
    const size_t length = register_length(a);
    return register_length(b) == length && strncmp(a, b, length) == 0;
}

/* Whose first operand is read. */
static bool has_no_result(const struct lint_instruction *instruction)
{
    static const char *const starts[] = {"s_cmp",          "s_bitcmp", "s_store",   "s_scratch_store",
                                         "s_buffer_store", "s_setreg", "s_set_gpr", "s_setpc",
                                         "ds_write",       "ds_store", "ds_add_u",  "v_cmpx"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(instruction->opcode, starts[i], strlen(starts[i])) == 0)
            return true;
    return strstr(instruction->opcode, "_store_") ||
           (strstr(instruction->opcode, "_atomic_") && !strstr(instruction->operands, "glc") &&
            !strstr(instruction->operands, "sc0"));
}

static bool writes(const struct lint_instruction *instruction, const char *reg)
{
    const char *first = instruction->operands;
    if (has_no_result(instruction))
        return false;
    if (is_register(first))
        return same_register(first, reg);
    if (first[0] == *reg && first[1] == '[') {
        char *end;
        const unsigned long low = strtoul(first + 2, &end, 10), high = *end == ':' ? strtoul(end + 1, NULL, 10) : low;
        const unsigned long number = strtoul(reg + 1, NULL, 10);
        return number >= low && number <= high;
    }
    return false;
}

/* Operand `index`, counted from 0; "" where there is none. */
static const char *operand(const struct lint_instruction *instruction, int index)
{
    const char *at = instruction->operands;
    for (; index > 0 && at; index--)
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    return at ? at + strspn(at, " ") : "";
}

/* ---- Tokens -------------------------------------------------------------------------------------------------------- */

struct trail {
    struct {
        uint32_t at;
        const char *reg;
    } steps[MOST_SEEN];
    uint32_t count;
    bool lost;
};

static void follow(struct trail *trail, uint32_t at, const char *reg)
{
    if (!is_register(reg)) {
        trail->lost |= strcmp(reg, "0") != 0 && strncmp(reg, "0,", 2) != 0; /* 0: there is no token */
        return;
    }
    for (uint32_t i = 0; i < trail->count; i++)
        if (trail->steps[i].at == at && same_register(trail->steps[i].reg, reg))
            return;
    if (trail->count == MOST_SEEN) {
        trail->lost = true;
        return;
    }
    trail->steps[trail->count].at = at;
    trail->steps[trail->count++].reg = reg;
}

static bool is(const struct lint_instruction *instruction, const char *base)
{
    return strncmp(instruction->opcode, base, strlen(base)) == 0;
}

static int look_at_write(struct trail *trail, struct lint_code *code, struct lint_event *event, uint32_t at)
{
    const struct lint_instruction *write = &code->items[at];
    if (write->event != LINT_NONE && is(write, "s_lshl1_add_u32")) {
        for (uint32_t i = 0; i < event->start_count; i++)
            if (code->starts[event->first_start + i] == write->event)
                return KTRACE_OK;
        return lint_add_start(code, event, write->event);
    }
    if (is(write, "s_mov_b32") || is(write, "v_mov_b32") || is(write, "v_readfirstlane_b32") ||
        is(write, "v_readlane_b32")) {
        follow(trail, at, operand(write, 1));
    } else if (is(write, "s_cselect_b32") || is(write, "v_cndmask_b32") || is(write, "s_max_u32")) {
        follow(trail, at, operand(write, 1));
        follow(trail, at, operand(write, 2));
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
    /* the word's instruction is behind the event's first */
    uint32_t word = event->clock;
    while (word < code->count && (code->items[word].event != index || !is(&code->items[word], "s_pack_ll")))
        word++;
    if (word < code->count)
        follow(&trail, word, finder->token[index]);
    for (uint32_t step = 0; step < trail.count && !trail.lost && status == KTRACE_OK; step++) {
        const uint32_t at = trail.steps[step].at;
        const char *reg = trail.steps[step].reg;
        trail.lost |= code->first_source[at] == code->first_source[at + 1];
        for (uint32_t s = code->first_source[at]; s < code->first_source[at + 1] && status == KTRACE_OK; s++) {
            const uint32_t source = code->sources[s];
            trail.lost |= code->items[source].calls;
            /* Vector registers are written where lanes are active: what other lanes hold was written before. */
            if (!writes(&code->items[source], reg) || *reg == 'v')
                follow(&trail, source, reg);
            if (writes(&code->items[source], reg))
                status = look_at_write(&trail, code, event, source);
        }
    }
    return status;
}

/* ---- All of a function --------------------------------------------------------------------------------------------- */

static int remember_token(struct finder *finder, const char *token)
{
    const size_t count = finder->code->event_count;
    const int status = kt_array_reserve(&finder->token, &finder->token_capacity, count, sizeof *finder->token);
    if (status == KTRACE_OK)
        finder->token[count - 1] = token;
    return status;
}

static int add(struct finder *finder, const struct lint_site *site, const struct form *form, uint32_t at,
               uint32_t length)
{
    struct lint_code *code = finder->code;
    const bool is_late = form->kind == STOP || form->kind == NEXT;
    uint32_t clock = at, word = at;
    while (!is(&code->items[word], "s_pack_ll"))
        word++;
    if (is_late) {
        clock = find_read(finder, at);
        if (clock == LINT_NONE)
            clock = at;
    } else {
        while (!is(&code->items[clock], "s_memrealtime"))
            clock++;
    }
    const struct lint_event event = {.site = site, .clock = clock};
    int status = lint_add_event(code, &event);
    if (status == KTRACE_OK)
        status = remember_token(finder, is_late ? token_of(&code->items[word]) : "");
    if (status < 0)
        return status;
    struct lint_event *added = &code->events[code->event_count - 1];
    for (uint32_t i = 0; i < length + 2; i++) {
        const uint32_t mine = i < length ? at + i : clock + (i - length); /* and the early read with its wait */
        if (mine >= code->count || code->items[mine].event != LINT_NONE || (i >= length && !is_late))
            continue;
        code->items[mine].event = (uint32_t)code->event_count - 1;
        added->instructions++;
        added->bytes += code->items[mine].bytes;
    }
    return KTRACE_OK;
}

static int look_at(struct finder *finder, const struct unit *unit, const struct lint_sites *sites, uint32_t *at)
{
    struct lint_code *code = finder->code;
    for (int i = 0; i < FORMS; i++) {
        const uint32_t length = form_length(&forms[i], code, *at);
        if (length == 0)
            continue;
        int status = KTRACE_OK;
        if (forms[i].kind == READ) {
            finder->read_at[*at] = *at;
        } else {
            uint32_t word = *at;
            while (!is(&code->items[word], "s_pack_ll"))
                word++;
            const struct lint_site *site =
                find_site(sites, unit, code->items[*at].address, site_number(&code->items[word]));
            if (site)
                status = add(finder, site, &forms[i], *at, length);
            else
                code->unnamed++;
        }
        *at += length;
        return status;
    }
    ++*at;
    return KTRACE_OK;
}

int lint_find_gcn_events(struct lint_code *code, const struct lint_sites *sites)
{
    struct finder finder = {.code = code, .read_at = kt_array_new(code->count, sizeof *finder.read_at)};
    struct unit unit = {UINT64_MAX, 0};
    int status = finder.read_at ? KTRACE_OK : KTRACE_ERROR_MEMORY;
    for (uint32_t i = 0; i < code->count && status == KTRACE_OK; i++) {
        finder.read_at[i] = LINT_NONE;
        if (!code->begins_wave)
            code->begins_wave = is_begin(&unit, code, i, sites);
    }
    for (uint32_t i = 0; i < code->count && status == KTRACE_OK;)
        status = look_at(&finder, &unit, sites, &i);
    for (uint32_t i = 0; i < code->event_count && status == KTRACE_OK; i++)
        if (code->events[i].site->kind == KTRACE_KIND_STOP || code->events[i].site->kind == KTRACE_KIND_NEXT)
            status = find_starts(&finder, i);
    free(finder.read_at);
    free(finder.token);
    return status;
}
