/* What AMD's compilers write about kernels: MessagePack in a note, as the AMDGPU Backend User Guide says ("Code Object Metadata").
 * Of it: the map of the module, its array of kernels, and the numbers that are wanted of each. */
#include "resources.h"

#include "../array.h"
#include "../reader.h"

#include <stdio.h>

enum { NOTE_METADATA = 32, MOST_DEPTH = 16 };

/* ---- MessagePack --------------------------------------------------------------------------------------------------- */

enum value_kind { VALUE_OTHER, VALUE_NUMBER, VALUE_TEXT, VALUE_ARRAY, VALUE_MAP };
struct value {
    enum value_kind kind;
    uint64_t number; /* of an array and a map: how many are in it */
    const char *text;
    size_t text_bytes;
};

static uint64_t big_endian(struct kt_reader *reader, unsigned bytes)
{
    const uint8_t *here = kt_read_bytes(reader, bytes);
    uint64_t value = 0;
    for (unsigned i = 0; here && i < bytes; i++)
        value = value << 8 | here[i];
    return value;
}

static struct value text_of(struct kt_reader *reader, uint64_t bytes)
{
    struct value value = {.kind = VALUE_TEXT, .text_bytes = (size_t)bytes};
    value.text = (const char *)kt_read_bytes(reader, (size_t)bytes);
    return value;
}

/* Up to what an array or a map contains, which follows. */
static struct value read_value(struct kt_reader *reader)
{
    const uint8_t tag = kt_read_u8(reader);
    if (tag < 0x80)
        return (struct value){.kind = VALUE_NUMBER, .number = tag};
    if (tag < 0x90)
        return (struct value){.kind = VALUE_MAP, .number = tag & 15};
    if (tag < 0xA0)
        return (struct value){.kind = VALUE_ARRAY, .number = tag & 15};
    if (tag < 0xC0)
        return text_of(reader, tag & 31);
    if (tag >= 0xE0)
        return (struct value){VALUE_OTHER, 0, NULL, 0}; /* a negative number */
    switch (tag) {
    case 0xC0:
    case 0xC2:
    case 0xC3: return (struct value){VALUE_OTHER, 0, NULL, 0};
    case 0xC4: kt_read_bytes(reader, (size_t)big_endian(reader, 1)); break;
    case 0xC5: kt_read_bytes(reader, (size_t)big_endian(reader, 2)); break;
    case 0xC6: kt_read_bytes(reader, (size_t)big_endian(reader, 4)); break;
    case 0xCC: return (struct value){.kind = VALUE_NUMBER, .number = big_endian(reader, 1)};
    case 0xCD: return (struct value){.kind = VALUE_NUMBER, .number = big_endian(reader, 2)};
    case 0xCE: return (struct value){.kind = VALUE_NUMBER, .number = big_endian(reader, 4)};
    case 0xCF: return (struct value){.kind = VALUE_NUMBER, .number = big_endian(reader, 8)};
    case 0xCA:
    case 0xD2: kt_read_bytes(reader, 4); break;
    case 0xCB:
    case 0xD3: kt_read_bytes(reader, 8); break;
    case 0xD0: kt_read_bytes(reader, 1); break;
    case 0xD1: kt_read_bytes(reader, 2); break;
    case 0xD9: return text_of(reader, big_endian(reader, 1));
    case 0xDA: return text_of(reader, big_endian(reader, 2));
    case 0xDB: return text_of(reader, big_endian(reader, 4));
    case 0xDC: return (struct value){.kind = VALUE_ARRAY, .number = big_endian(reader, 2)};
    case 0xDD: return (struct value){.kind = VALUE_ARRAY, .number = big_endian(reader, 4)};
    case 0xDE: return (struct value){.kind = VALUE_MAP, .number = big_endian(reader, 2)};
    case 0xDF: return (struct value){.kind = VALUE_MAP, .number = big_endian(reader, 4)};
    default: reader->failed = true;
    }
    return (struct value){VALUE_OTHER, 0, NULL, 0};
}

/* What an array or a map contains, and in that. */
static void skip_contents(struct kt_reader *reader, struct value value, int depth)
{
    if (depth > MOST_DEPTH)
        reader->failed = true;
    const uint64_t parts = value.kind == VALUE_MAP ? 2 * value.number : value.kind == VALUE_ARRAY ? value.number : 0;
    for (uint64_t i = 0; i < parts && !reader->failed; i++)
        skip_contents(reader, read_value(reader), depth + 1);
}

static bool is(const struct value *key, const char *name)
{
    return key->kind == VALUE_TEXT && key->text && key->text_bytes == strlen(name) &&
           memcmp(key->text, name, key->text_bytes) == 0;
}

/* ---- Kernels ------------------------------------------------------------------------------------------------------- */

static void take(struct lint_kernel *kernel, const struct value *key, const struct value *value)
{
    struct lint_resources *r = &kernel->resources;
    if (is(key, ".name") && value->kind == VALUE_TEXT && value->text && !kernel->owned_name)
        kernel->owned_name = strndup(value->text, value->text_bytes);
    if (value->kind != VALUE_NUMBER)
        return;
    if (is(key, ".vgpr_count"))
        r->registers = (uint32_t)value->number;
    else if (is(key, ".agpr_count"))
        r->accumulators = (uint32_t)value->number;
    else if (is(key, ".sgpr_count"))
        r->scalar_registers = (uint32_t)value->number;
    else if (is(key, ".vgpr_spill_count") || is(key, ".sgpr_spill_count"))
        r->spills += (uint32_t)value->number;
    else if (is(key, ".private_segment_fixed_size"))
        r->stack_bytes = value->number;
    else if (is(key, ".group_segment_fixed_size"))
        r->shared_bytes = value->number;
}

static int read_kernel(struct lint_kernels *out, struct kt_reader *reader)
{
    struct lint_kernel kernel = {0};
    const struct value map = read_value(reader);
    if (map.kind != VALUE_MAP) {
        skip_contents(reader, map, 0);
        return KTRACE_OK;
    }
    for (uint64_t i = 0; i < map.number && !reader->failed; i++) {
        const struct value key = read_value(reader);
        skip_contents(reader, key, 0);
        const struct value value = read_value(reader);
        skip_contents(reader, value, 0);
        if (!reader->failed)
            take(&kernel, &key, &value);
    }
    kernel.name = kernel.owned_name;
    int status = KTRACE_OK;
    if (kernel.name)
        status = kt_array_reserve(&out->kernels, &out->capacity, out->count + 1, sizeof *out->kernels);
    if (!kernel.name || status < 0)
        free(kernel.owned_name);
    else
        out->kernels[out->count++] = kernel;
    return status;
}

static void take_target(struct lint_kernels *out, const struct value *value)
{
    char text[128];
    if (value->kind != VALUE_TEXT || !value->text)
        return;
    snprintf(text, sizeof text, "%.*s", (int)(value->text_bytes < 127 ? value->text_bytes : 127), value->text);
    const char *chip = strstr(text, "gfx");
    if (chip)
        snprintf(out->target, sizeof out->target, "%.*s", (int)strcspn(chip, ":") < 23 ? (int)strcspn(chip, ":") : 23,
                 chip);
}

static int read_metadata(struct lint_kernels *out, const uint8_t *data, size_t bytes)
{
    struct kt_reader reader = kt_reader_over(data, bytes);
    const struct value map = read_value(&reader);
    int status = KTRACE_OK;
    for (uint64_t i = 0; map.kind == VALUE_MAP && i < map.number && !reader.failed && status == KTRACE_OK; i++) {
        const struct value key = read_value(&reader);
        skip_contents(&reader, key, 0);
        const struct value value = read_value(&reader);
        if (is(&key, "amdhsa.kernels") && value.kind == VALUE_ARRAY) {
            for (uint64_t k = 0; k < value.number && !reader.failed && status == KTRACE_OK; k++)
                status = read_kernel(out, &reader);
            continue;
        }
        skip_contents(&reader, value, 0);
        if (!reader.failed && is(&key, "amdhsa.target"))
            take_target(out, &value);
    }
    return status;
}

static int read_notes(struct lint_kernels *out, const struct lint_section *section)
{
    struct kt_reader reader = kt_reader_over(section->data, section->data ? (size_t)section->bytes : 0);
    int status = KTRACE_OK;
    while (kt_reader_left(&reader) >= 12 && status == KTRACE_OK) {
        const uint32_t name_bytes = kt_read_u32(&reader), bytes = kt_read_u32(&reader), type = kt_read_u32(&reader);
        const uint8_t *name = kt_read_bytes(&reader, ((size_t)name_bytes + 3) & ~(size_t)3);
        const uint8_t *data = kt_read_bytes(&reader, bytes);
        if (data && name && name_bytes == 7 && memcmp(name, "AMDGPU", 7) == 0 && type == NOTE_METADATA)
            status = read_metadata(out, data, bytes);
        kt_read_bytes(&reader, (4 - bytes % 4) % 4);
    }
    return status;
}

int lint_kernels_amdgcn(struct lint_kernels *out, const struct lint_elf *elf)
{
    struct lint_section section;
    struct lint_symbols symbols;
    struct lint_symbol symbol;
    int status = KTRACE_OK;
    *out = (struct lint_kernels){.target = "an AMD GPU"};
    for (uint32_t i = 0; i < elf->section_count && status == KTRACE_OK; i++)
        if (lint_elf_section(&section, elf, i) && section.type == LINT_SECTION_NOTE)
            status = read_notes(out, &section);
    lint_elf_symbols(&symbols, elf);
    for (uint32_t i = 0; lint_elf_symbol(&symbol, &symbols, i) && status == KTRACE_OK; i++)
        for (size_t k = 0; symbol.type == LINT_SYMBOL_FUNCTION && k < out->count; k++)
            if (strcmp(out->kernels[k].name, symbol.name) == 0)
                out->kernels[k].resources.code_bytes = symbol.bytes;
    return status;
}
