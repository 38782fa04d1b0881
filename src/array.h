/* array.h - the one growable array: a pointer, a capacity, and a call that makes room. */
#ifndef KT_ARRAY_H
#define KT_ARRAY_H

#include "error.h"

#include <stdlib.h>
#include <string.h>

/* malloc of `count` items, with the error set when that fails or overflows. Never 0 bytes: NULL means failure. */
static inline void *kt_array_new(size_t count, size_t item_bytes)
{
    size_t bytes;
    void *items = NULL;
    if (__builtin_mul_overflow(count, item_bytes, &bytes))
        bytes = SIZE_MAX;
    else
        items = malloc(bytes ? bytes : 1);
    if (!items)
        kt_fail_memory(bytes);
    return items;
}

/* The same, zeroed. */
static inline void *kt_array_new_zeroed(size_t count, size_t item_bytes)
{
    void *items = calloc(count ? count : 1, item_bytes);
    if (!items)
        kt_fail_memory(count > SIZE_MAX / item_bytes ? SIZE_MAX : count * item_bytes);
    return items;
}

/* Make room for `needed` items behind `items`, the address of a pointer to items of `item_bytes`. What is there stays;
 * room at least doubles, so that appending is O(1). 0 or KTRACE_ERROR_MEMORY, then nothing has changed. */
static inline int kt_array_reserve(void *items, size_t *capacity, size_t needed, size_t item_bytes)
{
    void *old, *grown = NULL;
    size_t room = *capacity < 16 ? 16 : *capacity, bytes = SIZE_MAX;
    if (needed <= *capacity)
        return 0;
    while (room < needed)
        room = room > SIZE_MAX / 2 ? SIZE_MAX : room * 2;
    memcpy(&old, items, sizeof old);
    if (!__builtin_mul_overflow(room, item_bytes, &bytes))
        grown = realloc(old, bytes);
    if (!grown)
        return kt_fail_memory(bytes);
    memcpy(items, &grown, sizeof grown);
    *capacity = room;
    return 0;
}

#endif
