/* Ranges around loads, each closed behind a wait, in C, OpenCL C and HIP C++: check_gcn.py reads in machine code that s_waitcnt is
 * inside. Each range begins and ends in one block, so that its code lies between two events. */
#if defined(__HIP__)
#include "hip.h"
#endif
#include <ktrace/device.h>

#if defined(__OPENCL_C_VERSION__)
#define KERNEL __kernel void
#define GLOBAL __global
#define SHARED __local
#elif defined(__HIP__)
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define SHARED __attribute__((address_space(3)))
#else
#define KERNEL __attribute__((amdgpu_kernel)) void
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#endif

#ifdef NO_WAITS /* the same without: then it is behind the range, where the value is used */
#undef KTRACE_WAIT
#define KTRACE_WAIT(x) ((void)0)
#endif

#define LOADS(name, type, space) \
    KERNEL name(GLOBAL type *out, const space type *in) \
    { \
        KTRACE_KERNEL(#name); \
        const int i = (int)__builtin_amdgcn_workitem_id_x(); \
        KTRACE_RANGE_PUSH("load"); \
        type x = in[i]; \
        KTRACE_WAIT(x); \
        KTRACE_RANGE_POP(); \
        out[i] = x; \
    }
LOADS(load_short, short, GLOBAL)
LOADS(load_int, int, GLOBAL)
LOADS(load_float, float, GLOBAL)
LOADS(load_long, long, GLOBAL)
LOADS(load_double, double, GLOBAL)
LOADS(shared, float, SHARED)

/* All lanes load one value, which comes into a scalar register. */
KERNEL scalar(GLOBAL int *out, const GLOBAL int *in, int n)
{
    KTRACE_KERNEL("scalar");
    const int i = (int)__builtin_amdgcn_workitem_id_x();
    KTRACE_RANGE_PUSH("load");
    int x = in[n];
    KTRACE_WAIT(x);
    KTRACE_RANGE_POP();
    out[i] = x;
}

KERNEL loop(GLOBAL float *out, const GLOBAL float *in, int n)
{
    KTRACE_KERNEL("loop");
    const int lane = (int)__builtin_amdgcn_workitem_id_x();
    float sum = 0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < n; i++) {
        KTRACE_RANGE_PUSH("turn", i);
        float x = in[i * 64 + lane];
        KTRACE_WAIT(x);
        KTRACE_RANGE_POP();
        sum += x;
    }
    out[lane] = sum;
}

KERNEL divergent(GLOBAL float *out, const GLOBAL float *in, int n)
{
    KTRACE_KERNEL("divergent");
    const int lane = (int)__builtin_amdgcn_workitem_id_x();
    if (lane < n) {
        KTRACE_RANGE_PUSH("low");
        float x = in[lane];
        KTRACE_WAIT(x);
        KTRACE_RANGE_POP();
        out[lane] = x;
    } else {
        KTRACE_RANGE_PUSH("high");
        double x = (double)in[lane * 2];
        KTRACE_WAIT(x);
        KTRACE_RANGE_POP();
        out[lane] = (float)x;
    }
}
