/* Launches for a terminal: one table of them, and one of the phases of each. */
#include "error.h"
#include "launch_phases.h"
#include "summary.h"

#include <inttypes.h>
#include <string.h>

enum { LAUNCH_COLUMNS = 14 };
static const struct kt_table_column launch_columns[LAUNCH_COLUMNS] = {
    {"launch", KT_LEFT},      {"kernel", KT_LEFT}, {"device", KT_RIGHT}, {"queue", KT_LEFT},  {"grid id", KT_RIGHT},
    {"occurrence", KT_RIGHT}, {"grid", KT_LEFT},   {"block", KT_LEFT},   {"begin", KT_RIGHT}, {"end", KT_RIGHT},
    {"duration", KT_RIGHT},   {"waves", KT_RIGHT}, {"events", KT_RIGHT}, {"lost", KT_RIGHT}};

static void size_cell(struct kt_table *table, const uint32_t size[3])
{
    kt_table_printf(table, "(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ")", size[0], size[1], size[2]);
}

static void launch_row(struct kt_table *table, const struct ktrace_trace *trace, uint64_t index)
{
    const struct kt_launch *launch = &trace->launches[index];
    char cell[KT_CELL_BYTES], more[KT_CELL_BYTES];
    kt_table_printf(table, "#%" PRIu64, index);
    kt_table_cell(table, trace->kernels[launch->kernel].name);
    if (trace->snapshot->device_count > 1)
        kt_table_cell(table, trace->devices[launch->device].number);
    else
        kt_table_cell(table, NULL);
    if (launch->queue)
        kt_table_printf(table, "0x%" PRIx64, launch->queue);
    else
        kt_table_cell(table, NULL);
    kt_table_printf(table, "%" PRIu64, launch->grid_id);
    if (launch->occurrence)
        kt_table_printf(table, "%" PRIu32, launch->occurrence);
    else
        kt_table_cell(table, NULL);
    size_cell(table, launch->grid);
    size_cell(table, launch->block);
    kt_table_cell(table, kt_duration(cell, (double)launch->begin_ps / 1000));
    kt_table_cell(table, kt_duration(cell, (double)launch->end_ps / 1000));
    kt_table_cell(table, kt_duration(cell, (double)kt_launch_duration_ps(launch) / 1000));
    kt_table_printf(table, "%s of %s", kt_grouped(cell, launch->wave_count), kt_grouped(more, launch->waves_launched));
    kt_table_cell(table, kt_grouped(cell, launch->event_count));
    kt_table_cell(table, launch->slots_lost ? kt_grouped(cell, launch->slots_lost) : NULL);
    kt_table_style(table, KT_STYLE_WARNING);
}

static int append_phases(struct kt_string *text, const struct ktrace_trace *trace)
{
    struct kt_table_column columns[1 + KT_PHASE_COLUMNS] = {{"launch", KT_LEFT}};
    memcpy(&columns[1], kt_phase_columns, sizeof kt_phase_columns);
    struct kt_table table = kt_table_of(columns, 1 + KT_PHASE_COLUMNS);
    struct kt_string tail = KT_STRING_INIT;
    int status = KTRACE_OK;
    tail.styled = text->styled;
    for (uint64_t i = 0; status == KTRACE_OK && i < trace->launch_count; i++) {
        const struct kt_launch_phases *phases = kt_launch_phases(trace, i);
        if (!phases)
            status = KTRACE_ERROR_MEMORY;
        for (uint64_t p = 0; status == KTRACE_OK && p < phases->count; p++) {
            kt_table_printf(&table, "#%" PRIu64, i);
            kt_phase_row(&table, &phases->phases[p]);
        }
    }
    kt_table_finish(&tail, &table);
    if (tail.length)
        kt_string_append(text, "\n");
    kt_string_append(text, kt_string_text(&tail));
    text->failed |= tail.failed;
    kt_string_destroy(&tail);
    return status;
}

int kt_append_launches(struct kt_string *text, const struct ktrace_trace *trace)
{
    struct kt_table launches = kt_table_of(launch_columns, LAUNCH_COLUMNS);
    kt_string_printf(text, "%" PRIu64 " launch%s", trace->launch_count, trace->launch_count == 1 ? "" : "es");
    if (trace->snapshot->flags & KT_SNAPSHOT_SIMULATED)
        kt_string_append(text, "; times are simulated, and no measure of any hardware");
    kt_string_append(text, "\n");
    for (uint64_t i = 0; i < trace->launch_count; i++)
        launch_row(&launches, trace, i);
    kt_table_finish(text, &launches);
    const int status = append_phases(text, trace);
    kt_append_warning(text, trace);
    return status;
}

int ktrace_trace_launches_text(char **out, const struct ktrace_trace *trace)
{
    if (!out || !trace)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_launches_text: an argument is NULL");
    struct kt_string text = KT_STRING_INIT;
    const int status = kt_append_launches(&text, trace);
    if (status == KTRACE_OK)
        return kt_string_take(out, &text);
    kt_string_destroy(&text);
    return status;
}
