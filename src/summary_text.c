/* The summary for a terminal: what was recorded, how long each phase took, and what is missing. */
#include "array.h"
#include "error.h"
#include "launch_phases.h"
#include "phase.h"
#include "string_builder.h"
#include "summary.h"
#include "trace.h"

#include <inttypes.h>
#include <string.h>

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
    char cell[KT_CELL_BYTES];
    uint64_t launched = 0;
    for (uint64_t i = 0; i < trace->launch_count; i++)
        launched += trace->launches[i].waves_launched;
    label(text, "trace");
    kt_string_append_visible(text, info->name);
    kt_string_append(text, "\n");
    label(text, info->devices == 1 ? "device" : "devices");
    kt_string_append_visible(text, info->device);
    const char *place = info->arch == KTRACE_ARCH_NVIDIA ? "SM" : info->arch == KTRACE_ARCH_AMDGCN ? "CU" : "place";
    if (info->places)
        kt_string_printf(text, ", %" PRIu32 " %s%s", info->places, place, kt_plural(info->places));
    kt_string_append(text, "\n");
    label(text, "duration");
    kt_string_printf(text, "%s%s\n", kt_duration(cell, (double)info->duration_ps / 1000),
                     info->simulated ? " of simulated time: no measure of any hardware" : "");
    label(text, "kernels");
    kt_string_printf(text, "%s\n", kt_grouped(cell, trace->kernel_count));
    label(text, "launches");
    kt_string_printf(text, "%s\n", kt_grouped(cell, info->launches));
    label(text, "waves");
    kt_string_printf(text, "%s recorded of ", kt_grouped(cell, info->waves));
    kt_string_printf(text, "%s launched\n", kt_grouped(cell, launched));
    label(text, "events");
    kt_string_printf(text, "%s\n", kt_grouped(cell, info->events));
    append_clock(text, info);
}

/* ---- Tables -------------------------------------------------------------------------------------------------------- */

const struct kt_table_column kt_phase_columns[KT_PHASE_COLUMNS] = {
    {"phase", KT_LEFT}, {"kind", KT_LEFT}, {"count", KT_RIGHT},   {"total", KT_RIGHT},
    {"mean", KT_RIGHT}, {"min", KT_RIGHT}, {"p50", KT_RIGHT},     {"p90", KT_RIGHT},
    {"p99", KT_RIGHT},  {"max", KT_RIGHT}, {"unclosed", KT_RIGHT}};

void kt_phase_row(struct kt_table *table, const struct ktrace_phase_info *phase)
{
    const double durations_ns[] = {phase->total_ns, phase->mean_ns, phase->min_ns, phase->p50_ns,
                                   phase->p90_ns,   phase->p99_ns,  phase->max_ns};
    const int has_durations = phase->kind != KTRACE_KIND_MARK && phase->count > 0;
    char cell[KT_CELL_BYTES];
    kt_table_cell(table, phase->name);
    kt_table_cell(table, kt_phase_kind_name(phase->kind));
    kt_table_cell(table, kt_grouped(cell, phase->count));
    for (size_t i = 0; i < sizeof durations_ns / sizeof *durations_ns; i++)
        kt_table_cell(table, has_durations ? kt_duration(cell, durations_ns[i]) : NULL);
    kt_table_cell(table, phase->unclosed ? kt_grouped(cell, phase->unclosed) : NULL);
    kt_table_style(table, KT_STYLE_WARNING);
}

/* Of all launches of one kernel. */
struct kernel_totals {
    uint64_t launches, waves, launched, events;
    double wave_ns;
};

static void append_kernel_head(struct kt_string *text, const struct ktrace_trace *trace, uint32_t kernel,
                               const struct kernel_totals *totals)
{
    char cell[KT_CELL_BYTES];
    kt_string_append(text, "\n");
    kt_string_append_visible_styled(text, KT_STYLE_TITLE, trace->kernels[kernel].name);
    kt_string_printf(text, ": %s launch%s, ", kt_grouped(cell, totals->launches), totals->launches == 1 ? "" : "es");
    kt_string_printf(text, "%s of ", kt_grouped(cell, totals->waves));
    kt_string_printf(text, "%s wave%s, ", kt_grouped(cell, totals->launched), kt_plural(totals->launched));
    kt_string_printf(text, "%s event%s\n", kt_grouped(cell, totals->events), kt_plural(totals->events));
}

/* ---- Shares -------------------------------------------------------------------------------------------------------- */

const struct kt_table_column kt_share_columns[2] = {{"share", KT_RIGHT}, {"", KT_LEFT}};

int kt_bar_room(size_t width, int columns)
{
    enum { LEAST = 5, GAP = 2 };
    const int room = columns ? columns - (int)width - GAP : KT_BAR_COLUMNS;
    return room < LEAST ? 0 : room > KT_BAR_COLUMNS ? KT_BAR_COLUMNS : room;
}

void kt_share_cells(struct kt_table *table, double share, double length, int room, enum kt_bar_style bars)
{
    char bar[KT_BAR_BYTES];
    kt_table_printf(table, "%.1f %%", share * 100);
    kt_table_cell(table, room ? kt_bar(bar, length, room, bars) : NULL);
    kt_table_style(table, share < 0.2 ? KT_STYLE_LITTLE : share < 0.5 ? KT_STYLE_MUCH : KT_STYLE_MOST);
}

static void fill_phases(struct kt_table *table, const struct ktrace_phase_info *phases, uint64_t count, double wave_ns,
                        const struct kt_summary_view *view, int room)
{
    for (uint64_t i = 0; i < count; i++) {
        kt_phase_row(table, &phases[i]);
        if (!view->with_shares)
            continue;
        if (phases[i].kind != KTRACE_KIND_MARK && phases[i].count > 0 && wave_ns > 0) {
            const double share = phases[i].total_ns / wave_ns;
            kt_share_cells(table, share, share, room, view->bars);
        } else {
            kt_table_cell(table, NULL);
            kt_table_cell(table, NULL);
        }
    }
}

static void append_phases(struct kt_string *text, const struct ktrace_phase_info *phases, uint64_t count,
                          double wave_ns, const struct kt_summary_view *view)
{
    struct kt_table_column columns[KT_PHASE_COLUMNS + 2];
    memcpy(columns, kt_phase_columns, sizeof kt_phase_columns);
    memcpy(columns + KT_PHASE_COLUMNS, kt_share_columns, sizeof kt_share_columns);
    struct kt_table table = kt_table_of(columns, KT_PHASE_COLUMNS + (view->with_shares ? 2 : 0));
    int room = 0;
    if (view->with_shares) { /* once without bars, to see what room is left */
        struct kt_string narrow = KT_STRING_INIT;
        fill_phases(&table, phases, count, wave_ns, view, 0);
        room = kt_bar_room(kt_table_width(&table), view->columns);
        kt_table_finish(&narrow, &table);
        text->failed |= narrow.failed;
        kt_string_destroy(&narrow);
    }
    fill_phases(&table, phases, count, wave_ns, view, room);
    kt_table_finish(text, &table);
}

/* Time that waves spent in their kernels, all together. */
static double wave_time_ns(const struct ktrace_trace *trace, const struct kt_launch *launch)
{
    double sum_ns = 0;
    for (uint64_t i = 0; i < launch->wave_count; i++)
        sum_ns += (double)kt_wave_span_ps(&trace->waves[launch->first_wave + i]) / 1000;
    return sum_ns;
}

/* One for each kernel. NULL when memory ran out. */
static struct kernel_totals *total_kernels(const struct ktrace_trace *trace, const struct kt_summary_view *view)
{
    struct kernel_totals *totals = kt_array_new_zeroed(trace->kernel_count, sizeof *totals);
    for (uint64_t i = 0; totals && i < trace->launch_count; i++) {
        const struct kt_launch *launch = &trace->launches[i];
        struct kernel_totals *its = &totals[launch->kernel];
        its->launches++;
        its->waves += launch->wave_count;
        its->launched += launch->waves_launched;
        its->events += launch->event_count;
        its->wave_ns += view->with_shares ? wave_time_ns(trace, launch) : 0;
    }
    return totals;
}

static int append_kernels(struct kt_string *text, const struct ktrace_trace *trace, const struct kt_summary_view *view)
{
    struct kernel_totals *totals = total_kernels(trace, view);
    if (!totals)
        return KTRACE_ERROR_MEMORY;
    for (uint32_t kernel = 0; kernel < trace->kernel_count; kernel++) {
        uint32_t first, count;
        kt_phases_of_kernel(&first, &count, trace, kernel);
        append_kernel_head(text, trace, kernel, &totals[kernel]);
        append_phases(text, trace->statistics + first, count, totals[kernel].wave_ns, view);
    }
    free(totals);
    return KTRACE_OK;
}

static int append_launch(struct kt_string *text, const struct ktrace_trace *trace, uint64_t index,
                         const struct kt_summary_view *view)
{
    const struct kt_launch *launch = &trace->launches[index];
    const struct kt_launch_phases *phases = kt_launch_phases(trace, index);
    char cell[KT_CELL_BYTES];
    if (!phases)
        return KTRACE_ERROR_MEMORY;
    kt_string_append(text, "\n");
    kt_string_style(text, KT_STYLE_TITLE);
    kt_string_printf(text, "launch #%" PRIu64 ", ", index);
    kt_string_append_visible(text, trace->kernels[launch->kernel].name);
    kt_string_style(text, KT_STYLE_PLAIN);
    if (trace->snapshot->device_count > 1) {
        kt_string_append(text, " on ");
        kt_string_append_visible(text, trace->devices[launch->device].words);
    }
    kt_string_printf(text, ": %s from ", kt_duration(cell, (double)kt_launch_duration_ps(launch) / 1000));
    kt_string_printf(text, "%s, ", kt_duration(cell, (double)launch->begin_ps / 1000));
    kt_string_printf(text, "%s of ", kt_grouped(cell, launch->wave_count));
    kt_string_printf(text, "%s wave%s, ", kt_grouped(cell, launch->waves_launched), kt_plural(launch->waves_launched));
    kt_string_printf(text, "%s event%s\n", kt_grouped(cell, launch->event_count), kt_plural(launch->event_count));
    append_phases(text, phases->phases, phases->count, view->with_shares ? wave_time_ns(trace, launch) : 0, view);
    return KTRACE_OK;
}

/* The one thing about the tables that is easily taken for a fault. */
static void append_legend(struct kt_string *text, const struct ktrace_trace *trace, const struct kt_summary_view *view)
{
    for (uint32_t i = 0; i < trace->phase_count; i++) {
        const struct ktrace_phase_info *phase = &trace->statistics[i];
        if (phase->kind != KTRACE_KIND_MARK && phase->count > 0) {
            kt_string_append(text, "\ntotals are sums over waves, which run side by side");
            kt_string_append(text, view->with_shares ? "; shares are of the time of these waves\n" : "\n");
            return;
        }
    }
}

void kt_append_warning(struct kt_string *text, const struct ktrace_trace *trace)
{
    const char *warning = ktrace_trace_warning(trace);
    if (!*warning)
        return;
    kt_string_append(text, "\n");
    kt_string_append_styled(text, KT_STYLE_WARNING, "warning:");
    kt_string_append(text, " ");
    kt_string_append_visible(text, warning);
    kt_string_append(text, "\n");
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
    char cell[KT_CELL_BYTES];
    size_t width = 0;
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        size_t length = losses[i].count ? strlen(kt_grouped(cell, losses[i].count)) : 0;
        if (length > width)
            width = length;
    }
    /* The trace's own warning repeats the counts; the snapshot's says why it is empty. */
    const char *warnings[] = {trace->snapshot->warning ? trace->snapshot->warning : "", trace->clock_warning};
    if (width > 0 || *warnings[0] || *warnings[1]) {
        kt_string_append(text, "\n");
        kt_string_append_styled(text, KT_STYLE_TITLE, width > 0 || *warnings[0] ? "not whole" : "clocks");
        kt_string_append(text, "\n");
    }
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (losses[i].count) {
            kt_string_style(text, KT_STYLE_WARNING);
            kt_string_printf(text, "  %*s %s%s %s", (int)width, kt_grouped(cell, losses[i].count), losses[i].what,
                             kt_plural(losses[i].count), losses[i].state);
            kt_string_style(text, KT_STYLE_PLAIN);
            kt_string_printf(text, ": %s\n", losses[i].explanation);
        }
    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++)
        if (*warnings[i]) {
            kt_string_append(text, "  ");
            kt_string_append_visible_styled(text, KT_STYLE_WARNING, warnings[i]);
            kt_string_append(text, "\n");
        }
}

int kt_append_summary(struct kt_string *text, const struct ktrace_trace *trace, const struct kt_summary_view *view)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    int status = ktrace_trace_get_info(&info, trace);
    if (status < 0)
        return status;
    append_head(text, trace, &info);
    kt_append_devices(text, trace);
    if (view->each_launch)
        for (uint64_t i = 0; status == KTRACE_OK && i < trace->launch_count; i++)
            status = append_launch(text, trace, i, view);
    else
        status = append_kernels(text, trace, view);
    append_legend(text, trace, view);
    append_losses(text, trace, &info);
    return status;
}

int ktrace_trace_summary_text(char **out, const struct ktrace_trace *trace)
{
    if (!out || !trace)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_summary_text: an argument is NULL");
    struct kt_string text = KT_STRING_INIT;
    const struct kt_summary_view plain = {0};
    const int status = kt_append_summary(&text, trace, &plain);
    if (status == KTRACE_OK)
        return kt_string_take(out, &text);
    kt_string_destroy(&text);
    return status;
}
