/* fuzz_load.c - a .ktrace file from anywhere: load it, summarize it, export it. Each input is tried as it is, and once
 * more with its checksums made right, since no mutation gets past those. */
#include "ktrace/ktrace.h"
#include "repair.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void load(const uint8_t *data, size_t bytes)
{
    struct ktrace_trace *trace;
    if (ktrace_trace_load_memory(&trace, data, bytes) < 0)
        return;
    char *text;
    if (ktrace_trace_summary_text(&text, trace) == 0)
        free(text);
    if (ktrace_trace_summary_json(&text, trace) == 0)
        free(text);
    if (ktrace_trace_launches_text(&text, trace) == 0)
        free(text);
    if (ktrace_trace_launches_json(&text, trace) == 0)
        free(text);
    void *exported;
    size_t exported_bytes;
    if (ktrace_trace_export_memory(&exported, &exported_bytes, trace, "perfetto") == 0)
        free(exported);
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
