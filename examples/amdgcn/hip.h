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

#define HIP_FUNCTIONS(each) \
    each(hipInit, (unsigned flags)) each(hipGetDeviceCount, (int *count)) \
        each(hipDeviceGetName, (char *name, int bytes, int device)) each(hipMalloc, (void **address, size_t bytes)) \
            each(hipFree, (void *address)) each(hipMemcpy, (void *to, const void *from, size_t bytes, int kind)) \
                each(hipMemset, (void *to, int value, size_t bytes)) each(hipDeviceSynchronize, (void)) \
                    each(hipModuleLoad, (void **module, const char *path)) each(hipModuleUnload, (void *module)) \
                        each(hipModuleGetFunction, (void **function, void *module, const char *name)) \
                            each(hipModuleLaunchKernel, \
                                 (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
                                  unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, \
                                  void **arguments, void **extra))

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
    if (ktrace_hip_library(&path) < 0)
        skip("%s", ktrace_last_error());
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

/* Load NAME-CHIP.co, or NAME_untraced-CHIP.co, from the folder of this program for the chip that is there, and make it known to
 * libktrace. */
static inline void *hip_load(const char *name)
{
    static const char *const chips[] = {"gfx942", "gfx950"};
    char path[PATH_MAX + 128] = "";
    void *module = NULL;
    int error = HIP_SUCCESS;
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length <= 0)
        fail("this program cannot tell where it is");
    path[length] = '\0';
    char *file = strrchr(path, '/') + 1;
    for (size_t i = 0; i < sizeof chips / sizeof *chips && module == NULL; i++) {
        snprintf(file, 128, "%s-%s.co", KTRACE_ENABLE ? name : untraced_name(name), chips[i]);
        error = hip.hipModuleLoad(&module, path);
    }
    if (error != HIP_SUCCESS)
        fail("%s: neither it nor that of the other chip can be loaded: %s", path, hip.hipGetErrorString(error));
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
