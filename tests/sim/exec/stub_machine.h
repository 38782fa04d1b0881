/* stub_machine.h - what execute functions ask of a machine, for tests of them without one. Device memory is any of the
 * test's own, unless it says which; LDS, scratch and the registers are in the wave.
 */
#ifndef STUB_MACHINE_H
#define STUB_MACHINE_H

#include "machine/machine.h"
#include "machine/wave.h"

/* What sim_machine_config says; gfx942 unless a test changes it. */
extern enum sim_chip stub_chip;

/* The sentence of the first sim_fault since stub_machine_reset, or "". */
extern char stub_fault[512];

/* What the wave asked for since then. */
extern unsigned stub_barriers, stub_ends, stub_sleep_cycles;

void stub_machine_reset(void);

/* Until the next reset device memory is only what was allowed so. */
void stub_allow_memory(void *address, uint64_t bytes, int writable);

#endif
