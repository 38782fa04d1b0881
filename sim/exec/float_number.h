/* float_number.h - binary floating-point numbers of any format, computed exactly and rounded once.
 *
 * For what the host's arithmetic does not do: directed rounding without changing the host's rounding mode, 8-bit and
 * smaller formats, stochastic rounding, scaling before rounding. Loops over lanes use the host's float and double where
 * these give the same bits; tests compare both.
 */
#ifndef SIM_FLOAT_NUMBER_H
#define SIM_FLOAT_NUMBER_H

#include <stdint.h>

__extension__ typedef unsigned __int128 sim_uint128;

/* As the MODE register numbers them. */
enum sim_round { SIM_ROUND_NEAREST_EVEN = 0, SIM_ROUND_UP = 1, SIM_ROUND_DOWN = 2, SIM_ROUND_ZERO = 3 };

enum sim_format_kind {
    SIM_IEEE,   /* the largest exponent holds infinity and NaNs */
    SIM_E4M3,   /* OCP: no infinity; all ones is NaN */
    SIM_FNUZ,   /* no infinity, no -0: its encoding is the NaN */
    SIM_FINITE, /* neither infinity nor NaN */
};
struct sim_float_format {
    uint8_t bits, exponent_bits, mantissa_bits;
    int16_t bias;
    uint8_t kind; /* enum sim_format_kind */
};
extern const struct sim_float_format sim_f16, sim_bf16, sim_f32, sim_f64;
extern const struct sim_float_format sim_fp8_fnuz, sim_bf8_fnuz; /* gfx942 */
extern const struct sim_float_format sim_fp8, sim_bf8;           /* gfx950: OCP E4M3, E5M2 */
extern const struct sim_float_format sim_fp6, sim_bf6, sim_fp4;  /* gfx950: OCP E2M3, E3M2, E2M1 */

enum sim_number_kind { SIM_ZERO, SIM_NUMBER, SIM_INFINITY, SIM_NAN };
/* SIM_NUMBER: significand * 2^exponent, not 0. SIM_NAN: the fraction's bits, left-aligned, in the significand's low 64. */
struct sim_number {
    sim_uint128 significand;
    int32_t exponent;
    uint8_t kind, negative;
};

struct sim_number sim_unpack(const struct sim_float_format *format, uint64_t bits);

/* Round and encode. NaNs become quiet. What is too large becomes infinity or the largest finite number as IEEE 754 says for
 * that rounding; where the format has no infinity NaN, and where it has no NaN the largest number. */
uint64_t sim_pack(const struct sim_float_format *format, struct sim_number number, enum sim_round round);
/* The same, but what is too large (not infinities, where the format has them) becomes the largest finite number. */
uint64_t sim_pack_saturated(const struct sim_float_format *format, struct sim_number number, enum sim_round round);
/* Stochastic: up, away from zero, with the probability of the part that is cut off, compared in `random_bits` bits. */
uint64_t sim_pack_stochastic(const struct sim_float_format *format, struct sim_number number, uint32_t random,
                             unsigned random_bits, int saturate);

/* The round decides the sign of an exact 0. Of several NaNs the first stays; an invalid operation makes the NaN whose
 * fraction is only its quiet bit and whose sign is 0. Sums are exact to 126 bits, with what lies beyond in the last. */
struct sim_number sim_number_add(struct sim_number a, struct sim_number b, enum sim_round round);
struct sim_number sim_number_multiply(struct sim_number a, struct sim_number b);
struct sim_number sim_number_fma(struct sim_number a, struct sim_number b, struct sim_number c, enum sim_round round);
/* number * 2^exponent */
struct sim_number sim_number_scale(struct sim_number number, int32_t exponent);

#endif
