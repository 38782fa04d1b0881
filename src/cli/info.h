/* info.h - parts of `ktrace info`: cmd_info.c, info_origin.c, info_json.c. */
#ifndef KT_CLI_INFO_H
#define KT_CLI_INFO_H

#include "../string_builder.h"
#include "../trace.h"
#include "../trace_file.h"

enum { INFO_LABELS = 19 }; /* columns */

/* ---- info_origin.c: who recorded ---------------------------------------------------------------------------------- */

/* A title from elsewhere. */
void info_heading(struct kt_string *out, const char *what, const char *which);
/* UUID and bus of a device, as far as they are known. */
void info_identity(struct kt_string *out, const struct kt_device *device);
void info_rings(struct kt_string *out, const struct kt_snapshot *snapshot, uint32_t process);
/* A paragraph for each process; nothing of one that is not known. */
void info_processes(struct kt_string *out, const struct ktrace_trace *trace);

/* ---- info_json.c -------------------------------------------------------------------------------------------------- */

int info_json(struct kt_string *out, const char *path, const struct kt_file_index *index,
              const struct ktrace_trace *trace);

#endif
