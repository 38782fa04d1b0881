#include "protobuf.h"

#include "../error.h"

#include <stdlib.h>

enum { TAG_MAX_BYTES = 5, FIRST_CAPACITY_BYTES = 4096 };

void kt_pb_destroy(struct kt_pb *pb)
{
    free(pb->data);
    *pb = (struct kt_pb)KT_PB_INIT;
}

void kt_pb_clear(struct kt_pb *pb)
{
    pb->bytes = 0;
}

int kt_pb_status(const struct kt_pb *pb)
{
    return pb->failed_bytes ? kt_fail_memory(pb->failed_bytes) : KTRACE_OK;
}

int kt_pb_grow(struct kt_pb *pb, size_t bytes)
{
    if (pb->failed_bytes)
        return 0;
    size_t capacity_bytes = pb->capacity_bytes ? pb->capacity_bytes : FIRST_CAPACITY_BYTES;
    while (capacity_bytes - pb->bytes < bytes && capacity_bytes <= SIZE_MAX / 2)
        capacity_bytes *= 2;
    uint8_t *data = capacity_bytes - pb->bytes < bytes ? NULL : realloc(pb->data, capacity_bytes);
    if (!data) {
        pb->failed_bytes = bytes;
        return 0;
    }
    pb->data = data;
    pb->capacity_bytes = capacity_bytes;
    return 1;
}

static void put_tag(struct kt_pb *pb, uint32_t field, enum kt_pb_wire wire)
{
    pb->bytes = (size_t)(kt_pb_put_varint(pb->data + pb->bytes, (uint64_t)field << 3 | wire) - pb->data);
}

void kt_pb_uint(struct kt_pb *pb, uint32_t field, uint64_t value)
{
    if (!kt_pb_reserve(pb, TAG_MAX_BYTES + KT_PB_VARINT_MAX_BYTES))
        return;
    put_tag(pb, field, KT_PB_VARINT);
    pb->bytes = (size_t)(kt_pb_put_varint(pb->data + pb->bytes, value) - pb->data);
}

void kt_pb_int(struct kt_pb *pb, uint32_t field, int64_t value)
{
    kt_pb_uint(pb, field, (uint64_t)value);
}

void kt_pb_double(struct kt_pb *pb, uint32_t field, double value)
{
    if (!kt_pb_reserve(pb, TAG_MAX_BYTES + sizeof value))
        return;
    put_tag(pb, field, KT_PB_FIXED64);
    kt_pb_put_double(pb->data + pb->bytes, value);
    pb->bytes += sizeof value;
}

void kt_pb_bytes(struct kt_pb *pb, uint32_t field, const void *data, size_t bytes)
{
    if (bytes > SIZE_MAX - TAG_MAX_BYTES - KT_PB_VARINT_MAX_BYTES) {
        pb->failed_bytes = bytes;
        return;
    }
    if (!kt_pb_reserve(pb, TAG_MAX_BYTES + KT_PB_VARINT_MAX_BYTES + bytes))
        return;
    put_tag(pb, field, KT_PB_LENGTH);
    pb->bytes = (size_t)(kt_pb_put_varint(pb->data + pb->bytes, bytes) - pb->data);
    if (bytes > 0)
        memcpy(pb->data + pb->bytes, data, bytes);
    pb->bytes += bytes;
}

void kt_pb_string(struct kt_pb *pb, uint32_t field, const char *text)
{
    kt_pb_bytes(pb, field, text, strlen(text));
}

size_t kt_pb_begin(struct kt_pb *pb, uint32_t field)
{
    if (!kt_pb_reserve(pb, TAG_MAX_BYTES + 1))
        return 0;
    put_tag(pb, field, KT_PB_LENGTH);
    return ++pb->bytes;
}

void kt_pb_end(struct kt_pb *pb, size_t start)
{
    if (pb->failed_bytes)
        return;
    size_t bytes = pb->bytes - start;
    if (bytes >= 0x80) {
        uint8_t length[KT_PB_VARINT_MAX_BYTES];
        size_t more_bytes = (size_t)(kt_pb_put_varint(length, bytes) - length) - 1;
        if (!kt_pb_reserve(pb, more_bytes))
            return;
        memmove(pb->data + start + more_bytes, pb->data + start, bytes);
        pb->bytes += more_bytes;
    }
    kt_pb_put_varint(pb->data + start - 1, bytes);
}
