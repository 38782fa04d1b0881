/* What the tests of the Python package launch. Every kernel takes (n, values). */
#include <ktrace/device.h>

#define GLOBAL __attribute__((address_space(1)))
#define KERNEL(name) \
    __attribute__((amdgpu_kernel)) void name(__attribute__((unused)) int n, \
                                             __attribute__((unused)) const GLOBAL unsigned long long *values)

/* prologue mainloop{ k_tile{=0 } k_tile{=1 } ... } epilogue: 2 + 2 + 2 + 2 n events, and n payloads. */
KERNEL(gemm)
{
    KTRACE_KERNEL("gemm");
    {
        KTRACE_RANGE("prologue");
        __builtin_amdgcn_s_sleep(2);
    }
    KTRACE_RANGE_PUSH("mainloop");
    ktrace_token stage = KTRACE_INACTIVE_TOKEN("k_tile");
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        KTRACE_RANGE_STOP(stage);
        stage = KTRACE_RANGE_START("k_tile", k);
        __builtin_amdgcn_s_sleep(1);
    }
    KTRACE_RANGE_STOP(stage);
    KTRACE_RANGE_POP();
    {
        KTRACE_RANGE("epilogue");
        __builtin_amdgcn_s_sleep(1);
    }
}

/* layer{=n }: a range, and a payload. */
KERNEL(layer)
{
    KTRACE_KERNEL("layer");
    KTRACE_RANGE("layer", n);
    __builtin_amdgcn_s_sleep(2);
}

KERNEL(marks)
{
    KTRACE_KERNEL("marks");
#pragma unroll 1
    for (int i = 0; i < n; i++)
        KTRACE_MARK("mark", i);
}

/* One mark of every type, whose bits are in values[0], values[1], ... */
#define AT(type, i) \
    (((union { \
         unsigned long long bits; \
         type value; \
     }){.bits = values[i]}) \
         .value)
KERNEL(payloads)
{
    KTRACE_KERNEL("payloads");
    KTRACE_MARK("none");
    KTRACE_MARK("bool", (_Bool)(values[0] != 0));
    KTRACE_MARK("int8", AT(signed char, 1));
    KTRACE_MARK("uint16", AT(unsigned short, 2));
    KTRACE_MARK("int32", AT(int, 3));
    KTRACE_MARK("uint32", AT(unsigned, 4));
    KTRACE_MARK("int64", AT(long, 5));
    KTRACE_MARK("uint64", AT(unsigned long, 6));
    KTRACE_MARK("half", AT(_Float16, 7));
    KTRACE_MARK("float32", AT(float, 8));
    KTRACE_MARK("float64", AT(double, 9));
}

KERNEL(plain)
{
    __builtin_amdgcn_s_sleep(1);
}
