/* vector_bits.c - moves, logic, shifts, bit fields and byte permutation of vector instructions. Semantics: AMD's CDNA3 and
 * CDNA4 instruction set manuals.
 */
#include "vector_table.h"

/* ---- Moves and logic ------------------------------------------------------------------------------------------------- */

SIM_VECTOR_1(v_mov_b32, u32, u32, a)
SIM_VECTOR_1(v_mov_b64, u64, u64, a)
SIM_VECTOR_1(v_not_b32, u32, u32, ~a)
SIM_VECTOR_2(v_and_b32, u32, u32, u32, a &b)
SIM_VECTOR_2(v_or_b32, u32, u32, u32, a | b)
SIM_VECTOR_2(v_xor_b32, u32, u32, u32, a ^ b)
SIM_VECTOR_2(v_xnor_b32, u32, u32, u32, ~(a ^ b))
SIM_VECTOR_3(v_and_or_b32, u32, u32, u32, u32, (a & b) | c)
SIM_VECTOR_3(v_or3_b32, u32, u32, u32, u32, a | b | c)
SIM_VECTOR_3(v_bfi_b32, u32, u32, u32, u32, (a & b) | (~a & c))

/* The one opcode here with abs and neg, as if its sources were floats. */
static void v_cndmask_b32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    uint32_t a_buffer[SIM_LANES], b_buffer[SIM_LANES], chosen[SIM_LANES], result[SIM_LANES];
    const uint32_t *a = sim_source32(wave, instruction, 0, SIM_F32, a_buffer);
    const uint32_t *b = sim_source32(wave, instruction, 1, SIM_F32, b_buffer);
    sim_expand_mask(chosen, sim_source_mask(wave, instruction, 2));
    SIM_EACH_LANE(lane) result[lane] = (a[lane] & ~chosen[lane]) | (b[lane] & chosen[lane]);
    sim_write32(wave, instruction, result);
}

/* Any function of three bits: bit 4a + 2b + c of the truth table. */
static inline uint32_t bitop3(uint32_t a, uint32_t b, uint32_t c, unsigned table)
{
    uint32_t result = 0;
    for (unsigned i = 0; i < 8; i++)
        result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c) & -(table >> i & 1);
    return result;
}
SIM_VECTOR_3(v_bitop3_b32, u32, u32, u32, u32, bitop3(a, b, c, instruction->truth_table))
SIM_VECTOR_3(v_bitop3_b16, keep16, u16, u16, u16, bitop3(a, b, c, instruction->truth_table))

/* ---- Shifts: by the low bits of the amount ------------------------------------------------------------------------------- */

SIM_VECTOR_2(v_lshlrev_b32, u32, u32, u32, b << (a & 31))
SIM_VECTOR_2(v_lshrrev_b32, u32, u32, u32, b >> (a & 31))
SIM_VECTOR_2(v_ashrrev_i32, i32, u32, i32, b >> (a & 31))
SIM_VECTOR_2(v_lshlrev_b64, u64, u32, u64, b << (a & 63))
SIM_VECTOR_2(v_lshrrev_b64, u64, u32, u64, b >> (a & 63))
SIM_VECTOR_2(v_ashrrev_i64, i64, u32, i64, b >> (a & 63))
SIM_VECTOR_2(v_lshlrev_b16, u16, u16, u16, (uint32_t)b << (a & 15))
SIM_VECTOR_2(v_lshrrev_b16, u16, u16, u16, b >> (a & 15))
SIM_VECTOR_2(v_ashrrev_i16, i16, u16, i16, b >> (a & 15))
SIM_VECTOR_3(v_lshl_or_b32, u32, u32, u32, u32, a << (b & 31) | c)

/* Of the 64 bits {a, b}, those from bit or byte c on. op_sel may take c from a register's high half. */
SIM_VECTOR_3(v_alignbit_b32, u32, u32, u32, u16, ((uint64_t)a << 32 | b) >> (c & 31))
SIM_VECTOR_3(v_alignbyte_b32, u32, u32, u32, u16, ((uint64_t)a << 32 | b) >> 8 * (c & 3))

/* Shift two, saturate both to 8 bits, pack. */
static inline uint32_t saturate_8(int32_t value, int32_t low, int32_t high)
{
    return (uint32_t)(value < low ? low : value > high ? high : value) & 0xFF;
}
SIM_VECTOR_3(v_ashr_pk_i8_i32, keep16, i32, i32, u32,
             saturate_8(a >> (c & 31), -128, 127) | saturate_8(b >> (c & 31), -128, 127) << 8)
SIM_VECTOR_3(v_ashr_pk_u8_i32, keep16, i32, i32, u32,
             saturate_8(a >> (c & 31), 0, 255) | saturate_8(b >> (c & 31), 0, 255) << 8)
SIM_VECTOR_1(v_sat_pk_u8_i16, u16, u32, saturate_8((int16_t)a, 0, 255) | saturate_8((int16_t)(a >> 16), 0, 255) << 8)

/* ---- Bit fields ---------------------------------------------------------------------------------------------------------- */

#define LOW_BITS(count) ((1u << ((count)&31)) - 1)
static inline int32_t extend_sign(uint32_t value, unsigned bits)
{
    return bits == 0 ? 0 : (int32_t)(value << (32 - bits)) >> (32 - bits);
}
SIM_VECTOR_3(v_bfe_u32, u32, u32, u32, u32, a >> (b & 31) & LOW_BITS(c))
SIM_VECTOR_3(v_bfe_i32, i32, i32, u32, u32, extend_sign((uint32_t)(a >> (b & 31)), c & 31))
SIM_VECTOR_2(v_bfm_b32, u32, u32, u32, LOW_BITS(a) << (b & 31))

static inline uint32_t reverse_bits(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0F0F0F0F) | (x & 0x0F0F0F0F) << 4;
    x = (x >> 8 & 0x00FF00FF) | (x & 0x00FF00FF) << 8;
    return x >> 16 | x << 16;
}
SIM_VECTOR_1(v_bfrev_b32, u32, u32, reverse_bits(a))

/* First bit that is set, or for i32 that differs from the sign, counted from the high end (h) or the low one (l); -1: none. */
static inline int first_high(uint32_t x)
{
    return x ? __builtin_clz(x) : -1;
}
SIM_VECTOR_1(v_ffbh_u32, i32, u32, first_high(a))
SIM_VECTOR_1(v_ffbh_i32, i32, i32, first_high((uint32_t)(a ^ a >> 31)))
SIM_VECTOR_1(v_ffbl_b32, i32, u32, a ? __builtin_ctz(a) : -1)

static inline uint32_t count_bits(uint32_t x)
{
    x -= x >> 1 & 0x55555555;
    x = (x & 0x33333333) + (x >> 2 & 0x33333333);
    x = (x + (x >> 4)) & 0x0F0F0F0F;
    return x * 0x01010101 >> 24;
}
SIM_VECTOR_2(v_bcnt_u32_b32, u32, u32, u32, count_bits(a) + b)
/* Bits of the mask's low or high half that belong to lanes before this one. */
SIM_VECTOR_2(v_mbcnt_lo_u32_b32, u32, u32, u32, count_bits(a &(lane < 32 ? sim_lane_bit[lane] - 1 : UINT32_MAX)) + b)
SIM_VECTOR_2(v_mbcnt_hi_u32_b32, u32, u32, u32, count_bits(a &(lane < 32 ? 0 : sim_lane_bit[lane] - 1)) + b)

/* A step of a linear feedback shift register. */
SIM_VECTOR_1(v_prng_b32, u32, u32, a << 1 ^ (a >> 31 ? 197 : 0))

/* ---- Bytes --------------------------------------------------------------------------------------------------------------- */

/* Of the eight bytes {a, b} the one that a selector names: 0 to 7 itself (b has 0 to 3), 8 to 11 copies of the sign of b's
 * low and high half and a's low and high half, 12 zeros, above ones. */
static inline uint32_t permuted_byte(uint64_t bytes, uint32_t selector)
{
    if (selector < 8)
        return bytes >> 8 * selector & 0xFF;
    if (selector < 12)
        return bytes >> (16 * (selector - 8) + 15) & 1 ? 0xFF : 0;
    return selector == 12 ? 0 : 0xFF;
}
static inline uint32_t permute(uint64_t bytes, uint32_t selectors)
{
    return permuted_byte(bytes, selectors & 0xFF) | permuted_byte(bytes, selectors >> 8 & 0xFF) << 8 |
           permuted_byte(bytes, selectors >> 16 & 0xFF) << 16 | permuted_byte(bytes, selectors >> 24) << 24;
}
SIM_VECTOR_3(v_perm_b32, u32, u32, u32, u32, permute((uint64_t)a << 32 | b, c))

/* In each byte (a + b + (c & 1)) >> 1. */
SIM_VECTOR_3(v_lerp_u8, u32, u32, u32, u32, (a & b) + ((a ^ b) >> 1 & 0x7F7F7F7F) + ((a ^ b) & c & 0x01010101))

static const struct sim_binding bindings[] = {
    SIM_BIND(v_mov_b32),          SIM_BIND(v_mov_b64),          SIM_BIND(v_not_b32),        SIM_BIND(v_and_b32),
    SIM_BIND(v_or_b32),           SIM_BIND(v_xor_b32),          SIM_BIND(v_xnor_b32),       SIM_BIND(v_and_or_b32),
    SIM_BIND(v_or3_b32),          SIM_BIND(v_bfi_b32),          SIM_BIND(v_cndmask_b32),    SIM_BIND(v_bitop3_b32),
    SIM_BIND(v_bitop3_b16),       SIM_BIND(v_lshlrev_b32),      SIM_BIND(v_lshrrev_b32),    SIM_BIND(v_ashrrev_i32),
    SIM_BIND(v_lshlrev_b64),      SIM_BIND(v_lshrrev_b64),      SIM_BIND(v_ashrrev_i64),    SIM_BIND(v_lshlrev_b16),
    SIM_BIND(v_lshrrev_b16),      SIM_BIND(v_ashrrev_i16),      SIM_BIND(v_lshl_or_b32),    SIM_BIND(v_alignbit_b32),
    SIM_BIND(v_alignbyte_b32),    SIM_BIND(v_ashr_pk_i8_i32),   SIM_BIND(v_ashr_pk_u8_i32), SIM_BIND(v_sat_pk_u8_i16),
    SIM_BIND(v_bfe_u32),          SIM_BIND(v_bfe_i32),          SIM_BIND(v_bfm_b32),        SIM_BIND(v_bfrev_b32),
    SIM_BIND(v_ffbh_u32),         SIM_BIND(v_ffbh_i32),         SIM_BIND(v_ffbl_b32),       SIM_BIND(v_bcnt_u32_b32),
    SIM_BIND(v_mbcnt_lo_u32_b32), SIM_BIND(v_mbcnt_hi_u32_b32), SIM_BIND(v_prng_b32),       SIM_BIND(v_perm_b32),
    SIM_BIND(v_lerp_u8),
};
const struct sim_bindings sim_vector_bits = {bindings, sizeof bindings / sizeof *bindings};
