/* diff_json.c - what changed, for a program. Keys are only ever added to. A number that is not there or infinite is null. */
#include "diff.h"

#include "../json.h"
#include "../summary.h"

#include <math.h>

static int append_side(struct kt_json *json, const struct diff *diff, int side)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    const int status = ktrace_trace_get_info(&info, diff->trace[side]);
    if (status < 0)
        return status;
    kt_json_key(json, side == DIFF_A ? "a" : "b");
    kt_json_open(json, '{');
    kt_json_string(json, "path", diff->path[side]);
    kt_json_trace_info(json, &info);
    kt_json_string(json, "warning", ktrace_trace_warning(diff->trace[side]));
    kt_json_close(json, '}');
    return 0;
}

static void append_truth(struct kt_json *json, const char *name, bool value)
{
    kt_json_key(json, name);
    kt_string_append(json->text, value ? "true" : "false");
}

static void append_sample(struct kt_json *json, const char *name, const struct diff_row *row, int side)
{
    const struct diff_sample *sample = row->sample[side];
    if (!sample) {
        kt_json_null(json, name);
        return;
    }
    const bool ranges = row->kind != KTRACE_KIND_MARK && sample->count;
    const char *names[] = {"total_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns"};
    const double values[] = {sample->total_ns, sample->mean_ns, sample->p50_ns, sample->p90_ns, sample->p99_ns};
    kt_json_key(json, name);
    kt_json_open(json, '{');
    kt_json_count(json, "count", sample->count);
    kt_json_count(json, "unclosed", sample->unclosed);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        kt_json_real(json, names[i], ranges ? values[i] : NAN);
    kt_json_count(json, "observations", sample->observation_count);
    kt_json_close(json, '}');
}

static double change(double a, double b)
{
    return a == b ? 0 : diff_percent(a, b);
}

static void append_changes(struct kt_json *json, const struct diff_row *row)
{
    const struct diff_sample *a = row->sample[DIFF_A], *b = row->sample[DIFF_B];
    const bool both = a && b, ranges = both && row->kind != KTRACE_KIND_MARK && a->count && b->count;
    kt_json_real(json, "count_change_percent", both ? change((double)a->count, (double)b->count) : NAN);
    kt_json_real(json, "total_change_percent", ranges ? change(a->total_ns, b->total_ns) : NAN);
    kt_json_real(json, "mean_change_percent", ranges ? change(a->mean_ns, b->mean_ns) : NAN);
    kt_json_real(json, "p50_change_percent", ranges ? change(a->p50_ns, b->p50_ns) : NAN);
    kt_json_real(json, "p90_change_percent", ranges ? change(a->p90_ns, b->p90_ns) : NAN);
    kt_json_real(json, "p99_change_percent", ranges ? change(a->p99_ns, b->p99_ns) : NAN);
    kt_json_real(json, "shift_ns", ranges ? row->shift_ns : NAN);
    kt_json_real(json, "shift_percent", ranges ? row->shift_percent : NAN);
}

static void append_test(struct kt_json *json, const struct diff_row *row)
{
    if (!row->tested) {
        kt_json_null(json, "test");
        return;
    }
    kt_json_key(json, "test");
    kt_json_open(json, '{');
    kt_json_real(json, "u", row->test.u);
    kt_json_real(json, "superiority", row->test.superiority);
    append_truth(json, "exact", row->test.exact);
    kt_json_real(json, "p", row->test.p);
    kt_json_real(json, "p_holm", row->adjusted_p);
    kt_json_close(json, '}');
}

static void append_device(struct kt_json *json, const struct diff_row *row)
{
    if (row->device)
        kt_json_count(json, "device_ordinal", row->ordinal);
    if (row->device && row->of_processes)
        kt_json_string(json, "device", row->device->number);
}

static void append_row(struct kt_json *json, const struct diff_row *row)
{
    kt_json_separate(json);
    kt_json_open(json, '{');
    kt_json_string(json, "kernel", row->kernel);
    kt_json_string(json, "name", row->name);
    kt_json_string(json, "kind", kt_phase_kind_name(row->kind));
    append_device(json, row);
    kt_json_string(json, "verdict", diff_verdict_word(row->verdict));
    append_sample(json, "a", row, DIFF_A);
    append_sample(json, "b", row, DIFF_B);
    append_changes(json, row);
    append_test(json, row);
    kt_json_close(json, '}');
}

static void append_condition(struct kt_json *json, const struct diff_condition *condition)
{
    kt_json_separate(json);
    kt_json_open(json, '{');
    kt_json_string(json, "condition", condition->text);
    append_truth(json, "holds", condition->holds);
    kt_json_string(json, "kernel", condition->row->kernel);
    kt_json_string(json, "name", condition->row->name);
    append_device(json, condition->row);
    kt_json_string(json, "unit",
                   condition->measure == DIFF_CHANGE_PERCENT ? "%"
                   : condition->quantity == DIFF_COUNT       ? "count"
                                                             : "ns");
    kt_json_real(json, "value", condition->value);
    kt_json_real(json, "limit", condition->limit);
    kt_json_close(json, '}');
}

int diff_append_json(struct kt_string *out, const struct diff *diff, const struct diff_condition *conditions,
                     size_t condition_count)
{
    struct kt_json json = kt_json_of(out);
    kt_json_open(&json, '{');
    for (int side = 0; side < DIFF_SIDES; side++) {
        const int status = append_side(&json, diff, side);
        if (status < 0)
            return status;
    }
    kt_json_string(&json, "over", diff->options.unit == DIFF_WAVES ? "waves" : "launches");
    kt_json_real(&json, "alpha", diff->options.alpha);
    kt_json_real(&json, "min_effect_percent", diff->options.min_effect_percent);
    kt_json_count(&json, "tests", diff->tests);
    kt_json_count(&json, "changed", diff->changed);
    kt_json_count(&json, "counts_differ", diff->counts_differ);
    kt_json_key(&json, "phases");
    kt_json_open(&json, '[');
    for (size_t i = 0; i < diff->row_count; i++)
        append_row(&json, &diff->rows[i]);
    kt_json_close(&json, ']');
    kt_json_key(&json, "conditions");
    kt_json_open(&json, '[');
    for (size_t i = 0; i < condition_count; i++)
        append_condition(&json, &conditions[i]);
    kt_json_close(&json, ']');
    kt_json_close(&json, '}');
    kt_string_append_char(out, '\n');
    return 0;
}
