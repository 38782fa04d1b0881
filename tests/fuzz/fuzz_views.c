/* fuzz_views.c - what looks at traces beside the summary, with a .ktrace file from anywhere: groups, annotations, events as
 * lines, and merging. Each input is tried with its checksums made right, as fuzz_load.c tries it. */
#include "look.h"
#include "repair.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct ktrace_trace *trace;
    uint8_t *repaired = repaired_copy(data, bytes);
    if (!repaired)
        return 0;
    const int loaded = ktrace_trace_load_memory(&trace, repaired, bytes);
    free(repaired);
    if (loaded < 0)
        return 0;
    look_at(trace, LOOK_VIEWS | LOOK_MERGED);
    ktrace_trace_destroy(trace);
    return 0;
}
