/* Elements are small integers, so that every product and sum is exact and the hardware's order of additions, which AMD does
 * not publish, cannot matter. */
#include "check.h"

#include <string.h>

enum { K = 64 };

enum element { F16, BF16, I8, F32, F64 };
static const size_t element_bytes[] = {2, 2, 1, 4, 8};

static void put(void *to, size_t at, enum element type, int value)
{
    float f = (float)value;
    double d = value;
    uint32_t word;
    memcpy(&word, &f, 4);
    uint16_t half = type == F16 ? half_from_double(value) : (uint16_t)(word >> 16);
    int8_t byte = (int8_t)value;
    const void *from = type == F16 || type == BF16 ? (const void *)&half
                       : type == I8                ? (const void *)&byte
                       : type == F32               ? (const void *)&f
                                                   : (const void *)&d;
    memcpy((char *)to + at * element_bytes[type], from, element_bytes[type]);
}

/* A is size x K, B is K x size. */
static void multiply(const char *kernel, enum element type, int size)
{
    static int left[32][K], right[K][32];
    static unsigned char a[32 * K * 8], b[sizeof a], c[32 * 32 * 8], expected[sizeof c];
    uint64_t seed = 12;
    for (int i = 0; i < size; i++)
        for (int k = 0; k < K; k++) {
            put(a, (size_t)(i * K + k), type, left[i][k] = (int)random_integer(&seed, 100));
            put(b, (size_t)(k * size + i), type, right[k][i] = (int)random_integer(&seed, 100));
        }
    size_t result_bytes = type == F64 ? 8 : 4, results = (size_t)(size * size);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) {
            int sum = 0;
            for (int k = 0; k < K; k++)
                sum += left[i][k] * right[k][j];
            size_t at = (size_t)(i * size + j);
            if (type == I8)
                memcpy(expected + at * 4, &sum, 4);
            else
                put(expected, at, type == F64 ? F64 : F32, sum);
        }
    size_t bytes = (size_t)(size * K) * element_bytes[type];
    void *d_c = device_zeros(results * result_bytes), *d_a = device_copy(a, bytes), *d_b = device_copy(b, bytes);
    uint32_t k = K;
    LAUNCH(kernel, SHAPE_1D(1, 64), &d_c, &d_a, &d_b, &k);
    device_read(c, d_c, results * result_bytes);
    check_equal(kernel, c, expected, results, result_bytes);
}

void check_matrix_f16(void **state)
{
    (void)state;
    multiply("matrix_f16_32", F16, 32);
    multiply("matrix_f16_16", F16, 16);
    multiply("matrix_f16_32_wide", F16, 32);
}

void check_matrix_bf16(void **state)
{
    (void)state;
    multiply("matrix_bf16_32", BF16, 32);
}

void check_matrix_i8(void **state)
{
    (void)state;
    multiply("matrix_i8_16", I8, 16);
}

void check_matrix_f32(void **state)
{
    (void)state;
    multiply("matrix_f32_32", F32, 32);
    multiply("matrix_f32_16", F32, 16);
}

void check_matrix_f64(void **state)
{
    (void)state;
    multiply("matrix_f64_16", F64, 16);
}
