#include "cleanup.h"
#include "demo.h"

#include <stdlib.h>

static int say_what_it_is(const struct ktrace_trace *trace, const char *why)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    struct kt_string text = KT_STRING_INIT;
    if (ktrace_trace_get_info(&info, trace) < 0)
        return cli_error_library();
    kt_string_append(&text, "No kernel was run: ");
    kt_string_append_visible(&text, why);
    kt_string_append(&text, ".\nThis is a replay of what was recorded on: ");
    kt_string_append_visible(&text, info.device);
    kt_string_append(&text, ".\n");
    return cli_print_string(&text);
}

int demo_replay(struct ktrace_trace **out, const char *trace_path, const char *why)
{
    struct ktrace_trace *trace;
    char *recording = demo_find_recording();
    if (!recording)
        return cli_error(
            "the recorded demo was not installed with this command: set KTRACE_DATA_DIR to the folder that "
            "holds demo.ktrace");
    int result = ktrace_trace_load(&trace, recording);
    free(recording);
    if (result < 0)
        return cli_error_library();
    cli_cleanup_hold(); /* a file that is being written has another name until it is whole */
    result = ktrace_trace_save(trace, trace_path);
    cli_cleanup_release();
    const int status = result < 0 ? cli_error_library() : say_what_it_is(trace, why);
    if (status == CLI_OK)
        *out = trace;
    else
        ktrace_trace_destroy(trace);
    return status;
}
