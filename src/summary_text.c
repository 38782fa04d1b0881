/* The summary for a terminal: what was recorded, how long each phase took, and what is missing. */
#include "array.h"
#include "string_builder.h"
#include "summary.h"
#include "trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define CELL_BYTES 40

/* ---- Values -------------------------------------------------------------------------------------------------------- */

/* 4224 as "4,224" */
static const char *grouped(char cell[CELL_BYTES], uint64_t number)
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number), used = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            cell[used++] = ',';
        cell[used++] = digits[i];
    }
    cell[used] = '\0';
    return cell;
}

static const char *duration(char cell[CELL_BYTES], double ns)
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t unit = 0;
    while (unit < 3 && fabs(ns) < units[unit].ns * 0.99995)
        unit++; /* 999.96 ns is shown as 1.00 us */
    double value = ns / units[unit].ns;
    snprintf(cell, CELL_BYTES, "%.*f %s", fabs(value) < 99.995 ? 2 : 1, value, units[unit].name);
    return cell;
}

static const char *plural(uint64_t number)
{
    return number == 1 ? "" : "s";
}

/* ---- Head ---------------------------------------------------------------------------------------------------------- */

static void label(struct kt_string *text, const char *name)
{
    kt_string_printf(text, "%-9s ", name);
}

static void append_clock(struct kt_string *text, const struct ktrace_trace_info *info)
{
    label(text, "clock");
    if (info->clock_hz > 0)
        kt_string_printf(text, "%.2f MHz, ", info->clock_hz / 1e6);
    if (info->waves == 0)
        kt_string_append(text, "no anchors\n");
    else if (info->clock_residual_ns > 0)
        kt_string_printf(text, "anchors up to %.1f ns from the fit\n", info->clock_residual_ns);
    else
        kt_string_append(text, "fits all anchors\n");
}

static void append_head(struct kt_string *text, const struct ktrace_trace *trace, const struct ktrace_trace_info *info)
{
    char cell[CELL_BYTES];
    uint64_t launched = 0;
    for (uint64_t i = 0; i < trace->launch_count; i++)
        launched += trace->launches[i].waves_launched;
    label(text, "trace");
    kt_string_append_visible(text, info->name);
    kt_string_append(text, "\n");
    label(text, "device");
    kt_string_append_visible(text, info->device);
    const char *place = info->arch == KTRACE_ARCH_NVIDIA ? "SM" : info->arch == KTRACE_ARCH_AMDGCN ? "CU" : "place";
    if (info->places)
        kt_string_printf(text, ", %" PRIu32 " %s%s", info->places, place, plural(info->places));
    kt_string_append(text, "\n");
    label(text, "duration");
    kt_string_printf(text, "%s%s\n", duration(cell, (double)info->duration_ps / 1000),
                     info->simulated ? " of simulated time: no measure of any hardware" : "");
    label(text, "kernels");
    kt_string_printf(text, "%s\n", grouped(cell, trace->kernel_count));
    label(text, "launches");
    kt_string_printf(text, "%s\n", grouped(cell, info->launches));
    label(text, "waves");
    kt_string_printf(text, "%s recorded of ", grouped(cell, info->waves));
    kt_string_printf(text, "%s launched\n", grouped(cell, launched));
    label(text, "events");
    kt_string_printf(text, "%s\n", grouped(cell, info->events));
    append_clock(text, info);
}

/* ---- Tables -------------------------------------------------------------------------------------------------------- */

enum column { NAME, KIND, COUNT, TOTAL, MEAN, MIN, P50, P90, P99, MAX, UNCLOSED, COLUMNS };

static const char *const titles[COLUMNS] = {"phase", "kind", "count", "total", "mean",    "min",
                                            "p50",   "p90",  "p99",   "max",   "unclosed"};

struct row {
    char *name;                      /* as a terminal may see it; owned */
    char cells[COLUMNS][CELL_BYTES]; /* NAME is not used */
};

static int fill_row(struct row *row, const struct ktrace_phase_info *phase)
{
    struct kt_string name = KT_STRING_INIT;
    kt_string_append_visible(&name, phase->name);
    int status = kt_string_take(&row->name, &name);
    if (status < 0)
        return status;
    snprintf(row->cells[KIND], CELL_BYTES, "%s", kt_phase_kind_name(phase->kind));
    grouped(row->cells[COUNT], phase->count);
    if (phase->unclosed)
        grouped(row->cells[UNCLOSED], phase->unclosed);
    if (phase->kind == KTRACE_KIND_MARK || phase->count == 0)
        return 0;
    const double values[] = {phase->total_ns, phase->mean_ns, phase->min_ns, phase->p50_ns,
                             phase->p90_ns,   phase->p99_ns,  phase->max_ns};
    for (int column = TOTAL; column <= MAX; column++)
        duration(row->cells[column], values[column - TOTAL]);
    return 0;
}

static const char *cell_of(const struct row *row, int column)
{
    return column == NAME ? row->name : row->cells[column];
}

static void append_cell(struct kt_string *text, const char *cell, int column, size_t width)
{
    size_t columns = kt_utf8_columns(cell), padding = width > columns ? width - columns : 0;
    kt_string_append(text, "  ");
    if (column == NAME || column == KIND) {
        kt_string_append(text, cell);
        kt_string_append_repeated(text, ' ', padding);
    } else {
        kt_string_append_repeated(text, ' ', padding);
        kt_string_append(text, cell);
    }
}

static void end_line(struct kt_string *text)
{
    while (!text->failed && text->length > 0 && text->text[text->length - 1] == ' ')
        text->length--;
    kt_string_append_char(text, '\n');
}

static void append_table(struct kt_string *text, const struct row *rows, size_t count)
{
    size_t widths[COLUMNS];
    for (int column = 0; column < COLUMNS; column++) {
        size_t widest = 0;
        for (size_t i = 0; i < count; i++) {
            size_t columns = kt_utf8_columns(cell_of(&rows[i], column));
            if (columns > widest)
                widest = columns;
        }
        size_t title = strlen(titles[column]);
        widths[column] = widest == 0 ? 0 : widest > title ? widest : title; /* an empty column is left out */
    }
    if (widths[NAME] == 0)
        widths[NAME] = strlen(titles[NAME]);
    for (int column = 0; column < COLUMNS; column++)
        if (widths[column])
            append_cell(text, titles[column], column, widths[column]);
    end_line(text);
    for (size_t i = 0; i < count; i++) {
        for (int column = 0; column < COLUMNS; column++)
            if (widths[column])
                append_cell(text, cell_of(&rows[i], column), column, widths[column]);
        end_line(text);
    }
}

static void append_kernel_head(struct kt_string *text, const struct ktrace_trace *trace, uint32_t kernel)
{
    uint64_t launches = 0, waves = 0, launched = 0, events = 0;
    char cell[CELL_BYTES];
    for (uint64_t i = 0; i < trace->launch_count; i++) {
        const struct kt_launch *launch = &trace->launches[i];
        if (launch->kernel != kernel)
            continue;
        launches++;
        waves += launch->wave_count;
        launched += launch->waves_launched;
        events += launch->event_count;
    }
    kt_string_append(text, "\n");
    kt_string_append_visible(text, trace->kernels[kernel].name);
    kt_string_printf(text, ": %s launch%s, ", grouped(cell, launches), launches == 1 ? "" : "es");
    kt_string_printf(text, "%s of ", grouped(cell, waves));
    kt_string_printf(text, "%s wave%s, ", grouped(cell, launched), plural(launched));
    kt_string_printf(text, "%s event%s\n", grouped(cell, events), plural(events));
}

static int append_kernel(struct kt_string *text, const struct ktrace_trace *trace, uint32_t kernel)
{
    size_t count = 0;
    int status = 0;
    struct row *rows = kt_array_new_zeroed(trace->phase_count, sizeof *rows);
    if (!rows)
        return KTRACE_ERROR_MEMORY;
    for (uint32_t i = 0; status == 0 && i < trace->phase_count; i++)
        if (trace->phases[i].kernel == kernel)
            status = fill_row(&rows[count++], &trace->statistics[i]);
    if (status == 0) {
        append_kernel_head(text, trace, kernel);
        if (count > 0)
            append_table(text, rows, count);
    }
    for (size_t i = 0; i < count; i++)
        free(rows[i].name);
    free(rows);
    return status;
}

/* The one thing about the tables that is easily taken for a fault. */
static void append_legend(struct kt_string *text, const struct ktrace_trace *trace)
{
    for (uint32_t i = 0; i < trace->phase_count; i++) {
        const struct ktrace_phase_info *phase = &trace->statistics[i];
        if (phase->kind != KTRACE_KIND_MARK && phase->count > 0) {
            kt_string_append(text, "\ntotals are sums over waves, which run side by side\n");
            return;
        }
    }
}

/* ---- What is missing ----------------------------------------------------------------------------------------------- */

static void append_losses(struct kt_string *text, const struct ktrace_trace *trace,
                          const struct ktrace_trace_info *info)
{
    const struct {
        uint64_t count;
        const char *what, *state, *explanation;
    } losses[] = {
        {info->waves_dropped, "wave", "dropped", "the buffer was full"},
        {info->waves_filtered, "wave", "filtered", "turned away by the capture's filter"},
        {info->waves_unfinished, "wave", "unfinished",
         "not at its end when read: running, hung, trapped, or launched beside the read"},
        {info->slots_lost, "slot", "lost", "overwritten in rings that wrapped"},
        {info->ranges_unclosed, "range", "unclosed", "still open at the wave's last event, in no statistics"},
        {info->ends_unmatched, "end", "unmatched", "a pop or stop without a partner, not shown"},
        {info->slots_corrupt, "slot", "corrupt", "no site of the module explains it"},
        {info->clocks_ambiguous, "wave", "with ambiguous clocks",
         "a gap of over 2^32 ticks that the anchors leave open"},
    };
    char cell[CELL_BYTES];
    size_t width = 0;
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        size_t length = losses[i].count ? strlen(grouped(cell, losses[i].count)) : 0;
        if (length > width)
            width = length;
    }
    /* The trace's own warning repeats the counts; the snapshot's says why it is empty. */
    const char *warnings[] = {trace->snapshot->warning ? trace->snapshot->warning : "", trace->clock_warning};
    if (width > 0 || *warnings[0] || *warnings[1])
        kt_string_append(text, width > 0 || *warnings[0] ? "\nnot whole\n" : "\nclocks\n");
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (losses[i].count)
            kt_string_printf(text, "  %*s %s%s %s: %s\n", (int)width, grouped(cell, losses[i].count), losses[i].what,
                             plural(losses[i].count), losses[i].state, losses[i].explanation);
    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++)
        if (*warnings[i]) {
            kt_string_append(text, "  ");
            kt_string_append_visible(text, warnings[i]);
            kt_string_append(text, "\n");
        }
}

int ktrace_trace_summary_text(char **out, const struct ktrace_trace *trace)
{
    if (!out || !trace)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_summary_text: an argument is NULL");
    struct kt_string text = KT_STRING_INIT;
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    int status = ktrace_trace_get_info(&info, trace);
    if (status == 0)
        append_head(&text, trace, &info);
    for (uint32_t kernel = 0; status == 0 && kernel < trace->kernel_count; kernel++)
        status = append_kernel(&text, trace, kernel);
    if (status == 0)
        append_legend(&text, trace);
    if (status == 0)
        append_losses(&text, trace, &info);
    if (status == 0)
        return kt_string_take(out, &text);
    kt_string_destroy(&text);
    return status;
}
