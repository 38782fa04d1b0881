/* From a device in host memory to a snapshot: what a capture finds, whatever lanes and counts a kernel left there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fuzz/hostile_memory.h"
#include "capture_fixture.h"

static struct ktrace_capture *begin(struct fixture *f, const struct ktrace_capture_options *options)
{
    struct ktrace_capture *capture = NULL;
    struct ktrace_capture_options small = KTRACE_CAPTURE_OPTIONS_INIT;
    if (options)
        small = *options;
    small.buffer_bytes = 1 << 18; /* quickly cleared */
    if (fake_begin(&capture, &f->device, &small) < 0)
        fail_msg("begin: %s", ktrace_last_error());
    return capture;
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

/* A wave of the lanes in `mask`: others returned before the kernel's first line. */
static void begin_lanes(struct fake_wave *wave, struct fixture *f, uint32_t mask)
{
    fake_wave_begin(wave, &f->module, f->kernel, 0, 1, 7, 1000);
    fake_header(wave)->lane_count = (ktrace_u8)__builtin_popcount(mask);
    for (uint32_t lane = 0; lane < KTRACE_MAX_LANES; lane++)
        if (!(mask >> lane & 1))
            wave->count_bytes[lane] = 0; /* never written */
}

static const uint32_t masks[] = {0xFFFFFFFF, 0xFFFF0000, 0x0000FFFF, 0x80000000, 0xAAAAAAAA, 0x00010000, 0x80000001};

/* Every lane that is there records; no lane that is not there counts. */
static void test_any_lanes(void **state)
{
    struct fixture *f = *state;
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        struct ktrace_capture *capture = begin(f, NULL);
        struct fake_wave wave;
        uint64_t expected = 0;
        begin_lanes(&wave, f, masks[m]);
        for (uint32_t lane = 0; lane < KTRACE_MAX_LANES; lane++)
            for (uint32_t i = 0; masks[m] >> lane & 1 && i <= lane % 4; i++, expected++)
                fake_event(&wave, lane, f->mark, 1010 + i);
        fake_wave_end(&wave, 1100);
        struct ktrace_trace *trace;
        assert_int_equal(ktrace_capture_end(&trace, capture), 0);
        assert_string_equal(ktrace_trace_warning(trace), "");
        assert_int_equal(info_of(trace).events, expected);
        assert_int_equal(info_of(trace).waves_unfinished, 0);
        ktrace_trace_destroy(trace);
    }
}

/* The same while they are inside: which lanes those are is not known. */
static void test_any_lanes_inside(void **state)
{
    struct fixture *f = *state;
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        struct ktrace_capture *capture = begin(f, NULL);
        struct fake_wave wave;
        const uint32_t last = 31 - (uint32_t)__builtin_clz(masks[m]);
        begin_lanes(&wave, f, masks[m]);
        for (uint32_t i = 0; i < 3; i++)
            fake_event(&wave, last, f->mark, 1010 + i);
        struct ktrace_trace *trace;
        assert_int_equal(ktrace_capture_peek(&trace, capture), 0);
        assert_int_equal(info_of(trace).events, 3);
        assert_int_equal(info_of(trace).waves_unfinished, 1);
        assert_int_equal(info_of(trace).slots_lost, 0);
        ktrace_trace_destroy(trace);
        ktrace_capture_destroy(capture);
    }
}

/* ---- Counts ------------------------------------------------------------------------------------------------------ */

static const uint64_t count_period = UINT64_C(1) << 29; /* slots after which 32 bits of bytes begin again */

/* One lane marks until its count wrapped to `extra` more than nothing, in a ring of `slots`. `payloads`: every other slot is
 * a payload of 0. */
static void begin_wrapped(struct fake_wave *wave, struct fixture *f, uint32_t lane, uint32_t slots, uint32_t extra,
                          int payloads)
{
    fake_wave_begin(wave, &f->module, f->kernel, 0, 1, 7, 1000);
    const uint32_t before = 2 * slots; /* enough to fill the ring */
    wave->count_bytes[lane] = 0u - (before - 1) * KTRACE_SLOT_BYTES;
    uint64_t clock = 1010;
    for (uint32_t i = 0; i < before + extra; i += payloads ? 2 : 1)
        if (payloads)
            fake_event_payload(wave, lane, f->number, clock++, 0);
        else
            fake_event(wave, lane, f->mark, clock++);
    fake_wave_end(wave, clock);
}

static void test_wrapped_count_is_an_overflow(void **state)
{
    struct fixture *f = *state;
    for (uint32_t lane = 0; lane <= 17; lane += 17)
        for (int payloads = 0; payloads <= 1; payloads++)
            for (uint32_t extra = 2; extra < 16; extra += 2) {
                struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
                options.events_per_wave = options.events_per_lane = 16;
                struct ktrace_capture *capture = begin(f, &options);
                struct fake_wave wave;
                begin_wrapped(&wave, f, lane, 16, extra, payloads);
                struct ktrace_trace *trace;
                assert_int_equal(ktrace_capture_end(&trace, capture), KTRACE_ERROR_OVERFLOW);
                assert_non_null(strstr(ktrace_last_error(), "recorded at least "));
                assert_non_null(strstr(ktrace_last_error(), "no ring holds more than 134217728 slots"));
                assert_null(strstr(ktrace_last_error(), "begin with events_per"));
            }
}

/* With keep_last the newest stay, and the loss is counted, at least the most of it. */
static void test_wrapped_count_keeps_the_last(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.events_per_wave = 64;
    options.keep_last = 1;
    for (uint32_t extra = 1; extra < 64; extra += 10) {
        struct ktrace_capture *capture = begin(f, &options);
        struct fake_wave wave;
        begin_wrapped(&wave, f, 0, 64, extra, 0);
        struct ktrace_trace *trace;
        assert_int_equal(ktrace_capture_end(&trace, capture), 0);
        const struct ktrace_trace_info info = info_of(trace);
        assert_int_equal(info.events, 64);
        assert_int_equal(info.slots_corrupt, 0);
        assert_true(info.slots_lost > count_period - 0x20000 && info.slots_lost < count_period);
        struct ktrace_event_info first = {.struct_size = sizeof first}, last = first;
        assert_int_equal(ktrace_trace_event(&first, trace, 0, 0), 0);
        assert_int_equal(ktrace_trace_event(&last, trace, 0, 63), 0);
        assert_int_equal(last.clock_ticks - first.clock_ticks, 63);
        assert_int_equal(last.clock_ticks, 1010 + 128 + extra - 1);
        ktrace_trace_destroy(trace);
    }
}

/* A ring that is filled to any mark, and no further, is whole: with payloads of 0 as well. */
static void test_full_rings_did_not_wrap(void **state)
{
    struct fixture *f = *state;
    for (uint32_t slots = 2; slots <= 16; slots += 2) {
        struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
        options.events_per_wave = options.events_per_lane = 16;
        struct ktrace_capture *capture = begin(f, &options);
        struct fake_wave wave;
        fake_wave_begin(&wave, &f->module, f->kernel, 0, 1, 7, 1000);
        for (uint32_t i = 0; i < slots; i += 2) {
            fake_event_payload(&wave, 0, f->number, 1010 + i, 0);
            fake_event_payload(&wave, 5, f->number, 1010 + i, 0);
        }
        fake_wave_end(&wave, 2000);
        struct ktrace_trace *trace;
        assert_int_equal(ktrace_capture_end(&trace, capture), 0);
        assert_int_equal(info_of(trace).events, slots);
        assert_string_equal(ktrace_trace_warning(trace), "");
        ktrace_trace_destroy(trace);
    }
}

/* ---- Hostile memory ---------------------------------------------------------------------------------------------- */

/* Random stores; sanitizers judge. Some captures come out whole, some are refused. */
static void test_hostile_memory(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252;
    int traces = 0, runs = 3000;
    for (int run = 0; run < runs; run++) {
        uint8_t data[400];
        for (size_t i = 0; i < sizeof data; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            data[i] = (uint8_t)(random >> 32);
        }
        traces += hostile_memory(data, 2 + (size_t)(random >> 40) % (sizeof data - 2));
    }
    assert_true(traces > runs / 10 && traces < runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_any_lanes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_any_lanes_inside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrapped_count_is_an_overflow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrapped_count_keeps_the_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_rings_did_not_wrap, set_up, tear_down),
        cmocka_unit_test(test_hostile_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
