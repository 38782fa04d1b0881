#include "perfetto.h"

#include "../error.h"
#include "gzip_sink.h"
#include "perfetto_sites.h"

#include <stdlib.h>

enum {
    GZIP_LEVEL = 1,
    /* Nothing that put_event writes is longer; one byte then holds a packet's length. */
    EVENT_MAX_BYTES = 127,
    RESERVE_BYTES = 2 + EVENT_MAX_BYTES + 8
};

static const char *const category_names[KT_PF_CATEGORY_END] = {
    [KT_PF_CATEGORY_RANGE] = "ktrace.range",
    [KT_PF_CATEGORY_TOKEN] = "ktrace.token",
    [KT_PF_CATEGORY_MARK] = "ktrace.mark",
    [KT_PF_CATEGORY_WAVE] = "ktrace.wave",
};
static const char *const argument_names[KT_PF_ARGUMENT_END] = {
    [KT_PF_ARGUMENT_PAYLOAD] = "payload",
    [KT_PF_ARGUMENT_END_PAYLOAD] = "end_payload",
    [KT_PF_ARGUMENT_LANE] = "lane",
    [KT_PF_ARGUMENT_END_LANE] = "end_lane",
};

struct events {
    struct kt_perfetto perfetto;
    struct kt_pf_sites sites;

    /* Of the wave at hand. */
    struct kt_pb interned; /* content of an InternedData for the next packet */
    uint32_t sequence;
    uint32_t sent_categories, sent_arguments; /* bit masks */
    uint64_t track;
    uint64_t time_ns; /* of the last packet, since the anchor */
    uint8_t head[8];  /* sequence id and flags, as every packet has them */
    size_t head_bytes;
};

/* ---- Interning ------------------------------------------------------------------------------------------------- */

/* Event names, categories and annotation names are three messages with the same two fields. */
_Static_assert((int)KT_PF_EventName_iid == (int)KT_PF_EventCategory_iid &&
                   (int)KT_PF_EventName_iid == (int)KT_PF_DebugAnnotationName_iid &&
                   (int)KT_PF_EventName_name == (int)KT_PF_EventCategory_name &&
                   (int)KT_PF_EventName_name == (int)KT_PF_DebugAnnotationName_name,
               "interned names look alike");

static void intern(struct events *events, uint32_t field, uint64_t iid, const char *text, const char *more)
{
    struct kt_pb *pb = &events->interned;
    size_t text_bytes = strlen(text), more_bytes = strlen(more);
    size_t entry = kt_pb_begin(pb, field);
    kt_pb_uint(pb, KT_PF_EventName_iid, iid);
    size_t name = kt_pb_begin(pb, KT_PF_EventName_name);
    if (kt_pb_reserve(pb, text_bytes + more_bytes)) {
        memcpy(pb->data + pb->bytes, text, text_bytes);
        memcpy(pb->data + pb->bytes + text_bytes, more, more_bytes);
        pb->bytes += text_bytes + more_bytes;
    }
    kt_pb_end(pb, name);
    kt_pb_end(pb, entry);
}

static void need_category(struct events *events, uint32_t category)
{
    if (!category || events->sent_categories & 1u << category)
        return;
    events->sent_categories |= 1u << category;
    intern(events, KT_PF_InternedData_event_categories, category, category_names[category], "");
}

static void need_argument(struct events *events, uint32_t argument)
{
    if (events->sent_arguments & 1u << argument)
        return;
    events->sent_arguments |= 1u << argument;
    intern(events, KT_PF_InternedData_debug_annotation_names, argument, argument_names[argument], "");
}

/* The first event of `site` in this sequence. */
static void need_site(struct events *events, struct kt_pf_site *site)
{
    site->used_by = events->sequence;
    need_category(events, site->category);
    if (site->payload_type != KTRACE_PAYLOAD_NONE)
        need_argument(events, site->payload_argument);
    struct kt_pf_name *name = &events->sites.names[site->name];
    if (site->type != KT_PF_TYPE_SLICE_END && name->sent_by != events->sequence) {
        name->sent_by = events->sequence;
        intern(events, KT_PF_InternedData_event_names, (uint64_t)site->name + 1, name->text, "");
    }
}

static void need_site_unclosed(struct events *events, struct kt_pf_site *site)
{
    site->used_unclosed_by = events->sequence;
    need_category(events, site->category);
    if (site->payload_type != KTRACE_PAYLOAD_NONE)
        need_argument(events, site->payload_argument);
    struct kt_pf_name *name = &events->sites.names[site->name];
    if (name->sent_unclosed_by != events->sequence) {
        name->sent_unclosed_by = events->sequence;
        intern(events, KT_PF_InternedData_event_names, (uint64_t)events->sites.name_count + site->name + 1, name->text,
               " (unclosed)");
    }
}

/* ---- Events ---------------------------------------------------------------------------------------------------- */

/* A field of put_event: its tag is one byte. */
#define TAG(field, wire) ((uint8_t)((field) << 3 | (wire)))
_Static_assert(KT_PF_TracePacket_sequence_flags < 16 && KT_PF_TracePacket_track_event < 16 &&
                   KT_PF_TrackEvent_track_uuid < 16 && KT_PF_DebugAnnotation_string_value < 16,
               "fields of an event have one-byte tags");

static uint8_t *put_annotation_head(uint8_t *at, uint32_t argument)
{
    *at++ = TAG(KT_PF_TrackEvent_debug_annotations, KT_PB_LENGTH);
    *at++ = 0; /* length: put_annotation_length */
    *at++ = TAG(KT_PF_DebugAnnotation_name_iid, KT_PB_VARINT);
    *at++ = (uint8_t)argument;
    return at;
}

static uint8_t *put_double_or_text(uint8_t *at, double value)
{
    const char *text = kt_not_finite(value);
    if (!text) {
        *at++ = TAG(KT_PF_DebugAnnotation_double_value, KT_PB_FIXED64);
        return kt_pb_put_double(at, value);
    }
    size_t bytes = strlen(text);
    *at++ = TAG(KT_PF_DebugAnnotation_string_value, KT_PB_LENGTH);
    *at++ = (uint8_t)bytes;
    memcpy(at, text, bytes);
    return at + bytes;
}

static uint8_t *put_payload(uint8_t *at, const struct kt_pf_site *site, uint64_t payload)
{
    uint8_t *start = at;
    at = put_annotation_head(at, site->payload_argument);
    switch (site->payload_type) {
    case KTRACE_PAYLOAD_BOOL:
        *at++ = TAG(KT_PF_DebugAnnotation_bool_value, KT_PB_VARINT);
        *at++ = payload != 0;
        break;
    case KTRACE_PAYLOAD_INT32:
    case KTRACE_PAYLOAD_INT64:
        *at++ = TAG(KT_PF_DebugAnnotation_int_value, KT_PB_VARINT);
        at = kt_pb_put_varint(at, payload);
        break;
    case KTRACE_PAYLOAD_FLOAT32: {
        uint32_t bits = (uint32_t)payload;
        float value;
        memcpy(&value, &bits, sizeof value);
        at = put_double_or_text(at, (double)value);
        break;
    }
    case KTRACE_PAYLOAD_FLOAT64: {
        double value;
        memcpy(&value, &payload, sizeof value);
        at = put_double_or_text(at, value);
        break;
    }
    default: /* unsigned; or a type that a later ktrace knows: its bits */
        *at++ = TAG(KT_PF_DebugAnnotation_uint_value, KT_PB_VARINT);
        at = kt_pb_put_varint(at, payload);
        break;
    }
    start[1] = (uint8_t)(at - start - 2);
    return at;
}

static uint8_t *put_lane(uint8_t *at, uint32_t argument, uint8_t lane)
{
    uint8_t *start = at;
    at = put_annotation_head(at, argument);
    *at++ = TAG(KT_PF_DebugAnnotation_uint_value, KT_PB_VARINT);
    at = kt_pb_put_varint(at, lane);
    start[1] = (uint8_t)(at - start - 2);
    return at;
}

struct event {
    int64_t time_ps;
    uint8_t type, category; /* category 0: none, as at an end */
    uint8_t flags;          /* enum kt_event_flags: KT_EVENT_PAYLOAD */
    uint8_t lane;           /* 0: not said */
    uint64_t name_iid;      /* 0: none */
    uint64_t track;         /* 0: the wave's own */
    uint64_t payload;
    const struct kt_pf_site *site;
};

/* No duration: the viewer has it to a nanosecond, and 8 random bytes for the rest of ranges under 1 us cost half of the
 * exporter's time and of the file again (51 to 76 ns and 3.3 to 5.1 bytes an event).
 *
 * The content of a packet. At most EVENT_MAX_BYTES: head 8, timestamp 11, track event 2, type 2, name 6, category 2,
 * track 11, payload 15, lane 7. */
static inline uint8_t *put_event(struct events *events, uint8_t *at, const struct event *event)
{
    uint64_t time_ns = kt_perfetto_time_ns(&events->perfetto, event->time_ps);
    if (time_ns < events->time_ns)
        time_ns = events->time_ns;
    *at++ = TAG(KT_PF_TracePacket_timestamp, KT_PB_VARINT);
    at = kt_pb_put_varint(at, time_ns - events->time_ns);
    events->time_ns = time_ns;
    memcpy(at, events->head, sizeof events->head);
    at += events->head_bytes;
    *at++ = TAG(KT_PF_TracePacket_track_event, KT_PB_LENGTH);
    uint8_t *start = ++at;
    *at++ = TAG(KT_PF_TrackEvent_type, KT_PB_VARINT);
    *at++ = event->type;
    if (event->category) {
        *at++ = TAG(KT_PF_TrackEvent_category_iids, KT_PB_VARINT);
        *at++ = event->category;
    }
    if (event->name_iid) {
        *at++ = TAG(KT_PF_TrackEvent_name_iid, KT_PB_VARINT);
        at = kt_pb_put_varint(at, event->name_iid);
    }
    if (event->track) {
        *at++ = TAG(KT_PF_TrackEvent_track_uuid, KT_PB_VARINT);
        at = kt_pb_put_varint(at, event->track);
    }
    if (event->flags & KT_EVENT_PAYLOAD)
        at = put_payload(at, event->site, event->payload);
    if (event->lane)
        at = put_lane(at, event->type == KT_PF_TYPE_SLICE_END ? KT_PF_ARGUMENT_END_LANE : KT_PF_ARGUMENT_LANE,
                      event->lane);
    start[-1] = (uint8_t)(at - start);
    return at;
}

static inline void write_event(struct events *events, const struct event *event)
{
    struct kt_pb *pb = &events->perfetto.pb;
    if (event->lane)
        need_argument(events, event->type == KT_PF_TYPE_SLICE_END ? KT_PF_ARGUMENT_END_LANE : KT_PF_ARGUMENT_LANE);
    if (events->interned.bytes == 0) {
        if (!kt_pb_reserve(pb, RESERVE_BYTES))
            return;
        uint8_t *packet = pb->data + pb->bytes;
        uint8_t *end = put_event(events, packet + 2, event);
        packet[0] = TAG(KT_PF_Trace_packet, KT_PB_LENGTH);
        packet[1] = (uint8_t)(end - packet - 2);
        pb->bytes = (size_t)(end - pb->data);
        return;
    }
    size_t packet = kt_pb_begin(pb, KT_PF_Trace_packet);
    kt_pb_bytes(pb, KT_PF_TracePacket_interned_data, events->interned.data, events->interned.bytes);
    if (kt_pb_reserve(pb, RESERVE_BYTES))
        pb->bytes = (size_t)(put_event(events, pb->data + pb->bytes, event) - pb->data);
    kt_pb_end(pb, packet);
    kt_pb_clear(&events->interned);
}

static inline uint64_t child_track(const struct events *events, const struct kt_event *event)
{
    return event->track ? events->track + event->track : 0;
}

/* ---- Waves ----------------------------------------------------------------------------------------------------- */

static void begin_sequence(struct events *events, uint64_t wave_index)
{
    struct kt_perfetto *perfetto = &events->perfetto;
    struct kt_pb *pb = &perfetto->pb;
    events->sequence = (uint32_t)wave_index + KT_PERFETTO_FIRST_WAVE_SEQUENCE;
    events->sent_categories = events->sent_arguments = 0;
    events->time_ns = 0;

    size_t packet = kt_perfetto_packet(perfetto, events->sequence, KT_PF_SEQ_INCREMENTAL_STATE_CLEARED);
    size_t defaults = kt_pb_begin(pb, KT_PF_TracePacket_trace_packet_defaults);
    kt_pb_uint(pb, KT_PF_TracePacketDefaults_timestamp_clock_id, KT_PF_CLOCK_INCREMENTAL);
    size_t event_defaults = kt_pb_begin(pb, KT_PF_TracePacketDefaults_track_event_defaults);
    kt_pb_uint(pb, KT_PF_TrackEventDefaults_track_uuid, events->track);
    kt_pb_end(pb, event_defaults);
    kt_pb_end(pb, defaults);
    size_t snapshot = kt_pb_begin(pb, KT_PF_TracePacket_clock_snapshot);
    size_t clock = kt_pb_begin(pb, KT_PF_ClockSnapshot_clocks);
    kt_pb_uint(pb, KT_PF_Clock_clock_id, KT_PF_BUILTIN_CLOCK_BOOTTIME);
    kt_pb_uint(pb, KT_PF_Clock_timestamp, perfetto->anchor_ns);
    kt_pb_end(pb, clock);
    clock = kt_pb_begin(pb, KT_PF_ClockSnapshot_clocks);
    kt_pb_uint(pb, KT_PF_Clock_clock_id, KT_PF_CLOCK_INCREMENTAL);
    kt_pb_uint(pb, KT_PF_Clock_timestamp, perfetto->anchor_ns);
    kt_pb_uint(pb, KT_PF_Clock_is_incremental, 1);
    kt_pb_uint(pb, KT_PF_Clock_unit_multiplier_ns, 1);
    kt_pb_end(pb, clock);
    kt_pb_end(pb, snapshot);
    kt_pb_end(pb, packet);

    uint8_t *at = events->head;
    *at++ = TAG(KT_PF_TracePacket_trusted_packet_sequence_id, KT_PB_VARINT);
    at = kt_pb_put_varint(at, events->sequence);
    *at++ = TAG(KT_PF_TracePacket_sequence_flags, KT_PB_VARINT);
    *at++ = KT_PF_SEQ_NEEDS_INCREMENTAL_STATE;
    events->head_bytes = (size_t)(at - events->head);
}

/* The wave's own slice. It says what is not to be seen in its events; its name is sent in full, once. */
static void write_span(struct events *events, const struct kt_wave *wave, int64_t begin_ps)
{
    struct kt_perfetto *perfetto = &events->perfetto;
    struct kt_pb *pb = &perfetto->pb;
    need_category(events, KT_PF_CATEGORY_WAVE);
    uint64_t time_ns = kt_perfetto_time_ns(perfetto, begin_ps);

    size_t packet = kt_perfetto_packet(perfetto, events->sequence, KT_PF_SEQ_NEEDS_INCREMENTAL_STATE);
    kt_pb_uint(pb, KT_PF_TracePacket_timestamp, time_ns);
    events->time_ns = time_ns;
    kt_pb_bytes(pb, KT_PF_TracePacket_interned_data, events->interned.data, events->interned.bytes);
    kt_pb_clear(&events->interned);
    size_t event = kt_pb_begin(pb, KT_PF_TracePacket_track_event);
    kt_pb_uint(pb, KT_PF_TrackEvent_type, KT_PF_TYPE_SLICE_BEGIN);
    kt_pb_uint(pb, KT_PF_TrackEvent_category_iids, KT_PF_CATEGORY_WAVE);
    kt_pb_string(pb, KT_PF_TrackEvent_name, perfetto->vocabulary->span);
    kt_annotate_uint(pb, KT_PF_TrackEvent_debug_annotations, "events", wave->event_count);
    kt_annotate_uint(pb, KT_PF_TrackEvent_debug_annotations, "lanes", wave->lane_count);
    if (wave->slots_lost)
        kt_annotate_uint(pb, KT_PF_TrackEvent_debug_annotations, "slots_lost", wave->slots_lost);
    if (wave->unfinished)
        kt_annotate_bool(pb, KT_PF_TrackEvent_debug_annotations, "unfinished", 1);
    kt_pb_end(pb, event);
    kt_pb_end(pb, packet);
}

static int bad_event(const struct kt_event *event, uint64_t wave_index, uint32_t i)
{
    return kt_fail(KTRACE_ERROR_FORMAT,
                   "perfetto: event %u of wave %llu has a site, a kind or a track (%u) that is none", i,
                   (unsigned long long)wave_index, event->track);
}

static int write_wave(struct events *events, uint64_t wave_index)
{
    struct kt_perfetto *perfetto = &events->perfetto;
    const struct ktrace_trace *trace = perfetto->trace;
    const struct kt_wave *wave = &trace->waves[wave_index];
    const struct kt_event *first = trace->events + wave->first_event;
    const uint32_t count = wave->event_count;

    events->track = kt_perfetto_wave_tracks(perfetto, wave);
    begin_sequence(events, wave_index);
    /* A wave without an event is shown from its start to its end, so that it is not missed. */
    write_span(events, wave, count ? first->time_ps : wave->begin_ps);

    uint32_t unclosed = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct kt_event *event = &first[i];
        struct kt_pf_site *site = kt_pf_find(&events->sites, event->site);
        if (!site || !site->type || event->track > wave->track_count)
            return bad_event(event, wave_index, i);
        struct event out = {.time_ps = event->time_ps,
                            .type = site->type,
                            .category = site->category,
                            .flags = event->flags,
                            .lane = event->lane,
                            .payload = event->payload,
                            .site = site};
        if (site->type == KT_PF_TYPE_SLICE_BEGIN && event->partner == KT_NONE) {
            unclosed++;
            if (site->used_unclosed_by != events->sequence)
                need_site_unclosed(events, site);
            out.name_iid = (uint64_t)events->sites.name_count + site->name + 1;
            out.track = child_track(events, event);
        } else {
            if (site->type == KT_PF_TYPE_SLICE_END && event->partner == KT_NONE)
                continue;
            if (site->used_by != events->sequence)
                need_site(events, site);
            if (site->type != KT_PF_TYPE_SLICE_END)
                out.name_iid = (uint64_t)site->name + 1;
            if (site->type != KT_PF_TYPE_INSTANT)
                out.track = child_track(events, event);
        }
        write_event(events, &out);
        if (perfetto->pb.bytes >= KT_PERFETTO_FLUSH_BYTES && kt_perfetto_flush(perfetto, 1))
            return perfetto->status;
    }

    struct event end = {.time_ps = count ? first[count - 1].time_ps : wave->end_ps, .type = KT_PF_TYPE_SLICE_END};
    for (uint32_t i = count; unclosed > 0 && i-- > 0;) {
        if (first[i].partner != KT_NONE || kt_pf_find(&events->sites, first[i].site)->type != KT_PF_TYPE_SLICE_BEGIN)
            continue;
        end.track = child_track(events, &first[i]);
        write_event(events, &end);
        unclosed--;
    }
    end.track = 0;
    write_event(events, &end);
    return kt_perfetto_flush(perfetto, 0);
}

/* ---- The exporter ---------------------------------------------------------------------------------------------- */

static int write_trace(struct events *events)
{
    struct kt_perfetto *perfetto = &events->perfetto;
    const struct ktrace_trace *trace = perfetto->trace;
    if (trace->wave_count > UINT32_MAX / 2)
        return kt_fail(KTRACE_ERROR_UNSUPPORTED, "perfetto: %llu waves are more than the format has sequences for",
                       (unsigned long long)trace->wave_count);
    const size_t devices = trace->snapshot->device_count, kernel_tracks = devices * trace->kernel_count + 1;
    perfetto->device_tracks = calloc(devices, sizeof *perfetto->device_tracks);
    perfetto->kernel_tracks = calloc(kernel_tracks, sizeof *perfetto->kernel_tracks);
    if (!perfetto->device_tracks || !perfetto->kernel_tracks)
        return kt_fail_memory(kernel_tracks * sizeof *perfetto->kernel_tracks);
    int status = kt_pf_sites_make(&events->sites, trace);
    if (status)
        return status;

    kt_perfetto_begin(perfetto);
    for (uint64_t i = perfetto->first_launch; i < perfetto->end_launch; i++) {
        const struct kt_launch *launch = &trace->launches[i];
        kt_perfetto_launch(perfetto, i);
        for (uint64_t w = 0; w < launch->wave_count; w++) {
            status = write_wave(events, launch->first_wave + w);
            if (status)
                return status;
        }
    }
    status = kt_pb_status(&events->interned);
    return status ? status : kt_perfetto_flush(perfetto, 1);
}

static int write_perfetto(struct kt_sink *sink, const struct ktrace_trace *trace, uint64_t launch)
{
    const int every = launch == KT_EVERY_LAUNCH;
    struct kt_gzip_sink gzip;
    struct events events = {.perfetto = {.trace = trace,
                                         .only_launch = launch,
                                         .first_launch = every ? 0 : launch,
                                         .end_launch = every ? trace->launch_count : launch + 1,
                                         .vocabulary = kt_vocabulary_of(trace->snapshot->arch),
                                         .sink = &gzip.sink,
                                         .pb = KT_PB_INIT,
                                         .next_uuid = 1},
                            .interned = KT_PB_INIT};
    int status = kt_gzip_sink_init(&gzip, sink, GZIP_LEVEL);
    if (!status)
        status = write_trace(&events);
    if (!status)
        status = kt_gzip_sink_finish(&gzip);
    kt_gzip_sink_destroy(&gzip);
    kt_pf_sites_free(&events.sites);
    free(events.perfetto.device_tracks);
    free(events.perfetto.kernel_tracks);
    kt_pb_destroy(&events.perfetto.pb);
    kt_pb_destroy(&events.interned);
    return status;
}

const struct kt_exporter kt_exporter_perfetto = {"perfetto", "pftrace.gz", write_perfetto, 1};
