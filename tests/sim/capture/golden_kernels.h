/* What the kernels of golden cases share. */
#include <ktrace/device.h>

#define KERNEL __attribute__((amdgpu_kernel)) void
#define GLOBAL __attribute__((address_space(1)))
#define KEEP_LOOP _Pragma("clang loop unroll(disable)")

static inline int lane_index(void)
{
    return (int)(__builtin_amdgcn_workitem_id_x() & 63);
}

static inline int thread_index(void)
{
    return (int)(__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() +
                 __builtin_amdgcn_workitem_id_x());
}

/* Arithmetic that the compiler neither removes nor moves across events. */
static inline __attribute__((always_inline)) void work(int *x)
{
    int value = *x * 1664525 + 1013904223;
    KTRACE_PIN(value);
    *x = value;
}
