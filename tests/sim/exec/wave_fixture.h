/* wave_fixture.h - a wave whose instructions are written as text: llvm-mc assembles, sim_decode decodes, sim_bind says what
 * executes them.
 */
#ifndef WAVE_FIXTURE_H
#define WAVE_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "exec/exec.h"
#include "stub_machine.h"

#define FIXTURE_VGPRS 32
#define FIXTURE_ACCS 16

struct registers {
    uint32_t sgpr[128];
    uint32_t scc;
    uint32_t vector[SIM_VGPRS][SIM_LANES];
};

struct fixture {
    struct sim_wave wave; /* vgpr points at `vector` */
    uint32_t vector[SIM_VGPRS][SIM_LANES];
    uint64_t random;
};

/* Random content in every register, EXEC all ones, MODE as kernels of amdhsa start: subnormals allowed, IEEE, DX10 clamp.
 * Registers that are not allocated have content, too: writing them shows. */
void fixture_init(struct fixture *fixture);
uint64_t fixture_random(struct fixture *fixture);

/* Assembles `count` texts with one call of llvm-mc, decodes them and binds their functions. A text that does not assemble, or
 * decodes to nothing that can be executed, fails the test. */
void assemble(struct sim_instruction *out, enum sim_chip chip, const char *const *texts, size_t count);

void fixture_execute(struct fixture *fixture, const struct sim_instruction *instruction);
/* One text, assembled and executed. */
void fixture_run(struct fixture *fixture, const char *text);

void save_registers(struct registers *out, const struct fixture *fixture);

/* For main: ends the program with ctest's code for a skipped test where there is no llvm-mc. */
void skip_without_llvm_mc(void);

#endif
