#include "trace_file_processes.h"

#include "array.h"
#include "check.h"
#include "writer.h"

#define HOST_CLOCK_REALTIME 1u

/* ---- PROC ---------------------------------------------------------------------------------------------------------- */

void kt_encode_processes(struct kt_string *buffer, const struct kt_snapshot *snapshot)
{
    if (snapshot->process_count == 1)
        return;
    kt_write_u32(buffer, snapshot->process_count);
    kt_write_u32(buffer, snapshot->timeline_count);
    for (uint32_t i = 0; i < snapshot->process_count; i++) {
        const struct kt_process *process = &snapshot->processes[i];
        kt_write_u32(buffer, process->main_ring_slots);
        kt_write_u32(buffer, process->lane_ring_slots);
        kt_write_u64(buffer, process->buffer_bytes);
        kt_write_u32(buffer, process->first_module);
        kt_write_u32(buffer, process->timeline);
        kt_write_u64(buffer, (uint64_t)process->host_shift_ns);
        kt_write_u32(buffer, process->host_shift_uncertainty_ns);
        kt_write_u32(buffer, 0);
    }
    for (uint32_t i = 0; i < snapshot->timeline_count; i++)
        kt_write_u64(buffer, (uint64_t)snapshot->timeline_begins_ns[i]);
    for (uint32_t i = 0; i < snapshot->device_count; i++)
        kt_write_u32(buffer, snapshot->devices[i].process);
}

static int load_process(struct kt_process *process, struct kt_payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    const int status = kt_process_init(process);
    if (status < 0)
        return status;
    process->main_ring_slots = kt_read_u32(reader);
    process->lane_ring_slots = kt_read_u32(reader);
    process->buffer_bytes = kt_read_u64(reader);
    process->first_module = kt_read_u32(reader);
    process->timeline = kt_read_u32(reader);
    process->host_shift_ns = (int64_t)kt_read_u64(reader);
    process->host_shift_uncertainty_ns = kt_read_u32(reader);
    return kt_read_u32(reader) == 0 ? 0
                                    : kt_payload_fail(payload, "the process before here has a reserved field in use");
}

int kt_load_processes(struct kt_snapshot *snapshot, struct kt_payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    const struct kt_process *only = &snapshot->processes[0];
    if (only->main_ring_slots || only->lane_ring_slots || only->buffer_bytes)
        return kt_payload_fail(payload, "INFO tells of one process, in a file of several");
    const uint32_t count = kt_read_count(reader, KT_FILE_PROCESS_BYTES), timelines = kt_read_u32(reader);
    if (count < 2 || count > KT_DEVICES_MAX || timelines == 0 || timelines > count)
        return kt_payload_fail(payload, "does not have several processes on as many timelines at the most");
    struct kt_process *processes = kt_array_new_zeroed(count, sizeof *processes);
    int64_t *begins_ns = kt_array_new_zeroed(timelines, sizeof *begins_ns);
    if (!processes || !begins_ns) {
        free(processes);
        free(begins_ns);
        return KTRACE_ERROR_MEMORY;
    }
    kt_process_free(snapshot->processes);
    free(snapshot->processes);
    free(snapshot->timeline_begins_ns);
    snapshot->processes = processes;
    snapshot->process_count = count;
    snapshot->timeline_begins_ns = begins_ns;
    snapshot->timeline_count = timelines;
    int status = 0;
    for (uint32_t i = 0; i < count && status == 0; i++)
        status = load_process(&processes[i], payload);
    for (uint32_t i = 0; i < timelines; i++)
        begins_ns[i] = (int64_t)kt_read_u64(reader);
    for (uint32_t i = 0; i < snapshot->device_count; i++)
        snapshot->devices[i].process = kt_read_u32(reader);
    return status < 0 ? status : kt_payload_end(payload);
}

/* ---- ORIG ---------------------------------------------------------------------------------------------------------- */

static int is_known(const struct kt_process *process)
{
    return kt_id_is_known(process->id) || process->pid || process->read_count || process->reading_count ||
           *process->label || *process->host || *process->boot || *process->program || *process->version;
}

static int knows_anything(const struct kt_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->process_count; i++)
        if (is_known(&snapshot->processes[i]))
            return 1;
    for (uint32_t i = 0; i < snapshot->device_count; i++)
        if (kt_id_is_known(snapshot->devices[i].identity.uuid) || *snapshot->devices[i].identity.pci_bus_id)
            return 1;
    return snapshot->process_count > 1;
}

static void encode_process(struct kt_string *buffer, const struct kt_process *process)
{
    kt_string_append_bytes(buffer, process->id, KT_ID_BYTES);
    kt_write_u32(buffer, process->pid);
    kt_write_u32(buffer, HOST_CLOCK_REALTIME);
    kt_write_string(buffer, process->label);
    kt_write_string(buffer, process->host);
    kt_write_string(buffer, process->boot);
    kt_write_string(buffer, process->program);
    kt_write_string(buffer, process->version);
    kt_write_u32(buffer, process->read_count);
    for (uint32_t i = 0; i < process->read_count; i++) {
        kt_write_u32(buffer, process->reads[i].capture);
        kt_write_u64(buffer, process->reads[i].first);
        kt_write_u64(buffer, process->reads[i].last);
        kt_write_string(buffer, process->reads[i].filter);
    }
    kt_write_u32(buffer, process->reading_count);
    for (uint32_t i = 0; i < process->reading_count; i++) {
        kt_write_u64(buffer, process->readings[i].real_before_ns);
        kt_write_u64(buffer, process->readings[i].monotonic_ns);
        kt_write_u64(buffer, process->readings[i].real_after_ns);
    }
}

void kt_encode_origin(struct kt_string *buffer, const struct kt_snapshot *snapshot)
{
    if (!knows_anything(snapshot))
        return;
    kt_write_u32(buffer, snapshot->process_count);
    for (uint32_t i = 0; i < snapshot->process_count; i++)
        encode_process(buffer, &snapshot->processes[i]);
    kt_write_u32(buffer, snapshot->device_count);
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        kt_string_append_bytes(buffer, snapshot->devices[i].identity.uuid, KT_ID_BYTES);
        kt_write_string(buffer, snapshot->devices[i].identity.pci_bus_id);
    }
}

static void read_id(uint8_t out[KT_ID_BYTES], struct kt_reader *reader)
{
    const uint8_t *id = kt_read_bytes(reader, KT_ID_BYTES);
    if (id)
        memcpy(out, id, KT_ID_BYTES);
}

static int load_reads(struct kt_process *process, struct kt_payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    const uint32_t count = kt_read_count(reader, KT_FILE_READS_BYTES);
    if (reader->failed)
        return kt_payload_fail(payload, "a process claims more reads than the section can hold");
    process->reads = kt_array_new_zeroed(count, sizeof *process->reads);
    if (!process->reads)
        return KTRACE_ERROR_MEMORY;
    while (process->read_count < count) {
        struct kt_reads *reads = &process->reads[process->read_count++];
        reads->capture = kt_read_u32(reader);
        reads->first = kt_read_u64(reader);
        reads->last = kt_read_u64(reader);
        if (reads->capture == 0 || reads->first == 0 || reads->last < reads->first || reads->last == UINT64_MAX)
            return kt_payload_fail(payload, "the reads before here are not counted from 1 on");
        const int status = kt_payload_string(&reads->filter, payload);
        if (status < 0)
            return status;
    }
    return 0;
}

static int load_readings(struct kt_process *process, struct kt_payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    const uint32_t count = kt_read_count(reader, KT_FILE_READING_BYTES);
    if (reader->failed)
        return kt_payload_fail(payload, "a process claims more readings of clocks than the section can hold");
    process->readings = kt_array_new_zeroed(count, sizeof *process->readings);
    if (!process->readings)
        return KTRACE_ERROR_MEMORY;
    for (; process->reading_count < count; process->reading_count++) {
        struct kt_clock_reading *reading = &process->readings[process->reading_count];
        reading->real_before_ns = kt_read_u64(reader);
        reading->monotonic_ns = kt_read_u64(reader);
        reading->real_after_ns = kt_read_u64(reader);
    }
    return 0;
}

static int load_origin_of(struct kt_process *process, struct kt_payload *payload)
{
    struct kt_reader *reader = &payload->reader;
    read_id(process->id, reader);
    process->pid = kt_read_u32(reader);
    if (kt_read_u32(reader) != HOST_CLOCK_REALTIME)
        return kt_payload_fail(payload, "the host's clock before here is not CLOCK_REALTIME");
    char **const strings[] = {&process->label, &process->host, &process->boot, &process->program, &process->version};
    int status = 0;
    for (size_t i = 0; i < sizeof strings / sizeof *strings && status == 0; i++)
        status = kt_payload_string(strings[i], payload);
    if (status == 0)
        status = load_reads(process, payload);
    return status < 0 ? status : load_readings(process, payload);
}

static int load_identity(struct kt_device_identity *identity, struct kt_payload *payload)
{
    char *text = NULL;
    read_id(identity->uuid, &payload->reader);
    int status = kt_payload_string(&text, payload);
    if (status == 0 && strlen(text) >= sizeof identity->pci_bus_id)
        status = kt_payload_fail(payload, "the PCI bus id before here is longer than any");
    else if (status == 0)
        strcpy(identity->pci_bus_id, text);
    free(text);
    return status;
}

int kt_load_origin(struct kt_snapshot *snapshot, struct kt_payload *payload)
{
    int status = 0;
    if (kt_read_u32(&payload->reader) != snapshot->process_count)
        return kt_payload_fail(payload, "does not tell of the file's processes");
    for (uint32_t i = 0; i < snapshot->process_count && status == 0; i++)
        status = load_origin_of(&snapshot->processes[i], payload);
    if (status == 0 && kt_read_u32(&payload->reader) != snapshot->device_count)
        status = kt_payload_fail(payload, "does not tell of the file's devices");
    for (uint32_t i = 0; i < snapshot->device_count && status == 0; i++)
        status = load_identity(&snapshot->devices[i].identity, payload);
    return status < 0 ? status : kt_payload_end(payload);
}
