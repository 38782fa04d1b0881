/* What kernels are given and find in memory: arguments, ids, hidden arguments, packets, LDS, private memory, globals. Every
 * test runs for both chips and for every way the kernels were compiled. */
#include "fixture.h"

static const char *const variants[] = {"v4", "v5", "v6", "o0", "preload"};

#define FOR_EACH_BUILD(f) \
    for (int chip = 0; chip < SIM_CHIPS; chip++) \
        for (size_t variant = 0; variant < sizeof variants / sizeof *variants; variant++) \
            for (struct fixture f = fixture_open((enum sim_chip)chip, variants[variant], NULL); f.machine; \
                 fixture_close(&f))

static void a_kernel_that_does_nothing_ends(void **state)
{
    (void)state;
    FOR_EACH_BUILD(f) fixture_run(&f, "nothing", 3, 128, NULL, 0);
}

static void a_store_stores(void **state)
{
    (void)state;
    FOR_EACH_BUILD(f)
    {
        int *out = fixture_allocate(&f, 4);
        struct {
            int *out;
            int value;
        } arguments = {out, -77};
        fixture_run(&f, "store", 1, 1, &arguments, 12);
        assert_int_equal(*out, -77);
    }
}

static void arguments_of_every_size_arrive(void **state)
{
    (void)state;
    FOR_EACH_BUILD(f)
    {
        int64_t *out = fixture_allocate(&f, 48);
        struct {
            int64_t *out;
            int8_t c;
            int16_t s;
            int64_t l;
            float f;
            double d;
            int32_t i;
        } arguments = {out, -3, -300, INT64_C(-5000000000), 2.5f, -0.75, -7};
        fixture_run(&f, "arguments", 1, 1, &arguments, sizeof arguments);
        int64_t expected[6] = {-3, -300, INT64_C(-5000000000), 5, -3, -7};
        assert_memory_equal(out, expected, sizeof expected);
    }
}

static void every_workitem_of_a_grid_runs_once(void **state)
{
    (void)state;
    static const struct sim_dispatch_config configs[] = {
        {.grid = {3, 4, 5}, .block = {7, 3, 5}, .last_block = {7, 3, 5}},
        {.grid = {3, 2, 4}, .block = {16, 4, 4}, .last_block = {1, 3, 2}},
        {.grid = {700, 1, 1}, .block = {1, 1, 1}, .last_block = {1, 1, 1}},
        {.grid = {1, 2, 2}, .block = {1024, 1, 1}, .last_block = {999, 1, 1}},
        {.grid = {1, 1, 3}, .block = {1, 1, 100}, .last_block = {1, 1, 33}},
    };
    FOR_EACH_BUILD(f)
    for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
        uint32_t n[3], all = 1;
        for (int i = 0; i < 3; i++)
            all *= n[i] = (configs[c].grid[i] - 1) * configs[c].block[i] + configs[c].last_block[i];
        uint32_t *out = fixture_allocate(&f, all * 16ull);
        struct {
            uint32_t *out;
            uint32_t items_x, items_y;
        } arguments = {out, n[0], n[1]};
        fixture_finish(&f, fixture_launch(&f, configs[c], "identify", &arguments, sizeof arguments));
        for (uint32_t i = 0; i < all; i++) {
            uint32_t expected[4] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1], 1};
            assert_memory_equal(out + 4 * i, expected, 16);
        }
        assert_int_equal(sim_memory_free(f.machine, out), 0);
    }
}

/* What the kernel reads through its pointer to the implicit arguments is what the metadata name. */
static void hidden_arguments_are_filled_in(void **state)
{
    (void)state;
    FOR_EACH_BUILD(f)
    {
        const struct sim_kernel_facts *facts = sim_kernel_facts(sim_module_kernel(f.module, "implicit_arguments"));
        uint32_t first = UINT32_MAX, hidden = 0;
        for (uint32_t i = 0; i < facts->argument_count; i++)
            if (facts->arguments[i].kind == SIM_ARGUMENT_HIDDEN) {
                first = facts->arguments[i].offset < first ? facts->arguments[i].offset : first;
                hidden++;
            }
        assert_true(hidden >= 6);
        uint32_t bytes = facts->kernarg_bytes - first;
        unsigned char *out = fixture_allocate(&f, bytes), arguments[12];
        memcpy(arguments, &out, 8);
        memcpy(arguments + 8, &(uint32_t){bytes / 4}, 4);
        struct sim_dispatch_config config = {
            .grid = {3, 2, 4}, .block = {16, 4, 2}, .last_block = {5, 4, 1}, .dynamic_lds_bytes = 100};
        fixture_finish(&f, fixture_launch(&f, config, "implicit_arguments", arguments, 12));
        static const struct {
            const char *kind;
            uint64_t value;
        } expected[] = {
            {"hidden_block_count_x", 2},
            {"hidden_block_count_y", 2},
            {"hidden_block_count_z", 3},
            {"hidden_group_size_x", 16},
            {"hidden_group_size_y", 4},
            {"hidden_group_size_z", 2},
            {"hidden_remainder_x", 5},
            {"hidden_remainder_y", 0},
            {"hidden_remainder_z", 1},
            {"hidden_global_offset_x", 0},
            {"hidden_global_offset_y", 0},
            {"hidden_global_offset_z", 0},
            {"hidden_grid_dims", 3},
            {"hidden_none", 0},
            {"hidden_printf_buffer", 0},
            {"hidden_hostcall_buffer", 0},
            {"hidden_heap_v1", 0},
            {"hidden_default_queue", 0},
            {"hidden_completion_action", 0},
            {"hidden_multigrid_sync_arg", 0},
            {"hidden_dynamic_lds_size", 100},
            {"hidden_private_base", 0x20000},
            {"hidden_shared_base", 0x10000},
        };
        uint32_t checked = 0;
        for (uint32_t i = 0; i < facts->argument_count; i++)
            for (size_t e = 0; e < sizeof expected / sizeof *expected; e++)
                if (!strcmp(facts->arguments[i].hidden, expected[e].kind)) {
                    uint64_t value = 0;
                    memcpy(&value, out + facts->arguments[i].offset - first, facts->arguments[i].bytes);
                    assert_int_equal(value, expected[e].value);
                    checked++;
                }
        assert_true(checked >= 6);
    }
}

static void packet_queue_and_dispatch_id_are_hardwares(void **state)
{
    (void)state;
    FOR_EACH_BUILD(f)
    {
        uint64_t *out = fixture_allocate(&f, 96), queue;
        assert_int_equal(sim_queue_create(&queue, f.machine), 0);
        struct sim_dispatch_config config = {.grid = {2, 3, 1},
                                             .block = {4, 2, 1},
                                             .last_block = {3, 1, 1},
                                             .queue_address = queue,
                                             .dispatch_id = 0x123456789};
        fixture_finish(&f, fixture_launch(&f, config, "packet", &out, 8));
        assert_int_equal(out[0], 0x0002000400020002); /* kernel dispatch, 2 dimensions, 4 x 2 */
        assert_int_equal(out[1], 0x0000000700000001); /* 1; 7 workitems in x */
        assert_int_equal(out[2], 0x0000000100000005); /* 5, 1 */
        assert_int_equal(out[9], queue);
        assert_int_equal(out[10], 0x0002000000010000); /* apertures */
        assert_int_equal(out[11], 0x123456789);
        assert_int_equal(out[8] % 64, 0);
    }
}

static void lds_and_barriers_exchange(void **state)
{
    (void)state;
    static const char *const kernels[] = {"reverse", "reverse_dynamic"};
    FOR_EACH_BUILD(f)
    for (size_t k = 0; k < 2; k++) {
        enum { WORKGROUPS = 20, ITEMS = 512, ALL = WORKGROUPS * ITEMS };
        struct {
            int *out, *in;
        } arguments = {fixture_allocate(&f, 4 * ALL), fixture_allocate(&f, 4 * ALL)};
        for (int i = 0; i < ALL; i++)
            arguments.in[i] = i * 3;
        struct sim_dispatch_config config = {.grid = {WORKGROUPS, 1, 1},
                                             .block = {ITEMS, 1, 1},
                                             .last_block = {ITEMS, 1, 1},
                                             .dynamic_lds_bytes = k ? 4 * ITEMS : 0};
        fixture_finish(&f, fixture_launch(&f, config, kernels[k], &arguments, sizeof arguments));
        for (int i = 0; i < ALL; i++)
            assert_int_equal(arguments.out[i], 3 * (i / ITEMS * ITEMS + ITEMS - 1 - i % ITEMS));
    }
}

static void private_memory_is_each_lanes_own(void **state)
{
    (void)state;
    FOR_EACH_BUILD(f)
    {
        int *out = fixture_allocate(&f, 4 * 300);
        fixture_run(&f, "private_memory", 3, 100, &out, 8);
        for (int i = 0; i < 300; i++)
            assert_int_equal(out[i], i * 36 * 37 / 2);
    }
}

static void globals_and_relocations(void **state)
{
    (void)state;
    FOR_EACH_BUILD(f)
    {
        uint64_t *out = fixture_allocate(&f, 32), bytes;
        fixture_run(&f, "globals", 1, 1, &out, 8);
        uint64_t expected[4] = {30, 8, 0, 0};
        assert_memory_equal(out, expected, sizeof expected);
        void *table, *base;
        assert_int_equal(sim_module_symbol(&table, &bytes, f.module, "table"), 0);
        assert_int_equal(bytes, 16);
        assert_int_equal(((int *)table)[3], 41);
        assert_int_equal(sim_memory_range(&base, &bytes, f.machine, table), 0);
        /* Tools see what the file has, whatever kernels write. */
        assert_int_equal(((const int *)sim_module_host_address(f.machine, table))[3], 40);
        assert_null(sim_module_host_address(f.machine, out));
        assert_int_equal(sim_module_symbol(&table, &bytes, f.module, "tables"), -1);
        expect_error("'tables'");
        /* A variable that the host writes is read by the next kernel. */
        assert_int_equal(sim_module_symbol(&table, &bytes, f.module, "zeros"), 0);
        ((int *)table)[99] = 17;
        fixture_run(&f, "globals", 1, 1, &out, 8);
        assert_int_equal(out[2], 17);
    }
}

static void a_kernels_facts_are_those_of_its_metadata(void **state)
{
    (void)state;
    FOR_EACH_BUILD(f)
    {
        const struct sim_kernel_facts *facts = sim_kernel_facts(sim_module_kernel(f.module, "arguments"));
        assert_string_equal(facts->name, "arguments");
        assert_int_equal(facts->wavefront_size, 64);
        assert_true(facts->argument_count >= 7);
        static const uint32_t offsets[7] = {0, 8, 10, 16, 24, 32, 40}, sizes[7] = {8, 1, 2, 8, 4, 8, 4};
        for (int i = 0; i < 7; i++) {
            assert_int_equal(facts->arguments[i].offset, offsets[i]);
            assert_int_equal(facts->arguments[i].bytes, sizes[i]);
            assert_int_equal(facts->arguments[i].kind, i ? SIM_ARGUMENT_VALUE : SIM_ARGUMENT_POINTER);
        }
        assert_int_equal(sim_kernel_facts(sim_module_kernel(f.module, "reverse"))->group_segment_bytes, 4096);
        assert_int_equal(sim_kernel_facts(sim_module_kernel(f.module, "at_most_128"))->max_workgroup_size, 128);
        size_t count = sim_module_kernel_count(f.module);
        assert_true(count > 20);
        assert_null(sim_module_kernel_at(f.module, count));
        assert_null(sim_module_kernel(f.module, "nowhere"));
        expect_error("no kernel 'nowhere'");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_does_nothing_ends), cmocka_unit_test(a_store_stores),
        cmocka_unit_test(arguments_of_every_size_arrive),  cmocka_unit_test(every_workitem_of_a_grid_runs_once),
        cmocka_unit_test(hidden_arguments_are_filled_in),  cmocka_unit_test(packet_queue_and_dispatch_id_are_hardwares),
        cmocka_unit_test(lds_and_barriers_exchange),       cmocka_unit_test(private_memory_is_each_lanes_own),
        cmocka_unit_test(globals_and_relocations),         cmocka_unit_test(a_kernels_facts_are_those_of_its_metadata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
