/* trace_file_payload.h - what readers of sections share: a section's payload, and sentences that say where in it something is wrong. */
#ifndef KT_TRACE_FILE_PAYLOAD_H
#define KT_TRACE_FILE_PAYLOAD_H

#include "reader.h"
#include "trace_file.h"

/* A section's payload, and where it lies for the sentence of an error. */
struct kt_payload {
    char name[5];
    size_t file_offset;
    struct kt_reader reader;
};

/* 1: there is none. */
int kt_payload_open(struct kt_payload *out, const struct kt_file_index *index, uint32_t type, const uint8_t *data);
int kt_payload_fail_missing(uint32_t type);
/* At the reader's place. */
int kt_payload_fail(const struct kt_payload *payload, const char *what);
/* Of a section that is nothing but records of `record_bytes`. */
int kt_payload_records(uint64_t *out, const struct kt_payload *payload, size_t record_bytes);
/* Nothing may be left. */
int kt_payload_end(const struct kt_payload *payload);
/* Replaces `*out`, which it frees. */
int kt_payload_string(char **out, struct kt_payload *payload);

#endif
