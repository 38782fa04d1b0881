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

/* scalar_alu.c, scalar_mask.c, scalar_flow.c, smem.c; ds.c and ds_lanes.c, flat.c, buffer.c */
extern const struct sim_bindings sim_scalar_alu, sim_scalar_mask, sim_scalar_flow, sim_smem;
extern const struct sim_bindings sim_ds, sim_ds_lanes, sim_flat, sim_buffer;
/* vector_integer.c, vector_bits.c, vector_float.c, vector_compare.c, vector_convert.c, vector_lane.c, vector_packed.c, matrix.c */
extern const struct sim_bindings sim_vector_integer, sim_vector_bits, sim_vector_float, sim_vector_compare,
    sim_vector_convert, sim_vector_lane, sim_vector_packed, sim_matrix;
/* vector_float_order.c, vector_float_round.c, vector_float_math.c, vector_float_divide.c, vector_dot.c,
 * vector_convert_scaled.c */
extern const struct sim_bindings sim_vector_float_order, sim_vector_float_round, sim_vector_float_math,
    sim_vector_float_divide, sim_vector_dot, sim_vector_convert_scaled;

/* The function for an opcode, or NULL: not implemented. Hash lookup over all of the above (bind.c). */
sim_execute sim_bind(const struct sim_opcode *opcode);

/* VGPR indexing (s_set_gpr_idx_on, MODE bit 27): while it is on, a vector ALU instruction executes as a copy of itself
 * whose vector registers M0 has moved. Makes that copy; 0 after sim_fault where the manual does not say what is moved. */
#define SIM_MODE_GPR_INDEXING (1u << 27)
int sim_index_registers(struct sim_wave *wave, struct sim_instruction *copy, const struct sim_instruction *instruction);

#endif
