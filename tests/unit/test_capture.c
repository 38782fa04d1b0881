/* Captures on a device in host memory: what is armed, read, cleared, refused, and what the errors say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_fixture.h"
#include "layout.h"

static struct ktrace_capture *begin(struct fixture *f, const struct ktrace_capture_options *options)
{
    struct ktrace_capture *capture = NULL;
    fake_device_init(&f->device);
    const int status = fake_begin(&capture, &f->device, options);
    if (status < 0)
        fail_msg("begin: %s", ktrace_last_error());
    return capture;
}

/* One wave: body around `marks` marks. */
static void run_wave(struct fixture *f, uint32_t workgroup, uint32_t grid, uint64_t grid_id, unsigned marks)
{
    struct fake_wave wave;
    uint64_t clock = 1000000 + workgroup * 100;
    fake_wave_begin(&wave, &f->module, f->kernel, workgroup, grid, grid_id, clock);
    fake_event(&wave, 0, f->push, clock += 10);
    for (unsigned i = 0; i < marks; i++)
        fake_event(&wave, 0, f->mark, clock += 10);
    fake_event(&wave, 0, f->pop, clock += 10);
    fake_wave_end(&wave, clock + 10);
}

static struct ktrace_trace *read_trace(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace = NULL;
    const int status = ktrace_capture_read(&trace, capture);
    if (status < 0)
        fail_msg("read: %s", ktrace_last_error());
    return trace;
}

/* The number after `key` in the last error; 0 when it does not say. */
static uint64_t suggested(const char *key)
{
    const char *at = strstr(ktrace_last_error(), key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void test_records_and_reads(void **state)
{
    struct fixture *f = *state;
    run_wave(f, 0, 1, 1, 3); /* dormant */
    struct ktrace_capture *capture = begin(f, NULL);
    assert_int_equal(ktrace_active(), 1);
    for (uint32_t i = 0; i < 5; i++)
        run_wave(f, i, 5, 7, 3);
    struct ktrace_trace *trace = read_trace(capture);
    struct ktrace_trace_info info = info_of(trace);
    assert_int_equal(info.waves, 5);
    assert_int_equal(info.events, 25);
    assert_int_equal(info.launches, 1);
    assert_string_equal(info.device, "Fake device");
    assert_string_equal(ktrace_trace_warning(trace), "");
    struct ktrace_launch_info launch = {.struct_size = sizeof launch};
    assert_int_equal(ktrace_trace_launch(&launch, trace, 0), 0);
    assert_string_equal(launch.kernel, "gemm");
    assert_int_equal(launch.waves, 5);
    struct ktrace_event_info event = {.struct_size = sizeof event};
    assert_int_equal(ktrace_trace_event(&event, trace, 2, 0), 0);
    assert_string_equal(event.name, "body");
    assert_string_equal(event.file, "gemm.cu");
    assert_int_equal(event.partner, 4);
    ktrace_trace_destroy(trace);

    run_wave(f, 1, 5, 8, 0); /* accumulates until the next read */
    assert_int_equal(ktrace_capture_end(&trace, capture), 0);
    assert_int_equal(info_of(trace).waves, 1);
    ktrace_trace_destroy(trace);
    assert_int_equal(ktrace_active(), 0);
    assert_int_equal(f->device.open, 0);
    assert_int_equal(f->device.allocations, 0);
    run_wave(f, 0, 1, 1, 3); /* dormant again: writes nowhere */
}

static void test_empty_says_why(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL);
    struct ktrace_trace *trace = read_trace(capture);
    assert_non_null(strstr(ktrace_trace_warning(trace), "no kernel with KTRACE_KERNEL ran"));
    assert_int_equal(info_of(trace).events, 0);
    ktrace_trace_destroy(trace);
    ktrace_capture_destroy(capture);

    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.block_first[0] = 10;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.filter = &filter;
    capture = begin(f, &options);
    for (uint32_t i = 0; i < 4; i++)
        run_wave(f, i, 4, 1, 1);
    trace = read_trace(capture);
    assert_non_null(strstr(ktrace_trace_warning(trace), "the filter turned away all 4 waves (10-,*,*)"));
    assert_int_equal(info_of(trace).waves_filtered, 4);
    ktrace_trace_destroy(trace);
    ktrace_capture_destroy(capture);

    ktrace_unregister(&f->module.registration);
    capture = begin(f, NULL);
    trace = read_trace(capture);
    assert_non_null(strstr(ktrace_trace_warning(trace), "no annotated module is known"));
    ktrace_trace_destroy(trace);

    ktrace_register(&f->module.registration);
    ktrace_unregister(&f->module.registration);
    trace = read_trace(capture);
    assert_non_null(strstr(ktrace_trace_warning(trace), "1 annotated module came after recording had begun, and went"));
    ktrace_trace_destroy(trace);
    ktrace_capture_destroy(capture);
}

static void test_other_wire_version_is_refused(void **state)
{
    struct fixture *f = *state;
    fake_control(&f->module)->version = 99;
    struct ktrace_capture *capture = begin(f, NULL);
    run_wave(f, 0, 1, 1, 1);
    struct ktrace_trace *trace = read_trace(capture);
    assert_int_equal(info_of(trace).waves, 0);
    assert_non_null(strstr(ktrace_trace_warning(trace), "wire version 99"));
    assert_int_equal(fake_control(&f->module)->mode, 0);
    ktrace_trace_destroy(trace);
    ktrace_capture_destroy(capture);
}

static void test_states(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL), *second = NULL;
    struct ktrace_trace *trace = NULL;
    struct fake_device other;
    fake_device_init(&other);
    assert_int_equal(fake_begin(&second, &other, NULL), KTRACE_ERROR_STATE);
    assert_non_null(strstr(ktrace_last_error(), "captures do not nest"));
    assert_int_equal(other.open, 0);
    f->device.building_graph = 1;
    assert_int_equal(ktrace_capture_read(&trace, capture), KTRACE_ERROR_STATE);
    assert_int_equal(ktrace_capture_clear(capture), KTRACE_ERROR_STATE);
    f->device.building_graph = 0;
    assert_int_equal(ktrace_capture_read(NULL, capture), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_capture_read(&trace, NULL), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_capture_end(NULL, capture), 0);
    assert_int_equal(ktrace_capture_read(&trace, capture), KTRACE_ERROR_STATE);
    assert_int_equal(ktrace_capture_end(&trace, capture), KTRACE_ERROR_STATE);
    assert_null(trace);
}

static void test_bad_options(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = NULL;
    struct {
        struct ktrace_capture_options options;
        uint64_t later_field;
    } newer = {KTRACE_CAPTURE_OPTIONS_INIT, 1};
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    const struct {
        int status;
        const char *says;
    } expected[] = {{KTRACE_ERROR_ARGUMENT, "cannot hold one wave"},
                    {KTRACE_ERROR_ARGUMENT, "too large"},
                    {KTRACE_ERROR_ARGUMENT, "block range in y is empty"},
                    {KTRACE_ERROR_VERSION, "does not know"},
                    {KTRACE_ERROR_ARGUMENT, "struct_size is 0"}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct ktrace_capture_options tried = options;
        const struct ktrace_capture_options *given = &tried;
        if (i == 0)
            tried.buffer_bytes = 1000;
        if (i == 1)
            tried.events_per_wave = 0xFFFFFFFF;
        if (i == 2) {
            filter.block_first[1] = 4;
            filter.block_last[1] = 3;
            tried.filter = &filter;
        }
        if (i == 3) {
            newer.options.struct_size = sizeof newer;
            given = &newer.options;
        }
        if (i == 4)
            tried.struct_size = 0;
        fake_device_init(&f->device);
        assert_int_equal(fake_begin(&capture, &f->device, given), expected[i].status);
        assert_non_null(strstr(ktrace_last_error(), expected[i].says));
        assert_int_equal(f->device.open, 0);
        assert_int_equal(f->device.allocations, 0);
        assert_int_equal(ktrace_active(), 0);
    }
    newer.later_field = 0; /* a newer caller that asks for nothing new is fine */
    fake_device_init(&f->device);
    assert_int_equal(fake_begin(&capture, &f->device, &newer.options), 0);
    ktrace_capture_destroy(capture);
}

static void test_failed_begin_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    for (int n = 1; n <= 2; n++) {
        struct ktrace_capture *capture = NULL;
        fake_device_init(&f->device);
        f->device.fail_allocation = n;
        assert_int_equal(fake_begin(&capture, &f->device, NULL), KTRACE_ERROR_DEVICE);
        assert_null(capture);
        assert_int_equal(f->device.allocations, 0);
        assert_int_equal(f->device.open, 0);
        assert_int_equal(fake_control(&f->module)->mode, 0);
    }
    ktrace_capture_destroy(begin(f, NULL));
}

/* More waves than regions: the error names the size; with it everything is there, each once. */
static void test_wave_overflow(void **state)
{
    struct fixture *f = *state;
    const uint32_t counts[] = {1, 63, 64, 65, 1000, 4097};
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.events_per_wave = 8;
    options.events_per_lane = 1;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        const uint32_t waves = counts[c];
        options.buffer_bytes = kt_layout_bytes_for(KTRACE_ARCH_NVIDIA, waves > 1 ? waves / 2 : 1, 8, 1);
        struct kt_layout layout;
        assert_int_equal(kt_layout_make(&layout, KTRACE_ARCH_NVIDIA, options.buffer_bytes, 8, 1), 0);
        struct ktrace_capture *capture = begin(f, &options);
        struct ktrace_trace *trace = NULL;
        for (uint32_t i = 0; i < layout.regions + waves; i++)
            run_wave(f, i, 100000, 1, 1);
        assert_int_equal(ktrace_capture_read(&trace, capture), KTRACE_ERROR_OVERFLOW);
        char says[64];
        snprintf(says, sizeof says, "%u of %llu waves found no room", waves,
                 (unsigned long long)(layout.regions + waves));
        if (!strstr(ktrace_last_error(), says))
            fail_msg("%s: %s", says, ktrace_last_error());
        const uint64_t bytes = suggested("buffer_bytes >= ");
        assert_true(bytes > options.buffer_bytes);
        assert_int_equal(suggested("events_per_wave >= "), 0);

        run_wave(f, 3, 4, 2, 1); /* the buffer was cleared: the next read is right */
        trace = read_trace(capture);
        assert_int_equal(info_of(trace).waves, 1);
        ktrace_trace_destroy(trace);
        ktrace_capture_destroy(capture);

        struct ktrace_capture_options enough = options;
        enough.buffer_bytes = bytes;
        capture = begin(f, &enough);
        for (uint32_t i = 0; i < layout.regions + waves; i++)
            run_wave(f, i, 100000, 1, 1);
        trace = read_trace(capture);
        assert_int_equal(info_of(trace).waves, layout.regions + waves);
        ktrace_trace_destroy(trace);
        ktrace_capture_destroy(capture);
    }
}

/* Rings of N with N-1, N, N+1, 2N and 10N slots; marks alone, and marks with payloads, which take two. */
static void test_ring_overflow(void **state)
{
    struct fixture *f = *state;
    const uint32_t n = 64;
    const uint32_t totals[] = {n - 1, n, n + 1, 2 * n, 10 * n};
    for (size_t t = 0; t < sizeof totals / sizeof totals[0]; t++)
        for (uint32_t lane = 0; lane < 32; lane += 31) {
            struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
            options.events_per_wave = lane ? 512 : n;
            options.events_per_lane = lane ? n : 16;
            for (int keep = 0; keep < 2; keep++) {
                options.keep_last = keep;
                struct ktrace_capture *capture = begin(f, &options);
                struct fake_wave wave;
                fake_wave_begin(&wave, &f->module, f->kernel, 0, 1, 1, 5000);
                for (uint32_t i = 0; i < totals[t]; i++)
                    fake_event(&wave, lane, f->mark, 5010 + i * 10);
                fake_wave_end(&wave, 5020 + totals[t] * 10);
                struct ktrace_trace *trace = NULL;
                const int status = ktrace_capture_read(&trace, capture);
                const uint32_t kept = totals[t] < n ? totals[t] : n;
                if (totals[t] > n && !keep) {
                    assert_int_equal(status, KTRACE_ERROR_OVERFLOW);
                    assert_int_equal(suggested(lane ? "events_per_lane >= " : "events_per_wave >= "), totals[t]);
                } else {
                    if (status < 0)
                        fail_msg("%s", ktrace_last_error());
                    assert_int_equal(info_of(trace).events, kept);
                    assert_int_equal(info_of(trace).slots_lost, totals[t] - kept);
                    struct ktrace_event_info event = {.struct_size = sizeof event};
                    assert_int_equal(ktrace_trace_event(&event, trace, 0, 0), 0);
                    assert_int_equal(event.clock_ticks, 5010 + (totals[t] - kept) * 10); /* from its oldest */
                    assert_int_equal(event.lane, lane);
                }
                ktrace_trace_destroy(trace);
                ktrace_capture_destroy(capture);
            }
        }
}

static void test_payloads_survive(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL);
    struct fake_wave wave;
    fake_wave_begin(&wave, &f->module, f->kernel, 0, 1, 1, 5000);
    fake_event_payload(&wave, 0, f->number, 5010, 0);
    fake_event_payload(&wave, 0, f->number, 5020, UINT64_MAX);
    fake_event(&wave, 7, f->mark, 5030);
    fake_wave_end(&wave, 5100);
    struct ktrace_trace *trace = read_trace(capture);
    struct ktrace_event_info event = {.struct_size = sizeof event};
    assert_int_equal(ktrace_trace_event(&event, trace, 0, 0), 0);
    assert_int_equal(event.payload_type, KTRACE_PAYLOAD_UINT64);
    assert_int_equal(event.payload, 0);
    assert_int_equal(ktrace_trace_event(&event, trace, 0, 1), 0);
    assert_true(event.payload == UINT64_MAX);
    assert_int_equal(ktrace_trace_event(&event, trace, 0, 2), 0);
    assert_int_equal(event.payload_type, KTRACE_PAYLOAD_NONE);
    assert_int_equal(event.lane, 7);
    ktrace_trace_destroy(trace);
    ktrace_capture_destroy(capture);
}

static void test_peek_leaves_everything(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL);
    struct fake_wave wave;
    struct ktrace_trace *trace = NULL;
    fake_wave_begin(&wave, &f->module, f->kernel, 0, 2, 1, 5000);
    fake_event(&wave, 0, f->push, 5010);
    fake_event(&wave, 0, f->mark, 5020);
    assert_int_equal(ktrace_capture_peek(&trace, capture), 0);
    struct ktrace_trace_info info = info_of(trace);
    assert_int_equal(info.waves_unfinished, 1);
    assert_int_equal(info.events, 2);
    assert_int_equal(info.ranges_unclosed, 1);
    ktrace_trace_destroy(trace);
    fake_event(&wave, 0, f->pop, 5030);
    fake_wave_end(&wave, 5040);
    trace = read_trace(capture);
    info = info_of(trace);
    assert_int_equal(info.waves_unfinished, 0);
    assert_int_equal(info.ranges_unclosed, 0);
    assert_int_equal(info.events, 3);
    ktrace_trace_destroy(trace);
    ktrace_capture_destroy(capture);
}

/* A wave that is writing its header: a peek leaves it out and says so; where nothing runs any more it is an error. */
static void test_peek_meets_half_a_header(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL);
    run_wave(f, 0, 3, 1, 1);
    struct fake_wave wave;
    struct ktrace_trace *trace = NULL;
    fake_wave_begin(&wave, &f->module, f->kernel, 1, 3, 1, 5000);
    const struct ktrace_wave_header whole = *fake_header(&wave);
    /* 16 bytes at a time, as the device stores it, with the first of them last or first */
    for (size_t written = 0; written <= 128; written += 16)
        for (int backward = 0; backward < 2; backward++) {
            unsigned char *bytes = (unsigned char *)fake_header(&wave);
            memset(bytes, 0, sizeof whole);
            const size_t offset = backward ? 128 - written : 0;
            memcpy(bytes + offset, (const unsigned char *)&whole + offset, written);
            if (ktrace_capture_peek(&trace, capture) < 0)
                fail_msg("peek: %s", ktrace_last_error());
            const struct ktrace_trace_info info = info_of(trace);
            assert_true(info.waves == 1 || (info.waves == 2 && written >= 64));
            if (info.waves == 1)
                assert_non_null(strstr(ktrace_trace_warning(trace), "1 wave started but left no header"));
            ktrace_trace_destroy(trace);
        }
    fake_wave_end(&wave, 5100);
    fake_header(&wave)->grid[1] = 0;
    assert_int_equal(ktrace_capture_read(&trace, capture), KTRACE_ERROR_FORMAT);
    assert_non_null(strstr(ktrace_last_error(), "dimension 1 is zero"));
    ktrace_capture_destroy(capture);
}

/* Two modules whose sites have the same offsets and other names; one is unloaded before the read. */
static void test_modules_apart(void **state)
{
    struct fixture *f = *state;
    struct fake_module other;
    fake_module_init(&other, 0x2000);
    const uint16_t kernel = fake_site(&other, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "softmax\0softmax.cu");
    const uint16_t mark = fake_site(&other, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "tock\0softmax.cu");
    assert_int_equal(kernel, f->kernel);
    struct ktrace_capture *capture = begin(f, NULL);
    ktrace_register(&other.registration);
    assert_int_equal(fake_control(&other)->mode, 0);
    assert_int_equal(ktrace_capture_clear(capture), 0); /* a library that was loaded since begin is armed now */
    assert_int_equal(fake_control(&other)->mode, 1);

    run_wave(f, 0, 1, 1, 1);
    struct fake_wave wave;
    fake_wave_begin(&wave, &other, kernel, 0, 1, 2, 2000000);
    fake_event(&wave, 0, mark, 2000010);
    fake_wave_end(&wave, 2000020);
    ktrace_unregister(&other.registration);
    const uint64_t writes = f->device.writes;
    fake_module_free(&other); /* a write to it would be seen by the sanitizers */
    struct ktrace_trace *trace = read_trace(capture);
    assert_int_equal(info_of(trace).launches, 2);
    struct ktrace_launch_info launch = {.struct_size = sizeof launch};
    struct ktrace_event_info event = {.struct_size = sizeof event};
    assert_int_equal(ktrace_trace_launch(&launch, trace, 0), 0);
    assert_string_equal(launch.kernel, "gemm");
    assert_int_equal(ktrace_trace_launch(&launch, trace, 1), 0);
    assert_string_equal(launch.kernel, "softmax");
    assert_int_equal(ktrace_trace_event(&event, trace, 1, 0), 0);
    assert_string_equal(event.name, "tock");
    assert_string_equal(event.file, "softmax.cu");
    ktrace_trace_destroy(trace);
    ktrace_capture_destroy(capture);
    assert_int_equal(f->device.writes, writes + 2); /* the module that is left was disarmed */
}

/* Reading copies the used columns of the used rows, not the buffer. */
static void test_reads_what_was_used(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL);
    for (uint32_t i = 0; i < 100; i++)
        run_wave(f, i, 100, 1, 8);
    const uint64_t before = f->device.bytes_to_host;
    struct ktrace_trace *trace = read_trace(capture);
    assert_true(f->device.bytes_to_host - before < 200000);
    assert_int_equal(info_of(trace).events, 1000);
    ktrace_trace_destroy(trace);
    ktrace_capture_destroy(capture);
}

static void test_layout_holds_its_promise(void **state)
{
    (void)state;
    const uint32_t wave_slots[] = {1, 8, 512, 1000, 65536};
    for (size_t s = 0; s < sizeof wave_slots / sizeof wave_slots[0]; s++)
        for (uint64_t waves = 1; waves < 300000; waves = waves * 3 + 1) {
            struct kt_layout layout;
            const uint64_t bytes = kt_layout_bytes_for(KTRACE_ARCH_NVIDIA, waves, wave_slots[s], 16);
            assert_int_equal(kt_layout_make(&layout, KTRACE_ARCH_NVIDIA, bytes, wave_slots[s], 16), 0);
            assert_true(layout.regions >= waves);
            assert_true(layout.regions == (uint64_t)layout.partitions * layout.regions_per_partition);
            assert_true(layout.total_bytes <= KT_HALVES * bytes + kt_layout_lane_ring_bytes(&layout) + 256);
            assert_int_equal(layout.lane_rings_offset % kt_layout_lane_ring_bytes(&layout), 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_records_and_reads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty_says_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_wire_version_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_states, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_begin_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wave_overflow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ring_overflow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_payloads_survive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_peek_leaves_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_peek_meets_half_a_header, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_modules_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reads_what_was_used, set_up, tear_down),
        cmocka_unit_test(test_layout_holds_its_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
