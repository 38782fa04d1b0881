/* vector_convert_scaled.c - gfx950's conversions with a scale: 8, 6 and 4-bit floats (OCP) from and to f32, f16, bf16.
 *
 * The exponent of the last source, an f32, is the scale: wide numbers are divided by 2^(exponent - 127) on their way to small
 * ones, small ones multiplied by it; rounded once, to nearest even or stochastically. An exponent of 255 is a NaN's, as in
 * the E8M0 format of block scales, and makes every result one.
 */
#include "vector_float.h"

enum kind {
    PLAIN,      /* all values from the first source */
    SEPARATE,   /* from the first and the second in turn */
    STOCHASTIC, /* from the first; the second holds random bits */
};
struct conversion {
    const struct sim_float_format *from, *to;
    unsigned count; /* of values */
    enum kind kind;
};

/* `count` bits of a lane's consecutive dwords, rows[0] first. */
static uint32_t get_bits(const uint32_t *const *rows, int lane, unsigned position, unsigned count)
{
    const unsigned shift = position % 32;
    uint64_t dwords = rows[position / 32][lane];
    if (shift + count > 32)
        dwords |= (uint64_t)rows[position / 32 + 1][lane] << 32;
    return (uint32_t)(dwords >> shift & ((1ull << count) - 1));
}
static void put_bits(uint32_t (*rows)[SIM_LANES], int lane, unsigned position, unsigned count, uint32_t bits)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t *const dword = &rows[(position + i) / 32][lane];
        const uint32_t mask = 1u << (position + i) % 32;
        *dword = bits >> i & 1 ? *dword | mask : *dword & ~mask;
    }
}

/* What v_prng_b32 makes of the bits: the next value's random ones. */
static uint32_t next_random(uint32_t bits)
{
    return bits << 1 ^ (bits >> 31 ? 197 : 0);
}

static uint32_t convert_one(const struct conversion *conversion, uint32_t bits, uint32_t scale, uint32_t random,
                            int saturate)
{
    struct sim_number number = sim_unpack(conversion->from, bits);
    const int32_t exponent = (int32_t)(scale >> 23 & 0xFF) - 127;
    number = sim_number_scale(number, conversion->to->bits <= 8 ? -exponent : exponent);
    if (exponent == 128 && number.kind != SIM_NAN)
        number = (struct sim_number){.kind = SIM_NAN, .significand = (sim_uint128)1 << 63};
    if (conversion->kind == STOCHASTIC) {
        const unsigned count = 23u - conversion->to->mantissa_bits;
        return (uint32_t)sim_pack_stochastic(conversion->to, number, random >> (32 - count), count, saturate);
    }
    saturate &= conversion->to->bits <= 8;
    return (uint32_t)(saturate ? sim_pack_saturated : sim_pack)(conversion->to, number, SIM_ROUND_NEAREST_EVEN);
}

/* The dwords of a source: registers, or of one dword anything. 0 after sim_fault. */
struct source {
    const uint32_t *rows[32];
    uint32_t buffer[SIM_LANES];
};
static int open_source(struct source *source, struct sim_wave *wave, const struct sim_instruction *instruction,
                       unsigned index, enum sim_type type)
{
    const unsigned dwords = instruction->opcode->src_dwords[index];
    if (dwords == 1) {
        source->rows[0] = sim_source32(wave, instruction, index, type, source->buffer);
        return 1;
    }
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->src[index], dwords);
    for (unsigned i = 0; rows && i < dwords; i++)
        source->rows[i] = rows[i];
    return rows != NULL;
}

/* The bit where the values begin: op_sel chooses a word for two of 8 bits, a byte for less, and a half for one of 16. A
 * source's choice is in the bits 1:0, a destination's in 3:2. */
static unsigned first_bit(const struct sim_float_format *format, unsigned count, unsigned choice, int is_destination)
{
    const unsigned bits = format->bits * count;
    if (bits == 16 && (is_destination || format->bits == 8))
        return is_destination ? choice >> 1 & 1 ? 16 : 0 : choice & 1 ? 16 : 0;
    return bits == 8 ? (choice & 3) * 8 : 0;
}

static void convert(struct sim_wave *wave, const struct sim_instruction *instruction,
                    const struct conversion *conversion)
{
    const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_32);
    const unsigned dwords = instruction->opcode->dst_dwords, scale_index = instruction->opcode->src_dwords[2] ? 2 : 1;
    const enum sim_type type = conversion->from == &sim_f32 ? SIM_F32 : SIM_B32;
    struct source values[2], scale;
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, dwords);
    if (!rows || !open_source(&values[0], wave, instruction, 0, type) ||
        !open_source(&values[1], wave, instruction, 1, conversion->kind == SEPARATE ? SIM_F32 : SIM_B32) ||
        !open_source(&scale, wave, instruction, scale_index, SIM_F32))
        return;

    const unsigned first = first_bit(conversion->from, conversion->count, instruction->op_sel & 3, 0);
    const unsigned first_result = first_bit(conversion->to, conversion->count, instruction->op_sel >> 2, 1);
    const unsigned from_bits = conversion->from->bits, to_bits = conversion->to->bits;
    uint32_t result[32][SIM_LANES];
    memcpy(result, rows, dwords * sizeof *rows);
    for (int lane = 0; lane < SIM_LANES; lane++) {
        uint32_t random = values[1].rows[0][lane];
        for (unsigned i = 0; i < conversion->count; i++) {
            const int separate = conversion->kind == SEPARATE;
            const uint32_t *const *source = values[separate ? i % 2 : 0].rows;
            const uint32_t bits = get_bits(source, lane, first + (separate ? i / 2 : i) * from_bits, from_bits);
            put_bits(result, lane, first_result + i * to_bits, to_bits,
                     convert_one(conversion, bits, scale.rows[0][lane], random, mode.saturate));
            random = next_random(random);
        }
    }
    for (unsigned i = 0; i < dwords; i++)
        sim_write_row(rows[i], result[i], sim_exec(wave));
}

#define SCALED(opcode, from, to, count, kind) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        static const struct conversion conversion = {&from, &to, count, kind}; \
        convert(wave, instruction, &conversion); \
    }
SCALED(v_cvt_scalef32_pk_fp8_f32, sim_f32, sim_fp8, 2, SEPARATE)
SCALED(v_cvt_scalef32_pk_bf8_f32, sim_f32, sim_bf8, 2, SEPARATE)
SCALED(v_cvt_scalef32_sr_fp8_f32, sim_f32, sim_fp8, 1, STOCHASTIC)
SCALED(v_cvt_scalef32_sr_bf8_f32, sim_f32, sim_bf8, 1, STOCHASTIC)
SCALED(v_cvt_scalef32_pk_f32_fp8, sim_fp8, sim_f32, 2, PLAIN)
SCALED(v_cvt_scalef32_pk_f32_bf8, sim_bf8, sim_f32, 2, PLAIN)
SCALED(v_cvt_scalef32_f32_fp8, sim_fp8, sim_f32, 1, PLAIN)
SCALED(v_cvt_scalef32_f32_bf8, sim_bf8, sim_f32, 1, PLAIN)
SCALED(v_cvt_scalef32_pk_fp4_f32, sim_f32, sim_fp4, 2, SEPARATE)
SCALED(v_cvt_scalef32_sr_pk_fp4_f32, sim_f32, sim_fp4, 2, STOCHASTIC)
SCALED(v_cvt_scalef32_pk_f32_fp4, sim_fp4, sim_f32, 2, PLAIN)
SCALED(v_cvt_scalef32_pk_fp8_f16, sim_f16, sim_fp8, 2, PLAIN)
SCALED(v_cvt_scalef32_pk_bf8_f16, sim_f16, sim_bf8, 2, PLAIN)
SCALED(v_cvt_scalef32_sr_fp8_f16, sim_f16, sim_fp8, 1, STOCHASTIC)
SCALED(v_cvt_scalef32_sr_bf8_f16, sim_f16, sim_bf8, 1, STOCHASTIC)
SCALED(v_cvt_scalef32_pk_fp8_bf16, sim_bf16, sim_fp8, 2, PLAIN)
SCALED(v_cvt_scalef32_pk_bf8_bf16, sim_bf16, sim_bf8, 2, PLAIN)
SCALED(v_cvt_scalef32_sr_fp8_bf16, sim_bf16, sim_fp8, 1, STOCHASTIC)
SCALED(v_cvt_scalef32_sr_bf8_bf16, sim_bf16, sim_bf8, 1, STOCHASTIC)
SCALED(v_cvt_scalef32_pk_f16_fp8, sim_fp8, sim_f16, 2, PLAIN)
SCALED(v_cvt_scalef32_pk_f16_bf8, sim_bf8, sim_f16, 2, PLAIN)
SCALED(v_cvt_scalef32_f16_fp8, sim_fp8, sim_f16, 1, PLAIN)
SCALED(v_cvt_scalef32_f16_bf8, sim_bf8, sim_f16, 1, PLAIN)
SCALED(v_cvt_scalef32_pk_fp4_f16, sim_f16, sim_fp4, 2, PLAIN)
SCALED(v_cvt_scalef32_pk_fp4_bf16, sim_bf16, sim_fp4, 2, PLAIN)
SCALED(v_cvt_scalef32_sr_pk_fp4_f16, sim_f16, sim_fp4, 2, STOCHASTIC)
SCALED(v_cvt_scalef32_sr_pk_fp4_bf16, sim_bf16, sim_fp4, 2, STOCHASTIC)
SCALED(v_cvt_scalef32_pk_f16_fp4, sim_fp4, sim_f16, 2, PLAIN)
SCALED(v_cvt_scalef32_pk_bf16_fp4, sim_fp4, sim_bf16, 2, PLAIN)
SCALED(v_cvt_scalef32_2xpk16_fp6_f32, sim_f32, sim_fp6, 32, SEPARATE)
SCALED(v_cvt_scalef32_2xpk16_bf6_f32, sim_f32, sim_bf6, 32, SEPARATE)
SCALED(v_cvt_scalef32_sr_pk32_fp6_f32, sim_f32, sim_fp6, 32, STOCHASTIC)
SCALED(v_cvt_scalef32_sr_pk32_bf6_f32, sim_f32, sim_bf6, 32, STOCHASTIC)
SCALED(v_cvt_scalef32_pk32_f32_fp6, sim_fp6, sim_f32, 32, PLAIN)
SCALED(v_cvt_scalef32_pk32_f32_bf6, sim_bf6, sim_f32, 32, PLAIN)
SCALED(v_cvt_scalef32_pk32_fp6_f16, sim_f16, sim_fp6, 32, PLAIN)
SCALED(v_cvt_scalef32_pk32_fp6_bf16, sim_bf16, sim_fp6, 32, PLAIN)
SCALED(v_cvt_scalef32_pk32_bf6_f16, sim_f16, sim_bf6, 32, PLAIN)
SCALED(v_cvt_scalef32_pk32_bf6_bf16, sim_bf16, sim_bf6, 32, PLAIN)
SCALED(v_cvt_scalef32_sr_pk32_fp6_f16, sim_f16, sim_fp6, 32, STOCHASTIC)
SCALED(v_cvt_scalef32_sr_pk32_fp6_bf16, sim_bf16, sim_fp6, 32, STOCHASTIC)
SCALED(v_cvt_scalef32_sr_pk32_bf6_f16, sim_f16, sim_bf6, 32, STOCHASTIC)
SCALED(v_cvt_scalef32_sr_pk32_bf6_bf16, sim_bf16, sim_bf6, 32, STOCHASTIC)
SCALED(v_cvt_scalef32_pk32_f16_fp6, sim_fp6, sim_f16, 32, PLAIN)
SCALED(v_cvt_scalef32_pk32_bf16_fp6, sim_fp6, sim_bf16, 32, PLAIN)
SCALED(v_cvt_scalef32_pk32_f16_bf6, sim_bf6, sim_f16, 32, PLAIN)
SCALED(v_cvt_scalef32_pk32_bf16_bf6, sim_bf6, sim_bf16, 32, PLAIN)
SCALED(v_cvt_scalef32_pk_bf16_fp8, sim_fp8, sim_bf16, 2, PLAIN)
SCALED(v_cvt_scalef32_pk_bf16_bf8, sim_bf8, sim_bf16, 2, PLAIN)

static const struct sim_binding entries[] = {
    SIM_BIND(v_cvt_scalef32_pk_fp8_f32),       SIM_BIND(v_cvt_scalef32_pk_bf8_f32),
    SIM_BIND(v_cvt_scalef32_sr_fp8_f32),       SIM_BIND(v_cvt_scalef32_sr_bf8_f32),
    SIM_BIND(v_cvt_scalef32_pk_f32_fp8),       SIM_BIND(v_cvt_scalef32_pk_f32_bf8),
    SIM_BIND(v_cvt_scalef32_f32_fp8),          SIM_BIND(v_cvt_scalef32_f32_bf8),
    SIM_BIND(v_cvt_scalef32_pk_fp4_f32),       SIM_BIND(v_cvt_scalef32_sr_pk_fp4_f32),
    SIM_BIND(v_cvt_scalef32_pk_f32_fp4),       SIM_BIND(v_cvt_scalef32_pk_fp8_f16),
    SIM_BIND(v_cvt_scalef32_pk_bf8_f16),       SIM_BIND(v_cvt_scalef32_sr_fp8_f16),
    SIM_BIND(v_cvt_scalef32_sr_bf8_f16),       SIM_BIND(v_cvt_scalef32_pk_fp8_bf16),
    SIM_BIND(v_cvt_scalef32_pk_bf8_bf16),      SIM_BIND(v_cvt_scalef32_sr_fp8_bf16),
    SIM_BIND(v_cvt_scalef32_sr_bf8_bf16),      SIM_BIND(v_cvt_scalef32_pk_f16_fp8),
    SIM_BIND(v_cvt_scalef32_pk_f16_bf8),       SIM_BIND(v_cvt_scalef32_f16_fp8),
    SIM_BIND(v_cvt_scalef32_f16_bf8),          SIM_BIND(v_cvt_scalef32_pk_fp4_f16),
    SIM_BIND(v_cvt_scalef32_pk_fp4_bf16),      SIM_BIND(v_cvt_scalef32_sr_pk_fp4_f16),
    SIM_BIND(v_cvt_scalef32_sr_pk_fp4_bf16),   SIM_BIND(v_cvt_scalef32_pk_f16_fp4),
    SIM_BIND(v_cvt_scalef32_pk_bf16_fp4),      SIM_BIND(v_cvt_scalef32_2xpk16_fp6_f32),
    SIM_BIND(v_cvt_scalef32_2xpk16_bf6_f32),   SIM_BIND(v_cvt_scalef32_sr_pk32_fp6_f32),
    SIM_BIND(v_cvt_scalef32_sr_pk32_bf6_f32),  SIM_BIND(v_cvt_scalef32_pk32_f32_fp6),
    SIM_BIND(v_cvt_scalef32_pk32_f32_bf6),     SIM_BIND(v_cvt_scalef32_pk32_fp6_f16),
    SIM_BIND(v_cvt_scalef32_pk32_fp6_bf16),    SIM_BIND(v_cvt_scalef32_pk32_bf6_f16),
    SIM_BIND(v_cvt_scalef32_pk32_bf6_bf16),    SIM_BIND(v_cvt_scalef32_sr_pk32_fp6_f16),
    SIM_BIND(v_cvt_scalef32_sr_pk32_fp6_bf16), SIM_BIND(v_cvt_scalef32_sr_pk32_bf6_f16),
    SIM_BIND(v_cvt_scalef32_sr_pk32_bf6_bf16), SIM_BIND(v_cvt_scalef32_pk32_f16_fp6),
    SIM_BIND(v_cvt_scalef32_pk32_bf16_fp6),    SIM_BIND(v_cvt_scalef32_pk32_f16_bf6),
    SIM_BIND(v_cvt_scalef32_pk32_bf16_bf6),    SIM_BIND(v_cvt_scalef32_pk_bf16_fp8),
    SIM_BIND(v_cvt_scalef32_pk_bf16_bf8),
};
const struct sim_bindings sim_vector_convert_scaled = {entries, sizeof entries / sizeof *entries};
