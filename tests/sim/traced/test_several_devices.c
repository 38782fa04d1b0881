/* test_several_devices.c - one capture of three simulated chips: which of them it records, launches side by side on one timeline,
 * graphs, filters and overflows of each, and the trace in a file. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "traced.h"

#define DEVICES 3

/* On each of these devices, a bit each: loaded and attached, so that it is in use. */
static void use_devices(struct traced *t, unsigned devices)
{
    for (int i = 0; i < DEVICES; i++)
        if (devices >> i & 1) {
            ok(hipSetDevice(i));
            prepare(t, "work", (struct dim3){1, 1, 1}, (struct dim3){64, 1, 1}, 0);
        }
    ok(hipSetDevice(0));
    forget_launches(t);
}

static void begin_on(struct traced *t, const char *devices)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.devices = devices;
    begin(t, &options);
}

static struct launched *launch_on(struct traced *t, int device, const char *kernel, uint32_t groups, int n)
{
    ok(hipSetDevice(device));
    struct launched *l = launch_kernel(t, kernel, groups, 128, n, NULL);
    ok(hipSetDevice(0));
    return l;
}

/* The devices of a trace by their numbers, a bit each. */
static unsigned devices_of(const struct ktrace_trace *trace)
{
    unsigned devices = 0;
    for (uint64_t i = 0; i < info_of(trace).devices; i++)
        devices |= 1u << device_of(trace, i).ordinal;
    return devices;
}

/* As it is, and as a file of it is. */
static void check_and_destroy(struct traced *t, size_t first, size_t count, struct ktrace_trace *trace)
{
    char path[] = "several_devices_XXXXXX";
    struct ktrace_trace *loaded;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    check_launches(t, first, count, trace);
    must(ktrace_trace_save(trace, path));
    must(ktrace_trace_load(&loaded, path));
    check_launches(t, first, count, loaded);
    assert_int_equal(devices_of(loaded), devices_of(trace));
    ktrace_trace_destroy(loaded);
    ktrace_trace_destroy(trace);
    assert_int_equal(unlink(path), 0);
}

/* ---- Which devices ------------------------------------------------------------------------------------------------ */

/* First: no other test has used device 2 before. */
static void those_in_use(void **state)
{
    struct traced *t = *state;
    int active;
    use_devices(t, 3);
    ok(hipDevicePrimaryCtxGetState(2, NULL, &active));
    assert_int_equal(active, 0);
    begin_on(t, NULL);
    for (int i = 0; i < 6; i++)
        launch_on(t, i % 2, i % 3 ? "work" : "other", 2, i);
    struct ktrace_trace *trace = end(t);
    assert_int_equal(devices_of(trace), 3);
    check_and_destroy(t, 0, 6, trace);
    ok(hipDevicePrimaryCtxGetState(2, NULL, &active));
    assert_int_equal(active, 0); /* the capture has not touched it */
}

/* A device that comes into use while a capture is open is recorded from then on. */
static void one_that_comes_later(void **state)
{
    struct traced *t = *state;
    begin_on(t, NULL);
    launch_on(t, 0, "work", 2, 3);
    launch_on(t, 2, "work", 2, 4); /* loads the module there, and attaches it */
    launch_on(t, 2, "other", 2, 1);
    struct ktrace_trace *trace = read_trace(t);
    assert_true(devices_of(trace) >> 2 & 1);
    check_launches(t, 0, 3, trace);
    ktrace_trace_destroy(trace);
    launch_on(t, 2, "work", 1, 2);
    check_and_destroy(t, 3, 1, end(t));
}

static void those_that_are_named(void **state)
{
    struct traced *t = *state;
    use_devices(t, 7);
    static const struct {
        const char *text;
        unsigned devices;
    } cases[] = {{"all", 7}, {"0", 1}, {"2", 4}, {"0,2", 5}, {"1-2", 6}, {"0-2", 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t wanted = 0;
        begin_on(t, cases[i].text);
        for (int k = 0; k < 2 * DEVICES; k++)
            if (cases[i].devices >> (k % DEVICES) & 1) {
                launch_on(t, k % DEVICES, "other", 1, k);
                wanted++;
            }
        for (int k = 0; k < DEVICES; k++)
            if (!(cases[i].devices >> k & 1))
                launch_on(t, k, "work", 1, k); /* dormant */
        struct ktrace_trace *trace = end(t);
        assert_int_equal(devices_of(trace), cases[i].devices);
        check_and_destroy(t, 0, wanted, trace);
        forget_launches(t);
    }
    struct ktrace_capture *capture;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.devices = "1,3";
    assert_true(ktrace_capture_begin(&capture, &options) < 0);
    assert_non_null(strstr(ktrace_last_error(), "3"));
    assert_int_equal(ktrace_active(), 0);
}

/* Captures leave the caller's current device as it is, and so do reads. */
static void the_current_device_stays(void **state)
{
    struct traced *t = *state;
    int current;
    use_devices(t, 7);
    for (int i = 0; i < DEVICES; i++) {
        ok(hipSetDevice(i));
        begin_on(t, "all");
        ok(hipGetDevice(&current));
        assert_int_equal(current, i);
        ktrace_trace_destroy(read_trace(t));
        must(ktrace_capture_clear(t->capture));
        ktrace_trace_destroy(end(t));
        ok(hipGetDevice(&current));
        assert_int_equal(current, i);
    }
}

/* ---- On one timeline ---------------------------------------------------------------------------------------------- */

/* Side by side, in order of first timestamps over all devices: their clocks are one. */
static void side_by_side(void **state)
{
    struct traced *t = *state;
    use_devices(t, 7);
    for (int i = 0; i < 30; i++) {
        ok(hipSetDevice(i * 7 % DEVICES));
        prepare(t, i % 4 ? "work" : "other", (struct dim3){3, 1, 1}, (struct dim3){128, 1, 1}, 30 + i);
    }
    begin_on(t, NULL);
    for (int i = 0; i < 30; i++)
        ok(launch_prepared(t, &t->launched[i], NULL));
    struct ktrace_trace *trace = end(t);
    int overlapping = 0, changes = 0;
    for (uint64_t i = 1; i < info_of(trace).launches; i++) {
        const struct ktrace_launch_info before = launch_of(trace, i - 1), now = launch_of(trace, i);
        overlapping += before.device != now.device && now.begin_ps < before.end_ps;
        changes += before.device != now.device;
    }
    assert_true(overlapping > 5 && changes > 10);
    check_and_destroy(t, 0, 30, trace);
}

/* One after another over devices, each waited for by the next: so they are on the timeline. */
static void one_after_another(void **state)
{
    struct traced *t = *state;
    use_devices(t, 7);
    begin_on(t, NULL);
    for (int i = 0; i < 12; i++) {
        launch_on(t, i * 2 % DEVICES, "work", 2, 10);
        ok(hipSetDevice(i * 2 % DEVICES));
        ok(hipDeviceSynchronize());
    }
    struct ktrace_trace *trace = end(t);
    for (uint64_t i = 0; i < 12; i++) {
        const struct ktrace_launch_info now = launch_of(trace, i);
        assert_int_equal(device_of(trace, now.device).ordinal, i * 2 % DEVICES);
        assert_true(i == 0 || now.begin_ps > launch_of(trace, i - 1).end_ps);
    }
    check_and_destroy(t, 0, 12, trace);
}

#define ROUNDS 10

struct thread {
    pthread_t id;
    struct traced *t;
    int device;
    atomic_int *failures;
};

static void *launch_rounds(void *argument)
{
    const struct thread *thread = argument;
    int bad = 0;
    for (int i = 0; i < ROUNDS; i++)
        bad += launch_prepared(thread->t, &thread->t->launched[thread->device * ROUNDS + i], hipStreamPerThread) !=
               hipSuccess;
    bad += hipDeviceSynchronize() != hipSuccess;
    atomic_fetch_add(thread->failures, bad);
    return NULL;
}

static void a_thread_for_each(void **state)
{
    struct traced *t = *state;
    struct thread threads[DEVICES];
    atomic_int failures = 0;
    use_devices(t, 7);
    for (int i = 0; i < DEVICES * ROUNDS; i++) {
        ok(hipSetDevice(i / ROUNDS));
        prepare(t, i % 2 ? "work" : "other", (struct dim3){2, 1, 1}, (struct dim3){64, 1, 1}, i % 7);
    }
    begin_on(t, NULL);
    for (int i = 0; i < DEVICES; i++) {
        threads[i] = (struct thread){.t = t, .device = i, .failures = &failures};
        assert_int_equal(pthread_create(&threads[i].id, NULL, launch_rounds, &threads[i]), 0);
    }
    for (int i = 0; i < DEVICES; i++)
        assert_int_equal(pthread_join(threads[i].id, NULL), 0);
    assert_int_equal(failures, 0);
    check_and_destroy(t, 0, DEVICES * ROUNDS, end(t));
}

/* ---- Each device on its own --------------------------------------------------------------------------------------- */

static void a_graph_on_each(void **state)
{
    struct traced *t = *state;
    hipStream_t streams[DEVICES];
    hipGraphExec_t graphs[DEVICES];
    use_devices(t, 7);
    for (int i = 0; i < DEVICES; i++) {
        hipGraph_t graph;
        ok(hipSetDevice(i));
        prepare(t, "work", (struct dim3){2, 1, 1}, (struct dim3){64, 1, 1}, 20);
        ok(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
        ok(hipStreamBeginCapture(streams[i], hipStreamCaptureModeGlobal));
        ok(launch_prepared(t, &t->launched[i], streams[i]));
        ok(hipStreamEndCapture(streams[i], &graph));
        ok(hipGraphInstantiate(&graphs[i], graph, NULL, NULL, 0));
        ok(hipGraphDestroy(graph));
    }
    begin_on(t, NULL);
    for (int i = 0; i < 4 * DEVICES; i++) {
        const int device = i % DEVICES;
        ok(hipSetDevice(device));
        ok(hipGraphLaunch(graphs[device], streams[device]));
        remember_replay(t, &t->launched[device], streams[device]);
    }
    check_and_destroy(t, DEVICES, 4 * DEVICES, end(t));
    for (int i = 0; i < DEVICES; i++) {
        ok(hipSetDevice(i));
        ok(hipGraphExecDestroy(graphs[i]));
        ok(hipStreamDestroy(streams[i]));
    }
}

static int in_second_workgroup(const struct launched *launched, const struct truth *wave, const void *closure)
{
    (void)launched;
    (void)closure;
    return wave->workgroup[0] == 1;
}

static void one_filter_for_all(void **state)
{
    struct traced *t = *state;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    use_devices(t, 7);
    options.blocks = "1";
    begin(t, &options);
    for (int i = 0; i < 6; i++)
        launch_on(t, i % DEVICES, "work", 4, i);
    struct ktrace_trace *trace = end(t);
    check_passing(t, 0, 6, trace, in_second_workgroup, NULL);
    for (uint64_t i = 0; i < DEVICES; i++) {
        assert_int_equal(device_of(trace, i).waves_filtered, 2 * 3 * 2);
        assert_int_equal(device_of(trace, i).waves, 2 * 2);
    }
    ktrace_trace_destroy(trace);
}

/* One device's overflow is the whole read's; then all are clean. What is named suffices for the device that needs most. */
static void an_overflow_on_one(void **state)
{
    struct traced *t = *state;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_trace *trace = NULL;
    use_devices(t, 7);
    options.events_per_wave = 16;
    options.buffer_bytes = 8192;
    begin(t, &options);
    launch_on(t, 0, "work", 1, 2);
    launch_on(t, 1, "work", 100, 2);
    launch_on(t, 2, "work", 40, 2);
    refuses(ktrace_capture_read(&trace, t->capture), KTRACE_ERROR_OVERFLOW, "buffer_bytes >= ");
    options.buffer_bytes = strtoull(strstr(ktrace_last_error(), "buffer_bytes >= ") + 16, NULL, 10);
    const size_t first = t->count;
    for (int i = 0; i < DEVICES; i++)
        launch_on(t, i, "other", 2, i);
    trace = end(t);
    check_and_destroy(t, first, DEVICES, trace);
    forget_launches(t);
    begin(t, &options);
    launch_on(t, 0, "work", 1, 2);
    launch_on(t, 1, "work", 100, 2);
    launch_on(t, 2, "work", 40, 2);
    check_and_destroy(t, 0, 3, end(t));
}

/* Last: device 1 is lost. The capture says which call failed and why; captures of the others go on. */
static void one_is_lost(void **state)
{
    struct traced *t = *state;
    struct ktrace_trace *trace = NULL;
    use_devices(t, 7);
    begin_on(t, "all");
    launch_on(t, 0, "work", 2, 2);
    struct launched *bad = launch_on(t, 1, "work", 1, 2);
    ok(hipSetDevice(1));
    ok(hipDeviceSynchronize());
    bad->log = NULL;
    ok(launch_prepared(t, bad, NULL));
    ok(hipSetDevice(0));
    refuses(ktrace_capture_read(&trace, t->capture), KTRACE_ERROR_DEVICE,
            "waiting for HIP device 1 failed: a kernel used an illegal address");
    struct ktrace_capture *const capture = t->capture;
    t->capture = NULL;
    assert_int_equal(ktrace_capture_end(&trace, capture), KTRACE_ERROR_DEVICE);
    assert_int_equal(ktrace_active(), 0);
    begin_on(t, "0,2");
    launch_on(t, 0, "work", 2, 2);
    launch_on(t, 2, "other", 2, 2);
    trace = end(t);
    assert_int_equal(devices_of(trace), 5);
    for (uint64_t i = 0; i < 2; i++)
        assert_int_equal(launch_of(trace, i).waves, 4);
    ktrace_trace_destroy(trace);
}

/* Nothing can be freed on a lost device. */
static int leave(void **state)
{
    struct traced *t = *state;
    for (size_t i = 0; i < t->count; i++)
        free(t->launched[i].noted);
    free(t);
    return 0;
}

int main(void)
{
    setenv("KTRACE_SIM_DEVICES", "3", 1);
    const struct CMUnitTest tests[] = {
        TRACED_TEST(those_in_use),
        TRACED_TEST(one_that_comes_later),
        TRACED_TEST(those_that_are_named),
        TRACED_TEST(the_current_device_stays),
        TRACED_TEST(side_by_side),
        TRACED_TEST(one_after_another),
        TRACED_TEST(a_thread_for_each),
        TRACED_TEST(a_graph_on_each),
        TRACED_TEST(one_filter_for_all),
        TRACED_TEST(an_overflow_on_one),
        cmocka_unit_test_setup_teardown(one_is_lost, traced_set_up, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
