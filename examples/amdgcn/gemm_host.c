/* gemm_host.c - runs the kernel of gemm.c, checks its numbers, and keeps the trace.
 *
 *     gemm [--save FILE.ktrace] [--export]
 */
#include "../common.h"

#include "gemm_problem.h"

int main(int argc, char **argv)
{
    example_start("gemm", argc, argv);
    hip_open();
    void *module = hip_load("gemm");
    void *kernel = hip_kernel(module, "gemm");
    struct gemm_problem problem = gemm_make(2 * GEMM_BLOCK, 2 * GEMM_BLOCK, 8 * GEMM_BLOCK_K);
#if KTRACE_ENABLE
    struct ktrace_capture *capture = capture_begin(0, 0);
    gemm_launch(&problem, kernel);
    trace_finish(capture_end(capture));
#else
    gemm_launch(&problem, kernel);
#endif
    gemm_check(&problem);
    gemm_free(&problem);
    hip_unload(module);
    printf("%s: %d x %d x %d is right\n", example.name, problem.m, problem.n, problem.k);
    return 0;
}
