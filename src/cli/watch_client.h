/* watch_client.h - looks at a running program that lets itself be watched: KTRACE_WATCH=1 (../watch_wire.h).
 *
 *     struct watch_look look;
 *     struct kt_string why = KT_STRING_INIT;
 *     if (watch_fetch(&look, &why, pid, 10000) == WATCH_FETCHED) {
 *         ktrace_trace_save(look.trace, path);
 *         ktrace_trace_destroy(look.trace);
 *     } else {
 *         cli_error("%s", kt_string_text(&why));
 *     }
 *     kt_string_destroy(&why);
 *
 * A look is ktrace_capture_peek of the capture that is open there, or else of process-wide collection: nothing is waited for or
 * changed, and waves may be inside of kernels.
 */
#ifndef KT_CLI_WATCH_CLIENT_H
#define KT_CLI_WATCH_CLIENT_H

#include "cli.h"

#include "../watch_wire.h"

enum watch_outcome {
    WATCH_FETCHED,
    WATCH_NO_PROCESS, /* no such process, or it ended */
    WATCH_NOT_YOURS,  /* another user's */
    WATCH_NOT_ASKED,  /* nobody listens there, and KTRACE_WATCH=1 is not in its environment */
    WATCH_NOT_BEGUN,  /* nobody listens there yet: it has begun no capture */
    WATCH_NO_CAPTURE, /* none is open now */
    WATCH_FAILED      /* it could not be looked at, or does not answer */
};

struct watch_look {
    struct ktrace_trace *trace;   /* the caller's */
    struct kt_watch_answer facts; /* which capture it is of, and when it was taken */
};

/* Waits for `timeout_ms` at most for the look to be taken. Unless WATCH_FETCHED, `why` gets a sentence, and `*out` is not written. */
enum watch_outcome watch_fetch(struct watch_look *out, struct kt_string *why, pid_t pid, int timeout_ms);
/* The same, which ends early once there is something to read from `stop`. */
enum watch_outcome watch_fetch_or_stop(struct watch_look *out, struct kt_string *why, pid_t pid, int timeout_ms,
                                       int stop);

/* Processes of this pid namespace that could be watched, by this user or not, in ascending order: `*pids` is the caller's, free()
 * it. -1 after cli_error. */
int watch_list(pid_t **pids, size_t *count);

/* The process's name, of up to 15 characters; and the beginning of its command line. Nothing where that is not known. */
void watch_append_name(struct kt_string *out, pid_t pid);
void watch_append_arguments(struct kt_string *out, pid_t pid);
/* "1234 (train)", or "1234" where its name is not known. */
void watch_append_process(struct kt_string *out, pid_t pid);

#endif
