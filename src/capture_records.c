/* capture_records.c - what a capture takes from its devices, and what it shows of it. */
#include <stdlib.h>
#include <string.h>

#include "backend/host_clock.h"
#include "capture_state.h"
#include "error.h"
#include "explain.h"
#include "locks.h"
#include "overflow.h"
#include "trace.h"

/* ---- Gathering ------------------------------------------------------------------------------------------------------ */

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

/* What the fullest of several devices needs: one buffer size holds for all. */
static void add_need(struct kt_usage *need, const struct kt_usage *usage)
{
    struct kt_usage larger =
        need->waves_recorded + need->waves_dropped < usage->waves_recorded + usage->waves_dropped ? *usage : *need;
    larger.most_main_slots =
        need->most_main_slots > usage->most_main_slots ? need->most_main_slots : usage->most_main_slots;
    larger.most_lane_slots =
        need->most_lane_slots > usage->most_lane_slots ? need->most_lane_slots : usage->most_lane_slots;
    *need = larger;
}

/* All parts are taken, so that each device is clean, also when one fails. `everything`: not only what is left. */
static int take_parts(struct ktrace_capture *capture, int everything)
{
    struct kt_failure failure = {.status = KTRACE_OK};
    struct kt_usage need = {0};
    uint32_t overflowed = 0;
    for (uint32_t i = 0; i < capture->recorder_count; i++) {
        struct kt_recorder *recorder = capture->recorders[i];
        struct kt_snapshot *part = NULL;
        struct kt_usage usage = {0};
        if (!recorder->has_left && !everything)
            continue;
        int status = kt_recorder_take(&part, &usage, recorder);
        add_usage(&capture->usage, &usage);
        if (status == KTRACE_ERROR_OVERFLOW) {
            overflowed++;
            add_need(&need, &usage);
        }
        status = status < 0 ? fail_on_device(capture, recorder, status) : add_part(&capture->taken, part);
        if (status < 0 && failure.status == KTRACE_OK)
            failure = kt_failure_keep(status);
    }
    if (overflowed > 1 && failure.status == KTRACE_ERROR_OVERFLOW)
        return kt_check_overflow(&capture->recorders[0]->buffer.layout, &need,
                                 capture->recorders[0]->recording.keep_last);
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
    kt_origin_read_is_over(&capture->origin); /* what a peek saw of it is of no other */
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
    return kt_origin_tell(&snapshot->processes[0], &capture->origin, &capture->recorders[0]->recording.filter.wire,
                          capture->recorders[0]->facts.arch);
}

/* With the state lock held. */
static int hand_over(struct kt_snapshot **out, struct ktrace_capture *capture)
{
    const int status = finish_snapshot(capture->taken, capture, &capture->usage);
    if (status < 0)
        return status;
    *out = capture->taken;
    capture->taken = NULL;
    kt_origin_read_is_over(&capture->origin);
    capture->usage = (struct kt_usage){0};
    capture->modules_late = capture->devices_late = 0;
    return KTRACE_OK;
}

/* The same modules as before, after a disarming that came to nothing. */
static int stay_armed(struct ktrace_capture *capture)
{
    const struct kt_failure failure = kt_failure_keep(KTRACE_ERROR_STATE);
    kt_state_lock();
    kt_capture_rearm(capture);
    kt_state_unlock();
    return kt_fail_again(&failure);
}

int kt_capture_gather(struct kt_snapshot **out, int *disarmed, struct ktrace_capture *capture,
                      enum kt_capture_then then)
{
    const int goes_on = then == KT_CAPTURE_GO_ON;
    int status = kt_capture_wait(capture);
    if (status < 0)
        return status;
    if (goes_on)
        kt_capture_add_devices(capture);
    kt_state_lock();
    kt_origin_read_clocks(&capture->origin);
    for (uint32_t i = 0; i < capture->recorder_count; i++)
        kt_recorder_anchor(capture->recorders[i]);
    if (goes_on)
        status = kt_capture_arm(capture);
    else
        *disarmed = kt_capture_disarm(capture);
    if (status == KTRACE_OK) /* what an earlier one turned from and could not wait for */
        status = take_parts(capture, 0);
    if (status == KTRACE_OK && then != KT_CAPTURE_END)
        status = turn(capture);
    kt_state_unlock();
    if (status == KTRACE_OK)
        status = kt_capture_wait(capture);
    if (status ==
        KTRACE_ERROR_STATE) /* a graph is captured since a moment ago: what was turned from is for the next one */
        return goes_on ? status : stay_armed(capture);
    kt_state_lock();
    if (status == KTRACE_OK)
        status = take_parts(capture, then == KT_CAPTURE_END);
    if (status == KTRACE_OK)
        status = hand_over(out, capture);
    if (status < 0)
        forget_taken(capture);
    kt_state_unlock();
    return status;
}

/* ---- Forgetting and peeking ----------------------------------------------------------------------------------------- */

static int drop_left(struct ktrace_capture *capture)
{
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < capture->recorder_count && status == KTRACE_OK; i++)
        status = kt_recorder_drop(capture->recorders[i]);
    return status;
}

int kt_capture_forget_records(struct ktrace_capture *capture)
{
    int status = kt_capture_wait(capture);
    if (status < 0)
        return status;
    kt_capture_add_devices(capture);
    kt_state_lock();
    status = kt_capture_arm(capture);
    if (status == KTRACE_OK)
        status = drop_left(capture); /* of a read that could not wait */
    if (status == KTRACE_OK)
        status = turn(capture);
    kt_state_unlock();
    if (status == KTRACE_OK)
        status = kt_capture_wait(capture);
    if (status < 0)
        return status;
    kt_state_lock();
    status = drop_left(capture);
    capture->modules_late = capture->devices_late = 0; /* what they could not record is forgotten as well */
    kt_state_unlock();
    if (status == KTRACE_OK)
        kt_capture_show_nothing(capture);
    return status;
}

int kt_capture_peek(struct kt_snapshot **out, struct ktrace_capture *capture)
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
    if (status < 0) {
        kt_snapshot_destroy(sum);
        return status;
    }
    if (!(sum->flags & KT_SNAPSHOT_SIMULATED))
        sum->taken_ns = kt_host_now_ns();
    *out = sum;
    return KTRACE_OK;
}

/* ---- What is shown -------------------------------------------------------------------------------------------------- */

int kt_capture_is_empty(const struct kt_snapshot *snapshot)
{
    return snapshot->wave_count == 0 && snapshot->waves_filtered == 0 && snapshot->waves_dropped == 0;
}

/* `fresh` behind what is growing, if that holds anything. Takes it over. */
static int join(struct kt_snapshot **out, const struct ktrace_capture *capture, struct kt_snapshot *fresh)
{
    struct kt_snapshot *sum = NULL;
    *out = fresh;
    if (!capture->growing || kt_capture_is_empty(capture->shown->snapshot))
        return KTRACE_OK;
    int status = kt_snapshot_copy(&sum, capture->shown->snapshot);
    if (status == KTRACE_OK && kt_capture_is_empty(fresh))
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

int kt_capture_show(struct ktrace_capture *capture, struct kt_snapshot *fresh, int growing)
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
    capture->recorded = 0;
    return KTRACE_OK;
}

int kt_capture_show_news(struct ktrace_capture *capture, struct kt_snapshot *fresh)
{
    if (capture->shown == NULL || !kt_capture_is_empty(fresh))
        return kt_capture_show(capture, fresh, 1);
    kt_snapshot_destroy(fresh);
    return KTRACE_OK;
}

void kt_capture_show_nothing(struct ktrace_capture *capture)
{
    forget_taken(capture);
    ktrace_trace_destroy(capture->shown);
    capture->shown = NULL;
    capture->growing = 0;
}
