#include "trace_file.h"

#include "array.h"
#include "check.h"
#include "error.h"
#include "export/sink.h"
#include "trace.h"
#include "trace_file_processes.h"
#include "writer.h"

#include <libdeflate.h>

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
    uint32_t type, flags;
    const struct span *spans;
    size_t span_count;
};

enum { SECTIONS_REQUIRED = 6, SECTIONS_MAX = 10 };

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

/* The latest that its waves were written by. */
static uint32_t wire_version_of(const struct kt_snapshot *snapshot)
{
    uint32_t version = snapshot->wave_count ? 0 : KTRACE_WIRE_VERSION;
    for (uint64_t i = 0; i < snapshot->wave_count; i++)
        if (snapshot->waves[i].version > version)
            version = snapshot->waves[i].version;
    return version;
}

static int has_several(const struct kt_snapshot *snapshot)
{
    return snapshot->device_count > 1;
}

/* What is of one device is empty in a file of several, encode_devices, and what is of one process in a file of several of
 * these: kt_encode_processes. */
static void encode_info(struct kt_string *buffer, const struct kt_snapshot *snapshot)
{
    static char no_name[] = "";
    static const struct kt_device none = {.name = no_name};
    static const struct kt_process nobody = {.pid = 0};
    const struct kt_device *device = has_several(snapshot) ? &none : &snapshot->devices[0];
    const struct kt_process *process = snapshot->process_count > 1 ? &nobody : &snapshot->processes[0];
    kt_write_u32(buffer, wire_version_of(snapshot));
    kt_write_u32(buffer, snapshot->arch);
    kt_write_u32(buffer, snapshot->flags);
    kt_write_u32(buffer, device->places);
    kt_write_u32(buffer, device->clock_khz);
    kt_write_u32(buffer, device->wall_tick_ns);
    kt_write_u32(buffer, process->main_ring_slots);
    kt_write_u32(buffer, process->lane_ring_slots);
    kt_write_u32(buffer, device->capability);
    kt_write_u32(buffer, 0);
    kt_write_u64(buffer, process->buffer_bytes);
    kt_write_u64(buffer, snapshot->regions);
    kt_write_u64(buffer, snapshot->waves_dropped);
    kt_write_u64(buffer, snapshot->waves_filtered);
    kt_write_string(buffer, snapshot->name);
    kt_write_string(buffer, device->name);
    kt_write_string(buffer, snapshot->warning);
}

static void encode_anchors(struct kt_string *buffer, const struct kt_device *device)
{
    for (uint64_t i = 0; i < device->anchor_count; i++) {
        kt_write_u64(buffer, device->anchors[i].host_before_ns);
        kt_write_u64(buffer, device->anchors[i].host_after_ns);
        kt_write_u64(buffer, device->anchors[i].device_ns);
    }
}

static void encode_devices(struct kt_string *buffer, const struct kt_snapshot *snapshot)
{
    kt_write_u32(buffer, snapshot->device_count);
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        const struct kt_device *device = &snapshot->devices[i];
        kt_write_u32(buffer, device->ordinal);
        kt_write_u32(buffer, device->places);
        kt_write_u32(buffer, device->clock_khz);
        kt_write_u32(buffer, device->wall_tick_ns);
        kt_write_u32(buffer, device->capability);
        kt_write_u32(buffer, (uint32_t)device->anchor_count);
        kt_write_u64(buffer, device->regions);
        kt_write_u64(buffer, device->waves_dropped);
        kt_write_u64(buffer, device->waves_filtered);
        encode_anchors(buffer, device);
        kt_write_string(buffer, device->name);
    }
    for (uint64_t i = 0; i < snapshot->module_count; i++)
        kt_write_u32(buffer, snapshot->modules[i].device);
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
    struct span *spans = kt_array_new(snapshot->ring_count, sizeof *spans);
    if (!spans)
        return KTRACE_ERROR_MEMORY;
    size_t used = 0;
    uint64_t next_slot = UINT64_MAX;
    for (uint64_t i = 0; i < snapshot->ring_count; i++) {
        const struct kt_ring *ring = &snapshot->rings[i];
        if (ring->slot_count == 0)
            continue;
        size_t ring_slots = (size_t)kt_ring_stored_slots(snapshot, ring);
        size_t ring_bytes = ring_slots * sizeof(struct ktrace_slot);
        if (ring->first_slot == next_slot)
            spans[used - 1].bytes += ring_bytes;
        else
            spans[used++] = (struct span){snapshot->slots + ring->first_slot, ring_bytes};
        next_slot = ring->first_slot + ring_slots;
    }
    *out = spans;
    *count = used;
    return 0;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static int put(struct kt_sink *sink, const void *data, size_t bytes)
{
    return bytes ? sink->write(sink, data, bytes) : 0;
}

/* Headers end with the checksum of what precedes it. Frees `header`. */
static int put_with_checksum(struct kt_sink *sink, struct kt_string *header)
{
    kt_write_u32(header, libdeflate_crc32(0, header->text, header->length));
    int result = header->failed ? kt_fail_memory(header->length) : put(sink, header->text, header->length);
    kt_string_destroy(header);
    return result;
}

static int put_header(struct kt_sink *sink, const struct section *sections, uint32_t count, uint64_t features)
{
    uint64_t file_bytes = KT_FILE_HEADER_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bytes = section_payload_bytes(&sections[i]);
        file_bytes += KT_FILE_SECTION_HEADER_BYTES + bytes + padding_after(bytes);
    }
    struct kt_string header = KT_STRING_INIT;
    kt_string_append_bytes(&header, KT_FILE_MAGIC, KT_FILE_MAGIC_BYTES);
    kt_write_u16(&header, KT_FILE_VERSION);
    kt_write_u16(&header, KT_FILE_MINIMUM_READER);
    kt_write_u32(&header, count);
    kt_write_u64(&header, features);
    kt_write_u64(&header, file_bytes);
    kt_write_u32(&header, KT_FILE_HEADER_BYTES);
    return put_with_checksum(sink, &header);
}

static int put_section(struct kt_sink *sink, const struct section *section)
{
    uint32_t checksum = 0;
    for (size_t i = 0; i < section->span_count; i++)
        checksum = libdeflate_crc32(checksum, section->spans[i].data, section->spans[i].bytes);
    uint64_t bytes = section_payload_bytes(section);

    struct kt_string header = KT_STRING_INIT;
    kt_write_u32(&header, section->type);
    kt_write_u32(&header, section->flags);
    kt_write_u64(&header, bytes);
    kt_write_u32(&header, checksum);
    int result = put_with_checksum(sink, &header);

    for (size_t i = 0; i < section->span_count && result == 0; i++)
        result = put(sink, section->spans[i].data, section->spans[i].bytes);
    static const uint8_t zeros[KT_FILE_ALIGNMENT];
    return result < 0 ? result : put(sink, zeros, (size_t)padding_after(bytes));
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

/* What sections are made of, where it is not the snapshot's own memory. */
struct texts {
    struct kt_string info, anchors, modules, rings, devices, taken, processes, origin;
    struct span *slots;
    size_t slot_spans;
};

static int encode(struct texts *texts, const struct kt_snapshot *snapshot)
{
    encode_info(&texts->info, snapshot);
    if (!has_several(snapshot))
        encode_anchors(&texts->anchors, &snapshot->devices[0]);
    encode_modules(&texts->modules, snapshot);
    encode_rings(&texts->rings, snapshot);
    if (has_several(snapshot))
        encode_devices(&texts->devices, snapshot);
    else if (snapshot->devices[0].ordinal)
        kt_write_u32(&texts->devices, snapshot->devices[0].ordinal);
    if (snapshot->taken_ns)
        kt_write_u64(&texts->taken, snapshot->taken_ns);
    kt_encode_processes(&texts->processes, snapshot);
    kt_encode_origin(&texts->origin, snapshot);
    const struct kt_string *all[] = {&texts->info,    &texts->anchors, &texts->modules,   &texts->rings,
                                     &texts->devices, &texts->taken,   &texts->processes, &texts->origin};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->failed)
            return kt_fail_memory(all[i]->length);
    return collect_slots(&texts->slots, &texts->slot_spans, snapshot);
}

static void free_texts(struct texts *texts)
{
    kt_string_destroy(&texts->info);
    kt_string_destroy(&texts->anchors);
    kt_string_destroy(&texts->modules);
    kt_string_destroy(&texts->rings);
    kt_string_destroy(&texts->devices);
    kt_string_destroy(&texts->taken);
    kt_string_destroy(&texts->processes);
    kt_string_destroy(&texts->origin);
    free(texts->slots);
}

static int put_all(struct kt_sink *sink, const struct kt_snapshot *snapshot, const struct texts *texts)
{
    const struct span info = {texts->info.text, texts->info.length};
    const struct span anchors = {texts->anchors.text, texts->anchors.length};
    const struct span modules = {texts->modules.text, texts->modules.length};
    const struct span waves = {snapshot->waves, snapshot->wave_count * sizeof *snapshot->waves};
    const struct span rings = {texts->rings.text, texts->rings.length};
    const struct span devices = {texts->devices.text, texts->devices.length};
    const struct span taken = {texts->taken.text, texts->taken.length};
    const struct span processes = {texts->processes.text, texts->processes.length};
    const struct span origin = {texts->origin.text, texts->origin.length};
    const int several = has_several(snapshot), merged = snapshot->process_count > 1;
    struct section sections[SECTIONS_MAX] = {
        {KT_FILE_INFO, KT_FILE_REQUIRED, &info, 1},
        {KT_FILE_ANCHORS, KT_FILE_REQUIRED, &anchors, 1},
        {KT_FILE_MODULES, KT_FILE_REQUIRED, &modules, 1},
        {KT_FILE_WAVES, KT_FILE_REQUIRED, &waves, 1},
        {KT_FILE_RINGS, KT_FILE_REQUIRED, &rings, 1},
        {KT_FILE_SLOTS, KT_FILE_REQUIRED, texts->slots, texts->slot_spans},
        {several ? KT_FILE_DEVICES : KT_FILE_ORDINAL, several ? KT_FILE_REQUIRED : 0, &devices, 1},
        {KT_FILE_TAKEN, 0, &taken, 1},
        {KT_FILE_PROCESSES, KT_FILE_REQUIRED, &processes, 1},
        {KT_FILE_ORIGIN, merged ? KT_FILE_REQUIRED : 0, &origin, 1},
    };
    uint32_t count = SECTIONS_REQUIRED; /* of the others those that say something */
    for (uint32_t i = SECTIONS_REQUIRED; i < SECTIONS_MAX; i++)
        if (section_payload_bytes(&sections[i]))
            sections[count++] = sections[i];
    const uint64_t features = (snapshot->arch == KTRACE_ARCH_AMDGCN ? KT_FILE_AMDGCN : 0u) |
                              (several ? KT_FILE_SEVERAL : 0u) | (merged ? KT_FILE_MERGED : 0u);
    int result = put_header(sink, sections, count, features);
    for (uint32_t i = 0; i < count && result == 0; i++)
        result = put_section(sink, &sections[i]);
    return result;
}

/* Sections of what could be loaded again. */
static int prepare(struct texts *texts, const struct kt_snapshot *snapshot)
{
    if (snapshot->module_count > UINT32_MAX)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "a trace file holds at most 2^32 - 1 modules");
    const int result = kt_check_snapshot(snapshot);
    return result < 0 ? result : encode(texts, snapshot);
}

int kt_snapshot_save(const struct kt_snapshot *snapshot, const char *path)
{
    if (!snapshot || !path || !*path)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "a trace cannot be saved without %s", snapshot ? "a path" : "a trace");
    struct texts texts = {.slots = NULL};
    struct kt_file_sink file;
    int result = prepare(&texts, snapshot);
    if (result == 0)
        result = kt_file_sink_replace(&file, path);
    if (result == 0)
        result = kt_file_sink_close(&file, put_all(&file.sink, snapshot, &texts));
    free_texts(&texts);
    return result;
}

int kt_snapshot_save_memory(void **data, size_t *bytes, const struct kt_snapshot *snapshot)
{
    struct texts texts = {.slots = NULL};
    struct kt_memory_sink memory;
    kt_memory_sink_init(&memory);
    int result = prepare(&texts, snapshot);
    if (result == 0)
        result = put_all(&memory.sink, snapshot, &texts);
    free_texts(&texts);
    if (result < 0) {
        kt_pb_destroy(&memory.buffer);
        return result;
    }
    *data = memory.buffer.data;
    *bytes = memory.buffer.bytes;
    return KTRACE_OK;
}

int ktrace_trace_save(const struct ktrace_trace *trace, const char *path)
{
    return kt_snapshot_save(trace ? trace->snapshot : NULL, path);
}
