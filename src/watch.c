#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/host_clock.h"
#include "capture.h"
#include "error.h"
#include "log.h"
#include "own_descriptor.h"
#include "own_thread.h"
#include "record_session.h"
#include "trace_file.h"
#include "watch_wire.h"

enum { REQUEST_MS = 1000, BACKLOG = 8, END_MS = 2000 };

/* A look, and what came of it. */
struct look {
    struct kt_watch_answer facts;
    char sentence[KT_WATCH_SENTENCE_MAX];
    void *trace; /* owned */
};

static struct kt_own_descriptor listener = KT_NO_DESCRIPTOR;
static struct kt_own_descriptor stop = KT_NO_DESCRIPTOR,
                                stopper = KT_NO_DESCRIPTOR; /* readable once the other is closed */
static int current_connection = -1;                         /* atomic: a forked child closes it */
static pthread_t listening, looking;

/* Of what follows. Never held while looking. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int started;
static int ending;         /* nobody asks for a look any more */
static int ended;          /* and nobody takes one */
static int wanted;         /* a look is asked for */
static int busy;           /* until it is there */
static int64_t begin_ms;   /* when it began */
static struct look latest; /* that came back; taken by whoever waits for it */

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

static void fail_look(struct look *look, int status)
{
    look->facts.status = status;
    snprintf(look->sentence, sizeof look->sentence, "%s", ktrace_last_error());
    look->facts.sentence_bytes = (uint32_t)strlen(look->sentence);
}

static void take_look(struct look *look)
{
    struct kt_snapshot *snapshot = NULL;
    struct kt_capture_facts facts = {0};
    size_t bytes = 0;
    *look = (struct look){.trace = NULL};
    int status = kt_capture_peek_armed(&snapshot, &facts);
    const uint64_t now_ns = kt_host_clock_ns(CLOCK_MONOTONIC);
    if (status == KTRACE_OK)
        status = kt_snapshot_save_memory(&look->trace, &bytes, snapshot);
    kt_snapshot_destroy(snapshot);
    look->facts = (struct kt_watch_answer){.flags = facts.is_background ? KT_WATCH_PROCESS_WIDE : 0,
                                           .capture = facts.number,
                                           .gathered = facts.gathered,
                                           .now_ns = now_ns,
                                           .trace_bytes = bytes};
    if (status < 0)
        fail_look(look, status);
}

static void *look_when_asked(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "ktrace look");
    pthread_mutex_lock(&lock);
    while (!ended) {
        struct look look;
        if (!wanted) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        wanted = 0;
        pthread_mutex_unlock(&lock);
        take_look(&look);
        pthread_mutex_lock(&lock);
        free(latest.trace);
        latest = look;
        busy = 0;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* With the lock held, which is not held meanwhile. 0: the time is over. */
static int await_change(int64_t deadline_ms)
{
    const struct timespec deadline = {.tv_sec = deadline_ms / 1000, .tv_nsec = deadline_ms % 1000 * 1000000};
    return pthread_cond_timedwait(&changed, &lock, &deadline) != ETIMEDOUT;
}

/* ---- Answering --------------------------------------------------------------------------------------------------- */

/* One, or the one that is under way: waits for it. */
static void await_look(struct look *out, int64_t deadline_ms)
{
    pthread_mutex_lock(&lock);
    if (!busy && !ending) {
        busy = wanted = 1;
        begin_ms = kt_monotonic_ms();
        pthread_cond_broadcast(&changed);
    }
    while (busy && !ending && await_change(deadline_ms))
        ;
    const int is_there = !busy && latest.facts.now_ns;
    const int64_t since_ms = kt_monotonic_ms() - begin_ms;
    if (is_there) {
        *out = latest;
        latest = (struct look){.trace = NULL};
    }
    pthread_mutex_unlock(&lock);
    if (!is_there)
        fail_look(out, kt_fail(KTRACE_ERROR_DEVICE,
                               "a look that began %lld.%lld s ago has not come back: the driver does not answer, or a "
                               "call of the program holds the capture",
                               (long long)since_ms / 1000, (long long)since_ms % 1000 / 100));
}

/* Our own user, and root, which can read our memory anyway. */
static int is_welcome(int connection)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void send_look(int connection, const struct look *look)
{
    uint8_t header[KT_WATCH_ANSWER_BYTES];
    const int64_t deadline_ms = kt_monotonic_ms() + kt_watch_transfer_ms(look->facts.trace_bytes);
    kt_watch_encode_answer(header, &look->facts);
    if (kt_watch_send(connection, header, sizeof header, stop.number, deadline_ms) == KTRACE_OK &&
        kt_watch_send(connection, look->sentence, look->facts.sentence_bytes, stop.number, deadline_ms) == KTRACE_OK)
        kt_watch_send(connection, look->trace, look->facts.trace_bytes, stop.number, deadline_ms);
}

static void answer(int connection)
{
    uint8_t frame[KT_WATCH_REQUEST_BYTES];
    struct kt_watch_request request;
    struct look look = {.trace = NULL};
    int64_t now_ms = kt_monotonic_ms();
    if (!is_welcome(connection) ||
        kt_watch_receive(connection, frame, sizeof frame, stop.number, now_ms + REQUEST_MS) < 0)
        return;
    const int status = kt_watch_decode_request(&request, frame);
    if (status < 0) {
        fail_look(&look, status);
    } else {
        now_ms = kt_monotonic_ms();
        await_look(&look, now_ms + request.patience_ms);
    }
    send_look(connection, &look);
    free(look.trace);
}

/* Until the process ends, or the program has closed what is needed for it. */
static void *listen_for_ever(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "ktrace watch");
    while (kt_own_descriptor_is_ours(&listener) && kt_own_descriptor_is_ours(&stop)) {
        struct pollfd polls[2] = {{.fd = listener.number, .events = POLLIN}, {.fd = stop.number, .events = POLLIN}};
        if (poll(polls, 2, -1) > 0 && polls[1].revents)
            return NULL;
        if (!kt_own_descriptor_is_ours(&listener))
            return NULL;
        const int connection = accept4(listener.number, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (connection < 0) { /* of a client that is gone, or there are no descriptors left: not at once again */
            poll(NULL, 0, errno == EAGAIN || errno == ECONNABORTED ? 0 : 50);
            continue;
        }
        __atomic_store_n(&current_connection, connection, __ATOMIC_RELEASE);
        answer(connection);
        __atomic_store_n(&current_connection, -1, __ATOMIC_RELEASE);
        close(connection);
    }
    return NULL;
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

static void close_all(void)
{
    kt_own_descriptor_close(&listener);
    kt_own_descriptor_close(&stopper);
    kt_own_descriptor_close(&stop);
}

/* No look is under way any more. 0: one does not come back. */
static int end_looking(void)
{
    const int64_t end_ms = kt_monotonic_ms() + END_MS;
    pthread_mutex_lock(&lock);
    while (busy && await_change(end_ms))
        ;
    ended = !busy;
    const int has_ended = ended;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (has_ended)
        pthread_join(looking, NULL);
    return has_ended;
}

/* Before the driver's own end, which was registered earlier: no look may be under way then. One that does not come back is left, and so
 * is who listens with descriptors that the program has closed: it cannot be woken. */
static void end_watching(void)
{
    pthread_mutex_lock(&lock);
    const int runs = started && !ending && !ended;
    ending = 1;
    if (runs)
        pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (!runs)
        return;
    const int hears = kt_own_descriptor_is_ours(&stop) && kt_own_descriptor_is_ours(&stopper);
    kt_own_descriptor_close(&stopper);
    if (hears)
        pthread_join(listening, NULL);
    if (end_looking() && hears)
        close_all();
}

static int fail_errno(const char *attempted)
{
    return kt_fail(KTRACE_ERROR_IO, "%s: %s", attempted, strerror(errno));
}

static int open_listener(void)
{
    struct stat status;
    struct sockaddr_un address;
    if (stat("/proc/self/ns/pid", &status) < 0)
        return fail_errno("/proc/self/ns/pid");
    const socklen_t bytes = kt_watch_address(&address, status.st_ino, getpid());
    if (kt_own_descriptor_take(&listener, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
        return fail_errno("making a socket");
    if (bind(listener.number, (const struct sockaddr *)&address, bytes) < 0 || listen(listener.number, BACKLOG) < 0)
        return fail_errno("listening at a socket");
    return KTRACE_OK;
}

static int open_stop(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return fail_errno("making a pipe");
    const int status = kt_own_descriptor_take(&stop, ends[0]);
    return kt_own_descriptor_take(&stopper, ends[1]) < 0 || status < 0 ? fail_errno("making a pipe") : KTRACE_OK;
}

static void make_condition(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* With the lock held: they wait for it. */
static int start_threads(void)
{
    int error = kt_own_thread_start(&looking, look_when_asked, NULL);
    if (error == 0) {
        error = kt_own_thread_start(&listening, listen_for_ever, NULL);
        if (error)
            pthread_detach(looking); /* finds that it ended */
    }
    return error ? kt_fail(KTRACE_ERROR_IO, "starting a thread: %s", strerror(error)) : KTRACE_OK;
}

static int start(void)
{
    make_condition();
    int status = open_listener();
    if (status == KTRACE_OK)
        status = open_stop();
    return status < 0 ? status : start_threads();
}

void kt_watch_start(void)
{
    static int registered; /* in the parent is as good */
    int status = KTRACE_OK;
    pthread_mutex_lock(&lock);
    if (!started) {
        started = 1; /* once, also where it fails */
        status = start();
        if (status < 0) {
            ended = 1;
            close_all();
        } else if (!registered) {
            registered = atexit(end_watching) == 0;
        }
    }
    pthread_mutex_unlock(&lock);
    if (status < 0) {
        char sentence[1100];
        snprintf(sentence, sizeof sentence, "KTRACE_WATCH: nobody can watch this process: %s", ktrace_last_error());
        if (!kt_record_say(KT_RECORD_NOTE, sentence)) /* of what is recorded nothing is lost by that */
            kt_tell("%s", sentence);
    }
}

void kt_watch_forget(void)
{
    const int connection = __atomic_exchange_n(&current_connection, -1, __ATOMIC_ACQ_REL);
    pthread_mutex_init(&lock, NULL);
    close_all();
    if (connection >= 0)
        close(connection);
    started = ending = ended = wanted = busy = 0;
    latest = (struct look){.trace = NULL};
}
