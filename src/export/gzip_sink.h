/* gzip_sink.h - a sink that compresses what it is given into another sink.
 *
 * The output is a row of gzip members of KT_GZIP_MEMBER_BYTES each (RFC 1952 allows that, and Perfetto reads it): equal
 * input gives equal bytes (no time, no name), and members can be compressed apart from each other.
 */
#ifndef KT_GZIP_SINK_H
#define KT_GZIP_SINK_H

#include "export.h"

enum { KT_GZIP_MEMBER_BYTES = 1 << 20 };

struct libdeflate_compressor;

struct kt_gzip_sink {
    struct kt_sink sink;
    struct kt_sink *inner; /* not owned */
    struct libdeflate_compressor *compressor;
    uint8_t *member;     /* KT_GZIP_MEMBER_BYTES, not compressed yet */
    uint8_t *compressed; /* large enough for any member */
    size_t member_bytes, compressed_capacity_bytes;
    uint64_t members;
    int status; /* sticky */
};

/* `level`: 1 fastest to 12 smallest. Pair with kt_gzip_sink_destroy, also after a failure. */
int kt_gzip_sink_init(struct kt_gzip_sink *gzip, struct kt_sink *inner, int level);
/* Write what is left. Reports any earlier failure too. */
int kt_gzip_sink_finish(struct kt_gzip_sink *gzip);
void kt_gzip_sink_destroy(struct kt_gzip_sink *gzip);

#endif
