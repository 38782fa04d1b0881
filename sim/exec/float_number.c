#include "float_number.h"

const struct sim_float_format sim_f16 = {16, 5, 10, 15, SIM_IEEE};
const struct sim_float_format sim_bf16 = {16, 8, 7, 127, SIM_IEEE};
const struct sim_float_format sim_f32 = {32, 8, 23, 127, SIM_IEEE};
const struct sim_float_format sim_f64 = {64, 11, 52, 1023, SIM_IEEE};
const struct sim_float_format sim_fp8_fnuz = {8, 4, 3, 8, SIM_FNUZ};
const struct sim_float_format sim_bf8_fnuz = {8, 5, 2, 16, SIM_FNUZ};
const struct sim_float_format sim_fp8 = {8, 4, 3, 7, SIM_E4M3};
const struct sim_float_format sim_bf8 = {8, 5, 2, 15, SIM_IEEE};
const struct sim_float_format sim_fp6 = {6, 2, 3, 1, SIM_FINITE};
const struct sim_float_format sim_bf6 = {6, 3, 2, 3, SIM_FINITE};
const struct sim_float_format sim_fp4 = {4, 2, 1, 1, SIM_FINITE};

static unsigned top_bit(sim_uint128 value)
{
    const uint64_t high = (uint64_t)(value >> 64);
    return high ? 127 - (unsigned)__builtin_clzll(high) : 63 - (unsigned)__builtin_clzll((uint64_t)value);
}

/* Shifted right; if that drops a one, bit 0 is 1. */
static sim_uint128 shift_right_sticky(sim_uint128 value, unsigned shift)
{
    if (shift == 0)
        return value;
    if (shift > 127)
        return value != 0;
    return value >> shift | ((value << (128 - shift)) != 0);
}

static uint64_t sign_bit(const struct sim_float_format *format)
{
    return 1ull << (format->bits - 1);
}

/* All bits but the sign of the largest finite number. */
static uint64_t largest_finite(const struct sim_float_format *format)
{
    const uint64_t all = sign_bit(format) - 1;
    switch (format->kind) {
    case SIM_IEEE: return all - (1ull << format->mantissa_bits);
    case SIM_E4M3: return all - 1;
    default: return all;
    }
}

static const struct sim_number default_nan = {(sim_uint128)1 << 63, 0, SIM_NAN, 0};

struct sim_number sim_unpack(const struct sim_float_format *format, uint64_t bits)
{
    const uint64_t magnitude = bits & (sign_bit(format) - 1);
    const uint64_t fraction = magnitude & ((1ull << format->mantissa_bits) - 1);
    const uint64_t field = magnitude >> format->mantissa_bits;
    struct sim_number number = {.kind = SIM_NUMBER, .negative = (bits & sign_bit(format)) != 0};

    if (magnitude > largest_finite(format) || (format->kind == SIM_FNUZ && bits == sign_bit(format))) {
        number.kind = format->kind == SIM_IEEE && fraction == 0 ? SIM_INFINITY : SIM_NAN;
        if (number.kind == SIM_NAN) {
            number.significand = format->kind == SIM_IEEE ? fraction << (64 - format->mantissa_bits) : 1ull << 63;
            number.negative &= format->kind != SIM_FNUZ;
        }
    } else if (magnitude == 0) {
        number.kind = SIM_ZERO;
    } else {
        number.significand = field ? fraction | 1ull << format->mantissa_bits : fraction;
        number.exponent = (field ? (int32_t)field : 1) - format->bias - format->mantissa_bits;
    }
    return number;
}

static uint64_t pack_nan(const struct sim_float_format *format, struct sim_number number)
{
    const uint64_t sign = number.negative ? sign_bit(format) : 0;
    switch (format->kind) {
    case SIM_IEEE: {
        const uint64_t exponent = (sign_bit(format) - 1) & ~((1ull << format->mantissa_bits) - 1);
        const uint64_t quiet = 1ull << (format->mantissa_bits - 1);
        return sign | exponent | quiet | (uint64_t)number.significand >> (64 - format->mantissa_bits);
    }
    case SIM_E4M3: return sign | (sign_bit(format) - 1);
    case SIM_FNUZ: return sign_bit(format);
    default: return sign | largest_finite(format);
    }
}

static uint64_t pack_too_large(const struct sim_float_format *format, struct sim_number number, int saturate)
{
    const uint64_t sign = number.negative ? sign_bit(format) : 0;
    if (saturate || format->kind == SIM_FINITE)
        return sign | largest_finite(format);
    if (format->kind == SIM_IEEE)
        return sign | (largest_finite(format) + 1);
    struct sim_number nan = default_nan;
    nan.negative = number.negative;
    return pack_nan(format, nan);
}

/* How many units in the last place `number` has in the format, cut off, and what was cut off as a left-aligned fraction of
 * one (sticky). The encoding of a finite result is *base + units. */
static uint64_t units_of(const struct sim_float_format *format, struct sim_number number, uint64_t *base,
                         uint64_t *rest)
{
    const int32_t smallest = 1 - format->bias - format->mantissa_bits; /* exponent of the smallest subnormal */
    int32_t unit = number.exponent + (int32_t)top_bit(number.significand) - format->mantissa_bits;
    unit = unit < smallest ? smallest : unit;
    const int32_t steps = unit - smallest, too_large = 1 << format->exponent_bits; /* the latter fits in an encoding */
    *base = (uint64_t)(steps < too_large ? steps : too_large) << format->mantissa_bits;
    const int32_t shift = unit - number.exponent;
    *rest = 0;
    if (shift <= 0)
        return (uint64_t)(number.significand << -shift);
    if (shift > 127) {
        *rest = 1;
        return 0;
    }
    const sim_uint128 below = number.significand << (128 - shift);
    *rest = (uint64_t)(below >> 64) | ((uint64_t)below != 0);
    return (uint64_t)(number.significand >> shift);
}

/* `units` above zero were rounded: the encoding, or what is said of too large numbers. */
static uint64_t pack_units(const struct sim_float_format *format, struct sim_number number, uint64_t encoding,
                           int saturate)
{
    if (encoding > largest_finite(format))
        return pack_too_large(format, number, saturate);
    if (encoding == 0 && format->kind == SIM_FNUZ)
        return 0;
    return encoding | (number.negative ? sign_bit(format) : 0);
}

static uint64_t pack_special(const struct sim_float_format *format, struct sim_number number, int saturate)
{
    switch (number.kind) {
    case SIM_NAN: return pack_nan(format, number);
    case SIM_INFINITY: return pack_too_large(format, number, saturate && format->kind != SIM_IEEE);
    default: return number.negative && format->kind != SIM_FNUZ ? sign_bit(format) : 0;
    }
}

static uint64_t pack(const struct sim_float_format *format, struct sim_number number, enum sim_round round,
                     int saturate)
{
    if (number.kind != SIM_NUMBER)
        return pack_special(format, number, saturate);
    uint64_t base, rest;
    const uint64_t units = units_of(format, number, &base, &rest);
    const int away = round == (number.negative ? SIM_ROUND_DOWN : SIM_ROUND_UP);
    const uint64_t half = 1ull << 63;
    const int up = round == SIM_ROUND_NEAREST_EVEN ? rest > half || (rest == half && (units & 1)) : away && rest;
    const uint64_t encoding = base + units + (uint64_t)up;
    /* IEEE 754: rounding that is not away from zero never makes infinity of a finite number. */
    return pack_units(format, number, encoding, saturate || (round != SIM_ROUND_NEAREST_EVEN && !away));
}

uint64_t sim_pack(const struct sim_float_format *format, struct sim_number number, enum sim_round round)
{
    return pack(format, number, round, 0);
}

uint64_t sim_pack_saturated(const struct sim_float_format *format, struct sim_number number, enum sim_round round)
{
    return pack(format, number, round, 1);
}

uint64_t sim_pack_stochastic(const struct sim_float_format *format, struct sim_number number, uint32_t random,
                             unsigned random_bits, int saturate)
{
    if (number.kind != SIM_NUMBER)
        return pack_special(format, number, saturate);
    uint64_t base, rest;
    const uint64_t units = units_of(format, number, &base, &rest);
    const uint64_t sum = (rest >> (64 - random_bits)) + (random & ((1ull << random_bits) - 1));
    return pack_units(format, number, base + units + (sum >> random_bits), saturate);
}

/* The same number with bit 126 as its highest: room for a carry. */
static struct sim_number normalized(struct sim_number number)
{
    const int shift = 126 - (int)top_bit(number.significand);
    number.significand =
        shift < 0 ? shift_right_sticky(number.significand, (unsigned)-shift) : number.significand << shift;
    number.exponent -= shift;
    return number;
}

struct sim_number sim_number_add(struct sim_number a, struct sim_number b, enum sim_round round)
{
    if (a.kind == SIM_NAN)
        return a;
    if (b.kind == SIM_NAN)
        return b;
    if (a.kind == SIM_INFINITY)
        return b.kind == SIM_INFINITY && a.negative != b.negative ? default_nan : a;
    if (b.kind == SIM_INFINITY)
        return b;
    if (a.kind == SIM_ZERO && b.kind == SIM_ZERO) {
        if (a.negative != b.negative)
            a.negative = round == SIM_ROUND_DOWN;
        return a;
    }
    if (a.kind == SIM_ZERO)
        return b;
    if (b.kind == SIM_ZERO)
        return a;

    a = normalized(a);
    b = normalized(b);
    if (a.exponent < b.exponent || (a.exponent == b.exponent && a.significand < b.significand)) {
        const struct sim_number swap = a;
        a = b;
        b = swap;
    }
    b.significand = shift_right_sticky(b.significand, (unsigned)(a.exponent - b.exponent));
    a.significand = a.negative == b.negative ? a.significand + b.significand : a.significand - b.significand;
    if (a.significand == 0)
        return (struct sim_number){.kind = SIM_ZERO, .negative = round == SIM_ROUND_DOWN};
    return a;
}

struct sim_number sim_number_multiply(struct sim_number a, struct sim_number b)
{
    if (a.kind == SIM_NAN)
        return a;
    if (b.kind == SIM_NAN)
        return b;
    if ((a.kind == SIM_INFINITY && b.kind == SIM_ZERO) || (a.kind == SIM_ZERO && b.kind == SIM_INFINITY))
        return default_nan;
    a.negative ^= b.negative;
    if (a.kind == SIM_NUMBER && b.kind == SIM_NUMBER) {
        a.significand *= b.significand; /* of unpacked numbers: at most 53 bits each */
        a.exponent += b.exponent;
    } else if (a.kind == SIM_INFINITY || b.kind == SIM_INFINITY) {
        a.kind = SIM_INFINITY;
    } else {
        a.kind = SIM_ZERO;
    }
    return a;
}

struct sim_number sim_number_fma(struct sim_number a, struct sim_number b, struct sim_number c, enum sim_round round)
{
    /* inf * 0 + NaN: the NaN that was given stays. */
    if (a.kind != SIM_NAN && b.kind != SIM_NAN && c.kind == SIM_NAN)
        return c;
    return sim_number_add(sim_number_multiply(a, b), c, round);
}

struct sim_number sim_number_scale(struct sim_number number, int32_t exponent)
{
    number.exponent += exponent;
    return number;
}
