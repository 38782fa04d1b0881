/* flat.c - FLAT, GLOBAL and SCRATCH: loads, stores, atomics, loads to LDS (AMD's CDNA3 and CDNA4 ISA manuals, chapter 10).
 *
 *     FLAT     64-bit VGPR address + offset; may be memory, LDS or private memory lane by lane
 *     GLOBAL   64-bit VGPR address + offset, or 64-bit SGPR base + 32-bit VGPR offset + offset
 *     SCRATCH  within the lane's private memory: SGPR and VGPR, each if there, + offset, in 32 bits
 *
 * Loads and stores may be misaligned, as amdhsa configures it; atomics not.
 */
#include "vector_memory.h"

static int find(struct sim_wave *wave, const struct sim_instruction *instruction, struct sim_access *access)
{
    const unsigned vector = instruction->src[0], scalar = instruction->src[2];
    const int is_scratch = instruction->segment == SIM_SEGMENT_SCRATCH;
    const uint64_t immediate = (uint64_t)(int64_t)instruction->immediate;
    uint64_t address[SIM_LANES];
    uint32_t offset[SIM_LANES];
    uint64_t base = 0;
    access->lanes = sim_exec(wave);
    if (scalar != SIM_NO_OPERAND) {
        if (!sim_has_sgprs(wave, scalar, is_scratch ? 1 : 2))
            return 0;
        base = is_scratch ? wave->sgpr[scalar] : sim_sgpr64(wave, scalar);
    }
    if (vector == SIM_NO_OPERAND) {
        if (!is_scratch) {
            sim_fault(wave, "%s has no address register", instruction->opcode->name);
            return 0;
        }
        for (unsigned lane = 0; lane < SIM_LANES; lane++)
            offset[lane] = (uint32_t)(base + immediate);
        return sim_find_scratch(wave, access, offset);
    }
    const int is_pair = !is_scratch && scalar == SIM_NO_OPERAND;
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, vector, is_pair ? 2 : 1);
    if (!rows)
        return 0;
    if (is_scratch) {
        for (unsigned lane = 0; lane < SIM_LANES; lane++)
            offset[lane] = (uint32_t)(base + rows[0][lane] + immediate);
        return sim_find_scratch(wave, access, offset);
    }
    if (is_pair)
        for (unsigned lane = 0; lane < SIM_LANES; lane++)
            address[lane] = (rows[0][lane] | (uint64_t)rows[1][lane] << 32) + immediate;
    else
        for (unsigned lane = 0; lane < SIM_LANES; lane++)
            address[lane] = base + rows[0][lane] + immediate;
    return instruction->segment == SIM_SEGMENT_FLAT ? sim_find_flat(wave, access, address)
                                                    : sim_find_global(wave, access, address);
}

static void load(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_data data)
{
    struct sim_access access = {.bytes = sim_data_bytes(data), .alignment = 1};
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, sim_data_dwords(data));
    if (rows && find(wave, instruction, &access))
        sim_load_lanes(rows, &access, data);
}
static void store(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_data data)
{
    struct sim_access access = {.bytes = sim_data_bytes(data), .alignment = 1, .is_write = 1};
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->src[1], sim_data_dwords(data));
    if (rows && find(wave, instruction, &access))
        sim_store_lanes(&access, rows, data);
}
static void load_lds(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_data data)
{
    struct sim_access access = {.bytes = sim_data_bytes(data), .alignment = 1};
    if (find(wave, instruction, &access))
        sim_load_to_lds(wave, &access, access.lanes, data, (uint32_t)instruction->immediate);
}

/* The data registers have the operand, then what cmpswap compares with. */
static int atomic_operands(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned dwords,
                           int compares, struct sim_access *access, uint32_t (*rows[3])[SIM_LANES])
{
    *access = (struct sim_access){.bytes = 4 * dwords, .alignment = 4 * dwords, .is_write = 1};
    rows[0] = instruction->dst == SIM_NO_OPERAND ? NULL : sim_vector_rows(wave, instruction->dst, dwords);
    rows[1] = sim_vector_rows(wave, instruction->src[1], compares ? 2 * dwords : dwords);
    rows[2] = compares && rows[1] ? rows[1] + dwords : NULL;
    return !wave->faulted && find(wave, instruction, access);
}
static void atomic32(struct sim_wave *wave, const struct sim_instruction *instruction, sim_atomic32 operation,
                     int compares, unsigned lds_flush)
{
    struct sim_access access;
    uint32_t(*rows[3])[SIM_LANES];
    if (atomic_operands(wave, instruction, 1, compares, &access, rows))
        sim_atomic_lanes32(&access, operation, rows[0], rows[1], rows[2], SIM_FLUSH_NOTHING, lds_flush);
}
static void atomic64(struct sim_wave *wave, const struct sim_instruction *instruction, sim_atomic64 operation,
                     int compares, unsigned lds_flush)
{
    struct sim_access access;
    uint32_t(*rows[3])[SIM_LANES];
    if (atomic_operands(wave, instruction, 2, compares, &access, rows))
        sim_atomic_lanes64(&access, operation, rows[0], rows[1], rows[2], SIM_FLUSH_NOTHING, lds_flush);
}

/* clang-format off */
#define LOADS(X) \
    X(load_ubyte, SIM_U8) X(load_sbyte, SIM_I8) X(load_ushort, SIM_U16) X(load_sshort, SIM_I16) \
    X(load_ubyte_d16, SIM_U8_D16) X(load_sbyte_d16, SIM_I8_D16) X(load_short_d16, SIM_U16_D16) \
    X(load_ubyte_d16_hi, SIM_U8_D16_HI) X(load_sbyte_d16_hi, SIM_I8_D16_HI) X(load_short_d16_hi, SIM_U16_D16_HI) \
    X(load_dword, SIM_DWORD_1) X(load_dwordx2, SIM_DWORD_2) X(load_dwordx3, SIM_DWORD_3) X(load_dwordx4, SIM_DWORD_4)
#define STORES(X) \
    X(store_byte, SIM_U8) X(store_short, SIM_U16) X(store_byte_d16_hi, SIM_U8_D16_HI) \
    X(store_short_d16_hi, SIM_U16_D16_HI) \
    X(store_dword, SIM_DWORD_1) X(store_dwordx2, SIM_DWORD_2) X(store_dwordx3, SIM_DWORD_3) X(store_dwordx4, SIM_DWORD_4)
#define LOADS_LDS(X) \
    X(load_lds_ubyte, SIM_U8) X(load_lds_sbyte, SIM_I8) X(load_lds_ushort, SIM_U16) X(load_lds_sshort, SIM_I16) \
    X(load_lds_dword, SIM_DWORD_1)
#define LOADS_LDS_GLOBAL(X) X(load_lds_dwordx3, SIM_DWORD_3) X(load_lds_dwordx4, SIM_DWORD_4)

/* X(name, bits, operation, has a value to compare with, flush in LDS) */
#define INTEGER_ATOMIC(X, name, compares) \
    X(atomic_##name, 32, name, compares, SIM_FLUSH_NOTHING) X(atomic_##name##_x2, 64, name, compares, SIM_FLUSH_NOTHING)
#define ATOMICS(X) \
    INTEGER_ATOMIC(X, swap, 0) INTEGER_ATOMIC(X, cmpswap, 1) INTEGER_ATOMIC(X, add, 0) INTEGER_ATOMIC(X, sub, 0) \
    INTEGER_ATOMIC(X, smin, 0) INTEGER_ATOMIC(X, umin, 0) INTEGER_ATOMIC(X, smax, 0) INTEGER_ATOMIC(X, umax, 0) \
    INTEGER_ATOMIC(X, and, 0) INTEGER_ATOMIC(X, or, 0) INTEGER_ATOMIC(X, xor, 0) INTEGER_ATOMIC(X, inc, 0) \
    INTEGER_ATOMIC(X, dec, 0) \
    X(atomic_add_f32, 32, add_f32, 0, sim_lds_flush32(wave)) \
    X(atomic_pk_add_f16, 32, pk_add_f16, 0, sim_lds_flush16_64(wave)) \
    X(atomic_pk_add_bf16, 32, pk_add_bf16, 0, sim_lds_flush16_64(wave)) \
    X(atomic_add_f64, 64, add_f64, 0, SIM_FLUSH_NOTHING) \
    X(atomic_min_f64, 64, min_f64, 0, sim_lds_flush16_64(wave)) \
    X(atomic_max_f64, 64, max_f64, 0, sim_lds_flush16_64(wave))
/* clang-format on */

/* One function for all segments: the instruction says which it is. */
#define FUNCTION(name, statement) \
    static void name(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        statement; \
    }
#define LOAD(name, data) FUNCTION(name, load(wave, instruction, data))
#define STORE(name, data) FUNCTION(name, store(wave, instruction, data))
#define LOAD_LDS(name, data) FUNCTION(name, load_lds(wave, instruction, data))
#define ATOMIC(name, bits, operation, compares, flush) \
    FUNCTION(name, atomic##bits(wave, instruction, sim_atomic##bits##_##operation, compares, flush))
LOADS(LOAD)
STORES(STORE)
LOADS_LDS(LOAD_LDS)
LOADS_LDS_GLOBAL(LOAD_LDS)
ATOMICS(ATOMIC)

/* clang-format off */
#define BIND_ALL(name, data) {"flat_" #name, name}, {"global_" #name, name}, {"scratch_" #name, name},
#define BIND_LDS(name, data) {"global_" #name, name}, {"scratch_" #name, name},
#define BIND_GLOBAL(name, data) {"global_" #name, name},
#define BIND_ATOMIC(name, bits, operation, compares, flush) {"flat_" #name, name}, {"global_" #name, name},
static const struct sim_binding entries[] = {
    LOADS(BIND_ALL) STORES(BIND_ALL) LOADS_LDS(BIND_LDS) LOADS_LDS_GLOBAL(BIND_GLOBAL) ATOMICS(BIND_ATOMIC)
};
/* clang-format on */
const struct sim_bindings sim_flat = {entries, sizeof entries / sizeof *entries};
