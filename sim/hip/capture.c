/* capture.c - stream capture: which streams take part, what their operations depend on, and what is forbidden meanwhile. */
#include "capture.h"

#include <stdlib.h>

#include "graph.h"

struct sim_capture {
    unsigned long long id;
    hipGraph_t graph;
    hipStreamCaptureMode mode;
    struct ihipStream_t *origin;
    const struct sim_thread *thread; /* that began it */
    int is_invalid;
    struct sim_capture *next;
};

static struct sim_capture *captures;
static unsigned long long last_id;

static hipError_t invalidated(void)
{
    return sim_hip_error(hipErrorStreamCaptureInvalidated,
                         "the capture was made invalid by an earlier call that it forbids: end it and begin again");
}

static hipError_t out_of_memory(void)
{
    return sim_hip_error(hipErrorOutOfMemory, "out of host memory for a capture");
}

/* ---- Building ----------------------------------------------------------------------------------------------------- */

hipError_t sim_capture_add(struct ihipStream_t *stream, struct sim_operation *operation)
{
    struct sim_capture *capture = stream->capture;
    if (capture->is_invalid) {
        sim_operation_clear(operation);
        return invalidated();
    }
    hipGraphNode_t node = NULL;
    const hipError_t status = sim_graph_add(&node, capture->graph, stream->tails.items, stream->tails.count, operation);
    if (status)
        return status;
    sim_nodes_clear(&stream->tails);
    return sim_nodes_add(&stream->tails, node) ? out_of_memory() : hipSuccess;
}

hipError_t sim_capture_record(struct sim_captured_event *event, struct ihipStream_t *stream)
{
    if (stream->capture->is_invalid)
        return invalidated();
    event->capture_id = stream->capture->id;
    return sim_nodes_copy(&event->nodes, &stream->tails) ? out_of_memory() : hipSuccess;
}

static struct sim_capture *find(unsigned long long id)
{
    struct sim_capture *capture = captures;
    while (capture && capture->id != id)
        capture = capture->next;
    return capture;
}

static hipError_t join(struct ihipStream_t *stream, struct sim_capture *capture)
{
    if (stream == stream->device->null_stream) {
        capture->is_invalid = 1;
        return sim_hip_error(hipErrorStreamCaptureImplicit,
                             "the legacy null stream cannot join a capture: use a stream "
                             "of your own");
    }
    if (stream->device != capture->origin->device) {
        capture->is_invalid = 1;
        return sim_hip_error(hipErrorNotSupported,
                             "a stream of device %d cannot join a capture on device %d: the "
                             "simulator's graphs run on one device",
                             stream->device->index, capture->origin->device->index);
    }
    stream->capture = capture;
    return hipSuccess;
}

hipError_t sim_capture_wait(struct ihipStream_t *stream, const struct sim_captured_event *event)
{
    if (stream->capture && stream->capture->is_invalid)
        return invalidated();
    if (!event->capture_id) {
        stream->capture->is_invalid = 1;
        return sim_hip_error(hipErrorStreamCaptureIsolation,
                             "a captured stream cannot wait for an event that was recorded outside of the capture");
    }
    struct sim_capture *capture = find(event->capture_id);
    if (!capture)
        return sim_hip_error(hipErrorCapturedEvent, "the event was recorded in a capture that has ended");
    if (capture->is_invalid)
        return invalidated();
    if (stream->capture && stream->capture != capture) {
        stream->capture->is_invalid = capture->is_invalid = 1;
        return sim_hip_error(hipErrorStreamCaptureMerge, "the stream and the event belong to different captures");
    }
    const hipError_t status = stream->capture ? hipSuccess : join(stream, capture);
    if (status)
        return status;
    for (size_t i = 0; i < event->nodes.count; i++)
        if (sim_nodes_add(&stream->tails, event->nodes.items[i]))
            return out_of_memory();
    return hipSuccess;
}

/* ---- What is forbidden -------------------------------------------------------------------------------------------- */

hipError_t sim_capture_forbids(const char *function)
{
    if (sim_thread.capture_mode == hipStreamCaptureModeRelaxed)
        return hipSuccess;
    for (struct sim_capture *capture = captures; capture; capture = capture->next) {
        const int is_mine = capture->thread == &sim_thread && capture->mode != hipStreamCaptureModeRelaxed;
        const int is_global =
            capture->mode == hipStreamCaptureModeGlobal && sim_thread.capture_mode == hipStreamCaptureModeGlobal;
        if (!is_mine && !is_global)
            continue;
        capture->is_invalid = 1;
        return sim_hip_error(hipErrorStreamCaptureUnsupported,
                             "%s while a stream is being captured, which is now invalid: call it before or after the "
                             "capture, or exchange the thread's mode with hipThreadExchangeStreamCaptureMode",
                             function);
    }
    return hipSuccess;
}

hipError_t sim_capture_forbids_waiting(hipError_t status, const char *function)
{
    if (!captures)
        return hipSuccess;
    for (struct sim_capture *capture = captures; capture; capture = capture->next)
        capture->is_invalid = 1;
    return sim_hip_error(status,
                         "%s while a stream is being captured, in whatever mode; the capture is now invalid: call it "
                         "before or after the capture",
                         function);
}

/* The capture that a command of the legacy stream would come behind. */
static struct sim_capture *capture_beside_legacy(const struct sim_device *device)
{
    for (const struct ihipStream_t *stream = device->streams; stream; stream = stream->next)
        if (stream->capture && !(stream->flags & hipStreamNonBlocking))
            return stream->capture;
    return NULL;
}

static hipError_t implicit(void)
{
    return sim_hip_error(hipErrorStreamCaptureImplicit,
                         "the legacy null stream waits for blocking streams, and one is being captured: use a stream "
                         "created with hipStreamNonBlocking, here or for the capture");
}

hipError_t sim_capture_forbids_legacy(const struct sim_device *device)
{
    struct sim_capture *capture = capture_beside_legacy(device);
    if (!capture)
        return hipSuccess;
    capture->is_invalid = 1;
    return implicit();
}

hipError_t sim_capture_forbids_stream(const struct ihipStream_t *stream, const char *function)
{
    if (stream == stream->device->null_stream)
        return sim_capture_forbids_legacy(stream->device);
    if (!stream->capture)
        return hipSuccess;
    stream->capture->is_invalid = 1;
    return sim_hip_error(hipErrorStreamCaptureUnsupported,
                         "%s of a stream that is being captured; the capture is now "
                         "invalid",
                         function);
}

/* ---- Beginning and ending ----------------------------------------------------------------------------------------- */

static hipError_t begin(hipStream_t handle, hipStreamCaptureMode mode)
{
    hipError_t status;
    struct ihipStream_t *stream = sim_stream_of(&status, handle);
    if (!stream)
        return status;
    if ((unsigned)mode > hipStreamCaptureModeRelaxed)
        return sim_hip_error(hipErrorInvalidValue, "%d is no hipStreamCaptureMode", (int)mode);
    if (stream == stream->device->null_stream)
        return sim_hip_error(hipErrorStreamCaptureUnsupported, "the legacy null stream cannot be captured");
    if (stream->capture)
        return sim_hip_error(hipErrorIllegalState, "the stream is being captured already");
    struct sim_capture *capture = calloc(1, sizeof *capture);
    if (!capture)
        return out_of_memory();
    status = sim_graph_create(&capture->graph);
    if (status) {
        free(capture);
        return status;
    }
    capture->id = ++last_id;
    capture->mode = mode;
    capture->origin = stream;
    capture->thread = &sim_thread;
    capture->next = captures;
    captures = capture;
    stream->capture = capture;
    return hipSuccess;
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode)
{
    SIM_CALL(SIM_CALL_SUBMIT, begin(stream, mode));
}

/* Takes all streams out of the capture and frees it. Its graph lives on. */
static void close_capture(struct sim_capture *capture)
{
    for (int i = 0; i < sim_runtime.device_count; i++)
        for (struct ihipStream_t *stream = sim_runtime.devices[i].streams; stream; stream = stream->next)
            if (stream->capture == capture) {
                stream->capture = NULL;
                sim_nodes_clear(&stream->tails);
            }
    struct sim_capture **link = &captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    free(capture);
}

static void mark_ancestors(unsigned char *is_marked, hipGraphNode_t node)
{
    if (is_marked[node->index])
        return;
    is_marked[node->index] = 1;
    for (size_t i = 0; i < node->dependencies.count; i++)
        mark_ancestors(is_marked, node->dependencies.items[i]);
}

/* Every stream that joined must have been waited for: its newest nodes are ancestors of the origin's. */
static hipError_t check_joined(const struct sim_capture *capture)
{
    const size_t count = capture->graph->nodes.count;
    unsigned char *is_marked = calloc(count ? count : 1, 1);
    if (!is_marked)
        return out_of_memory();
    const struct sim_nodes *ends = &capture->origin->tails;
    for (size_t i = 0; i < ends->count; i++)
        mark_ancestors(is_marked, ends->items[i]);
    size_t unjoined = 0;
    for (const struct ihipStream_t *stream = capture->origin->device->streams; stream; stream = stream->next)
        for (size_t i = 0; stream->capture == capture && i < stream->tails.count; i++)
            unjoined += !is_marked[stream->tails.items[i]->index];
    free(is_marked);
    if (!unjoined)
        return hipSuccess;
    return sim_hip_error(hipErrorStreamCaptureUnjoined,
                         "work of a stream that joined the capture was not waited for: record an event there, and let "
                         "the captured stream wait for it before the end");
}

static hipError_t end(hipStream_t handle, hipGraph_t *graph)
{
    hipError_t status;
    const struct ihipStream_t *stream = sim_stream_of(&status, handle);
    if (!stream)
        return status;
    if (!graph)
        return sim_hip_error(hipErrorInvalidValue, "hipStreamEndCapture: the pointer that receives the graph is NULL");
    *graph = NULL;
    struct sim_capture *capture = stream->capture;
    if (!capture)
        return sim_hip_error(hipErrorIllegalState, "hipStreamEndCapture: the stream is not being captured");
    if (capture->origin != stream)
        return sim_hip_error(hipErrorStreamCaptureUnmatched,
                             "hipStreamEndCapture: the stream joined a capture that began on another stream");
    if (capture->mode != hipStreamCaptureModeRelaxed && capture->thread != &sim_thread)
        return sim_hip_error(hipErrorStreamCaptureWrongThread,
                             "hipStreamEndCapture: another thread began the capture, and not in relaxed mode");
    status = capture->is_invalid ? invalidated() : check_joined(capture);
    if (status)
        sim_graph_destroy(capture->graph);
    else
        *graph = capture->graph;
    close_capture(capture);
    return status;
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph)
{
    SIM_CALL(SIM_CALL_SUBMIT, end(stream, graph));
}

void sim_capture_forget(struct ihipStream_t *stream)
{
    struct sim_capture *capture = stream->capture;
    if (!capture)
        return;
    if (capture->origin == stream) {
        sim_graph_destroy(capture->graph);
        close_capture(capture);
        return;
    }
    capture->is_invalid = 1;
    stream->capture = NULL;
    sim_nodes_clear(&stream->tails);
}

/* ---- State -------------------------------------------------------------------------------------------------------- */

static hipError_t info(hipStream_t handle, hipStreamCaptureStatus *state, unsigned long long *id, hipGraph_t *graph,
                       const hipGraphNode_t **dependencies, size_t *count)
{
    hipError_t status;
    const struct ihipStream_t *stream = sim_stream_of(&status, handle);
    if (!stream)
        return status;
    if (!state)
        return sim_hip_error(hipErrorInvalidValue, "the pointer that receives the state of a capture is NULL");
    if (stream == stream->device->null_stream && capture_beside_legacy(stream->device))
        return implicit();
    const struct sim_capture *capture = stream->capture;
    const int is_active = capture && !capture->is_invalid;
    *state = is_active ? hipStreamCaptureStatusActive
             : capture ? hipStreamCaptureStatusInvalidated
                       : hipStreamCaptureStatusNone;
    if (!is_active)
        return hipSuccess;
    if (id)
        *id = capture->id;
    if (graph)
        *graph = capture->graph;
    if (dependencies)
        *dependencies = stream->tails.items;
    if (count)
        *count = stream->tails.count;
    return hipSuccess;
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status)
{
    SIM_CALL(SIM_CALL_QUERY, info(stream, status, NULL, NULL, NULL, NULL));
}

hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *status, unsigned long long *id)
{
    SIM_CALL(SIM_CALL_QUERY, info(stream, status, id, NULL, NULL, NULL));
}

hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus *status, unsigned long long *id,
                                      hipGraph_t *graph, const hipGraphNode_t **dependencies, size_t *count)
{
    SIM_CALL(SIM_CALL_QUERY, info(stream, status, id, graph, dependencies, count));
}

static hipError_t exchange(hipStreamCaptureMode *mode)
{
    if (!mode || (unsigned)*mode > hipStreamCaptureModeRelaxed)
        return sim_hip_error(hipErrorInvalidValue,
                             "hipThreadExchangeStreamCaptureMode: no hipStreamCaptureMode is given");
    const hipStreamCaptureMode before = sim_thread.capture_mode;
    sim_thread.capture_mode = *mode;
    *mode = before;
    return hipSuccess;
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode)
{
    SIM_CALL(SIM_CALL_QUERY, exchange(mode));
}
