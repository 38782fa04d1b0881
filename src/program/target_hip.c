#include <stdio.h>

#include "backend/hip_api.h"
#include "backend/hiprtc_api.h"
#include "error.h"
#include "target.h"

static int check(void)
{
    const struct kt_hip_api *api;
    return kt_hip_api_open(&api); /* finds a device, or is no success */
}

static int current(struct kt_program_place *out)
{
    const struct kt_hip_api *api;
    struct kt_program_place place = {0};
    int major = 0, minor = 0;
    const int status = kt_hip_api_open(&api);
    if (status < 0)
        return status;
    kt_hip_result result = api->device_current(&place.device);
    if (result == KT_HIP_SUCCESS)
        result = api->device_get_attribute(&major, KT_HIP_ATTRIBUTE_CAPABILITY_MAJOR, place.device);
    if (result == KT_HIP_SUCCESS)
        result = api->device_get_attribute(&minor, KT_HIP_ATTRIBUTE_CAPABILITY_MINOR, place.device);
    if (result != KT_HIP_SUCCESS)
        return kt_hip_fail(api, result, "asking for the current HIP device");
    if (major != 9 || (minor != 4 && minor != 5)) /* others share their numbers, as gfx908 and gfx90a do */
        return kt_fail(
            KTRACE_ERROR_UNSUPPORTED,
            "the current HIP device is one of version %d.%d: programs are compiled for gfx942 (9.4) and gfx950 (9.5)",
            major, minor);
    place.id = (uint64_t)place.device;
    snprintf(place.architecture, sizeof place.architecture, "%s", minor == 4 ? "gfx942" : "gfx950");
    *out = place;
    return KTRACE_OK;
}

/* After `current`, which opened it. */
static const struct kt_hip_api *hip(void)
{
    const struct kt_hip_api *api = NULL;
    kt_hip_api_open(&api);
    return api;
}

static int load(void **module, const void *image)
{
    const kt_hip_result result = hip()->module_load_data((kt_hip_module *)module, image);
    if (result == KT_HIP_SUCCESS)
        return KTRACE_OK;
    const int status = kt_hip_fail(hip(), result, "loading a compiled program");
    if (status != KTRACE_ERROR_STATE)
        return status;
    return kt_fail(status, "a program cannot be loaded while a stream is being captured into a HIP graph: ask "
                           "ktrace_program_kernel for its kernels before");
}

static int function(void **out, void *module, const char *name)
{
    const kt_hip_result result = hip()->module_get_function((kt_hip_function *)out, module, name);
    if (result == KT_HIP_ERROR_NOT_FOUND) {
        kt_hip_forget(hip(), result);
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "the program has no kernel \"%s\"", name);
    }
    return result == KT_HIP_SUCCESS ? KTRACE_OK : kt_hip_fail(hip(), result, "looking for a program's kernel");
}

static void unload(const struct kt_program_place *place, void *module)
{
    const struct kt_hip_api *api = hip();
    int before = place->device;
    kt_hip_forget(api, api->device_current(&before));
    if (before != place->device)
        kt_hip_forget(api, api->device_select(place->device));
    kt_hip_forget(api, api->module_unload(module));
    if (before != place->device)
        kt_hip_forget(api, api->device_select(before));
}

const struct kt_program_target kt_program_hip = {
    .backend = "hip",
    .arch = KTRACE_ARCH_AMDGCN,
    .source_name = "program.hip",
    .architecture_option = "--offload-arch=",
    .open_compiler = kt_hiprtc_open,
    .check = check,
    .current = current,
    .load = load,
    .function = function,
    .attach = ktrace_attach_hip_module,
    .detach = ktrace_detach_hip_module,
    .unload = unload,
};
