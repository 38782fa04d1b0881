/* capture_devices.c - the devices of a capture: opened, waited for, armed, closed. */
#include "capture_state.h"
#include "error.h"
#include "locks.h"

/* The latest number that a module was given, by any capture of this process: what two of them recorded can become one trace.
 * Under the state lock, as arming is. */
static uint32_t latest_module;

/* A recorder on the idle device of `backend`, which it takes over. */
static int open_recorder(struct kt_recorder **out, struct ktrace_capture *capture, struct kt_backend *backend)
{
    const struct kt_settings *settings = &capture->settings;
    const struct kt_recording recording = {.buffer_bytes = settings->buffer_bytes,
                                           .events_per_wave = settings->events_per_wave,
                                           .events_per_lane = settings->events_per_lane,
                                           .keep_last = settings->keep_last,
                                           .filter = settings->filter};
    const int status = backend->ops->synchronize(backend);
    if (status < 0) {
        backend->ops->close(backend);
        return status;
    }
    return kt_recorder_open(out, backend, &recording, &latest_module);
}

static int has_owner(const struct ktrace_capture *capture, uint64_t owner)
{
    for (uint32_t i = 0; i < capture->recorder_count; i++)
        if (capture->recorders[i]->backend->owner == owner)
            return 1;
    return 0;
}

static int has_ordinal(const struct ktrace_capture *capture, uint32_t ordinal)
{
    for (uint32_t i = 0; i < capture->recorder_count; i++)
        if (capture->recorders[i]->facts.ordinal == ordinal)
            return 1;
    return 0;
}

/* With the state lock held, or of a capture that nobody else knows. */
static int add(struct ktrace_capture *capture, struct kt_recorder *recorder)
{
    const uint32_t count = capture->recorder_count;
    if (count == KT_MAX_DEVICES) {
        kt_recorder_close(recorder, 0);
        return kt_fail(KTRACE_ERROR_UNSUPPORTED, "a capture records at most %d devices", KT_MAX_DEVICES);
    }
    capture->recorders[count] = recorder;
    __atomic_store_n(&capture->recorder_count, count + 1, __ATOMIC_RELEASE);
    return KTRACE_OK;
}

/* Adds the devices that the settings choose and that are not there. */
static int add_chosen(struct ktrace_capture *capture)
{
    uint32_t devices;
    if (capture->runtime == NULL)
        return KTRACE_OK;
    int status = capture->runtime->device_count(&devices);
    if (status == KTRACE_OK)
        status = kt_device_choice_check(&capture->settings.devices, devices);
    for (uint32_t i = 0; status == KTRACE_OK && i < devices; i++) {
        struct kt_backend *backend = NULL;
        struct kt_recorder *recorder = NULL;
        if (has_ordinal(capture, i) || !kt_device_chosen(&capture->settings.devices, i, capture->runtime->is_in_use(i)))
            continue;
        status = capture->runtime->open_device(&backend, i);
        if (status == KTRACE_OK)
            status = open_recorder(&recorder, capture, backend);
        if (status < 0)
            return status;
        kt_state_lock();
        status = add(capture, recorder);
        kt_state_unlock();
    }
    return status;
}

/* The current device's, which a list may leave out. */
static int add_given(struct ktrace_capture *capture, struct kt_backend *backend)
{
    struct kt_device_facts facts;
    struct kt_recorder *recorder = NULL;
    int status = backend->ops->facts(&facts, backend);
    if (status < 0 || (capture->runtime && !kt_device_chosen(&capture->settings.devices, facts.ordinal, 1))) {
        backend->ops->close(backend);
        return status;
    }
    status = open_recorder(&recorder, capture, backend);
    return status < 0 ? status : add(capture, recorder);
}

int kt_capture_open_devices(struct ktrace_capture *capture, struct kt_backend *const *backends, uint32_t count)
{
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < count; i++) {
        if (status == KTRACE_OK)
            status = add_given(capture, backends[i]);
        else
            backends[i]->ops->close(backends[i]);
    }
    if (status == KTRACE_OK)
        status = add_chosen(capture);
    if (status == KTRACE_OK && capture->recorder_count == 0)
        status = kt_fail(KTRACE_ERROR_ARGUMENT, "%s chooses no device that is there", capture->settings.devices.who);
    return status;
}

void kt_capture_add_devices(struct ktrace_capture *capture)
{
    const uint32_t before = capture->recorder_count;
    if (capture->settings.devices.kind == KT_DEVICES_ACTIVE)
        add_chosen(capture);
    kt_state_lock(); /* a peek reads it */
    capture->devices_late += capture->recorder_count - before;
    kt_state_unlock();
}

void kt_capture_close_devices(struct ktrace_capture *capture, int keep_memory)
{
    kt_state_lock();
    const uint32_t count = capture->recorder_count;
    __atomic_store_n(&capture->recorder_count, 0, __ATOMIC_RELEASE);
    kt_state_unlock();
    for (uint32_t i = 0; i < count; i++)
        kt_recorder_close(capture->recorders[i], keep_memory);
}

int kt_capture_wait(const struct ktrace_capture *capture)
{
    const uint32_t count = __atomic_load_n(&capture->recorder_count, __ATOMIC_ACQUIRE);
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < count && status == KTRACE_OK; i++)
        status = capture->recorders[i]->backend->ops->synchronize(capture->recorders[i]->backend);
    return status;
}

/* ---- Arming --------------------------------------------------------------------------------------------------------- */

int kt_capture_arm(struct ktrace_capture *capture)
{
    const uint32_t before = latest_module;
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < capture->recorder_count && status == KTRACE_OK; i++)
        status = kt_arming_update(&capture->recorders[i]->arming);
    if (capture->recorder_count)
        capture->modules_late += (latest_module - before) / capture->recorder_count;
    return status;
}

/* All are tried; the first failure is returned. */
static int for_each_arming(struct ktrace_capture *capture, int (*act)(struct kt_arming *arming))
{
    struct kt_failure failure = {.status = KTRACE_OK};
    for (uint32_t i = 0; i < capture->recorder_count; i++) {
        const int status = act(&capture->recorders[i]->arming);
        if (status < 0 && failure.status == KTRACE_OK)
            failure = kt_failure_keep(status);
    }
    return failure.status < 0 ? kt_fail_again(&failure) : KTRACE_OK;
}

int kt_capture_disarm(struct ktrace_capture *capture)
{
    capture->disarmed = 1;
    return for_each_arming(capture, kt_arming_disarm);
}

int kt_capture_rearm(struct ktrace_capture *capture)
{
    capture->disarmed = 0;
    const int status = for_each_arming(capture, kt_arming_rearm);
    return status < 0 ? status : kt_capture_arm(capture);
}

static int module_attached(struct kt_registry_listener *listener, struct kt_registry_entry *entry)
{
    struct ktrace_capture *capture = (struct ktrace_capture *)listener;
    int status = KTRACE_OK;
    if (capture->disarmed || entry->arch != capture->recorders[0]->facts.arch)
        return KTRACE_OK;
    if (capture->runtime && !has_owner(capture, entry->owner) &&
        capture->settings.devices.kind != KT_DEVICES_LIST) { /* the first of a device that was not in use */
        struct kt_backend *backend = NULL;
        struct kt_recorder *recorder = NULL;
        status = capture->runtime->open_owner(&backend, entry->owner);
        if (status == KTRACE_OK)
            status = open_recorder(&recorder, capture, backend);
        if (status == KTRACE_OK)
            status = add(capture, recorder);
    }
    for (uint32_t i = 0; i < capture->recorder_count && status == KTRACE_OK; i++)
        status = kt_arming_add(&capture->recorders[i]->arming, entry);
    return status;
}

static void module_detached(struct kt_registry_listener *listener, struct kt_registry_entry *entry)
{
    struct ktrace_capture *capture = (struct ktrace_capture *)listener;
    for (uint32_t i = 0; i < capture->recorder_count; i++)
        kt_arming_remove(&capture->recorders[i]->arming, entry);
}

void kt_capture_listen(struct ktrace_capture *capture)
{
    if (capture) {
        capture->listener.attached = module_attached;
        capture->listener.detached = module_detached;
    }
    kt_registry_listen(capture ? &capture->listener : NULL);
}
