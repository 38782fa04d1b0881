/* record_captures.h - what captures hold that `ktrace record` has not got yet (record_session.h). */
#ifndef KT_RECORD_CAPTURES_H
#define KT_RECORD_CAPTURES_H

#include "capture_state.h"

/* What the capture shows, once: when the program is given it, or forgets it after it could look at it. NULL: nothing, or the process
 * is not recorded. With the operation lock held. */
struct ktrace_trace *kt_record_take(struct ktrace_capture *capture);
/* It was not given after all: the capture still shows it. */
void kt_record_put_back(struct ktrace_capture *capture, struct ktrace_trace **trace);
/* Without the lock, of a call that returned `status`: saves and destroys the trace, and tells of what the call lost. */
void kt_record_taken(struct ktrace_trace *trace, int status);

/* At exit: reads the capture that is still open, and saves what captures were not asked for. Process-wide collection is not among
 * them. */
void kt_record_captures(void);

/* What process-wide collection holds, after its devices were waited for, without reading them. NULL: nothing, or it could not be had. */
struct kt_snapshot *kt_record_look_at_background(void);
/* Reading it failed with an overflow, which is the thread's last error: what was held before is saved, and what is missing told. Takes
 * over `before`, which may be NULL. */
void kt_record_overflow(struct kt_snapshot *before);

/* Where a signal ends the process: saves what every capture and process-wide collection hold on the host and, without waiting for
 * kernels, on the devices. Waits for locks for `limit_ms` at most; without that of who reads a device now, what is on the
 * host is left out. */
void kt_record_last_look(int limit_ms);

#endif
