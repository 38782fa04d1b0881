/* scalar.h - scalar opcodes as a table, one a line; of scalar_*.c alone.
 *
 *     SIM_SOP2(s_add_u32, u32, u32, u32, d = a + b; scc = d < a)
 *
 * defines the sim_execute function s_add_u32 with a result d and sources a and b of these types. `scc` is the scalar
 * condition code before and after. Types: u32 i32 u64 i64; of a 32-bit literal u64 has zeros and i64 the sign above it.
 * SIM_SOPC has no d, SIM_SOP1 no b, SIM_SOPK the 16-bit constant k in place of sources. The statements may also use `wave`
 * and `instruction`; they do not write what is read through these.
 */
#ifndef SIM_SCALAR_H
#define SIM_SCALAR_H

#include "exec.h"
#include "operands.h"

#define SIM_SCALAR_C_u32 uint32_t
#define SIM_SCALAR_C_i32 int32_t
#define SIM_SCALAR_C_u64 uint64_t
#define SIM_SCALAR_C_i64 int64_t

static inline uint32_t sim_scalar_read_u32(struct sim_wave *wave, const struct sim_instruction *instruction,
                                           unsigned code)
{
    return code < wave->sgpr_limit ? wave->sgpr[code] : sim_scalar32(wave, instruction, code, SIM_B32);
}
static inline int32_t sim_scalar_read_i32(struct sim_wave *wave, const struct sim_instruction *instruction,
                                          unsigned code)
{
    return (int32_t)sim_scalar_read_u32(wave, instruction, code);
}
/* Pairs that need no closer look: SGPRs of the wave, VCC, EXEC, TTMPs, ... */
static inline int sim_scalar_is_pair(const struct sim_wave *wave, unsigned code)
{
    return code + 2 <= wave->sgpr_limit || (code > SIM_SGPR_LAST && code <= SIM_EXEC_LO);
}
static inline uint64_t sim_scalar_read_u64(struct sim_wave *wave, const struct sim_instruction *instruction,
                                           unsigned code)
{
    return sim_scalar_is_pair(wave, code) ? sim_sgpr64(wave, code) : sim_scalar64(wave, instruction, code, SIM_B64);
}
static inline int64_t sim_scalar_read_i64(struct sim_wave *wave, const struct sim_instruction *instruction,
                                          unsigned code)
{
    return (int64_t)sim_scalar64(wave, instruction, code, SIM_I64);
}

static inline void sim_scalar_write_u32(struct sim_wave *wave, unsigned code, uint32_t value)
{
    if (code < wave->sgpr_limit || sim_has_sgprs(wave, code, 1))
        wave->sgpr[code] = value;
}
static inline void sim_scalar_write_i32(struct sim_wave *wave, unsigned code, int32_t value)
{
    sim_scalar_write_u32(wave, code, (uint32_t)value);
}
static inline void sim_scalar_write_u64(struct sim_wave *wave, unsigned code, uint64_t value)
{
    if (sim_scalar_is_pair(wave, code) || sim_has_sgprs(wave, code, 2))
        sim_set_sgpr64(wave, code, value);
}
static inline void sim_scalar_write_i64(struct sim_wave *wave, unsigned code, int64_t value)
{
    sim_scalar_write_u64(wave, code, (uint64_t)value);
}

#define SIM_SCALAR_FUNCTION(name) static void name(struct sim_wave *wave, const struct sim_instruction *instruction)

#define SIM_SOP2(name, result, first, second, ...) \
    SIM_SCALAR_FUNCTION(name) \
    { \
        const SIM_SCALAR_C_##first a = sim_scalar_read_##first(wave, instruction, instruction->src[0]); \
        const SIM_SCALAR_C_##second b = sim_scalar_read_##second(wave, instruction, instruction->src[1]); \
        SIM_SCALAR_C_##result d; \
        uint32_t scc = wave->scc; \
        __VA_ARGS__; \
        sim_scalar_write_##result(wave, instruction->dst, d); \
        wave->scc = scc; \
    }

#define SIM_SOPC(name, first, second, ...) \
    SIM_SCALAR_FUNCTION(name) \
    { \
        const SIM_SCALAR_C_##first a = sim_scalar_read_##first(wave, instruction, instruction->src[0]); \
        const SIM_SCALAR_C_##second b = sim_scalar_read_##second(wave, instruction, instruction->src[1]); \
        wave->scc = (__VA_ARGS__); \
    }

#define SIM_SOP1(name, result, first, ...) \
    SIM_SCALAR_FUNCTION(name) \
    { \
        const SIM_SCALAR_C_##first a = sim_scalar_read_##first(wave, instruction, instruction->src[0]); \
        SIM_SCALAR_C_##result d; \
        uint32_t scc = wave->scc; \
        __VA_ARGS__; \
        sim_scalar_write_##result(wave, instruction->dst, d); \
        wave->scc = scc; \
    }

/* d is read, changed and written. */
#define SIM_SOPK(name, ...) \
    SIM_SCALAR_FUNCTION(name) \
    { \
        const int32_t k = instruction->immediate; \
        uint32_t d = sim_scalar_read_u32(wave, instruction, instruction->dst), scc = wave->scc; \
        __VA_ARGS__; \
        sim_scalar_write_u32(wave, instruction->dst, d); \
        wave->scc = scc; \
    }

#define SIM_SCALAR_BINDINGS(table, entries) \
    const struct sim_bindings table = {entries, sizeof entries / sizeof *entries}

#endif
