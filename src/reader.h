/* reader.h - a bounds-checked little-endian cursor over bytes that nobody vouches for.
 *
 * Reading past the end returns zeros and sets `failed`, which sticks: read a whole record, then look once. Nothing here
 * allocates; kt_read_count is how a count is taken before something is allocated for it.
 */
#ifndef KT_READER_H
#define KT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kt_reader {
    const uint8_t *data;
    size_t bytes;
    size_t at; /* of the next read; where it failed, the start of the read that did */
    bool failed;
};

static inline struct kt_reader kt_reader_over(const void *data, size_t bytes)
{
    return (struct kt_reader){.data = data, .bytes = bytes};
}

static inline size_t kt_reader_left(const struct kt_reader *reader)
{
    return reader->failed ? 0 : reader->bytes - reader->at;
}

/* The next `bytes` bytes in place, or NULL. */
static inline const uint8_t *kt_read_bytes(struct kt_reader *reader, size_t bytes)
{
    if (reader->failed || bytes > reader->bytes - reader->at) {
        reader->failed = true;
        return NULL;
    }
    const uint8_t *here = reader->data + reader->at;
    reader->at += bytes;
    return here;
}

static inline uint64_t kt_read_little_endian(struct kt_reader *reader, unsigned bytes)
{
    const uint8_t *here = kt_read_bytes(reader, bytes);
    uint64_t value = 0;
    for (unsigned i = 0; here && i < bytes; i++)
        value |= (uint64_t)here[i] << 8 * i;
    return value;
}

static inline uint8_t kt_read_u8(struct kt_reader *reader)
{
    return (uint8_t)kt_read_little_endian(reader, 1);
}

static inline uint16_t kt_read_u16(struct kt_reader *reader)
{
    return (uint16_t)kt_read_little_endian(reader, 2);
}

static inline uint32_t kt_read_u32(struct kt_reader *reader)
{
    return (uint32_t)kt_read_little_endian(reader, 4);
}

static inline uint64_t kt_read_u64(struct kt_reader *reader)
{
    return kt_read_little_endian(reader, 8);
}

/* A u32 count of records that take at least `record_bytes` each: fails where the bytes left cannot hold them. */
static inline uint32_t kt_read_count(struct kt_reader *reader, size_t record_bytes)
{
    size_t start = reader->at;
    uint32_t count = kt_read_u32(reader);
    if (!reader->failed && count > kt_reader_left(reader) / record_bytes) {
        reader->failed = true;
        reader->at = start;
    }
    return reader->failed ? 0 : count;
}

#endif
