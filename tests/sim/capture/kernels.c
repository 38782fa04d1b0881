/* Traced kernels for test_hip_backend.c. */
#include <ktrace/device.h>

#define KERNEL __attribute__((amdgpu_kernel)) void
#define GLOBAL __attribute__((address_space(1)))

/* Every wave: a range with a payload around `steps` marks and one token range over all of them. */
KERNEL phases(GLOBAL int *out, int steps)
{
    KTRACE_KERNEL("phases");
    KTRACE_RANGE("body", steps);
    const int thread = (int)(__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() +
                             __builtin_amdgcn_workitem_id_x());
    const ktrace_token all = KTRACE_RANGE_START("all steps");
    int sum = thread;
    for (int i = 0; i < steps; i++) {
        KTRACE_MARK("step", (long)i << 40);
        sum += i;
    }
    KTRACE_RANGE_STOP(all);
    out[thread] = sum;
}

/* Waves of workgroup 0 wait until the host stores something. */
KERNEL waits(GLOBAL volatile int *flag)
{
    KTRACE_KERNEL("waits");
    KTRACE_RANGE("waiting");
    while (*flag == 0)
        __builtin_amdgcn_s_sleep(1);
}
