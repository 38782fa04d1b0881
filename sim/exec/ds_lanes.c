/* ds_lanes.c - DS instructions that exchange data between lanes, or whose address is not a lane's own. */
#include "ds.h"

/* The result's rows, after it was checked that the source exists. */
static void write_row(struct sim_wave *wave, const struct sim_instruction *instruction, const uint32_t *result)
{
    uint32_t(*row)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    if (row)
        sim_write_row(row[0], result, sim_exec(wave));
}

/* ---- Swizzle and permute ----------------------------------------------------------------------------------------- */

static unsigned reversed5(unsigned bits)
{
    return (bits & 1) << 4 | (bits & 2) << 2 | (bits & 4) | (bits & 8) >> 2 | (bits & 16) >> 4;
}

/* The lane that `lane` reads (CDNA4 ISA manual, DS_SWIZZLE_B32). */
static unsigned swizzle_source(unsigned offset, unsigned lane)
{
    const unsigned in_half = lane & 31, half = lane & 32, mask = offset & 31;
    if (offset >= 0xE000) /* FFT */
        return reversed5(in_half) >> __builtin_popcount(mask) | (in_half & mask) | half;
    if (offset >= 0xC000) { /* rotate */
        const unsigned amount = offset >> 5 & 31, to = offset & 0x400 ? in_half - amount : in_half + amount;
        return (((in_half & mask) | (to & ~mask)) & 31) | half;
    }
    if (offset & 0x8000) /* any of four */
        return (lane & ~3u) | (offset >> 2 * (lane & 3) & 3);
    return (((in_half & mask) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)) | half;
}
SIM_DS_FUNCTION(ds_swizzle_b32)
{
    const uint64_t exec = sim_exec(wave);
    uint32_t(*row)[SIM_LANES] = sim_vector_rows(wave, instruction->src[0], 1), result[SIM_LANES];
    wave->lines_touched = 0;
    if (!row)
        return;
    for (unsigned lane = 0; lane < SIM_LANES; lane++) {
        const unsigned source = swizzle_source((uint32_t)instruction->immediate, lane);
        result[lane] = exec >> source & 1 ? row[0][source] : 0;
    }
    write_row(wave, instruction, result);
}

static unsigned permuted(const struct sim_instruction *instruction, uint32_t address)
{
    return (address + (uint32_t)instruction->immediate) / 4 % SIM_LANES;
}
/* Forward: of several lanes that send to one, the highest wins. */
SIM_DS_FUNCTION(ds_permute_b32)
{
    uint32_t(*address)[SIM_LANES] = sim_vector_rows(wave, instruction->src[0], 1);
    uint32_t(*data)[SIM_LANES] = sim_vector_rows(wave, instruction->src[1], 1), result[SIM_LANES] = {0};
    wave->lines_touched = 0;
    if (!address || !data)
        return;
    unsigned lane;
    SIM_EACH_ACTIVE(lane, sim_exec(wave)) result[permuted(instruction, address[0][lane])] = data[0][lane];
    write_row(wave, instruction, result);
}
SIM_DS_FUNCTION(ds_bpermute_b32)
{
    const uint64_t exec = sim_exec(wave);
    uint32_t(*address)[SIM_LANES] = sim_vector_rows(wave, instruction->src[0], 1);
    uint32_t(*data)[SIM_LANES] = sim_vector_rows(wave, instruction->src[1], 1), result[SIM_LANES];
    wave->lines_touched = 0;
    if (!address || !data)
        return;
    for (unsigned lane = 0; lane < SIM_LANES; lane++) {
        const unsigned source = permuted(instruction, address[0][lane]);
        result[lane] = exec >> source & 1 ? data[0][source] : 0;
    }
    write_row(wave, instruction, result);
}

/* ---- Addresses from M0 ------------------------------------------------------------------------------------------- */

/* M0[15:0] plus the offset, and four bytes a lane. */
static int find_by_lane(struct sim_wave *wave, const struct sim_instruction *instruction, struct sim_access *access)
{
    uint32_t address[SIM_LANES];
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        address[lane] = (wave->sgpr[SIM_M0] & 0xFFFF) + (uint32_t)instruction->immediate + 4 * lane;
    return sim_ds_is_local(wave, instruction) && sim_find_lds(wave, access, address);
}
SIM_DS_FUNCTION(ds_read_addtid_b32)
{
    struct sim_access access = {.lanes = sim_exec(wave), .bytes = 4, .alignment = 1};
    uint32_t(*row)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    if (row && find_by_lane(wave, instruction, &access))
        sim_load_lanes(row, &access, SIM_DWORD_1);
}
SIM_DS_FUNCTION(ds_write_addtid_b32)
{
    struct sim_access access = {.lanes = sim_exec(wave), .bytes = 4, .alignment = 1, .is_write = 1};
    uint32_t(*row)[SIM_LANES] = sim_vector_rows(wave, instruction->src[1], 1);
    if (row && find_by_lane(wave, instruction, &access))
        sim_store_lanes(&access, row, SIM_DWORD_1);
}

/* One counter for the wave, changed by how many lanes are active. The manual has its address in the offset alone; LLVM,
 * which makes these of address space 3's counters, puts the counter's address into M0. */
static void count_lanes(struct sim_wave *wave, const struct sim_instruction *instruction, int subtract)
{
    const uint64_t exec = sim_exec(wave);
    struct sim_access access = {.lanes = exec & (0 - exec), .bytes = 4, .alignment = 4, .is_write = 1};
    uint32_t address[SIM_LANES], result[SIM_LANES];
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        address[lane] = (wave->sgpr[SIM_M0] & 0xFFFF) + (uint32_t)instruction->immediate;
    if (!sim_ds_is_local(wave, instruction) || exec == 0 || !sim_find_lds(wave, &access, address))
        return;
    unsigned char *counter = access.pointer[__builtin_ctzll(exec)];
    const uint32_t old = sim_load32(counter), lanes = (uint32_t)__builtin_popcountll(exec);
    const uint32_t new = subtract ? old - lanes : old + lanes;
    memcpy(counter, &new, sizeof new);
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        result[lane] = old;
    write_row(wave, instruction, result);
}
SIM_DS_FUNCTION(ds_append)
{
    count_lanes(wave, instruction, 0);
}
SIM_DS_FUNCTION(ds_consume)
{
    count_lanes(wave, instruction, 1);
}

/* Each half of the data is written, without its highest bit, where that bit is set. */
SIM_DS_FUNCTION(ds_condxchg32_rtn_b64)
{
    uint32_t(*address)[SIM_LANES] = sim_vector_rows(wave, instruction->src[0], 1), aligned[SIM_LANES];
    uint32_t(*data)[SIM_LANES] = sim_vector_rows(wave, instruction->src[1], 2);
    uint32_t(*old)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 2);
    struct sim_access access = {.lanes = sim_exec(wave), .bytes = 8, .alignment = 8, .is_write = 1};
    if (!address || !data || !old || !sim_ds_is_local(wave, instruction))
        return;
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        aligned[lane] = (address[0][lane] + (uint32_t)instruction->immediate) & 0xFFF8;
    if (!sim_find_lds(wave, &access, aligned))
        return;
    unsigned lane;
    SIM_EACH_ACTIVE(lane, access.lanes)
    for (unsigned half = 0; half < 2; half++) {
        unsigned char *memory = access.pointer[lane] + (size_t)4 * half;
        const uint32_t value = data[half][lane], written = value & INT32_MAX;
        old[half][lane] = sim_load32(memory);
        if (value >> 31)
            memcpy(memory, &written, sizeof written);
    }
}

/* ---- Transposed reads (gfx950) ----------------------------------------------------------------------------------- */

/* 16 lanes read 64 or 96 bits each and hold, one lane after the other, the rows of a matrix of 16 columns; lane l of them
 * receives column l. The manual (CDNA4, 11.4) leaves the order of lanes open; it is what Triton's and MLIR's lowering to
 * these instructions rely on. EXEC must be all ones and addresses aligned, it says; 96 bits need 16 bytes. */
static void read_transposed(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned dwords,
                            unsigned element_bits)
{
    const unsigned elements = 32 * dwords / element_bits;
    struct sim_access access = {.lanes = sim_exec(wave), .bytes = 4 * dwords, .alignment = dwords == 2 ? 8 : 16};
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, dwords);
    if (!rows)
        return;
    if (access.lanes != UINT64_MAX) {
        sim_fault(wave, "%s with EXEC 0x%016llx: AMD's manual defines it for all lanes active only",
                  instruction->opcode->name, (unsigned long long)access.lanes);
        return;
    }
    if (!sim_ds_find(wave, instruction, &access, (uint32_t)instruction->immediate))
        return;
    uint32_t read[SIM_LANES][3], written[SIM_LANES][3] = {{0}};
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        memcpy(read[lane], access.pointer[lane], access.bytes);
    for (unsigned lane = 0; lane < SIM_LANES; lane++) {
        for (unsigned row = 0; row < elements; row++) {
            const unsigned place = 16 * row + lane % 16, source = (lane & ~15u) + place / elements;
            for (unsigned bit = 0; bit < element_bits; bit++) {
                const unsigned from = place % elements * element_bits + bit, to = row * element_bits + bit;
                written[lane][to / 32] |= (read[source][from / 32] >> from % 32 & 1) << to % 32;
            }
        }
    }
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        for (unsigned i = 0; i < dwords; i++)
            rows[i][lane] = written[lane][i];
}
SIM_DS_FUNCTION(ds_read_b64_tr_b4)
{
    read_transposed(wave, instruction, 2, 4);
}
SIM_DS_FUNCTION(ds_read_b96_tr_b6)
{
    read_transposed(wave, instruction, 3, 6);
}
SIM_DS_FUNCTION(ds_read_b64_tr_b8)
{
    read_transposed(wave, instruction, 2, 8);
}
SIM_DS_FUNCTION(ds_read_b64_tr_b16)
{
    read_transposed(wave, instruction, 2, 16);
}

SIM_DS_FUNCTION(ds_nop)
{
    (void)instruction;
    wave->lines_touched = 0;
}

/* clang-format off */
#define BIND(name) {#name, name}
static const struct sim_binding entries[] = {
    BIND(ds_swizzle_b32), BIND(ds_permute_b32), BIND(ds_bpermute_b32), BIND(ds_read_addtid_b32),
    BIND(ds_write_addtid_b32), BIND(ds_append), BIND(ds_consume), BIND(ds_condxchg32_rtn_b64), BIND(ds_read_b64_tr_b4),
    BIND(ds_read_b96_tr_b6), BIND(ds_read_b64_tr_b8), BIND(ds_read_b64_tr_b16), BIND(ds_nop),
};
/* clang-format on */
const struct sim_bindings sim_ds_lanes = {entries, sizeof entries / sizeof *entries};
