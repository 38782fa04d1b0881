#include "../backend/cuda_api.h"
#include "../backend/hip_api.h"
#include "../backend/hiprtc_api.h"
#include "../backend/nvrtc_api.h"
#include "doctor.h"

#include <stdio.h>
#include <string.h>

static uint32_t not_negative(int value)
{
    return value > 0 ? (uint32_t)value : 0;
}

/* ---- Versions ---------------------------------------------------------------------------------------------------- */

/* Of a module of the running kernel, which those that come with the kernel do not have: false. */
static bool module_version(char *out, size_t bytes, const char *module)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/module/%s/version", module);
    FILE *file = fopen(path, "re");
    const bool read = file && fgets(out, (int)bytes, file);
    if (file)
        fclose(file);
    if (read)
        out[strcspn(out, "\n")] = '\0';
    return read && *out;
}

static void keep_driver(struct doctor_runtime *runtime, const char *module, const char *api_version)
{
    char driver[64];
    if (module && module_version(driver, sizeof driver, module))
        snprintf(runtime->driver, sizeof runtime->driver, "%s %s, %s", module, driver, api_version);
    else
        snprintf(runtime->driver, sizeof runtime->driver, "%s", api_version);
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

/* Without a context on any: one on each of many GPUs takes seconds. */
static void list_cuda(struct doctor_runtime *runtime)
{
    const struct kt_cuda_api *api;
    kt_cu_device device;
    int version = 0;
    if (kt_cuda_api_open(&api) < 0)
        return;
    if (api->driver_version(&version) == KT_CU_SUCCESS) { /* 13000: 13.0 */
        char text[64];
        snprintf(text, sizeof text, "CUDA %d.%d", version / 1000, version % 1000 / 10);
        keep_driver(runtime, "nvidia", text);
    }
    if (api->device_count(&runtime->device_count) != KT_CU_SUCCESS)
        return;
    for (int i = 0; i < runtime->device_count && i < DOCTOR_DEVICES; i++) {
        struct doctor_device *entry = &runtime->devices[i];
        int places = 0, major = 0, minor = 0;
        if (api->device_get(&device, i) != KT_CU_SUCCESS ||
            api->device_get_name(entry->name, sizeof entry->name, device) != KT_CU_SUCCESS)
            return;
        api->device_get_attribute(&places, KT_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
        api->device_get_attribute(&major, KT_CU_ATTRIBUTE_CAPABILITY_MAJOR, device);
        api->device_get_attribute(&minor, KT_CU_ATTRIBUTE_CAPABILITY_MINOR, device);
        entry->places = not_negative(places);
        entry->major = not_negative(major);
        entry->minor = not_negative(minor);
        runtime->listed = i + 1;
    }
}

static void list_hip(struct doctor_runtime *runtime)
{
    const struct kt_hip_api *api;
    int version = 0;
    if (kt_hip_api_open(&api) < 0)
        return;
    if (api->runtime_version(&version) == KT_HIP_SUCCESS) { /* 60342134: 6.3.42134; before HIP 4.4 otherwise */
        char text[64];
        snprintf(text, sizeof text, "HIP %d.%d.%d", version / 10000000, version / 100000 % 100, version % 100000);
        keep_driver(runtime, api->simulated ? NULL : "amdgpu", text);
    }
    if (api->device_count(&runtime->device_count) != KT_HIP_SUCCESS)
        return;
    api->device_current(&runtime->current);
    for (int i = 0; i < runtime->device_count && i < DOCTOR_DEVICES; i++) {
        struct doctor_device *entry = &runtime->devices[i];
        int places = 0, major = 0, minor = 0;
        if (api->device_get_name(entry->name, sizeof entry->name, i) != KT_HIP_SUCCESS)
            return;
        api->device_get_attribute(&places, KT_HIP_ATTRIBUTE_MULTIPROCESSOR_COUNT, i);
        api->device_get_attribute(&major, KT_HIP_ATTRIBUTE_CAPABILITY_MAJOR, i);
        api->device_get_attribute(&minor, KT_HIP_ATTRIBUTE_CAPABILITY_MINOR, i);
        entry->places = not_negative(places);
        entry->major = not_negative(major);
        entry->minor = not_negative(minor);
        runtime->listed = i + 1;
    }
}

void doctor_list_devices(struct doctor_runtime *runtime)
{
    if (strcmp(runtime->backend, "cuda") == 0)
        list_cuda(runtime);
    else
        list_hip(runtime);
}

void doctor_find_compiler(struct doctor_runtime *runtime)
{
    const struct kt_rtc_api *compiler;
    const int status = strcmp(runtime->backend, "cuda") == 0 ? kt_nvrtc_open(&compiler) : kt_hiprtc_open(&compiler);
    snprintf(runtime->compiler, sizeof runtime->compiler, "%s",
             status == KTRACE_OK ? compiler->where : ktrace_last_error());
    runtime->compiles = status == KTRACE_OK;
}
