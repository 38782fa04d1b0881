#include "check.h"

#include <string.h>

void check_transpose(void **state)
{
    (void)state;
    static const struct {
        const char *kernel;
        size_t bytes;
    } kernels[] = {
        {"transpose_u8", 1}, {"transpose_u16", 2}, {"transpose_f32", 4}, {"transpose_f64", 8}, {"transpose_u32x4", 16}};
    enum { ROWS = 37, COLUMNS = 50 };
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        static unsigned char in[ROWS * COLUMNS * 16], out[sizeof in], expected[sizeof in];
        size_t bytes = kernels[k].bytes, all = ROWS * COLUMNS * bytes;
        random_fill(in, all, 7 + k);
        for (size_t row = 0; row < ROWS; row++)
            for (size_t column = 0; column < COLUMNS; column++)
                memcpy(expected + (column * ROWS + row) * bytes, in + (row * COLUMNS + column) * bytes, bytes);
        void *d_out = device_zeros(all), *d_in = device_copy(in, all);
        uint32_t rows = ROWS, columns = COLUMNS;
        struct shape shape = {{(COLUMNS + 15) / 16, (ROWS + 15) / 16, 1}, {16, 16, 1}, 0};
        LAUNCH(kernels[k].kernel, shape, &d_out, &d_in, &rows, &columns);
        device_read(out, d_out, all);
        check_equal(kernels[k].kernel, out, expected, bytes > 8 ? all / 8 : ROWS * COLUMNS, bytes > 8 ? 8 : bytes);
    }
}
