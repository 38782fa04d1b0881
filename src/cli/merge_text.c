#include "merge_text.h"

#include "../array.h"
#include "../table.h"
#include "../trace.h"
#include "cli.h"
#include "terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* ---- Relations ---------------------------------------------------------------------------------------------------- */

/* Largest of the devices that recorded something. */
static double uncertainty_ns(const struct ktrace_trace *trace, uint32_t process)
{
    double largest = 0;
    for (uint32_t i = 0; i < trace->snapshot->device_count; i++)
        if (trace->snapshot->devices[i].process == process && trace->devices[i].wave_count)
            largest = fmax(largest, trace->devices[i].uncertainty_ns);
    return largest;
}

static void append_relation(struct kt_string *text, const struct ktrace_trace *trace, uint32_t index)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    const uint32_t first = snapshot->wave_count ? snapshot->devices[trace->timeline_device].process : 0;
    struct ktrace_process_info info = {.struct_size = sizeof info};
    char cell[KT_CELL_BYTES];
    ktrace_trace_process(&info, trace, index);
    const char *within = kt_duration(cell, uncertainty_ns(trace, index) + uncertainty_ns(trace, first));
    switch (info.relation) {
    case KTRACE_RELATION_SELF: kt_string_append(text, "the timeline's"); break;
    case KTRACE_RELATION_DEVICE: kt_string_append(text, "by the clock of the device that both recorded"); break;
    case KTRACE_RELATION_HOST: kt_string_printf(text, "by the host's clock, to within %s", within); break;
    case KTRACE_RELATION_REALTIME:
        kt_string_printf(text, "by CLOCK_REALTIME, to within %s and what the hosts' clocks were apart", within);
        break;
    case KTRACE_RELATION_PLACED: kt_string_append(text, "begin together, as asked"); break;
    default: kt_string_append(text, info.waves ? "cannot be compared" : "none: it recorded nothing"); break;
    }
    if (info.shift_ns && info.relation != KTRACE_RELATION_NONE)
        kt_string_printf(text, ", moved by %" PRId64 " ns", info.shift_ns);
}

/* ---- Runs ---------------------------------------------------------------------------------------------------------- */

/* When a process recorded: its launches, from the first's begin to the last's end. */
struct span {
    uint32_t process;
    int64_t begin_ps, end_ps;
};

static int by_begin(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    return (a->begin_ps > b->begin_ps) - (a->begin_ps < b->begin_ps);
}

/* Of those that recorded something and that a clock relates; how many there are. */
static uint32_t find_spans(struct span *spans, const struct ktrace_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->snapshot->process_count; i++) {
        struct span span = {i, INT64_MAX, INT64_MIN};
        for (uint64_t k = 0; k < trace->launch_count; k++) {
            const struct kt_launch *launch = &trace->launches[k];
            if (trace->snapshot->devices[launch->device].process != i)
                continue;
            span.begin_ps = launch->begin_ps < span.begin_ps ? launch->begin_ps : span.begin_ps;
            span.end_ps = launch->end_ps > span.end_ps ? launch->end_ps : span.end_ps;
        }
        if (span.begin_ps <= span.end_ps && trace->processes[i].relation <= KTRACE_RELATION_REALTIME)
            spans[count++] = span;
    }
    return count;
}

/* Traces of two runs are easily taken for those of one: then something begins long after all else has ended. */
static void append_gaps(struct kt_string *text, const struct ktrace_trace *trace)
{
    const double worth_saying_ns = 1e9;
    struct span *spans = kt_array_new(trace->snapshot->process_count, sizeof *spans);
    const uint32_t count = spans ? find_spans(spans, trace) : 0;
    char cell[KT_CELL_BYTES];
    text->failed |= !spans;
    if (count)
        qsort(spans, count, sizeof *spans, by_begin);
    int64_t end_ps = count ? spans[0].end_ps : 0;
    for (uint32_t i = 1; i < count; i++) {
        const double gap_ns = ((double)spans[i].begin_ps - (double)end_ps) / 1000;
        if (gap_ns > worth_saying_ns) {
            kt_string_append_visible(text, trace->processes[spans[i].process].label);
            kt_string_printf(text, " begins %s after all before it had ended: were they recorded together?\n",
                             kt_duration(cell, gap_ns));
        }
        end_ps = spans[i].end_ps > end_ps ? spans[i].end_ps : end_ps;
    }
    free(spans);
}

/* ---- All of it ---------------------------------------------------------------------------------------------------- */

int merge_say_relations(const struct ktrace_trace *trace)
{
    static const struct kt_table_column columns[] = {{"process", KT_LEFT},   {"host", KT_LEFT},   {"devices", KT_RIGHT},
                                                     {"launches", KT_RIGHT}, {"waves", KT_RIGHT}, {"events", KT_RIGHT},
                                                     {"dropped", KT_RIGHT},  {"times", KT_LEFT}};
    struct kt_table table = kt_table_of(columns, sizeof columns / sizeof *columns);
    struct kt_string text = {.styled = cli_color(STDERR_FILENO)};
    for (uint32_t i = 0; i < trace->snapshot->process_count; i++) {
        const struct kt_trace_process *process = &trace->processes[i];
        struct kt_string relation = KT_STRING_INIT;
        char cell[KT_CELL_BYTES];
        append_relation(&relation, trace, i);
        kt_table_cell(&table, process->label);
        kt_table_cell(&table, *trace->snapshot->processes[i].host ? trace->snapshot->processes[i].host : NULL);
        kt_table_cell(&table, kt_grouped(cell, process->device_count));
        kt_table_cell(&table, kt_grouped(cell, process->launch_count));
        kt_table_cell(&table, kt_grouped(cell, process->wave_count));
        kt_table_cell(&table, kt_grouped(cell, process->event_count));
        kt_table_cell(&table, process->waves_dropped ? kt_grouped(cell, process->waves_dropped) : NULL);
        kt_table_style(&table, KT_STYLE_WARNING);
        kt_table_cell(&table, kt_string_text(&relation));
        table.failed |= relation.failed;
        kt_string_destroy(&relation);
    }
    kt_table_finish(&text, &table);
    append_gaps(&text, trace);
    if (*ktrace_trace_warning(trace)) {
        kt_string_append_styled(&text, KT_STYLE_WARNING, "warning:");
        kt_string_append(&text, " ");
        kt_string_append_visible(&text, ktrace_trace_warning(trace));
        kt_string_append(&text, "\n");
    }
    const int failed = text.failed;
    if (!failed)
        fputs(kt_string_text(&text), stderr);
    kt_string_destroy(&text);
    return failed ? cli_error("out of memory") : CLI_OK;
}
