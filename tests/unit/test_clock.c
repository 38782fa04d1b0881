#include "simulate_clocks.h"

#include <time.h>

/* ---- Tests --------------------------------------------------------------------------------------------------------- */

static const double rates_ghz[] = {1.98, 1.967, 1.755, 1.2};

static void one_kernel(uint64_t seed, double ghz, double length_ns)
{
    struct simulation *simulation = simulate(seed, ghz);
    add_kernel(simulation, 1000, 1000 + length_ns);
    fit(simulation);
    assert_knots_sane(simulation);
    assert_true(simulation->trace.clock_residual_ns == 0);
    assert_true(fabs(simulation->trace.clock_hz / (ghz * 1e9) - 1) < 0.02);
    assert_int_equal(simulation->trace.place_clock_count, SM_COUNT);
    assert_phases(simulation, 1000, 1000 + length_ns);
    assert_agreement(simulation, 1000, 1000 + length_ns);
    assert_starts_not_negative(simulation);
    assert_monotonic(simulation);
    finish(simulation);
}

static void kernels_from_1_us_to_50_ms(void **state)
{
    (void)state;
    const double lengths_ns[] = {1e3, 2e3, 1e4, 1e6, 5e7, 3.6e12};
    for (size_t length = 0; length < sizeof lengths_ns / sizeof *lengths_ns; length++)
        for (size_t rate = 0; rate < sizeof rates_ghz / sizeof *rates_ghz; rate++)
            for (uint64_t seed = 1; seed <= 2; seed++)
                one_kernel(seed, rates_ghz[rate], lengths_ns[length]);
}

/* Nothing but one short wave: the nominal clock decides. */
static void one_wave(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct simulation *simulation = simulate(seed, 1.98);
        double begin_ns = 1000 + uniform(simulation) * 32;
        add_wave(simulation, 7, begin_ns, begin_ns + 1000);
        fit(simulation);
        double truth = true_duration_ns(simulation, 16);
        assert_true(fabs(shown_duration_ns(simulation, 7, begin_ns + 300, 16) - truth) <= truth * 0.02);
        assert_true(shown_ps(simulation, 7, begin_ns) >= 0 && shown_ps(simulation, 7, begin_ns) < 32 * 1000);
        assert_null(kt_clock_of_place(&simulation->trace, 0, 6));
        finish(simulation);
    }
}

/* Many short kernels make a long baseline: the rate of an SM comes out much better than one kernel would give it. */
static void many_kernels(void **state)
{
    (void)state;
    struct simulation *simulation = simulate(3, 1.8);
    for (int i = 0; i < 100; i++)
        add_kernel(simulation, 1000 + i * 25000.0, 3000 + i * 25000.0);
    fit(simulation);
    assert_true(simulation->trace.clock_residual_ns == 0);
    assert_true(fabs(simulation->trace.clock_hz / 1.8e9 - 1) < 1e-5);
    assert_agreement(simulation, 1000, 99 * 25000 + 3000);
    for (uint32_t sm = 0; sm < SM_COUNT; sm++)
        assert_true(fabs(shown_duration_ns(simulation, sm, 50000, 1e6) - 1e6) < 40);
    finish(simulation);
}

/* SMs of one device at rates of their own, as measured on an H200. */
static void clusters_at_different_rates(void **state)
{
    (void)state;
    struct simulation *simulation = simulate(4, 1.98);
    for (uint32_t sm = 0; sm < SM_COUNT; sm++) {
        simulation->ghz = simulation->ghz_later = sm % 3 == 0 ? 1.967 : sm % 3 == 1 ? 1.973 : 1.98;
        for (int i = 0; i < 50; i++) {
            double begin_ns = 1000 + i * 2000 + uniform(simulation) * 100;
            add_wave(simulation, sm, begin_ns, begin_ns + 1500);
        }
    }
    fit(simulation);
    assert_true(simulation->trace.clock_residual_ns == 0);
    for (uint32_t sm = 0; sm < SM_COUNT; sm++) {
        simulation->ghz = simulation->ghz_later = sm % 3 == 0 ? 1.967 : sm % 3 == 1 ? 1.973 : 1.98;
        double truth = true_duration_ns(simulation, 50000);
        assert_true(fabs(shown_duration_ns(simulation, sm, 20000, 50000) - truth) < 20);
    }
    finish(simulation);
}

/* A throttle in the middle of a run of waves: durations are right on both sides, SMs agree on both and during the change. */
static void rate_changes(void **state)
{
    (void)state;
    const double later_ghz[] = {1.755, 1.2, 1.975, 2.1};
    for (size_t i = 0; i < sizeof later_ghz / sizeof *later_ghz; i++) {
        struct simulation *simulation = simulate(5 + i, 1.98);
        simulation->ghz_later = later_ghz[i];
        simulation->change_ns = 500000;
        for (uint32_t sm = 0; sm < SM_COUNT; sm++)
            for (double at_ns = uniform(simulation) * 5000; at_ns < 1e6 - 12000;) {
                double length_ns = 5000 + uniform(simulation) * 5000;
                add_wave(simulation, sm, at_ns, at_ns + length_ns);
                at_ns += length_ns + uniform(simulation) * 500;
            }
        fit(simulation);
        assert_true(simulation->trace.clock_residual_ns <= 16);
        assert_monotonic(simulation);
        for (uint32_t sm = 0; sm < SM_COUNT; sm++) {
            double truth = 100000 / simulation->ghz;
            uint64_t early = clock_at(simulation, sm, 300000), late = clock_at(simulation, sm, 700000);
            double shown = (double)(time_of(simulation, sm, early + 100000) - time_of(simulation, sm, early)) / NS;
            assert_true(fabs(shown - truth) < truth * 0.02);
            truth = 100000 / simulation->ghz_later;
            shown = (double)(time_of(simulation, sm, late + 100000) - time_of(simulation, sm, late)) / NS;
            assert_true(fabs(shown - truth) < truth * 0.02);
        }
        for (double at_ns = 10000; at_ns < 980000; at_ns += 9700)
            if (fabs(at_ns - simulation->change_ns) > 15000)
                assert_true(disagreement_ns(simulation, at_ns) < 40);
        assert_true(disagreement_ns(simulation, simulation->change_ns) < 200);
        finish(simulation);
    }
}

/* Between two kernels a part may sleep at a quarter of its rate: neither kernel's rate may suffer. */
static void idle_between_kernels(void **state)
{
    (void)state;
    struct simulation *simulation = simulate(9, 1.98);
    add_kernel(simulation, 1000, 3000);
    for (uint32_t sm = 0; sm < SM_COUNT; sm++)
        simulation->offset_ticks[sm] -= 300000; /* the clock stood for 150 us */
    add_kernel(simulation, 202000, 204000);
    fit(simulation);
    assert_true(simulation->trace.clock_residual_ns == 0);
    assert_phases(simulation, 202000, 204000);
    assert_agreement(simulation, 202200, 203800); /* inside of all waves */
    for (uint32_t sm = 0; sm < SM_COUNT; sm++)
        simulation->offset_ticks[sm] += 300000;
    assert_phases(simulation, 1000, 3000);
    assert_agreement(simulation, 1200, 2800);
    finish(simulation);
}

/* Clocks around 2^32, 2^63 and 2^64: only differences count. */
static void large_clocks(void **state)
{
    (void)state;
    const uint64_t offsets[] = {0, UINT64_C(1) << 32, UINT64_C(1) << 53, UINT64_C(1) << 63, UINT64_MAX - 1990000};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        struct simulation *simulation = simulate(6, 1.98);
        for (int sm = 0; sm < SM_COUNT; sm++)
            simulation->offset_ticks[sm] = offsets[i] - (i % 4 ? 990000 : 0);
        add_kernel(simulation, 1000, 990000);
        fit(simulation);
        assert_true(simulation->trace.clock_residual_ns == 0);
        assert_phases(simulation, 1000, 900000);
        assert_agreement(simulation, 1000, 900000);
        assert_monotonic(simulation);
        finish(simulation);
    }
}

static void unfinished_waves(void **state)
{
    (void)state;
    struct simulation *simulation = simulate(8, 1.98);
    add_kernel(simulation, 1000, 3000);
    for (uint32_t sm = 0; sm < SM_COUNT; sm++)
        simulation->waves[sm].end_wall_ns = simulation->waves[sm].end_clock_ticks = 0;
    fit(simulation);
    assert_true(simulation->trace.clock_residual_ns == 0);
    assert_phases(simulation, 1000, 3000);
    assert_agreement(simulation, 1000, 3000);
    finish(simulation);
}

/* Some parts step their wall clock by a microsecond or so; an unknown step is taken as 32 ns. */
static void other_ticks(void **state)
{
    (void)state;
    struct simulation *simulation = simulate(10, 1.98);
    add_kernel(simulation, 100000, 5100000);
    for (uint64_t i = 0; i < simulation->snapshot.wave_count; i++) {
        simulation->waves[i].start_wall_ns -= simulation->waves[i].start_wall_ns % 1024;
        simulation->waves[i].end_wall_ns -= simulation->waves[i].end_wall_ns % 1024;
    }
    simulation->device.wall_tick_ns = 1024;
    fit(simulation);
    assert_true(simulation->trace.clock_residual_ns == 0);
    assert_phases(simulation, 100000, 5100000);
    assert_true(disagreement_ns(simulation, 2e6) < 1100);
    assert_starts_not_negative(simulation);
    finish(simulation);

    simulation = simulate(11, 1.98);
    simulation->device.wall_tick_ns = 0;
    simulation->device.clock_khz = 0;
    add_kernel(simulation, 1000, 1e6);
    fit(simulation);
    assert_true(simulation->trace.clock_residual_ns == 0);
    assert_agreement(simulation, 1000, 1e6);
    finish(simulation);
}

/* Where the wall clock is the clock, times are what the anchors say. */
static void exact_clocks(void **state)
{
    (void)state;
    for (int host = 0; host < 2; host++) {
        struct simulation *simulation = simulate(12, 1);
        uint64_t scale = host ? 1 : 10;
        simulation->snapshot.arch = host ? KTRACE_ARCH_HOST : KTRACE_ARCH_AMDGCN;
        simulation->device.clock_khz = host ? 0 : 100000;
        for (uint32_t i = 0; i < 100; i++) {
            uint64_t start = UINT64_C(123456789012) + next_random(simulation) % 100000000, end = start + 5000 + i;
            simulation->waves[i] = (struct ktrace_wave_header){.place = i % 4,
                                                               .start_clock_ticks = start,
                                                               .start_wall_ns = start * scale,
                                                               .end_clock_ticks = end,
                                                               .end_wall_ns = end * scale};
        }
        simulation->snapshot.wave_count = 100;
        fit(simulation);
        assert_true(simulation->trace.clock_residual_ns == 0);
        assert_true(fabs(simulation->trace.clock_hz - (host ? 1e9 : 1e8)) < 1);
        for (uint32_t i = 0; i < 100; i++) {
            const struct ktrace_wave_header *wave = &simulation->waves[i];
            int64_t expected = (int64_t)(wave->start_wall_ns - simulation->trace.origin_ns) * 1000;
            assert_true(time_of(simulation, wave->place, wave->start_clock_ticks) == expected);
            expected = (int64_t)(wave->end_wall_ns - simulation->trace.origin_ns) * 1000;
            assert_true(time_of(simulation, wave->place, wave->end_clock_ticks) == expected);
        }
        finish(simulation);
    }
}

/* The wall clock read late, because other waves were issued between the anchor's clock reads: the header says how far apart
 * these were. */
static void wide_anchors(void **state)
{
    (void)state;
    struct simulation *simulation = simulate(13, 1.98);
    for (uint32_t sm = 0; sm < SM_COUNT; sm++) {
        for (int i = 0; i < 100; i++) {
            double begin_ns = 1000 + i * 1000 + uniform(simulation) * 100;
            add_wave(simulation, sm, begin_ns, begin_ns + 800);
            if (i % 3 != 1)
                continue;
            struct ktrace_wave_header *wave = &simulation->waves[simulation->snapshot.wave_count - 1];
            uint32_t gap_ticks = (uint32_t)(uniform(simulation) * 2000);
            wave->start_clock_ticks =
                clock_at(simulation, sm, begin_ns) + (uint64_t)(int64_t)((uniform(simulation) - 0.5) * gap_ticks);
            wave->start_gap_ticks = gap_ticks;
        }
    }
    fit(simulation);
    assert_true(simulation->trace.clock_residual_ns <= 8);
    assert_phases(simulation, 10000, 90000);
    assert_agreement(simulation, 10000, 90000);
    finish(simulation);
}

/* One false anchor among many is left out, and the residual tells of it. */
static void outliers(void **state)
{
    (void)state;
    for (uint64_t seed = 20; seed < 40; seed++) {
        struct simulation *simulation = simulate(seed, 1.98);
        for (uint32_t sm = 0; sm < SM_COUNT; sm++)
            for (int i = 0; i < 20; i++)
                add_wave(simulation, sm, 1000 + i * 2000, 2800 + i * 2000);
        uint64_t sm = next_random(simulation) % SM_COUNT; /* not its last wave: nothing would contradict that */
        struct ktrace_wave_header *wave = &simulation->waves[sm * 20 + next_random(simulation) % 19];
        int64_t error_ns = 32 * (int64_t)(10 + next_random(simulation) % 100000);
        if (seed % 2)
            wave->start_wall_ns += (uint64_t)error_ns;
        else
            wave->end_wall_ns += (uint64_t)error_ns;
        fit(simulation);
        assert_true(simulation->trace.clock_residual_ns >= (double)error_ns - 48);
        assert_true(simulation->trace.clock_residual_ns <= (double)error_ns + 48);
        assert_agreement(simulation, 5000, 36000);
        assert_monotonic(simulation);
        finish(simulation);
    }
}

/* A day apart: picoseconds stay, from the first kernel to the last. */
static void long_traces(void **state)
{
    (void)state;
    struct simulation *simulation = simulate(14, 2);
    add_kernel(simulation, 1000, 11000);
    add_kernel(simulation, 86400e9, 86400e9 + 10000);
    fit(simulation);
    for (uint32_t sm = 0; sm < SM_COUNT; sm++) {
        uint64_t ticks = clock_at(simulation, sm, 86400e9 + 5000);
        int64_t ps = time_of(simulation, sm, ticks), next_ps = time_of(simulation, sm, ticks + 1000);
        assert_true(llabs(next_ps - ps - 500000) <= 10000);
        assert_true(next_ps == time_of(simulation, sm, ticks + 1000));
    }
    assert_true(disagreement_ns(simulation, 86400e9 + 5000) < 40);
    finish(simulation);
}

static uint64_t garbage(struct simulation *simulation)
{
    uint64_t value = next_random(simulation) ^ next_random(simulation) << 32;
    switch (next_random(simulation) % 6) {
    case 0: return 0;
    case 1: return UINT64_MAX - (value & 0xFF);
    case 2: return value;
    case 3: return value & 0xFFFFFFFF;
    case 4: return HOST_WALL_NS + (value & 0xFFFFF);
    default: return UINT64_C(1) << (value & 63);
    }
}

static void spoil(struct simulation *simulation, struct ktrace_wave_header *wave)
{
    uint64_t swap;
    switch (next_random(simulation) % 8) {
    case 0: wave->start_wall_ns = garbage(simulation); break;
    case 1: wave->end_wall_ns = garbage(simulation); break;
    case 2: wave->start_clock_ticks = garbage(simulation); break;
    case 3: wave->end_clock_ticks = garbage(simulation); break;
    case 4: wave->place = (uint32_t)garbage(simulation); break;
    case 5: wave->start_gap_ticks = (uint32_t)garbage(simulation); break;
    case 6:
        swap = wave->start_wall_ns;
        wave->start_wall_ns = wave->end_wall_ns;
        wave->end_wall_ns = swap;
        break;
    default:
        swap = wave->start_clock_ticks;
        wave->start_clock_ticks = wave->end_clock_ticks;
        wave->end_clock_ticks = swap;
    }
}

/* Whatever the headers hold: finite, rising, no undefined behaviour. */
static void garbage_anchors(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < 500; seed++) {
        struct simulation *simulation = simulate(seed, 1.98);
        for (uint32_t i = 0; i < 40; i++) {
            double begin_ns = uniform(simulation) * 100000;
            add_wave(simulation, i % 3, begin_ns, begin_ns + uniform(simulation) * 10000);
        }
        uint64_t spoilt = seed % 4 == 0 ? 40 : 1 + next_random(simulation) % 10;
        for (uint64_t i = 0; i < spoilt * 2; i++)
            spoil(simulation, &simulation->waves[next_random(simulation) % 40]);
        simulation->device.clock_khz = seed % 5 ? 1980000 : (uint32_t)garbage(simulation);
        simulation->device.wall_tick_ns = seed % 7 ? TICK_NS : (uint32_t)garbage(simulation);
        simulation->snapshot.arch = seed % 11 ? KTRACE_ARCH_NVIDIA : KTRACE_ARCH_AMDGCN;
        fit(simulation);
        assert_knots_sane(simulation);
        assert_monotonic(simulation);
        finish(simulation);
    }
}

/* The good waves of a file with one bad one are shown as if it were not there. */
static void one_bad_wave(void **state)
{
    (void)state;
    for (uint64_t seed = 600; seed < 700; seed++) {
        struct simulation *simulation = simulate(seed, 1.98);
        for (uint32_t sm = 0; sm < SM_COUNT; sm++)
            for (int i = 0; i < 20; i++)
                add_wave(simulation, sm, 1000 + i * 2000, 2800 + i * 2000);
        struct ktrace_wave_header *wave = &simulation->waves[next_random(simulation) % simulation->snapshot.wave_count];
        if (seed % 2)
            wave->start_wall_ns = garbage(simulation);
        else
            wave->end_clock_ticks = garbage(simulation);
        fit(simulation);
        assert_knots_sane(simulation);
        assert_monotonic(simulation);
        assert_agreement(simulation, 5000, 36000);
        finish(simulation);
    }
}

static void no_waves(void **state)
{
    (void)state;
    struct simulation *simulation = simulate(15, 1.98);
    struct kt_clock_cursor cursor;
    fit(simulation);
    assert_int_equal(simulation->trace.place_clock_count, 0);
    assert_true(simulation->trace.clock_hz == 1.98e9);
    assert_null(kt_clock_of_place(&simulation->trace, 0, 0));
    kt_clock_cursor_begin(&cursor, &simulation->trace, 0, 0);
    assert_int_equal(kt_clock_cursor_ps(&cursor, 12345), 0);
    finish(simulation);
}

/* What no anchor shows: the rate changes inside of a long wave. The residual stays 0; the uncertainty covers the error. */
static void long_waves_are_uncertain(void **state)
{
    (void)state;
    const double lengths_ns[] = {2e6, 1e7, 2e8, 2e9};
    for (size_t i = 0; i < sizeof lengths_ns / sizeof *lengths_ns; i++) {
        struct simulation *simulation = simulate(17, 1.98);
        const double length_ns = lengths_ns[i], middle_ns = 1000 + length_ns / 2;
        simulation->ghz_later = 1.98 * 0.9996;
        simulation->change_ns = middle_ns;
        add_wave(simulation, 3, 1000, 1000 + length_ns);
        add_wave(simulation, 5, 1000, 1000 + length_ns); /* SM 5 has other waves as well */
        for (int wave = 0; wave < 10000; wave++)
            add_wave(simulation, 5, 1000 + length_ns * wave / 10000, 1000 + length_ns * (wave + 1) / 10000);
        fit(simulation);
        const struct kt_place_clock *alone = kt_clock_of_place(&simulation->trace, 0, 3);
        const struct kt_place_clock *anchored = kt_clock_of_place(&simulation->trace, 0, 5);
        assert_true(alone->residual_ns == 0);
        assert_true(fabs(alone->unanchored_ns - length_ns) <= TICK_NS);
        assert_true(fabs(anchored->unanchored_ns - length_ns / 10000) <= TICK_NS);
        assert_true(simulation->trace.clock_unanchored_ns == alone->unanchored_ns);
        const double off_ns = (double)(shown_ps(simulation, 3, middle_ns) - shown_ps(simulation, 5, middle_ns)) / NS;
        assert_true(fabs(off_ns) > length_ns * 0.00007);
        assert_true(fabs(off_ns) < simulation->trace.clock_uncertainty_ns + 150); /* the first millisecond is free */
        assert_true(simulation->trace.clock_uncertainty_ns == alone->uncertainty_ns);
        assert_true(anchored->uncertainty_ns < 20);
        finish(simulation);
    }
}

/* Idle time is not unanchored: nothing happens there. Nor are clocks that count wall time. */
static void idle_time_is_not_uncertain(void **state)
{
    (void)state;
    struct simulation *simulation = simulate(18, 1.98);
    for (int i = 0; i < 3; i++)
        add_wave(simulation, 3, 1000 + i * 1e9, 9000 + i * 1e9);
    fit(simulation);
    assert_true(simulation->trace.clock_unanchored_ns <= 8000 + TICK_NS);
    assert_true(simulation->trace.clock_uncertainty_ns < 40);
    finish(simulation);

    simulation = simulate(19, 1);
    simulation->snapshot.arch = KTRACE_ARCH_HOST;
    add_wave(simulation, 3, 1000, 1e9);
    fit(simulation);
    assert_true(simulation->trace.clock_unanchored_ns == 0);
    finish(simulation);
}

/* A cursor that is asked in any order answers as kt_clock_to_ps does. */
static void cursor_in_any_order(void **state)
{
    (void)state;
    struct simulation *simulation = simulate(16, 1.98);
    simulation->ghz_later = 1.5;
    simulation->change_ns = 50000;
    for (int i = 0; i < 50; i++)
        add_wave(simulation, 3, 1000 + i * 3000, 3000 + i * 3000);
    fit(simulation);
    struct kt_clock_cursor cursor;
    kt_clock_cursor_begin(&cursor, &simulation->trace, 0, 3);
    for (int i = 0; i < 10000; i++) {
        uint64_t ticks = clock_at(simulation, 3, uniform(simulation) * 200000);
        assert_true(kt_clock_cursor_ps(&cursor, ticks) == time_of(simulation, 3, ticks));
    }
    finish(simulation);
}

/* A place with a knot for each of 200,000 waves, as a hostile file has it: a look-up that walks over all of them from the
 * first takes minutes for 200,000 waves. */
static void cursor_over_many_knots(void **state)
{
    (void)state;
    enum { KNOTS = 200000 };
    struct kt_place_clock place = {.place = 0, .knot_count = KNOTS};
    struct ktrace_trace trace = {.place_clocks = &place, .place_clock_count = 1, .knot_count = KNOTS};
    trace.knots = test_malloc(KNOTS * sizeof *trace.knots);
    for (uint32_t i = 0; i < KNOTS; i++)
        trace.knots[i] = (struct kt_clock_knot){100 + i * UINT64_C(100), i * 50.0, i % 2 ? 0.4 : 0.5};
    const clock_t begin = clock();
    for (uint32_t i = 0; i < KNOTS; i++) {
        const uint64_t ticks = KNOTS * UINT64_C(100) - i * UINT64_C(97) % 5000;
        struct kt_clock_cursor cursor;
        kt_clock_cursor_begin(&cursor, &trace, 0, 0);
        assert_true(kt_clock_cursor_ps(&cursor, ticks) == kt_clock_to_ps(&trace, &place, ticks));
    }
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 5);
    test_free(trace.knots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_from_1_us_to_50_ms),
        cmocka_unit_test(one_wave),
        cmocka_unit_test(many_kernels),
        cmocka_unit_test(clusters_at_different_rates),
        cmocka_unit_test(rate_changes),
        cmocka_unit_test(idle_between_kernels),
        cmocka_unit_test(large_clocks),
        cmocka_unit_test(unfinished_waves),
        cmocka_unit_test(other_ticks),
        cmocka_unit_test(exact_clocks),
        cmocka_unit_test(wide_anchors),
        cmocka_unit_test(outliers),
        cmocka_unit_test(long_traces),
        cmocka_unit_test(garbage_anchors),
        cmocka_unit_test(one_bad_wave),
        cmocka_unit_test(no_waves),
        cmocka_unit_test(long_waves_are_uncertain),
        cmocka_unit_test(idle_time_is_not_uncertain),
        cmocka_unit_test(cursor_in_any_order),
        cmocka_unit_test(cursor_over_many_knots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
