/* Reads what `nvdisasm -c` prints:
 *
 *      .section .text._Z4gemmPf,"ax",@progbits
 *      .L_x_3:
 *              /-*0120*-/              @P0 BRA `(.L_x_3) ;
 */
#include "sass.h"

#include "../array.h"

#include <ctype.h>

enum { INSTRUCTION_BYTES = 16 };

struct label {
    const char *name;
    uint32_t place; /* the instruction behind it */
};
struct reference {
    uint32_t from;
    const char *name; /* not terminated */
    size_t length;
};
/* Of the section that is being read. */
struct section {
    struct lint_code *code; /* NULL: it has no code */
    struct label *labels;
    size_t label_count, label_capacity;
    struct reference *references;
    size_t reference_count, reference_capacity;
};

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct label *)left)->name, ((const struct label *)right)->name);
}

static uint32_t find_label(const struct section *section, const struct reference *reference)
{
    size_t low = 0, high = section->label_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct label *label = &section->labels[middle];
        int order = strncmp(label->name, reference->name, reference->length);
        if (order == 0 && label->name[reference->length])
            order = 1;
        if (order == 0)
            return label->place;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return LINT_NONE;
}

/* ---- Control flow -------------------------------------------------------------------------------------------------- */

static int add_reference(struct section *section, uint32_t from, const char *name, size_t length)
{
    const int status = kt_array_reserve(&section->references, &section->reference_capacity,
                                        section->reference_count + 1, sizeof *section->references);
    if (status == KTRACE_OK)
        section->references[section->reference_count++] = (struct reference){from, name, length};
    return status;
}

/* "`(.L_x_3)", and the list that a computed jump has behind it. */
static int add_references(struct section *section, uint32_t from, const char *operands)
{
    int status = KTRACE_OK;
    const char *at = strstr(operands, "`(");
    if (at)
        status = add_reference(section, from, at + 2, strcspn(at + 2, ")"));
    at = strstr(operands, "BRANCH_TARGETS");
    for (at = at ? at + strlen("BRANCH_TARGETS") : NULL; at && status == KTRACE_OK;) {
        at += strspn(at, " ,`()");
        const size_t length = strcspn(at, " ,`()\"");
        if (length == 0)
            break;
        status = add_reference(section, from, at, length);
        at += length;
    }
    return status;
}

static int read_flow(struct section *section, struct lint_instruction *instruction, uint32_t place)
{
    static const char *const computed[] = {"BRX", "BRXU", "JMX", "JMXU"};
    const bool always = !*instruction->guard;
    if (sass_is(instruction, "BSSY") || sass_is(instruction, "CALL")) {
        instruction->calls = sass_is(instruction, "CALL");
        return KTRACE_OK;
    }
    if (sass_is(instruction, "RET")) {
        instruction->leaves = true;
        instruction->ends = always;
        return KTRACE_OK;
    }
    if (sass_is(instruction, "EXIT") || strcmp(instruction->opcode, "BRA") == 0 ||
        strcmp(instruction->opcode, "JMP") == 0)
        /* with a predicate as an operand, too, it may go on */
        instruction->ends = always && (!*instruction->operands || *instruction->operands == '`');
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++)
        if (sass_is(instruction, computed[i])) {
            instruction->ends = always;
            instruction->leaves = !strstr(instruction->operands, "BRANCH_TARGETS");
        }
    return add_references(section, place, instruction->operands);
}

/* ---- Lines --------------------------------------------------------------------------------------------------------- */

/* "[@!P0] OPCODE operands ;" */
static void split(struct lint_instruction *out, char *text)
{
    char *end = strrchr(text, ';');
    if (end)
        *end = 0;
    for (end = text + strlen(text); end > text && isspace((unsigned char)end[-1]);)
        *--end = 0;
    out->guard = "";
    if (*text == '@') {
        out->guard = text + 1;
        text += strcspn(text, " \t");
        if (*text)
            *text++ = 0;
        text += strspn(text, " \t");
    }
    out->opcode = text;
    text += strcspn(text, " \t");
    if (*text)
        *text++ = 0;
    out->operands = text + strspn(text, " \t");
}

static int read_instruction(struct section *section, uint64_t address, char *text)
{
    struct lint_instruction instruction = {.address = address, .bytes = INSTRUCTION_BYTES};
    split(&instruction, text);
    instruction.weight = sass_weight(&instruction);
    const int status = read_flow(section, &instruction, (uint32_t)section->code->count);
    return status < 0 ? status : lint_add_instruction(section->code, &instruction);
}

static int read_label(struct section *section, char *line)
{
    const size_t length = strlen(line);
    if (length < 2 || line[length - 1] != ':' || isspace((unsigned char)*line))
        return KTRACE_OK;
    line[length - 1] = 0;
    const int status =
        kt_array_reserve(&section->labels, &section->label_capacity, section->label_count + 1, sizeof *section->labels);
    if (status == KTRACE_OK)
        section->labels[section->label_count++] = (struct label){line, (uint32_t)section->code->count};
    return status;
}

/* Where threads that wait at a BSYNC go on together: what the BSSY of the same barrier before it says. */
static int link_barriers(struct section *section)
{
    struct lint_code *code = section->code;
    uint32_t joins[16];
    memset(joins, 0xFF, sizeof joins);
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < code->count && status == KTRACE_OK; i++) {
        const struct lint_instruction *instruction = &code->items[i];
        const bool begins = sass_is(instruction, "BSSY");
        if ((!begins && !sass_is(instruction, "BSYNC")) || instruction->operands[0] != 'B')
            continue;
        const unsigned long barrier = strtoul(instruction->operands + 1, NULL, 10) & 15;
        if (begins) {
            const char *label = strstr(instruction->operands, "`(");
            const struct reference reference = {i, label ? label + 2 : "", label ? strcspn(label + 2, ")") : 0};
            joins[barrier] = label ? find_label(section, &reference) : LINT_NONE;
        } else if (joins[barrier] < code->count && joins[barrier] != i + 1) {
            status = lint_add_target(code, i, joins[barrier]);
        }
    }
    return status;
}

static int finish(struct section *section)
{
    struct lint_code *code = section->code;
    int status = KTRACE_OK;
    if (!code)
        return status;
    if (section->label_count)
        qsort(section->labels, section->label_count, sizeof *section->labels, by_name);
    for (size_t i = 0; i < section->reference_count && status == KTRACE_OK; i++) {
        const struct reference *reference = &section->references[i];
        const uint32_t place = find_label(section, reference);
        if (place < code->count)
            status = lint_add_target(code, reference->from, place);
        else
            code->items[reference->from].leaves = true;
    }
    if (status == KTRACE_OK)
        status = link_barriers(section);
    section->code = NULL;
    section->label_count = section->reference_count = 0;
    return status < 0 ? status : lint_link(code);
}

static int begin(struct section *section, struct lint_listing *out, char *name)
{
    const int status = finish(section);
    static const char prefix[] = ".text.";
    name += strspn(name, " \t");
    name[strcspn(name, ",\"")] = 0;
    for (size_t length = strlen(name); length > 0 && isspace((unsigned char)name[length - 1]);)
        name[--length] = 0;
    if (status < 0 || strncmp(name, prefix, sizeof prefix - 1) != 0)
        return status;
    section->code = lint_add_code(out, name + sizeof prefix - 1);
    return section->code ? KTRACE_OK : KTRACE_ERROR_MEMORY;
}

static int read_line(struct section *section, struct lint_listing *out, char *line)
{
    char *at = line + strspn(line, " \t");
    if (strncmp(at, ".section", 8) == 0 && isspace((unsigned char)at[8]))
        return begin(section, out, at + 8);
    if (!section->code)
        return KTRACE_OK;
    if (strncmp(at, "/*", 2) == 0 && isxdigit((unsigned char)at[2])) {
        char *end;
        const uint64_t address = strtoull(at + 2, &end, 16);
        if (strncmp(end, "*/", 2) == 0)
            return read_instruction(section, address, end + 2 + strspn(end + 2, " \t"));
        return KTRACE_OK;
    }
    return read_label(section, line);
}

int lint_read_sass(struct lint_listing *out, char *text)
{
    struct section section = {0};
    int status = KTRACE_OK;
    *out = (struct lint_listing){.text = text};
    for (char *line; status == KTRACE_OK && (line = lint_next_line(&text)) != NULL;)
        status = read_line(&section, out, line);
    if (status == KTRACE_OK)
        status = finish(&section);
    free(section.labels);
    free(section.references);
    return status;
}
