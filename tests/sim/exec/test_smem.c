/* Scalar memory: addresses, widths, buffers, atomics, clocks. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bare_wave.h"

static _Alignas(64) uint32_t memory[64], other[4];

static int set_up(void **state)
{
    bare_set_up(state);
    stub_allow_memory(memory, sizeof memory, 1);
    stub_allow_memory(other, sizeof other, 0);
    for (uint32_t i = 0; i < 64; i++)
        memory[i] = 0x100 + i;
    return 0;
}

/* Base in s[10:11], data from s40 on. */
static struct sim_instruction access(const char *name, uint64_t base, int32_t offset)
{
    struct sim_instruction instruction = bare_instruction(name);
    instruction.dst = 40;
    instruction.src[0] = 10;
    instruction.immediate = offset;
    sim_set_sgpr64(&bare.wave, 10, base);
    return instruction;
}

static void loads_of_all_widths(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned dwords;
    } widths[] = {{"s_load_dword", 1},
                  {"s_load_dwordx2", 2},
                  {"s_load_dwordx4", 4},
                  {"s_load_dwordx8", 8},
                  {"s_load_dwordx16", 16}};
    for (size_t i = 0; i < 5; i++) {
        const struct sim_instruction load = access(widths[i].name, (uintptr_t)memory, 8);
        memset(&bare.wave.sgpr[40], 0xEE, 17 * sizeof(uint32_t));
        bare_succeeds(&load);
        for (unsigned d = 0; d < widths[i].dwords; d++)
            assert_int_equal(bare.wave.sgpr[40 + d], 0x102 + d);
        assert_int_equal(bare.wave.sgpr[40 + widths[i].dwords], 0xEEEEEEEE);
        assert_int_equal(bare.wave.lines_touched, widths[i].dwords == 16 ? 2 : 1);
    }
}

static void addresses_have_no_two_lowest_bits(void **state)
{
    (void)state;
    struct sim_instruction load = access("s_load_dword", (uintptr_t)memory + 3, 4 + 2);
    load.src[1] = 12;
    bare.wave.sgpr[12] = 8 + 1;
    bare_succeeds(&load);
    assert_int_equal(bare.wave.sgpr[40], 0x103);
    load = access("s_load_dword", (uintptr_t)(memory + 8), -4);
    load.src[1] = SIM_M0;
    bare.wave.sgpr[SIM_M0] = 12;
    bare_succeeds(&load);
    assert_int_equal(bare.wave.sgpr[40], 0x10A);
    load = access("s_scratch_load_dword", (uintptr_t)memory, 4);
    load.src[1] = 12;
    bare.wave.sgpr[12] = 2; /* times 64 */
    bare_succeeds(&load);
    assert_int_equal(bare.wave.sgpr[40], 0x121);
    /* The offset register is unsigned. */
    load = access("s_load_dword", (uintptr_t)memory - 0xFFFFFFFC, 0);
    load.src[1] = 12;
    bare.wave.sgpr[12] = 0xFFFFFFFC;
    bare_succeeds(&load);
    assert_int_equal(bare.wave.sgpr[40], 0x100);
}

static void stores(void **state)
{
    (void)state;
    for (unsigned d = 0; d < 5; d++)
        bare.wave.sgpr[40 + d] = 0xA0 + d;
    const struct sim_instruction store = access("s_store_dwordx4", (uintptr_t)memory, 20);
    bare_succeeds(&store);
    for (unsigned d = 0; d < 4; d++)
        assert_int_equal(memory[5 + d], 0xA0 + d);
    assert_int_equal(memory[4], 0x104);
    assert_int_equal(memory[9], 0x109);
    const struct sim_instruction two = access("s_store_dwordx2", (uintptr_t)memory, 0);
    bare_succeeds(&two);
    assert_int_equal(memory[1], 0xA1);
    assert_int_equal(memory[2], 0x102);
}

static void faults_name_what_is_wrong(void **state)
{
    (void)state;
    char sentence[128];
    struct sim_instruction load = access("s_load_dwordx4", (uintptr_t)memory + sizeof memory - 8, 0);
    snprintf(sentence, sizeof sentence, "no memory: 16 bytes at 0x%" PRIxPTR " to read",
             (uintptr_t)memory + sizeof memory - 8);
    bare_faults(&load, sentence);
    struct sim_instruction store = access("s_store_dword", (uintptr_t)other, 4);
    snprintf(sentence, sizeof sentence, "no memory: 4 bytes at 0x%" PRIxPTR " to write", (uintptr_t)other + 4);
    bare_faults(&store, sentence);
    bare.wave.sgpr_limit = 48;
    load = access("s_load_dwordx8", (uintptr_t)memory, 0);
    load.dst = 44;
    bare_faults(&load, "scalar register s51 is used, and the wave has 48 of them");
    struct sim_instruction atomic = access("s_atomic_add_x2", (uintptr_t)memory, 4);
    snprintf(sentence, sizeof sentence, "s_atomic_add_x2 at address 0x%" PRIxPTR ", which must be a multiple of 8",
             (uintptr_t)memory + 4);
    bare_faults(&atomic, sentence);
    assert_int_equal(memory[1], 0x101);
}

static void buffers_end(void **state)
{
    (void)state;
    struct sim_instruction load = access("s_buffer_load_dwordx4", (uintptr_t)memory, 8);
    bare.wave.sgpr[12] = 16; /* bytes: the last two dwords are outside */
    bare_succeeds(&load);
    assert_int_equal(bare.wave.sgpr[40], 0x102);
    assert_int_equal(bare.wave.sgpr[41], 0x103);
    assert_int_equal(bare.wave.sgpr[42], 0);
    assert_int_equal(bare.wave.sgpr[43], 0);
    load.immediate = 16; /* all outside: memory is not touched */
    bare_succeeds(&load);
    assert_int_equal(bare.wave.sgpr[40], 0);
    assert_int_equal(bare.wave.lines_touched, 0);
    bare.wave.sgpr[11] |= 24u << 16; /* records of 24 bytes */
    bare.wave.sgpr[12] = 1;
    bare_succeeds(&load);
    assert_int_equal(bare.wave.sgpr[40], 0x104);
    assert_int_equal(bare.wave.sgpr[41], 0x105);
    assert_int_equal(bare.wave.sgpr[42], 0);

    struct sim_instruction store = access("s_buffer_store_dwordx2", (uintptr_t)memory, 4);
    bare.wave.sgpr[12] = 8;
    bare.wave.sgpr[40] = 1;
    bare.wave.sgpr[41] = 2;
    bare_succeeds(&store);
    assert_int_equal(memory[1], 1);
    assert_int_equal(memory[2], 0x102);
    struct sim_instruction atomic = access("s_buffer_atomic_add", (uintptr_t)memory, 12);
    atomic.glc = 1;
    bare_succeeds(&atomic);
    assert_int_equal(memory[3], 0x103);
    assert_int_equal(bare.wave.sgpr[40], 0);
}

static void atomics(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t old, data, result; /* 32-bit ones: low halves */
    } cases[] = {
        {"s_atomic_swap", 1, 2, 2},
        {"s_atomic_add", 0xFFFFFFFF, 2, 1},
        {"s_atomic_sub", 1, 2, 0xFFFFFFFF},
        {"s_atomic_smin", 0xFFFFFFFF, 1, 0xFFFFFFFF},
        {"s_atomic_umin", 0xFFFFFFFF, 1, 1},
        {"s_atomic_smax", 0xFFFFFFFF, 1, 1},
        {"s_atomic_umax", 0xFFFFFFFF, 1, 0xFFFFFFFF},
        {"s_atomic_and", 0xC, 0xA, 0x8},
        {"s_atomic_or", 0xC, 0xA, 0xE},
        {"s_atomic_xor", 0xC, 0xA, 0x6},
        {"s_atomic_inc", 4, 5, 5},
        {"s_atomic_inc", 5, 5, 0},
        {"s_atomic_inc", 9, 5, 0},
        {"s_atomic_dec", 0, 5, 5},
        {"s_atomic_dec", 3, 5, 2},
        {"s_atomic_dec", 6, 5, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int glc = 0; glc < 2; glc++) {
            struct sim_instruction atomic = access(cases[i].name, (uintptr_t)memory, 16);
            atomic.glc = (uint8_t)glc;
            memory[4] = (uint32_t)cases[i].old;
            bare.wave.sgpr[40] = (uint32_t)cases[i].data;
            bare.wave.sgpr[41] = 77;
            bare_succeeds(&atomic);
            assert_int_equal(memory[4], cases[i].result);
            assert_int_equal(bare.wave.sgpr[40], glc ? cases[i].old : cases[i].data);
            assert_int_equal(bare.wave.sgpr[41], 77);
        }
    }
    struct sim_instruction compare = access("s_atomic_cmpswap", (uintptr_t)memory, 16);
    compare.glc = 1;
    memory[4] = 5;
    bare.wave.sgpr[40] = 6; /* new */
    bare.wave.sgpr[41] = 5; /* compared */
    bare_succeeds(&compare);
    assert_int_equal(memory[4], 6);
    assert_int_equal(bare.wave.sgpr[40], 5);
    bare_succeeds(&compare); /* 6 is not 5 */
    assert_int_equal(memory[4], 6);

    struct sim_instruction wide = access("s_atomic_add_x2", (uintptr_t)memory, 16);
    wide.glc = 1;
    const uint64_t value = 0xFFFFFFFFFF;
    memcpy(&memory[4], &value, 8);
    sim_set_sgpr64(&bare.wave, 40, 1);
    bare_succeeds(&wide);
    uint64_t result;
    memcpy(&result, &memory[4], 8);
    assert_int_equal(result, 0x10000000000);
    assert_int_equal(sim_sgpr64(&bare.wave, 40), value);
    struct sim_instruction wide_compare = access("s_atomic_cmpswap_x2", (uintptr_t)memory, 16);
    sim_set_sgpr64(&bare.wave, 40, 7);
    sim_set_sgpr64(&bare.wave, 42, 0x10000000000);
    bare_succeeds(&wide_compare);
    memcpy(&result, &memory[4], 8);
    assert_int_equal(result, 7);
}

static void clocks_and_caches(void **state)
{
    (void)state;
    bare.wave.now_cycle = 84 * 1000000000ull;
    struct sim_instruction clock = bare_instruction("s_memtime");
    clock.dst = 40;
    bare_succeeds(&clock);
    assert_int_equal(sim_sgpr64(&bare.wave, 40), 84000000000ull);
    clock = bare_instruction("s_memrealtime");
    clock.dst = 42;
    bare_succeeds(&clock);
    assert_int_equal(sim_sgpr64(&bare.wave, 42), 4000000000ull);
    bare.wave.lines_touched = 0;
    const struct bare_wave before = bare;
    struct sim_instruction write_back = bare_instruction("s_dcache_wb");
    bare_succeeds(&write_back);
    assert_memory_equal(&before, &bare, sizeof bare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(loads_of_all_widths, set_up),
        cmocka_unit_test_setup(addresses_have_no_two_lowest_bits, set_up),
        cmocka_unit_test_setup(stores, set_up),
        cmocka_unit_test_setup(faults_name_what_is_wrong, set_up),
        cmocka_unit_test_setup(buffers_end, set_up),
        cmocka_unit_test_setup(atomics, set_up),
        cmocka_unit_test_setup(clocks_and_caches, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
