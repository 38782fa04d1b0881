/* driver_api.h - the CUDA driver and NVRTC, found at run time, so that a program which uses them starts on any machine
 * and can say what it misses. A program that only ever runs where both are would link with -lcuda -lnvrtc instead and
 * write cuInit(0) where nvrtc_driver.c writes cuda.cuInit(0).
 */
#ifndef EXAMPLES_DRIVER_API_H
#define EXAMPLES_DRIVER_API_H

#include "common.h"

#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#define CUDA_FUNCTIONS(X) \
    X(cuInit) \
    X(cuGetErrorString) \
    X(cuDeviceGet) \
    X(cuDeviceGetAttribute) \
    X(cuDevicePrimaryCtxRetain) \
    X(cuDevicePrimaryCtxRelease) \
    X(cuCtxSetCurrent) \
    X(cuModuleLoadData) \
    X(cuModuleUnload) \
    X(cuModuleGetFunction) \
    X(cuMemAlloc) \
    X(cuMemFree) \
    X(cuMemcpyHtoD) \
    X(cuMemcpyDtoH) \
    X(cuLaunchKernel)

#define NVRTC_FUNCTIONS(X) \
    X(nvrtcGetErrorString) \
    X(nvrtcCreateProgram) \
    X(nvrtcCompileProgram) \
    X(nvrtcGetProgramLogSize) \
    X(nvrtcGetProgramLog) \
    X(nvrtcGetCUBINSize) \
    X(nvrtcGetCUBIN) \
    X(nvrtcDestroyProgram)

/* cuda.h renames functions to the version that it declares (cuMemAlloc is cuMemAlloc_v2), and these members with them. */
#define FUNCTION_MEMBER(function) __typeof__(function) *function;
static struct {
    CUDA_FUNCTIONS(FUNCTION_MEMBER)
} cuda;
static struct {
    NVRTC_FUNCTIONS(FUNCTION_MEMBER)
} nvrtc;
#undef FUNCTION_MEMBER

#define QUOTE_(text) #text
#define QUOTE(text) QUOTE_(text)

static inline void load_function(void *member, void *library, const char *name)
{
    void *function = dlsym(library, name);
    if (!function)
        skip("%s", dlerror());
    memcpy(member, &function, sizeof function);
}

static inline void load_cuda(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        skip("no NVIDIA driver: %s", dlerror());
#define LOAD(function) load_function(&cuda.function, library, QUOTE(function));
    CUDA_FUNCTIONS(LOAD)
#undef LOAD
}

static inline void load_nvrtc(void)
{
    /* the release whose header this is, where the linker looks or where the toolkit installs it */
    const char *toolkit = getenv("CUDA_PATH");
    char paths[3][4096];
    snprintf(paths[0], sizeof paths[0], "libnvrtc.so.%d", CUDA_VERSION / 1000);
    snprintf(paths[1], sizeof paths[1], "%s/lib64/libnvrtc.so", toolkit ? toolkit : "/usr/local/cuda");
    snprintf(paths[2], sizeof paths[2], "%s/lib/libnvrtc.so.%d", toolkit ? toolkit : "/usr/local/cuda",
             CUDA_VERSION / 1000);
    void *library = NULL;
    for (int i = 0; i < 3 && !library; i++)
        library = dlopen(paths[i], RTLD_NOW);
    if (!library)
        skip("no NVRTC: %s is not where libraries are looked for; set LD_LIBRARY_PATH or CUDA_PATH", paths[0]);
#define LOAD(function) load_function(&nvrtc.function, library, QUOTE(function));
    NVRTC_FUNCTIONS(LOAD)
#undef LOAD
}

#endif
