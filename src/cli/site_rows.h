/* site_rows.h - the annotations of a trace, one row each: copies that templates and inlining made are one, in each kernel. */
#ifndef KT_CLI_SITE_ROWS_H
#define KT_CLI_SITE_ROWS_H

#include "../trace.h"

struct site_row {
    uint32_t kernel; /* index, or KT_NONE: it recorded nothing, and whose it is is not known */
    const struct kt_site *site;
    uint64_t copies; /* that are in the file */
    uint64_t events;
};

struct site_rows {
    struct site_row *rows; /* by kernel, file, line, kind */
    size_t count;
};

/* KTRACE_ERROR_MEMORY. */
int site_rows_make(struct site_rows *out, const struct ktrace_trace *trace);
void site_rows_free(struct site_rows *rows);

#endif
