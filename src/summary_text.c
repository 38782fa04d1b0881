/* The summary for a terminal: what was recorded, how long each phase took, and what is missing. */
#include "error.h"
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
}

static void append_kernel_head(struct kt_string *text, const struct ktrace_trace *trace, uint32_t kernel)
{
    uint64_t launches = 0, waves = 0, launched = 0, events = 0;
    char cell[KT_CELL_BYTES];
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
    kt_string_printf(text, ": %s launch%s, ", kt_grouped(cell, launches), launches == 1 ? "" : "es");
    kt_string_printf(text, "%s of ", kt_grouped(cell, waves));
    kt_string_printf(text, "%s wave%s, ", kt_grouped(cell, launched), kt_plural(launched));
    kt_string_printf(text, "%s event%s\n", kt_grouped(cell, events), kt_plural(events));
}

static void append_kernel(struct kt_string *text, const struct ktrace_trace *trace, uint32_t kernel)
{
    struct kt_table table = kt_table_of(kt_phase_columns, KT_PHASE_COLUMNS);
    append_kernel_head(text, trace, kernel);
    for (uint32_t i = 0; i < trace->phase_count; i++)
        if (trace->phases[i].kernel == kernel)
            kt_phase_row(&table, &trace->statistics[i]);
    kt_table_finish(text, &table);
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
    char cell[KT_CELL_BYTES];
    size_t width = 0;
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        size_t length = losses[i].count ? strlen(kt_grouped(cell, losses[i].count)) : 0;
        if (length > width)
            width = length;
    }
    /* The trace's own warning repeats the counts; the snapshot's says why it is empty. */
    const char *warnings[] = {trace->snapshot->warning ? trace->snapshot->warning : "", trace->clock_warning};
    if (width > 0 || *warnings[0] || *warnings[1])
        kt_string_append(text, width > 0 || *warnings[0] ? "\nnot whole\n" : "\nclocks\n");
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (losses[i].count)
            kt_string_printf(text, "  %*s %s%s %s: %s\n", (int)width, kt_grouped(cell, losses[i].count), losses[i].what,
                             kt_plural(losses[i].count), losses[i].state, losses[i].explanation);
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
    if (status == 0) {
        append_head(&text, trace, &info);
        kt_append_devices(&text, trace);
    }
    for (uint32_t kernel = 0; status == 0 && kernel < trace->kernel_count; kernel++)
        append_kernel(&text, trace, kernel);
    if (status == 0)
        append_legend(&text, trace);
    if (status == 0)
        append_losses(&text, trace, &info);
    if (status == 0)
        return kt_string_take(out, &text);
    kt_string_destroy(&text);
    return status;
}
