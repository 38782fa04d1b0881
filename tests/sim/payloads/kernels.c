/* Every value of values.inc as a payload of every kind of event, in C, HIP C++ and OpenCL C. `values` has 8 bytes for each. */
#if defined(__OPENCL_C_VERSION__)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define HALF half
#define GLOBAL __global
#define KERNEL(name) __kernel void name(__global const char *values)
#define BOOL _Bool
#elif defined(__HIP__)
#include "../../compile/amdgcn/hip.h"
#define HALF _Float16
#define GLOBAL
#define KERNEL(name) extern "C" __global__ void name(const char *values)
#define BOOL bool
#else
#define HALF _Float16
#define GLOBAL __attribute__((address_space(1)))
#define KERNEL(name) __attribute__((amdgpu_kernel)) void name(GLOBAL const char *values)
#define BOOL _Bool
#endif

#include <ktrace/device.h>

#include "values.inc"

#define CHAR char
#define SCHAR signed char
#define UCHAR unsigned char
#define SHORT short
#define USHORT unsigned short
#define INT int
#define UINT unsigned int
#define LONG long
#define ULONG unsigned long
#define FLOAT float
#define DOUBLE double
#if defined(__OPENCL_C_VERSION__)
#define VALUES(X) VALUES_OF_ALL_LANGUAGES(X)
#else
#define LLONG long long
#define ULLONG unsigned long long
#define BFLOAT16 __bf16
#define VALUES(X) VALUES_OF_ALL_LANGUAGES(X) VALUES_BUT_FOR_OPENCL(X)
#endif

#define INDEX(name, type, bits) index_of_##name,
enum { VALUES(INDEX) };
#define VALUE(name, type) (*(GLOBAL const type *)(values + 8 * index_of_##name))

#define MARK(name, type, bits) KTRACE_MARK("mark " #name, VALUE(name, type));
KERNEL(marks)
{
    KTRACE_KERNEL("marks");
    KTRACE_MARK("mark nothing");
    VALUES(MARK)
}

#define PUSH(name, type, bits) \
    KTRACE_RANGE_PUSH("push " #name, VALUE(name, type)); \
    KTRACE_RANGE_POP();
KERNEL(pushes)
{
    KTRACE_KERNEL("pushes");
    KTRACE_RANGE_PUSH("push nothing");
    KTRACE_RANGE_POP();
    VALUES(PUSH)
}

/* At the begin, at the end, at both. */
#define TOKENS(name, type, bits) \
    token = KTRACE_RANGE_START("start " #name, VALUE(name, type)); \
    KTRACE_RANGE_STOP(token); \
    token = KTRACE_RANGE_START("stop " #name); \
    KTRACE_RANGE_STOP(token, VALUE(name, type)); \
    token = KTRACE_RANGE_START("both " #name, VALUE(name, type)); \
    KTRACE_RANGE_STOP(token, VALUE(name, type));
KERNEL(tokens)
{
    KTRACE_KERNEL("tokens");
    ktrace_token token = KTRACE_RANGE_START("start nothing");
    KTRACE_RANGE_STOP(token);
    VALUES(TOKENS)
}

#define NEXT(name, type, bits) token = KTRACE_RANGE_NEXT(token, "next " #name, VALUE(name, type));
KERNEL(nexts)
{
    KTRACE_KERNEL("nexts");
    ktrace_token token = KTRACE_RANGE_START("next nothing");
    VALUES(NEXT)
    KTRACE_RANGE_STOP(token);
}
