/* Every macro of ktrace/device.h, in the places where kernels use them: templates, anonymous namespaces, device functions,
 * clusters, divergent code. Compiled for every architecture, with tracing on and off. */
#if !defined(__CUDACC_RTC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define HAVE_HALF 1
#else
#define HAVE_HALF 0
#endif
#include <ktrace/device.h>

__device__ __forceinline__ int helper(int a KTRACE_PARAM)
{
    KTRACE_RANGE("helper", a);
    if (a > 3)
        return a * 2;
    KTRACE_MARK("helper small");
    return a;
}

__device__ __noinline__ int called(int a KTRACE_PARAM)
{
    KTRACE_RANGE("called");
    return helper(a + 1 KTRACE_ARG);
}

__device__ __forceinline__ void alone(KTRACE_PARAM_ONLY)
{
    KTRACE_MARK("alone");
}

namespace
{

__device__ int hidden(int a KTRACE_PARAM)
{
    KTRACE_RANGE_PUSH("hidden");
    a = called(a KTRACE_ARG);
    KTRACE_RANGE_POP();
    return a;
}

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
    out[threadIdx.x] = value;
}

template __global__ void kernel_template<4, float>(float *, int);
template __global__ void kernel_template<8, float>(float *, int);
template __global__ void kernel_template<8, double>(double *, int);

} // namespace

template <bool Traced>
__device__ void step(float &x KTRACE_PARAM_IF(Traced))
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
    out[threadIdx.x] = x;
    KTRACE_RANGE_STOP(token);
}

__global__ void payloads(float *out)
{
    KTRACE_KERNEL("payloads");
    const int i = (int)threadIdx.x;
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
#if HAVE_HALF
    const __half half = __float2half((float)i);
    const __nv_bfloat16 brain = __float2bfloat16((float)i);
    KTRACE_MARK("half", half);
    KTRACE_MARK("bfloat16", brain);
    KTRACE_MARK("half value", __float2half(1.0f));
#endif
    KTRACE_MARK("member", threadIdx.x);
    out[i] = (float)i;
}

__global__ void divergent(int *out, int n)
{
    KTRACE_KERNEL("divergent");
    const int lane = threadIdx.x & 31;
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
        next = KTRACE_RANGE_NEXT(next, "next with payload", i);
        next = KTRACE_RANGE_NEXT(next, "next with payload", (double)i);
    }
    KTRACE_RANGE_STOP(next, 1.0);
#ifdef __CUDA_ARCH__
    if (lane >= 24)
        return;
#endif
    alone(KTRACE_ARG_ONLY);
    out[threadIdx.x] = hidden(n KTRACE_ARG);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(2, 1, 1) clustered(int *out)
{
    KTRACE_KERNEL("clustered");
    KTRACE_RANGE("body");
    out[blockIdx.x] = 1;
}
#endif

template __global__ void both<true>(float *, float);
template __global__ void both<false>(float *, float);
