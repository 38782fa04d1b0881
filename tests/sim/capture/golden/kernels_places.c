/* Where waves run, by what they read of the hardware themselves. Cases: golden_places.c. */
#include "golden_device.h"

#define group_y() ((int)__builtin_amdgcn_workgroup_id_y())
#define group_z() ((int)__builtin_amdgcn_workgroup_id_z())
#define grid_x() ((int)__builtin_amdgcn_grid_size_x())
#define grid_y() ((int)__builtin_amdgcn_grid_size_y())
#define size_x() ((int)__builtin_amdgcn_workgroup_size_x())
#define size_y() ((int)__builtin_amdgcn_workgroup_size_y())
#define size_z() ((int)__builtin_amdgcn_workgroup_size_z())

INLINE int group_index(void)
{
    const int columns = (grid_x() + size_x() - 1) / size_x(), rows = (grid_y() + size_y() - 1) / size_y();
    return group_x() + columns * (group_y() + rows * group_z());
}

INLINE int thread_index(void)
{
    return thread_x() +
           size_x() * ((int)__builtin_amdgcn_workitem_id_y() + size_y() * (int)__builtin_amdgcn_workitem_id_z());
}

/* Each wave stores HW_ID and XCC_ID at 2 * (its number in the grid, n waves a workgroup). */
KERNEL(places)
{
    KTRACE_KERNEL("places");
    unsigned hw_id, xcc_id;
    __asm__ volatile("s_getreg_b32 %0, hwreg(HW_REG_HW_ID)\n\ts_getreg_b32 %1, hwreg(HW_REG_XCC_ID)"
                     : "=s"(hw_id), "=s"(xcc_id));
    const int thread = thread_index(), wave = thread >> 6;
    KTRACE_MARK("wave", wave);
    if ((thread & 63) >= 8)
        KTRACE_MARK("from lane 8", thread);
    out[2 * (group_index() * n + wave)] = (int)hw_id;
    out[2 * (group_index() * n + wave) + 1] = (int)xcc_id;
}

static __attribute__((address_space(3), loader_uninitialized)) int shared[16];

/* The waves of a workgroup take turns: each is in its range while the others wait or work. */
KERNEL(interleaved)
{
    KTRACE_KERNEL("interleaved");
    const int wave = thread_x() >> 6, waves = size_x() >> 6;
    int x = thread_x() + n;
    KTRACE_RANGE("all", wave);
#pragma unroll 1
    for (int turn = 0; turn < 3; turn++) {
        {
            KTRACE_RANGE("work", turn);
            for (int i = 0; i <= wave; i++)
                x = work(x);
            if (lane_index() == 0)
                shared[wave] = x;
        }
        const ktrace_token waiting = KTRACE_RANGE_START("barrier");
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        KTRACE_RANGE_STOP(waiting);
        x += shared[(wave + 1) % waves];
    }
    out[group_index() * size_x() + thread_x()] = x;
}

KERNEL(long_kernel)
{
    KTRACE_KERNEL("long");
    KTRACE_RANGE("body", n);
    int x = thread_x();
#pragma unroll 1
    for (int i = 0; i < 1000; i++)
        x = work(x);
    out[n * 64 + thread_x()] = x;
}
