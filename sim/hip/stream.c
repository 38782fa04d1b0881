/* stream.c - when what the host asked for happens.
 *
 * The host and the devices are simulated together, and deterministically: what a program sees depends on the sequence of
 * its HIP calls alone, never on the machine that simulates.
 *
 * - The host has a clock. Each call costs it a fixed time (runtime.c); between calls no time passes. A program that spins
 *   on memory that a kernel writes, without calling HIP, therefore spins for ever.
 * - Devices run beside the host, up to its clock: a call first lets all devices catch up. When a call waits, devices run on
 *   until what it waits for is finished, and the host's clock jumps there.
 * - All of it is single-threaded under one lock. A wait runs in slices of SLICE_NS and gives the lock away in between,
 *   so that other threads can look at a running kernel.
 * - Everything asked for is a command: a kernel, a copy, a fill, or a mark, which takes no time. A command becomes ready
 *   when the ones it is behind are finished: the stream's previous one, events waited for, in graphs the node's
 *   dependencies. The legacy null stream's commands are behind the newest of every blocking stream of its device, and those
 *   behind the null stream's newest; streams created with hipStreamNonBlocking are not.
 * - A kernel's first wave starts LAUNCH_NS after it became ready, and kernels of different streams share the device as the
 *   machine has room. Copies and fills take COPY_NS and then their bytes' time, side by side with kernels and with each
 *   other, none slowing another; their bytes move in the instant they end. A copy on a second stream thus sees what a
 *   kernel has written so far.
 * - Devices have no effect on each other in less than SLICE_NS: what a command of one device makes ready on another becomes
 *   so that much later. That lets each run alone for that long.
 * - Each stream has an HSA queue of its own. Dispatch ids number the kernels given to it, those of graphs launched into it
 *   included; copies and marks, which hardware's queues may hold packets for, are not counted.
 * - A kernel that fails ends its device: commands not finished fail with it, and nothing runs there again.
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "../machine/error.h"
#include "capture.h"
#include "handles.h"
#include "memory.h"

#define SLICE_NS 1000
#define LAUNCH_NS 2000
#define COPY_NS 2000
/* Bytes a nanosecond: a PCIe 5.0 link of 16 lanes, and somewhat less than half of HBM3's 5.3 TB/s, for each byte is both
 * read and written. */
#define LINK_BYTES_PER_NS 50
#define MEMORY_BYTES_PER_NS 2000

enum command_state { WAITING, READY, RUNNING, FINISHED };

struct sim_command {
    struct sim_operation operation;
    struct sim_device *device;
    enum command_state state;
    unsigned references;
    uint64_t sequence; /* of submission, over all devices */
    uint64_t ready_cycle, end_cycle;
    size_t unmet; /* commands it is behind that are not finished */
    struct sim_command **dependents;
    size_t dependent_count, dependent_room;
    uint64_t queue_address, dispatch_id;
    struct sim_dispatch *dispatch;
    struct sim_command *newer, *older; /* unfinished ones of the device */
    struct sim_command *next_active;   /* ready or running ones, by sequence */
};

static struct sim_command *active;
static uint64_t engine_cycle, last_sequence;

/* ---- Commands ----------------------------------------------------------------------------------------------------- */

struct sim_command *sim_command_retain(struct sim_command *command)
{
    if (command)
        command->references++;
    return command;
}

void sim_command_release(struct sim_command *command)
{
    if (!command || --command->references)
        return;
    sim_operation_clear(&command->operation);
    free(command->dependents);
    free(command);
}

int sim_command_is_finished(const struct sim_command *command)
{
    return !command || command->state == FINISHED;
}

uint64_t sim_command_end_cycle(const struct sim_command *command)
{
    return command->end_cycle;
}

struct sim_device *sim_command_device(const struct sim_command *command)
{
    return command->device;
}

static void activate(struct sim_command *command)
{
    struct sim_command **link = &active;
    while (*link && (*link)->sequence < command->sequence)
        link = &(*link)->next_active;
    command->next_active = *link;
    *link = command;
    command->state = READY;
}

static void deactivate(const struct sim_command *command)
{
    for (struct sim_command **link = &active; *link; link = &(*link)->next_active)
        if (*link == command) {
            *link = command->next_active;
            return;
        }
}

static void unlink_from_device(struct sim_command *command)
{
    struct sim_device *device = command->device;
    *(command->older ? &command->older->newer : &device->oldest) = command->newer;
    *(command->newer ? &command->newer->older : &device->newest) = command->older;
}

static void finish(struct sim_command *command, uint64_t cycle)
{
    if (command->state == READY || command->state == RUNNING)
        deactivate(command);
    command->state = FINISHED;
    command->end_cycle = cycle;
    unlink_from_device(command);
    if (command->operation.release)
        sim_allocation_release(command->device, command->operation.release);
    for (size_t i = 0; i < command->dependent_count; i++) {
        struct sim_command *dependent = command->dependents[i];
        const uint64_t at = cycle + (dependent->device == command->device ? 0 : sim_cycles_of_ns(SLICE_NS));
        if (dependent->ready_cycle < at)
            dependent->ready_cycle = at;
        if (!--dependent->unmet && dependent->state == WAITING)
            activate(dependent);
        sim_command_release(dependent);
    }
    command->dependent_count = 0;
    sim_command_release(command); /* the engine's own */
}

/* Every unfinished command of the device ends here; in order of submission, so that none is behind one that is not. */
static void abandon(struct sim_device *device, uint64_t cycle)
{
    while (device->oldest)
        finish(device->oldest, cycle);
}

static void fail(struct sim_command *command, hipError_t status, const char *sentence, uint64_t cycle)
{
    struct sim_device *device = command->device;
    sim_device_fail(device, status, sentence);
    abandon(device, cycle);
}

/* ---- What commands do --------------------------------------------------------------------------------------------- */

static void fill_line(unsigned char *line, const struct sim_operation *operation)
{
    const size_t bytes = operation->copy.width, element_bytes = operation->copy.fill_bytes;
    if (operation->copy.fill_value == 0 && !operation->copy.crosses_link)
        sim_memory_clear(line, bytes);
    else if (element_bytes == 1)
        memset(line, (int)operation->copy.fill_value, bytes);
    else
        for (size_t i = 0; i < bytes; i += element_bytes)
            memcpy(line + i, &operation->copy.fill_value, element_bytes);
}

static void move_bytes(const struct sim_operation *operation)
{
    const unsigned char *from = operation->copy.staged ? operation->copy.staged : operation->copy.from;
    unsigned char *to = operation->copy.to;
    for (size_t row = 0; row < operation->copy.height; row++) {
        unsigned char *line = to + row * operation->copy.to_pitch;
        if (operation->kind == SIM_OPERATION_COPY)
            memmove(line, from + row * operation->copy.from_pitch, operation->copy.width);
        else
            fill_line(line, operation);
    }
}

static uint64_t copy_cycles(const struct sim_operation *operation)
{
    const uint64_t bytes = (uint64_t)operation->copy.width * operation->copy.height;
    return sim_cycles_of_ns(COPY_NS + bytes / (operation->copy.crosses_link ? LINK_BYTES_PER_NS : MEMORY_BYTES_PER_NS));
}

static void start_kernel(struct sim_command *command)
{
    const struct sim_operation *operation = &command->operation;
    struct sim_dispatch_config config = {
        .kernel = operation->kernel.kernel,
        .dynamic_lds_bytes = operation->kernel.dynamic_lds_bytes,
        .kernarg = operation->kernel.kernarg,
        .queue_address = command->queue_address,
        .dispatch_id = command->dispatch_id,
        .not_before_cycle = command->ready_cycle + sim_cycles_of_ns(LAUNCH_NS),
    };
    for (int i = 0; i < 3; i++) {
        config.grid[i] = operation->kernel.grid[i];
        config.block[i] = config.last_block[i] = operation->kernel.block[i];
    }
    if (sim_dispatch_start(&command->dispatch, command->device->machine, &config))
        fail(command, hipErrorLaunchFailure, sim_error(), command->ready_cycle);
}

/* A ready command whose time has come. */
static void start(struct sim_command *command)
{
    command->state = RUNNING;
    if (command->operation.kind == SIM_OPERATION_KERNEL)
        start_kernel(command);
    else if (command->operation.kind == SIM_OPERATION_MARK)
        finish(command, command->ready_cycle);
    else
        command->end_cycle = command->ready_cycle + copy_cycles(&command->operation);
}

static hipError_t status_of(enum sim_failure failure)
{
    switch (failure) {
    case SIM_FAILURE_ADDRESS: return hipErrorIllegalAddress;
    case SIM_FAILURE_ENDLESS: return hipErrorLaunchTimeOut;
    default: return hipErrorLaunchFailure;
    }
}

/* Finish a running command if its end is not after now. */
static int settle_running(struct sim_command *command)
{
    if (command->operation.kind != SIM_OPERATION_KERNEL) {
        if (command->end_cycle > engine_cycle)
            return 0;
        move_bytes(&command->operation);
        finish(command, command->end_cycle);
        return 1;
    }
    const int state = sim_dispatch_state(command->dispatch);
    const uint64_t end = sim_dispatch_end_cycle(command->dispatch);
    if (!state || (state > 0 && end > engine_cycle)) /* a device may be up to a slice ahead of others */
        return 0;
    struct sim_dispatch *dispatch = command->dispatch;
    command->dispatch = NULL;
    if (state > 0)
        finish(command, end);
    else
        fail(command, status_of(sim_dispatch_failure(dispatch)), sim_dispatch_error(dispatch), engine_cycle);
    sim_dispatch_release(dispatch);
    return 1;
}

/* Bring everything up to now. One step changes the list, so that each starts over; the order is that of submission. */
static int settle_one(void)
{
    for (struct sim_command *command = active; command; command = command->next_active) {
        if (command->state == RUNNING && settle_running(command))
            return 1;
        if (command->state == READY && command->ready_cycle <= engine_cycle) {
            start(command);
            return 1;
        }
    }
    return 0;
}

/* When the next thing happens that is known beforehand, at most `limit`; *busy counts devices that run kernels. */
static uint64_t next_cycle(uint64_t limit, int *busy, int is_busy[SIM_MAX_DEVICES])
{
    *busy = 0;
    memset(is_busy, 0, sizeof *is_busy * SIM_MAX_DEVICES);
    uint64_t next = limit;
    for (const struct sim_command *command = active; command; command = command->next_active) {
        const int is_kernel = command->state == RUNNING && command->operation.kind == SIM_OPERATION_KERNEL;
        if (is_kernel && !sim_dispatch_state(command->dispatch)) {
            *busy += !is_busy[command->device->index];
            is_busy[command->device->index] = 1;
        } else {
            const uint64_t at = is_kernel                   ? sim_dispatch_end_cycle(command->dispatch)
                                : command->state == RUNNING ? command->end_cycle
                                                            : command->ready_cycle;
            next = at < next ? at : next;
        }
    }
    return next;
}

void sim_engine_run(uint64_t limit, const struct sim_command *until)
{
    for (;;) {
        while (settle_one())
            ;
        if ((until && sim_command_is_finished(until)) || engine_cycle >= limit)
            return;
        int busy, is_busy[SIM_MAX_DEVICES];
        uint64_t next = next_cycle(limit, &busy, is_busy);
        if (busy > 1 && next - engine_cycle > sim_cycles_of_ns(SLICE_NS))
            next = engine_cycle + sim_cycles_of_ns(SLICE_NS);
        if (!busy && next == UINT64_MAX)
            return;
        for (int i = 0; i < sim_runtime.device_count; i++)
            if (is_busy[i]) {
                const uint64_t reached = sim_machine_run(sim_runtime.devices[i].machine, next);
                next = reached < next ? reached : next;
            }
        engine_cycle = next > engine_cycle ? next : engine_cycle;
    }
}

/* ---- Waiting ------------------------------------------------------------------------------------------------------ */

static void wait_slice(const struct sim_command *command)
{
    int busy, is_busy[SIM_MAX_DEVICES];
    const uint64_t next = next_cycle(UINT64_MAX, &busy, is_busy);
    sim_engine_run(busy ? engine_cycle + sim_cycles_of_ns(SLICE_NS) : next, command);
    if (sim_runtime.host_cycle < engine_cycle)
        sim_runtime.host_cycle = engine_cycle;
}

hipError_t sim_wait_command(struct sim_command *command)
{
    if (!command)
        return hipSuccess;
    sim_command_retain(command);
    while (!sim_command_is_finished(command)) {
        wait_slice(command);
        sim_unlock();
        sim_lock();
    }
    const hipError_t status = sim_device_failure(command->device);
    sim_command_release(command);
    return status;
}

hipError_t sim_wait_device(struct sim_device *device)
{
    const uint64_t newest = last_sequence;
    while (device->oldest && device->oldest->sequence <= newest)
        sim_wait_command(device->oldest);
    return sim_device_failure(device);
}

/* ---- Submitting --------------------------------------------------------------------------------------------------- */

static hipError_t out_of_memory(void)
{
    return sim_hip_error(hipErrorOutOfMemory, "out of host memory for a command of a stream");
}

static int add_dependent(struct sim_command *command, struct sim_command *dependent)
{
    if (sim_command_is_finished(command)) {
        const uint64_t end = command ? command->end_cycle : 0;
        if (dependent->ready_cycle < end)
            dependent->ready_cycle = end;
        return 0;
    }
    if (command->dependent_count == command->dependent_room) {
        const size_t room = command->dependent_room ? command->dependent_room * 2 : 4;
        struct sim_command **grown = realloc(command->dependents, room * sizeof *grown);
        if (!grown)
            return -1;
        command->dependents = grown;
        command->dependent_room = room;
    }
    command->dependents[command->dependent_count++] = sim_command_retain(dependent);
    dependent->unmet++;
    return 0;
}

/* Behind the stream's order: its newest command, and the legacy stream's rule. */
static int add_stream_order(struct sim_command *command, const struct ihipStream_t *stream)
{
    int status = add_dependent(stream->last, command);
    if (stream->flags & hipStreamNonBlocking)
        return status;
    const struct ihipStream_t *null_stream = stream->device->null_stream;
    if (stream != null_stream)
        return status | add_dependent(null_stream->last, command);
    for (const struct ihipStream_t *other = stream->device->streams; other; other = other->next)
        if (other != null_stream && !(other->flags & hipStreamNonBlocking))
            status |= add_dependent(other->last, command);
    return status;
}

static hipError_t submit(struct sim_command **out, struct ihipStream_t *stream, struct sim_operation *operation,
                         struct sim_command *const *after, size_t count, int in_order)
{
    if (out)
        *out = NULL;
    struct sim_device *device = stream->device;
    hipError_t status = sim_device_failure(device);
    struct sim_command *command = status ? NULL : calloc(1, sizeof *command);
    if (!command) {
        sim_operation_clear(operation);
        return status ? status : out_of_memory();
    }
    command->operation = *operation;
    memset(operation, 0, sizeof *operation);
    command->device = device;
    device->is_used = 1;
    command->references = 1; /* the engine's, until it is finished */
    command->sequence = ++last_sequence;
    command->ready_cycle = sim_runtime.host_cycle;
    command->unmet = 1; /* held back while it is set up */
    command->older = device->newest;
    *(device->newest ? &device->newest->newer : &device->oldest) = command;
    device->newest = command;
    command->queue_address = stream->queue;
    if (command->operation.kind == SIM_OPERATION_KERNEL)
        command->dispatch_id = stream->next_dispatch++;

    int failed = in_order ? add_stream_order(command, stream) : 0;
    for (size_t i = 0; i < count; i++)
        failed |= add_dependent(after[i], command);
    if (in_order) {
        sim_command_release(stream->last);
        stream->last = sim_command_retain(command);
    }
    if (out)
        *out = sim_command_retain(command);
    if (!--command->unmet)
        activate(command);
    return failed ? out_of_memory() : hipSuccess;
}

hipError_t sim_stream_submit_after(struct sim_command **out, struct ihipStream_t *stream,
                                   struct sim_operation *operation, struct sim_command *const *after, size_t count)
{
    return submit(out, stream, operation, after, count, 1);
}

hipError_t sim_graph_submit(struct sim_command **out, struct ihipStream_t *stream, struct sim_operation *operation,
                            struct sim_command *const *after, size_t count)
{
    return submit(out, stream, operation, after, count, 0);
}

hipError_t sim_stream_submit(struct sim_command **out, struct ihipStream_t *stream, struct sim_operation *operation)
{
    if (!stream->capture) {
        hipError_t status =
            stream == stream->device->null_stream ? sim_capture_forbids_legacy(stream->device) : hipSuccess;
        if (status == hipSuccess)
            return submit(out, stream, operation, NULL, 0, 1);
        sim_operation_clear(operation);
        return status;
    }
    if (out)
        *out = NULL;
    return sim_capture_add(stream, operation);
}

/* ---- Operations and streams --------------------------------------------------------------------------------------- */

static int copy_bytes(unsigned char **out, const unsigned char *bytes, size_t count)
{
    *out = NULL;
    if (!bytes)
        return 0;
    *out = malloc(count ? count : 1);
    if (!*out)
        return -1;
    memcpy(*out, bytes, count);
    return 0;
}

int sim_operation_copy(struct sim_operation *out, const struct sim_operation *operation)
{
    *out = *operation;
    out->kernel.kernarg = out->copy.staged = NULL;
    const size_t kernarg_bytes =
        operation->kernel.kernel ? sim_kernel_facts(operation->kernel.kernel)->kernarg_bytes : 0;
    return copy_bytes(&out->kernel.kernarg, operation->kernel.kernarg, kernarg_bytes) |
           copy_bytes(&out->copy.staged, operation->copy.staged, operation->copy.from_pitch * operation->copy.height);
}

void sim_operation_clear(struct sim_operation *operation)
{
    free(operation->kernel.kernarg);
    free(operation->copy.staged);
    memset(operation, 0, sizeof *operation);
}

/* Free retired streams whose commands are finished. */
static void reap(struct sim_device *device)
{
    for (struct ihipStream_t **link = &device->streams; *link;) {
        struct ihipStream_t *stream = *link;
        if (!stream->is_retired || !sim_command_is_finished(stream->last)) {
            link = &stream->next;
            continue;
        }
        *link = stream->next;
        sim_command_release(stream->last);
        sim_queue_destroy(device->machine, stream->queue);
        free(stream);
    }
}

int sim_stream_create(struct ihipStream_t **out, struct sim_device *device, unsigned flags, int priority)
{
    reap(device);
    struct ihipStream_t *stream = calloc(1, sizeof *stream);
    if (!stream)
        return sim_fail("out of host memory for a stream");
    stream->device = device;
    stream->flags = flags;
    stream->priority = priority;
    if (sim_queue_create(&stream->queue, device->machine)) {
        free(stream);
        return -1;
    }
    if (sim_handle_add(SIM_HANDLE_STREAM, stream)) {
        sim_queue_destroy(device->machine, stream->queue);
        free(stream);
        return -1;
    }
    struct ihipStream_t **link = &device->streams;
    while (*link)
        link = &(*link)->next;
    *link = stream;
    *out = stream;
    return 0;
}

void sim_stream_retire(struct ihipStream_t *stream)
{
    sim_handle_remove(stream);
    stream->is_retired = 1;
    reap(stream->device);
}

struct ihipStream_t *sim_stream_of(hipError_t *status, hipStream_t handle)
{
    struct sim_device *device = sim_current_device();
    *status = hipSuccess;
    if (!handle || handle == hipStreamLegacy)
        return device->null_stream;
    if (handle == hipStreamPerThread) {
        struct ihipStream_t **mine = &sim_thread.stream[device->index];
        if (!*mine && sim_stream_create(mine, device, hipStreamDefault, 0)) {
            *status = sim_machine_error(hipErrorOutOfMemory);
            return NULL;
        }
        (*mine)->is_per_thread = 1;
        return *mine;
    }
    if (sim_handle_is(SIM_HANDLE_STREAM, handle))
        return handle;
    *status = sim_hip_error(hipErrorInvalidHandle, "%p is no stream, or one that was destroyed", (void *)handle);
    return NULL;
}
