/* perfetto_fields.h - the part of Perfetto's trace schema that we write, as one table.
 *
 * Message and field names are those of protos/perfetto/trace/perfetto_trace.proto. tests/perfetto/check_pftrace.py
 * reads this table and compares every row with the official schema.
 */
#ifndef KT_PERFETTO_FIELDS_H
#define KT_PERFETTO_FIELDS_H

/* clang-format off */

/*      message              field                        number */
#define KT_PERFETTO_FIELDS(X) \
    X(Trace,                 packet,                      1) \
    X(TracePacket,           clock_snapshot,              6) \
    X(TracePacket,           timestamp,                   8) \
    X(TracePacket,           trusted_packet_sequence_id,  10) \
    X(TracePacket,           track_event,                 11) \
    X(TracePacket,           interned_data,               12) \
    X(TracePacket,           sequence_flags,              13) \
    X(TracePacket,           trace_packet_defaults,       59) \
    X(TracePacket,           track_descriptor,            60) \
    X(ClockSnapshot,         clocks,                      1) \
    X(ClockSnapshot,         primary_trace_clock,         2) \
    X(Clock,                 clock_id,                    1) \
    X(Clock,                 timestamp,                   2) \
    X(Clock,                 is_incremental,              3) \
    X(Clock,                 unit_multiplier_ns,          4) \
    X(TracePacketDefaults,   track_event_defaults,        11) \
    X(TracePacketDefaults,   timestamp_clock_id,          58) \
    X(TrackEventDefaults,    track_uuid,                  11) \
    X(InternedData,          event_categories,            1) \
    X(InternedData,          event_names,                 2) \
    X(InternedData,          debug_annotation_names,      3) \
    X(EventCategory,         iid,                         1) \
    X(EventCategory,         name,                        2) \
    X(EventName,             iid,                         1) \
    X(EventName,             name,                        2) \
    X(DebugAnnotationName,   iid,                         1) \
    X(DebugAnnotationName,   name,                        2) \
    X(TrackDescriptor,       uuid,                        1) \
    X(TrackDescriptor,       name,                        2) \
    X(TrackDescriptor,       parent_uuid,                 5) \
    X(TrackDescriptor,       child_ordering,              11) \
    X(TrackDescriptor,       sibling_order_rank,          12) \
    X(TrackDescriptor,       sibling_merge_behavior,      15) \
    X(TrackEvent,            category_iids,               3) \
    X(TrackEvent,            debug_annotations,           4) \
    X(TrackEvent,            type,                        9) \
    X(TrackEvent,            name_iid,                    10) \
    X(TrackEvent,            track_uuid,                  11) \
    X(TrackEvent,            categories,                  22) \
    X(TrackEvent,            name,                        23) \
    X(DebugAnnotation,       name_iid,                    1) \
    X(DebugAnnotation,       bool_value,                  2) \
    X(DebugAnnotation,       uint_value,                  3) \
    X(DebugAnnotation,       int_value,                   4) \
    X(DebugAnnotation,       double_value,                5) \
    X(DebugAnnotation,       string_value,                6) \
    X(DebugAnnotation,       name,                        10) \
    X(DebugAnnotation,       dict_entries,                11)

/*      enum in                    value                                   number */
#define KT_PERFETTO_VALUES(X) \
    X(TracePacket,           SEQ_INCREMENTAL_STATE_CLEARED,                1) \
    X(TracePacket,           SEQ_NEEDS_INCREMENTAL_STATE,                  2) \
    X(TrackDescriptor,       EXPLICIT,                                     3) \
    X(TrackDescriptor,       SIBLING_MERGE_BEHAVIOR_NONE,                  2) \
    X(TrackEvent,            TYPE_SLICE_BEGIN,                             1) \
    X(TrackEvent,            TYPE_SLICE_END,                               2) \
    X(TrackEvent,            TYPE_INSTANT,                                 3) \
    X(BuiltinClock,          BUILTIN_CLOCK_BOOTTIME,                       6)

/* KT_PF_TracePacket_timestamp and so on */
#define KT_PERFETTO_FIELD(message, field, number) KT_PF_##message##_##field = number,
enum kt_perfetto_field { KT_PERFETTO_FIELDS(KT_PERFETTO_FIELD) KT_PF_FIELD_END };
/* KT_PF_TYPE_INSTANT and so on */
#define KT_PERFETTO_VALUE(message, value, number) KT_PF_##value = number,
enum kt_perfetto_value { KT_PERFETTO_VALUES(KT_PERFETTO_VALUE) KT_PF_VALUE_END };

/* Clock ids 64 to 127 belong to one packet sequence; the SDK's incremental clock is the first. */
enum { KT_PF_CLOCK_INCREMENTAL = 64 };

/* clang-format on */

#endif
