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
    int (*write)(struct kt_sink *sink, const struct ktrace_trace *trace);
};

extern const struct kt_exporter kt_exporter_perfetto;

/* NULL-terminated. */
extern const struct kt_exporter *const kt_exporters[];

#endif
