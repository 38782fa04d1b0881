/* capture_output.c - what a capture shows, as text and in files: short forms of a snapshot and a call on its trace. */
#include "capture.h"
#include "error.h"
#include "trace.h"

/* `*out` is NULL when there are no events: nothing is to be put out then, and that is no error. */
static int events_of(struct ktrace_trace **out, struct ktrace_capture *capture)
{
    struct ktrace_trace *trace = NULL;
    const int status = ktrace_capture_snapshot(&trace, capture);
    if (status < 0)
        return status;
    if (trace->event_count == 0) {
        ktrace_trace_destroy(trace);
        trace = NULL;
    }
    *out = trace;
    return KTRACE_OK;
}

static int no_place(const char *call)
{
    return kt_fail(KTRACE_ERROR_ARGUMENT, "%s: there is no place for the answer (an argument is NULL)", call);
}

typedef int text_of_trace(char **out, const struct ktrace_trace *trace);

static int text(char **out, struct ktrace_capture *capture, text_of_trace *write, const char *call)
{
    struct ktrace_trace *trace = NULL;
    char *answer = NULL;
    if (out == NULL)
        return no_place(call);
    int status = events_of(&trace, capture);
    if (status == KTRACE_OK && trace)
        status = write(&answer, trace);
    ktrace_trace_destroy(trace);
    if (status == KTRACE_OK)
        *out = answer;
    return status;
}

int ktrace_capture_summary_text(char **out, struct ktrace_capture *capture)
{
    return text(out, capture, ktrace_trace_summary_text, "ktrace_capture_summary_text");
}

int ktrace_capture_summary_json(char **out, struct ktrace_capture *capture)
{
    return text(out, capture, ktrace_trace_summary_json, "ktrace_capture_summary_json");
}

int ktrace_capture_launches_json(char **out, struct ktrace_capture *capture)
{
    return text(out, capture, ktrace_trace_launches_json, "ktrace_capture_launches_json");
}

int ktrace_capture_export(char **path, struct ktrace_capture *capture)
{
    struct ktrace_trace *trace = NULL;
    char *answer = NULL;
    if (path == NULL)
        return no_place("ktrace_capture_export");
    int status = events_of(&trace, capture);
    if (status == KTRACE_OK && trace)
        status = ktrace_trace_export_new(&answer, trace, kt_capture_directory(capture));
    ktrace_trace_destroy(trace);
    if (status == KTRACE_OK)
        *path = answer;
    return status;
}

int ktrace_capture_export_launches(char ***paths, uint64_t *count, struct ktrace_capture *capture,
                                   const char *const *names, uint64_t name_count)
{
    struct ktrace_trace *trace = NULL;
    if (paths == NULL || count == NULL)
        return no_place("ktrace_capture_export_launches");
    int status = events_of(&trace, capture);
    if (status == KTRACE_OK && trace) {
        status = ktrace_trace_export_launches(paths, count, trace, kt_capture_directory(capture), names, name_count);
    } else if (status == KTRACE_OK && name_count) {
        status = kt_fail(KTRACE_ERROR_ARGUMENT,
                         "ktrace_capture_export_launches: %llu names for no launch: the capture is empty",
                         (unsigned long long)name_count);
    } else if (status == KTRACE_OK) {
        *paths = NULL;
        *count = 0;
    }
    ktrace_trace_destroy(trace);
    return status;
}
