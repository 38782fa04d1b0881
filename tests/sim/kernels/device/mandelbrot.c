/* Iterations until |z| > 2, in f64 and f32: every lane leaves the loop at its own time. */
#include "kernel.h"

#define MANDELBROT(name, type, fma) \
    KERNEL name(u16 *iterations, u32 width, u32 height, u32 limit) \
    { \
        u32 x = block_x() * threads_x() + thread_x(), y = block_y() * threads_y() + thread_y(); \
        if (x >= width || y >= height) \
            return; \
        type c_re = (type)x * 3 / (type)width - 2, c_im = (type)y * 2 / (type)height - 1; \
        type re = 0, im = 0; \
        u32 n = 0; \
        while (n < limit && re * re + im * im <= 4) { \
            type next = fma(re, re, -(im * im)) + c_re; \
            im = fma(2 * re, im, c_im); \
            re = next; \
            n++; \
        } \
        iterations[y * width + x] = (u16)n; \
    }

MANDELBROT(mandelbrot_f64, double, __builtin_fma)
MANDELBROT(mandelbrot_f32, float, __builtin_fmaf)
