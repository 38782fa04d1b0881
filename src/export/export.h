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
};
#define KT_EVERY_LAUNCH UINT64_MAX

extern const struct kt_exporter kt_exporter_perfetto, kt_exporter_chrome, kt_exporter_csv;

/* NULL-terminated. */
extern const struct kt_exporter *const kt_exporters[];

/* Write a new file "<directory>/<name>_ktrace.<suffix>", with a number before the suffix where that exists. `name` is made
 * safe (kt_safe_name), `directory` NULL the current one. `*path` is the caller's: free() it. */
int kt_export_new(char **path, const struct ktrace_trace *trace, uint64_t launch, const char *directory,
                  const char *name);

enum { KT_SAFE_NAME_BYTES = 200 }; /* of a name within a file name; file systems take 255 */
/* A name as a part of a file name that no shell, no file system and no directory walk takes amiss: letters, digits and _,
 * and behind the first . - + too; others become _. NULL and "" become "ktrace". */
void kt_safe_name(char safe[KT_SAFE_NAME_BYTES + 1], const char *name);

#endif
