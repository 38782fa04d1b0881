/* Ranges around what takes time to arrive, each closed behind a wait: check_sass.py reads in machine code that it is waited for
 * inside. Each range begins and ends in one block, so that its code lies between two clock reads. */
#include <cuda_fp16.h>
#include <ktrace/device.h>

#ifdef PINS_ONLY /* the same without: then it is not */
#undef KTRACE_WAIT
#define KTRACE_WAIT(x) KTRACE_PIN(x)
#endif

namespace
{

template <class T>
__device__ __forceinline__ void load(T *out, const T *in KTRACE_PARAM)
{
    KTRACE_RANGE_PUSH("load");
    T x = in[threadIdx.x];
    KTRACE_WAIT(x);
    KTRACE_RANGE_POP();
    out[threadIdx.x] = x;
}

template <class T>
__device__ __noinline__ void load_in_function(T *out, const T *in KTRACE_PARAM)
{
    load(out, in KTRACE_ARG);
}

} // namespace

#define LOADS(name, type) \
    extern "C" __global__ void name(type *out, const type *in) \
    { \
        KTRACE_KERNEL(#name); \
        load(out, in KTRACE_ARG); \
    }
LOADS(load_bool, bool)
LOADS(load_char, signed char)
LOADS(load_short, short)
LOADS(load_half, __half)
LOADS(load_int, int)
LOADS(load_float, float)
LOADS(load_long, long long)
LOADS(load_double, double)

extern "C" __global__ void in_function(float *out, const float *in)
{
    KTRACE_KERNEL("in_function");
    load_in_function(out, in KTRACE_ARG);
}

/* Of the value more is known than its type says. */
extern "C" __global__ void narrow(unsigned *out, const unsigned char *in)
{
    KTRACE_KERNEL("narrow");
    KTRACE_RANGE_PUSH("byte");
    unsigned byte = in[threadIdx.x];
    KTRACE_WAIT(byte);
    KTRACE_RANGE_POP();
    KTRACE_RANGE_PUSH("bits");
    unsigned long long bits = out[threadIdx.x] & 6;
    KTRACE_WAIT(bits);
    KTRACE_RANGE_POP();
    out[threadIdx.x] = byte + (unsigned)bits;
}

/* Halves that arrive apart. */
extern "C" __global__ void halves(unsigned long long *out, const unsigned *low, const unsigned *high)
{
    KTRACE_KERNEL("halves");
    KTRACE_RANGE_PUSH("both");
    unsigned long long both = (unsigned long long)high[threadIdx.x] << 32 | low[threadIdx.x];
    KTRACE_WAIT(both);
    KTRACE_RANGE_POP();
    out[threadIdx.x] = both;
}

/* What a unit of its own computes. */
extern "C" __global__ void computed(float *out, float x)
{
    KTRACE_KERNEL("computed");
    x += (float)threadIdx.x;
    KTRACE_RANGE_PUSH("root");
    KTRACE_PIN(x);
    asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x));
    KTRACE_WAIT(x);
    KTRACE_RANGE_POP();
    out[threadIdx.x] = x;
}

extern "C" __global__ void shared(float *out, const float *in)
{
    KTRACE_KERNEL("shared");
    __shared__ float tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    KTRACE_RANGE_PUSH("read");
    float x = tile[threadIdx.x ^ 1];
    KTRACE_WAIT(x);
    KTRACE_RANGE_POP();
    out[threadIdx.x] = x;
}

extern "C" __global__ void loop(float *out, const float *in, int n)
{
    KTRACE_KERNEL("loop");
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        KTRACE_RANGE_PUSH("turn", i);
        float x = in[i * 32 + threadIdx.x];
        KTRACE_WAIT(x);
        KTRACE_RANGE_POP();
        sum += x;
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void divergent(float *out, const float *in, int n)
{
    KTRACE_KERNEL("divergent");
    if ((int)threadIdx.x < n) {
        KTRACE_RANGE_PUSH("low");
        float x = in[threadIdx.x];
        KTRACE_WAIT(x);
        KTRACE_RANGE_POP();
        out[threadIdx.x] = x;
    } else {
        const ktrace_token token = KTRACE_RANGE_START("high");
        double x = (double)in[threadIdx.x * 2];
        KTRACE_WAIT(x);
        KTRACE_RANGE_STOP(token);
        out[threadIdx.x] = (float)x;
    }
}

/* Several loads under way, of which one range waits for each. */
extern "C" __global__ void several(float *out, const float *in)
{
    KTRACE_KERNEL("several");
    float x[4];
    KTRACE_RANGE_PUSH("loads");
#pragma unroll
    for (int i = 0; i < 4; i++)
        x[i] = in[i * 32 + threadIdx.x];
#pragma unroll
    for (int i = 0; i < 4; i++)
        KTRACE_WAIT(x[i]);
    KTRACE_RANGE_POP();
    out[threadIdx.x] = x[0] * x[1] + x[2] * x[3];
}
