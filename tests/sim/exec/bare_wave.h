/* bare_wave.h - one wave whose instructions are built field by field: for tests that need no assembler. */
#ifndef BARE_WAVE_H
#define BARE_WAVE_H

#include "exec/exec.h"
#include "stub_machine.h"

#define BARE_LDS_BYTES 4096
#define BARE_SCRATCH_LANE_BYTES 256
#define BARE_SGPRS 102
#define BARE_VGPRS 128
#define BARE_ACCS 64

struct bare_wave {
    struct sim_wave wave;
    uint32_t vgpr[SIM_VGPRS][SIM_LANES];
    unsigned char lds[BARE_LDS_BYTES];
    unsigned char scratch[SIM_LANES * BARE_SCRATCH_LANE_BYTES];
};
extern struct bare_wave bare;

/* All registers 0, all lanes active, subnormal numbers allowed; no fault. For cmocka_unit_test_setup. */
int bare_set_up(void **state);
/* As if no instruction had failed yet. */
void bare_clear_fault(void);

/* An instruction of that name with all operands missing, bound to its function. The test fails if there is none. */
struct sim_instruction bare_instruction(const char *name);
/* It executes. */
void bare_execute(const struct sim_instruction *instruction);
/* It executes and the test fails if it faults, or with a sentence if it does not fault with that one. */
void bare_succeeds(const struct sim_instruction *instruction);
void bare_faults(const struct sim_instruction *instruction, const char *sentence);

#define V(number) ((uint16_t)(SIM_VGPR_FIRST + (number)))
#define A(number) ((uint16_t)(SIM_ACC_FIRST + (number)))

#endif
