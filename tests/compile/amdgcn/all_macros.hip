/* Every macro of ktrace/device.h in HIP C++: templates, anonymous namespaces, lambdas, device functions, divergent code. */
#include "hip.h"

#include <ktrace/device.h>

/* As HIP's headers define them. */
struct __half {
    unsigned short bits;
};
struct __hip_bfloat16 {
    unsigned short bits;
};

__device__ __attribute__((always_inline)) inline int helper(int a KTRACE_PARAM)
{
    KTRACE_RANGE("helper", a);
    if (a > 3)
        return a * 2;
    KTRACE_MARK("helper small");
    return a;
}

__device__ __attribute__((always_inline)) inline void alone(KTRACE_PARAM_ONLY)
{
    KTRACE_MARK("alone");
}

namespace
{

template <int Tile, class T>
__global__ void kernel_template(T *out, int n)
{
    KTRACE_KERNEL("template");
    T value = (T)n;
    {
        KTRACE_RANGE("body", Tile);
        for (int i = 0; i < Tile; i++)
            value = value * value + (T)1;
        KTRACE_PIN(value);
        KTRACE_WAIT(value);
    }
    out[__builtin_amdgcn_workitem_id_x()] = value;
}

template __global__ void kernel_template<4, float>(float *, int);
template __global__ void kernel_template<8, float>(float *, int);
template __global__ void kernel_template<8, double>(double *, int);

} // namespace

template <bool Traced>
__device__ __attribute__((always_inline)) inline void step(float &x KTRACE_PARAM_IF(Traced))
{
    KTRACE_RANGE("step");
    x = x * x + 1.0f;
    KTRACE_PIN(x);
    KTRACE_WAIT(x);
}

template <bool Traced>
__global__ void both(float *out, float x)
{
    KTRACE_KERNEL_IF(Traced, "both");
    KTRACE_RANGE("all");
    step<Traced>(x KTRACE_ARG);
    ktrace_token token = KTRACE_RANGE_START("tail");
    out[__builtin_amdgcn_workitem_id_x()] = x;
    KTRACE_RANGE_STOP(token);
}

__global__ void payloads(float *out)
{
    KTRACE_KERNEL("payloads");
    const int i = (int)__builtin_amdgcn_workitem_id_x();
    KTRACE_MARK("bool", i == 0);
    KTRACE_MARK("char", (char)i);
    KTRACE_MARK("signed char", (signed char)-i);
    KTRACE_MARK("unsigned char", (unsigned char)i);
    KTRACE_MARK("short", (short)-i);
    KTRACE_MARK("unsigned short", (unsigned short)i);
    KTRACE_MARK("int", -i);
    KTRACE_MARK("unsigned", (unsigned)i);
    KTRACE_MARK("long", (long)-i);
    KTRACE_MARK("unsigned long", (unsigned long)i);
    KTRACE_MARK("long long", (long long)-i);
    KTRACE_MARK("unsigned long long", (unsigned long long)i);
    KTRACE_MARK("float", (float)i);
    KTRACE_MARK("double", (double)i);
    const __half half = {0x3C00};
    const __hip_bfloat16 brain = {0x3F80};
    KTRACE_MARK("half", half);
    KTRACE_MARK("bfloat16", brain);
    KTRACE_MARK("_Float16", (_Float16)i);
    KTRACE_MARK("__bf16", (__bf16)(float)i);
    out[i] = (float)i;
}

__global__ void divergent(int *out, int n)
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
    ktrace_token next = KTRACE_INACTIVE_TOKEN("next");
    for (int i = 0; i < n; i++) {
        next = KTRACE_RANGE_NEXT(next, "next");
        next = KTRACE_RANGE_NEXT(next, "next with payload", (double)i);
    }
    KTRACE_RANGE_STOP(next, 1.0);
    KTRACE_RANGE_PUSH("pushed", lane);
    const auto inner = [&]() __attribute__((always_inline))
    {
        KTRACE_RANGE("lambda");
        return helper(n KTRACE_ARG);
    };
    out[lane] = inner();
    KTRACE_RANGE_POP();
    if (lane >= 24)
        return;
    alone(KTRACE_ARG_ONLY);
}

void launch(float *out)
{
    both<true><<<1, 64>>>(out, 1);
    both<false><<<1, 64>>>(out, 1);
}
