/* scalar_mask.c - lane masks: EXEC with saving, whole quads, replicated bits (SOP1). */
#include "scalar.h"

/* EXEC = a expression of the source `a` and of EXEC; the destination has the old EXEC, or the new one. The old one is
 * saved before EXEC is written: the destination may not be EXEC's own source of the operation. */
#define SAVE_EXEC(name, saved, expression) \
    SIM_SCALAR_FUNCTION(name) \
    { \
        const uint64_t a = sim_scalar_read_u64(wave, instruction, instruction->src[0]); \
        const uint64_t exec = sim_exec(wave), result = (expression); \
        sim_scalar_write_u64(wave, instruction->dst, saved); \
        sim_set_sgpr64(wave, SIM_EXEC_LO, result); \
        wave->scc = result != 0; \
    }
SAVE_EXEC(s_and_saveexec_b64, exec, (a & exec))
SAVE_EXEC(s_or_saveexec_b64, exec, a | exec)
SAVE_EXEC(s_xor_saveexec_b64, exec, a ^ exec)
SAVE_EXEC(s_andn2_saveexec_b64, exec, a & ~exec)
SAVE_EXEC(s_orn2_saveexec_b64, exec, a | ~exec)
SAVE_EXEC(s_nand_saveexec_b64, exec, ~(a &exec))
SAVE_EXEC(s_nor_saveexec_b64, exec, ~(a | exec))
SAVE_EXEC(s_xnor_saveexec_b64, exec, ~(a ^ exec))
SAVE_EXEC(s_andn1_saveexec_b64, exec, (~a & exec))
SAVE_EXEC(s_orn1_saveexec_b64, exec, ~a | exec)
SAVE_EXEC(s_andn1_wrexec_b64, result, (~a & exec))
SAVE_EXEC(s_andn2_wrexec_b64, result, a & ~exec)

/* A bit for each quad of four lanes in which any is set. */
static uint64_t quads(uint64_t lanes)
{
    uint64_t mask = 0;
    for (int quad = 0; quad < 16; quad++)
        mask |= (uint64_t)((lanes >> 4 * quad & 15) != 0) << quad;
    return mask;
}
static uint64_t whole_quads(uint64_t lanes)
{
    uint64_t mask = 0;
    for (int quad = 0; quad < 16; quad++)
        mask |= (lanes >> 4 * quad & 15) ? 15ull << 4 * quad : 0;
    return mask;
}
SIM_SOP1(s_wqm_b32, u32, u32, d = (uint32_t)whole_quads(a); scc = d != 0)
SIM_SOP1(s_wqm_b64, u64, u64, d = whole_quads(a); scc = d != 0)
SIM_SOP1(s_quadmask_b32, u32, u32, d = (uint32_t)quads(a); scc = d != 0)
SIM_SOP1(s_quadmask_b64, u64, u64, d = quads(a); scc = d != 0)

static uint64_t doubled_bits(uint32_t bits)
{
    uint64_t result = 0;
    for (int i = 0; i < 32; i++)
        result |= (bits >> i & 1 ? 3ull : 0) << 2 * i;
    return result;
}
SIM_SOP1(s_bitreplicate_b64_b32, u64, u32, d = doubled_bits(a))

/* clang-format off */
#define BIND(name) {#name, name}
static const struct sim_binding entries[] = {
    BIND(s_and_saveexec_b64), BIND(s_or_saveexec_b64), BIND(s_xor_saveexec_b64), BIND(s_andn2_saveexec_b64),
    BIND(s_orn2_saveexec_b64), BIND(s_nand_saveexec_b64), BIND(s_nor_saveexec_b64), BIND(s_xnor_saveexec_b64),
    BIND(s_andn1_saveexec_b64), BIND(s_orn1_saveexec_b64), BIND(s_andn1_wrexec_b64), BIND(s_andn2_wrexec_b64),
    BIND(s_wqm_b32), BIND(s_wqm_b64), BIND(s_quadmask_b32), BIND(s_quadmask_b64), BIND(s_bitreplicate_b64_b32),
};
/* clang-format on */
SIM_SCALAR_BINDINGS(sim_scalar_mask, entries);
