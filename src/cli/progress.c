#include "progress.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool running, ended; /* `ended`: under the lock */
    const char *verb, *object;
    _Atomic uint64_t done, all;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Over what was there; the cursor stays at the line's begin, where the next message overwrites it. Returns its columns. */
static size_t show(size_t columns_before, long seconds)
{
    struct kt_string line = KT_STRING_INIT;
    const uint64_t done = atomic_load(&progress.done), all = atomic_load(&progress.all);
    kt_string_printf(&line, "%s ", progress.verb);
    kt_string_append_visible(&line, progress.object);
    if (all)
        kt_string_printf(&line, ": %.0f %%", 100.0 * (double)done / (double)all);
    kt_string_printf(&line, ", %ld s", seconds);
    const size_t columns = kt_utf8_columns(kt_string_text(&line));
    fprintf(stderr, "%s%*s\r", kt_string_text(&line), (int)(columns_before > columns ? columns_before - columns : 0),
            "");
    fflush(stderr);
    kt_string_destroy(&line);
    return columns;
}

static void *watch(void *unused)
{
    struct timespec next;
    size_t columns = 0;
    (void)unused;
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&progress.lock);
    for (long seconds = 1; !progress.ended; seconds++) {
        int error = 0;
        next.tv_sec++;
        while (!progress.ended && error != ETIMEDOUT)
            error = pthread_cond_timedwait(&progress.end, &progress.lock, &next);
        if (!progress.ended)
            columns = show(columns, seconds);
    }
    pthread_mutex_unlock(&progress.lock);
    if (columns)
        fprintf(stderr, "%*s\r", (int)columns, "");
    return NULL;
}

void cli_progress_begin(const char *verb, const char *object)
{
    pthread_condattr_t attributes;
    if (!isatty(STDERR_FILENO))
        return;
    progress.verb = verb;
    progress.object = object;
    progress.ended = false;
    atomic_store(&progress.done, 0);
    atomic_store(&progress.all, 0);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.end, &attributes);
    pthread_condattr_destroy(&attributes);
    /* Signals are the other thread's, which holds them back where cleanup.h says so. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    progress.running = pthread_create(&progress.thread, NULL, watch, NULL) == 0; /* without a thread, nothing is said */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!progress.running)
        pthread_cond_destroy(&progress.end);
}

void cli_progress_set(uint64_t done, uint64_t all)
{
    atomic_store_explicit(&progress.done, done, memory_order_relaxed);
    atomic_store_explicit(&progress.all, all, memory_order_relaxed);
}

void cli_progress_end(void)
{
    if (!progress.running)
        return;
    pthread_mutex_lock(&progress.lock);
    progress.ended = true;
    pthread_cond_signal(&progress.end);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.end);
    progress.running = false;
}

int cli_load(struct ktrace_trace **out, const char *path)
{
    cli_progress_begin("reading", path);
    const int result = ktrace_trace_load(out, path);
    cli_progress_end();
    return result < 0 ? cli_error_library() : CLI_OK;
}
