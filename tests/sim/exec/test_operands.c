/* operands.c: DPP, scalar sources of special meaning, and registers that a wave does not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "wave_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct fixture fixture;
static struct registers before, after;

/* ---- DPP ------------------------------------------------------------------------------------------------------------- */

/* Where a lane reads: within its row of 16, or -1. `n` is the control's amount. */
static int quad_perm_3102(int lane, int n)
{
    static const int order[] = {3, 1, 0, 2};
    (void)n;
    return lane / 4 * 4 + order[lane % 4];
}
static int row_shl(int lane, int n)
{
    return lane / 16 == (lane + n) / 16 ? lane + n : -1;
}
static int row_shr(int lane, int n)
{
    return lane % 16 < n ? -1 : lane - n;
}
static int row_ror(int lane, int n)
{
    return lane / 16 * 16 + (lane % 16 + 16 - n) % 16;
}
static int wave_shl(int lane, int n)
{
    return lane + n < 64 ? lane + n : -1;
}
static int wave_rol(int lane, int n)
{
    return (lane + n) % 64;
}
static int wave_shr(int lane, int n)
{
    return lane - n;
}
static int wave_ror(int lane, int n)
{
    return (lane + 64 - n) % 64;
}
static int row_mirror(int lane, int n)
{
    return lane / n * n + n - 1 - lane % n;
}
static int row_bcast(int lane, int n)
{
    return lane <= n ? -1 : lane / (n + 1) * (n + 1) - 1;
}
static int row_bcast31(int lane, int n)
{
    (void)n;
    return lane < 32 ? -1 : 31;
}
static int row_newbcast(int lane, int n)
{
    return lane / 16 * 16 + n;
}

static const struct control {
    const char *text;
    int (*source)(int lane, int n);
    int n;
} controls[] = {
    {"quad_perm:[3,1,0,2]", quad_perm_3102, 0},
    {"row_shl:1", row_shl, 1},
    {"row_shl:15", row_shl, 15},
    {"row_shr:1", row_shr, 1},
    {"row_shr:8", row_shr, 8},
    {"row_ror:1", row_ror, 1},
    {"row_ror:13", row_ror, 13},
    {"wave_shl:1", wave_shl, 1},
    {"wave_rol:1", wave_rol, 1},
    {"wave_shr:1", wave_shr, 1},
    {"wave_ror:1", wave_ror, 1},
    {"row_mirror", row_mirror, 16},
    {"row_half_mirror", row_mirror, 8},
    {"row_bcast:15", row_bcast, 15},
    {"row_bcast:31", row_bcast31, 31},
    {"row_newbcast:0", row_newbcast, 0},
    {"row_newbcast:11", row_newbcast, 11},
};
static const struct {
    const char *text;
    unsigned rows, banks;
    int bound_control;
} masks[] = {
    {"row_mask:0xf bank_mask:0xf", 15, 15, 0},
    {"row_mask:0xf bank_mask:0xf bound_ctrl:1", 15, 15, 1},
    {"row_mask:0xa bank_mask:0xf", 10, 15, 0},
    {"row_mask:0xf bank_mask:0x6", 15, 6, 0},
    {"row_mask:0x5 bank_mask:0x9 bound_ctrl:1", 5, 9, 1},
};

static void test_dpp(void **state)
{
    (void)state;
    enum { CASES = COUNT(controls) * COUNT(masks) };
    static char texts[CASES][160];
    static const char *pointers[CASES];
    static struct sim_instruction instructions[CASES];
    for (size_t i = 0; i < CASES; i++) {
        snprintf(texts[i], sizeof texts[i], "v_mov_b32_dpp v8, v2 %s %s", controls[i / COUNT(masks)].text,
                 masks[i % COUNT(masks)].text);
        pointers[i] = texts[i];
    }
    assemble(instructions, SIM_GFX942, pointers, CASES);
    static const uint64_t execs[] = {UINT64_MAX, 0x00FF0F0F3333AAAA, 0xFFFFFFFF00000000, 0x8001000000008001, 0};
    for (size_t i = 0; i < CASES; i++)
        for (size_t e = 0; e < COUNT(execs); e++) {
            fixture_init(&fixture);
            sim_set_sgpr64(&fixture.wave, SIM_EXEC_LO, execs[e]);
            save_registers(&before, &fixture);
            fixture_execute(&fixture, &instructions[i]);
            save_registers(&after, &fixture);
            for (int lane = 0; lane < SIM_LANES; lane++) {
                const struct control *control = &controls[i / COUNT(masks)];
                const int source = control->source(lane, control->n);
                const int reads = source >= 0 && execs[e] >> source & 1;
                const int writes = execs[e] >> lane & 1 && masks[i % COUNT(masks)].rows >> lane / 16 & 1 &&
                                   masks[i % COUNT(masks)].banks >> lane % 16 / 4 & 1 &&
                                   (reads || masks[i % COUNT(masks)].bound_control);
                const uint32_t expected = !writes ? before.vector[8][lane] : reads ? before.vector[2][source] : 0;
                if (after.vector[8][lane] != expected)
                    fail_msg("%s, exec %016llx, lane %d: %08x, not %08x", texts[i], (unsigned long long)execs[e], lane,
                             after.vector[8][lane], expected);
                before.vector[8][lane] = after.vector[8][lane];
            }
            assert_memory_equal(after.vector, before.vector, sizeof before.vector);
            assert_memory_equal(after.sgpr, before.sgpr, sizeof before.sgpr);
        }
}

/* DPP moves the first source only, before its modifiers; a destination may be the source; 64 bits move together. */
static void test_dpp_with_others(void **state)
{
    (void)state;
    fixture_init(&fixture);
    const uint64_t vcc = sim_sgpr64(&fixture.wave, SIM_VCC_LO);
    save_registers(&before, &fixture);
    fixture_run(&fixture, "v_cndmask_b32_dpp v8, -v2, |v4|, vcc row_ror:1 row_mask:0xf bank_mask:0xf");
    fixture_run(&fixture, "v_add_u32_dpp v9, v9, v9 wave_ror:1 row_mask:0xf bank_mask:0xf");
    fixture_run(&fixture, "v_mov_b64_dpp v[10:11], v[2:3] row_newbcast:5 row_mask:0xf bank_mask:0xf");
    fixture_run(&fixture, "v_dot4c_i32_i8_dpp v12, v2, v4 row_mirror row_mask:0x1 bank_mask:0xf");
    for (int lane = 0; lane < SIM_LANES; lane++) {
        const int row = lane / 16 * 16;
        assert_int_equal(fixture.vector[8][lane], vcc >> lane & 1
                                                      ? before.vector[4][lane] & 0x7FFFFFFF
                                                      : before.vector[2][row + (lane + 15) % 16] ^ 0x80000000);
        assert_int_equal(fixture.vector[9][lane], before.vector[9][(lane + 63) % 64] + before.vector[9][lane]);
        assert_int_equal(fixture.vector[10][lane], before.vector[2][row + 5]);
        assert_int_equal(fixture.vector[11][lane], before.vector[3][row + 5]);
        uint32_t sum = before.vector[12][lane];
        for (int i = 0; i < 4 && lane < 16; i++)
            sum +=
                (uint32_t)((int8_t)(before.vector[2][15 - lane] >> 8 * i) * (int8_t)(before.vector[4][lane] >> 8 * i));
        assert_int_equal(fixture.vector[12][lane], sum);
    }
}

/* A lane mask is defined where all active lanes write. */
static void test_dpp_carry(void **state)
{
    (void)state;
    fixture_init(&fixture);
    sim_set_sgpr64(&fixture.wave, SIM_EXEC_LO, 0xFFFFFFFF0000FFFF);
    save_registers(&before, &fixture);
    fixture_run(&fixture, "v_add_co_u32_dpp v8, vcc, v2, v4 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1");
    for (int lane = 0; lane < SIM_LANES; lane++) {
        const uint64_t moved = lane % 16 ? before.vector[2][lane - 1] : 0, sum = moved + before.vector[4][lane];
        const int active = lane < 16 || lane >= 32;
        assert_int_equal(fixture.vector[8][lane], active ? (uint32_t)sum : before.vector[8][lane]);
        assert_int_equal(sim_sgpr64(&fixture.wave, SIM_VCC_LO) >> lane & 1, active ? sum >> 32 : 0);
    }
    fixture_run(&fixture, "v_add_co_u32_dpp v8, vcc, v2, v4 row_shr:1 row_mask:0xf bank_mask:0xf");
    assert_non_null(strstr(stub_fault, "v_add_co_u32 writes a lane mask while its DPP modifiers disable active lanes"));
}

/* ---- Scalar sources -------------------------------------------------------------------------------------------------- */

static void test_special_sources(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "v_mov_b32_e32 v8, vcc_lo",         "v_mov_b32_e32 v9, exec_hi",   "v_mov_b32_e32 v10, m0",
        "v_mov_b32_e32 v11, ttmp4",         "v_mov_b32_e32 v12, src_scc",  "v_mov_b32_e32 v13, src_vccz",
        "v_mov_b32_e32 v14, src_execz",     "v_mov_b64_e32 v[16:17], vcc", "v_mov_b64_e32 v[18:19], s[20:21]",
        "v_mov_b32_e32 v15, xnack_mask_lo",
    };
    struct sim_instruction instructions[COUNT(texts)];
    assemble(instructions, SIM_GFX942, texts, COUNT(texts));
    fixture_init(&fixture);
    fixture.wave.scc = 1;
    sim_set_sgpr64(&fixture.wave, SIM_VCC_LO, 0);
    save_registers(&before, &fixture);
    for (size_t i = 0; i < COUNT(texts); i++)
        fixture_execute(&fixture, &instructions[i]);
    const uint32_t expected[] = {0,
                                 UINT32_MAX,
                                 before.sgpr[SIM_M0],
                                 before.sgpr[SIM_TTMP_FIRST + 4],
                                 1,
                                 1,
                                 0,
                                 before.sgpr[SIM_XNACK_MASK_LO],
                                 0,
                                 0,
                                 before.sgpr[20],
                                 before.sgpr[21]};
    for (size_t i = 0; i < COUNT(expected); i++)
        for (size_t lane = 0; lane < SIM_LANES; lane++)
            assert_int_equal(fixture.vector[8 + i][lane], expected[i]);
}

/* ---- What a wave does not have ----------------------------------------------------------------------------------------- */

/* Faults with a sentence that has these words, and nothing is written outside of what is allocated. */
static void check_fault(const char *text, const char *words)
{
    fixture_init(&fixture);
    fixture.wave.sgpr_limit = 40;
    save_registers(&before, &fixture);
    fixture_run(&fixture, text);
    save_registers(&after, &fixture);
    if (!fixture.wave.faulted)
        fail_msg("%s does not fault", text);
    if (!strstr(stub_fault, words))
        fail_msg("%s: \"%s\" has no \"%s\"", text, stub_fault, words);
    assert_memory_equal(after.vector[FIXTURE_VGPRS], before.vector[FIXTURE_VGPRS],
                        (256 - FIXTURE_VGPRS) * sizeof before.vector[0]);
    assert_memory_equal(after.vector[256 + FIXTURE_ACCS], before.vector[256 + FIXTURE_ACCS],
                        (256 - FIXTURE_ACCS) * sizeof before.vector[0]);
    assert_memory_equal(&after.sgpr[40], &before.sgpr[40], sizeof before.sgpr - 40 * sizeof before.sgpr[0]);
}

static void test_missing_registers(void **state)
{
    (void)state;
    check_fault("v_mov_b32_e32 v32, v2", "vector register v32 is used, and the kernel's descriptor allocates 32");
    check_fault("v_mov_b32_e32 v2, v255", "vector register v255");
    check_fault("v_mov_b64_e32 v[30:31], v[32:33]", "vector register v33");
    check_fault("v_mov_b32_sdwa v2, v40 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0", "vector register v40");
    check_fault("v_mov_b32_dpp v40, v2 row_shr:1 row_mask:0xf bank_mask:0xf", "vector register v40");
    check_fault("v_add_i16 v40, v2, v3", "vector register v40");
    check_fault("v_accvgpr_write_b32 a16, v2",
                "accumulation register a16 is used, and the kernel's descriptor allocates 16");
    check_fault("v_accvgpr_read_b32 v2, a200", "accumulation register a200");
    check_fault("v_mov_b32_e32 v2, s40", "scalar register s40 is used, and the wave has 40");
    check_fault("v_mov_b64_e32 v[2:3], s[40:41]", "scalar register s41");
    check_fault("v_cmp_eq_u32_e64 s[40:41], v2, v3", "scalar register s41");
    check_fault("v_readlane_b32 s50, v2, 0", "scalar register s50");
    check_fault("v_cndmask_b32_e64 v2, v3, v4, s[60:61]", "scalar register s61");
    check_fault("v_mov_b32_e32 v2, src_pops_exiting_wave_id", "operand code 239");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dpp),
        cmocka_unit_test(test_dpp_with_others),
        cmocka_unit_test(test_dpp_carry),
        cmocka_unit_test(test_special_sources),
        cmocka_unit_test(test_missing_registers),
    };
    skip_without_llvm_mc();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
