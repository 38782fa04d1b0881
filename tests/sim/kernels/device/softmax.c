/* Softmax of rows, one row a workgroup. The exponential is the hardware's 2^x. */
#include "kernel.h"

KERNEL softmax(float *out, const float *in, u32 columns)
{
    SHARED float partial[256];
    const float *row = in + (u64)block_x() * columns;
    u32 t = thread_x();
    float most = -__builtin_inff();
    for (u32 c = t; c < columns; c += threads_x())
        most = __builtin_fmaxf(most, row[c]);
    partial[t] = most;
    barrier();
    for (u32 half = threads_x() / 2; half > 0; half /= 2) {
        if (t < half)
            partial[t] = __builtin_fmaxf(partial[t], partial[t + half]);
        barrier();
    }
    most = partial[0];
    barrier();

    float sum = 0;
    for (u32 c = t; c < columns; c += threads_x())
        sum += __builtin_amdgcn_exp2f((row[c] - most) * 1.44269504f);
    partial[t] = sum;
    barrier();
    for (u32 half = threads_x() / 2; half > 0; half /= 2) {
        if (t < half)
            partial[t] += partial[t + half];
        barrier();
    }
    sum = partial[0];
    for (u32 c = t; c < columns; c += threads_x())
        out[(u64)block_x() * columns + c] = __builtin_exp2f((row[c] - most) * 1.44269504f) / sum;
}

/* log-sum-exp with the hardware's logarithm; sine and cosine of turns. */
KERNEL transcendental(float *out, const float *in)
{
    u32 i = global_x();
    float x = in[i];
    out[i * 6] = __builtin_log2f(x);
    float turns = __builtin_amdgcn_fractf(x); /* beyond 256 turns the instructions give 0 and 1 */
    out[i * 6 + 1] = __builtin_amdgcn_sinf(turns);
    out[i * 6 + 2] = __builtin_amdgcn_cosf(turns);
    out[i * 6 + 3] = __builtin_amdgcn_rcpf(x);
    out[i * 6 + 4] = __builtin_amdgcn_sqrtf(x);
    out[i * 6 + 5] = __builtin_amdgcn_rsqf(x);
}
