/* simulate_clocks.h - a GPU whose true time is known: every SM counts its own ticks, the wall clock shows steps of 32 ns.
 *
 * A test adds waves at true times, has them fitted, and asks where a true time is shown. For test_clock.c alone.
 */
#ifndef SIMULATE_CLOCKS_H
#define SIMULATE_CLOCKS_H

#include "clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOST_WALL_NS UINT64_C(1764464000123456789) /* where the wall clock stands when a simulation begins */
#define TICK_NS 32
#define NS 1000.0 /* ps */
#define SM_COUNT 132
#define MAX_WAVES 20000

/* ---- The simulation ------------------------------------------------------------------------------------------------ */

struct simulation {
    struct kt_snapshot snapshot;
    struct kt_process process;
    struct kt_device device;
    int64_t begin_ns;
    struct ktrace_trace trace;
    struct ktrace_wave_header waves[MAX_WAVES];
    uint64_t offset_ticks[SM_COUNT];  /* of an SM's clock at wall 0 of the simulation */
    double ghz, ghz_later, change_ns; /* the rate, and the rate from change_ns on */
    uint64_t random;
};

static uint64_t next_random(struct simulation *simulation)
{
    simulation->random = simulation->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return simulation->random >> 16;
}

/* 0 <= result < 1 */
static double uniform(struct simulation *simulation)
{
    return (double)(next_random(simulation) & 0xFFFFFFFF) / 4294967296.0;
}

static struct simulation *simulate(uint64_t seed, double ghz)
{
    struct simulation *simulation = calloc(1, sizeof *simulation);
    assert_non_null(simulation);
    simulation->device = (struct kt_device){.clock_khz = 1980000, .wall_tick_ns = TICK_NS, .places = SM_COUNT};
    simulation->snapshot = (struct kt_snapshot){.arch = KTRACE_ARCH_NVIDIA,
                                                .processes = &simulation->process,
                                                .process_count = 1,
                                                .timeline_begins_ns = &simulation->begin_ns,
                                                .timeline_count = 1,
                                                .devices = &simulation->device,
                                                .device_count = 1};
    simulation->snapshot.waves = simulation->waves;
    simulation->trace.snapshot = &simulation->snapshot;
    simulation->random = seed;
    simulation->ghz = simulation->ghz_later = ghz;
    simulation->change_ns = 1e18;
    for (int sm = 0; sm < SM_COUNT; sm++)
        simulation->offset_ticks[sm] = next_random(simulation) & 0xFFFFFFFFFF;
    return simulation;
}

static void finish(struct simulation *simulation)
{
    free(simulation->trace.place_clocks);
    free(simulation->trace.devices);
    free(simulation->trace.knots);
    free(simulation);
}

static uint64_t clock_at(const struct simulation *simulation, uint32_t sm, double ns)
{
    double before = fmin(ns, simulation->change_ns), after = fmax(0, ns - simulation->change_ns);
    return simulation->offset_ticks[sm] + (uint64_t)(before * simulation->ghz + after * simulation->ghz_later);
}

static uint64_t wall_at(double ns)
{
    uint64_t wall = HOST_WALL_NS + (uint64_t)ns;
    return wall - wall % TICK_NS;
}

static void add_wave(struct simulation *simulation, uint32_t sm, double begin_ns, double end_ns)
{
    assert_true(simulation->snapshot.wave_count < MAX_WAVES);
    struct ktrace_wave_header *wave = &simulation->waves[simulation->snapshot.wave_count++];
    *wave = (struct ktrace_wave_header){.place = sm,
                                        .start_clock_ticks = clock_at(simulation, sm, begin_ns),
                                        .start_wall_ns = wall_at(begin_ns),
                                        .end_clock_ticks = clock_at(simulation, sm, end_ns),
                                        .end_wall_ns = wall_at(end_ns)};
}

/* One wave an SM; they begin and end within 10 % of the kernel's time. */
static void add_kernel(struct simulation *simulation, double begin_ns, double end_ns)
{
    double spread_ns = (end_ns - begin_ns) / 10;
    for (uint32_t sm = 0; sm < SM_COUNT; sm++)
        add_wave(simulation, sm, begin_ns + uniform(simulation) * spread_ns, end_ns - uniform(simulation) * spread_ns);
}

static void fit(struct simulation *simulation)
{
    assert_int_equal(kt_clock_fit(&simulation->trace), 0);
}

/* ---- Questions ----------------------------------------------------------------------------------------------------- */

static int64_t time_of(const struct simulation *simulation, uint32_t sm, uint64_t clock_ticks)
{
    const struct kt_place_clock *clock = kt_clock_of_place(&simulation->trace, 0, sm);
    assert_non_null(clock);
    return kt_clock_to_ps(&simulation->trace, clock, clock_ticks);
}

static int64_t shown_ps(const struct simulation *simulation, uint32_t sm, double ns)
{
    return time_of(simulation, sm, clock_at(simulation, sm, ns));
}

/* A phase as long as `ns` that begins at `at_ns`, as the trace shows it, in ns. */
static double shown_duration_ns(const struct simulation *simulation, uint32_t sm, double at_ns, double ns)
{
    uint64_t begin = clock_at(simulation, sm, at_ns), ticks = (uint64_t)(ns * simulation->ghz + 0.5);
    return (double)(time_of(simulation, sm, begin + ticks) - time_of(simulation, sm, begin)) / NS;
}

static double true_duration_ns(const struct simulation *simulation, double ns)
{
    return floor(ns * simulation->ghz + 0.5) / simulation->ghz;
}

static void assert_phases(const struct simulation *simulation, double begin_ns, double end_ns)
{
    const double lengths_ns[] = {16, 100, (end_ns - begin_ns) / 2};
    for (uint32_t sm = 0; sm < SM_COUNT; sm++) {
        for (size_t i = 0; i < sizeof lengths_ns / sizeof *lengths_ns; i++) {
            double at_ns = begin_ns + (end_ns - begin_ns) * 0.3, truth = true_duration_ns(simulation, lengths_ns[i]);
            double shown = shown_duration_ns(simulation, sm, at_ns, lengths_ns[i]);
            assert_true(fabs(shown - truth) <= truth * 0.02);
        }
    }
}

/* How far apart the SMs show one instant. */
static double disagreement_ns(const struct simulation *simulation, double at_ns)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t sm = 0; sm < SM_COUNT; sm++) {
        int64_t ps = shown_ps(simulation, sm, at_ns);
        if (ps < first)
            first = ps;
        if (ps > last)
            last = ps;
    }
    return (double)(last - first) / NS;
}

/* The share of pairs of SMs that show one instant less than 16 ns apart. */
static double share_within_16_ns(const struct simulation *simulation, double at_ns)
{
    int within = 0, pairs = 0;
    for (uint32_t a = 0; a < SM_COUNT; a++) {
        for (uint32_t b = 0; b < a; b++, pairs++)
            within += llabs(shown_ps(simulation, a, at_ns) - shown_ps(simulation, b, at_ns)) < 16000;
    }
    return (double)within / pairs;
}

/* Far from other anchors one SM's error is uniform over a tick, so that three quarters of all pairs are within half a tick. */
static void assert_agreement(const struct simulation *simulation, double begin_ns, double end_ns)
{
    for (int i = 0; i <= 10; i++) {
        double at_ns = begin_ns + (end_ns - begin_ns) * i / 10;
        assert_true(disagreement_ns(simulation, at_ns) < 40);
        assert_true(share_within_16_ns(simulation, at_ns) > 0.6);
    }
}

static void assert_starts_not_negative(const struct simulation *simulation)
{
    for (uint64_t i = 0; i < simulation->snapshot.wave_count; i++)
        assert_true(time_of(simulation, simulation->waves[i].place, simulation->waves[i].start_clock_ticks) >= 0);
}

/* Around every knot, at every anchor, and at the ends of the clock: time must not fall, nor the cursor differ. */
static void assert_monotonic(const struct simulation *simulation)
{
    const struct ktrace_trace *trace = &simulation->trace;
    for (uint32_t p = 0; p < trace->place_clock_count; p++) {
        const struct kt_place_clock *clock = &trace->place_clocks[p];
        struct kt_clock_cursor cursor;
        kt_clock_cursor_begin(&cursor, trace, 0, clock->place);
        uint64_t last_ticks = 0;
        int64_t last_ps = kt_clock_to_ps(trace, clock, 0);
        for (uint32_t k = 0; k <= clock->knot_count; k++) {
            uint64_t knot = k < clock->knot_count ? trace->knots[clock->first_knot + k].clock_ticks : UINT64_MAX;
            for (int step = -3; step <= 3; step++) {
                uint64_t ticks = knot + (uint64_t)(int64_t)step;
                if (step < 0 ? ticks > knot : ticks < knot)
                    continue;
                if (ticks < last_ticks)
                    continue;
                int64_t ps = kt_clock_to_ps(trace, clock, ticks);
                assert_true(ps >= last_ps);
                assert_true(ps == kt_clock_cursor_ps(&cursor, ticks));
                last_ticks = ticks;
                last_ps = ps;
            }
        }
    }
}

static void assert_knots_sane(const struct simulation *simulation)
{
    const struct ktrace_trace *trace = &simulation->trace;
    for (uint32_t k = 0; k < trace->knot_count; k++) {
        assert_true(isfinite(trace->knots[k].wall_ns));
        assert_true(isfinite(trace->knots[k].ns_per_tick) && trace->knots[k].ns_per_tick >= 0);
    }
    for (uint32_t p = 0; p < trace->place_clock_count; p++) {
        assert_true(isfinite(trace->place_clocks[p].residual_ns) && trace->place_clocks[p].residual_ns >= 0);
        assert_true(isfinite(trace->place_clocks[p].uncertainty_ns) && trace->place_clocks[p].uncertainty_ns >= 0);
        assert_true(trace->place_clocks[p].knot_count > 0);
        assert_true(p == 0 || trace->place_clocks[p].place > trace->place_clocks[p - 1].place);
    }
    assert_true(isfinite(trace->clock_hz) && trace->clock_hz > 0);
    assert_true(isfinite(trace->clock_residual_ns));
}

#endif
