/* Traced kernels whose waves note where and when they ran. Every kernel takes (log, n, arrived): log has a struct truth for each
 * wave of the grid, in order of workgroups; arrived is a counter that only `meets` uses. */
#include <ktrace/device.h>

#include "truth.h"

#define GLOBAL __attribute__((address_space(1)))
#define KERNEL(name) \
    __attribute__((amdgpu_kernel)) void name(GLOBAL struct truth *log, int n, \
                                             __attribute__((unused)) GLOBAL unsigned *arrived)
#define INLINE static inline __attribute__((always_inline))

typedef unsigned long long u64;

/* clang has no builtin for it. */
u64 dispatch_id(void) __asm__("llvm.amdgcn.dispatch.id");

INLINE u64 realtime(void)
{
    u64 ticks;
    __asm__ volatile("s_memrealtime %0\n\ts_waitcnt lgkmcnt(0)" : "=s"(ticks)::"memory");
    return ticks;
}

INLINE unsigned thread_in_workgroup(void)
{
    return __builtin_amdgcn_workitem_id_x() +
           __builtin_amdgcn_workgroup_size_x() *
               (__builtin_amdgcn_workitem_id_y() +
                __builtin_amdgcn_workgroup_size_y() * __builtin_amdgcn_workitem_id_z());
}

INLINE void note(GLOBAL struct truth *log, u64 before, u64 begun, u64 ending)
{
    const u64 after = realtime();
    const unsigned threads =
        __builtin_amdgcn_workgroup_size_x() * __builtin_amdgcn_workgroup_size_y() * __builtin_amdgcn_workgroup_size_z();
    const unsigned columns = __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x();
    const unsigned rows = __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y();
    const unsigned x = __builtin_amdgcn_workgroup_id_x(), y = __builtin_amdgcn_workgroup_id_y();
    const unsigned z = __builtin_amdgcn_workgroup_id_z(), wave = thread_in_workgroup() / 64;
    GLOBAL struct truth *const mine = &log[(x + columns * (y + rows * z)) * ((threads + 63) / 64) + wave];
    unsigned hw_id, xcc_id;
    __asm__ volatile("s_getreg_b32 %0, hwreg(HW_REG_HW_ID)\n\ts_getreg_b32 %1, hwreg(HW_REG_XCC_ID)"
                     : "=s"(hw_id), "=s"(xcc_id));
    mine->before = before;
    mine->begun = begun;
    mine->ending = ending;
    mine->after = after;
    mine->dispatch = dispatch_id();
    mine->queue = (u64)__builtin_amdgcn_queue_ptr();
    mine->workgroup[0] = x;
    mine->workgroup[1] = y;
    mine->workgroup[2] = z;
    mine->wave = wave;
    mine->hw_id = hw_id;
    mine->xcc_id = xcc_id & 15;
    mine->lanes = (unsigned)__builtin_popcountll(__builtin_amdgcn_read_exec());
    mine->is_there = 1;
}

/* body{=n step=0 step=1 ... }body */
KERNEL(work)
{
    const u64 before = realtime();
    u64 begun, ending;
    {
        KTRACE_KERNEL("work");
        begun = realtime();
        KTRACE_RANGE("body", n);
#pragma unroll 1
        for (int i = 0; i < n; i++)
            KTRACE_MARK("step", i);
        ending = realtime();
    }
    note(log, before, begun, ending);
}

/* +body body{=0 }body body{=1 }body ... -body */
KERNEL(other)
{
    const u64 before = realtime();
    u64 begun, ending;
    {
        KTRACE_KERNEL("other");
        begun = realtime();
        const ktrace_token all = KTRACE_RANGE_START("body");
#pragma unroll 1
        for (int i = 0; i < n; i++) {
            KTRACE_RANGE("body", i);
            __builtin_amdgcn_s_sleep(4);
        }
        KTRACE_RANGE_STOP(all);
        ending = realtime();
    }
    note(log, before, begun, ending);
}

/* arrived=x met=n, where no workgroup meets before all n have arrived: they must all be on the device at once. */
KERNEL(meets)
{
    const u64 before = realtime();
    u64 begun, ending;
    {
        KTRACE_KERNEL("meets");
        begun = realtime();
        KTRACE_MARK("arrived", __builtin_amdgcn_workgroup_id_x());
        if (thread_in_workgroup() == 0)
            __atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < (unsigned)n)
            __builtin_amdgcn_s_sleep(8);
        KTRACE_MARK("met", n);
        ending = realtime();
    }
    note(log, before, begun, ending);
}

/* As `work`, without annotations. */
KERNEL(plain)
{
    const u64 before = realtime();
    (void)n;
    note(log, before, before, before);
}
