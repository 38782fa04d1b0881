/* common.h - what every example needs around its kernel: options, one line of result, and what to do with the trace.
 * For C11 and C++17; common.cuh adds the CUDA runtime.
 *
 * An example exits with 0 when its results are right, 1 when they are not, 2 when it is called wrongly, and 77 where it
 * finds no device it can use.
 */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef KTRACE_ENABLE
#define KTRACE_ENABLE 0
#endif
#if KTRACE_ENABLE
#include <ktrace/ktrace.h>
#endif

enum { EXAMPLE_FAILED = 1, EXAMPLE_USAGE = 2, EXAMPLE_SKIPPED = 77 };

struct example {
    const char *name;
    const char *save; /* .ktrace file to write, or NULL */
    int perfetto;     /* write <name>_ktrace.pftrace.gz here */
};

static struct example example;

#define EXAMPLE_PRINTS __attribute__((noreturn, format(printf, 1, 2)))

/* The results are wrong, or something that must work did not. */
EXAMPLE_PRINTS static inline void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: failed: ", example.name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXAMPLE_FAILED);
}

/* This machine cannot run the example. */
EXAMPLE_PRINTS static inline void skip(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: skipped: ", example.name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXAMPLE_SKIPPED);
}

/* `name` as it was compiled without annotations. */
static inline const char *untraced_name(const char *name)
{
    static char untraced[64];
    snprintf(untraced, sizeof untraced, "%s_untraced", name);
    return untraced;
}

/* --help is answered on standard output, anything that is not understood on standard error. */
__attribute__((noreturn)) static inline void example_usage(const char *argument, const char *arguments)
{
    const int help = strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
    fprintf(help ? stdout : stderr, "usage: %s%s\n", example.name, arguments);
    exit(help ? 0 : EXAMPLE_USAGE);
}

static inline void example_start(const char *name, int argc, char **argv)
{
    example.name = KTRACE_ENABLE ? name : untraced_name(name);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--save") == 0 && i + 1 < argc)
            example.save = argv[++i];
        else if (strcmp(argv[i], "--export") == 0)
            example.perfetto = 1;
        else
            example_usage(argv[i], KTRACE_ENABLE ? " [--save FILE.ktrace] [--export]" : "");
    }
    if (!KTRACE_ENABLE && (example.save || example.perfetto))
        fail("this program was compiled with KTRACE_ENABLE=0: there is no trace to keep");
}

#if KTRACE_ENABLE

static inline void check_ktrace(int status)
{
    if (status == KTRACE_ERROR_NO_DEVICE)
        skip("%s", ktrace_last_error());
    if (status < 0)
        fail("%s", ktrace_last_error());
}

/* Room for `events_per_wave` slots of each wave and `events_per_lane` of each lane that records on its own. */
static inline struct ktrace_capture *capture_begin(uint32_t events_per_wave, uint32_t events_per_lane)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.name = example.name;
    options.events_per_wave = events_per_wave;
    options.events_per_lane = events_per_lane;
    struct ktrace_capture *capture = NULL;
    check_ktrace(ktrace_capture_begin(&capture, &options));
    return capture;
}

/* The trace of a whole run: every wave, every event, every range closed. */
static inline struct ktrace_trace *capture_end(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace = NULL;
    struct ktrace_trace_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    check_ktrace(ktrace_capture_end(&trace, capture));
    check_ktrace(ktrace_trace_get_info(&info, trace));
    if (*ktrace_trace_warning(trace))
        fail("%s", ktrace_trace_warning(trace));
    if (info.waves_unfinished || info.ranges_unclosed || info.ends_unmatched || info.slots_corrupt)
        fail("%llu waves are unfinished, %llu ranges unclosed, %llu ends unmatched, %llu slots corrupt",
             (unsigned long long)info.waves_unfinished, (unsigned long long)info.ranges_unclosed,
             (unsigned long long)info.ends_unmatched, (unsigned long long)info.slots_corrupt);
    return trace;
}

/* Save and export as asked on the command line, or else print the summary. The trace is destroyed. */
static inline void trace_finish(struct ktrace_trace *trace)
{
    char *text = NULL;
    if (example.save)
        check_ktrace(ktrace_trace_save(trace, example.save));
    if (example.perfetto) {
        check_ktrace(ktrace_trace_export_new(&text, trace, NULL));
        printf("%s\n", text);
    } else if (!example.save) {
        check_ktrace(ktrace_trace_summary_text(&text, trace));
        fputs(text, stdout);
    }
    free(text);
    ktrace_trace_destroy(trace);
}

#endif

#endif
