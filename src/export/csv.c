/* Ranges and marks as CSV (RFC 4180), one line each, in the trace's order. Times are whole picoseconds from its time 0. */
#include "text_sink.h"

static const char titles[] =
    "launch_id,kernel,device,place,workgroup_x,workgroup_y,workgroup_z,wave,kind,name,begin_ps,"
    "end_ps,duration_ps,state,lane,end_lane,payload_type,payload,end_payload_type,end_payload,"
    "file,line\n";

static void put_uint(struct kt_text_sink *text, uint64_t number)
{
    kt_text_uint(text, number);
    kt_text_char(text, ',');
}

static void put_string(struct kt_text_sink *text, const char *string)
{
    kt_text_csv(text, string);
    kt_text_char(text, ',');
}

static void put_payload(struct kt_text_sink *text, const struct kt_event *event)
{
    static const char *const types[] = {"", "bool", "int64", "uint64", "float32", "float64", "int32", "uint32"};
    if (event && event->flags & KT_EVENT_PAYLOAD) {
        const uint8_t type = event->site->payload_type;
        kt_text(text, type < sizeof types / sizeof *types ? types[type] : "?");
        kt_text_char(text, ',');
        kt_text_payload(text, type, event->payload);
    } else {
        kt_text_char(text, ',');
    }
    kt_text_char(text, ',');
}

static void write_event(struct kt_text_sink *text, const struct ktrace_trace *trace, const struct kt_wave *wave,
                        const struct kt_event *event)
{
    const struct kt_launch *launch = &trace->launches[wave->launch];
    const struct kt_event *first = trace->events + wave->first_event;
    const uint8_t kind = event->site->kind;
    const int mark = kind == KTRACE_KIND_MARK;
    const struct kt_event *end = !mark && event->partner < wave->event_count ? &first[event->partner] : NULL;
    put_uint(text, wave->launch);
    put_string(text, trace->kernels[launch->kernel].name);
    put_uint(text, launch->device);
    put_uint(text, wave->place);
    for (int i = 0; i < 3; i++)
        put_uint(text, wave->workgroup[i]);
    put_uint(text, wave->wave);
    kt_text(text, mark ? "mark," : kind == KTRACE_KIND_START ? "token," : "range,");
    put_string(text, event->site->name);
    kt_text_int(text, event->time_ps);
    kt_text_char(text, ',');
    kt_text_int(text, mark ? event->time_ps : end ? end->time_ps : first[wave->event_count - 1].time_ps);
    kt_text_char(text, ',');
    if (end) /* what nothing ended has none, as in statistics */
        kt_text_uint(text, kt_range_ps(trace, wave, event));
    kt_text(text, mark || end ? ",," : ",unclosed,");
    put_uint(text, event->lane);
    if (end)
        kt_text_uint(text, end->lane);
    kt_text_char(text, ',');
    put_payload(text, event);
    put_payload(text, end);
    put_string(text, event->site->file);
    kt_text_uint(text, event->site->line);
    kt_text_char(text, '\n');
}

static int write_csv(struct kt_sink *sink, const struct ktrace_trace *trace, uint64_t only_launch)
{
    struct kt_text_sink text;
    kt_text_begin(&text, sink);
    kt_text(&text, titles);
    for (uint64_t w = 0; w < trace->wave_count && !text.status; w++) {
        const struct kt_wave *wave = &trace->waves[w];
        if (only_launch != KT_EVERY_LAUNCH && wave->launch != only_launch)
            continue;
        for (uint32_t i = 0; i < wave->event_count && !text.status; i++) {
            const struct kt_event *event = &trace->events[wave->first_event + i];
            const uint8_t kind = event->site->kind;
            if (kind == KTRACE_KIND_MARK || kind == KTRACE_KIND_PUSH || kind == KTRACE_KIND_START)
                write_event(&text, trace, wave, event);
        }
    }
    return kt_text_finish(&text);
}

const struct kt_exporter kt_exporter_csv = {"csv", "csv", write_csv, 1};
