/* Threads that launch, read, clear, begin, end and unload beside each other, on a device in host memory: what each order means, and
 * for the thread sanitizer, that all is ordered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "capture_fixture.h"

#define LAUNCHERS 3
#define LAUNCHES 200
#define WAVES 3

struct launcher {
    struct fixture *fixture;
    struct fake_module *module;
    uint32_t number;
    int stop; /* atomic */
    uint64_t launched;
};

static void launch(struct launcher *launcher, uint64_t clock)
{
    struct fixture *f = launcher->fixture;
    const uint64_t grid_id = (uint64_t)launcher->number << 32 | ++launcher->launched;
    const uint32_t number = fake_launch(&f->device);
    for (uint32_t i = 0; i < WAVES; i++) {
        struct fake_wave wave;
        fake_wave_begin(&wave, launcher->module, f->kernel, i, WAVES, grid_id, clock);
        fake_event(&wave, 0, f->push, clock + 10);
        sched_yield();
        fake_event(&wave, 0, f->pop, clock + 20);
        fake_wave_end(&wave, clock + 30);
    }
    fake_launch_end(&f->device, number);
    usleep(200); /* so that what is launched between two reads fits, however slow the sanitizer makes them */
}

static void *launch_all(void *argument)
{
    struct launcher *launcher = argument;
    for (uint32_t i = 0; i < LAUNCHES; i++)
        launch(launcher, 1000 + i * 100ull);
    return NULL;
}

static void *launch_on(void *argument)
{
    struct launcher *launcher = argument;
    for (uint64_t i = 0; !__atomic_load_n(&launcher->stop, __ATOMIC_ACQUIRE); i++)
        launch(launcher, 1000 + i * 100);
    return NULL;
}

static void start(pthread_t *threads, struct launcher *launchers, struct fixture *f, void *(*run)(void *))
{
    for (uint32_t i = 0; i < LAUNCHERS; i++) {
        launchers[i] = (struct launcher){.fixture = f, .module = &f->module, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, run, &launchers[i]), 0);
    }
}

static uint64_t finish(pthread_t *threads, struct launcher *launchers)
{
    uint64_t launched = 0;
    for (uint32_t i = 0; i < LAUNCHERS; i++) {
        __atomic_store_n(&launchers[i].stop, 1, __ATOMIC_RELEASE);
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        launched += launchers[i].launched;
    }
    return launched;
}

#define NOT_WHOLE UINT64_MAX

/* Of a trace that must be whole, wave by wave; NOT_WHOLE otherwise. For any thread: cmocka's own may fail in the first only. */
static uint64_t waves_if_whole(struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    if (ktrace_trace_get_info(&info, trace) < 0)
        return NOT_WHOLE;
    ktrace_trace_destroy(trace);
    const uint64_t bad = info.waves_dropped + info.waves_unfinished + info.slots_lost + info.slots_corrupt +
                         info.ranges_unclosed + info.ends_unmatched;
    return bad == 0 && info.events == 2 * info.waves ? info.waves : NOT_WHOLE;
}

static uint64_t whole_waves(struct ktrace_trace *trace)
{
    const uint64_t waves = waves_if_whole(trace);
    assert_true(waves != NOT_WHOLE);
    return waves;
}

/* Small buffers are quick to clear, which a sanitizer makes slow. */
static struct ktrace_capture *begin_with(struct fixture *f, uint64_t buffer_bytes)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    options.buffer_bytes = buffer_bytes;
    options.events_per_wave = 16;
    options.events_per_lane = 1;
    if (fake_begin(&capture, &f->device, &options) < 0)
        fail_msg("begin: %s", ktrace_last_error());
    return capture;
}

static struct ktrace_capture *begin(struct fixture *f)
{
    return begin_with(f, 64 << 20);
}

/* Every wave is in exactly one read, whole, while launches go on. */
static void test_launches_beside_reads(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f);
    struct ktrace_trace *trace;
    struct launcher launchers[LAUNCHERS];
    pthread_t threads[LAUNCHERS];
    uint64_t waves = 0;
    start(threads, launchers, f, launch_all);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(ktrace_capture_read(&trace, capture), 0);
        waves += whole_waves(trace);
    }
    finish(threads, launchers);
    assert_int_equal(ktrace_capture_end(&trace, capture), 0);
    waves += whole_waves(trace);
    assert_int_equal(waves, LAUNCHERS * LAUNCHES * WAVES);
}

/* Looking loses nothing either, and shows at least what it showed before. */
static void test_launches_beside_snapshots(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f);
    struct ktrace_trace *trace;
    struct launcher launchers[LAUNCHERS];
    pthread_t threads[LAUNCHERS];
    uint64_t waves = 0;
    start(threads, launchers, f, launch_all);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ktrace_capture_snapshot(&trace, capture), 0);
        const uint64_t now = whole_waves(trace);
        assert_true(now >= waves);
        waves = now;
    }
    finish(threads, launchers);
    assert_int_equal(ktrace_capture_end(&trace, capture), 0);
    assert_int_equal(whole_waves(trace), LAUNCHERS * LAUNCHES * WAVES);
}

/* What was launched before a clear is gone, what was launched after it is there. */
static void test_launches_beside_clears(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f);
    struct ktrace_trace *trace;
    struct launcher launchers[LAUNCHERS], own = {.fixture = f, .module = &f->module, .number = 99};
    pthread_t threads[LAUNCHERS];
    start(threads, launchers, f, launch_on);
    for (uint64_t i = 0; i < 40; i++) {
        launch(&own, 5);
        assert_int_equal(ktrace_capture_clear(capture), 0);
        launch(&own, 500000);
        assert_int_equal(ktrace_capture_read(&trace, capture), 0);
        const struct ktrace_trace_info info = info_of(trace);
        uint64_t mine = 0;
        for (uint64_t k = 0; k < info.launches; k++) {
            struct ktrace_launch_info about = {.struct_size = sizeof about};
            assert_int_equal(ktrace_trace_launch(&about, trace, k), 0);
            if (about.grid_id >> 32 != own.number)
                continue;
            mine++;
            assert_int_equal(about.grid_id & UINT32_MAX, 2 * i + 2);
            assert_int_equal(about.waves, WAVES);
        }
        assert_int_equal(mine, 1);
        whole_waves(trace);
    }
    finish(threads, launchers);
    ktrace_capture_destroy(capture);
}

struct reader {
    struct ktrace_capture *capture;
    uint64_t waves;
    int clears;
    char problem[1024]; /* "" */
};

static void *read_on(void *argument)
{
    struct reader *reader = argument;
    for (int i = 0; i < 40 && !reader->problem[0]; i++) {
        struct ktrace_trace *trace;
        const int status =
            reader->clears ? ktrace_capture_clear(reader->capture) : ktrace_capture_read(&trace, reader->capture);
        const uint64_t waves = status == 0 && !reader->clears ? waves_if_whole(trace) : 0;
        if (status < 0 || waves == NOT_WHOLE)
            snprintf(reader->problem, sizeof reader->problem, "round %d: %s", i,
                     status < 0 ? ktrace_last_error() : "not whole");
        reader->waves += waves;
    }
    return NULL;
}

/* Two that read and one that clears, beside launches: no wave twice, none that was not launched, all whole. */
static void test_reads_beside_clears(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f);
    struct launcher launchers[LAUNCHERS];
    pthread_t threads[LAUNCHERS], reading[3];
    struct reader readers[3] = {{capture, 0, 0, ""}, {capture, 0, 0, ""}, {capture, 0, 1, ""}};
    start(threads, launchers, f, launch_on);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&reading[i], NULL, read_on, &readers[i]), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(reading[i], NULL), 0);
    const uint64_t launched = finish(threads, launchers);
    for (int i = 0; i < 3; i++)
        assert_string_equal(readers[i].problem, "");
    assert_true(readers[0].waves + readers[1].waves <= launched * WAVES);
    ktrace_capture_destroy(capture);
}

struct beginner {
    struct fixture *fixture;
    uint64_t begun, refused, wrong;
    uint64_t *open; /* atomic: how many are open now */
};

static void *begin_on(void *argument)
{
    struct beginner *beginner = argument;
    for (int i = 0; i < 200; i++) {
        struct fake_device device;
        struct ktrace_capture *capture;
        struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
        options.buffer_bytes = 64 << 10;
        options.events_per_wave = 8;
        options.events_per_lane = 1;
        fake_device_init(&device);
        const int status = fake_begin(&capture, &device, &options);
        beginner->begun += status == KTRACE_OK;
        beginner->refused += status == KTRACE_ERROR_STATE;
        if (status == KTRACE_OK) {
            beginner->wrong += __atomic_add_fetch(beginner->open, 1, __ATOMIC_ACQ_REL) != 1;
            sched_yield();
            __atomic_sub_fetch(beginner->open, 1, __ATOMIC_ACQ_REL);
            beginner->wrong += ktrace_capture_end(NULL, capture) != KTRACE_OK;
        }
        beginner->wrong += device.open || device.allocations;
    }
    return NULL;
}

/* Of two that begin, one has the capture and the other is told so. */
static void test_two_begin(void **state)
{
    struct fixture *f = *state;
    uint64_t open = 0;
    struct beginner beginners[2] = {{f, 0, 0, 0, &open}, {f, 0, 0, 0, &open}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, begin_on, &beginners[i]), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(beginners[i].begun + beginners[i].refused, 200);
        assert_int_equal(beginners[i].wrong, 0);
    }
    assert_true(beginners[0].begun + beginners[1].begun > 0);
    assert_int_equal(ktrace_active(), 0);
}

/* The buffer outlives the waves that are inside when a capture is destroyed, and no wave records into one that is gone. */
static void test_destroyed_beside_launches(void **state)
{
    struct fixture *f = *state;
    struct launcher launchers[LAUNCHERS];
    pthread_t threads[LAUNCHERS];
    start(threads, launchers, f, launch_on);
    for (int i = 0; i < 40; i++) {
        f->device.open = 1;
        struct ktrace_capture *capture = begin_with(f, 4 << 20);
        sched_yield();
        if (i % 2) {
            ktrace_capture_destroy(capture);
        } else {
            struct ktrace_trace *trace;
            assert_int_equal(ktrace_capture_end(&trace, capture), 0);
            whole_waves(trace);
        }
        assert_int_equal(f->device.allocations, 0);
    }
    finish(threads, launchers);
}

static void *load_and_unload(void *argument)
{
    struct fixture *f = argument;
    uint64_t launched = 0;
    for (int i = 0; i < 60; i++) {
        struct fixture names; /* which no other thread reads */
        struct fake_module module;
        make_module(&names, &module);
        ktrace_register(&module.registration);
        struct launcher own = {.fixture = f, .module = &module, .number = 1000 + (uint32_t)i};
        launch(&own, 1000);
        launched += own.launched;
        ktrace_unregister(&module.registration);
        fake_module_free(&module);
        sched_yield();
    }
    return (void *)(uintptr_t)launched;
}

/* Libraries come and go between reads of another thread; what they recorded while they were armed is read afterwards. Unloading
 * beside a read is the caller's to avoid, so that loading waits for reads here. */
static void test_unloaded_between_reads(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f);
    struct ktrace_trace *trace;
    struct launcher launchers[LAUNCHERS];
    pthread_t threads[LAUNCHERS], loader;
    uint64_t waves = 0;
    start(threads, launchers, f, launch_on);
    for (int i = 0; i < 10; i++) {
        struct fixture names; /* which no other thread reads */
        struct fake_module module;
        make_module(&names, &module);
        ktrace_register(&module.registration);
        assert_int_equal(ktrace_capture_clear(capture), 0); /* armed now */
        struct launcher own = {.fixture = f, .module = &module, .number = 77};
        launch(&own, 1000);
        ktrace_unregister(&module.registration);
        fake_module_free(&module);
        assert_int_equal(ktrace_capture_read(&trace, capture), 0);
        const uint64_t launches = info_of(trace).launches;
        uint64_t mine = 0;
        for (uint64_t k = 0; k < launches; k++) {
            struct ktrace_launch_info about = {.struct_size = sizeof about};
            assert_int_equal(ktrace_trace_launch(&about, trace, k), 0);
            mine += about.grid_id >> 32 == 77;
        }
        assert_int_equal(mine, 1);
        waves += whole_waves(trace);
    }
    assert_true(waves > 0);
    assert_int_equal(pthread_create(&loader, NULL, load_and_unload, f), 0);
    assert_int_equal(pthread_join(loader, NULL), 0);
    finish(threads, launchers);
    assert_int_equal(ktrace_capture_end(&trace, capture), 0);
    whole_waves(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_launches_beside_reads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_launches_beside_snapshots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_launches_beside_clears, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reads_beside_clears, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_begin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_destroyed_beside_launches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unloaded_between_reads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
