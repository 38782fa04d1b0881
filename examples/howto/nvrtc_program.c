/* nvrtc_program.c - a kernel that is compiled when the program runs: ktrace_program calls NVRTC, loads and attaches. */
#include <cuda.h>
#include <ktrace/ktrace.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 16, THREADS = 256 };

static const char source[] = "#include <ktrace/device.h>\n"
                             "\n"
                             "template <class T>\n"
                             "__global__ void scale(T *x, T factor)\n"
                             "{\n"
                             "    KTRACE_KERNEL(\"scale\");\n"
                             "    KTRACE_RANGE(\"all\", factor);\n"
                             "    x[blockIdx.x * blockDim.x + threadIdx.x] *= factor;\n"
                             "}\n";

static void must(int ok, const char *why)
{
    if (!ok) {
        fprintf(stderr, "nvrtc_program: %s\n", why);
        exit(1);
    }
}

static void launch(struct ktrace_program *program, CUdeviceptr x)
{
    void *kernel;
    float factor = 2;
    void *arguments[] = {&x, &factor};
    /* Asked for where it is launched: traced while a capture is open, untraced otherwise, and compiled once for each. */
    if (ktrace_program_kernel(&kernel, program, "scale<float>") < 0) {
        fprintf(stderr, "%s", ktrace_program_log(program));
        must(0, ktrace_last_error());
    }
    must(cuLaunchKernel((CUfunction)kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL) == CUDA_SUCCESS,
         "cannot launch");
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr x;
    must(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS, "no CUDA device");
    must(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS && cuCtxSetCurrent(context) == CUDA_SUCCESS,
         "no context");
    must(cuMemAlloc(&x, BLOCKS * THREADS * sizeof(float)) == CUDA_SUCCESS, "no memory");
    must(cuMemsetD32(x, 0x3F800000, BLOCKS * THREADS) == CUDA_SUCCESS, "cannot set memory"); /* 1.0f */

    struct ktrace_program_options options = KTRACE_PROGRAM_OPTIONS_INIT;
    struct ktrace_program *program;
    options.name = "scale.cu"; /* of the source, in messages and traces */
    options.backend = "cuda";
    must(ktrace_program_create(&program, source, &options) == 0, ktrace_last_error());

    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    char *table;
    launch(program, x); /* untraced */
    must(ktrace_capture_begin(&capture, NULL) == 0, ktrace_last_error());
    launch(program, x); /* traced */
    must(ktrace_capture_end(&trace, capture) == 0, ktrace_last_error());
    launch(program, x); /* untraced again, and not compiled again */

    must(ktrace_trace_summary_text(&table, trace) == 0, ktrace_last_error());
    fputs(table, stdout);
    free(table);
    ktrace_trace_destroy(trace);
    must(cuCtxSynchronize() == CUDA_SUCCESS, "the kernel failed");
    ktrace_program_destroy(program);
    return 0;
}
