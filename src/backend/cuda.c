/* cuda.c - the CUDA backend, over the driver API. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../error.h"
#include "backend.h"
#include "cuda_api.h"
#include "cuda_clock.h"
#include "cuda_modules.h"
#include "cuda_service.h"
#include "cuda_survey.h"
#include "peek.h"

struct cuda_backend {
    struct kt_backend base;
    const struct kt_cuda_api *api;
    kt_cu_context context;
    kt_cu_device device;
    uint32_t ordinal;
    int primary_retained;
    kt_cu_stream peek_stream;
    void *staging; /* pinned, for peeks: allocated at once, as a hung kernel would block the allocation */
    void *mailbox; /* pinned, of cuda_clock.h */
    kt_cu_module service_module, clock_module;
    kt_cu_function clock_kernel, exchange_kernel, answer_kernel; /* NULL: the driver has no compiler */
    kt_cu_pointer service_result;                                /* device memory of a struct ktrace_counters */
};

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
        if (cuda->service_result)
            cuda->api->memory_free(cuda->service_result);
        if (cuda->service_module)
            cuda->api->module_unload(cuda->service_module);
        if (cuda->clock_module)
            cuda->api->module_unload(cuda->clock_module);
        if (cuda->mailbox)
            cuda->api->host_free(cuda->mailbox);
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

/* Runs a kernel of our own beside all others, and reads what it left in service_result. */
static kt_cu_result serve(struct cuda_backend *cuda, kt_cu_function kernel, unsigned int blocks, unsigned int threads,
                          void **parameters, void *result, size_t bytes)
{
    kt_cu_result status =
        cuda->api->launch_kernel(kernel, blocks, 1, 1, threads, 1, 1, 0, cuda->peek_stream, parameters, NULL);
    if (status == KT_CU_SUCCESS)
        status = cuda->api->stream_synchronize(cuda->peek_stream);
    if (status != KT_CU_SUCCESS)
        return status;
    const struct kt_cu_memcpy2d copy = {.source_memory_type = KT_CU_MEMORYTYPE_DEVICE,
                                        .source_device = cuda->service_result,
                                        .destination_memory_type = KT_CU_MEMORYTYPE_HOST,
                                        .destination_host = cuda->staging,
                                        .width_bytes = bytes,
                                        .height = 1};
    status = cuda->api->copy_2d_async(&copy, cuda->peek_stream);
    if (status == KT_CU_SUCCESS)
        status = cuda->api->stream_synchronize(cuda->peek_stream);
    if (status == KT_CU_SUCCESS)
        memcpy(result, cuda->staging, bytes);
    return status;
}

static kt_cu_result read_clock(struct cuda_backend *cuda, uint64_t result[2])
{
    void *parameters[] = {&cuda->service_result};
    return serve(cuda, cuda->clock_kernel, 1, 1, parameters, result, 2 * sizeof *result);
}

static int cuda_exchange(struct kt_backend *backend, struct ktrace_counters *before, uint64_t address, uint64_t claims)
{
    struct cuda_backend *cuda = of(backend);
    if (cuda->exchange_kernel == NULL)
        return kt_fail(KTRACE_ERROR_UNSUPPORTED, "the driver could not compile the kernel that exchanges counters");
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    void *parameters[] = {&address, &claims, &cuda->service_result};
    const kt_cu_result result =
        serve(cuda, cuda->exchange_kernel, KT_SERVICE_BLOCKS, KT_SERVICE_THREADS, parameters, before, sizeof *before);
    return leave(cuda, result, "exchanging the capture's counters");
}

/* What the driver does not tell stays unknown. With MIG it is the instance's. */
static void identify(struct kt_device_identity *identity, struct cuda_backend *cuda)
{
    struct kt_cu_uuid uuid;
    char bus_id[sizeof identity->pci_bus_id];
    if (cuda->api->device_get_uuid(&uuid, cuda->device) == KT_CU_SUCCESS)
        memcpy(identity->uuid, uuid.bytes, sizeof identity->uuid);
    if (cuda->api->device_get_pci_bus_id(bus_id, sizeof bus_id, cuda->device) == KT_CU_SUCCESS)
        snprintf(identity->pci_bus_id, sizeof identity->pci_bus_id, "%s", bus_id);
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
    facts.ordinal = cuda->ordinal;
    facts.places = (uint32_t)attribute(cuda, KT_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    facts.clock_khz = (uint32_t)attribute(cuda, KT_CU_ATTRIBUTE_CLOCK_RATE_KHZ);
    facts.capability = (uint32_t)(attribute(cuda, KT_CU_ATTRIBUTE_CAPABILITY_MAJOR) * 10 +
                                  attribute(cuda, KT_CU_ATTRIBUTE_CAPABILITY_MINOR));
    facts.wall_tick_ns = (uint32_t)clock[1];
    identify(&facts.identity, cuda);
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
    char attempted[48];
    snprintf(attempted, sizeof attempted, "waiting for CUDA device %u", cuda->ordinal);
    return leave(cuda, result, attempted);
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

int kt_cuda_module_check(uint64_t *owner, void *module)
{
    const struct kt_cuda_api *api;
    const int status = kt_cuda_api_open(&api);
    if (status < 0)
        return status;
    kt_cu_pointer pointer = 0;
    kt_cu_context context = NULL;
    kt_cu_result result = api->module_get_global(&pointer, NULL, module, control_name);
    if (result == KT_CU_ERROR_NOT_FOUND)
        return control_missing();
    if (result == KT_CU_SUCCESS)
        result = api->context_get_current(&context);
    if (result != KT_CU_SUCCESS)
        return kt_cuda_fail(api, result, "looking for the module's control block");
    *owner = (uint64_t)(uintptr_t)context;
    return KTRACE_OK;
}

static int cuda_host_anchor(struct kt_host_anchor *out, struct kt_backend *backend)
{
    struct cuda_backend *cuda = of(backend);
    if (cuda->answer_kernel == NULL)
        return kt_fail(KTRACE_ERROR_UNSUPPORTED, "the driver could not compile the kernel that reads the wall clock");
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    const kt_cu_result result =
        kt_cuda_ask_clock(out, cuda->api, cuda->answer_kernel, cuda->peek_stream, cuda->mailbox);
    return leave(cuda, result, "reading the device's wall clock");
}

KTRACE_STATIC_ASSERT(sizeof(struct kt_clock_survey) <= sizeof(struct ktrace_counters), "service_result has room");

static int cuda_survey_clocks(struct kt_clock_survey *out, struct kt_backend *backend)
{
    struct cuda_backend *cuda = of(backend);
    kt_cu_module module = NULL;
    kt_cu_function kernel = NULL;
    void *parameters[] = {&cuda->service_result};
    if (enter(cuda) < 0)
        return KTRACE_ERROR_DEVICE;
    kt_cu_result result = cuda->api->module_load_data(&module, kt_cuda_survey_source);
    if (result == KT_CU_SUCCESS)
        result = cuda->api->module_get_function(&kernel, module, "ktrace_survey_clocks");
    if (result == KT_CU_SUCCESS)
        result = serve(cuda, kernel, 1, 1, parameters, out, sizeof *out);
    if (module)
        cuda->api->module_unload(module);
    const int status = leave(cuda, result, "reading the device's clocks with a kernel");
    if (status == KTRACE_OK && out->to_ns == 0)
        return kt_fail(KTRACE_ERROR_DEVICE, "the device's wall clock (%%globaltimer) stands still");
    return status;
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
    .exchange = cuda_exchange,
    .synchronize = cuda_synchronize,
    .range_of = cuda_range_of,
    .module_control = cuda_module_control,
    .registered_control = cuda_registered_control,
    .host_anchor = cuda_host_anchor,
    .survey_clocks = cuda_survey_clocks,
};

static int retain_primary(struct cuda_backend *cuda, uint32_t ordinal)
{
    kt_cu_result result = cuda->api->device_get(&cuda->device, (int)ordinal);
    if (result != KT_CU_SUCCESS && ordinal == 0)
        return kt_fail(KTRACE_ERROR_NO_DEVICE, "there is a CUDA driver but no CUDA device");
    if (result != KT_CU_SUCCESS)
        return kt_fail(KTRACE_ERROR_NO_DEVICE, "there is no CUDA device %u", ordinal);
    result = cuda->api->primary_retain(&cuda->context, cuda->device);
    char attempted[64];
    snprintf(attempted, sizeof attempted, "opening a context on CUDA device %u", ordinal);
    if (result != KT_CU_SUCCESS)
        return kt_cuda_fail(cuda->api, result, attempted);
    cuda->ordinal = ordinal;
    cuda->primary_retained = 1;
    return KTRACE_OK;
}

/* The ordinal of cuda->device. */
static int find_ordinal(struct cuda_backend *cuda)
{
    int count = 0;
    kt_cu_result result = cuda->api->device_count(&count);
    for (int ordinal = 0; result == KT_CU_SUCCESS && ordinal < count; ordinal++) {
        kt_cu_device device;
        result = cuda->api->device_get(&device, ordinal);
        if (result == KT_CU_SUCCESS && device == cuda->device)
            cuda->ordinal = (uint32_t)ordinal;
    }
    return result == KT_CU_SUCCESS ? KTRACE_OK : kt_cuda_fail(cuda->api, result, "asking for the CUDA devices");
}

/* The device of cuda->context. */
static int find_device(struct cuda_backend *cuda)
{
    int status = enter(cuda);
    if (status == KTRACE_OK)
        status = leave(cuda, cuda->api->context_get_device(&cuda->device), "asking for the CUDA device of a context");
    return status == KTRACE_OK ? find_ordinal(cuda) : status;
}

static kt_cu_result prepare(struct cuda_backend *cuda)
{
    kt_cu_result result = cuda->api->stream_create(&cuda->peek_stream, KT_CU_STREAM_NON_BLOCKING);
    if (result == KT_CU_SUCCESS)
        result = cuda->api->host_allocate(&cuda->staging, KT_STAGING_BYTES, 0);
    if (result == KT_CU_SUCCESS)
        result = cuda->api->host_allocate(&cuda->mailbox, KT_CLOCK_MAILBOX_BYTES, 0);
    if (result == KT_CU_SUCCESS)
        result = cuda->api->memory_allocate(&cuda->service_result, sizeof(struct ktrace_counters));
    if (result != KT_CU_SUCCESS)
        return result;
    /* Without its compiler the driver cannot build our kernels: then there are no host anchors, and counters are exchanged by
     * the host. */
    if (cuda->api->module_load_data(&cuda->service_module, kt_cuda_service_source) != KT_CU_SUCCESS ||
        cuda->api->module_load_data(&cuda->clock_module, kt_cuda_clock_source) != KT_CU_SUCCESS)
        return KT_CU_SUCCESS;
    result = cuda->api->module_get_function(&cuda->clock_kernel, cuda->service_module, "ktrace_read_clock");
    if (result == KT_CU_SUCCESS)
        result =
            cuda->api->module_get_function(&cuda->exchange_kernel, cuda->service_module, "ktrace_exchange_counters");
    if (result == KT_CU_SUCCESS)
        result = cuda->api->module_get_function(&cuda->answer_kernel, cuda->clock_module, "ktrace_answer_clock");
    return result;
}

static int new_backend(struct cuda_backend **out)
{
    const struct kt_cuda_api *api;
    const int status = kt_cuda_api_open(&api);
    if (status < 0)
        return status;
    struct cuda_backend *cuda = calloc(1, sizeof *cuda);
    if (cuda == NULL)
        return kt_fail_memory(sizeof *cuda);
    cuda->base.ops = &cuda_ops;
    cuda->api = api;
    *out = cuda;
    return KTRACE_OK;
}

/* Takes over `cuda`, whose context was found if `status` says so. */
static int finish_open(struct kt_backend **out, struct cuda_backend *cuda, int status)
{
    if (status < 0) {
        free(cuda);
        return status;
    }
    cuda->base.owner = (uint64_t)(uintptr_t)cuda->context;
    status = enter(cuda);
    if (status == KTRACE_OK) {
        int capturing = 0; /* asked first: allocating would spoil a graph that is captured */
        kt_cu_result result = cuda->api->stream_is_capturing(NULL, &capturing);
        if (result == KT_CU_SUCCESS)
            result = prepare(cuda);
        status = leave(cuda, result, "preparing the capture's stream");
    }
    if (status < 0) {
        cuda_close(&cuda->base);
        return status;
    }
    *out = &cuda->base;
    return KTRACE_OK;
}

static int cuda_open_current(struct kt_backend **out)
{
    struct cuda_backend *cuda = NULL;
    int status = new_backend(&cuda);
    if (status < 0)
        return status;
    const kt_cu_result result = cuda->api->context_get_current(&cuda->context);
    if (result != KT_CU_SUCCESS)
        status = kt_cuda_fail(cuda->api, result, "asking for the current CUDA context");
    else
        status = cuda->context ? find_device(cuda) : retain_primary(cuda, 0);
    return finish_open(out, cuda, status);
}

static int cuda_open_device(struct kt_backend **out, uint32_t ordinal)
{
    struct cuda_backend *cuda = NULL;
    const int status = new_backend(&cuda);
    return status < 0 ? status : finish_open(out, cuda, retain_primary(cuda, ordinal));
}

static int cuda_open_owner(struct kt_backend **out, uint64_t owner)
{
    struct cuda_backend *cuda = NULL;
    const int status = new_backend(&cuda);
    if (status < 0)
        return status;
    cuda->context = (kt_cu_context)(uintptr_t)owner;
    return finish_open(out, cuda, find_device(cuda));
}

static int cuda_device_count(uint32_t *count)
{
    const struct kt_cuda_api *api;
    int devices = 0;
    const int status = kt_cuda_api_open(&api);
    if (status < 0)
        return status;
    const kt_cu_result result = api->device_count(&devices);
    *count = result == KT_CU_SUCCESS && devices > 0 ? (uint32_t)devices : 0;
    return result == KT_CU_SUCCESS ? KTRACE_OK : kt_cuda_fail(api, result, "counting the CUDA devices");
}

static int cuda_is_in_use(uint32_t ordinal)
{
    const struct kt_cuda_api *api;
    kt_cu_device device;
    unsigned int flags;
    int active = 0;
    if (kt_cuda_api_open(&api) < 0 || api->device_get(&device, (int)ordinal) != KT_CU_SUCCESS ||
        api->primary_get_state(device, &flags, &active) != KT_CU_SUCCESS)
        return 0;
    return active;
}

const struct kt_runtime kt_cuda_runtime = {
    .name = "cuda",
    .arch = KTRACE_ARCH_NVIDIA,
    .open_current = cuda_open_current,
    .open_device = cuda_open_device,
    .open_owner = cuda_open_owner,
    .device_count = cuda_device_count,
    .is_in_use = cuda_is_in_use,
};
