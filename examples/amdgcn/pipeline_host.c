/* pipeline_host.c - runs the kernel of pipeline.hip, checks its numbers, and keeps the trace.
 *
 *     pipeline [--save FILE.ktrace] [--export]
 */
#include "../common.h"

#include "hip.h"

enum { GROUPS = 2, TILES = 24, LANES = 64, COUNT = GROUPS * TILES * LANES };

static float work(float x)
{
    for (int i = 0; i < 100; i++)
        x = x * 0.5f +
            1.0f; /* exact: a half and a one need no more bits than there are, or round the same everywhere */
    return x;
}

static void run(void *kernel)
{
    static float in[COUNT], result[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)(i % 256);
    void *on_device[] = {hip_allocate(sizeof result), hip_allocate(sizeof in)};
    int tiles = TILES;
    void *arguments[] = {&on_device[0], &on_device[1], &tiles};
    HIP(hipMemcpy, on_device[1], in, sizeof in, HIP_HOST_TO_DEVICE);
    HIP(hipModuleLaunchKernel, kernel, GROUPS, 1, 1, 4 * LANES, 1, 1, 0, NULL, arguments, NULL);
    HIP(hipMemcpy, result, on_device[0], sizeof result, HIP_DEVICE_TO_HOST);
    HIP(hipFree, on_device[0]);
    HIP(hipFree, on_device[1]);
    for (int i = 0; i < COUNT; i++)
        if (result[i] != work(in[i]))
            fail("element %d is %g, not %g", i, (double)result[i], (double)work(in[i]));
}

int main(int argc, char **argv)
{
    example_start("pipeline", argc, argv);
    hip_open();
    void *module = hip_load("pipeline");
    void *kernel = hip_kernel(module, "pipeline");
#if KTRACE_ENABLE
    struct ktrace_capture *capture = capture_begin(0, 0);
    run(kernel);
    trace_finish(capture_end(capture));
#else
    run(kernel);
#endif
    hip_unload(module);
    printf("%s: %d elements are right\n", example.name, COUNT);
    return 0;
}
