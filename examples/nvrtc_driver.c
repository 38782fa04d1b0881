/* nvrtc_driver - a kernel compiled at run time and launched through the driver API, from plain C.
 *
 * What tracing adds to such a program: the folder of ktrace's headers and KTRACE_ENABLE=1 among the compiler's options,
 * ktrace_attach_cuda_module after loading, and ktrace_detach_cuda_module before unloading.
 *
 * The headers are looked for in KTRACE_INCLUDE_DIR as it was when this was compiled, or as the environment says.
 */
#include "driver_api.h"

#include <math.h>

#ifndef KTRACE_INCLUDE_DIR
#define KTRACE_INCLUDE_DIR "include"
#endif

enum { BLOCK = 128, GRID = 64, STEPS = 8, COUNT = BLOCK * GRID };

static const char source[] =
    "#include <ktrace/device.h>\n"
    "\n"
    "extern \"C\" __global__ void smooth(float *out, const float *in, int steps)\n"
    "{\n"
    "    KTRACE_KERNEL(\"smooth\");\n"
    "    __shared__ float row[128];\n"
    "    const int i = threadIdx.x, left = i == 0 ? 127 : i - 1, right = i == 127 ? 0 : i + 1;\n"
    "    {\n"
    "        KTRACE_RANGE(\"load\", blockIdx.x);\n"
    "        row[i] = in[blockIdx.x * 128 + i];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    for (int step = 0; step < steps; step++) {\n"
    "        ktrace_token token = KTRACE_RANGE_START(\"step\", step);\n"
    "        const float mean = (row[left] + row[right]) * 0.5f;\n"
    "        __syncthreads();\n"
    "        row[i] = mean;\n"
    "        __syncthreads();\n"
    "        KTRACE_RANGE_STOP(token);\n"
    "    }\n"
    "    KTRACE_MARK(\"result\", row[i]);\n"
    "    out[blockIdx.x * 128 + i] = row[i];\n"
    "}\n";

#define CHECK_CUDA(call) check_cuda(call, #call)

static void check_cuda(CUresult status, const char *call)
{
    const char *text = "unknown error";
    if (status == CUDA_SUCCESS)
        return;
    cuda.cuGetErrorString(status, &text);
    fail("%s: %s", call, text);
}

#define CHECK_NVRTC(call) check_nvrtc(call, #call)

static void check_nvrtc(nvrtcResult status, const char *call)
{
    if (status != NVRTC_SUCCESS)
        fail("%s: %s", call, nvrtc.nvrtcGetErrorString(status));
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        fail("out of memory");
    return memory;
}

/* Machine code for the device, to free(). */
static void *compile(CUdevice device)
{
    const char *include = getenv("KTRACE_INCLUDE_DIR");
    char architecture[64], include_path[4096];
    int major = 0, minor = 0;
    CHECK_CUDA(cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    CHECK_CUDA(cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
    snprintf(include_path, sizeof include_path, "--include-path=%s", include ? include : KTRACE_INCLUDE_DIR);
    const char *options[] = {architecture, include_path, "--std=c++17",
                             KTRACE_ENABLE ? "-DKTRACE_ENABLE=1" : "-DKTRACE_ENABLE=0"};

    nvrtcProgram program;
    size_t bytes = 0;
    CHECK_NVRTC(nvrtc.nvrtcCreateProgram(&program, source, "smooth.cu", 0, NULL, NULL));
    if (nvrtc.nvrtcCompileProgram(program, (int)(sizeof options / sizeof *options), options) != NVRTC_SUCCESS) {
        CHECK_NVRTC(nvrtc.nvrtcGetProgramLogSize(program, &bytes));
        char *log = (char *)allocate(bytes);
        CHECK_NVRTC(nvrtc.nvrtcGetProgramLog(program, log));
        fail("the kernel does not compile:\n%s", log);
    }
    CHECK_NVRTC(nvrtc.nvrtcGetCUBINSize(program, &bytes));
    char *image = (char *)allocate(bytes);
    CHECK_NVRTC(nvrtc.nvrtcGetCUBIN(program, image));
    CHECK_NVRTC(nvrtc.nvrtcDestroyProgram(&program));
    return image;
}

/* What the kernel computes. Additions and a multiplication by 0.5: the same bits everywhere. */
static void smooth_on_host(float *row, int steps)
{
    float next[BLOCK];
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < BLOCK; i++)
            next[i] = (row[(i + BLOCK - 1) % BLOCK] + row[(i + 1) % BLOCK]) * 0.5f;
        memcpy(row, next, sizeof next);
    }
}

#if KTRACE_ENABLE

static void check_trace(const struct ktrace_trace *trace)
{
    int found = 0;
    for (uint64_t i = 0; i < ktrace_trace_phase_count(trace); i++) {
        struct ktrace_phase_info phase;
        memset(&phase, 0, sizeof phase);
        phase.struct_size = sizeof phase;
        check_ktrace(ktrace_trace_phase(&phase, trace, i));
        const uint64_t waves = GRID * BLOCK / 32, expected = strcmp(phase.name, "step") == 0 ? STEPS * waves : waves;
        if (phase.count != expected)
            fail("phase \"%s\" was recorded %llu times instead of %llu", phase.name, (unsigned long long)phase.count,
                 (unsigned long long)expected);
        found++;
    }
    if (found != 3)
        fail("the trace has %d phases instead of load, step and result", found);
}

#endif

int main(int argc, char **argv)
{
    static float input[COUNT], output[COUNT];
    example_start("nvrtc_driver", argc, argv);
    load_cuda();

    CUdevice device;
    CUcontext context;
    const CUresult status = cuda.cuInit(0);
    if (status != CUDA_SUCCESS || cuda.cuDeviceGet(&device, 0) != CUDA_SUCCESS)
        skip("no CUDA device");
    load_nvrtc();
    CHECK_CUDA(cuda.cuDevicePrimaryCtxRetain(&context, device));
    CHECK_CUDA(cuda.cuCtxSetCurrent(context));

    CUmodule module;
    CUfunction kernel;
    void *image = compile(device);
    CHECK_CUDA(cuda.cuModuleLoadData(&module, image));
    free(image);
    CHECK_CUDA(cuda.cuModuleGetFunction(&kernel, module, "smooth"));
#if KTRACE_ENABLE
    check_ktrace(ktrace_attach_cuda_module(module));
#endif

    CUdeviceptr in, out;
    for (int i = 0; i < COUNT; i++)
        input[i] = (float)(i * 37 % 101);
    CHECK_CUDA(cuda.cuMemAlloc(&in, sizeof input));
    CHECK_CUDA(cuda.cuMemAlloc(&out, sizeof output));
    CHECK_CUDA(cuda.cuMemcpyHtoD(in, input, sizeof input));

#if KTRACE_ENABLE
    struct ktrace_capture *capture = capture_begin(128, 1);
#endif
    int steps = STEPS;
    void *arguments[] = {&out, &in, &steps};
    CHECK_CUDA(cuda.cuLaunchKernel(kernel, GRID, 1, 1, BLOCK, 1, 1, 0, NULL, arguments, NULL));
    CHECK_CUDA(cuda.cuMemcpyDtoH(output, out, sizeof output));
#if KTRACE_ENABLE
    struct ktrace_trace *trace = capture_end(capture);
#endif

    for (int row = 0; row < GRID; row++) {
        smooth_on_host(input + row * BLOCK, STEPS);
        for (int i = row * BLOCK; i < (row + 1) * BLOCK; i++)
            if (!(output[i] == input[i]))
                fail("element %d is %.9g instead of %.9g", i, (double)output[i], (double)input[i]);
    }

#if KTRACE_ENABLE
    check_trace(trace);
    trace_finish(trace); /* a trace outlives its module */
    check_ktrace(ktrace_detach_cuda_module(module));
#endif
    CHECK_CUDA(cuda.cuModuleUnload(module));
    CHECK_CUDA(cuda.cuMemFree(in));
    CHECK_CUDA(cuda.cuMemFree(out));
    CHECK_CUDA(cuda.cuDevicePrimaryCtxRelease(device));
    printf("nvrtc_driver: ok, %d elements smoothed by a kernel compiled at run time\n", COUNT);
    return 0;
}
