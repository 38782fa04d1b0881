/* sink.h - where exports end: a file, or memory. */
#ifndef KT_SINK_H
#define KT_SINK_H

#include "export.h"
#include "protobuf.h"

/* Everything in `buffer`, whose memory the caller takes or frees. */
struct kt_memory_sink {
    struct kt_sink sink;
    struct kt_pb buffer;
};
void kt_memory_sink_init(struct kt_memory_sink *memory);

/* A file that appears whole or not at all. Small writes are gathered; errors stick. */
struct kt_file_sink {
    struct kt_sink sink;
    int fd;
    int status;
    char *given;      /* the path as it was given; for messages */
    char *path;       /* what is being written; to remove it */
    char *final_path; /* where it goes in the end; NULL: it stays where it is */
    int keep;         /* 1: not ours to remove (a pipe, a terminal) */
    size_t bytes;
    uint8_t *buffer; /* KT_FILE_SINK_BYTES */
};
enum { KT_FILE_SINK_BYTES = 64 * 1024 };

/* Replace `path`: written beside it, moved over it by kt_file_sink_close, with the mode of what was there. A symbolic link
 * stays one: what it leads to is replaced, or made. Written in place, so that a failure leaves a part: what exists and is no
 * regular file (a pipe, /dev/stdout), and a file in a directory that takes no other. */
int kt_file_sink_replace(struct kt_file_sink *file, const char *path);
/* Create `path`; KTRACE_ERROR_STATE: it is there already. */
int kt_file_sink_create(struct kt_file_sink *file, const char *path);
/* Finish: with `status` 0, and no failure before, the file is kept, otherwise removed. Returns the first failure. */
int kt_file_sink_close(struct kt_file_sink *file, int status);

#endif
