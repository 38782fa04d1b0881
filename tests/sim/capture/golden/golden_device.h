/* golden_device.h - what the kernels of the golden cases begin with, in C, OpenCL C and HIP C++. Every kernel takes (out, n). */
#ifndef GOLDEN_DEVICE_H
#define GOLDEN_DEVICE_H

#if defined(__HIP__)
#include "../../../compile/amdgcn/hip.h"
#endif

#include <ktrace/device.h>

#if defined(__HIP__)
#define GLOBAL
#define INLINE static inline __attribute__((device, always_inline))
#define KERNEL(name) extern "C" __global__ void name(int *out, int n)
#elif defined(__OPENCL_C_VERSION__)
#define GLOBAL __global
#define INLINE __attribute__((always_inline)) static inline
#define KERNEL(name) __kernel void name(__global int *out, int n)
#else
#define GLOBAL __attribute__((address_space(1)))
#define INLINE static inline __attribute__((always_inline))
#define KERNEL(name) __attribute__((amdgpu_kernel)) void name(GLOBAL int *out, int n)
#endif

#define thread_x() ((int)__builtin_amdgcn_workitem_id_x())
#define group_x() ((int)__builtin_amdgcn_workgroup_id_x())
#define lane_index() (thread_x() & 63)

/* Work that the compiler cannot remove or move across events. */
INLINE int work(int x)
{
    x = (int)((unsigned)x * 1664525u + 1013904223u);
    KTRACE_PIN(x);
    return x;
}

#endif
