/* float_compute.h - arithmetic on 64 lanes of f16, f32, f64, as MODE and an instruction's modifiers ask.
 *
 * Three steps: subnormal sources become 0 where MODE says so; each lane is computed, by the host where results are
 * rounded to nearest even, else by float_number.c; output modifier, flush and clamp.
 */
#ifndef SIM_FLOAT_COMPUTE_H
#define SIM_FLOAT_COMPUTE_H

#include "float.h"

struct sim_float_operation {
    /* Of sources that are not NaN; rounded to nearest even. A result that is NaN is replaced by what
     * sim_nan* below say. Unused sources are any lanes. f16: bits 15:0 of each lane. */
    void (*lanes16)(uint32_t *restrict result, const uint32_t *a, const uint32_t *b, const uint32_t *c);
    void (*lanes32)(uint32_t *restrict result, const uint32_t *a, const uint32_t *b, const uint32_t *c);
    void (*lanes64)(uint64_t *restrict result, const uint64_t *a, const uint64_t *b, const uint64_t *c);
    struct sim_number (*exact)(struct sim_number a, struct sim_number b, struct sim_number c, enum sim_round round);
    unsigned sources;
};
extern const struct sim_float_operation sim_operation_add, sim_operation_subtract, sim_operation_subtract_reverse,
    sim_operation_multiply, sim_operation_fma;

/* `result` may be the same lanes as a source. Of f16, bits 31:16 of a result are 0. */
void sim_compute16(uint32_t *result, const struct sim_float_operation *operation, const uint32_t *const source[3],
                   const struct sim_float_mode *mode);
void sim_compute32(uint32_t *result, const struct sim_float_operation *operation, const uint32_t *const source[3],
                   const struct sim_float_mode *mode);
void sim_compute64(uint64_t *result, const struct sim_float_operation *operation, const uint64_t *const source[3],
                   const struct sim_float_mode *mode);

/* What the last step does, for results that came about otherwise. */
void sim_finish16(uint32_t *result, const struct sim_float_mode *mode);
void sim_finish32(uint32_t *result, const struct sim_float_mode *mode);
void sim_finish64(uint64_t *result, const struct sim_float_mode *mode);

/* The first step: the lanes themselves where nothing is to be done, else `buffer`. */
const uint32_t *sim_prepare16(const uint32_t *lanes, const struct sim_float_mode *mode, uint32_t *buffer);
const uint32_t *sim_prepare32(const uint32_t *lanes, const struct sim_float_mode *mode, uint32_t *buffer);
const uint64_t *sim_prepare64(const uint64_t *lanes, const struct sim_float_mode *mode, uint64_t *buffer);

/* fma of each lane, rounded once: with the host's instruction where it has one (known when it runs), else in software. */
void sim_fma_lanes32(uint32_t *restrict result, const uint32_t *a, const uint32_t *b, const uint32_t *c);
void sim_fma_lanes64(uint64_t *restrict result, const uint64_t *a, const uint64_t *b, const uint64_t *c);

#endif
