/* buffer.c - MUBUF: loads, stores and atomics on buffers that a resource in four SGPRs describes (AMD's CDNA3 and CDNA4 ISA
 * manuals, 9.1). Format conversion (buffer_load_format_*, MTBUF) is not implemented: those opcodes have no function.
 *
 * What lies outside of a buffer reads as 0 and is not written: kernels rely on it. Loads and stores may be misaligned, as
 * amdhsa configures it; atomics not.
 */
#include "vector_memory.h"

struct resource {
    uint64_t base, stride, records;
    unsigned index_stride;
    int is_swizzled, adds_lane;
};
/* Where a lane is in the buffer. */
struct place {
    uint64_t index[SIM_LANES], offset[SIM_LANES];
    uint64_t scalar_offset; /* is no part of swizzling, nor of range checks */
};
/* How far addresses are checked (9.1.5.1). */
enum check { CHECK_NOTHING, CHECK_OFFSET, CHECK_INDEX };

static int read_resource(struct sim_wave *wave, const struct sim_instruction *instruction, struct resource *resource)
{
    const unsigned code = instruction->src[1];
    if (!sim_has_sgprs(wave, code, 4))
        return 0;
    const uint64_t words = sim_sgpr64(wave, code);
    const uint32_t last = wave->sgpr[code + 3];
    resource->base = words & 0xFFFFFFFFFFFFull;
    resource->adds_lane = last >> 23 & 1;
    /* With the lane added, the data format's field is bits 17:14 of the stride. */
    resource->stride = (words >> 48 & 0x3FFF) | (resource->adds_lane ? (last >> 15 & 15) << 14 : 0);
    resource->is_swizzled = words >> 63 & 1;
    resource->records = wave->sgpr[code + 2];
    resource->index_stride = 8u << (last >> 21 & 3);
    if (resource->adds_lane && instruction->idxen) {
        sim_fault(wave, "%s with idxen on a resource with add_tid_enable: AMD's manual has no range check for it",
                  instruction->opcode->name);
        return 0;
    }
    return 1;
}

static int read_place(struct sim_wave *wave, const struct sim_instruction *instruction, const struct resource *resource,
                      struct place *place)
{
    uint32_t(*rows)[SIM_LANES] = NULL;
    if (instruction->idxen || instruction->offen) {
        rows = sim_vector_rows(wave, instruction->src[0], instruction->idxen && instruction->offen ? 2 : 1);
        if (!rows)
            return 0;
    }
    place->scalar_offset = sim_scalar32(wave, instruction, instruction->src[2], SIM_B32);
    for (unsigned lane = 0; lane < SIM_LANES; lane++) {
        place->index[lane] = (instruction->idxen ? rows[0][lane] : 0) + (resource->adds_lane ? lane : 0);
        place->offset[lane] =
            (uint32_t)instruction->immediate + (instruction->offen ? (uint64_t)rows[instruction->idxen][lane] : 0);
    }
    return !wave->faulted;
}

/* Without a stride an index moves nothing, and the offset alone can leave the buffer. */
static enum check check_of(const struct sim_instruction *instruction, const struct resource *resource)
{
    if (resource->adds_lane)
        return CHECK_NOTHING;
    return instruction->idxen && resource->stride ? CHECK_INDEX : CHECK_OFFSET;
}

/* Of `lanes` those whose byte at offset + `byte` is within the buffer. */
static uint64_t lanes_within(const struct resource *resource, const struct place *place, enum check check,
                             uint64_t lanes, unsigned byte)
{
    uint64_t within = 0;
    unsigned lane;
    if (check == CHECK_NOTHING)
        return lanes;
    SIM_EACH_ACTIVE(lane, lanes)
    within |= (uint64_t)((check == CHECK_INDEX ? place->index[lane] : place->offset[lane] + byte) < resource->records)
              << lane;
    return within;
}

/* gfx9 resources have no field for the size of a swizzle's elements: 4 bytes (LLVM, SIInstrInfo::getScratchRsrcWords23). */
#define ELEMENT_BYTES 4u
static uint64_t address_of(const struct resource *resource, const struct place *place, unsigned lane, unsigned byte)
{
    const uint64_t index = place->index[lane], offset = place->offset[lane] + byte;
    const uint64_t base = resource->base + place->scalar_offset;
    if (!resource->is_swizzled)
        return base + resource->stride * index + offset;
    const uint64_t stride = resource->index_stride;
    return base + (index / stride * resource->stride + offset / ELEMENT_BYTES * ELEMENT_BYTES) * stride +
           index % stride * ELEMENT_BYTES + offset % ELEMENT_BYTES;
}

struct buffer {
    struct resource resource;
    struct place place;
    enum check check;
};
static int read_buffer(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned bytes,
                       struct buffer *buffer)
{
    if (!read_resource(wave, instruction, &buffer->resource) ||
        !read_place(wave, instruction, &buffer->resource, &buffer->place))
        return 0;
    buffer->check = check_of(instruction, &buffer->resource);
    if (buffer->resource.is_swizzled && bytes > ELEMENT_BYTES) {
        sim_fault(wave, "%s moves %u bytes of a swizzled buffer, whose elements are %u bytes",
                  instruction->opcode->name, bytes, ELEMENT_BYTES);
        return 0;
    }
    return 1;
}

/* Pointers of access->lanes to what is `byte` bytes after their offsets. */
static int find(struct sim_wave *wave, struct sim_access *access, const struct buffer *buffer, unsigned byte)
{
    uint64_t address[SIM_LANES];
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        address[lane] = address_of(&buffer->resource, &buffer->place, lane, byte);
    return sim_find_global(wave, access, address);
}

/* The lanes that are within the buffer with all of their bytes. */
static uint64_t lanes_entirely_within(const struct sim_wave *wave, const struct buffer *buffer, unsigned bytes)
{
    return lanes_within(&buffer->resource, &buffer->place, buffer->check, sim_exec(wave), bytes <= 4 ? 0 : bytes - 4);
}

static void clear_rows(uint32_t (*rows)[SIM_LANES], unsigned count, uint64_t lanes)
{
    static const uint32_t zeros[SIM_LANES];
    for (unsigned i = 0; lanes && i < count; i++)
        sim_write_row(rows[i], zeros, lanes);
}

/* Loads and stores of several dwords check each of them: one after the other, unless all are within. */
static void move(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_data data, int is_write)
{
    struct buffer buffer;
    const unsigned dwords = sim_data_dwords(data), bytes = sim_data_bytes(data);
    const uint64_t exec = sim_exec(wave);
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, dwords);
    if (!rows || !read_buffer(wave, instruction, bytes, &buffer))
        return;
    const int together = dwords == 1 || lanes_entirely_within(wave, &buffer, bytes) == exec;
    const unsigned parts = together ? 1 : dwords, part_dwords = together ? dwords : 1;
    const enum sim_data part = together ? data : SIM_DWORD_1;
    struct sim_access access[4];
    uint32_t lines = 0;
    for (unsigned i = 0; i < parts; i++) {
        access[i] = (struct sim_access){.bytes = sim_data_bytes(part), .alignment = 1, .is_write = is_write};
        access[i].lanes = lanes_within(&buffer.resource, &buffer.place, buffer.check, exec, 4 * i);
        if (!find(wave, &access[i], &buffer, 4 * i))
            return;
        lines = wave->lines_touched > lines ? wave->lines_touched : lines; /* parts share their lines */
    }
    wave->lines_touched = lines;
    for (unsigned i = 0; i < parts; i++) {
        uint32_t(*part_rows)[SIM_LANES] = rows + (size_t)i * part_dwords;
        if (is_write) {
            sim_store_lanes(&access[i], part_rows, part);
            continue;
        }
        clear_rows(part_rows, part_dwords, exec & ~access[i].lanes);
        sim_load_lanes(part_rows, &access[i], part);
    }
}

static void load_lds(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_data data)
{
    struct buffer buffer;
    struct sim_access access = {.bytes = sim_data_bytes(data), .alignment = 1};
    if (!read_buffer(wave, instruction, access.bytes, &buffer))
        return;
    access.lanes = lanes_entirely_within(wave, &buffer, access.bytes);
    if (find(wave, &access, &buffer, 0))
        sim_load_to_lds(wave, &access, sim_exec(wave), data, (uint32_t)instruction->immediate);
}

static void load(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_data data)
{
    if (instruction->lds)
        load_lds(wave, instruction, data);
    else
        move(wave, instruction, data, 0);
}
static void store(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_data data)
{
    move(wave, instruction, data, 1);
}

/* The data registers have the operand, then what cmpswap compares with; sc0 returns what memory had, 0 outside of it. */
static int atomic_operands(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned dwords,
                           int compares, struct sim_access *access, uint32_t (*rows[3])[SIM_LANES])
{
    struct buffer buffer;
    *access = (struct sim_access){.bytes = 4 * dwords, .alignment = 4 * dwords, .is_write = 1};
    rows[1] = sim_vector_rows(wave, instruction->dst, compares ? 2 * dwords : dwords);
    if (!rows[1] || !read_buffer(wave, instruction, access->bytes, &buffer))
        return 0;
    rows[0] = instruction->glc ? rows[1] : NULL;
    rows[2] = compares ? rows[1] + dwords : NULL;
    access->lanes = lanes_entirely_within(wave, &buffer, access->bytes);
    return find(wave, access, &buffer, 0);
}
static void atomic32(struct sim_wave *wave, const struct sim_instruction *instruction, sim_atomic32 operation,
                     int compares)
{
    struct sim_access access;
    uint32_t(*rows[3])[SIM_LANES];
    if (!atomic_operands(wave, instruction, 1, compares, &access, rows))
        return;
    sim_atomic_lanes32(&access, operation, rows[0], rows[1], rows[2], SIM_FLUSH_NOTHING, SIM_FLUSH_NOTHING);
    if (rows[0])
        clear_rows(rows[0], 1, sim_exec(wave) & ~access.lanes);
}
static void atomic64(struct sim_wave *wave, const struct sim_instruction *instruction, sim_atomic64 operation,
                     int compares)
{
    struct sim_access access;
    uint32_t(*rows[3])[SIM_LANES];
    if (!atomic_operands(wave, instruction, 2, compares, &access, rows))
        return;
    sim_atomic_lanes64(&access, operation, rows[0], rows[1], rows[2], SIM_FLUSH_NOTHING, SIM_FLUSH_NOTHING);
    if (rows[0])
        clear_rows(rows[0], 2, sim_exec(wave) & ~access.lanes);
}

#define FUNCTION(name, statement) \
    static void name(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        statement; \
    }
/* Memory is coherent here. */
FUNCTION(nothing, (void)instruction; wave->lines_touched = 0)

/* clang-format off */
#define LOADS(X) \
    X(buffer_load_ubyte, SIM_U8) X(buffer_load_sbyte, SIM_I8) X(buffer_load_ushort, SIM_U16) \
    X(buffer_load_sshort, SIM_I16) X(buffer_load_ubyte_d16, SIM_U8_D16) X(buffer_load_sbyte_d16, SIM_I8_D16) \
    X(buffer_load_short_d16, SIM_U16_D16) X(buffer_load_ubyte_d16_hi, SIM_U8_D16_HI) \
    X(buffer_load_sbyte_d16_hi, SIM_I8_D16_HI) X(buffer_load_short_d16_hi, SIM_U16_D16_HI) \
    X(buffer_load_dword, SIM_DWORD_1) X(buffer_load_dwordx2, SIM_DWORD_2) X(buffer_load_dwordx3, SIM_DWORD_3) \
    X(buffer_load_dwordx4, SIM_DWORD_4)
#define STORES(X) \
    X(buffer_store_byte, SIM_U8) X(buffer_store_short, SIM_U16) X(buffer_store_byte_d16_hi, SIM_U8_D16_HI) \
    X(buffer_store_short_d16_hi, SIM_U16_D16_HI) X(buffer_store_dword, SIM_DWORD_1) \
    X(buffer_store_dwordx2, SIM_DWORD_2) X(buffer_store_dwordx3, SIM_DWORD_3) X(buffer_store_dwordx4, SIM_DWORD_4)
#define INTEGER_ATOMIC(X, name, compares) \
    X(buffer_atomic_##name, 32, name, compares) X(buffer_atomic_##name##_x2, 64, name, compares)
#define ATOMICS(X) \
    INTEGER_ATOMIC(X, swap, 0) INTEGER_ATOMIC(X, cmpswap, 1) INTEGER_ATOMIC(X, add, 0) INTEGER_ATOMIC(X, sub, 0) \
    INTEGER_ATOMIC(X, smin, 0) INTEGER_ATOMIC(X, umin, 0) INTEGER_ATOMIC(X, smax, 0) INTEGER_ATOMIC(X, umax, 0) \
    INTEGER_ATOMIC(X, and, 0) INTEGER_ATOMIC(X, or, 0) INTEGER_ATOMIC(X, xor, 0) INTEGER_ATOMIC(X, inc, 0) \
    INTEGER_ATOMIC(X, dec, 0) \
    X(buffer_atomic_add_f32, 32, add_f32, 0) X(buffer_atomic_pk_add_f16, 32, pk_add_f16, 0) \
    X(buffer_atomic_pk_add_bf16, 32, pk_add_bf16, 0) X(buffer_atomic_add_f64, 64, add_f64, 0) \
    X(buffer_atomic_min_f64, 64, min_f64, 0) X(buffer_atomic_max_f64, 64, max_f64, 0)
/* clang-format on */
#define LOAD(name, data) FUNCTION(name, load(wave, instruction, data))
#define STORE(name, data) FUNCTION(name, store(wave, instruction, data))
#define ATOMIC(name, bits, operation, compares) \
    FUNCTION(name, atomic##bits(wave, instruction, sim_atomic##bits##_##operation, compares))
LOADS(LOAD)
STORES(STORE)
ATOMICS(ATOMIC)

#define BIND(name, data) {#name, name},
#define BIND_ATOMIC(name, bits, operation, compares) {#name, name},
static const struct sim_binding entries[] = {LOADS(BIND) STORES(BIND) ATOMICS(BIND_ATOMIC){"buffer_wbl2", nothing},
                                             {"buffer_inv", nothing}};
const struct sim_bindings sim_buffer = {entries, sizeof entries / sizeof *entries};
