/* vector_convert.c - between integers, floats of several widths, and packed forms of both.
 *
 * To an integer: towards zero unless the opcode says otherwise, the nearest that exists for numbers outside its range, and
 * 0 for NaN. To f16 and to f32 from f64 and integers: rounded as MODE says for the result's width.
 */
#include "../machine/machine.h"
#include "vector_float.h"

#define SOURCE_32(name, index) \
    uint32_t name##_buffer[SIM_LANES]; \
    const uint32_t *const name = sim_float_source32(wave, instruction, index, &mode32, name##_buffer);
#define SOURCE_16(name, index) \
    uint32_t name##_buffer[SIM_LANES]; \
    const uint32_t *const name = sim_float_source16(wave, instruction, index, &mode16, name##_buffer);
#define BITS_32(name, index) \
    uint32_t name##_buffer[SIM_LANES]; \
    const uint32_t *const name = sim_source32(wave, instruction, index, SIM_B32, name##_buffer);
/* A function with both modes at hand. */
#define CONVERT(opcode) \
    static void convert_##opcode(struct sim_wave *wave, const struct sim_instruction *instruction, \
                                 const struct sim_float_mode mode32, const struct sim_float_mode mode16); \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        convert_##opcode(wave, instruction, sim_float_mode(wave, instruction, SIM_SINGLE_32), \
                         sim_float_mode(wave, instruction, SIM_SINGLE_16)); \
    } \
    static void convert_##opcode(struct sim_wave *wave, const struct sim_instruction *instruction, \
                                 const struct sim_float_mode mode32, const struct sim_float_mode mode16)
#define UNUSED_MODES (void)mode32, (void)mode16

/* ---- To integers ----------------------------------------------------------------------------------------------------- */

static int64_t within(double value, double least, double greatest)
{
    return value != value ? 0 : (int64_t)(value < least ? least : value > greatest ? greatest : value);
}

#define TO_INTEGER(opcode, source, of, least, greatest, write, ...) \
    CONVERT(opcode) \
    { \
        UNUSED_MODES; \
        source; \
        uint32_t result[SIM_LANES]; \
        for (int lane = 0; lane < SIM_LANES; lane++) { \
            const double x = of(a[lane]); \
            result[lane] = (uint32_t)within(__VA_ARGS__, least, greatest); \
        } \
        write; \
    }
#define SOURCE_64 \
    uint64_t a_buffer[SIM_LANES]; \
    const uint64_t *const a = sim_float_source64(wave, instruction, 0, &mode16, a_buffer)
#define WRITE_32 sim_write32(wave, instruction, result)
#define WRITE_16 sim_write16(wave, instruction, result, SIM_ZERO_HIGH)

TO_INTEGER(v_cvt_i32_f32, SOURCE_32(a, 0), sim_float_of, INT32_MIN, INT32_MAX, WRITE_32, x)
TO_INTEGER(v_cvt_u32_f32, SOURCE_32(a, 0), sim_float_of, 0, UINT32_MAX, WRITE_32, x)
TO_INTEGER(v_cvt_rpi_i32_f32, SOURCE_32(a, 0), sim_float_of, INT32_MIN, INT32_MAX, WRITE_32, floor(x + 0.5))
TO_INTEGER(v_cvt_flr_i32_f32, SOURCE_32(a, 0), sim_float_of, INT32_MIN, INT32_MAX, WRITE_32, floor(x))
TO_INTEGER(v_cvt_i32_f64, SOURCE_64, sim_double_of, INT32_MIN, INT32_MAX, WRITE_32, x)
TO_INTEGER(v_cvt_u32_f64, SOURCE_64, sim_double_of, 0, UINT32_MAX, WRITE_32, x)
TO_INTEGER(v_cvt_i16_f16, SOURCE_16(a, 0), sim_float_of_half, INT16_MIN, INT16_MAX, WRITE_16, x)
TO_INTEGER(v_cvt_u16_f16, SOURCE_16(a, 0), sim_float_of_half, 0, UINT16_MAX, WRITE_16, x)

/* Normalized: -1 to 1 as -32767 to 32767, or 0 to 1 as 0 to 65535; nearest even. The product is exact in double. */
static uint32_t signed_normalized(double value)
{
    return (uint32_t)within(nearbyint(value * 32767), -32767, 32767) & 0xFFFF;
}
static uint32_t unsigned_normalized(double value)
{
    return (uint32_t)within(nearbyint(value * 65535), 0, 65535);
}
#define NORMALIZED(opcode, of_sign) \
    CONVERT(opcode) \
    { \
        (void)mode32; \
        SOURCE_16(a, 0) \
        uint32_t result[SIM_LANES]; \
        for (int lane = 0; lane < SIM_LANES; lane++) \
            result[lane] = of_sign(sim_float_of_half(a[lane])); \
        WRITE_16; \
    }
#define PACKED_NORMALIZED(opcode, source, of, of_sign) \
    CONVERT(opcode) \
    { \
        UNUSED_MODES; \
        source(a, 0) source(b, 1) uint32_t result[SIM_LANES]; \
        for (int lane = 0; lane < SIM_LANES; lane++) \
            result[lane] = of_sign(of(a[lane])) | of_sign(of(b[lane])) << 16; \
        WRITE_32; \
    }
NORMALIZED(v_cvt_norm_i16_f16, signed_normalized)
NORMALIZED(v_cvt_norm_u16_f16, unsigned_normalized)
PACKED_NORMALIZED(v_cvt_pknorm_i16_f32, SOURCE_32, sim_float_of, signed_normalized)
PACKED_NORMALIZED(v_cvt_pknorm_u16_f32, SOURCE_32, sim_float_of, unsigned_normalized)
PACKED_NORMALIZED(v_cvt_pknorm_i16_f16, SOURCE_16, sim_float_of_half, signed_normalized)
PACKED_NORMALIZED(v_cvt_pknorm_u16_f16, SOURCE_16, sim_float_of_half, unsigned_normalized)

#define NARROWED(opcode, T, least, greatest) \
    CONVERT(opcode) \
    { \
        UNUSED_MODES; \
        BITS_32(a, 0) BITS_32(b, 1) uint32_t result[SIM_LANES]; \
        SIM_EACH_LANE(lane) \
        { \
            const T low = (T)a[lane], high = (T)b[lane]; \
            const uint32_t low16 = (uint32_t)(low < least ? least : low > greatest ? greatest : low); \
            const uint32_t high16 = (uint32_t)(high < least ? least : high > greatest ? greatest : high); \
            result[lane] = (low16 & 0xFFFF) | high16 << 16; \
        } \
        WRITE_32; \
    }
NARROWED(v_cvt_pk_i16_i32, int32_t, INT16_MIN, INT16_MAX)
NARROWED(v_cvt_pk_u16_u32, int64_t, 0, UINT16_MAX)

/* One byte, S1[1:0] says which, of S2 (or of the destination) is replaced. */
static void to_byte(struct sim_wave *wave, const struct sim_instruction *instruction, const uint32_t *rest)
{
    const struct sim_float_mode mode32 = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    SOURCE_32(a, 0)
    BITS_32(which, 1)
    uint32_t result[SIM_LANES];
    for (int lane = 0; lane < SIM_LANES; lane++) {
        const unsigned shift = (which[lane] & 3) * 8;
        const uint32_t byte = (uint32_t)within(sim_float_of(a[lane]), 0, 255);
        result[lane] = (rest[lane] & ~(0xFFu << shift)) | byte << shift;
    }
    WRITE_32;
}
static void v_cvt_pk_u8_f32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    BITS_32(c, 2)
    to_byte(wave, instruction, c);
}
static void v_cvt_pkaccum_u8_f32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    if (rows)
        to_byte(wave, instruction, rows[0]);
}

/* ---- To f32 and f64 -------------------------------------------------------------------------------------------------- */

/* A number that double holds exactly, to f32. */
static uint32_t f32_of(double value, enum sim_round round)
{
    if (round == SIM_ROUND_NEAREST_EVEN)
        return sim_float_bits((float)value);
    return (uint32_t)sim_pack(&sim_f32, sim_unpack(&sim_f64, sim_double_bits(value)), round);
}
#define INTEGER_TO_F32(opcode, ...) \
    CONVERT(opcode) \
    { \
        (void)mode16; \
        BITS_32(a, 0) \
        uint32_t result[SIM_LANES]; \
        for (int lane = 0; lane < SIM_LANES; lane++) \
            result[lane] = f32_of(__VA_ARGS__, mode32.round); \
        sim_finish32(result, &mode32); \
        WRITE_32; \
    }
INTEGER_TO_F32(v_cvt_f32_i32, (int32_t)a[lane])
INTEGER_TO_F32(v_cvt_f32_u32, a[lane])
INTEGER_TO_F32(v_cvt_f32_ubyte0, a[lane] & 0xFF)
INTEGER_TO_F32(v_cvt_f32_ubyte1, a[lane] >> 8 & 0xFF)
INTEGER_TO_F32(v_cvt_f32_ubyte2, a[lane] >> 16 & 0xFF)
INTEGER_TO_F32(v_cvt_f32_ubyte3, a[lane] >> 24)
/* A 4-bit signed number of sixteenths. */
INTEGER_TO_F32(v_cvt_off_f32_i4, ((int32_t)((a[lane] & 15) ^ 8) - 8) * 0x1p-4)

#define INTEGER_TO_F64(opcode, ...) \
    CONVERT(opcode) \
    { \
        (void)mode32; \
        BITS_32(a, 0) \
        uint64_t result[SIM_LANES]; \
        SIM_EACH_LANE(lane) result[lane] = sim_double_bits(__VA_ARGS__); \
        sim_finish64(result, &mode16); \
        sim_write64(wave, instruction, result); \
    }
INTEGER_TO_F64(v_cvt_f64_i32, (double)(int32_t)a[lane])
INTEGER_TO_F64(v_cvt_f64_u32, (double)a[lane])

CONVERT(v_cvt_f32_f64)
{
    SOURCE_64;
    uint32_t result[SIM_LANES];
    for (int lane = 0; lane < SIM_LANES; lane++) {
        const uint32_t nan =
            (uint32_t)(a[lane] >> 32 & 0x80000000) | 0x7F800000 | SIM_QUIET_32 | (uint32_t)(a[lane] >> 29 & 0x3FFFFF);
        result[lane] = sim_is_nan64(a[lane]) ? nan : f32_of(sim_double_of(a[lane]), mode32.round);
    }
    sim_finish32(result, &mode32);
    WRITE_32;
}
CONVERT(v_cvt_f64_f32)
{
    SOURCE_32(a, 0)
    uint64_t result[SIM_LANES];
    for (int lane = 0; lane < SIM_LANES; lane++) {
        const uint64_t nan = (uint64_t)(a[lane] & 0x80000000) << 32 | 0x7FF0000000000000 | SIM_QUIET_64 |
                             (uint64_t)(a[lane] & 0x7FFFFF) << 29;
        result[lane] = sim_is_nan32(a[lane]) ? nan : sim_double_bits((double)sim_float_of(a[lane]));
    }
    sim_finish64(result, &mode16);
    sim_write64(wave, instruction, result);
}
CONVERT(v_cvt_f32_f16)
{
    SOURCE_16(a, 0)
    uint32_t result[SIM_LANES];
    SIM_EACH_LANE(lane) result[lane] = sim_float_bits(sim_float_of_half(a[lane]));
    sim_finish32(result, &mode32);
    WRITE_32;
}
CONVERT(v_cvt_f32_bf16)
{
    (void)mode16;
    uint32_t buffer[SIM_LANES], result[SIM_LANES];
    const uint32_t *const a = sim_source32(wave, instruction, 0, SIM_F16, buffer);
    SIM_EACH_LANE(lane)
    {
        const uint32_t bits = a[lane] << 16;
        result[lane] = sim_is_nan32(bits) ? bits | SIM_QUIET_32 : bits;
    }
    sim_finish32(result, &mode32);
    WRITE_32;
}

/* ---- To f16 and bf16 ------------------------------------------------------------------------------------------------- */

void sim_convert_f32_to_f16(uint32_t *result, const uint32_t *lanes, const struct sim_float_mode *mode)
{
    if (mode->round == SIM_ROUND_NEAREST_EVEN && !mode->saturate) {
        SIM_EACH_LANE(lane) result[lane] = sim_half_of_float(sim_float_of(lanes[lane]));
        return;
    }
    for (int lane = 0; lane < SIM_LANES; lane++) {
        const struct sim_number number = sim_unpack(&sim_f32, lanes[lane]);
        result[lane] = (uint32_t)(mode->saturate ? sim_pack_saturated : sim_pack)(&sim_f16, number, mode->round);
    }
}

CONVERT(v_cvt_f16_f32)
{
    SOURCE_32(a, 0)
    uint32_t result[SIM_LANES];
    sim_convert_f32_to_f16(result, a, &mode16);
    sim_finish16(result, &mode16);
    WRITE_16;
}

/* 16-bit integers are exact in f32. */
#define INTEGER_TO_F16(opcode, C) \
    CONVERT(opcode) \
    { \
        (void)mode32; \
        uint32_t buffer[SIM_LANES], result[SIM_LANES]; \
        const uint32_t *const a = sim_source32(wave, instruction, 0, SIM_B16, buffer); \
        SIM_EACH_LANE(lane) result[lane] = sim_float_bits((float)(C)a[lane]); \
        sim_convert_f32_to_f16(result, result, &mode16); \
        sim_finish16(result, &mode16); \
        WRITE_16; \
    }
INTEGER_TO_F16(v_cvt_f16_i16, int16_t)
INTEGER_TO_F16(v_cvt_f16_u16, uint16_t)

static void to_pair_of_f16(struct sim_wave *wave, const struct sim_instruction *instruction, enum sim_round round)
{
    const struct sim_float_mode mode32 = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    struct sim_float_mode mode16 = sim_float_mode(wave, instruction, SIM_SINGLE_16);
    mode16.round = round;
    SOURCE_32(a, 0)
    SOURCE_32(b, 1)
    uint32_t low[SIM_LANES], high[SIM_LANES];
    sim_convert_f32_to_f16(low, a, &mode16);
    sim_convert_f32_to_f16(high, b, &mode16);
    sim_finish16(low, &mode16);
    sim_finish16(high, &mode16);
    SIM_EACH_LANE(lane) low[lane] = (low[lane] & 0xFFFF) | high[lane] << 16;
    sim_write32(wave, instruction, low);
}
static void v_cvt_pkrtz_f16_f32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    to_pair_of_f16(wave, instruction, SIM_ROUND_ZERO);
}
static void v_cvt_pk_f16_f32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    to_pair_of_f16(wave, instruction, SIM_ROUND_NEAREST_EVEN);
}
static void v_pack_b32_f16(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    const struct sim_float_mode mode16 = sim_float_mode(wave, instruction, SIM_SINGLE_16);
    SOURCE_16(a, 0)
    SOURCE_16(b, 1)
    uint32_t result[SIM_LANES];
    SIM_EACH_LANE(lane) result[lane] = (a[lane] & 0xFFFF) | b[lane] << 16;
    WRITE_32;
}

CONVERT(v_cvt_pk_bf16_f32)
{
    (void)mode16;
    SOURCE_32(a, 0)
    SOURCE_32(b, 1)
    uint32_t result[SIM_LANES];
    for (int lane = 0; lane < SIM_LANES; lane++) {
        const uint64_t low = sim_pack(&sim_bf16, sim_unpack(&sim_f32, a[lane]), SIM_ROUND_NEAREST_EVEN);
        const uint64_t high = sim_pack(&sim_bf16, sim_unpack(&sim_f32, b[lane]), SIM_ROUND_NEAREST_EVEN);
        result[lane] = (uint32_t)(low | high << 16);
    }
    WRITE_32;
}

/* ---- Into parts of the destination, which keeps the others ----------------------------------------------------------- */

static void write_part(struct sim_wave *wave, const struct sim_instruction *instruction, const uint32_t *part,
                       unsigned shift, uint32_t mask)
{
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    if (!rows)
        return;
    uint32_t result[SIM_LANES];
    SIM_EACH_LANE(lane) result[lane] = (rows[0][lane] & ~(mask << shift)) | (part[lane] & mask) << shift;
    sim_write32(wave, instruction, result);
}

/* Stochastic rounding compares as many of S1's upper bits as f32 has more than the result, as the manual says of 8 bits. */
static uint32_t stochastic(const struct sim_float_format *format, uint32_t bits, uint32_t random, int saturate)
{
    const unsigned count = 23u - format->mantissa_bits;
    return (uint32_t)sim_pack_stochastic(format, sim_unpack(&sim_f32, bits), random >> (32 - count), count, saturate);
}
#define STOCHASTIC_16(opcode, format) \
    CONVERT(opcode) \
    { \
        SOURCE_32(a, 0) \
        BITS_32(random, 1) \
        uint32_t result[SIM_LANES]; \
        for (int lane = 0; lane < SIM_LANES; lane++) \
            result[lane] = stochastic(&format, a[lane], random[lane], mode16.saturate); \
        write_part(wave, instruction, result, instruction->op_sel & 8 ? 16 : 0, 0xFFFF); \
    }
STOCHASTIC_16(v_cvt_sr_f16_f32, sim_f16)
STOCHASTIC_16(v_cvt_sr_bf16_f32, sim_bf16)

/* ---- 8-bit floats: FNUZ on gfx942, OCP on gfx950 --------------------------------------------------------------------- */

enum eight { FP8, BF8 };
static const struct sim_float_format *format_of(const struct sim_wave *wave, enum eight eight)
{
    if (sim_machine_config(wave->machine)->chip == SIM_GFX942)
        return eight == FP8 ? &sim_fp8_fnuz : &sim_bf8_fnuz;
    return eight == FP8 ? &sim_fp8 : &sim_bf8;
}
static uint32_t widened(const struct sim_float_format *format, uint32_t bits)
{
    return (uint32_t)sim_pack(&sim_f32, sim_unpack(format, bits & 0xFF), SIM_ROUND_NEAREST_EVEN);
}

/* SDWA selects the byte, or the word of two. */
static void from_one(struct sim_wave *wave, const struct sim_instruction *instruction, enum eight eight)
{
    const struct sim_float_mode mode32 = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    const struct sim_float_format *const format = format_of(wave, eight);
    BITS_32(a, 0)
    uint32_t result[SIM_LANES];
    for (int lane = 0; lane < SIM_LANES; lane++)
        result[lane] = widened(format, a[lane]);
    sim_finish32(result, &mode32);
    WRITE_32;
}
static void from_two(struct sim_wave *wave, const struct sim_instruction *instruction, enum eight eight)
{
    const struct sim_float_mode mode32 = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    const struct sim_float_format *const format = format_of(wave, eight);
    BITS_32(a, 0)
    uint32_t low[SIM_LANES], high[SIM_LANES];
    for (int lane = 0; lane < SIM_LANES; lane++) {
        low[lane] = widened(format, a[lane]);
        high[lane] = widened(format, a[lane] >> 8);
    }
    sim_finish32(low, &mode32);
    sim_finish32(high, &mode32);
    uint64_t result[SIM_LANES];
    SIM_EACH_LANE(lane) result[lane] = low[lane] | (uint64_t)high[lane] << 32;
    sim_write64(wave, instruction, result);
}
static void to_two(struct sim_wave *wave, const struct sim_instruction *instruction, enum eight eight)
{
    const struct sim_float_mode mode32 = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    const struct sim_float_format *const format = format_of(wave, eight);
    SOURCE_32(a, 0)
    SOURCE_32(b, 1)
    uint32_t result[SIM_LANES];
    for (int lane = 0; lane < SIM_LANES; lane++) {
        const struct sim_number numbers[2] = {sim_unpack(&sim_f32, a[lane]), sim_unpack(&sim_f32, b[lane])};
        result[lane] = 0;
        for (unsigned i = 0; i < 2; i++)
            result[lane] |=
                (uint32_t)(mode32.saturate ? sim_pack_saturated : sim_pack)(format, numbers[i], SIM_ROUND_NEAREST_EVEN)
                << 8 * i;
    }
    write_part(wave, instruction, result, instruction->op_sel & 8 ? 16 : 0, 0xFFFF);
}
static void to_one_stochastic(struct sim_wave *wave, const struct sim_instruction *instruction, enum eight eight)
{
    const struct sim_float_mode mode32 = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    const struct sim_float_format *const format = format_of(wave, eight);
    SOURCE_32(a, 0)
    BITS_32(random, 1)
    uint32_t result[SIM_LANES];
    for (int lane = 0; lane < SIM_LANES; lane++)
        result[lane] = stochastic(format, a[lane], random[lane], mode32.saturate);
    write_part(wave, instruction, result, (instruction->op_sel >> 2 & 3) * 8, 0xFF);
}
#define EIGHT(opcode, execute, eight) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        execute(wave, instruction, eight); \
    }
EIGHT(v_cvt_f32_fp8, from_one, FP8)
EIGHT(v_cvt_f32_bf8, from_one, BF8)
EIGHT(v_cvt_pk_f32_fp8, from_two, FP8)
EIGHT(v_cvt_pk_f32_bf8, from_two, BF8)
EIGHT(v_cvt_pk_fp8_f32, to_two, FP8)
EIGHT(v_cvt_pk_bf8_f32, to_two, BF8)
EIGHT(v_cvt_sr_fp8_f32, to_one_stochastic, FP8)
EIGHT(v_cvt_sr_bf8_f32, to_one_stochastic, BF8)

static const struct sim_binding entries[] = {
    SIM_BIND(v_cvt_i32_f32),        SIM_BIND(v_cvt_u32_f32),        SIM_BIND(v_cvt_rpi_i32_f32),
    SIM_BIND(v_cvt_flr_i32_f32),    SIM_BIND(v_cvt_i32_f64),        SIM_BIND(v_cvt_u32_f64),
    SIM_BIND(v_cvt_i16_f16),        SIM_BIND(v_cvt_u16_f16),        SIM_BIND(v_cvt_norm_i16_f16),
    SIM_BIND(v_cvt_norm_u16_f16),   SIM_BIND(v_cvt_pknorm_i16_f32), SIM_BIND(v_cvt_pknorm_u16_f32),
    SIM_BIND(v_cvt_pknorm_i16_f16), SIM_BIND(v_cvt_pknorm_u16_f16), SIM_BIND(v_cvt_pk_i16_i32),
    SIM_BIND(v_cvt_pk_u16_u32),     SIM_BIND(v_cvt_pk_u8_f32),      SIM_BIND(v_cvt_pkaccum_u8_f32),
    SIM_BIND(v_cvt_f32_i32),        SIM_BIND(v_cvt_f32_u32),        SIM_BIND(v_cvt_f32_ubyte0),
    SIM_BIND(v_cvt_f32_ubyte1),     SIM_BIND(v_cvt_f32_ubyte2),     SIM_BIND(v_cvt_f32_ubyte3),
    SIM_BIND(v_cvt_off_f32_i4),     SIM_BIND(v_cvt_f64_i32),        SIM_BIND(v_cvt_f64_u32),
    SIM_BIND(v_cvt_f32_f64),        SIM_BIND(v_cvt_f64_f32),        SIM_BIND(v_cvt_f32_f16),
    SIM_BIND(v_cvt_f32_bf16),       SIM_BIND(v_cvt_f16_f32),        SIM_BIND(v_cvt_f16_i16),
    SIM_BIND(v_cvt_f16_u16),        SIM_BIND(v_cvt_pkrtz_f16_f32),  SIM_BIND(v_cvt_pk_f16_f32),
    SIM_BIND(v_pack_b32_f16),       SIM_BIND(v_cvt_pk_bf16_f32),    SIM_BIND(v_cvt_sr_f16_f32),
    SIM_BIND(v_cvt_sr_bf16_f32),    SIM_BIND(v_cvt_f32_fp8),        SIM_BIND(v_cvt_f32_bf8),
    SIM_BIND(v_cvt_pk_f32_fp8),     SIM_BIND(v_cvt_pk_f32_bf8),     SIM_BIND(v_cvt_pk_fp8_f32),
    SIM_BIND(v_cvt_pk_bf8_f32),     SIM_BIND(v_cvt_sr_fp8_f32),     SIM_BIND(v_cvt_sr_bf8_f32),
};
const struct sim_bindings sim_vector_convert = {entries, sizeof entries / sizeof *entries};
