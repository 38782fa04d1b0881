/* Kernels in pairs: traced_X has events where bare_X has none, and is otherwise the same. check_sass.py compares what they
 * add to the machine code: no branch, atomic, barrier or fence, and how many instructions an event. */
#include <ktrace/device.h>

#define EVENTS 8

/* Work that stays where it is, between events. */
__device__ __forceinline__ void work(float &x)
{
    x = fmaf(x, x, 1.0f);
    asm volatile("" : "+f"(x));
}

#define PAIR(name, declare, body_of_event) \
    extern "C" __global__ void bare_##name(float *out, float x, int n) \
    { \
        KTRACE_KERNEL("bare"); \
        _Pragma("unroll 1") for (int i = 0; i < n; i++) \
        { \
            work(x); \
            work(x); \
            work(x); \
            work(x); \
            work(x); \
            work(x); \
            work(x); \
            work(x); \
        } \
        out[threadIdx.x] = x; \
    } \
    extern "C" __global__ void traced_##name(float *out, float x, int n) \
    { \
        KTRACE_KERNEL("traced"); \
        declare; \
        _Pragma("unroll 1") for (int i = 0; i < n; i++) \
        { \
            work(x); \
            body_of_event; \
            work(x); \
            body_of_event; \
            work(x); \
            body_of_event; \
            work(x); \
            body_of_event; \
            work(x); \
            body_of_event; \
            work(x); \
            body_of_event; \
            work(x); \
            body_of_event; \
            work(x); \
            body_of_event; \
        } \
        out[threadIdx.x] = x; \
    }

PAIR(mark, , KTRACE_MARK("mark"))
PAIR(mark_32, , KTRACE_MARK("mark", i))
PAIR(mark_64, , KTRACE_MARK("mark", (long long)i))
PAIR(push, , KTRACE_RANGE_PUSH("push"))
PAIR(pop, , KTRACE_RANGE_POP())
PAIR(range, , { KTRACE_RANGE("range"); })
PAIR(next, ktrace_token t = KTRACE_INACTIVE_TOKEN("next"), t = KTRACE_RANGE_NEXT(t, "next"))
PAIR(token, ktrace_token t = KTRACE_INACTIVE_TOKEN("token"), KTRACE_RANGE_STOP(t); t = KTRACE_RANGE_START("token"))

/* In divergent code: both sides of a branch have work that keeps it a branch. */
#define BRANCH(then_event, else_event) \
    if ((threadIdx.x & 31) < (unsigned)n) { \
        _Pragma("unroll 1") for (int i = 0; i < n; i++) \
        { \
            work(x); \
            then_event; \
        } \
    } else { \
        _Pragma("unroll 1") for (int i = 0; i < n + 3; i++) \
        { \
            work(x); \
            work(x); \
            else_event; \
        } \
    }
extern "C" __global__ void bare_divergent(float *out, float x, int n)
{
    KTRACE_KERNEL("bare");
    BRANCH(, )
    out[threadIdx.x] = x;
}
extern "C" __global__ void traced_divergent(float *out, float x, int n)
{
    KTRACE_KERNEL("traced");
    BRANCH(KTRACE_MARK("then"), KTRACE_MARK("else"))
    out[threadIdx.x] = x;
}
