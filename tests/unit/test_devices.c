/* Several devices on one timeline: what happened at once on two of them is shown within what the trace says is not known. */
#include "build_snapshot.h"
#include "clock_host.h"
#include "trace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TRUE_BEGIN_NS 1000000000.0 /* true time when clocks of build_snapshot.h show 0 */
#define HOST_NS UINT64_C(1764464000000000000)
#define DEVICES 3
#define MARKS 20

/* ---- A machine whose true time is known -------------------------------------------------------------------------- */

struct clock {
    uint64_t offset_ns; /* shown at true time 0 */
    double rate;
};

struct machine {
    uint64_t random;
    uint32_t devices;
    double span_ns;
    struct clock host, device[DEVICES];
    double host_step_ns, host_step_at_ns;     /* the host's clock is set */
    double host_sway_ns, host_sway_period_ns; /* it runs ahead and falls back, as NTP makes it */
    struct kt_snapshot *snapshot;
};

static double uniform(struct machine *machine)
{
    machine->random = machine->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(machine->random >> 40) / (double)(1 << 24);
}

static uint64_t shown(const struct clock *clock, double true_ns)
{
    return clock->offset_ns + (uint64_t)(int64_t)(true_ns * clock->rate);
}

static uint64_t host_shows(const struct machine *machine, double true_ns)
{
    const double sway = machine->host_sway_ns * sin(6.28318530718 * true_ns / machine->host_sway_period_ns);
    return shown(&machine->host, true_ns + sway) +
           (uint64_t)(int64_t)(true_ns >= machine->host_step_at_ns ? machine->host_step_ns : 0);
}

/* In steps of 32 ns, as an H200's. */
static uint64_t device_shows(const struct machine *machine, uint32_t device, double true_ns)
{
    return shown(&machine->device[device], true_ns) / 32 * 32;
}

/* Reading takes 4 to 20 us, and the device looks at its clock anywhere in between. */
static void add_anchor(struct machine *machine, uint32_t number, double true_ns)
{
    struct kt_device *device = &machine->snapshot->devices[number];
    const double takes_ns = 4000 + 16000 * uniform(machine), at_ns = true_ns + takes_ns * uniform(machine);
    device->anchors = realloc(device->anchors, (size_t)(device->anchor_count + 1) * sizeof *device->anchors);
    assert_non_null(device->anchors);
    device->anchors[device->anchor_count++] =
        (struct kt_host_anchor){.host_before_ns = host_shows(machine, true_ns),
                                .host_after_ns = host_shows(machine, true_ns + takes_ns),
                                .device_ns = device_shows(machine, number, at_ns)};
}

/* On every device waves of 2 us with a mark each, at the same true times, from the begin of the span to its end. Waves are
 * short, so that what is not known of SMs hides nothing. */
static struct machine *machine_of(uint64_t seed, uint32_t devices, double span_ns)
{
    struct machine *machine = calloc(1, sizeof *machine);
    assert_non_null(machine);
    machine->random = seed * 977 + 5;
    machine->devices = devices;
    machine->span_ns = span_ns;
    machine->host_step_at_ns = INFINITY;
    machine->host_sway_period_ns = 1;
    machine->host = (struct clock){HOST_NS, 1 + 1e-4 * (uniform(machine) - 0.5)};
    struct build *build = build_begin(64, 8);
    for (uint32_t d = 0; d < devices; d++) {
        machine->device[d] = (struct clock){(uint64_t)(uniform(machine) * 1e15), 1 + 2e-4 * (uniform(machine) - 0.5)};
        if (d > 0)
            build_device(build, d);
        uint32_t module = build_module(build, 0);
        uint32_t kernel = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "beat");
        uint32_t mark = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "now");
        for (uint32_t i = 0; i <= MARKS; i++) {
            const uint64_t start = 1000 + (uint64_t)(2 * span_ns * i / MARKS), end = start + 4000;
            struct build_wave options = {
                .kernel = kernel, .grid = {MARKS + 1}, .workgroup = {i}, .place = 3, .start_clock = start};
            uint32_t wave = build_wave(build, &options);
            build_event(build, wave, 0, start + 1000, mark);
            build_end(build, wave, end);
            struct ktrace_wave_header *header = build_header(build, wave);
            header->start_wall_ns = device_shows(machine, d, TRUE_BEGIN_NS + (double)start / 2);
            header->end_wall_ns = device_shows(machine, d, TRUE_BEGIN_NS + (double)end / 2);
        }
    }
    machine->snapshot = build_finish(build);
    return machine;
}

static void read_clocks(struct machine *machine, uint32_t device, int times)
{
    for (int i = 0; i < times; i++)
        add_anchor(machine, device,
                   TRUE_BEGIN_NS - 50000 + (machine->span_ns + 100000) * i / (times > 1 ? times - 1 : 1));
}

static struct ktrace_trace *trace_of(struct machine *machine)
{
    struct ktrace_trace *trace;
    if (kt_trace_from_snapshot(&trace, machine->snapshot) < 0)
        fail_msg("%s", ktrace_last_error());
    return trace;
}

static void finish(struct machine *machine, struct ktrace_trace *trace)
{
    ktrace_trace_destroy(trace);
    free(machine);
}

static struct ktrace_device_info info_of(const struct ktrace_trace *trace, uint32_t device)
{
    struct ktrace_device_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_device(&info, trace, device), 0);
    return info;
}

static double mark_ns(const struct ktrace_trace *trace, uint32_t device, uint32_t mark)
{
    for (uint64_t w = 0; w < trace->wave_count; w++)
        if (trace->launches[trace->waves[w].launch].device == device && trace->waves[w].workgroup[0] == mark)
            return (double)trace->events[trace->waves[w].first_event].time_ps / 1000;
    fail_msg("device %u has no mark %u", device, mark);
    return 0;
}

/* The largest distance of one instant on two devices. */
static double apart_ns(const struct ktrace_trace *trace, uint32_t a, uint32_t b)
{
    double largest = 0;
    for (uint32_t i = 0; i <= MARKS; i++)
        largest = fmax(largest, fabs(mark_ns(trace, a, i) - mark_ns(trace, b, i)));
    return largest;
}

static void assert_summary_has(const struct ktrace_trace *trace, const char *in_text, const char *in_json)
{
    char *text, *json;
    assert_int_equal(ktrace_trace_summary_text(&text, trace), 0);
    assert_int_equal(ktrace_trace_summary_json(&json, trace), 0);
    if (!strstr(text, in_text) || !strstr(json, in_json))
        fail_msg("\"%s\" or \"%s\" is not in\n%s\n%s", in_text, in_json, text, json);
    free(text);
    free(json);
}

static void assert_within_uncertainty(const struct ktrace_trace *trace)
{
    for (uint32_t a = 0; a < trace->snapshot->device_count; a++)
        for (uint32_t b = 0; b < a; b++) {
            double said = info_of(trace, a).clock_uncertainty_ns + info_of(trace, b).clock_uncertainty_ns;
            if (apart_ns(trace, a, b) > said)
                fail_msg("%f ns apart, said %f", apart_ns(trace, a, b), said);
        }
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void skewed_and_drifting_clocks_agree(void **state)
{
    (void)state;
    const double spans_ns[] = {1e4, 1e6, 1e8, 1e9};
    for (uint64_t seed = 0; seed < 200; seed++) {
        const double span_ns = spans_ns[seed % 4];
        struct machine *machine = machine_of(seed, 2 + seed % 2, span_ns);
        const int times = (int[]){2, 3, 8, 40}[seed / 4 % 4];
        for (uint32_t d = 0; d < machine->devices; d++)
            read_clocks(machine, d, times);
        struct ktrace_trace *trace = trace_of(machine);
        assert_within_uncertainty(trace);
        for (uint32_t d = 0; d < machine->devices; d++) {
            struct ktrace_device_info info = info_of(trace, d);
            /* the longest reading; what may happen between two; what is not known of SMs */
            double bound = 20000 + (span_ns + 100000) / (times - 1) / 2 * 1e-5 + trace->clock_uncertainty_ns;
            if (info.clock_uncertainty_ns > bound)
                fail_msg("%f ns are not known, more than %f", info.clock_uncertainty_ns, bound);
            double begin_ns = TRUE_BEGIN_NS + 500;
            int64_t truth = (int64_t)(host_shows(machine, begin_ns) - device_shows(machine, d, begin_ns));
            assert_true(llabs(info.clock_offset_ns - truth) <= info.clock_uncertainty_ns + 32);
            assert_true(info.clock_contradiction_ns == 0);
            assert_int_equal(info.ordinal, d);
            assert_int_equal(info.launches, 1);
            assert_int_equal(info.waves, MARKS + 1);
            assert_int_equal(info.events, MARKS + 1);
        }
        assert_null(strstr(ktrace_trace_warning(trace), "device"));
        finish(machine, trace);
    }
}

/* Two readings near each other leave open how fast the clocks drift. What is not known stretches no duration. */
static void short_captures_do_not_stretch(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct machine *machine = machine_of(seed, 1, 1e5);
        read_clocks(machine, 0, 2);
        const struct kt_device *device = &machine->snapshot->devices[0];
        struct kt_host_line line;
        assert_int_equal(kt_host_line_fit(&line, device, device->anchors[0].device_ns, device->anchors[1].device_ns),
                         0);
        assert_true(fabs(line.drift) < 1e-5);
        assert_true(line.contradiction_ns == 0);
        kt_snapshot_destroy(machine->snapshot);
        free(machine);
    }
}

/* More readings leave less open. */
static void readings_narrow_it_down(void **state)
{
    (void)state;
    double with_2 = 0, with_40 = 0;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int times = 2; times <= 40; times += 38) {
            struct machine *machine = machine_of(seed, 2, 1e6);
            read_clocks(machine, 0, times);
            read_clocks(machine, 1, times);
            struct ktrace_trace *trace = trace_of(machine);
            *(times == 2 ? &with_2 : &with_40) += info_of(trace, 1).clock_uncertainty_ns;
            finish(machine, trace);
        }
    assert_true(with_40 < 0.5 * with_2);
}

/* Rates that are off by 100 ppm make 20 ms of 200 s; one reading alone does not show it. */
static void drift_over_minutes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int times = 1; times <= 60; times += 59) {
            struct machine *machine = machine_of(seed, 2, 2e11);
            read_clocks(machine, 0, times);
            read_clocks(machine, 1, times);
            struct ktrace_trace *trace = trace_of(machine);
            assert_within_uncertainty(trace);
            double said = info_of(trace, 1).clock_uncertainty_ns - trace->clock_uncertainty_ns;
            assert_true(times == 1 ? said > 1e8 : said < 60000);
            finish(machine, trace);
        }
}

/* NTP turns the host's clock by 6 ppm and back within 100 s: no line passes, and nothing is wrong. */
static void a_clock_that_is_turned_is_not_told(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct machine *machine = machine_of(seed, 2, 2e11);
        machine->host_sway_period_ns = 1e11;
        machine->host_sway_ns = 6e-6 * 1e11 / 6.28318530718;
        read_clocks(machine, 0, 150);
        read_clocks(machine, 1, 200);
        struct ktrace_trace *trace = trace_of(machine);
        assert_within_uncertainty(trace);
        assert_string_equal(ktrace_trace_warning(trace), "");
        assert_true(info_of(trace, 1).clock_contradiction_ns == 0);
        assert_true(info_of(trace, 1).clock_uncertainty_ns < 400000);
        finish(machine, trace);
    }
}

/* What was read long before or long after tells of what the clocks did then. */
static void old_readings_do_not_count(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct machine *machine = machine_of(seed, 2, 1e6);
        for (uint32_t d = 0; d < 2; d++) {
            for (int i = 0; i < 10; i++)
                add_anchor(machine, d, TRUE_BEGIN_NS - 9e8 + 5e7 * i);
            for (uint64_t i = 0; i < 10; i++) /* the host's clock was set since */
                machine->snapshot->devices[d].anchors[i].host_before_ns -= 123456789 + i * 1000 * (seed + 1);
            for (uint64_t i = 0; i < 10; i++)
                machine->snapshot->devices[d].anchors[i].host_after_ns -= 123456789 + i * 1000 * (seed + 1);
            read_clocks(machine, d, 2);
            add_anchor(machine, d, TRUE_BEGIN_NS + 1e9);
            add_anchor(machine, d, TRUE_BEGIN_NS + 2e9); /* and again */
            machine->snapshot->devices[d].anchors[13].host_before_ns += 555555555;
            machine->snapshot->devices[d].anchors[13].host_after_ns += 555555555;
        }
        struct ktrace_trace *trace = trace_of(machine);
        assert_within_uncertainty(trace);
        assert_string_equal(ktrace_trace_warning(trace), "");
        assert_true(info_of(trace, 0).clock_uncertainty_ns < 21000);
        finish(machine, trace);
    }
}

static void a_clock_that_was_set_is_told(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct machine *machine = machine_of(seed, 2, 1e8);
        machine->host_step_ns = seed & 1 ? 3e6 : -3e6;
        machine->host_step_at_ns = TRUE_BEGIN_NS + 5e7;
        read_clocks(machine, 0, 7);
        read_clocks(machine, 1, 9);
        struct ktrace_trace *trace = trace_of(machine);
        assert_within_uncertainty(trace);
        assert_true(info_of(trace, 1).clock_contradiction_ns > 5e5);
        assert_non_null(
            strstr(ktrace_trace_warning(trace), "device 1 (Synthetic device) contradict each other by up to"));
        finish(machine, trace);
    }
}

static void without_readings_devices_begin_together(void **state)
{
    (void)state;
    for (uint32_t without = 0; without < 3; without++) {
        struct machine *machine = machine_of(without, 3, 1e6);
        for (uint32_t d = 0; d < 3; d++)
            read_clocks(machine, d, d == without ? 0 : 3);
        struct ktrace_trace *trace = trace_of(machine);
        char words[128];
        snprintf(words, sizeof words, "the times of device %u (Synthetic device) cannot be compared", without);
        assert_non_null(strstr(ktrace_trace_warning(trace), words));
        assert_true(isinf(info_of(trace, without).clock_uncertainty_ns));
        assert_int_equal(info_of(trace, without).clock_offset_ns, 0);
        assert_summary_has(trace, "  cannot be compared\n", "\"clock_uncertainty_ns\": null");
        assert_summary_has(trace, "  within ", "\"devices\": 3");
        int64_t first = INT64_MAX;
        for (uint64_t w = 0; w < trace->wave_count; w++)
            if (trace->launches[trace->waves[w].launch].device == without && trace->waves[w].begin_ps < first)
                first = trace->waves[w].begin_ps;
        assert_true(first >= 0 && first < 100000);
        uint32_t others[2] = {without == 0 ? 1 : 0, without == 2 ? 1 : 2};
        assert_true(apart_ns(trace, others[0], others[1]) <=
                    info_of(trace, others[0]).clock_uncertainty_ns + info_of(trace, others[1]).clock_uncertainty_ns);
        finish(machine, trace);
    }
}

/* A false reading puts a device a year away: that is no time of this capture. */
static void a_year_away_is_not_believed(void **state)
{
    (void)state;
    struct machine *machine = machine_of(1, 2, 1e6);
    read_clocks(machine, 0, 2);
    read_clocks(machine, 1, 1);
    machine->snapshot->devices[1].anchors[0].host_before_ns -= UINT64_C(31557600000000000);
    machine->snapshot->devices[1].anchors[0].host_after_ns -= UINT64_C(31557600000000000);
    struct ktrace_trace *trace = trace_of(machine);
    assert_non_null(strstr(ktrace_trace_warning(trace), "further apart than one capture can be"));
    assert_true(trace->duration_ps < 3000000000);
    finish(machine, trace);
}

static void simulated_devices_have_one_clock(void **state)
{
    (void)state;
    struct machine *machine = machine_of(7, 2, 1e6);
    for (uint64_t w = 0; w < machine->snapshot->wave_count; w++) { /* device 1 begins 4 us late */
        struct ktrace_wave_header *wave = &machine->snapshot->waves[w];
        const int late = kt_snapshot_device_of(machine->snapshot, wave) == 1 ? 4000 : 0;
        wave->start_wall_ns = 5000000 + wave->start_clock_ticks / 2 / 32 * 32 + (uint64_t)late;
        wave->end_wall_ns = 5000000 + wave->end_clock_ticks / 2 / 32 * 32 + (uint64_t)late;
    }
    machine->snapshot->flags |= KT_SNAPSHOT_SIMULATED;
    struct ktrace_trace *trace = trace_of(machine);
    for (uint32_t i = 0; i <= MARKS; i++)
        assert_true(fabs(mark_ns(trace, 1, i) - mark_ns(trace, 0, i) - 4000) < 0.002);
    assert_true(info_of(trace, 0).clock_uncertainty_ns == 0 && info_of(trace, 1).clock_uncertainty_ns == 0);
    assert_string_equal(ktrace_trace_warning(trace), "");
    assert_summary_has(trace, "  of one clock\n", "\"clock_uncertainty_ns\": 0");
    finish(machine, trace);
}

/* The host's clock tells nothing that changes a trace of one device. */
static void one_device_stays_as_it_is(void **state)
{
    (void)state;
    struct machine *with = machine_of(3, 1, 1e6), *without = machine_of(3, 1, 1e6);
    read_clocks(with, 0, 5);
    struct ktrace_trace *a = trace_of(with), *b = trace_of(without);
    assert_int_equal(a->origin_ns, b->origin_ns);
    assert_int_equal(a->event_count, b->event_count);
    for (uint64_t i = 0; i < a->event_count; i++)
        assert_int_equal(a->events[i].time_ps, b->events[i].time_ps);
    assert_true(isinf(info_of(b, 0).clock_uncertainty_ns));
    assert_true(info_of(a, 0).clock_uncertainty_ns < 20000);
    assert_string_equal(ktrace_trace_warning(b), "");
    struct ktrace_device_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_device(&info, a, 1), KTRACE_ERROR_NOT_FOUND);
    assert_string_equal(ktrace_last_error(), "device 1 is not there: the trace has 1");
    finish(with, a);
    finish(without, b);
}

/* Kernels of one name are one kernel to the user, wherever they ran; launches are of one device each. */
static void what_is_told_of_devices(void **state)
{
    (void)state;
    struct machine *machine = machine_of(4, 3, 1e5);
    for (uint32_t d = 0; d < 3; d++)
        read_clocks(machine, d, 2);
    machine->snapshot->devices[1].waves_dropped = machine->snapshot->waves_dropped = 5;
    machine->snapshot->devices[2].waves_filtered = machine->snapshot->waves_filtered = 6;
    struct ktrace_trace *trace = trace_of(machine);
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_get_info(&info, trace), 0);
    assert_int_equal(info.devices, 3);
    assert_int_equal(info.places, 24);
    assert_string_equal(info.device, "3 x Synthetic device");
    assert_int_equal(trace->kernel_count, 1);
    assert_int_equal(info.launches, 3);
    assert_int_equal(info_of(trace, 1).waves_dropped, 5);
    assert_int_equal(info_of(trace, 2).waves_filtered, 6);
    unsigned seen = 0;
    for (uint64_t i = 0; i < 3; i++) {
        struct ktrace_launch_info launch = {.struct_size = sizeof launch};
        assert_int_equal(ktrace_trace_launch(&launch, trace, i), 0);
        seen |= 1u << launch.device;
    }
    assert_int_equal(seen, 7);
    for (uint64_t i = 0; i < info.waves; i++) {
        struct ktrace_wave_info wave = {.struct_size = sizeof wave};
        assert_int_equal(ktrace_trace_wave(&wave, trace, i), 0);
        assert_int_equal(wave.device, trace->launches[wave.launch].device);
        struct ktrace_event_info event = {.struct_size = sizeof event};
        assert_int_equal(ktrace_trace_event(&event, trace, i, 0), 0);
        assert_int_equal(event.clock_ticks, 2000 + 200000 / MARKS * wave.workgroup[0]);
    }
    finish(machine, trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skewed_and_drifting_clocks_agree),
        cmocka_unit_test(short_captures_do_not_stretch),
        cmocka_unit_test(readings_narrow_it_down),
        cmocka_unit_test(drift_over_minutes),
        cmocka_unit_test(a_clock_that_is_turned_is_not_told),
        cmocka_unit_test(old_readings_do_not_count),
        cmocka_unit_test(a_clock_that_was_set_is_told),
        cmocka_unit_test(without_readings_devices_begin_together),
        cmocka_unit_test(a_year_away_is_not_believed),
        cmocka_unit_test(simulated_devices_have_one_clock),
        cmocka_unit_test(one_device_stays_as_it_is),
        cmocka_unit_test(what_is_told_of_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
