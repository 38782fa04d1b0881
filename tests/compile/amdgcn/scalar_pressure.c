/* More scalar values than there are registers for, in use before, between and after events: what the compiler does not find a
 * scalar register for it keeps in lanes of vector registers, and never in an annotation's. */
#include <ktrace/device.h>

#define CONSTANT __attribute__((address_space(4)))
#define GLOBAL __attribute__((address_space(1)))

enum { VALUES = 100 };

/* What a kernel asks for itself does not give it annotations' registers. */
__attribute__((amdgpu_num_sgpr(102))) __attribute__((amdgpu_kernel)) void scalars(GLOBAL int *out,
                                                                                  const CONSTANT int *in, int n)
{
    KTRACE_KERNEL("scalars");
    int values[VALUES];
    for (int i = 0; i < VALUES; i++)
        values[i] = in[i];
    ktrace_token turn = KTRACE_INACTIVE_TOKEN("turn");
    for (int k = 0; k < n; k++) {
        turn = KTRACE_RANGE_NEXT(turn, "turn", values[k % 2]);
        for (int i = 0; i < VALUES; i++)
            values[i] = values[i] * values[(i + 7) % VALUES] + k;
        KTRACE_MARK("between", values[3]);
    }
    KTRACE_RANGE_STOP(turn, (long)values[1] << 32 | values[2]);
    for (int i = 0; i < VALUES; i++)
        out[i] = values[i];
}

static __attribute__((noinline)) int many(const CONSTANT int *in, int n)
{
    int values[VALUES], sum = 0;
    for (int i = 0; i < VALUES; i++)
        values[i] = in[i];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < VALUES; i++)
            values[i] = values[i] * values[(i + 7) % VALUES] + k;
    for (int i = 0; i < VALUES; i++)
        sum += values[i];
    return sum;
}

/* The function saves what it uses of the registers that calls preserve. */
__attribute__((amdgpu_kernel)) void calls(GLOBAL int *out, const CONSTANT int *in, int n)
{
    KTRACE_KERNEL("calls");
    KTRACE_RANGE("call", n);
    out[0] = many(in, n);
}
