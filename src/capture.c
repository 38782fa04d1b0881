/* capture.c - the life of captures: begin, stop, destroy, and who is armed when. */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

#include "backend_choice.h"
#include "capture_state.h"
#include "error.h"
#include "locks.h"
#include "log.h"
#include "process_wide.h"
#include "record_captures.h"
#include "record_session.h"
#include "trace.h"
#include "watch.h"

/* All under the state lock, and changed under the operation lock as well. */
static struct ktrace_capture *live;       /* all that were not destroyed */
static struct ktrace_capture *window;     /* the one between begin and stop */
static struct ktrace_capture *armed;      /* the one that modules record for */
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

struct ktrace_capture *kt_capture_live(void)
{
    return live;
}

struct ktrace_capture *kt_capture_window(void)
{
    return window;
}

struct ktrace_capture *kt_capture_armed(void)
{
    return armed;
}

struct ktrace_capture *kt_capture_background(void)
{
    return background;
}

static void set_armed(struct ktrace_capture *capture)
{
    armed = capture;
    kt_capture_listen(capture ? capture : background); /* what rests hears of modules that go */
}

void kt_capture_forget(void)
{
    live = window = background = NULL;
    set_armed(NULL);
    note_active();
}

const char *kt_capture_directory(const struct ktrace_capture *capture)
{
    return capture->settings.directory;
}

void kt_capture_unlock(void)
{
    kt_operation_unlock();
    kt_log_told_later();
}

/* ---- What may be done with a capture -------------------------------------------------------------------------------- */

static int is_live(const struct ktrace_capture *capture)
{
    const struct ktrace_capture *other = live;
    while (other && other != capture)
        other = other->next;
    return other != NULL;
}

int kt_capture_check_live(const struct ktrace_capture *capture, const char *call)
{
    if (capture == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "%s: the capture is NULL", call);
    if (!is_live(capture))
        return kt_fail(KTRACE_ERROR_STATE, "%s: this capture has ended", call);
    return KTRACE_OK;
}

int kt_capture_check_records(const struct ktrace_capture *capture, const char *call)
{
    const int status = kt_capture_check_live(capture, call);
    if (status == KTRACE_OK && capture != armed)
        return kt_fail(KTRACE_ERROR_STATE,
                       "%s: this capture has been stopped and records nothing any more: begin it with stay_armed to "
                       "read replays after its end, or use ktrace_capture_snapshot",
                       call);
    return status;
}

int kt_capture_check(const struct ktrace_capture *capture, const char *call,
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
    kt_capture_close_devices(capture, keep_memory);
    kt_state_lock();
    sweep();
    kt_state_unlock();
}

static void free_capture(struct ktrace_capture *capture)
{
    kt_capture_show_nothing(capture);
    kt_origin_end(&capture->origin);
    kt_settings_release(&capture->settings);
    free(capture);
}

/* ---- Who is armed --------------------------------------------------------------------------------------------------- */

/* Once nothing else is armed, what rests goes on. */
static void resume_background(void)
{
    int status = KTRACE_OK;
    kt_state_lock();
    struct ktrace_capture *capture = armed == NULL ? background : NULL;
    if (capture) {
        status = kt_capture_rearm(capture);
        set_armed(capture);
    }
    kt_state_unlock();
    if (status < 0)
        kt_log_later("process-wide collection could not go on for every module: %s", ktrace_last_error());
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
    int status = kt_capture_gather(&fresh, &disarmed, capture, lingers ? KT_CAPTURE_END : KT_CAPTURE_REST);
    if (status == KTRACE_ERROR_STATE)
        return status;
    if (status == KTRACE_OK)
        status = kt_capture_show_news(capture, fresh);
    if (status < 0)
        kt_log_later("what was recorded before the capture began is lost: %s", ktrace_last_error());
    kt_state_lock();
    set_armed(NULL);
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
    int status = kt_capture_open_devices(capture, backends, count);
    if (status == KTRACE_OK)
        status = kt_origin_begin(&capture->origin);
    kt_state_lock();
    sweep();
    if (status == KTRACE_OK)
        status = kt_capture_arm(capture);
    capture->modules_late = 0; /* they were there */
    if (status < 0) {
        const struct kt_failure failure = kt_failure_keep(status);
        disarmed = kt_capture_disarm(capture);
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
    if (status == KTRACE_OK)
        status = lock_to_begin(kind);
    if (status == KTRACE_OK) {
        status = begin_locked(capture, backends, &count, kind);
        kt_capture_unlock();
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
    if (capture->settings.watch)
        kt_watch_start();
    kt_record_collecting();
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
    if (capture == armed && !capture->disarmed && kt_capture_arm(capture) < 0)
        kt_log_later("process-wide collection could not arm a module: %s", ktrace_last_error());
    kt_state_unlock();
    kt_log_told_later();
}

/* Ends the window. `stay`: what is armed stays so. With the operation lock held. */
static int close_window(struct ktrace_capture *capture, struct kt_snapshot **fresh, int stay)
{
    int disarmed = KTRACE_OK;
    int status = kt_capture_gather(fresh, &disarmed, capture, stay ? KT_CAPTURE_GO_ON : KT_CAPTURE_END);
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
    const int status = kt_capture_check_live(capture, call);
    if (status == KTRACE_OK && capture != window)
        return kt_fail(KTRACE_ERROR_STATE, "%s: this capture has been stopped already", call);
    return status;
}

/* Tells of a capture that ends empty, and gave nothing before. Without locks. */
static void tell_if_empty(const struct ktrace_trace *trace, int handed_over)
{
    if (trace == NULL || trace->event_count || handed_over)
        return;
    kt_log("the capture \"%s\" is empty: %s", trace->snapshot->name, trace->warning);
    kt_record_say(KT_RECORD_NOTE, trace->warning);
}

int ktrace_capture_stop(struct ktrace_capture *capture)
{
    struct kt_snapshot *fresh = NULL;
    struct ktrace_trace *shown = NULL, *unrecorded = NULL;
    int handed_over = 0;
    kt_operation_lock();
    int status = kt_capture_check(capture, "ktrace_capture_stop", check_window);
    if (status == KTRACE_OK)
        status = close_window(capture, &fresh, capture->settings.stay_armed);
    if (status == KTRACE_OK)
        status = kt_capture_show_news(capture, fresh);
    if (status == KTRACE_OK) {
        shown = kt_trace_retain(capture->shown);
        capture->growing = 0; /* a read behind it has what came since */
        handed_over = capture->handed_over;
        unrecorded = kt_record_take(capture);
    }
    kt_capture_unlock();
    kt_record_taken(unrecorded, status);
    tell_if_empty(shown, handed_over);
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
    struct ktrace_trace *unrecorded = NULL;
    kt_operation_lock();
    if (kt_capture_check(capture, "ktrace_capture_destroy", kt_capture_check_live) == KTRACE_OK) {
        unrecorded = kt_record_take(capture);
        if (destroy(capture) == KTRACE_ERROR_STATE)
            kt_record_put_back(capture, &unrecorded);
    }
    kt_capture_unlock();
    kt_record_taken(unrecorded, KTRACE_OK);
}

int ktrace_capture_end(struct ktrace_trace **out, struct ktrace_capture *capture)
{
    struct kt_snapshot *fresh = NULL;
    struct ktrace_trace *trace = NULL, *unrecorded = NULL;
    kt_operation_lock();
    int status = kt_capture_check(capture, "ktrace_capture_end", kt_capture_check_live);
    if (status < 0) {
        kt_capture_unlock();
        return status;
    }
    if (capture == armed) {
        const int is_stopped = capture != window;
        status = close_window(capture, &fresh, 0);
        if (status == KTRACE_ERROR_STATE) {
            kt_capture_unlock();
            return status;
        }
        if (is_stopped)
            kt_snapshot_destroy(fresh);
        else if (status == KTRACE_OK)
            status = kt_capture_show(capture, fresh, 0);
    }
    if (status == KTRACE_OK && capture->shown)
        trace = kt_trace_retain(capture->shown);
    else if (status == KTRACE_OK && out)
        status = kt_capture_fail_to_show();
    const struct kt_failure failure = kt_failure_keep(status);
    const int handed_over = capture->handed_over;
    if (out)
        unrecorded = kt_record_take(capture);
    destroy(capture);
    kt_capture_unlock();
    kt_fail_again(&failure);
    kt_record_taken(unrecorded, status);
    tell_if_empty(trace, handed_over);
    if (failure.status < 0)
        return kt_fail_again(&failure);
    if (out)
        *out = trace;
    else
        ktrace_trace_destroy(trace);
    return KTRACE_OK;
}

int kt_capture_end_background(struct ktrace_capture *capture)
{
    kt_operation_lock();
    int disarmed = KTRACE_OK;
    struct kt_snapshot *fresh = NULL;
    int status = kt_capture_check_no_window("ktrace_disable");
    if (status == KTRACE_OK && capture == armed)
        status = kt_capture_gather(&fresh, &disarmed, capture, KT_CAPTURE_END);
    kt_snapshot_destroy(fresh);
    if (status == KTRACE_ERROR_STATE) {
        kt_capture_unlock();
        return status;
    }
    kt_state_lock();
    background = NULL;
    set_armed(capture == armed ? NULL : armed);
    note_active();
    unlink_live(capture);
    kt_state_unlock();
    release_devices(capture, disarmed < 0);
    free_capture(capture);
    kt_capture_unlock();
    return KTRACE_OK;
}
