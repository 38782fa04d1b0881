#include "perfetto.h"

#include "../string_builder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- Words ----------------------------------------------------------------------------------------------------- */

static void sm_name(char *text, size_t capacity_bytes, uint32_t place)
{
    snprintf(text, capacity_bytes, "SM %" PRIu32, place);
}

/* The place of an amdgcn wave: bits 14:8 of HW_ID (SE 14:13, SH 12, CU 11:8) and the XCC in bits 19:16. */
static void cu_name(char *text, size_t capacity_bytes, uint32_t place)
{
    snprintf(text, capacity_bytes, "XCD%" PRIu32 "/SE%" PRIu32 "/SH%" PRIu32 "/CU%" PRIu32, place >> 16 & 15,
             place >> 13 & 3, place >> 12 & 1, place >> 8 & 15);
}

static void cpu_name(char *text, size_t capacity_bytes, uint32_t place)
{
    snprintf(text, capacity_bytes, "CPU %" PRIu32, place);
}

static const struct kt_vocabulary vocabularies[] = {
    {KTRACE_ARCH_NVIDIA, sm_name, "CTA", "Warp ", "warps", "Warp Span", "SMs"},
    {KTRACE_ARCH_AMDGCN, cu_name, "WG", "Wave", "waves", "Wave Span", "CUs"},
    {KTRACE_ARCH_HOST, cpu_name, "WG", "Wave", "waves", "Wave Span", "CPUs"}, /* the last one also serves the unknown */
};

const struct kt_vocabulary *kt_vocabulary_of(uint32_t arch)
{
    const size_t last = sizeof vocabularies / sizeof vocabularies[0] - 1;
    size_t i = 0;
    while (i < last && vocabularies[i].arch != arch)
        i++;
    return &vocabularies[i];
}

static const char *arch_name(uint32_t arch)
{
    switch (arch) {
    case KTRACE_ARCH_NVIDIA: return "nvidia";
    case KTRACE_ARCH_AMDGCN: return "amdgcn";
    case KTRACE_ARCH_HOST: return "host";
    default: return "unknown";
    }
}

/* ---- Annotations ----------------------------------------------------------------------------------------------- */

const char *kt_not_finite(double value)
{
    if (isnan(value))
        return "nan";
    if (isinf(value))
        return value > 0 ? "inf" : "-inf";
    return NULL;
}

void kt_annotate_uint(struct kt_pb *pb, uint32_t field, const char *name, uint64_t value)
{
    size_t annotation = kt_pb_begin(pb, field);
    kt_pb_string(pb, KT_PF_DebugAnnotation_name, name);
    kt_pb_uint(pb, KT_PF_DebugAnnotation_uint_value, value);
    kt_pb_end(pb, annotation);
}

void kt_annotate_int(struct kt_pb *pb, uint32_t field, const char *name, int64_t value)
{
    size_t annotation = kt_pb_begin(pb, field);
    kt_pb_string(pb, KT_PF_DebugAnnotation_name, name);
    kt_pb_int(pb, KT_PF_DebugAnnotation_int_value, value);
    kt_pb_end(pb, annotation);
}

void kt_annotate_bool(struct kt_pb *pb, uint32_t field, const char *name, int value)
{
    size_t annotation = kt_pb_begin(pb, field);
    kt_pb_string(pb, KT_PF_DebugAnnotation_name, name);
    kt_pb_uint(pb, KT_PF_DebugAnnotation_bool_value, value != 0);
    kt_pb_end(pb, annotation);
}

void kt_annotate_string(struct kt_pb *pb, uint32_t field, const char *name, const char *text)
{
    struct kt_string mended = KT_STRING_INIT;
    kt_string_append_utf8(&mended, text);
    if (mended.failed)
        pb->failed_bytes = 1;
    size_t annotation = kt_pb_begin(pb, field);
    kt_pb_string(pb, KT_PF_DebugAnnotation_name, name);
    kt_pb_string(pb, KT_PF_DebugAnnotation_string_value, kt_string_text(&mended));
    kt_pb_end(pb, annotation);
    kt_string_destroy(&mended);
}

void kt_annotate_double(struct kt_pb *pb, uint32_t field, const char *name, double value)
{
    const char *not_finite = kt_not_finite(value);
    if (not_finite) {
        kt_annotate_string(pb, field, name, not_finite);
        return;
    }
    size_t annotation = kt_pb_begin(pb, field);
    kt_pb_string(pb, KT_PF_DebugAnnotation_name, name);
    kt_pb_double(pb, KT_PF_DebugAnnotation_double_value, value);
    kt_pb_end(pb, annotation);
}

/* ---- Packets and time ------------------------------------------------------------------------------------------ */

size_t kt_perfetto_packet(struct kt_perfetto *perfetto, uint32_t sequence, uint32_t flags)
{
    size_t packet = kt_pb_begin(&perfetto->pb, KT_PF_Trace_packet);
    kt_pb_uint(&perfetto->pb, KT_PF_TracePacket_trusted_packet_sequence_id, sequence);
    if (flags)
        kt_pb_uint(&perfetto->pb, KT_PF_TracePacket_sequence_flags, flags);
    return packet;
}

int kt_perfetto_flush(struct kt_perfetto *perfetto, int now)
{
    if (!perfetto->status)
        perfetto->status = kt_pb_status(&perfetto->pb);
    if (!perfetto->status && (now || perfetto->pb.bytes >= KT_PERFETTO_FLUSH_BYTES)) {
        perfetto->status = perfetto->sink->write(perfetto->sink, perfetto->pb.data, perfetto->pb.bytes);
        kt_pb_clear(&perfetto->pb);
    }
    return perfetto->status;
}

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

/* ---- Packets of the metadata sequence -------------------------------------------------------------------------- */

/* Siblings with equal names stay apart: by default the viewer merges them. */
static uint64_t declare_track(struct kt_perfetto *perfetto, uint64_t parent, const char *name, int32_t rank,
                              int has_children)
{
    struct kt_pb *pb = &perfetto->pb;
    uint64_t uuid = perfetto->next_uuid++;
    size_t packet = kt_perfetto_packet(perfetto, KT_PERFETTO_METADATA_SEQUENCE, 0);
    size_t descriptor = kt_pb_begin(pb, KT_PF_TracePacket_track_descriptor);
    kt_pb_uint(pb, KT_PF_TrackDescriptor_uuid, uuid);
    kt_pb_string(pb, KT_PF_TrackDescriptor_name, name);
    if (parent)
        kt_pb_uint(pb, KT_PF_TrackDescriptor_parent_uuid, parent);
    if (has_children)
        kt_pb_uint(pb, KT_PF_TrackDescriptor_child_ordering, KT_PF_EXPLICIT);
    kt_pb_int(pb, KT_PF_TrackDescriptor_sibling_order_rank, rank);
    kt_pb_uint(pb, KT_PF_TrackDescriptor_sibling_merge_behavior, KT_PF_SIBLING_MERGE_BEHAVIOR_NONE);
    kt_pb_end(pb, descriptor);
    kt_pb_end(pb, packet);
    return uuid;
}

/* An event at an absolute time. kt_pb_end both, `event` first; what is between belongs to the event. */
struct open_event {
    size_t packet, event;
};

static struct open_event begin_event(struct kt_perfetto *perfetto, int64_t time_ps, enum kt_perfetto_value type,
                                     uint64_t track, const char *category, const char *name)
{
    struct kt_pb *pb = &perfetto->pb;
    struct open_event open;
    open.packet = kt_perfetto_packet(perfetto, KT_PERFETTO_METADATA_SEQUENCE, KT_PF_SEQ_NEEDS_INCREMENTAL_STATE);
    kt_pb_uint(pb, KT_PF_TracePacket_timestamp, perfetto->anchor_ns + kt_perfetto_time_ns(perfetto, time_ps));
    open.event = kt_pb_begin(pb, KT_PF_TracePacket_track_event);
    kt_pb_uint(pb, KT_PF_TrackEvent_type, type);
    kt_pb_uint(pb, KT_PF_TrackEvent_track_uuid, track);
    if (category)
        kt_pb_string(pb, KT_PF_TrackEvent_categories, category);
    if (name)
        kt_pb_string(pb, KT_PF_TrackEvent_name, name);
    return open;
}

static void end_event(struct kt_perfetto *perfetto, struct open_event open)
{
    kt_pb_end(&perfetto->pb, open.event);
    kt_pb_end(&perfetto->pb, open.packet);
}

/* ---- What the trace says about itself -------------------------------------------------------------------------- */

enum { ARGUMENT = KT_PF_TrackEvent_debug_annotations };

#define SIMULATED " (simulated time)"

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
    return (struct content){launch->end_ps - launch->begin_ps, 1, launch->wave_count, launch->event_count};
}

static void write_trace_facts(struct kt_perfetto *perfetto, uint64_t track)
{
    const struct ktrace_trace *trace = perfetto->trace;
    const struct kt_snapshot *snapshot = trace->snapshot;
    struct kt_pb *pb = &perfetto->pb;
    struct kt_string title = KT_STRING_INIT;
    kt_string_append_utf8(&title, snapshot->name);
    kt_string_append(&title, " on ");
    kt_string_append_utf8(&title, snapshot->devices[0].name);
    if (perfetto->only_launch != KT_EVERY_LAUNCH)
        kt_string_printf(&title, ", only launch #%" PRIu64, perfetto->only_launch);
    if (snapshot->flags & KT_SNAPSHOT_SIMULATED)
        kt_string_append(&title, SIMULATED);

    const struct content content = content_of(perfetto);
    struct open_event open =
        begin_event(perfetto, 0, KT_PF_TYPE_INSTANT, track, "ktrace.trace", kt_string_text(&title));
    kt_annotate_string(pb, ARGUMENT, "ktrace_version", ktrace_version());
    kt_annotate_string(pb, ARGUMENT, "name", snapshot->name);
    kt_annotate_string(pb, ARGUMENT, "device", snapshot->devices[0].name);
    kt_annotate_string(pb, ARGUMENT, "arch", arch_name(snapshot->arch));
    if (snapshot->devices[0].capability)
        kt_annotate_uint(pb, ARGUMENT, "compute_capability", snapshot->devices[0].capability);
    kt_annotate_uint(pb, ARGUMENT, perfetto->vocabulary->places, snapshot->devices[0].places);
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
    end_event(perfetto, open);
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

    struct open_event open =
        begin_event(perfetto, 0, KT_PF_TYPE_INSTANT, track, "ktrace.trace", kt_string_text(&title));
    for (size_t i = 0; i < kinds; i++)
        kt_annotate_uint(&perfetto->pb, ARGUMENT, losses[i].argument, losses[i].count);
    end_event(perfetto, open);
    if (title.failed)
        perfetto->pb.failed_bytes = 1;
    kt_string_destroy(&title);
}

static void write_clock(struct kt_perfetto *perfetto, uint64_t track)
{
    const struct ktrace_trace *trace = perfetto->trace;
    struct kt_pb *pb = &perfetto->pb;
    char text[128];
    snprintf(text, sizeof text, "clock %.3f MHz, residual %.3f ns", trace->clock_hz / 1e6, trace->clock_residual_ns);
    struct open_event open = begin_event(perfetto, 0, KT_PF_TYPE_INSTANT, track, "ktrace.trace", text);
    kt_annotate_double(pb, ARGUMENT, "clock_hz", trace->clock_hz);
    kt_annotate_double(pb, ARGUMENT, "clock_residual_ns", trace->clock_residual_ns);
    kt_annotate_uint(pb, ARGUMENT, "wall_tick_ns", trace->snapshot->devices[0].wall_tick_ns);
    for (uint32_t i = 0; i < trace->place_clock_count; i++) {
        const struct kt_place_clock *clock = &trace->place_clocks[i];
        perfetto->vocabulary->place(text, sizeof text, clock->place);
        size_t annotation = kt_pb_begin(pb, ARGUMENT);
        kt_pb_string(pb, KT_PF_DebugAnnotation_name, text);
        kt_annotate_double(pb, KT_PF_DebugAnnotation_dict_entries, "residual_ns", clock->residual_ns);
        kt_annotate_double(pb, KT_PF_DebugAnnotation_dict_entries, "uncertainty_ns", clock->uncertainty_ns);
        kt_annotate_uint(pb, KT_PF_DebugAnnotation_dict_entries, "anchors", clock->anchor_count);
        kt_annotate_uint(pb, KT_PF_DebugAnnotation_dict_entries, "knots", clock->knot_count);
        kt_pb_end(pb, annotation);
    }
    end_event(perfetto, open);
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
    uint64_t track = declare_track(perfetto, 0, simulated ? "ktrace" SIMULATED : "ktrace", 0, 1);
    uint64_t losses = declare_track(perfetto, track, "losses", 0, 0);
    uint64_t clocks = declare_track(perfetto, track, "clock", 1, 0);
    write_trace_facts(perfetto, track);
    write_losses(perfetto, losses);
    write_clock(perfetto, clocks);
    if (perfetto->trace->warning && *perfetto->trace->warning) {
        uint64_t warning = declare_track(perfetto, track, "warning", 2, 0);
        struct open_event open = begin_event(perfetto, 0, KT_PF_TYPE_INSTANT, warning, "ktrace.trace", "warning");
        kt_annotate_string(pb, ARGUMENT, "text", perfetto->trace->warning);
        end_event(perfetto, open);
    }
}

/* ---- Launches and waves ---------------------------------------------------------------------------------------- */

static int32_t rank_of(uint64_t index)
{
    return index < INT32_MAX ? (int32_t)index : INT32_MAX;
}

void kt_perfetto_launch(struct kt_perfetto *perfetto, uint64_t index)
{
    const struct kt_launch *launch = &perfetto->trace->launches[index];
    struct kt_pb *pb = &perfetto->pb;
    struct kt_string kernel = KT_STRING_INIT;
    kt_string_append_utf8(&kernel, perfetto->trace->kernels[launch->kernel].name);
    if (kernel.failed)
        pb->failed_bytes = 1;

    uint64_t *kernel_track = &perfetto->kernel_tracks[launch->kernel];
    if (!*kernel_track)
        *kernel_track = declare_track(perfetto, 0, kt_string_text(&kernel), rank_of((uint64_t)launch->kernel + 1), 1);

    char name[256];
    snprintf(name, sizeof name,
             "launch #%" PRIu64 ": grid(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ") block(%" PRIu32 ", %" PRIu32 ", %" PRIu32
             "), %" PRIu64 " of %" PRIu64 " %s",
             index, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
             launch->block[2], launch->wave_count, launch->waves_launched, perfetto->vocabulary->waves);
    perfetto->launch_track = declare_track(perfetto, *kernel_track, name, rank_of(index), 1);
    perfetto->place_track = perfetto->workgroup_track = 0;
    perfetto->place_rank = 0;

    struct open_event open = begin_event(perfetto, launch->begin_ps, KT_PF_TYPE_SLICE_BEGIN, perfetto->launch_track,
                                         "ktrace.launch", kt_string_text(&kernel));
    kt_annotate_uint(pb, ARGUMENT, "launch", index);
    kt_annotate_uint(pb, ARGUMENT, "grid_id", launch->grid_id);
    if (launch->queue)
        kt_annotate_uint(pb, ARGUMENT, "queue", launch->queue);
    kt_annotate_uint(pb, ARGUMENT, "occurrence", launch->occurrence);
    static const char *const grid[3] = {"grid_x", "grid_y", "grid_z"};
    static const char *const block[3] = {"block_x", "block_y", "block_z"};
    for (int i = 0; i < 3; i++)
        kt_annotate_uint(pb, ARGUMENT, grid[i], launch->grid[i]);
    for (int i = 0; i < 3; i++)
        kt_annotate_uint(pb, ARGUMENT, block[i], launch->block[i]);
    kt_annotate_uint(pb, ARGUMENT, "waves_recorded", launch->wave_count);
    kt_annotate_uint(pb, ARGUMENT, "waves_launched", launch->waves_launched);
    kt_annotate_uint(pb, ARGUMENT, "events", launch->event_count);
    kt_annotate_uint(pb, ARGUMENT, "slots_lost", launch->slots_lost);
    end_event(perfetto, open);
    int64_t end_ps = launch->end_ps > launch->begin_ps ? launch->end_ps : launch->begin_ps;
    end_event(perfetto, begin_event(perfetto, end_ps, KT_PF_TYPE_SLICE_END, perfetto->launch_track, NULL, NULL));
    kt_string_destroy(&kernel);
}

uint64_t kt_perfetto_wave_tracks(struct kt_perfetto *perfetto, const struct kt_wave *wave)
{
    char name[64];
    int new_place = !perfetto->place_track || perfetto->place != wave->place;
    if (new_place) {
        perfetto->vocabulary->place(name, sizeof name, wave->place);
        perfetto->place_track = declare_track(perfetto, perfetto->launch_track, name, perfetto->place_rank++, 1);
        perfetto->place = wave->place;
        perfetto->workgroup_rank = 0;
    }
    if (new_place || memcmp(perfetto->workgroup, wave->workgroup, sizeof perfetto->workgroup) != 0) {
        snprintf(name, sizeof name, "%s(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ")", perfetto->vocabulary->workgroup,
                 wave->workgroup[0], wave->workgroup[1], wave->workgroup[2]);
        perfetto->workgroup_track = declare_track(perfetto, perfetto->place_track, name, perfetto->workgroup_rank++, 1);
        memcpy(perfetto->workgroup, wave->workgroup, sizeof perfetto->workgroup);
        perfetto->wave_rank = 0;
    }
    snprintf(name, sizeof name, "%s%" PRIu32, perfetto->vocabulary->wave, wave->wave);
    uint64_t track =
        declare_track(perfetto, perfetto->workgroup_track, name, perfetto->wave_rank++, wave->track_count > 0);
    for (unsigned i = 1; i <= wave->track_count; i++) {
        snprintf(name, sizeof name, "ranges %u", i);
        declare_track(perfetto, track, name, (int32_t)i, 0);
    }
    return track;
}
