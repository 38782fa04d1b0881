/* fuzz_load.c - a .ktrace file from anywhere: load it, summarize it, export it to Perfetto. Each input is tried as it is, and once
 * more with its checksums made right, since no mutation gets past those. */
#include "look.h"
#include "repair.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void load(const uint8_t *data, size_t bytes)
{
    struct ktrace_trace *trace;
    if (ktrace_trace_load_memory(&trace, data, bytes) < 0)
        return;
    look_at(trace, LOOK_FACTS | LOOK_TEXTS | LOOK_EXPORTS | LOOK_FILE);
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
