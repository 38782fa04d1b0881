/* layers - the same kernel once for each layer of a model, eagerly or as nodes of a graph, and a timeline for each layer.
 *
 *     layers [--layers N] [--graph] [--out DIR]     a capture around them: the launches, one timeline of all, and one of each
 *     layers --no-capture [--layers N] [--graph]    nothing is recorded; or the whole process is, with KTRACE_ENABLE=1 in the
 *                                                   environment
 */
#include "common.cuh"

#include <ktrace/device.h>

constexpr int block = 128, grid = 16, count = block * grid, max_layers = 64;

static struct {
    int layers, graph, capture;
    const char *out;
} asked = {3, 0, KTRACE_ENABLE, nullptr};

static cudaStream_t stream;
static float *values;
static int passes; /* over all layers */

__global__ void layer(float *values, int number)
{
    KTRACE_KERNEL("layer");
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    KTRACE_RANGE_PUSH("load", number);
    float x = values[i];
    KTRACE_WAIT(x);
    KTRACE_RANGE_POP();
    KTRACE_RANGE_PUSH("compute");
    x = x * 0.5f + number; /* exact, or rounded the same with and without fused multiply-add: the product is */
    KTRACE_WAIT(x);
    KTRACE_RANGE_POP();
    KTRACE_RANGE("store");
    values[i] = x;
}

static void launch_layers()
{
    for (int number = 0; number < asked.layers; number++)
        layer<<<grid, block, 0, stream>>>(values, number);
    CHECK_CUDA(cudaGetLastError());
    passes++;
}

/* The layers as nodes of a graph, which records when it is launched. */
static void replay_layers()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch_layers();
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CHECK_CUDA(cudaGraphLaunch(exec, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    CHECK_CUDA(cudaGraphDestroy(graph));
}

static void run_layers()
{
    if (asked.graph)
        replay_layers();
    else
        launch_layers();
}

static void check_values()
{
    static float computed[count];
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaMemcpy(computed, values, sizeof computed, cudaMemcpyDeviceToHost));
    float x = 0;
    for (int pass = 0; pass < passes; pass++)
        for (int number = 0; number < asked.layers; number++)
            x = x * 0.5f + (float)number;
    for (int i = 0; i < count; i++)
        if (computed[i] != x)
            fail("element %d is %.9g instead of %.9g", i, (double)computed[i], (double)x);
}

#if KTRACE_ENABLE

/* What the capture has to say, from one snapshot. */
static void put_out(struct ktrace_capture *capture)
{
    char text[max_layers][32], *path = nullptr, **paths = nullptr;
    const char *names[max_layers];
    uint64_t files = 0;
    struct ktrace_trace *trace = nullptr;
    check_ktrace(ktrace_capture_snapshot(&trace, capture));
    for (int i = 0; i < asked.layers; i++) {
        struct ktrace_launch_info launch;
        memset(&launch, 0, sizeof launch);
        launch.struct_size = sizeof launch;
        check_ktrace(ktrace_trace_launch(&launch, trace, (uint64_t)i));
        printf("launch %d: %s, %lld ns\n", i, launch.kernel, (long long)(launch.end_ps - launch.begin_ps) / 1000);
        snprintf(text[i], sizeof text[i], "layer_%d", i);
        names[i] = text[i];
    }
    ktrace_trace_destroy(trace);

    check_ktrace(ktrace_capture_export(&path, capture));
    printf("all of them: %s\n", path);
    free(path);
    check_ktrace(ktrace_capture_export_launches(&paths, &files, capture, names, (uint64_t)asked.layers));
    for (uint64_t i = 0; i < files; i++)
        printf("launch %d: %s\n", (int)i, paths[i]);
    ktrace_paths_free(paths, files);
}

static void run_in_capture()
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture = nullptr;
    options.name = "layers";
    options.backend = "cuda";
    options.blocks = "0,0,0"; /* one workgroup */
    options.directory = asked.out;
    check_ktrace(ktrace_capture_begin(&capture, &options));
    run_layers();
    check_ktrace(ktrace_capture_stop(capture));
    put_out(capture);
    ktrace_capture_destroy(capture);
}

#else

static void run_in_capture()
{
}

#endif

static void parse(int argc, char **argv)
{
    example.name = KTRACE_ENABLE ? "layers" : untraced_name("layers");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--layers") == 0 && i + 1 < argc)
            asked.layers = atoi(argv[++i]);
        else if (KTRACE_ENABLE && strcmp(argv[i], "--out") == 0 && i + 1 < argc)
            asked.out = argv[++i];
        else if (strcmp(argv[i], "--graph") == 0)
            asked.graph = 1;
        else if (strcmp(argv[i], "--no-capture") == 0)
            asked.capture = 0;
        else
            example_usage(argv[i], KTRACE_ENABLE ? " [--layers N] [--graph] [--out DIR] [--no-capture]"
                                                 : " [--layers N] [--graph]");
    }
    if (asked.layers < 1 || asked.layers > max_layers)
        example_usage("--layers", " --layers N: from 1 to 64");
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    require_device(7);
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaMalloc(&values, count * sizeof *values));
    CHECK_CUDA(cudaMemset(values, 0, count * sizeof *values));
    CHECK_CUDA(cudaDeviceSynchronize());
    if (asked.capture)
        run_in_capture();
    else
        run_layers();
    check_values();
    CHECK_CUDA(cudaFree(values));
    CHECK_CUDA(cudaStreamDestroy(stream));
    printf("%s: ok, %d launches of %d layers\n", example.name, passes * asked.layers, asked.layers);
    return 0;
}
