/* host.h - what the tests of programs need of HIP, found in the library that libktrace uses: the simulator. In C, behind cmocka.h. */
#ifndef HOST_H
#define HOST_H

#include <dlfcn.h>
#include <stdlib.h>

#include "ktrace/ktrace.h"

static struct {
    int (*module_load)(void **module, const void *image);
    int (*module_unload)(void *module);
    int (*get_function)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared, void *stream, void **arguments, void **extra);
    int (*allocate)(void **memory, size_t bytes);
    int (*release)(void *memory);
    int (*copy)(void *to, const void *from, size_t bytes, int kind);
    int (*synchronize)(void);
    int (*set_device)(int device);
    int (*stream_create)(void **stream);
    int (*begin_stream_capture)(void *stream, int mode);
    int (*end_stream_capture)(void *stream, void **graph);
    int (*instantiate)(void **exec, void *graph, unsigned long long flags);
    int (*launch_graph)(void *exec, void *stream);
    const char *(*compiler)(void);
} hip;
static void *hip_library;

static inline void must(int status)
{
    if (status < 0)
        fail_msg("%s: %s", ktrace_status_name(status), ktrace_last_error());
}

/* 0, or -1 having said why no test can run: there is no clang. */
static inline int open_hip(void)
{
    static const struct {
        const char *name;
        void *slot;
    } functions[] = {{"hipModuleLoadData", &hip.module_load},
                     {"hipModuleUnload", &hip.module_unload},
                     {"hipModuleGetFunction", &hip.get_function},
                     {"hipModuleLaunchKernel", &hip.launch},
                     {"hipMalloc", &hip.allocate},
                     {"hipFree", &hip.release},
                     {"hipMemcpy", &hip.copy},
                     {"hipDeviceSynchronize", &hip.synchronize},
                     {"hipSetDevice", &hip.set_device},
                     {"hipStreamCreate", &hip.stream_create},
                     {"hipStreamBeginCapture", &hip.begin_stream_capture},
                     {"hipStreamEndCapture", &hip.end_stream_capture},
                     {"hipGraphInstantiateWithFlags", &hip.instantiate},
                     {"hipGraphLaunch", &hip.launch_graph},
                     {"ktrace_simulator_compiler", &hip.compiler}};
    const char *path;
    if (ktrace_hip_library(&path) < 0 || (hip_library = dlopen(path, RTLD_NOW)) == NULL) {
        printf("the simulator cannot be opened: %s\n", ktrace_last_error());
        exit(1);
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        *(void **)functions[i].slot = dlsym(hip_library, functions[i].name);
        if (*(void **)functions[i].slot == NULL) {
            printf("%s has no %s\n", path, functions[i].name);
            exit(1);
        }
    }
    if (*hip.compiler())
        return 0;
    fprintf(stderr, "skipped: no clang-22 in PATH, with which the simulator compiles programs\n");
    return -1;
}

/* `groups` of `threads`; arguments as for hipModuleLaunchKernel. */
static inline void launch(void *function, unsigned groups, unsigned threads, void **arguments)
{
    assert_int_equal(hip.launch(function, groups, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL), 0);
}

static inline void *kernel_of(struct ktrace_program *program, const char *kernel)
{
    void *function = NULL;
    const int status = ktrace_program_kernel(&function, program, kernel);
    if (status < 0)
        fail_msg("%s: %s: %s\n%s", kernel, ktrace_status_name(status), ktrace_last_error(),
                 ktrace_program_log(program));
    return function;
}

static inline struct ktrace_program_info program_info(struct ktrace_program *program)
{
    struct ktrace_program_info info = {.struct_size = sizeof info};
    must(ktrace_program_get_info(&info, program));
    return info;
}

static inline struct ktrace_trace_info trace_info(const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    must(ktrace_trace_get_info(&info, trace));
    return info;
}

#endif
