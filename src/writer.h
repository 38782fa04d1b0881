/* writer.h - little-endian values appended to the growing buffer of string_builder.h: the other half of reader.h. */
#ifndef KT_WRITER_H
#define KT_WRITER_H

#include "string_builder.h"

#include <stdint.h>
#include <string.h>

static inline void kt_write_little_endian(struct kt_string *buffer, uint64_t value, unsigned bytes)
{
    uint8_t encoded[8];
    for (unsigned i = 0; i < bytes; i++)
        encoded[i] = (uint8_t)(value >> 8 * i);
    kt_string_append_bytes(buffer, encoded, bytes);
}

static inline void kt_write_u8(struct kt_string *buffer, uint8_t value)
{
    kt_write_little_endian(buffer, value, 1);
}

static inline void kt_write_u16(struct kt_string *buffer, uint16_t value)
{
    kt_write_little_endian(buffer, value, 2);
}

static inline void kt_write_u32(struct kt_string *buffer, uint32_t value)
{
    kt_write_little_endian(buffer, value, 4);
}

static inline void kt_write_u64(struct kt_string *buffer, uint64_t value)
{
    kt_write_little_endian(buffer, value, 8);
}

/* u32 length, then the bytes without a terminator. NULL is written as "", and nobody has a string of 4 GiB. */
static inline void kt_write_string(struct kt_string *buffer, const char *text)
{
    size_t length = text ? strnlen(text, UINT32_MAX) : 0;
    kt_write_u32(buffer, (uint32_t)length);
    if (length)
        kt_string_append_bytes(buffer, text, length);
}

#endif
