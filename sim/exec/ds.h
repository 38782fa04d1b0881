/* ds.h - what ds.c and ds_lanes.c share. */
#ifndef SIM_DS_H
#define SIM_DS_H

#include "vector_memory.h"

/* The gfx9 chips with matrix cores have no global data share. 0 after sim_fault. */
static inline int sim_ds_is_local(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    wave->lines_touched = 0;
    if (instruction->gds)
        sim_fault(wave, "%s with gds: gfx942 and gfx950 have no global data share", instruction->opcode->name);
    return !instruction->gds;
}

/* Every active lane's LDS pointer: its address register plus `offset`, in 32 bits. */
static inline int sim_ds_find(struct sim_wave *wave, const struct sim_instruction *instruction,
                              struct sim_access *access, uint32_t offset)
{
    uint32_t address[SIM_LANES];
    if (!sim_ds_is_local(wave, instruction))
        return 0;
    const uint32_t(*row)[SIM_LANES] = (const uint32_t(*)[SIM_LANES])sim_vector_rows(wave, instruction->src[0], 1);
    if (!row)
        return 0;
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        address[lane] = row[0][lane] + offset;
    return sim_find_lds(wave, access, address);
}

#define SIM_DS_FUNCTION(name) static void name(struct sim_wave *wave, const struct sim_instruction *instruction)

#endif
