/* nvrtc_own.c - the same for a program that calls NVRTC itself and keeps doing so. What tracing adds is marked "ktrace:". */
#include <cuda.h>
#include <ktrace/ktrace.h> /* ktrace: the host library */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 16, THREADS = 256 };

static const char source[] = "#include <ktrace/device.h>\n" /* ktrace: the annotations */
                             "\n"
                             "extern \"C\" __global__ void scale(float *x, float factor)\n"
                             "{\n"
                             "    KTRACE_KERNEL(\"scale\");\n"
                             "    KTRACE_RANGE(\"all\", factor);\n"
                             "    x[blockIdx.x * blockDim.x + threadIdx.x] *= factor;\n"
                             "}\n";

static void must(int ok, const char *why)
{
    if (!ok) {
        fprintf(stderr, "nvrtc_own: %s\n", why);
        exit(1);
    }
}

/* Machine code for the device, to free(). `include` is the folder that has ktrace/device.h. */
static char *compile(CUdevice device, const char *include)
{
    char architecture[64], include_path[4096];
    int major, minor;
    must(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) == CUDA_SUCCESS &&
             cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) == CUDA_SUCCESS,
         "no architecture");
    snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
    snprintf(include_path, sizeof include_path, "--include-path=%s", include);
    /* ktrace: the headers, C++17, and annotations that are not nothing */
    const char *options[] = {architecture, include_path, "--std=c++17", "-DKTRACE_ENABLE=1"};

    nvrtcProgram program;
    size_t bytes;
    must(nvrtcCreateProgram(&program, source, "scale.cu", 0, NULL, NULL) == NVRTC_SUCCESS, "cannot begin to compile");
    if (nvrtcCompileProgram(program, sizeof options / sizeof *options, options) != NVRTC_SUCCESS) {
        must(nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS, "no log");
        char *log = malloc(bytes);
        must(log && nvrtcGetProgramLog(program, log) == NVRTC_SUCCESS, "no log");
        must(0, log);
    }
    must(nvrtcGetCUBINSize(program, &bytes) == NVRTC_SUCCESS, "no machine code");
    char *cubin = malloc(bytes);
    must(cubin && nvrtcGetCUBIN(program, cubin) == NVRTC_SUCCESS, "no machine code");
    nvrtcDestroyProgram(&program);
    return cubin;
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr x;
    must(argc == 2, "which folder has ktrace/device.h?");
    must(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS, "no CUDA device");
    must(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS && cuCtxSetCurrent(context) == CUDA_SUCCESS,
         "no context");
    must(cuMemAlloc(&x, BLOCKS * THREADS * sizeof(float)) == CUDA_SUCCESS, "no memory");
    must(cuMemsetD32(x, 0x3F800000, BLOCKS * THREADS) == CUDA_SUCCESS, "cannot set memory"); /* 1.0f */

    char *cubin = compile(device, argv[1]);
    must(cuModuleLoadData(&module, cubin) == CUDA_SUCCESS, "cannot load");
    free(cubin);
    must(ktrace_attach_cuda_module(module) == 0, ktrace_last_error()); /* ktrace: behind loading, before launching */
    must(cuModuleGetFunction(&kernel, module, "scale") == CUDA_SUCCESS, "no such kernel");

    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    char *table;
    float factor = 2;
    void *arguments[] = {&x, &factor};
    must(ktrace_capture_begin(&capture, NULL) == 0, ktrace_last_error());
    must(cuLaunchKernel(kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL) == CUDA_SUCCESS,
         "cannot launch");
    must(ktrace_capture_end(&trace, capture) == 0, ktrace_last_error());

    must(ktrace_trace_summary_text(&table, trace) == 0, ktrace_last_error());
    fputs(table, stdout);
    free(table);
    ktrace_trace_destroy(trace);
    must(ktrace_detach_cuda_module(module) == 0, ktrace_last_error()); /* ktrace: before it is unloaded */
    must(cuModuleUnload(module) == CUDA_SUCCESS, "cannot unload");
    return 0;
}
