/* fuzz_watch.c - what `ktrace watch` says of a look, with a .ktrace file from anywhere: alone, and as the look before itself, of the
 * same capture and of another one. Each input is tried with its checksums made right, as fuzz_load.c tries it. */
#include "cli/watch_output.h"

#include "repair.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void look(struct watch_history *history, const uint8_t *data, size_t bytes, uint64_t number)
{
    struct ktrace_trace *trace;
    struct watch_view view;
    struct kt_string text = KT_STRING_INIT;
    const struct kt_watch_answer facts = {.capture = number == 2, .now_ns = number * 1000000000};
    const struct watch_subject subject = {.pid = number == 3, .name = "\033[fuzz", .arguments = "\"", .look = number};
    if (ktrace_trace_load_memory(&trace, data, bytes) < 0)
        return;
    if (watch_view_make(&view, history, trace, &facts) < 0)
        abort();
    watch_append_text(&text, &view, &subject, number == 2);
    watch_append_json(&text, &view, &subject);
    if (text.failed || watch_history_keep(history, trace, &view, &facts) < 0)
        abort();
    kt_string_destroy(&text);
    watch_view_free(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct watch_history history = {.trace = NULL};
    uint8_t *repaired = repaired_copy(data, bytes);
    if (!repaired)
        return 0;
    for (uint64_t number = 1; number <= 3; number++)
        look(&history, repaired, bytes, number);
    watch_history_free(&history);
    free(repaired);
    return 0;
}
