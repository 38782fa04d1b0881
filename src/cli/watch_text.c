#include "watch_output.h"

#include "../array.h"
#include "../export/sink.h"
#include "../export/text_sink.h"
#include "../summary.h"
#include "../vocabulary.h"
#include "kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 10, RANGES = 6 }; /* of a table, of a cell, unless all are wanted */

typedef struct kt_string text;

/* ---- Words ------------------------------------------------------------------------------------------------------- */

static void append_through_sink(text *out, void (*put)(struct kt_text_sink *sink, uint8_t type, uint64_t bits),
                                uint8_t type, uint64_t bits)
{
    struct kt_memory_sink memory;
    struct kt_text_sink sink;
    kt_memory_sink_init(&memory);
    kt_text_begin(&sink, &memory.sink);
    put(&sink, type, bits);
    if (kt_text_finish(&sink) < 0)
        out->failed = 1;
    else
        kt_string_append_bytes(out, memory.buffer.data, memory.buffer.bytes);
    kt_pb_destroy(&memory.buffer);
}

void watch_append_payload(text *out, uint8_t type, uint64_t bits)
{
    append_through_sink(out, kt_text_payload_short, type, bits);
}

void watch_append_payload_json(text *out, uint8_t type, uint64_t bits)
{
    append_through_sink(out, kt_text_payload_json, type, bits);
}

/* "7", "0 to 3". */
static void append_payload(text *out, const struct watch_payload *payload)
{
    if (!payload->is_there)
        return;
    watch_append_payload(out, payload->type, payload->first);
    if (payload->last != payload->first) {
        kt_string_append(out, " to ");
        watch_append_payload(out, payload->type, payload->last);
    }
}

/* "mark stored 7", "end of prologue", "" if there is none. */
static void append_last_event(text *out, const struct watch_group *group)
{
    if (!group->last)
        return;
    if (group->last_is_end)
        kt_string_printf(out, *group->last->name ? "end of %s" : "end of a range", group->last->name);
    else
        kt_string_printf(out, "%s %s", cli_kind_name(group->last->kind), group->last->name);
    kt_string_append(out, group->last_payload.is_there ? " " : "");
    append_payload(out, &group->last_payload);
}

static void append_stack(text *out, const struct watch_group *group)
{
    if (group->cut)
        kt_string_append(out, group->open_count ? "... > " : "...");
    for (uint32_t i = 0; i < group->open_count; i++)
        kt_string_printf(out, "%s%s", i ? " > " : "", group->open[i]->site->name);
    if (group->open_count == 0 && !group->cut)
        kt_string_append(out, "(no range)");
}

/* Two durations that look alike are one. */
static void append_durations(text *out, double shortest_ns, double longest_ns)
{
    char shortest[KT_CELL_BYTES], longest[KT_CELL_BYTES];
    kt_duration(shortest, shortest_ns);
    kt_duration(longest, longest_ns);
    if (strcmp(shortest, longest) == 0)
        kt_string_append(out, longest);
    else
        kt_string_printf(out, "%s to %s", shortest, longest);
}

/* How long ago the last events were; or where now is not known, when they were from the trace's beginning on. */
static void append_times(text *out, const struct watch_view *view, const struct watch_group *group)
{
    if (view->now_known)
        append_durations(out, watch_age_ns(view, group->newest_ps), watch_age_ns(view, group->oldest_ps));
    else
        append_durations(out, (double)group->oldest_ps / 1000, (double)group->newest_ps / 1000);
}

static void append_number(text *out, const struct kt_launch *launch, uint64_t number)
{
    const uint64_t x = launch->grid[0] ? launch->grid[0] : 1, y = launch->grid[1] ? launch->grid[1] : 1;
    if (launch->grid[1] <= 1 && launch->grid[2] <= 1)
        kt_string_printf(out, "%" PRIu64, number);
    else
        kt_string_printf(out, "(%" PRIu64 ", %" PRIu64 ", %" PRIu64 ")", number % x, number / x % y, number / x / y);
}

static void append_place(text *out, const struct kt_vocabulary *words, uint64_t place)
{
    char name[64];
    words->place(name, sizeof name, (uint32_t)place);
    kt_string_append(out, name);
}

/* "0-9, 12", and how many more there are. `launch`: they are workgroups; NULL: numbers. */
static void append_ranges(text *out, const struct watch_ranges *ranges, const struct kt_launch *launch, bool all)
{
    uint64_t shown = 0;
    for (size_t i = 0; i < ranges->count && (all || i < RANGES); i++) {
        const struct watch_range *range = &ranges->ranges[i];
        const struct kt_launch line = {.grid = {1, 1, 1}};
        kt_string_append(out, i ? ", " : "");
        append_number(out, launch ? launch : &line, range->first);
        if (range->last != range->first) {
            kt_string_append(out, "-");
            append_number(out, launch ? launch : &line, range->last);
        }
        shown += range->last - range->first + 1;
    }
    if (shown < ranges->numbers)
        kt_string_printf(out, " and %" PRIu64 " more", ranges->numbers - shown);
}

/* SMs have numbers, CUs names. */
static void append_places(text *out, const struct watch_ranges *places, uint32_t arch, bool all)
{
    enum { NAMES = 3 };
    uint64_t shown = 0;
    if (arch != KTRACE_ARCH_AMDGCN) {
        append_ranges(out, places, NULL, all);
        return;
    }
    for (size_t i = 0; i < places->count; i++)
        for (uint64_t place = places->ranges[i].first; place <= places->ranges[i].last; place++) {
            if (!all && shown == NAMES) {
                kt_string_printf(out, " and %" PRIu64 " more", places->numbers - shown);
                return;
            }
            kt_string_append(out, shown++ ? ", " : "");
            append_place(out, kt_vocabulary_of(arch), place);
        }
}

/* ---- Launches that have waves inside ----------------------------------------------------------------------------- */

static void cell_of(struct kt_table *table, text *content)
{
    table->failed |= content->failed;
    kt_table_cell(table, kt_string_text(content));
    kt_string_destroy(content);
}

static void group_row(struct kt_table *table, const struct watch_view *view, const struct watch_group *group,
                      const struct kt_launch *launch, bool all)
{
    text cell = KT_STRING_INIT;
    char number[KT_CELL_BYTES];
    kt_table_cell(table, kt_grouped(number, group->waves));
    append_stack(&cell, group);
    cell_of(table, &cell);
    append_payload(&cell, &group->payload);
    cell_of(table, &cell);
    append_last_event(&cell, group);
    cell_of(table, &cell);
    append_times(&cell, view, group);
    cell_of(table, &cell);
    append_ranges(&cell, &group->workgroups, launch, all);
    cell_of(table, &cell);
    append_ranges(&cell, &group->numbers, NULL, all);
    cell_of(table, &cell);
    append_places(&cell, &group->places, view->trace->snapshot->arch, all);
    cell_of(table, &cell);
}

/* "no event for 12.3 s", which for a launch that goes on is short. */
static void append_silence(text *out, const struct watch_view *view, int64_t last_ps, double unchanged_ns)
{
    char cell[KT_CELL_BYTES];
    if (view->now_known)
        kt_string_printf(out, "; no event for %s", kt_duration(cell, watch_age_ns(view, last_ps)));
    else if (unchanged_ns >= 0)
        kt_string_printf(out, "; no event in %s of watching", kt_duration(cell, unchanged_ns));
}

static void append_launch_line(text *out, const struct watch_view *view, const struct watch_launch *open)
{
    const struct ktrace_trace *trace = view->trace;
    const struct kt_launch *launch = &trace->launches[open->launch];
    char launched[KT_CELL_BYTES], started[KT_CELL_BYTES], finished[KT_CELL_BYTES], inside[KT_CELL_BYTES];
    kt_string_append(out, "\n");
    kt_string_append_visible_styled(out, KT_STYLE_TITLE, trace->kernels[launch->kernel].name);
    kt_string_printf(out, ", launch #%" PRIu32, open->launch);
    if (trace->snapshot->device_count > 1)
        kt_string_printf(out, " on device %" PRIu32, trace->snapshot->devices[launch->device].ordinal);
    /* Of those that did not get in nobody knows which launch they are of. */
    const char *got_in = trace->snapshot->waves_dropped || trace->snapshot->waves_filtered ? "recorded" : "started";
    kt_string_printf(out, ": of %s wave%s %s %s, %s finished, %s inside", kt_grouped(launched, launch->waves_launched),
                     kt_plural(launch->waves_launched), kt_grouped(started, launch->wave_count), got_in,
                     kt_grouped(finished, launch->wave_count - open->inside), kt_grouped(inside, open->inside));
    append_silence(out, view, open->last_ps, open->unchanged_ns);
    kt_string_append(out, "\n");
}

static void append_launch(text *out, const struct watch_view *view, const struct watch_launch *open, bool all)
{
    const struct kt_launch *launch = &view->trace->launches[open->launch];
    const uint32_t arch = view->trace->snapshot->arch;
    const struct kt_table_column columns[] = {
        {"waves", KT_RIGHT},
        {"open ranges", KT_LEFT},
        {"payload", KT_LEFT},
        {"last event", KT_LEFT},
        {view->now_known ? "ago" : "at", KT_RIGHT},
        {"workgroups", KT_LEFT},
        {"wave", KT_LEFT},
        {kt_places_word(arch), KT_LEFT},
    };
    struct kt_table table = kt_table_of(columns, sizeof columns / sizeof *columns);
    uint64_t more = 0;
    append_launch_line(out, view, open);
    for (size_t i = 0; i < open->group_count; i++) {
        const struct watch_group *group = &view->groups[open->first_group + i];
        if (all || i < ROWS)
            group_row(&table, view, group, launch, all);
        else
            more += group->waves;
    }
    kt_table_finish(out, &table);
    if (more)
        kt_string_printf(out, "  and %" PRIu64 " wave%s in %zu groups with newer events\n", more, kt_plural(more),
                         open->group_count - ROWS);
}

/* ---- Totals ------------------------------------------------------------------------------------------------------ */

/* "1,234" or "0.5". */
static const char *rate(char cell[KT_CELL_BYTES], double count, double ns)
{
    const double rate = ns > 0 ? count * 1e9 / ns : 0;
    if (rate >= 10 || rate == 0)
        return kt_grouped(cell, (uint64_t)(rate + 0.5));
    snprintf(cell, KT_CELL_BYTES, "%.1f", rate);
    return cell;
}

static void rate_cell(struct kt_table *table, const struct watch_view *view, int64_t since)
{
    char cell[KT_CELL_BYTES];
    kt_table_cell(table, since < 0 ? NULL : rate(cell, (double)since, view->since_ns));
}

static void append_kernels(text *out, const struct watch_view *view)
{
    static const struct kt_table_column columns[] = {
        {"kernel", KT_LEFT},  {"launches", KT_RIGHT}, {"running", KT_RIGHT}, {"waves", KT_RIGHT},
        {"inside", KT_RIGHT}, {"events", KT_RIGHT},   {"a second", KT_RIGHT}};
    struct kt_table table = kt_table_of(columns, sizeof columns / sizeof *columns);
    char cell[KT_CELL_BYTES];
    for (uint32_t i = 0; i < view->trace->kernel_count; i++) {
        const struct watch_kernel *kernel = &view->kernels[i];
        kt_table_cell(&table, view->trace->kernels[i].name);
        kt_table_cell(&table, kt_grouped(cell, kernel->launches));
        kt_table_cell(&table, kt_grouped(cell, kernel->running));
        kt_table_cell(&table, kt_grouped(cell, kernel->waves));
        kt_table_cell(&table, kt_grouped(cell, kernel->inside));
        kt_table_cell(&table, kt_grouped(cell, kernel->events));
        rate_cell(&table, view, kernel->events_since);
    }
    kt_string_append(out, view->trace->kernel_count ? "\n" : "");
    kt_table_finish(out, &table);
}

/* Phases that took longest; `used` ones are taken. */
static uint32_t longest_phase(const struct ktrace_trace *trace, const bool *used)
{
    uint32_t longest = trace->phase_count;
    for (uint32_t i = 0; i < trace->phase_count; i++)
        if (!used[i] &&
            (longest == trace->phase_count || trace->statistics[i].total_ns > trace->statistics[longest].total_ns))
            longest = i;
    return longest;
}

static void phase_row(struct kt_table *table, const struct watch_view *view, uint32_t index, bool one_kernel)
{
    const struct ktrace_phase_info *phase = &view->trace->statistics[index];
    char cell[KT_CELL_BYTES];
    if (!one_kernel)
        kt_table_cell(table, phase->kernel);
    kt_table_cell(table, phase->name);
    kt_table_cell(table, kt_phase_kind_name(phase->kind));
    kt_table_cell(table, kt_grouped(cell, phase->count));
    rate_cell(table, view, view->phases_since[index]);
    kt_table_cell(table, phase->unclosed ? kt_grouped(cell, phase->unclosed) : NULL);
    const bool timed = phase->kind != KTRACE_KIND_MARK && phase->count;
    kt_table_cell(table, timed ? kt_duration(cell, phase->total_ns) : NULL);
    kt_table_cell(table, timed ? kt_duration(cell, phase->mean_ns) : NULL);
    kt_table_cell(table, timed ? kt_duration(cell, phase->max_ns) : NULL);
}

static void append_phases(text *out, const struct watch_view *view, bool all)
{
    static const struct kt_table_column columns[] = {{"kernel", KT_LEFT}, {"phase", KT_LEFT},     {"kind", KT_LEFT},
                                                     {"count", KT_RIGHT}, {"a second", KT_RIGHT}, {"open", KT_RIGHT},
                                                     {"total", KT_RIGHT}, {"mean", KT_RIGHT},     {"max", KT_RIGHT}};
    const bool one_kernel = view->trace->kernel_count <= 1; /* a table's first column is never left out */
    struct kt_table table = one_kernel ? kt_table_of(columns + 1, sizeof columns / sizeof *columns - 1)
                                       : kt_table_of(columns, sizeof columns / sizeof *columns);
    bool *used = kt_array_new_zeroed(view->trace->phase_count, sizeof *used);
    if (!used) {
        out->failed = 1;
        return;
    }
    uint32_t rows = 0;
    for (uint32_t index; (all || rows < ROWS) && (index = longest_phase(view->trace, used)) < view->trace->phase_count;
         rows++) {
        used[index] = true;
        phase_row(&table, view, index, one_kernel);
    }
    free(used);
    kt_string_append(out, rows ? "\n" : "");
    kt_table_finish(out, &table);
    if (rows < view->trace->phase_count)
        kt_string_printf(out, "  and %" PRIu32 " more\n", view->trace->phase_count - rows);
}

static void append_subject(text *out, const struct watch_view *view, const struct watch_subject *subject)
{
    const struct ktrace_trace *trace = view->trace;
    if (subject->pid && *subject->name) {
        kt_string_append_visible(out, subject->name);
        kt_string_printf(out, " (%ld)", (long)subject->pid);
    } else if (subject->pid) {
        kt_string_printf(out, "process %ld", (long)subject->pid);
    } else {
        kt_string_append_visible(out, subject->name);
    }
    kt_string_append(out, subject->flags & KT_WATCH_PROCESS_WIDE ? ": collection \"" : ": capture \"");
    kt_string_append_visible(out, trace->snapshot->name);
    kt_string_append(out, "\" on ");
    kt_string_append_visible(out, kt_trace_device_names(trace));
    kt_string_printf(out, ", look %" PRIu64 "\n", subject->look);
}

static void append_totals(text *out, const struct watch_view *view)
{
    const struct ktrace_trace *trace = view->trace;
    char launches[KT_CELL_BYTES], waves[KT_CELL_BYTES], inside[KT_CELL_BYTES], events[KT_CELL_BYTES];
    kt_string_printf(out, "%s launch%s (%zu running), %s wave%s (%s inside), %s event%s",
                     kt_grouped(launches, trace->launch_count), trace->launch_count == 1 ? "" : "es",
                     view->launch_count, kt_grouped(waves, trace->wave_count), kt_plural(trace->wave_count),
                     kt_grouped(inside, view->inside), kt_grouped(events, trace->event_count),
                     kt_plural(trace->event_count));
    if (view->now_known && trace->wave_count)
        append_silence(out, view, view->newest_ps, -1);
    kt_string_append(out, "\n");
    if (trace->snapshot->flags & KT_SNAPSHOT_SIMULATED)
        kt_string_append(out, "simulated time: no measure of any hardware\n");
}

static void append_since(text *out, const struct watch_view *view)
{
    char since[KT_CELL_BYTES], events[KT_CELL_BYTES], a_second[KT_CELL_BYTES], finished[KT_CELL_BYTES];
    if (!view->has_previous)
        return;
    kt_string_printf(out, "in the %s since the look before: %s%s event%s, %s a second",
                     kt_duration(since, view->since_ns), view->at_least ? "at least " : "",
                     kt_grouped(events, view->events_since), kt_plural(view->events_since),
                     rate(a_second, (double)view->events_since, view->since_ns));
    if (view->began_anew)
        kt_string_append(out, "; the program took its records meanwhile, and counts began anew");
    else if (!view->at_least)
        kt_string_printf(out, "; %s launch%s finished", kt_grouped(finished, view->finished_since),
                         view->finished_since == 1 ? "" : "es");
    kt_string_append(out, "\n");
}

/* What keeps the numbers above from being all there is. That waves are inside is what was asked for. */
static void append_missing(text *out, const struct ktrace_trace *trace)
{
    const struct {
        uint64_t count;
        const char *noun, *what;
    } missing[] = {
        {trace->snapshot->waves_dropped, "wave", "without room in the buffer"},
        {trace->snapshot->waves_filtered, "wave", "turned away by the filter"},
        {trace->slots_lost, "slot", "overwritten in rings that wrapped"},
        {trace->ends_unmatched, "end", "without a begin"},
        {trace->slots_corrupt, "slot", "that no site explains"},
    };
    char cell[KT_CELL_BYTES];
    bool first = true;
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        if (!missing[i].count)
            continue;
        kt_string_append(out, first ? "\n" : "");
        kt_string_style(out, KT_STYLE_WARNING);
        kt_string_printf(out, "%s%s %s%s %s", first ? "not there, or not whole: " : ", ",
                         kt_grouped(cell, missing[i].count), missing[i].noun, kt_plural(missing[i].count),
                         missing[i].what);
        kt_string_style(out, KT_STYLE_PLAIN);
        first = false;
    }
    kt_string_append(out, first ? "" : "\n");
    if (trace->wave_count == 0 && *trace->warning) {
        kt_string_append(out, "\nnothing is there: ");
        kt_string_append_visible_styled(out, KT_STYLE_WARNING, trace->warning);
        kt_string_append(out, "\n");
    }
}

void watch_append_text(text *out, const struct watch_view *view, const struct watch_subject *subject, bool all)
{
    append_subject(out, view, subject);
    append_totals(out, view);
    append_since(out, view);
    for (size_t i = 0; i < view->launch_count && (all || i < ROWS); i++)
        append_launch(out, view, &view->launches[i], all);
    if (!all && view->launch_count > ROWS)
        kt_string_printf(out, "\nand %zu launches more with newer events\n", view->launch_count - ROWS);
    append_kernels(out, view);
    append_phases(out, view, all);
    append_missing(out, view->trace);
}
