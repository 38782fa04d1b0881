/* What a capture shows between begin and destroy, of one device and of several; and who is armed when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_fixture.h"

static void run_waves(struct fixture *f, uint32_t count, uint64_t grid_id)
{
    for (uint32_t i = 0; i < count; i++) {
        struct fake_wave wave;
        fake_wave_begin(&wave, &f->module, f->kernel, i, count, grid_id, grid_id * 1000 + i);
        fake_event(&wave, 0, f->mark, grid_id * 1000 + i + 10);
        fake_wave_end(&wave, grid_id * 1000 + i + 20);
    }
}

static struct ktrace_capture *begin(struct fixture *f, int stay_armed)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    options.stay_armed = stay_armed;
    if (fake_begin(&capture, &f->device, &options) < 0)
        fail_msg("begin: %s", ktrace_last_error());
    return capture;
}

typedef int look(struct ktrace_trace **out, struct ktrace_capture *capture);

/* The waves that one of the calls gives. */
static uint64_t waves_of(struct ktrace_capture *capture, look *call)
{
    struct ktrace_trace *trace;
    if (call(&trace, capture) < 0)
        fail_msg("%s", ktrace_last_error());
    const uint64_t waves = info_of(trace).waves;
    if (waves == 0)
        assert_true(ktrace_trace_warning(trace)[0]);
    ktrace_trace_destroy(trace);
    return waves;
}

static uint64_t end(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace;
    assert_int_equal(ktrace_capture_end(&trace, capture), 0);
    const uint64_t waves = info_of(trace).waves;
    ktrace_trace_destroy(trace);
    return waves;
}

/* Looking loses nothing; reading starts anew; clearing forgets. */
static void test_snapshots_reads_and_clears(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, 0);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 0);
    run_waves(f, 1, 1);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 1);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 1);
    run_waves(f, 2, 2);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 3);
    run_waves(f, 4, 3);
    assert_int_equal(waves_of(capture, ktrace_capture_read), 7);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 7); /* nothing is new: that of the read */
    run_waves(f, 8, 4);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 8);
    run_waves(f, 16, 5);
    assert_int_equal(waves_of(capture, ktrace_capture_peek), 16); /* only what is on the device */
    assert_int_equal(ktrace_capture_clear(capture), 0);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 0);
    run_waves(f, 32, 6);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 32);
    run_waves(f, 64, 7);
    assert_int_equal(end(capture), 96);

    capture = begin(f, 0);
    run_waves(f, 1, 1);
    assert_int_equal(waves_of(capture, ktrace_capture_read), 1);
    assert_int_equal(waves_of(capture, ktrace_capture_read), 0); /* a fresh one, though nothing is new */
    assert_int_equal(end(capture), 0);
}

/* A trace that was handed over is as it was, whatever follows. */
static void test_traces_outlive_all(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, 0);
    struct ktrace_trace *first, *second, *third;
    run_waves(f, 3, 1);
    assert_int_equal(ktrace_capture_snapshot(&first, capture), 0);
    assert_int_equal(ktrace_capture_snapshot(&second, capture), 0);
    assert_ptr_equal(first, second); /* shared: summary and export of one snapshot agree */
    run_waves(f, 5, 2);
    assert_int_equal(ktrace_capture_read(&third, capture), 0);
    ktrace_capture_destroy(capture);
    assert_int_equal(info_of(first).waves, 3);
    ktrace_trace_destroy(first);
    assert_int_equal(info_of(second).waves, 3);
    ktrace_trace_destroy(second);
    assert_int_equal(info_of(third).waves, 8);
    ktrace_trace_destroy(third);
}

static void test_stopped(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, 0);
    struct ktrace_trace *trace;
    char *text;
    run_waves(f, 2, 1);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 2);
    run_waves(f, 3, 2);
    assert_int_equal(ktrace_capture_stop(capture), 0);
    assert_int_equal(ktrace_active(), 0);
    assert_int_equal(f->device.allocations, 0);
    run_waves(f, 7, 3); /* dormant */
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 5);
    assert_int_equal(ktrace_capture_summary_text(&text, capture), 0);
    assert_non_null(strstr(text, "tick"));
    free(text);
    assert_int_equal(ktrace_capture_read(&trace, capture), KTRACE_ERROR_STATE);
    assert_non_null(strstr(ktrace_last_error(), "stay_armed"));
    assert_int_equal(ktrace_capture_peek(&trace, capture), KTRACE_ERROR_STATE);
    assert_int_equal(ktrace_capture_clear(capture), KTRACE_ERROR_STATE);
    assert_int_equal(ktrace_capture_stop(capture), KTRACE_ERROR_STATE);
    assert_non_null(strstr(ktrace_last_error(), "stopped already"));

    /* Another may begin meanwhile. */
    struct fake_device other;
    struct ktrace_capture *next;
    fake_device_init(&other);
    assert_int_equal(fake_begin(&next, &other, NULL), 0);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 5);
    ktrace_capture_destroy(next);
    assert_int_equal(end(capture), 5);
    assert_int_equal(ktrace_capture_snapshot(&trace, capture), KTRACE_ERROR_STATE);
    assert_non_null(strstr(ktrace_last_error(), "has ended"));
}

/* Replays after the end. */
static void test_stays_armed(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, 1), *next;
    struct fake_device other;
    run_waves(f, 2, 1);
    assert_int_equal(ktrace_capture_stop(capture), 0);
    assert_int_equal(ktrace_active(), 0);
    run_waves(f, 3, 1);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 2); /* until it is read */
    assert_int_equal(waves_of(capture, ktrace_capture_read), 3);     /* which replaces what the stop took */
    run_waves(f, 7, 1);
    assert_int_equal(waves_of(capture, ktrace_capture_read), 7);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 7);
    assert_int_equal(ktrace_capture_clear(capture), 0);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 0);

    /* Until another one begins, which the module records for then. */
    run_waves(f, 11, 1);
    fake_device_init(&other);
    assert_int_equal(fake_begin(&next, &other, NULL), 0);
    assert_int_equal(f->device.allocations, 0);
    run_waves(f, 13, 1);
    assert_int_equal(waves_of(next, ktrace_capture_snapshot), 13);
    ktrace_capture_destroy(next);
    assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 11);
    struct ktrace_trace *trace;
    assert_int_equal(ktrace_capture_read(&trace, capture), KTRACE_ERROR_STATE);
    ktrace_capture_destroy(capture);
    assert_int_equal(fake_control(&f->module)->mode, KTRACE_MODE_DORMANT);

    capture = begin(f, 1);
    assert_int_equal(ktrace_capture_stop(capture), 0);
    ktrace_capture_destroy(capture);
    assert_int_equal(f->device.allocations, 0);
    assert_int_equal(fake_control(&f->module)->mode, KTRACE_MODE_DORMANT);
}

static void remember(void *context, const char *sentence)
{
    snprintf(context, 1024, "%s", sentence);
}

/* Nothing is no error: the answers are NULL, and the log hears why. */
static void test_empty(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, 0);
    char told[1024] = "", *text = told, *path = told, **paths;
    uint64_t count = 9;
    const char *const names[] = {"one"};
    ktrace_set_log(remember, told);
    assert_int_equal(ktrace_capture_summary_text(&text, capture), 0);
    assert_null(text);
    assert_int_equal(ktrace_capture_export(&path, capture), 0);
    assert_null(path);
    assert_int_equal(ktrace_capture_export_launches(&paths, &count, capture, NULL, 0), 0);
    assert_null(paths);
    assert_int_equal(count, 0);
    assert_int_equal(ktrace_capture_export_launches(&paths, &count, capture, names, 1), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(told, "");
    assert_int_equal(ktrace_capture_stop(capture), 0);
    assert_non_null(strstr(told, "the capture \"ktrace\" is empty: nothing was recorded"));
    ktrace_capture_destroy(capture);
    ktrace_set_log(NULL, NULL);
}

/* What was said of a look that found nothing is not said of a later one that found waves; and a capture whose records were handed
 * over does not end empty. */
static void test_what_is_said(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    char told[1024] = "";
    filter.block_first[0] = filter.block_last[0] = 5;
    options.filter = &filter;
    ktrace_set_log(remember, told);
    assert_int_equal(fake_begin(&capture, &f->device, &options), 0);
    run_waves(f, 2, 1);
    assert_int_equal(ktrace_capture_snapshot(&trace, capture), 0);
    assert_non_null(strstr(ktrace_trace_warning(trace), "turned away all 2 waves"));
    ktrace_trace_destroy(trace);
    run_waves(f, 6, 2);
    assert_int_equal(ktrace_capture_snapshot(&trace, capture), 0);
    assert_string_equal(ktrace_trace_warning(trace), "");
    assert_int_equal(info_of(trace).waves, 1);
    assert_int_equal(info_of(trace).waves_filtered, 7);
    ktrace_trace_destroy(trace);
    assert_int_equal(waves_of(capture, ktrace_capture_read), 1);
    assert_int_equal(end(capture), 0);
    assert_string_equal(told, "");
    ktrace_set_log(NULL, NULL);
}

/* An overflow costs what was on the device, not what was looked at before, and the next read is right. */
static void test_overflow_between_looks(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    options.buffer_bytes = 64 << 10;
    options.events_per_wave = 8;
    options.events_per_lane = 1;
    assert_int_equal(fake_begin(&capture, &f->device, &options), 0);
    for (int round = 0; round < 3; round++) {
        run_waves(f, 2, 1);
        assert_int_equal(waves_of(capture, ktrace_capture_snapshot), 2);
        run_waves(f, 10000, 2);
        assert_int_equal(ktrace_capture_snapshot(&trace, capture), KTRACE_ERROR_OVERFLOW);
        run_waves(f, 5, 3);
        assert_int_equal(waves_of(capture, ktrace_capture_read), 7);
    }
    ktrace_capture_destroy(capture);
}

/* A graph that begins to be captured while a read waits: nothing is lost, and the next read has it. */
static void test_graph_begins_meanwhile(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, 0);
    struct ktrace_trace *trace;
    run_waves(f, 3, 1);
    f->device.graph_after = 1; /* the first wait of the read is right, the second is not */
    assert_int_equal(ktrace_capture_read(&trace, capture), KTRACE_ERROR_STATE);
    run_waves(f, 4, 2);
    assert_int_equal(ktrace_capture_snapshot(&trace, capture), KTRACE_ERROR_STATE);
    f->device.building_graph = 0;
    run_waves(f, 5, 3);
    assert_int_equal(waves_of(capture, ktrace_capture_read), 12);
    run_waves(f, 6, 4);
    f->device.graph_after = 1;
    assert_int_equal(ktrace_capture_end(&trace, capture), KTRACE_ERROR_STATE);
    f->device.building_graph = 0;
    run_waves(f, 7, 5);
    assert_int_equal(end(capture), 13);
    assert_int_equal(f->device.allocations, 0);
}

/* ---- Two devices ---------------------------------------------------------------------------------------------------- */

/* A module is on each; the fake waves of one know the control block of their device. */
static void test_two_devices(void **state)
{
    struct fixture *f = *state;
    struct fake_device second;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    fake_device_init(&second);
    second.ordinal = 1;
    f->device.base.owner = 11;
    second.base.owner = 12;
    struct kt_backend *const backends[] = {&f->device.base, &second.base};
    assert_int_equal(kt_capture_begin_on(&capture, backends, 2, NULL), 0);
    run_waves(f, 3, 1);
    assert_int_equal(ktrace_capture_snapshot(&trace, capture), 0);
    const struct ktrace_trace_info info = info_of(trace);
    assert_int_equal(info.devices, 2);
    assert_int_equal(info.waves, 3);
    ktrace_trace_destroy(trace);
    run_waves(f, 4, 2);
    assert_int_equal(end(capture), 7);
    assert_int_equal(f->device.allocations + second.allocations, 0);
    assert_int_equal(f->device.open + second.open, 0);
}

/* The second cannot be opened, or waited for: nothing is left of the first either. */
static void test_second_device_fails(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture;
    for (int fault = 0; fault < 3; fault++) {
        struct fake_device second;
        fake_device_init(&second);
        second.ordinal = 1;
        f->device.open = 1;
        second.fail_allocation = fault < 2 ? 1 + fault : 0;
        second.building_graph = fault == 2;
        struct kt_backend *const backends[] = {&f->device.base, &second.base};
        assert_int_equal(kt_capture_begin_on(&capture, backends, 2, NULL),
                         fault == 2 ? KTRACE_ERROR_STATE : KTRACE_ERROR_DEVICE);
        assert_int_equal(f->device.allocations + second.allocations, 0);
        assert_int_equal(f->device.open + second.open, 0);
        assert_int_equal(fake_control(&f->module)->mode, KTRACE_MODE_DORMANT);
        assert_int_equal(ktrace_active(), 0);
    }
}

/* A device whose driver cannot build our kernels: the host exchanges the counters. */
static void test_exchanged_by_the_host(void **state)
{
    struct fixture *f = *state;
    f->device.cannot_exchange = 1;
    struct ktrace_capture *capture = begin(f, 0);
    for (uint64_t round = 1; round < 4; round++) {
        run_waves(f, 3, round);
        assert_int_equal(waves_of(capture, ktrace_capture_read), 3);
        run_waves(f, 2, round);
        assert_int_equal(ktrace_capture_clear(capture), 0);
    }
    run_waves(f, 5, 9);
    assert_int_equal(end(capture), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_snapshots_reads_and_clears, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_traces_outlive_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stays_armed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_overflow_between_looks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_graph_begins_meanwhile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_exchanged_by_the_host, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_devices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_second_device_fails, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
