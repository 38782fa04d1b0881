/* copy.c - copies and fills: what they are checked for, and how they become operations of a stream. */
#include "copy.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "memory.h"
#include "registry.h"
#include "stream.h"

struct copy {
    void *to;
    const void *from;
    size_t width, height, to_pitch, from_pitch;
    hipMemcpyKind kind;
};

static struct copy line(void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    return (struct copy){to, from, bytes, 1, bytes, bytes, kind};
}

/* ---- Checks ------------------------------------------------------------------------------------------------------- */

static const char *const kinds[] = {"hipMemcpyHostToHost", "hipMemcpyHostToDevice", "hipMemcpyDeviceToHost",
                                    "hipMemcpyDeviceToDevice", "hipMemcpyDefault"};

static hipError_t check_side(const struct sim_allocation *allocation, const void *address, int must_be_device,
                             hipMemcpyKind kind, const char *what)
{
    if (must_be_device && allocation->kind == SIM_MEMORY_PAGEABLE)
        return sim_hip_error(hipErrorInvalidValue, "%s: the %s %p is no device memory", kinds[kind], what, address);
    if (!must_be_device && allocation->kind == SIM_MEMORY_DEVICE)
        return sim_hip_error(hipErrorInvalidMemcpyDirection, "%s: the %s %p is memory of device %d", kinds[kind], what,
                             address, allocation->device->index);
    return hipSuccess;
}

/* Make a checked copy an operation. `source` and `target` say what kinds of memory it has. */
static hipError_t make_copy(struct sim_operation *out, struct sim_allocation *target, struct sim_allocation *source,
                            const struct copy *copy)
{
    if ((unsigned)copy->kind > hipMemcpyDefault)
        return sim_hip_error(hipErrorInvalidMemcpyDirection, "%d is no hipMemcpyKind", (int)copy->kind);
    hipError_t status = sim_allocation_check(target, copy->to, copy->width, copy->height, copy->to_pitch, "target");
    if (status == hipSuccess)
        status = sim_allocation_check(source, copy->from, copy->width, copy->height, copy->from_pitch, "source");
    if (status == hipSuccess && copy->kind != hipMemcpyDefault) {
        status = check_side(target, copy->to, copy->kind & hipMemcpyHostToDevice, copy->kind, "target");
        if (status == hipSuccess)
            status = check_side(source, copy->from, copy->kind & hipMemcpyDeviceToHost, copy->kind, "source");
    }
    if (status)
        return status;
    memset(out, 0, sizeof *out);
    out->kind = SIM_OPERATION_COPY;
    out->copy.to = copy->to;
    out->copy.from = copy->from;
    out->copy.width = copy->width;
    out->copy.height = copy->height;
    out->copy.to_pitch = copy->to_pitch;
    out->copy.from_pitch = copy->from_pitch;
    out->copy.crosses_link =
        target->kind != SIM_MEMORY_DEVICE || source->kind != SIM_MEMORY_DEVICE || target->device != source->device;
    return hipSuccess;
}

/* An asynchronous copy from pageable memory has taken the bytes when it returns (CUDA's documented behaviour, on which
 * programs rely that copy from a local variable). */
static hipError_t stage(struct sim_operation *operation)
{
    const size_t width = operation->copy.width, height = operation->copy.height;
    operation->copy.staged = malloc(width * height);
    if (!operation->copy.staged)
        return sim_hip_error(hipErrorOutOfMemory, "out of host memory to hold the %zu bytes of a copy", width * height);
    for (size_t row = 0; row < height; row++)
        memcpy(operation->copy.staged + row * width,
               (const unsigned char *)operation->copy.from + row * operation->copy.from_pitch, width);
    operation->copy.from_pitch = width;
    return hipSuccess;
}

/* ---- The three ways to copy --------------------------------------------------------------------------------------- */

static hipError_t enqueue(struct copy copy, hipStream_t handle, int is_blocking)
{
    if (!copy.width || !copy.height)
        return hipSuccess;
    hipError_t status;
    struct ihipStream_t *stream = sim_stream_of(&status, handle);
    struct sim_operation operation;
    struct sim_allocation target, source;
    if (status == hipSuccess)
        status = make_copy(&operation, &target, &source, &copy);
    if (status)
        return status;
    /* A graph's copy reads when it runs. */
    if (source.kind == SIM_MEMORY_PAGEABLE && !is_blocking && !stream->capture) {
        status = stage(&operation);
        if (status)
            return status;
    }
    const int waits = is_blocking || (target.kind == SIM_MEMORY_PAGEABLE && !stream->capture);
    struct sim_command *command;
    status = sim_stream_submit(&command, stream, &operation);
    if (status == hipSuccess && waits)
        status = sim_wait_command(command);
    sim_command_release(command);
    return status;
}

/* On the legacy null stream, and done on return. */
static hipError_t copy_now(struct copy copy, const char *function)
{
    const hipError_t status = sim_capture_forbids_waiting(hipErrorStreamCaptureImplicit, function);
    return status ? status : enqueue(copy, NULL, 1);
}

hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    SIM_CALL(SIM_CALL_SUBMIT, copy_now(line(to, from, bytes, kind), "hipMemcpy"));
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, enqueue(line(to, from, bytes, kind), stream, 0));
}

static hipError_t copy_with_stream(struct copy copy, hipStream_t stream)
{
    const hipError_t status = sim_capture_forbids("hipMemcpyWithStream");
    return status ? status : enqueue(copy, stream, 1);
}

hipError_t hipMemcpyWithStream(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, copy_with_stream(line(to, from, bytes, kind), stream));
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void *from, size_t bytes)
{
    SIM_CALL(SIM_CALL_SUBMIT, copy_now(line(to, from, bytes, hipMemcpyHostToDevice), "hipMemcpyHtoD"));
}

hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t bytes)
{
    SIM_CALL(SIM_CALL_SUBMIT, copy_now(line(to, from, bytes, hipMemcpyDeviceToHost), "hipMemcpyDtoH"));
}

hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes)
{
    SIM_CALL(SIM_CALL_SUBMIT, copy_now(line(to, from, bytes, hipMemcpyDeviceToDevice), "hipMemcpyDtoD"));
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void *from, size_t bytes, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, enqueue(line(to, from, bytes, hipMemcpyHostToDevice), stream, 0));
}

hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t bytes, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, enqueue(line(to, from, bytes, hipMemcpyDeviceToHost), stream, 0));
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, enqueue(line(to, from, bytes, hipMemcpyDeviceToDevice), stream, 0));
}

hipError_t hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                       hipMemcpyKind kind)
{
    const struct copy copy = {to, from, width, height, to_pitch, from_pitch, kind};
    SIM_CALL(SIM_CALL_SUBMIT, copy_now(copy, "hipMemcpy2D"));
}

hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                            hipMemcpyKind kind, hipStream_t stream)
{
    const struct copy copy = {to, from, width, height, to_pitch, from_pitch, kind};
    SIM_CALL(SIM_CALL_SUBMIT, enqueue(copy, stream, 0));
}

/* ---- Between devices ---------------------------------------------------------------------------------------------- */

static hipError_t check_owner(const void *address, int index, const char *what)
{
    const struct sim_device *device = sim_device_at(index);
    if (!device)
        return hipErrorInvalidDevice;
    const struct sim_allocation allocation = sim_allocation_find(address);
    if (allocation.kind == SIM_MEMORY_DEVICE && allocation.device == device)
        return hipSuccess;
    return sim_hip_error(hipErrorInvalidValue, "hipMemcpyPeer: the %s %p is no memory of device %d", what, address,
                         index);
}

static hipError_t copy_peer(void *to, int to_device, const void *from, int from_device, size_t bytes,
                            hipStream_t stream, int is_blocking)
{
    hipError_t status = check_owner(to, to_device, "target");
    if (status == hipSuccess)
        status = check_owner(from, from_device, "source");
    if (status)
        return status;
    const struct copy copy = line(to, from, bytes, hipMemcpyDeviceToDevice);
    return is_blocking ? copy_now(copy, "hipMemcpyPeer") : enqueue(copy, stream, 0);
}

hipError_t hipMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    SIM_CALL(SIM_CALL_SUBMIT, copy_peer(to, to_device, from, from_device, bytes, NULL, 1));
}

hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                              hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, copy_peer(to, to_device, from, from_device, bytes, stream, 0));
}

/* ---- Variables of linked code ------------------------------------------------------------------------------------- */

static hipError_t symbol_at(unsigned char **address, const void *symbol, size_t bytes, size_t offset)
{
    void *base;
    size_t size;
    const hipError_t status = sim_registry_variable(&base, &size, symbol);
    if (status)
        return status;
    if (offset > size || bytes > size - offset)
        return sim_hip_error(hipErrorInvalidValue, "%zu bytes at offset %zu leave the variable of %zu bytes", bytes,
                             offset, size);
    *address = (unsigned char *)base + offset;
    return hipSuccess;
}

static hipError_t to_symbol(const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind,
                            hipStream_t stream, int is_blocking)
{
    unsigned char *to = NULL;
    const hipError_t status = symbol_at(&to, symbol, bytes, offset);
    if (status)
        return status;
    return is_blocking ? copy_now(line(to, from, bytes, kind), "hipMemcpyToSymbol")
                       : enqueue(line(to, from, bytes, kind), stream, 0);
}

hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind)
{
    SIM_CALL(SIM_CALL_SUBMIT, to_symbol(symbol, from, bytes, offset, kind, NULL, 1));
}

hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind,
                                  hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, to_symbol(symbol, from, bytes, offset, kind, stream, 0));
}

static hipError_t from_symbol(void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind,
                              hipStream_t stream, int is_blocking)
{
    unsigned char *from = NULL;
    const hipError_t status = symbol_at(&from, symbol, bytes, offset);
    if (status)
        return status;
    return is_blocking ? copy_now(line(to, from, bytes, kind), "hipMemcpyFromSymbol")
                       : enqueue(line(to, from, bytes, kind), stream, 0);
}

hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind)
{
    SIM_CALL(SIM_CALL_SUBMIT, from_symbol(to, symbol, bytes, offset, kind, NULL, 1));
}

hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind,
                                    hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, from_symbol(to, symbol, bytes, offset, kind, stream, 0));
}

/* ---- For graphs --------------------------------------------------------------------------------------------------- */

hipError_t sim_copy_operation(struct sim_operation *out, void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    const struct copy copy = line(to, from, bytes, kind);
    struct sim_allocation target, source;
    return make_copy(out, &target, &source, &copy);
}
