#include "elf.h"

#include "../error.h"
#include "../reader.h"

enum { HEADER_BYTES = 64, SECTION_BYTES = 64, SYMBOL_BYTES = 24, REL_BYTES = 16, RELA_BYTES = 24 };
enum { SYMBOL_TABLE = 2, EXTENDED_INDEX = 0xFFFF };

static struct kt_reader reader_at(const uint8_t *data, size_t bytes, uint64_t offset)
{
    struct kt_reader reader = kt_reader_over(data, bytes);
    if (offset > bytes)
        reader.failed = true;
    else
        reader.at = (size_t)offset;
    return reader;
}

const char *lint_string_at(const uint8_t *data, uint64_t bytes, uint64_t offset)
{
    if (!data || offset >= bytes || !memchr(data + offset, 0, (size_t)(bytes - offset)))
        return NULL;
    return (const char *)data + offset;
}

/* ---- The file ------------------------------------------------------------------------------------------------------ */

/* Header `index` as it is, without its name and without its data. */
static bool read_header(struct lint_section *out, uint32_t *name, uint64_t *offset, const struct lint_elf *elf,
                        uint32_t index)
{
    struct kt_reader reader = reader_at(elf->data, elf->bytes, elf->sections_offset);
    kt_read_bytes(&reader, (size_t)index * SECTION_BYTES);
    *out = (struct lint_section){.index = index, .name = ""};
    *name = kt_read_u32(&reader);
    out->type = kt_read_u32(&reader);
    out->flags = kt_read_u64(&reader);
    out->address = kt_read_u64(&reader);
    *offset = kt_read_u64(&reader);
    out->bytes = kt_read_u64(&reader);
    out->link = kt_read_u32(&reader);
    out->info = kt_read_u32(&reader);
    return !reader.failed;
}

static bool place_data(struct lint_section *section, uint64_t offset, const struct lint_elf *elf)
{
    if (section->type == LINT_SECTION_NOBITS)
        return true;
    if (offset > elf->bytes || section->bytes > elf->bytes - offset)
        return false;
    section->data = elf->data + offset;
    return true;
}

bool lint_elf_section(struct lint_section *out, const struct lint_elf *elf, uint32_t index)
{
    struct lint_section names;
    uint32_t name, unused;
    uint64_t offset, names_offset;
    if (index >= elf->section_count || !read_header(out, &name, &offset, elf, index) || !place_data(out, offset, elf))
        return false;
    if (read_header(&names, &unused, &names_offset, elf, elf->names) && place_data(&names, names_offset, elf)) {
        const char *text = lint_string_at(names.data, names.bytes, name);
        out->name = text ? text : "";
    }
    return true;
}

int lint_elf_open(struct lint_elf *out, const void *data, size_t bytes)
{
    *out = (struct lint_elf){.data = data, .bytes = bytes};
    struct kt_reader reader = kt_reader_over(data, bytes);
    const uint8_t *start = kt_read_bytes(&reader, 16);
    if (!start || memcmp(start, "\177ELF", 4) != 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "this is no ELF file");
    if (start[4] != 2 || start[5] != 1)
        return kt_fail(KTRACE_ERROR_FORMAT, "this is no 64-bit little-endian ELF file");
    out->os_abi = start[7];
    out->type = kt_read_u16(&reader);
    out->machine = kt_read_u16(&reader);
    kt_read_bytes(&reader, 20); /* version, entry, program headers */
    out->sections_offset = kt_read_u64(&reader);
    out->flags = kt_read_u32(&reader);
    kt_read_bytes(&reader, 6); /* header size, program headers */
    const uint16_t entry_bytes = kt_read_u16(&reader);
    out->section_count = kt_read_u16(&reader);
    out->names = kt_read_u16(&reader);
    if (reader.failed)
        return kt_fail(KTRACE_ERROR_FORMAT, "the ELF file is cut off: it has %zu bytes, less than its header", bytes);
    if (out->sections_offset == 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "the ELF file has no sections, which name its kernels: was it stripped?");
    struct lint_section first;
    uint32_t unused;
    uint64_t offset;
    if (entry_bytes != SECTION_BYTES || !read_header(&first, &unused, &offset, out, 0))
        return kt_fail(KTRACE_ERROR_FORMAT, "the ELF file is damaged or cut off: it has no table of sections");
    /* With more sections than 16 bits can count, the first one has their number and the index of the names. */
    const uint64_t sections = out->section_count ? out->section_count : first.bytes;
    if (out->names == EXTENDED_INDEX)
        out->names = first.link;
    if (sections > (bytes - out->sections_offset) / SECTION_BYTES)
        return kt_fail(KTRACE_ERROR_FORMAT,
                       "the ELF file is damaged or cut off: its table of %llu sections does not fit",
                       (unsigned long long)sections);
    out->section_count = (uint32_t)sections;
    return KTRACE_OK;
}

/* ---- Sections ------------------------------------------------------------------------------------------------------ */

bool lint_elf_find(struct lint_section *out, const struct lint_elf *elf, const char *name)
{
    for (uint32_t i = 0; i < elf->section_count; i++)
        if (lint_elf_section(out, elf, i) && strcmp(out->name, name) == 0)
            return true;
    return false;
}

bool lint_elf_find_relocations(struct lint_section *out, const struct lint_elf *elf, uint32_t index)
{
    for (uint32_t i = 0; i < elf->section_count; i++)
        if (lint_elf_section(out, elf, i) && (out->type == LINT_SECTION_RELA || out->type == LINT_SECTION_REL) &&
            out->info == index)
            return true;
    return false;
}

const uint8_t *lint_elf_at_address(size_t *bytes, const struct lint_elf *elf, uint64_t address)
{
    struct lint_section section;
    for (uint32_t i = 0; i < elf->section_count; i++) {
        if (!lint_elf_section(&section, elf, i) || !(section.flags & LINT_SECTION_ALLOCATED) || !section.data ||
            address < section.address || address - section.address >= section.bytes)
            continue;
        *bytes = (size_t)(section.bytes - (address - section.address));
        return section.data + (address - section.address);
    }
    return NULL;
}

/* ---- Symbols and relocations --------------------------------------------------------------------------------------- */

void lint_elf_symbols(struct lint_symbols *out, const struct lint_elf *elf)
{
    *out = (struct lint_symbols){0};
    for (uint32_t i = 0; i < elf->section_count; i++) {
        if (!lint_elf_section(&out->table, elf, i) || out->table.type != SYMBOL_TABLE)
            continue;
        if (!out->table.data || !lint_elf_section(&out->names, elf, out->table.link))
            return;
        const uint64_t count = out->table.bytes / SYMBOL_BYTES;
        out->count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
        return;
    }
}

bool lint_elf_symbol(struct lint_symbol *out, const struct lint_symbols *symbols, uint32_t index)
{
    if (index >= symbols->count)
        return false;
    struct kt_reader reader =
        reader_at(symbols->table.data, (size_t)symbols->table.bytes, (uint64_t)index * SYMBOL_BYTES);
    const char *name = lint_string_at(symbols->names.data, symbols->names.bytes, kt_read_u32(&reader));
    const uint8_t info = kt_read_u8(&reader);
    *out = (struct lint_symbol){.name = name ? name : "", .type = info & 15};
    out->other = kt_read_u8(&reader);
    out->section = kt_read_u16(&reader);
    out->value = kt_read_u64(&reader);
    out->bytes = kt_read_u64(&reader);
    return !reader.failed;
}

bool lint_elf_relocation(struct lint_relocation *out, const struct lint_section *section, uint64_t index)
{
    const size_t entry_bytes = section->type == LINT_SECTION_RELA ? RELA_BYTES : REL_BYTES;
    if (!section->data || index >= section->bytes / entry_bytes)
        return false;
    struct kt_reader reader = reader_at(section->data, (size_t)section->bytes, index * entry_bytes);
    out->offset = kt_read_u64(&reader);
    out->symbol = (uint32_t)(kt_read_u64(&reader) >> 32);
    out->addend = section->type == LINT_SECTION_RELA ? (int64_t)kt_read_u64(&reader) : 0;
    return !reader.failed;
}
