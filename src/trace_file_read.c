#include "trace_file.h"

#include "array.h"
#include "check.h"
#include "error.h"
#include "reader.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "wave headers and slots are read as they lie in the file: a big-endian host has to swap them here"
#endif

/* Headers lie in files as in memory: these are the offsets of docs/format.md. */
_Static_assert(offsetof(struct ktrace_wave_header, kernel_site) == 16, "part of the file format");
_Static_assert(offsetof(struct ktrace_wave_header, start_clock_ticks) == 64, "part of the file format");
_Static_assert(offsetof(struct ktrace_wave_header, place) == 96, "part of the file format");
_Static_assert(offsetof(struct ktrace_wave_header, final_count_bytes) == 128, "part of the file format");

#define DAMAGED "the file is damaged: copy it again, or record it again"

typedef unsigned long long ull; /* for %llu */

/* ---- Headers ----------------------------------------------------------------------------------------------------- */

/* What a file that is not a .ktrace file probably is. */
static int fail_magic(const uint8_t *data, size_t bytes)
{
    if (bytes >= 2 && data[0] == 0x1F && data[1] == 0x8B)
        return kt_fail(KTRACE_ERROR_FORMAT,
                       "this is a gzip file, not a .ktrace file: open a .pftrace.gz at https://ui.perfetto.dev, "
                       "and give ktrace the .ktrace file it was exported from");
    if (bytes >= 4 && memcmp(data + 1, "KTR", 3) == 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "the first 8 bytes of this .ktrace file were changed, as a transfer "
                                            "in text mode does: copy it again in binary mode");
    return kt_fail(KTRACE_ERROR_FORMAT, "this is not a .ktrace file: it does not begin with \\x89KTR");
}

/* `data` needs to hold no more than the header. */
static int read_file_header(struct kt_file_index *out, uint32_t *header_bytes, const void *data, size_t bytes)
{
    if (bytes == 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "the file is empty");
    size_t compared = bytes < KT_FILE_MAGIC_BYTES ? bytes : KT_FILE_MAGIC_BYTES;
    if (memcmp(data, KT_FILE_MAGIC, compared) != 0)
        return fail_magic(data, bytes);
    if (bytes < KT_FILE_HEADER_BYTES)
        return kt_fail(KTRACE_ERROR_FORMAT, "the file ends after %zu bytes, inside its header of %u: " DAMAGED, bytes,
                       KT_FILE_HEADER_BYTES);
    struct kt_reader reader = kt_reader_over(data, bytes);
    kt_read_bytes(&reader, KT_FILE_MAGIC_BYTES);
    struct kt_file_index index = {0};
    index.version = kt_read_u16(&reader);
    index.minimum_reader = kt_read_u16(&reader);
    index.section_count = kt_read_u32(&reader);
    index.features = kt_read_u64(&reader);
    index.file_bytes = kt_read_u64(&reader);
    *header_bytes = kt_read_u32(&reader);
    uint32_t expected = libdeflate_crc32(0, data, reader.at);
    if (kt_read_u32(&reader) != expected)
        return kt_fail(KTRACE_ERROR_FORMAT, "the checksum of the file header (offset 0) does not match: " DAMAGED);
    if (index.minimum_reader > KT_FILE_VERSION)
        return kt_fail(KTRACE_ERROR_VERSION,
                       "the file has version %u of the format and needs a reader of version %u, this is ktrace %s with "
                       "version %u: use a newer ktrace",
                       index.version, index.minimum_reader, KTRACE_VERSION_STRING, KT_FILE_VERSION);
    if (index.features & ~KT_FILE_FEATURES)
        return kt_fail(KTRACE_ERROR_VERSION,
                       "the file needs features 0x%llx of the format that ktrace %s does not know: use a newer ktrace",
                       (ull)(index.features & ~KT_FILE_FEATURES), KTRACE_VERSION_STRING);
    if (*header_bytes < KT_FILE_HEADER_BYTES || *header_bytes % KT_FILE_ALIGNMENT || *header_bytes > index.file_bytes)
        return kt_fail(KTRACE_ERROR_FORMAT, "the file header says it has %u bytes in a file of %llu: " DAMAGED,
                       *header_bytes, (ull)index.file_bytes);
    *out = index;
    return 0;
}

/* "MODS", or what can be shown of it. */
static void type_name(char out[5], uint32_t type)
{
    for (int i = 0; i < 4; i++) {
        char letter = (char)(type >> 8 * i);
        out[i] = letter > ' ' && letter <= '~' ? letter : '?';
    }
    out[4] = 0;
}

static bool known_type(uint32_t type)
{
    return type == KT_FILE_INFO || type == KT_FILE_ANCHORS || type == KT_FILE_MODULES || type == KT_FILE_WAVES ||
           type == KT_FILE_RINGS || type == KT_FILE_SLOTS;
}

static int read_section(struct kt_file_section *out, struct kt_reader *reader, uint32_t number)
{
    size_t start = reader->at;
    struct kt_file_section section;
    section.type = kt_read_u32(reader);
    section.flags = kt_read_u32(reader);
    section.payload_bytes = kt_read_u64(reader);
    uint32_t payload_checksum = kt_read_u32(reader);
    uint32_t header_checksum = kt_read_u32(reader);
    if (reader->failed)
        return kt_fail(KTRACE_ERROR_FORMAT, "section %u (offset %zu) begins past the end of the file: " DAMAGED, number,
                       start);
    if (libdeflate_crc32(0, reader->data + start, KT_FILE_SECTION_HEADER_BYTES - 4) != header_checksum)
        return kt_fail(KTRACE_ERROR_FORMAT,
                       "the checksum of the header of section %u (offset %zu) does not match: " DAMAGED, number, start);
    char name[5];
    type_name(name, section.type);
    section.payload_offset = reader->at;
    size_t left = kt_reader_left(reader);
    uint64_t padding = -section.payload_bytes & (KT_FILE_ALIGNMENT - 1);
    if (section.payload_bytes > left || padding > left - section.payload_bytes)
        return kt_fail(KTRACE_ERROR_FORMAT, "section %s (offset %zu) says it has %llu bytes, %zu are left: " DAMAGED,
                       name, start, (ull)section.payload_bytes, left);
    const uint8_t *payload = kt_read_bytes(reader, (size_t)section.payload_bytes);
    if (libdeflate_crc32(0, payload, (size_t)section.payload_bytes) != payload_checksum)
        return kt_fail(KTRACE_ERROR_FORMAT, "the checksum of section %s (offset %zu) does not match: " DAMAGED, name,
                       start);
    if (kt_read_little_endian(reader, (unsigned)padding) != 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "section %s (offset %zu) is not padded with zeros: " DAMAGED, name, start);
    if (section.flags & KT_FILE_REQUIRED && !known_type(section.type))
        return kt_fail(KTRACE_ERROR_VERSION,
                       "section %s (offset %zu) is required, and ktrace %s does not know it: use a newer ktrace", name,
                       start, KTRACE_VERSION_STRING);
    *out = section;
    return 0;
}

int kt_file_index_read(struct kt_file_index *out, const void *data, size_t bytes)
{
    struct kt_file_index index;
    uint32_t header_bytes;
    int result = read_file_header(&index, &header_bytes, data, bytes);
    if (result < 0)
        return result;
    if (bytes < index.file_bytes)
        return kt_fail(KTRACE_ERROR_FORMAT,
                       "the file is cut off: it has %zu of %llu bytes; copy it again, or record it again", bytes,
                       (ull)index.file_bytes);
    if (bytes > index.file_bytes)
        return kt_fail(KTRACE_ERROR_FORMAT, "the file has %llu bytes after its end (offset %llu): " DAMAGED,
                       (ull)(bytes - index.file_bytes), (ull)index.file_bytes);
    if (index.section_count > (bytes - header_bytes) / KT_FILE_SECTION_HEADER_BYTES)
        return kt_fail(KTRACE_ERROR_FORMAT, "the file header claims %u sections, more than %zu bytes hold: " DAMAGED,
                       index.section_count, bytes);
    index.sections = kt_array_new(index.section_count, sizeof *index.sections);
    if (!index.sections)
        return KTRACE_ERROR_MEMORY;
    struct kt_reader reader = kt_reader_over(data, bytes);
    kt_read_bytes(&reader, header_bytes);
    for (uint32_t i = 0; i < index.section_count && result == 0; i++)
        result = read_section(&index.sections[i], &reader, i);
    if (result == 0 && kt_reader_left(&reader) != 0)
        result = kt_fail(KTRACE_ERROR_FORMAT,
                         "the last section ends at offset %zu, %zu bytes before the file does: " DAMAGED, reader.at,
                         kt_reader_left(&reader));
    if (result == 0)
        *out = index;
    else
        kt_file_index_free(&index);
    return result;
}

void kt_file_index_free(struct kt_file_index *index)
{
    free(index->sections);
    index->sections = NULL;
}

/* ---- Sections ---------------------------------------------------------------------------------------------------- */

/* A section's payload, and where it lies for the sentence of an error. */
struct payload {
    char name[5];
    size_t file_offset;
    struct kt_reader reader;
};

static int open_payload(struct payload *out, const struct kt_file_index *index, uint32_t type, const uint8_t *data)
{
    const struct kt_file_section *found = NULL;
    char name[5];
    type_name(name, type);
    for (uint32_t i = 0; i < index->section_count; i++) {
        if (index->sections[i].type != type)
            continue;
        if (found)
            return kt_fail(KTRACE_ERROR_FORMAT, "there are two sections %s (the second at offset %llu): " DAMAGED, name,
                           (ull)index->sections[i].payload_offset - KT_FILE_SECTION_HEADER_BYTES);
        found = &index->sections[i];
    }
    if (!found)
        return kt_fail(KTRACE_ERROR_FORMAT, "there is no section %s: " DAMAGED, name);
    memcpy(out->name, name, sizeof name);
    out->file_offset = (size_t)found->payload_offset;
    out->reader = kt_reader_over(data + found->payload_offset, (size_t)found->payload_bytes);
    return 0;
}

static int fail_payload(const struct payload *payload, const char *what)
{
    return kt_fail(KTRACE_ERROR_FORMAT, "section %s, offset %zu: %s: " DAMAGED, payload->name,
                   payload->file_offset + payload->reader.at, what);
}

/* Of a section that is nothing but records of `record_bytes`. */
static int record_count(uint64_t *out, const struct payload *payload, size_t record_bytes)
{
    if (payload->reader.bytes % record_bytes)
        return kt_fail(KTRACE_ERROR_FORMAT, "section %s, offset %zu: %zu bytes are no multiple of %zu: " DAMAGED,
                       payload->name, payload->file_offset, payload->reader.bytes, record_bytes);
    *out = payload->reader.bytes / record_bytes;
    return 0;
}

static int end_payload(const struct payload *payload)
{
    if (payload->reader.failed)
        return fail_payload(payload, "ends inside a record");
    if (kt_reader_left(&payload->reader))
        return fail_payload(payload, "has bytes after its last record");
    return 0;
}

static int read_string(char **out, struct payload *payload)
{
    uint32_t length = kt_read_count(&payload->reader, 1);
    const uint8_t *text = kt_read_bytes(&payload->reader, length);
    if (!text)
        return fail_payload(payload, "a string is longer than what is left");
    if (memchr(text, 0, length))
        return fail_payload(payload, "a string contains a zero byte");
    char *copy = kt_array_new((size_t)length + 1, 1);
    if (!copy)
        return KTRACE_ERROR_MEMORY;
    memcpy(copy, text, length);
    copy[length] = 0;
    free(*out);
    *out = copy;
    return 0;
}

static int load_info(struct kt_snapshot *snapshot, struct payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    struct kt_device *device = kt_snapshot_add_device(snapshot, "");
    if (!device)
        return KTRACE_ERROR_MEMORY;
    uint32_t wire_version = kt_read_u32(reader);
    snapshot->arch = kt_read_u32(reader);
    snapshot->flags = kt_read_u32(reader);
    device->places = kt_read_u32(reader);
    device->clock_khz = kt_read_u32(reader);
    device->wall_tick_ns = kt_read_u32(reader);
    snapshot->main_ring_slots = kt_read_u32(reader);
    snapshot->lane_ring_slots = kt_read_u32(reader);
    device->capability = kt_read_u32(reader);
    uint32_t reserved = kt_read_u32(reader);
    snapshot->buffer_bytes = kt_read_u64(reader);
    device->regions = snapshot->regions = kt_read_u64(reader);
    device->waves_dropped = snapshot->waves_dropped = kt_read_u64(reader);
    device->waves_filtered = snapshot->waves_filtered = kt_read_u64(reader);
    if (reader->failed)
        return fail_payload(payload, "ends inside its fields");
    if (wire_version > KTRACE_WIRE_VERSION)
        return kt_fail(KTRACE_ERROR_VERSION,
                       "the kernels in the file recorded with version %u of the wire format, ktrace %s knows version "
                       "%u: use a newer ktrace",
                       wire_version, KTRACE_VERSION_STRING, KTRACE_WIRE_VERSION);
    if (wire_version == 0 || reserved != 0)
        return fail_payload(payload, "has an impossible wire version or a reserved field in use");
    int result = read_string(&snapshot->name, payload);
    if (result == 0)
        result = read_string(&device->name, payload);
    if (result == 0)
        result = read_string(&snapshot->warning, payload);
    return result < 0 ? result : end_payload(payload);
}

static int load_anchors(struct kt_snapshot *snapshot, struct payload *payload)
{
    uint64_t count = 0;
    int result = record_count(&count, payload, KT_FILE_ANCHOR_BYTES);
    if (result < 0)
        return result;
    struct kt_device *device = &snapshot->devices[0];
    device->anchors = kt_array_new_zeroed(count, sizeof *device->anchors);
    if (!device->anchors)
        return KTRACE_ERROR_MEMORY;
    device->anchor_count = count;
    for (uint64_t i = 0; i < count; i++) {
        device->anchors[i].host_before_ns = kt_read_u64(&payload->reader);
        device->anchors[i].host_after_ns = kt_read_u64(&payload->reader);
        device->anchors[i].device_ns = kt_read_u64(&payload->reader);
    }
    return end_payload(payload);
}

static int load_site(struct kt_site *site, struct payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    site->id = kt_read_u64(reader);
    site->line = kt_read_u32(reader);
    site->kind = kt_read_u8(reader);
    site->payload_type = kt_read_u8(reader);
    site->wide = kt_read_u8(reader);
    uint8_t reserved = kt_read_u8(reader);
    if (reader->failed)
        return fail_payload(payload, "ends inside a site");
    if (reserved != 0)
        return fail_payload(payload, "the site before here has a reserved field in use");
    int result = read_string(&site->name, payload);
    return result < 0 ? result : read_string(&site->file, payload);
}

static int load_modules(struct kt_snapshot *snapshot, struct payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    uint32_t count = kt_read_count(reader, KT_FILE_MODULE_BYTES);
    if (reader->failed)
        return fail_payload(payload, "claims more modules than it can hold");
    snapshot->modules = kt_array_new_zeroed(count, sizeof *snapshot->modules);
    if (!snapshot->modules)
        return KTRACE_ERROR_MEMORY;
    snapshot->module_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct kt_module *module = &snapshot->modules[i];
        module->number = kt_read_u32(reader);
        uint32_t sites = kt_read_count(reader, KT_FILE_SITE_BYTES);
        if (reader->failed)
            return fail_payload(payload, "a module claims more sites than the section can hold");
        module->sites = kt_array_new_zeroed(sites, sizeof *module->sites);
        if (!module->sites)
            return KTRACE_ERROR_MEMORY;
        module->site_count = sites;
        for (uint32_t k = 0; k < sites; k++) {
            int result = load_site(&module->sites[k], payload);
            if (result < 0)
                return result;
        }
    }
    return end_payload(payload);
}

static int load_waves(struct kt_snapshot *snapshot, struct payload *payload)
{
    uint64_t count = 0;
    int result = record_count(&count, payload, sizeof *snapshot->waves);
    if (result < 0)
        return result;
    snapshot->waves = kt_array_new_zeroed(count, sizeof *snapshot->waves);
    if (!snapshot->waves)
        return KTRACE_ERROR_MEMORY;
    snapshot->wave_count = count;
    memcpy(snapshot->waves, payload->reader.data, payload->reader.bytes);
    return 0;
}

static int load_slots(struct kt_snapshot *snapshot, struct payload *payload)
{
    uint64_t count = 0;
    int result = record_count(&count, payload, sizeof *snapshot->slots);
    if (result < 0)
        return result;
    snapshot->slots = kt_array_new_zeroed(count, sizeof *snapshot->slots);
    if (!snapshot->slots)
        return KTRACE_ERROR_MEMORY;
    snapshot->slot_count = count;
    memcpy(snapshot->slots, payload->reader.data, payload->reader.bytes);
    return 0;
}

/* Rings are disjoint and cover the slots, so that what is decoded is no larger than what is in the file. */
static int load_rings(struct kt_snapshot *snapshot, struct payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    uint64_t count = 0;
    int result = record_count(&count, payload, KT_FILE_RING_BYTES);
    if (result < 0)
        return result;
    snapshot->rings = kt_array_new_zeroed(count, sizeof *snapshot->rings);
    if (!snapshot->rings)
        return KTRACE_ERROR_MEMORY;
    snapshot->ring_count = count;
    uint64_t next_slot = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct kt_ring *ring = &snapshot->rings[i];
        ring->wave = kt_read_u32(reader);
        ring->lane = kt_read_u16(reader);
        ring->whole = kt_read_u16(reader);
        ring->slot_count = kt_read_u32(reader);
        ring->first_slot = next_slot;
        if (kt_ring_stored_slots(snapshot, ring) > snapshot->slot_count - next_slot)
            return fail_payload(payload, "the ring before here has more slots than there are");
        next_slot += kt_ring_stored_slots(snapshot, ring);
    }
    if (next_slot != snapshot->slot_count)
        return fail_payload(payload, "rings do not cover all slots");
    return 0;
}

int kt_snapshot_load(struct kt_snapshot **out, const void *data, size_t bytes)
{
    static const struct {
        uint32_t type;
        int (*load)(struct kt_snapshot *snapshot, struct payload *payload);
    } loaders[] = {
        {KT_FILE_INFO, load_info},       {KT_FILE_ANCHORS, load_anchors},
        {KT_FILE_MODULES, load_modules}, {KT_FILE_WAVES, load_waves},
        {KT_FILE_SLOTS, load_slots},     {KT_FILE_RINGS, load_rings}, /* last: it is checked against waves and slots */
    };
    if (!data && bytes)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "a trace cannot be loaded from NULL");
    struct kt_file_index index;
    int result = kt_file_index_read(&index, data, bytes);
    if (result < 0)
        return result;
    struct kt_snapshot *snapshot = kt_snapshot_new();
    if (!snapshot)
        result = KTRACE_ERROR_MEMORY;
    for (size_t i = 0; i < sizeof loaders / sizeof *loaders && result == 0; i++) {
        struct payload payload;
        result = open_payload(&payload, &index, loaders[i].type, data);
        if (result == 0)
            result = loaders[i].load(snapshot, &payload);
    }
    if (result == 0 && (snapshot->arch == KTRACE_ARCH_AMDGCN) != ((index.features & KT_FILE_AMDGCN) != 0))
        result = kt_fail(KTRACE_ERROR_FORMAT, "the file's features 0x%llx do not fit its architecture %u: " DAMAGED,
                         (ull)index.features, snapshot->arch);
    kt_file_index_free(&index);
    if (result == 0)
        result = kt_check_snapshot(snapshot);
    if (result < 0) {
        kt_snapshot_destroy(snapshot);
        return result;
    }
    *out = snapshot;
    return 0;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* The last error's sentence again, with the path in front. */
static int fail_in_file(int status, const char *path)
{
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", ktrace_last_error());
    return kt_fail(status, "%s: %s", path, sentence);
}

/* Up to `wanted` bytes, fewer at the end of the file; -1 with errno. */
static ssize_t read_fully(int descriptor, uint8_t *data, size_t wanted)
{
    size_t done = 0;
    while (done < wanted) {
        size_t left = wanted - done;
        ssize_t got = read(descriptor, data + done, left < (1u << 30) ? left : 1u << 30);
        if (got == 0)
            break;
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return -1;
    }
    return (ssize_t)done;
}

/* The header says how long the file is; memory grows with what is really there. One byte more is asked for, to see
 * whether the file goes on. */
static int read_descriptor(void **out, size_t *bytes, int descriptor, const char *path)
{
    size_t capacity = 1u << 16, used = 0;
    uint64_t limit = KT_FILE_HEADER_BYTES;
    uint8_t *data = kt_array_new(capacity, 1);
    if (!data)
        return KTRACE_ERROR_MEMORY;
    for (;;) {
        size_t room = capacity - used;
        size_t wanted = limit - used < room ? (size_t)(limit - used) : room;
        ssize_t got = read_fully(descriptor, data + used, wanted);
        if (got < 0) {
            int error = errno;
            free(data);
            return kt_fail(KTRACE_ERROR_IO, "%s: cannot read: %s", path, strerror(error));
        }
        bool first = used == 0;
        used += (size_t)got;
        if (first) {
            struct kt_file_index index;
            uint32_t header_bytes;
            int result = read_file_header(&index, &header_bytes, data, used);
            if (result < 0) {
                free(data);
                return fail_in_file(result, path);
            }
            limit = index.file_bytes < SIZE_MAX / 2 ? index.file_bytes + 1 : SIZE_MAX / 2;
            continue;
        }
        if ((size_t)got < wanted || used == limit)
            break;
        int result = kt_array_reserve(&data, &capacity, used + 1, 1);
        if (result < 0) {
            free(data);
            return result;
        }
    }
    *out = data;
    *bytes = used;
    return 0;
}

int kt_file_read(void **data, size_t *bytes, const char *path)
{
    if (!path || !*path)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "a trace cannot be loaded without a path");
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) < 0) {
        int error = errno;
        if (descriptor >= 0)
            close(descriptor);
        return kt_fail(KTRACE_ERROR_IO, "%s: cannot open: %s", path, strerror(error));
    }
    int result = S_ISDIR(status.st_mode)
                     ? kt_fail(KTRACE_ERROR_IO, "%s: this is a directory: name a .ktrace file", path)
                     : read_descriptor(data, bytes, descriptor, path);
    close(descriptor);
    return result;
}

int ktrace_trace_load_memory(struct ktrace_trace **out, const void *data, size_t bytes)
{
    if (!out)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "a trace cannot be loaded into NULL");
    struct kt_snapshot *snapshot;
    int result = kt_snapshot_load(&snapshot, data, bytes);
    return result < 0 ? result : kt_trace_from_snapshot(out, snapshot);
}

int ktrace_trace_load(struct ktrace_trace **out, const char *path)
{
    void *data;
    size_t bytes;
    int result = kt_file_read(&data, &bytes, path);
    if (result < 0)
        return result;
    result = ktrace_trace_load_memory(out, data, bytes);
    free(data);
    return result < 0 ? fail_in_file(result, path) : 0;
}
