#include "perfetto.h"

#include "../error.h"
#include "../string_builder.h"
#include "gzip_sink.h"

#include <stdlib.h>

enum {
    GZIP_LEVEL = 1,
    /* Nothing that put_event writes is longer; one byte then holds a packet's length. */
    EVENT_MAX_BYTES = 127,
    RESERVE_BYTES = 2 + EVENT_MAX_BYTES + 8
};

/* Interned in every wave's sequence: numbers are fixed, names are sent when a wave first needs them. */
enum category { CATEGORY_RANGE = 1, CATEGORY_TOKEN, CATEGORY_MARK, CATEGORY_WAVE, CATEGORY_END };
static const char *const category_names[CATEGORY_END] = {
    [CATEGORY_RANGE] = "ktrace.range",
    [CATEGORY_TOKEN] = "ktrace.token",
    [CATEGORY_MARK] = "ktrace.mark",
    [CATEGORY_WAVE] = "ktrace.wave",
};
enum argument { ARGUMENT_PAYLOAD = 1, ARGUMENT_END_PAYLOAD, ARGUMENT_LANE, ARGUMENT_END_LANE, ARGUMENT_END };
static const char *const argument_names[ARGUMENT_END] = {
    [ARGUMENT_PAYLOAD] = "payload",
    [ARGUMENT_END_PAYLOAD] = "end_payload",
    [ARGUMENT_LANE] = "lane",
    [ARGUMENT_END_LANE] = "end_lane",
};

/* A name of any site of the trace. It is event name i + 1; that of an unclosed range comes behind all names. */
struct name {
    char *text;                         /* owned, UTF-8 */
    uint32_t sent_by, sent_unclosed_by; /* the last sequence that has it */
};

/* What an event needs to know of its site. */
struct site {
    uint32_t name;                      /* index into names */
    uint32_t used_by, used_unclosed_by; /* the last sequence with everything sent that this site needs */
    uint8_t type;                       /* of the TrackEvent; 0: such a site has no events */
    uint8_t category, payload_type;
    uint8_t payload_argument;
};

struct site_range {
    uintptr_t begin, bytes; /* of kt_sites: a module's, or the trace's halves */
    struct site *sites;
};

struct events {
    struct kt_perfetto perfetto;
    uint32_t name_count, site_count, range_count;
    struct name *names;
    struct site *sites;
    struct site_range *ranges;
    struct site_range current; /* of the last event */
    struct site_range halves;

    /* Of the wave at hand. */
    struct kt_pb interned; /* content of an InternedData for the next packet */
    uint32_t sequence;
    uint32_t sent_categories, sent_arguments; /* bit masks */
    uint64_t track;
    uint64_t time_ns; /* of the last packet, since the anchor */
    uint8_t head[8];  /* sequence id and flags, as every packet has them */
    size_t head_bytes;
};

/* ---- Names and sites ------------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int is_named(const struct kt_site *site)
{
    return site->kind == KTRACE_KIND_MARK || site->kind == KTRACE_KIND_PUSH || site->kind == KTRACE_KIND_START;
}

static uint32_t find_name(const char **names, uint32_t count, const char *name)
{
    uint32_t low = 0;
    while (low < count) {
        uint32_t middle = low + (count - low) / 2;
        if (strcmp(names[middle], name) < 0)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static void describe_site(struct site *to, const struct kt_site *from)
{
    *to = (struct site){.payload_type = from->payload_type, .payload_argument = ARGUMENT_PAYLOAD};
    switch (from->kind) {
    case KTRACE_KIND_MARK:
        to->type = KT_PF_TYPE_INSTANT;
        to->category = CATEGORY_MARK;
        break;
    case KTRACE_KIND_PUSH:
        to->type = KT_PF_TYPE_SLICE_BEGIN;
        to->category = CATEGORY_RANGE;
        break;
    case KTRACE_KIND_START:
        to->type = KT_PF_TYPE_SLICE_BEGIN;
        to->category = CATEGORY_TOKEN;
        break;
    case KTRACE_KIND_POP:
    case KTRACE_KIND_STOP:
        to->type = KT_PF_TYPE_SLICE_END;
        to->payload_argument = ARGUMENT_END_PAYLOAD;
        break;
    default: break;
    }
}

/* The sites that events can have: those of module `i`, and after the last module the trace's halves. */
static uint64_t sites_of(const struct kt_site **sites, const struct ktrace_trace *trace, uint64_t i)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    *sites = i < snapshot->module_count ? snapshot->modules[i].sites : trace->halves;
    return i < snapshot->module_count ? snapshot->modules[i].site_count : trace->half_count;
}

static void collect_names(struct events *events, const char **texts)
{
    const struct ktrace_trace *trace = events->perfetto.trace;
    const struct kt_site *sites;
    uint32_t names = 0;
    for (uint64_t i = 0; i <= trace->snapshot->module_count; i++)
        for (uint64_t s = 0, count = sites_of(&sites, trace, i); s < count; s++)
            if (is_named(&sites[s]))
                texts[names++] = sites[s].name;
    if (names > 0)
        qsort(texts, names, sizeof *texts, compare_names);
    for (uint32_t i = 0; i < names; i++)
        if (i == 0 || strcmp(texts[i], texts[events->name_count - 1]) != 0)
            texts[events->name_count++] = texts[i];
}

static void describe_sites(struct events *events, const char **texts)
{
    const struct ktrace_trace *trace = events->perfetto.trace;
    const struct kt_site *sites;
    for (uint64_t i = 0; i <= trace->snapshot->module_count; i++) {
        uint64_t count = sites_of(&sites, trace, i);
        if (count == 0)
            continue;
        events->ranges[events->range_count++] =
            (struct site_range){(uintptr_t)sites, (uintptr_t)count * sizeof *sites, events->sites + events->site_count};
        for (uint64_t s = 0; s < count; s++) {
            struct site *site = &events->sites[events->site_count++];
            describe_site(site, &sites[s]);
            if (is_named(&sites[s]))
                site->name = find_name(texts, events->name_count, sites[s].name);
        }
    }
    if (trace->half_count)
        events->halves = events->ranges[events->range_count - 1];
}

/* One entry a site, one a distinct name. Once a trace: events only follow pointers. */
static int collect_sites(struct events *events)
{
    const struct ktrace_trace *trace = events->perfetto.trace;
    const struct kt_snapshot *snapshot = trace->snapshot;
    const struct kt_site *sites;
    uint64_t count = 0;
    for (uint64_t i = 0; i <= snapshot->module_count; i++)
        count += sites_of(&sites, trace, i);
    if (count > UINT32_MAX / 4 || snapshot->module_count > UINT32_MAX / 4)
        return kt_fail(KTRACE_ERROR_FORMAT, "perfetto: %llu sites are too many", (unsigned long long)count);

    const char **texts = malloc((size_t)(count + 1) * sizeof *texts);
    events->sites = malloc((size_t)(count + 1) * sizeof *events->sites);
    events->ranges = malloc((size_t)(snapshot->module_count + 1) * sizeof *events->ranges);
    if (!texts || !events->sites || !events->ranges) {
        free(texts);
        return kt_fail_memory((size_t)(count + 1) * sizeof *events->sites);
    }
    collect_names(events, texts);
    int status = KTRACE_OK;
    events->names = calloc((size_t)events->name_count + 1, sizeof *events->names);
    if (!events->names)
        status = kt_fail_memory(((size_t)events->name_count + 1) * sizeof *events->names);
    for (uint32_t i = 0; i < events->name_count && !status; i++) {
        struct kt_string text = KT_STRING_INIT;
        kt_string_append_utf8(&text, texts[i]);
        status = kt_string_take(&events->names[i].text, &text);
    }
    if (!status)
        describe_sites(events, texts);
    free(texts);
    return status;
}

static struct site *find_site_elsewhere(struct events *events, uintptr_t address)
{
    for (uint32_t i = 0; i < events->range_count; i++) {
        const struct site_range *range = &events->ranges[i];
        if (address - range->begin < range->bytes) {
            events->current = *range;
            return &range->sites[(address - range->begin) / sizeof(struct kt_site)];
        }
    }
    return NULL;
}

static inline struct site *find_site(struct events *events, const struct kt_site *site)
{
    uintptr_t offset = (uintptr_t)site - events->current.begin;
    if (offset < events->current.bytes)
        return &events->current.sites[offset / sizeof *site];
    offset = (uintptr_t)site - events->halves.begin;
    if (offset < events->halves.bytes)
        return &events->halves.sites[offset / sizeof *site];
    return find_site_elsewhere(events, (uintptr_t)site);
}

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
static void need_site(struct events *events, struct site *site)
{
    site->used_by = events->sequence;
    need_category(events, site->category);
    if (site->payload_type != KTRACE_PAYLOAD_NONE)
        need_argument(events, site->payload_argument);
    struct name *name = &events->names[site->name];
    if (site->type != KT_PF_TYPE_SLICE_END && name->sent_by != events->sequence) {
        name->sent_by = events->sequence;
        intern(events, KT_PF_InternedData_event_names, (uint64_t)site->name + 1, name->text, "");
    }
}

static void need_site_unclosed(struct events *events, struct site *site)
{
    site->used_unclosed_by = events->sequence;
    need_category(events, site->category);
    if (site->payload_type != KTRACE_PAYLOAD_NONE)
        need_argument(events, site->payload_argument);
    struct name *name = &events->names[site->name];
    if (name->sent_unclosed_by != events->sequence) {
        name->sent_unclosed_by = events->sequence;
        intern(events, KT_PF_InternedData_event_names, (uint64_t)events->name_count + site->name + 1, name->text,
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

static uint8_t *put_payload(uint8_t *at, const struct site *site, uint64_t payload)
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
    const struct site *site;
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
        at = put_lane(at, event->type == KT_PF_TYPE_SLICE_END ? ARGUMENT_END_LANE : ARGUMENT_LANE, event->lane);
    start[-1] = (uint8_t)(at - start);
    return at;
}

static inline void write_event(struct events *events, const struct event *event)
{
    struct kt_pb *pb = &events->perfetto.pb;
    if (event->lane)
        need_argument(events, event->type == KT_PF_TYPE_SLICE_END ? ARGUMENT_END_LANE : ARGUMENT_LANE);
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
    need_category(events, CATEGORY_WAVE);
    uint64_t time_ns = kt_perfetto_time_ns(perfetto, begin_ps);

    size_t packet = kt_perfetto_packet(perfetto, events->sequence, KT_PF_SEQ_NEEDS_INCREMENTAL_STATE);
    kt_pb_uint(pb, KT_PF_TracePacket_timestamp, time_ns);
    events->time_ns = time_ns;
    kt_pb_bytes(pb, KT_PF_TracePacket_interned_data, events->interned.data, events->interned.bytes);
    kt_pb_clear(&events->interned);
    size_t event = kt_pb_begin(pb, KT_PF_TracePacket_track_event);
    kt_pb_uint(pb, KT_PF_TrackEvent_type, KT_PF_TYPE_SLICE_BEGIN);
    kt_pb_uint(pb, KT_PF_TrackEvent_category_iids, CATEGORY_WAVE);
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
        struct site *site = find_site(events, event->site);
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
            out.name_iid = (uint64_t)events->name_count + site->name + 1;
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
        if (first[i].partner != KT_NONE || find_site(events, first[i].site)->type != KT_PF_TYPE_SLICE_BEGIN)
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
    int status = collect_sites(events);
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
    for (uint32_t i = 0; events.names && i < events.name_count; i++)
        free(events.names[i].text);
    free(events.names);
    free(events.sites);
    free(events.ranges);
    free(events.perfetto.device_tracks);
    free(events.perfetto.kernel_tracks);
    kt_pb_destroy(&events.perfetto.pb);
    kt_pb_destroy(&events.interned);
    return status;
}

const struct kt_exporter kt_exporter_perfetto = {"perfetto", "pftrace.gz", write_perfetto};
