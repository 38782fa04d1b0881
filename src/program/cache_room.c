#include "cache_room.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "sha256.h"

#define STALE_SECONDS 3600

struct entry {
    char name[KT_SHA256_TEXT_BYTES - 1 + sizeof KT_CACHE_SUFFIX];
    struct timespec used;
    uint64_t bytes;
};

struct entries {
    struct entry *items;
    size_t count, capacity;
    uint64_t bytes;
};

static int is_program(const char *name)
{
    const size_t digits = KT_SHA256_TEXT_BYTES - 1;
    return strspn(name, "0123456789abcdef") == digits && strcmp(name + digits, KT_CACHE_SUFFIX) == 0;
}

static int is_stale(const char *name, const struct stat *facts)
{
    return strncmp(name, KT_CACHE_TEMPORARY, sizeof KT_CACHE_TEMPORARY - 1) == 0 &&
           time(NULL) - facts->st_mtim.tv_sec > STALE_SECONDS;
}

static void look_at(struct entries *entries, int folder, const char *name)
{
    struct stat facts;
    if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(facts.st_mode))
        return;
    if (is_stale(name, &facts))
        unlinkat(folder, name, 0);
    if (!is_program(name) ||
        kt_array_reserve(&entries->items, &entries->capacity, entries->count + 1, sizeof *entries->items) < 0)
        return;
    struct entry *entry = &entries->items[entries->count++];
    memcpy(entry->name, name, sizeof entry->name);
    entry->used = facts.st_mtim;
    entry->bytes = (uint64_t)facts.st_size;
    entries->bytes += entry->bytes;
}

static int longest_ago_first(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

void kt_cache_make_room(const char *directory, uint64_t limit_bytes)
{
    struct entries entries = {0};
    DIR *folder = opendir(directory);
    if (folder == NULL)
        return;
    for (const struct dirent *item = readdir(folder); item; item = readdir(folder))
        look_at(&entries, dirfd(folder), item->d_name);
    if (entries.bytes > limit_bytes)
        qsort(entries.items, entries.count, sizeof *entries.items, longest_ago_first);
    for (size_t i = 0; i < entries.count && entries.bytes > limit_bytes; i++) {
        unlinkat(dirfd(folder), entries.items[i].name, 0);
        entries.bytes -= entries.items[i].bytes;
    }
    closedir(folder);
    free(entries.items);
}
