/* fake_cuda.c - a CUDA driver with one device, or FAKE_DEVICES, whose kernels are those of libktrace itself, written here: what
 * `ktrace doctor` says of a device is tested anywhere. FAKE=still: its wall clock stands still; hang: its kernels do not end;
 * no-compiler: it cannot load PTX; none: it has no device.
 */
#include "../../src/backend/clock_survey.h"
#include "../../src/backend/cuda_api.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define FAKE __attribute__((visibility("default"))) int
enum { NO_PTX_COMPILER = 221, STEP_NS = 32 };

static bool is(const char *what)
{
    const char *fake = getenv("FAKE");
    return fake && strcmp(fake, what) == 0;
}

/* ---- Devices ------------------------------------------------------------------------------------------------------- */

FAKE cuInit(unsigned int flags)
{
    return is("none") ? KT_CU_ERROR_NO_DEVICE : KT_CU_SUCCESS;
}

FAKE cuGetErrorName(kt_cu_result error, const char **name)
{
    *name = error == NO_PTX_COMPILER ? "CUDA_ERROR_JIT_COMPILER_NOT_FOUND" : "CUDA_ERROR";
    return KT_CU_SUCCESS;
}

FAKE cuGetErrorString(kt_cu_result error, const char **text)
{
    *text =
        error == KT_CU_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "PTX JIT compiler library not found";
    return KT_CU_SUCCESS;
}

FAKE cuDriverGetVersion(int *version)
{
    *version = 13010;
    return KT_CU_SUCCESS;
}

FAKE cuDeviceGetCount(int *count)
{
    const char *devices = getenv("FAKE_DEVICES");
    *count = devices ? atoi(devices) : 1;
    return KT_CU_SUCCESS;
}

FAKE cuDeviceGet(kt_cu_device *device, int ordinal)
{
    *device = ordinal;
    return KT_CU_SUCCESS;
}

FAKE cuDeviceGetName(char *name, int bytes, kt_cu_device device)
{
    snprintf(name, (size_t)bytes, "Fake GPU");
    return KT_CU_SUCCESS;
}

FAKE cuDeviceGetAttribute(int *value, int attribute, kt_cu_device device)
{
    *value = attribute == KT_CU_ATTRIBUTE_CLOCK_RATE_KHZ         ? 1980000
             : attribute == KT_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 132
             : attribute == KT_CU_ATTRIBUTE_CAPABILITY_MAJOR     ? 9
                                                                 : 0;
    return KT_CU_SUCCESS;
}

FAKE cuDevicePrimaryCtxRetain(kt_cu_context *context, kt_cu_device device)
{
    *context = (kt_cu_context)(uintptr_t)(device + 1);
    return KT_CU_SUCCESS;
}

FAKE cuCtxGetCurrent(kt_cu_context *context)
{
    *context = NULL;
    return KT_CU_SUCCESS;
}

FAKE cuCtxPushCurrent_v2(kt_cu_context context)
{
    return KT_CU_SUCCESS;
}

FAKE cuCtxPopCurrent_v2(kt_cu_context *context)
{
    return KT_CU_SUCCESS;
}

/* ---- Memory, which is the host's ----------------------------------------------------------------------------------- */

FAKE cuMemAlloc_v2(kt_cu_pointer *address, size_t bytes)
{
    *address = (kt_cu_pointer)(uintptr_t)calloc(1, bytes);
    return KT_CU_SUCCESS;
}

FAKE cuMemFree_v2(kt_cu_pointer address)
{
    free((void *)(uintptr_t)address);
    return KT_CU_SUCCESS;
}

FAKE cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags)
{
    *memory = calloc(1, bytes);
    return KT_CU_SUCCESS;
}

FAKE cuMemFreeHost(void *memory)
{
    free(memory);
    return KT_CU_SUCCESS;
}

FAKE cuMemcpy2DAsync_v2(const struct kt_cu_memcpy2d *copy, kt_cu_stream stream)
{
    memcpy(copy->destination_host, (const void *)(uintptr_t)copy->source_device, copy->width_bytes * copy->height);
    return KT_CU_SUCCESS;
}

/* ---- Streams and modules ------------------------------------------------------------------------------------------- */

FAKE cuStreamCreate(kt_cu_stream *stream, unsigned int flags)
{
    return KT_CU_SUCCESS;
}

FAKE cuStreamIsCapturing(kt_cu_stream stream, int *status)
{
    *status = 0;
    return KT_CU_SUCCESS;
}

FAKE cuModuleLoadData(kt_cu_module *module, const void *image)
{
    static char loaded;
    *module = (kt_cu_module)(void *)&loaded;
    return is("no-compiler") ? NO_PTX_COMPILER : KT_CU_SUCCESS;
}

FAKE cuModuleGetFunction(kt_cu_function *function, kt_cu_module module, const char *name)
{
    *function = (kt_cu_function)(void *)(uintptr_t)name; /* which are libktrace's literals */
    return KT_CU_SUCCESS;
}

/* ---- Kernels ------------------------------------------------------------------------------------------------------- */

static void survey(struct kt_clock_survey *out)
{
    const uint64_t begin_ns = 1000 * STEP_NS;
    for (int i = 0; i < KT_SURVEY_READINGS; i++) /* a reading every 17 ns, now and then a pause */
        out->wall_ns[i] = (begin_ns + (uint64_t)i * 17 + (uint64_t)i / 100 * 50) / STEP_NS * STEP_NS;
    for (int i = 0; i < KT_SURVEY_CYCLES; i++)
        out->cycles[i] = (uint32_t)(2 * i);
    out->from_ns = begin_ns;
    out->to_ns = is("still") ? 0 : begin_ns + 1000000;
    out->from_cycles = 5000;
    out->to_cycles = 5000 + 1755000;
}

static pthread_t thread;
static bool has_thread;

/* As cuda_clock.c has its mailbox. */
static void *answer(void *mailbox)
{
    volatile uint32_t *question = mailbox, *answered = (volatile uint32_t *)mailbox + 34;
    for (uint32_t number = 1; number <= 16; number++) {
        while (__atomic_load_n(question, __ATOMIC_ACQUIRE) != number)
            sched_yield();
        *(volatile uint64_t *)((char *)mailbox + 128) = 1000 * number;
        __atomic_store_n(answered, number, __ATOMIC_RELEASE);
    }
    return NULL;
}

FAKE cuLaunchKernel(kt_cu_function function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                    unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                    kt_cu_stream stream, void **parameters, void **extra)
{
    const char *name = (const char *)(void *)function;
    void *memory = (void *)(uintptr_t) * (kt_cu_pointer *)parameters[0];
    if (strcmp(name, "ktrace_read_clock") == 0)
        ((uint64_t *)memory)[1] = STEP_NS;
    else if (strcmp(name, "ktrace_survey_clocks") == 0)
        survey(memory);
    else if (strcmp(name, "ktrace_answer_clock") == 0)
        has_thread = pthread_create(&thread, NULL, answer, memory) == 0;
    if (strcmp(name, "ktrace_survey_clocks") == 0 && is("hang"))
        pause();
    return KT_CU_SUCCESS;
}

FAKE cuStreamSynchronize(kt_cu_stream stream)
{
    if (has_thread)
        pthread_join(thread, NULL);
    has_thread = false;
    return KT_CU_SUCCESS;
}
