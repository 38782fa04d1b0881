/* launch.c - launching kernels: by hipFunction_t, by host function, and by <<<>>>. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

#include "handles.h"
#include "registry.h"

/* ---- Checks ------------------------------------------------------------------------------------------------------- */

static hipError_t check_function(hipFunction_t function)
{
    if (sim_handle_is(SIM_HANDLE_FUNCTION, function))
        return hipSuccess;
    return sim_hip_error(hipErrorInvalidHandle, "%p is no function, or one of a module that was unloaded",
                         (void *)function);
}

static hipError_t check_size(const struct sim_launch *launch, const struct sim_kernel_facts *facts)
{
    const uint32_t grid[3] = {launch->grid.x, launch->grid.y, launch->grid.z};
    const uint32_t block[3] = {launch->block.x, launch->block.y, launch->block.z};
    const uint32_t most = facts->max_workgroup_size ? facts->max_workgroup_size : 1024;
    uint64_t workitems = 1;
    for (int i = 0; i < 3; i++) {
        if (!grid[i] || !block[i])
            return sim_hip_error(hipErrorInvalidConfiguration,
                                 "%s: a grid of %u x %u x %u workgroups of %u x %u x %u workitems is empty",
                                 facts->name, grid[0], grid[1], grid[2], block[0], block[1], block[2]);
        /* A dispatch packet has the grid's size in workitems, in 32 bits (HSA, AQL packets). */
        if ((uint64_t)grid[i] * block[i] > UINT32_MAX)
            return sim_hip_error(hipErrorInvalidConfiguration,
                                 "%s: %u workgroups of %u workitems are more than 2^32 - 1", facts->name, grid[i],
                                 block[i]);
        workitems *= block[i];
        if (workitems > most)
            return sim_hip_error(
                hipErrorInvalidConfiguration,
                "%s: a workgroup of %u x %u x %u workitems exceeds the kernel's %u (__launch_bounds__, "
                "amdgpu_flat_work_group_size)",
                facts->name, block[0], block[1], block[2], most);
    }
    return hipSuccess;
}

static hipError_t check_lds(const struct sim_launch *launch, const struct sim_kernel_facts *facts)
{
    const uint32_t most = sim_lds_bytes(launch->function->module->device);
    if (launch->shared_bytes <= most && facts->group_segment_bytes <= most - launch->shared_bytes)
        return hipSuccess;
    return sim_hip_error(hipErrorInvalidValue,
                         "%s: %u bytes of shared memory and %zu dynamic ones exceed the %u of a compute unit",
                         facts->name, facts->group_segment_bytes, launch->shared_bytes, most);
}

int sim_occupancy(hipFunction_t function, uint32_t workitems, size_t dynamic_lds_bytes)
{
    const struct sim_kernel_facts *facts = sim_kernel_facts(function->kernel);
    const struct sim_device *device = function->module->device;
    const struct sim_chip_config *config = sim_machine_config(device->machine);
    /* gfx90a and newer: 512 registers a lane of a SIMD, vector and accumulation ones in one file, given out in eights
     * (LLVM's AMDGPUUsage: granulated_workitem_vgpr_count). */
    const uint32_t registers = ((facts->vgprs + 3) / 4 * 4 + facts->agprs + 7) / 8 * 8;
    uint32_t waves = registers ? 512 / registers : config->waves_per_simd;
    waves = waves < config->waves_per_simd ? waves : config->waves_per_simd;
    const uint32_t waves_of_one = (workitems + 63) / 64;
    const uint64_t lds = facts->group_segment_bytes + (uint64_t)dynamic_lds_bytes;
    const uint64_t by_waves = waves_of_one ? (uint64_t)waves * config->simds_per_cu / waves_of_one : 0;
    const uint64_t by_lds = lds ? sim_lds_bytes(device) / lds : UINT64_MAX;
    return (int)(by_waves < by_lds ? by_waves : by_lds);
}

static hipError_t check_cooperative(const struct sim_launch *launch, const struct sim_kernel_facts *facts)
{
    const uint32_t workitems = launch->block.x * launch->block.y * launch->block.z;
    const uint64_t room = (uint64_t)sim_occupancy(launch->function, workitems, launch->shared_bytes) *
                          sim_compute_units(launch->function->module->device);
    const uint64_t workgroups = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    if (workgroups <= room)
        return hipSuccess;
    return sim_hip_error(hipErrorCooperativeLaunchTooLarge,
                         "%s: a cooperative launch of %llu workgroups, and the device holds %llu at a time",
                         facts->name, (unsigned long long)workgroups, (unsigned long long)room);
}

/* ---- Arguments ---------------------------------------------------------------------------------------------------- */

static hipError_t pack_parameters(unsigned char *kernarg, const struct sim_kernel_facts *facts, void **parameters)
{
    for (uint32_t i = 0, at = 0; i < facts->argument_count; i++) {
        const struct sim_argument *argument = &facts->arguments[i];
        if (argument->kind == SIM_ARGUMENT_HIDDEN)
            continue;
        if (!parameters || !parameters[at])
            return sim_hip_error(hipErrorInvalidValue, "%s: %s %u is NULL", facts->name,
                                 parameters ? "the address of argument" : "the kernel has arguments, and the array of",
                                 at);
        memcpy(kernarg + argument->offset, parameters[at++], argument->bytes);
    }
    return hipSuccess;
}

static hipError_t pack_buffer(unsigned char *kernarg, const struct sim_kernel_facts *facts, void **extra)
{
    const void *buffer = NULL;
    const size_t *bytes = NULL;
    for (size_t i = 0; extra[i] != HIP_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[i + 1];
        else if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = extra[i + 1];
        else
            return sim_hip_error(hipErrorInvalidValue, "%s: `extra` has an unknown entry %p", facts->name, extra[i]);
    }
    /* A structure that mirrors the arguments may end in padding. */
    const size_t alignment = facts->kernarg_alignment ? facts->kernarg_alignment : 1;
    const size_t most = (facts->kernarg_bytes + alignment - 1) / alignment * alignment;
    if (!buffer || !bytes || *bytes > most)
        return sim_hip_error(hipErrorInvalidValue, "%s: `extra` must give a buffer and its size, at most %zu bytes",
                             facts->name, most);
    memcpy(kernarg, buffer, *bytes < facts->kernarg_bytes ? *bytes : facts->kernarg_bytes);
    return hipSuccess;
}

hipError_t sim_launch_operation(struct sim_operation *out, const struct sim_launch *launch)
{
    memset(out, 0, sizeof *out);
    const struct sim_kernel_facts *facts = sim_kernel_facts(launch->function->kernel);
    hipError_t status = check_size(launch, facts);
    if (status == hipSuccess)
        status = check_lds(launch, facts);
    if (status == hipSuccess && launch->is_cooperative)
        status = check_cooperative(launch, facts);
    if (status == hipSuccess && launch->parameters && launch->extra)
        status = sim_hip_error(hipErrorInvalidValue, "%s: `kernelParams` and `extra` exclude each other", facts->name);
    if (status)
        return status;
    unsigned char *kernarg = calloc(1, facts->kernarg_bytes ? facts->kernarg_bytes : 1);
    if (!kernarg)
        return sim_hip_error(hipErrorOutOfMemory, "out of host memory for a kernel's arguments");
    status = launch->extra ? pack_buffer(kernarg, facts, launch->extra)
                           : pack_parameters(kernarg, facts, launch->parameters);
    if (status) {
        free(kernarg);
        return status;
    }
    out->kind = SIM_OPERATION_KERNEL;
    out->kernel.function = launch->function;
    out->kernel.kernel = launch->function->kernel;
    out->kernel.kernarg = kernarg;
    out->kernel.dynamic_lds_bytes = (uint32_t)launch->shared_bytes;
    memcpy(out->kernel.grid, (uint32_t[]){launch->grid.x, launch->grid.y, launch->grid.z}, sizeof out->kernel.grid);
    memcpy(out->kernel.block, (uint32_t[]){launch->block.x, launch->block.y, launch->block.z},
           sizeof out->kernel.block);
    return hipSuccess;
}

hipError_t sim_launch_function(hipFunction_t *out, const void *function, struct sim_device *device)
{
    if (sim_registry_has_function(function) || !sim_handle_is(SIM_HANDLE_FUNCTION, function))
        return sim_registry_function(out, function, device);
    *out = (hipFunction_t)(uintptr_t)function;
    return hipSuccess;
}

hipError_t sim_launch_node_operation(struct sim_operation *out, const hipKernelNodeParams *parameters)
{
    if (!parameters)
        return sim_hip_error(hipErrorInvalidValue, "a kernel node: the parameters are NULL");
    struct sim_launch launch = {.grid = parameters->gridDim,
                                .block = parameters->blockDim,
                                .shared_bytes = parameters->sharedMemBytes,
                                .parameters = parameters->kernelParams,
                                .extra = parameters->extra};
    const hipError_t status = sim_launch_function(&launch.function, parameters->func, sim_current_device());
    return status ? status : sim_launch_operation(out, &launch);
}

/* ---- The interface ------------------------------------------------------------------------------------------------ */

static hipError_t submit(const struct sim_launch *launch, struct ihipStream_t *stream)
{
    const struct sim_device *device = launch->function->module->device;
    if (device != stream->device)
        return sim_hip_error(hipErrorInvalidHandle, "%s was loaded on device %d, and the stream is one of device %d",
                             sim_kernel_facts(launch->function->kernel)->name, device->index, stream->device->index);
    struct sim_operation operation;
    const hipError_t status = sim_launch_operation(&operation, launch);
    return status ? status : sim_stream_submit(NULL, stream, &operation);
}

static hipError_t launch_function(const struct sim_launch *launch, hipStream_t handle)
{
    hipError_t status = check_function(launch->function);
    if (status)
        return status;
    struct ihipStream_t *stream = sim_stream_of(&status, handle);
    return stream ? submit(launch, stream) : status;
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                 unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                 unsigned int shared_bytes, hipStream_t stream, void **parameters, void **extra)
{
    const struct sim_launch launch = {
        function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, parameters, extra, 0};
    SIM_CALL(SIM_CALL_SUBMIT, launch_function(&launch, stream));
}

hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y,
                                            unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                            unsigned int block_z, unsigned int shared_bytes, hipStream_t stream,
                                            void **parameters)
{
    const struct sim_launch launch = {
        function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, parameters, NULL, 1};
    SIM_CALL(SIM_CALL_SUBMIT, launch_function(&launch, stream));
}

static hipError_t launch_host_function(const void *function, struct sim_launch launch, hipStream_t handle)
{
    hipError_t status;
    struct ihipStream_t *stream = sim_stream_of(&status, handle);
    if (stream)
        status = sim_launch_function(&launch.function, function, stream->device);
    return status ? status : submit(&launch, stream);
}

hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **parameters, size_t shared_bytes,
                           hipStream_t stream)
{
    const struct sim_launch launch = {NULL, grid, block, shared_bytes, parameters, NULL, 0};
    SIM_CALL(SIM_CALL_SUBMIT, launch_host_function(function, launch, stream));
}

hipError_t hipLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **parameters,
                                      unsigned int shared_bytes, hipStream_t stream)
{
    const struct sim_launch launch = {NULL, grid, block, shared_bytes, parameters, NULL, 1};
    SIM_CALL(SIM_CALL_SUBMIT, launch_host_function(function, launch, stream));
}

/* The halves of <<<>>>: they only set the thread's state, and cost nothing. */
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, hipStream_t stream)
{
    if (sim_thread.configuration_count == SIM_CONFIGURATIONS)
        return sim_thread.last_error =
                   sim_hip_error(hipErrorInvalidConfiguration, "launches nested more than %d deep", SIM_CONFIGURATIONS);
    sim_thread.configurations[sim_thread.configuration_count++] =
        (struct sim_configuration){grid, block, shared_bytes, stream};
    return hipSuccess;
}

hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, hipStream_t *stream)
{
    if (!sim_thread.configuration_count)
        return sim_thread.last_error =
                   sim_hip_error(hipErrorMissingConfiguration, "a kernel's host function was called without <<<>>>");
    const struct sim_configuration *top = &sim_thread.configurations[--sim_thread.configuration_count];
    *grid = top->grid;
    *block = top->block;
    *shared_bytes = top->shared_bytes;
    *stream = top->stream;
    return hipSuccess;
}
