#include "msgpack.h"

#include <string.h>

static const unsigned char *take(struct msgpack *reader, uint64_t count)
{
    struct bytes slice;
    if (reader->failed || bytes_slice(&slice, reader->input, reader->at, count)) {
        reader->failed = 1;
        return NULL;
    }
    reader->at += (size_t)count;
    return slice.data;
}

/* A big-endian number of 1, 2, 4 or 8 bytes. */
static uint64_t number(struct msgpack *reader, unsigned bytes)
{
    const unsigned char *p = take(reader, bytes);
    return p ? load_be(p, bytes) : 0;
}

static struct msgpack_value text(struct msgpack *reader, uint64_t count)
{
    struct msgpack_value value = {.type = MSGPACK_TEXT};
    const unsigned char *p = take(reader, count);
    if (!p)
        return (struct msgpack_value){0};
    value.bytes = (struct bytes){p, (size_t)count};
    return value;
}

static struct msgpack_value counted(struct msgpack *reader, enum msgpack_type type, uint64_t count)
{
    /* Each element takes a byte at least. */
    uint64_t left = reader->input.count - reader->at;
    if (reader->failed || count > (type == MSGPACK_MAP ? left / 2 : left)) {
        reader->failed = 1;
        return (struct msgpack_value){0};
    }
    return (struct msgpack_value){.type = type, .integer = count};
}

static struct msgpack_value integer(struct msgpack *reader, uint64_t value)
{
    return reader->failed ? (struct msgpack_value){0}
                          : (struct msgpack_value){.type = MSGPACK_INTEGER, .integer = value};
}

struct msgpack_value msgpack_next(struct msgpack *reader)
{
    const unsigned char *p = take(reader, 1);
    if (!p)
        return (struct msgpack_value){0};
    unsigned head = *p, width = 1u << (head & 3);
    if (head <= 0x7F)
        return integer(reader, head);
    if (head <= 0x8F)
        return counted(reader, MSGPACK_MAP, head & 15);
    if (head <= 0x9F)
        return counted(reader, MSGPACK_ARRAY, head & 15);
    if (head <= 0xBF)
        return text(reader, head & 31);
    if (head >= 0xE0)
        return integer(reader, (uint64_t)(int64_t)(int8_t)head);
    switch (head) {
    case 0xC0: return (struct msgpack_value){0};
    case 0xC2:
    case 0xC3: return (struct msgpack_value){.type = MSGPACK_BOOL, .integer = head & 1};
    case 0xC4:
    case 0xC5:
    case 0xC6: return text(reader, number(reader, width));
    case 0xC7: return text(reader, number(reader, 1) + 1);
    case 0xC8: return text(reader, number(reader, 2) + 1);
    case 0xC9: return text(reader, number(reader, 4) + 1);
    case 0xCA:
    case 0xCB:
        return take(reader, head == 0xCA ? 4 : 8) ? (struct msgpack_value){.type = MSGPACK_FLOAT}
                                                  : (struct msgpack_value){0};
    case 0xCC:
    case 0xCD:
    case 0xCE:
    case 0xCF: return integer(reader, number(reader, width));
    case 0xD0: return integer(reader, (uint64_t)(int64_t)(int8_t)number(reader, 1));
    case 0xD1: return integer(reader, (uint64_t)(int64_t)(int16_t)number(reader, 2));
    case 0xD2: return integer(reader, (uint64_t)(int64_t)(int32_t)number(reader, 4));
    case 0xD3: return integer(reader, number(reader, 8));
    case 0xD4:
    case 0xD5:
    case 0xD6:
    case 0xD7: return text(reader, 1 + width);
    case 0xD8: return text(reader, 17);
    case 0xD9: return text(reader, number(reader, 1));
    case 0xDA: return text(reader, number(reader, 2));
    case 0xDB: return text(reader, number(reader, 4));
    case 0xDC: return counted(reader, MSGPACK_ARRAY, number(reader, 2));
    case 0xDD: return counted(reader, MSGPACK_ARRAY, number(reader, 4));
    case 0xDE: return counted(reader, MSGPACK_MAP, number(reader, 2));
    case 0xDF: return counted(reader, MSGPACK_MAP, number(reader, 4));
    default: reader->failed = 1; return (struct msgpack_value){0}; /* 0xC1 */
    }
}

void msgpack_skip(struct msgpack *reader)
{
    /* Without recursion: the number of values still to skip. counted() keeps it within the input's bytes a level, and every
     * step consumes a byte. */
    for (uint64_t left = 1; left && !reader->failed; left--) {
        struct msgpack_value value = msgpack_next(reader);
        if (value.type == MSGPACK_ARRAY)
            left += value.integer;
        else if (value.type == MSGPACK_MAP)
            left += 2 * value.integer;
    }
}

int msgpack_is(struct msgpack_value value, const char *text)
{
    return value.type == MSGPACK_TEXT && value.bytes.count == strlen(text) &&
           !memcmp(value.bytes.data, text, value.bytes.count);
}
