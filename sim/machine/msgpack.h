/* msgpack.h - MessagePack, as the metadata of code objects has it, read in place.
 *
 * Own code rather than msgpack-c, which makes a tree and allocates what the input claims before it has seen it.
 * A reader is a position; what cannot be read sets `failed`, and everything after it reads as nil.
 */
#ifndef SIM_MSGPACK_H
#define SIM_MSGPACK_H

#include <stdint.h>

#include "bytes.h"

enum msgpack_type {
    MSGPACK_NIL,
    MSGPACK_BOOL,
    MSGPACK_INTEGER,
    MSGPACK_FLOAT,
    MSGPACK_TEXT,
    MSGPACK_ARRAY,
    MSGPACK_MAP
};

struct msgpack_value {
    enum msgpack_type type;
    uint64_t integer;   /* BOOL, INTEGER (two's complement); ARRAY: elements, MAP: pairs, which follow */
    struct bytes bytes; /* TEXT (also binary data and extensions) */
};

struct msgpack {
    struct bytes input;
    size_t at;
    int failed;
};

/* The next value. Of an array or a map this is its head: its elements are the next values. */
struct msgpack_value msgpack_next(struct msgpack *reader);
/* Skip the next value with all that is in it. */
void msgpack_skip(struct msgpack *reader);
int msgpack_is(struct msgpack_value value, const char *text);

#endif
