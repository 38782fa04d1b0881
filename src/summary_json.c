/* The summary as JSON: keys are the names of the public structs' fields, in their order, and only ever added to. A phase's
 * kind is a word. "simulated" and "queue" are there where they say something: 1, and on amdgcn. */
#include "error.h"
#include "string_builder.h"
#include "summary.h"
#include "trace.h"

#include <inttypes.h>

/* An object or array being written: its indent, and whether a comma is due. */
struct json {
    struct kt_string *text;
    int depth;
    int filled;
};

static void separate(struct json *json)
{
    kt_string_append(json->text, json->filled ? ",\n" : "\n");
    kt_string_append_repeated(json->text, ' ', (size_t)json->depth * 2);
    json->filled = 1;
}

static void key(struct json *json, const char *name)
{
    separate(json);
    kt_string_append_json(json->text, name);
    kt_string_append(json->text, ": ");
}

static void open(struct json *json, char bracket)
{
    kt_string_append_char(json->text, bracket);
    json->depth++;
    json->filled = 0;
}

static void close(struct json *json, char bracket)
{
    json->depth--;
    if (json->filled) {
        kt_string_append_char(json->text, '\n');
        kt_string_append_repeated(json->text, ' ', (size_t)json->depth * 2);
    }
    kt_string_append_char(json->text, bracket);
    json->filled = 1;
}

static void string(struct json *json, const char *name, const char *value)
{
    key(json, name);
    kt_string_append_json(json->text, value);
}

static void count(struct json *json, const char *name, uint64_t value)
{
    key(json, name);
    kt_string_printf(json->text, "%" PRIu64, value);
}

static void integer(struct json *json, const char *name, int64_t value)
{
    key(json, name);
    kt_string_printf(json->text, "%" PRId64, value);
}

static void real(struct json *json, const char *name, double value)
{
    key(json, name);
    kt_string_append_json_double(json->text, value);
}

static void dimensions(struct json *json, const char *name, const uint32_t size[3])
{
    key(json, name);
    kt_string_printf(json->text, "[%" PRIu32 ", %" PRIu32 ", %" PRIu32 "]", size[0], size[1], size[2]);
}

static void append_info(struct json *json, const struct ktrace_trace_info *info)
{
    string(json, "name", info->name);
    string(json, "device", info->device);
    count(json, "arch", info->arch);
    count(json, "places", info->places);
    count(json, "origin_ns", info->origin_ns);
    integer(json, "duration_ps", info->duration_ps);
    count(json, "launches", info->launches);
    count(json, "waves", info->waves);
    count(json, "events", info->events);
    count(json, "waves_dropped", info->waves_dropped);
    count(json, "waves_filtered", info->waves_filtered);
    count(json, "waves_unfinished", info->waves_unfinished);
    count(json, "slots_lost", info->slots_lost);
    count(json, "ranges_unclosed", info->ranges_unclosed);
    count(json, "ends_unmatched", info->ends_unmatched);
    count(json, "slots_corrupt", info->slots_corrupt);
    count(json, "clocks_ambiguous", info->clocks_ambiguous);
    real(json, "clock_hz", info->clock_hz);
    real(json, "clock_residual_ns", info->clock_residual_ns);
    if (info->simulated)
        count(json, "simulated", 1);
}

static void append_launch(struct json *json, const struct ktrace_launch_info *launch, uint32_t arch)
{
    string(json, "kernel", launch->kernel);
    count(json, "grid_id", launch->grid_id);
    count(json, "occurrence", launch->occurrence);
    dimensions(json, "grid", launch->grid);
    dimensions(json, "block", launch->block);
    integer(json, "begin_ps", launch->begin_ps);
    integer(json, "end_ps", launch->end_ps);
    count(json, "waves_launched", launch->waves_launched);
    count(json, "waves", launch->waves);
    count(json, "events", launch->events);
    count(json, "slots_lost", launch->slots_lost);
    if (arch == KTRACE_ARCH_AMDGCN)
        count(json, "queue", launch->queue);
}

static void append_phase(struct json *json, const struct ktrace_phase_info *phase)
{
    int ranges = phase->kind != KTRACE_KIND_MARK && phase->count > 0;
    string(json, "kernel", phase->kernel);
    string(json, "name", phase->name);
    string(json, "kind", kt_phase_kind_name(phase->kind));
    count(json, "count", phase->count);
    count(json, "unclosed", phase->unclosed);
    const char *names[] = {"total_ns", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"};
    const double values[] = {phase->total_ns, phase->mean_ns, phase->min_ns, phase->p50_ns,
                             phase->p90_ns,   phase->p99_ns,  phase->max_ns};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (ranges) {
            real(json, names[i], values[i]);
        } else { /* no range, no duration */
            key(json, names[i]);
            kt_string_append(json->text, "null");
        }
    }
}

static int append_all(struct json *json, const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    int status = ktrace_trace_get_info(&info, trace);
    open(json, '{');
    key(json, "info");
    open(json, '{');
    if (status == 0)
        append_info(json, &info);
    close(json, '}');
    string(json, "warning", ktrace_trace_warning(trace));
    key(json, "launches");
    open(json, '[');
    for (uint64_t i = 0; status == 0 && i < trace->launch_count; i++) {
        struct ktrace_launch_info launch = {.struct_size = sizeof launch};
        status = ktrace_trace_launch(&launch, trace, i);
        separate(json);
        open(json, '{');
        append_launch(json, &launch, info.arch);
        close(json, '}');
    }
    close(json, ']');
    key(json, "phases");
    open(json, '[');
    for (uint32_t i = 0; i < trace->phase_count; i++) {
        separate(json);
        open(json, '{');
        append_phase(json, &trace->statistics[i]);
        close(json, '}');
    }
    close(json, ']');
    close(json, '}');
    kt_string_append_char(json->text, '\n');
    return status;
}

int ktrace_trace_summary_json(char **out, const struct ktrace_trace *trace)
{
    if (!out || !trace)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_summary_json: an argument is NULL");
    struct kt_string text = KT_STRING_INIT;
    struct json json = {.text = &text};
    int status = append_all(&json, trace);
    if (status == 0)
        return kt_string_take(out, &text);
    kt_string_destroy(&text);
    return status;
}
