/* handles.c - a hash set of pointers with their kinds: open addressing, never more than half full. */
#include "handles.h"

#include <stdint.h>
#include <stdlib.h>

#include "../machine/error.h"

struct entry {
    const void *object;
    enum sim_handle kind; /* 0 with an object: removed */
};

static struct entry *entries;
static size_t room, used; /* `used` counts removed ones, too */

static struct entry *find(struct entry *table, size_t table_room, const void *object)
{
    /* Fibonacci hashing: the multiplier is 2^64 divided by the golden ratio. */
    size_t at = (size_t)(((uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15u) >> 20) & (table_room - 1);
    while (table[at].object && table[at].object != object)
        at = (at + 1) & (table_room - 1);
    return &table[at];
}

static int grow(void)
{
    size_t live = 0;
    for (size_t i = 0; i < room; i++)
        live += entries[i].kind != 0;
    size_t grown_room = 64;
    while (grown_room < 4 * (live + 1))
        grown_room *= 2;
    struct entry *grown = calloc(grown_room, sizeof *grown);
    if (!grown)
        return sim_fail("out of host memory for a handle");
    for (size_t i = 0; i < room; i++)
        if (entries[i].kind)
            *find(grown, grown_room, entries[i].object) = entries[i];
    free(entries);
    entries = grown;
    room = grown_room;
    used = live;
    return 0;
}

int sim_handle_add(enum sim_handle kind, const void *object)
{
    if (2 * (used + 1) > room && grow())
        return -1;
    struct entry *entry = find(entries, room, object);
    used += !entry->object;
    *entry = (struct entry){object, kind};
    return 0;
}

void sim_handle_remove(const void *object)
{
    struct entry *entry = room ? find(entries, room, object) : NULL;
    if (entry && entry->object)
        entry->kind = 0;
}

int sim_handle_is(enum sim_handle kind, const void *object)
{
    const struct entry *entry = room && object ? find(entries, room, object) : NULL;
    return entry && entry->object && entry->kind == kind;
}
