/* vector_memory.c - lanes' addresses to pointers, and data between pointers and registers. */
#include "vector_memory.h"

#include <inttypes.h>

#include "../machine/machine.h"

#define LINE_BITS 6 /* cache lines of 64 bytes, as the cost model counts them */

/* ---- Cache lines ------------------------------------------------------------------------------------------------- */

/* A set of line numbers. 64 lanes touch at most 5 lines each. */
#define LINE_SLOTS 512u
struct lines {
    uint64_t slot[LINE_SLOTS]; /* number + 1, or 0 */
    uint64_t last;
    uint32_t count;
};
static void add_line(struct lines *lines, uint64_t number)
{
    if (number + 1 == lines->last)
        return;
    lines->last = number + 1;
    uint64_t hash = number * 0x9E3779B97F4A7C15ull >> 55;
    while (lines->slot[hash % LINE_SLOTS] && lines->slot[hash % LINE_SLOTS] != number + 1)
        hash++;
    lines->count += lines->slot[hash % LINE_SLOTS] == 0;
    lines->slot[hash % LINE_SLOTS] = number + 1;
}

static uint32_t lines_of(const struct sim_access *access, uint64_t lanes, const uint64_t *address)
{
    if (access->contiguous)
        return (uint32_t)(((address[63] + access->bytes - 1) >> LINE_BITS) - (address[0] >> LINE_BITS) + 1);
    struct lines lines = {.count = 0};
    unsigned lane;
    SIM_EACH_ACTIVE(lane, lanes)
    {
        add_line(&lines, address[lane] >> LINE_BITS);
        add_line(&lines, (address[lane] + access->bytes - 1) >> LINE_BITS);
    }
    return lines.count;
}

/* ---- Addresses to pointers --------------------------------------------------------------------------------------- */

/* Not pointer arithmetic: of lanes that are not active any offset may come, and is not used. */
static unsigned char *at(unsigned char *memory, uint64_t offset)
{
    return (unsigned char *)((uintptr_t)memory + (uintptr_t)offset);
}

static int is_aligned(struct sim_wave *wave, const struct sim_access *access, const uint64_t *address,
                      const char *memory)
{
    if (access->alignment == 1)
        return 1;
    unsigned lane;
    SIM_EACH_ACTIVE(lane, access->lanes)
    {
        if (address[lane] & (access->alignment - 1)) {
            sim_fault(wave, "lane %u accesses %u bytes at %s address 0x%" PRIx64 ", which must be a multiple of %u",
                      lane, access->bytes, memory, address[lane], access->alignment);
            return 0;
        }
    }
    return 1;
}

/* All lanes at once: they lie within one allocation. 0: they do not, or sim_fault. */
static int find_span(struct sim_wave *wave, struct sim_access *access, const uint64_t *address)
{
    unsigned lane = (unsigned)__builtin_ctzll(access->lanes);
    uint64_t low = address[lane], high = low;
    access->contiguous = 0;
    if (access->lanes == UINT64_MAX) {
        uint64_t difference = 0;
        for (unsigned i = 0; i < SIM_LANES; i++)
            difference |= address[i] ^ (low + (uint64_t)i * access->bytes);
        access->contiguous = difference == 0;
    }
    if (access->contiguous) {
        high = address[63];
    } else {
        SIM_EACH_ACTIVE(lane, access->lanes)
        {
            low = address[lane] < low ? address[lane] : low;
            high = address[lane] > high ? address[lane] : high;
        }
    }
    void *base;
    uint64_t size;
    const uint64_t span = high - low + access->bytes;
    if (span > UINT32_MAX || sim_memory_range(&base, &size, wave->machine, (const void *)(uintptr_t)low) != 0 ||
        low - (uintptr_t)base > size || span > size - (low - (uintptr_t)base))
        return 0;
    unsigned char *memory = sim_memory(wave, low, (uint32_t)span, access->is_write);
    if (!memory)
        return 0;
    for (unsigned i = 0; i < SIM_LANES; i++)
        access->pointer[i] = at(memory, address[i] - low);
    return 1;
}

int sim_find_global(struct sim_wave *wave, struct sim_access *access, const uint64_t *address)
{
    access->lds_lanes = 0;
    access->contiguous = 0;
    wave->lines_touched = 0;
    if (!access->lanes)
        return 1;
    if (!is_aligned(wave, access, address, "memory"))
        return 0;
    if (!find_span(wave, access, address)) {
        if (wave->faulted)
            return 0;
        unsigned lane;
        SIM_EACH_ACTIVE(lane, access->lanes)
        {
            wave->lane = lane;
            access->pointer[lane] = sim_memory(wave, address[lane], access->bytes, access->is_write);
            if (!access->pointer[lane])
                return 0;
        }
    }
    wave->lines_touched = lines_of(access, access->lanes, address);
    return 1;
}

int sim_find_flat(struct sim_wave *wave, struct sim_access *access, const uint64_t *address)
{
    uint64_t apertures = 0;
    unsigned lane;
    SIM_EACH_ACTIVE(lane, access->lanes)
    {
        const uint64_t upper = address[lane] & ~(uint64_t)UINT32_MAX;
        apertures |= (uint64_t)(upper == SIM_SHARED_APERTURE || upper == SIM_PRIVATE_APERTURE) << lane;
    }
    if (!apertures)
        return sim_find_global(wave, access, address);
    access->lds_lanes = 0;
    access->contiguous = 0;
    if (!is_aligned(wave, access, address, "flat"))
        return 0;
    SIM_EACH_ACTIVE(lane, access->lanes)
    {
        access->pointer[lane] = sim_flat_memory(wave, lane, address[lane], access->bytes, access->is_write);
        if (!access->pointer[lane])
            return 0;
        access->lds_lanes |= (uint64_t)((address[lane] & ~(uint64_t)UINT32_MAX) == SIM_SHARED_APERTURE) << lane;
    }
    wave->lines_touched = lines_of(access, access->lanes & ~access->lds_lanes, address);
    return 1;
}

/* The first lane whose address is wrong, if there is one. */
static int lds_is_right(struct sim_wave *wave, const struct sim_access *access, const uint32_t *address)
{
    const char *verb = access->is_write ? "writes" : "reads";
    unsigned lane;
    SIM_EACH_ACTIVE(lane, access->lanes)
    {
        if ((uint64_t)address[lane] + access->bytes > wave->lds_bytes) {
            sim_fault(wave, "lane %u %s %u bytes at LDS address 0x%x, and the workgroup's LDS has %u bytes", lane, verb,
                      access->bytes, address[lane], wave->lds_bytes);
            return 0;
        }
        if (address[lane] & (access->alignment - 1)) {
            sim_fault(wave, "lane %u %s %u bytes at LDS address 0x%x, which must be a multiple of %u", lane, verb,
                      access->bytes, address[lane], access->alignment);
            return 0;
        }
    }
    return 1;
}

int sim_find_lds(struct sim_wave *wave, struct sim_access *access, const uint32_t *address)
{
    access->lds_lanes = access->lanes;
    access->contiguous = 0;
    wave->lines_touched = 0; /* LDS has none */
    if (access->lanes == UINT64_MAX) {
        uint32_t difference = 0;
        for (uint32_t i = 0; i < SIM_LANES; i++)
            difference |= address[i] ^ (address[0] + i * access->bytes);
        /* Not around the end of 32 bits, and so that the last lane's bytes show whether all are right. */
        access->contiguous = difference == 0 && address[63] >= address[0];
    }
    const int is_right = access->contiguous && (uint64_t)address[63] + access->bytes <= wave->lds_bytes &&
                         (address[0] & (access->alignment - 1)) == 0;
    if (!is_right && !lds_is_right(wave, access, address))
        return 0;
    for (unsigned i = 0; i < SIM_LANES; i++)
        access->pointer[i] = at(wave->lds, address[i]);
    return 1;
}

/* Private memory lies lane by lane here. The hardware interleaves the lanes' dwords: dword n of lane l is at n * 256 + l * 4,
 * and that is what lines are counted of. */
static uint32_t scratch_lines(const struct sim_access *access, const uint32_t *offset)
{
    if (!access->lanes)
        return 0;
    unsigned lane;
    const uint32_t first = offset[__builtin_ctzll(access->lanes)];
    uint32_t difference = 0, groups = 0; /* of 16 lanes, whose dwords share a line */
    SIM_EACH_ACTIVE(lane, access->lanes) difference |= offset[lane] ^ first;
    for (unsigned group = 0; group < 4; group++)
        groups += (access->lanes >> 16 * group & 0xFFFF) != 0;
    if (difference == 0)
        return groups * ((first + access->bytes - 1) / 4 - first / 4 + 1);
    struct lines lines = {.count = 0};
    SIM_EACH_ACTIVE(lane, access->lanes)
    for (uint32_t dword = offset[lane] / 4; dword <= (offset[lane] + access->bytes - 1) / 4; dword++)
        add_line(&lines, ((uint64_t)dword * 256 + lane * 4) >> LINE_BITS);
    return lines.count;
}

int sim_find_scratch(struct sim_wave *wave, struct sim_access *access, const uint32_t *offset)
{
    unsigned lane;
    access->lds_lanes = 0;
    access->contiguous = 0;
    SIM_EACH_ACTIVE(lane, access->lanes)
    {
        if ((uint64_t)offset[lane] + access->bytes > wave->scratch_lane_bytes) {
            sim_fault(
                wave, "lane %u %s %u bytes at private address 0x%x, and the kernel has %u bytes of it for each lane",
                lane, access->is_write ? "writes" : "reads", access->bytes, offset[lane], wave->scratch_lane_bytes);
            return 0;
        }
        access->pointer[lane] = wave->scratch + (size_t)lane * wave->scratch_lane_bytes + offset[lane];
    }
    wave->lines_touched = scratch_lines(access, offset);
    return 1;
}

/* ---- Loads and stores -------------------------------------------------------------------------------------------- */

static inline uint32_t narrow(const unsigned char *pointer, enum sim_data data)
{
    uint16_t half;
    switch (data) {
    case SIM_U8:
    case SIM_U8_D16: return *pointer;
    case SIM_I8: return (uint32_t)(int8_t)*pointer;
    case SIM_I8_D16: return (uint16_t)(int8_t)*pointer;
    case SIM_U8_D16_HI: return (uint32_t)*pointer << 16;
    case SIM_I8_D16_HI: return (uint32_t)(int8_t)*pointer << 16;
    default: break;
    }
    memcpy(&half, pointer, sizeof half);
    if (data == SIM_I16)
        return (uint32_t)(int16_t)half;
    return data == SIM_U16_D16_HI ? (uint32_t)half << 16 : half;
}

void sim_load_lane(uint32_t *dwords, const unsigned char *pointer, enum sim_data data)
{
    if (data < SIM_DWORD_1)
        *dwords = narrow(pointer, data);
    else
        memcpy(dwords, pointer, sim_data_bytes(data));
}

/* A block of 64 times `dwords` dwords and as many rows; inlined, so that `dwords` is known. */
static inline __attribute__((always_inline)) void from_block(uint32_t (*rows)[SIM_LANES], const unsigned char *memory,
                                                             unsigned dwords)
{
    for (unsigned i = 0; i < dwords; i++)
        for (unsigned lane = 0; lane < SIM_LANES; lane++)
            rows[i][lane] = sim_load32(memory + (size_t)4 * (lane * dwords + i));
}
static inline __attribute__((always_inline)) void to_block(unsigned char *memory, uint32_t (*rows)[SIM_LANES],
                                                           unsigned dwords)
{
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        for (unsigned i = 0; i < dwords; i++)
            memcpy(memory + (size_t)4 * (lane * dwords + i), &rows[i][lane], 4);
}

void sim_load_lanes(uint32_t (*rows)[SIM_LANES], const struct sim_access *access, enum sim_data data)
{
    const unsigned dwords = sim_data_dwords(data);
    unsigned lane;
    if (data < SIM_DWORD_1) {
        SIM_EACH_ACTIVE(lane, access->lanes) rows[0][lane] = narrow(access->pointer[lane], data);
    } else if (access->contiguous) {
        const unsigned char *memory = access->pointer[0];
        switch (dwords) {
        case 1: memcpy(rows[0], memory, sizeof rows[0]); break;
        case 2: from_block(rows, memory, 2); break;
        case 3: from_block(rows, memory, 3); break;
        default: from_block(rows, memory, 4); break;
        }
    } else {
        SIM_EACH_ACTIVE(lane, access->lanes)
        for (unsigned i = 0; i < dwords; i++)
            rows[i][lane] = sim_load32(access->pointer[lane] + (size_t)4 * i);
    }
}

void sim_store_lanes(const struct sim_access *access, uint32_t (*rows)[SIM_LANES], enum sim_data data)
{
    const unsigned dwords = sim_data_dwords(data), shift = data >= SIM_U8_D16_HI && data <= SIM_U16_D16_HI ? 16 : 0;
    unsigned lane;
    if (data < SIM_DWORD_1) {
        SIM_EACH_ACTIVE(lane, access->lanes)
        {
            const uint16_t half = (uint16_t)(rows[0][lane] >> shift);
            if (sim_data_bytes(data) == 1)
                *access->pointer[lane] = (unsigned char)half;
            else
                memcpy(access->pointer[lane], &half, sizeof half);
        }
    } else if (access->contiguous) {
        switch (dwords) {
        case 1: memcpy(access->pointer[0], rows[0], sizeof rows[0]); break;
        case 2: to_block(access->pointer[0], rows, 2); break;
        case 3: to_block(access->pointer[0], rows, 3); break;
        default: to_block(access->pointer[0], rows, 4); break;
        }
    } else {
        SIM_EACH_ACTIVE(lane, access->lanes)
        for (unsigned i = 0; i < dwords; i++)
            memcpy(access->pointer[lane] + (size_t)4 * i, &rows[i][lane], 4);
    }
}

/* ---- Atomics ----------------------------------------------------------------------------------------------------- */

void sim_atomic_lanes32(const struct sim_access *access, sim_atomic32 operation, uint32_t (*old)[SIM_LANES],
                        uint32_t (*data)[SIM_LANES], uint32_t (*data2)[SIM_LANES], unsigned flush, unsigned lds_flush)
{
    unsigned lane;
    SIM_EACH_ACTIVE(lane, access->lanes)
    {
        const uint32_t memory = sim_load32(access->pointer[lane]);
        const uint32_t result = operation(memory, data[0][lane], data2 ? data2[0][lane] : 0,
                                          access->lds_lanes >> lane & 1 ? lds_flush : flush);
        memcpy(access->pointer[lane], &result, sizeof result);
        if (old)
            old[0][lane] = memory;
    }
}

static inline uint64_t pair(uint32_t (*rows)[SIM_LANES], unsigned lane)
{
    return rows ? rows[0][lane] | (uint64_t)rows[1][lane] << 32 : 0;
}
void sim_atomic_lanes64(const struct sim_access *access, sim_atomic64 operation, uint32_t (*old)[SIM_LANES],
                        uint32_t (*data)[SIM_LANES], uint32_t (*data2)[SIM_LANES], unsigned flush, unsigned lds_flush)
{
    unsigned lane;
    SIM_EACH_ACTIVE(lane, access->lanes)
    {
        const uint64_t memory = sim_load64(access->pointer[lane]);
        const uint64_t result =
            operation(memory, pair(data, lane), pair(data2, lane), access->lds_lanes >> lane & 1 ? lds_flush : flush);
        memcpy(access->pointer[lane], &result, sizeof result);
        if (old) {
            old[0][lane] = (uint32_t)memory;
            old[1][lane] = (uint32_t)(memory >> 32);
        }
    }
}

/* ---- To LDS ------------------------------------------------------------------------------------------------------ */

void sim_load_to_lds(struct sim_wave *wave, const struct sim_access *access, uint64_t lanes, enum sim_data data,
                     uint32_t offset)
{
    const unsigned dwords = sim_data_dwords(data), stride = dwords < 3 ? 4 * dwords : 16;
    uint32_t address[SIM_LANES];
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        address[lane] = (wave->sgpr[SIM_M0] & 0x3FFFC) + offset + lane * stride;
    const uint32_t lines = wave->lines_touched;
    struct sim_access lds = {.lanes = lanes, .bytes = 4 * dwords, .alignment = 1, .is_write = 1};
    if (!sim_find_lds(wave, &lds, address))
        return;
    wave->lines_touched = lines;
    unsigned lane;
    SIM_EACH_ACTIVE(lane, lanes)
    {
        uint32_t value[4] = {0};
        if (access->lanes >> lane & 1)
            sim_load_lane(value, access->pointer[lane], data);
        memcpy(lds.pointer[lane], value, lds.bytes);
    }
}
