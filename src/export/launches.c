/* One file for each launch. */
#include "../array.h"
#include "../string_builder.h"
#include "export.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static int has_events(const struct kt_launch *launch)
{
    return launch->event_count > 0;
}

static uint64_t count_launches(const struct ktrace_trace *trace)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < trace->launch_count; i++)
        count += has_events(&trace->launches[i]);
    return count;
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

static int fail_name(uint64_t index, const char *name, const char *what)
{
    struct kt_string shown = KT_STRING_INIT;
    kt_string_append_visible(&shown, name);
    const int status =
        kt_fail(KTRACE_ERROR_ARGUMENT, "names[%" PRIu64 "] is \"%.120s\": %s", index, kt_string_text(&shown), what);
    kt_string_destroy(&shown);
    return status;
}

static int check_names(const char *const *names, uint64_t name_count, uint64_t launches)
{
    if (!names && name_count == 0)
        return KTRACE_OK;
    if (!names)
        return kt_fail(KTRACE_ERROR_ARGUMENT,
                       "ktrace_trace_export_launches: names is NULL, but there are %" PRIu64 " of them", name_count);
    if (name_count != launches)
        return kt_fail(KTRACE_ERROR_ARGUMENT,
                       "%" PRIu64 " name%s given, but %" PRIu64 " launch%s events: give one for each of these, in the "
                       "order of first timestamps",
                       name_count, name_count == 1 ? " was" : "s were", launches, launches == 1 ? " has" : "es have");
    for (uint64_t i = 0; i < name_count; i++) {
        const char *name = names[i];
        if (!name || !*name)
            return kt_fail(KTRACE_ERROR_ARGUMENT, "names[%" PRIu64 "] is %s: every launch that has events has a name",
                           i, name ? "empty" : "NULL");
        if (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            return fail_name(i, name, "a name, not a path; the directory is an argument of its own");
        if (strlen(name) > KT_SAFE_NAME_BYTES)
            return fail_name(i, name, "longer than the 200 bytes that a name may have");
    }
    return KTRACE_OK;
}
_Static_assert(KT_SAFE_NAME_BYTES == 200, "as the sentence and ktrace.h say");

/* The kernel's name is cut before the number, by which launches are told apart. */
static void own_name(char name[KT_SAFE_NAME_BYTES + 1], const struct ktrace_trace *trace, uint64_t launch)
{
    char kernel[KT_SAFE_NAME_BYTES + 1], tail[32];
    const int tail_bytes = snprintf(tail, sizeof tail, "_launch_%" PRIu64, launch);
    kt_safe_name(kernel, trace->kernels[trace->launches[launch].kernel].name);
    snprintf(name, KT_SAFE_NAME_BYTES + 1, "%.*s%s", KT_SAFE_NAME_BYTES - tail_bytes, kernel, tail);
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

/* `*written` paths are there afterwards, also on failure. */
static int write_files(char **paths, uint64_t *written, const struct ktrace_trace *trace,
                       const struct kt_exporter *exporter, const char *directory, const char *const *names)
{
    int status = KTRACE_OK;
    for (uint64_t i = 0; i < trace->launch_count && status == KTRACE_OK; i++) {
        char name[KT_SAFE_NAME_BYTES + 1];
        if (!has_events(&trace->launches[i]))
            continue;
        if (!names)
            own_name(name, trace, i);
        status = kt_export_new(&paths[*written], trace, exporter, i, directory, names ? names[*written] : name);
        *written += status == KTRACE_OK;
    }
    return status;
}

int kt_export_launches(char ***paths, uint64_t *count, const struct ktrace_trace *trace,
                       const struct kt_exporter *exporter, const char *directory, const char *const *names,
                       uint64_t name_count)
{
    const uint64_t launches = count_launches(trace);
    if (!exporter->takes_launch)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "the exporter \"%s\" writes whole traces only", exporter->name);
    int status = check_names(names, name_count, launches);
    if (status < 0)
        return status;
    char **made = kt_array_new_zeroed((size_t)launches + 1, sizeof *made);
    uint64_t written = 0;
    if (!made)
        return KTRACE_ERROR_MEMORY;
    status = write_files(made, &written, trace, exporter, directory, names);
    if (status < 0) {
        for (uint64_t i = 0; i < written; i++)
            unlink(made[i]);
        ktrace_paths_free(made, written);
        return status;
    }
    *paths = made;
    *count = written;
    return KTRACE_OK;
}

int ktrace_trace_export_launches(char ***paths, uint64_t *count, const struct ktrace_trace *trace,
                                 const char *directory, const char *const *names, uint64_t name_count)
{
    if (!paths || !count || !trace)
        return kt_fail(KTRACE_ERROR_ARGUMENT,
                       "ktrace_trace_export_launches: needs places for the paths and their number, and a trace");
    return kt_export_launches(paths, count, trace, &kt_exporter_perfetto, directory, names, name_count);
}

void ktrace_paths_free(char **paths, uint64_t count)
{
    for (uint64_t i = 0; paths && i < count; i++)
        free(paths[i]);
    free(paths);
}
