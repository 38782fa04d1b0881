/* hip.c - the HIP backend: AMD GPUs through ROCm, or the embedded simulator of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../error.h"
#include "backend.h"
#include "hip_api.h"
#include "hip_modules.h"
#include "host_clock.h"
#include "peek.h"
#include "service/amdgcn_code.h"
#include "service_shape.h"

/* Of a code object, range_of answers for so much at once. */
#define RANGE_BYTES ((uint64_t)64 << 10)
/* s_memrealtime counts 100 MHz and advances by 4 (record.h has times in units of its 10 ns). */
#define WALL_CLOCK_KHZ 100000
#define WALL_TICK_NS 40
#define TICK_NS 10 /* of the unit that it counts in */

struct hip_backend {
    struct kt_backend base;
    const struct kt_hip_api *api;
    int device;
    kt_hip_stream peek_stream;
    void *staging; /* pinned, for peeks: allocated at once, as a hung kernel would block the allocation */
    kt_hip_module service_module;
    kt_hip_function clock_kernel, exchange_kernel, survey_kernel;
    void *service_result; /* device memory of a struct ktrace_counters */
};

static struct hip_backend *of(struct kt_backend *backend)
{
    return (struct hip_backend *)backend;
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Every operation runs between these two, on the capture's device; the caller's current device is not changed. `*previous` is
 * the caller's: synchronize may run beside another operation. */
static int enter(int *previous, struct hip_backend *hip)
{
    kt_hip_result result = hip->api->device_current(previous);
    if (result == KT_HIP_SUCCESS && *previous != hip->device)
        result = hip->api->device_select(hip->device);
    return result == KT_HIP_SUCCESS ? KTRACE_OK : kt_hip_fail(hip->api, result, "selecting the capture's HIP device");
}

static int leave(int previous, struct hip_backend *hip, kt_hip_result result, const char *attempted)
{
    if (previous != hip->device)
        hip->api->device_select(previous);
    return result == KT_HIP_SUCCESS ? KTRACE_OK : kt_hip_fail(hip->api, result, attempted);
}

/* As in CUDA, asking about the legacy stream fails (hipErrorStreamCaptureImplicit) while a blocking stream is captured, and harms
 * nothing, where allocating and waiting would spoil the graph. */
static kt_hip_result ask_for_captures(struct hip_backend *hip)
{
    int capturing = 0;
    return hip->api->stream_is_capturing(NULL, &capturing);
}

static void hip_close(struct kt_backend *backend)
{
    struct hip_backend *hip = of(backend);
    int previous;
    if (enter(&previous, hip) == KTRACE_OK) {
        if (hip->service_result)
            hip->api->memory_free(hip->service_result);
        if (hip->service_module)
            hip->api->module_unload(hip->service_module);
        if (hip->staging)
            hip->api->host_free(hip->staging);
        if (hip->peek_stream)
            hip->api->stream_destroy(hip->peek_stream);
        leave(previous, hip, KT_HIP_SUCCESS, "");
    }
    free(hip);
}

/* ---- Facts ------------------------------------------------------------------------------------------------------- */

/* 0: this runtime does not know the attribute. */
static uint32_t attribute(struct hip_backend *hip, int which)
{
    int value = 0;
    const kt_hip_result result = hip->api->device_get_attribute(&value, which, hip->device);
    kt_hip_forget(hip->api, result);
    return result == KT_HIP_SUCCESS && value > 0 ? (uint32_t)value : 0;
}

/* What the runtime does not tell stays unknown. */
static void identify(struct kt_device_identity *identity, struct hip_backend *hip)
{
    struct kt_hip_uuid uuid;
    char bus_id[sizeof identity->pci_bus_id];
    kt_hip_result result = hip->api->device_get_uuid(&uuid, hip->device);
    kt_hip_forget(hip->api, result);
    if (result == KT_HIP_SUCCESS)
        memcpy(identity->uuid, uuid.bytes, sizeof identity->uuid);
    result = hip->api->device_get_pci_bus_id(bus_id, sizeof bus_id, hip->device);
    kt_hip_forget(hip->api, result);
    if (result == KT_HIP_SUCCESS)
        snprintf(identity->pci_bus_id, sizeof identity->pci_bus_id, "%s", bus_id);
}

static int hip_facts(struct kt_device_facts *out, struct kt_backend *backend)
{
    struct hip_backend *hip = of(backend);
    struct kt_device_facts facts = {.arch = KTRACE_ARCH_AMDGCN,
                                    .clock_khz = WALL_CLOCK_KHZ,
                                    .wall_tick_ns = WALL_TICK_NS,
                                    .simulated = hip->api->simulated};
    const kt_hip_result result = hip->api->device_get_name(facts.name, sizeof facts.name, hip->device);
    if (result != KT_HIP_SUCCESS)
        return kt_hip_fail(hip->api, result, "asking for the device's name");
    facts.name[sizeof facts.name - 1] = 0;
    const uint32_t major = attribute(hip, KT_HIP_ATTRIBUTE_CAPABILITY_MAJOR);
    const uint32_t minor = attribute(hip, KT_HIP_ATTRIBUTE_CAPABILITY_MINOR);
    const uint32_t khz = attribute(hip, KT_HIP_ATTRIBUTE_WALL_CLOCK_RATE_KHZ);
    if (major != 9 || (minor != 4 && minor != 5))
        return kt_fail(KTRACE_ERROR_UNSUPPORTED,
                       "\"%s\" is a device of version %u.%u: ktrace knows gfx942 (9.4) and gfx950 (9.5)", facts.name,
                       major, minor);
    if (khz && khz != WALL_CLOCK_KHZ)
        return kt_fail(KTRACE_ERROR_UNSUPPORTED,
                       "the wall clock of \"%s\" counts %u kHz, where gfx942 and gfx950 are known to count %u",
                       facts.name, khz, WALL_CLOCK_KHZ);
    facts.ordinal = (uint32_t)hip->device;
    facts.places = attribute(hip, KT_HIP_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    facts.capability = major * 10 + minor;
    identify(&facts.identity, hip);
    const char *target = minor == 5 ? "gfx950" : "gfx942";
    const size_t length = strlen(facts.name);
    if (!strstr(facts.name, target) && length + sizeof " (gfx942)" <= sizeof facts.name)
        snprintf(facts.name + length, sizeof facts.name - length, " (%s)", target);
    *out = facts;
    return KTRACE_OK;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static int hip_allocate(uint64_t *address, struct kt_backend *backend, uint64_t bytes)
{
    struct hip_backend *hip = of(backend);
    int previous;
    if (enter(&previous, hip) < 0)
        return KTRACE_ERROR_DEVICE;
    void *memory = NULL;
    const kt_hip_result result = hip->api->memory_allocate(&memory, bytes);
    char attempted[96];
    snprintf(attempted, sizeof attempted, "allocating %llu bytes of device memory for the capture",
             (unsigned long long)bytes);
    const int status = leave(previous, hip, result, attempted);
    if (status == KTRACE_OK)
        *address = (uint64_t)(uintptr_t)memory;
    return status;
}

static void hip_release(struct kt_backend *backend, uint64_t address)
{
    struct hip_backend *hip = of(backend);
    int previous;
    if (address == 0 || enter(&previous, hip) < 0)
        return;
    hip->api->memory_free(pointer(address));
    leave(previous, hip, KT_HIP_SUCCESS, "");
}

static int hip_clear(struct kt_backend *backend, uint64_t address, uint64_t bytes)
{
    struct hip_backend *hip = of(backend);
    int previous;
    if (enter(&previous, hip) < 0)
        return KTRACE_ERROR_DEVICE;
    kt_hip_result result = hip->api->memory_set(pointer(address), 0, bytes);
    /* The fill is asynchronous: kernels on other streams must not start before it is done. */
    if (result == KT_HIP_SUCCESS)
        result = hip->api->device_synchronize();
    return leave(previous, hip, result, "clearing the capture's buffer");
}

static int hip_to_device(struct kt_backend *backend, uint64_t address, const void *data, uint64_t bytes)
{
    struct hip_backend *hip = of(backend);
    int previous;
    if (enter(&previous, hip) < 0)
        return KTRACE_ERROR_DEVICE;
    return leave(previous, hip, hip->api->copy(pointer(address), data, bytes, KT_HIP_MEMCPY_HOST_TO_DEVICE),
                 "writing to the device");
}

static int stage_rows(void *context, uint64_t address, size_t row_bytes, size_t pitch_bytes, uint64_t rows)
{
    struct hip_backend *hip = context;
    const kt_hip_result result =
        hip->api->copy_2d_async(hip->staging, row_bytes, pointer(address), pitch_bytes, row_bytes, rows,
                                KT_HIP_MEMCPY_DEVICE_TO_HOST, hip->peek_stream);
    return result == KT_HIP_SUCCESS ? hip->api->stream_synchronize(hip->peek_stream) : result;
}

static int hip_to_host(struct kt_backend *backend, void *data, uint64_t address, uint64_t row_bytes,
                       uint64_t pitch_bytes, uint64_t rows, int peek)
{
    struct hip_backend *hip = of(backend);
    int previous;
    if (row_bytes == 0 || rows == 0)
        return KTRACE_OK;
    if (enter(&previous, hip) < 0)
        return KTRACE_ERROR_DEVICE;
    const struct kt_peek by_row = {stage_rows, hip, hip->staging};
    kt_hip_result result;
    if (peek)
        result = kt_peek_rows(&by_row, data, address, row_bytes, pitch_bytes, rows);
    else if (rows == 1 || row_bytes == pitch_bytes)
        result = hip->api->copy(data, pointer(address), row_bytes * rows, KT_HIP_MEMCPY_DEVICE_TO_HOST);
    else
        result = hip->api->copy_2d(data, row_bytes, pointer(address), pitch_bytes, row_bytes, rows,
                                   KT_HIP_MEMCPY_DEVICE_TO_HOST);
    return leave(previous, hip, result, peek ? "peeking at the capture's buffer" : "reading from the device");
}

static int hip_synchronize(struct kt_backend *backend)
{
    struct hip_backend *hip = of(backend);
    int previous;
    if (enter(&previous, hip) < 0)
        return KTRACE_ERROR_DEVICE;
    kt_hip_result result = ask_for_captures(hip);
    if (result == KT_HIP_SUCCESS)
        result = hip->api->device_synchronize();
    char attempted[48];
    snprintf(attempted, sizeof attempted, "waiting for HIP device %d", hip->device);
    return leave(previous, hip, result, attempted);
}

/* ---- Kernels of our own ------------------------------------------------------------------------------------------ */

/* Loaded when they are first needed. */
static kt_hip_result load_service(struct hip_backend *hip)
{
    if (hip->service_module)
        return KT_HIP_SUCCESS;
    const uint32_t minor = attribute(hip, KT_HIP_ATTRIBUTE_CAPABILITY_MINOR);
    const unsigned char *code = minor == 5 ? service_code_gfx950 : service_code_gfx942;
    kt_hip_result result = KT_HIP_SUCCESS;
    if (hip->service_result == NULL)
        result = hip->api->memory_allocate(&hip->service_result, sizeof(struct ktrace_counters));
    if (result == KT_HIP_SUCCESS)
        result = hip->api->module_load_data(&hip->service_module, code);
    if (result == KT_HIP_SUCCESS)
        result = hip->api->module_get_function(&hip->clock_kernel, hip->service_module, "ktrace_read_clock");
    if (result == KT_HIP_SUCCESS)
        result = hip->api->module_get_function(&hip->exchange_kernel, hip->service_module, "ktrace_exchange_counters");
    if (result == KT_HIP_SUCCESS)
        result = hip->api->module_get_function(&hip->survey_kernel, hip->service_module, "ktrace_survey_clock");
    return result;
}

/* Runs one beside all others, and reads what it left in service_result. */
static kt_hip_result serve(struct hip_backend *hip, kt_hip_function kernel, unsigned int blocks, unsigned int threads,
                           void **parameters, void *result, size_t bytes)
{
    kt_hip_result status =
        hip->api->launch_kernel(kernel, blocks, 1, 1, threads, 1, 1, 0, hip->peek_stream, parameters, NULL);
    if (status == KT_HIP_SUCCESS)
        status = hip->api->copy_2d_async(hip->staging, bytes, hip->service_result, bytes, bytes, 1,
                                         KT_HIP_MEMCPY_DEVICE_TO_HOST, hip->peek_stream);
    if (status == KT_HIP_SUCCESS)
        status = hip->api->stream_synchronize(hip->peek_stream);
    if (status == KT_HIP_SUCCESS)
        memcpy(result, hip->staging, bytes);
    return status;
}

static int hip_exchange(struct kt_backend *backend, struct ktrace_counters *before, uint64_t address, uint64_t claims)
{
    struct hip_backend *hip = of(backend);
    int previous;
    if (enter(&previous, hip) < 0)
        return KTRACE_ERROR_DEVICE;
    kt_hip_result result = load_service(hip);
    void *parameters[] = {&address, &claims, &hip->service_result};
    if (result == KT_HIP_SUCCESS)
        result =
            serve(hip, hip->exchange_kernel, KT_SERVICE_BLOCKS, KT_SERVICE_THREADS, parameters, before, sizeof *before);
    return leave(previous, hip, result, "exchanging the capture's counters");
}

/* By a wave of our own, as nothing documents how s_memrealtime relates to a clock that the host can read. */
static int hip_host_anchor(struct kt_host_anchor *out, struct kt_backend *backend)
{
    struct hip_backend *hip = of(backend);
    int previous;
    if (hip->api->simulated)
        return kt_fail(KTRACE_ERROR_UNSUPPORTED, "a simulator's time has nothing to do with the host's");
    if (enter(&previous, hip) < 0)
        return KTRACE_ERROR_DEVICE;
    struct kt_host_anchor anchor;
    uint64_t ticks = 0;
    void *parameters[] = {&hip->service_result};
    kt_hip_result result = load_service(hip);
    anchor.host_before_ns = kt_host_now_ns();
    if (result == KT_HIP_SUCCESS)
        result = serve(hip, hip->clock_kernel, 1, 1, parameters, &ticks, sizeof ticks);
    anchor.host_after_ns = kt_host_now_ns();
    const int status = leave(previous, hip, result, "reading the device's wall clock");
    if (status < 0)
        return status;
    anchor.device_ns = ticks * TICK_NS;
    *out = anchor;
    return KTRACE_OK;
}

KTRACE_STATIC_ASSERT(KT_SURVEY_READINGS == 4096, "as service/amdgcn.c has it");
KTRACE_STATIC_ASSERT(sizeof(struct kt_clock_survey) <= sizeof(struct ktrace_counters), "service_result has room");

static int hip_survey_clocks(struct kt_clock_survey *out, struct kt_backend *backend)
{
    struct hip_backend *hip = of(backend);
    void *parameters[] = {&hip->service_result};
    int previous;
    if (enter(&previous, hip) < 0)
        return KTRACE_ERROR_DEVICE;
    *out = (struct kt_clock_survey){.from_ns = 0};
    kt_hip_result result = load_service(hip);
    if (result == KT_HIP_SUCCESS)
        result = serve(hip, hip->survey_kernel, 1, 1, parameters, out->wall_ns, sizeof out->wall_ns);
    const int status = leave(previous, hip, result, "reading the device's clock with a kernel");
    for (int i = 0; status == KTRACE_OK && i < KT_SURVEY_READINGS; i++)
        out->wall_ns[i] *= TICK_NS;
    return status;
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */

/* Where HSA's loader has the same bytes in host memory; NULL: in no code object. */
static const unsigned char *loaded(const struct hip_backend *hip, uint64_t address)
{
    const void *host = NULL;
    return hip->api->loader.query_host_address(pointer(address), &host) == KT_HIP_SUCCESS ? host : NULL;
}

/* How much lies behind `address` in one piece is found by asking, as the loader has no simpler answer in every version. */
static int hip_range_of(uint64_t *base, uint64_t *bytes, struct kt_backend *backend, uint64_t address)
{
    const struct hip_backend *hip = of(backend);
    const unsigned char *host = loaded(hip, address);
    if (host == NULL)
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "no loaded code object has address 0x%llx", (unsigned long long)address);
    uint64_t sure = 1, beyond = RANGE_BYTES + 1;
    while (beyond - sure > 1) {
        const uint64_t middle = sure + (beyond - sure) / 2;
        if (loaded(hip, address + middle - 1) == host + middle - 1)
            sure = middle;
        else
            beyond = middle;
    }
    *base = address;
    *bytes = sure;
    return KTRACE_OK;
}

static int hip_read_constant(struct kt_backend *backend, void *data, uint64_t address, uint64_t bytes)
{
    const unsigned char *host = loaded(of(backend), address);
    if (host == NULL)
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "no loaded code object has address 0x%llx", (unsigned long long)address);
    memcpy(data, host, bytes);
    return KTRACE_OK;
}

static int find_control(uint64_t *address, const struct kt_hip_api *api, void *module)
{
    void *found = NULL;
    size_t bytes = 0;
    const kt_hip_result result = api->module_get_global(&found, &bytes, module, "ktrace_control_block");
    if (result == KT_HIP_ERROR_NOT_FOUND) {
        kt_hip_forget(api, result);
        return kt_fail(KTRACE_ERROR_NOT_FOUND,
                       "the module has no ktrace control block: compile it with KTRACE_ENABLE=1 and annotate a kernel");
    }
    if (result != KT_HIP_SUCCESS)
        return kt_hip_fail(api, result, "looking for the module's control block");
    *address = (uint64_t)(uintptr_t)found;
    return KTRACE_OK;
}

static int hip_module_control(uint64_t *address, struct kt_backend *backend, void *module)
{
    struct hip_backend *hip = of(backend);
    int previous;
    if (enter(&previous, hip) < 0)
        return KTRACE_ERROR_DEVICE;
    const int status = find_control(address, hip->api, module);
    leave(previous, hip, KT_HIP_SUCCESS, "");
    return status;
}

/* Owners are devices, from 1. */
int kt_hip_module_check(uint64_t *owner, void *module)
{
    const struct kt_hip_api *api;
    uint64_t address;
    int device = 0;
    int status = kt_hip_api_open(&api);
    if (status == KTRACE_OK)
        status = find_control(&address, api, module);
    if (status < 0)
        return status;
    const kt_hip_result result = api->device_current(&device);
    if (result != KT_HIP_SUCCESS)
        return kt_hip_fail(api, result, "asking for the current HIP device");
    *owner = (uint64_t)device + 1;
    return KTRACE_OK;
}

static int hip_registered_control(uint64_t *address, struct kt_backend *backend,
                                  const struct ktrace_registration *registration)
{
    struct hip_backend *hip = of(backend);
    int previous;
    if (enter(&previous, hip) < 0)
        return KTRACE_ERROR_DEVICE;
    void *symbol = NULL;
    const int error = registration->symbol_address(&symbol, registration->symbol);
    leave(previous, hip, KT_HIP_SUCCESS, "");
    if (error != 0)
        return kt_fail(KTRACE_ERROR_DEVICE,
                       "%s: the HIP runtime cannot load this object's kernels on the capture's device (error %d); was "
                       "it compiled for this architecture?",
                       registration->file, error);
    *address = (uint64_t)(uintptr_t)symbol;
    return KTRACE_OK;
}

static const struct kt_backend_ops hip_ops = {
    .name = "hip",
    .close = hip_close,
    .facts = hip_facts,
    .allocate = hip_allocate,
    .release = hip_release,
    .clear = hip_clear,
    .to_device = hip_to_device,
    .to_host = hip_to_host,
    .exchange = hip_exchange,
    .synchronize = hip_synchronize,
    .range_of = hip_range_of,
    .read_constant = hip_read_constant,
    .module_control = hip_module_control,
    .registered_control = hip_registered_control,
    .host_anchor = hip_host_anchor,
    .survey_clocks = hip_survey_clocks,
};

/* `ordinal` < 0: the current one. */
static int open_hip(struct kt_backend **out, int ordinal)
{
    const struct kt_hip_api *api;
    int status = kt_hip_api_open(&api), previous;
    if (status < 0)
        return status;
    struct hip_backend *hip = calloc(1, sizeof *hip);
    if (hip == NULL)
        return kt_fail_memory(sizeof *hip);
    hip->base.ops = &hip_ops;
    hip->api = api;
    kt_hip_result result = api->device_current(&hip->device);
    if (result != KT_HIP_SUCCESS) {
        free(hip);
        return kt_hip_fail(api, result, "asking for the current HIP device");
    }
    if (ordinal >= 0)
        hip->device = ordinal;
    hip->base.owner = (uint64_t)hip->device + 1;
    status = enter(&previous, hip);
    if (status < 0) {
        free(hip);
        return status;
    }
    result = ask_for_captures(hip);
    if (result == KT_HIP_SUCCESS)
        result = api->stream_create(&hip->peek_stream, KT_HIP_STREAM_NON_BLOCKING);
    if (result == KT_HIP_SUCCESS)
        result = api->host_allocate(&hip->staging, KT_STAGING_BYTES, 0);
    status = leave(previous, hip, result, "preparing the capture's stream");
    if (status < 0) {
        hip_close(&hip->base);
        return status;
    }
    *out = &hip->base;
    return KTRACE_OK;
}

static int hip_open_current(struct kt_backend **out)
{
    return open_hip(out, -1);
}

static int hip_open_device(struct kt_backend **out, uint32_t ordinal)
{
    return open_hip(out, (int)ordinal);
}

static int hip_open_owner(struct kt_backend **out, uint64_t owner)
{
    return open_hip(out, (int)owner - 1);
}

static int hip_device_count(uint32_t *count)
{
    const struct kt_hip_api *api;
    int devices = 0;
    const int status = kt_hip_api_open(&api);
    if (status < 0)
        return status;
    const kt_hip_result result = api->device_count(&devices);
    *count = result == KT_HIP_SUCCESS && devices > 0 ? (uint32_t)devices : 0;
    return result == KT_HIP_SUCCESS ? KTRACE_OK : kt_hip_fail(api, result, "counting the HIP devices");
}

static int hip_is_in_use(uint32_t ordinal)
{
    const struct kt_hip_api *api;
    unsigned int flags;
    int active = 0;
    if (kt_hip_api_open(&api) < 0)
        return 0;
    kt_hip_forget(api, api->primary_get_state((int)ordinal, &flags, &active));
    return active;
}

const struct kt_runtime kt_hip_runtime = {
    .name = "hip",
    .arch = KTRACE_ARCH_AMDGCN,
    .open_current = hip_open_current,
    .open_device = hip_open_device,
    .open_owner = hip_open_owner,
    .device_count = hip_device_count,
    .is_in_use = hip_is_in_use,
};
