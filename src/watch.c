#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/host_clock.h"
#include "capture.h"
#include "error.h"
#include "log.h"
#include "own_thread.h"
#include "trace_file.h"
#include "watch_wire.h"

enum { REQUEST_MS = 1000, BACKLOG = 8, END_MS = 2000 };

/* A look, and what came of it. */
struct look {
    struct kt_watch_answer facts;
    char sentence[KT_WATCH_SENTENCE_MAX];
    void *trace; /* owned */
};

/* Descriptors are -1 where there is none. */
static struct {
    int listener, connection; /* atomic: a forked child closes them */
    int stop;                 /* readable for ever once the process ends */
    int wanted, ready;        /* counts: a look is asked for, is there */
} descriptors = {-1, -1, -1, -1, -1};
static pthread_t listening, looking;

static int ended; /* atomic */

/* Of what follows. Never held while waiting for a look. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int started;
static int busy;           /* a look is under way */
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

static void count_up(int descriptor)
{
    const uint64_t one = 1;
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* Waits for more than 0, and makes it 0. */
static void count_down(int descriptor)
{
    uint64_t count;
    while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

static void *look_when_asked(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "ktrace look");
    for (;;) {
        struct look look;
        count_down(descriptors.wanted);
        if (__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
            return NULL;
        take_look(&look);
        pthread_mutex_lock(&lock);
        free(latest.trace);
        latest = look;
        busy = 0;
        pthread_mutex_unlock(&lock);
        count_up(descriptors.ready);
    }
}

/* ---- Answering --------------------------------------------------------------------------------------------------- */

static void ask_for_look(void)
{
    pthread_mutex_lock(&lock);
    const int begins = !busy;
    if (begins) {
        busy = 1;
        begin_ms = kt_monotonic_ms();
    }
    pthread_mutex_unlock(&lock);
    if (begins)
        count_up(descriptors.wanted);
}

/* Whether it is there: then it is the caller's. */
static int collect_look(struct look *out, int64_t *since_ms)
{
    pthread_mutex_lock(&lock);
    const int is_there = !busy;
    *since_ms = kt_monotonic_ms() - begin_ms;
    if (is_there) {
        *out = latest;
        latest = (struct look){.trace = NULL};
    }
    pthread_mutex_unlock(&lock);
    return is_there;
}

/* Waits for the look that is under way. */
static void await_look(struct look *out, int64_t deadline_ms)
{
    int64_t since_ms, left_ms;
    while (!collect_look(out, &since_ms) && (left_ms = deadline_ms - kt_monotonic_ms()) > 0) {
        struct pollfd polls[2] = {{.fd = descriptors.ready, .events = POLLIN},
                                  {.fd = descriptors.stop, .events = POLLIN}};
        if (poll(polls, 2, (int)left_ms) > 0 && polls[1].revents)
            break;
        if (polls[0].revents)
            count_down(descriptors.ready); /* or of a look that nobody waited for any more */
    }
    if (out->facts.now_ns)
        return;
    fail_look(out, kt_fail(KTRACE_ERROR_DEVICE,
                           "a look that began %lld.%lld s ago has not come back: the driver does not answer, or a call "
                           "of the program holds the capture",
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
    if (kt_watch_send(connection, header, sizeof header, descriptors.stop, deadline_ms) == KTRACE_OK &&
        kt_watch_send(connection, look->sentence, look->facts.sentence_bytes, descriptors.stop, deadline_ms) ==
            KTRACE_OK)
        kt_watch_send(connection, look->trace, look->facts.trace_bytes, descriptors.stop, deadline_ms);
}

static void answer(int connection)
{
    uint8_t frame[KT_WATCH_REQUEST_BYTES];
    struct kt_watch_request request;
    struct look look = {.trace = NULL};
    int64_t now_ms = kt_monotonic_ms();
    if (!is_welcome(connection) ||
        kt_watch_receive(connection, frame, sizeof frame, descriptors.stop, now_ms + REQUEST_MS) < 0)
        return;
    const int status = kt_watch_decode_request(&request, frame);
    if (status < 0) {
        fail_look(&look, status);
    } else {
        now_ms = kt_monotonic_ms();
        ask_for_look();
        await_look(&look, now_ms + request.patience_ms);
    }
    send_look(connection, &look);
    free(look.trace);
}

static void *listen_for_ever(void *unused)
{
    (void)unused;
    const int listener = descriptors.listener;
    pthread_setname_np(pthread_self(), "ktrace watch");
    for (;;) {
        struct pollfd polls[2] = {{.fd = listener, .events = POLLIN}, {.fd = descriptors.stop, .events = POLLIN}};
        if (poll(polls, 2, -1) > 0 && polls[1].revents)
            return NULL;
        const int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (connection < 0) { /* of a client that is gone, or there are no descriptors left: not at once again */
            poll(NULL, 0, errno == EAGAIN || errno == ECONNABORTED ? 0 : 50);
            continue;
        }
        __atomic_store_n(&descriptors.connection, connection, __ATOMIC_RELEASE);
        answer(connection);
        __atomic_store_n(&descriptors.connection, -1, __ATOMIC_RELEASE);
        close(connection);
    }
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

static void close_one(int *descriptor)
{
    const int number = __atomic_exchange_n(descriptor, -1, __ATOMIC_ACQ_REL);
    if (number >= 0)
        close(number);
}

static void close_all(void)
{
    close_one(&descriptors.listener);
    close_one(&descriptors.connection);
    close_one(&descriptors.stop);
    close_one(&descriptors.wanted);
    close_one(&descriptors.ready);
}

static int is_busy(void)
{
    pthread_mutex_lock(&lock);
    const int answer = busy;
    pthread_mutex_unlock(&lock);
    return answer;
}

/* Before the driver's own end, which was registered earlier: no look may be under way then. One that does not come back is left. */
static void end_watching(void)
{
    pthread_mutex_lock(&lock);
    const int runs = started && !ended;
    pthread_mutex_unlock(&lock);
    if (!runs)
        return;
    count_up(descriptors.stop);
    pthread_join(listening, NULL); /* nobody asks for a look any more */
    for (const int64_t end_ms = kt_monotonic_ms() + END_MS; is_busy();) {
        if (kt_monotonic_ms() >= end_ms)
            return;
        poll(NULL, 0, 5);
    }
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    count_up(descriptors.wanted); /* which finds that it ended */
    pthread_join(looking, NULL);
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
    descriptors.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptors.listener < 0)
        return fail_errno("making a socket");
    if (bind(descriptors.listener, (const struct sockaddr *)&address, bytes) < 0 ||
        listen(descriptors.listener, BACKLOG) < 0)
        return fail_errno("listening at a socket");
    return KTRACE_OK;
}

static int start_threads(void)
{
    int error = kt_own_thread_start(&looking, look_when_asked, NULL);
    if (error == 0) {
        error = kt_own_thread_start(&listening, listen_for_ever, NULL);
        if (error) { /* the other one finds that it ended */
            __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
            count_up(descriptors.wanted);
            pthread_join(looking, NULL);
        }
    }
    return error ? kt_fail(KTRACE_ERROR_IO, "starting a thread: %s", strerror(error)) : KTRACE_OK;
}

static int start(void)
{
    int status = open_listener();
    if (status < 0)
        return status;
    descriptors.stop = eventfd(0, EFD_CLOEXEC);
    descriptors.wanted = eventfd(0, EFD_CLOEXEC);
    descriptors.ready = eventfd(0, EFD_CLOEXEC);
    if (descriptors.stop < 0 || descriptors.wanted < 0 || descriptors.ready < 0)
        return fail_errno("making an eventfd");
    return start_threads();
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
            __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
            close_all();
        } else if (!registered) {
            registered = atexit(end_watching) == 0;
        }
    }
    pthread_mutex_unlock(&lock);
    if (status < 0)
        kt_tell("KTRACE_WATCH: nobody can watch this process: %s", ktrace_last_error());
}

void kt_watch_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    close_all();
    started = ended = busy = 0;
    latest = (struct look){.trace = NULL};
}
