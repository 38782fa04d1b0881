#include "look.h"

#include "cli/event_columns.h"
#include "cli/site_rows.h"
#include "groups.h"
#include "trace_file.h"

#include <stdio.h>
#include <stdlib.h>

/* A sink that keeps a digest: FNV-1a, of 64 bits. */
struct digest {
    struct kt_sink sink;
    uint64_t value;
};

static int add_bytes(struct kt_sink *sink, const void *data, size_t bytes)
{
    struct digest *digest = (struct digest *)sink;
    const uint8_t *at = data;
    for (size_t i = 0; i < bytes; i++)
        digest->value = (digest->value ^ at[i]) * 0x100000001B3;
    return KTRACE_OK;
}

static void add(struct digest *digest, uint64_t number)
{
    add_bytes(&digest->sink, &number, sizeof number);
}

static void add_text(struct digest *digest, const char *text)
{
    add_bytes(&digest->sink, text, strlen(text) + 1);
}

/* False: memory ran out, and there is nothing to look at. */
static bool works(int status, const char *what)
{
    if (status >= 0 || status == KTRACE_ERROR_MEMORY)
        return status >= 0;
    fprintf(stderr, "%s: %s\n", what, ktrace_last_error());
    abort();
}

/* ---- Facts ------------------------------------------------------------------------------------------------------- */

static void look_at_waves(struct digest *digest, const struct ktrace_trace *trace, uint64_t waves)
{
    for (uint64_t w = 0; w < waves; w++) {
        struct ktrace_wave_info wave = {.struct_size = sizeof wave};
        works(ktrace_trace_wave(&wave, trace, w), "ktrace_trace_wave");
        add(digest, (uint64_t)wave.begin_ps);
        add(digest, (uint64_t)wave.end_ps);
        add(digest, wave.slots_lost);
        for (uint32_t i = 0; i < wave.events; i++) {
            struct ktrace_event_info event = {.struct_size = sizeof event};
            works(ktrace_trace_event(&event, trace, w, i), "ktrace_trace_event");
            add(digest, event.kind | (uint64_t)event.lane << 8 | (uint64_t)event.partner << 16);
            add(digest, (uint64_t)event.time_ps);
            add(digest, event.clock_ticks);
            add(digest, event.payload);
            add_text(digest, event.name);
        }
    }
}

static void look_at_records(struct digest *digest, const struct ktrace_trace *trace, uint64_t events)
{
    struct ktrace_event_record *records = calloc(events + 1, sizeof *records);
    if (!records ||
        !works(ktrace_trace_event_records(records, sizeof *records, trace, 0, events), "ktrace_trace_event_records"))
        events = 0;
    for (uint64_t i = 0; i < events; i++)
        add(digest, records[i].clock_ticks ^ records[i].line);
    free(records);
}

static void look_at_launches(struct digest *digest, const struct ktrace_trace *trace, uint64_t launches)
{
    for (uint64_t i = 0; i < launches; i++) {
        struct ktrace_launch_info launch = {.struct_size = sizeof launch};
        uint64_t phases = 0;
        works(ktrace_trace_launch(&launch, trace, i), "ktrace_trace_launch");
        add_text(digest, launch.kernel);
        works(ktrace_trace_launch_phase_count(&phases, trace, i), "ktrace_trace_launch_phase_count");
        for (uint64_t p = 0; p < phases; p++) {
            struct ktrace_phase_info phase = {.struct_size = sizeof phase};
            works(ktrace_trace_launch_phase(&phase, trace, i, p), "ktrace_trace_launch_phase");
            add(digest, phase.count);
        }
    }
}

static void look_at_facts(struct digest *digest, const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    works(ktrace_trace_get_info(&info, trace), "ktrace_trace_get_info");
    add_text(digest, ktrace_trace_warning(trace));
    add_text(digest, info.name);
    for (uint64_t i = 0; i < info.devices; i++) {
        struct ktrace_device_info device = {.struct_size = sizeof device};
        works(ktrace_trace_device(&device, trace, i), "ktrace_trace_device");
        add_text(digest, device.name);
        add(digest, device.events);
    }
    for (uint64_t i = 0; i < info.processes; i++) {
        struct ktrace_process_info process = {.struct_size = sizeof process};
        works(ktrace_trace_process(&process, trace, i), "ktrace_trace_process");
    }
    for (uint64_t i = 0; i < ktrace_trace_phase_count(trace); i++) {
        struct ktrace_phase_info phase = {.struct_size = sizeof phase};
        works(ktrace_trace_phase(&phase, trace, i), "ktrace_trace_phase");
        add(digest, phase.count);
    }
    look_at_launches(digest, trace, info.launches);
    look_at_waves(digest, trace, info.waves);
    look_at_records(digest, trace, info.events);
}

static void look_at_texts(struct digest *digest, const struct ktrace_trace *trace)
{
    static int (*const texts[])(char **out, const struct ktrace_trace *trace) = {
        ktrace_trace_summary_text, ktrace_trace_summary_json, ktrace_trace_launches_text, ktrace_trace_launches_json};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *text;
        if (!works(texts[i](&text, trace), "a summary"))
            continue;
        add_text(digest, text);
        free(text);
    }
}

/* ---- Exports and files ------------------------------------------------------------------------------------------- */

static void look_at_exports(struct digest *digest, const struct ktrace_trace *trace, bool page)
{
    for (const struct kt_exporter *const *exporter = kt_exporters; *exporter; exporter++) {
        if ((*exporter == &kt_exporter_html) != page)
            continue;
        works((*exporter)->write(&digest->sink, trace, KT_EVERY_LAUNCH), (*exporter)->name);
        if ((*exporter)->takes_launch && trace->launch_count > 1)
            works((*exporter)->write(&digest->sink, trace, trace->launch_count - 1), (*exporter)->name);
    }
}

/* Saved, and read again: the caller's. NULL: memory ran out. */
static struct ktrace_trace *read_again(const struct ktrace_trace *trace)
{
    void *data;
    size_t bytes;
    struct ktrace_trace *again = NULL;
    if (!works(kt_snapshot_save_memory(&data, &bytes, trace->snapshot), "saved"))
        return NULL;
    if (!works(ktrace_trace_load_memory(&again, data, bytes), "read again"))
        again = NULL;
    free(data);
    return again;
}

static void look_at_file(const struct ktrace_trace *trace)
{
    struct ktrace_trace *again = read_again(trace);
    if (again && look_at(trace, LOOK_FACTS) != look_at(again, LOOK_FACTS)) {
        fprintf(stderr, "saved and read again, it is another trace\n");
        abort();
    }
    ktrace_trace_destroy(again);
}

/* With what another process recorded, which is the same. It can be refused with a sentence: where it says who recorded, and
 * where sums would be too large. */
static void look_at_merged(struct digest *digest, const struct ktrace_trace *trace)
{
    struct ktrace_trace *again = read_again(trace), *merged;
    const struct ktrace_trace *two[] = {trace, again};
    const int64_t offsets_ns[] = {0, 1000};
    struct ktrace_merge_options options = KTRACE_MERGE_OPTIONS_INIT;
    options.align = KTRACE_ALIGN_START;
    options.offsets_ns = offsets_ns;
    options.offset_count = 2;
    if (!again)
        return;
    int status = ktrace_trace_merge(&merged, two, 2, &options);
    const bool refused = (status == KTRACE_ERROR_ARGUMENT || status == KTRACE_ERROR_FORMAT) && *ktrace_last_error();
    if (!refused && works(status, "merged")) {
        look_at_facts(digest, merged);
        ktrace_trace_destroy(merged);
    }
    ktrace_trace_destroy(again);
}

/* ---- The command's views ----------------------------------------------------------------------------------------- */

static void look_at_groups(struct digest *digest, const struct ktrace_trace *trace)
{
    static const unsigned keys[] = {1u << KT_BY_PHASE, 1u << KT_BY_PLACE, 1u << KT_BY_LAUNCH | 1u << KT_BY_WAVE,
                                    1u << KT_BY_PHASE | 1u << KT_BY_PLACE | 1u << KT_BY_WORKGROUP};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct kt_selection selection = KT_SELECTION_ALL;
        struct kt_groups groups;
        selection.name = i % 2 ? "*a*" : NULL;
        if (!works(kt_selection_begin(&selection, trace), "a selection"))
            continue;
        if (works(kt_groups_make(&groups, trace, keys[i], i % 2, &selection), "groups")) {
            add(digest, groups.count);
            kt_groups_free(&groups);
        }
        kt_selection_end(&selection);
    }
}

static void look_at_lines(struct digest *digest, const struct ktrace_trace *trace)
{
    struct kt_text_sink text;
    struct event_widths widths;
    kt_text_begin(&text, &digest->sink);
    event_widths_begin(&widths, trace);
    for (int measure = 1; measure >= 0; measure--) {
        for (uint64_t w = 0; w < trace->wave_count; w++) {
            const struct kt_wave *wave = &trace->waves[w];
            if (measure)
                event_widths_wave(&widths, trace, wave);
            for (uint32_t i = 0; i < wave->event_count; i++) {
                const struct kt_event *event = &trace->events[wave->first_event + i];
                if (measure) {
                    event_widths_event(&widths, trace, wave, event);
                    continue;
                }
                event_table_line(&text, trace, &widths, wave, event);
                event_csv_line(&text, trace, wave, event);
                event_json_line(&text, trace, wave, event);
            }
        }
    }
    kt_text_finish(&text);
}

static void look_at_views(struct digest *digest, const struct ktrace_trace *trace)
{
    struct site_rows rows;
    look_at_groups(digest, trace);
    look_at_lines(digest, trace);
    if (works(site_rows_make(&rows, trace), "sites")) {
        for (size_t i = 0; i < rows.count; i++)
            add(digest, rows.rows[i].events ^ rows.rows[i].copies << 32);
        site_rows_free(&rows);
    }
}

uint64_t look_at(const struct ktrace_trace *trace, unsigned looks)
{
    struct digest digest = {{add_bytes}, 0xCBF29CE484222325};
    if (looks & LOOK_FACTS)
        look_at_facts(&digest, trace);
    if (looks & LOOK_TEXTS)
        look_at_texts(&digest, trace);
    if (looks & LOOK_EXPORTS)
        look_at_exports(&digest, trace, false);
    if (looks & LOOK_VIEWS)
        look_at_views(&digest, trace);
    if (looks & LOOK_FILE)
        look_at_file(trace);
    if (looks & LOOK_MERGED)
        look_at_merged(&digest, trace);
    if (looks & LOOK_PAGE)
        look_at_exports(&digest, trace, true);
    return digest.value;
}
