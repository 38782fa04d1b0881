/* vector_float.h - an instruction's f16, f32, f64 sources and results; what the vector_float*.c share. */
#ifndef SIM_VECTOR_FLOAT_H
#define SIM_VECTOR_FLOAT_H

#include "exec.h"
#include "float_compute.h"
#include "operands.h"

#define SIM_SINGLE_16 0
#define SIM_SINGLE_32 1
#define SIM_SINGLE_64 0

/* Source `index`, subnormals flushed as `mode` says. The lanes are a register's own or `buffer`. */
static inline const uint32_t *sim_float_source16(struct sim_wave *wave, const struct sim_instruction *instruction,
                                                 unsigned index, const struct sim_float_mode *mode, uint32_t *buffer)
{
    return sim_prepare16(sim_source32(wave, instruction, index, SIM_F16, buffer), mode, buffer);
}
static inline const uint32_t *sim_float_source32(struct sim_wave *wave, const struct sim_instruction *instruction,
                                                 unsigned index, const struct sim_float_mode *mode, uint32_t *buffer)
{
    return sim_prepare32(sim_source32(wave, instruction, index, SIM_F32, buffer), mode, buffer);
}
static inline const uint64_t *sim_float_source64(struct sim_wave *wave, const struct sim_instruction *instruction,
                                                 unsigned index, const struct sim_float_mode *mode, uint64_t *buffer)
{
    return sim_prepare64(sim_source64(wave, instruction, index, SIM_F64, buffer), mode, buffer);
}

/* v_pk_min_f16 and its like, one half of each lane (bits 15:0). All three sources are read. */
enum sim_order { SIM_MIN, SIM_MAX, SIM_MINIMUM3, SIM_MAXIMUM3 };
void sim_order16(uint32_t *result, enum sim_order order, const uint32_t *const source[3],
                 const struct sim_float_mode *mode);

/* f32 lanes to f16, rounded and saturated as `mode` says; subnormal results are left to sim_finish16. May be in place. */
void sim_convert_f32_to_f16(uint32_t *result, const uint32_t *lanes, const struct sim_float_mode *mode);

#endif
