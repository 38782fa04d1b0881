#include "../backend/cuda_api.h"
#include "../backend/hip_api.h"
#include "doctor.h"

#include <string.h>

static uint32_t not_negative(int value)
{
    return value > 0 ? (uint32_t)value : 0;
}

/* Without a context on any: one on each of many GPUs takes seconds. */
static void list_cuda(struct doctor_runtime *runtime)
{
    const struct kt_cuda_api *api;
    kt_cu_device device;
    if (kt_cuda_api_open(&api) < 0 || api->device_count(&runtime->device_count) != KT_CU_SUCCESS)
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
    if (kt_hip_api_open(&api) < 0 || api->device_count(&runtime->device_count) != KT_HIP_SUCCESS)
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
