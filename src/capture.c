/* capture.c - captures: begin, clear, read, snapshot, peek, stop, and who is armed when. */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

#include "backend_choice.h"
#include "error.h"
#include "explain.h"
#include "locks.h"
#include "log.h"
#include "process_wide.h"
#include "settings.h"
#include "trace.h"

enum phase {
    ARMED,   /* modules record into it */
    RESTING, /* in the background, while another capture is armed */
    ENDED    /* holds no device any more */
};

struct ktrace_capture {
    struct kt_registry_listener listener; /* first: the registry hands it back */
    struct ktrace_capture *next;          /* in `live` */
    struct kt_settings settings;
    const struct kt_runtime *runtime; /* NULL: devices are not added */
    enum phase phase;
    struct kt_recorder *recorders[KT_MAX_DEVICES]; /* grows only, under the state lock, until it ends */
    uint32_t recorder_count;                       /* atomic: is raised behind the pointer */
    uint32_t next_module;
    uint32_t modules_late, devices_late; /* armed after begin, and not yet spoken of */

    struct kt_snapshot *taken; /* of recorders, by a gathering that has not come to its end; or NULL */
    struct kt_usage usage;     /* of the same, summed */
    struct ktrace_trace
        *shown; /* what was recorded since the last read or clear, as far as it was looked at, if `growing`; else
                                   what the last read handed over; or NULL. Under the operation lock, as the two above */
    int growing;
};

/* All under the state lock, and changed under the operation lock as well. */
static struct ktrace_capture *live;       /* all that were not destroyed */
static struct ktrace_capture *window;     /* the one between begin and stop */
static struct ktrace_capture *armed;      /* the one in phase ARMED */
static struct ktrace_capture *background; /* of process-wide collection */
static int active;                        /* a window is open, or the background is there: read without a lock */

int ktrace_active(void)
{
    return __atomic_load_n(&active, __ATOMIC_RELAXED) || kt_process_wide_wanted();
}

static void note_active(void)
{
    __atomic_store_n(&active, window != NULL || background != NULL, __ATOMIC_RELAXED);
}

static uint32_t recorder_count(const struct ktrace_capture *capture)
{
    return __atomic_load_n(&capture->recorder_count, __ATOMIC_ACQUIRE);
}

void kt_capture_forget(void)
{
    live = window = armed = background = NULL;
    kt_registry_listen(NULL);
    note_active();
}

const char *kt_capture_directory(const struct ktrace_capture *capture)
{
    return capture->settings.directory;
}

/* ---- Devices ---------------------------------------------------------------------------------------------------- */

/* Takes over `backend`, whose device is idle afterwards. With the operation lock held, or the state lock. */
static int add_recorder(struct ktrace_capture *capture, struct kt_backend *backend)
{
    const struct kt_settings *settings = &capture->settings;
    const struct kt_recording recording = {.buffer_bytes = settings->buffer_bytes,
                                           .events_per_wave = settings->events_per_wave,
                                           .events_per_lane = settings->events_per_lane,
                                           .keep_last = settings->keep_last,
                                           .filter = settings->filter};
    struct kt_recorder *recorder = NULL;
    int status = backend->ops->synchronize(backend);
    if (status == KTRACE_OK && capture->recorder_count == KT_MAX_DEVICES)
        status = kt_fail(KTRACE_ERROR_UNSUPPORTED, "a capture records at most %d devices", KT_MAX_DEVICES);
    if (status < 0) {
        backend->ops->close(backend);
        return status;
    }
    status = kt_recorder_open(&recorder, backend, &recording, &capture->next_module);
    if (status < 0)
        return status;
    capture->recorders[capture->recorder_count] = recorder;
    __atomic_store_n(&capture->recorder_count, capture->recorder_count + 1, __ATOMIC_RELEASE);
    return KTRACE_OK;
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

/* Adds the devices that the settings choose and that are not there. */
static int add_chosen(struct ktrace_capture *capture)
{
    uint32_t devices;
    if (capture->runtime == NULL)
        return KTRACE_OK;
    int status = capture->runtime->device_count(&devices);
    if (status == KTRACE_OK)
        status = kt_device_choice_check(&capture->settings.devices, devices);
    for (uint32_t i = 0; i < devices && status == KTRACE_OK; i++) {
        struct kt_backend *backend = NULL;
        if (has_ordinal(capture, i) || !kt_device_chosen(&capture->settings.devices, i, capture->runtime->is_in_use(i)))
            continue;
        status = capture->runtime->open_device(&backend, i);
        if (status == KTRACE_OK)
            status = add_recorder(capture, backend);
    }
    return status;
}

/* The first backend is the current device's, which a list may leave out. */
static int add_first(struct ktrace_capture *capture, struct kt_backend *backend)
{
    struct kt_device_facts facts;
    int status = backend->ops->facts(&facts, backend);
    if (status == KTRACE_OK &&
        (capture->runtime == NULL || kt_device_chosen(&capture->settings.devices, facts.ordinal, 1)))
        return add_recorder(capture, backend);
    backend->ops->close(backend);
    return status;
}

static int add_devices(struct ktrace_capture *capture, struct kt_backend *const *backends, uint32_t count)
{
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < count; i++) {
        if (status == KTRACE_OK)
            status = add_first(capture, backends[i]);
        else
            backends[i]->ops->close(backends[i]);
    }
    if (status == KTRACE_OK)
        status = add_chosen(capture);
    if (status == KTRACE_OK && capture->recorder_count == 0)
        status = kt_fail(KTRACE_ERROR_ARGUMENT, "%s chooses no device that is there", capture->settings.devices.who);
    return status;
}

static int wait_for_devices(const struct ktrace_capture *capture)
{
    const uint32_t count = recorder_count(capture);
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < count && status == KTRACE_OK; i++)
        status = capture->recorders[i]->backend->ops->synchronize(capture->recorders[i]->backend);
    return status;
}

/* ---- Arming, with the state lock held ------------------------------------------------------------------------------ */

static int arm_known(struct ktrace_capture *capture)
{
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < capture->recorder_count && status == KTRACE_OK; i++)
        status = kt_arming_update(&capture->recorders[i]->arming);
    return status;
}

/* What came after begin: modules, and with a lock less, devices. */
static int arm_newcomers(struct ktrace_capture *capture)
{
    const uint32_t before = capture->next_module;
    const int status = arm_known(capture);
    capture->modules_late += (capture->next_module - before) / capture->recorder_count;
    return status;
}

static int disarm(struct ktrace_capture *capture)
{
    int first_status = KTRACE_OK;
    for (uint32_t i = 0; i < capture->recorder_count; i++) {
        const int status = kt_arming_disarm(&capture->recorders[i]->arming);
        if (first_status == KTRACE_OK)
            first_status = status;
    }
    return first_status;
}

static int module_attached(struct kt_registry_listener *listener, struct kt_registry_entry *entry)
{
    struct ktrace_capture *capture = (struct ktrace_capture *)listener;
    int status = KTRACE_OK;
    if (entry->arch != capture->recorders[0]->facts.arch)
        return KTRACE_OK;
    if (capture->runtime && !has_owner(capture, entry->owner) &&
        capture->settings.devices.kind != KT_DEVICES_LIST) { /* the first of a device that was not in use */
        struct kt_backend *backend = NULL;
        status = capture->runtime->open_owner(&backend, entry->owner);
        if (status == KTRACE_OK)
            status = add_recorder(capture, backend);
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

static void set_armed(struct ktrace_capture *capture)
{
    armed = capture;
    if (capture)
        capture->phase = ARMED;
    kt_registry_listen(capture ? &capture->listener : NULL);
}

/* ---- Gathering: what was recorded becomes a snapshot, with the operation lock held ---------------------------------- */

enum then { GO_ON, REST, END };

static void add_usage(struct kt_usage *sum, const struct kt_usage *usage)
{
    sum->waves_recorded += usage->waves_recorded;
    sum->waves_dropped += usage->waves_dropped;
    sum->waves_filtered += usage->waves_filtered;
    sum->headers_missing += usage->headers_missing;
}

/* Adds a part to `*sum`, which may be NULL. Takes it over. */
static int add_part(struct kt_snapshot **sum, struct kt_snapshot *part)
{
    if (*sum == NULL) {
        *sum = part;
        return KTRACE_OK;
    }
    const int status = kt_snapshot_append(*sum, part);
    if (status < 0)
        kt_snapshot_destroy(part);
    return status;
}

static int fail_on_device(const struct ktrace_capture *capture, const struct kt_recorder *recorder, int status)
{
    const struct kt_failure failure = kt_failure_keep(status);
    if (capture->recorder_count == 1)
        return status;
    return kt_fail(status, "device %u (%s): %.900s", recorder->facts.ordinal, recorder->facts.name, failure.sentence);
}

/* All parts are taken, so that each device is clean, also when one fails. `everything`: not only what is left. */
static int take_parts(struct ktrace_capture *capture, int everything)
{
    struct kt_failure failure = {.status = KTRACE_OK};
    for (uint32_t i = 0; i < capture->recorder_count; i++) {
        struct kt_recorder *recorder = capture->recorders[i];
        struct kt_snapshot *part = NULL;
        struct kt_usage usage = {0};
        if (!recorder->has_left && !everything)
            continue;
        int status = kt_recorder_take(&part, &usage, recorder);
        add_usage(&capture->usage, &usage);
        status = status < 0 ? fail_on_device(capture, recorder, status) : add_part(&capture->taken, part);
        if (status < 0 && failure.status == KTRACE_OK)
            failure = kt_failure_keep(status);
    }
    return failure.status < 0 ? kt_fail_again(&failure) : KTRACE_OK;
}

/* Waves that start after this are of the next gathering. */
static int turn(struct ktrace_capture *capture)
{
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < capture->recorder_count && status == KTRACE_OK; i++)
        status = kt_recorder_turn(capture->recorders[i]);
    return status;
}

static void forget_taken(struct ktrace_capture *capture)
{
    kt_snapshot_destroy(capture->taken);
    capture->taken = NULL;
    capture->usage = (struct kt_usage){0};
}

static int finish_snapshot(struct kt_snapshot *snapshot, struct ktrace_capture *capture, const struct kt_usage *usage)
{
    const struct kt_explanation about = {.recorders = (const struct kt_recorder *const *)capture->recorders,
                                         .recorder_count = capture->recorder_count,
                                         .usage = *usage,
                                         .modules_late = capture->modules_late,
                                         .devices_late = capture->devices_late};
    char *name = strdup(capture->settings.name), *warning = kt_explain(&about);
    if (!name || !warning) {
        free(name);
        free(warning);
        return kt_fail_memory(1024);
    }
    free(snapshot->name);
    free(snapshot->warning);
    snapshot->name = name;
    snapshot->warning = warning;
    return KTRACE_OK;
}

/* With the state lock held. */
static int hand_over(struct kt_snapshot **out, struct ktrace_capture *capture)
{
    const int status = finish_snapshot(capture->taken, capture, &capture->usage);
    if (status < 0)
        return status;
    *out = capture->taken;
    capture->taken = NULL;
    capture->usage = (struct kt_usage){0};
    capture->modules_late = capture->devices_late = 0;
    return KTRACE_OK;
}

/* Devices that came into use since. What cannot be added is left out: the others are still right. */
static void add_newcomers(struct ktrace_capture *capture)
{
    const uint32_t before = capture->recorder_count;
    if (capture->settings.devices.kind == KT_DEVICES_ACTIVE)
        add_chosen(capture);
    capture->devices_late += capture->recorder_count - before;
}

/* Everything that was recorded since the last gathering. Every wave is in exactly one, also if it starts meanwhile. Of a
 * capture that is to rest or to end the modules are disarmed; `*disarmed` says whether that failed. KTRACE_ERROR_STATE before
 * that: nothing was touched. */
static int gather(struct kt_snapshot **out, int *disarmed, struct ktrace_capture *capture, enum then then)
{
    int status = wait_for_devices(capture);
    if (status < 0)
        return status;
    kt_state_lock();
    if (then == GO_ON)
        add_newcomers(capture);
    for (uint32_t i = 0; i < capture->recorder_count; i++)
        kt_recorder_anchor(capture->recorders[i]);
    if (then == GO_ON)
        status = arm_newcomers(capture);
    else
        *disarmed = disarm(capture);
    if (status == KTRACE_OK) /* what an earlier one turned from and could not wait for */
        status = take_parts(capture, 0);
    if (status == KTRACE_OK && then != END)
        status = turn(capture);
    kt_state_unlock();
    if (status == KTRACE_OK)
        status = wait_for_devices(capture);
    if (status == KTRACE_ERROR_STATE && then == GO_ON)
        return status; /* a graph is captured since a moment ago: the rest is for the next one */
    kt_state_lock();
    if (status == KTRACE_OK)
        status = take_parts(capture, then == END);
    if (status == KTRACE_OK)
        status = hand_over(out, capture);
    if (status < 0)
        forget_taken(capture);
    kt_state_unlock();
    return status;
}

/* ---- What a capture shows, with the operation lock held ------------------------------------------------------------- */

static int is_empty(const struct kt_snapshot *snapshot)
{
    return snapshot->wave_count == 0 && snapshot->waves_filtered == 0 && snapshot->waves_dropped == 0;
}

/* `fresh` behind what is growing, if that holds anything. Takes it over. */
static int join(struct kt_snapshot **out, const struct ktrace_capture *capture, struct kt_snapshot *fresh)
{
    struct kt_snapshot *sum = NULL;
    *out = fresh;
    if (!capture->growing || is_empty(capture->shown->snapshot))
        return KTRACE_OK;
    int status = kt_snapshot_copy(&sum, capture->shown->snapshot);
    if (status == KTRACE_OK && is_empty(fresh))
        kt_snapshot_destroy(fresh);
    else if (status == KTRACE_OK)
        status = kt_snapshot_append(sum, fresh);
    if (status < 0) {
        kt_snapshot_destroy(sum);
        kt_snapshot_destroy(fresh);
    }
    *out = sum;
    return status;
}

/* `fresh` is shown from now on, with what is growing. Takes it over. */
static int show(struct ktrace_capture *capture, struct kt_snapshot *fresh, int growing)
{
    struct kt_snapshot *sum;
    struct ktrace_trace *trace = NULL;
    int status = join(&sum, capture, fresh);
    if (status == KTRACE_OK)
        status = kt_trace_from_snapshot(&trace, sum);
    if (status < 0)
        return status;
    ktrace_trace_destroy(capture->shown);
    capture->shown = trace;
    capture->growing = growing;
    return KTRACE_OK;
}

/* The same, but what is shown stays if nothing is new. */
static int show_news(struct ktrace_capture *capture, struct kt_snapshot *fresh)
{
    if (capture->shown == NULL || !is_empty(fresh))
        return show(capture, fresh, 1);
    kt_snapshot_destroy(fresh);
    return KTRACE_OK;
}

static void show_nothing(struct ktrace_capture *capture)
{
    ktrace_trace_destroy(capture->shown);
    capture->shown = NULL;
    capture->growing = 0;
}

/* ---- The life of a capture ------------------------------------------------------------------------------------------ */

static int is_live(const struct ktrace_capture *capture)
{
    const struct ktrace_capture *other = live;
    while (other && other != capture)
        other = other->next;
    return other != NULL;
}

/* With the state lock held. */
static int check_live(const struct ktrace_capture *capture, const char *call)
{
    if (capture == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "%s: the capture is NULL", call);
    if (!is_live(capture))
        return kt_fail(KTRACE_ERROR_STATE, "%s: this capture has ended", call);
    return KTRACE_OK;
}

/* The same, and it records. */
static int check_records(const struct ktrace_capture *capture, const char *call)
{
    const int status = check_live(capture, call);
    if (status == KTRACE_OK && capture != armed)
        return kt_fail(KTRACE_ERROR_STATE,
                       "%s: this capture has been stopped and records nothing any more: begin it with stay_armed to "
                       "read replays after its end, or use ktrace_capture_snapshot",
                       call);
    return status;
}

/* With the operation lock held, so that it stays so. */
static int check_locked(const struct ktrace_capture *capture, const char *call,
                        int (*check)(const struct ktrace_capture *capture, const char *call))
{
    kt_state_lock();
    const int status = check(capture, call);
    kt_state_unlock();
    return status;
}

int kt_capture_check_no_window(const char *call)
{
    kt_state_lock();
    const int status =
        window == NULL
            ? KTRACE_OK
            : kt_fail(KTRACE_ERROR_STATE, "%s: a capture (\"%s\") is open already: %s", call, window->settings.name,
                      strcmp(call, "ktrace_capture_begin") == 0
                          ? "captures do not nest; end it first"
                          : "process-wide collection rests meanwhile; use the capture's own calls");
    kt_state_unlock();
    return status;
}

/* With the state lock held: nothing points to entries that are gone. */
static void sweep(void)
{
    if (armed == NULL && background == NULL)
        kt_registry_sweep();
}

/* `keep_memory`: modules may still record into it. */
static void release_devices(struct ktrace_capture *capture, int keep_memory)
{
    kt_state_lock();
    const uint32_t count = capture->recorder_count;
    capture->phase = ENDED;
    __atomic_store_n(&capture->recorder_count, 0, __ATOMIC_RELEASE);
    kt_state_unlock();
    for (uint32_t i = 0; i < count; i++)
        kt_recorder_close(capture->recorders[i], keep_memory);
    kt_state_lock();
    sweep();
    kt_state_unlock();
}

static void free_capture(struct ktrace_capture *capture)
{
    forget_taken(capture);
    show_nothing(capture);
    kt_settings_release(&capture->settings);
    free(capture);
}

/* Once nothing else is armed, what rests goes on. */
static void resume_background(void)
{
    int status = KTRACE_OK;
    kt_state_lock();
    struct ktrace_capture *capture = armed == NULL ? background : NULL;
    if (capture) {
        for (uint32_t i = 0; i < capture->recorder_count; i++) {
            const int rearmed = kt_arming_rearm(&capture->recorders[i]->arming);
            status = status < 0 ? status : rearmed;
        }
        const int known = arm_known(capture);
        status = status < 0 ? status : known;
        set_armed(capture);
    }
    kt_state_unlock();
    if (status < 0)
        kt_log("process-wide collection could not go on for every module: %s", ktrace_last_error());
}

/* What is armed makes room for a capture that begins. KTRACE_ERROR_STATE: it is as it was. Other failures cost what it had
 * recorded, which the log is told. */
static int make_room(void)
{
    struct ktrace_capture *capture = armed;
    struct kt_snapshot *fresh = NULL;
    int disarmed = KTRACE_OK;
    if (capture == NULL)
        return KTRACE_OK;
    const int lingers = capture != background;
    int status = gather(&fresh, &disarmed, capture, lingers ? END : REST);
    if (status == KTRACE_ERROR_STATE)
        return status;
    if (status == KTRACE_OK)
        status = show_news(capture, fresh);
    if (status < 0)
        kt_log("what was recorded before the capture began is lost: %s", ktrace_last_error());
    kt_state_lock();
    set_armed(NULL);
    capture->phase = RESTING;
    kt_state_unlock();
    if (lingers)
        release_devices(capture, disarmed < 0);
    return disarmed;
}

static void link_live(struct ktrace_capture *capture)
{
    capture->next = live;
    live = capture;
}

static void unlink_live(struct ktrace_capture *capture)
{
    struct ktrace_capture **link = &live;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
}

/* Opens the devices and arms them. With the operation lock held; nothing is armed. Takes over the backends. */
static int start(struct ktrace_capture *capture, struct kt_backend *const *backends, uint32_t count, int is_background)
{
    int disarmed = KTRACE_OK;
    int status = add_devices(capture, backends, count);
    kt_state_lock();
    sweep();
    if (status == KTRACE_OK)
        status = arm_known(capture);
    if (status < 0) {
        const struct kt_failure failure = kt_failure_keep(status);
        disarmed = disarm(capture);
        kt_fail_again(&failure);
    } else {
        link_live(capture);
        set_armed(capture);
        *(is_background ? &background : &window) = capture;
        note_active();
    }
    kt_state_unlock();
    if (status < 0) {
        const struct kt_failure failure = kt_failure_keep(status);
        release_devices(capture, disarmed < 0);
        kt_fail_again(&failure);
    }
    return status;
}

enum kind { WINDOW, BACKGROUND, BACKGROUND_IF_FREE };

static int lock_to_begin(enum kind kind)
{
    if (kind != BACKGROUND_IF_FREE)
        kt_operation_lock();
    else if (!kt_operation_trylock())
        return kt_fail(KTRACE_ERROR_STATE, "another thread is at a capture");
    return KTRACE_OK;
}

/* With the operation lock held. Takes over the backends where it counts them down. */
static int begin_locked(struct ktrace_capture *capture, struct kt_backend *const *backends, uint32_t *count,
                        enum kind kind)
{
    int status = kt_capture_check_no_window("ktrace_capture_begin");
    if (status == KTRACE_OK && kind != WINDOW && background)
        status = kt_fail(KTRACE_ERROR_STATE, "process-wide collection is on already");
    if (status == KTRACE_OK)
        status = make_room();
    if (status < 0)
        return status;
    status = start(capture, backends, *count, kind != WINDOW);
    *count = 0;
    if (status < 0) {
        const struct kt_failure failure = kt_failure_keep(status);
        resume_background();
        kt_fail_again(&failure);
    }
    return status;
}

static int begin(struct ktrace_capture **out, struct kt_backend *const *backends, uint32_t count,
                 const struct ktrace_capture_options *options, enum kind kind)
{
    struct kt_backend *chosen = NULL;
    struct ktrace_capture *capture = calloc(1, sizeof *capture);
    int status = capture ? kt_settings_make(&capture->settings, options) : kt_fail_memory(sizeof *capture);
    if (status == KTRACE_OK)
        status = kt_capture_check_no_window("ktrace_capture_begin"); /* before waiting for whoever reads it */
    if (status == KTRACE_OK && backends == NULL) {
        status = kt_backend_choose(&chosen, capture->settings.backend);
        backends = &chosen;
        count = status == KTRACE_OK;
        capture->runtime = status == KTRACE_OK ? kt_backend_runtime_of(chosen) : NULL;
    }
    if (status == KTRACE_OK) {
        capture->listener.attached = module_attached;
        capture->listener.detached = module_detached;
        status = lock_to_begin(kind);
    }
    if (status == KTRACE_OK) {
        status = begin_locked(capture, backends, &count, kind);
        kt_operation_unlock();
    }
    if (status < 0) {
        for (uint32_t i = 0; i < count; i++)
            backends[i]->ops->close(backends[i]);
        if (capture) {
            const struct kt_failure failure = kt_failure_keep(status);
            free_capture(capture);
            kt_fail_again(&failure);
        }
        return status;
    }
    *out = capture;
    return KTRACE_OK;
}

int ktrace_capture_begin(struct ktrace_capture **out, const struct ktrace_capture_options *options)
{
    if (out == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_capture_begin: `out` is NULL");
    kt_process_wide_start(); /* it rests meanwhile */
    return begin(out, NULL, 0, options, WINDOW);
}

int kt_capture_begin_on(struct ktrace_capture **out, struct kt_backend *const *backends, uint32_t count,
                        const struct ktrace_capture_options *options)
{
    return begin(out, backends, count, options, WINDOW);
}

int kt_capture_begin_background(struct ktrace_capture **out, const struct ktrace_capture_options *options, int if_free)
{
    return begin(out, NULL, 0, options, if_free ? BACKGROUND_IF_FREE : BACKGROUND);
}

void kt_capture_arm_now(struct ktrace_capture *capture)
{
    if (!kt_state_trylock())
        return;
    if (capture == armed && arm_newcomers(capture) < 0)
        kt_log("process-wide collection could not arm a module: %s", ktrace_last_error());
    kt_state_unlock();
}

/* Ends the window. `stay`: what is armed stays so. With the operation lock held. */
static int close_window(struct ktrace_capture *capture, struct kt_snapshot **fresh, int stay)
{
    int disarmed = KTRACE_OK;
    int status = gather(fresh, &disarmed, capture, stay ? GO_ON : END);
    if (status == KTRACE_ERROR_STATE)
        return status;
    kt_state_lock();
    window = NULL;
    if (!stay)
        set_armed(NULL);
    note_active();
    kt_state_unlock();
    if (stay)
        return status;
    const struct kt_failure failure = kt_failure_keep(status);
    release_devices(capture, disarmed < 0);
    resume_background();
    if (failure.status == KTRACE_OK && disarmed < 0) {
        kt_snapshot_destroy(*fresh);
        *fresh = NULL;
        return kt_fail(disarmed, "the capture ended, but modules may still record, so its buffer stays allocated: "
                                 "they could not be disarmed");
    }
    return kt_fail_again(&failure);
}

static int check_window(const struct ktrace_capture *capture, const char *call)
{
    const int status = check_live(capture, call);
    if (status == KTRACE_OK && capture != window)
        return kt_fail(KTRACE_ERROR_STATE, "%s: this capture has been stopped already", call);
    return status;
}

/* Tells of a capture that ends empty. Without locks. */
static void tell_if_empty(const struct ktrace_trace *trace)
{
    if (trace && trace->event_count == 0 && trace->warning[0])
        kt_log("the capture \"%s\" is empty: %s", trace->snapshot->name, trace->warning);
}

int ktrace_capture_stop(struct ktrace_capture *capture)
{
    struct kt_snapshot *fresh = NULL;
    struct ktrace_trace *shown = NULL;
    kt_operation_lock();
    int status = check_locked(capture, "ktrace_capture_stop", check_window);
    if (status == KTRACE_OK)
        status = close_window(capture, &fresh, capture->settings.stay_armed);
    if (status == KTRACE_OK)
        status = show_news(capture, fresh);
    if (status == KTRACE_OK) {
        shown = kt_trace_retain(capture->shown);
        capture->growing = 0; /* a read behind it has what came since */
    }
    kt_operation_unlock();
    tell_if_empty(shown);
    ktrace_trace_destroy(shown);
    kt_process_wide_start(); /* if it could not begin in the window */
    return status;
}

/* With the operation lock held. KTRACE_ERROR_STATE: it is still there. */
static int destroy(struct ktrace_capture *capture)
{
    struct kt_snapshot *fresh = NULL;
    int status = KTRACE_OK;
    if (capture == armed || capture == window) /* a window with stay_armed is both, one that lingers only armed */
        status = close_window(capture, &fresh, 0);
    kt_snapshot_destroy(fresh);
    if (status == KTRACE_ERROR_STATE)
        return status;
    kt_state_lock();
    unlink_live(capture);
    kt_state_unlock();
    free_capture(capture);
    return KTRACE_OK;
}

void ktrace_capture_destroy(struct ktrace_capture *capture)
{
    if (capture == NULL)
        return;
    kt_operation_lock();
    if (check_locked(capture, "ktrace_capture_destroy", check_live) == KTRACE_OK)
        destroy(capture);
    kt_operation_unlock();
}

int ktrace_capture_end(struct ktrace_trace **out, struct ktrace_capture *capture)
{
    struct kt_snapshot *fresh = NULL;
    struct ktrace_trace *trace = NULL;
    kt_operation_lock();
    int status = check_locked(capture, "ktrace_capture_end", check_live);
    if (status < 0) {
        kt_operation_unlock();
        return status;
    }
    if (capture == armed) {
        status = close_window(capture, &fresh, 0);
        if (status == KTRACE_ERROR_STATE) {
            kt_operation_unlock();
            return status;
        }
        if (status == KTRACE_OK)
            status = show(capture, fresh, 0);
    }
    if (status == KTRACE_OK && capture->shown)
        trace = kt_trace_retain(capture->shown);
    const struct kt_failure failure = kt_failure_keep(status);
    destroy(capture);
    kt_operation_unlock();
    tell_if_empty(trace);
    if (failure.status < 0)
        return kt_fail_again(&failure);
    if (out)
        *out = trace;
    else
        ktrace_trace_destroy(trace);
    return KTRACE_OK;
}

/* ---- Looking and clearing ------------------------------------------------------------------------------------------- */

static int clear(struct ktrace_capture *capture)
{
    int status = wait_for_devices(capture);
    if (status < 0)
        return status;
    kt_state_lock();
    status = arm_known(capture);
    for (uint32_t i = 0; i < capture->recorder_count && status == KTRACE_OK; i++)
        status = kt_recorder_drop(capture->recorders[i]); /* of a read that could not wait */
    if (status == KTRACE_OK)
        status = turn(capture);
    forget_taken(capture);
    kt_state_unlock();
    if (status == KTRACE_OK)
        status = wait_for_devices(capture);
    kt_state_lock();
    for (uint32_t i = 0; i < capture->recorder_count && status == KTRACE_OK; i++)
        status = kt_recorder_drop(capture->recorders[i]);
    kt_state_unlock();
    return status;
}

int ktrace_capture_clear(struct ktrace_capture *capture)
{
    kt_operation_lock();
    int status = check_locked(capture, "ktrace_capture_clear", check_records);
    if (status == KTRACE_OK)
        status = clear(capture);
    if (status == KTRACE_OK)
        show_nothing(capture);
    kt_operation_unlock();
    return status;
}

int ktrace_capture_read(struct ktrace_trace **out, struct ktrace_capture *capture)
{
    struct kt_snapshot *fresh = NULL;
    int disarmed;
    if (out == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_capture_read: `out` is NULL");
    kt_operation_lock();
    int status = check_locked(capture, "ktrace_capture_read", check_records);
    if (status == KTRACE_OK)
        status = gather(&fresh, &disarmed, capture, GO_ON);
    if (status == KTRACE_OK)
        status = show(capture, fresh, 0);
    if (status == KTRACE_OK)
        *out = kt_trace_retain(capture->shown);
    kt_operation_unlock();
    return status;
}

/* Of one that does not record any more: what it shows already. */
static int look(struct ktrace_trace **out, struct ktrace_capture *capture, int records)
{
    struct kt_snapshot *fresh = NULL;
    int disarmed, status = KTRACE_OK;
    if (records) {
        status = gather(&fresh, &disarmed, capture, GO_ON);
        if (status == KTRACE_OK)
            status = show_news(capture, fresh);
    } else if (capture->shown == NULL) {
        status = kt_fail(KTRACE_ERROR_STATE, "the capture has nothing to show: its last read failed");
    }
    if (status == KTRACE_OK)
        *out = kt_trace_retain(capture->shown);
    return status;
}

int ktrace_capture_snapshot(struct ktrace_trace **out, struct ktrace_capture *capture)
{
    if (out == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_capture_snapshot: `out` is NULL");
    kt_operation_lock();
    int status = check_locked(capture, "ktrace_capture_snapshot", check_live);
    if (status == KTRACE_OK)
        status = look(out, capture, capture == window);
    kt_operation_unlock();
    return status;
}

int kt_capture_collect_background(struct ktrace_trace **out, int *is_new, struct ktrace_capture *capture)
{
    struct kt_snapshot *fresh = NULL;
    int disarmed, status = KTRACE_OK;
    kt_operation_lock();
    if (capture == armed)
        status = gather(&fresh, &disarmed, capture, GO_ON);
    if (status == KTRACE_OK) {
        *is_new = capture->growing || (fresh && (capture->shown == NULL || !is_empty(fresh)));
        if (fresh && *is_new)
            status = show(capture, fresh, 0);
        else
            kt_snapshot_destroy(fresh);
        capture->growing = 0;
    }
    if (status == KTRACE_OK)
        *out = capture->shown ? kt_trace_retain(capture->shown) : NULL;
    kt_operation_unlock();
    return status;
}

int kt_capture_end_background(struct ktrace_capture *capture)
{
    kt_operation_lock();
    int disarmed = KTRACE_OK;
    struct kt_snapshot *fresh = NULL;
    const int status = capture == armed ? gather(&fresh, &disarmed, capture, END) : KTRACE_OK;
    kt_snapshot_destroy(fresh);
    if (status == KTRACE_ERROR_STATE) {
        kt_operation_unlock();
        return status;
    }
    kt_state_lock();
    if (capture == armed)
        set_armed(NULL);
    background = NULL;
    note_active();
    unlink_live(capture);
    kt_state_unlock();
    release_devices(capture, disarmed < 0);
    free_capture(capture);
    kt_operation_unlock();
    return KTRACE_OK;
}

static int peek(struct kt_snapshot **out, struct ktrace_capture *capture)
{
    struct kt_snapshot *sum = NULL;
    struct kt_usage usage = {0};
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < capture->recorder_count && status == KTRACE_OK; i++) {
        struct kt_snapshot *part = NULL;
        struct kt_usage of_part = {0};
        status = kt_recorder_peek(&part, &of_part, capture->recorders[i]);
        add_usage(&usage, &of_part);
        if (status == KTRACE_OK)
            status = add_part(&sum, part);
    }
    if (status == KTRACE_OK)
        status = finish_snapshot(sum, capture, &usage);
    if (status < 0)
        kt_snapshot_destroy(sum);
    else
        *out = sum;
    return status;
}

int ktrace_capture_peek(struct ktrace_trace **out, struct ktrace_capture *capture)
{
    struct kt_snapshot *snapshot = NULL;
    if (out == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_capture_peek: `out` is NULL");
    kt_state_lock();
    int status = check_records(capture, "ktrace_capture_peek");
    if (status == KTRACE_OK)
        status = peek(&snapshot, capture);
    kt_state_unlock();
    return status < 0 ? status : kt_trace_from_snapshot(out, snapshot);
}
