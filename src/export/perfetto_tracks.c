#include "perfetto.h"

#include "../string_builder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

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

/* ---- Packets of the metadata sequence -------------------------------------------------------------------------- */

uint64_t kt_perfetto_track(struct kt_perfetto *perfetto, uint64_t parent, const char *name, int32_t rank,
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

struct kt_perfetto_event kt_perfetto_begin_event(struct kt_perfetto *perfetto, int64_t time_ps,
                                                 enum kt_perfetto_value type, uint64_t track, const char *category,
                                                 const char *name)
{
    struct kt_pb *pb = &perfetto->pb;
    struct kt_perfetto_event open;
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

void kt_perfetto_end_event(struct kt_perfetto *perfetto, struct kt_perfetto_event open)
{
    kt_pb_end(&perfetto->pb, open.event);
    kt_pb_end(&perfetto->pb, open.packet);
}

enum { ARGUMENT = KT_PF_TrackEvent_debug_annotations };

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

    uint64_t *kernel_track =
        &perfetto->kernel_tracks[(size_t)launch->device * perfetto->trace->kernel_count + launch->kernel];
    if (!*kernel_track)
        *kernel_track = kt_perfetto_track(perfetto, kt_perfetto_device(perfetto, launch->device),
                                          kt_string_text(&kernel), rank_of((uint64_t)launch->kernel + 1), 1);

    char name[256];
    snprintf(name, sizeof name,
             "launch #%" PRIu64 ": grid(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ") block(%" PRIu32 ", %" PRIu32 ", %" PRIu32
             "), %" PRIu64 " of %" PRIu64 " %s",
             index, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
             launch->block[2], launch->wave_count, launch->waves_launched, perfetto->vocabulary->waves);
    perfetto->launch_track = kt_perfetto_track(perfetto, *kernel_track, name, rank_of(index), 1);
    perfetto->place_track = perfetto->workgroup_track = 0;
    perfetto->place_rank = 0;

    struct kt_perfetto_event open =
        kt_perfetto_begin_event(perfetto, launch->begin_ps, KT_PF_TYPE_SLICE_BEGIN, perfetto->launch_track,
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
    kt_perfetto_end_event(perfetto, open);
    int64_t end_ps = launch->end_ps > launch->begin_ps ? launch->end_ps : launch->begin_ps;
    kt_perfetto_end_event(
        perfetto, kt_perfetto_begin_event(perfetto, end_ps, KT_PF_TYPE_SLICE_END, perfetto->launch_track, NULL, NULL));
    kt_string_destroy(&kernel);
}

uint64_t kt_perfetto_wave_tracks(struct kt_perfetto *perfetto, const struct kt_wave *wave)
{
    char name[64];
    int new_place = !perfetto->place_track || perfetto->place != wave->place;
    if (new_place) {
        perfetto->vocabulary->place(name, sizeof name, wave->place);
        perfetto->place_track = kt_perfetto_track(perfetto, perfetto->launch_track, name, perfetto->place_rank++, 1);
        perfetto->place = wave->place;
        perfetto->workgroup_rank = 0;
    }
    if (new_place || memcmp(perfetto->workgroup, wave->workgroup, sizeof perfetto->workgroup) != 0) {
        snprintf(name, sizeof name, "%s(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ")", perfetto->vocabulary->workgroup,
                 wave->workgroup[0], wave->workgroup[1], wave->workgroup[2]);
        perfetto->workgroup_track =
            kt_perfetto_track(perfetto, perfetto->place_track, name, perfetto->workgroup_rank++, 1);
        memcpy(perfetto->workgroup, wave->workgroup, sizeof perfetto->workgroup);
        perfetto->wave_rank = 0;
    }
    snprintf(name, sizeof name, "%s%" PRIu32, perfetto->vocabulary->wave, wave->wave);
    uint64_t track =
        kt_perfetto_track(perfetto, perfetto->workgroup_track, name, perfetto->wave_rank++, wave->track_count > 0);
    for (unsigned i = 1; i <= wave->track_count; i++) {
        snprintf(name, sizeof name, "ranges %u", i);
        kt_perfetto_track(perfetto, track, name, (int32_t)i, 0);
    }
    return track;
}
