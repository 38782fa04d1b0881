/* The summary as JSON: keys are the names of the public structs' fields, in their order, and only ever added to. A phase's
 * kind is a word. "simulated", "queue", "devices" and "device" are there where they say something: 1, on amdgcn, and of several
 * devices. A number that is infinite is null. */
#include "error.h"
#include "json.h"
#include "summary.h"
#include "trace.h"

void kt_json_trace_info(struct kt_json *json, const struct ktrace_trace_info *info)
{
    kt_json_string(json, "name", info->name);
    kt_json_string(json, "device", info->device);
    kt_json_count(json, "arch", info->arch);
    kt_json_count(json, "places", info->places);
    kt_json_count(json, "origin_ns", info->origin_ns);
    kt_json_integer(json, "duration_ps", info->duration_ps);
    kt_json_count(json, "launches", info->launches);
    kt_json_count(json, "waves", info->waves);
    kt_json_count(json, "events", info->events);
    kt_json_count(json, "waves_dropped", info->waves_dropped);
    kt_json_count(json, "waves_filtered", info->waves_filtered);
    kt_json_count(json, "waves_unfinished", info->waves_unfinished);
    kt_json_count(json, "slots_lost", info->slots_lost);
    kt_json_count(json, "ranges_unclosed", info->ranges_unclosed);
    kt_json_count(json, "ends_unmatched", info->ends_unmatched);
    kt_json_count(json, "slots_corrupt", info->slots_corrupt);
    kt_json_count(json, "clocks_ambiguous", info->clocks_ambiguous);
    kt_json_real(json, "clock_hz", info->clock_hz);
    kt_json_real(json, "clock_residual_ns", info->clock_residual_ns);
    if (info->simulated)
        kt_json_count(json, "simulated", 1);
    if (info->devices > 1)
        kt_json_count(json, "devices", info->devices);
}

void kt_json_launch(struct kt_json *json, const struct ktrace_launch_info *launch, uint32_t arch)
{
    kt_json_string(json, "kernel", launch->kernel);
    kt_json_count(json, "grid_id", launch->grid_id);
    kt_json_count(json, "occurrence", launch->occurrence);
    kt_json_dimensions(json, "grid", launch->grid);
    kt_json_dimensions(json, "block", launch->block);
    kt_json_integer(json, "begin_ps", launch->begin_ps);
    kt_json_integer(json, "end_ps", launch->end_ps);
    kt_json_count(json, "waves_launched", launch->waves_launched);
    kt_json_count(json, "waves", launch->waves);
    kt_json_count(json, "events", launch->events);
    kt_json_count(json, "slots_lost", launch->slots_lost);
    if (arch == KTRACE_ARCH_AMDGCN)
        kt_json_count(json, "queue", launch->queue);
}

void kt_json_phase(struct kt_json *json, const struct ktrace_phase_info *phase)
{
    int ranges = phase->kind != KTRACE_KIND_MARK && phase->count > 0;
    kt_json_string(json, "kernel", phase->kernel);
    kt_json_string(json, "name", phase->name);
    kt_json_string(json, "kind", kt_phase_kind_name(phase->kind));
    kt_json_count(json, "count", phase->count);
    kt_json_count(json, "unclosed", phase->unclosed);
    const char *names[] = {"total_ns", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"};
    const double values[] = {phase->total_ns, phase->mean_ns, phase->min_ns, phase->p50_ns,
                             phase->p90_ns,   phase->p99_ns,  phase->max_ns};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (ranges) {
            kt_json_real(json, names[i], values[i]);
        } else {
            kt_json_null(json, names[i]); /* no range, no duration */
        }
    }
}

static int append_all(struct kt_json *json, const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    int status = ktrace_trace_get_info(&info, trace);
    kt_json_open(json, '{');
    kt_json_key(json, "info");
    kt_json_open(json, '{');
    if (status == 0)
        kt_json_trace_info(json, &info);
    kt_json_close(json, '}');
    kt_json_string(json, "warning", ktrace_trace_warning(trace));
    if (status == 0)
        status = kt_json_devices(json, trace);
    kt_json_key(json, "launches");
    kt_json_open(json, '[');
    for (uint64_t i = 0; status == 0 && i < trace->launch_count; i++) {
        struct ktrace_launch_info launch = {.struct_size = sizeof launch};
        status = ktrace_trace_launch(&launch, trace, i);
        kt_json_separate(json);
        kt_json_open(json, '{');
        if (info.devices > 1)
            kt_json_count(json, "device", launch.device);
        kt_json_launch(json, &launch, info.arch);
        kt_json_close(json, '}');
    }
    kt_json_close(json, ']');
    kt_json_key(json, "phases");
    kt_json_open(json, '[');
    for (uint32_t i = 0; i < trace->phase_count; i++) {
        kt_json_separate(json);
        kt_json_open(json, '{');
        kt_json_phase(json, &trace->statistics[i]);
        kt_json_close(json, '}');
    }
    kt_json_close(json, ']');
    kt_json_close(json, '}');
    kt_string_append_char(json->text, '\n');
    return status;
}

int ktrace_trace_summary_json(char **out, const struct ktrace_trace *trace)
{
    if (!out || !trace)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_summary_json: an argument is NULL");
    struct kt_string text = KT_STRING_INIT;
    struct kt_json json = kt_json_of(&text);
    int status = append_all(&json, trace);
    if (status == 0)
        return kt_string_take(out, &text);
    kt_string_destroy(&text);
    return status;
}
