/* fuzz_views.c - what looks at traces beside the summary, with a .ktrace file from anywhere: groups, annotations, events as
 * lines, and the exporters of text. Each input is tried with its checksums made right, as fuzz_load.c tries it. */
#include "cli/event_columns.h"
#include "cli/site_rows.h"
#include "groups.h"
#include "repair.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static int discard(struct kt_sink *sink, const void *data, size_t bytes)
{
    (void)sink;
    (void)data;
    (void)bytes;
    return KTRACE_OK;
}

static void group(const struct ktrace_trace *trace)
{
    static const unsigned keys[] = {1u << KT_BY_PHASE, 1u << KT_BY_PLACE, 1u << KT_BY_LAUNCH | 1u << KT_BY_WAVE,
                                    1u << KT_BY_PHASE | 1u << KT_BY_PLACE | 1u << KT_BY_WORKGROUP};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct kt_selection selection = KT_SELECTION_ALL;
        struct kt_groups groups;
        selection.name = i % 2 ? "*a*" : NULL;
        if (kt_selection_begin(&selection, trace) < 0)
            continue;
        if (kt_groups_make(&groups, trace, keys[i], i % 2, &selection) == KTRACE_OK)
            kt_groups_free(&groups);
        kt_selection_end(&selection);
    }
}

static void list(const struct ktrace_trace *trace, struct kt_sink *sink)
{
    struct kt_text_sink text;
    struct event_widths widths;
    kt_text_begin(&text, sink);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct ktrace_trace *trace;
    struct site_rows rows;
    struct kt_sink sink = {.write = discard};
    uint8_t *repaired = repaired_copy(data, bytes);
    if (!repaired)
        return 0;
    const int loaded = ktrace_trace_load_memory(&trace, repaired, bytes);
    free(repaired);
    if (loaded < 0)
        return 0;
    group(trace);
    list(trace, &sink);
    if (site_rows_make(&rows, trace) == KTRACE_OK)
        site_rows_free(&rows);
    kt_exporter_chrome.write(&sink, trace, KT_EVERY_LAUNCH);
    kt_exporter_csv.write(&sink, trace, KT_EVERY_LAUNCH);
    ktrace_trace_destroy(trace);
    return 0;
}
