/* Waves to launches, kernels and phases, and the public view of a trace. */
#include "build_snapshot.h"
#include "trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct ktrace_trace *trace_from(struct kt_snapshot *snapshot)
{
    struct ktrace_trace *trace = NULL;
    if (kt_trace_from_snapshot(&trace, snapshot) < 0)
        fail_msg("%s", ktrace_last_error());
    return trace;
}

static uint32_t kernel_named(struct build *build, uint32_t module, const char *name)
{
    return build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, name);
}

static uint32_t finished_wave(struct build *build, const struct build_wave *options, uint64_t ticks)
{
    uint32_t wave = build_wave(build, options);
    build_end(build, wave, options->start_clock + ticks);
    return wave;
}

/* ---- Identity --------------------------------------------------------------------------------------------------- */

static void waves_of_one_launch_are_together(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    uint32_t gemm = kernel_named(build, build_module(build, 0), "gemm");
    /* two launches interleaved, workgroups in no order */
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t workgroup = i * 7 % 12, second = i >= 12;
        finished_wave(build,
                      &(struct build_wave){.kernel = gemm,
                                           .grid_id = second ? 8 : 9,
                                           .grid = {3, 2, 2},
                                           .block = {33, 2, 1},
                                           .workgroup = {workgroup % 3, workgroup / 3 % 2, workgroup / 6},
                                           .wave = (uint16_t)(i % 3),
                                           .place = workgroup % 2,
                                           .start_clock = 1000 + i * 10},
                      500);
    }
    struct ktrace_trace *trace = trace_from(build_finish(build));
    assert_int_equal(trace->launch_count, 2);
    assert_int_equal(trace->kernel_count, 1);
    assert_int_equal(trace->launches[0].grid_id, 9);
    assert_int_equal(trace->launches[1].grid_id, 8);
    for (int launch = 0; launch < 2; launch++) {
        const struct kt_launch *its = &trace->launches[launch];
        assert_int_equal(its->first_wave, launch * 12);
        assert_int_equal(its->wave_count, 12);
        assert_int_equal(its->waves_launched, 3 * 2 * 2 * 3);
        assert_int_equal(its->occurrence, 0);
        assert_int_equal(its->grid[0], 3);
        assert_int_equal(its->block[0], 33);
    }
    for (uint32_t i = 1; i < 12; i++) {
        const struct kt_wave *wave = &trace->waves[i], *before = wave - 1;
        assert_true(before->place <= wave->place);
        uint32_t order = wave->workgroup[0] + 3 * (wave->workgroup[1] + 2 * wave->workgroup[2]);
        uint32_t order_before = before->workgroup[0] + 3 * (before->workgroup[1] + 2 * before->workgroup[2]);
        assert_true(before->place < wave->place || order_before < order);
    }
    ktrace_trace_destroy(trace);
}

static void every_part_of_the_identity_counts(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    uint32_t first = build_module(build, 0x40), second = build_module(build, 0x40);
    uint32_t a = kernel_named(build, first, "a"), b = kernel_named(build, first, "b");
    uint32_t a_again = kernel_named(build, second, "a");
    struct build_wave wave = {.kernel = a, .start_clock = 1000, .grid = {2, 1, 1}};
    finished_wave(build, &wave, 10);
    struct build_wave other = wave;
    other.kernel = b;
    finished_wave(build, &other, 10);
    other.kernel = a_again;
    finished_wave(build, &other, 10);
    other = wave;
    other.grid_id = 1;
    finished_wave(build, &other, 10);
    other = wave;
    other.grid[2] = 2;
    finished_wave(build, &other, 10);
    other = wave;
    other.block[0] = 64;
    finished_wave(build, &other, 10);
    other = wave;
    other.workgroup[0] = 1; /* the same launch */
    finished_wave(build, &other, 10);
    struct ktrace_trace *trace = trace_from(build_finish(build));
    assert_int_equal(trace->launch_count, 6);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(trace->launches[i].occurrence, 0);
    assert_int_equal(trace->kernel_count, 2); /* equal names are one kernel */
    ktrace_trace_destroy(trace);
}

/* ---- Replays ---------------------------------------------------------------------------------------------------- */

static void replays_of_a_graph_node_are_launches(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    uint32_t gemm = kernel_named(build, build_module(build, 0), "gemm");
    for (uint32_t replay = 5; replay-- > 0;) /* regions come in any order */
        for (uint32_t i = 0; i < 40; i++)
            finished_wave(build,
                          &(struct build_wave){.kernel = gemm,
                                               .grid_id = 3,
                                               .grid = {20, 1, 1},
                                               .block = {64, 1, 1},
                                               .workgroup = {i * 3 % 20, 0, 0},
                                               .wave = (uint16_t)(i / 20),
                                               .place = i % 4,
                                               .start_clock = 100000 + replay * 50000 + (i * 11 % 40) * 100},
                          2000);
    struct ktrace_trace *trace = trace_from(build_finish(build));
    assert_int_equal(trace->launch_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(trace->launches[i].occurrence, i);
        assert_int_equal(trace->launches[i].grid_id, 3);
        assert_int_equal(trace->launches[i].wave_count, 40);
        if (i)
            assert_true(trace->launches[i - 1].end_ps < trace->launches[i].begin_ps);
    }
    ktrace_trace_destroy(trace);
}

static void replays_that_lost_waves_still_split(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    uint32_t gemm = kernel_named(build, build_module(build, 0), "gemm");
    static const uint32_t waves[3] = {8, 8, 3};
    for (uint32_t replay = 0; replay < 3; replay++)
        for (uint32_t i = 0; i < waves[replay]; i++)
            finished_wave(build,
                          &(struct build_wave){.kernel = gemm,
                                               .grid = {8, 1, 1},
                                               .workgroup = {i, 0, 0},
                                               .start_clock = 1000 + replay * 100000 + i * 64},
                          500);
    struct ktrace_trace *trace = trace_from(build_finish(build));
    assert_int_equal(trace->launch_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(trace->launches[i].wave_count, waves[i]);
    ktrace_trace_destroy(trace);
}

/* ---- Times ------------------------------------------------------------------------------------------------------ */

static void launches_span_their_waves(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    uint32_t module = build_module(build, 0), gemm = kernel_named(build, module, "gemm");
    uint32_t mark = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "mark");
    struct build_wave options = {.kernel = gemm, .grid = {3, 1, 1}, .start_clock = 64000};
    uint32_t wave = build_wave(build, &options);
    build_event(build, wave, 0, 70000, mark);
    build_end(build, wave, 80000);
    options.workgroup[0] = 1;
    options.start_clock = 66000;
    wave = build_wave(build, &options); /* unfinished */
    build_event(build, wave, 0, 90000, mark);
    options.workgroup[0] = 2;
    build_wave(build, &options); /* nothing at all */
    struct ktrace_trace *trace = trace_from(build_finish(build));
    struct ktrace_launch_info launch = {.struct_size = sizeof launch};
    assert_int_equal(ktrace_trace_launch(&launch, trace, 0), 0);
    assert_int_equal(launch.begin_ps, trace->waves[0].begin_ps);
    assert_int_equal(launch.end_ps, trace->events[1].time_ps);
    assert_int_equal(trace->duration_ps, launch.end_ps);
    assert_int_equal(launch.events, 2);
    assert_int_equal(launch.waves, 3);
    assert_int_equal(trace->waves_unfinished, 2);
    assert_int_equal(trace->waves[2].end_ps, trace->waves[2].begin_ps);
    assert_true(labs((long)(launch.end_ps - launch.begin_ps) - 26000 * 500) < 40000);
    ktrace_trace_destroy(trace);
}

/* ---- Kernels and phases ----------------------------------------------------------------------------------------- */

static void kernels_without_a_site_have_a_name(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    uint32_t module = build_module(build, 0x300), gemm = kernel_named(build, module, "gemm");
    uint32_t mark = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "mark");
    uint32_t wave = finished_wave(build, &(struct build_wave){.kernel = gemm}, 10);
    build_header(build, wave)->kernel_site = 0xABC0;
    wave = finished_wave(build, &(struct build_wave){.kernel = gemm, .start_clock = 1000}, 10);
    build_header(build, wave)->kernel_site = build_site_bits(build, mark); /* no kernel */
    wave = finished_wave(build, &(struct build_wave){.kernel = gemm, .start_clock = 2000}, 10);
    build_header(build, wave)->kernel_site = UINT64_MAX;
    finished_wave(build, &(struct build_wave){.kernel = gemm, .start_clock = 3000}, 10);
    struct ktrace_trace *trace = trace_from(build_finish(build));
    assert_int_equal(trace->launch_count, 4);
    assert_int_equal(trace->kernel_count, 2);
    assert_string_equal(trace->kernels[0].name, "(unknown kernel)");
    assert_string_equal(trace->kernels[1].name, "gemm");
    ktrace_trace_destroy(trace);
}

static void a_wide_kernel_site_is_an_address(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    uint32_t module = build_module(build, 0x300);
    uint32_t gemm = build_wide_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "wide gemm");
    finished_wave(build, &(struct build_wave){.kernel = gemm}, 10);
    struct ktrace_trace *trace = trace_from(build_finish(build));
    assert_string_equal(trace->kernels[0].name, "wide gemm");
    ktrace_trace_destroy(trace);
}

static void equal_names_are_one_phase(void **state)
{
    (void)state;
    struct build *build = build_begin(64, 4);
    uint32_t first = build_module(build, 0x40), second = build_module(build, 0x80);
    uint32_t kernels[3] = {kernel_named(build, first, "a"), kernel_named(build, first, "b"),
                           kernel_named(build, second, "a")};
    uint32_t x1 = build_site(build, first, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "x");
    uint32_t x2 = build_site(build, first, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "x"); /* another copy */
    uint32_t x_mark = build_site(build, first, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "x");
    uint32_t x3 = build_site(build, second, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "x");
    uint32_t y = build_site(build, second, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "y");
    build_site(build, second, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "never");
    uint32_t sites[3][3] = {{x1, x2, x_mark}, {x2, x_mark, x1}, {y, x3, y}};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t wave = build_wave(build, &(struct build_wave){.kernel = kernels[i], .start_clock = 1000 * i});
        for (uint32_t e = 0; e < 3; e++)
            build_event(build, wave, 0, 1000 * i + 100 + e, sites[i][e]);
    }
    struct ktrace_trace *trace = trace_from(build_finish(build));
    static const struct kt_phase expected[] = {{0, KTRACE_KIND_PUSH, "x"},
                                               {0, KTRACE_KIND_MARK, "x"},
                                               {0, KTRACE_KIND_MARK, "y"},
                                               {1, KTRACE_KIND_PUSH, "x"},
                                               {1, KTRACE_KIND_MARK, "x"}};
    assert_int_equal(trace->phase_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(trace->phases[i].kernel, expected[i].kernel);
        assert_int_equal(trace->phases[i].kind, expected[i].kind);
        assert_string_equal(trace->phases[i].name, expected[i].name);
    }
    static const uint32_t phases[] = {0, 0, 1, 3, 4, 3, 2, 0, 2};
    for (uint32_t i = 0; i < 9; i++) {
        uint32_t kernel = trace->launches[i / 3].kernel;
        assert_int_equal(kt_trace_phase_of(trace, kernel, trace->events[i].site), phases[i]);
    }
    assert_int_equal(kt_trace_phase_of(trace, 1, trace->events[6].site), KT_NONE);
    ktrace_trace_destroy(trace);
}

static void many_sites_of_many_kernels(void **state)
{
    (void)state;
    struct build *build = build_begin(256, 4);
    char name[16];
    for (uint32_t m = 0; m < 20; m++) {
        uint32_t module = build_module(build, 0x40 * m), marks[200];
        snprintf(name, sizeof name, "kernel %u", m % 7);
        uint32_t kernel = kernel_named(build, module, name);
        for (uint32_t i = 0; i < 200; i++) {
            snprintf(name, sizeof name, "mark %u", i % 150);
            marks[i] = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, name);
        }
        uint32_t wave = build_wave(build, &(struct build_wave){.kernel = kernel, .start_clock = m * 10000});
        for (uint32_t i = 0; i < 200; i++)
            build_event(build, wave, 0, m * 10000 + i, marks[i]);
    }
    struct ktrace_trace *trace = trace_from(build_finish(build));
    assert_int_equal(trace->kernel_count, 7);
    assert_int_equal(trace->phase_count, 7 * 150);
    for (uint64_t i = 0; i < trace->event_count; i++) {
        const struct kt_wave *wave = &trace->waves[i / 200];
        uint32_t kernel = trace->launches[wave->launch].kernel;
        uint32_t phase = kt_trace_phase_of(trace, kernel, trace->events[i].site);
        assert_int_equal(trace->phases[phase].kernel, kernel);
        assert_string_equal(trace->phases[phase].name, trace->events[i].site->name);
    }
    ktrace_trace_destroy(trace);
}

/* ---- The public view -------------------------------------------------------------------------------------------- */

static void a_trace_tells_about_itself(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = build_example(3, 4, 5);
    snapshot->devices[0].waves_dropped = snapshot->waves_dropped = 7;
    snapshot->devices[0].waves_filtered = snapshot->waves_filtered = 9;
    struct ktrace_trace *trace = trace_from(snapshot);
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_get_info(&info, trace), 0);
    assert_string_equal(info.name, "test");
    assert_string_equal(info.device, "Synthetic device");
    assert_int_equal(info.launches, 3);
    assert_int_equal(info.waves, 48);
    assert_int_equal(info.waves_dropped, 7);
    assert_int_equal(info.waves_filtered, 9);
    assert_int_equal(info.waves_unfinished, 1);
    assert_int_equal(info.ranges_unclosed, 2);
    assert_int_equal(info.slots_lost + info.slots_corrupt + info.ends_unmatched + info.clocks_ambiguous, 0);
    assert_string_equal(ktrace_trace_warning(trace),
                        "7 waves found no room, 1 wave is unfinished, 2 ranges are unclosed");
    uint64_t events = 0;
    for (uint64_t i = 0; i < info.launches; i++) {
        struct ktrace_launch_info launch = {.struct_size = sizeof launch};
        assert_int_equal(ktrace_trace_launch(&launch, trace, i), 0);
        assert_string_equal(launch.kernel, i % 2 ? "reduce" : "gemm");
        assert_int_equal(launch.waves, launch.waves_launched);
        assert_true(launch.end_ps <= info.duration_ps);
        events += launch.events;
    }
    assert_int_equal(events, info.events);
    for (uint64_t i = 0; i < info.waves; i++) {
        struct ktrace_wave_info wave = {.struct_size = sizeof wave};
        assert_int_equal(ktrace_trace_wave(&wave, trace, i), 0);
        assert_int_equal(wave.launch, i / 16);
        assert_int_equal(wave.lane_count, 32);
        for (uint32_t e = 0; e < wave.events; e++) {
            struct ktrace_event_info event = {.struct_size = sizeof event};
            assert_int_equal(ktrace_trace_event(&event, trace, i, e), 0);
            assert_string_equal(event.file, "kernel.cu");
            assert_true(event.time_ps >= wave.begin_ps && event.time_ps <= wave.end_ps);
        }
    }
    ktrace_trace_destroy(trace);
}

static void accessors_refuse_what_is_not_there(void **state)
{
    (void)state;
    struct ktrace_trace *trace = trace_from(build_example(1, 1, 1));
    struct ktrace_launch_info launch = {.struct_size = sizeof launch};
    struct ktrace_wave_info wave = {.struct_size = sizeof wave};
    struct ktrace_event_info event = {.struct_size = sizeof event};
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_launch(&launch, trace, 1), KTRACE_ERROR_NOT_FOUND);
    assert_string_equal(ktrace_last_error(), "launch 1 is not there: the trace has 1");
    assert_int_equal(ktrace_trace_wave(&wave, trace, 4), KTRACE_ERROR_NOT_FOUND);
    assert_int_equal(ktrace_trace_event(&event, trace, 4, 0), KTRACE_ERROR_NOT_FOUND);
    assert_int_equal(ktrace_trace_event(&event, trace, 3, 3), KTRACE_ERROR_NOT_FOUND);
    assert_string_equal(ktrace_last_error(), "event 3 is not there: wave 3 has 3");
    assert_int_equal(ktrace_trace_get_info(NULL, trace), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_get_info(&info, NULL), KTRACE_ERROR_ARGUMENT);
    info.struct_size = 0;
    assert_int_equal(ktrace_trace_get_info(&info, trace), KTRACE_ERROR_ARGUMENT);
    ktrace_trace_destroy(trace);
    ktrace_trace_destroy(NULL);
}

static void structs_of_other_versions_are_filled_as_far_as_known(void **state)
{
    (void)state;
    struct ktrace_trace *trace = trace_from(build_example(1, 1, 1));
    struct {
        struct ktrace_wave_info wave;
        uint64_t added, guard;
    } newer;
    struct ktrace_wave_info older;
    memset(&newer, 0xAA, sizeof newer);
    memset(&older, 0xAA, sizeof older);
    newer.wave.struct_size = sizeof newer.wave + sizeof newer.added;
    older.struct_size = offsetof(struct ktrace_wave_info, place);
    assert_int_equal(ktrace_trace_wave(&newer.wave, trace, 1), 0);
    assert_int_equal(newer.wave.wave, 1);
    assert_int_equal(newer.wave.struct_size, sizeof newer.wave + sizeof newer.added);
    assert_int_equal(newer.added, 0);
    assert_int_equal(newer.guard, 0xAAAAAAAAAAAAAAAAu);
    assert_int_equal(ktrace_trace_wave(&older, trace, 1), 0);
    assert_int_equal(older.wave, 1);
    assert_int_equal(older.place, 0xAAAAAAAAu);
    ktrace_trace_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_of_one_launch_are_together),
        cmocka_unit_test(every_part_of_the_identity_counts),
        cmocka_unit_test(replays_of_a_graph_node_are_launches),
        cmocka_unit_test(replays_that_lost_waves_still_split),
        cmocka_unit_test(launches_span_their_waves),
        cmocka_unit_test(kernels_without_a_site_have_a_name),
        cmocka_unit_test(a_wide_kernel_site_is_an_address),
        cmocka_unit_test(equal_names_are_one_phase),
        cmocka_unit_test(many_sites_of_many_kernels),
        cmocka_unit_test(a_trace_tells_about_itself),
        cmocka_unit_test(accessors_refuse_what_is_not_there),
        cmocka_unit_test(structs_of_other_versions_are_filled_as_far_as_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
