/* fill.c - hipMemset and its relatives. */
#include <string.h>

#include "capture.h"
#include "copy.h"
#include "memory.h"

hipError_t sim_fill_operation(struct sim_operation *out, void *to, size_t pitch, uint32_t value, uint32_t element_bytes,
                              size_t width, size_t height)
{
    if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4)
        return sim_hip_error(hipErrorInvalidValue, "a fill of elements of %u bytes: they have 1, 2 or 4",
                             element_bytes);
    if ((uintptr_t)to % element_bytes || (height > 1 && pitch % element_bytes))
        return sim_hip_error(hipErrorInvalidValue, "a fill of elements of %u bytes at %p, pitch %zu, is not aligned",
                             element_bytes, to, pitch);
    struct sim_allocation allocation;
    const hipError_t status = sim_allocation_check(&allocation, to, width, height, pitch, "target");
    if (status)
        return status;
    if (allocation.kind == SIM_MEMORY_PAGEABLE)
        return sim_hip_error(hipErrorInvalidValue, "a fill of %p, which is no device memory", to);
    memset(out, 0, sizeof *out);
    out->kind = SIM_OPERATION_FILL;
    out->copy.to = to;
    out->copy.width = width;
    out->copy.height = height;
    out->copy.to_pitch = pitch;
    out->copy.crosses_link = allocation.kind != SIM_MEMORY_DEVICE;
    out->copy.fill_value = value;
    out->copy.fill_bytes = element_bytes;
    return hipSuccess;
}

static hipError_t fill(void *to, size_t pitch, uint32_t value, uint32_t element_bytes, size_t elements, size_t height,
                       hipStream_t handle, int is_blocking)
{
    if (elements > SIZE_MAX / element_bytes)
        return sim_hip_error(hipErrorInvalidValue, "a fill of %zu elements is more than memory can hold", elements);
    if (!elements || !height)
        return hipSuccess;
    hipError_t status;
    struct ihipStream_t *stream = sim_stream_of(&status, handle);
    struct sim_operation operation;
    if (status == hipSuccess)
        status = sim_fill_operation(&operation, to, pitch, value, element_bytes, elements * element_bytes, height);
    if (status)
        return status;
    struct sim_command *command;
    const int waits = is_blocking && operation.copy.crosses_link;
    status = sim_stream_submit(&command, stream, &operation);
    if (status == hipSuccess && waits)
        status = sim_wait_command(command);
    sim_command_release(command);
    return status;
}

/* On the null stream. As in HIP, a fill of device memory is not waited for, one of host memory is. */
static hipError_t fill_null(void *to, size_t pitch, uint32_t value, uint32_t element_bytes, size_t elements,
                            size_t height)
{
    const hipError_t status = sim_capture_forbids_waiting(hipErrorStreamCaptureImplicit, "hipMemset");
    return status ? status : fill(to, pitch, value, element_bytes, elements, height, NULL, 1);
}

hipError_t hipMemset(void *to, int value, size_t bytes)
{
    SIM_CALL(SIM_CALL_SUBMIT, fill_null(to, bytes, (uint8_t)value, 1, bytes, 1));
}

hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, fill(to, bytes, (uint8_t)value, 1, bytes, 1, stream, 0));
}

hipError_t hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    SIM_CALL(SIM_CALL_SUBMIT, fill_null(to, pitch, (uint8_t)value, 1, width, height));
}

hipError_t hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, fill(to, pitch, (uint8_t)value, 1, width, height, stream, 0));
}

hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t elements)
{
    SIM_CALL(SIM_CALL_SUBMIT, fill_null(to, elements, value, 1, elements, 1));
}

hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t elements, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, fill(to, elements, value, 1, elements, 1, stream, 0));
}

hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t elements)
{
    SIM_CALL(SIM_CALL_SUBMIT, fill_null(to, 0, value, 2, elements, 1));
}

hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t elements, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, fill(to, 0, value, 2, elements, 1, stream, 0));
}

hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t elements)
{
    SIM_CALL(SIM_CALL_SUBMIT, fill_null(to, 0, (uint32_t)value, 4, elements, 1));
}

hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t elements, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, fill(to, 0, (uint32_t)value, 4, elements, 1, stream, 0));
}
