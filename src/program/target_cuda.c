#include <stdio.h>

#include "backend/cuda_api.h"
#include "backend/nvrtc_api.h"
#include "error.h"
#include "target.h"

static int check(void)
{
    const struct kt_cuda_api *api;
    int count = 0;
    const int status = kt_cuda_api_open(&api);
    if (status < 0)
        return status;
    const kt_cu_result result = api->device_count(&count);
    if (result != KT_CU_SUCCESS)
        return kt_cuda_fail(api, result, "counting CUDA devices");
    return count ? KTRACE_OK : kt_fail(KTRACE_ERROR_NO_DEVICE, "the CUDA driver counts no device");
}

static int current(struct kt_program_place *out)
{
    const struct kt_cuda_api *api;
    struct kt_program_place place = {0};
    kt_cu_context context = NULL;
    unsigned long long id = 0;
    int major = 0, minor = 0;
    const int status = kt_cuda_api_open(&api);
    if (status < 0)
        return status;
    kt_cu_result result = api->context_get_current(&context);
    if (result == KT_CU_SUCCESS && context == NULL)
        return kt_fail(
            KTRACE_ERROR_NO_DEVICE,
            "a CUDA kernel belongs to a context, and this thread has none: call cuCtxSetCurrent, or of CUDA's runtime "
            "cudaSetDevice and cudaFree(NULL), first");
    if (result == KT_CU_SUCCESS)
        result = api->context_get_id(context, &id);
    if (result == KT_CU_SUCCESS)
        result = api->context_get_device(&place.device);
    if (result == KT_CU_SUCCESS)
        result = api->device_get_attribute(&major, KT_CU_ATTRIBUTE_CAPABILITY_MAJOR, place.device);
    if (result == KT_CU_SUCCESS)
        result = api->device_get_attribute(&minor, KT_CU_ATTRIBUTE_CAPABILITY_MINOR, place.device);
    if (result != KT_CU_SUCCESS)
        return kt_cuda_fail(api, result, "asking for the current CUDA context");
    place.id = id;
    place.context = context;
    snprintf(place.architecture, sizeof place.architecture, "sm_%d%d", major, minor);
    *out = place;
    return KTRACE_OK;
}

/* After `current`, which opened it. */
static const struct kt_cuda_api *cuda(void)
{
    const struct kt_cuda_api *api = NULL;
    kt_cuda_api_open(&api);
    return api;
}

static int load(void **module, const void *image)
{
    const kt_cu_result result = cuda()->module_load_data((kt_cu_module *)module, image);
    if (result == KT_CU_SUCCESS)
        return KTRACE_OK;
    const int status = kt_cuda_fail(cuda(), result, "loading a compiled program");
    if (status != KTRACE_ERROR_STATE)
        return status;
    return kt_fail(status, "a program cannot be loaded while a stream is being captured into a CUDA graph: ask "
                           "ktrace_program_kernel for its kernels before");
}

static int function(void **out, void *module, const char *name)
{
    const kt_cu_result result = cuda()->module_get_function((kt_cu_function *)out, module, name);
    if (result == KT_CU_ERROR_NOT_FOUND)
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "the program has no kernel \"%s\"", name);
    return result == KT_CU_SUCCESS ? KTRACE_OK : kt_cuda_fail(cuda(), result, "looking for a program's kernel");
}

/* A context that is gone took its modules with it: then there is none to enter. */
static void unload(const struct kt_program_place *place, void *module)
{
    kt_cu_context popped;
    unsigned long long id;
    const struct kt_cuda_api *api = cuda();
    if (api->context_get_id(place->context, &id) != KT_CU_SUCCESS || id != place->id ||
        api->context_push(place->context) != KT_CU_SUCCESS)
        return;
    api->module_unload(module);
    api->context_pop(&popped);
}

const struct kt_program_target kt_program_cuda = {
    .backend = "cuda",
    .arch = KTRACE_ARCH_NVIDIA,
    .source_name = "program.cu",
    .architecture_option = "--gpu-architecture=",
    .open_compiler = kt_nvrtc_open,
    .check = check,
    .current = current,
    .load = load,
    .function = function,
    .attach = ktrace_attach_cuda_module,
    .detach = ktrace_detach_cuda_module,
    .unload = unload,
};
