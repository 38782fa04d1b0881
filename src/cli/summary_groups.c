#include "summary_groups.h"

#include "../summary.h"
#include "../vocabulary.h"
#include "terminal.h"

#include <inttypes.h>

const char *cli_group_key_name(enum kt_group_key key, uint32_t arch)
{
    static const char *const names[KT_GROUP_KEYS] = {"device", "kernel", "launch", "phase", NULL, "workgroup", "wave"};
    if (key == KT_BY_PLACE)
        return arch == KTRACE_ARCH_NVIDIA ? "sm" : arch == KTRACE_ARCH_AMDGCN ? "cu" : "place";
    return names[key];
}

static const char *place_title(uint32_t arch)
{
    return arch == KTRACE_ARCH_NVIDIA ? "SM" : arch == KTRACE_ARCH_AMDGCN ? "CU" : "place";
}

/* ---- Columns of keys --------------------------------------------------------------------------------------------- */

enum { KEY_COLUMNS = KT_GROUP_KEYS + 4 };

enum column { DEVICE, KERNEL, LAUNCH, PHASE, KIND, PLACE, WORKGROUP, WAVE };

struct key_columns {
    enum column columns[KEY_COLUMNS];
    size_t count;
};

static void add_column(struct key_columns *keys, enum column column)
{
    for (size_t i = 0; i < keys->count; i++)
        if (keys->columns[i] == column)
            return;
    keys->columns[keys->count++] = column;
}

/* What tells groups apart, in the order asked for; and in front of phases and launches their kernel, in front of places their
 * device, where the trace has several, or a program reads. */
static struct key_columns key_columns(const struct ktrace_trace *trace, const struct cli_grouped_view *view,
                                      bool with_place, bool for_program)
{
    static const enum column columns[KT_GROUP_KEYS] = {DEVICE, KERNEL, LAUNCH, PHASE, PLACE, WORKGROUP, WAVE};
    struct key_columns keys = {.count = 0};
    for (size_t i = 0; i < view->key_count; i++) {
        const enum column column = columns[view->keys[i]];
        if (column == PLACE && !with_place)
            continue;
        if (column == PLACE && (for_program || trace->snapshot->device_count > 1))
            add_column(&keys, DEVICE);
        if (column == PHASE && (for_program || trace->kernel_count > 1))
            add_column(&keys, KERNEL);
        add_column(&keys, column);
        if (column == LAUNCH && (for_program || trace->kernel_count > 1))
            add_column(&keys, KERNEL);
        if (column == PHASE)
            add_column(&keys, KIND);
    }
    return keys;
}

static struct kt_table_column column_title(enum column column, uint32_t arch)
{
    switch (column) {
    case DEVICE: return (struct kt_table_column){"device", KT_LEFT};
    case KERNEL: return (struct kt_table_column){"kernel", KT_LEFT};
    case LAUNCH: return (struct kt_table_column){"launch", KT_LEFT};
    case PHASE: return (struct kt_table_column){"phase", KT_LEFT};
    case KIND: return (struct kt_table_column){"kind", KT_LEFT};
    case PLACE: return (struct kt_table_column){place_title(arch), KT_LEFT};
    case WORKGROUP: return (struct kt_table_column){"workgroup", KT_LEFT};
    default: return (struct kt_table_column){"wave", KT_RIGHT};
    }
}

static const struct kt_phase *phase_of(const struct ktrace_trace *trace, const struct kt_group_of *of)
{
    static const struct kt_phase none = {.kind = KTRACE_KIND_MARK, .name = "?"};
    return of->phase < trace->phase_count ? &trace->phases[of->phase] : &none;
}

/* By launch alone, the kernel is the launch's. */
static const char *kernel_name(const struct ktrace_trace *trace, const struct cli_grouped_view *view,
                               const struct kt_group_of *of)
{
    for (size_t i = 0; i < view->key_count; i++)
        if (view->keys[i] == KT_BY_KERNEL || view->keys[i] == KT_BY_PHASE)
            return trace->kernels[of->kernel].name;
    return trace->kernels[trace->launches[of->launch].kernel].name;
}

static void key_cells(struct kt_table *table, const struct ktrace_trace *trace, const struct cli_grouped_view *view,
                      const struct key_columns *keys, const struct kt_group_of *of)
{
    char place[64];
    for (size_t i = 0; i < keys->count; i++) {
        switch (keys->columns[i]) {
        case DEVICE: kt_table_cell(table, trace->devices[of->device].number); break;
        case KERNEL: kt_table_cell(table, kernel_name(trace, view, of)); break;
        case LAUNCH: kt_table_printf(table, "#%" PRIu32, of->launch); break;
        case PHASE: kt_table_cell(table, phase_of(trace, of)->name); break;
        case KIND: kt_table_cell(table, kt_phase_kind_name(phase_of(trace, of)->kind)); break;
        case PLACE:
            kt_vocabulary_of(trace->snapshot->arch)->place(place, sizeof place, of->place);
            kt_table_cell(table, place);
            break;
        case WORKGROUP:
            kt_table_printf(table, "(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ")", of->workgroup[0], of->workgroup[1],
                            of->workgroup[2]);
            break;
        default: kt_table_printf(table, "%" PRIu32, of->wave); break;
        }
    }
}

/* ---- The table of groups ----------------------------------------------------------------------------------------- */

enum { NUMBERS = 9 };

static void number_cells(struct kt_table *table, const struct kt_group *group, bool by_phase)
{
    const struct kt_statistics *statistics = &group->statistics;
    const double durations_ns[] = {statistics->total_ns, statistics->mean_ns, statistics->p50_ns,
                                   statistics->p90_ns,   statistics->p99_ns,  statistics->max_ns};
    char cell[KT_CELL_BYTES];
    kt_table_cell(table, kt_grouped(cell, statistics->count + (by_phase ? group->marks : 0)));
    kt_table_cell(table, group->marks && !by_phase ? kt_grouped(cell, group->marks) : NULL);
    for (size_t i = 0; i < sizeof durations_ns / sizeof *durations_ns; i++)
        kt_table_cell(table, statistics->count ? kt_duration(cell, durations_ns[i]) : NULL);
    kt_table_cell(table, group->unclosed ? kt_grouped(cell, group->unclosed) : NULL);
    kt_table_style(table, KT_STYLE_WARNING);
}

static size_t shown(const struct kt_groups *groups, const struct cli_grouped_view *view)
{
    return view->top && view->top < groups->count ? (size_t)view->top : groups->count;
}

static void fill(struct kt_table *table, const struct ktrace_trace *trace, const struct kt_groups *groups,
                 const struct cli_grouped_view *view, const struct key_columns *keys, int room)
{
    for (size_t i = 0; i < shown(groups, view); i++) {
        const struct kt_group *group = &groups->groups[i];
        key_cells(table, trace, view, keys, &group->of);
        number_cells(table, group, groups->keys & 1u << KT_BY_PHASE);
        if (group->statistics.count && groups->wave_ns > 0) {
            const double total_ns = group->statistics.total_ns, largest_ns = groups->groups[0].statistics.total_ns;
            kt_share_cells(table, total_ns / groups->wave_ns, largest_ns > 0 ? total_ns / largest_ns : 0, room,
                           cli_bar_style());
        } else {
            kt_table_cell(table, NULL);
            kt_table_cell(table, NULL);
        }
    }
}

static void append_table(struct kt_string *out, const struct ktrace_trace *trace, const struct kt_groups *groups,
                         const struct cli_grouped_view *view)
{
    const struct kt_table_column numbers[NUMBERS] = {
        {"count", KT_RIGHT}, {"marks", KT_RIGHT}, {"total", KT_RIGHT},
        {"mean", KT_RIGHT},  {"p50", KT_RIGHT},   {"p90", KT_RIGHT},
        {"p99", KT_RIGHT},   {"max", KT_RIGHT},   {groups->ranges ? "unclosed" : "unfinished", KT_RIGHT}};
    const struct key_columns keys = key_columns(trace, view, true, false);
    struct kt_table_column columns[KEY_COLUMNS + NUMBERS + 2];
    size_t count = 0;
    for (size_t i = 0; i < keys.count; i++)
        columns[count++] = column_title(keys.columns[i], trace->snapshot->arch);
    for (size_t i = 0; i < NUMBERS; i++)
        columns[count++] = numbers[i];
    columns[count++] = kt_share_columns[0];
    columns[count++] = kt_share_columns[1];

    struct kt_table table = kt_table_of(columns, count);
    struct kt_string narrow = KT_STRING_INIT; /* once without bars, to see what room is left */
    fill(&table, trace, groups, view, &keys, 0);
    const int room = kt_bar_room(kt_table_width(&table), cli_terminal_columns());
    kt_table_finish(&narrow, &table);
    out->failed |= narrow.failed;
    kt_string_destroy(&narrow);
    fill(&table, trace, groups, view, &keys, room);
    kt_table_finish(out, &table);
}

/* ---- Imbalance --------------------------------------------------------------------------------------------------- */

/* Places that there are: of the imbalance's device, or of all together. */
static uint64_t all_places(const struct ktrace_trace *trace, const struct kt_groups *groups,
                           const struct kt_imbalance *imbalance)
{
    uint64_t places = 0;
    for (uint32_t i = 0; i < trace->snapshot->device_count; i++)
        if (!(groups->keys & 1u << KT_BY_DEVICE) || i == imbalance->of.device)
            places += trace->snapshot->devices[i].places;
    return places;
}

static void imbalance_cells(struct kt_table *table, const struct ktrace_trace *trace, const struct kt_groups *groups,
                            const struct kt_imbalance *imbalance)
{
    const uint64_t places = all_places(trace, groups, imbalance);
    char cell[KT_CELL_BYTES], more[KT_CELL_BYTES], place[64];
    if (places >= imbalance->places)
        kt_table_printf(table, "%s of %s", kt_grouped(cell, imbalance->places), kt_grouped(more, places));
    else
        kt_table_cell(table, kt_grouped(cell, imbalance->places)); /* how many there are is not known */
    kt_table_cell(table, kt_duration(cell, imbalance->mean_ns));
    kt_table_cell(table, kt_duration(cell, imbalance->max_ns));
    if (imbalance->mean_ns > 0)
        kt_table_printf(table, "%.3f", imbalance->max_ns / imbalance->mean_ns);
    else
        kt_table_cell(table, NULL);
    kt_vocabulary_of(trace->snapshot->arch)->place(place, sizeof place, imbalance->at->of.place);
    if (trace->snapshot->device_count > 1 && !(groups->keys & 1u << KT_BY_DEVICE))
        kt_table_printf(table, "%s %s", trace->devices[imbalance->at->of.device].words, place);
    else
        kt_table_cell(table, place);
}

static void append_imbalances(struct kt_string *out, const struct ktrace_trace *trace, const struct kt_groups *groups,
                              const struct cli_grouped_view *view)
{
    const uint32_t arch = trace->snapshot->arch;
    const struct kt_table_column numbers[] = {{kt_places_word(arch), KT_RIGHT},
                                              {"mean", KT_RIGHT},
                                              {"max", KT_RIGHT},
                                              {"max / mean", KT_RIGHT},
                                              {"at", KT_LEFT}};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    const struct key_columns keys = key_columns(trace, view, false, false);
    struct kt_table_column columns[KEY_COLUMNS + COUNT];
    size_t count = 0, rows = groups->imbalance_count;
    for (size_t i = 0; i < keys.count; i++)
        columns[count++] = column_title(keys.columns[i], arch);
    for (size_t i = 0; i < COUNT; i++)
        columns[count++] = numbers[i];
    if (rows == 0)
        return;
    if (view->top && view->top < rows)
        rows = (size_t)view->top;
    kt_string_append(out, "\n");
    kt_string_append_styled(out, KT_STYLE_TITLE, "imbalance of totals");
    kt_string_printf(out, ", over the %s that have any\n", kt_places_word(arch));
    struct kt_table table = kt_table_of(columns, count);
    for (size_t i = 0; i < rows; i++) {
        key_cells(&table, trace, view, &keys, &groups->imbalances[i].of);
        imbalance_cells(&table, trace, groups, &groups->imbalances[i]);
    }
    kt_table_finish(out, &table);
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static void append_head(struct kt_string *out, const struct ktrace_trace *trace, const struct kt_groups *groups,
                        const struct cli_grouped_view *view)
{
    char cell[KT_CELL_BYTES];
    kt_string_append_visible(out, trace->snapshot->name);
    kt_string_append(out, " on ");
    kt_string_append_visible(out, kt_trace_device_names(trace));
    if (trace->snapshot->flags & KT_SNAPSHOT_SIMULATED)
        kt_string_append(out, ": simulated time, no measure of any hardware");
    kt_string_append(out, groups->ranges ? "\nranges by " : "\nspans of waves, from begin to end, by ");
    for (size_t i = 0; i < view->key_count; i++)
        kt_string_printf(out, "%s%s", i ? ", " : "",
                         view->keys[i] == KT_BY_PLACE ? place_title(trace->snapshot->arch)
                                                      : cli_group_key_name(view->keys[i], trace->snapshot->arch));
    kt_string_append(out, "\n");
    if (view->filtered) {
        kt_string_printf(out, "filtered out: %s of ", kt_grouped(cell, groups->waves - groups->waves_selected));
        kt_string_printf(out, "%s wave%s", kt_grouped(cell, groups->waves), kt_plural(groups->waves));
        if (groups->ranges) {
            kt_string_printf(out, ", %s of ", kt_grouped(cell, groups->ranges_all - groups->ranges_selected));
            kt_string_printf(out, "%s ranges and marks", kt_grouped(cell, groups->ranges_all));
        }
        kt_string_append(out, "\n");
    }
    kt_string_append(out, "\n");
}

static void append_left_out(struct kt_string *out, const struct kt_groups *groups, const struct cli_grouped_view *view)
{
    const size_t first = shown(groups, view);
    double total_ns = 0;
    char cell[KT_CELL_BYTES];
    if (first == groups->count)
        return;
    for (size_t i = first; i < groups->count; i++)
        total_ns += groups->groups[i].statistics.total_ns;
    kt_string_printf(out, "  and %s more, ", kt_grouped(cell, groups->count - first));
    kt_string_printf(out, "%s together\n", kt_duration(cell, total_ns));
}

void cli_append_groups(struct kt_string *out, const struct ktrace_trace *trace, const struct kt_groups *groups,
                       const struct cli_grouped_view *view)
{
    append_head(out, trace, groups, view);
    if (groups->count == 0)
        kt_string_append(out, "  nothing: no wave, range or mark is left\n");
    append_table(out, trace, groups, view);
    append_left_out(out, groups, view);
    append_imbalances(out, trace, groups, view);
    if (groups->count > 0)
        kt_string_append(out,
                         "\ntotals are sums over waves, which run side by side; shares are of the time of all waves "
                         "that were\nnot filtered out; bars are compared with the largest\n");
    kt_append_warning(out, trace);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_keys(struct kt_json *json, const struct ktrace_trace *trace, const struct cli_grouped_view *view,
                      const struct key_columns *keys, const struct kt_group_of *of)
{
    char place[64];
    for (size_t i = 0; i < keys->count; i++) {
        switch (keys->columns[i]) {
        case DEVICE: kt_json_count(json, "device", of->device); break;
        case KERNEL: kt_json_string(json, "kernel", kernel_name(trace, view, of)); break;
        case LAUNCH: kt_json_count(json, "launch_id", of->launch); break;
        case PHASE: kt_json_string(json, "phase", phase_of(trace, of)->name); break;
        case KIND: kt_json_string(json, "kind", kt_phase_kind_name(phase_of(trace, of)->kind)); break;
        case PLACE:
            kt_vocabulary_of(trace->snapshot->arch)->place(place, sizeof place, of->place);
            kt_json_count(json, "place", of->place);
            kt_json_string(json, "place_name", place);
            break;
        case WORKGROUP: kt_json_dimensions(json, "workgroup", of->workgroup); break;
        default: kt_json_count(json, "wave", of->wave); break;
        }
    }
}

static void json_group(struct kt_json *json, const struct kt_groups *groups, const struct kt_group *group)
{
    const struct kt_statistics *statistics = &group->statistics;
    const char *names[] = {"total_ns", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns", "share"};
    const double values[] = {statistics->total_ns, statistics->mean_ns,
                             statistics->min_ns,   statistics->p50_ns,
                             statistics->p90_ns,   statistics->p99_ns,
                             statistics->max_ns,   groups->wave_ns > 0 ? statistics->total_ns / groups->wave_ns : 0};
    kt_json_count(json, "count", statistics->count);
    if (groups->ranges)
        kt_json_count(json, "marks", group->marks);
    kt_json_count(json, groups->ranges ? "unclosed" : "unfinished", group->unclosed);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (statistics->count)
            kt_json_real(json, names[i], values[i]);
        else
            kt_json_null(json, names[i]);
}

static void json_imbalances(struct kt_json *json, const struct ktrace_trace *trace, const struct kt_groups *groups,
                            const struct cli_grouped_view *view)
{
    const struct key_columns keys = key_columns(trace, view, false, true);
    kt_json_key(json, "imbalance");
    kt_json_open(json, '[');
    for (size_t i = 0; i < groups->imbalance_count; i++) {
        const struct kt_imbalance *imbalance = &groups->imbalances[i];
        kt_json_separate(json);
        kt_json_open(json, '{');
        json_keys(json, trace, view, &keys, &imbalance->of);
        kt_json_count(json, "places", imbalance->places);
        kt_json_count(json, "places_there", all_places(trace, groups, imbalance));
        kt_json_real(json, "mean_ns", imbalance->mean_ns);
        kt_json_real(json, "max_ns", imbalance->max_ns);
        if (imbalance->mean_ns > 0)
            kt_json_real(json, "max_over_mean", imbalance->max_ns / imbalance->mean_ns);
        else
            kt_json_null(json, "max_over_mean");
        kt_json_count(json, "at_device", imbalance->at->of.device);
        kt_json_count(json, "at_place", imbalance->at->of.place);
        kt_json_close(json, '}');
    }
    kt_json_close(json, ']');
}

void cli_append_groups_json(struct kt_string *out, const struct ktrace_trace *trace, const struct kt_groups *groups,
                            const struct cli_grouped_view *view)
{
    struct kt_json json = kt_json_of(out);
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    const struct key_columns keys = key_columns(trace, view, true, true);
    kt_json_open(&json, '{');
    kt_json_key(&json, "info");
    kt_json_open(&json, '{');
    if (ktrace_trace_get_info(&info, trace) == KTRACE_OK)
        kt_json_trace_info(&json, &info);
    kt_json_close(&json, '}');
    kt_json_string(&json, "warning", ktrace_trace_warning(trace));
    kt_json_key(&json, "by");
    kt_json_open(&json, '[');
    for (size_t i = 0; i < view->key_count; i++) {
        kt_json_separate(&json);
        kt_string_append_json(out, cli_group_key_name(view->keys[i], trace->snapshot->arch));
    }
    kt_json_close(&json, ']');
    kt_json_string(&json, "of", groups->ranges ? "ranges" : "waves");
    kt_json_count(&json, "waves_selected", groups->waves_selected);
    kt_json_real(&json, "wave_ns", groups->wave_ns);
    if (groups->ranges) {
        kt_json_count(&json, "ranges_and_marks", groups->ranges_all);
        kt_json_count(&json, "ranges_and_marks_selected", groups->ranges_selected);
    }
    kt_json_count(&json, "groups_left_out", groups->count - shown(groups, view));
    kt_json_key(&json, "groups");
    kt_json_open(&json, '[');
    for (size_t i = 0; i < shown(groups, view); i++) {
        kt_json_separate(&json);
        kt_json_open(&json, '{');
        json_keys(&json, trace, view, &keys, &groups->groups[i].of);
        json_group(&json, groups, &groups->groups[i]);
        kt_json_close(&json, '}');
    }
    kt_json_close(&json, ']');
    if (groups->keys & 1u << KT_BY_PLACE)
        json_imbalances(&json, trace, groups, view);
    kt_json_close(&json, '}');
    kt_string_append_char(out, '\n');
}
