#include "objects.h"

#include "../array.h"
#include "../reader.h"
#include "elf.h"

/* "Clang Offload Bundler" and llvm/Object/OffloadBinary.h of LLVM. */
static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
static const char compressed_magic[] = "CCOB";
static const uint8_t offload_magic[] = {0x10, 0xFF, 0x10, 0xAD};
static const uint8_t fatbin_magic[] = {0x50, 0xED, 0x55, 0xBA};
enum {
    BUNDLE_MAGIC_BYTES = sizeof bundle_magic - 1,
    OFFLOAD_HEADER_BYTES = 32,
    OFFLOAD_ENTRY_BYTES = 40,
    MOST_ENTRIES = 4096
};

static bool begins_with(const uint8_t *data, size_t bytes, const void *magic, size_t magic_bytes)
{
    return bytes >= magic_bytes && memcmp(data, magic, magic_bytes) == 0;
}

static int add(struct lint_objects *out, const struct lint_object *object)
{
    const int status = kt_array_reserve(&out->objects, &out->capacity, out->count + 1, sizeof *out->objects);
    if (status == KTRACE_OK)
        out->objects[out->count++] = *object;
    return status;
}

/* A code object, or what else an entry of a bundle is: the empty one of the host. */
static int add_code_object(struct lint_objects *out, const uint8_t *data, size_t bytes)
{
    struct lint_elf elf;
    if (lint_elf_open(&elf, data, bytes) < 0 || elf.machine != LINT_ELF_AMDGPU)
        return KTRACE_OK;
    if (elf.type == LINT_ELF_RELOCATABLE) {
        out->relocatable++;
        return KTRACE_OK;
    }
    return add(out, &(struct lint_object){.data = data, .bytes = bytes});
}

int lint_add_cubin(struct lint_objects *out, uint8_t *data, size_t bytes)
{
    struct lint_elf elf;
    int status = lint_elf_open(&elf, data, bytes);
    if (status == KTRACE_OK && elf.type == LINT_ELF_RELOCATABLE) {
        out->relocatable++;
        free(data);
        return KTRACE_OK;
    }
    if (status == KTRACE_OK)
        status = add(out, &(struct lint_object){.is_nvidia = true, .data = data, .bytes = bytes, .owned = data});
    if (status < 0)
        free(data);
    return status;
}

/* ---- What holds several -------------------------------------------------------------------------------------------- */

static int read_bundle(struct lint_objects *out, const uint8_t *data, size_t bytes)
{
    struct kt_reader reader = kt_reader_over(data, bytes);
    kt_read_bytes(&reader, BUNDLE_MAGIC_BYTES);
    const uint64_t count = kt_read_u64(&reader);
    int status = KTRACE_OK;
    for (uint64_t i = 0; i < count && i < MOST_ENTRIES && !reader.failed && status == KTRACE_OK; i++) {
        const uint64_t offset = kt_read_u64(&reader), size = kt_read_u64(&reader), id_bytes = kt_read_u64(&reader);
        if (id_bytes > bytes || !kt_read_bytes(&reader, (size_t)id_bytes))
            break;
        if (offset <= bytes && size <= bytes - offset)
            status = add_code_object(out, data + offset, (size_t)size);
    }
    if (reader.failed && status == KTRACE_OK)
        return kt_fail(KTRACE_ERROR_FORMAT, "its offload bundle is damaged or cut off");
    return status;
}

/* Several may follow each other: of each translation unit one. */
static int read_bundles(struct lint_objects *out, const uint8_t *data, size_t bytes)
{
    int status = KTRACE_OK;
    for (size_t at = 0; at + 4 <= bytes && status == KTRACE_OK; at++) {
        const uint8_t *here = memmem(data + at, bytes - at, bundle_magic, BUNDLE_MAGIC_BYTES);
        const uint8_t *packed = memmem(data + at, bytes - at, compressed_magic, 4);
        if (packed && (!here || packed < here) && (packed - data) % 8 == 0) {
            out->compressed++;
            at = (size_t)(packed - data);
            continue;
        }
        if (!here)
            break;
        at = (size_t)(here - data);
        status = read_bundle(out, here, bytes - at);
    }
    return status;
}

/* An entry: {kinds, flags, strings, number of strings, image, its size}. */
static int read_offload_entry(struct lint_objects *out, const uint8_t *data, size_t bytes, uint64_t offset)
{
    struct kt_reader reader = kt_reader_over(data, bytes);
    kt_read_bytes(&reader, offset < bytes ? (size_t)offset : bytes);
    kt_read_bytes(&reader, 2 + 2 + 4 + 8 + 8);
    const uint64_t image = kt_read_u64(&reader), image_bytes = kt_read_u64(&reader);
    if (reader.failed || image > bytes || image_bytes > bytes - image)
        return kt_fail(KTRACE_ERROR_FORMAT, "its offload section is damaged or cut off");
    if (begins_with(data + image, (size_t)image_bytes, fatbin_magic, sizeof fatbin_magic))
        out->has_fatbin = true;
    return add_code_object(out, data + image, (size_t)image_bytes);
}

/* One binary behind the other: {magic, version, size, offset of the first entry, its size or, from version 2 on, how many there are}. */
static int read_offload(struct lint_objects *out, const uint8_t *data, size_t bytes)
{
    int status = KTRACE_OK;
    for (size_t at = 0; bytes - at >= OFFLOAD_HEADER_BYTES && status == KTRACE_OK;) {
        struct kt_reader reader = kt_reader_over(data + at, bytes - at);
        const uint8_t *magic = kt_read_bytes(&reader, 4);
        if (memcmp(magic, offload_magic, sizeof offload_magic) != 0)
            break;
        const uint32_t version = kt_read_u32(&reader);
        const uint64_t size = kt_read_u64(&reader), entries = kt_read_u64(&reader), last = kt_read_u64(&reader);
        const uint64_t count = version >= 2 ? last : 1;
        if (size < OFFLOAD_HEADER_BYTES || size > bytes - at || entries > size || count > size / OFFLOAD_ENTRY_BYTES)
            return kt_fail(KTRACE_ERROR_FORMAT, "its offload section is damaged or cut off");
        for (uint64_t i = 0; i < count && status == KTRACE_OK; i++)
            status = read_offload_entry(out, data + at, (size_t)size, entries + i * OFFLOAD_ENTRY_BYTES);
        at += (size_t)size;
    }
    return status;
}

static int read_sections(struct lint_objects *out, const struct lint_elf *elf)
{
    struct lint_section section;
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < elf->section_count && status == KTRACE_OK; i++) {
        if (!lint_elf_section(&section, elf, i) || !section.data)
            continue;
        const size_t bytes = (size_t)section.bytes;
        if (strcmp(section.name, ".nv_fatbin") == 0 || strcmp(section.name, "__nv_relfatbin") == 0)
            out->has_fatbin = true;
        else if (strcmp(section.name, ".hip_fatbin") == 0 ||
                 strncmp(section.name, "__CLANG_OFFLOAD_BUNDLE__", BUNDLE_MAGIC_BYTES) == 0)
            status = begins_with(section.data, bytes, "\177ELF", 4) ? add_code_object(out, section.data, bytes)
                                                                    : read_bundles(out, section.data, bytes);
        else if (strcmp(section.name, ".llvm.offloading") == 0)
            status = read_offload(out, section.data, bytes);
    }
    return status;
}

/* ---- A file -------------------------------------------------------------------------------------------------------- */

static int read_elf(struct lint_objects *out, const uint8_t *data, size_t bytes)
{
    struct lint_elf elf;
    const int status = lint_elf_open(&elf, data, bytes);
    if (status < 0)
        return status;
    if (elf.machine == LINT_ELF_CUDA && elf.type == LINT_ELF_RELOCATABLE) {
        out->relocatable++;
        return KTRACE_OK;
    }
    if (elf.machine == LINT_ELF_CUDA)
        return add(out, &(struct lint_object){.is_nvidia = true, .data = data, .bytes = bytes});
    return elf.machine == LINT_ELF_AMDGPU ? add_code_object(out, data, bytes) : read_sections(out, &elf);
}

static bool is_text(const uint8_t *data, size_t bytes)
{
    return !memchr(data, 0, bytes < 4096 ? bytes : 4096);
}

int lint_find_objects(struct lint_objects *out, const void *file, size_t bytes)
{
    const uint8_t *data = file;
    *out = (struct lint_objects){0};
    if (bytes == 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "the file is empty");
    if (begins_with(data, bytes, "\177ELF", 4))
        return read_elf(out, data, bytes);
    if (begins_with(data, bytes, bundle_magic, BUNDLE_MAGIC_BYTES) || begins_with(data, bytes, compressed_magic, 4))
        return read_bundles(out, data, bytes);
    if (begins_with(data, bytes, offload_magic, sizeof offload_magic))
        return read_offload(out, data, bytes);
    if (begins_with(data, bytes, fatbin_magic, sizeof fatbin_magic) || begins_with(data, bytes, "!<arch>\n", 8)) {
        out->has_fatbin = true;
        return KTRACE_OK;
    }
    if (begins_with(data, bytes, "BC\xC0\xDE", 4))
        return kt_fail(KTRACE_ERROR_FORMAT,
                       "this is LLVM bitcode, which is no machine code yet: lint what is linked of it");
    if (is_text(data, bytes) && memmem(data, bytes, ".target sm_", 11))
        return kt_fail(KTRACE_ERROR_FORMAT,
                       "this is PTX, which is no machine code yet: compile it with ptxas, or the source "
                       "with nvcc -cubin");
    return kt_fail(KTRACE_ERROR_FORMAT,
                   "this is %s: --lint takes a cubin, a fatbin, a code object, or a program or library that has some",
                   is_text(data, bytes) ? "a text file" : "no file with machine code of a GPU");
}

void lint_objects_free(struct lint_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        free(objects->objects[i].owned);
    free(objects->objects);
    *objects = (struct lint_objects){0};
}
