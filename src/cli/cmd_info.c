#include "cli.h"
#include "fields.h"
#include "info.h"
#include "kinds.h"
#include "progress.h"
#include "terminal.h"

#include "../summary.h"
#include "../trace.h"
#include "../trace_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kt_string text;

enum { LABELS = INFO_LABELS };

static void count(text *out, const char *name, uint64_t value)
{
    cli_field(out, LABELS, name, "%" PRIu64, value);
}

static void count_with_note(text *out, const char *name, uint64_t value, const char *note)
{
    cli_field(out, LABELS, name, "%-10" PRIu64 " %s", value, note);
}

/* One that is not 0 stands out. */
static void loss(text *out, const char *name, uint64_t value, const char *note)
{
    char number[24];
    snprintf(number, sizeof number, "%-10" PRIu64, value);
    cli_label(out, LABELS, name);
    if (value)
        kt_string_append_styled(out, KT_STYLE_WARNING, number);
    else
        kt_string_append(out, number);
    kt_string_printf(out, " %s\n", note);
}

static const char *arch_name(uint32_t arch)
{
    switch (arch) {
    case KTRACE_ARCH_NVIDIA: return "NVIDIA";
    case KTRACE_ARCH_AMDGCN: return "AMD GCN";
    case KTRACE_ARCH_HOST: return "host";
    default: return "unknown";
    }
}

static void append_file(text *out, const char *path, const struct kt_file_index *index)
{
    kt_string_append_visible(out, path);
    kt_string_printf(out, ": trace file, format version %u, %" PRIu64 " bytes\n", index->version, index->file_bytes);
}

static void append_sections(text *out, const struct kt_file_index *index)
{
    cli_heading(out, "Sections");
    kt_string_printf(out, "  %-6s %12s %12s\n", "type", "offset", "payload");
    for (uint32_t i = 0; i < index->section_count; i++) {
        const struct kt_file_section *section = &index->sections[i];
        kt_string_append(out, "  ");
        for (int shift = 0; shift < 32; shift += 8) {
            char letter = (char)(section->type >> shift);
            kt_string_append_char(out, letter > ' ' && letter <= '~' ? letter : '?');
        }
        /* Where its header begins, as in error messages. */
        kt_string_printf(out, "   %12" PRIu64 " %12" PRIu64 "%s\n",
                         section->payload_offset - KT_FILE_SECTION_HEADER_BYTES, section->payload_bytes,
                         section->flags & KT_FILE_REQUIRED ? "" : "  optional");
    }
}

static void append_host_anchors(text *out, const struct kt_device *device)
{
    for (uint64_t i = 0; i < device->anchor_count; i++) {
        const struct kt_host_anchor *anchor = &device->anchors[i];
        cli_field(out, LABELS, i == 0 ? "host anchors" : "",
                  "device %" PRIu64 " ns = host %" PRIu64 " ns, up to %" PRIu64 " later", anchor->device_ns,
                  anchor->host_before_ns, anchor->host_after_ns - anchor->host_before_ns);
    }
    if (device->anchor_count == 0)
        cli_field(out, LABELS, "host anchors", "none");
}

static void append_target(text *out, const struct kt_device *device, uint32_t arch)
{
    const char *target = kt_target_name(device->capability);
    if (device->capability && arch == KTRACE_ARCH_AMDGCN)
        cli_field(out, LABELS, "target", "%s", target ? target : "unknown");
    else if (device->capability)
        cli_field(out, LABELS, "compute capability", "%u.%u", device->capability / 10, device->capability % 10);
    cli_field(out, LABELS, kt_places_word(arch), "%u", device->places);
    info_identity(out, device);
}

static void append_device_clock(text *out, const struct kt_device *device)
{
    if (device->clock_khz)
        cli_field(out, LABELS, "nominal clock", "%u.%03u MHz", device->clock_khz / 1000, device->clock_khz % 1000);
    cli_field(out, LABELS, "wall clock step", "%u ns", device->wall_tick_ns);
}

static void append_capture(text *out, const struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    const bool several = snapshot->device_count > 1;
    cli_heading(out, "Capture");
    cli_field_visible(out, LABELS, "name", snapshot->name);
    cli_field_visible(out, LABELS, several ? "devices" : "device", kt_trace_device_names(trace));
    cli_field(out, LABELS, "architecture", "%s", arch_name(snapshot->arch));
    if (!several)
        append_target(out, &snapshot->devices[0], snapshot->arch);
    if (snapshot->flags & KT_SNAPSHOT_SIMULATED)
        cli_field(out, LABELS, "time", "simulated: no measure of any hardware");
    if (!several)
        append_device_clock(out, &snapshot->devices[0]);
    if (snapshot->process_count == 1) {
        cli_field(out, LABELS, "buffer", "%" PRIu64 " bytes%s, %" PRIu64 " waves fit",
                  snapshot->processes[0].buffer_bytes, several ? " on each" : "", snapshot->regions);
        info_rings(out, snapshot, 0);
    } else {
        cli_field(out, LABELS, "processes", "%u", snapshot->process_count);
    }
    cli_field(out, LABELS, "taken", "%s",
              snapshot->flags & KT_SNAPSHOT_PEEK ? "while kernels could be running" : "after the kernels had ended");
    cli_field(out, LABELS, "wrapped rings", "%s",
              snapshot->flags & KT_SNAPSHOT_KEEP_LAST ? "keep their newest events" : "are an error");
}

static void append_devices(text *out, const struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        const struct kt_device *device = &snapshot->devices[i];
        const struct kt_trace_device *more = &trace->devices[i];
        text times = KT_STRING_INIT;
        kt_device_times(&times, trace, i);
        info_heading(out, "Device", more->number);
        cli_field_visible(out, LABELS, "name", device->name);
        append_target(out, device, snapshot->arch);
        append_device_clock(out, device);
        count(out, "waves that fit", device->regions);
        count(out, "launches", more->launch_count);
        count(out, "waves", more->wave_count);
        count(out, "events", more->event_count);
        count(out, "waves dropped", device->waves_dropped);
        count(out, "waves filtered", device->waves_filtered);
        cli_field(out, LABELS, "times", "%s", kt_string_text(&times));
        if (more->contradiction_ns > 0)
            cli_field(out, LABELS, "contradiction", "%.3f ns among its host anchors", more->contradiction_ns);
        append_host_anchors(out, device);
        out->failed |= times.failed;
        kt_string_destroy(&times);
    }
}

static void append_contents(text *out, const struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    cli_heading(out, "Contents");
    count(out, "launches", trace->launch_count);
    count(out, "waves", trace->wave_count);
    count(out, "rings with events", snapshot->ring_count);
    count(out, "slots", snapshot->slot_count);
    count_with_note(out, "events", trace->event_count, "a next that ends a range and begins one is two");
    if (snapshot->device_count > 1)
        cli_field(out, LABELS, "begins at", "%" PRIu64 " ns on the clock of %s", trace->origin_ns,
                  trace->devices[trace->timeline_device].words);
    else
        cli_field(out, LABELS, "begins at", "%" PRIu64 " ns on the device's clock", trace->origin_ns);
    cli_field(out, LABELS, "duration", "%.3f us", (double)trace->duration_ps / 1e6);
    if (*ktrace_trace_warning(trace))
        cli_field_styled(out, LABELS, "warning", KT_STYLE_WARNING, ktrace_trace_warning(trace));
}

static void append_losses(text *out, const struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    cli_heading(out, "Not there, or not whole");
    loss(out, "waves dropped", snapshot->waves_dropped, "found no room in the buffer");
    loss(out, "waves filtered", snapshot->waves_filtered, "turned away by the filter");
    loss(out, "waves unfinished", trace->waves_unfinished, "were still inside their kernel");
    loss(out, "slots lost", trace->slots_lost, "overwritten in rings that wrapped");
    loss(out, "slots corrupt", trace->slots_corrupt, "that no site explains");
    loss(out, "ranges unclosed", trace->ranges_unclosed, "end with their wave's last event");
    loss(out, "ends unmatched", trace->ends_unmatched, "pops and stops that nothing had opened");
    loss(out, "clocks ambiguous", trace->clocks_ambiguous, "waves with a gap that the clock cannot count");
}

static void append_clocks(text *out, const struct ktrace_trace *trace)
{
    cli_heading(out, "Clocks");
    if (trace->place_clock_count)
        cli_field(out, LABELS, "fitted clock", "%.6f MHz", trace->clock_hz / 1e6);
    cli_field(out, LABELS, "largest residual", "%.3f ns", trace->clock_residual_ns);
    const struct kt_place_clock *loosest = NULL;
    for (uint32_t i = 0; i < trace->place_clock_count; i++)
        if (!loosest || trace->place_clocks[i].uncertainty_ns > loosest->uncertainty_ns)
            loosest = &trace->place_clocks[i];
    cli_field(out, LABELS, "places fitted", "%u", trace->place_clock_count);
    if (loosest && trace->snapshot->device_count > 1)
        cli_field(out, LABELS, "least certain", "%s, place %u: +-%.3f ns, anchors: %u",
                  trace->devices[loosest->device].words, loosest->place, loosest->uncertainty_ns,
                  loosest->anchor_count);
    else if (loosest)
        cli_field(out, LABELS, "least certain", "place %u: +-%.3f ns, anchors: %u", loosest->place,
                  loosest->uncertainty_ns, loosest->anchor_count);
    if (trace->snapshot->device_count == 1)
        append_host_anchors(out, &trace->snapshot->devices[0]);
}

static void append_site(text *out, const struct kt_site *site)
{
    kt_string_printf(out, site->wide ? "  0x%016" PRIx64 : "  %18" PRIu64, site->id);
    kt_string_printf(out, "  %-6s  %-7s  ", cli_kind_name(site->kind), cli_payload_name(site->payload_type));
    kt_string_append_visible(out, cli_site_name(site));
    if (cli_site_has_place(site)) {
        kt_string_append(out, "  ");
        kt_string_append_visible(out, site->file);
        kt_string_printf(out, ":%u", site->line);
    }
    kt_string_append(out, "\n");
}

static void append_modules(text *out, const struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    cli_heading(out, "Modules and sites");
    for (uint64_t i = 0; i < snapshot->module_count; i++) {
        const struct kt_module *module = &snapshot->modules[i];
        kt_string_printf(out, "  module %u", module->number);
        if (snapshot->device_count > 1) {
            kt_string_append(out, " of ");
            kt_string_append_visible(out, trace->devices[module->device].words);
        }
        kt_string_printf(out, ": %u sites\n", module->site_count);
        for (uint32_t k = 0; k < module->site_count; k++)
            append_site(out, &module->sites[k]);
    }
    if (snapshot->module_count == 0)
        kt_string_append(out, "  none\n");
}

static void append_launches(text *out, const struct ktrace_trace *trace)
{
    cli_heading(out, "Launches");
    for (uint64_t i = 0; i < trace->launch_count; i++) {
        const struct kt_launch *launch = &trace->launches[i];
        kt_string_printf(out, "  %" PRIu64 ": ", i);
        kt_string_append_visible(out, trace->kernels[launch->kernel].name);
        kt_string_printf(out, " grid (%u, %u, %u) block (%u, %u, %u), ", launch->grid[0], launch->grid[1],
                         launch->grid[2], launch->block[0], launch->block[1], launch->block[2]);
        if (trace->snapshot->arch == KTRACE_ARCH_AMDGCN)
            kt_string_printf(out, "dispatch %" PRIu64 " of queue 0x%" PRIx64, launch->grid_id, launch->queue);
        else
            kt_string_printf(out, "grid id %" PRIu64, launch->grid_id);
        kt_string_printf(out, ", occurrence %u", launch->occurrence);
        if (trace->snapshot->device_count > 1) {
            kt_string_append(out, ", ");
            kt_string_append_visible(out, trace->devices[launch->device].words);
        }
        kt_string_append(out, "\n");
        kt_string_printf(out,
                         "     %.3f us from %.3f us, %" PRIu64 " of %" PRIu64 " waves, %" PRIu64 " events, %" PRIu64
                         " slots lost\n",
                         (double)kt_launch_duration_ps(launch) / 1e6, (double)launch->begin_ps / 1e6,
                         launch->wave_count, launch->waves_launched, launch->event_count, launch->slots_lost);
    }
    if (trace->launch_count == 0)
        kt_string_append(out, "  none\n");
}

static void append_waves(text *out, const struct ktrace_trace *trace)
{
    cli_heading(out, "Waves");
    kt_string_printf(out, "  %6s %5s %-20s %5s %5s %14s %14s %8s %6s\n", "launch", "place", "workgroup", "wave",
                     "lanes", "begin us", "end us", "events", "lost");
    for (uint64_t i = 0; i < trace->wave_count; i++) {
        const struct kt_wave *wave = &trace->waves[i];
        text workgroup = KT_STRING_INIT;
        kt_string_printf(&workgroup, "(%u, %u, %u)", wave->workgroup[0], wave->workgroup[1], wave->workgroup[2]);
        kt_string_printf(out, "  %6u %5u %-20s %5u %5u %14.3f %14.3f %8u %6" PRIu64 "%s\n", wave->launch, wave->place,
                         kt_string_text(&workgroup), wave->wave, wave->lane_count, (double)wave->begin_ps / 1e6,
                         (double)wave->end_ps / 1e6, wave->event_count, wave->slots_lost,
                         wave->unfinished ? "  unfinished" : "");
        out->failed |= workgroup.failed;
        kt_string_destroy(&workgroup);
    }
}

enum format { TEXT, WITH_WAVES, JSON };

static int append_all(text *out, const char *path, const struct kt_file_index *index, const struct ktrace_trace *trace,
                      enum format format)
{
    append_file(out, path, index);
    append_capture(out, trace);
    info_processes(out, trace);
    if (trace->snapshot->device_count > 1)
        append_devices(out, trace);
    append_contents(out, trace);
    append_losses(out, trace);
    append_clocks(out, trace);
    append_modules(out, trace);
    append_launches(out, trace);
    if (format == WITH_WAVES)
        append_waves(out, trace);
    append_sections(out, index);
    return 0;
}

static int print_info(const char *path, const void *data, size_t bytes, enum format format)
{
    struct kt_file_index index;
    struct ktrace_trace *trace;
    if (kt_file_index_read(&index, data, bytes) < 0)
        return cli_error_in_file(path);
    cli_progress_begin("decoding", path);
    const int result = ktrace_trace_load_memory(&trace, data, bytes);
    cli_progress_end();
    if (result < 0) {
        kt_file_index_free(&index);
        return cli_error_in_file(path);
    }
    text out = format == JSON ? (text)KT_STRING_INIT : cli_text();
    const int status =
        format == JSON ? info_json(&out, path, &index, trace) : append_all(&out, path, &index, trace, format);
    ktrace_trace_destroy(trace);
    kt_file_index_free(&index);
    if (status == 0)
        return cli_print_string(&out);
    kt_string_destroy(&out);
    return cli_error_library();
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"waves", no_argument, NULL, 'w'}, {"json", no_argument, NULL, 'j'}, CLI_HELP_OPTION, {0}};
    enum format format = TEXT;
    for (int option; (option = cli_option(&cli_info, argc, argv, ":hwj", options)) != -1;) {
        const enum format asked = option == 'j' ? JSON : WITH_WAVES;
        switch (option) {
        case 'j':
        case 'w':
            if (format != TEXT && format != asked)
                return cli_error_usage(&cli_info,
                                       "'--waves' and '--json' do not go together: waves are in the text only");
            format = asked;
            break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
    }
    const char *path = cli_operand(&cli_info, argc, argv, "one .ktrace file");
    if (!path)
        return CLI_USAGE;
    void *data;
    size_t bytes;
    cli_progress_begin("reading", path);
    const int result = kt_file_read(&data, &bytes, path);
    cli_progress_end();
    if (result < 0)
        return cli_error_library();
    int status = print_info(path, data, bytes, format);
    free(data);
    return status;
}

const struct cli_command cli_info = {
    .name = "info",
    .brief = "print everything about a trace file",
    .help = "Usage: ktrace info [--waves | --json] FILE.ktrace\n"
            "\n"
            "The device, how the capture was set up, who recorded and where, what is in the file and what is\n"
            "missing, clocks, modules and their sites, launches, and the sections of the file: where each\n"
            "begins, and the bytes of its payload behind a header of 24. Of the events, a next\n"
            "(KTRACE_RANGE_NEXT) that ends a range and begins one counts as two, though it takes one slot.\n"
            "\n"
            "Options:\n"
            "  -w, --waves  list every wave too\n"
            "  -j, --json   as JSON, with each process that recorded and each device, but without sites and\n"
            "               launches: 'ktrace sites --json' and 'ktrace launches --json' have those\n"
            "  -h, --help   print this\n",
    .run = run,
};
