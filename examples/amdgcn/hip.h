/* hip.h - the few functions of HIP's module API that these examples use, found at run time in the library that libktrace
 * uses too: ROCm's where there is an AMD GPU, the simulator where there is none. In C, behind ../common.h. */
#ifndef EXAMPLES_AMDGCN_HIP_H
#define EXAMPLES_AMDGCN_HIP_H

#include <dlfcn.h>
#include <ktrace/ktrace.h>
#include <limits.h>
#include <unistd.h>

/* Values of hip/driver_types.h and hip/hip_runtime_api.h. */
enum { HIP_SUCCESS = 0, HIP_HOST_TO_DEVICE = 1, HIP_DEVICE_TO_HOST = 2 };
enum { HIP_STREAM_NON_BLOCKING = 1, HIP_CAPTURE_GLOBAL = 0 };

/* clang-format off */
#define HIP_FUNCTIONS(each) \
    each(hipInit, (unsigned flags)) \
    each(hipGetDeviceCount, (int *count)) \
    each(hipDeviceGetName, (char *name, int bytes, int device)) \
    each(hipMalloc, (void **address, size_t bytes)) \
    each(hipFree, (void *address)) \
    each(hipMemcpy, (void *to, const void *from, size_t bytes, int kind)) \
    each(hipMemset, (void *to, int value, size_t bytes)) \
    each(hipDeviceSynchronize, (void)) \
    each(hipModuleLoad, (void **module, const char *path)) \
    each(hipModuleUnload, (void *module)) \
    each(hipModuleGetFunction, (void **function, void *module, const char *name)) \
    each(hipModuleLaunchKernel, (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
                                 unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, \
                                 void **arguments, void **extra)) \
    each(hipStreamCreateWithFlags, (void **stream, unsigned flags)) \
    each(hipStreamDestroy, (void *stream)) \
    each(hipStreamSynchronize, (void *stream)) \
    each(hipStreamBeginCapture, (void *stream, int mode)) \
    each(hipStreamEndCapture, (void *stream, void **graph)) \
    each(hipGraphInstantiate, (void **exec, void *graph, void **error_node, char *log, size_t log_bytes)) \
    each(hipGraphLaunch, (void *exec, void *stream)) \
    each(hipGraphExecDestroy, (void *exec)) \
    each(hipGraphDestroy, (void *graph))
/* clang-format on */

#define HIP_DECLARE(name, parameters) int(*name) parameters;
static struct hip {
    HIP_FUNCTIONS(HIP_DECLARE)
    const char *(*hipGetErrorString)(int error);
    char device[128]; /* its name */
} hip;
#undef HIP_DECLARE

static inline void check_hip(int error, const char *attempted)
{
    if (error != HIP_SUCCESS)
        fail("%s: %s", attempted, hip.hipGetErrorString ? hip.hipGetErrorString(error) : "HIP failed");
}
#define HIP(name, ...) check_hip(hip.name(__VA_ARGS__), #name)

static inline void *hip_function(void *library, const char *name)
{
    void *function = dlsym(library, name);
    if (function == NULL)
        skip("HIP's library has no %s", name);
    return function;
}

/* Opens HIP; skips where no kernel can run. */
static inline void hip_open(void)
{
    const char *path = NULL;
    int devices = 0;
    const int status = ktrace_hip_library(&path);
    if (status == KTRACE_ERROR_NO_DEVICE)
        skip("%s", ktrace_last_error());
    if (status < 0)
        fail("%s", ktrace_last_error());
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        skip("%s", dlerror());
#define HIP_FIND(name, parameters) *(void **)&hip.name = hip_function(library, #name);
    HIP_FUNCTIONS(HIP_FIND)
#undef HIP_FIND
    *(void **)&hip.hipGetErrorString = hip_function(library, "hipGetErrorString");
    if (hip.hipInit(0) != HIP_SUCCESS || hip.hipGetDeviceCount(&devices) != HIP_SUCCESS || devices == 0)
        skip("%s finds no device", path);
    HIP(hipDeviceGetName, hip.device, sizeof hip.device, 0);
}

enum { HIP_CHIPS = 2, HIP_PATH_BYTES = PATH_MAX + 128 };
static const char *const hip_chips[HIP_CHIPS] = {"gfx942", "gfx950"};

/* Where what is compiled for `chip` lies: NAME-CHIP.co, or NAME_untraced-CHIP.co, in the folder of this program. */
static inline void hip_code_path(char path[HIP_PATH_BYTES], const char *name, const char *chip)
{
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length <= 0)
        fail("this program cannot tell where it is");
    path[length] = '\0';
    snprintf(strrchr(path, '/') + 1, 128, "%s-%s.co", KTRACE_ENABLE ? name : untraced_name(name), chip);
}

__attribute__((noreturn)) static inline void hip_load_failed(char paths[HIP_CHIPS][HIP_PATH_BYTES],
                                                             const int errors[HIP_CHIPS])
{
    char reasons[HIP_CHIPS][128];
    int missing = 0;
    for (int i = 0; i < HIP_CHIPS; i++) {
        const int there = access(paths[i], R_OK) == 0;
        missing += !there;
        snprintf(reasons[i], sizeof reasons[i], "%s", there ? hip.hipGetErrorString(errors[i]) : "cannot be read");
    }
    fail("no code object can be loaded on %s: %s: %s; %s: %s%s", hip.device, paths[0], reasons[0], paths[1], reasons[1],
         missing ? "; install clang-22 and lld-22, then, in the source tree of ktrace: cmake --preset demo && cmake "
                   "--build --preset demo"
                 : "");
}

/* Load the code object for the chip that is there, and make it known to libktrace. */
static inline void *hip_load(const char *name)
{
    char paths[HIP_CHIPS][HIP_PATH_BYTES];
    int errors[HIP_CHIPS];
    void *module = NULL;
    for (int i = 0; i < HIP_CHIPS && module == NULL; i++) {
        hip_code_path(paths[i], name, hip_chips[i]);
        errors[i] = hip.hipModuleLoad(&module, paths[i]);
    }
    if (module == NULL)
        hip_load_failed(paths, errors);
#if KTRACE_ENABLE
    if (ktrace_attach_hip_module(module) < 0)
        fail("%s", ktrace_last_error());
#endif
    return module;
}

static inline void hip_unload(void *module)
{
#if KTRACE_ENABLE
    if (ktrace_detach_hip_module(module) < 0)
        fail("%s", ktrace_last_error());
#endif
    HIP(hipModuleUnload, module);
}

static inline void *hip_kernel(void *module, const char *name)
{
    void *kernel = NULL;
    HIP(hipModuleGetFunction, &kernel, module, name);
    return kernel;
}

static inline void *hip_allocate(size_t bytes)
{
    void *address = NULL;
    HIP(hipMalloc, &address, bytes);
    return address;
}

#endif
