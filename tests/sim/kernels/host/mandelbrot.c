#include "check.h"

#include <math.h>

enum { WIDTH = 50, HEIGHT = 21, LIMIT = 60 };

static void run(uint16_t iterations[HEIGHT][WIDTH], const char *kernel)
{
    void *d_iterations = device_zeros(sizeof(uint16_t[HEIGHT][WIDTH]));
    uint32_t width = WIDTH, height = HEIGHT, limit = LIMIT;
    struct shape shape = {{(WIDTH + 15) / 16, (HEIGHT + 7) / 8, 1}, {16, 8, 1}, 0};
    LAUNCH(kernel, shape, &d_iterations, &width, &height, &limit);
    device_read(iterations, d_iterations, sizeof(uint16_t[HEIGHT][WIDTH]));
}

void check_mandelbrot(void **state)
{
    (void)state;
    uint16_t iterations[HEIGHT][WIDTH], of_f64[HEIGHT][WIDTH], of_f32[HEIGHT][WIDTH];
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            double c_re = x * 3.0 / WIDTH - 2, c_im = y * 2.0 / HEIGHT - 1, re = 0, im = 0;
            int n = 0;
            for (; n < LIMIT && re * re + im * im <= 4; n++) {
                double next = fma(re, re, -(im * im)) + c_re;
                im = fma(2 * re, im, c_im);
                re = next;
            }
            of_f64[y][x] = (uint16_t)n;
            float f_re = (float)x * 3 / WIDTH - 2, f_im = (float)y * 2 / HEIGHT - 1, fx = 0, fy = 0;
            for (n = 0; n < LIMIT && fx * fx + fy * fy <= 4; n++) {
                float next = fmaf(fx, fx, -(fy * fy)) + f_re;
                fy = fmaf(2 * fx, fy, f_im);
                fx = next;
            }
            of_f32[y][x] = (uint16_t)n;
        }
    run(iterations, "mandelbrot_f64");
    check_equal("iterations in f64", iterations, of_f64, WIDTH * HEIGHT, 2);
    run(iterations, "mandelbrot_f32");
    check_equal("iterations in f32", iterations, of_f32, WIDTH * HEIGHT, 2);
}
