/* program - a kernel that is compiled at run time, by hipRTC, with its annotations inside a capture and without outside.
 *
 *     program [--save FILE.ktrace] [--export]
 *
 * Everything that tracing takes is ktrace_program_kernel in place of hiprtcCompileProgram, hipModuleLoadData and
 * hipModuleGetFunction: no include path, no -DKTRACE_ENABLE, no attaching. What was compiled lies in the disk cache afterwards: a
 * second run compiles nothing.
 */
#include "../common.h"

#include "hip.h"

enum { BLOCK = 128, GRID = 16, STEPS = 8, COUNT = BLOCK * GRID };

static const char source[] = "#include <ktrace/device.h>\n"
                             "\n"
                             "template <class T>\n"
                             "__global__ void smooth(T *out, const T *in, int steps)\n"
                             "{\n"
                             "    KTRACE_KERNEL(\"smooth\");\n"
                             "    __shared__ T row[BLOCK];\n"
                             "    const int i = threadIdx.x, left = (i + BLOCK - 1) % BLOCK, right = (i + 1) % BLOCK;\n"
                             "    {\n"
                             "        KTRACE_RANGE(\"load\", blockIdx.x);\n"
                             "        row[i] = in[blockIdx.x * BLOCK + i];\n"
                             "        __syncthreads();\n"
                             "    }\n"
                             "    for (int step = 0; step < steps; step++) {\n"
                             "        KTRACE_RANGE(\"step\", step);\n"
                             "        const T mean = (row[left] + row[right]) * (T)0.5;\n"
                             "        __syncthreads();\n"
                             "        row[i] = mean;\n"
                             "        __syncthreads();\n"
                             "    }\n"
                             "    out[blockIdx.x * BLOCK + i] = row[i];\n"
                             "}\n";

static void check_program(int status, struct ktrace_program *program)
{
    if (status == KTRACE_ERROR_UNSUPPORTED) /* no compiler */
        skip("%s", ktrace_last_error());
    if (status == KTRACE_ERROR_COMPILE)
        fail("%s\n%s", ktrace_last_error(), ktrace_program_log(program));
    check_ktrace(status);
}

/* What the kernel computes. Additions and a multiplication by 0.5: the same bits everywhere. */
static void smooth_on_host(float *row)
{
    float next[BLOCK];
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < BLOCK; i++)
            next[i] = (row[(i + BLOCK - 1) % BLOCK] + row[(i + 1) % BLOCK]) * 0.5f;
        memcpy(row, next, sizeof next);
    }
}

static void run(struct ktrace_program *program, void *out, void *in)
{
    static float input[COUNT], output[COUNT];
    void *kernel = NULL;
    check_program(ktrace_program_kernel(&kernel, program, "smooth<float>"), program);
    for (int i = 0; i < COUNT; i++)
        input[i] = (float)(i * 37 % 101);
    HIP(hipMemcpy, in, input, sizeof input, HIP_HOST_TO_DEVICE);
    int steps = STEPS;
    void *arguments[] = {&out, &in, &steps};
    HIP(hipModuleLaunchKernel, kernel, GRID, 1, 1, BLOCK, 1, 1, 0, NULL, arguments, NULL);
    HIP(hipMemcpy, output, out, sizeof output, HIP_DEVICE_TO_HOST);
    for (int row = 0; row < GRID; row++) {
        smooth_on_host(input + row * BLOCK);
        for (int i = row * BLOCK; i < (row + 1) * BLOCK; i++)
            if (!(output[i] == input[i]))
                fail("element %d is %.9g instead of %.9g", i, (double)output[i], (double)input[i]);
    }
}

static void check_trace(const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    check_ktrace(ktrace_trace_get_info(&info, trace));
    const unsigned long long waves = COUNT / 64, events = waves * 2 * (1 + STEPS);
    if (info.waves != waves || info.events != events)
        fail("%llu waves and %llu events were recorded instead of %llu and %llu", (unsigned long long)info.waves,
             (unsigned long long)info.events, waves, events);
}

int main(int argc, char **argv)
{
    example_start("program", argc, argv);
    hip_open();
    static const char *const compiler_options[] = {"-DBLOCK=128"};
    struct ktrace_program_options options = KTRACE_PROGRAM_OPTIONS_INIT;
    struct ktrace_program *program = NULL;
    options.name = "smooth.hip";
    options.backend = "hip";
    options.compiler_options = compiler_options;
    options.compiler_option_count = 1;
    check_ktrace(ktrace_program_create(&program, source, &options));

    void *in = hip_allocate(COUNT * sizeof(float)), *out = hip_allocate(COUNT * sizeof(float));
    run(program, out, in); /* untraced */
    struct ktrace_capture *capture = capture_begin(64, 0);
    run(program, out, in); /* traced */
    struct ktrace_trace *trace = capture_end(capture);
    run(program, out, in); /* untraced, and there already */
    check_trace(trace);
    trace_finish(trace);

    struct ktrace_program_info info = {.struct_size = sizeof info};
    check_ktrace(ktrace_program_get_info(&info, program));
    ktrace_program_destroy(program);
    HIP(hipFree, in);
    HIP(hipFree, out);
    printf("program: ok, %d elements smoothed three times; %d specializations compiled, %d found in the disk cache\n",
           COUNT, (int)info.compilations, (int)info.disk_hits);
    return 0;
}
