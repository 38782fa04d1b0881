/* ktrace-demo-hip FILE.ktrace - what `ktrace demo` runs where there is an AMD GPU or none: a traced GEMM, checked, and its
 * trace saved. On the simulator without a GPU.
 *
 * 36 workgroups: four or five on each of eight XCDs, with 16 K tiles each.
 */
#include "../common.h"

#include "gemm_problem.h"

int main(int argc, char **argv)
{
    example.name = "ktrace-demo-hip";
    if (argc != 2 || argv[1][0] == '-')
        example_usage(argc > 1 ? argv[1] : "", " FILE.ktrace");
    unsetenv("KTRACE_ENABLE"); /* nothing is left to collect besides */
    hip_open();
    void *module = hip_load("gemm");
    void *kernel = hip_kernel(module, "gemm");
    struct gemm_problem problem = gemm_make(6 * GEMM_BLOCK, 6 * GEMM_BLOCK, 16 * GEMM_BLOCK_K);
    example.name = "gemm"; /* of the trace */
    example.save = argv[1];

    struct ktrace_capture *capture = capture_begin(0, 0);
    gemm_launch(&problem, kernel);
    struct ktrace_trace *trace = capture_end(capture);
    gemm_check(&problem);
    trace_finish(trace);
    gemm_free(&problem);
    hip_unload(module);
    printf("gemm %dx%dx%d on %s: correct\n", problem.m, problem.n, problem.k, hip.device);
    return 0;
}
