/* stream_api.c - hipStream*. */
#include "capture.h"
#include "event.h"
#include "handles.h"
#include "stream.h"

static hipError_t create(hipStream_t *out, unsigned flags, int priority)
{
    if (!out)
        return sim_hip_error(hipErrorInvalidValue, "hipStreamCreate: the pointer that receives the stream is NULL");
    *out = NULL;
    if (flags & ~(unsigned)hipStreamNonBlocking)
        return sim_hip_error(hipErrorInvalidValue,
                             "hipStreamCreate: flags 0x%x are neither hipStreamDefault nor hipStreamNonBlocking",
                             flags);
    const int clamped = priority < -1 ? -1 : priority > 1 ? 1 : priority; /* HIP's documentation: to the range */
    struct sim_device *device = sim_current_device();
    if (sim_stream_create(out, device, flags, clamped))
        return sim_machine_error(hipErrorOutOfMemory);
    device->is_used = 1;
    return hipSuccess;
}

hipError_t hipStreamCreate(hipStream_t *stream)
{
    SIM_CALL(SIM_CALL_ALLOCATE, create(stream, hipStreamDefault, 0));
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags)
{
    SIM_CALL(SIM_CALL_ALLOCATE, create(stream, flags, 0));
}

/* The priority is kept and changes nothing: the simulated device has room in order of submission. */
hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned int flags, int priority)
{
    SIM_CALL(SIM_CALL_ALLOCATE, create(stream, flags, priority));
}

static hipError_t destroy(hipStream_t handle)
{
    if (!sim_handle_is(SIM_HANDLE_STREAM, handle) || handle == handle->device->null_stream || handle->is_per_thread)
        return sim_hip_error(hipErrorInvalidHandle,
                             "hipStreamDestroy: %p is no stream that was created, or it was destroyed", (void *)handle);
    sim_capture_forget(handle);
    sim_stream_retire(handle);
    return hipSuccess;
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    SIM_CALL(SIM_CALL_ALLOCATE, destroy(stream));
}

/* What has to be finished for the stream to be: of the null stream that is the blocking ones' work, too. */
static hipError_t synchronize(hipStream_t handle)
{
    hipError_t status;
    struct ihipStream_t *stream = sim_stream_of(&status, handle);
    if (stream)
        status = sim_capture_forbids_stream(stream, "hipStreamSynchronize");
    if (status)
        return status;
    if (stream != stream->device->null_stream)
        return sim_wait_command(stream->last);
    struct sim_command *command;
    struct sim_operation mark = {.kind = SIM_OPERATION_MARK};
    status = sim_stream_submit(&command, stream, &mark);
    if (status == hipSuccess)
        status = sim_wait_command(command);
    sim_command_release(command);
    return status;
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    SIM_CALL(SIM_CALL_WAIT, synchronize(stream));
}

static int is_idle(const struct ihipStream_t *stream)
{
    if (stream != stream->device->null_stream)
        return sim_command_is_finished(stream->last);
    int idle = 1;
    for (const struct ihipStream_t *other = stream->device->streams; other; other = other->next)
        idle &= (other->flags & hipStreamNonBlocking) || sim_command_is_finished(other->last);
    return idle;
}

static hipError_t query(hipStream_t handle)
{
    hipError_t status;
    const struct ihipStream_t *stream = sim_stream_of(&status, handle);
    if (stream)
        status = sim_capture_forbids_stream(stream, "hipStreamQuery");
    if (status)
        return status;
    return is_idle(stream) ? hipSuccess : sim_hip_error(hipErrorNotReady, "the stream has unfinished work");
}

hipError_t hipStreamQuery(hipStream_t stream)
{
    SIM_CALL(SIM_CALL_STATE, query(stream));
}

static hipError_t wait_event(hipStream_t handle, hipEvent_t event, unsigned flags)
{
    hipError_t status;
    struct ihipStream_t *stream = sim_stream_of(&status, handle);
    if (status == hipSuccess)
        status = sim_event_check(event);
    if (status == hipSuccess && flags)
        status = sim_hip_error(hipErrorInvalidValue, "hipStreamWaitEvent: flags must be 0");
    if (status)
        return status;
    if (stream->capture || event->captured.capture_id)
        return sim_capture_wait(stream, &event->captured);
    if (!event->command) /* never recorded: nothing to wait for */
        return hipSuccess;
    if (stream == stream->device->null_stream)
        status = sim_capture_forbids_legacy(stream->device);
    struct sim_operation mark = {.kind = SIM_OPERATION_MARK};
    return status ? status : sim_stream_submit_after(NULL, stream, &mark, &event->command, 1);
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags)
{
    SIM_CALL(SIM_CALL_SUBMIT, wait_event(stream, event, flags));
}

/* ---- Facts -------------------------------------------------------------------------------------------------------- */

static hipError_t facts(hipStream_t handle, const void *receives, int *device, unsigned *flags, int *priority)
{
    hipError_t status;
    const struct ihipStream_t *stream = sim_stream_of(&status, handle);
    if (!stream)
        return status;
    if (!receives)
        return sim_hip_error(hipErrorInvalidValue, "the pointer that receives a stream's property is NULL");
    if (device)
        *device = stream->device->index;
    if (flags)
        *flags = stream->flags;
    if (priority)
        *priority = stream->priority;
    return hipSuccess;
}

hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device)
{
    SIM_CALL(SIM_CALL_QUERY, facts(stream, device, device, NULL, NULL));
}

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned int *flags)
{
    SIM_CALL(SIM_CALL_QUERY, facts(stream, flags, NULL, flags, NULL));
}

hipError_t hipStreamGetPriority(hipStream_t stream, int *priority)
{
    SIM_CALL(SIM_CALL_QUERY, facts(stream, priority, NULL, NULL, priority));
}
