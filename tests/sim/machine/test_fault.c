/* Everything that goes wrong when a kernel is launched or runs, and the sentence that says so. */
#include "fixture.h"

#include <inttypes.h>
#include <stdio.h>

static struct fixture open_default(void)
{
    struct sim_chip_config config;
    sim_chip_config_init(&config, SIM_GFX942);
    config.max_wave_instructions = 100000;
    return fixture_open(SIM_GFX942, "v5", &config);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------- */

static struct sim_dispatch *load_at(struct fixture *f, uint64_t address)
{
    void *out = fixture_allocate(f, 4);
    uint64_t arguments[2] = {(uintptr_t)out, address};
    return fixture_start(f, "load_at", 1, 1, arguments, sizeof arguments);
}

static struct sim_dispatch *store_at(struct fixture *f, uint64_t address)
{
    return fixture_start(f, "store_at", 1, 1, &address, sizeof address);
}

static void accesses_within_bounds_work(void **state)
{
    (void)state;
    struct fixture f = open_default();
    for (uint64_t bytes = 1; bytes < 9000; bytes = bytes * 3 + 1) {
        char *memory = fixture_allocate(&f, bytes);
        fixture_finish(&f, load_at(&f, (uintptr_t)memory));
        fixture_finish(&f, load_at(&f, (uintptr_t)memory + bytes - 1));
        fixture_finish(&f, store_at(&f, (uintptr_t)memory + bytes - 1));
        assert_int_equal(memory[bytes - 1], 1);
    }
    fixture_close(&f);
}

static void one_byte_out_of_bounds_is_a_fault(void **state)
{
    (void)state;
    struct fixture f = open_default();
    for (uint64_t bytes = 1; bytes < 9000; bytes = bytes * 3 + 1) {
        uint64_t memory = (uintptr_t)fixture_allocate(&f, bytes);
        char text[64];
        snprintf(text, sizeof text, "byte %" PRIu64 " of %" PRIu64, bytes, bytes);
        fixture_expect_failure(&f, load_at(&f, memory + bytes), SIM_FAILURE_ADDRESS, "kernel 'load_at'",
                               "lane 0 reads 1 bytes", "out of bounds", text, "global_load", NULL);
        fixture_expect_failure(&f, store_at(&f, memory + bytes), SIM_FAILURE_ADDRESS, "kernel 'store_at'",
                               "lane 0 writes 1 bytes", "out of bounds", text, "global_store_byte", NULL);
        fixture_expect_failure(&f, store_at(&f, memory - 1), SIM_FAILURE_ADDRESS, "out of bounds", "1 bytes before",
                               NULL);
    }
    fixture_close(&f);
}

static void a_fault_says_where(void **state)
{
    (void)state;
    struct fixture f = open_default();
    struct {
        uint32_t *out;
        uint32_t items_x, items_y;
    } arguments = {fixture_allocate(&f, 16 * 200), 300, 1};
    /* Workgroup (2, 0, 0) has workitems 200 to 299, which have no place. */
    fixture_expect_failure(&f, fixture_start(&f, "identify", 3, 100, &arguments, sizeof arguments), SIM_FAILURE_ADDRESS,
                           "kernel 'identify', workgroup (2, 0, 0), wave 0: ", "lane 0 reads 4 bytes",
                           "out of bounds, byte 3212 of 3200", "(identify+0x", NULL);
    fixture_close(&f);
}

static void use_after_free_says_so(void **state)
{
    (void)state;
    struct fixture f = open_default();
    char *memory = fixture_allocate(&f, 10000);
    fixture_finish(&f, store_at(&f, (uintptr_t)memory + 9000));
    assert_int_equal(sim_memory_free(f.machine, memory), 0);
    fixture_expect_failure(&f, store_at(&f, (uintptr_t)memory + 9000), SIM_FAILURE_ADDRESS, "freed memory",
                           "byte 9000 of what was an allocation of 10000", NULL);
    fixture_expect_failure(&f, load_at(&f, (uintptr_t)memory), SIM_FAILURE_ADDRESS, "freed memory", NULL);
    assert_int_equal(sim_memory_free(f.machine, memory), -1);
    expect_error("not the begin of an allocation");
    fixture_close(&f);
}

static void null_pointers_and_nowhere(void **state)
{
    (void)state;
    struct fixture f = open_default();
    fixture_expect_failure(&f, store_at(&f, 0), SIM_FAILURE_ADDRESS, "null pointer", NULL);
    fixture_expect_failure(&f, load_at(&f, 8), SIM_FAILURE_ADDRESS, "null pointer", NULL);
    fixture_expect_failure(&f, store_at(&f, UINT64_MAX), SIM_FAILURE_ADDRESS, "no device memory is there", NULL);
    int on_the_host = 0;
    fixture_expect_failure(&f, store_at(&f, (uintptr_t)&on_the_host), SIM_FAILURE_ADDRESS, "no device memory", NULL);
    assert_int_equal(sim_memory_register(f.machine, &on_the_host, sizeof on_the_host), 0);
    fixture_finish(&f, store_at(&f, (uintptr_t)&on_the_host));
    assert_int_equal(on_the_host, 1);
    assert_int_equal(sim_memory_register(f.machine, &on_the_host, 1), -1);
    assert_int_equal(sim_memory_unregister(f.machine, &on_the_host), 0);
    assert_int_equal(sim_memory_unregister(f.machine, &on_the_host), -1);
    fixture_expect_failure(&f, store_at(&f, (uintptr_t)&on_the_host), SIM_FAILURE_ADDRESS, "no device memory", NULL);
    fixture_close(&f);
}

static void read_only_memory(void **state)
{
    (void)state;
    struct fixture f = open_default();
    fixture_expect_failure(&f, fixture_start(&f, "write_constant", 1, 1, NULL, 0), SIM_FAILURE_ADDRESS,
                           "read-only data or code of a module", NULL);
    fixture_close(&f);
}

static void flat_addresses_of_lds_and_private_memory(void **state)
{
    (void)state;
    struct fixture f = open_default();
    uint64_t arguments[2] = {(uintptr_t)fixture_allocate(&f, 4), 0x0001000000000000};
    fixture_expect_failure(&f, fixture_start(&f, "load_flat_at", 1, 1, arguments, 16), SIM_FAILURE_ADDRESS,
                           "lane 0 reads 4 bytes at offset 0 of the workgroup's LDS, which has 0 bytes", NULL);
    arguments[1] = 0x0002000000000010;
    fixture_expect_failure(&f, fixture_start(&f, "load_flat_at", 1, 1, arguments, 16), SIM_FAILURE_ADDRESS,
                           "private memory, which has 0 bytes", NULL);
    fixture_close(&f);
}

/* ---- Control flow --------------------------------------------------------------------------------------------------- */

static void endless_kernels_are_stopped(void **state)
{
    (void)state;
    struct fixture f = open_default();
    fixture_expect_failure(&f, fixture_start(&f, "endless", 1, 64, NULL, 0), SIM_FAILURE_ENDLESS, "does not end",
                           "100000 wave instructions", "KTRACE_SIM_MAX_INSTRUCTIONS", NULL);
    /* The chip is free again. */
    fixture_run(&f, "nothing", 5000, 1024, NULL, 0);
    fixture_close(&f);
}

static void a_deadlock_says_who_waits(void **state)
{
    (void)state;
    struct fixture f = open_default();
    int *flag = fixture_allocate(&f, 4);
    fixture_expect_failure(&f, fixture_start(&f, "deadlock", 1, 128, &flag, 8), SIM_FAILURE_ENDLESS, "does not end",
                           "1 of its 2 waves that run wait at a barrier", NULL);
    fixture_close(&f);
}

static void jumps_to_nowhere(void **state)
{
    (void)state;
    struct fixture f = open_default();
    uint64_t address = 0x123450;
    fixture_expect_failure(&f, fixture_start(&f, "jump", 1, 1, &address, 8), SIM_FAILURE_OTHER, "0x123450",
                           "where no code is", NULL);
    address = (uintptr_t)fixture_allocate(&f, 64);
    fixture_expect_failure(&f, fixture_start(&f, "jump", 1, 1, &address, 8), SIM_FAILURE_OTHER, "where no code is",
                           NULL);
    void *kernel;
    uint64_t bytes;
    assert_int_equal(sim_module_symbol(&kernel, &bytes, f.module, "nothing"), 0);
    address = (uintptr_t)kernel;
    fixture_run(&f, "jump", 1, 1, &address, 8);
    address += 3; /* hardware drops the low bits of a jump's target */
    fixture_run(&f, "jump", 1, 1, &address, 8);
    fixture_close(&f);
}

static void instructions_that_do_not_exist(void **state)
{
    (void)state;
    struct fixture f = open_default();
    fixture_expect_failure(&f, fixture_start(&f, "unknown_instruction", 1, 1, NULL, 0), SIM_FAILURE_OTHER,
                           "encoded as 0xbfff1234", "(unknown_instruction+0x", NULL);
    fixture_expect_failure(&f, fixture_start(&f, "trap", 1, 1, NULL, 0), SIM_FAILURE_OTHER, "trap", "s_trap 2", NULL);
    fixture_close(&f);
}

/* ---- Launches --------------------------------------------------------------------------------------------------------- */

static void expect_refused(struct fixture *f, const char *kernel, struct sim_dispatch_config config, const char *part)
{
    for (int i = 0; i < 3; i++)
        if (!config.last_block[i])
            config.last_block[i] = config.block[i];
    assert_null(fixture_launch(f, config, kernel, NULL, 0));
    expect_error(part);
}

static void launches_beyond_limits_are_refused(void **state)
{
    (void)state;
    struct fixture f = open_default();
    expect_refused(&f, "nothing", (struct sim_dispatch_config){.grid = {1, 0, 1}, .block = {1, 1, 1}}, "may be 0");
    expect_refused(&f, "nothing", (struct sim_dispatch_config){.grid = {1, 1, 1}, .block = {1, 1, 0}}, "may be 0");
    expect_refused(&f, "nothing", (struct sim_dispatch_config){.grid = {1, 1, 1}, .block = {1025, 1, 1}}, "takes 1024");
    expect_refused(&f, "nothing", (struct sim_dispatch_config){.grid = {1, 1, 1}, .block = {65536, 65536, 1}},
                   "takes 1024");
    expect_refused(&f, "nothing", (struct sim_dispatch_config){.grid = {5000000, 1, 1}, .block = {1024, 1, 1}},
                   "2^32 - 1");
    expect_refused(&f, "nothing",
                   (struct sim_dispatch_config){.grid = {1, 1, 1}, .block = {8, 1, 1}, .last_block = {9, 1, 1}},
                   "last workgroup");
    expect_refused(&f, "nothing",
                   (struct sim_dispatch_config){.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_lds_bytes = 65537},
                   "at most 65536");
    expect_refused(
        &f, "reverse",
        (struct sim_dispatch_config){.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_lds_bytes = 65536 - 4095},
        "needs 4096 bytes of LDS");
    expect_refused(&f, "at_most_128", (struct sim_dispatch_config){.grid = {1, 1, 1}, .block = {129, 1, 1}},
                   "128 at most");
    fixture_close(&f);
}

static void a_required_size_is_required(void **state)
{
    (void)state;
    struct fixture f = fixture_open(SIM_GFX942, "required", NULL);
    expect_refused(&f, "exactly_64_2_1", (struct sim_dispatch_config){.grid = {1, 1, 1}, .block = {128, 1, 1}},
                   "compiled for 64 x 2 x 1");
    int *out = fixture_allocate(&f, 4);
    struct sim_dispatch_config right = {.grid = {2, 2, 2}, .block = {64, 2, 1}, .last_block = {64, 2, 1}};
    fixture_finish(&f, fixture_launch(&f, right, "exactly_64_2_1", &out, 8));
    assert_int_equal(*out, 1);
    fixture_close(&f);
}

static void a_workgroup_that_no_cu_can_hold(void **state)
{
    (void)state;
    struct sim_chip_config config;
    sim_chip_config_init(&config, SIM_GFX942);
    config.simds_per_cu = 1;
    config.waves_per_simd = 2;
    struct fixture f = fixture_open(SIM_GFX942, "v5", &config);
    expect_refused(&f, "nothing", (struct sim_dispatch_config){.grid = {1, 1, 1}, .block = {129, 1, 1}},
                   "does not fit into a CU");
    fixture_close(&f);
}

static void out_of_device_memory(void **state)
{
    (void)state;
    struct sim_chip_config config;
    sim_chip_config_init(&config, SIM_GFX950);
    config.memory_bytes = 1000000;
    struct fixture f = fixture_open(SIM_GFX950, "v5", &config);
    void *first = fixture_allocate(&f, 600000), *second;
    assert_int_equal(sim_memory_allocate(&second, f.machine, 400001), -1);
    expect_error("400001 bytes asked for, 400000 of 1000000 left");
    assert_int_equal(sim_memory_allocate(&second, f.machine, 0), -1);
    assert_int_equal(sim_memory_free(f.machine, first), 0);
    assert_int_equal(sim_memory_allocate(&second, f.machine, 400001), 0);
    fixture_close(&f);
}

static void a_module_that_goes_takes_its_dispatches(void **state)
{
    (void)state;
    struct fixture f = open_default();
    struct sim_dispatch *dispatch = fixture_start(&f, "endless", 4, 64, NULL, 0);
    sim_machine_run(f.machine, 1000);
    assert_int_equal(sim_dispatch_state(dispatch), 0);
    sim_module_unload(f.module);
    fixture_expect_failure(&f, dispatch, SIM_FAILURE_OTHER, "module was unloaded", NULL);
    fixture_close(&f);
}

static void the_environment_is_read_with_care(void **state)
{
    (void)state;
    struct sim_chip_config config;
    sim_chip_config_init(&config, SIM_GFX942);
    static const char *const malformed[][2] = {{"KTRACE_SIM_CHIP", "gfx90a"},
                                               {"KTRACE_SIM_TOPOLOGY", "1,2,3"},
                                               {"KTRACE_SIM_TOPOLOGY", "1,1,1,1,1,1,1"},
                                               {"KTRACE_SIM_TOPOLOGY", "1,1,x,1,1,1"},
                                               {"KTRACE_SIM_TOPOLOGY", "1000,1,1,1,1,1"},
                                               {"KTRACE_SIM_MAX_INSTRUCTIONS", "-1"},
                                               {"KTRACE_SIM_MAX_INSTRUCTIONS", "12k"}};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        setenv(malformed[i][0], malformed[i][1], 1);
        assert_int_equal(sim_chip_config_from_environment(&config), -1);
        expect_error(malformed[i][0]);
        expect_error(malformed[i][1]);
        unsetenv(malformed[i][0]);
    }
    setenv("KTRACE_SIM_CHIP", "gfx950", 1);
    setenv("KTRACE_SIM_TOPOLOGY", "2,1,1,3,4,8", 1);
    setenv("KTRACE_SIM_MAX_INSTRUCTIONS", "0", 1);
    assert_int_equal(sim_chip_config_from_environment(&config), 0);
    assert_int_equal(config.chip, SIM_GFX950);
    assert_int_equal(config.cus_per_sh, 3);
    assert_int_equal(config.max_wave_instructions, 0);
    unsetenv("KTRACE_SIM_CHIP");
    unsetenv("KTRACE_SIM_MAX_INSTRUCTIONS");
    setenv("KTRACE_SIM_TOPOLOGY", "17,1,1,1,1,1", 1);
    assert_int_equal(sim_chip_config_from_environment(&config), 0);
    struct sim_machine *machine;
    assert_int_equal(sim_machine_create(&machine, &config), -1);
    expect_error("17 XCCs");
    unsetenv("KTRACE_SIM_TOPOLOGY");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_within_bounds_work),
        cmocka_unit_test(one_byte_out_of_bounds_is_a_fault),
        cmocka_unit_test(a_fault_says_where),
        cmocka_unit_test(use_after_free_says_so),
        cmocka_unit_test(null_pointers_and_nowhere),
        cmocka_unit_test(read_only_memory),
        cmocka_unit_test(flat_addresses_of_lds_and_private_memory),
        cmocka_unit_test(endless_kernels_are_stopped),
        cmocka_unit_test(a_deadlock_says_who_waits),
        cmocka_unit_test(jumps_to_nowhere),
        cmocka_unit_test(instructions_that_do_not_exist),
        cmocka_unit_test(launches_beyond_limits_are_refused),
        cmocka_unit_test(a_required_size_is_required),
        cmocka_unit_test(a_workgroup_that_no_cu_can_hold),
        cmocka_unit_test(out_of_device_memory),
        cmocka_unit_test(a_module_that_goes_takes_its_dispatches),
        cmocka_unit_test(the_environment_is_read_with_care),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
