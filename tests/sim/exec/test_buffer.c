/* MUBUF: resources, addresses, range checks, swizzling, atomics, loads to LDS. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bare_wave.h"

#define MEMORY_BYTES 16384
static _Alignas(64) unsigned char memory[MEMORY_BYTES];

static int set_up(void **state)
{
    bare_set_up(state);
    stub_allow_memory(memory, sizeof memory, 1);
    for (unsigned i = 0; i < MEMORY_BYTES; i++)
        memory[i] = (unsigned char)(i * 41 + (i >> 8) * 7 + 3);
    return 0;
}
static uint32_t memory32(unsigned offset)
{
    uint32_t value;
    memcpy(&value, memory + offset, 4);
    return value;
}
static void set_exec(uint64_t exec)
{
    sim_set_sgpr64(&bare.wave, SIM_EXEC_LO, exec);
}

/* s[8:11]. The last word: index stride (8 << n) at 21, add_tid_enable at 23, the stride's upper bits at 15. */
static void set_resource(uint64_t base, uint32_t stride, uint32_t records, uint32_t last)
{
    sim_set_sgpr64(&bare.wave, 8, base | (uint64_t)stride << 48);
    bare.wave.sgpr[10] = records;
    bare.wave.sgpr[11] = last;
}
#define SWIZZLE 0x8000u /* bit 15 above a stride of 14 bits is bit 63 of the resource */

/* Address v[2:3], data or destination v[16:19], scalar offset 0. */
static struct sim_instruction access(const char *name, int32_t offset)
{
    struct sim_instruction instruction = bare_instruction(name);
    instruction.immediate = offset;
    instruction.src[0] = V(2);
    instruction.src[1] = 8;
    instruction.src[2] = SIM_INT_0;
    instruction.dst = V(16);
    return instruction;
}

static void raw_addresses(void **state)
{
    (void)state;
    struct sim_instruction load = access("buffer_load_dword", 8);
    set_resource((uintptr_t)memory, 0, MEMORY_BYTES, 0);
    load.src[0] = SIM_NO_OPERAND;
    bare_succeeds(&load); /* offset alone */
    assert_int_equal(bare.vgpr[16][0], memory32(8));
    assert_int_equal(bare.vgpr[16][63], memory32(8));
    load.src[0] = V(2);
    load.offen = 1;
    load.src[2] = 20;
    bare.wave.sgpr[20] = 100;
    for (unsigned lane = 0; lane < 64; lane++)
        bare.vgpr[2][lane] = lane * 4;
    bare_succeeds(&load);
    for (unsigned lane = 0; lane < 64; lane++)
        assert_int_equal(bare.vgpr[16][lane], memory32(108 + 4 * lane));
    /* Structured: records of 24 bytes. */
    set_resource((uintptr_t)memory, 24, 100, 0);
    load.idxen = 1;
    for (unsigned lane = 0; lane < 64; lane++) {
        bare.vgpr[2][lane] = 63 - lane;
        bare.vgpr[3][lane] = lane % 3 * 4;
    }
    bare_succeeds(&load);
    for (unsigned lane = 0; lane < 64; lane++)
        assert_int_equal(bare.vgpr[16][lane], memory32(108 + 24 * (63 - lane) + lane % 3 * 4));
    load.offen = 0;
    bare_succeeds(&load);
    assert_int_equal(bare.vgpr[16][3], memory32(108 + 24 * 60));
}

/* Outside reads as 0 and is not written; of several dwords each for itself. The scalar offset does not count. */
static void range_checks(void **state)
{
    (void)state;
    static unsigned char expected[MEMORY_BYTES];
    struct sim_instruction load = access("buffer_load_dwordx3", 4), store = access("buffer_store_dwordx3", 4);
    load.offen = store.offen = 1;
    load.src[2] = store.src[2] = 20;
    bare.wave.sgpr[20] = 1000;
    set_resource((uintptr_t)memory, 0, 100, 0);
    set_exec(~4ull);
    memset(bare.vgpr[16], 0xEE, sizeof bare.vgpr[16] * 3);
    for (unsigned lane = 0; lane < 64; lane++)
        bare.vgpr[2][lane] = lane == 9 ? UINT32_MAX - 3 : lane * 4; /* no wrap at 32 bits */
    bare_succeeds(&load);
    for (unsigned lane = 0; lane < 64; lane++)
        for (unsigned d = 0; d < 3; d++) {
            const uint64_t offset = (uint64_t)bare.vgpr[2][lane] + 4 + 4 * d;
            const uint32_t value = lane == 2 ? 0xEEEEEEEE : offset < 100 ? memory32(1000 + (unsigned)offset) : 0;
            assert_int_equal(bare.vgpr[16 + d][lane], value);
        }
    memcpy(expected, memory, sizeof expected);
    for (unsigned lane = 0; lane < 64; lane++)
        for (unsigned d = 0; d < 3; d++) {
            bare.vgpr[2][lane] = lane * 16;
            bare.vgpr[16 + d][lane] = lane * 100 + d;
            if (lane != 2 && lane * 16 + 4 + 4 * d < 100)
                memcpy(expected + 1000 + lane * 16 + 4 + 4 * d, &bare.vgpr[16 + d][lane], 4);
        }
    bare_succeeds(&store);
    assert_memory_equal(memory, expected, sizeof expected);

    struct sim_instruction byte = access("buffer_load_sbyte", 99);
    bare_succeeds(&byte);
    assert_int_equal(bare.vgpr[16][0], (uint32_t)(int8_t)memory[99]);
    byte.immediate = 100;
    bare_succeeds(&byte);
    assert_int_equal(bare.vgpr[16][0], 0);
    assert_int_equal(bare.wave.lines_touched, 0);

    set_resource((uintptr_t)memory, 16, 5, 0); /* structured: by the index alone */
    struct sim_instruction structured = access("buffer_load_dword", 40);
    structured.idxen = 1;
    for (unsigned lane = 0; lane < 64; lane++)
        bare.vgpr[2][lane] = lane;
    bare_succeeds(&structured);
    assert_int_equal(bare.vgpr[16][4], memory32(4 * 16 + 40));
    assert_int_equal(bare.vgpr[16][5], 0);

    set_resource(0, 0, 0, 0); /* nothing bound */
    memset(bare.vgpr[16], 0xEE, sizeof bare.vgpr[16]);
    load = access("buffer_load_dword", 0);
    bare_succeeds(&load);
    assert_int_equal(bare.vgpr[16][0], 0);
}

static void swizzled_addresses(void **state)
{
    (void)state;
    /* Records of 24 bytes, 16 indices side by side, elements of 4 bytes. */
    struct sim_instruction load = access("buffer_load_ushort", 6);
    load.idxen = load.offen = 1;
    set_resource((uintptr_t)memory, SWIZZLE | 24, 64, 1u << 21);
    for (unsigned lane = 0; lane < 64; lane++) {
        bare.vgpr[2][lane] = lane;
        bare.vgpr[3][lane] = lane % 4 * 4;
    }
    bare_succeeds(&load);
    for (unsigned lane = 0; lane < 64; lane++) {
        const unsigned offset = 6 + lane % 4 * 4;
        const unsigned at = (lane / 16 * 24 + offset / 4 * 4) * 16 + lane % 16 * 4 + offset % 4;
        assert_int_equal(bare.vgpr[16][lane], memory[at] | memory[at + 1] << 8);
    }
    /* Private memory: the lane is the index, 64 side by side, and nothing is checked. */
    struct sim_instruction store = access("buffer_store_dword", 4);
    store.src[0] = SIM_NO_OPERAND;
    set_resource((uintptr_t)memory, SWIZZLE | 64, 0, 1u << 23 | 3u << 21);
    for (unsigned lane = 0; lane < 64; lane++)
        bare.vgpr[16][lane] = lane + 1;
    bare_succeeds(&store);
    for (unsigned lane = 0; lane < 64; lane++)
        assert_int_equal(memory32(256 + 4 * lane), lane + 1);
    assert_int_equal(bare.wave.lines_touched, 4);
    /* Not swizzled, with the stride's bits 17:14 from the data format's field. */
    set_resource((uintptr_t)memory, 8, 0, 1u << 23);
    struct sim_instruction linear = access("buffer_load_dword", 4);
    bare_succeeds(&linear);
    assert_int_equal(bare.vgpr[16][10], memory32(84));
    set_resource((uintptr_t)memory, 8, 0, 1u << 23 | 1u << 15);
    set_exec(1);
    bare_succeeds(&linear);
    set_exec(2);
    char sentence[128];
    snprintf(sentence, sizeof sentence, "no memory: 4 bytes at 0x%" PRIxPTR " to read",
             (uintptr_t)memory + 0x4000 + 12);
    bare_faults(&linear, sentence);

    struct sim_instruction wide = access("buffer_load_dwordx2", 0);
    set_resource((uintptr_t)memory, SWIZZLE | 24, 64, 1u << 21);
    bare_faults(&wide, "buffer_load_dwordx2 moves 8 bytes of a swizzled buffer, whose elements are 4 bytes");
    set_resource((uintptr_t)memory, 8, 64, 1u << 23);
    wide.idxen = 1;
    bare_faults(
        &wide,
        "buffer_load_dwordx2 with idxen on a resource with add_tid_enable: AMD's manual has no range check for it");
    wide.idxen = 0;
    bare.wave.sgpr_limit = 10;
    bare_faults(&wide, "scalar register s11 is used, and the wave has 10 of them");
}

static void atomics(void **state)
{
    (void)state;
    struct sim_instruction add = access("buffer_atomic_add", 0);
    add.offen = 1;
    set_resource((uintptr_t)memory, 0, 16, 0);
    for (int returns = 0; returns < 2; returns++) {
        add.glc = (uint8_t)returns;
        memset(memory, 0, 64);
        for (unsigned lane = 0; lane < 64; lane++) {
            bare.vgpr[2][lane] = lane % 8 * 4; /* lanes 4 to 7 of 8 are outside */
            bare.vgpr[16][lane] = lane;
        }
        bare_succeeds(&add);
        for (unsigned i = 0; i < 16; i++)
            assert_int_equal(memory32(4 * i), i < 4 ? 8 * i + 8 * (0 + 1 + 2 + 3 + 4 + 5 + 6 + 7) : 0);
        for (unsigned lane = 0; lane < 64; lane++) {
            uint32_t before = 0; /* what lower lanes added */
            for (unsigned other = lane % 8; other < lane; other += 8)
                before += other;
            assert_int_equal(bare.vgpr[16][lane], !returns ? lane : lane % 8 < 4 ? before : 0);
        }
    }
    struct sim_instruction compare = access("buffer_atomic_cmpswap_x2", 0);
    compare.glc = 1;
    const uint64_t old = 0x500000001;
    memcpy(memory + 8, &old, 8);
    compare.immediate = 8;
    set_exec(1ull << 3);
    bare.vgpr[16][3] = 7;
    bare.vgpr[17][3] = 8;
    bare.vgpr[18][3] = 1;
    bare.vgpr[19][3] = 5;
    bare_succeeds(&compare);
    assert_int_equal(memory32(8), 7);
    assert_int_equal(memory32(12), 8);
    assert_int_equal(bare.vgpr[16][3], 1);
    assert_int_equal(bare.vgpr[17][3], 5);
    compare.immediate = 12; /* half of it is outside: all of it is */
    bare_succeeds(&compare);
    assert_int_equal(memory32(12), 8);
    assert_int_equal(bare.vgpr[16][3], 0);
    struct sim_instruction half = access("buffer_atomic_pk_add_f16", 4);
    const uint32_t ones = 0x3C003C00;
    memcpy(memory + 4, &ones, 4);
    bare.vgpr[16][3] = ones;
    bare_succeeds(&half);
    assert_int_equal(memory32(4), 0x40004000);
    char sentence[128];
    half.immediate = 6;
    snprintf(sentence, sizeof sentence,
             "lane 3 accesses 4 bytes at memory address 0x%" PRIxPTR ", which must be a multiple of 4",
             (uintptr_t)memory + 6);
    bare_faults(&half, sentence);
}

static void loads_to_lds(void **state)
{
    (void)state;
    struct sim_instruction load = access("buffer_load_dwordx4", 16);
    load.dst = SIM_NO_OPERAND;
    load.lds = load.offen = 1;
    set_resource((uintptr_t)memory, 0, 16 + 62 * 16, 0); /* lanes 62 and 63 are outside: 0 */
    set_exec(~1ull);
    memset(bare.lds, 0x77, sizeof bare.lds);
    bare.wave.sgpr[SIM_M0] = 0x200;
    for (unsigned lane = 0; lane < 64; lane++)
        bare.vgpr[2][lane] = 16 * lane;
    bare_succeeds(&load);
    unsigned char expected[BARE_LDS_BYTES];
    memset(expected, 0x77, sizeof expected);
    memcpy(expected + 0x210 + 16, memory + 32, 61 * 16);
    memset(expected + 0x210 + 62 * 16, 0, 32);
    assert_memory_equal(bare.lds, expected, sizeof expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(raw_addresses, set_up),      cmocka_unit_test_setup(range_checks, set_up),
        cmocka_unit_test_setup(swizzled_addresses, set_up), cmocka_unit_test_setup(atomics, set_up),
        cmocka_unit_test_setup(loads_to_lds, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
