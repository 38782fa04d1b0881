/* gemm_problem.h - matrices for the kernel of gemm.c, its launch, and what its result must be. Behind hip.h. */
#ifndef EXAMPLES_AMDGCN_GEMM_PROBLEM_H
#define EXAMPLES_AMDGCN_GEMM_PROBLEM_H

#include "hip.h"

enum { GEMM_BLOCK = 64, GEMM_BLOCK_K = 32, GEMM_THREADS = 256 }; /* as in gemm.c */

/* Small integers: exact in half precision, and so are their sums in single. */
static inline int element(int i, int j, int which)
{
    return (i * 7 + j * 3 + which) % 9 - 4;
}

/* The bits of a small integer as a half. */
static inline unsigned short half_of(int value)
{
    unsigned magnitude = (unsigned)(value < 0 ? -value : value), exponent = 15, sign = value < 0 ? 0x8000u : 0;
    if (magnitude == 0)
        return 0;
    while (magnitude >> (exponent - 15) > 1)
        exponent++;
    return (unsigned short)(sign | exponent << 10 | (magnitude << (25 - exponent) & 0x3FFu));
}

struct gemm_problem {
    int m, n, k;
    void *c, *a, *b; /* on the device */
};

static inline void *gemm_matrix(int rows, int columns, int which)
{
    const size_t count = (size_t)rows * (size_t)columns;
    unsigned short *halves = malloc(count * sizeof *halves);
    if (halves == NULL)
        fail("out of memory");
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            halves[(size_t)i * (size_t)columns + (size_t)j] = half_of(element(i, j, which));
    void *matrix = hip_allocate(count * sizeof *halves);
    HIP(hipMemcpy, matrix, halves, count * sizeof *halves, HIP_HOST_TO_DEVICE);
    free(halves);
    return matrix;
}

static inline struct gemm_problem gemm_make(int m, int n, int k)
{
    const size_t result_bytes = (size_t)m * (size_t)n * sizeof(float);
    return (struct gemm_problem){m, n, k, hip_allocate(result_bytes), gemm_matrix(m, k, 1), gemm_matrix(k, n, 2)};
}

static inline void gemm_launch(struct gemm_problem *problem, void *kernel)
{
    void *arguments[] = {&problem->c, &problem->a, &problem->b, &problem->n, &problem->k};
    HIP(hipModuleLaunchKernel, kernel, (unsigned)problem->n / GEMM_BLOCK, (unsigned)problem->m / GEMM_BLOCK, 1,
        GEMM_THREADS, 1, 1, 0, NULL, arguments, NULL);
}

/* Every element, which is exact, against a plain loop. */
static inline void gemm_check(const struct gemm_problem *problem)
{
    const size_t bytes = (size_t)problem->m * (size_t)problem->n * sizeof(float);
    float *result = malloc(bytes);
    if (result == NULL)
        fail("out of memory");
    HIP(hipMemcpy, result, problem->c, bytes, HIP_DEVICE_TO_HOST);
    for (int i = 0; i < problem->m; i++)
        for (int j = 0; j < problem->n; j++) {
            const float got = result[(size_t)i * (size_t)problem->n + (size_t)j];
            int sum = 0;
            for (int k = 0; k < problem->k; k++)
                sum += element(i, k, 1) * element(k, j, 2);
            if (got != (float)sum)
                fail("element %d, %d is %g, not %d", i, j, (double)got, sum);
        }
    free(result);
}

static inline void gemm_free(struct gemm_problem *problem)
{
    HIP(hipFree, problem->c);
    HIP(hipFree, problem->a);
    HIP(hipFree, problem->b);
}

#endif
