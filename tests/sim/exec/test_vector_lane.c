/* vector_lane.c: reads and writes of single lanes, swaps, accumulation registers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "wave_fixture.h"

static struct fixture fixture;
static struct registers before;

static int begin(void **state)
{
    (void)state;
    fixture_init(&fixture);
    return 0;
}

static void set_exec(uint64_t exec)
{
    sim_set_sgpr64(&fixture.wave, SIM_EXEC_LO, exec);
}

/* All that changed since `before` is what the test put into it. */
static void check_registers(void)
{
    static struct registers after;
    assert_string_equal(stub_fault, "");
    save_registers(&after, &fixture);
    assert_memory_equal(after.sgpr, before.sgpr, sizeof before.sgpr);
    assert_memory_equal(after.vector, before.vector, sizeof before.vector);
}

static void test_readlane(void **state)
{
    (void)state;
    set_exec(2);
    fixture.wave.sgpr[20] = 64 + 37;
    fixture.wave.sgpr[SIM_M0] = 5;
    save_registers(&before, &fixture);
    fixture_run(&fixture, "v_readlane_b32 s3, v2, 63");
    fixture_run(&fixture, "v_readlane_b32 vcc_hi, v2, s20"); /* the lane's number modulo 64 */
    fixture_run(&fixture, "v_readlane_b32 s4, v4, m0");
    before.sgpr[3] = before.vector[2][63];
    before.sgpr[SIM_VCC_HI] = before.vector[2][37];
    before.sgpr[4] = before.vector[4][5];
    check_registers();
}

static void test_readfirstlane(void **state)
{
    (void)state;
    static const struct {
        uint64_t exec;
        unsigned lane;
    } cases[] = {{UINT64_MAX, 0}, {0xF0, 4}, {1ull << 63, 63}, {0xFFFFFFFF00000000, 32}, {0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_exec(cases[i].exec);
        save_registers(&before, &fixture);
        fixture_run(&fixture, "v_readfirstlane_b32 s3, v2");
        before.sgpr[3] = before.vector[2][cases[i].lane];
        check_registers();
    }
}

static void test_writelane(void **state)
{
    (void)state;
    set_exec(0); /* which it does not ask */
    fixture.wave.sgpr[SIM_M0] = 128 + 41;
    save_registers(&before, &fixture);
    fixture_run(&fixture, "v_writelane_b32 v8, s20, 7");
    fixture_run(&fixture, "v_writelane_b32 v8, -3, m0");
    before.vector[8][7] = before.sgpr[20];
    before.vector[8][41] = (uint32_t)-3;
    check_registers();
}

static void swap(uint32_t *x, uint32_t *y)
{
    const uint32_t old = *x;
    *x = *y;
    *y = old;
}

static void test_swap(void **state)
{
    (void)state;
    set_exec(0x8000FFFF00001234);
    save_registers(&before, &fixture);
    fixture_run(&fixture, "v_swap_b32 v2, v8");
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        if (0x8000FFFF00001234 >> lane & 1)
            swap(&before.vector[2][lane], &before.vector[8][lane]);
    check_registers();
    fixture_run(&fixture, "v_swap_b32 v2, v2");
    check_registers();
}

static void test_permlane_swap(void **state)
{
    (void)state;
    save_registers(&before, &fixture);
    fixture_run(&fixture, "v_permlane32_swap_b32_e32 v2, v8");
    for (unsigned lane = 0; lane < 32; lane++)
        swap(&before.vector[2][lane + 32], &before.vector[8][lane]);
    check_registers();

    fixture_run(&fixture, "v_permlane16_swap_b32_e64 v3, v9");
    for (unsigned lane = 0; lane < 16; lane++) {
        swap(&before.vector[3][lane + 16], &before.vector[9][lane]);
        swap(&before.vector[3][lane + 48], &before.vector[9][lane + 32]);
    }
    check_registers();
}

/* Of every pair of lanes that swap one is active: it keeps its value, becomes 0, or gets the other's. The lower lanes write
 * the second register, the upper ones the first. */
static void test_permlane_swap_inactive(void **state)
{
    (void)state;
    for (unsigned upper = 0; upper < 2; upper++) {
        uint32_t *written = &before.vector[upper ? 2 : 8][16 * upper];
        const uint32_t *other = &before.vector[upper ? 8 : 2][16 - 16 * upper];
        set_exec(upper ? 0xFFFF0000 : 0xFFFF);
        save_registers(&before, &fixture);
        fixture_run(&fixture, "v_permlane16_swap_b32_e64 v2, v8");
        check_registers();

        fixture_run(&fixture, "v_permlane16_swap_b32_e64 v2, v8 bound_ctrl:1");
        for (unsigned lane = 0; lane < 16; lane++)
            written[lane] = 0;
        check_registers();

        fixture_run(&fixture, "v_permlane16_swap_b32_e64 v2, v8 fi:1");
        for (unsigned lane = 0; lane < 16; lane++)
            written[lane] = other[lane];
        check_registers();
    }
}

static void test_accumulation(void **state)
{
    (void)state;
    set_exec(0xFF00FF00FF00FF01);
    save_registers(&before, &fixture);
    fixture_run(&fixture, "v_accvgpr_write_b32 a8, v2");
    fixture_run(&fixture, "v_accvgpr_write_b32 a9, 2.0");
    fixture_run(&fixture, "v_accvgpr_write_b32 a10, s20");
    fixture_run(&fixture, "v_accvgpr_mov_b32 a11, a8");
    fixture_run(&fixture, "v_accvgpr_read_b32 v12, a9");
    for (unsigned lane = 0; lane < SIM_LANES; lane++) {
        if (!(0xFF00FF00FF00FF01 >> lane & 1))
            continue;
        before.vector[256 + 8][lane] = before.vector[2][lane];
        before.vector[256 + 9][lane] = 0x40000000;
        before.vector[256 + 10][lane] = before.sgpr[20];
        before.vector[256 + 11][lane] = before.vector[2][lane];
        before.vector[12][lane] = 0x40000000;
    }
    check_registers();
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, begin)
    const struct CMUnitTest tests[] = {
        TEST(test_readlane),      TEST(test_readfirstlane),          TEST(test_writelane),    TEST(test_swap),
        TEST(test_permlane_swap), TEST(test_permlane_swap_inactive), TEST(test_accumulation),
    };
    skip_without_llvm_mc();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
