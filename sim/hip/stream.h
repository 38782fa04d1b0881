/* stream.h - operations, the commands they become, and the streams that order them. */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include "runtime.h"

enum sim_operation_kind {
    SIM_OPERATION_MARK, /* nothing, at a time: events, joins, memory given back in order */
    SIM_OPERATION_KERNEL,
    SIM_OPERATION_COPY,
    SIM_OPERATION_FILL
};

/* What is to be done: of a command, or of a graph's node. Owns what it points to where said. */
struct sim_operation {
    enum sim_operation_kind kind;
    struct {
        hipFunction_t function;
        const struct sim_kernel *kernel;
        uint32_t grid[3], block[3], dynamic_lds_bytes;
        unsigned char *kernarg; /* owned */
    } kernel;
    struct {
        void *to; /* also of fills */
        const void *from;
        unsigned char *staged; /* owned: the source, when that was pageable host memory */
        size_t width, height, to_pitch, from_pitch;
        int crosses_link; /* host memory or two devices: the link's speed, not that of device memory */
        uint32_t fill_value, fill_bytes;
    } copy;
    void *release; /* of SIM_OPERATION_MARK: device memory to free then, or NULL */
};

/* A deep copy; -1: out of memory. */
int sim_operation_copy(struct sim_operation *out, const struct sim_operation *operation);
void sim_operation_clear(struct sim_operation *operation);

struct sim_capture;
struct sim_nodes { /* a growable array of graph nodes */
    hipGraphNode_t *items;
    size_t count, room;
};

struct ihipStream_t {
    struct sim_device *device;
    unsigned flags;
    int priority;
    int is_per_thread; /* hipStreamPerThread: lives as long as the process */
    int is_retired;    /* destroyed, and kept until its commands are finished: the null stream waits for those */
    uint64_t queue;    /* address of its HSA queue */
    uint64_t next_dispatch;
    struct sim_command *last; /* newest command, or NULL */
    struct ihipStream_t *next;

    struct sim_capture *capture; /* while it is being captured */
    struct sim_nodes tails;      /* what the next captured operation depends on */
};

/* Returns 0, or -1 with sim_error set. */
int sim_stream_create(struct ihipStream_t **out, struct sim_device *device, unsigned flags, int priority);
/* The program destroyed it. */
void sim_stream_retire(struct ihipStream_t *stream);
/* A handle of a caller to its stream; NULL with the error set. */
struct ihipStream_t *sim_stream_of(hipError_t *status, hipStream_t handle);

/* Enqueue behind the stream's commands, or add to the graph it is captured into. Takes what `operation` owns, also when it
 * fails. `out`, if not NULL, gets a reference to the command: NULL when captured. */
hipError_t sim_stream_submit(struct sim_command **out, struct ihipStream_t *stream, struct sim_operation *operation);
/* As sim_stream_submit for streams that are not captured, and behind these commands, too. */
hipError_t sim_stream_submit_after(struct sim_command **out, struct ihipStream_t *stream,
                                   struct sim_operation *operation, struct sim_command *const *after, size_t count);
/* A command of a graph: behind `after` alone, on the stream's queue. It becomes no part of the stream's order. */
hipError_t sim_graph_submit(struct sim_command **out, struct ihipStream_t *stream, struct sim_operation *operation,
                            struct sim_command *const *after, size_t count);

struct sim_command *sim_command_retain(struct sim_command *command);
void sim_command_release(struct sim_command *command);
int sim_command_is_finished(const struct sim_command *command);
uint64_t sim_command_end_cycle(const struct sim_command *command);
struct sim_device *sim_command_device(const struct sim_command *command);

/* Run all devices until `limit`, or until `until` is finished. */
void sim_engine_run(uint64_t limit, const struct sim_command *until);
/* Wait on the host until the command is finished; NULL: at once. Gives the lock to others now and then. Returns the failure
 * of its device. */
hipError_t sim_wait_command(struct sim_command *command);
/* The same for all that is now submitted to the device. */
hipError_t sim_wait_device(struct sim_device *device);

#endif
