/* Waves that find no region, on devices in host memory: they count what they would have recorded, so that the sentence of an
 * overflow names what holds everything, to the slot and the byte. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_fixture.h"
#include "fake_amdgcn.h"
#include "layout.h"

/* The number after `key` in the last error; 0 when it does not say. */
static uint64_t named(const char *key)
{
    const char *at = strstr(ktrace_last_error(), key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static struct ktrace_capture_options sized(uint32_t wave, uint32_t lane, uint64_t bytes)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.events_per_wave = wave;
    options.events_per_lane = lane;
    options.buffer_bytes = bytes;
    return options;
}

static struct ktrace_capture *begin(struct fake_device *device, const struct ktrace_capture_options *options)
{
    struct ktrace_capture *capture = NULL;
    if (fake_begin(&capture, device, options) < 0)
        fail_msg("begin: %s", ktrace_last_error());
    return capture;
}

/* Marks of one wave: on lane 0, and on another. */
struct marks {
    uint32_t main, lane, count;
};

static void run(struct fixture *f, uint32_t workgroup, const struct marks *marks)
{
    struct fake_wave wave;
    uint64_t clock = 1000000 + workgroup * 100;
    fake_wave_begin(&wave, &f->module, f->kernel, workgroup, 1000, 1, clock);
    for (uint32_t i = 0; i < marks->main; i++)
        fake_event(&wave, 0, f->mark, clock += 10);
    for (uint32_t i = 0; i < marks->count; i++)
        fake_event(&wave, marks->lane, f->mark, clock += 10);
    fake_wave_end(&wave, clock + 10);
}

/* Small waves fill the buffer, then one that is larger finds no room. Returns the read's status. */
static int small_then(struct fixture *f, const struct ktrace_capture_options *options, uint32_t small,
                      const struct marks *large)
{
    struct ktrace_trace *trace = NULL;
    struct ktrace_capture *capture = begin(&f->device, options);
    for (uint32_t i = 0; i < small; i++)
        run(f, i, &(struct marks){.main = 1});
    run(f, small, large);
    const int status = ktrace_capture_end(&trace, capture);
    if (status == KTRACE_OK) {
        assert_int_equal(info_of(trace).waves, small + 1);
        assert_int_equal(info_of(trace).events, small + large->main + large->count);
        assert_int_equal(info_of(trace).slots_lost, 0);
    } else {
        assert_int_equal(status, KTRACE_ERROR_OVERFLOW);
    }
    ktrace_trace_destroy(trace);
    return status;
}

static void test_a_dropped_wave_is_the_largest(void **state)
{
    struct fixture *f = *state;
    static const struct marks cases[] = {{9, 0, 0},   {1000, 0, 0}, {0, 31, 3},      {8, 1, 2},
                                         {9, 17, 40}, {64, 2, 1},   {4097, 30, 513}, {0, 1, 2}};
    struct kt_layout layout;
    const uint64_t bytes = kt_layout_bytes_for(KTRACE_ARCH_NVIDIA, 5, 8, 1);
    assert_int_equal(kt_layout_make(&layout, KTRACE_ARCH_NVIDIA, bytes, 8, 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct marks *large = &cases[i];
        const uint32_t small = (uint32_t)layout.regions;
        struct ktrace_capture_options options = sized(8, 1, bytes);
        assert_true(small_then(f, &options, small, large) < 0);
        assert_non_null(strstr(ktrace_last_error(), "1 of "));
        assert_int_equal(named("events_per_wave >= "), large->main > 8 ? large->main : 0);
        assert_int_equal(named("events_per_lane >= "), large->count > 1 ? large->count : 0);
        const struct ktrace_capture_options enough =
            sized(large->main > 8 ? large->main : 8, large->count > 1 ? large->count : 1, named("buffer_bytes >= "));
        assert_true(enough.buffer_bytes > bytes);
        assert_int_equal(small_then(f, &enough, small, large), KTRACE_OK);
        struct ktrace_capture_options less = enough;
        less.buffer_bytes--;
        assert_true(small_then(f, &less, small, large) < 0);
        assert_int_equal(named("buffer_bytes >= "), enough.buffer_bytes);
    }
}

/* The largest of several, whichever comes when; those that found room count as well. */
static void test_the_largest_of_all(void **state)
{
    struct fixture *f = *state;
    const uint32_t sizes[4] = {20, 300, 300, 7};
    for (uint32_t first = 0; first < 4; first++) {
        const struct ktrace_capture_options options = sized(8, 1, kt_layout_bytes_for(KTRACE_ARCH_NVIDIA, 1, 8, 1));
        struct ktrace_capture *capture = begin(&f->device, &options);
        struct ktrace_trace *trace = NULL;
        for (uint32_t i = 0; i < 4; i++)
            run(f, i, &(struct marks){sizes[(first + i) % 4], 3 + i, sizes[(first + i) % 4] / 10});
        assert_int_equal(ktrace_capture_read(&trace, capture), KTRACE_ERROR_OVERFLOW);
        assert_int_equal(named("events_per_wave >= "), 300);
        assert_int_equal(named("events_per_lane >= "), 30);
        /* and what is remembered of them ends with that read, in both halves */
        for (int round = 0; round < 3; round++) {
            run(f, 0, &(struct marks){5, 0, 0});
            assert_int_equal(ktrace_capture_read(&trace, capture), KTRACE_OK);
            assert_int_equal(info_of(trace).waves, 1);
            assert_int_equal(info_of(trace).waves_dropped, 0);
            ktrace_trace_destroy(trace);
            run(f, 0, &(struct marks){5, 0, 0});
            run(f, 1, &(struct marks){9, 0, 0});
            assert_int_equal(ktrace_capture_read(&trace, capture), KTRACE_ERROR_OVERFLOW);
            assert_int_equal(named("events_per_wave >= "), 9);
            assert_int_equal(named("events_per_lane >= "), 0);
            run(f, 0, &(struct marks){900, 4, 90});
            run(f, 1, &(struct marks){900, 4, 90});
            assert_int_equal(ktrace_capture_clear(capture), KTRACE_OK);
        }
        ktrace_capture_destroy(capture);
    }
}

struct reader {
    struct ktrace_capture *capture;
    int status;
    uint64_t events;
    char sentence[512];
};

static void *read_once(void *argument)
{
    struct reader *reader = argument;
    struct ktrace_trace *trace = NULL;
    reader->status = ktrace_capture_read(&trace, reader->capture);
    reader->events = named("events_per_wave >= ");
    strncpy(reader->sentence, ktrace_last_error(), sizeof reader->sentence - 1);
    ktrace_trace_destroy(trace);
    return NULL;
}

static uint64_t half_of(struct ktrace_counters *counters)
{
    return __atomic_load_n(&counters->partition[0].claims, __ATOMIC_ACQUIRE) & KTRACE_CLAIM_HALF;
}

/* A wave that found no region in the half that a read is leaving belongs to that read, though it ends long after the turn,
 * and not to the next. */
static void test_a_dropped_wave_ends_during_a_read(void **state)
{
    struct fixture *f = *state;
    const struct ktrace_capture_options options = sized(8, 1, kt_layout_bytes_for(KTRACE_ARCH_NVIDIA, 1, 8, 1));
    struct reader reader = {.capture = begin(&f->device, &options)};
    struct ktrace_counters *counters = (struct ktrace_counters *)(uintptr_t)fake_control(&f->module)->counters;
    for (int round = 0; round < 4; round++) {
        struct fake_wave late;
        struct ktrace_trace *trace = NULL;
        pthread_t thread;
        f->device.waiting = 0;
        __atomic_store_n(&f->device.hang, 1, __ATOMIC_RELEASE);
        run(f, 0, &(struct marks){.main = 2});
        const uint64_t half = half_of(counters);
        assert_int_equal(pthread_create(&thread, NULL, read_once, &reader), 0);
        while (!__atomic_load_n(&f->device.waiting, __ATOMIC_ACQUIRE))
            continue; /* until it waits for what was launched before it */
        const uint32_t launch = fake_launch(&f->device);
        fake_wave_begin(&late, &f->module, f->kernel, 1, 2, 1, 5000);
        assert_non_null(late.dropped);
        fake_event(&late, 0, f->mark, 5010);
        __atomic_store_n(&f->device.hang, 0, __ATOMIC_RELEASE);
        while (half_of(counters) == half)
            continue; /* until it has turned */
        run(f, 2, &(struct marks){.main = 3});
        for (uint32_t i = 1; i < 77; i++)
            fake_event(&late, 0, f->mark, 5010 + i);
        fake_wave_end(&late, 6000);
        fake_launch_end(&f->device, launch);
        pthread_join(thread, NULL);
        assert_int_equal(reader.status, KTRACE_ERROR_OVERFLOW);
        assert_non_null(strstr(reader.sentence, "1 of 2 waves found no room"));
        assert_int_equal(reader.events, 77);
        assert_int_equal(ktrace_capture_read(&trace, reader.capture), KTRACE_OK);
        assert_int_equal(info_of(trace).waves, 1);
        assert_int_equal(info_of(trace).events, 3);
        ktrace_trace_destroy(trace);
    }
    ktrace_capture_destroy(reader.capture);
}

/* Of amdgcn's waves, which have one count. */
static void test_amdgcn(void **state)
{
    (void)state;
    struct fake_device device;
    struct fake_amdgcn module;
    fake_device_init(&device);
    device.arch = KTRACE_ARCH_AMDGCN;
    fake_amdgcn_init(&module, 4);
    const struct fake_amdgcn_launch launch = {
        .kernel = fake_amdgcn_site(&module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "gemm\0gemm.hip"),
        .grid = {1000, 1, 1}};
    const uint32_t mark = fake_amdgcn_site(&module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_INT32, "tick\0gemm.hip");
    ktrace_register(&module.registration);
    for (uint32_t large = 9; large < 5000; large *= 3) {
        struct ktrace_capture_options options = sized(8, 0, kt_layout_bytes_for(KTRACE_ARCH_AMDGCN, 3, 8, 0));
        for (int round = 0; round < 2; round++) {
            struct ktrace_trace *trace = NULL;
            struct ktrace_capture *capture = begin(&device, &options);
            for (uint32_t i = 0; i < 40; i++) {
                struct fake_amdgcn_wave wave;
                fake_amdgcn_begin(&wave, &module, &launch, i, 0, 1000);
                for (uint32_t k = 0; k < (i == 39 ? large : 1); k++)
                    fake_amdgcn_event(&wave, mark, 1004 + k, &(uint64_t){k});
                fake_amdgcn_end(&wave, 9000);
            }
            const int status = ktrace_capture_end(&trace, capture);
            if (round == 0) {
                assert_int_equal(status, KTRACE_ERROR_OVERFLOW);
                assert_int_equal(named("events_per_wave >= "), 2 * large);
                options = sized(2 * large, 0, named("buffer_bytes >= "));
            } else {
                assert_int_equal(status, KTRACE_OK);
                assert_int_equal(info_of(trace).waves, 40);
                assert_int_equal(info_of(trace).events, 39 + large);
            }
            ktrace_trace_destroy(trace);
        }
    }
    ktrace_unregister(&module.registration);
    fake_amdgcn_free(&module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_dropped_wave_is_the_largest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_largest_of_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_dropped_wave_ends_during_a_read, set_up, tear_down),
        cmocka_unit_test(test_amdgcn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
