#include "record_captures.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "locks.h"
#include "overflow.h"
#include "record_session.h"

/* ---- What a call hands over ----------------------------------------------------------------------------------------- */

struct ktrace_trace *kt_record_take(struct ktrace_capture *capture)
{
    if (!kt_record_is_on() || capture->shown == NULL || capture->recorded)
        return NULL;
    capture->recorded = 1;
    return kt_trace_retain(capture->shown);
}

void kt_record_put_back(struct ktrace_capture *capture, struct ktrace_trace **trace)
{
    if (*trace == NULL)
        return;
    capture->recorded = 0;
    ktrace_trace_destroy(*trace);
    *trace = NULL;
}

/* Not every failure costs something: a call may have been refused. */
static int has_lost(int status)
{
    return status < 0 && status != KTRACE_ERROR_STATE && status != KTRACE_ERROR_ARGUMENT &&
           status != KTRACE_ERROR_NOT_FOUND;
}

void kt_record_taken(struct ktrace_trace *trace, int status)
{
    if (has_lost(status))
        kt_record_say(status == KTRACE_ERROR_OVERFLOW ? KT_RECORD_OVERFLOW : KT_RECORD_LOSS, ktrace_last_error());
    kt_record_trace(trace);
    ktrace_trace_destroy(trace);
}

/* ---- What is held --------------------------------------------------------------------------------------------------- */

static int is_background(const struct ktrace_capture *capture)
{
    return capture == kt_capture_background();
}

/* A copy of what the capture shows and nobody has got yet. NULL: nothing. With the operation lock held. */
static struct kt_snapshot *copy_held(const struct ktrace_capture *capture)
{
    struct kt_snapshot *copy = NULL;
    const int is_held = is_background(capture) ? capture->growing : !capture->recorded;
    if (capture->shown && is_held && kt_snapshot_copy(&copy, capture->shown->snapshot) < 0)
        kt_record_say(KT_RECORD_LOSS, ktrace_last_error());
    return copy;
}

/* What is held, and what is on the devices behind it; either may be NULL. `*devices` is taken over, or left as it is where they
 * cannot become one. */
static struct kt_snapshot *join(struct kt_snapshot *held, struct kt_snapshot **devices)
{
    struct kt_snapshot *sum = held ? held : *devices;
    if (held == NULL || *devices == NULL || kt_snapshot_append(held, *devices) == KTRACE_OK)
        *devices = NULL;
    return sum;
}

/* Takes it over. NULL is allowed. */
static void record_snapshot(struct kt_snapshot *snapshot)
{
    struct ktrace_trace *trace = NULL;
    const int status = snapshot ? kt_trace_from_snapshot(&trace, snapshot) : KTRACE_OK;
    kt_record_taken(trace, status);
}

/* ---- At exit -------------------------------------------------------------------------------------------------------- */

/* The next one that has something; NULL: there is none. */
static struct ktrace_trace *take_next(void)
{
    struct ktrace_trace *trace = NULL;
    kt_operation_lock();
    for (struct ktrace_capture *capture = kt_capture_live(); capture && !trace; capture = capture->next)
        if (!is_background(capture))
            trace = kt_record_take(capture);
    kt_operation_unlock();
    return trace;
}

void kt_record_captures(void)
{
    struct ktrace_trace *trace = NULL;
    struct ktrace_capture *window = kt_capture_window();
    if (window) {
        const int status = ktrace_capture_snapshot(&trace, window);
        kt_record_taken(NULL, status);
        ktrace_trace_destroy(trace);
    }
    while ((trace = take_next()) != NULL)
        kt_record_taken(trace, KTRACE_OK);
}

struct kt_snapshot *kt_record_look_at_background(void)
{
    struct kt_snapshot *devices = NULL, *sum = NULL;
    kt_operation_lock();
    struct ktrace_capture *background = kt_capture_background();
    if (background && background == kt_capture_armed() && kt_capture_wait(background) == KTRACE_OK) {
        kt_state_lock();
        const int status = kt_capture_peek(&devices, background);
        kt_state_unlock();
        sum = status == KTRACE_OK ? join(copy_held(background), &devices) : NULL;
    }
    kt_operation_unlock();
    kt_snapshot_destroy(devices);
    return sum;
}

void kt_record_overflow(struct kt_snapshot *before)
{
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", ktrace_last_error());
    char *tail = strstr(sentence, KT_OVERFLOW_TAIL);
    if (tail && before)
        *tail = 0; /* something is */
    kt_record_say(KT_RECORD_OVERFLOW, sentence);
    record_snapshot(before);
}

/* ---- At a signal ---------------------------------------------------------------------------------------------------- */

/* Not 0: it is held. */
static int lock_within(int (*trylock)(void), int limit_ms)
{
    const struct timespec a_moment = {.tv_nsec = 1000000};
    for (int waited_ms = 0; !trylock(); waited_ms++) {
        if (waited_ms >= limit_ms)
            return 0;
        nanosleep(&a_moment, NULL);
    }
    return 1;
}

/* What is on the devices of `*armed`. NULL: nothing. */
static struct kt_snapshot *peek(struct ktrace_capture **armed, int limit_ms)
{
    struct kt_snapshot *snapshot = NULL;
    if (!lock_within(kt_state_trylock, limit_ms)) {
        kt_record_say(KT_RECORD_LOSS, "what was on the devices is lost: another thread was changing what records");
        return NULL;
    }
    *armed = kt_capture_armed();
    if (*armed && kt_capture_peek(&snapshot, *armed) < 0)
        kt_record_say(KT_RECORD_LOSS, ktrace_last_error());
    kt_state_unlock();
    return snapshot;
}

/* The process dies, so that files are written with the lock held: nothing shall change any more. */
void kt_record_last_look(int limit_ms)
{
    const int may_see_host = lock_within(kt_operation_trylock, limit_ms / 2);
    struct ktrace_capture *armed = NULL;
    struct kt_snapshot *devices = peek(&armed, limit_ms / 2), *none = NULL;
    for (struct ktrace_capture *capture = may_see_host ? kt_capture_live() : NULL; capture; capture = capture->next)
        record_snapshot(join(copy_held(capture), capture == armed ? &devices : &none));
    record_snapshot(devices);
    if (may_see_host)
        kt_operation_unlock();
}
