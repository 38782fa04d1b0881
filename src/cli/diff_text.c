/* diff_text.c - what changed, for a terminal. */
#include "diff.h"

#include "../summary.h"
#include "../table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- The traces --------------------------------------------------------------------------------------------------- */

static void append_side(struct kt_string *out, const struct diff *diff, int side)
{
    const struct ktrace_trace *trace = diff->trace[side];
    const char *warning = ktrace_trace_warning(trace);
    char cell[KT_CELL_BYTES];
    kt_string_printf(out, "%c  ", "AB"[side]);
    kt_string_append_visible(out, diff->path[side]);
    kt_string_append(out, ": ");
    kt_string_append_visible(out, kt_trace_device_names(trace));
    kt_string_printf(out, ", %s launch%s", kt_grouped(cell, trace->launch_count), trace->launch_count == 1 ? "" : "es");
    kt_string_printf(out, ", %s wave%s%s\n", kt_grouped(cell, trace->wave_count), kt_plural(trace->wave_count),
                     trace->snapshot->flags & KT_SNAPSHOT_SIMULATED ? ", simulated time" : "");
    if (*warning) {
        kt_string_append(out, "   ");
        kt_string_append_styled(out, KT_STYLE_WARNING, "not whole:");
        kt_string_append(out, " ");
        kt_string_append_visible(out, warning);
        kt_string_append(out, "\n");
    }
}

static void append_doubt(struct kt_string *out, const char *why)
{
    kt_string_append_styled(out, KT_STYLE_WARNING, "beware:");
    kt_string_printf(out, " %s\n", why);
}

static void append_doubts(struct kt_string *out, const struct diff *diff)
{
    const struct kt_snapshot *a = diff->trace[DIFF_A]->snapshot, *b = diff->trace[DIFF_B]->snapshot;
    if (strcmp(kt_trace_device_names(diff->trace[DIFF_A]), kt_trace_device_names(diff->trace[DIFF_B])) != 0)
        append_doubt(out, "these are different devices");
    if (a->waves_filtered != b->waves_filtered)
        append_doubt(out, "the captures' filters turned away different numbers of waves");
    if ((a->flags ^ b->flags) & KT_SNAPSHOT_PEEK)
        append_doubt(out, "one of them was taken while kernels were running");
}

/* ---- The table ---------------------------------------------------------------------------------------------------- */

enum { COLUMNS = 13 };
static const struct kt_table_column columns[COLUMNS] = {
    {"phase", KT_LEFT},   {"device", KT_RIGHT}, {"kind", KT_LEFT},    {"", KT_LEFT},        {"count", KT_RIGHT},
    {"p50 A", KT_RIGHT},  {"p50 B", KT_RIGHT},  {"change", KT_RIGHT}, {"mean A", KT_RIGHT}, {"mean B", KT_RIGHT},
    {"change", KT_RIGHT}, {"total", KT_RIGHT},  {"p", KT_RIGHT}};

static void percent_cell(struct kt_table *table, double a, double b)
{
    const double percent = a == b ? 0 : diff_percent(a, b);
    if (fabs(percent) < 0.05)
        kt_table_cell(table, "0.0 %");
    else if (isfinite(percent))
        kt_table_printf(table, "%+.1f %%", percent);
    else
        kt_table_cell(table, NULL);
}

static void count_cell(struct kt_table *table, const struct diff_row *row)
{
    char a[KT_CELL_BYTES] = "-", b[KT_CELL_BYTES] = "-";
    if (row->sample[DIFF_A])
        kt_grouped(a, row->sample[DIFF_A]->count);
    if (row->sample[DIFF_B])
        kt_grouped(b, row->sample[DIFF_B]->count);
    if (strcmp(a, b) == 0)
        kt_table_cell(table, a);
    else
        kt_table_printf(table, "%s -> %s", a, b);
}

static bool has_durations(const struct diff_row *row, int side)
{
    return row->kind != KTRACE_KIND_MARK && row->sample[side] && row->sample[side]->count;
}

static void duration_cells(struct kt_table *table, const struct diff_row *row, double a, double b)
{
    char cell[KT_CELL_BYTES];
    const bool of_a = has_durations(row, DIFF_A), of_b = has_durations(row, DIFF_B);
    kt_table_cell(table, of_a ? kt_duration(cell, a) : NULL);
    kt_table_cell(table, of_b ? kt_duration(cell, b) : NULL);
    if (of_a && of_b)
        percent_cell(table, a, b);
    else
        kt_table_cell(table, NULL);
}

static void total_cell(struct kt_table *table, double moved_ns)
{
    char cell[KT_CELL_BYTES];
    if (moved_ns == 0)
        kt_table_cell(table, "0");
    else
        kt_table_printf(table, "%s%s", moved_ns > 0 ? "+" : "", kt_duration(cell, moved_ns));
}

static enum kt_style verdict_style(enum diff_verdict verdict)
{
    return verdict == DIFF_SLOWER ? KT_STYLE_BAD : verdict == DIFF_FASTER ? KT_STYLE_GOOD : KT_STYLE_PLAIN;
}

static void append_row(struct kt_table *table, const struct diff_row *row)
{
    static const struct diff_sample nothing;
    const struct diff_sample *a = row->sample[DIFF_A] ? row->sample[DIFF_A] : &nothing;
    const struct diff_sample *b = row->sample[DIFF_B] ? row->sample[DIFF_B] : &nothing;
    kt_table_printf(table, "%s/%s", row->kernel, row->name);
    kt_table_cell(table, row->device ? row->device->number : NULL);
    kt_table_cell(table, kt_phase_kind_name(row->kind));
    kt_table_cell(table, row->verdict == DIFF_COUNTED ? NULL : diff_verdict_word(row->verdict));
    kt_table_style(table, verdict_style(row->verdict));
    count_cell(table, row);
    duration_cells(table, row, a->p50_ns, b->p50_ns);
    duration_cells(table, row, a->mean_ns, b->mean_ns);
    if (row->kind == KTRACE_KIND_MARK)
        kt_table_cell(table, NULL);
    else
        total_cell(table, b->total_ns - a->total_ns);
    if (!row->tested)
        kt_table_cell(table, NULL);
    else if (row->adjusted_p < 0.0001)
        kt_table_cell(table, "< 0.0001");
    else
        kt_table_printf(table, "%.4f", row->adjusted_p);
}

/* ---- The end ------------------------------------------------------------------------------------------------------ */

static void append_verdict(struct kt_string *out, const struct diff *diff)
{
    const struct diff_options *options = &diff->options;
    size_t few = 0;
    kt_string_append(out, "\n");
    if (!diff->row_count)
        kt_string_append(out, "no phases: neither trace has an event\n");
    else if (!diff->changed)
        kt_string_append(out, diff->counts_differ ? "no phase is slower or faster" : "no change");
    else
        kt_string_printf(out, "%zu of %zu phase%s changed", diff->changed, diff->row_count,
                         diff->row_count == 1 ? "" : "s");
    if (diff->counts_differ)
        kt_string_printf(out, "; counts differ in %zu\n", diff->counts_differ);
    else if (diff->row_count)
        kt_string_append(out, "\n");
    for (size_t i = 0; i < diff->row_count; i++)
        few += diff->rows[i].verdict == DIFF_TOO_FEW;
    if (diff->tests)
        kt_string_printf(out,
                         "slower, faster: shifted by %g %% or more, with p < %g; Mann-Whitney over %s, %zu test%s by "
                         "Holm\n",
                         options->min_effect_percent, options->alpha,
                         options->unit == DIFF_WAVES ? "waves" : "launches", diff->tests, kt_plural(diff->tests));
    if (few)
        kt_string_printf(out, "too few: not enough %s with that phase for p < %g (at least %d in each trace)\n",
                         options->unit == DIFF_WAVES ? "waves" : "launches", options->alpha, DIFF_FEWEST);
}

static void append_conditions(struct kt_string *out, const struct diff *diff, const struct diff_condition *conditions,
                              size_t count)
{
    if (count)
        kt_string_append(out, "\n");
    for (size_t i = 0; i < count; i++) {
        const struct diff_condition *condition = &conditions[i];
        kt_string_append_styled(out, condition->holds ? KT_STYLE_BAD : KT_STYLE_GOOD,
                                condition->holds ? "FAILED" : "passed");
        kt_string_append(out, "  ");
        kt_string_append_visible(out, condition->text);
        kt_string_append(out, ": ");
        kt_string_append_visible(out, condition->row->kernel);
        kt_string_append(out, "/");
        kt_string_append_visible(out, condition->row->name);
        if (condition->row->device) {
            kt_string_append(out, " of ");
            kt_string_append_visible(out, condition->row->device->words);
        }
        kt_string_append(out, " ");
        diff_condition_append_value(out, condition);
        if (condition->holds && condition->row->tested && condition->row->adjusted_p >= diff->options.alpha)
            kt_string_printf(out, ", which may be chance (p %.2f)", condition->row->adjusted_p);
        kt_string_append(out, "\n");
    }
}

void diff_append_text(struct kt_string *out, const struct diff *diff, const struct diff_condition *conditions,
                      size_t condition_count)
{
    struct kt_table table = kt_table_of(columns, COLUMNS);
    append_side(out, diff, DIFF_A);
    append_side(out, diff, DIFF_B);
    append_doubts(out, diff);
    for (size_t i = 0; i < diff->row_count; i++)
        append_row(&table, &diff->rows[i]);
    if (diff->row_count)
        kt_string_append(out, "\n");
    kt_table_finish(out, &table);
    append_verdict(out, diff);
    append_conditions(out, diff, conditions, condition_count);
}
