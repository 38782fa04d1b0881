/* scalar_alu.c - scalar arithmetic, logic, moves and comparisons (SOP2, SOP1, SOPC, SOPK), as AMD's CDNA3 and CDNA4 ISA
 * manuals define them (chapter 12). Opcodes whose line does not mention scc leave it alone. */
#include "scalar.h"

/* ---- SOP2 -------------------------------------------------------------------------------------------------------- */

SIM_SOP2(s_add_u32, u32, u32, u32, d = a + b; scc = d < a)
SIM_SOP2(s_sub_u32, u32, u32, u32, d = a - b; scc = b > a)
SIM_SOP2(s_add_i32, u32, u32, u32, d = a + b; scc = (~(a ^ b) & (a ^ d)) >> 31)
SIM_SOP2(s_sub_i32, u32, u32, u32, d = a - b; scc = ((a ^ b) & (a ^ d)) >> 31)
SIM_SOP2(s_addc_u32, u32, u32, u32, uint64_t sum = (uint64_t)a + b + scc; d = (uint32_t)sum;
         scc = (uint32_t)(sum >> 32))
SIM_SOP2(s_subb_u32, u32, u32, u32, d = a - b - scc; scc = (uint64_t)b + scc > a)
SIM_SOP2(s_min_i32, i32, i32, i32, scc = a < b; d = scc ? a : b)
SIM_SOP2(s_min_u32, u32, u32, u32, scc = a < b; d = scc ? a : b)
SIM_SOP2(s_max_i32, i32, i32, i32, scc = a >= b; d = scc ? a : b)
SIM_SOP2(s_max_u32, u32, u32, u32, scc = a >= b; d = scc ? a : b)
SIM_SOP2(s_cselect_b32, u32, u32, u32, d = scc ? a : b)
SIM_SOP2(s_cselect_b64, u64, u64, u64, d = scc ? a : b)

#define LOGIC(name, expression) \
    SIM_SOP2(s_##name##_b32, u32, u32, u32, d = (expression); scc = d != 0) \
    SIM_SOP2(s_##name##_b64, u64, u64, u64, d = (expression); scc = d != 0)
/* clang-format off */
LOGIC(and, a & b)
LOGIC(or, a | b)
LOGIC(xor, a ^ b)
LOGIC(andn2, a & ~b)
LOGIC(orn2, a | ~b)
LOGIC(nand, ~(a & b))
LOGIC(nor, ~(a | b))
LOGIC(xnor, ~(a ^ b))
/* clang-format on */

SIM_SOP2(s_lshl_b32, u32, u32, u32, d = a << (b & 31); scc = d != 0)
SIM_SOP2(s_lshl_b64, u64, u64, u32, d = a << (b & 63); scc = d != 0)
SIM_SOP2(s_lshr_b32, u32, u32, u32, d = a >> (b & 31); scc = d != 0)
SIM_SOP2(s_lshr_b64, u64, u64, u32, d = a >> (b & 63); scc = d != 0)
SIM_SOP2(s_ashr_i32, i32, i32, u32, d = a >> (b & 31); scc = d != 0)
SIM_SOP2(s_ashr_i64, i64, i64, u32, d = a >> (b & 63); scc = d != 0)
SIM_SOP2(s_bfm_b32, u32, u32, u32, d = ((1u << (a & 31)) - 1) << (b & 31))
SIM_SOP2(s_bfm_b64, u64, u32, u32, d = ((1ull << (a & 63)) - 1) << (b & 63))

/* Bit fields: b has the offset in its low bits and the size, 0 to 127, in 22:16. */
static uint64_t field(uint64_t shifted, unsigned size)
{
    return size >= 64 ? shifted : shifted & ((1ull << size) - 1);
}
static int64_t signed_field(int64_t shifted, unsigned size)
{
    if (size == 0)
        return 0;
    return size >= 64 ? shifted : (int64_t)((uint64_t)shifted << (64 - size)) >> (64 - size);
}
SIM_SOP2(s_bfe_u32, u32, u32, u32, d = (uint32_t)field(a >> (b & 31), b >> 16 & 127); scc = d != 0)
SIM_SOP2(s_bfe_i32, i32, i32, u32, d = (int32_t)signed_field(a >> (b & 31), b >> 16 & 127); scc = d != 0)
SIM_SOP2(s_bfe_u64, u64, u64, u32, d = field(a >> (b & 63), b >> 16 & 127); scc = d != 0)
SIM_SOP2(s_bfe_i64, i64, i64, u32, d = signed_field(a >> (b & 63), b >> 16 & 127); scc = d != 0)

SIM_SOP2(s_mul_i32, u32, u32, u32, d = 1u * a * b)
SIM_SOP2(s_mul_hi_u32, u32, u32, u32, d = (uint32_t)((uint64_t)a * b >> 32))
SIM_SOP2(s_mul_hi_i32, i32, i32, i32, d = (int32_t)((int64_t)a * b >> 32))
SIM_SOP2(s_absdiff_i32, u32, u32, u32, d = a - b; d = d >> 31 ? 0 - d : d; scc = d != 0)

#define SHIFT_ADD(name, amount) \
    SIM_SOP2(name, u32, u32, u32, uint64_t sum = ((uint64_t)a << (amount)) + b; d = (uint32_t)sum; \
             scc = sum > UINT32_MAX)
SHIFT_ADD(s_lshl1_add_u32, 1)
SHIFT_ADD(s_lshl2_add_u32, 2)
SHIFT_ADD(s_lshl3_add_u32, 3)
SHIFT_ADD(s_lshl4_add_u32, 4)

SIM_SOP2(s_pack_ll_b32_b16, u32, u32, u32, d = b << 16 | (a & 0xFFFF))
SIM_SOP2(s_pack_lh_b32_b16, u32, u32, u32, d = (b & 0xFFFF0000) | (a & 0xFFFF))
SIM_SOP2(s_pack_hh_b32_b16, u32, u32, u32, d = (b & 0xFFFF0000) | a >> 16)

/* ---- SOP1 -------------------------------------------------------------------------------------------------------- */

SIM_SOP1(s_mov_b32, u32, u32, d = a)
SIM_SOP1(s_mov_b64, u64, u64, d = a)
SIM_SOP1(s_not_b32, u32, u32, d = ~a; scc = d != 0)
SIM_SOP1(s_not_b64, u64, u64, d = ~a; scc = d != 0)
SIM_SOP1(s_abs_i32, u32, u32, d = a >> 31 ? 0 - a : a; scc = d != 0)
SIM_SOP1(s_sext_i32_i8, i32, u32, d = (int8_t)a)
SIM_SOP1(s_sext_i32_i16, i32, u32, d = (int16_t)a)

SIM_SCALAR_FUNCTION(s_cmov_b32)
{
    const uint32_t a = sim_scalar_read_u32(wave, instruction, instruction->src[0]);
    if (wave->scc)
        sim_scalar_write_u32(wave, instruction->dst, a);
}
SIM_SCALAR_FUNCTION(s_cmov_b64)
{
    const uint64_t a = sim_scalar_read_u64(wave, instruction, instruction->src[0]);
    if (wave->scc)
        sim_scalar_write_u64(wave, instruction->dst, a);
}

static uint64_t reversed(uint64_t bits)
{
    uint64_t result = 0;
    for (int i = 0; i < 64; i++)
        result |= (bits >> i & 1) << (63 - i);
    return result;
}
SIM_SOP1(s_brev_b32, u32, u32, d = (uint32_t)(reversed(a) >> 32))
SIM_SOP1(s_brev_b64, u64, u64, d = reversed(a))

SIM_SOP1(s_bcnt0_i32_b32, u32, u32, d = 32 - (uint32_t)__builtin_popcount(a); scc = d != 0)
SIM_SOP1(s_bcnt0_i32_b64, u32, u64, d = 64 - (uint32_t)__builtin_popcountll(a); scc = d != 0)
SIM_SOP1(s_bcnt1_i32_b32, u32, u32, d = (uint32_t)__builtin_popcount(a); scc = d != 0)
SIM_SOP1(s_bcnt1_i32_b64, u32, u64, d = (uint32_t)__builtin_popcountll(a); scc = d != 0)

/* -1: no such bit. */
static int32_t lowest_one(uint64_t bits)
{
    return bits ? __builtin_ctzll(bits) : -1;
}
static int32_t zeros_above_ones(uint64_t bits, int width)
{
    return bits ? __builtin_clzll(bits) - (64 - width) : -1;
}
SIM_SOP1(s_ff0_i32_b32, i32, u32, d = lowest_one(~a))
SIM_SOP1(s_ff0_i32_b64, i32, u64, d = lowest_one(~a))
SIM_SOP1(s_ff1_i32_b32, i32, u32, d = lowest_one(a))
SIM_SOP1(s_ff1_i32_b64, i32, u64, d = lowest_one(a))
SIM_SOP1(s_flbit_i32_b32, i32, u32, d = zeros_above_ones(a, 32))
SIM_SOP1(s_flbit_i32_b64, i32, u64, d = zeros_above_ones(a, 64))
SIM_SOP1(s_flbit_i32, i32, i32, d = zeros_above_ones((uint32_t)(a < 0 ? ~a : a), 32))
SIM_SOP1(s_flbit_i32_i64, i32, i64, d = zeros_above_ones((uint64_t)(a < 0 ? ~a : a), 64))

/* d is read and changed. */
#define BIT_SET(name, type, expression) \
    SIM_SOP1(name, type, u32, d = sim_scalar_read_##type(wave, instruction, instruction->dst); d = (expression))
BIT_SET(s_bitset0_b32, u32, d & ~(1u << (a & 31)))
BIT_SET(s_bitset1_b32, u32, d | 1u << (a & 31))
BIT_SET(s_bitset0_b64, u64, d & ~(1ull << (a & 63)))
BIT_SET(s_bitset1_b64, u64, d | 1ull << (a & 63))

/* Relative registers: M0 is added to an operand's number. */
static unsigned relative(struct sim_wave *wave, unsigned code, unsigned dwords)
{
    const uint64_t moved = (uint64_t)code + wave->sgpr[SIM_M0];
    if (moved + dwords <= wave->sgpr_limit)
        return (unsigned)moved;
    sim_fault(wave, "s%u indexed by M0 = %u is not one of the wave's %u scalar registers", code, wave->sgpr[SIM_M0],
              wave->sgpr_limit);
    return 0;
}
SIM_SCALAR_FUNCTION(s_movrels_b32)
{
    const unsigned from = relative(wave, instruction->src[0], 1);
    sim_scalar_write_u32(wave, instruction->dst, wave->sgpr[from]);
}
SIM_SCALAR_FUNCTION(s_movrels_b64)
{
    const unsigned from = relative(wave, instruction->src[0], 2);
    sim_scalar_write_u64(wave, instruction->dst, sim_sgpr64(wave, from));
}
SIM_SCALAR_FUNCTION(s_movreld_b32)
{
    const uint32_t a = sim_scalar_read_u32(wave, instruction, instruction->src[0]);
    sim_scalar_write_u32(wave, relative(wave, instruction->dst, 1), a);
}
SIM_SCALAR_FUNCTION(s_movreld_b64)
{
    const uint64_t a = sim_scalar_read_u64(wave, instruction, instruction->src[0]);
    sim_scalar_write_u64(wave, relative(wave, instruction->dst, 2), a);
}

/* ---- SOPC and SOPK ----------------------------------------------------------------------------------------------- */

#define COMPARE_K(name, type, comparison) \
    SIM_SCALAR_FUNCTION(name) \
    { \
        const SIM_SCALAR_C_##type a = sim_scalar_read_##type(wave, instruction, instruction->src[0]); \
        const SIM_SCALAR_C_##type k = K_##type(instruction->immediate); \
        wave->scc = a comparison k; \
    }
#define K_i32(immediate) (immediate)
#define K_u32(immediate) ((uint16_t)(immediate)) /* zero extended */
#define COMPARE(name, comparison) \
    SIM_SOPC(s_cmp_##name##_i32, i32, i32, a comparison b) \
    SIM_SOPC(s_cmp_##name##_u32, u32, u32, a comparison b) \
    COMPARE_K(s_cmpk_##name##_i32, i32, comparison) \
    COMPARE_K(s_cmpk_##name##_u32, u32, comparison)
COMPARE(eq, ==)
COMPARE(lg, !=)
COMPARE(gt, >)
COMPARE(ge, >=)
COMPARE(lt, <)
COMPARE(le, <=)
SIM_SOPC(s_cmp_eq_u64, u64, u64, a == b)
SIM_SOPC(s_cmp_lg_u64, u64, u64, a != b)
SIM_SOPC(s_bitcmp0_b32, u32, u32, ~a >> (b & 31) & 1)
SIM_SOPC(s_bitcmp1_b32, u32, u32, a >> (b & 31) & 1)
SIM_SOPC(s_bitcmp0_b64, u64, u32, ~a >> (b & 63) & 1)
SIM_SOPC(s_bitcmp1_b64, u64, u32, a >> (b & 63) & 1)

SIM_SOPK(s_movk_i32, d = (uint32_t)k)
SIM_SOPK(s_cmovk_i32, d = scc ? (uint32_t)k : d)
SIM_SOPK(s_addk_i32, const uint32_t old = d; d += (uint32_t)k; scc = (~(old ^ (uint32_t)k) & (old ^ d)) >> 31)
SIM_SOPK(s_mulk_i32, d *= (uint32_t)k)

/* clang-format off */
#define BIND(name) {#name, name}
#define BIND_BOTH(name) BIND(s_##name##_b32), BIND(s_##name##_b64)
#define BIND_COMPARE(name) BIND(s_cmp_##name##_i32), BIND(s_cmp_##name##_u32), BIND(s_cmpk_##name##_i32), BIND(s_cmpk_##name##_u32)
static const struct sim_binding entries[] = {
    BIND(s_add_u32), BIND(s_sub_u32), BIND(s_add_i32), BIND(s_sub_i32), BIND(s_addc_u32), BIND(s_subb_u32),
    BIND(s_min_i32), BIND(s_min_u32), BIND(s_max_i32), BIND(s_max_u32), BIND_BOTH(cselect),
    BIND_BOTH(and), BIND_BOTH(or), BIND_BOTH(xor), BIND_BOTH(andn2), BIND_BOTH(orn2), BIND_BOTH(nand), BIND_BOTH(nor),
    BIND_BOTH(xnor), BIND_BOTH(lshl), BIND_BOTH(lshr), BIND(s_ashr_i32), BIND(s_ashr_i64), BIND_BOTH(bfm),
    BIND(s_bfe_u32), BIND(s_bfe_i32), BIND(s_bfe_u64), BIND(s_bfe_i64), BIND(s_mul_i32), BIND(s_mul_hi_u32),
    BIND(s_mul_hi_i32), BIND(s_absdiff_i32), BIND(s_lshl1_add_u32), BIND(s_lshl2_add_u32), BIND(s_lshl3_add_u32),
    BIND(s_lshl4_add_u32), BIND(s_pack_ll_b32_b16), BIND(s_pack_lh_b32_b16), BIND(s_pack_hh_b32_b16),
    BIND_BOTH(mov), BIND_BOTH(cmov), BIND_BOTH(not), BIND(s_abs_i32), BIND(s_sext_i32_i8), BIND(s_sext_i32_i16),
    BIND_BOTH(brev), BIND(s_bcnt0_i32_b32), BIND(s_bcnt0_i32_b64), BIND(s_bcnt1_i32_b32), BIND(s_bcnt1_i32_b64),
    BIND(s_ff0_i32_b32), BIND(s_ff0_i32_b64), BIND(s_ff1_i32_b32), BIND(s_ff1_i32_b64), BIND(s_flbit_i32_b32),
    BIND(s_flbit_i32_b64), BIND(s_flbit_i32), BIND(s_flbit_i32_i64), BIND_BOTH(bitset0), BIND_BOTH(bitset1),
    BIND_BOTH(movrels), BIND_BOTH(movreld),
    BIND_COMPARE(eq), BIND_COMPARE(lg), BIND_COMPARE(gt), BIND_COMPARE(ge), BIND_COMPARE(lt), BIND_COMPARE(le),
    BIND(s_cmp_eq_u64), BIND(s_cmp_lg_u64), BIND_BOTH(bitcmp0), BIND_BOTH(bitcmp1),
    BIND(s_movk_i32), BIND(s_cmovk_i32), BIND(s_addk_i32), BIND(s_mulk_i32),
};
/* clang-format on */
SIM_SCALAR_BINDINGS(sim_scalar_alu, entries);
