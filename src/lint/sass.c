#include "sass.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Opcodes ------------------------------------------------------------------------------------------------------- */

bool sass_is(const struct lint_instruction *instruction, const char *base)
{
    const size_t length = strlen(base);
    return strncmp(instruction->opcode, base, length) == 0 &&
           (instruction->opcode[length] == 0 || instruction->opcode[length] == '.');
}

bool sass_has(const struct lint_instruction *instruction, const char *modifier)
{
    const size_t length = strlen(modifier);
    for (const char *at = instruction->opcode; (at = strstr(at, modifier)) != NULL; at += length)
        if (at[length] == 0 || at[length] == '.')
            return true;
    return false;
}

static bool is_one_of(const struct lint_instruction *instruction, const char *const *bases)
{
    for (; *bases; bases++)
        if (sass_is(instruction, *bases))
            return true;
    return false;
}

static const char *const idle[] = {"NOP", NULL};
static const char *const control[] = {"BRA",   "BRX",     "BRXU",  "JMP",    "JMX",           "JMXU",
                                      "BSSY",  "BSYNC",   "BREAK", "BMOV",   "EXIT",          "RET",
                                      "YIELD", "PREEXIT", "KILL",  "RPCMOV", "ENDCOLLECTIVE", NULL};
static const char *const cheap[] = {
    "MOV",   "MOV32I",  "IMAD",   "IADD",   "IADD3",    "IADD32I", "VIADD",   "LEA",     "LOP3",   "LOP32I",
    "SHF",   "SHL",     "SHR",    "ISETP",  "SEL",      "PRMT",    "S2R",     "S2UR",    "CS2R",   "LDC",
    "LDCU",  "ULDC",    "R2UR",   "PLOP3",  "P2R",      "R2P",     "POPC",    "FLO",     "BREV",   "SGXT",
    "BMSK",  "IABS",    "IMNMX",  "VIMNMX", "VIMNMX3",  "VOTE",    "VOTEU",   "I2I",     "I2IP",   "PSETP",
    "UMOV",  "UIADD3",  "UIMAD",  "ULEA",   "ULOP3",    "USHF",    "UISETP",  "USEL",    "UPRMT",  "UPLOP3",
    "UP2UR", "UR2UP",   "UFLO",   "UBREV",  "UPOPC",    "USGXT",   "UBMSK",   "UPSETP",  "UVIADD", "UIADD",
    "CS2UR", "UVIMNMX", "UIMNMX", "UIABS",  "UVIMNMX3", "IADD64",  "UIADD64", "ISETP64", NULL};
/* What has no result in a register. */
static const char *const without_result[] = {
    "ST",      "STG",      "STS",       "STL",   "RED",    "REDG",   "REDAS",        "BAR",     "CALL",   "MEMBAR",
    "FENCE",   "WARPSYNC", "NANOSLEEP", "CCTL",  "ERRBAR", "DEPBAR", "LDGDEPBAR",    "LDGSTS",  "UBLKCP", "UTMALDG",
    "UTMASTG", "SYNCS",    "BPT",       "CCTLL", "STSM",   "STAS",   "UTMACMDFLUSH", "ARRIVES", NULL};

/* ---- Operands ------------------------------------------------------------------------------------------------------ */

/* A register's name at `text`, and where it ends; SASS_OTHER: it is none. */
static enum sass_kind read_register(uint32_t *number, bool *is_predicate, const char **end, const char *text)
{
    const bool uniform = *text == 'U';
    const char letter = text[uniform];
    const char *digits = text + uniform + 1;
    if (letter != 'R' && letter != 'P')
        return SASS_OTHER;
    *is_predicate = letter == 'P';
    if (*digits == 'Z' || *digits == 'T') {
        *number = SASS_ZERO;
        *end = digits + 1;
    } else if (isdigit((unsigned char)*digits)) {
        char *after;
        const unsigned long read = strtoul(digits, &after, 10);
        if (read > 255)
            return SASS_OTHER;
        *number = (uint32_t)read +
                  (letter == 'P' ? (uniform ? SASS_UNIFORM_PREDICATE : SASS_PREDICATE) : (uniform ? SASS_UNIFORM : 0));
        *end = after;
    } else {
        return SASS_OTHER;
    }
    return isalnum((unsigned char)**end) || **end == '_' ? SASS_OTHER : SASS_REGISTER;
}

/* "[R4.64+UR8+0x10]", of which "desc[UR10]" may have come before. */
static void read_address(struct sass_operand *out, const char *text)
{
    const char *at = strrchr(text, '[');
    out->kind = SASS_MEMORY;
    out->number = out->second = SASS_ZERO;
    while (at && *at && *at != ']') {
        uint32_t number;
        bool is_predicate;
        const char *end;
        if ((isalpha((unsigned char)*at)) && read_register(&number, &is_predicate, &end, at) == SASS_REGISTER) {
            if (out->number == SASS_ZERO) {
                out->number = number;
                out->is_pair = strncmp(end, ".64", 3) == 0;
            } else {
                out->second = number;
            }
            at = end;
        } else {
            at++;
        }
    }
}

static void read_operand(struct sass_operand *out, const char *text)
{
    const char *end;
    *out = (struct sass_operand){.kind = SASS_OTHER, .number = SASS_ZERO, .second = SASS_ZERO};
    if (strncmp(text, "c[", 2) == 0) {
        char *after;
        out->number = (uint32_t)strtoul(text + 2, &after, 0);
        if (strncmp(after, "][", 2) == 0 && (isdigit((unsigned char)after[2]))) {
            out->value = strtoll(after + 2, NULL, 0);
            out->kind = SASS_CONSTANT;
        }
        return;
    }
    if (strchr(text, '[')) {
        read_address(out, text);
        return;
    }
    const char *bare = text + strspn(text, "-~!|");
    if (read_register(&out->number, &out->is_predicate, &end, bare) == SASS_REGISTER) {
        out->kind = SASS_REGISTER;
        out->is_pair = strncmp(end, ".64", 3) == 0;
        return;
    }
    char *after;
    out->value = strtoll(text, &after, 0);
    if (after != text && *after == 0)
        out->kind = SASS_IMMEDIATE;
}

int sass_operands(struct sass_operand out[SASS_OPERANDS], const struct lint_instruction *instruction)
{
    char text[96];
    int count = 0;
    const char *at = instruction->operands;
    while (*at && count < SASS_OPERANDS) {
        at += strspn(at, " \t");
        const size_t length = strcspn(at, ",");
        size_t kept = length < sizeof text ? length : sizeof text - 1;
        while (kept > 0 && at[kept - 1] == ' ')
            kept--;
        memcpy(text, at, kept);
        text[kept] = 0;
        read_operand(&out[count++], text);
        at += length + (at[length] == ',');
    }
    return count;
}

/* HFMA2 with no factors is how ptxas has the units of half precision load a constant. */
static bool is_constant(const struct lint_instruction *instruction)
{
    struct sass_operand operands[SASS_OPERANDS];
    return sass_is(instruction, "HFMA2") && sass_operands(operands, instruction) >= 4 &&
           operands[1].kind == SASS_REGISTER && operands[1].number == SASS_ZERO && operands[2].kind == SASS_REGISTER &&
           operands[2].number == SASS_ZERO;
}

enum lint_weight sass_weight(const struct lint_instruction *instruction)
{
    if (is_one_of(instruction, idle))
        return LINT_IDLE;
    if (is_one_of(instruction, control))
        return LINT_CONTROL;
    return is_one_of(instruction, cheap) || is_constant(instruction) ? LINT_CHEAP : LINT_WORK;
}

uint32_t sass_guard(const struct lint_instruction *instruction)
{
    struct sass_operand guard;
    read_operand(&guard, instruction->guard);
    return guard.kind == SASS_REGISTER ? guard.number : SASS_ZERO;
}

/* ---- What it reads and writes -------------------------------------------------------------------------------------- */

static bool has_result(const struct lint_instruction *instruction)
{
    return !is_one_of(instruction, control) && !is_one_of(instruction, without_result);
}

/* Of a conversion's types the first is what it converts to, but F2I.F64 names only what it converts from. */
static bool converts_to_64_bits(const struct lint_instruction *instruction)
{
    if (sass_is(instruction, "F2I"))
        return sass_has(instruction, ".S64") || sass_has(instruction, ".U64");
    for (const char *at = strchr(instruction->opcode, '.'); at; at = strchr(at + 1, '.'))
        if ((at[1] == 'F' && isdigit((unsigned char)at[2])) || strncmp(at, ".BF", 3) == 0)
            return strncmp(at, ".F64", 4) == 0;
    return false;
}

/* How many registers in a row a value takes. */
static uint32_t width(const struct lint_instruction *instruction)
{
    static const char *const doubles[] = {"DADD", "DMUL", "DFMA", "DMNMX", NULL};
    if (sass_is(instruction, "CS2R"))
        return sass_has(instruction, ".32") ? 1 : 2;
    if (sass_is(instruction, "F2F") || sass_is(instruction, "F2I") || sass_is(instruction, "I2F"))
        return converts_to_64_bits(instruction) ? 2 : 1;
    if (sass_has(instruction, ".128"))
        return 4;
    if (sass_has(instruction, ".256"))
        return 8;
    if (sass_has(instruction, ".96"))
        return 3;
    return sass_has(instruction, ".64") || sass_has(instruction, ".WIDE") || sass_has(instruction, ".F64") ||
                   is_one_of(instruction, doubles)
               ? 2
               : 1;
}

/* How many of the operands are written: a register and predicates behind it that are no conditions, or predicates; of some
 * instructions a predicate and a register. */
static int result_count(const struct lint_instruction *instruction, const struct sass_operand *operands, int count)
{
    static const char *const predicate_first[] = {"LOP3", "ULOP3", "ATOM", "ATOMG", "ATOMS", "SHFL", "MATCH", NULL};
    const bool may_follow = is_one_of(instruction, predicate_first);
    bool has_register = false;
    int results = 0;
    if (!has_result(instruction))
        return 0;
    for (; results < count && operands[results].kind == SASS_REGISTER; results++) {
        if (!operands[results].is_predicate) {
            if (has_register || (results > 0 && !may_follow))
                break;
            has_register = true;
        } else if (has_register ? sass_is(instruction, "VOTE") || sass_is(instruction, "VOTEU") ||
                                      results + 1 >= count || operands[results + 1].is_predicate
                                : results >= 2) {
            break; /* a condition */
        }
    }
    return results;
}

bool sass_writes(const struct lint_instruction *instruction, uint32_t reg)
{
    struct sass_operand operands[SASS_OPERANDS];
    const int count = sass_operands(operands, instruction);
    const int results = result_count(instruction, operands, count);
    for (int i = 0; i < results; i++) {
        const uint32_t first = operands[i].number, wide = operands[i].is_predicate ? 1 : width(instruction);
        if (first != SASS_ZERO && reg >= first && reg < first + wide)
            return true;
    }
    return false;
}

static void add_use(uint32_t *out, int *count, uint32_t reg, uint32_t wide)
{
    for (uint32_t i = 0; i < wide && reg != SASS_ZERO && *count < SASS_USES; i++)
        out[(*count)++] = reg + i;
}

int sass_uses(uint32_t out[SASS_USES], const struct lint_instruction *instruction)
{
    struct sass_operand operands[SASS_OPERANDS];
    const int count = sass_operands(operands, instruction);
    const bool is_store = is_one_of(instruction, without_result);
    int uses = 0;
    add_use(out, &uses, sass_guard(instruction), 1);
    for (int i = result_count(instruction, operands, count); i < count; i++) {
        const struct sass_operand *operand = &operands[i];
        if (operand->kind == SASS_MEMORY) {
            add_use(out, &uses, operand->number, operand->is_pair || sass_has(instruction, ".E") ? 2 : 1);
            add_use(out, &uses, operand->second, 1);
        } else if (operand->kind == SASS_REGISTER) {
            add_use(out, &uses, operand->number,
                    operand->is_predicate ? 1
                    : is_store            ? width(instruction)
                    : operand->is_pair    ? 2
                                          : 1);
        }
    }
    return uses;
}
