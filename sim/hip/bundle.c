/* bundle.c - clang's offload bundles (LLVM's ClangOffloadBundler document has the layout): a magic, a count, and for each
 * entry offset, bytes, length of its id and the id, numbers of 64 bits little-endian. Ids are a kind, a triple and a target:
 * "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "host-x86_64-unknown-linux-gnu-".
 */
#include "bundle.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define BUNDLE_MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define BUNDLE_MAGIC_BYTES (sizeof BUNDLE_MAGIC - 1)
#define COMPRESSED_MAGIC "CCOB"
#define MAX_ENTRIES 1024
#define MAX_ID 256

struct entry {
    uint64_t offset, bytes;
    const char *id;
    uint64_t id_bytes;
};

const char *sim_device_target(const struct sim_device *device)
{
    /* The features that MI300X and MI350X have without the driver's XNACK mode. */
    return sim_machine_config(device->machine)->chip == SIM_GFX950 ? "gfx950:sramecc+:xnack-"
                                                                   : "gfx942:sramecc+:xnack-";
}

static uint64_t little_endian_64(const unsigned char *bytes)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

/* The entry at *at, which moves past it; -1: it does not lie within `bytes`. */
static int read_entry(struct entry *entry, size_t *at, const unsigned char *image, size_t bytes)
{
    if (bytes < *at || bytes - *at < 24)
        return -1;
    entry->offset = little_endian_64(image + *at);
    entry->bytes = little_endian_64(image + *at + 8);
    entry->id_bytes = little_endian_64(image + *at + 16);
    *at += 24;
    if (entry->id_bytes > MAX_ID || bytes - *at < entry->id_bytes)
        return -1;
    entry->id = (const char *)image + *at;
    *at += entry->id_bytes;
    return 0;
}

static hipError_t malformed_bundle(void)
{
    return sim_hip_error(hipErrorInvalidImage, "an offload bundle whose table of entries is malformed");
}

static hipError_t no_code(const unsigned char *image)
{
    if (!memcmp(image, COMPRESSED_MAGIC, 4))
        return sim_hip_error(hipErrorInvalidImage,
                             "a compressed offload bundle (CCOB), which the simulator cannot read: "
                             "compile with --no-offload-compress");
    return sim_hip_error(hipErrorInvalidImage,
                         "the image begins with bytes %02x %02x %02x %02x: it is neither an ELF code "
                         "object nor an offload bundle",
                         image[0], image[1], image[2], image[3]);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static size_t elf_bytes(const unsigned char *image)
{
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    uint64_t end = larger(sizeof header, header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize);
    end = larger(end, header.e_phoff + (uint64_t)header.e_phnum * header.e_phentsize);
    for (unsigned i = 0; i < header.e_phnum && header.e_phentsize >= sizeof(Elf64_Phdr); i++) {
        Elf64_Phdr segment;
        memcpy(&segment, image + header.e_phoff + (uint64_t)i * header.e_phentsize, sizeof segment);
        end = larger(end, segment.p_offset + segment.p_filesz);
    }
    return end;
}

hipError_t sim_image_bytes(size_t *bytes, const void *image)
{
    const unsigned char *start = image;
    if (!memcmp(start, ELFMAG, SELFMAG)) {
        *bytes = elf_bytes(start);
        return hipSuccess;
    }
    if (memcmp(start, COMPRESSED_MAGIC, 4) == 0 || strncmp(image, BUNDLE_MAGIC, BUNDLE_MAGIC_BYTES))
        return no_code(start);
    const uint64_t count = little_endian_64(start + BUNDLE_MAGIC_BYTES);
    size_t at = BUNDLE_MAGIC_BYTES + 8;
    *bytes = at;
    for (uint64_t i = 0; i < count; i++) {
        struct entry entry;
        if (count > MAX_ENTRIES || read_entry(&entry, &at, start, SIZE_MAX / 2))
            return malformed_bundle();
        *bytes = larger(*bytes, larger(at, entry.offset + entry.bytes));
    }
    return hipSuccess;
}

/* ---- Choosing ----------------------------------------------------------------------------------------------------- */

/* Does the target named in text[0..bytes) run on `device_target`? The processor must be the same, and each feature that it
 * names must be the device's: one that names none is for both settings. Returns 1 + the number of features, or 0. */
static int fits(const char *text, size_t bytes, const char *device_target)
{
    const char *end = text + bytes, *colon = memchr(text, ':', bytes);
    const size_t processor = (size_t)((colon ? colon : end) - text);
    if (processor != strcspn(device_target, ":") || memcmp(text, device_target, processor))
        return 0;
    int features = 0;
    while (colon) {
        const char *feature = colon + 1;
        colon = memchr(feature, ':', (size_t)(end - feature));
        const size_t length = (size_t)((colon ? colon : end) - feature);
        char needle[MAX_ID + 2];
        snprintf(needle, sizeof needle, ":%.*s", (int)length, feature);
        const char *found = strstr(device_target, needle);
        if (!found || (found[length + 1] && found[length + 1] != ':'))
            return 0;
        features++;
    }
    return 1 + features;
}

/* The target of an id: behind the triple, which ends in "--"; nothing of a host's. */
static const char *target_of(size_t *bytes, const struct entry *entry)
{
    static const char triple[] = "amdgcn-amd-amdhsa-";
    for (size_t i = 0; i + sizeof triple - 1 <= entry->id_bytes; i++)
        if (!memcmp(entry->id + i, triple, sizeof triple - 1)) {
            const char *target = entry->id + i + sizeof triple - 1, *end = entry->id + entry->id_bytes;
            if (target < end && *target == '-') /* an empty environment */
                target++;
            *bytes = (size_t)(end - target);
            return target;
        }
    *bytes = 0;
    return NULL;
}

hipError_t sim_image_select(const void **object, size_t *object_bytes, const void *image, size_t bytes,
                            const struct sim_device *device)
{
    const unsigned char *start = image;
    if (bytes < sizeof(Elf64_Ehdr))
        return sim_hip_error(hipErrorInvalidImage, "an image of %zu bytes holds no code object", bytes);
    if (!memcmp(start, ELFMAG, SELFMAG)) {
        *object = image;
        *object_bytes = bytes;
        return hipSuccess;
    }
    if (memcmp(start, BUNDLE_MAGIC, BUNDLE_MAGIC_BYTES))
        return no_code(start);
    const char *device_target = sim_device_target(device);
    const uint64_t count = little_endian_64(start + BUNDLE_MAGIC_BYTES);
    char present[1024] = "";
    int best = 0;
    size_t at = BUNDLE_MAGIC_BYTES + 8, length = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct entry entry;
        if (read_entry(&entry, &at, start, bytes) || entry.offset > bytes || entry.bytes > bytes - entry.offset)
            return malformed_bundle();
        size_t target_bytes;
        const char *target = target_of(&target_bytes, &entry);
        const int fit = target ? fits(target, target_bytes, device_target) : 0;
        if (fit > best) {
            best = fit;
            *object = start + entry.offset;
            *object_bytes = entry.bytes;
        }
        if (target && length < sizeof present)
            length += (size_t)snprintf(present + length, sizeof present - length, "%s%.*s", length ? ", " : "",
                                       (int)target_bytes, target);
    }
    if (best)
        return hipSuccess;
    return sim_hip_error(hipErrorNoBinaryForGpu,
                         "no code for %s in the bundle, which has: %s. Compile with "
                         "--offload-arch=%.6s, or simulate another chip with KTRACE_SIM_CHIP",
                         device_target, *present ? present : "no device code", device_target);
}
