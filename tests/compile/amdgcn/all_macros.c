/* Every macro of ktrace/device.h in plain C, and in OpenCL C when that is what this is compiled as. */
#include <ktrace/device.h>

#if defined(__OPENCL_C_VERSION__)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define KERNEL __kernel void
#define GLOBAL __global
#define HALF half
#else
#define KERNEL __attribute__((amdgpu_kernel)) void
#define GLOBAL __attribute__((address_space(1)))
#define HALF _Float16
#endif
#define INLINE static inline __attribute__((always_inline))

INLINE int helper(int a KTRACE_PARAM)
{
    KTRACE_RANGE("helper", a);
    if (a > 3)
        return a * 2;
    KTRACE_MARK("helper small");
    return a;
}

INLINE int outer(int a KTRACE_PARAM)
{
    KTRACE_RANGE_PUSH("outer");
    a = helper(a + 1 KTRACE_ARG);
    KTRACE_RANGE_POP();
    return a;
}

INLINE void alone(KTRACE_PARAM_ONLY)
{
    KTRACE_MARK("alone");
}

static __attribute__((noinline)) int called(int a)
{
    return a * a + 1;
}

KERNEL payloads(GLOBAL float *out)
{
    KTRACE_KERNEL("payloads");
    const int i = (int)__builtin_amdgcn_workitem_id_x();
    KTRACE_MARK("bool", (_Bool)(i == 0));
    KTRACE_MARK("char", (char)i);
    KTRACE_MARK("signed char", (signed char)-i);
    KTRACE_MARK("unsigned char", (unsigned char)i);
    KTRACE_MARK("short", (short)-i);
    KTRACE_MARK("unsigned short", (unsigned short)i);
    KTRACE_MARK("int", -i);
    KTRACE_MARK("unsigned", (unsigned)i);
    KTRACE_MARK("long", (long)-i);
    KTRACE_MARK("unsigned long", (unsigned long)i);
#if !defined(__OPENCL_C_VERSION__)
    KTRACE_MARK("long long", (long long)-i);
    KTRACE_MARK("unsigned long long", (unsigned long long)i);
    KTRACE_MARK("bfloat16", (__bf16)(float)i);
#endif
    KTRACE_MARK("half", (HALF)i);
    KTRACE_MARK("float", (float)i);
    KTRACE_MARK("double", (double)i);
    KTRACE_MARK("constant", 5);
    KTRACE_MARK("with commas", ((void)i, 7));
    out[i] = (float)i;
}

KERNEL divergent(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("divergent");
    const int lane = (int)__builtin_amdgcn_workitem_id_x() & 63;
    ktrace_token loop = KTRACE_INACTIVE_TOKEN("turn");
    if (lane < 16) {
        KTRACE_MARK("low");
    } else {
        KTRACE_MARK("high", lane);
    }
    for (int i = 0; i < lane; i++) {
        KTRACE_RANGE_STOP(loop, i);
        loop = KTRACE_RANGE_START("turn", i);
        out[i] += n;
    }
    KTRACE_RANGE_STOP(loop);
    if (lane >= 48)
        return;
    alone(KTRACE_ARG_ONLY);
    out[lane] = called(outer(n KTRACE_ARG));
}

KERNEL tokens(GLOBAL float *out, int n)
{
    KTRACE_KERNEL("tokens");
    ktrace_token next = KTRACE_INACTIVE_TOKEN("next");
    float x = 1;
    for (int i = 0; i < n; i++) {
        next = KTRACE_RANGE_NEXT(next, "next");
        next = KTRACE_RANGE_NEXT(next, "next with payload", i);
        x = x * x + 1;
        KTRACE_PIN(x);
        KTRACE_WAIT(x);
    }
    KTRACE_RANGE_STOP(next, 1.0);
    next = KTRACE_RANGE_START("start");
    KTRACE_RANGE_STOP(next);
    out[__builtin_amdgcn_workitem_id_x()] = x;
}
