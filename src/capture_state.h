/* capture_state.h - what a capture is made of, for capture.c and capture_*.c. */
#ifndef KT_CAPTURE_STATE_H
#define KT_CAPTURE_STATE_H

#include "capture.h"
#include "origin.h"
#include "recorder.h"
#include "registry.h"
#include "settings.h"

struct ktrace_capture {
    struct kt_registry_listener listener; /* first: the registry hands it back */
    struct ktrace_capture *next;          /* of all that were not destroyed */
    struct kt_settings settings;
    const struct kt_runtime *runtime;              /* NULL: devices are not added */
    struct kt_recorder *recorders[KT_MAX_DEVICES]; /* grows under the state lock, until the capture has ended */
    uint32_t recorder_count;                       /* atomic: is raised behind the pointer */
    struct kt_recording_origin origin;
    int disarmed; /* modules that are attached now wait for kt_capture_rearm, or for another capture: under the state lock */
    uint32_t modules_late, devices_late; /* armed after begin, and not yet spoken of */

    /* All under the operation lock. */
    struct kt_snapshot *taken; /* of recorders, by a gathering that has not come to its end; or NULL */
    struct kt_usage usage;     /* of the same, summed */
    struct ktrace_trace
        *shown; /* if `growing` what was recorded since the last read or clear, as far as it was looked at; else
                                   what the last read handed over; or NULL */
    int growing;
    int recorded;    /* what is shown: record_captures.h has got it */
    int handed_over; /* a read had events: the capture was not empty, whatever its end finds */
};

/* ---- capture.c, with the operation lock held or the state lock ----------------------------------------------------- */

struct ktrace_capture *kt_capture_live(void); /* all that were not destroyed */
struct ktrace_capture *kt_capture_window(void);
struct ktrace_capture *kt_capture_armed(void);
struct ktrace_capture *kt_capture_background(void);

/* Of the operation lock; what was to be told while it was held is told then. */
void kt_capture_unlock(void);
/* Whether it is one that was not destroyed; and whether it records. `call` is for the sentence. With the state lock held. */
int kt_capture_check_live(const struct ktrace_capture *capture, const char *call);
int kt_capture_check_records(const struct ktrace_capture *capture, const char *call);
/* One of these with the operation lock held, so that it stays so. */
int kt_capture_check(const struct ktrace_capture *capture, const char *call,
                     int (*check)(const struct ktrace_capture *capture, const char *call));

/* ---- capture_read.c ------------------------------------------------------------------------------------------------ */

/* Its devices cannot be read, or not be read again. */
int kt_capture_fail_to_show(void);

/* ---- capture_devices.c --------------------------------------------------------------------------------------------- */

/* Opens what the settings choose, `backends` first, which it takes over, also on failure. With the operation lock held, of a
 * capture that nobody else knows. */
int kt_capture_open_devices(struct ktrace_capture *capture, struct kt_backend *const *backends, uint32_t count);
/* Devices that came into use since. One that cannot be opened is left out: the others are still right. With the operation lock
 * held and not the state lock. */
void kt_capture_add_devices(struct ktrace_capture *capture);
/* `keep_memory`: modules may still record into it. */
void kt_capture_close_devices(struct ktrace_capture *capture, int keep_memory);
/* With the operation lock held: it may take for ever. */
int kt_capture_wait(const struct ktrace_capture *capture);

/* With the state lock held: */
int kt_capture_arm(struct ktrace_capture *capture); /* the modules that are known and not armed */
int kt_capture_disarm(struct ktrace_capture *capture);
int kt_capture_rearm(struct ktrace_capture *capture);   /* what kt_capture_disarm disarmed, and what is new */
void kt_capture_listen(struct ktrace_capture *capture); /* to modules that come and go; NULL: nobody */

/* ---- capture_records.c, with the operation lock held --------------------------------------------------------------- */

enum kt_capture_then { KT_CAPTURE_GO_ON, KT_CAPTURE_REST, KT_CAPTURE_END };

/* Everything that was recorded since the last time. Every wave is in exactly one snapshot, also if it starts meanwhile. Unless
 * the capture goes on its modules are disarmed; `*disarmed` says whether that failed. KTRACE_ERROR_STATE: a graph is captured;
 * nothing is lost, and modules are as they were. */
int kt_capture_gather(struct kt_snapshot **out, int *disarmed, struct ktrace_capture *capture,
                      enum kt_capture_then then);
/* Forgets the same, and what is shown. */
int kt_capture_forget_records(struct ktrace_capture *capture);
/* What is there, without waiting or changing anything; with the state lock held instead. */
int kt_capture_peek(struct kt_snapshot **out, struct ktrace_capture *capture);

/* Nothing was launched, as far as one can tell. */
int kt_capture_is_empty(const struct kt_snapshot *snapshot);
/* `fresh` is shown from now on, behind what is growing. Takes it over. */
int kt_capture_show(struct ktrace_capture *capture, struct kt_snapshot *fresh, int growing);
/* The same, growing; but what is shown stays if `fresh` is empty. */
int kt_capture_show_news(struct ktrace_capture *capture, struct kt_snapshot *fresh);
/* Nothing is shown, and nothing taken. */
void kt_capture_show_nothing(struct ktrace_capture *capture);

#endif
