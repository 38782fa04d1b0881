/* repair.h - make the checksums of a changed .ktrace file right again, so that the change is seen by what lies behind
 * them. Lengths and counts stay as they are, except that of the whole file; it follows the sections as far as they go. */
#ifndef REPAIR_H
#define REPAIR_H

#include "trace_file.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t repair_get(const uint8_t *data, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)data[i] << 8 * i;
    return value;
}

static inline void repair_put(uint8_t *data, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        data[i] = (uint8_t)(value >> 8 * i);
}

static inline void repair(uint8_t *data, size_t bytes)
{
    if (bytes < KT_FILE_HEADER_BYTES)
        return;
    memcpy(data, KT_FILE_MAGIC, KT_FILE_MAGIC_BYTES);
    repair_put(data + 24, bytes, 8);
    repair_put(data + 36, libdeflate_crc32(0, data, 36), 4);
    size_t at = repair_get(data + 32, 4);
    while (at >= KT_FILE_HEADER_BYTES && at <= bytes && bytes - at >= KT_FILE_SECTION_HEADER_BYTES) {
        uint8_t *header = data + at;
        at += KT_FILE_SECTION_HEADER_BYTES;
        uint64_t payload_bytes = repair_get(header + 8, 8), left = bytes - at;
        if (payload_bytes <= left)
            repair_put(header + 16, libdeflate_crc32(0, data + at, (size_t)payload_bytes), 4);
        repair_put(header + 20, libdeflate_crc32(0, header, 20), 4);
        uint64_t padding = -payload_bytes & (KT_FILE_ALIGNMENT - 1);
        if (payload_bytes > left || padding > left - payload_bytes)
            return;
        memset(data + at + payload_bytes, 0, (size_t)padding);
        at += (size_t)(payload_bytes + padding);
    }
}

/* A copy of `data` that is repaired: free() it. NULL when memory ran out. */
static inline uint8_t *repaired_copy(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        return NULL;
    if (bytes)
        memcpy(copy, data, bytes);
    repair(copy, bytes);
    return copy;
}

#endif
