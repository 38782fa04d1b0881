/* From a file's sections to a snapshot, and to a trace. */
#include "trace_file.h"

#include "array.h"
#include "check.h"
#include "error.h"
#include "reader.h"
#include "trace.h"
#include "trace_file_payload.h"
#include "trace_file_processes.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "wave headers and slots are read as they lie in the file: a big-endian host has to swap them here"
#endif

/* Headers lie in files as in memory: these are the offsets of docs/format.md. */
_Static_assert(offsetof(struct ktrace_wave_header, kernel_site) == 16, "part of the file format");
_Static_assert(offsetof(struct ktrace_wave_header, start_clock_ticks) == 64, "part of the file format");
_Static_assert(offsetof(struct ktrace_wave_header, place) == 96, "part of the file format");
_Static_assert(offsetof(struct ktrace_wave_header, final_count_bytes) == 128, "part of the file format");

#define DAMAGED KT_FILE_DAMAGED

typedef unsigned long long ull; /* for %llu */

/* ---- Sections ---------------------------------------------------------------------------------------------------- */

static int load_info(struct kt_snapshot *snapshot, struct kt_payload *payload)
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
    snapshot->processes[0].main_ring_slots = kt_read_u32(reader);
    snapshot->processes[0].lane_ring_slots = kt_read_u32(reader);
    device->capability = kt_read_u32(reader);
    uint32_t reserved = kt_read_u32(reader);
    snapshot->processes[0].buffer_bytes = kt_read_u64(reader);
    device->regions = snapshot->regions = kt_read_u64(reader);
    device->waves_dropped = snapshot->waves_dropped = kt_read_u64(reader);
    device->waves_filtered = snapshot->waves_filtered = kt_read_u64(reader);
    if (reader->failed)
        return kt_payload_fail(payload, "ends inside its fields");
    if (wire_version > KTRACE_WIRE_VERSION)
        return kt_fail(KTRACE_ERROR_VERSION,
                       "the kernels in the file recorded with version %u of the wire format, ktrace %s knows version "
                       "%u: use a newer ktrace",
                       wire_version, KTRACE_VERSION_STRING, KTRACE_WIRE_VERSION);
    if (wire_version == 0 || reserved != 0)
        return kt_payload_fail(payload, "has an impossible wire version or a reserved field in use");
    int result = kt_payload_string(&snapshot->name, payload);
    if (result == 0)
        result = kt_payload_string(&device->name, payload);
    if (result == 0)
        result = kt_payload_string(&snapshot->warning, payload);
    return result < 0 ? result : kt_payload_end(payload);
}

static void read_anchors(struct kt_host_anchor *anchors, uint64_t count, struct kt_reader *reader)
{
    for (uint64_t i = 0; i < count; i++) {
        anchors[i].host_before_ns = kt_read_u64(reader);
        anchors[i].host_after_ns = kt_read_u64(reader);
        anchors[i].device_ns = kt_read_u64(reader);
    }
}

static int load_anchors(struct kt_snapshot *snapshot, struct kt_payload *payload)
{
    uint64_t count = 0;
    int result = kt_payload_records(&count, payload, KT_FILE_ANCHOR_BYTES);
    if (result < 0)
        return result;
    struct kt_device *device = &snapshot->devices[0];
    device->anchors = kt_array_new_zeroed(count, sizeof *device->anchors);
    if (!device->anchors)
        return KTRACE_ERROR_MEMORY;
    device->anchor_count = count;
    read_anchors(device->anchors, count, &payload->reader);
    return kt_payload_end(payload);
}

static int load_site(struct kt_site *site, struct kt_payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    site->id = kt_read_u64(reader);
    site->line = kt_read_u32(reader);
    site->kind = kt_read_u8(reader);
    site->payload_type = kt_read_u8(reader);
    site->wide = kt_read_u8(reader);
    uint8_t reserved = kt_read_u8(reader);
    if (reader->failed)
        return kt_payload_fail(payload, "ends inside a site");
    if (reserved != 0)
        return kt_payload_fail(payload, "the site before here has a reserved field in use");
    int result = kt_payload_string(&site->name, payload);
    return result < 0 ? result : kt_payload_string(&site->file, payload);
}

static int load_modules(struct kt_snapshot *snapshot, struct kt_payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    uint32_t count = kt_read_count(reader, KT_FILE_MODULE_BYTES);
    if (reader->failed)
        return kt_payload_fail(payload, "claims more modules than it can hold");
    snapshot->modules = kt_array_new_zeroed(count, sizeof *snapshot->modules);
    if (!snapshot->modules)
        return KTRACE_ERROR_MEMORY;
    snapshot->module_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct kt_module *module = &snapshot->modules[i];
        module->number = kt_read_u32(reader);
        uint32_t sites = kt_read_count(reader, KT_FILE_SITE_BYTES);
        if (reader->failed)
            return kt_payload_fail(payload, "a module claims more sites than the section can hold");
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
    return kt_payload_end(payload);
}

static int load_waves(struct kt_snapshot *snapshot, struct kt_payload *payload)
{
    uint64_t count = 0;
    int result = kt_payload_records(&count, payload, sizeof *snapshot->waves);
    if (result < 0)
        return result;
    snapshot->waves = kt_array_new_zeroed(count, sizeof *snapshot->waves);
    if (!snapshot->waves)
        return KTRACE_ERROR_MEMORY;
    snapshot->wave_count = count;
    memcpy(snapshot->waves, payload->reader.data, payload->reader.bytes);
    return 0;
}

static int load_slots(struct kt_snapshot *snapshot, struct kt_payload *payload)
{
    uint64_t count = 0;
    int result = kt_payload_records(&count, payload, sizeof *snapshot->slots);
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
static int load_rings(struct kt_snapshot *snapshot, struct kt_payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    uint64_t count = 0;
    int result = kt_payload_records(&count, payload, KT_FILE_RING_BYTES);
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
            return kt_payload_fail(payload, "the ring before here has more slots than there are");
        next_slot += kt_ring_stored_slots(snapshot, ring);
    }
    if (next_slot != snapshot->slot_count)
        return kt_payload_fail(payload, "rings do not cover all slots");
    return 0;
}

/* ---- Sections of some files -------------------------------------------------------------------------------------- */

static int load_ordinal(struct kt_snapshot *snapshot, struct kt_payload *payload)
{
    snapshot->devices[0].ordinal = kt_read_u32(&payload->reader);
    return kt_payload_end(payload);
}

static int load_taken(struct kt_snapshot *snapshot, struct kt_payload *payload)
{
    snapshot->taken_ns = kt_read_u64(&payload->reader);
    return kt_payload_end(payload);
}

static int load_device(struct kt_device *device, struct kt_payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    device->ordinal = kt_read_u32(reader);
    device->places = kt_read_u32(reader);
    device->clock_khz = kt_read_u32(reader);
    device->wall_tick_ns = kt_read_u32(reader);
    device->capability = kt_read_u32(reader);
    uint32_t anchors = kt_read_u32(reader);
    device->regions = kt_read_u64(reader);
    device->waves_dropped = kt_read_u64(reader);
    device->waves_filtered = kt_read_u64(reader);
    if (reader->failed || anchors > kt_reader_left(reader) / KT_FILE_ANCHOR_BYTES)
        return kt_payload_fail(payload, "ends inside a device");
    device->anchors = kt_array_new_zeroed(anchors, sizeof *device->anchors);
    if (!device->anchors)
        return KTRACE_ERROR_MEMORY;
    device->anchor_count = anchors;
    read_anchors(device->anchors, anchors, reader);
    return kt_payload_string(&device->name, payload);
}

/* What INFO and ANCH say of one device is left empty in a file of several. */
static bool says_nothing(const struct kt_device *device)
{
    return !device->places && !device->clock_khz && !device->wall_tick_ns && !device->capability &&
           !device->anchor_count && !*device->name;
}

static int load_devices(struct kt_snapshot *snapshot, struct kt_payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    if (!says_nothing(&snapshot->devices[0]))
        return kt_payload_fail(payload, "INFO or ANCH tell of one device, in a file of several");
    uint32_t count = kt_read_count(reader, KT_FILE_DEVICE_BYTES);
    if (count < 2 || count > KT_DEVICES_MAX)
        return kt_payload_fail(payload, "does not have several devices, or more than any host");
    for (uint32_t i = 0; i < count; i++) {
        struct kt_device *device = i ? kt_snapshot_add_device(snapshot, "") : &snapshot->devices[0];
        if (!device)
            return KTRACE_ERROR_MEMORY;
        free(device->anchors);
        device->anchors = NULL;
        device->anchor_count = 0;
        int result = load_device(device, payload);
        if (result < 0)
            return result;
    }
    for (uint64_t i = 0; i < snapshot->module_count; i++)
        snapshot->modules[i].device = kt_read_u32(reader);
    return kt_payload_end(payload);
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

/* What the header promises is in the sections, and nothing else. */
static int check_features(const struct kt_snapshot *snapshot, uint64_t features)
{
    uint64_t wanted = 0;
    if (snapshot->arch == KTRACE_ARCH_AMDGCN)
        wanted |= KT_FILE_AMDGCN;
    if (snapshot->device_count > 1)
        wanted |= KT_FILE_SEVERAL;
    if (snapshot->process_count > 1)
        wanted |= KT_FILE_MERGED;
    if (features != wanted)
        return kt_fail(KTRACE_ERROR_FORMAT,
                       "the file's features 0x%llx do not fit its architecture %u and its number of devices, %u, and "
                       "processes, %u: " DAMAGED,
                       (ull)features, snapshot->arch, snapshot->device_count, snapshot->process_count);
    return 0;
}

/* Of the sections that are not in every file. */
static bool is_owed(const struct kt_snapshot *snapshot, uint32_t type)
{
    return type == KT_FILE_ORIGIN && snapshot->process_count > 1;
}

/* What a file with right checksums says against docs/format.md no transfer did to it. */
static int fail_rule(int status)
{
    if (status != KTRACE_ERROR_FORMAT)
        return status;
    const struct kt_failure failure = kt_failure_keep(status);
    return kt_fail(status, "%s: the file's checksums are right, so it was written like this: record it again",
                   failure.sentence);
}

int kt_snapshot_load(struct kt_snapshot **out, const void *data, size_t bytes)
{
    static const struct {
        uint32_t type;
        int (*load)(struct kt_snapshot *snapshot, struct kt_payload *payload);
        bool in_some; /* not in every file */
    } loaders[] = {
        {KT_FILE_INFO, load_info, false},
        {KT_FILE_ANCHORS, load_anchors, false},
        {KT_FILE_MODULES, load_modules, false},
        {KT_FILE_WAVES, load_waves, false},
        {KT_FILE_SLOTS, load_slots, false},
        {KT_FILE_RINGS, load_rings, false}, /* is checked against waves and slots */
        {KT_FILE_ORDINAL, load_ordinal, true},
        {KT_FILE_DEVICES, load_devices, true}, /* is checked against INFO, ANCH and modules */
        {KT_FILE_TAKEN, load_taken, true},
        {KT_FILE_PROCESSES, kt_load_processes, true}, /* is checked against INFO and devices */
        {KT_FILE_ORIGIN, kt_load_origin, true},       /* is checked against processes and devices */
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
        struct kt_payload payload;
        result = kt_payload_open(&payload, &index, loaders[i].type, data);
        if (result == 0)
            result = loaders[i].load(snapshot, &payload);
        else if (result > 0)
            result = loaders[i].in_some && !is_owed(snapshot, loaders[i].type)
                         ? 0
                         : kt_payload_fail_missing(loaders[i].type);
    }
    if (result == 0)
        result = check_features(snapshot, index.features);
    kt_file_index_free(&index);
    if (result == 0)
        result = fail_rule(kt_check_snapshot(snapshot));
    if (result < 0) {
        kt_snapshot_destroy(snapshot);
        return result;
    }
    *out = snapshot;
    return 0;
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
    return result < 0 ? kt_file_fail(result, path) : 0;
}
