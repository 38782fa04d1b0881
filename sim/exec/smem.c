/* smem.c - scalar memory (SMEM): loads, stores, atomics, clocks (AMD's CDNA3 ISA manual, chapter 8).
 *
 * The two lowest bits of all parts of an address are ignored. Memory is coherent here: there is no scalar cache to
 * invalidate or write back.
 */
#include <inttypes.h>
#include <string.h>

#include "atomic.h"
#include "scalar.h"

enum space { PLAIN, SCRATCH, BUFFER };

static uint64_t dword_aligned(uint64_t value)
{
    return value & ~3ull;
}

/* Instruction offset plus offset register; s_scratch_* count the register in units of 64 bytes. */
static uint64_t offset_of(struct sim_wave *wave, const struct sim_instruction *instruction, enum space space)
{
    uint64_t offset = dword_aligned((uint64_t)(int64_t)instruction->immediate);
    if (instruction->src[1] != SIM_NO_OPERAND) {
        const uint64_t in_register = sim_scalar_read_u32(wave, instruction, instruction->src[1]);
        offset += space == SCRATCH ? in_register * 64 : dword_aligned(in_register);
    }
    return offset;
}

/* Where the instruction's data lie; `size` is how many bytes from `address` on a buffer has, else UINT64_MAX. 0 after
 * sim_fault. */
static int find(struct sim_wave *wave, const struct sim_instruction *instruction, enum space space, uint64_t *address,
                uint64_t *size)
{
    const unsigned base = instruction->src[0];
    if (!sim_has_sgprs(wave, base, space == BUFFER ? 4 : 2))
        return 0;
    const uint64_t offset = offset_of(wave, instruction, space);
    if (space != BUFFER) {
        *address = dword_aligned(sim_sgpr64(wave, base)) + offset;
        *size = UINT64_MAX;
        return 1;
    }
    /* Base 47:0, stride 61:48, records 95:64: of strides, or of bytes without one. */
    const uint64_t words = sim_sgpr64(wave, base), stride = words >> 48 & 0x3FFF, records = wave->sgpr[base + 2];
    const uint64_t bytes = stride ? stride * records : records;
    *address = dword_aligned(words & 0xFFFFFFFFFFFFull) + offset;
    *size = offset < bytes ? bytes - offset : 0;
    return 1;
}

/* Of `dwords` those that a buffer has: of one that begins in the buffer, all. */
static unsigned within(uint64_t size, unsigned dwords)
{
    return size / 4 + (size % 4 != 0) < dwords ? (unsigned)(size / 4 + (size % 4 != 0)) : dwords;
}

static uint32_t lines(uint64_t address, unsigned bytes)
{
    return bytes ? (uint32_t)((address + bytes - 1) / 64 - address / 64 + 1) : 0;
}

static void load(struct sim_wave *wave, const struct sim_instruction *instruction, enum space space, unsigned dwords)
{
    uint64_t address, size;
    if (!sim_has_sgprs(wave, instruction->dst, dwords) || !find(wave, instruction, space, &address, &size))
        return;
    uint32_t data[16] = {0}; /* outside of a buffer */
    const unsigned bytes = 4 * within(size, dwords);
    if (bytes) {
        const void *memory = sim_memory(wave, address, bytes, 0);
        if (!memory)
            return;
        memcpy(data, memory, bytes);
    }
    memcpy(&wave->sgpr[instruction->dst], data, sizeof *data * dwords);
    wave->lines_touched = lines(address, bytes);
}

static void store(struct sim_wave *wave, const struct sim_instruction *instruction, enum space space, unsigned dwords)
{
    uint64_t address, size;
    if (!sim_has_sgprs(wave, instruction->dst, dwords) || !find(wave, instruction, space, &address, &size))
        return;
    const unsigned bytes = 4 * within(size, dwords);
    if (bytes) {
        void *memory = sim_memory(wave, address, bytes, 1);
        if (!memory)
            return;
        memcpy(memory, &wave->sgpr[instruction->dst], bytes);
    }
    wave->lines_touched = lines(address, bytes);
}

/* Memory for an atomic, or NULL: sim_fault, or outside of a buffer. The data SGPRs have the operand and, for cmpswap, the
 * value to compare with after it; glc returns what memory had. */
static void *atomic_memory(struct sim_wave *wave, const struct sim_instruction *instruction, enum space space,
                           unsigned data_dwords, unsigned bytes)
{
    uint64_t address, size;
    wave->lines_touched = 0;
    if (!sim_has_sgprs(wave, instruction->dst, data_dwords) || !find(wave, instruction, space, &address, &size))
        return NULL;
    if (address % bytes) {
        sim_fault(wave, "%s at address 0x%" PRIx64 ", which must be a multiple of %u", instruction->opcode->name,
                  address, bytes);
        return NULL;
    }
    if (size == 0)
        return NULL;
    wave->lines_touched = 1;
    return sim_memory(wave, address, bytes, 1);
}
static void atomic32(struct sim_wave *wave, const struct sim_instruction *instruction, enum space space,
                     sim_atomic32 operation, int compares)
{
    uint32_t *data = &wave->sgpr[instruction->dst], old = 0;
    void *memory = atomic_memory(wave, instruction, space, compares ? 2 : 1, sizeof old);
    if (wave->faulted)
        return;
    if (memory) {
        memcpy(&old, memory, sizeof old);
        const uint32_t result = operation(old, data[0], compares ? data[1] : 0, SIM_FLUSH_NOTHING);
        memcpy(memory, &result, sizeof result);
    }
    if (instruction->glc)
        data[0] = old;
}
static void atomic64(struct sim_wave *wave, const struct sim_instruction *instruction, enum space space,
                     sim_atomic64 operation, int compares)
{
    uint64_t old = 0;
    void *memory = atomic_memory(wave, instruction, space, compares ? 4 : 2, sizeof old);
    if (wave->faulted)
        return;
    if (memory) {
        memcpy(&old, memory, sizeof old);
        const uint64_t data = sim_sgpr64(wave, instruction->dst);
        const uint64_t compared = compares ? sim_sgpr64(wave, instruction->dst + 2u) : 0;
        const uint64_t result = operation(old, data, compared, SIM_FLUSH_NOTHING);
        memcpy(memory, &result, sizeof result);
    }
    if (instruction->glc)
        sim_set_sgpr64(wave, instruction->dst, old);
}

#define SIM_SMEM(name, ...) \
    SIM_SCALAR_FUNCTION(name) \
    { \
        __VA_ARGS__; \
    }
#define LOAD(suffix, dwords) \
    SIM_SMEM(s_load_##suffix, load(wave, instruction, PLAIN, dwords)) \
    SIM_SMEM(s_buffer_load_##suffix, load(wave, instruction, BUFFER, dwords))
#define STORE(suffix, dwords) \
    SIM_SMEM(s_scratch_load_##suffix, load(wave, instruction, SCRATCH, dwords)) \
    SIM_SMEM(s_store_##suffix, store(wave, instruction, PLAIN, dwords)) \
    SIM_SMEM(s_scratch_store_##suffix, store(wave, instruction, SCRATCH, dwords)) \
    SIM_SMEM(s_buffer_store_##suffix, store(wave, instruction, BUFFER, dwords))
LOAD(dword, 1)
LOAD(dwordx2, 2)
LOAD(dwordx4, 4)
LOAD(dwordx8, 8)
LOAD(dwordx16, 16)
STORE(dword, 1)
STORE(dwordx2, 2)
STORE(dwordx4, 4)

#define ATOMIC(name, compares) \
    SIM_SMEM(s_atomic_##name, atomic32(wave, instruction, PLAIN, sim_atomic32_##name, compares)) \
    SIM_SMEM(s_atomic_##name##_x2, atomic64(wave, instruction, PLAIN, sim_atomic64_##name, compares)) \
    SIM_SMEM(s_buffer_atomic_##name, atomic32(wave, instruction, BUFFER, sim_atomic32_##name, compares)) \
    SIM_SMEM(s_buffer_atomic_##name##_x2, atomic64(wave, instruction, BUFFER, sim_atomic64_##name, compares))
ATOMIC(swap, 0)
ATOMIC(cmpswap, 1)
ATOMIC(add, 0)
ATOMIC(sub, 0)
ATOMIC(smin, 0)
ATOMIC(umin, 0)
ATOMIC(smax, 0)
ATOMIC(umax, 0)
ATOMIC(and, 0)
ATOMIC(or, 0)
ATOMIC(xor, 0)
ATOMIC(inc, 0)
ATOMIC(dec, 0)

SIM_SMEM(s_memtime, sim_scalar_write_u64(wave, instruction->dst, sim_core_ticks(wave)); wave->lines_touched = 0)
SIM_SMEM(s_memrealtime, sim_scalar_write_u64(wave, instruction->dst, sim_realtime_ticks(wave)); wave->lines_touched = 0)
SIM_SMEM(nothing, (void)instruction; wave->lines_touched = 0)

/* clang-format off */
#define BIND(name) {#name, name}
#define BIND_LOAD(suffix) BIND(s_load_##suffix), BIND(s_buffer_load_##suffix)
#define BIND_STORE(suffix) BIND(s_scratch_load_##suffix), BIND(s_store_##suffix), BIND(s_scratch_store_##suffix), \
    BIND(s_buffer_store_##suffix)
#define BIND_ATOMIC(name) BIND(s_atomic_##name), BIND(s_atomic_##name##_x2), BIND(s_buffer_atomic_##name), \
    BIND(s_buffer_atomic_##name##_x2)
static const struct sim_binding entries[] = {
    BIND_LOAD(dword), BIND_LOAD(dwordx2), BIND_LOAD(dwordx4), BIND_LOAD(dwordx8), BIND_LOAD(dwordx16),
    BIND_STORE(dword), BIND_STORE(dwordx2), BIND_STORE(dwordx4),
    BIND_ATOMIC(swap), BIND_ATOMIC(cmpswap), BIND_ATOMIC(add), BIND_ATOMIC(sub), BIND_ATOMIC(smin), BIND_ATOMIC(umin),
    BIND_ATOMIC(smax), BIND_ATOMIC(umax), BIND_ATOMIC(and), BIND_ATOMIC(or), BIND_ATOMIC(xor), BIND_ATOMIC(inc),
    BIND_ATOMIC(dec),
    BIND(s_memtime), BIND(s_memrealtime), {"s_dcache_inv", nothing}, {"s_dcache_wb", nothing},
    {"s_dcache_inv_vol", nothing}, {"s_dcache_wb_vol", nothing}, {"s_dcache_discard", nothing},
    {"s_dcache_discard_x2", nothing}, {"s_atc_probe", nothing}, {"s_atc_probe_buffer", nothing},
};
/* clang-format on */
SIM_SCALAR_BINDINGS(sim_smem, entries);
