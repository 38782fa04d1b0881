/* capture.h - streams whose operations become a graph. */
#ifndef SIM_CAPTURE_H
#define SIM_CAPTURE_H

#include "stream.h"

/* What events hold of a capture: which, and the nodes of the stream when they were recorded. */
struct sim_captured_event {
    unsigned long long capture_id; /* 0: not recorded in a capture */
    struct sim_nodes nodes;
};

/* Add to the graph that the stream is captured into. Takes what `operation` owns. */
hipError_t sim_capture_add(struct ihipStream_t *stream, struct sim_operation *operation);
hipError_t sim_capture_record(struct sim_captured_event *event, struct ihipStream_t *stream);
/* The stream joins the event's capture, or, in it already, comes behind the event. */
hipError_t sim_capture_wait(struct ihipStream_t *stream, const struct sim_captured_event *event);

/* hipSuccess unless a capture forbids this thread to call a function that is unsafe beside it (allocates, frees, loads); the
 * capture is then invalid. */
hipError_t sim_capture_forbids(const char *function);
/* The same for functions that wait for a device or work behind all of it, with `status`: forbidden to every thread by captures
 * of every mode, all of which are then invalid. That is how ROCm 7's HIP has it. */
hipError_t sim_capture_forbids_waiting(hipError_t status, const char *function);
/* The same for work on the legacy null stream, which would come behind captured streams. */
hipError_t sim_capture_forbids_legacy(const struct sim_device *device);
/* The same for waiting for a stream, and asking for its state. */
hipError_t sim_capture_forbids_stream(const struct ihipStream_t *stream, const char *function);
/* A stream that ends while it is captured ends the capture. */
void sim_capture_forget(struct ihipStream_t *stream);

#endif
