/* cuda.c - the CUDA backend, over the driver API. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../error.h"
#include "backend.h"
#include "cuda_api.h"
#include "cuda_modules.h"
#include "peek.h"

struct cuda_backend {
    struct kt_backend base;
    const struct kt_cuda_api *api;
    kt_cu_context context;
    kt_cu_device device;
    int primary_retained;
    kt_cu_stream peek_stream;
    void *staging; /* pinned, for peeks: allocated at once, as a hung kernel would block the allocation */
    kt_cu_module clock_module;
    kt_cu_function clock_kernel;
    kt_cu_pointer clock_result;
};

/* Stores the wall clock and the smallest step seen in 16 changes of it. Compiled by the driver. */
static const char clock_source[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                                   ".visible .entry ktrace_wall_clock(.param .u64 result)\n"
                                   "{\n"
                                   "    .reg .u64 %out, %last, %now, %step, %least;\n"
                                   "    .reg .u32 %left;\n"
                                   "    .reg .pred %same, %more;\n"
                                   "    ld.param.u64 %out, [result];\n"
                                   "    cvta.to.global.u64 %out, %out;\n"
                                   "    mov.u64 %least, 1000000000;\n"
                                   "    mov.u32 %left, 17;\n"
                                   "    mov.u64 %last, %globaltimer;\n"
                                   "next:\n"
                                   "    mov.u64 %now, %globaltimer;\n"
                                   "    setp.eq.u64 %same, %now, %last;\n"
                                   "    @%same bra next;\n"
                                   "    sub.u64 %step, %now, %last;\n"
                                   "    min.u64 %least, %least, %step;\n"
                                   "    mov.u64 %last, %now;\n"
                                   "    sub.u32 %left, %left, 1;\n"
                                   "    setp.ne.u32 %more, %left, 0;\n"
                                   "    @%more bra next;\n"
                                   "    st.global.u64 [%out], %now;\n"
                                   "    st.global.u64 [%out+8], %least;\n"
                                   "    ret;\n"
                                   "}\n";

static struct cuda_backend *of(struct kt_backend *backend)
{
    return (struct cuda_backend *)backend;
}

/* Every operation runs between these two; the caller's current context is not changed. */
static int enter(struct cuda_backend *cuda)
{
    const kt_cu_result result = cuda->api->context_push(cuda->context);
    return result == KT_CU_SUCCESS ? KTRACE_OK : kt_cuda_fail(cuda->api, result, "entering the capture's CUDA context");
}

static int leave(struct cuda_backend *cuda, kt_cu_result result, const char *attempted)
{
    kt_cu_context previous;
    cuda->api->context_pop(&previous);
    return result == KT_CU_SUCCESS ? KTRACE_OK : kt_cuda_fail(cuda->api, result, attempted);
}

static void cuda_close(struct kt_backend *backend)
{
    struct cuda_backend *cuda = of(backend);
    if (enter(cuda) == KTRACE_OK) {
        if (cuda->clock_result)
            cuda->api->memory_free(cuda->clock_result);
        if (cuda->clock_module)
            cuda->api->module_unload(cuda->clock_module);
        if (cuda->staging)
            cuda->api->host_free(cuda->staging);
        if (cuda->peek_stream)
            cuda->api->stream_destroy(cuda->peek_stream);
        leave(cuda, KT_CU_SUCCESS, "");
    }
    if (cuda->primary_retained)
        cuda->api->primary_release(cuda->device);
    free(cuda);
}

static int attribute(struct cuda_backend *cuda, int which)
{
    int value = 0;
    cuda->api->device_get_attribute(&value, which, cuda->device);
    return value;
}

/* Runs the clock kernel; host_before and host_after enclose the launch and its end. */
static kt_cu_result read_clock(struct cuda_backend *cuda, uint64_t result[2])
{
    void *parameters[] = {&cuda->clock_result};
    kt_cu_result status =
        cuda->api->launch_kernel(cuda->clock_kernel, 1, 1, 1, 1, 1, 1, 0, cuda->peek_stream, parameters, NULL);
    if (status == KT_CU_SUCCESS)
        status = cuda->api->stream_synchronize(cuda->peek_stream);
    if (status != KT_CU_SUCCESS)
        return status;
    const struct kt_cu_memcpy2d copy = {.source_memory_type = KT_CU_MEMORYTYPE_DEVICE,
                                        .source_device = cuda->clock_result,
                                        .destination_memory_type = KT_CU_MEMORYTYPE_HOST,
                                        .destination_host = cuda->staging,
                                        .width_bytes = 16,
                                        .height = 1};
    status = cuda->api->copy_2d_async(&copy, cuda->peek_stream);
    if (status == KT_CU_SUCCESS)
        status = cuda->api->stream_synchronize(cuda->peek_stream);
    if (status == KT_CU_SUCCESS)
        memcpy(result, cuda->staging, 16);
    return status;
}

static int cuda_facts(struct kt_device_facts *out, struct kt_backend *backend)
{
    struct cuda_backend *cuda = of(backend);
    struct kt_device_facts facts = {.arch = KTRACE_ARCH_NVIDIA};
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    uint64_t clock[2] = {0, 0};
    kt_cu_result result = cuda->api->device_get_name(facts.name, sizeof facts.name, cuda->device);
    if (result == KT_CU_SUCCESS && cuda->clock_kernel)
        result = read_clock(cuda, clock);
    if (leave(cuda, result, "asking for the device's facts") < 0)
        return KTRACE_ERROR_DEVICE;
    facts.places = (uint32_t)attribute(cuda, KT_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    facts.clock_khz = (uint32_t)attribute(cuda, KT_CU_ATTRIBUTE_CLOCK_RATE_KHZ);
    facts.capability = (uint32_t)(attribute(cuda, KT_CU_ATTRIBUTE_CAPABILITY_MAJOR) * 10 +
                                  attribute(cuda, KT_CU_ATTRIBUTE_CAPABILITY_MINOR));
    facts.wall_tick_ns = (uint32_t)clock[1];
    *out = facts;
    return KTRACE_OK;
}

static int cuda_allocate(uint64_t *address, struct kt_backend *backend, uint64_t bytes)
{
    struct cuda_backend *cuda = of(backend);
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    kt_cu_pointer pointer = 0;
    const kt_cu_result result = cuda->api->memory_allocate(&pointer, bytes);
    char attempted[96];
    snprintf(attempted, sizeof attempted, "allocating %llu bytes of device memory for the capture",
             (unsigned long long)bytes);
    const int status = leave(cuda, result, attempted);
    if (status == KTRACE_OK)
        *address = pointer;
    return status;
}

static void cuda_release(struct kt_backend *backend, uint64_t address)
{
    struct cuda_backend *cuda = of(backend);
    if (address == 0 || enter(cuda) < 0)
        return;
    cuda->api->memory_free(address);
    leave(cuda, KT_CU_SUCCESS, "");
}

static int cuda_clear(struct kt_backend *backend, uint64_t address, uint64_t bytes)
{
    struct cuda_backend *cuda = of(backend);
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    kt_cu_result result = cuda->api->memory_set8(address, 0, bytes);
    /* The fill is asynchronous: kernels on other streams must not start before it is done. */
    if (result == KT_CU_SUCCESS)
        result = cuda->api->context_synchronize();
    return leave(cuda, result, "clearing the capture's buffer");
}

static int cuda_to_device(struct kt_backend *backend, uint64_t address, const void *data, uint64_t bytes)
{
    struct cuda_backend *cuda = of(backend);
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    return leave(cuda, cuda->api->copy_to_device(address, data, bytes), "writing to the device");
}

static int stage_rows(void *context, uint64_t address, size_t row_bytes, size_t pitch_bytes, uint64_t rows)
{
    struct cuda_backend *cuda = context;
    const struct kt_cu_memcpy2d copy = {.source_memory_type = KT_CU_MEMORYTYPE_DEVICE,
                                        .source_device = address,
                                        .source_pitch_bytes = pitch_bytes,
                                        .destination_memory_type = KT_CU_MEMORYTYPE_HOST,
                                        .destination_host = cuda->staging,
                                        .destination_pitch_bytes = row_bytes,
                                        .width_bytes = row_bytes,
                                        .height = rows};
    const kt_cu_result result = cuda->api->copy_2d_async(&copy, cuda->peek_stream);
    return result == KT_CU_SUCCESS ? cuda->api->stream_synchronize(cuda->peek_stream) : result;
}

static int cuda_to_host(struct kt_backend *backend, void *data, uint64_t address, uint64_t row_bytes,
                        uint64_t pitch_bytes, uint64_t rows, int peek)
{
    struct cuda_backend *cuda = of(backend);
    if (row_bytes == 0 || rows == 0)
        return KTRACE_OK;
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    kt_cu_result result;
    if (peek) {
        const struct kt_peek by_row = {stage_rows, cuda, cuda->staging};
        result = kt_peek_rows(&by_row, data, address, row_bytes, pitch_bytes, rows);
    } else {
        const struct kt_cu_memcpy2d copy = {.source_memory_type = KT_CU_MEMORYTYPE_DEVICE,
                                            .source_device = address,
                                            .source_pitch_bytes = pitch_bytes,
                                            .destination_memory_type = KT_CU_MEMORYTYPE_HOST,
                                            .destination_host = data,
                                            .destination_pitch_bytes = row_bytes,
                                            .width_bytes = row_bytes,
                                            .height = rows};
        result = cuda->api->copy_2d(&copy);
    }
    return leave(cuda, result, peek ? "peeking at the capture's buffer" : "reading from the device");
}

static int cuda_synchronize(struct kt_backend *backend)
{
    struct cuda_backend *cuda = of(backend);
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    /* Asking about the legacy stream fails while a blocking stream of this context is captured, and harms nothing; a
     * synchronization would spoil the graph. There is no such question for streams that do not block: while one of those
     * is captured the synchronization itself fails, and the graph may be spoilt. */
    int capturing = 0;
    kt_cu_result result = cuda->api->stream_is_capturing(NULL, &capturing);
    if (result == KT_CU_SUCCESS)
        result = cuda->api->context_synchronize();
    return leave(cuda, result, "waiting for the device");
}

static int cuda_range_of(uint64_t *base, uint64_t *bytes, struct kt_backend *backend, uint64_t address)
{
    struct cuda_backend *cuda = of(backend);
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    kt_cu_pointer start = 0;
    size_t size = 0;
    const kt_cu_result result = cuda->api->memory_range(&start, &size, address);
    leave(cuda, KT_CU_SUCCESS, "");
    if (result != KT_CU_SUCCESS || address < start || address - start >= size)
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "no device memory at address 0x%llx", (unsigned long long)address);
    *base = start;
    *bytes = size;
    return KTRACE_OK;
}

static const char control_name[] = "ktrace_control_block";

static int control_missing(void)
{
    return kt_fail(KTRACE_ERROR_NOT_FOUND,
                   "the module has no ktrace control block: compile it with KTRACE_ENABLE=1 and annotate a kernel");
}

static int cuda_module_control(uint64_t *address, struct kt_backend *backend, void *module)
{
    struct cuda_backend *cuda = of(backend);
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    kt_cu_pointer pointer = 0;
    const kt_cu_result result = cuda->api->module_get_global(&pointer, NULL, module, control_name);
    if (result == KT_CU_ERROR_NOT_FOUND) {
        leave(cuda, KT_CU_SUCCESS, "");
        return control_missing();
    }
    const int status = leave(cuda, result, "looking for the module's control block");
    if (status == KTRACE_OK)
        *address = pointer;
    return status;
}

static int cuda_registered_control(uint64_t *address, struct kt_backend *backend,
                                   const struct ktrace_registration *registration)
{
    struct cuda_backend *cuda = of(backend);
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    void *symbol = NULL;
    const int error = registration->symbol_address(&symbol, registration->symbol);
    leave(cuda, KT_CU_SUCCESS, "");
    if (error != 0)
        return kt_fail(KTRACE_ERROR_DEVICE,
                       "%s: the CUDA runtime cannot load this object's kernels on the capture's device (error %d); was "
                       "it compiled for this architecture?",
                       registration->file, error);
    *address = (uint64_t)(uintptr_t)symbol;
    return KTRACE_OK;
}

int kt_cuda_module_check(void *module)
{
    const struct kt_cuda_api *api;
    const int status = kt_cuda_api_open(&api);
    if (status < 0)
        return status;
    kt_cu_pointer pointer = 0;
    const kt_cu_result result = api->module_get_global(&pointer, NULL, module, control_name);
    if (result == KT_CU_ERROR_NOT_FOUND)
        return control_missing();
    return result == KT_CU_SUCCESS ? KTRACE_OK : kt_cuda_fail(api, result, "looking for the module's control block");
}

static uint64_t host_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int cuda_host_anchor(struct kt_host_anchor *out, struct kt_backend *backend)
{
    struct cuda_backend *cuda = of(backend);
    if (cuda->clock_kernel == NULL)
        return kt_fail(KTRACE_ERROR_UNSUPPORTED, "the driver could not compile the kernel that reads the wall clock");
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    struct kt_host_anchor anchor;
    uint64_t clock[2];
    anchor.host_before_ns = host_now_ns();
    const kt_cu_result result = read_clock(cuda, clock);
    anchor.host_after_ns = host_now_ns();
    const int status = leave(cuda, result, "reading the device's wall clock");
    if (status < 0)
        return status;
    anchor.device_ns = clock[0];
    *out = anchor;
    return KTRACE_OK;
}

static const struct kt_backend_ops cuda_ops = {
    .name = "cuda",
    .close = cuda_close,
    .facts = cuda_facts,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .clear = cuda_clear,
    .to_device = cuda_to_device,
    .to_host = cuda_to_host,
    .synchronize = cuda_synchronize,
    .range_of = cuda_range_of,
    .module_control = cuda_module_control,
    .registered_control = cuda_registered_control,
    .host_anchor = cuda_host_anchor,
};

/* The calling thread's context, or device 0's primary one, which is what the runtime would use. */
static int find_context(struct cuda_backend *cuda)
{
    kt_cu_result result = cuda->api->context_get_current(&cuda->context);
    if (result != KT_CU_SUCCESS)
        return kt_cuda_fail(cuda->api, result, "asking for the current CUDA context");
    if (cuda->context == NULL) {
        result = cuda->api->device_get(&cuda->device, 0);
        if (result != KT_CU_SUCCESS)
            return kt_fail(KTRACE_ERROR_NO_DEVICE, "there is a CUDA driver but no CUDA device");
        result = cuda->api->primary_retain(&cuda->context, cuda->device);
        if (result != KT_CU_SUCCESS)
            return kt_cuda_fail(cuda->api, result, "opening a context on CUDA device 0");
        cuda->primary_retained = 1;
        return KTRACE_OK;
    }
    result = cuda->api->context_get_device(&cuda->device);
    return result == KT_CU_SUCCESS ? KTRACE_OK : kt_cuda_fail(cuda->api, result, "asking for the current CUDA device");
}

static kt_cu_result prepare(struct cuda_backend *cuda)
{
    kt_cu_result result = cuda->api->stream_create(&cuda->peek_stream, KT_CU_STREAM_NON_BLOCKING);
    if (result == KT_CU_SUCCESS)
        result = cuda->api->host_allocate(&cuda->staging, KT_STAGING_BYTES, 0);
    if (result == KT_CU_SUCCESS)
        result = cuda->api->memory_allocate(&cuda->clock_result, 16);
    if (result != KT_CU_SUCCESS)
        return result;
    /* Without its compiler the driver cannot build the clock kernel: then there are no host anchors, no more. */
    if (cuda->api->module_load_data(&cuda->clock_module, clock_source) == KT_CU_SUCCESS) {
        if (cuda->api->module_get_function(&cuda->clock_kernel, cuda->clock_module, "ktrace_wall_clock") !=
            KT_CU_SUCCESS)
            cuda->clock_kernel = NULL;
    } else {
        cuda->clock_module = NULL;
    }
    return KT_CU_SUCCESS;
}

int kt_backend_open_cuda(struct kt_backend **out)
{
    const struct kt_cuda_api *api;
    int status = kt_cuda_api_open(&api);
    if (status < 0)
        return status;
    struct cuda_backend *cuda = calloc(1, sizeof *cuda);
    if (cuda == NULL)
        return kt_fail_memory(sizeof *cuda);
    cuda->base.ops = &cuda_ops;
    cuda->api = api;
    status = find_context(cuda);
    if (status < 0) {
        free(cuda);
        return status;
    }
    status = enter(cuda);
    if (status == KTRACE_OK)
        status = leave(cuda, prepare(cuda), "preparing the capture's stream");
    if (status < 0) {
        cuda_close(&cuda->base);
        return status;
    }
    *out = &cuda->base;
    return KTRACE_OK;
}
