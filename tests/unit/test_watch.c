/* What lets other processes look at this one: frames, sockets with silent and broken other sides, and looks at captures that are
 * open, hung, between others, or in a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "backend/host_clock.h"
#include "capture_fixture.h"
#include "watch_wire.h"

enum { SOON_MS = 30000 }; /* that what must come may take */

/* ---- Frames ------------------------------------------------------------------------------------------------------ */

static void test_request(void **state)
{
    (void)state;
    const struct kt_watch_request request = {.patience_ms = 1234};
    struct kt_watch_request out = {0};
    uint8_t frame[KT_WATCH_REQUEST_BYTES];
    kt_watch_encode_request(frame, &request);
    assert_int_equal(kt_watch_decode_request(&out, frame), KTRACE_OK);
    assert_int_equal(out.patience_ms, 1234);
    for (unsigned byte = 0; byte < sizeof frame; byte++) /* no bit is without meaning, but those of the time */
        for (unsigned bit = 0; bit < 8; bit++) {
            frame[byte] ^= (uint8_t)(1u << bit);
            const int status = kt_watch_decode_request(&out, frame);
            if (byte < 4 || byte == 6 || byte == 7 || byte >= 11)
                assert_int_equal(status, KTRACE_ERROR_FORMAT);
            else if (byte == 4 || byte == 5)
                assert_int_equal(status, KTRACE_ERROR_VERSION);
            frame[byte] ^= (uint8_t)(1u << bit);
        }
}

static void assert_answer(int status, struct kt_watch_answer answer)
{
    struct kt_watch_answer out = {.capture = 77};
    uint8_t frame[KT_WATCH_ANSWER_BYTES];
    kt_watch_encode_answer(frame, &answer);
    assert_int_equal(kt_watch_decode_answer(&out, frame), status);
    if (status < 0) {
        assert_int_equal(out.capture, 77);
        return;
    }
    assert_int_equal(out.status, answer.status);
    assert_int_equal(out.flags, answer.flags);
    assert_int_equal(out.capture, answer.capture);
    assert_int_equal(out.gathered, answer.gathered);
    assert_int_equal(out.now_ns, answer.now_ns);
    assert_int_equal(out.trace_bytes, answer.trace_bytes);
    assert_int_equal(out.sentence_bytes, answer.sentence_bytes);
}

static void test_answer(void **state)
{
    (void)state;
    const struct kt_watch_answer good = {.flags = KT_WATCH_PROCESS_WIDE,
                                         .capture = 3,
                                         .gathered = 1ull << 40,
                                         .now_ns = UINT64_MAX,
                                         .trace_bytes = 5000000000};
    const struct kt_watch_answer bad = {.status = KTRACE_ERROR_STATE, .sentence_bytes = 30};
    struct kt_watch_answer wrong = good;
    assert_answer(KTRACE_OK, good);
    assert_answer(KTRACE_OK, bad);
    wrong.trace_bytes = 0;
    assert_answer(KTRACE_ERROR_FORMAT, wrong);
    wrong.trace_bytes = UINT64_MAX;
    assert_answer(KTRACE_ERROR_FORMAT, wrong);
    wrong = good;
    wrong.sentence_bytes = 1;
    assert_answer(KTRACE_ERROR_FORMAT, wrong);
    wrong = good;
    wrong.status = 1;
    assert_answer(KTRACE_ERROR_FORMAT, wrong);
    wrong = bad;
    wrong.sentence_bytes = 0;
    assert_answer(KTRACE_ERROR_FORMAT, wrong);
    wrong.sentence_bytes = KT_WATCH_SENTENCE_MAX + 1;
    assert_answer(KTRACE_ERROR_FORMAT, wrong);
    wrong = bad;
    wrong.trace_bytes = 1;
    assert_answer(KTRACE_ERROR_FORMAT, wrong);
}

/* Any bytes are an answer that keeps to the limits, or none. */
static void test_damaged_answers(void **state)
{
    (void)state;
    uint8_t frame[KT_WATCH_ANSWER_BYTES];
    const struct kt_watch_answer good = {.capture = 1, .trace_bytes = 100};
    struct kt_watch_answer out;
    uint64_t random = 88172645463325252ull;
    for (int round = 0; round < 200000; round++) {
        kt_watch_encode_answer(frame, &good);
        for (int changes = 0; changes < 4; changes++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            frame[random % sizeof frame] = (uint8_t)(random >> 32);
        }
        if (kt_watch_decode_answer(&out, frame) < 0)
            continue;
        assert_true(out.status <= 0 && out.sentence_bytes <= KT_WATCH_SENTENCE_MAX);
        assert_true(out.status < 0 ? out.trace_bytes == 0 && out.sentence_bytes : out.trace_bytes > 0);
    }
}

/* ---- Sockets ----------------------------------------------------------------------------------------------------- */

struct sockets {
    int here, there, stop[2];
};

static struct sockets make_sockets(void)
{
    struct sockets made;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(pipe(made.stop), 0);
    made.here = ends[0];
    made.there = ends[1];
    return made;
}

static void close_sockets(struct sockets *sockets)
{
    close(sockets->here);
    if (sockets->there >= 0)
        close(sockets->there);
    close(sockets->stop[0]);
    close(sockets->stop[1]);
}

static void assert_fails(int status, const char *words)
{
    assert_int_equal(status, KTRACE_ERROR_IO);
    if (!strstr(ktrace_last_error(), words))
        fail_msg("'%s' is not in: %s", words, ktrace_last_error());
}

/* The other side is silent, gone in the middle, or does not read; or we are asked to stop. None of it takes for ever. */
static void test_other_side(void **state)
{
    (void)state;
    struct sockets sockets = make_sockets();
    enum { MUCH = 64 << 20 };
    char data[8], *much = calloc(1, MUCH);
    assert_non_null(much);
    assert_fails(kt_watch_receive(sockets.here, data, sizeof data, sockets.stop[0], kt_monotonic_ms() + 50),
                 "is silent");
    assert_fails(kt_watch_send(sockets.here, much, MUCH, sockets.stop[0], kt_monotonic_ms() + 50), "is silent");
    assert_int_equal(write(sockets.stop[1], "x", 1), 1);
    assert_fails(kt_watch_receive(sockets.here, data, sizeof data, sockets.stop[0], kt_monotonic_ms() + SOON_MS),
                 "it was ended");
    assert_int_equal(send(sockets.there, "1234", 4, 0), 4);
    close(sockets.there);
    sockets.there = -1;
    assert_fails(kt_watch_receive(sockets.here, data, sizeof data, -1, kt_monotonic_ms() + SOON_MS), "");
    assert_fails(kt_watch_send(sockets.here, much, MUCH, -1, kt_monotonic_ms() + SOON_MS), "");
    assert_int_equal(kt_watch_receive(sockets.here, data, 0, -1, 0), KTRACE_OK);
    free(much);
    close_sockets(&sockets);
}

/* ---- Looks ------------------------------------------------------------------------------------------------------- */

struct seen {
    struct kt_watch_answer answer;
    char sentence[KT_WATCH_SENTENCE_MAX + 1];
    struct ktrace_trace *trace; /* NULL: none */
};

/* -1: nobody listens. */
static int connect_to(pid_t pid)
{
    struct stat status;
    struct sockaddr_un address;
    assert_int_equal(stat("/proc/self/ns/pid", &status), 0);
    const socklen_t bytes = kt_watch_address(&address, status.st_ino, pid);
    const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); /* waits where many ask */
    assert_true(connection >= 0);
    if (connect(connection, (const struct sockaddr *)&address, bytes) == 0)
        return connection;
    close(connection);
    return -1;
}

static struct seen look(uint32_t patience_ms)
{
    struct seen seen = {.trace = NULL};
    const struct kt_watch_request request = {.patience_ms = patience_ms};
    uint8_t asked[KT_WATCH_REQUEST_BYTES], answered[KT_WATCH_ANSWER_BYTES];
    const int64_t end_ms = kt_monotonic_ms() + patience_ms + SOON_MS;
    const int connection = connect_to(getpid());
    assert_true(connection >= 0);
    kt_watch_encode_request(asked, &request);
    assert_int_equal(kt_watch_send(connection, asked, sizeof asked, -1, end_ms), KTRACE_OK);
    assert_int_equal(kt_watch_receive(connection, answered, sizeof answered, -1, end_ms), KTRACE_OK);
    assert_int_equal(kt_watch_decode_answer(&seen.answer, answered), KTRACE_OK);
    assert_int_equal(kt_watch_receive(connection, seen.sentence, seen.answer.sentence_bytes, -1, end_ms), KTRACE_OK);
    if (seen.answer.status == 0) {
        uint8_t *data = malloc(seen.answer.trace_bytes);
        assert_non_null(data);
        assert_int_equal(kt_watch_receive(connection, data, seen.answer.trace_bytes, -1, end_ms), KTRACE_OK);
        assert_int_equal(ktrace_trace_load_memory(&seen.trace, data, seen.answer.trace_bytes), KTRACE_OK);
        free(data);
    }
    close(connection);
    return seen;
}

static uint64_t waves_seen(void)
{
    const struct seen seen = look(SOON_MS);
    if (seen.answer.status < 0)
        fail_msg("%s", seen.sentence);
    const uint64_t waves = info_of(seen.trace).waves;
    ktrace_trace_destroy(seen.trace);
    return waves;
}

static void run_wave(struct fixture *f, uint32_t workgroup)
{
    struct fake_wave wave;
    fake_wave_begin(&wave, &f->module, f->kernel, workgroup, 8, 1, 1000);
    fake_event(&wave, 0, f->mark, 1010);
    fake_wave_end(&wave, 1020);
}

/* First of those that begin a capture: nobody listens before. */
static void test_begins_with_a_capture(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(connect_to(getpid()), -1);
    unsetenv("KTRACE_WATCH");
    assert_int_equal(fake_begin(&f->capture, &f->device, NULL), 0);
    assert_int_equal(connect_to(getpid()), -1);
    assert_int_equal(ktrace_capture_end(NULL, f->capture), 0);
    setenv("KTRACE_WATCH", "1", 1);
    fake_device_init(&f->device);
    assert_int_equal(fake_begin(&f->capture, &f->device, NULL), 0);
    assert_int_equal(waves_seen(), 0);
    run_wave(f, 0);
    assert_int_equal(waves_seen(), 1);
    assert_int_equal(ktrace_capture_end(NULL, f->capture), 0);
    const struct seen seen = look(SOON_MS);
    assert_int_equal(seen.answer.status, KTRACE_ERROR_STATE);
    assert_non_null(strstr(seen.sentence, "no capture is open"));
}

/* The number of the capture, and how often its records were taken, tell whether two looks can be compared. */
static void test_what_began_anew(void **state)
{
    struct fixture *f = *state;
    struct ktrace_trace *trace = NULL;
    uint32_t capture = 0;
    for (int round = 0; round < 2; round++) {
        fake_device_init(&f->device);
        assert_int_equal(fake_begin(&f->capture, &f->device, NULL), 0);
        run_wave(f, 0);
        struct seen seen = look(SOON_MS);
        assert_int_equal(seen.answer.flags, 0);
        assert_int_not_equal(seen.answer.capture, capture);
        assert_int_equal(seen.answer.gathered, 0);
        capture = seen.answer.capture;
        ktrace_trace_destroy(seen.trace);
        assert_int_equal(ktrace_capture_read(&trace, f->capture), 0);
        ktrace_trace_destroy(trace);
        assert_int_equal(ktrace_capture_clear(f->capture), 0);
        seen = look(SOON_MS);
        assert_int_equal(seen.answer.capture, capture);
        assert_int_equal(seen.answer.gathered, 2);
        assert_int_equal(info_of(seen.trace).waves, 0);
        ktrace_trace_destroy(seen.trace);
        assert_int_equal(ktrace_capture_end(NULL, f->capture), 0);
    }
}

static void *end_in_thread(void *argument)
{
    struct fixture *f = argument;
    ktrace_capture_end(NULL, f->capture);
    return NULL;
}

/* The program waits in ktrace_capture_end for a kernel that hangs. */
static void test_hung_kernel(void **state)
{
    struct fixture *f = *state;
    struct fake_wave wave;
    pthread_t thread;
    assert_int_equal(fake_begin(&f->capture, &f->device, NULL), 0);
    fake_wave_begin(&wave, &f->module, f->kernel, 0, 1, 1, 1000);
    fake_event(&wave, 0, f->push, 1010);
    __atomic_store_n(&f->device.hang, 1, __ATOMIC_RELEASE);
    assert_int_equal(pthread_create(&thread, NULL, end_in_thread, f), 0);
    while (!__atomic_load_n(&f->device.waiting, __ATOMIC_ACQUIRE))
        usleep(1000);
    for (int i = 0; i < 3; i++) {
        const struct seen seen = look(SOON_MS);
        assert_int_equal(seen.answer.status, 0);
        assert_int_equal(info_of(seen.trace).waves_unfinished, 1);
        assert_int_equal(info_of(seen.trace).ranges_unclosed, 1);
        ktrace_trace_destroy(seen.trace);
    }
    fake_wave_end(&wave, 1020);
    __atomic_store_n(&f->device.hang, 0, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

/* The driver does not come back: who asks is told, each in time, and once it comes back everything goes on. */
static void test_hung_driver(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(fake_begin(&f->capture, &f->device, NULL), 0);
    run_wave(f, 0);
    __atomic_store_n(&f->device.hang_peek, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 3; i++) {
        const struct seen seen = look(20);
        assert_int_equal(seen.answer.status, KTRACE_ERROR_DEVICE);
        assert_non_null(strstr(seen.sentence, "has not come back"));
    }
    __atomic_store_n(&f->device.hang_peek, 0, __ATOMIC_RELEASE);
    assert_int_equal(waves_seen(), 1);
    assert_int_equal(waves_seen(), 1);
    assert_int_equal(ktrace_capture_end(NULL, f->capture), 0);
}

/* In a child. */
static int can_be_watched(void)
{
#if defined(__SANITIZE_THREAD__) /* which lets no child start threads */
    return 1;
#else
    struct fake_device own;
    struct ktrace_capture *capture = NULL;
    fake_device_init(&own);
    return fake_begin(&capture, &own, NULL) == 0 && waves_seen() == 0 && ktrace_capture_end(NULL, capture) == 0;
#endif
}

/* A child has neither threads nor socket, and the parent's are as they were; a capture of its own makes them. */
static void test_fork(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(fake_begin(&f->capture, &f->device, NULL), 0);
    run_wave(f, 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60); /* a deadlock ends the child */
        const int alone = connect_to(getpid()) == -1 && connect_to(getppid()) >= 0;
        exit(alone && can_be_watched() ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(waves_seen(), 1);
    assert_int_equal(ktrace_capture_end(NULL, f->capture), 0);
}

/* A driver that does not come back keeps no process from ending. */
static void test_exit_with_hung_driver(void **state)
{
    struct fixture *f = *state;
#if defined(__SANITIZE_THREAD__)
    (void)f;
    skip(); /* it lets no child start threads */
#endif
    const pid_t child = fork();
    if (child == 0) {
        alarm(60); /* of a process that does not end */
        if (fake_begin(&f->capture, &f->device, NULL) < 0)
            _exit(2);
        __atomic_store_n(&f->device.hang_peek, 1, __ATOMIC_RELEASE);
        exit(look(20).answer.status == KTRACE_ERROR_DEVICE ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int end_with_taken_descriptors(struct fixture *f, int file, int is_watched)
{
    if (fake_begin(&f->capture, &f->device, NULL) < 0)
        return 2;
    for (int i = 3; i < 64; i++)
        if (i != file)
            dup2(file, i);
    if (is_watched) { /* who listens still hears, but has nothing to answer with */
        const int connection = connect_to(getpid());
        if (connection >= 0)
            close(connection);
    }
    return 0;
}

/* A program that closes what it does not know gets our numbers for files of its own: nothing is written there, and it ends. */
static void test_descriptors_that_are_taken(void **state)
{
    struct fixture *f = *state;
    struct stat status;
#if defined(__SANITIZE_THREAD__)
    (void)f;
    skip(); /* it lets no child start threads */
#endif
    FILE *file = tmpfile();
    assert_non_null(file);
    for (int is_watched = 0; is_watched < 2; is_watched++) {
        const pid_t child = fork();
        int end = -1;
        if (child == 0) {
            alarm(20); /* of a process that does not end */
            exit(end_with_taken_descriptors(f, fileno(file), is_watched));
        }
        assert_int_equal(waitpid(child, &end, 0), child);
        assert_true(WIFEXITED(end));
        assert_int_equal(WEXITSTATUS(end), 0);
        assert_int_equal(fstat(fileno(file), &status), 0);
        assert_int_equal(status.st_size, 0);
    }
    fclose(file);
}

struct threads {
    struct fixture *f;
    int ended; /* atomic */
    uint64_t looks;
};

static void *look_on_and_on(void *argument)
{
    struct threads *threads = argument;
    while (!__atomic_load_n(&threads->ended, __ATOMIC_ACQUIRE)) {
        const struct seen seen = look(SOON_MS);
        if (seen.answer.status < 0)
            assert_int_equal(seen.answer.status, KTRACE_ERROR_STATE);
        ktrace_trace_destroy(seen.trace);
        __atomic_fetch_add(&threads->looks, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Several ask, while captures come and go and are read. What the thread sanitizer looks at. */
static void test_beside_captures(void **state)
{
    struct fixture *f = *state;
    struct threads threads = {.f = f};
    pthread_t asking[3];
    struct ktrace_trace *trace = NULL;
    assert_int_equal(fake_begin(&f->capture, &f->device, NULL), 0); /* from here on somebody listens */
    assert_int_equal(ktrace_capture_end(NULL, f->capture), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&asking[i], NULL, look_on_and_on, &threads), 0);
    for (int round = 0; round < 30 || __atomic_load_n(&threads.looks, __ATOMIC_RELAXED) < 30; round++) {
        fake_device_init(&f->device);
        assert_int_equal(fake_begin(&f->capture, &f->device, NULL), 0);
        usleep(1000);
        assert_int_equal(ktrace_capture_read(&trace, f->capture), 0);
        ktrace_trace_destroy(trace);
        assert_int_equal(ktrace_capture_end(NULL, f->capture), 0);
    }
    __atomic_store_n(&threads.ended, 1, __ATOMIC_RELEASE);
    for (size_t i = 0; i < 3; i++)
        pthread_join(asking[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_damaged_answers),
        cmocka_unit_test(test_other_side),
        cmocka_unit_test_setup_teardown(test_begins_with_a_capture, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_began_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hung_kernel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hung_driver, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fork, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_exit_with_hung_driver, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors_that_are_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_beside_captures, set_up, tear_down),
    };
    setenv("KTRACE_WATCH", "1", 1);
    setenv("KTRACE_BUFFER_BYTES", "1M", 1); /* clearing much memory takes long */
    alarm(100);                             /* whoever waits for ever */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
