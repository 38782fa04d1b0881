/* export.h - an exporter turns a trace into bytes. */
#ifndef KT_EXPORT_H
#define KT_EXPORT_H

#include "../trace.h"

/* Where an exporter writes: into memory or a file. Bytes are buffered; errors stick and are reported by the end. */
struct kt_sink {
    int (*write)(struct kt_sink *sink, const void *data, size_t bytes); /* 0 or a negative status, error set */
};

struct kt_exporter {
    const char *name;   /* "perfetto" */
    const char *suffix; /* "pftrace.gz" */
    /* `launch`: the one that is written, an index, or KT_EVERY_LAUNCH. Times are the trace's in either case. */
    int (*write)(struct kt_sink *sink, const struct ktrace_trace *trace, uint64_t launch);
    int takes_launch; /* 0: `launch` can be KT_EVERY_LAUNCH only */
};
#define KT_EVERY_LAUNCH UINT64_MAX

extern const struct kt_exporter kt_exporter_perfetto, kt_exporter_chrome, kt_exporter_csv, kt_exporter_json,
    kt_exporter_html;

/* NULL-terminated. */
extern const struct kt_exporter *const kt_exporters[];
/* By its name; NULL: there is none (KTRACE_ERROR_NOT_FOUND, which lists them). */
const struct kt_exporter *kt_find_exporter(const char *name);

/* Write a new file "<directory>/<name>_ktrace.<suffix>", with a number before the suffix where that exists. `name` is made
 * safe (kt_safe_name), `directory` NULL the current one. `*path` is the caller's: free() it. */
int kt_export_new(char **path, const struct ktrace_trace *trace, const struct kt_exporter *exporter, uint64_t launch,
                  const char *directory, const char *name);
/* ktrace_trace_export_launches with any exporter that takes launches; KTRACE_ERROR_ARGUMENT: this one does not. */
int kt_export_launches(char ***paths, uint64_t *count, const struct ktrace_trace *trace,
                       const struct kt_exporter *exporter, const char *directory, const char *const *names,
                       uint64_t name_count);

enum { KT_SAFE_NAME_BYTES = 200 }; /* of a name within a file name; file systems take 255 */
/* A name as a part of a file name that no shell, no file system and no directory walk takes amiss: letters, digits and _,
 * and behind the first . - + too; others become _. NULL and "" become "ktrace". */
void kt_safe_name(char safe[KT_SAFE_NAME_BYTES + 1], const char *name);

#endif
