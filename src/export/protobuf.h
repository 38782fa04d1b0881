/* protobuf.h - the protobuf writer: reserve, write, patch the length.
 *
 *     size_t packet = kt_pb_begin(&pb, KT_PF_Trace_packet);
 *     kt_pb_uint(&pb, KT_PF_TracePacket_timestamp, ns);
 *     kt_pb_end(&pb, packet);
 *
 * A nested message reserves one byte for its length; one of 128 bytes or more is moved up when it ends, so that every
 * length has its shortest form and equal input gives equal bytes. Appending cannot be refused: once memory ran out
 * every later append does nothing and kt_pb_status says so. Hot paths reserve once and use the kt_pb_put_* functions.
 */
#ifndef KT_PROTOBUF_H
#define KT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum kt_pb_wire { KT_PB_VARINT = 0, KT_PB_FIXED64 = 1, KT_PB_LENGTH = 2 };

enum { KT_PB_VARINT_MAX_BYTES = 10 };

struct kt_pb {
    uint8_t *data;
    size_t bytes, capacity_bytes;
    size_t failed_bytes; /* not 0: an allocation of that many bytes failed; sticky */
};
#define KT_PB_INIT \
    { \
        0, 0, 0, 0 \
    }

void kt_pb_destroy(struct kt_pb *pb);
/* Forget the content, keep the memory and a failure. */
void kt_pb_clear(struct kt_pb *pb);
/* KTRACE_OK, or KTRACE_ERROR_MEMORY with its sentence. */
int kt_pb_status(const struct kt_pb *pb);
/* Room for `bytes` more behind data + bytes. 1, or 0 when memory ran out. */
int kt_pb_grow(struct kt_pb *pb, size_t bytes);
static inline int kt_pb_reserve(struct kt_pb *pb, size_t bytes)
{
    return bytes <= pb->capacity_bytes - pb->bytes && !pb->failed_bytes ? 1 : kt_pb_grow(pb, bytes);
}

void kt_pb_uint(struct kt_pb *pb, uint32_t field, uint64_t value); /* bool, enum, uint32, uint64 */
void kt_pb_int(struct kt_pb *pb, uint32_t field, int64_t value);   /* int32, int64: negative ones take ten bytes */
void kt_pb_double(struct kt_pb *pb, uint32_t field, double value);
void kt_pb_bytes(struct kt_pb *pb, uint32_t field, const void *data, size_t bytes);
/* A `string` field. Text that is not UTF-8 must be mended before (kt_string_append_utf8): schema readers refuse it. */
void kt_pb_string(struct kt_pb *pb, uint32_t field, const char *text);

/* Open a nested message; hand the result to kt_pb_end. Messages nest properly. */
size_t kt_pb_begin(struct kt_pb *pb, uint32_t field);
void kt_pb_end(struct kt_pb *pb, size_t start);

/* Unchecked: at most KT_PB_VARINT_MAX_BYTES at `at`; return the byte behind. */
static inline uint8_t *kt_pb_put_varint(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *kt_pb_put_double(uint8_t *at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (unsigned i = 0; i < 8; i++)
        at[i] = (uint8_t)(bits >> 8 * i);
    return at + 8;
}

#endif
