/* event.c - hipEvent*. An event's time is when everything before it in its stream was finished. */
#include "event.h"

#include <stdlib.h>

#include "graph.h"
#include "handles.h"

hipError_t sim_event_check(hipEvent_t event)
{
    if (sim_handle_is(SIM_HANDLE_EVENT, event))
        return hipSuccess;
    return sim_hip_error(hipErrorInvalidHandle, "%p is no event, or one that was destroyed", (void *)event);
}

static hipError_t create(hipEvent_t *out, unsigned flags)
{
    const unsigned known = hipEventBlockingSync | hipEventDisableTiming | (unsigned)hipEventReleaseToDevice |
                           (unsigned)hipEventReleaseToSystem;
    if (!out)
        return sim_hip_error(hipErrorInvalidValue, "hipEventCreate: the pointer that receives the event is NULL");
    *out = NULL;
    if (flags & ~known)
        return sim_hip_error(hipErrorInvalidValue, "hipEventCreateWithFlags: flags 0x%x are not supported",
                             flags & ~known);
    hipEvent_t event = calloc(1, sizeof *event);
    if (!event || sim_handle_add(SIM_HANDLE_EVENT, event)) {
        free(event);
        return sim_hip_error(hipErrorOutOfMemory, "out of host memory for an event");
    }
    event->flags = flags;
    *out = event;
    return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t *event)
{
    SIM_CALL(SIM_CALL_QUERY, create(event, hipEventDefault));
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    SIM_CALL(SIM_CALL_QUERY, create(event, flags));
}

static void forget(hipEvent_t event)
{
    sim_command_release(event->command);
    event->command = NULL;
    event->captured.capture_id = 0;
    sim_nodes_clear(&event->captured.nodes);
}

static hipError_t destroy(hipEvent_t event)
{
    const hipError_t status = sim_event_check(event);
    if (status)
        return status;
    forget(event);
    sim_handle_remove(event);
    free(event);
    return hipSuccess;
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    SIM_CALL(SIM_CALL_QUERY, destroy(event));
}

static hipError_t record(hipEvent_t event, hipStream_t handle)
{
    hipError_t status = sim_event_check(event);
    if (status)
        return status;
    struct ihipStream_t *stream = sim_stream_of(&status, handle);
    if (!stream)
        return status;
    if (stream->capture) {
        forget(event);
        return sim_capture_record(&event->captured, stream);
    }
    struct sim_command *command;
    struct sim_operation mark = {.kind = SIM_OPERATION_MARK};
    status = sim_stream_submit(&command, stream, &mark);
    if (status == hipSuccess) {
        forget(event);
        event->command = command;
    } else {
        sim_command_release(command);
    }
    return status;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, record(event, stream));
}

static hipError_t check_recorded(hipEvent_t event)
{
    const hipError_t status = sim_event_check(event);
    if (status || !event->captured.capture_id)
        return status;
    return sim_hip_error(hipErrorCapturedEvent,
                         "the event was recorded in a capture: it has a place in a graph, and no time");
}

static hipError_t synchronize(hipEvent_t event)
{
    const hipError_t status = check_recorded(event);
    return status ? status : sim_wait_command(event->command);
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    SIM_CALL(SIM_CALL_WAIT, synchronize(event));
}

static hipError_t query(hipEvent_t event)
{
    const hipError_t status = check_recorded(event);
    if (status || sim_command_is_finished(event->command))
        return status;
    return sim_hip_error(hipErrorNotReady, "what comes before the event is not finished");
}

hipError_t hipEventQuery(hipEvent_t event)
{
    SIM_CALL(SIM_CALL_STATE, query(event));
}

static hipError_t check_timed(hipEvent_t event)
{
    const hipError_t status = check_recorded(event);
    if (status)
        return status;
    if (!event->command || event->flags & hipEventDisableTiming)
        return sim_hip_error(hipErrorInvalidHandle, "hipEventElapsedTime: an event %s",
                             event->command ? "was created with hipEventDisableTiming" : "was never recorded");
    if (!sim_command_is_finished(event->command))
        return sim_hip_error(hipErrorNotReady, "hipEventElapsedTime: what comes before an event is not finished");
    return hipSuccess;
}

static hipError_t elapsed(float *milliseconds, hipEvent_t start, hipEvent_t stop)
{
    if (!milliseconds)
        return sim_hip_error(hipErrorInvalidValue, "hipEventElapsedTime: the pointer that receives the time is NULL");
    hipError_t status = check_timed(start);
    if (status == hipSuccess)
        status = check_timed(stop);
    if (status == hipSuccess && sim_command_device(start->command) != sim_command_device(stop->command))
        status = sim_hip_error(hipErrorInvalidHandle, "hipEventElapsedTime: the events are of different devices");
    if (status)
        return status;
    const uint64_t from = sim_command_end_cycle(start->command), to = sim_command_end_cycle(stop->command);
    const uint32_t mhz = sim_machine_config(sim_command_device(start->command)->machine)->core_mhz;
    *milliseconds = (float)((double)((int64_t)(to - from)) / mhz * 1e-3);
    return hipSuccess;
}

hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop)
{
    SIM_CALL(SIM_CALL_STATE, elapsed(milliseconds, start, stop));
}
