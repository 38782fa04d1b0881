/* fuzz_report.c - a .ktrace file from anywhere: its page, and a comparison with itself, which finds no change. Each input is tried
 * as it is, and once more with its checksums made right. */
#include "cli/diff.h"
#include "export/sink.h"
#include "repair.h"
#include "report/report.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void report(const struct ktrace_trace *trace)
{
    struct kt_memory_sink memory;
    kt_memory_sink_init(&memory);
    (void)kt_report_write(&memory.sink, trace);
    kt_pb_destroy(&memory.buffer);
}

static void compare(const struct ktrace_trace *trace)
{
    struct diff diff = {.path = {"a", "b"}, .trace = {trace, trace}, .options = {DIFF_WAVES, 0.05, 1}};
    struct kt_string text = KT_STRING_INIT;
    if (diff_make(&diff) == 0) {
        if (diff.changed)
            abort();
        diff_append_text(&text, &diff, NULL, 0);
        (void)diff_append_json(&text, &diff, NULL, 0);
    }
    kt_string_destroy(&text);
    diff_destroy(&diff);
}

static void load(const uint8_t *data, size_t bytes)
{
    struct ktrace_trace *trace;
    if (ktrace_trace_load_memory(&trace, data, bytes) < 0)
        return;
    report(trace);
    compare(trace);
    ktrace_trace_destroy(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    load(data, bytes);
    uint8_t *repaired = repaired_copy(data, bytes);
    if (!repaired)
        return 0;
    load(repaired, bytes);
    free(repaired);
    return 0;
}
