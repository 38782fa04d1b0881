/* capture.h - captures besides the public API.
 *
 * A capture is open from begin to stop. Modules are armed for one capture at a time: the open one, else one that was stopped with
 * `stay_armed`, else process-wide collection (process_wide.h), which is a capture in the background: it rests while another is
 * armed and goes on afterwards.
 */
#ifndef KT_CAPTURE_H
#define KT_CAPTURE_H

#include "backend/backend.h"

/* ktrace_capture_begin on given backends, which it takes over, also on failure; devices that are used later are not added. */
int kt_capture_begin_on(struct ktrace_capture **out, struct kt_backend *const *backends, uint32_t count,
                        const struct ktrace_capture_options *options);
/* In a forked child: no capture is open here. What the parent's hold is not freed. */
void kt_capture_forget(void);

/* The capture of process-wide collection. KTRACE_ERROR_STATE if there is one, or a capture is open, or with `if_free` if another
 * thread is at some capture. */
int kt_capture_begin_background(struct ktrace_capture **out, const struct ktrace_capture_options *options, int if_free);
/* A read of it that keeps what it showed as long as nothing new is there, as `*is_new` says. */
int kt_capture_collect_background(struct ktrace_trace **out, int *is_new, struct ktrace_capture *capture);
/* Ends it and forgets what it recorded. KTRACE_ERROR_STATE while a graph is captured: it goes on. */
int kt_capture_end_background(struct ktrace_capture *capture);
/* Arms the modules that it does not know, unless somebody else is at it. */
void kt_capture_arm_now(struct ktrace_capture *capture);
/* KTRACE_ERROR_STATE while a capture is open. */
int kt_capture_check_no_window(const char *call);

/* Which capture modules record for, and how far it is. */
struct kt_capture_facts {
    uint32_t number;   /* captures of the process are counted from 1 */
    int is_background; /* process-wide collection */
    uint64_t gathered; /* how often its records were taken from the devices, or forgotten */
};
/* ktrace_capture_peek of that one, before it is decoded. KTRACE_ERROR_STATE: there is none. */
int kt_capture_peek_armed(struct kt_snapshot **out, struct kt_capture_facts *facts);

/* Where the capture's exports go; NULL: the current directory. */
const char *kt_capture_directory(const struct ktrace_capture *capture);

#endif
