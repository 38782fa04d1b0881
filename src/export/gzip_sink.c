#include "gzip_sink.h"

#include "../error.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

static int write_member(struct kt_gzip_sink *gzip)
{
    size_t bytes = libdeflate_gzip_compress(gzip->compressor, gzip->member, gzip->member_bytes, gzip->compressed,
                                            gzip->compressed_capacity_bytes);
    if (bytes == 0) /* cannot be: the buffer has the size that libdeflate itself named */
        return kt_fail(KTRACE_ERROR_IO, "gzip: a member of %zu bytes could not be compressed", gzip->member_bytes);
    gzip->member_bytes = 0;
    gzip->members++;
    return gzip->inner->write(gzip->inner, gzip->compressed, bytes);
}

static int gzip_write(struct kt_sink *sink, const void *data, size_t bytes)
{
    struct kt_gzip_sink *gzip = (struct kt_gzip_sink *)sink;
    const uint8_t *from = data;
    while (bytes > 0 && !gzip->status) {
        size_t room_bytes = KT_GZIP_MEMBER_BYTES - gzip->member_bytes;
        size_t part_bytes = bytes < room_bytes ? bytes : room_bytes;
        memcpy(gzip->member + gzip->member_bytes, from, part_bytes);
        gzip->member_bytes += part_bytes;
        from += part_bytes;
        bytes -= part_bytes;
        if (gzip->member_bytes == KT_GZIP_MEMBER_BYTES)
            gzip->status = write_member(gzip);
    }
    return gzip->status;
}

int kt_gzip_sink_init(struct kt_gzip_sink *gzip, struct kt_sink *inner, int level)
{
    *gzip = (struct kt_gzip_sink){.sink = {.write = gzip_write}, .inner = inner};
    gzip->compressor = libdeflate_alloc_compressor(level);
    if (!gzip->compressor)
        return gzip->status = kt_fail(KTRACE_ERROR_MEMORY, "gzip: no compressor of level %d", level);
    gzip->compressed_capacity_bytes = libdeflate_gzip_compress_bound(gzip->compressor, KT_GZIP_MEMBER_BYTES);
    gzip->member = malloc(KT_GZIP_MEMBER_BYTES);
    gzip->compressed = malloc(gzip->compressed_capacity_bytes);
    if (!gzip->member || !gzip->compressed)
        return gzip->status = kt_fail_memory(KT_GZIP_MEMBER_BYTES);
    return KTRACE_OK;
}

int kt_gzip_sink_finish(struct kt_gzip_sink *gzip)
{
    if (!gzip->status && (gzip->member_bytes > 0 || gzip->members == 0))
        gzip->status = write_member(gzip);
    return gzip->status;
}

void kt_gzip_sink_destroy(struct kt_gzip_sink *gzip)
{
    if (gzip->compressor) /* old libdeflates do not take NULL */
        libdeflate_free_compressor(gzip->compressor);
    free(gzip->member);
    free(gzip->compressed);
    *gzip = (struct kt_gzip_sink){.status = KTRACE_ERROR_STATE};
}
