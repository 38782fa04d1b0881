/* Devices in text and JSON: of a trace of several. */
#include "error.h"
#include "summary.h"

#include <inttypes.h>
#include <math.h>

void kt_device_times(struct kt_string *text, const struct ktrace_trace *trace, uint32_t index)
{
    const struct kt_trace_device *device = &trace->devices[index];
    char cell[KT_CELL_BYTES];
    if (kt_trace_device_is_placed(trace, index))
        kt_string_append(text, "placed as asked");
    else if (!device->related || isinf(device->uncertainty_ns))
        kt_string_append(text, "cannot be compared");
    else if (trace->snapshot->flags & KT_SNAPSHOT_SIMULATED)
        kt_string_append(text, "of one clock");
    else
        kt_string_printf(text, "within %s of the host's clock", kt_duration(cell, device->uncertainty_ns));
}

enum { COLUMNS = 9 };

static void append_row(struct kt_table *table, const struct ktrace_trace *trace, uint32_t index)
{
    const struct kt_device *device = &trace->snapshot->devices[index];
    const struct kt_trace_device *more = &trace->devices[index];
    struct kt_string times = KT_STRING_INIT;
    char cell[KT_CELL_BYTES];
    kt_device_times(&times, trace, index);
    kt_table_cell(table, more->number);
    kt_table_cell(table, device->name);
    kt_table_printf(table, "%" PRIu32, device->places);
    kt_table_cell(table, kt_grouped(cell, more->launch_count));
    kt_table_cell(table, kt_grouped(cell, more->wave_count));
    kt_table_cell(table, kt_grouped(cell, more->event_count));
    kt_table_cell(table, device->waves_dropped ? kt_grouped(cell, device->waves_dropped) : NULL);
    kt_table_style(table, KT_STYLE_WARNING);
    kt_table_cell(table, device->waves_filtered ? kt_grouped(cell, device->waves_filtered) : NULL);
    kt_table_style(table, KT_STYLE_WARNING);
    kt_table_cell(table, kt_string_text(&times));
    table->failed |= times.failed;
    kt_string_destroy(&times);
}

void kt_append_devices(struct kt_string *text, const struct ktrace_trace *trace)
{
    const uint32_t arch = trace->snapshot->arch;
    const struct kt_table_column columns[COLUMNS] = {
        {"device", KT_LEFT},    {"name", KT_LEFT},      {kt_places_word(arch), KT_RIGHT},
        {"launches", KT_RIGHT}, {"waves", KT_RIGHT},    {"events", KT_RIGHT},
        {"dropped", KT_RIGHT},  {"filtered", KT_RIGHT}, {"times", KT_LEFT}};
    struct kt_table table = kt_table_of(columns, COLUMNS);
    if (trace->snapshot->device_count == 1)
        return;
    kt_string_append(text, "\n");
    for (uint32_t i = 0; i < trace->snapshot->device_count; i++)
        append_row(&table, trace, i);
    kt_table_finish(text, &table);
}

static int append_device(struct kt_json *json, const struct ktrace_trace *trace, uint32_t index)
{
    struct ktrace_device_info info = {.struct_size = sizeof info};
    const int status = ktrace_trace_device(&info, trace, index);
    if (status < 0)
        return status;
    kt_json_separate(json);
    kt_json_open(json, '{');
    kt_json_string(json, "name", info.name);
    kt_json_count(json, "ordinal", info.ordinal);
    kt_json_count(json, "places", info.places);
    kt_json_count(json, "launches", info.launches);
    kt_json_count(json, "waves", info.waves);
    kt_json_count(json, "events", info.events);
    kt_json_count(json, "waves_dropped", info.waves_dropped);
    kt_json_count(json, "waves_filtered", info.waves_filtered);
    kt_json_integer(json, "clock_offset_ns", info.clock_offset_ns);
    kt_json_real(json, "clock_uncertainty_ns", info.clock_uncertainty_ns);
    kt_json_real(json, "clock_residual_ns", info.clock_residual_ns);
    kt_json_real(json, "clock_contradiction_ns", info.clock_contradiction_ns);
    kt_json_count(json, "process", info.process);
    kt_json_string(json, "label", info.label);
    if (*info.uuid)
        kt_json_string(json, "uuid", info.uuid);
    if (*info.pci_bus_id)
        kt_json_string(json, "pci_bus_id", info.pci_bus_id);
    kt_json_close(json, '}');
    return KTRACE_OK;
}

const char *kt_relation_name(uint32_t relation)
{
    static const char *const names[] = {"self", "device", "host", "realtime", "placed", "none"};
    return names[relation <= KTRACE_RELATION_NONE ? relation : KTRACE_RELATION_NONE];
}

static int append_process(struct kt_json *json, const struct ktrace_trace *trace, uint32_t index)
{
    struct ktrace_process_info info = {.struct_size = sizeof info};
    const int status = ktrace_trace_process(&info, trace, index);
    if (status < 0)
        return status;
    kt_json_separate(json);
    kt_json_open(json, '{');
    kt_json_string(json, "label", info.label);
    kt_json_string(json, "host", info.host);
    kt_json_string(json, "boot", info.boot);
    kt_json_string(json, "program", info.program);
    kt_json_string(json, "version", info.version);
    kt_json_string(json, "filter", info.filter);
    kt_json_count(json, "pid", info.pid);
    kt_json_count(json, "devices", info.devices);
    kt_json_count(json, "launches", info.launches);
    kt_json_count(json, "waves", info.waves);
    kt_json_count(json, "events", info.events);
    kt_json_count(json, "waves_dropped", info.waves_dropped);
    kt_json_count(json, "waves_filtered", info.waves_filtered);
    kt_json_string(json, "relation", kt_relation_name((uint32_t)info.relation));
    kt_json_integer(json, "shift_ns", info.shift_ns);
    kt_json_close(json, '}');
    return KTRACE_OK;
}

/* Of several. */
static int append_processes(struct kt_json *json, const struct ktrace_trace *trace)
{
    int status = KTRACE_OK;
    if (trace->snapshot->process_count == 1)
        return KTRACE_OK;
    kt_json_key(json, "processes");
    kt_json_open(json, '[');
    for (uint32_t i = 0; status == KTRACE_OK && i < trace->snapshot->process_count; i++)
        status = append_process(json, trace, i);
    kt_json_close(json, ']');
    return status;
}

int kt_json_devices(struct kt_json *json, const struct ktrace_trace *trace)
{
    int status = KTRACE_OK;
    if (trace->snapshot->device_count == 1)
        return KTRACE_OK;
    kt_json_key(json, "devices");
    kt_json_open(json, '[');
    for (uint32_t i = 0; status == KTRACE_OK && i < trace->snapshot->device_count; i++)
        status = append_device(json, trace, i);
    kt_json_close(json, ']');
    return status == KTRACE_OK ? append_processes(json, trace) : status;
}
