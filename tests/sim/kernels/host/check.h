/* check.h - what the cases are written with: memory and launches of a simulated device through the HIP API, and comparisons.
 *
 * One code object is loaded for the whole run. Every function here fails the running test with a sentence instead of
 * returning an error; memory is freed when its case ends.
 */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct shape {
    unsigned grid[3], block[3], dynamic_lds_bytes;
};
#define SHAPE_1D(blocks, threads) ((struct shape){{(blocks), 1, 1}, {(threads), 1, 1}, 0})

/* Device memory: zeroed, or a copy of host memory. Followed by bytes that no kernel may change: free checks them. */
void *device_zeros(size_t bytes);
void *device_copy(const void *host, size_t bytes);
void device_read(void *host, const void *device, size_t bytes);
/* Variables of the code object. */
void device_set_variable(const char *name, const void *host, size_t bytes);
void device_get_variable(void *host, const char *name, size_t bytes);

/* Launch a kernel and wait for it. Arguments are given by their addresses. */
#define LAUNCH(name, shape, ...) launch(name, shape, (void *[]){__VA_ARGS__})
void launch(const char *name, struct shape shape, void **arguments);

/* The first difference fails the test with its index and both values in hexadecimal. */
void check_equal(const char *what, const void *actual, const void *expected, size_t count, size_t element_bytes);
/* |actual - expected| <= bound * |expected| + floor, and neither is NaN. */
void check_close(const char *what, const float *actual, const double *expected, size_t count, double bound,
                 double floor);

/* A sequence of numbers that is the same everywhere. */
uint32_t random_u32(uint64_t *seed);
uint64_t random_u64(uint64_t *seed);
void random_fill(void *to, size_t bytes, uint64_t seed);
/* An integer of [-range, range] as a float. */
float random_integer(uint64_t *seed, int range);
void random_floats(float *to, size_t count, uint64_t *seed, int range, float scale);

/* binary16, rounded to nearest even. */
uint16_t half_from_double(double value);
double half_to_double(uint16_t half);

int harness_open(const char *library, const char *code_object); /* 0; else it has said why not */
void harness_close(void);
int harness_end_case(void **state);

#define CASE(name) void check_##name(void **state);
#define HIP_CASE(name) CASE(name)
#include "cases.inc"
#undef CASE
#undef HIP_CASE

#endif
