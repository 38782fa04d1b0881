/* cost.h - what instructions cost: cost.c has the numbers and where they come from.
 *
 * The model: a SIMD issues one instruction at a time, of the wave that has waited longest. An instruction keeps the SIMD
 * for its issue cycles; the wave issues its next one after that. Memory instructions complete later, in order, and
 * s_waitcnt waits for them. A CU's path to vector memory and its LDS, and a SIMD's matrix core, serve one instruction at
 * a time.
 */
#ifndef SIM_COST_H
#define SIM_COST_H

#include <stdint.h>

#include "../isa/isa.h"

enum cost_class {
    COST_SCALAR,
    COST_VECTOR,
    COST_VECTOR_QUARTER, /* a quarter of the lanes a cycle */
    COST_VECTOR_EIGHTH,
    COST_BRANCH,
    COST_BARRIER,
    COST_END,
    COST_NOP,
    COST_SLEEP,
    /* From here on an instruction may have to wait before it issues. */
    COST_WAIT,
    COST_SCALAR_MEMORY,
    COST_CLOCK, /* s_memtime, s_memrealtime */
    COST_LDS,
    COST_VECTOR_MEMORY,
    COST_FLAT,
    COST_MATRIX, /* COST_MATRIX + n: 4 << n cycles */
    COST_CLASSES = COST_MATRIX + 6
};
#define COST_FIRST_THAT_WAITS COST_WAIT

/* Whether nothing outside of its SIMD sees that an instruction executed. */
static inline int cost_is_local(unsigned class)
{
    return class <= COST_BRANCH || class == COST_NOP || class == COST_SLEEP || class == COST_WAIT ||
           class == COST_CLOCK || class >= COST_MATRIX;
}

/* Memory instructions that have not completed: when each will, in order. */
#define OUTSTANDING_MAX 64
struct outstanding {
    uint64_t done[OUTSTANDING_MAX];
    uint32_t first, count;
};

struct resident;

uint8_t cost_classify(const struct sim_instruction *instruction, enum sim_chip chip);
/* The first cycle, from `cycle` on, at which the instruction may issue. */
uint64_t cost_issue_cycle(const struct resident *resident, const struct sim_instruction *instruction, uint64_t cycle);
/* It was executed at `cycle`: keeps the units that it uses, and returns when the wave's next one may issue. */
uint64_t cost_charge(struct resident *resident, const struct sim_instruction *instruction, uint64_t cycle);
/* When all memory instructions of the wave will have completed. */
uint64_t cost_all_done(const struct resident *resident, uint64_t cycle);
/* Cycles from the last wave's arrival at a barrier until all go on; and between the starts of two workgroups of an XCC. */
uint64_t cost_barrier_cycles(void);
uint64_t cost_workgroup_cycles(void);

#endif
