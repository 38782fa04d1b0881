/* module.c - hipModule*: code that programs load by themselves. */
#include "module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "capture.h"
#include "handles.h"
#include "stream.h"

hipError_t sim_module_open(hipModule_t *out, struct sim_device *device, const void *image, size_t bytes)
{
    *out = NULL;
    const void *object;
    size_t object_bytes;
    const hipError_t status = sim_image_select(&object, &object_bytes, image, bytes, device);
    if (status)
        return status;
    hipModule_t module = calloc(1, sizeof *module);
    if (!module)
        return sim_hip_error(hipErrorOutOfMemory, "out of host memory for a module");
    module->device = device;
    if (sim_module_load(&module->code, device->machine, object, object_bytes)) {
        free(module);
        return sim_machine_error(hipErrorInvalidImage);
    }
    if (sim_handle_add(SIM_HANDLE_MODULE, module)) {
        sim_module_close(module);
        return sim_machine_error(hipErrorOutOfMemory);
    }
    device->is_used = 1;
    *out = module;
    return hipSuccess;
}

void sim_module_close(hipModule_t module)
{
    while (module->functions) {
        struct ihipModuleSymbol_t *function = module->functions;
        module->functions = function->next;
        sim_handle_remove(function);
        free(function);
    }
    sim_handle_remove(module);
    sim_module_unload(module->code);
    free(module);
}

hipError_t sim_module_function(hipFunction_t *out, hipModule_t module, const char *name)
{
    *out = NULL;
    for (hipFunction_t function = module->functions; function; function = function->next)
        if (!strcmp(sim_kernel_facts(function->kernel)->name, name)) {
            *out = function;
            return hipSuccess;
        }
    const struct sim_kernel *kernel = sim_module_kernel(module->code, name);
    if (!kernel)
        return sim_machine_error(hipErrorNotFound);
    hipFunction_t function = calloc(1, sizeof *function);
    if (!function || sim_handle_add(SIM_HANDLE_FUNCTION, function)) {
        free(function);
        return sim_hip_error(hipErrorOutOfMemory, "out of host memory for a function");
    }
    function->module = module;
    function->kernel = kernel;
    function->max_dynamic_lds_bytes = -1;
    function->next = module->functions;
    module->functions = function;
    *out = function;
    return hipSuccess;
}

/* ---- The interface ------------------------------------------------------------------------------------------------ */

static hipError_t load(hipModule_t *out, const void *image, size_t bytes)
{
    const hipError_t status = sim_capture_forbids("hipModuleLoad");
    return status ? status : sim_module_open(out, sim_current_device(), image, bytes);
}

static hipError_t load_data(hipModule_t *out, const void *image)
{
    if (!out || !image)
        return sim_hip_error(hipErrorInvalidValue, "hipModuleLoadData: %s is NULL",
                             image ? "the pointer that receives the module" : "the image");
    size_t bytes = 0;
    const hipError_t status = sim_image_bytes(&bytes, image);
    return status ? status : load(out, image, bytes);
}

hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
    SIM_CALL(SIM_CALL_LOAD, load_data(module, image));
}

/* Options are for the NVIDIA side of HIP: ROCm's ignores them. */
hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned int options, hipJitOption *names,
                               void **values)
{
    (void)options;
    (void)names;
    (void)values;
    SIM_CALL(SIM_CALL_LOAD, load_data(module, image));
}

static hipError_t read_file(unsigned char **out, size_t *bytes, const char *path)
{
    *out = NULL;
    FILE *file = fopen(path, "rb");
    if (!file)
        return sim_hip_error(hipErrorFileNotFound, "%s: %s", path, strerror(errno));
    long size = -1;
    if (!fseek(file, 0, SEEK_END))
        size = ftell(file);
    rewind(file);
    unsigned char *data = size >= 0 ? malloc((size_t)size + 1) : NULL;
    const int is_read = data && fread(data, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (!is_read) {
        free(data);
        return sim_hip_error(hipErrorInvalidImage, "%s cannot be read", path);
    }
    *out = data;
    *bytes = (size_t)size;
    return hipSuccess;
}

static hipError_t load_file(hipModule_t *out, const char *path)
{
    if (!out || !path)
        return sim_hip_error(hipErrorInvalidValue, "hipModuleLoad: %s is NULL",
                             path ? "the pointer that receives the module" : "the path");
    unsigned char *data;
    size_t bytes = 0;
    hipError_t status = read_file(&data, &bytes, path);
    if (status)
        return status;
    status = load(out, data, bytes);
    free(data);
    return status;
}

hipError_t hipModuleLoad(hipModule_t *module, const char *path)
{
    SIM_CALL(SIM_CALL_LOAD, load_file(module, path));
}

static hipError_t check_module(hipModule_t module)
{
    if (sim_handle_is(SIM_HANDLE_MODULE, module))
        return hipSuccess;
    return sim_hip_error(hipErrorInvalidHandle, "%p is no module, or one that was unloaded", (void *)module);
}

static hipError_t unload(hipModule_t module)
{
    hipError_t status = check_module(module);
    if (status == hipSuccess)
        status = sim_capture_forbids("hipModuleUnload");
    if (status == hipSuccess)
        status = sim_wait_device(module->device);
    if (status == hipSuccess)
        status = check_module(module); /* another thread may have, while this one waited */
    if (status == hipSuccess)
        sim_module_close(module);
    return status;
}

hipError_t hipModuleUnload(hipModule_t module)
{
    SIM_CALL(SIM_CALL_LOAD, unload(module));
}

static hipError_t get_function(hipFunction_t *function, hipModule_t module, const char *name)
{
    if (!function || !name)
        return sim_hip_error(hipErrorInvalidValue, "hipModuleGetFunction: %s is NULL",
                             name ? "the pointer that receives the function" : "the name");
    const hipError_t status = check_module(module);
    return status ? status : sim_module_function(function, module, name);
}

hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name)
{
    SIM_CALL(SIM_CALL_QUERY, get_function(function, module, name));
}

static hipError_t get_global(hipDeviceptr_t *address, size_t *bytes, hipModule_t module, const char *name)
{
    if (!name)
        return sim_hip_error(hipErrorInvalidValue, "hipModuleGetGlobal: the name is NULL");
    const hipError_t status = check_module(module);
    if (status)
        return status;
    void *found;
    uint64_t found_bytes;
    if (sim_module_symbol(&found, &found_bytes, module->code, name))
        return sim_machine_error(hipErrorNotFound);
    if (address)
        *address = found;
    if (bytes)
        *bytes = found_bytes;
    return hipSuccess;
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t *address, size_t *bytes, hipModule_t module, const char *name)
{
    SIM_CALL(SIM_CALL_QUERY, get_global(address, bytes, module, name));
}
