/* vector_integer.c - integer arithmetic of vector instructions: sums, products, minima, absolute differences, dot products.
 * Semantics: AMD's CDNA3 and CDNA4 instruction set manuals. Logic and shifts are in vector_bits.c.
 */
#include "vector_table.h"

/* ---- Opcodes that know clamp: the exact value is saturated to the result's type instead of truncated ------------------ */

static inline int64_t saturate(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}
#define SATURATE_u16(value) saturate(value, 0, UINT16_MAX)
#define SATURATE_i16(value) saturate(value, INT16_MIN, INT16_MAX)
#define SATURATE_u32(value) saturate(value, 0, UINT32_MAX)
#define SATURATE_i32(value) saturate(value, INT32_MIN, INT32_MAX)

#define BY_CLAMP(opcode) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        (instruction->clamp ? opcode##_clamped : opcode##_wrapped)(wave, instruction); \
    }
/* `exact` is of type int64_t. T is the type of the sources, and decides how the result saturates; R says how it is
 * written. */
#define CLAMPED_2(opcode, R, T, exact) \
    SIM_VECTOR_2(opcode##_wrapped, R, T, T, exact) \
    SIM_VECTOR_2(opcode##_clamped, R, T, T, SATURATE_##T(exact)) \
    BY_CLAMP(opcode)
#define CLAMPED_3(opcode, R, A, B, T, exact) \
    SIM_VECTOR_3(opcode##_wrapped, R, A, B, T, exact) \
    SIM_VECTOR_3(opcode##_clamped, R, A, B, T, SATURATE_##T(exact)) \
    BY_CLAMP(opcode)

/* Numbers of 24 bits in a lane. */
#define LOW_24(x) ((int64_t)((x)&0xFFFFFF))
static inline int64_t signed_24(uint32_t x)
{
    return (int32_t)(x << 8) >> 8;
}

CLAMPED_2(v_add_u32, u32, u32, (int64_t)a + b)
CLAMPED_2(v_sub_u32, u32, u32, (int64_t)a - b)
CLAMPED_2(v_subrev_u32, u32, u32, (int64_t)b - a)
CLAMPED_2(v_add_i32, i32, i32, (int64_t)a + b)
CLAMPED_2(v_sub_i32, i32, i32, (int64_t)a - b)
CLAMPED_2(v_add_u16, u16, u16, (int64_t)a + b)
CLAMPED_2(v_sub_u16, u16, u16, (int64_t)a - b)
CLAMPED_2(v_subrev_u16, u16, u16, (int64_t)b - a)
CLAMPED_2(v_add_i16, keep16, i16, (int64_t)a + b)
CLAMPED_2(v_sub_i16, keep16, i16, (int64_t)a - b)
CLAMPED_2(v_mul_u32_u24, u32, u32, LOW_24(a) * LOW_24(b))
CLAMPED_2(v_mul_i32_i24, i32, i32, signed_24((uint32_t)a) * signed_24((uint32_t)b))

CLAMPED_3(v_mad_u32_u24, u32, u32, u32, u32, LOW_24(a) * LOW_24(b) + c)
CLAMPED_3(v_mad_i32_i24, i32, u32, u32, i32, signed_24(a) * signed_24(b) + c)
CLAMPED_3(v_mad_u32_u16, u32, u16, u16, u32, (int64_t)a *b + c)
CLAMPED_3(v_mad_i32_i16, i32, i16, i16, i32, (int64_t)a *b + c)
CLAMPED_3(v_mad_u16, keep16, u16, u16, u16, (int64_t)a *b + c)
CLAMPED_3(v_mad_i16, keep16, i16, i16, i16, (int64_t)a *b + c)
CLAMPED_3(v_mad_legacy_u16, u16, u16, u16, u16, (int64_t)a *b + c)
CLAMPED_3(v_mad_legacy_i16, i16, i16, i16, i16, (int64_t)a *b + c)

/* ---- Sums, products and minima without clamp -------------------------------------------------------------------------- */

#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define MEDIAN(x, y, z) MAX(MIN(x, y), MIN(MAX(x, y), z))

SIM_VECTOR_3(v_add3_u32, u32, u32, u32, u32, a + b + c)
SIM_VECTOR_3(v_lshl_add_u32, u32, u32, u32, u32, (a << (b & 31)) + c)
SIM_VECTOR_3(v_add_lshl_u32, u32, u32, u32, u32, (a + b) << (c & 31))
SIM_VECTOR_3(v_lshl_add_u64, u64, u64, u32, u64, (a << (b & 7)) + c)
SIM_VECTOR_3(v_xad_u32, u32, u32, u32, u32, (a ^ b) + c)

SIM_VECTOR_2(v_mul_lo_u32, u32, u32, u32, a *b)
SIM_VECTOR_2(v_mul_hi_u32, u32, u32, u32, (uint64_t)a *b >> 32)
SIM_VECTOR_2(v_mul_hi_i32, i32, i32, i32, (int64_t)a *b >> 32)
SIM_VECTOR_2(v_mul_hi_u32_u24, u32, u32, u32, LOW_24(a) * LOW_24(b) >> 32)
SIM_VECTOR_2(v_mul_hi_i32_i24, i32, u32, u32, signed_24(a) * signed_24(b) >> 32)
SIM_VECTOR_2(v_mul_lo_u16, u16, u16, u16, (uint32_t)a *b)

SIM_VECTOR_2(v_min_u32, u32, u32, u32, MIN(a, b))
SIM_VECTOR_2(v_max_u32, u32, u32, u32, MAX(a, b))
SIM_VECTOR_2(v_min_i32, i32, i32, i32, MIN(a, b))
SIM_VECTOR_2(v_max_i32, i32, i32, i32, MAX(a, b))
SIM_VECTOR_2(v_min_u16, u16, u16, u16, MIN(a, b))
SIM_VECTOR_2(v_max_u16, u16, u16, u16, MAX(a, b))
SIM_VECTOR_2(v_min_i16, i16, i16, i16, MIN(a, b))
SIM_VECTOR_2(v_max_i16, i16, i16, i16, MAX(a, b))
SIM_VECTOR_3(v_min3_u32, u32, u32, u32, u32, MIN(MIN(a, b), c))
SIM_VECTOR_3(v_max3_u32, u32, u32, u32, u32, MAX(MAX(a, b), c))
SIM_VECTOR_3(v_med3_u32, u32, u32, u32, u32, MEDIAN(a, b, c))
SIM_VECTOR_3(v_min3_i32, i32, i32, i32, i32, MIN(MIN(a, b), c))
SIM_VECTOR_3(v_max3_i32, i32, i32, i32, i32, MAX(MAX(a, b), c))
SIM_VECTOR_3(v_med3_i32, i32, i32, i32, i32, MEDIAN(a, b, c))
SIM_VECTOR_3(v_min3_u16, keep16, u16, u16, u16, MIN(MIN(a, b), c))
SIM_VECTOR_3(v_max3_u16, keep16, u16, u16, u16, MAX(MAX(a, b), c))
SIM_VECTOR_3(v_med3_u16, keep16, u16, u16, u16, MEDIAN(a, b, c))
SIM_VECTOR_3(v_min3_i16, keep16, i16, i16, i16, MIN(MIN(a, b), c))
SIM_VECTOR_3(v_max3_i16, keep16, i16, i16, i16, MAX(MAX(a, b), c))
SIM_VECTOR_3(v_med3_i16, keep16, i16, i16, i16, MEDIAN(a, b, c))

/* ---- Carries ------------------------------------------------------------------------------------------------------------- */

/* x op y op carry_in, where carry_in is 0 or 1; with clamp `limit` where that carries. In 32 bits, because SSE2 compares
 * no wider integers. */
#define CARRY(opcode, takes_carry, x, op, y, carries_of, limit) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        SIM_LANES_OF(u32, a, 0) \
        SIM_LANES_OF(u32, b, 1) \
        uint32_t carries[SIM_LANES], result[SIM_LANES], clamped[SIM_LANES]; \
        sim_expand_mask(carries, takes_carry ? sim_source_mask(wave, instruction, 2) : 0); \
        SIM_EACH_LANE(lane) \
        { \
            SIM_VALUE_OF(u32, a) \
            SIM_VALUE_OF(u32, b) \
            const uint32_t carry_in = carries[lane] & 1, first = (x)op(y), value = first op carry_in; \
            carries[lane] = carries_of(x, y, first) | carries_of(first, carry_in, value); \
            result[lane] = value; \
            clamped[lane] = carries[lane] ? limit : value; \
        } \
        sim_write32(wave, instruction, instruction->clamp ? clamped : result); \
        sim_write_mask(wave, instruction, sim_collect_mask(carries)); \
    }
#define SUM_CARRIES(x, y, sum) ((sum) < (x))
#define DIFFERENCE_BORROWS(x, y, difference) ((x) < (y))
CARRY(v_add_co_u32, 0, a, +, b, SUM_CARRIES, UINT32_MAX)
CARRY(v_sub_co_u32, 0, a, -, b, DIFFERENCE_BORROWS, 0)
CARRY(v_subrev_co_u32, 0, b, -, a, DIFFERENCE_BORROWS, 0)
CARRY(v_addc_co_u32, 1, a, +, b, SUM_CARRIES, UINT32_MAX)
CARRY(v_subb_co_u32, 1, a, -, b, DIFFERENCE_BORROWS, 0)
CARRY(v_subbrev_co_u32, 1, b, -, a, DIFFERENCE_BORROWS, 0)

/* 64-bit sums of a 64-bit product: the carry out is bit 64 of the exact sum. */
static void v_mad_u64_u32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    SIM_LANES_OF(u32, a, 0)
    SIM_LANES_OF(u32, b, 1)
    SIM_LANES_OF(u64, c, 2)
    uint64_t result[SIM_LANES];
    uint32_t carries[SIM_LANES];
    SIM_EACH_LANE(lane)
    {
        const uint64_t sum = (uint64_t)a_lanes[lane] * b_lanes[lane] + c_lanes[lane];
        carries[lane] = sum < c_lanes[lane];
        result[lane] = instruction->clamp && carries[lane] ? UINT64_MAX : sum;
    }
    sim_write64(wave, instruction, result);
    sim_write_mask(wave, instruction, sim_collect_mask(carries));
}

static void v_mad_i64_i32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    SIM_LANES_OF(u32, a, 0)
    SIM_LANES_OF(u32, b, 1)
    SIM_LANES_OF(i64, c, 2)
    uint64_t result[SIM_LANES];
    uint32_t carries[SIM_LANES];
    SIM_EACH_LANE(lane)
    {
        const int64_t product = (int64_t)(int32_t)a_lanes[lane] * (int32_t)b_lanes[lane];
        int64_t sum;
        const int overflows = __builtin_add_overflow(product, (int64_t)c_lanes[lane], &sum);
        const int negative = overflows ? sum >= 0 : sum < 0; /* bit 64 of the sign-extended sum */
        carries[lane] = (uint32_t)negative;
        result[lane] = (uint64_t)(!(overflows && instruction->clamp) ? sum : negative ? INT64_MIN : INT64_MAX);
    }
    sim_write64(wave, instruction, result);
    sim_write_mask(wave, instruction, sim_collect_mask(carries));
}

/* ---- Sums of absolute differences ------------------------------------------------------------------------------------------ */

#define BYTE(x, i) ((int32_t)((x) >> 8 * (i)&0xFF))
#define HALF(x, i) ((int32_t)((x) >> 16 * (i)&0xFFFF))

static inline int32_t distance(int32_t x, int32_t y)
{
    return x > y ? x - y : y - x;
}
static inline int64_t sad_u8(uint32_t x, uint32_t y)
{
    return distance(BYTE(x, 0), BYTE(y, 0)) + distance(BYTE(x, 1), BYTE(y, 1)) + distance(BYTE(x, 2), BYTE(y, 2)) +
           distance(BYTE(x, 3), BYTE(y, 3));
}
/* Masked: bytes that are 0 in the reference, the second source, do not count. */
static inline int64_t msad_u8(uint32_t x, uint32_t reference)
{
    int64_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum += BYTE(reference, i) ? distance(BYTE(x, i), BYTE(reference, i)) : 0;
    return sum;
}

CLAMPED_3(v_sad_u8, u32, u32, u32, u32, sad_u8(a, b) + c)
CLAMPED_3(v_sad_hi_u8, u32, u32, u32, u32, (sad_u8(a, b) << 16) + c)
CLAMPED_3(v_sad_u16, u32, u32, u32, u32,
          (int64_t)distance(HALF(a, 0), HALF(b, 0)) + distance(HALF(a, 1), HALF(b, 1)) + c)
CLAMPED_3(v_sad_u32, u32, u32, u32, u32, (int64_t)(a > b ? a - b : b - a) + c)
CLAMPED_3(v_msad_u8, u32, u32, u32, u32, msad_u8(a, b) + c)

/* Four of them at consecutive bytes of a 64-bit source, each added to a 16-bit part of the third. */
#define PACKED_SAD(opcode, sad) \
    static inline uint64_t opcode##_of(uint64_t a, uint32_t b, uint64_t c, int clamp) \
    { \
        uint64_t result = 0; \
        for (int i = 0; i < 4; i++) { \
            const int64_t sum = sad((uint32_t)(a >> 8 * i), b) + (int64_t)(c >> 16 * i & 0xFFFF); \
            result |= (uint64_t)(uint16_t)(clamp ? SATURATE_u16(sum) : sum) << 16 * i; \
        } \
        return result; \
    } \
    SIM_VECTOR_3(opcode, u64, u64, u32, u64, opcode##_of(a, b, c, instruction->clamp))
PACKED_SAD(v_qsad_pk_u16_u8, sad_u8)
PACKED_SAD(v_mqsad_pk_u16_u8, msad_u8)

/* The same with four 32-bit sums in four registers. */
static void v_mqsad_u32_u8(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    SIM_LANES_OF(u64, a, 0)
    SIM_LANES_OF(u32, b, 1)
    if (instruction->src[2] < SIM_VGPR_FIRST) {
        sim_fault(wave, "the addend of v_mqsad_u32_u8 is operand code %u, and a scalar of 128 bits is not modelled",
                  instruction->src[2]);
        return;
    }
    uint32_t(*const sums)[SIM_LANES] = sim_vector_rows(wave, instruction->src[2], 4);
    uint32_t(*const rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 4);
    if (!sums || !rows)
        return;
    uint32_t result[4][SIM_LANES];
    for (int i = 0; i < 4; i++)
        SIM_EACH_LANE(lane)
        {
            const int64_t sum = msad_u8((uint32_t)(a_lanes[lane] >> 8 * i), b_lanes[lane]) + sums[i][lane];
            result[i][lane] = (uint32_t)(instruction->clamp ? SATURATE_u32(sum) : sum);
        }
    for (int i = 0; i < 4; i++)
        sim_write_row(rows[i], result[i], sim_exec(wave));
}

/* ---- Dot products ------------------------------------------------------------------------------------------------------------ */

static inline int64_t dot_signed(uint32_t x, uint32_t y, int bits)
{
    int64_t sum = 0;
    for (int i = 0; i < 32; i += bits)
        sum += (int64_t)((int32_t)(x << (32 - bits - i)) >> (32 - bits)) *
               ((int32_t)(y << (32 - bits - i)) >> (32 - bits));
    return sum;
}
static inline int64_t dot_unsigned(uint32_t x, uint32_t y, int bits)
{
    int64_t sum = 0;
    for (int i = 0; i < 32; i += bits)
        sum += (int64_t)(x << (32 - bits - i) >> (32 - bits)) * (y << (32 - bits - i) >> (32 - bits));
    return sum;
}

CLAMPED_3(v_dot2_i32_i16, i32, u32, u32, i32, dot_signed(a, b, 16) + c)
CLAMPED_3(v_dot4_i32_i8, i32, u32, u32, i32, dot_signed(a, b, 8) + c)
CLAMPED_3(v_dot8_i32_i4, i32, u32, u32, i32, dot_signed(a, b, 4) + c)
CLAMPED_3(v_dot2_u32_u16, u32, u32, u32, u32, dot_unsigned(a, b, 16) + c)
CLAMPED_3(v_dot4_u32_u8, u32, u32, u32, u32, dot_unsigned(a, b, 8) + c)
CLAMPED_3(v_dot8_u32_u4, u32, u32, u32, u32, dot_unsigned(a, b, 4) + c)

/* v_dot*c add to their destination: a type of source that is the destination's old value. */
#define SIM_C_old_i32 int32_t
#define SIM_LANE_old_i32 uint32_t
#define SIM_SOURCE_old_i32(index, buffer) sim_destination32(wave, instruction, buffer)
#define SIM_FROM_old_i32(lane_bits) ((int32_t)(lane_bits))
#define SATURATE_old_i32 SATURATE_i32

CLAMPED_3(v_dot2c_i32_i16, i32, u32, u32, old_i32, dot_signed(a, b, 16) + c)
CLAMPED_3(v_dot4c_i32_i8, i32, u32, u32, old_i32, dot_signed(a, b, 8) + c)
CLAMPED_3(v_dot8c_i32_i4, i32, u32, u32, old_i32, dot_signed(a, b, 4) + c)

static const struct sim_binding bindings[] = {
    SIM_BIND(v_add_u32),        SIM_BIND(v_sub_u32),         SIM_BIND(v_subrev_u32),     SIM_BIND(v_add_i32),
    SIM_BIND(v_sub_i32),        SIM_BIND(v_add_u16),         SIM_BIND(v_sub_u16),        SIM_BIND(v_subrev_u16),
    SIM_BIND(v_add_i16),        SIM_BIND(v_sub_i16),         SIM_BIND(v_mul_u32_u24),    SIM_BIND(v_mul_i32_i24),
    SIM_BIND(v_mad_u32_u24),    SIM_BIND(v_mad_i32_i24),     SIM_BIND(v_mad_u32_u16),    SIM_BIND(v_mad_i32_i16),
    SIM_BIND(v_mad_u16),        SIM_BIND(v_mad_i16),         SIM_BIND(v_mad_legacy_u16), SIM_BIND(v_mad_legacy_i16),
    SIM_BIND(v_add3_u32),       SIM_BIND(v_lshl_add_u32),    SIM_BIND(v_add_lshl_u32),   SIM_BIND(v_lshl_add_u64),
    SIM_BIND(v_xad_u32),        SIM_BIND(v_mul_lo_u32),      SIM_BIND(v_mul_hi_u32),     SIM_BIND(v_mul_hi_i32),
    SIM_BIND(v_mul_hi_u32_u24), SIM_BIND(v_mul_hi_i32_i24),  SIM_BIND(v_mul_lo_u16),     SIM_BIND(v_min_u32),
    SIM_BIND(v_max_u32),        SIM_BIND(v_min_i32),         SIM_BIND(v_max_i32),        SIM_BIND(v_min_u16),
    SIM_BIND(v_max_u16),        SIM_BIND(v_min_i16),         SIM_BIND(v_max_i16),        SIM_BIND(v_min3_u32),
    SIM_BIND(v_max3_u32),       SIM_BIND(v_med3_u32),        SIM_BIND(v_min3_i32),       SIM_BIND(v_max3_i32),
    SIM_BIND(v_med3_i32),       SIM_BIND(v_min3_u16),        SIM_BIND(v_max3_u16),       SIM_BIND(v_med3_u16),
    SIM_BIND(v_min3_i16),       SIM_BIND(v_max3_i16),        SIM_BIND(v_med3_i16),       SIM_BIND(v_add_co_u32),
    SIM_BIND(v_sub_co_u32),     SIM_BIND(v_subrev_co_u32),   SIM_BIND(v_addc_co_u32),    SIM_BIND(v_subb_co_u32),
    SIM_BIND(v_subbrev_co_u32), SIM_BIND(v_mad_u64_u32),     SIM_BIND(v_mad_i64_i32),    SIM_BIND(v_sad_u8),
    SIM_BIND(v_sad_hi_u8),      SIM_BIND(v_sad_u16),         SIM_BIND(v_sad_u32),        SIM_BIND(v_msad_u8),
    SIM_BIND(v_qsad_pk_u16_u8), SIM_BIND(v_mqsad_pk_u16_u8), SIM_BIND(v_mqsad_u32_u8),   SIM_BIND(v_dot2_i32_i16),
    SIM_BIND(v_dot4_i32_i8),    SIM_BIND(v_dot8_i32_i4),     SIM_BIND(v_dot2_u32_u16),   SIM_BIND(v_dot4_u32_u8),
    SIM_BIND(v_dot8_u32_u4),    SIM_BIND(v_dot2c_i32_i16),   SIM_BIND(v_dot4c_i32_i8),   SIM_BIND(v_dot8c_i32_i4),
};
const struct sim_bindings sim_vector_integer = {bindings, sizeof bindings / sizeof *bindings};
