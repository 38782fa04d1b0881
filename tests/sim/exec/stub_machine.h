/* stub_machine.h - one wave with registers, LDS, private memory and no machine: what tests of exec/ link in its place. It
 * has the functions of wave.h, and sim_memory_range of machine.h. */
#ifndef STUB_MACHINE_H
#define STUB_MACHINE_H

#include <stddef.h>

#include "exec/exec.h"

#define STUB_LDS_BYTES 4096
#define STUB_SCRATCH_LANE_BYTES 256
#define STUB_SGPRS 102
#define STUB_VGPRS 128
#define STUB_ACCS 64

struct stub_machine {
    struct sim_wave wave; /* all lanes active, all denormals allowed, registers 0 */
    uint32_t vgpr[SIM_VGPRS][SIM_LANES];
    unsigned char lds[STUB_LDS_BYTES];
    unsigned char scratch[SIM_LANES * STUB_SCRATCH_LANE_BYTES];
    char fault[512]; /* the first sentence of sim_fault; "" if none */
    int barriers, ends;
    uint32_t slept_cycles;
    uint64_t core_ticks, realtime_ticks; /* what the clocks show */
};
extern struct stub_machine stub;

/* Everything as it was at the beginning; no memory is allowed. */
void stub_reset(void);
/* No fault so far, any number of instructions later. */
void stub_clear_fault(void);
/* Memory that kernels may read, and write if `writable`. */
void stub_allow(void *address, uint64_t bytes, int writable);

/* An instruction of that name with all operands missing, bound to its function. The test fails if there is none. */
struct sim_instruction stub_instruction(const char *name);
/* It executes: wave->faulted then says whether it failed. */
void stub_execute(const struct sim_instruction *instruction);

#define STUB_V(number) ((uint16_t)(SIM_VGPR_FIRST + (number)))
#define STUB_A(number) ((uint16_t)(SIM_ACC_FIRST + (number)))

#endif
