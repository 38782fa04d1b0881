/* capture_read.c - reading, clearing and looking at captures that are open, or have been stopped. */
#include "capture.h"

#include "capture_state.h"
#include "error.h"
#include "locks.h"
#include "record_captures.h"
#include "trace.h"

/* ---- With the operation lock --------------------------------------------------------------------------------------- */

int kt_capture_fail_to_show(void)
{
    return kt_fail(KTRACE_ERROR_NOT_FOUND, "the capture has nothing to show: its last read failed");
}

int ktrace_capture_clear(struct ktrace_capture *capture)
{
    struct ktrace_trace *looked_at = NULL;
    kt_operation_lock();
    int status = kt_capture_check(capture, "ktrace_capture_clear", kt_capture_check_records);
    if (status == KTRACE_OK) {
        looked_at = kt_record_take(capture);
        status = kt_capture_forget_records(capture);
        if (status < 0)
            kt_record_put_back(capture, &looked_at);
    }
    kt_capture_unlock();
    kt_record_taken(looked_at, status);
    return status;
}

int ktrace_capture_read(struct ktrace_trace **out, struct ktrace_capture *capture)
{
    struct kt_snapshot *fresh = NULL;
    struct ktrace_trace *unrecorded = NULL;
    int disarmed;
    if (out == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_capture_read: `out` is NULL");
    kt_operation_lock();
    int status = kt_capture_check(capture, "ktrace_capture_read", kt_capture_check_records);
    if (status == KTRACE_OK)
        status = kt_capture_gather(&fresh, &disarmed, capture, KT_CAPTURE_GO_ON);
    if (status == KTRACE_OK)
        status = kt_capture_show(capture, fresh, 0);
    if (status == KTRACE_OK) {
        *out = kt_trace_retain(capture->shown);
        capture->handed_over |= (*out)->event_count != 0;
        unrecorded = kt_record_take(capture);
    }
    kt_capture_unlock();
    kt_record_taken(unrecorded, status);
    return status;
}

/* Of one that does not record any more: what it shows already. */
static int look(struct ktrace_trace **out, struct ktrace_capture *capture, int records)
{
    struct kt_snapshot *fresh = NULL;
    int disarmed, status = KTRACE_OK;
    if (records) {
        status = kt_capture_gather(&fresh, &disarmed, capture, KT_CAPTURE_GO_ON);
        if (status == KTRACE_OK)
            status = kt_capture_show_news(capture, fresh);
    } else if (capture->shown == NULL) {
        status = kt_capture_fail_to_show();
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
    int status = kt_capture_check(capture, "ktrace_capture_snapshot", kt_capture_check_live);
    if (status == KTRACE_OK)
        status = look(out, capture,
                      capture == kt_capture_window() || (capture == kt_capture_armed() && capture->shown == NULL));
    kt_capture_unlock();
    return status;
}

int kt_capture_collect_background(struct ktrace_trace **out, int *is_new, struct ktrace_capture *capture)
{
    struct kt_snapshot *fresh = NULL;
    int disarmed, status = KTRACE_OK;
    kt_operation_lock();
    if (capture == kt_capture_armed())
        status = kt_capture_gather(&fresh, &disarmed, capture, KT_CAPTURE_GO_ON);
    if (status == KTRACE_OK) {
        *is_new = capture->growing || (fresh && (capture->shown == NULL || !kt_capture_is_empty(fresh)));
        if (fresh && *is_new)
            status = kt_capture_show(capture, fresh, 0);
        else
            kt_snapshot_destroy(fresh);
        capture->growing = 0;
    }
    if (status == KTRACE_OK)
        *out = capture->shown ? kt_trace_retain(capture->shown) : NULL;
    kt_capture_unlock();
    return status;
}

/* ---- With the state lock ------------------------------------------------------------------------------------------- */

int ktrace_capture_peek(struct ktrace_trace **out, struct ktrace_capture *capture)
{
    struct kt_snapshot *snapshot = NULL;
    if (out == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_capture_peek: `out` is NULL");
    kt_state_lock();
    int status = kt_capture_check_records(capture, "ktrace_capture_peek");
    if (status == KTRACE_OK)
        status = kt_capture_peek(&snapshot, capture);
    kt_state_unlock();
    return status < 0 ? status : kt_trace_from_snapshot(out, snapshot);
}

int kt_capture_peek_armed(struct kt_snapshot **out, struct kt_capture_facts *facts)
{
    kt_state_lock();
    struct ktrace_capture *armed = kt_capture_armed();
    int status = armed ? kt_capture_peek(out, armed)
                       : kt_fail(KTRACE_ERROR_STATE, "no capture is open in this process now, and no process-wide "
                                                     "collection is on");
    if (armed)
        *facts = (struct kt_capture_facts){.number = armed->origin.number,
                                           .is_background = armed == kt_capture_background(),
                                           .gathered = kt_origin_reads(&armed->origin)};
    kt_state_unlock();
    return status;
}
