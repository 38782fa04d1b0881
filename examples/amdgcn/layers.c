/* layers - the same kernel once for each layer of a model, eagerly or as nodes of a graph, and a timeline for each layer.
 *
 *     layers [--layers N] [--graph] [--out DIR]     a capture around them: the launches, one timeline of all, and one of each
 *     layers --no-capture [--layers N] [--graph]    untraced; or collected for the whole process, with KTRACE_ENABLE=1 in the
 *                                                   environment
 */
#include "../common.h"

#include "hip.h"

enum { BLOCK = 128, GRID = 16, COUNT = BLOCK * GRID, MAX_LAYERS = 64 };

static struct {
    int layers, graph, capture;
    const char *out;
} asked = {3, 0, 1, NULL};

static struct ktrace_program *program;
static void *stream, *values;
static int passes; /* over all layers */

/* Multiplications by a half and sums of small numbers: the same bits everywhere. */
static const char source[] = "#include <ktrace/device.h>\n"
                             "\n"
                             "extern \"C\" __global__ void layer(float *values, int number)\n"
                             "{\n"
                             "    KTRACE_KERNEL(\"layer\");\n"
                             "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    KTRACE_RANGE_PUSH(\"load\", number);\n"
                             "    float x = values[i];\n"
                             "    KTRACE_WAIT(x);\n"
                             "    KTRACE_RANGE_POP();\n"
                             "    KTRACE_RANGE_PUSH(\"compute\");\n"
                             "    x = x * 0.5f + number;\n"
                             "    KTRACE_WAIT(x);\n"
                             "    KTRACE_RANGE_POP();\n"
                             "    KTRACE_RANGE(\"store\");\n"
                             "    values[i] = x;\n"
                             "}\n";

static void check_program(int status)
{
    if (status == KTRACE_ERROR_UNSUPPORTED) /* no compiler */
        skip("%s", ktrace_last_error());
    if (status == KTRACE_ERROR_COMPILE)
        fail("%s\n%s", ktrace_last_error(), ktrace_program_log(program));
    check_ktrace(status);
}

static void launch_layers(void)
{
    void *kernel = NULL;
    check_program(ktrace_program_kernel(&kernel, program, "layer")); /* traced or not: ask where you launch */
    for (int number = 0; number < asked.layers; number++) {
        void *arguments[] = {&values, &number};
        HIP(hipModuleLaunchKernel, kernel, GRID, 1, 1, BLOCK, 1, 1, 0, stream, arguments, NULL);
    }
}

/* The layers as nodes of a graph, which is launched once. */
static void replay_layers(struct ktrace_capture *capture)
{
    void *graph = NULL, *exec = NULL;
    launch_layers(); /* prepares the kernel: no module can be loaded while a stream is captured */
    passes++;
    HIP(hipStreamBeginCapture, stream, HIP_CAPTURE_GLOBAL);
    launch_layers();
    HIP(hipStreamEndCapture, stream, &graph);
    HIP(hipGraphInstantiate, &exec, graph, NULL, NULL, 0);
    if (capture)
        check_ktrace(ktrace_capture_clear(capture)); /* forgets what prepared it */
    HIP(hipGraphLaunch, exec, stream);
    HIP(hipStreamSynchronize, stream);
    HIP(hipGraphExecDestroy, exec);
    HIP(hipGraphDestroy, graph);
}

static void run_layers(struct ktrace_capture *capture)
{
    if (asked.graph)
        replay_layers(capture);
    else
        launch_layers();
    passes++;
}

static void check_values(void)
{
    static float computed[COUNT];
    HIP(hipStreamSynchronize, stream);
    HIP(hipMemcpy, computed, values, sizeof computed, HIP_DEVICE_TO_HOST);
    for (int i = 0; i < COUNT; i++) {
        float x = 0;
        for (int pass = 0; pass < passes; pass++)
            for (int number = 0; number < asked.layers; number++)
                x = x * 0.5f + (float)number;
        if (!(computed[i] == x))
            fail("element %d is %.9g instead of %.9g", i, (double)computed[i], (double)x);
    }
}

/* What the capture has to say, from one snapshot. */
static void put_out(struct ktrace_capture *capture)
{
    char text[MAX_LAYERS][32], *path = NULL, **paths = NULL;
    const char *names[MAX_LAYERS];
    uint64_t count = 0;
    struct ktrace_trace *trace = NULL;
    check_ktrace(ktrace_capture_snapshot(&trace, capture));
    for (uint64_t i = 0; i < (uint64_t)asked.layers; i++) {
        struct ktrace_launch_info launch = {.struct_size = sizeof launch};
        check_ktrace(ktrace_trace_launch(&launch, trace, i));
        printf("launch %d: %s, %lld ns\n", (int)i, launch.kernel, (long long)(launch.end_ps - launch.begin_ps) / 1000);
        snprintf(text[i], sizeof text[i], "layer_%d", (int)i);
        names[i] = text[i];
    }
    ktrace_trace_destroy(trace);

    check_ktrace(ktrace_capture_export(&path, capture));
    printf("all of them: %s\n", path);
    free(path);
    check_ktrace(ktrace_capture_export_launches(&paths, &count, capture, names, (uint64_t)asked.layers));
    for (uint64_t i = 0; i < count; i++)
        printf("launch %d: %s\n", (int)i, paths[i]);
    ktrace_paths_free(paths, count);
}

static void run_in_capture(void)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture = NULL;
    options.name = "layers";
    options.backend = "hip";
    options.blocks = "0,0,0"; /* one workgroup */
    options.directory = asked.out;
    check_ktrace(ktrace_capture_begin(&capture, &options));
    run_layers(capture);
    check_ktrace(ktrace_capture_stop(capture));
    put_out(capture);
    ktrace_capture_destroy(capture);
}

static void parse(int argc, char **argv)
{
    example.name = "layers";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--layers") == 0 && i + 1 < argc)
            asked.layers = atoi(argv[++i]);
        else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc)
            asked.out = argv[++i];
        else if (strcmp(argv[i], "--graph") == 0)
            asked.graph = 1;
        else if (strcmp(argv[i], "--no-capture") == 0)
            asked.capture = 0;
        else
            example_usage(argv[i], " [--layers N] [--graph] [--out DIR] [--no-capture]");
    }
    if (asked.layers < 1 || asked.layers > MAX_LAYERS)
        example_usage("--layers", " --layers N: from 1 to 64");
}

int main(int argc, char **argv)
{
    static const float zeros[COUNT];
    struct ktrace_program_options options = KTRACE_PROGRAM_OPTIONS_INIT;
    parse(argc, argv);
    hip_open();
    options.name = "layers.hip";
    options.backend = "hip";
    check_ktrace(ktrace_program_create(&program, source, &options));
    HIP(hipStreamCreateWithFlags, &stream, HIP_STREAM_NON_BLOCKING);
    values = hip_allocate(COUNT * sizeof(float));
    HIP(hipMemcpy, values, zeros, sizeof zeros, HIP_HOST_TO_DEVICE);
    if (asked.capture)
        run_in_capture();
    else
        run_layers(NULL);
    check_values();
    ktrace_program_destroy(program);
    HIP(hipFree, values);
    HIP(hipStreamDestroy, stream);
    printf("layers: ok, %d launches of %d layers on %s\n", passes * asked.layers, asked.layers, hip.device);
    return 0;
}
