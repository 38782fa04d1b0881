/* memory.h - what kernels may touch: a sorted table of address ranges. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum range_kind {
    RANGE_ALLOCATION,
    RANGE_SEGMENT,  /* of a module */
    RANGE_INTERNAL, /* arguments, packets, queues: the machine's own */
    RANGE_HOST      /* registered */
};

struct range {
    uint64_t base, bytes;
    enum range_kind kind;
    int writable; /* by kernels */
};

/* Pages with a guard page on either side. */
struct memory_block {
    void *mapping;
    size_t mapping_bytes;
    unsigned char *data;
};

#define MEMORY_FREED 1024

struct memory {
    struct range *ranges; /* by base */
    size_t count, capacity;
    struct range last; /* a copy of the one that was used last: bytes 0 if none */
    /* Freed allocations keep their addresses for a while, so that a late use is found. */
    struct freed {
        struct memory_block block;
        uint64_t bytes;
    } freed[MEMORY_FREED];
    size_t next_freed;
    uint64_t allocated_bytes;
    /* Blocks of allocations, by address as the ranges. */
    struct memory_block *blocks;
    size_t block_count, block_capacity;
};

int memory_map(struct memory_block *out, uint64_t bytes);
/* At a page's address, if the host has room there, or anywhere. */
int memory_map_near(struct memory_block *out, uint64_t bytes, uint64_t address);
void memory_unmap(struct memory_block *block);
/* The host has its memory back, but the address is used for nothing else: an access faults. */
void memory_retire(const struct memory_block *block);

int memory_add_range(struct memory *memory, struct range range);
void memory_remove_range(struct memory *memory, uint64_t base);
const struct range *memory_find(const struct memory *memory, uint64_t address); /* the range that holds it, or NULL */
void memory_destroy(struct memory *memory);

#endif
