/* ktrace-demo-cuda FILE.ktrace - what `ktrace demo` runs where there is a GPU: a traced GEMM, checked, and its trace saved.
 *
 * The shape is chosen for its timeline and a file below 1 MB: on an H200 two workgroups of this kernel share each of 132
 * SMs, so of 272 workgroups 264 start at once and the last 8 are a tail; 8 K tiles are few enough to see each of them.
 */
#include "gemm_problem.cuh"

int main(int argc, char **argv)
{
    example.name = "ktrace-demo-cuda";
    if (argc != 2 || argv[1][0] == '-')
        example_usage(argc > 1 ? argv[1] : "", " FILE.ktrace");
    const cudaDeviceProp device = require_device(8);
    gemm_problem problem(16 * gemm::block_m, 17 * gemm::block_n, 8 * gemm::block_k);
    example.name = "gemm"; /* of the trace */
    example.save = argv[1];

    problem.launch<GEMM_TRACE_TOKENS>(); /* nothing listens yet: it only loads the code */
    problem.check();
#if KTRACE_ENABLE
    struct ktrace_capture *capture = capture_begin(gemm::slots_per_wave(problem.k), 1);
    problem.launch<GEMM_TRACE_TOKENS>();
    struct ktrace_trace *trace = capture_end(capture);
    const double error = problem.check();
    trace_finish(trace);
    printf("gemm %dx%dx%d on %s: correct, relative error %.1e\n", problem.m, problem.n, problem.k, device.name, error);
    return 0;
#else
    (void)device;
    fail("compiled with KTRACE_ENABLE=0: there is nothing to save");
#endif
}
