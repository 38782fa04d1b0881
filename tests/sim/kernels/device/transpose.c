/* Matrix transpose through LDS, rows padded against bank conflicts, for elements of 1, 4, 8 and 16 bytes. */
#include "kernel.h"

#define TRANSPOSE(name, type) \
    KERNEL name(type *out, const type *in, u32 rows, u32 columns) \
    { \
        SHARED type tile[16][17]; \
        u32 row = block_y() * 16 + thread_y(), column = block_x() * 16 + thread_x(); \
        if (row < rows && column < columns) \
            tile[thread_y()][thread_x()] = in[(u64)row * columns + column]; \
        barrier(); \
        u32 out_row = block_x() * 16 + thread_y(), out_column = block_y() * 16 + thread_x(); \
        if (out_row < columns && out_column < rows) \
            out[(u64)out_row * rows + out_column] = tile[thread_x()][thread_y()]; \
    }

TRANSPOSE(transpose_u8, u8)
TRANSPOSE(transpose_u16, u16)
TRANSPOSE(transpose_f32, float)
TRANSPOSE(transpose_f64, double)
TRANSPOSE(transpose_u32x4, u32x4)
