/* event_columns.h - one event as a line of text: of a table, of CSV, of JSON. */
#ifndef KT_CLI_EVENT_COLUMNS_H
#define KT_CLI_EVENT_COLUMNS_H

#include "../export/text_sink.h"
#include "../trace.h"

/* Columns of the table that are as wide as what they hold. */
struct event_widths {
    int time, duration, launch, wave, lane;
    int kernel, device; /* 0: not shown, as there is one */
    int place, workgroup, name;
};

/* Widths so far, with one event more; `widths` was begun with event_widths_begin. */
void event_widths_begin(struct event_widths *widths, const struct ktrace_trace *trace);
void event_widths_wave(struct event_widths *widths, const struct ktrace_trace *trace, const struct kt_wave *wave);
void event_widths_event(struct event_widths *widths, const struct ktrace_trace *trace, const struct kt_wave *wave,
                        const struct kt_event *event);

void event_table_titles(struct kt_text_sink *out, const struct ktrace_trace *trace, const struct event_widths *widths);
void event_table_line(struct kt_text_sink *out, const struct ktrace_trace *trace, const struct event_widths *widths,
                      const struct kt_wave *wave, const struct kt_event *event);
void event_csv_titles(struct kt_text_sink *out);
void event_csv_line(struct kt_text_sink *out, const struct ktrace_trace *trace, const struct kt_wave *wave,
                    const struct kt_event *event);
void event_json_line(struct kt_text_sink *out, const struct ktrace_trace *trace, const struct kt_wave *wave,
                     const struct kt_event *event);

#endif
