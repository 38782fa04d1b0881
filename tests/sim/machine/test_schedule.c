/* Where waves run, when, and in which order. */
#include "fixture.h"

/* ---- Places ------------------------------------------------------------------------------------------------------- */

struct place {
    uint32_t hardware_id, xcc;
};

static void every_active_cu_is_used_and_no_other(void **state)
{
    (void)state;
    static const struct {
        uint32_t cus, cus_per_xcc;
    } expected[SIM_CHIPS] = {{304, 38}, {256, 32}};
    for (int chip = 0; chip < SIM_CHIPS; chip++) {
        struct fixture f = fixture_open((enum sim_chip)chip, "v5", NULL);
        /* Workgroups of all waves of a CU. */
        uint32_t workgroups = expected[chip].cus;
        struct place *out = fixture_allocate(&f, workgroups * 16ull * sizeof *out);
        fixture_run(&f, "places", workgroups, 1024, &out, 8);
        uint32_t used[16][4][16] = {0}, cus = 0;
        for (uint32_t i = 0; i < workgroups * 16; i++) {
            uint32_t id = out[i].hardware_id, cu = id >> 8 & 15, sh = id >> 12 & 1, se = id >> 13 & 3;
            assert_int_equal(out[i].xcc, i / 16 % 8); /* workgroups go round the XCCs */
            assert_int_equal(sh, 0);
            assert_int_equal(id >> 15, 0);
            assert_int_equal(id >> 6 & 3, 0);
            assert_true((id & 15) < 8);
            cus += !used[out[i].xcc][se][cu]++;
        }
        for (int xcc = 0; xcc < 8; xcc++) {
            uint32_t in_xcc = 0;
            for (int se = 0; se < 4; se++)
                for (int cu = 0; cu < 16; cu++)
                    in_xcc += used[xcc][se][cu] != 0;
            assert_true(in_xcc <= expected[chip].cus_per_xcc);
        }
        assert_int_equal(cus, expected[chip].cus);
        fixture_close(&f);
    }
}

static void no_two_waves_are_in_one_place_at_a_time(void **state)
{
    (void)state;
    struct sim_chip_config config;
    sim_chip_config_init(&config, SIM_GFX942);
    config.xccs = 2;
    config.ses_per_xcc = 2;
    config.cus_per_sh = 2;
    config.active_cus_per_xcc = 3;
    struct fixture f = fixture_open(SIM_GFX942, "v5", &config);
    enum { WAVES = 2000 };
    /* The same grid twice: placing depends on nothing but what runs, so that places and times belong together. */
    struct place *place = fixture_allocate(&f, WAVES * sizeof *place);
    fixture_run(&f, "places", WAVES, 64, &place, 8);
    uint32_t slots[2][4][2][4][16] = {0};
    for (int i = 0; i < WAVES; i++) {
        uint32_t id = place[i].hardware_id;
        slots[place[i].xcc][id >> 13 & 3][id >> 8 & 1][id >> 4 & 3][id & 15]++;
        assert_true((id & 15) < 8 && (id >> 8 & 15) < 2 && (id >> 13 & 3) < 2 && place[i].xcc < 2);
        assert_false((id >> 13 & 3) == 1 && (id >> 8 & 15) == 1); /* the inactive one */
    }
    /* 6 CUs of 4 SIMDs: all are used. */
    uint32_t simds = 0;
    for (int xcc = 0; xcc < 2; xcc++)
        for (int se = 0; se < 2; se++)
            for (int cu = 0; cu < 2; cu++)
                for (int simd = 0; simd < 4; simd++)
                    simds += slots[xcc][se][cu][simd][0] != 0;
    assert_int_equal(simds, 24);
    fixture_close(&f);
}

/* Cycles that so many workgroups take on one CU. */
static uint64_t cycles_on_one_cu(uint32_t workgroups, uint32_t items, uint32_t lds_bytes, enum sim_chip chip)
{
    struct sim_chip_config config;
    sim_chip_config_init(&config, chip);
    config.xccs = config.ses_per_xcc = config.cus_per_sh = 1;
    config.active_cus_per_xcc = 1;
    struct fixture f = fixture_open(chip, "v5", &config);
    struct {
        uint64_t *out;
        uint32_t rounds;
    } arguments = {fixture_allocate(&f, workgroups * (items / 64) * 24ull), 4000};
    struct sim_dispatch_config dispatch = {.grid = {workgroups, 1, 1},
                                           .block = {items, 1, 1},
                                           .last_block = {items, 1, 1},
                                           .dynamic_lds_bytes = lds_bytes};
    uint64_t cycles = fixture_finish(&f, fixture_launch(&f, dispatch, "times", &arguments, 12));
    fixture_close(&f);
    return cycles;
}

static void lds_limits_how_many_workgroups_run_at_once(void **state)
{
    (void)state;
    static const uint32_t lds[SIM_CHIPS] = {65536, 163840};
    for (int chip = 0; chip < SIM_CHIPS; chip++) {
        uint64_t one = cycles_on_one_cu(1, 64, 0, (enum sim_chip)chip);
        uint64_t four = cycles_on_one_cu(4, 64, lds[chip] / 4, (enum sim_chip)chip);
        uint64_t one_after_another = cycles_on_one_cu(4, 64, lds[chip] / 2 + 1, (enum sim_chip)chip);
        assert_in_range(four, one, one * 11 / 10); /* one on each SIMD */
        assert_in_range(one_after_another, one * 39 / 10, one * 42 / 10);
    }
}

static void a_simd_issues_one_instruction_at_a_time(void **state)
{
    (void)state;
    /* Four waves a SIMD leave it no cycle; eight take twice as long. */
    uint64_t four = cycles_on_one_cu(16, 64, 0, SIM_GFX942), eight = cycles_on_one_cu(32, 64, 0, SIM_GFX942);
    assert_in_range(eight, four * 19 / 10, four * 21 / 10);
}

/* ---- Order ---------------------------------------------------------------------------------------------------------- */

static void waves_of_a_workgroup_take_turns_through_lds(void **state)
{
    (void)state;
    for (int chip = 0; chip < SIM_CHIPS; chip++) {
        struct fixture f = fixture_open((enum sim_chip)chip, "v5", NULL);
        struct {
            uint32_t *out;
            uint32_t rounds;
        } arguments = {fixture_allocate(&f, 512), 50};
        fixture_run(&f, "ping_pong_lds", 1, 128, &arguments, 12);
        assert_true(arguments.out[0] > 10 && arguments.out[64] > 10); /* each has waited for the other */
        fixture_close(&f);
    }
}

static void workgroups_take_turns_through_memory(void **state)
{
    (void)state;
    struct fixture f = fixture_open(SIM_GFX942, "v5", NULL);
    struct {
        uint32_t *turn, *out;
        uint32_t rounds;
    } arguments = {fixture_allocate(&f, 4), fixture_allocate(&f, 8), 40};
    fixture_run(&f, "ping_pong_memory", 2, 1, &arguments, 20);
    assert_int_equal(*arguments.turn, 80);
    assert_true(arguments.out[0] > 10 && arguments.out[1] > 10);
    fixture_close(&f);
}

static void dispatches_run_side_by_side(void **state)
{
    (void)state;
    struct fixture f = fixture_open(SIM_GFX942, "v5", NULL);
    struct {
        uint64_t *out;
        uint32_t rounds;
    } a = {fixture_allocate(&f, 24), 2000}, b = {fixture_allocate(&f, 24), 2000};
    struct sim_dispatch *first = fixture_start(&f, "times", 1, 64, &a, 12);
    struct sim_dispatch *second = fixture_start(&f, "times", 1, 64, &b, 12);
    fixture_finish(&f, first);
    fixture_finish(&f, second);
    assert_true(a.out[0] < b.out[1] && b.out[0] < a.out[1]);
    fixture_close(&f);
}

static void waves_that_end_open_a_barrier(void **state)
{
    (void)state;
    struct fixture f = fixture_open(SIM_GFX950, "v5", NULL);
    int *out = fixture_allocate(&f, 4);
    fixture_run(&f, "early_exit", 1, 1024, &out, 8);
    assert_int_equal(*out, 1);
    fixture_close(&f);
}

/* ---- Time ------------------------------------------------------------------------------------------------------------- */

static void two_runs_have_the_same_times(void **state)
{
    (void)state;
    enum { WORKGROUPS = 700, WAVES = WORKGROUPS * 3 };
    uint64_t *results[2], ends[2], instructions[2];
    struct fixture f[2];
    for (int run = 0; run < 2; run++) {
        f[run] = fixture_open(SIM_GFX942, "v5", NULL);
        for (int i = 0; i < 10 * run; i++) /* other addresses */
            fixture_allocate(&f[run], 12345);
        results[run] = fixture_allocate(&f[run], WAVES * 24);
        struct {
            uint64_t *out;
            uint32_t rounds;
        } arguments = {results[run], 50};
        ends[run] = fixture_run(&f[run], "times", WORKGROUPS, 192, &arguments, 12);
        instructions[run] = sim_machine_instructions(f[run].machine);
    }
    assert_memory_equal(results[0], results[1], WAVES * 24);
    assert_int_equal(ends[0], ends[1]);
    assert_int_equal(instructions[0], instructions[1]);
    for (int run = 0; run < 2; run++)
        fixture_close(&f[run]);
}

static void clocks_agree_and_step(void **state)
{
    (void)state;
    struct fixture f = fixture_open(SIM_GFX942, "v5", NULL);
    struct {
        uint64_t *out;
        uint32_t rounds;
    } arguments = {fixture_allocate(&f, 24), 10000};
    uint64_t end = fixture_run(&f, "times", 1, 64, &arguments, 12), *out = arguments.out;
    assert_true(out[0] && out[0] % 4 == 0 && out[1] % 4 == 0);
    /* 10000 rounds of two VALU instructions of four cycles and three scalar ones: 20 cycles at 2100 MHz */
    assert_in_range((out[1] - out[0]) * 21, 10000 * 12, 10000 * 60);
    assert_true(out[1] <= sim_cycle_realtime_ticks(f.machine, end));
    assert_true(out[0] >= sim_cycle_realtime_ticks(f.machine, 0));
    assert_int_equal(sim_cycle_ns(f.machine, 2100), 1000);
    assert_int_equal(sim_cycle_ns(f.machine, UINT64_C(1) << 50), UINT64_C(536142812782201));
    assert_int_equal(sim_cycle_realtime_ticks(f.machine, 2100) - sim_cycle_realtime_ticks(f.machine, 0), 100);
    fixture_close(&f);
}

static void time_goes_as_far_as_it_is_told(void **state)
{
    (void)state;
    struct fixture f = fixture_open(SIM_GFX942, "v5", NULL);
    assert_int_equal(sim_machine_run(f.machine, 500), 500);
    assert_int_equal(sim_machine_now(f.machine), 500);
    assert_int_equal(sim_machine_run(f.machine, UINT64_MAX), UINT64_MAX);
    assert_int_equal(sim_machine_now(f.machine), 500);
    uint64_t *out = fixture_allocate(&f, 24);
    struct sim_dispatch_config config = {
        .grid = {1, 1, 1}, .block = {64, 1, 1}, .last_block = {64, 1, 1}, .not_before_cycle = 100000};
    struct {
        uint64_t *out;
        uint32_t rounds;
    } arguments = {out, 1};
    struct sim_dispatch *late = fixture_launch(&f, config, "times", &arguments, 12);
    assert_int_equal(sim_machine_run(f.machine, 99999), 99999);
    /* One that is started now runs before the one that waits. */
    fixture_run(&f, "nothing", 1, 64, NULL, 0);
    assert_true(sim_machine_now(f.machine) < 101000);
    for (uint64_t cycle = 99999; !sim_dispatch_state(late); cycle += 7)
        assert_true(sim_machine_run(f.machine, cycle) <= cycle);
    assert_true(out[0] >= sim_cycle_realtime_ticks(f.machine, 100000));
    assert_int_equal(sim_dispatch_end_cycle(late), sim_machine_now(f.machine));
    sim_dispatch_release(late);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_active_cu_is_used_and_no_other),
        cmocka_unit_test(no_two_waves_are_in_one_place_at_a_time),
        cmocka_unit_test(lds_limits_how_many_workgroups_run_at_once),
        cmocka_unit_test(a_simd_issues_one_instruction_at_a_time),
        cmocka_unit_test(waves_of_a_workgroup_take_turns_through_lds),
        cmocka_unit_test(workgroups_take_turns_through_memory),
        cmocka_unit_test(dispatches_run_side_by_side),
        cmocka_unit_test(waves_that_end_open_a_barrier),
        cmocka_unit_test(two_runs_have_the_same_times),
        cmocka_unit_test(clocks_agree_and_step),
        cmocka_unit_test(time_goes_as_far_as_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
