/* What a trace says about itself, on the tracks "ktrace" and those of devices: facts, losses, clocks, the warning. */
#include "perfetto.h"

#include "../string_builder.h"
#include "../summary.h"

#include <inttypes.h>
#include <stdio.h>

#define CATEGORY "ktrace.trace"
#define SIMULATED " (simulated time)"

enum { ARGUMENT = KT_PF_TrackEvent_debug_annotations };

static const char *arch_name(uint32_t arch)
{
    switch (arch) {
    case KTRACE_ARCH_NVIDIA: return "nvidia";
    case KTRACE_ARCH_AMDGCN: return "amdgcn";
    case KTRACE_ARCH_HOST: return "host";
    default: return "unknown";
    }
}

/* What the file holds: all of the trace, or one launch. */
struct content {
    int64_t duration_ps;
    uint64_t launches, waves, events;
};

static struct content content_of(const struct kt_perfetto *perfetto)
{
    const struct ktrace_trace *trace = perfetto->trace;
    if (perfetto->only_launch == KT_EVERY_LAUNCH)
        return (struct content){trace->duration_ps, trace->launch_count, trace->wave_count, trace->event_count};
    const struct kt_launch *launch = &trace->launches[perfetto->only_launch];
    return (struct content){kt_launch_duration_ps(launch), 1, launch->wave_count, launch->event_count};
}

static void write_device_facts(struct kt_perfetto *perfetto, const struct kt_device *device)
{
    const int amdgcn = perfetto->trace->snapshot->arch == KTRACE_ARCH_AMDGCN;
    const char *target = amdgcn ? kt_target_name(device->capability) : NULL;
    if (target)
        kt_annotate_string(&perfetto->pb, ARGUMENT, "target", target);
    else if (device->capability && !amdgcn)
        kt_annotate_uint(&perfetto->pb, ARGUMENT, "compute_capability", device->capability);
    kt_annotate_uint(&perfetto->pb, ARGUMENT, perfetto->vocabulary->places, device->places);
}

/* How many, and how their times compare. */
static void write_devices_facts(struct kt_perfetto *perfetto)
{
    const struct ktrace_trace *trace = perfetto->trace;
    kt_annotate_uint(&perfetto->pb, ARGUMENT, "devices", trace->snapshot->device_count);
    for (uint32_t i = 0; i < trace->snapshot->device_count; i++) {
        struct kt_string name = KT_STRING_INIT, times = KT_STRING_INIT;
        kt_string_append(&name, "times of ");
        kt_string_append_utf8(&name, trace->devices[i].words);
        kt_device_times(&times, trace, i);
        kt_annotate_string(&perfetto->pb, ARGUMENT, kt_string_text(&name), kt_string_text(&times));
        if (name.failed || times.failed)
            perfetto->pb.failed_bytes = 1;
        kt_string_destroy(&name);
        kt_string_destroy(&times);
    }
}

static void write_trace_facts(struct kt_perfetto *perfetto, uint64_t track)
{
    const struct ktrace_trace *trace = perfetto->trace;
    const struct kt_snapshot *snapshot = trace->snapshot;
    struct kt_pb *pb = &perfetto->pb;
    struct kt_string title = KT_STRING_INIT;
    kt_string_append_utf8(&title, snapshot->name);
    kt_string_append(&title, " on ");
    kt_string_append_utf8(&title, kt_trace_device_names(trace));
    if (perfetto->only_launch != KT_EVERY_LAUNCH)
        kt_string_printf(&title, ", only launch #%" PRIu64, perfetto->only_launch);
    if (snapshot->flags & KT_SNAPSHOT_SIMULATED)
        kt_string_append(&title, SIMULATED);

    const struct content content = content_of(perfetto);
    struct kt_perfetto_event open =
        kt_perfetto_begin_event(perfetto, 0, KT_PF_TYPE_INSTANT, track, CATEGORY, kt_string_text(&title));
    kt_annotate_string(pb, ARGUMENT, "ktrace_version", ktrace_version());
    kt_annotate_string(pb, ARGUMENT, "name", snapshot->name);
    kt_annotate_string(pb, ARGUMENT, "device", kt_trace_device_names(trace));
    kt_annotate_string(pb, ARGUMENT, "arch", arch_name(snapshot->arch));
    if (snapshot->device_count > 1)
        write_devices_facts(perfetto);
    else
        write_device_facts(perfetto, &snapshot->devices[0]);
    kt_annotate_uint(pb, ARGUMENT, "origin_ns", trace->origin_ns);
    kt_annotate_double(pb, ARGUMENT, "duration_ns", (double)content.duration_ps / 1000);
    kt_annotate_uint(pb, ARGUMENT, "launches", content.launches);
    if (perfetto->only_launch != KT_EVERY_LAUNCH)
        kt_annotate_uint(pb, ARGUMENT, "only_launch", perfetto->only_launch);
    kt_annotate_uint(pb, ARGUMENT, "waves", content.waves);
    kt_annotate_uint(pb, ARGUMENT, "events", content.events);
    kt_annotate_bool(pb, ARGUMENT, "taken_while_running", snapshot->flags & KT_SNAPSHOT_PEEK);
    kt_annotate_bool(pb, ARGUMENT, "newest_events_only", snapshot->flags & KT_SNAPSHOT_KEEP_LAST);
    if (snapshot->flags & KT_SNAPSHOT_SIMULATED)
        kt_annotate_bool(pb, ARGUMENT, "simulated_time", 1);
    kt_perfetto_end_event(perfetto, open);
    if (title.failed)
        pb->failed_bytes = 1;
    kt_string_destroy(&title);
}

/* Everything that is not in the trace, or not whole: as the name of an instant, and in numbers. What was dropped has no
 * launch, so that a file of one launch, too, tells of all. */
static void write_losses(struct kt_perfetto *perfetto, uint64_t track)
{
    const struct ktrace_trace *trace = perfetto->trace;
    const struct {
        const char *argument, *noun, *state;
        uint64_t count;
    } losses[] = {
        {"waves_dropped", "wave", "dropped", trace->snapshot->waves_dropped},
        {"waves_unfinished", "wave", "unfinished", trace->waves_unfinished},
        {"slots_lost", "slot", "lost", trace->slots_lost},
        {"slots_corrupt", "slot", "corrupt", trace->slots_corrupt},
        {"ranges_unclosed", "range", "unclosed", trace->ranges_unclosed},
        {"ends_unmatched", "end", "unmatched", trace->ends_unmatched},
        {"clocks_ambiguous", "clock", "ambiguous", trace->clocks_ambiguous},
        {"waves_filtered", "wave", "filtered", trace->snapshot->waves_filtered},
    };
    const size_t kinds = sizeof losses / sizeof losses[0];
    struct kt_string title = KT_STRING_INIT;
    for (size_t i = 0; i < kinds; i++)
        if (losses[i].count)
            kt_string_printf(&title, "%s%" PRIu64 " %s%s %s", title.length ? ", " : "", losses[i].count, losses[i].noun,
                             losses[i].count == 1 ? "" : "s", losses[i].state);
    if (!title.length)
        kt_string_append(&title, "nothing lost");
    if (perfetto->only_launch != KT_EVERY_LAUNCH)
        kt_string_append(&title, " in the whole capture");

    struct kt_perfetto_event open =
        kt_perfetto_begin_event(perfetto, 0, KT_PF_TYPE_INSTANT, track, CATEGORY, kt_string_text(&title));
    for (size_t i = 0; i < kinds; i++)
        kt_annotate_uint(&perfetto->pb, ARGUMENT, losses[i].argument, losses[i].count);
    kt_perfetto_end_event(perfetto, open);
    if (title.failed)
        perfetto->pb.failed_bytes = 1;
    kt_string_destroy(&title);
}

/* A place, of several devices which one's. */
static void put_place(struct kt_string *text, const struct kt_perfetto *perfetto, const struct kt_place_clock *clock)
{
    char place[64];
    perfetto->vocabulary->place(place, sizeof place, clock->place);
    if (perfetto->trace->snapshot->device_count > 1) {
        kt_string_append_utf8(text, perfetto->trace->devices[clock->device].words);
        kt_string_append_char(text, ' ');
    }
    kt_string_append(text, place);
}

static void write_clock(struct kt_perfetto *perfetto, uint64_t track)
{
    const struct ktrace_trace *trace = perfetto->trace;
    struct kt_pb *pb = &perfetto->pb;
    char text[128];
    snprintf(text, sizeof text, "clock %.3f MHz, residual %.3f ns", trace->clock_hz / 1e6, trace->clock_residual_ns);
    struct kt_perfetto_event open = kt_perfetto_begin_event(perfetto, 0, KT_PF_TYPE_INSTANT, track, CATEGORY, text);
    kt_annotate_double(pb, ARGUMENT, "clock_hz", trace->clock_hz);
    kt_annotate_double(pb, ARGUMENT, "clock_residual_ns", trace->clock_residual_ns);
    if (trace->snapshot->device_count == 1)
        kt_annotate_uint(pb, ARGUMENT, "wall_tick_ns", trace->snapshot->devices[0].wall_tick_ns);
    for (uint32_t i = 0; i < trace->place_clock_count; i++) {
        const struct kt_place_clock *clock = &trace->place_clocks[i];
        struct kt_string place = KT_STRING_INIT;
        put_place(&place, perfetto, clock);
        if (place.failed)
            pb->failed_bytes = 1;
        size_t annotation = kt_pb_begin(pb, ARGUMENT);
        kt_pb_string(pb, KT_PF_DebugAnnotation_name, kt_string_text(&place));
        kt_string_destroy(&place);
        kt_annotate_double(pb, KT_PF_DebugAnnotation_dict_entries, "residual_ns", clock->residual_ns);
        kt_annotate_double(pb, KT_PF_DebugAnnotation_dict_entries, "uncertainty_ns", clock->uncertainty_ns);
        kt_annotate_uint(pb, KT_PF_DebugAnnotation_dict_entries, "anchors", clock->anchor_count);
        kt_annotate_uint(pb, KT_PF_DebugAnnotation_dict_entries, "knots", clock->knot_count);
        kt_pb_end(pb, annotation);
    }
    kt_perfetto_end_event(perfetto, open);
}

/* ---- Devices --------------------------------------------------------------------------------------------------- */

/* How its times compare with those of the others, and what of it is not there. */
static void device_title(struct kt_string *title, const struct ktrace_trace *trace, uint32_t index)
{
    const struct kt_device *device = &trace->snapshot->devices[index];
    kt_string_append(title, "times ");
    kt_device_times(title, trace, index);
    if (device->waves_dropped)
        kt_string_printf(title, ", %" PRIu64 " wave%s dropped", device->waves_dropped,
                         device->waves_dropped == 1 ? "" : "s");
    if (device->waves_filtered)
        kt_string_printf(title, ", %" PRIu64 " wave%s filtered", device->waves_filtered,
                         device->waves_filtered == 1 ? "" : "s");
}

static void write_process_facts(struct kt_perfetto *perfetto, uint32_t index)
{
    const struct ktrace_trace *trace = perfetto->trace;
    const struct kt_process *process = &trace->snapshot->processes[index];
    struct kt_pb *pb = &perfetto->pb;
    kt_annotate_string(pb, ARGUMENT, "process", trace->processes[index].label);
    kt_annotate_string(pb, ARGUMENT, "host", process->host);
    kt_annotate_string(pb, ARGUMENT, "boot", process->boot);
    kt_annotate_string(pb, ARGUMENT, "program", process->program);
    kt_annotate_uint(pb, ARGUMENT, "pid", process->pid);
    kt_annotate_string(pb, ARGUMENT, "relation", kt_relation_name(trace->processes[index].relation));
}

static void write_device(struct kt_perfetto *perfetto, uint32_t index)
{
    const struct ktrace_trace *trace = perfetto->trace;
    const struct kt_device *device = &trace->snapshot->devices[index];
    const struct kt_trace_device *more = &trace->devices[index];
    struct kt_pb *pb = &perfetto->pb;
    struct kt_string text = KT_STRING_INIT;
    kt_string_append_utf8(&text, more->label);
    uint64_t track = kt_perfetto_track(perfetto, 0, kt_string_text(&text), (int32_t)index + 1, 1);
    perfetto->device_tracks[index] = track;

    struct kt_string title = KT_STRING_INIT;
    device_title(&title, trace, index);
    struct kt_perfetto_event open =
        kt_perfetto_begin_event(perfetto, 0, KT_PF_TYPE_INSTANT, track, "ktrace.device", kt_string_text(&title));
    kt_annotate_uint(pb, ARGUMENT, "ordinal", device->ordinal);
    kt_annotate_string(pb, ARGUMENT, "name", device->name);
    write_device_facts(perfetto, device);
    kt_annotate_uint(pb, ARGUMENT, "launches", more->launch_count);
    kt_annotate_uint(pb, ARGUMENT, "waves", more->wave_count);
    kt_annotate_uint(pb, ARGUMENT, "events", more->event_count);
    kt_annotate_uint(pb, ARGUMENT, "waves_dropped", device->waves_dropped);
    kt_annotate_uint(pb, ARGUMENT, "waves_filtered", device->waves_filtered);
    kt_annotate_uint(pb, ARGUMENT, "wall_tick_ns", device->wall_tick_ns);
    kt_annotate_uint(pb, ARGUMENT, "host_anchors", device->anchor_count);
    kt_annotate_int(pb, ARGUMENT, "clock_offset_ns", more->host_offset_ns);
    kt_annotate_double(pb, ARGUMENT, "clock_uncertainty_ns", more->uncertainty_ns);
    kt_annotate_double(pb, ARGUMENT, "clock_residual_ns", more->residual_ns);
    kt_annotate_double(pb, ARGUMENT, "clock_contradiction_ns", more->contradiction_ns);
    if (*more->uuid)
        kt_annotate_string(pb, ARGUMENT, "uuid", more->uuid);
    if (*device->identity.pci_bus_id)
        kt_annotate_string(pb, ARGUMENT, "pci_bus_id", device->identity.pci_bus_id);
    if (trace->snapshot->process_count > 1)
        write_process_facts(perfetto, device->process);
    kt_perfetto_end_event(perfetto, open);
    if (text.failed || title.failed)
        pb->failed_bytes = 1;
    kt_string_destroy(&text);
    kt_string_destroy(&title);
}

/* Those of the launches that are written; of the whole trace, also one that recorded nothing. */
static void write_devices(struct kt_perfetto *perfetto)
{
    const struct ktrace_trace *trace = perfetto->trace;
    if (trace->snapshot->device_count == 1)
        return;
    for (uint32_t i = 0; i < trace->snapshot->device_count; i++)
        if (perfetto->only_launch == KT_EVERY_LAUNCH || trace->launches[perfetto->only_launch].device == i)
            write_device(perfetto, i);
}

/* ---- Begin ----------------------------------------------------------------------------------------------------- */

/* The last whole nanosecond that nothing in the file precedes, and not after the trace's time 0. */
static void set_anchor(struct kt_perfetto *perfetto)
{
    const struct ktrace_trace *trace = perfetto->trace;
    int64_t first_ps = 0;
    for (uint64_t i = perfetto->first_launch; i < perfetto->end_launch; i++) {
        const struct kt_launch *launch = &trace->launches[i];
        if (launch->begin_ps < first_ps)
            first_ps = launch->begin_ps;
        for (uint64_t w = 0; w < launch->wave_count; w++) {
            const struct kt_wave *wave = &trace->waves[launch->first_wave + w];
            int64_t wave_ps = wave->event_count ? trace->events[wave->first_event].time_ps : wave->begin_ps;
            if (wave_ps < first_ps)
                first_ps = wave_ps;
        }
    }
    uint64_t before_ns = (0 - (uint64_t)first_ps + 999) / 1000;
    if (before_ns > trace->origin_ns)
        before_ns = trace->origin_ns; /* times before the clock's own zero do not exist in the format */
    if (before_ns > INT64_MAX / 1000)
        before_ns = INT64_MAX / 1000;
    perfetto->anchor_ns = trace->origin_ns - before_ns;
    perfetto->anchor_ps = -(int64_t)(before_ns * 1000);
}

void kt_perfetto_begin(struct kt_perfetto *perfetto)
{
    struct kt_pb *pb = &perfetto->pb;
    set_anchor(perfetto);
    size_t packet = kt_perfetto_packet(perfetto, KT_PERFETTO_METADATA_SEQUENCE, KT_PF_SEQ_INCREMENTAL_STATE_CLEARED);
    size_t defaults = kt_pb_begin(pb, KT_PF_TracePacket_trace_packet_defaults);
    kt_pb_uint(pb, KT_PF_TracePacketDefaults_timestamp_clock_id, KT_PF_BUILTIN_CLOCK_BOOTTIME);
    kt_pb_end(pb, defaults);
    size_t snapshot = kt_pb_begin(pb, KT_PF_TracePacket_clock_snapshot);
    size_t clock = kt_pb_begin(pb, KT_PF_ClockSnapshot_clocks);
    kt_pb_uint(pb, KT_PF_Clock_clock_id, KT_PF_BUILTIN_CLOCK_BOOTTIME);
    kt_pb_uint(pb, KT_PF_Clock_timestamp, perfetto->anchor_ns);
    kt_pb_end(pb, clock);
    kt_pb_uint(pb, KT_PF_ClockSnapshot_primary_trace_clock, KT_PF_BUILTIN_CLOCK_BOOTTIME);
    kt_pb_end(pb, snapshot);
    kt_pb_end(pb, packet);

    /* A track without children would be put into a group "Global Track Events". */
    const int simulated = (perfetto->trace->snapshot->flags & KT_SNAPSHOT_SIMULATED) != 0;
    uint64_t track = kt_perfetto_track(perfetto, 0, simulated ? "ktrace" SIMULATED : "ktrace", 0, 1);
    uint64_t losses = kt_perfetto_track(perfetto, track, "losses", 0, 0);
    uint64_t clocks = kt_perfetto_track(perfetto, track, "clock", 1, 0);
    write_trace_facts(perfetto, track);
    write_losses(perfetto, losses);
    write_clock(perfetto, clocks);
    if (perfetto->trace->warning && *perfetto->trace->warning) {
        uint64_t warning = kt_perfetto_track(perfetto, track, "warning", 2, 0);
        struct kt_perfetto_event open =
            kt_perfetto_begin_event(perfetto, 0, KT_PF_TYPE_INSTANT, warning, CATEGORY, "warning");
        kt_annotate_string(pb, ARGUMENT, "text", perfetto->trace->warning);
        kt_perfetto_end_event(perfetto, open);
    }
    write_devices(perfetto);
}
