/* matrix.h - matrix instructions: shapes, and where elements lie in registers. For matrix.c and its tests.
 *
 * D = A * B + C in each of `blocks` independent products, A of m x k, B of k x n. The layouts are those of AMD's matrix
 * instruction calculator:
 *   A      element (i, k) of a block lies in lane (k / per_lane) * m * blocks + block * m + i, as number k % per_lane of
 *          that lane's consecutive elements; per_lane = m * blocks * k / 64. B is the same with j for i and n for m.
 *   C, D   groups of 4 (f64: 1) rows are dealt out to the lanes first, then to registers; a column is a lane. Several
 *          blocks lie in one another's following registers, but for n = 4, where they lie side by side in the lanes.
 */
#ifndef SIM_MATRIX_H
#define SIM_MATRIX_H

#include <stdint.h>

enum sim_element {
    SIM_ELEMENT_F16,
    SIM_ELEMENT_BF16,
    SIM_ELEMENT_F32,
    SIM_ELEMENT_XF32,
    SIM_ELEMENT_FP8,
    SIM_ELEMENT_BF8,
    SIM_ELEMENT_I8,
    SIM_ELEMENT_F64
};

struct sim_matrix {
    uint8_t m, n, k, blocks;
    uint8_t a, b;            /* enum sim_element; it decides D's too: f32, i32 of I8, f64 of F64 */
    uint8_t sparse;          /* A has 2 of every 4 elements along k; where they are is in a register */
    uint8_t has_broadcast_a; /* cbsz and abid choose A's block (sparse: abid chooses among the indices' sets) */
    uint8_t has_permute_b;   /* blgp moves B's lanes; of f64 it negates instead */
};

/* Lane and register (of f64: pair) of element (i, j) of C and D. */
static inline void sim_matrix_place_d(const struct sim_matrix *matrix, unsigned block, unsigned i, unsigned j,
                                      unsigned *lane, unsigned *reg)
{
    const unsigned rows = matrix->a == SIM_ELEMENT_F64 ? 1 : 4; /* that lie in one lane's consecutive registers */
    const unsigned side_by_side = matrix->n == 4 ? matrix->blocks : 1;
    const unsigned columns = matrix->n * side_by_side, groups = 64 / columns;
    const unsigned group = i / rows, registers = matrix->m > groups * rows ? matrix->m / groups : rows;
    *lane = columns * (group % groups) + (matrix->n == 4 ? block * 4 : 0) + j;
    *reg = (matrix->n == 4 ? 0 : block * registers) + group / groups * rows + i % rows;
}

/* Lane and number within the lane of element k of row i of A, or of column i of B: `m` is A's m or B's n. */
static inline void sim_matrix_place_ab(const struct sim_matrix *matrix, unsigned m, unsigned block, unsigned i,
                                       unsigned k, unsigned *lane, unsigned *number)
{
    const unsigned per_lane = m * matrix->blocks * matrix->k / 64;
    *lane = k / per_lane * m * matrix->blocks + block * m + i;
    *number = k % per_lane;
}

#endif
