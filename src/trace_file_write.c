#include "trace_file.h"

#include "error.h"
#include "trace.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "wave headers and slots are written as they lie in memory: a big-endian host has to swap them here"
#endif

/* ---- Sections ---------------------------------------------------------------------------------------------------- */

/* A payload is a few spans of memory, so that large arrays are written from where they are. */
struct span {
    const void *data;
    size_t bytes;
};

struct section {
    uint32_t type;
    const struct span *spans;
    size_t span_count;
};

enum { SECTION_COUNT = 6 };

static uint64_t section_payload_bytes(const struct section *section)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < section->span_count; i++)
        bytes += section->spans[i].bytes;
    return bytes;
}

static uint64_t padding_after(uint64_t bytes)
{
    return -bytes & (KT_FILE_ALIGNMENT - 1);
}

static void encode_info(struct kt_string *buffer, const struct kt_snapshot *snapshot)
{
    kt_write_u32(buffer, KTRACE_WIRE_VERSION);
    kt_write_u32(buffer, snapshot->arch);
    kt_write_u32(buffer, snapshot->flags);
    kt_write_u32(buffer, snapshot->places);
    kt_write_u32(buffer, snapshot->clock_khz);
    kt_write_u32(buffer, snapshot->wall_tick_ns);
    kt_write_u32(buffer, snapshot->main_ring_slots);
    kt_write_u32(buffer, snapshot->lane_ring_slots);
    kt_write_u32(buffer, snapshot->capability);
    kt_write_u32(buffer, 0);
    kt_write_u64(buffer, snapshot->buffer_bytes);
    kt_write_u64(buffer, snapshot->regions);
    kt_write_u64(buffer, snapshot->waves_dropped);
    kt_write_u64(buffer, snapshot->waves_filtered);
    kt_write_string(buffer, snapshot->name);
    kt_write_string(buffer, snapshot->device);
    kt_write_string(buffer, snapshot->warning);
}

static void encode_anchors(struct kt_string *buffer, const struct kt_snapshot *snapshot)
{
    for (uint64_t i = 0; i < snapshot->anchor_count; i++) {
        kt_write_u64(buffer, snapshot->anchors[i].host_before_ns);
        kt_write_u64(buffer, snapshot->anchors[i].host_after_ns);
        kt_write_u64(buffer, snapshot->anchors[i].device_ns);
    }
}

static void encode_modules(struct kt_string *buffer, const struct kt_snapshot *snapshot)
{
    kt_write_u32(buffer, (uint32_t)snapshot->module_count);
    for (uint64_t i = 0; i < snapshot->module_count; i++) {
        const struct kt_module *module = &snapshot->modules[i];
        kt_write_u32(buffer, module->number);
        kt_write_u32(buffer, module->site_count);
        for (uint32_t k = 0; k < module->site_count; k++) {
            const struct kt_site *site = &module->sites[k];
            kt_write_u64(buffer, site->id);
            kt_write_u32(buffer, site->line);
            kt_write_u8(buffer, site->kind);
            kt_write_u8(buffer, site->payload_type);
            kt_write_u8(buffer, site->wide);
            kt_write_u8(buffer, 0);
            kt_write_string(buffer, site->name);
            kt_write_string(buffer, site->file);
        }
    }
}

static void encode_rings(struct kt_string *buffer, const struct kt_snapshot *snapshot)
{
    for (uint64_t i = 0; i < snapshot->ring_count; i++) {
        kt_write_u32(buffer, snapshot->rings[i].wave);
        kt_write_u16(buffer, snapshot->rings[i].lane);
        kt_write_u16(buffer, snapshot->rings[i].whole);
        kt_write_u32(buffer, snapshot->rings[i].slot_count);
    }
}

/* The slots ring by ring: the file does not say where a ring's slots begin, they follow those of the ring before. Rings
 * that lie so in memory already are one span. */
static int collect_slots(struct span **out, size_t *count, const struct kt_snapshot *snapshot)
{
    size_t bytes = (snapshot->ring_count + 1) * sizeof(struct span);
    struct span *spans = malloc(bytes);
    if (!spans)
        return kt_fail_memory(bytes);
    size_t used = 0;
    uint64_t next_slot = UINT64_MAX;
    for (uint64_t i = 0; i < snapshot->ring_count; i++) {
        const struct kt_ring *ring = &snapshot->rings[i];
        if (ring->slot_count == 0)
            continue;
        if (ring->slot_count > snapshot->slot_count || ring->first_slot > snapshot->slot_count - ring->slot_count) {
            free(spans);
            return kt_fail(KTRACE_ERROR_ARGUMENT, "ring %llu of the snapshot lies outside its slots",
                           (unsigned long long)i);
        }
        size_t ring_bytes = (size_t)ring->slot_count * sizeof(struct ktrace_slot);
        if (ring->first_slot == next_slot)
            spans[used - 1].bytes += ring_bytes;
        else
            spans[used++] = (struct span){snapshot->slots + ring->first_slot, ring_bytes};
        next_slot = ring->first_slot + ring->slot_count;
    }
    *out = spans;
    *count = used;
    return 0;
}

/* ---- Output ------------------------------------------------------------------------------------------------------ */

/* Where to write. A regular file, or one that is not there yet, gets its bytes by a rename; a device or a pipe cannot. */
struct output {
    const char *path;
    FILE *stream;
    char *target;    /* what `path` is after symbolic links; NULL: `path` itself */
    char *temporary; /* NULL: written in place */
    int error;       /* errno of the first write that failed: finish_output reports it */
};

static void put(struct output *output, const void *data, size_t bytes)
{
    if (bytes && !output->error && fwrite(data, 1, bytes, output->stream) != bytes)
        output->error = errno ? errno : EIO;
}

/* Headers end with the checksum of what precedes it. Frees `header`. */
static void put_with_checksum(struct output *output, struct kt_string *header)
{
    kt_write_u32(header, libdeflate_crc32(0, header->text, header->length));
    if (header->failed && !output->error)
        output->error = ENOMEM;
    put(output, header->text, header->length);
    kt_string_destroy(header);
}

static void put_header(struct output *output, const struct section *sections)
{
    uint64_t file_bytes = KT_FILE_HEADER_BYTES;
    for (int i = 0; i < SECTION_COUNT; i++) {
        uint64_t bytes = section_payload_bytes(&sections[i]);
        file_bytes += KT_FILE_SECTION_HEADER_BYTES + bytes + padding_after(bytes);
    }
    struct kt_string header = KT_STRING_INIT;
    kt_string_append_bytes(&header, KT_FILE_MAGIC, KT_FILE_MAGIC_BYTES);
    kt_write_u16(&header, KT_FILE_VERSION);
    kt_write_u16(&header, KT_FILE_MINIMUM_READER);
    kt_write_u32(&header, SECTION_COUNT);
    kt_write_u64(&header, 0); /* features */
    kt_write_u64(&header, file_bytes);
    kt_write_u32(&header, KT_FILE_HEADER_BYTES);
    put_with_checksum(output, &header);
}

static void put_section(struct output *output, const struct section *section)
{
    uint32_t checksum = 0;
    for (size_t i = 0; i < section->span_count; i++)
        checksum = libdeflate_crc32(checksum, section->spans[i].data, section->spans[i].bytes);
    uint64_t bytes = section_payload_bytes(section);

    struct kt_string header = KT_STRING_INIT;
    kt_write_u32(&header, section->type);
    kt_write_u32(&header, KT_FILE_REQUIRED);
    kt_write_u64(&header, bytes);
    kt_write_u32(&header, checksum);
    put_with_checksum(output, &header);

    for (size_t i = 0; i < section->span_count; i++)
        put(output, section->spans[i].data, section->spans[i].bytes);
    static const uint8_t zeros[KT_FILE_ALIGNMENT];
    put(output, zeros, (size_t)padding_after(bytes));
}

static int fail_io(const char *action, const char *path, int error)
{
    return kt_fail(KTRACE_ERROR_IO, "%s: cannot %s: %s", path, action, strerror(error));
}

/* A new file beside `target`, with the permissions that any new file gets (mkstemp would make it private). */
static int open_temporary(char **out, const char *target)
{
    static atomic_uint serial;
    const char *slash = strrchr(target, '/');
    int directory_bytes = slash ? (int)(slash - target) + 1 : 0;
    size_t bytes = (size_t)directory_bytes + 64;
    char *temporary = malloc(bytes);
    if (!temporary)
        return -1;
    for (int attempt = 0; attempt < 1000; attempt++) {
        snprintf(temporary, bytes, "%.*s.ktrace-%ld-%u.tmp", directory_bytes, target, (long)getpid(),
                 atomic_fetch_add(&serial, 1));
        int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0) {
            *out = temporary;
            return descriptor;
        }
        if (errno != EEXIST)
            break;
    }
    int error = errno;
    free(temporary);
    errno = error;
    return -1;
}

static void discard_output(struct output *output)
{
    if (output->stream)
        fclose(output->stream);
    if (output->temporary)
        unlink(output->temporary);
    free(output->temporary);
    free(output->target);
    *output = (struct output){0};
}

static int open_output(struct output *out, const char *path)
{
    struct output output = {.path = path};
    struct stat status;
    bool exists = stat(path, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return fail_io("write", path, EISDIR);
    bool in_place = exists && !S_ISREG(status.st_mode);
    bool link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    if (link && !exists)
        in_place = true; /* a dangling link: open() makes what it points to */
    else if (link && !in_place && !(output.target = realpath(path, NULL)))
        return fail_io("resolve", path, errno);

    int descriptor = in_place ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
                              : open_temporary(&output.temporary, output.target ? output.target : path);
    if (descriptor < 0) {
        int error = errno;
        discard_output(&output);
        return fail_io("create", path, error);
    }
    output.stream = fdopen(descriptor, "wb");
    if (!output.stream) {
        int error = errno;
        close(descriptor);
        discard_output(&output);
        return fail_io("write", path, error);
    }
    *out = output;
    return 0;
}

static int finish_output(struct output *output)
{
    if (fclose(output->stream) != 0 && !output->error)
        output->error = errno;
    output->stream = NULL;
    const char *target = output->target ? output->target : output->path;
    if (!output->error && output->temporary) {
        if (rename(output->temporary, target) != 0) {
            output->error = errno;
        } else {
            free(output->temporary);
            output->temporary = NULL;
        }
    }
    int result = output->error ? fail_io("write", output->path, output->error) : 0;
    discard_output(output);
    return result;
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

int kt_snapshot_save(const struct kt_snapshot *snapshot, const char *path)
{
    if (!snapshot || !path || !*path)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "a trace cannot be saved without %s", snapshot ? "a path" : "a trace");
    if (snapshot->module_count > UINT32_MAX)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "%s: a file holds at most 2^32 - 1 modules", path);

    struct kt_string info = KT_STRING_INIT, anchors = KT_STRING_INIT, modules = KT_STRING_INIT, rings = KT_STRING_INIT;
    encode_info(&info, snapshot);
    encode_anchors(&anchors, snapshot);
    encode_modules(&modules, snapshot);
    encode_rings(&rings, snapshot);
    struct span *slots = NULL;
    size_t slot_spans = 0;
    int result = collect_slots(&slots, &slot_spans, snapshot);
    if (result == 0 && (info.failed || anchors.failed || modules.failed || rings.failed))
        result = kt_fail_memory(info.length + anchors.length + modules.length + rings.length);

    struct output output;
    if (result == 0)
        result = open_output(&output, path);
    if (result == 0) {
        const struct section sections[SECTION_COUNT] = {
            {KT_FILE_INFO, &(struct span){info.text, info.length}, 1},
            {KT_FILE_ANCHORS, &(struct span){anchors.text, anchors.length}, 1},
            {KT_FILE_MODULES, &(struct span){modules.text, modules.length}, 1},
            {KT_FILE_WAVES, &(struct span){snapshot->waves, snapshot->wave_count * sizeof *snapshot->waves}, 1},
            {KT_FILE_RINGS, &(struct span){rings.text, rings.length}, 1},
            {KT_FILE_SLOTS, slots, slot_spans},
        };
        put_header(&output, sections);
        for (int i = 0; i < SECTION_COUNT; i++)
            put_section(&output, &sections[i]);
        result = finish_output(&output);
    }
    kt_string_destroy(&info);
    kt_string_destroy(&anchors);
    kt_string_destroy(&modules);
    kt_string_destroy(&rings);
    free(slots);
    return result;
}

int ktrace_trace_save(const struct ktrace_trace *trace, const char *path)
{
    return kt_snapshot_save(trace ? trace->snapshot : NULL, path);
}
