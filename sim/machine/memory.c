#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#define PAGE 4096ull
#define CLEARED_BY_THE_HOST (64 * PAGE)

static uint64_t round_to_page(uint64_t bytes)
{
    return (bytes + PAGE - 1) & ~(PAGE - 1);
}

/* ---- Pages ---------------------------------------------------------------------------------------------------------- */

int memory_map(struct memory_block *out, uint64_t bytes)
{
    return memory_map_near(out, bytes, 0);
}

int memory_map_near(struct memory_block *out, uint64_t bytes, uint64_t address)
{
    size_t inner = (size_t)round_to_page(bytes ? bytes : 1), all = inner + 2 * PAGE;
    /* NORESERVE: a device has more memory than most hosts; what is not touched costs nothing. */
    unsigned char *mapping =
        mmap((void *)(uintptr_t)address, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return sim_fail("the host has no address space for %" PRIu64 " bytes of device memory", bytes);
    if (mprotect(mapping + PAGE, inner, PROT_READ | PROT_WRITE)) {
        munmap(mapping, all);
        return sim_fail("the host has no memory for %" PRIu64 " bytes of device memory", bytes);
    }
    *out = (struct memory_block){.mapping = mapping, .mapping_bytes = all, .data = mapping + PAGE};
    return 0;
}

void memory_unmap(struct memory_block *block)
{
    if (block->mapping)
        munmap(block->mapping, block->mapping_bytes);
    *block = (struct memory_block){0};
}

void memory_retire(const struct memory_block *block)
{
    mmap(block->mapping, block->mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
         0);
}

/* ---- The table ------------------------------------------------------------------------------------------------------ */

/* Index of the first range whose base is above the address. */
static size_t upper_bound(const struct memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->ranges[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct range *memory_find(const struct memory *memory, uint64_t address)
{
    size_t index = upper_bound(memory, address);
    if (!index)
        return NULL;
    const struct range *range = &memory->ranges[index - 1];
    return address - range->base < range->bytes ? range : NULL;
}

static int grow(void **array, size_t *capacity, size_t count, size_t element_bytes)
{
    if (count < *capacity)
        return 0;
    size_t wanted = *capacity ? 2 * *capacity : 64;
    void *bigger = realloc(*array, wanted * element_bytes);
    if (!bigger)
        return sim_fail("the host has no memory for the table of allocations");
    *array = bigger;
    *capacity = wanted;
    return 0;
}

int memory_add_range(struct memory *memory, struct range range)
{
    size_t index = upper_bound(memory, range.base);
    const struct range *before = index ? &memory->ranges[index - 1] : NULL;
    const struct range *after = index < memory->count ? &memory->ranges[index] : NULL;
    if (before && range.base - before->base < before->bytes)
        return sim_fail("0x%" PRIx64 " lies in memory that the device knows already: %" PRIu64 " bytes at 0x%" PRIx64,
                        range.base, before->bytes, before->base);
    if (after && after->base - range.base < range.bytes)
        return sim_fail("%" PRIu64 " bytes at 0x%" PRIx64 " reach into memory that the device knows already: %" PRIu64
                        " bytes at 0x%" PRIx64,
                        range.bytes, range.base, after->bytes, after->base);
    if (grow((void **)&memory->ranges, &memory->capacity, memory->count, sizeof *memory->ranges))
        return -1;
    memmove(&memory->ranges[index + 1], &memory->ranges[index], (memory->count - index) * sizeof *memory->ranges);
    memory->ranges[index] = range;
    memory->count++;
    return 0;
}

void memory_remove_range(struct memory *memory, uint64_t base)
{
    size_t index = upper_bound(memory, base);
    if (!index || memory->ranges[index - 1].base != base)
        return;
    memory->count--;
    memmove(&memory->ranges[index - 1], &memory->ranges[index], (memory->count - index + 1) * sizeof *memory->ranges);
    memory->last = (struct range){0};
}

void memory_destroy(struct memory *memory)
{
    for (size_t i = 0; i < memory->block_count; i++)
        memory_unmap(&memory->blocks[i]);
    for (size_t i = 0; i < MEMORY_FREED; i++)
        memory_unmap(&memory->freed[i].block);
    free(memory->blocks);
    free(memory->ranges);
}

/* ---- Allocations ------------------------------------------------------------------------------------------------------ */

int sim_memory_allocate(void **address, struct sim_machine *machine, uint64_t bytes)
{
    struct memory *memory = &machine->memory;
    uint64_t left = machine->config.memory_bytes - memory->allocated_bytes;
    if (!bytes)
        return sim_fail("an allocation of 0 bytes");
    if (bytes > left)
        return sim_fail("out of device memory: %" PRIu64 " bytes asked for, %" PRIu64 " of %" PRIu64 " left", bytes,
                        left, machine->config.memory_bytes);
    if (grow((void **)&memory->blocks, &memory->block_capacity, memory->block_count, sizeof *memory->blocks))
        return -1;
    struct memory_block block;
    if (memory_map(&block, bytes))
        return -1;
    struct range range = {.base = (uintptr_t)block.data, .bytes = bytes, .kind = RANGE_ALLOCATION, .writable = 1};
    if (memory_add_range(memory, range)) {
        memory_unmap(&block);
        return -1;
    }
    memory->blocks[memory->block_count++] = block;
    memory->allocated_bytes += bytes;
    *address = block.data;
    return 0;
}

int sim_memory_free(struct sim_machine *machine, void *address)
{
    struct memory *memory = &machine->memory;
    const struct range *range = memory_find(memory, (uintptr_t)address);
    if (!range || range->kind != RANGE_ALLOCATION || range->base != (uintptr_t)address)
        return sim_fail("0x%" PRIxPTR " is not the begin of an allocation%s", (uintptr_t)address,
                        range ? ": it lies within one, or in memory of another kind" : "");
    size_t index = 0;
    while (memory->blocks[index].data != address)
        index++;
    struct freed *freed = &memory->freed[memory->next_freed++ % MEMORY_FREED];
    memory_unmap(&freed->block);
    *freed = (struct freed){.block = memory->blocks[index], .bytes = range->bytes};
    memory_retire(&freed->block);
    memory->blocks[index] = memory->blocks[--memory->block_count];
    memory->allocated_bytes -= range->bytes;
    memory_remove_range(memory, range->base);
    return 0;
}

void sim_memory_clear(void *address, uint64_t bytes)
{
    unsigned char *const data = address;
    const uint64_t before = -(uintptr_t)address % PAGE;
    const uint64_t pages = bytes > before ? (bytes - before) / PAGE * PAGE : 0;
    /* Private pages without a file read as zero afterwards (madvise(2)). Below so many writing is the quicker. */
    if (pages < CLEARED_BY_THE_HOST || madvise(data + before, pages, MADV_DONTNEED)) {
        memset(data, 0, bytes);
        return;
    }
    memset(data, 0, before);
    memset(data + before + pages, 0, bytes - before - pages);
}

int sim_memory_range(void **base, uint64_t *bytes, const struct sim_machine *machine, const void *address)
{
    const struct range *range = memory_find(&machine->memory, (uintptr_t)address);
    if (!range || range->kind == RANGE_INTERNAL)
        return sim_fail("0x%" PRIxPTR " lies in no allocation", (uintptr_t)address);
    *base = (void *)(uintptr_t)range->base;
    *bytes = range->bytes;
    return 0;
}

int sim_memory_register(struct sim_machine *machine, void *address, uint64_t bytes)
{
    if (!address || !bytes || (uintptr_t)address + bytes < (uintptr_t)address)
        return sim_fail("%" PRIu64 " bytes at 0x%" PRIxPTR " cannot be registered", bytes, (uintptr_t)address);
    return memory_add_range(
        &machine->memory,
        (struct range){.base = (uintptr_t)address, .bytes = bytes, .kind = RANGE_HOST, .writable = 1});
}

int sim_memory_unregister(struct sim_machine *machine, void *address)
{
    const struct range *range = memory_find(&machine->memory, (uintptr_t)address);
    if (!range || range->kind != RANGE_HOST || range->base != (uintptr_t)address)
        return sim_fail("0x%" PRIxPTR " is not the begin of registered memory", (uintptr_t)address);
    memory_remove_range(&machine->memory, range->base);
    return 0;
}

/* ---- Accesses of waves -------------------------------------------------------------------------------------------- */

static const struct freed *find_freed(const struct memory *memory, uint64_t address)
{
    for (size_t i = 0; i < MEMORY_FREED; i++) {
        const struct freed *freed = &memory->freed[i];
        if (freed->block.mapping && address - (uintptr_t)freed->block.data < freed->bytes)
            return freed;
    }
    return NULL;
}

/* "lane 5 reads" */
static void describe(char *text, size_t bytes, const struct sim_wave *wave, int is_write)
{
    const char *verb = is_write ? "writes" : "reads";
    if (wave->lane < SIM_LANES)
        snprintf(text, bytes, "lane %u %s", wave->lane, verb);
    else
        snprintf(text, bytes, "%s", verb);
}

static void fault_outside(struct sim_wave *wave, uint64_t address, uint32_t bytes, int is_write)
{
    const struct memory *memory = &wave->machine->memory;
    char what[32];
    describe(what, sizeof what, wave, is_write);
    wave->machine->failure = SIM_FAILURE_ADDRESS;
    if (address < PAGE) {
        sim_fault(wave, "%s %u bytes at 0x%" PRIx64 ": a null pointer", what, bytes, address);
        return;
    }
    const struct freed *freed = find_freed(memory, address);
    if (freed) {
        sim_fault(wave,
                  "%s %u bytes at 0x%" PRIx64 ": freed memory, byte %" PRIu64 " of what was an allocation of %" PRIu64
                  " bytes",
                  what, bytes, address, address - (uintptr_t)freed->block.data, freed->bytes);
        return;
    }
    size_t index = upper_bound(memory, address);
    const struct range *before = index ? &memory->ranges[index - 1] : NULL;
    const struct range *after = index < memory->count ? &memory->ranges[index] : NULL;
    if (before && address - before->base < before->bytes + PAGE) {
        uint64_t offset = address - before->base;
        sim_fault(wave, "%s %u bytes at 0x%" PRIx64 ": out of bounds, byte %" PRIu64 " of %" PRIu64 " at 0x%" PRIx64,
                  what, bytes, address, offset, before->bytes, before->base);
    } else if (after && after->base - address <= PAGE) {
        sim_fault(wave,
                  "%s %u bytes at 0x%" PRIx64 ": out of bounds, %" PRIu64 " bytes before %" PRIu64
                  " bytes at 0x%" PRIx64,
                  what, bytes, address, after->base - address, after->bytes, after->base);
    } else {
        sim_fault(wave, "%s %u bytes at 0x%" PRIx64 ": no device memory is there", what, bytes, address);
    }
}

/* Compilers load less than a dword as a dword, if it is aligned: that reads past an end that is not. */
static int is_widened_load(const struct range *range, uint64_t address, uint32_t bytes)
{
    return address % 4 == 0 && address + bytes <= ((range->base + range->bytes + 3) & ~3ull);
}

static void *find_slowly(struct sim_wave *wave, uint64_t address, uint32_t bytes, int is_write)
{
    struct memory *memory = &wave->machine->memory;
    const struct range *range = memory_find(memory, address);
    if (!range) {
        fault_outside(wave, address, bytes, is_write);
        return NULL;
    }
    uint64_t left = range->bytes - (address - range->base);
    if (bytes > left && (is_write || !is_widened_load(range, address, bytes))) {
        fault_outside(wave, address, bytes, is_write);
        return NULL;
    }
    if (is_write && !range->writable) {
        char what[32];
        describe(what, sizeof what, wave, is_write);
        wave->machine->failure = SIM_FAILURE_ADDRESS;
        sim_fault(wave, "%s %u bytes at 0x%" PRIx64 ": %s", what, bytes, address,
                  range->kind == RANGE_SEGMENT ? "read-only data or code of a module"
                                               : "the kernel's arguments or its dispatch packet, which are read-only");
        return NULL;
    }
    memory->last = *range;
    return (void *)(uintptr_t)address;
}

void *sim_memory(struct sim_wave *wave, uint64_t address, uint32_t bytes, int is_write)
{
    const struct range *last = &wave->machine->memory.last;
    uint64_t offset = address - last->base;
    if (offset < last->bytes && bytes <= last->bytes - offset && last->writable >= is_write)
        return (void *)(uintptr_t)address;
    return find_slowly(wave, address, bytes, is_write);
}

void *sim_flat_memory(struct sim_wave *wave, uint32_t lane, uint64_t address, uint32_t bytes, int is_write)
{
    uint64_t aperture = address >> 32 << 32, offset = address & UINT32_MAX;
    if (aperture == SIM_SHARED_APERTURE) {
        if (offset <= wave->lds_bytes && bytes <= wave->lds_bytes - offset)
            return wave->lds + offset;
        wave->machine->failure = SIM_FAILURE_ADDRESS;
        sim_fault(wave, "lane %u %s %u bytes at offset %" PRIu64 " of the workgroup's LDS, which has %u bytes", lane,
                  is_write ? "writes" : "reads", bytes, offset, wave->lds_bytes);
        return NULL;
    }
    if (aperture == SIM_PRIVATE_APERTURE) {
        if (offset <= wave->scratch_lane_bytes && bytes <= wave->scratch_lane_bytes - offset)
            return wave->scratch + (size_t)lane * wave->scratch_lane_bytes + offset;
        wave->machine->failure = SIM_FAILURE_ADDRESS;
        sim_fault(wave, "lane %u %s %u bytes at offset %" PRIu64 " of its private memory, which has %u bytes", lane,
                  is_write ? "writes" : "reads", bytes, offset, wave->scratch_lane_bytes);
        return NULL;
    }
    return sim_memory(wave, address, bytes, is_write);
}
