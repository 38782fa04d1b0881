/* Launches as JSON: members as in the summary, and each launch's own phases. */
#include "error.h"
#include "launch_phases.h"
#include "summary.h"

static int append_launch(struct kt_json *json, const struct ktrace_trace *trace, uint64_t index)
{
    const struct kt_launch_phases *phases = kt_launch_phases(trace, index);
    struct ktrace_launch_info launch = {.struct_size = sizeof launch};
    const int status = phases ? ktrace_trace_launch(&launch, trace, index) : KTRACE_ERROR_MEMORY;
    if (status < 0)
        return status;
    kt_json_separate(json);
    kt_json_open(json, '{');
    kt_json_count(json, "launch_id", index);
    kt_json_count(json, "device", launch.device);
    kt_json_launch(json, &launch, trace->snapshot->arch);
    kt_json_key(json, "phases");
    kt_json_open(json, '[');
    for (uint64_t i = 0; i < phases->count; i++) {
        kt_json_separate(json);
        kt_json_open(json, '{');
        kt_json_phase(json, &phases->phases[i]);
        kt_json_close(json, '}');
    }
    kt_json_close(json, ']');
    kt_json_close(json, '}');
    return KTRACE_OK;
}

static int append_all(struct kt_json *json, const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    int status = ktrace_trace_get_info(&info, trace);
    if (status < 0)
        return status;
    kt_json_open(json, '{');
    kt_json_key(json, "info");
    kt_json_open(json, '{');
    kt_json_trace_info(json, &info);
    kt_json_close(json, '}');
    kt_json_string(json, "warning", ktrace_trace_warning(trace));
    status = kt_json_devices(json, trace);
    kt_json_key(json, "launches");
    kt_json_open(json, '[');
    for (uint64_t i = 0; status == KTRACE_OK && i < trace->launch_count; i++)
        status = append_launch(json, trace, i);
    kt_json_close(json, ']');
    kt_json_close(json, '}');
    kt_string_append_char(json->text, '\n');
    return status;
}

int ktrace_trace_launches_json(char **out, const struct ktrace_trace *trace)
{
    if (!out || !trace)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_launches_json: an argument is NULL");
    struct kt_string text = KT_STRING_INIT;
    struct kt_json json = kt_json_of(&text);
    const int status = append_all(&json, trace);
    if (status == KTRACE_OK)
        return kt_string_take(out, &text);
    kt_string_destroy(&text);
    return status;
}
