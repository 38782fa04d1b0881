/* device.h - what plain C for amdgcn needs besides the compiler: names of address spaces, and a barrier. */
#ifndef EXAMPLES_AMDGCN_DEVICE_H
#define EXAMPLES_AMDGCN_DEVICE_H

#include <ktrace/device.h>

#define KERNEL __attribute__((amdgpu_kernel)) void
#define WORKGROUP(size) __attribute__((amdgpu_flat_work_group_size(size, size)))
#define GLOBAL __attribute__((address_space(1)))
#define SHARED static __attribute__((address_space(3), loader_uninitialized))

#define thread_x() ((int)__builtin_amdgcn_workitem_id_x())
#define group_x() ((int)__builtin_amdgcn_workgroup_id_x())
#define group_y() ((int)__builtin_amdgcn_workgroup_id_y())

/* All waves of the workgroup get here, and see what the others wrote to LDS before. */
static inline __attribute__((always_inline)) void barrier(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#endif
