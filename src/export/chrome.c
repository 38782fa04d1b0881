/* Chrome's JSON trace event format ("Trace Event Format", catapult), for ui.perfetto.dev, trace viewers and tools that read it.
 *
 * A launch is a process, a wave a thread of it, so that its ranges nest as complete events ('X'), in the order of their begins,
 * outer ones first. Ranges on child tracks, which overlap others, are asynchronous events ('b', 'e'): one id for each child track
 * of each wave. Marks are instants ('i') of their thread. Process 0 is the trace itself: what it is, and what is missing.
 * Times are microseconds from the trace's time 0, with three decimals: both ends of everything to the nearest nanosecond. Readers
 * keep no more, and one that rounds a begin and a duration by itself makes ranges end beyond what they lie in; Perfetto drops
 * those.
 */
#include "../error.h"
#include "../string_builder.h"
#include "../vocabulary.h"
#include "text_sink.h"

#include <inttypes.h>
#include <stdio.h>

/* Not 0, which Perfetto takes for the main thread, whose number is its process's: another thread's, where there are so many. */
enum { LAUNCH_THREAD = 1, FIRST_WAVE_THREAD };

struct chrome {
    struct kt_text_sink text;
    const struct ktrace_trace *trace;
    const struct kt_vocabulary *vocabulary;
    uint64_t only_launch;
    int first; /* no event is written yet */
};

/* ---- Parts of events --------------------------------------------------------------------------------------------- */

/* Up to the name: the caller goes on with members and ends with '}'. */
static void begin_event(struct chrome *chrome, char phase, uint64_t process, uint64_t thread)
{
    struct kt_text_sink *text = &chrome->text;
    kt_text(text, chrome->first ? "{\"ph\":\"" : ",\n{\"ph\":\"");
    chrome->first = 0;
    kt_text_char(text, phase);
    kt_text(text, "\",\"pid\":");
    kt_text_uint(text, process);
    kt_text(text, ",\"tid\":");
    kt_text_uint(text, thread);
}

static int64_t nearest_ns(int64_t ps)
{
    const int64_t rest = ps % 1000;
    return ps / 1000 + (rest >= 500) - (rest < -500);
}

static void put_time(struct kt_text_sink *text, const char *key, int64_t ps)
{
    kt_text(text, key);
    kt_text_decimal(text, nearest_ns(ps), 3);
}

/* ts and dur. What ends before it begins takes no time. */
static void put_times(struct kt_text_sink *text, int64_t begin_ps, int64_t end_ps)
{
    put_time(text, ",\"ts\":", begin_ps);
    kt_text(text, ",\"dur\":");
    kt_text_decimal(text, end_ps > begin_ps ? nearest_ns(end_ps) - nearest_ns(begin_ps) : 0, 3);
}

static void put_string(struct kt_text_sink *text, const char *key, const char *value)
{
    kt_text(text, key);
    kt_text_json(text, value);
}

static void put_uint(struct kt_text_sink *text, const char *key, uint64_t value)
{
    kt_text(text, key);
    kt_text_payload_javascript(text, KTRACE_PAYLOAD_UINT64, value);
}

static void name_process(struct chrome *chrome, uint64_t process, const char *name)
{
    begin_event(chrome, 'M', process, 0);
    put_string(&chrome->text, ",\"name\":\"process_name\",\"args\":{\"name\":", name);
    kt_text(&chrome->text, "}}");
    begin_event(chrome, 'M', process, 0);
    put_uint(&chrome->text, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":", process);
    kt_text(&chrome->text, "}}");
}

static void name_thread(struct chrome *chrome, uint64_t process, uint64_t thread, const char *name)
{
    begin_event(chrome, 'M', process, thread);
    put_string(&chrome->text, ",\"name\":\"thread_name\",\"args\":{\"name\":", name);
    kt_text(&chrome->text, "}}");
    begin_event(chrome, 'M', process, thread);
    put_uint(&chrome->text, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":", thread);
    kt_text(&chrome->text, "}}");
}

/* ---- The trace --------------------------------------------------------------------------------------------------- */

static void write_trace_facts(struct chrome *chrome)
{
    const struct ktrace_trace *trace = chrome->trace;
    const struct kt_snapshot *snapshot = trace->snapshot;
    struct kt_text_sink *text = &chrome->text;
    const char *warning = ktrace_trace_warning(trace);
    name_process(chrome, 0, snapshot->flags & KT_SNAPSHOT_SIMULATED ? "ktrace (simulated time)" : "ktrace");
    name_thread(chrome, 0, 0, "trace");

    begin_event(chrome, 'i', 0, 0);
    put_time(text, ",\"ts\":", 0);
    put_string(text, ",\"s\":\"p\",\"cat\":\"ktrace.trace\",\"name\":", snapshot->name);
    put_string(text, ",\"args\":{\"ktrace_version\":", ktrace_version());
    put_string(text, ",\"device\":", kt_trace_device_names(trace));
    put_uint(text, ",\"devices\":", snapshot->device_count);
    put_uint(text, ",\"origin_ns\":", trace->origin_ns);
    put_uint(text, ",\"launches\":", trace->launch_count);
    put_uint(text, ",\"waves\":", trace->wave_count);
    put_uint(text, ",\"events\":", trace->event_count);
    if (chrome->only_launch != KT_EVERY_LAUNCH)
        put_uint(text, ",\"only_launch\":", chrome->only_launch);
    kt_text(text, ",\"simulated_time\":");
    kt_text(text, snapshot->flags & KT_SNAPSHOT_SIMULATED ? "true}}" : "false}}");

    begin_event(chrome, 'i', 0, 0);
    put_time(text, ",\"ts\":", 0);
    put_string(text, ",\"s\":\"p\",\"cat\":\"ktrace.trace\",\"name\":", *warning ? warning : "nothing lost");
    put_uint(text, ",\"args\":{\"waves_dropped\":", snapshot->waves_dropped);
    put_uint(text, ",\"waves_filtered\":", snapshot->waves_filtered);
    put_uint(text, ",\"waves_unfinished\":", trace->waves_unfinished);
    put_uint(text, ",\"slots_lost\":", trace->slots_lost);
    put_uint(text, ",\"slots_corrupt\":", trace->slots_corrupt);
    put_uint(text, ",\"ranges_unclosed\":", trace->ranges_unclosed);
    put_uint(text, ",\"ends_unmatched\":", trace->ends_unmatched);
    put_uint(text, ",\"clocks_ambiguous\":", trace->clocks_ambiguous);
    kt_text(text, "}}");
}

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

static void put_size(struct kt_text_sink *text, const char *key, const uint32_t size[3])
{
    kt_text(text, key);
    for (int i = 0; i < 3; i++) {
        kt_text_char(text, i ? ',' : '[');
        kt_text_uint(text, size[i]);
    }
    kt_text_char(text, ']');
}

static int write_launch(struct chrome *chrome, uint64_t index)
{
    const struct ktrace_trace *trace = chrome->trace;
    const struct kt_launch *launch = &trace->launches[index];
    const char *kernel = trace->kernels[launch->kernel].name;
    struct kt_text_sink *text = &chrome->text;
    struct kt_string name = KT_STRING_INIT;
    if (trace->snapshot->device_count > 1)
        kt_string_printf(&name, "%s: ", trace->devices[launch->device].words);
    kt_string_append(&name, kernel);
    kt_string_printf(&name,
                     " launch #%" PRIu64 ": grid(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ") block(%" PRIu32 ", %" PRIu32
                     ", %" PRIu32 "), %" PRIu64 " of %" PRIu64 " %s",
                     index, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
                     launch->block[2], launch->wave_count, launch->waves_launched, chrome->vocabulary->waves);
    const int failed = name.failed;
    name_process(chrome, index + 1, kt_string_text(&name));
    kt_string_destroy(&name);
    if (failed)
        return kt_fail(KTRACE_ERROR_MEMORY, "out of host memory while a name was put together");

    name_thread(chrome, index + 1, LAUNCH_THREAD, "launch");
    begin_event(chrome, 'X', index + 1, LAUNCH_THREAD);
    put_times(text, launch->begin_ps, launch->end_ps);
    put_string(text, ",\"cat\":\"ktrace.launch\",\"name\":", kernel);
    put_uint(text, ",\"args\":{\"launch\":", index);
    put_uint(text, ",\"grid_id\":", launch->grid_id);
    if (launch->queue)
        put_uint(text, ",\"queue\":", launch->queue);
    put_uint(text, ",\"occurrence\":", launch->occurrence);
    put_size(text, ",\"grid\":", launch->grid);
    put_size(text, ",\"block\":", launch->block);
    put_uint(text, ",\"waves_recorded\":", launch->wave_count);
    put_uint(text, ",\"waves_launched\":", launch->waves_launched);
    put_uint(text, ",\"events\":", launch->event_count);
    put_uint(text, ",\"slots_lost\":", launch->slots_lost);
    kt_text(text, "}}");
    return KTRACE_OK;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

struct wave_place {
    const struct kt_wave *wave;
    uint64_t index, process, thread;
    int64_t end_ps; /* of what nothing ended */
};

static void put_argument(struct kt_text_sink *text, int *filled, const char *name)
{
    kt_text(text, *filled ? ",\"" : ",\"args\":{\"");
    kt_text(text, name);
    kt_text(text, "\":");
    *filled = 1;
}

/* Payload and lane of an event, and of the end of a range. */
static void put_arguments(struct kt_text_sink *text, const struct kt_event *event, const struct kt_event *end)
{
    int filled = 0;
    if (event->flags & KT_EVENT_PAYLOAD) {
        put_argument(text, &filled, "payload");
        kt_text_payload_javascript(text, event->site->payload_type, event->payload);
    }
    if (event->lane) {
        put_argument(text, &filled, "lane");
        kt_text_uint(text, event->lane);
    }
    if (end && end->flags & KT_EVENT_PAYLOAD) {
        put_argument(text, &filled, "end_payload");
        kt_text_payload_javascript(text, end->site->payload_type, end->payload);
    }
    if (end && end->lane) {
        put_argument(text, &filled, "end_lane");
        kt_text_uint(text, end->lane);
    }
    if (filled)
        kt_text_char(text, '}');
}

static void put_name(struct kt_text_sink *text, const struct kt_event *event, int unclosed)
{
    kt_text(text, ",\"name\":");
    if (!unclosed) {
        kt_text_json(text, event->site->name);
        return;
    }
    struct kt_string name = KT_STRING_INIT;
    kt_string_append(&name, event->site->name);
    kt_string_append(&name, " (unclosed)");
    kt_text_json(text, kt_string_text(&name));
    if (name.failed && !text->status)
        text->status = kt_fail(KTRACE_ERROR_MEMORY, "out of host memory while a name was put together");
    kt_string_destroy(&name);
}

static void write_mark(struct chrome *chrome, const struct wave_place *place, const struct kt_event *event)
{
    begin_event(chrome, 'i', place->process, place->thread);
    put_time(&chrome->text, ",\"ts\":", event->time_ps);
    kt_text(&chrome->text, ",\"s\":\"t\",\"cat\":\"ktrace.mark\"");
    put_name(&chrome->text, event, 0);
    put_arguments(&chrome->text, event, NULL);
    kt_text_char(&chrome->text, '}');
}

static const char *category(const struct kt_event *event)
{
    return event->site->kind == KTRACE_KIND_START ? ",\"cat\":\"ktrace.token\"" : ",\"cat\":\"ktrace.range\"";
}

/* A child track's id, of all waves and tracks of the file no two the same. It is the process's own: Perfetto shows what has an
 * "id" instead apart from all processes. */
static void put_id(struct chrome *chrome, const struct wave_place *place, const struct kt_event *event)
{
    char id[56];
    snprintf(id, sizeof id, ",\"id2\":{\"local\":\"0x%" PRIx64 "\"}", place->index << 16 | event->track);
    kt_text(&chrome->text, id);
}

static void write_range(struct chrome *chrome, const struct wave_place *place, const struct kt_event *event)
{
    const struct kt_event *first = chrome->trace->events + place->wave->first_event;
    const struct kt_event *end = event->partner < place->wave->event_count ? &first[event->partner] : NULL;
    const int64_t end_ps = end ? end->time_ps : place->end_ps;
    const int asynchronous = event->track > 0;
    struct kt_text_sink *text = &chrome->text;
    begin_event(chrome, asynchronous ? 'b' : 'X', place->process, place->thread);
    if (asynchronous) {
        put_time(text, ",\"ts\":", event->time_ps);
        put_id(chrome, place, event);
    } else {
        put_times(text, event->time_ps, end_ps);
    }
    kt_text(text, category(event));
    put_name(text, event, !end);
    put_arguments(text, event, end);
    kt_text_char(text, '}');
    if (!asynchronous)
        return;
    begin_event(chrome, 'e', place->process, place->thread);
    put_time(text, ",\"ts\":", end_ps > event->time_ps ? end_ps : event->time_ps);
    put_id(chrome, place, event);
    kt_text(text, category(event));
    put_name(text, event, !end);
    kt_text_char(text, '}');
}

static void write_span(struct chrome *chrome, const struct wave_place *place, int64_t begin_ps)
{
    const struct kt_wave *wave = place->wave;
    struct kt_text_sink *text = &chrome->text;
    char name[256], where[64];
    chrome->vocabulary->place(where, sizeof where, wave->place);
    snprintf(name, sizeof name, "%s %s(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ") %s%" PRIu32, where,
             chrome->vocabulary->workgroup, wave->workgroup[0], wave->workgroup[1], wave->workgroup[2],
             chrome->vocabulary->wave, wave->wave);
    name_thread(chrome, place->process, place->thread, name);
    begin_event(chrome, 'X', place->process, place->thread);
    put_times(text, begin_ps, place->end_ps);
    put_string(text, ",\"cat\":\"ktrace.wave\",\"name\":", chrome->vocabulary->span);
    put_uint(text, ",\"args\":{\"events\":", wave->event_count);
    put_uint(text, ",\"lanes\":", wave->lane_count);
    if (wave->slots_lost)
        put_uint(text, ",\"slots_lost\":", wave->slots_lost);
    kt_text(text, wave->unfinished ? ",\"unfinished\":true}}" : "}}");
}

/* As in Perfetto's file, a wave is shown from its first event to its last; one without events from its start to its end. */
static int write_wave(struct chrome *chrome, uint64_t launch, uint64_t index)
{
    const struct ktrace_trace *trace = chrome->trace;
    const struct kt_wave *wave = &trace->waves[index];
    const struct kt_event *first = trace->events + wave->first_event;
    const struct wave_place place = {.wave = wave,
                                     .index = index,
                                     .process = launch + 1,
                                     .thread = index - trace->launches[launch].first_wave + FIRST_WAVE_THREAD,
                                     .end_ps = wave->event_count ? first[wave->event_count - 1].time_ps : wave->end_ps};
    write_span(chrome, &place, wave->event_count ? first->time_ps : wave->begin_ps);
    for (uint32_t i = 0; i < wave->event_count && !chrome->text.status; i++) {
        const uint8_t kind = first[i].site->kind;
        if (kind == KTRACE_KIND_MARK)
            write_mark(chrome, &place, &first[i]);
        else if (kind == KTRACE_KIND_PUSH || kind == KTRACE_KIND_START)
            write_range(chrome, &place, &first[i]);
    }
    return chrome->text.status;
}

/* ---- The exporter ------------------------------------------------------------------------------------------------ */

static int write_chrome(struct kt_sink *sink, const struct ktrace_trace *trace, uint64_t only_launch)
{
    struct chrome chrome = {
        .trace = trace, .vocabulary = kt_vocabulary_of(trace->snapshot->arch), .only_launch = only_launch, .first = 1};
    const int every = only_launch == KT_EVERY_LAUNCH;
    const uint64_t end = every ? trace->launch_count : only_launch + 1;
    int status = KTRACE_OK;
    kt_text_begin(&chrome.text, sink);
    kt_text(&chrome.text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    write_trace_facts(&chrome);
    for (uint64_t i = every ? 0 : only_launch; i < end && !status; i++) {
        const struct kt_launch *launch = &trace->launches[i];
        status = write_launch(&chrome, i);
        for (uint64_t w = 0; w < launch->wave_count && !status; w++)
            status = write_wave(&chrome, i, launch->first_wave + w);
    }
    kt_text(&chrome.text, "\n]}\n");
    return status ? status : kt_text_finish(&chrome.text);
}

const struct kt_exporter kt_exporter_chrome = {"chrome", "json", write_chrome, 1};
