/* operands.h - what vector instructions read and write, 64 lanes at a time.
 *
 * An execute function asks for each source as 64 lanes, computes 64 results in a loop that the compiler vectorizes, and
 * hands them to a write function, which applies EXEC (and DPP's masks) and SDWA's or OP_SEL's choice of destination bits:
 *
 *     uint32_t buffer[SIM_LANES], result[SIM_LANES];
 *     const uint32_t *a = sim_source32(wave, instruction, 0, SIM_B32, buffer);
 *     SIM_EACH_LANE(lane) result[lane] = ~a[lane];
 *     sim_write32(wave, instruction, result);
 *
 * vector_table.h makes such functions, one opcode a line. A register that the wave does not have is a sim_fault: the
 * source then reads as 0 and the write does nothing.
 */
#ifndef SIM_OPERANDS_H
#define SIM_OPERANDS_H

#include <stddef.h>
#include <string.h>

#include "../machine/wave.h"

/* How an operand's bits are taken. It decides what constants are, and which modifiers apply: abs and neg to F only, op_sel
 * to 16 bits only, SDWA selects to 16 and 32 bits. */
enum sim_type {
    SIM_B16, /* in bits 15:0 of a lane; the rest is undefined */
    SIM_F16, /* the same */
    SIM_B32,
    SIM_F32,
    SIM_B64, /* literals are extended with zeros */
    SIM_I64, /* literals are extended with their sign */
    SIM_F64  /* literals are bits 63:32 */
};

/* Lanes are independent of each other: what a loop writes is never what another of its iterations reads. GCC is told, so
 * that it vectorizes without checking; clang checks, because its pragma warns where there is nothing to gain. */
#if defined(__clang__)
#define SIM_INDEPENDENT
#else
#define SIM_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define SIM_EACH_LANE(lane) SIM_INDEPENDENT for (int lane = 0; lane < SIM_LANES; lane++)

/* ---- Registers and constants ------------------------------------------------------------------------------------- */

/* The first of `dwords` consecutive vector registers that start at an operand code (VGPR or accumulation register), or
 * NULL after sim_fault. */
uint32_t (*sim_vector_rows(struct sim_wave *wave, unsigned code, unsigned dwords))[SIM_LANES];

/* Whether `dwords` SGPRs from an operand code on exist; otherwise sim_fault. */
int sim_has_sgprs(struct sim_wave *wave, unsigned code, unsigned dwords);

/* What the operand code of a scalar source (SGPR, inline constant, literal, special value) reads as. The 64-bit one takes
 * SGPR pairs. 16-bit types have their value in bits 15:0, and in the others what packed instructions find there. */
uint32_t sim_scalar32(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned code,
                      enum sim_type type);
uint64_t sim_scalar64(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned code,
                      enum sim_type type);

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

/* Out of line: everything but a VGPR without modifiers. */
const uint32_t *sim_source32_other(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned index,
                                   enum sim_type type, uint32_t *buffer);

/* Source `index` of an instruction, with its modifiers: a register's row itself where it has none, else `buffer`. The
 * destination may be the same register: do not write before the last read. */
static inline const uint32_t *sim_source32(struct sim_wave *wave, const struct sim_instruction *instruction,
                                           unsigned index, enum sim_type type, uint32_t *buffer)
{
    const unsigned row = instruction->src[index] - (unsigned)SIM_VGPR_FIRST;
    const int modified =
        instruction->abs | instruction->neg | instruction->op_sel | instruction->is_sdwa | instruction->is_dpp;
    if (row < wave->vgpr_limit && !modified)
        return wave->vgpr[row];
    return sim_source32_other(wave, instruction, index, type, buffer);
}

/* The same without any modifier, for packed instructions, which apply their own. */
const uint32_t *sim_source32_plain(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned index,
                                   enum sim_type type, uint32_t *buffer);

/* A 64-bit source with its modifiers; always in `buffer`, which it returns. */
const uint64_t *sim_source64(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned index,
                             enum sim_type type, uint64_t *buffer);

/* The old value of the 32-bit destination, which accumulating opcodes (v_fmac_f32, v_dot4c_i32_i8) read. */
const uint32_t *sim_destination32(struct sim_wave *wave, const struct sim_instruction *instruction, uint32_t *buffer);

/* A lane mask that an instruction reads: an SGPR pair. */
static inline uint64_t sim_source_mask(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned index)
{
    return sim_scalar64(wave, instruction, instruction->src[index], SIM_B64);
}

/* ---- Lane masks -------------------------------------------------------------------------------------------------- */

#define SIM_BITS_8(bit) \
    1u << (bit), 2u << (bit), 4u << (bit), 8u << (bit), 16u << (bit), 32u << (bit), 64u << (bit), 128u << (bit)
/* Bit `lane % 32`: a table, because SSE2 has no shift by different amounts. */
static const uint32_t sim_lane_bit[SIM_LANES] = {SIM_BITS_8(0), SIM_BITS_8(8), SIM_BITS_8(16), SIM_BITS_8(24),
                                                 SIM_BITS_8(0), SIM_BITS_8(8), SIM_BITS_8(16), SIM_BITS_8(24)};
#undef SIM_BITS_8

/* Bit per lane to all ones or zero per lane. */
static inline void sim_expand_mask(uint32_t *restrict lanes, uint64_t mask)
{
    const uint32_t half[2] = {(uint32_t)mask, (uint32_t)(mask >> 32)};
    for (int lane = 0; lane < 32; lane++)
        lanes[lane] = half[0] & sim_lane_bit[lane] ? UINT32_MAX : 0;
    for (int lane = 32; lane < 64; lane++)
        lanes[lane] = half[1] & sim_lane_bit[lane] ? UINT32_MAX : 0;
}

/* Truth per lane (0, or anything else) to a bit per lane. */
static inline uint64_t sim_collect_mask(const uint32_t *restrict lanes)
{
    uint32_t low = 0, high = 0;
    for (int lane = 0; lane < 32; lane++)
        low |= lanes[lane] ? sim_lane_bit[lane] : 0;
    for (int lane = 32; lane < 64; lane++)
        high |= lanes[lane] ? sim_lane_bit[lane] : 0;
    return low | (uint64_t)high << 32;
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

/* DPP: the active lanes that write, by row_mask, bank_mask and, without bound_control, whether their source exists. */
uint64_t sim_dpp_write_lanes(struct sim_wave *wave, const struct sim_instruction *instruction);

/* The lanes that an instruction writes. */
static inline uint64_t sim_write_lanes(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    return instruction->is_dpp ? sim_dpp_write_lanes(wave, instruction) : sim_exec(wave);
}

/* row[lane] = result[lane] in the lanes of a mask. */
static inline void sim_write_row(uint32_t *restrict row, const uint32_t *restrict result, uint64_t lanes)
{
    if (lanes == UINT64_MAX) {
        memcpy(row, result, SIM_LANES * sizeof *row);
        return;
    }
    uint32_t mask[SIM_LANES];
    sim_expand_mask(mask, lanes);
    for (int lane = 0; lane < SIM_LANES; lane++)
        row[lane] = (result[lane] & mask[lane]) | (row[lane] & ~mask[lane]);
}

/* Out of line: results that SDWA or DPP places. */
void sim_write32_other(struct sim_wave *wave, const struct sim_instruction *instruction, const uint32_t *result);

/* 32-bit results to `dst`. */
static inline void sim_write32(struct sim_wave *wave, const struct sim_instruction *instruction, const uint32_t *result)
{
    const unsigned row = instruction->dst - (unsigned)SIM_VGPR_FIRST;
    if (row < wave->vgpr_limit && !(instruction->is_sdwa | instruction->is_dpp))
        sim_write_row(wave->vgpr[row], result, sim_exec(wave));
    else
        sim_write32_other(wave, instruction, result);
}

/* 16-bit results (bits 15:0 of each lane, the rest ignored) to `dst`. Which bits 31:16 they leave depends on the opcode:
 * LLVM's GCNSubtarget::zeroesHigh16BitsOfDest, "mostly derived from experimentation", lists those that on gfx9 write
 * zeros: all 16-bit opcodes that gfx8 had, apart from v_mac/v_fmac/v_madmk/v_madak_f16. Opcodes new in gfx9, which have
 * op_sel (v_mad_u16, v_fma_f16, v_med3_i16, v_add_i16, ...), keep the other half. With op_sel's destination bit any of
 * them writes the high half and keeps the low one. */
enum sim_other_half { SIM_ZERO_HIGH, SIM_KEEP_HIGH };
void sim_write16(struct sim_wave *wave, const struct sim_instruction *instruction, const uint32_t *result,
                 enum sim_other_half other_half);

/* 64-bit results to the pair `dst`. */
void sim_write64(struct sim_wave *wave, const struct sim_instruction *instruction, const uint64_t *result);

/* A lane mask (compare, carry out) to the SGPR pair `sdst`. Lanes that are not active are 0. */
void sim_write_mask(struct sim_wave *wave, const struct sim_instruction *instruction, uint64_t mask);

#endif
