/* gpr_index.c - VGPR indexing: M0[7:0] is added to the numbers of the vector registers that M0[15:12] choose. Compilers use
 * it for arrays in registers: s_set_gpr_idx_on, v_mov_b32, s_set_gpr_idx_off. */
#include <string.h>

#include "exec.h"

static int is_vector_register(unsigned code)
{
    return code >= SIM_VGPR_FIRST && code <= SIM_ACC_LAST;
}

/* These read their destination, or registers of chosen lanes: AMD's manuals do not say what of them is moved. */
static int is_unclear(const struct sim_instruction *instruction)
{
    static const char *const names[] = {"mac_", "fmac", "dot2c", "dot4c", "dot8c", "lane", "mfma", "swap", "permlane"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(instruction->opcode->name, names[i]))
            return 1;
    return instruction->is_sdwa || instruction->is_dpp;
}

static uint16_t moved(unsigned code, unsigned index)
{
    const unsigned last = code < SIM_ACC_FIRST ? SIM_VGPR_LAST : SIM_ACC_LAST;
    /* Past the last register: an operand code that names none, so that reading or writing it is a fault. */
    return (uint16_t)(code + index > last ? SIM_ACC_LAST + 1 : code + index);
}

int sim_index_registers(struct sim_wave *wave, struct sim_instruction *copy, const struct sim_instruction *instruction)
{
    const unsigned index = wave->sgpr[SIM_M0] & 0xFF, moves = wave->sgpr[SIM_M0] >> 12 & 15;
    *copy = *instruction;
    if (is_unclear(instruction)) {
        sim_fault(wave,
                  "%s executes with VGPR indexing on (s_set_gpr_idx_on), which is modelled for plain vector ALU "
                  "instructions only",
                  instruction->opcode->name);
        return 0;
    }
    for (unsigned i = 0; i < 3; i++)
        if (moves >> i & 1 && is_vector_register(copy->src[i]))
            copy->src[i] = moved(copy->src[i], index);
    if (moves >> 3 & 1 && is_vector_register(copy->dst))
        copy->dst = moved(copy->dst, index);
    return 1;
}
