/* Every payload type at its edges, from memory so that no compiler can fold it. C, OpenCL C and HIP C++. Cases:
 * golden_payloads.c, which fills `out` with bits of 8 bytes each. */
#if defined(__OPENCL_C_VERSION__)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define HALF half
#else
#define HALF _Float16
#endif
#if defined(__cplusplus)
#define BOOL bool
#else
#define BOOL _Bool
#endif
#include "golden_device.h"

/* The k-th value, as a type of its own. The language is told behind them. */
#define AT(type, k) (*(GLOBAL const type *)((GLOBAL const char *)out + 8 * (k)))

KERNEL(from_memory)
{
    KTRACE_KERNEL("from memory");
    KTRACE_MARK("absent");
    KTRACE_MARK("zero", n);
    KTRACE_MARK("bool", (BOOL)(AT(int, 0) != 0));
    KTRACE_MARK("bool", (BOOL)(AT(int, 1) != 0));
    KTRACE_MARK("char", AT(char, 2));
    KTRACE_MARK("schar", AT(signed char, 2));
    KTRACE_MARK("uchar", AT(unsigned char, 2));
    KTRACE_MARK("short", AT(short, 3));
    KTRACE_MARK("ushort", AT(unsigned short, 3));
    KTRACE_MARK("int", AT(int, 4));
    KTRACE_MARK("uint", AT(unsigned, 4));
    KTRACE_MARK("long", AT(long, 5));
    KTRACE_MARK("ulong", AT(unsigned long, 5));
    KTRACE_MARK("ulong", AT(unsigned long, 6));
    KTRACE_MARK("long", AT(long, 6));
#if !defined(__OPENCL_C_VERSION__)
    KTRACE_MARK("llong", AT(long long, 5));
    KTRACE_MARK("ullong", AT(unsigned long long, 6));
#endif
    KTRACE_MARK("float", AT(float, 7));
    KTRACE_MARK("float", AT(float, 8));
    KTRACE_MARK("float", AT(float, 9));
    KTRACE_MARK("float", AT(float, 10));
    KTRACE_MARK("float", AT(float, 11));
    KTRACE_MARK("float", AT(float, 12));
    KTRACE_MARK("double", AT(double, 13));
    KTRACE_MARK("double", AT(double, 14));
    KTRACE_MARK("double", AT(double, 15));
    KTRACE_MARK("double", AT(double, 16));
    KTRACE_MARK("half", AT(HALF, 17));
    KTRACE_MARK("half", AT(HALF, 18));
    KTRACE_MARK("half", AT(HALF, 19));
    KTRACE_MARK("half", AT(HALF, 20));
#if !defined(__OPENCL_C_VERSION__)
    KTRACE_MARK("bfloat16", AT(__bf16, 21));
    KTRACE_MARK("bfloat16", AT(__bf16, 22));
#endif
}

KERNEL(constants)
{
    KTRACE_KERNEL("constants");
    KTRACE_MARK("zero", 0);
    KTRACE_MARK("minus one", -1);
    KTRACE_MARK("unsigned", 0xFFFFFFFFu);
    KTRACE_MARK("two to the 63", 1ul << 63);
    KTRACE_MARK("all ones", ~0ul);
    KTRACE_MARK("letter", (char)'k');
    KTRACE_MARK("float", 2.5f);
    KTRACE_MARK("minus zero", -0.0f);
    KTRACE_MARK("double", 2.5);
    KTRACE_MARK("half", (HALF)0.5f);
    KTRACE_MARK("n", n);
    out[0] = n;
}

/* On begins and ends; 0 is not absent; where lanes have parted it is the first active lane's. */
KERNEL(on_ranges)
{
    KTRACE_KERNEL("on ranges");
    const unsigned long large = ~0ul - (unsigned long)n;
    const int lane = lane_index();
    {
        KTRACE_RANGE("scoped", large);
        KTRACE_RANGE_PUSH("pushed", 0);
        KTRACE_RANGE_POP();
    }
    const ktrace_token both = KTRACE_RANGE_START("both", 0u);
    KTRACE_RANGE_STOP(both, -0.0);
    const ktrace_token start = KTRACE_RANGE_START("start", (BOOL)(n != 1));
    KTRACE_RANGE_STOP(start);
    const ktrace_token stop = KTRACE_RANGE_START("stop");
    KTRACE_RANGE_STOP(stop, large);
    if (lane >= 3)
        KTRACE_MARK("leader", lane * 10);
    if (lane >= 40)
        KTRACE_MARK("leader", (float)lane);
    out[thread_x()] = lane;
}

/* Payloads whose bits are those of a slot: n is a site, and the sequence that of the slot which the payload takes. */
KERNEL(like_slots)
{
    KTRACE_KERNEL("like slots");
#pragma unroll 1
    for (unsigned i = 0; i < 12; i++)
        KTRACE_MARK("like a slot", (unsigned long)((2 * i + 2) << 16 | (unsigned)n) << 32 | 0x12345678u);
    out[0] = n;
}
