/* softmax.c - a kernel in plain C, which clang compiles for AMD GPUs. */
#include <ktrace/device.h>

#define GLOBAL __attribute__((address_space(1)))
#define SHARED static __attribute__((address_space(3), loader_uninitialized))
#define INLINE static inline __attribute__((always_inline))

enum { THREADS = 256 };
SHARED float parts[THREADS];

INLINE void barrier(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* The same for all threads of a workgroup: the sum of their values, or the largest. */
INLINE float over_workgroup(float value, int largest KTRACE_PARAM)
{
    KTRACE_RANGE("reduce", largest);
    const int thread = __builtin_amdgcn_workitem_id_x();
    parts[thread] = value;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        barrier();
        if (thread < half) {
            const float a = parts[thread], b = parts[thread + half];
            parts[thread] = largest ? __builtin_fmaxf(a, b) : a + b;
        }
    }
    barrier();
    value = parts[0];
    barrier();
    return value;
}

__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(THREADS, THREADS))) void
softmax(GLOBAL float *out, const GLOBAL float *in, int columns)
{
    KTRACE_KERNEL("softmax");
    const int row = __builtin_amdgcn_workgroup_id_x(), thread = __builtin_amdgcn_workitem_id_x();
    float largest = -__builtin_inff(), sum = 0;
    in += row * columns;
    out += row * columns;
    {
        KTRACE_RANGE("max");
        for (int i = thread; i < columns; i += THREADS)
            largest = __builtin_fmaxf(largest, in[i]);
        largest = over_workgroup(largest, 1 KTRACE_ARG);
    }
    {
        KTRACE_RANGE("sum");
        for (int i = thread; i < columns; i += THREADS)
            sum += __builtin_expf(in[i] - largest);
        sum = over_workgroup(sum, 0 KTRACE_ARG);
        KTRACE_MARK("total", sum);
    }
    KTRACE_RANGE("store");
    for (int i = thread; i < columns; i += THREADS)
        out[i] = __builtin_expf(in[i] - largest) / sum;
}
