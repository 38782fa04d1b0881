/* ds.c - LDS: loads, stores, atomics (AMD's CDNA3 and CDNA4 ISA manuals, chapters 11 and 12, DS).
 *
 * M0 bounds nothing here, as on all gfx9. An address outside of the workgroup's LDS, where the hardware reads 0 and drops
 * writes, is a fault: no correct kernel has one. Loads and stores may be misaligned, as amdhsa configures it (LLVM's
 * feature unaligned-access-mode); atomics not.
 */
#include "ds.h"

/* ---- Loads and stores -------------------------------------------------------------------------------------------- */

static void load(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_data data)
{
    struct sim_access access = {.lanes = sim_exec(wave), .bytes = sim_data_bytes(data), .alignment = 1};
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, sim_data_dwords(data));
    if (rows && sim_ds_find(wave, instruction, &access, (uint32_t)instruction->immediate))
        sim_load_lanes(rows, &access, data);
}
static void store(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_data data)
{
    struct sim_access access = {.lanes = sim_exec(wave), .bytes = sim_data_bytes(data), .alignment = 1, .is_write = 1};
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->src[1], sim_data_dwords(data));
    if (rows && sim_ds_find(wave, instruction, &access, (uint32_t)instruction->immediate))
        sim_store_lanes(&access, rows, data);
}

/* Two addresses: the address register plus each offset, in units of `scale` bytes. */
struct two {
    struct sim_access first, second;
};
static int find_two(struct sim_wave *wave, const struct sim_instruction *instruction, struct two *two, unsigned bytes,
                    unsigned scale, unsigned alignment, int is_write)
{
    const struct sim_access access = {
        .lanes = sim_exec(wave), .bytes = bytes, .alignment = alignment, .is_write = is_write};
    two->first = two->second = access;
    /* The manual has "only one write" in one place and two in another. Compilers do not make such instructions. */
    if (is_write && instruction->immediate == instruction->offset1) {
        sim_fault(wave, "%s with two equal offsets: AMD's manual contradicts itself about what it does",
                  instruction->opcode->name);
        return 0;
    }
    return sim_ds_find(wave, instruction, &two->first, (uint32_t)instruction->immediate * scale) &&
           sim_ds_find(wave, instruction, &two->second, (uint32_t)instruction->offset1 * scale);
}
static void load_two(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_data data,
                     unsigned scale)
{
    const unsigned dwords = sim_data_dwords(data);
    struct two two;
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 2 * dwords);
    if (!rows || !find_two(wave, instruction, &two, 4 * dwords, scale, 1, 0))
        return;
    sim_load_lanes(rows, &two.first, data);
    sim_load_lanes(rows + dwords, &two.second, data);
}
static void store_two(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_data data,
                      unsigned scale)
{
    const unsigned dwords = sim_data_dwords(data);
    struct two two;
    uint32_t(*first)[SIM_LANES] = sim_vector_rows(wave, instruction->src[1], dwords);
    uint32_t(*second)[SIM_LANES] = sim_vector_rows(wave, instruction->src[2], dwords);
    if (!first || !second || !find_two(wave, instruction, &two, 4 * dwords, scale, 1, 1))
        return;
    sim_store_lanes(&two.first, first, data);
    sim_store_lanes(&two.second, second, data);
}

/* Lane by lane, so that a lane exchanges with what lanes below it have written. */
static void exchange_two(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned dwords,
                         unsigned scale)
{
    struct two two;
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 2 * dwords);
    uint32_t(*first)[SIM_LANES] = sim_vector_rows(wave, instruction->src[1], dwords);
    uint32_t(*second)[SIM_LANES] = sim_vector_rows(wave, instruction->src[2], dwords);
    if (!rows || !first || !second || !find_two(wave, instruction, &two, 4 * dwords, scale, 4 * dwords, 1))
        return;
    unsigned lane;
    SIM_EACH_ACTIVE(lane, two.first.lanes)
    {
        uint32_t old[4], new[4];
        memcpy(old, two.first.pointer[lane], 4 * dwords);
        memcpy(old + dwords, two.second.pointer[lane], 4 * dwords);
        for (unsigned i = 0; i < dwords; i++) {
            new[i] = first[i][lane];
            new[dwords + i] = second[i][lane];
        }
        memcpy(two.first.pointer[lane], new, 4 * dwords);
        memcpy(two.second.pointer[lane], new + dwords, 4 * dwords);
        for (unsigned i = 0; i < 2 * dwords; i++)
            rows[i][lane] = old[i];
    }
}

/* clang-format off */
#define LOADS(X) \
    X(ds_read_u8, SIM_U8) X(ds_read_i8, SIM_I8) X(ds_read_u16, SIM_U16) X(ds_read_i16, SIM_I16) \
    X(ds_read_u8_d16, SIM_U8_D16) X(ds_read_i8_d16, SIM_I8_D16) X(ds_read_u16_d16, SIM_U16_D16) \
    X(ds_read_u8_d16_hi, SIM_U8_D16_HI) X(ds_read_i8_d16_hi, SIM_I8_D16_HI) X(ds_read_u16_d16_hi, SIM_U16_D16_HI) \
    X(ds_read_b32, SIM_DWORD_1) X(ds_read_b64, SIM_DWORD_2) X(ds_read_b96, SIM_DWORD_3) X(ds_read_b128, SIM_DWORD_4)
#define STORES(X) \
    X(ds_write_b8, SIM_U8) X(ds_write_b16, SIM_U16) X(ds_write_b8_d16_hi, SIM_U8_D16_HI) \
    X(ds_write_b16_d16_hi, SIM_U16_D16_HI) \
    X(ds_write_b32, SIM_DWORD_1) X(ds_write_b64, SIM_DWORD_2) X(ds_write_b96, SIM_DWORD_3) X(ds_write_b128, SIM_DWORD_4)
/* clang-format on */
#define LOAD(name, data) \
    SIM_DS_FUNCTION(name) \
    { \
        load(wave, instruction, data); \
    }
#define STORE(name, data) \
    SIM_DS_FUNCTION(name) \
    { \
        store(wave, instruction, data); \
    }
LOADS(LOAD)
STORES(STORE)

#define TWO(bits, dwords) \
    SIM_DS_FUNCTION(ds_read2_b##bits) \
    { \
        load_two(wave, instruction, SIM_DWORD_##dwords, 4 * (dwords)); \
    } \
    SIM_DS_FUNCTION(ds_read2st64_b##bits) \
    { \
        load_two(wave, instruction, SIM_DWORD_##dwords, 64 * 4 * (dwords)); \
    } \
    SIM_DS_FUNCTION(ds_write2_b##bits) \
    { \
        store_two(wave, instruction, SIM_DWORD_##dwords, 4 * (dwords)); \
    } \
    SIM_DS_FUNCTION(ds_write2st64_b##bits) \
    { \
        store_two(wave, instruction, SIM_DWORD_##dwords, 64 * 4 * (dwords)); \
    } \
    SIM_DS_FUNCTION(ds_wrxchg2_rtn_b##bits) \
    { \
        exchange_two(wave, instruction, dwords, 4 * (dwords)); \
    } \
    SIM_DS_FUNCTION(ds_wrxchg2st64_rtn_b##bits) \
    { \
        exchange_two(wave, instruction, dwords, 64 * 4 * (dwords)); \
    }
TWO(32, 1)
TWO(64, 2)

/* ---- Atomics ----------------------------------------------------------------------------------------------------- */

/* Which registers an operation takes as data and data2: compare-and-store has what to compare with first. */
enum operands { ONE, TWO_DATA, COMPARE_FIRST };

static int atomic_operands(struct sim_wave *wave, const struct sim_instruction *instruction, enum operands operands,
                           unsigned dwords, struct sim_access *access, uint32_t (*rows[3])[SIM_LANES])
{
    uint32_t(*first)[SIM_LANES] = sim_vector_rows(wave, instruction->src[1], dwords);
    uint32_t(*second)[SIM_LANES] = operands == ONE ? NULL : sim_vector_rows(wave, instruction->src[2], dwords);
    rows[0] = instruction->dst == SIM_NO_OPERAND ? NULL : sim_vector_rows(wave, instruction->dst, dwords);
    rows[1] = operands == COMPARE_FIRST ? second : first;
    rows[2] = operands == COMPARE_FIRST ? first : second;
    *access = (struct sim_access){.lanes = sim_exec(wave), .bytes = 4 * dwords, .alignment = 4 * dwords, .is_write = 1};
    return !wave->faulted && sim_ds_find(wave, instruction, access, (uint32_t)instruction->immediate);
}
static void atomic32(struct sim_wave *wave, const struct sim_instruction *instruction, sim_atomic32 operation,
                     enum operands operands, unsigned flush)
{
    struct sim_access access;
    uint32_t(*rows[3])[SIM_LANES];
    if (atomic_operands(wave, instruction, operands, 1, &access, rows))
        sim_atomic_lanes32(&access, operation, rows[0], rows[1], rows[2], flush, flush);
}
static void atomic64(struct sim_wave *wave, const struct sim_instruction *instruction, sim_atomic64 operation,
                     enum operands operands, unsigned flush)
{
    struct sim_access access;
    uint32_t(*rows[3])[SIM_LANES];
    if (atomic_operands(wave, instruction, operands, 2, &access, rows))
        sim_atomic_lanes64(&access, operation, rows[0], rows[1], rows[2], flush, flush);
}

/* clang-format off */
/* X(opcode's name before and after "_rtn", bits, operation, operands, flush): with and without return. */
#define ATOMICS(X) \
    X(ds_add, _u32, 32, add, ONE, 0) X(ds_sub, _u32, 32, sub, ONE, 0) X(ds_rsub, _u32, 32, rsub, ONE, 0) \
    X(ds_inc, _u32, 32, inc, ONE, 0) X(ds_dec, _u32, 32, dec, ONE, 0) \
    X(ds_min, _i32, 32, smin, ONE, 0) X(ds_max, _i32, 32, smax, ONE, 0) \
    X(ds_min, _u32, 32, umin, ONE, 0) X(ds_max, _u32, 32, umax, ONE, 0) \
    X(ds_and, _b32, 32, and, ONE, 0) X(ds_or, _b32, 32, or, ONE, 0) X(ds_xor, _b32, 32, xor, ONE, 0) \
    X(ds_mskor, _b32, 32, mskor, TWO_DATA, 0) X(ds_cmpst, _b32, 32, cmpswap, COMPARE_FIRST, 0) \
    X(ds_cmpst, _f32, 32, cmpswap_f32, COMPARE_FIRST, sim_lds_flush32(wave)) \
    X(ds_min, _f32, 32, min_f32, ONE, sim_lds_flush32(wave)) X(ds_max, _f32, 32, max_f32, ONE, sim_lds_flush32(wave)) \
    X(ds_add, _f32, 32, add_f32, ONE, sim_lds_flush32(wave)) \
    X(ds_pk_add, _f16, 32, pk_add_f16, ONE, sim_lds_flush16_64(wave)) \
    X(ds_pk_add, _bf16, 32, pk_add_bf16, ONE, sim_lds_flush16_64(wave)) \
    X(ds_add, _u64, 64, add, ONE, 0) X(ds_sub, _u64, 64, sub, ONE, 0) X(ds_rsub, _u64, 64, rsub, ONE, 0) \
    X(ds_inc, _u64, 64, inc, ONE, 0) X(ds_dec, _u64, 64, dec, ONE, 0) \
    X(ds_min, _i64, 64, smin, ONE, 0) X(ds_max, _i64, 64, smax, ONE, 0) \
    X(ds_min, _u64, 64, umin, ONE, 0) X(ds_max, _u64, 64, umax, ONE, 0) \
    X(ds_and, _b64, 64, and, ONE, 0) X(ds_or, _b64, 64, or, ONE, 0) X(ds_xor, _b64, 64, xor, ONE, 0) \
    X(ds_mskor, _b64, 64, mskor, TWO_DATA, 0) X(ds_cmpst, _b64, 64, cmpswap, COMPARE_FIRST, 0) \
    X(ds_cmpst, _f64, 64, cmpswap_f64, COMPARE_FIRST, sim_lds_flush16_64(wave)) \
    X(ds_min, _f64, 64, min_f64, ONE, sim_lds_flush16_64(wave)) \
    X(ds_max, _f64, 64, max_f64, ONE, sim_lds_flush16_64(wave)) \
    X(ds_add, _f64, 64, add_f64, ONE, 0)
/* These exist with return alone. */
#define EXCHANGES(X) \
    X(ds_wrxchg, _b32, 32, swap, ONE, 0) X(ds_wrxchg, _b64, 64, swap, ONE, 0) X(ds_wrap, _b32, 32, wrap, TWO_DATA, 0)

#define ATOMIC(stem, type, bits, operation, operands, flush)                                                           \
    SIM_DS_FUNCTION(stem##type)                                                                                        \
    {                                                                                                                  \
        atomic##bits(wave, instruction, sim_atomic##bits##_##operation, operands, flush);                              \
    }
ATOMICS(ATOMIC)
EXCHANGES(ATOMIC)

#define BIND(name, data) {#name, name},
#define BIND_NAME(name) {#name, name}
#define BIND_TWO(bits) BIND_NAME(ds_read2_b##bits), BIND_NAME(ds_read2st64_b##bits), BIND_NAME(ds_write2_b##bits), \
    BIND_NAME(ds_write2st64_b##bits), BIND_NAME(ds_wrxchg2_rtn_b##bits), BIND_NAME(ds_wrxchg2st64_rtn_b##bits)
#define BIND_RETURN(stem, type, bits, operation, operands, flush) {#stem "_rtn" #type, stem##type},
#define BIND_ATOMIC(stem, type, bits, operation, operands, flush) {#stem #type, stem##type}, \
    BIND_RETURN(stem, type, bits, operation, operands, flush)
static const struct sim_binding entries[] = {
    LOADS(BIND) STORES(BIND) BIND_TWO(32), BIND_TWO(64), ATOMICS(BIND_ATOMIC) EXCHANGES(BIND_RETURN)
};
/* clang-format on */
const struct sim_bindings sim_ds = {entries, sizeof entries / sizeof *entries};
