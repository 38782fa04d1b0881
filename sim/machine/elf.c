#include "elf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

/* Numbers from the ELF specification (gABI) and from LLVM's AMDGPUUsage, "ELF Code Object". */
enum {
    HEADER_BYTES = 64,
    PROGRAM_HEADER_BYTES = 56,
    DYNAMIC_BYTES = 16,
    SYMBOL_BYTES = 24,
    RELOCATION_BYTES = 24,
    MACHINE_AMDGPU = 224,
    OS_ABI_AMDGPU_HSA = 64,
    TYPE_DYNAMIC = 3,
    LOAD = 1,
    DYNAMIC = 2,
    NOTE = 4,
    NOTE_AMDGPU_METADATA = 32
};
enum {
    DYNAMIC_HASH = 4,
    DYNAMIC_STRINGS = 5,
    DYNAMIC_SYMBOLS = 6,
    DYNAMIC_RELOCATIONS = 7,
    DYNAMIC_RELOCATION_BYTES = 8,
    DYNAMIC_STRING_BYTES = 10,
    DYNAMIC_REL = 17,
    DYNAMIC_JUMP_RELOCATIONS = 23
};
/* More than any code object has; a damaged file may say anything. */
#define MAX_LOADED_BYTES (1ull << 30)

/* ---- The chip it is for --------------------------------------------------------------------------------------------- */

static const struct {
    uint8_t machine;
    const char *name;
} machines[] = {
    {0x2C, "gfx900"},          {0x2D, "gfx902"},          {0x2E, "gfx904"},        {0x2F, "gfx906"},
    {0x30, "gfx908"},          {0x31, "gfx909"},          {0x32, "gfx90c"},        {0x33, "gfx1010"},
    {0x34, "gfx1011"},         {0x35, "gfx1012"},         {0x36, "gfx1030"},       {0x37, "gfx1031"},
    {0x38, "gfx1032"},         {0x39, "gfx1033"},         {0x3E, "gfx1034"},       {0x3D, "gfx1035"},
    {0x3F, "gfx90a"},          {0x40, "gfx940"},          {0x41, "gfx1100"},       {0x42, "gfx1013"},
    {0x43, "gfx1150"},         {0x44, "gfx1103"},         {0x45, "gfx1036"},       {0x46, "gfx1101"},
    {0x47, "gfx1102"},         {0x48, "gfx1200"},         {0x4A, "gfx1151"},       {0x4B, "gfx941"},
    {0x4C, "gfx942"},          {0x4E, "gfx1201"},         {0x4F, "gfx950"},        {0x51, "gfx9-generic"},
    {0x52, "gfx10-1-generic"}, {0x53, "gfx10-3-generic"}, {0x54, "gfx11-generic"}, {0x55, "gfx1152"},
    {0x59, "gfx12-generic"},   {0x5F, "gfx9-4-generic"},
};

static int check_target(uint32_t flags, enum sim_chip chip)
{
    static const char *const chips[SIM_CHIPS] = {"gfx942", "gfx950"};
    char unknown[32];
    uint32_t machine = flags & 0xFF;
    snprintf(unknown, sizeof unknown, "an unknown chip (0x%02X)", (unsigned)machine);
    const char *name = unknown;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].machine == machine)
            name = machines[i].name;
    if (strstr(name, "generic"))
        return sim_fail("the code object is for the generic target %s, which is not simulated: compile it for %s", name,
                        chips[chip]);
    if (strcmp(name, chips[chip]))
        return sim_fail("the code object is for %s, this device is %s: compile it for %s", name, chips[chip],
                        chips[chip]);
    /* Both chips have these features; XNACK (replay of page faults) is off unless HSA_XNACK=1, SRAM ECC is always on. */
    if ((flags & 0x300) == 0x300)
        return sim_fail(
            "the code object needs xnack+, and this device runs with xnack-: compile it for %s or %s:xnack-", name,
            name);
    if ((flags & 0xC00) == 0x800)
        return sim_fail("the code object needs sramecc-, and %s has sramecc+ always: compile it for %s", name, name);
    return 0;
}

/* ---- Headers ---------------------------------------------------------------------------------------------------------- */

static int check_header(struct elf_view *elf, struct bytes image, enum sim_chip chip)
{
    const unsigned char *p = image.data;
    if (image.count < 4 || memcmp(p, "\177ELF", 4)) {
        if (image.count >= 24 && !memcmp(p, "__CLANG_OFFLOAD_BUNDLE__", 24))
            return sim_fail("this is a bundle of code objects: unbundle it, or compile with --no-gpu-bundle-output");
        return sim_fail("this is no code object: it does not begin as an ELF file does");
    }
    if (image.count < HEADER_BYTES)
        return sim_fail("the code object is cut off: %zu bytes, and an ELF header has %d", image.count, HEADER_BYTES);
    if (p[4] != 2)
        return sim_fail("this is no code object: it is not a 64-bit ELF file (class %u)", p[4]);
    if (p[5] != 1)
        return sim_fail("this is no code object: it is not little-endian (data encoding %u)", p[5]);
    uint16_t machine = load_le16(p + 18), type = load_le16(p + 16);
    if (machine != MACHINE_AMDGPU)
        return sim_fail("this ELF file is for machine %u, not for AMD GPUs (%d)", machine, MACHINE_AMDGPU);
    if (p[7] != OS_ABI_AMDGPU_HSA)
        return sim_fail("this ELF file is not for amdhsa: its OS/ABI is %u, not %d", p[7], OS_ABI_AMDGPU_HSA);
    if (type != TYPE_DYNAMIC)
        return sim_fail("this ELF file is not linked (type %u, not %d): link it with ld.lld -shared", type,
                        TYPE_DYNAMIC);
    if (p[8] < 2 || p[8] > 4)
        return sim_fail(
            "the code object's ABI version is %u; those of code objects version 4, 5 and 6 (2, 3 and 4) are "
            "known: compile with -mcode-object-version=5",
            p[8]);
    elf->code_object_version = p[8] + 2u;
    return check_target(load_le32(p + 48), chip);
}

static int add_segment(struct elf_view *elf, struct bytes image, const unsigned char *header, unsigned index)
{
    uint64_t offset = load_le64(header + 8), address = load_le64(header + 16);
    uint64_t file_bytes = load_le64(header + 32), memory_bytes = load_le64(header + 40);
    if (elf->segment_count == ELF_MAX_SEGMENTS)
        return sim_fail("the code object has more than %d segments to load", ELF_MAX_SEGMENTS);
    struct elf_segment *segment = &elf->segments[elf->segment_count];
    *segment = (struct elf_segment){.address = address, .memory_bytes = memory_bytes, .flags = load_le32(header + 4)};
    if (bytes_slice(&segment->content, image, offset, file_bytes))
        return sim_fail("the code object is cut off or damaged: segment %u has %" PRIu64 " bytes at offset %" PRIu64
                        ", and the file %zu bytes",
                        index, file_bytes, offset, image.count);
    if (file_bytes > memory_bytes || memory_bytes > MAX_LOADED_BYTES || address > UINT64_MAX - MAX_LOADED_BYTES)
        return sim_fail("the code object is damaged: segment %u has %" PRIu64 " bytes in the file and %" PRIu64
                        " in memory, at 0x%" PRIx64,
                        index, file_bytes, memory_bytes, address);
    if (!memory_bytes)
        return 0;
    if (elf->segment_count && address < elf->end)
        return sim_fail("the code object is damaged: segment %u at 0x%" PRIx64 " lies before or in the one before it",
                        index, address);
    if (!elf->segment_count)
        elf->begin = address;
    elf->end = address + memory_bytes;
    if (elf->end - elf->begin > MAX_LOADED_BYTES)
        return sim_fail("the code object is damaged: its segments reach from 0x%" PRIx64 " to 0x%" PRIx64, elf->begin,
                        elf->end);
    elf->segment_count++;
    return 0;
}

/* Content at a virtual address, all of it in one segment of the file. */
static int at_address(struct bytes *out, const struct elf_view *elf, uint64_t address, uint64_t count)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *segment = &elf->segments[i];
        if (address >= segment->address && !bytes_slice(out, segment->content, address - segment->address, count))
            return 0;
    }
    return -1;
}

/* ---- The dynamic table --------------------------------------------------------------------------------------------- */

static int read_hash(struct elf_view *elf, uint64_t address)
{
    struct bytes head, all;
    if (at_address(&head, elf, address, 8))
        return -1;
    uint32_t buckets = load_le32(head.data), chains = load_le32(head.data + 4);
    if (!buckets || at_address(&all, elf, address, 8 + 4 * ((uint64_t)buckets + chains)))
        return -1;
    elf->bucket_count = buckets;
    elf->symbol_count = chains; /* as the specification has it */
    elf->hash_buckets = (struct bytes){all.data + 8, 4 * (size_t)buckets};
    elf->hash_chains = (struct bytes){all.data + 8 + 4 * (size_t)buckets, 4 * (size_t)chains};
    return 0;
}

static int read_dynamic(struct elf_view *elf, struct bytes table)
{
    uint64_t value[32] = {0};
    for (size_t i = 0; (i + 1) * DYNAMIC_BYTES <= table.count; i++) {
        uint64_t tag = load_le64(table.data + i * DYNAMIC_BYTES);
        if (!tag)
            break;
        if (tag == DYNAMIC_REL || tag == DYNAMIC_JUMP_RELOCATIONS)
            return sim_fail(
                "the code object has relocations of a kind that amdhsa does not use (dynamic tag %" PRIu64 ")", tag);
        if (tag < 32)
            value[tag] = load_le64(table.data + i * DYNAMIC_BYTES + 8);
    }
    if (!value[DYNAMIC_HASH] || !value[DYNAMIC_STRINGS] || !value[DYNAMIC_SYMBOLS])
        return sim_fail("the code object's dynamic table names no symbols, strings or hash table (DT_HASH: link with "
                        "--hash-style=both or sysv)");
    if (read_hash(elf, value[DYNAMIC_HASH]))
        return sim_fail("the code object is damaged: its symbol hash table lies outside of the file");
    if (at_address(&elf->symbol_table, elf, value[DYNAMIC_SYMBOLS], (uint64_t)elf->symbol_count * SYMBOL_BYTES))
        return sim_fail("the code object is damaged: its %zu dynamic symbols lie outside of the file",
                        elf->symbol_count);
    if (at_address(&elf->strings, elf, value[DYNAMIC_STRINGS], value[DYNAMIC_STRING_BYTES]) || !elf->strings.count ||
        elf->strings.data[elf->strings.count - 1])
        return sim_fail("the code object is damaged: its dynamic strings lie outside of the file or have no end");
    uint64_t relocation_bytes = value[DYNAMIC_RELOCATION_BYTES];
    if (relocation_bytes && at_address(&elf->relocations, elf, value[DYNAMIC_RELOCATIONS], relocation_bytes))
        return sim_fail("the code object is damaged: its relocations lie outside of the file");
    elf->relocation_count = relocation_bytes / RELOCATION_BYTES;
    for (size_t i = 0; i < elf->symbol_count; i++)
        if (load_le32(elf->symbol_table.data + i * SYMBOL_BYTES) >= elf->strings.count)
            return sim_fail("the code object is damaged: the name of dynamic symbol %zu lies outside of the strings",
                            i);
    return 0;
}

struct elf_symbol elf_symbol_at(const struct elf_view *elf, size_t index)
{
    const unsigned char *p = elf->symbol_table.data + index * SYMBOL_BYTES;
    return (struct elf_symbol){.name = (const char *)elf->strings.data + load_le32(p),
                               .type = p[4] & 15,
                               .binding = p[4] >> 4,
                               .defined = load_le16(p + 6) != 0,
                               .value = load_le64(p + 8),
                               .bytes = load_le64(p + 16)};
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 0;
    for (; *name; name++) {
        hash = (hash << 4) + (unsigned char)*name;
        hash = (hash ^ (hash >> 24 & 0xF0)) & 0x0FFFFFFF;
    }
    return hash;
}

size_t elf_find_symbol(const struct elf_view *elf, const char *name)
{
    size_t index = load_le32(elf->hash_buckets.data + 4 * (hash_of(name) % elf->bucket_count));
    /* A chain that is a ring in a damaged file ends after as many steps as there are symbols. */
    for (size_t steps = 0; index && index < elf->symbol_count && steps < elf->symbol_count; steps++) {
        struct elf_symbol symbol = elf_symbol_at(elf, index);
        if (symbol.defined && !strcmp(symbol.name, name))
            return index;
        index = load_le32(elf->hash_chains.data + 4 * index);
    }
    return 0;
}

struct elf_relocation elf_relocation_at(const struct elf_view *elf, size_t index)
{
    const unsigned char *p = elf->relocations.data + index * RELOCATION_BYTES;
    return (struct elf_relocation){.address = load_le64(p),
                                   .type = load_le32(p + 8),
                                   .symbol = load_le32(p + 12),
                                   .addend = (int64_t)load_le64(p + 16)};
}

/* ---- Notes ------------------------------------------------------------------------------------------------------------ */

static void read_notes(struct elf_view *elf, struct bytes notes)
{
    size_t at = 0;
    while (notes.count - at >= 12) {
        uint64_t name_bytes = load_le32(notes.data + at), content_bytes = load_le32(notes.data + at + 4);
        uint32_t type = load_le32(notes.data + at + 8);
        uint64_t content_at = at + 12 + ((name_bytes + 3) & ~3ull);
        struct bytes name, content;
        if (bytes_slice(&name, notes, at + 12, name_bytes) || bytes_slice(&content, notes, content_at, content_bytes))
            return;
        if (type == NOTE_AMDGPU_METADATA && name_bytes == 7 && !memcmp(name.data, "AMDGPU", 7))
            if (elf->metadata_count++ < ELF_METADATA_MAX)
                elf->metadata[elf->metadata_count - 1] = content;
        uint64_t next = content_at + ((content_bytes + 3) & ~3ull);
        if (next > notes.count)
            return;
        at = (size_t)next;
    }
}

int elf_open(struct elf_view *out, struct bytes image, enum sim_chip chip)
{
    *out = (struct elf_view){0};
    if (check_header(out, image, chip))
        return -1;
    unsigned count = load_le16(image.data + 56), entry_bytes = load_le16(image.data + 54);
    struct bytes headers, dynamic = {0};
    if (entry_bytes != PROGRAM_HEADER_BYTES || !count)
        return sim_fail("the code object is damaged: %u program headers of %u bytes", count, entry_bytes);
    if (bytes_slice(&headers, image, load_le64(image.data + 32), (uint64_t)count * PROGRAM_HEADER_BYTES))
        return sim_fail("the code object is cut off or damaged: its %u program headers lie outside of the file", count);
    for (unsigned i = 0; i < count; i++) {
        const unsigned char *header = headers.data + (size_t)i * PROGRAM_HEADER_BYTES;
        uint32_t type = load_le32(header);
        struct bytes content;
        if (type == LOAD) {
            if (add_segment(out, image, header, i))
                return -1;
        } else if (type == DYNAMIC || type == NOTE) {
            if (bytes_slice(&content, image, load_le64(header + 8), load_le64(header + 32)))
                return sim_fail("the code object is cut off or damaged: its %s lies outside of the file",
                                type == NOTE ? "note" : "dynamic table");
            if (type == NOTE)
                read_notes(out, content);
            else
                dynamic = content;
        }
    }
    if (!out->segment_count)
        return sim_fail("the code object has nothing to load");
    if (!dynamic.data)
        return sim_fail("the code object has no dynamic table");
    if (read_dynamic(out, dynamic))
        return -1;
    if (!out->metadata_count)
        return sim_fail("the code object has no AMDGPU metadata note (or it is damaged)");
    if (out->metadata_count > ELF_METADATA_MAX)
        return sim_fail("the code object has %zu AMDGPU metadata notes, at most %d can be read: link fewer objects",
                        out->metadata_count, ELF_METADATA_MAX);
    return 0;
}
