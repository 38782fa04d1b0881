/* What a user of the library does first, without a GPU: consumer VERSION. */
#include <ktrace/ktrace.h>

#include <ktrace/device.h>

#include <stdio.h>
#include <string.h>

int main(int argument_count, char **arguments)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    struct ktrace_capture *capture = NULL;
    struct ktrace_trace *trace = NULL;
    options.filter = &filter;

    if (argument_count != 2 || strcmp(ktrace_version(), arguments[1]) != 0) {
        fprintf(stderr, "version %s\n", ktrace_version());
        return 1;
    }
    if (ktrace_active() != 0) {
        fprintf(stderr, "a capture is active before any began\n");
        return 1;
    }
    /* Where there is no driver this says so, and needs nothing but itself to find out. */
    const int status = ktrace_capture_begin(&capture, &options);
    if (status < 0 && status != KTRACE_ERROR_NO_DEVICE) {
        fprintf(stderr, "begin: %s: %s\n", ktrace_status_name(status), ktrace_last_error());
        return 1;
    }
    ktrace_capture_destroy(capture);
    if (ktrace_trace_load(&trace, "/nonexistent/file.ktrace") != KTRACE_ERROR_IO || ktrace_last_error()[0] == '\0') {
        fprintf(stderr, "a missing file: %s\n", ktrace_last_error());
        return 1;
    }
    ktrace_trace_destroy(trace);
    return 0;
}
