/* exec.h - how instructions are executed.
 *
 * Each file of exec/ has functions for some opcodes and a table that binds their names: sim_execute functions that read
 * and write the wave's registers. A name serves every encoding of its opcode (VOP2, VOP3, SDWA, DPP): the operand access
 * in operands.h applies modifiers, the destination's exec mask and selects.
 */
#ifndef SIM_EXEC_H
#define SIM_EXEC_H

#include "../isa/isa.h"
#include "../machine/wave.h"

struct sim_binding {
    const char *name; /* as struct sim_opcode has it */
    sim_execute execute;
};
struct sim_bindings {
    const struct sim_binding *entries;
    size_t count;
};

/* scalar.c (SOP*, control flow), smem.c, ds.c, flat.c, buffer.c */
extern const struct sim_bindings sim_scalar, sim_smem, sim_ds, sim_flat, sim_buffer;
/* vector_integer.c, vector_float.c, vector_compare.c, vector_convert.c, vector_lane.c, vector_packed.c, matrix.c */
extern const struct sim_bindings sim_vector_integer, sim_vector_float, sim_vector_compare, sim_vector_convert,
    sim_vector_lane, sim_vector_packed, sim_matrix;

/* The function for an opcode, or NULL: not implemented. Hash lookup over all of the above (bind.c). */
sim_execute sim_bind(const struct sim_opcode *opcode);

#endif
