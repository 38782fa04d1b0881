/* Memory instructions as text: that they read the fields into which the decoder puts their operands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "wave_fixture.h"

#define DWORDS 1024
static _Alignas(64) uint32_t memory[DWORDS], lds[DWORDS];
#define LANE_DWORDS 128
static uint32_t scratch[SIM_LANES][LANE_DWORDS];
static struct fixture fixture;

enum place { VECTOR, SCALAR, MEMORY, LDS, SCRATCH };
/* What lane 5's register, a scalar register or a dword has afterwards. */
static const struct {
    const char *text;
    enum place place;
    unsigned number;
    uint32_t expected;
} cases[] = {
    {"ds_read_b32 v8, v2 offset:16", VECTOR, 8, 0x309},
    {"ds_read2_b32 v[8:9], v2 offset0:4 offset1:9", VECTOR, 9, 0x30E},
    {"ds_read2st64_b32 v[8:9], v2 offset0:1 offset1:2", VECTOR, 9, 0x385},
    {"ds_write_b32 v2, v4 offset:8", LDS, 7, 0x1005},
    {"ds_write2_b32 v2, v4, v5 offset0:64 offset1:200", LDS, 205, 0x2005},
    {"ds_add_u32 v2, v4", LDS, 5, 0x130A},
    {"ds_add_rtn_u32 v8, v2, v4", VECTOR, 8, 0x305},
    {"ds_cmpst_b32 v2, v9, v4", LDS, 5, 0x1005}, /* v9 has what LDS has */
    {"ds_wrxchg2_rtn_b32 v[10:11], v2, v4, v5 offset0:64 offset1:200", VECTOR, 11, 0x3CD},
    {"ds_swizzle_b32 v8, v4 offset:swizzle(SWAP,1)", VECTOR, 8, 0x1004},
    {"ds_bpermute_b32 v8, v2, v4 offset:4", VECTOR, 8, 0x1006},
    {"ds_append v8 offset:4", VECTOR, 8, 0x309},
    {"ds_read_addtid_b32 v8 offset:4", VECTOR, 8, 0x30E},
    {"ds_write_addtid_b32 v4 offset:4", LDS, 14, 0x1005},
    {"global_load_dword v8, v[6:7], off offset:8", VECTOR, 8, 0x107},
    {"global_load_dwordx2 v[8:9], v2, s[10:11] offset:12", VECTOR, 9, 0x109},
    {"global_load_dword a3, v[6:7], off", VECTOR, 256 + 3, 0x105},
    {"global_store_dword v[6:7], v4, off", MEMORY, 5, 0x1005},
    {"global_store_short_d16_hi v2, v5, s[10:11]", MEMORY, 5, 0x0},
    {"global_atomic_add v8, v2, v4, s[10:11] sc0", VECTOR, 8, 0x105},
    {"global_atomic_add v2, v4, s[10:11] offset:4", MEMORY, 6, 0x110B},
    {"global_atomic_cmpswap v2, v[4:5], s[10:11]", MEMORY, 5, 0x105},
    {"flat_load_dword v8, v[6:7] offset:4", VECTOR, 8, 0x106},
    {"flat_atomic_swap v8, v[6:7], v4 sc0", VECTOR, 8, 0x105},
    {"scratch_load_dword v8, v2, off offset:4", VECTOR, 8, 0x50006},
    {"scratch_load_dword v8, off, s20", VECTOR, 8, 0x50004},
    {"scratch_load_dword v8, off, off offset:12", VECTOR, 8, 0x50003},
    {"scratch_load_dword v8, v2, s20 offset:4", VECTOR, 8, 0x5000A},
    {"scratch_store_dword off, v4, s20", SCRATCH, 4, 0x1005},
    {"global_load_lds_dword v[6:7], off offset:4", LDS, 14, 0x106},
    {"buffer_load_dword v8, v2, s[12:15], s20 offen offset:4", VECTOR, 8, 0x10A},
    {"buffer_load_dword v8, off, s[12:15], 0 offset:4", VECTOR, 8, 0x101},
    {"buffer_store_dword v4, v2, s[12:15], 0 offen", MEMORY, 5, 0x1005},
    {"buffer_atomic_add v4, v2, s[12:15], 0 offen sc0", VECTOR, 4, 0x105},
    {"buffer_atomic_add v4, v2, s[12:15], 0 offen", VECTOR, 4, 0x1005},
    {"buffer_load_dword v2, s[12:15], 0 offen lds", LDS, 13, 0x105},
    {"s_load_dwordx2 s[24:25], s[10:11], s20 offset:0x8", SCALAR, 25, 0x107},
    {"s_load_dword s24, s[10:11], 0x14", SCALAR, 24, 0x105},
    {"s_load_dword s24, s[10:11], m0", SCALAR, 24, 0x108},
    {"s_store_dword s20, s[10:11], 0x14", MEMORY, 5, 16},
    {"s_atomic_add s20, s[10:11], 0x14 glc", SCALAR, 20, 0x105},
    {"s_atomic_add s20, s[10:11], 0x14", MEMORY, 5, 0x115},
    {"s_buffer_load_dword s24, s[12:15], 0x14", SCALAR, 24, 0x105},
    {"s_buffer_store_dword s20, s[12:15], 0x14", MEMORY, 5, 16},
    {"s_addk_i32 s20, 0x10", SCALAR, 20, 32},
    {"s_getreg_b32 s24, hwreg(HW_REG_MODE, 4, 4)", SCALAR, 24, 0xF},
    {"s_set_gpr_idx_on s20, gpr_idx(SRC0,DST)", SCALAR, SIM_M0, 0x9010},
    {"s_movrels_b32 s24, s4", SCALAR, 24, 0x24},
    {"s_bfe_u32 s24, s36, 0x40004", SCALAR, 24, 2},
};
#define CASES (sizeof cases / sizeof *cases)

/* v2 = 4 * lane; v[4:5] = data; v[6:7] = 64-bit address of memory[lane]; v9 = what lds[lane] has. */
static void set_up_registers(void)
{
    fixture_init(&fixture);
    struct sim_wave *wave = &fixture.wave;
    wave->lds = (unsigned char *)lds;
    wave->lds_bytes = sizeof lds;
    wave->scratch = (unsigned char *)scratch;
    wave->scratch_lane_bytes = sizeof scratch[0];
    for (uint32_t i = 0; i < DWORDS; i++) {
        memory[i] = 0x100 + i;
        lds[i] = 0x300 + i;
    }
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        const uint64_t address = (uintptr_t)&memory[lane];
        for (uint32_t i = 0; i < LANE_DWORDS; i++)
            scratch[lane][i] = lane << 16 | i;
        fixture.vector[2][lane] = 4 * lane;
        fixture.vector[4][lane] = 0x1000 + lane;
        fixture.vector[5][lane] = 0x2000 + lane;
        fixture.vector[6][lane] = (uint32_t)address;
        fixture.vector[7][lane] = (uint32_t)(address >> 32);
        fixture.vector[9][lane] = 0x300 + lane;
    }
    sim_set_sgpr64(wave, 10, (uintptr_t)memory);
    sim_set_sgpr64(wave, 12, (uintptr_t)memory);
    wave->sgpr[14] = sizeof memory;
    wave->sgpr[15] = 0;
    wave->sgpr[20] = 16;
    wave->sgpr[36] = 0x24; /* s4 moved by M0 */
    wave->sgpr[SIM_M0] = 32;
}

static uint32_t content(enum place place, unsigned number)
{
    switch (place) {
    case VECTOR: return fixture.vector[number][5];
    case SCALAR: return fixture.wave.sgpr[number];
    case MEMORY: return memory[number];
    case LDS: return lds[number];
    default: return scratch[5][number];
    }
}

static void fields_are_those_of_the_decoder(void **state)
{
    (void)state;
    static struct sim_instruction instructions[SIM_CHIPS][CASES];
    const char *texts[CASES];
    for (size_t i = 0; i < CASES; i++)
        texts[i] = cases[i].text;
    for (int chip = 0; chip < SIM_CHIPS; chip++) {
        assemble(instructions[chip], (enum sim_chip)chip, texts, CASES);
        for (size_t i = 0; i < CASES; i++) {
            set_up_registers();
            fixture_execute(&fixture, &instructions[chip][i]);
            if (fixture.wave.faulted)
                fail_msg("%s: %s", cases[i].text, stub_fault);
            const uint32_t found = content(cases[i].place, cases[i].number);
            if (found != cases[i].expected)
                fail_msg("%s: 0x%x, expected 0x%x", cases[i].text, found, cases[i].expected);
        }
    }
}

int main(void)
{
    skip_without_llvm_mc();
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields_are_those_of_the_decoder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
