/* elf.h - an amdhsa code object as a linked ELF file: what the loader needs of it, checked.
 *
 * Own code rather than libelf: a loader needs program headers and the dynamic table only, of files that may be hostile, and
 * has to say what is wrong with them.
 */
#ifndef SIM_ELF_H
#define SIM_ELF_H

#include "../isa/isa.h"
#include "bytes.h"

#define ELF_MAX_SEGMENTS 16
#define ELF_METADATA_MAX 64

/* Flags of a segment, as in the file. */
enum { ELF_EXECUTE = 1, ELF_WRITE = 2, ELF_READ = 4 };

struct elf_segment {
    uint64_t address, memory_bytes; /* virtual address in the file */
    struct bytes content;           /* the rest of the memory is 0 */
    uint32_t flags;
};

struct elf_symbol {
    const char *name; /* in the image */
    uint64_t value, bytes;
    uint8_t type, binding;
    int defined;
};
enum { ELF_OBJECT = 1, ELF_FUNCTION = 2 };

struct elf_relocation {
    uint64_t address;
    uint32_t type, symbol;
    int64_t addend;
};

struct elf_view {
    unsigned code_object_version; /* 4, 5, 6 */
    struct elf_segment segments[ELF_MAX_SEGMENTS];
    size_t segment_count;
    uint64_t begin, end; /* addresses of all segments */
    struct bytes symbol_table, strings, hash_buckets, hash_chains;
    size_t symbol_count, bucket_count;
    struct bytes relocations;
    size_t relocation_count;
    /* MessagePack of each NT_AMDGPU_METADATA note: one for every object that lld linked, which of a HIP program with
     * -fgpu-rdc are its LTO partitions. */
    struct bytes metadata[ELF_METADATA_MAX];
    size_t metadata_count;
};

/* `image` must live as long as the view. -1 with a sentence if it is no code object that `chip` runs. */
int elf_open(struct elf_view *out, struct bytes image, enum sim_chip chip);

struct elf_symbol elf_symbol_at(const struct elf_view *elf, size_t index); /* index < symbol_count */
/* Index of a defined dynamic symbol; 0: none. */
size_t elf_find_symbol(const struct elf_view *elf, const char *name);
struct elf_relocation elf_relocation_at(const struct elf_view *elf, size_t index);

#endif
