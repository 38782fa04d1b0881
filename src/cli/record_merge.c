#include "record.h"

#include "../array.h"
#include "../trace.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MERGED_FILE "merged.ktrace" /* no process has a file of that name */

static int load(struct ktrace_trace **out, const char *folder, const char *file)
{
    struct kt_string path = KT_STRING_INIT;
    kt_string_printf(&path, "%s/%s", folder, file);
    const int status = path.failed ? cli_error("out of memory") : cli_load(out, kt_string_text(&path));
    kt_string_destroy(&path);
    return status;
}

/* How many were loaded; fewer than there are after an error. */
static size_t load_all(struct ktrace_trace **traces, const struct record_session *session, const char *folder)
{
    size_t count = 0;
    for (size_t i = 0; i < session->count; i++)
        for (size_t k = 0; k < session->processes[i].trace_count; k++) {
            if (load(&traces[count], folder, session->processes[i].traces[k].file) != CLI_OK)
                return count;
            count++;
        }
    return count;
}

static int save(const struct ktrace_trace *trace, const char *folder)
{
    struct kt_string path = KT_STRING_INIT;
    kt_string_printf(&path, "%s/" MERGED_FILE, folder);
    const int result = path.failed ? kt_fail_memory(path.length) : ktrace_trace_save(trace, kt_string_text(&path));
    kt_string_destroy(&path);
    return result;
}

static int describe(struct record_trace *out, const struct ktrace_trace *trace, const char *name)
{
    *out = (struct record_trace){.file = strdup(MERGED_FILE), .name = strdup(name)};
    kt_record_count(&out->numbers, trace);
    out->warning = trace->warning[0] ? strdup(trace->warning) : NULL;
    return out->file && out->name && (out->warning || !trace->warning[0]) ? CLI_OK : cli_error("out of memory");
}

int record_merge(struct record_trace *out, const struct record_session *session, const char *folder, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < session->count; i++)
        count += session->processes[i].trace_count;
    struct ktrace_merge_options options = KTRACE_MERGE_OPTIONS_INIT;
    struct ktrace_trace **traces = kt_array_new_zeroed(count, sizeof *traces), *merged = NULL;
    options.name = name;
    int status = traces ? CLI_OK : cli_error_library();
    const size_t loaded = traces ? load_all(traces, session, folder) : 0;
    if (loaded < count)
        status = CLI_FAILURE;
    if (status == CLI_OK) {
        cli_progress_begin("merging", name);
        int result = ktrace_trace_merge(&merged, (const struct ktrace_trace *const *)traces, count, &options);
        if (result == KTRACE_OK)
            result = save(merged, folder);
        cli_progress_end();
        status = result < 0 ? cli_error("the traces stay apart: %s", ktrace_last_error()) : CLI_OK;
    }
    if (status == CLI_OK)
        status = describe(out, merged, name);
    ktrace_trace_destroy(merged);
    for (size_t i = 0; i < loaded; i++)
        ktrace_trace_destroy(traces[i]);
    free(traces);
    return status;
}
