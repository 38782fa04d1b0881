/* elf.h - sections, symbols and relocations of a 64-bit little-endian ELF file, which cubins, AMD's code objects and the programs
 * that hold them are. Nothing in the bytes is trusted: what lies outside of them is not there.
 *
 * Views into the bytes, which stay the caller's; nothing is allocated.
 */
#ifndef LINT_ELF_H
#define LINT_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINT_ELF_CUDA = 190, LINT_ELF_AMDGPU = 224 }; /* e_machine */
enum { LINT_ELF_RELOCATABLE = 1 };                   /* e_type */
enum { LINT_SECTION_RELA = 4, LINT_SECTION_NOTE = 7, LINT_SECTION_NOBITS = 8, LINT_SECTION_REL = 9 };
enum { LINT_SECTION_ALLOCATED = 2, LINT_SECTION_EXECUTED = 4 }; /* flags */

struct lint_elf {
    const uint8_t *data;
    size_t bytes;
    uint16_t type, machine;
    uint8_t os_abi;
    uint32_t flags;
    uint64_t sections_offset;
    uint32_t section_count, names; /* the index of the section that has the names */
};

struct lint_section {
    uint32_t index, type, link, info;
    uint64_t flags, address;
    const char *name;    /* "" where it has none */
    const uint8_t *data; /* NULL: it takes no bytes of the file */
    uint64_t bytes;      /* of a section without data what it takes in memory */
};

struct lint_symbol {
    const char *name;
    uint64_t value, bytes;
    uint16_t section; /* 0: none */
    uint8_t type, other;
};
enum { LINT_SYMBOL_OBJECT = 1, LINT_SYMBOL_FUNCTION = 2 };

struct lint_relocation {
    uint64_t offset; /* in the section that is relocated */
    uint32_t symbol;
    int64_t addend; /* of a REL 0: it is in the section */
};

/* KTRACE_ERROR_FORMAT where this is no such file, or its table of sections is not in it. */
int lint_elf_open(struct lint_elf *out, const void *data, size_t bytes);
/* False: there is no such section, or it says that it lies outside of the file. */
bool lint_elf_section(struct lint_section *out, const struct lint_elf *elf, uint32_t index);
bool lint_elf_find(struct lint_section *out, const struct lint_elf *elf, const char *name);
/* The section that relocates section `index`. */
bool lint_elf_find_relocations(struct lint_section *out, const struct lint_elf *elf, uint32_t index);
/* Bytes of the file from an address on, as far as one section has them; NULL: none. */
const uint8_t *lint_elf_at_address(size_t *bytes, const struct lint_elf *elf, uint64_t address);

/* The table of symbols; an empty one where there is none. */
struct lint_symbols {
    struct lint_section table, names;
    uint32_t count;
};
void lint_elf_symbols(struct lint_symbols *out, const struct lint_elf *elf);
bool lint_elf_symbol(struct lint_symbol *out, const struct lint_symbols *symbols, uint32_t index);
/* Relocation `index` of a section that has them; false behind the last. */
bool lint_elf_relocation(struct lint_relocation *out, const struct lint_section *section, uint64_t index);

/* The string at `offset` of `bytes` bytes; NULL: it does not end there. */
const char *lint_string_at(const uint8_t *data, uint64_t bytes, uint64_t offset);

#endif
