/* softmax_host.c - loads the kernel by HIP's module API, on an AMD GPU or the simulator, and captures it.
 *
 *     softmax_host FILE.co
 */
#include <dlfcn.h>
#include <ktrace/ktrace.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 64, COLUMNS = 1024, THREADS = 256, HOST_TO_DEVICE = 1 };

/* The functions of HIP that this needs; with ROCm's headers, hip/hip_runtime_api.h has them. */
static int (*hipMalloc)(void **address, size_t bytes);
static int (*hipMemcpy)(void *to, const void *from, size_t bytes, int kind);
static int (*hipModuleLoad)(void **module, const char *path);
static int (*hipModuleUnload)(void *module);
static int (*hipModuleGetFunction)(void **function, void *module, const char *name);
static int (*hipModuleLaunchKernel)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                    unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
                                    void **arguments, void **extra);

static void must(int ok, const char *why)
{
    if (!ok) {
        fprintf(stderr, "softmax_host: %s\n", why);
        exit(1);
    }
}

static void say(void *context, const char *sentence)
{
    fprintf(context, "ktrace: %s\n", sentence);
}

static void open_hip(void)
{
    const char *path; /* ROCm's library where there is an AMD GPU, else the simulator: the one that captures look at */
    must(ktrace_hip_library(&path) == 0, ktrace_last_error());
    void *hip = dlopen(path, RTLD_NOW);
    must(hip != NULL, dlerror());
    *(void **)&hipMalloc = dlsym(hip, "hipMalloc");
    *(void **)&hipMemcpy = dlsym(hip, "hipMemcpy");
    *(void **)&hipModuleLoad = dlsym(hip, "hipModuleLoad");
    *(void **)&hipModuleUnload = dlsym(hip, "hipModuleUnload");
    *(void **)&hipModuleGetFunction = dlsym(hip, "hipModuleGetFunction");
    *(void **)&hipModuleLaunchKernel = dlsym(hip, "hipModuleLaunchKernel");
}

int main(int argc, char **argv)
{
    static float values[ROWS * COLUMNS];
    void *module, *kernel, *in, *out;
    must(argc == 2, "which code object?");
    ktrace_set_log(say, stderr); /* what nobody asked for but somebody should know */
    open_hip();
    must(hipModuleLoad(&module, argv[1]) == 0, "the code object cannot be loaded: is it for this GPU?");
    must(ktrace_attach_hip_module(module) == 0, ktrace_last_error()); /* behind loading, before launching */
    must(hipModuleGetFunction(&kernel, module, "softmax") == 0, "no such kernel");

    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = (float)(i % 1000) / 100;
    must(hipMalloc(&in, sizeof values) == 0 && hipMalloc(&out, sizeof values) == 0, "no memory");
    must(hipMemcpy(in, values, sizeof values, HOST_TO_DEVICE) == 0, "cannot copy");

    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    char *table;
    int columns = COLUMNS;
    void *arguments[] = {&out, &in, &columns};
    must(ktrace_capture_begin(&capture, NULL) == 0, ktrace_last_error());
    must(hipModuleLaunchKernel(kernel, ROWS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL) == 0, "cannot launch");
    must(ktrace_capture_end(&trace, capture) == 0, ktrace_last_error());

    must(ktrace_trace_save(trace, "softmax.ktrace") == 0, ktrace_last_error());
    must(ktrace_trace_summary_text(&table, trace) == 0, ktrace_last_error());
    fputs(table, stdout);
    free(table);
    ktrace_trace_destroy(trace);
    must(ktrace_detach_hip_module(module) == 0, ktrace_last_error()); /* before it is unloaded */
    must(hipModuleUnload(module) == 0, "cannot unload");
    return 0;
}
