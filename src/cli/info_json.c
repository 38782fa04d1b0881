#include "info.h"

#include "../summary.h"

/* ---- The file ----------------------------------------------------------------------------------------------------- */

static void append_sections(struct kt_json *json, const struct kt_file_index *index)
{
    kt_json_key(json, "sections");
    kt_json_open(json, '[');
    for (uint32_t i = 0; i < index->section_count; i++) {
        const struct kt_file_section *section = &index->sections[i];
        char type[5];
        kt_file_type_name(type, section->type);
        kt_json_separate(json);
        kt_json_open(json, '{');
        kt_json_string(json, "type", type);
        kt_json_count(json, "offset", section->payload_offset - KT_FILE_SECTION_HEADER_BYTES);
        kt_json_count(json, "payload_bytes", section->payload_bytes);
        kt_json_count(json, "required", section->flags & KT_FILE_REQUIRED);
        kt_json_close(json, '}');
    }
    kt_json_close(json, ']');
}

static void append_file(struct kt_json *json, const char *path, const struct kt_file_index *index)
{
    kt_json_key(json, "file");
    kt_json_open(json, '{');
    kt_json_string(json, "path", path);
    kt_json_count(json, "version", index->version);
    kt_json_count(json, "bytes", index->file_bytes);
    append_sections(json, index);
    kt_json_close(json, '}');
}

/* ---- Who recorded ------------------------------------------------------------------------------------------------- */

static void append_reads(struct kt_json *json, const struct kt_process *process)
{
    kt_json_key(json, "captures");
    kt_json_open(json, '[');
    for (uint32_t i = 0; i < process->read_count; i++) {
        kt_json_separate(json);
        kt_json_open(json, '{');
        kt_json_count(json, "capture", process->reads[i].capture);
        kt_json_count(json, "first_read", process->reads[i].first);
        kt_json_count(json, "last_read", process->reads[i].last);
        kt_json_string(json, "filter", process->reads[i].filter);
        kt_json_close(json, '}');
    }
    kt_json_close(json, ']');
}

static void append_clock(struct kt_json *json, const struct kt_process *process)
{
    struct kt_clock_distance distance;
    if (!kt_process_clock_distance(&distance, process)) {
        kt_json_null(json, "realtime_minus_monotonic_ns");
        return;
    }
    kt_json_integer(json, "realtime_minus_monotonic_ns", distance.low_ns + (distance.high_ns - distance.low_ns) / 2);
    kt_json_integer(json, "realtime_uncertainty_ns", (distance.high_ns - distance.low_ns + 1) / 2);
    kt_json_count(json, "realtime_was_set", (uint64_t)(distance.was_set != 0));
    kt_json_count(json, "clock_readings", process->reading_count);
}

/* What is not known is "" and 0. */
static void append_process(struct kt_json *json, const struct ktrace_trace *trace, uint32_t index)
{
    const struct kt_process *process = &trace->snapshot->processes[index];
    const struct kt_trace_process *more = &trace->processes[index];
    char id[KT_ID_TEXT_BYTES];
    kt_id_text(id, process->id);
    kt_json_separate(json);
    kt_json_open(json, '{');
    kt_json_string(json, "label", more->label);
    kt_json_string(json, "given_label", process->label);
    kt_json_string(json, "id", id);
    kt_json_string(json, "host", process->host);
    kt_json_string(json, "boot", process->boot);
    kt_json_string(json, "program", process->program);
    kt_json_count(json, "pid", process->pid);
    kt_json_string(json, "version", process->version);
    kt_json_string(json, "anchor_clock", "CLOCK_REALTIME");
    append_clock(json, process);
    append_reads(json, process);
    kt_json_count(json, "buffer_bytes", process->buffer_bytes);
    kt_json_count(json, "main_ring_slots", process->main_ring_slots);
    kt_json_count(json, "lane_ring_slots", process->lane_ring_slots);
    kt_json_count(json, "devices", more->device_count);
    kt_json_count(json, "launches", more->launch_count);
    kt_json_count(json, "waves", more->wave_count);
    kt_json_count(json, "events", more->event_count);
    kt_json_count(json, "waves_dropped", more->waves_dropped);
    kt_json_count(json, "waves_filtered", more->waves_filtered);
    kt_json_string(json, "relation", kt_relation_name(more->relation));
    kt_json_count(json, "timeline", process->timeline);
    kt_json_integer(json, "timeline_begin_ns", trace->snapshot->timeline_begins_ns[process->timeline]);
    kt_json_integer(json, "host_shift_ns", process->host_shift_ns);
    kt_json_close(json, '}');
}

static void append_anchors(struct kt_json *json, const struct kt_device *device)
{
    kt_json_key(json, "host_anchors");
    kt_json_open(json, '[');
    for (uint64_t i = 0; i < device->anchor_count; i++) {
        kt_json_separate(json);
        kt_json_open(json, '{');
        kt_json_count(json, "host_before_ns", device->anchors[i].host_before_ns);
        kt_json_count(json, "host_after_ns", device->anchors[i].host_after_ns);
        kt_json_count(json, "device_ns", device->anchors[i].device_ns);
        kt_json_close(json, '}');
    }
    kt_json_close(json, ']');
}

static void append_device(struct kt_json *json, const struct ktrace_trace *trace, uint32_t index)
{
    const struct kt_device *device = &trace->snapshot->devices[index];
    const struct kt_trace_device *more = &trace->devices[index];
    kt_json_separate(json);
    kt_json_open(json, '{');
    kt_json_string(json, "label", more->label);
    kt_json_string(json, "name", device->name);
    kt_json_count(json, "ordinal", device->ordinal);
    kt_json_count(json, "process", device->process);
    kt_json_string(json, "uuid", more->uuid);
    kt_json_string(json, "pci_bus_id", device->identity.pci_bus_id);
    kt_json_count(json, "capability", device->capability);
    kt_json_count(json, "places", device->places);
    kt_json_count(json, "clock_khz", device->clock_khz);
    kt_json_count(json, "wall_tick_ns", device->wall_tick_ns);
    kt_json_count(json, "waves_that_fit", device->regions);
    kt_json_count(json, "launches", more->launch_count);
    kt_json_count(json, "waves", more->wave_count);
    kt_json_count(json, "events", more->event_count);
    kt_json_count(json, "waves_dropped", device->waves_dropped);
    kt_json_count(json, "waves_filtered", device->waves_filtered);
    kt_json_integer(json, "clock_offset_ns", more->host_offset_ns);
    kt_json_real(json, "clock_uncertainty_ns", more->uncertainty_ns);
    kt_json_real(json, "clock_residual_ns", more->residual_ns);
    kt_json_real(json, "clock_contradiction_ns", more->contradiction_ns);
    append_anchors(json, device);
    kt_json_close(json, '}');
}

/* ---- All of it ---------------------------------------------------------------------------------------------------- */

int info_json(struct kt_string *out, const char *path, const struct kt_file_index *index,
              const struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    struct kt_json json = kt_json_of(out);
    const int status = ktrace_trace_get_info(&info, trace);
    if (status < 0)
        return status;
    kt_json_open(&json, '{');
    append_file(&json, path, index);
    kt_json_key(&json, "info");
    kt_json_open(&json, '{');
    kt_json_trace_info(&json, &info);
    kt_json_close(&json, '}');
    kt_json_string(&json, "warning", ktrace_trace_warning(trace));
    kt_json_count(&json, "taken_while_running", (snapshot->flags & KT_SNAPSHOT_PEEK) != 0);
    kt_json_count(&json, "keeps_newest_events", (snapshot->flags & KT_SNAPSHOT_KEEP_LAST) != 0);
    kt_json_count(&json, "rings", snapshot->ring_count);
    kt_json_count(&json, "slots", snapshot->slot_count);
    kt_json_count(&json, "modules", snapshot->module_count);
    kt_json_key(&json, "processes");
    kt_json_open(&json, '[');
    for (uint32_t i = 0; i < snapshot->process_count; i++)
        append_process(&json, trace, i);
    kt_json_close(&json, ']');
    kt_json_key(&json, "devices");
    kt_json_open(&json, '[');
    for (uint32_t i = 0; i < snapshot->device_count; i++)
        append_device(&json, trace, i);
    kt_json_close(&json, ']');
    kt_json_close(&json, '}');
    kt_string_append_char(out, '\n');
    return 0;
}
