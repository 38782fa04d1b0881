/* gemm_cost - what tracing costs a tensor-core GEMM of 4096 waves, paired against the same kernel untraced.
 *
 * One kernel template, three forms: without annotations; with ranges around the body, the K loop and the epilogue; and with a
 * token range in every K iteration besides. In each round every form runs a batch of launches, in an order that turns from
 * round to round; the figure is the median over rounds of (form's time / untraced form's time in the same round). Two depths: a wave's start and its ranges cost the same in both.
 *
 * Usage: gemm_cost [--rounds N]. Prints Markdown. Exit 77: no device.
 */
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../examples/gemm_problem.cuh"

namespace
{

constexpr int launches = 8; /* a batch */

struct Form {
    const char *name;
    gemm_trace trace;
    bool records;
};
const Form forms[] = {
    {"untraced", GEMM_UNTRACED, false},
    {"untraced, again", GEMM_UNTRACED, false},
    {"ranges, dormant", GEMM_TRACE_RANGES, false},
    {"ranges, recording", GEMM_TRACE_RANGES, true},
    {"ranges and a token in every K iteration, dormant", GEMM_TRACE_TOKENS, false},
    {"ranges and a token in every K iteration, recording", GEMM_TRACE_TOKENS, true},
};
constexpr int form_count = (int)(sizeof forms / sizeof forms[0]);

double batch_ms(gemm_problem &problem, gemm_trace trace)
{
    switch (trace) {
    case GEMM_UNTRACED: return problem.time_ms<GEMM_UNTRACED>(launches);
    case GEMM_TRACE_RANGES: return problem.time_ms<GEMM_TRACE_RANGES>(launches);
    default: return problem.time_ms<GEMM_TRACE_TOKENS>(launches);
    }
}

/* Room for every wave of a batch and its warm-up launch: a wave that finds none would cost less than a real one. */
double recorded_batch_ms(gemm_problem &problem, gemm_trace trace)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    struct ktrace_trace *snapshot;
    options.name = "gemm_cost";
    options.events_per_wave = gemm::slots_per_wave(problem.k);
    options.events_per_lane = 1;
    options.buffer_bytes = (uint64_t)2 << 30;
    if (ktrace_capture_begin(&capture, &options) < 0)
        fail("begin: %s", ktrace_last_error());
    const double ms = batch_ms(problem, trace);
    if (ktrace_capture_end(&snapshot, capture) < 0)
        fail("end: %s", ktrace_last_error());
    struct ktrace_trace_info info;
    info.struct_size = sizeof info;
    ktrace_trace_get_info(&info, snapshot);
    const uint64_t waves = (uint64_t)(launches + 1) * (problem.m / 128) * (problem.n / 128) * 4;
    if (info.waves != waves)
        fail("%llu waves recorded of %llu", (unsigned long long)info.waves, (unsigned long long)waves);
    ktrace_trace_destroy(snapshot);
    return ms;
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const size_t n = values.size();
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

template <gemm_trace Trace>
void print_attributes(const char *name)
{
    cudaFuncAttributes attributes;
    CHECK_CUDA(cudaFuncGetAttributes(&attributes, gemm_kernel<Trace>));
    printf("| %s | %d | %zu |\n", name, attributes.numRegs, attributes.localSizeBytes);
}

void measure(int k, int rounds)
{
    gemm_problem problem(4096, 4096, k);
    problem.launch<GEMM_TRACE_TOKENS>();
    problem.check();
    batch_ms(problem, GEMM_UNTRACED); /* clocks settle */

    std::vector<std::vector<double>> ms(form_count), ratio(form_count);
    for (int round = 0; round < rounds; round++) {
        double of_round[form_count];
        for (int i = 0; i < form_count; i++) {
            const int f = (i + round) % form_count;
            of_round[f] =
                forms[f].records ? recorded_batch_ms(problem, forms[f].trace) : batch_ms(problem, forms[f].trace);
        }
        for (int f = 0; f < form_count; f++) {
            ms[f].push_back(of_round[f]);
            ratio[f].push_back(of_round[f] / of_round[0]);
        }
    }
    problem.check();

    printf("FP16 GEMM 4096 x 4096 x %d, 1024 workgroups of 4 waves, %d K iterations; median of %d rounds of %d "
           "launches.\n\n",
           k, k / (gemm::block_k * gemm::tiles_an_iteration), rounds, launches);
    printf("| form | time a launch, us | TFLOP/s | over untraced, paired | quartiles |\n|---|---|---|---|---|\n");
    for (int f = 0; f < form_count; f++) {
        std::sort(ratio[f].begin(), ratio[f].end());
        const size_t n = ratio[f].size();
        printf("| %s | %.1f | %.0f | %+.2f %% | %+.2f .. %+.2f %% |\n", forms[f].name, median(ms[f]) * 1e3,
               problem.tflops(median(ms[f])), (median(ratio[f]) - 1) * 100, (ratio[f][n / 4] - 1) * 100,
               (ratio[f][n * 3 / 4] - 1) * 100);
    }
    printf("\n");
}

} // namespace

int main(int argc, char **argv)
{
    int rounds = 31;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = atoi(argv[++i]);
        else
            fail("usage: gemm_cost [--rounds N]");
    }
    char *no_options[] = {argv[0], nullptr};
    example_start("gemm_cost", 1, no_options);
    const cudaDeviceProp device = require_device(8);
    int driver = 0;
    CHECK_CUDA(cudaDriverGetVersion(&driver));
    printf("Device %s; CUDA driver %d.\n\n", device.name, driver);
    measure(4096, rounds);
    measure(8192, rounds);
    printf("| form | registers | bytes spilled a thread |\n|---|---|---|\n");
    print_attributes<GEMM_UNTRACED>("untraced");
    print_attributes<GEMM_TRACE_RANGES>("ranges");
    print_attributes<GEMM_TRACE_TOKENS>("token in every K iteration");
    return 0;
}
