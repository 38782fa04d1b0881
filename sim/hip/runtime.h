/* runtime.h - what the files of hip/ share: the process's devices, its lock, and how an exported function begins and ends.
 *
 * All state below is guarded by one lock, taken in sim_enter and given back in sim_leave; only the thread's own
 * (struct sim_thread) is not. Time is in core clock cycles, the same on every simulated device.
 */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

#include "../machine/machine.h"
#include "hip_api.h"

#define SIM_MAX_DEVICES 16

struct sim_command;

struct ihipCtx_t {
    int device;
};

struct sim_device {
    int index;
    struct sim_machine *machine;
    struct ihipCtx_t context;
    unsigned contexts_retained;
    int is_used; /* memory, a stream, code or work was asked for on it: its primary context is active, and stays so */

    struct ihipStream_t *null_stream; /* legacy; the first of `streams` */
    struct ihipStream_t *streams;
    struct sim_command *oldest, *newest; /* unfinished commands in order of submission */
    uint64_t allocated_bytes;

    hipError_t failure; /* once a kernel failed: what every call returns */
    char sentence[2048];
};

struct sim_runtime {
    struct sim_device devices[SIM_MAX_DEVICES];
    int device_count;
    uint64_t host_cycle; /* the host's clock */
};
extern struct sim_runtime sim_runtime;

/* What an exported function costs the host, in simulated time (runtime.c has the table). All but SIM_CALL_QUERY fail once a
 * kernel of the current device did. */
enum sim_call {
    SIM_CALL_QUERY,    /* facts, settings of the thread */
    SIM_CALL_STATE,    /* is something done */
    SIM_CALL_WAIT,     /* beside the time it waits */
    SIM_CALL_SUBMIT,   /* launches, copies, records */
    SIM_CALL_ALLOCATE, /* memory, streams, graphs */
    SIM_CALL_LOAD,     /* code */
    SIM_CALLS
};

#define SIM_CONFIGURATIONS 32
#define SIM_CONTEXTS 32

struct sim_thread {
    int device;
    hipError_t last_error;
    char sentence[2048];
    hipStreamCaptureMode capture_mode;
    struct ihipStream_t *stream[SIM_MAX_DEVICES]; /* hipStreamPerThread */
    struct sim_configuration {
        dim3 grid, block;
        size_t shared_bytes;
        hipStream_t stream;
    } configurations[SIM_CONFIGURATIONS]; /* between the halves of <<<>>> */
    unsigned configuration_count;
    int contexts[SIM_CONTEXTS]; /* devices pushed aside by hipCtxPushCurrent */
    unsigned context_count;
};
extern _Thread_local struct sim_thread sim_thread;

/* Takes the lock, creates the devices at the process's first call, advances the host's clock and the devices to it. Takes
 * the lock even when it fails. */
hipError_t sim_enter(enum sim_call call);
/* Gives the lock back and keeps an error for hipGetLastError. Returns its argument. */
hipError_t sim_leave(hipError_t status);
/* The body of an exported function. */
#define SIM_CALL(call, body) \
    do { \
        hipError_t status_ = sim_enter(call); \
        if (status_ == hipSuccess) \
            status_ = (body); \
        return sim_leave(status_); \
    } while (0)

/* The lock itself: fair, so that a thread that waits in slices lets the others in between them. */
void sim_lock(void);
void sim_unlock(void);

/* Sets the thread's sentence and returns `status`. */
hipError_t sim_hip_error(hipError_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with the sentence of the machine's failure. */
hipError_t sim_machine_error(hipError_t status);
/* The device's failure, with its sentence; hipSuccess if there is none. */
hipError_t sim_device_failure(const struct sim_device *device);
/* A kernel failed: the device stays so. */
void sim_device_fail(struct sim_device *device, hipError_t status, const char *sentence);

struct sim_device *sim_current_device(void);
/* NULL with an error set: no such device. */
struct sim_device *sim_device_at(int index);

uint64_t sim_cycles_of_ns(uint64_t ns);
/* LDS of a compute unit, which one workgroup may have whole. */
uint32_t sim_lds_bytes(const struct sim_device *device);
uint32_t sim_compute_units(const struct sim_device *device);

#endif
