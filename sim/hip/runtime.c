/* runtime.c - the process's simulated devices, its lock, and the frame of every exported function. */
#include "runtime.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

/* Stated, not measured: the order of magnitude that ROCm's HIP has on a current host. */
static const uint32_t call_ns[SIM_CALLS] = {
    [SIM_CALL_QUERY] = 100,   [SIM_CALL_STATE] = 500,     [SIM_CALL_WAIT] = 1000,
    [SIM_CALL_SUBMIT] = 2000, [SIM_CALL_ALLOCATE] = 5000, [SIM_CALL_LOAD] = 100000,
};

struct sim_runtime sim_runtime;
_Thread_local struct sim_thread sim_thread;

static enum { NOT_STARTED, STARTED, FAILED } runtime_state;
static char start_sentence[1024];
static atomic_int is_forked;

/* A ticket lock. */
static pthread_mutex_t ticket_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ticket_called = PTHREAD_COND_INITIALIZER;
static uint64_t next_ticket, served_ticket;

void sim_lock(void)
{
    pthread_mutex_lock(&ticket_mutex);
    const uint64_t ticket = next_ticket++;
    while (ticket != served_ticket)
        pthread_cond_wait(&ticket_called, &ticket_mutex);
    pthread_mutex_unlock(&ticket_mutex);
}

void sim_unlock(void)
{
    pthread_mutex_lock(&ticket_mutex);
    served_ticket++;
    pthread_cond_broadcast(&ticket_called);
    pthread_mutex_unlock(&ticket_mutex);
}

hipError_t sim_hip_error(hipError_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sim_thread.sentence, sizeof sim_thread.sentence, format, arguments);
    va_end(arguments);
    return status;
}

hipError_t sim_machine_error(hipError_t status)
{
    return sim_hip_error(status, "%s", sim_error());
}

hipError_t sim_device_failure(const struct sim_device *device)
{
    return device->failure == hipSuccess ? hipSuccess : sim_hip_error(device->failure, "%s", device->sentence);
}

void sim_device_fail(struct sim_device *device, hipError_t status, const char *sentence)
{
    if (device->failure != hipSuccess)
        return;
    device->failure = status;
    snprintf(device->sentence, sizeof device->sentence, "%s", sentence);
    if (!getenv("KTRACE_SIM_QUIET"))
        fprintf(stderr, "ktrace simulator, device %d: %s\n", device->index, sentence);
}

/* The child has one thread, and the lock may be that of another that it does not have. */
static void forget_in_child(void)
{
    ticket_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ticket_called = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    served_ticket = next_ticket;
    atomic_store(&is_forked, 1);
}

static int device_count(int *count)
{
    *count = 1;
    const char *text = getenv("KTRACE_SIM_DEVICES");
    if (!text || !*text)
        return 0;
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (errno || *end || value < 1 || value > SIM_MAX_DEVICES) {
        snprintf(start_sentence, sizeof start_sentence,
                 "KTRACE_SIM_DEVICES=%s is not a number of devices from 1 to %d: set or unset it", text,
                 SIM_MAX_DEVICES);
        return -1;
    }
    *count = (int)value;
    return 0;
}

static int create_devices(void)
{
    struct sim_chip_config config;
    sim_chip_config_init(&config, SIM_GFX942);
    int count;
    if (device_count(&count))
        return -1;
    if (sim_chip_config_from_environment(&config)) {
        snprintf(start_sentence, sizeof start_sentence, "%s", sim_error());
        return -1;
    }
    for (int i = 0; i < count; i++) {
        struct sim_device *device = &sim_runtime.devices[i];
        device->index = device->context.device = i;
        if (sim_machine_create(&device->machine, &config) ||
            sim_stream_create(&device->null_stream, device, hipStreamDefault, 0)) {
            snprintf(start_sentence, sizeof start_sentence, "%s", sim_error());
            return -1;
        }
        sim_runtime.device_count = i + 1;
    }
    return 0;
}

static hipError_t start(void)
{
    if (runtime_state == NOT_STARTED) {
        pthread_atfork(NULL, NULL, forget_in_child);
        runtime_state = create_devices() ? FAILED : STARTED;
    }
    return runtime_state == STARTED ? hipSuccess : sim_hip_error(hipErrorNotInitialized, "%s", start_sentence);
}

hipError_t sim_enter(enum sim_call call)
{
    if (atomic_load(&is_forked))
        return sim_hip_error(hipErrorNoDevice,
                             "this process was forked from one that used the simulator, and a child has "
                             "no devices: call exec in the child, or fork before the first HIP call");
    sim_lock();
    hipError_t status = start();
    if (status)
        return status;
    sim_runtime.host_cycle += sim_cycles_of_ns(call_ns[call]);
    sim_engine_run(sim_runtime.host_cycle, NULL);
    return call == SIM_CALL_QUERY ? hipSuccess : sim_device_failure(sim_current_device());
}

hipError_t sim_leave(hipError_t status)
{
    if (!atomic_load(&is_forked))
        sim_unlock();
    /* As HIP 7 and CUDA have it: an expected answer is no error to remember. */
    if (status != hipSuccess && status != hipErrorNotReady)
        sim_thread.last_error = status;
    return status;
}

struct sim_device *sim_current_device(void)
{
    return &sim_runtime.devices[sim_thread.device];
}

struct sim_device *sim_device_at(int index)
{
    if (index >= 0 && index < sim_runtime.device_count)
        return &sim_runtime.devices[index];
    sim_hip_error(hipErrorInvalidDevice, "there is no device %d: simulated ones are 0 to %d (KTRACE_SIM_DEVICES)",
                  index, sim_runtime.device_count - 1);
    return NULL;
}

uint64_t sim_cycles_of_ns(uint64_t ns)
{
    const uint64_t mhz = sim_machine_config(sim_runtime.devices[0].machine)->core_mhz;
    return ns / 1000 * mhz + ns % 1000 * mhz / 1000;
}

/* CDNA3: 64 KiB, CDNA4: 160 KiB (AMD's instruction set manuals of both). */
uint32_t sim_lds_bytes(const struct sim_device *device)
{
    return sim_machine_config(device->machine)->chip == SIM_GFX950 ? 160 * 1024 : 64 * 1024;
}

uint32_t sim_compute_units(const struct sim_device *device)
{
    const struct sim_chip_config *config = sim_machine_config(device->machine);
    const uint32_t all = config->ses_per_xcc * config->shs_per_se * config->cus_per_sh;
    return config->xccs * (config->active_cus_per_xcc ? config->active_cus_per_xcc : all);
}
