#include "cuda_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "../error.h"
#include "step.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct kt_cuda_api table;
static int open_status;
static char open_reason[256];

static int resolve(void *library)
{
    struct {
        const char *name;
        void **slot;
    } const functions[] = {
#define KT_CUDA_ENTRY(field, exported, parameters) {#exported, (void **)(void *)&table.field},
        KT_CUDA_FUNCTIONS(KT_CUDA_ENTRY)
#undef KT_CUDA_ENTRY
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        *functions[i].slot = dlsym(library, functions[i].name);
        if (*functions[i].slot == NULL) {
            snprintf(open_reason, sizeof open_reason, "the CUDA driver has no %s: update it to CUDA 12 or newer",
                     functions[i].name);
            return KTRACE_ERROR_NO_DEVICE;
        }
    }
    return KTRACE_OK;
}

static void open_once(void)
{
    open_status = KTRACE_ERROR_NO_DEVICE;
    kt_step("libcuda.so.1", "loaded");
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(open_reason, sizeof open_reason,
                 "no CUDA driver on this machine: libcuda.so.1 could not be opened (it comes with NVIDIA's driver; on "
                 "Debian "
                 "the package nvidia-driver of non-free)");
        return;
    }
    if (resolve(library) < 0)
        return;
    kt_step("libcuda.so.1", "started");
    const kt_cu_result result = table.init(0);
    if (result != KT_CU_SUCCESS) {
        const char *text = NULL;
        table.get_error_string(result, &text);
        snprintf(open_reason, sizeof open_reason, "the CUDA driver does not start: %s (error %d)%s",
                 text ? text : "unknown error", result,
                 result == KT_CU_ERROR_NO_DEVICE ? ": is there a GPU, was it given to this container (docker run "
                                                   "--gpus all), and does CUDA_VISIBLE_DEVICES not hide it?"
                                                 : "");
        return;
    }
    open_status = KTRACE_OK;
}

int kt_cuda_api_open(const struct kt_cuda_api **out)
{
    pthread_once(&once, open_once);
    if (open_status < 0)
        return kt_fail(open_status, "%s", open_reason);
    *out = &table;
    return KTRACE_OK;
}

int kt_cuda_fail(const struct kt_cuda_api *api, kt_cu_result result, const char *attempted)
{
    const char *name = NULL, *text = NULL;
    api->get_error_name(result, &name);
    api->get_error_string(result, &text);
    if (result >= KT_CU_ERROR_STREAM_CAPTURE_FIRST && result <= KT_CU_ERROR_STREAM_CAPTURE_LAST)
        return kt_fail(
            KTRACE_ERROR_STATE,
            "%s is not possible while a stream is being captured into a CUDA graph (%s): begin, read and clear "
            "captures outside graph construction",
            attempted, name ? name : "stream capture");
    return kt_fail(KTRACE_ERROR_DEVICE, "%s failed: %s (%s)", attempted, text ? text : "unknown error",
                   name ? name : "?");
}
