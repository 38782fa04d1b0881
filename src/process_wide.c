#include "process_wide.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "error.h"
#include "export/export.h"
#include "locks.h"
#include "log.h"
#include "record_captures.h"
#include "record_session.h"
#include "settings.h"
#include "trace.h"

enum state { OFF, STARTING, ON };

static int state;                         /* enum state, atomic */
static struct ktrace_capture *collection; /* as long as it is ON */
static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* against ending while collecting; before the operation lock */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int asked_for;           /* KTRACE_ENABLE, until ktrace_disable; atomic */
static int is_the_environments; /* it was, and no call, that began what is ON */

static void read_environment(void)
{
    struct kt_settings settings;
    const char *variable = getenv("KTRACE_ENABLE");
    if (variable == NULL || *variable == 0)
        return;
    if (kt_settings_make(&settings, NULL) < 0) {
        kt_tell("KTRACE_ENABLE: process-wide collection does not begin: %s", ktrace_last_error());
        return;
    }
    asked_for = settings.enable;
    kt_settings_release(&settings);
}

int kt_process_wide_wanted(void)
{
    pthread_once(&once, read_environment);
    return __atomic_load_n(&asked_for, __ATOMIC_RELAXED) || __atomic_load_n(&state, __ATOMIC_ACQUIRE) == ON;
}

/* ---- The end of the process ----------------------------------------------------------------------------------------- */

static int take(struct ktrace_trace **out, int *is_new, char **directory, const char *call);

/* What the program did not collect itself. */
static void export_at_exit(void)
{
    struct ktrace_trace *trace = NULL;
    char *path = NULL;
    int is_new = 0;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != ON)
        return;
    if (take(&trace, &is_new, NULL, NULL) < 0) {
        kt_tell("nothing is exported at exit: %s", ktrace_last_error());
        return;
    }
    if (!is_new) /* the program has it */
        ;
    else if (trace->event_count == 0)
        kt_tell("nothing is exported at exit: %s", trace->warning);
    else if (ktrace_trace_export_new(&path, trace, kt_capture_directory(collection)) < 0)
        kt_tell("exporting at exit failed: %s", ktrace_last_error());
    else
        kt_tell("%llu launch%s exported to %s%s%s%s", (unsigned long long)trace->launch_count,
                trace->launch_count == 1 ? "" : "es", path,
                trace->snapshot->flags & KT_SNAPSHOT_SIMULATED ? " (simulated time)" : "",
                trace->warning[0] ? ": " : "", trace->warning);
    free(path);
    ktrace_trace_destroy(trace);
}

/* ---- Beginning ------------------------------------------------------------------------------------------------------ */

/* In STARTING. */
static int start(const struct ktrace_capture_options *options, int if_free)
{
    static int registered;
    struct ktrace_capture *capture = NULL;
    struct ktrace_capture_options named = KTRACE_CAPTURE_OPTIONS_INIT;
    /* a size that this library does not know is judged where all options are read */
    const int is_known =
        options && options->struct_size > sizeof named.struct_size && options->struct_size <= sizeof named;
    if (is_known)
        memcpy(&named, options, options->struct_size);
    if (named.name == NULL || *named.name == 0)
        named.name = kt_record_is_on() ? kt_record_process_name() : program_invocation_short_name;
    const int status = kt_capture_begin_background(&capture, is_known || !options ? &named : options, if_free);
    if (status == KTRACE_OK) {
        collection = capture;
        if (!registered && !kt_record_is_on()) /* record_end.c */
            atexit(export_at_exit);            /* behind the driver's own, which thus comes after it */
        registered = 1;
    }
    is_the_environments = if_free;
    __atomic_store_n(&state, status < 0 ? OFF : ON, __ATOMIC_RELEASE);
    return status;
}

static int begin_starting(void)
{
    int expected = OFF;
    return __atomic_compare_exchange_n(&state, &expected, STARTING, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void kt_process_wide_start(void)
{
    static int told;
    if (!kt_process_wide_wanted())
        return;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == ON) {
        kt_capture_arm_now(collection);
        return;
    }
    if (!__atomic_load_n(&asked_for, __ATOMIC_RELAXED) || !begin_starting())
        return;
    const int status = start(NULL, 1);
    if (status < 0 && status != KTRACE_ERROR_STATE && !told) { /* a capture is open, or being opened: when it ends */
        told = 1;
        kt_tell("process-wide collection (KTRACE_ENABLE) does not begin: %s", ktrace_last_error());
    }
}

static int disable(void)
{
    int expected = ON;
    pthread_mutex_lock(&lock);
    int status = KTRACE_OK;
    if (__atomic_compare_exchange_n(&state, &expected, STARTING, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        status = kt_capture_end_background(collection);
        if (status == KTRACE_OK) {
            collection = NULL;
            __atomic_store_n(&asked_for, 0, __ATOMIC_RELAXED); /* whatever the environment says */
        }
        __atomic_store_n(&state, status < 0 ? ON : OFF, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* `ktrace record` asks for collection in programs that do not know it: what they ask for themselves goes first. */
static void make_room_for_the_program(void)
{
    struct ktrace_trace *trace = NULL;
    int is_new;
    if (!kt_record_is_on() || __atomic_load_n(&state, __ATOMIC_ACQUIRE) != ON || !is_the_environments)
        return;
    if (take(&trace, &is_new, NULL, "ktrace_enable") == KTRACE_OK)
        disable();
    ktrace_trace_destroy(trace);
}

int ktrace_enable(const struct ktrace_capture_options *options)
{
    make_room_for_the_program();
    if (begin_starting())
        return start(options, 0);
    const int is_given = __atomic_load_n(&state, __ATOMIC_ACQUIRE) == ON && is_the_environments;
    if (options || !is_given)
        return kt_fail(KTRACE_ERROR_STATE, "ktrace_enable: process-wide collection is on already%s",
                       is_given ? ", by KTRACE_ENABLE: its settings are the environment's" : "");
    kt_capture_arm_now(collection); /* what the runtime did not know yet when it began */
    return KTRACE_OK;
}

int ktrace_disable(void)
{
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == ON)
        kt_record_say(KT_RECORD_NOTE,
                      "the program called ktrace_disable, which forgets what was not collected until then");
    return disable();
}

void kt_process_wide_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    collection = NULL;
    __atomic_store_n(&state, OFF, __ATOMIC_RELEASE);
}

/* ---- Collecting ----------------------------------------------------------------------------------------------------- */

/* `*out` is NULL where nothing was ever collected. `call` NULL: also while a capture is open, when it rests. `*directory`, if that
 * is wanted, is a copy of where the collection's files go, NULL for the current one: free() it. */
static int take(struct ktrace_trace **out, int *is_new, char **directory, const char *call)
{
    struct ktrace_trace *trace = NULL;
    pthread_mutex_lock(&lock);
    int status = call ? kt_capture_check_no_window(call) : KTRACE_OK;
    if (status == KTRACE_OK && __atomic_load_n(&state, __ATOMIC_ACQUIRE) == ON) {
        const char *where = kt_capture_directory(collection);
        status = kt_capture_collect_background(&trace, is_new, collection);
        if (directory)
            *directory = where ? strdup(where) : NULL;
    }
    pthread_mutex_unlock(&lock);
    if (status == KTRACE_OK)
        *out = trace;
    if (status == KTRACE_OK && trace && *is_new)
        kt_record_trace(trace);
    return status;
}

void kt_process_wide_record(void)
{
    struct ktrace_trace *trace = NULL;
    int is_new = 0;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != ON)
        return;
    struct kt_snapshot *before = kt_record_look_at_background(); /* reading keeps nothing of what overflows */
    const int status = take(&trace, &is_new, NULL, NULL);
    if (status == KTRACE_ERROR_OVERFLOW)
        kt_record_overflow(before);
    else if (status < 0)
        kt_record_say(KT_RECORD_LOSS, ktrace_last_error());
    else if (is_new && trace->event_count == 0)
        kt_record_say(KT_RECORD_NOTE, trace->warning);
    if (status != KTRACE_ERROR_OVERFLOW)
        kt_snapshot_destroy(before);
    ktrace_trace_destroy(trace);
}

static int is_empty(const struct ktrace_trace *trace)
{
    return trace == NULL || trace->event_count == 0;
}

int ktrace_summary(char **out)
{
    struct ktrace_trace *trace = NULL;
    char *text = NULL;
    int is_new;
    if (out == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_summary: `out` is NULL");
    int status = take(&trace, &is_new, NULL, "ktrace_summary");
    if (status == KTRACE_OK && !is_empty(trace))
        status = ktrace_trace_summary_text(&text, trace);
    ktrace_trace_destroy(trace);
    if (status == KTRACE_OK)
        *out = text;
    return status;
}

int ktrace_collect(char **path, const char *name, const char *directory)
{
    struct ktrace_trace *trace = NULL;
    char *answer = NULL, *own = NULL;
    int is_new;
    if (path == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_collect: `path` is NULL");
    int status = take(&trace, &is_new, &own, "ktrace_collect");
    if (status == KTRACE_OK && !is_empty(trace))
        status = kt_export_new(&answer, trace, &kt_exporter_perfetto, KT_EVERY_LAUNCH,
                               directory && *directory ? directory : own, name && *name ? name : "kernel");
    free(own);
    ktrace_trace_destroy(trace);
    if (status == KTRACE_OK)
        *path = answer;
    return status;
}

int ktrace_collect_trace(struct ktrace_trace **out)
{
    int is_new;
    if (out == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_collect_trace: `out` is NULL");
    return take(out, &is_new, NULL, "ktrace_collect_trace");
}
