/* A kernel that hangs until the host stores to *out: in each workgroup a producer and a consumer wait for each other. */
#include <ktrace/device.h>

#define GLOBAL __attribute__((address_space(1)))

static inline __attribute__((always_inline)) void wait_for_host(GLOBAL int *out)
{
    while (*(GLOBAL volatile int *)out == 0)
        __builtin_amdgcn_s_sleep(1);
}

/* Two waves a workgroup. Workgroups from `stuck` on go straight through. */
__attribute__((amdgpu_kernel)) void pipeline(GLOBAL int *out, int stuck)
{
    const int group = (int)__builtin_amdgcn_workgroup_id_x(), wave = (int)__builtin_amdgcn_workitem_id_x() / 64;
    KTRACE_KERNEL("pipeline");
    KTRACE_RANGE("body", group);
    KTRACE_MARK("entered");
    if (group >= stuck)
        return;
    if (wave == 0) {
        KTRACE_RANGE("wait_empty", 3);
        wait_for_host(out);
    } else {
        const ktrace_token tile = KTRACE_RANGE_START("tile", 7);
        KTRACE_RANGE("wait_full", group);
        wait_for_host(out);
        KTRACE_RANGE_STOP(tile);
    }
    KTRACE_MARK("released");
}
