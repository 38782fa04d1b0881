/* softmax.cl - a kernel in OpenCL C, without a library of OpenCL: what it calls are clang's builtins. */
#include <ktrace/device.h>

#define THREADS 256

__attribute__((always_inline)) static inline float sum_over_workgroup(float value, __local float *parts KTRACE_PARAM)
{
    KTRACE_RANGE("reduce");
    const int thread = __builtin_amdgcn_workitem_id_x();
    parts[thread] = value;
    for (int half_of_them = THREADS / 2; half_of_them > 0; half_of_them /= 2) {
        __builtin_amdgcn_s_barrier();
        if (thread < half_of_them)
            parts[thread] += parts[thread + half_of_them];
    }
    __builtin_amdgcn_s_barrier();
    return parts[0];
}

__attribute__((reqd_work_group_size(THREADS, 1, 1))) __kernel void softmax(__global float *out,
                                                                           const __global float *in, int columns)
{
    KTRACE_KERNEL("softmax");
    __local float parts[THREADS];
    const int row = __builtin_amdgcn_workgroup_id_x(), thread = __builtin_amdgcn_workitem_id_x();
    float sum = 0;
    {
        KTRACE_RANGE("sum");
        for (int i = thread; i < columns; i += THREADS)
            sum += __builtin_expf(in[row * columns + i]);
        sum = sum_over_workgroup(sum, parts KTRACE_ARG);
        KTRACE_MARK("total", sum);
    }
    KTRACE_RANGE("store");
    for (int i = thread; i < columns; i += THREADS)
        out[row * columns + i] = __builtin_expf(in[row * columns + i]) / sum;
}
