/* trace_file_processes.h - the sections PROC and ORIG: what decoding needs of several processes, and who recorded. */
#ifndef KT_TRACE_FILE_PROCESSES_H
#define KT_TRACE_FILE_PROCESSES_H

#include "string_builder.h"
#include "trace_file_payload.h"

/* Nothing of one process. */
void kt_encode_processes(struct kt_string *buffer, const struct kt_snapshot *snapshot);
/* Nothing where nothing is known. */
void kt_encode_origin(struct kt_string *buffer, const struct kt_snapshot *snapshot);

/* Once INFO and the devices were loaded. */
int kt_load_processes(struct kt_snapshot *snapshot, struct kt_payload *payload);
/* And then, once processes were. */
int kt_load_origin(struct kt_snapshot *snapshot, struct kt_payload *payload);

#endif
