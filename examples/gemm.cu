/* gemm - a tensor-core GEMM with its phases, and every K tile, on the timeline of each wave.
 *
 * The kernel is in gemm_kernel.cuh. This program checks its numbers, times it without annotations, and captures one
 * launch with all of them: 1024 workgroups of 4 waves, 128 K tiles in each wave.
 */
#include "gemm_problem.cuh"

int main(int argc, char **argv)
{
    example_start("gemm", argc, argv);
    require_device(8);
    gemm_problem problem(4096, 4096, 4096);

    const double untraced_ms = problem.time_ms<GEMM_UNTRACED>(20);
    const double error = problem.check();

#if KTRACE_ENABLE
    struct ktrace_capture *capture = capture_begin(gemm::slots_per_wave(problem.k), 1);
    problem.launch<GEMM_TRACE_TOKENS>();
    struct ktrace_trace *trace = capture_end(capture);
    problem.check();
    trace_finish(trace);
#endif
    printf("gemm: ok, %dx%dx%d, relative error %.1e, %.0f TFLOP/s untraced\n", problem.m, problem.n, problem.k, error,
           problem.tflops(untraced_ms));
    return 0;
}
