/* function.c - facts of kernels: attributes and occupancy. */
#include <string.h>

#include "handles.h"
#include "launch.h"
#include "module.h"

static int max_dynamic_lds(hipFunction_t function)
{
    const int most =
        (int)(sim_lds_bytes(function->module->device) - sim_kernel_facts(function->kernel)->group_segment_bytes);
    return function->max_dynamic_lds_bytes < 0 ? most : function->max_dynamic_lds_bytes;
}

static hipError_t attributes_of(hipFuncAttributes *out, hipFunction_t function)
{
    const struct sim_kernel_facts *facts = sim_kernel_facts(function->kernel);
    memset(out, 0, sizeof *out);
    /* As ROCm's HIP says of gfx942: the major and minor number of the architecture. */
    const int is_gfx950 = sim_machine_config(function->module->device->machine)->chip == SIM_GFX950;
    out->binaryVersion = out->ptxVersion = is_gfx950 ? 95 : 94;
    out->localSizeBytes = facts->private_segment_bytes;
    out->sharedSizeBytes = facts->group_segment_bytes;
    out->maxDynamicSharedSizeBytes = max_dynamic_lds(function);
    out->maxThreadsPerBlock = facts->max_workgroup_size ? (int)facts->max_workgroup_size : 1024;
    out->numRegs = (int)facts->vgprs;
    return hipSuccess;
}

static hipError_t host_attributes(hipFuncAttributes *out, const void *host_function)
{
    if (!out)
        return sim_hip_error(hipErrorInvalidValue, "hipFuncGetAttributes: the structure that receives them is NULL");
    hipFunction_t function;
    const hipError_t status = sim_launch_function(&function, host_function, sim_current_device());
    return status ? status : attributes_of(out, function);
}

hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, const void *function)
{
    SIM_CALL(SIM_CALL_QUERY, host_attributes(attributes, function));
}

static hipError_t check_function(hipFunction_t function)
{
    if (sim_handle_is(SIM_HANDLE_FUNCTION, function))
        return hipSuccess;
    return sim_hip_error(hipErrorInvalidHandle, "%p is no function, or one of a module that was unloaded",
                         (void *)function);
}

static hipError_t attribute_of(int *value, hipFunction_attribute attribute, hipFunction_t function)
{
    if (!value)
        return sim_hip_error(hipErrorInvalidValue, "hipFuncGetAttribute: the pointer that receives the value is NULL");
    const hipError_t status = check_function(function);
    if (status)
        return status;
    hipFuncAttributes all;
    attributes_of(&all, function);
    switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = all.maxThreadsPerBlock; break;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)all.sharedSizeBytes; break;
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = (int)all.constSizeBytes; break;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)all.localSizeBytes; break;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS: *value = all.numRegs; break;
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION: *value = all.ptxVersion; break;
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION: *value = all.binaryVersion; break;
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = all.cacheModeCA; break;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = all.maxDynamicSharedSizeBytes; break;
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = all.preferredShmemCarveout; break;
    default: return sim_hip_error(hipErrorInvalidValue, "%d is no hipFunction_attribute", (int)attribute);
    }
    return hipSuccess;
}

hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t function)
{
    SIM_CALL(SIM_CALL_QUERY, attribute_of(value, attribute, function));
}

static hipError_t set_attribute(const void *host_function, hipFuncAttribute attribute, int value)
{
    hipFunction_t function;
    const hipError_t status = sim_launch_function(&function, host_function, sim_current_device());
    if (status || attribute == hipFuncAttributePreferredSharedMemoryCarveout) /* a hint; LDS is not carved */
        return status;
    if (attribute != hipFuncAttributeMaxDynamicSharedMemorySize)
        return sim_hip_error(hipErrorInvalidValue, "%d is no hipFuncAttribute", (int)attribute);
    function->max_dynamic_lds_bytes = -1;
    const int most = max_dynamic_lds(function);
    if (value < 0 || value > most)
        return sim_hip_error(hipErrorInvalidValue, "%s: %d bytes of dynamic shared memory are not from 0 to %d",
                             sim_kernel_facts(function->kernel)->name, value, most);
    function->max_dynamic_lds_bytes = value;
    return hipSuccess;
}

hipError_t hipFuncSetAttribute(const void *function, hipFuncAttribute attribute, int value)
{
    SIM_CALL(SIM_CALL_QUERY, set_attribute(function, attribute, value));
}

static hipError_t occupancy(int *blocks, hipFunction_t function, int block_size, size_t dynamic_bytes)
{
    if (!blocks || block_size <= 0)
        return sim_hip_error(hipErrorInvalidValue, "occupancy: %s",
                             blocks ? "the workgroup has no workitems" : "the pointer that receives it is NULL");
    *blocks = sim_occupancy(function, (uint32_t)block_size, dynamic_bytes);
    return hipSuccess;
}

static hipError_t module_occupancy(int *blocks, hipFunction_t function, int block_size, size_t dynamic_bytes)
{
    const hipError_t status = check_function(function);
    return status ? status : occupancy(blocks, function, block_size, dynamic_bytes);
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, hipFunction_t function, int block_size,
                                                              size_t dynamic_shared_bytes)
{
    SIM_CALL(SIM_CALL_QUERY, module_occupancy(blocks, function, block_size, dynamic_shared_bytes));
}

static hipError_t host_occupancy(int *blocks, const void *host_function, int block_size, size_t dynamic_bytes)
{
    hipFunction_t function;
    const hipError_t status = sim_launch_function(&function, host_function, sim_current_device());
    return status ? status : occupancy(blocks, function, block_size, dynamic_bytes);
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_size,
                                                        size_t dynamic_shared_bytes)
{
    SIM_CALL(SIM_CALL_QUERY, host_occupancy(blocks, function, block_size, dynamic_shared_bytes));
}
