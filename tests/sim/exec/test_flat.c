/* FLAT, GLOBAL and SCRATCH: addresses, widths, atomics, loads to LDS, lines, and what faults. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bare_wave.h"

#define MEMORY_BYTES 8192
/* The last 64 bytes are not allowed: nothing else lies right behind what is. */
static _Alignas(64) unsigned char memory[MEMORY_BYTES + 64], read_only[64];
/* Two allocations with nothing between them. */
static _Alignas(64) unsigned char neighbours[512];

static int set_up(void **state)
{
    bare_set_up(state);
    stub_allow_memory(memory, MEMORY_BYTES, 1);
    stub_allow_memory(read_only, sizeof read_only, 0);
    stub_allow_memory(neighbours, 256, 1);
    stub_allow_memory(neighbours + 256, 256, 1);
    for (unsigned i = 0; i < MEMORY_BYTES; i++)
        memory[i] = (unsigned char)(i * 41 + (i >> 8) * 7 + 3);
    return 0;
}

/* v[2:3] = address, v[4:7] = data, v[16:19] = destination. */
static struct sim_instruction access(const char *name, int32_t offset)
{
    struct sim_instruction instruction = bare_instruction(name);
    const struct sim_opcode *opcode = instruction.opcode;
    instruction.immediate = offset;
    instruction.src[0] = V(2);
    instruction.src[1] = opcode->src_dwords[1] ? V(4) : SIM_NO_OPERAND;
    instruction.dst = opcode->dst_dwords && !(opcode->flags & SIM_OP_ATOMIC) ? V(16) : SIM_NO_OPERAND;
    return instruction;
}
static void set_exec(uint64_t exec)
{
    sim_set_sgpr64(&bare.wave, SIM_EXEC_LO, exec);
}
static void set_address(unsigned lane, uint64_t address)
{
    bare.vgpr[2][lane] = (uint32_t)address;
    bare.vgpr[3][lane] = (uint32_t)(address >> 32);
}
static void set_addresses(const void *base, unsigned stride)
{
    for (unsigned lane = 0; lane < 64; lane++)
        set_address(lane, (uintptr_t)base + (uint64_t)lane * stride);
}

#define SOME_LANES 0x8421F00F76543210ull

static void loads(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned bytes, shift;
        int is_signed, is_16;
    } cases[] = {
        {"load_ubyte", 1, 0, 0, 0},         {"load_sbyte", 1, 0, 1, 0},         {"load_ushort", 2, 0, 0, 0},
        {"load_sshort", 2, 0, 1, 0},        {"load_ubyte_d16", 1, 0, 0, 1},     {"load_sbyte_d16", 1, 0, 1, 1},
        {"load_short_d16", 2, 0, 0, 1},     {"load_ubyte_d16_hi", 1, 16, 0, 1}, {"load_sbyte_d16_hi", 1, 16, 1, 1},
        {"load_short_d16_hi", 2, 16, 0, 1}, {"load_dword", 4, 0, 0, 0},         {"load_dwordx2", 8, 0, 0, 0},
        {"load_dwordx3", 12, 0, 0, 0},      {"load_dwordx4", 16, 0, 0, 0},
    };
    static const unsigned strides[] = {0, 1, 4, 8, 12, 16, 100};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
            for (int form = 0; form < 6; form++) { /* bit 0: all lanes; then global, flat, global with saddr */
                const uint64_t exec = form & 1 ? UINT64_MAX : SOME_LANES;
                const int has_base = form / 2 == 2;
                char name[40];
                snprintf(name, sizeof name, "%s_%s", form / 2 == 1 ? "flat" : "global", cases[c].name);
                struct sim_instruction load = access(name, 20);
                set_exec(exec);
                memset(bare.vgpr[16], 0xEE, sizeof bare.vgpr[16] * 5);
                set_addresses(has_base ? NULL : memory, strides[s]);
                if (has_base) {
                    load.src[2] = 10;
                    sim_set_sgpr64(&bare.wave, 10, (uintptr_t)memory);
                    memset(bare.vgpr[3], 0xAA, sizeof bare.vgpr[3]); /* one register alone */
                }
                for (unsigned lane = 0; lane < 64; lane++)
                    if (!(exec >> lane & 1))
                        set_address(lane, 0xBADBADBADBADull);
                bare_succeeds(&load);
                for (unsigned lane = 0; lane < 64; lane++) {
                    uint32_t expected[5];
                    memset(expected, 0xEE, sizeof expected);
                    if (exec >> lane & 1) {
                        const unsigned char *from = memory + lane * strides[s] + 20;
                        if (cases[c].bytes >= 4) {
                            memcpy(expected, from, cases[c].bytes);
                        } else {
                            uint32_t value = cases[c].bytes == 1 ? *from : (uint32_t)(from[0] | from[1] << 8);
                            const unsigned unused = 32 - 8 * cases[c].bytes;
                            if (cases[c].is_signed)
                                value = (uint32_t)((int32_t)(value << unused) >> unused);
                            expected[0] = (cases[c].is_16 ? value & 0xFFFF : value) << cases[c].shift;
                        }
                    }
                    for (unsigned d = 0; d < 5; d++)
                        if (bare.vgpr[16 + d][lane] != expected[d])
                            fail_msg("%s stride %u lane %u dword %u: 0x%x, expected 0x%x", name, strides[s], lane, d,
                                     bare.vgpr[16 + d][lane], expected[d]);
                }
            }
        }
    }
}

/* The VGPR's offset to an SGPR base is unsigned, the instruction's is signed. */
static void offsets_have_their_signs(void **state)
{
    (void)state;
    struct sim_instruction load = access("global_load_dword", -8);
    load.src[2] = 10;
    sim_set_sgpr64(&bare.wave, 10, (uintptr_t)memory - 0x80000000);
    for (unsigned lane = 0; lane < 64; lane++)
        bare.vgpr[2][lane] = 0x80000000 + 8 + lane * 4;
    bare_succeeds(&load);
    assert_memory_equal(bare.vgpr[16], memory, sizeof bare.vgpr[16]);
}

static void stores(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned bytes, shift;
    } cases[] = {{"store_byte", 1, 0},         {"store_short", 2, 0},   {"store_byte_d16_hi", 1, 2},
                 {"store_short_d16_hi", 2, 2}, {"store_dword", 4, 0},   {"store_dwordx2", 8, 0},
                 {"store_dwordx3", 12, 0},     {"store_dwordx4", 16, 0}};
    static unsigned char expected[MEMORY_BYTES];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (unsigned stride = 2; stride < 34; stride += stride) { /* narrower than the data: the last lane wins */
            for (int form = 0; form < 4; form++) {
                const uint64_t exec = form & 1 ? UINT64_MAX : SOME_LANES;
                char name[40];
                snprintf(name, sizeof name, "%s_%s", form & 2 ? "flat" : "global", cases[c].name);
                set_exec(exec);
                set_addresses(memory + 64, stride);
                memset(memory, 0x55, MEMORY_BYTES);
                memset(expected, 0x55, sizeof expected);
                const int32_t offset = form & 2 ? 5 : -5;
                for (unsigned lane = 0; lane < 64; lane++) {
                    uint32_t data[4];
                    for (unsigned d = 0; d < 4; d++)
                        data[d] = bare.vgpr[4 + d][lane] = lane * 0x01030507u + d * 0x10101010u + 0x80000000u;
                    if (exec >> lane & 1)
                        memcpy(expected + 64 + lane * stride + offset, (unsigned char *)data + cases[c].shift,
                               cases[c].bytes);
                }
                const struct sim_instruction store = access(name, offset);
                bare_succeeds(&store);
                assert_memory_equal(memory, expected, sizeof expected);
            }
        }
    }
}

static void private_memory(void **state)
{
    (void)state;
    struct sim_instruction store = access("scratch_store_dwordx2", -4), load = access("scratch_load_ushort", 2);
    store.scratch_has_vaddr = load.scratch_has_vaddr = 1;
    set_exec(SOME_LANES);
    for (unsigned lane = 0; lane < 64; lane++) {
        bare.vgpr[2][lane] = 4 * lane % 200 + 8;
        bare.vgpr[4][lane] = 0x10000 * lane + 1;
        bare.vgpr[5][lane] = 0x10000 * lane + 2;
    }
    store.src[2] = 10;
    bare.wave.sgpr[10] = 16;
    bare_succeeds(&store); /* SGPR + VGPR + offset */
    for (unsigned lane = 0; lane < 64; lane++) {
        uint32_t data[2], expected[2] = {0x10000 * lane + 1, 0x10000 * lane + 2};
        memcpy(data, bare.scratch + lane * BARE_SCRATCH_LANE_BYTES + 4 * lane % 200 + 20, sizeof data);
        if (!(SOME_LANES >> lane & 1))
            memset(expected, 0, sizeof expected);
        assert_memory_equal(data, expected, sizeof data);
    }
    load.immediate = 14; /* VGPR + offset: the upper half of the first dword */
    bare_succeeds(&load);
    assert_int_equal(bare.vgpr[16][63], 63);
    load.scratch_has_vaddr = 0;
    load.src[0] = SIM_NO_OPERAND;
    load.immediate = (4 * 63 % 200 + 20) + 2; /* offset alone: lane 63's again */
    bare_succeeds(&load);
    assert_int_equal(bare.vgpr[16][63], 63);
    load.src[2] = 10; /* SGPR + offset */
    load.immediate -= 16;
    bare_succeeds(&load);
    assert_int_equal(bare.vgpr[16][63], 63);
    load.src[2] = SIM_NO_OPERAND;
    load.immediate = BARE_SCRATCH_LANE_BYTES - 1;
    set_exec(1ull << 50);
    bare_faults(&load,
                "lane 50 reads 2 bytes at private address 0xff, and the kernel has 256 bytes of it for each lane");
    load.immediate = -2;
    bare_faults(
        &load, "lane 50 reads 2 bytes at private address 0xfffffffe, and the kernel has 256 bytes of it for each lane");
    /* The same dword of 64 lanes is 256 bytes to the cache. */
    set_exec(UINT64_MAX);
    load.immediate = 4;
    bare_succeeds(&load);
    assert_int_equal(bare.wave.lines_touched, 4);
}

static void flat_reaches_all_memory(void **state)
{
    (void)state;
    struct sim_instruction load = access("flat_load_dword", 4), store = access("flat_store_dword", 4);
    uint32_t value = 0xAAAA0001;
    memcpy(bare.lds + 12, &value, 4);
    value = 0xBBBB0002;
    memcpy(bare.scratch + 1 * BARE_SCRATCH_LANE_BYTES + 20, &value, 4);
    value = 0xCCCC0003;
    memcpy(memory + 28, &value, 4);
    set_exec(7);
    set_address(0, SIM_SHARED_APERTURE + 8);
    set_address(1, SIM_PRIVATE_APERTURE + 16);
    set_address(2, (uintptr_t)memory + 24);
    bare_succeeds(&load);
    assert_int_equal(bare.vgpr[16][0], 0xAAAA0001);
    assert_int_equal(bare.vgpr[16][1], 0xBBBB0002);
    assert_int_equal(bare.vgpr[16][2], 0xCCCC0003);
    for (unsigned lane = 0; lane < 3; lane++)
        bare.vgpr[4][lane] = lane + 70;
    bare_succeeds(&store);
    assert_int_equal(bare.lds[12], 70);
    assert_int_equal(bare.scratch[BARE_SCRATCH_LANE_BYTES + 20], 71);
    assert_int_equal(memory[28], 72);
    /* LDS flushes subnormal numbers as MODE says, memory does not. */
    struct sim_instruction add = access("flat_atomic_add_f32", 4);
    bare.wave.mode = 0;
    for (unsigned lane = 0; lane < 3; lane++)
        bare.vgpr[4][lane] = 1;
    bare_succeeds(&add);
    assert_int_equal(bare.lds[12], 0);
    assert_int_equal(memory[28], 73);
}

static void atomics(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned bytes;
        uint64_t memory, data, compared, result;
    } cases[] = {
        {"atomic_swap", 4, 1, 2, 0, 2},
        {"atomic_cmpswap", 4, 5, 6, 5, 6},
        {"atomic_cmpswap", 4, 4, 6, 5, 4},
        {"atomic_add", 4, UINT32_MAX, 2, 0, 1},
        {"atomic_sub", 4, 1, 2, 0, UINT32_MAX},
        {"atomic_smin", 4, UINT32_MAX, 1, 0, UINT32_MAX},
        {"atomic_umin", 4, UINT32_MAX, 1, 0, 1},
        {"atomic_smax", 4, UINT32_MAX, 1, 0, 1},
        {"atomic_umax", 4, UINT32_MAX, 1, 0, UINT32_MAX},
        {"atomic_and", 4, 12, 10, 0, 8},
        {"atomic_or", 4, 12, 10, 0, 14},
        {"atomic_xor", 4, 12, 10, 0, 6},
        {"atomic_inc", 4, 5, 5, 0, 0},
        {"atomic_dec", 4, 0, 5, 0, 5},
        {"atomic_swap_x2", 8, 1, 0x200000003, 0, 0x200000003},
        {"atomic_cmpswap_x2", 8, 0x500000001, 6, 0x500000001, 6},
        {"atomic_cmpswap_x2", 8, 0x500000001, 6, 0x600000001, 0x500000001},
        {"atomic_add_x2", 8, UINT32_MAX, 2, 0, 0x100000001},
        {"atomic_sub_x2", 8, 1, 2, 0, UINT64_MAX},
        {"atomic_smin_x2", 8, UINT64_MAX, 1, 0, UINT64_MAX},
        {"atomic_umin_x2", 8, UINT64_MAX, 1, 0, 1},
        {"atomic_smax_x2", 8, UINT64_MAX, 1, 0, 1},
        {"atomic_umax_x2", 8, UINT64_MAX, 1, 0, UINT64_MAX},
        {"atomic_and_x2", 8, 0xC00000000, 0xA00000000, 0, 0x800000000},
        {"atomic_or_x2", 8, 0xC00000000, 0xA, 0, 0xC0000000A},
        {"atomic_xor_x2", 8, UINT64_MAX, 1, 0, UINT64_MAX - 1},
        {"atomic_inc_x2", 8, 0x500000000, 0x500000001, 0, 0x500000001},
        {"atomic_dec_x2", 8, 9, 5, 0, 5},
        {"atomic_add_f32", 4, 0x3F800000, 0x3F800000, 0, 0x40000000},
        {"atomic_add_f32", 4, 1, 2, 0, 3}, /* with MODE 0: the L2 cache does not flush */
        {"atomic_pk_add_f16", 4, 0x3C000001, 0x3C000001, 0, 0x40000002},
        {"atomic_pk_add_bf16", 4, 0x3F803F80, 0x3F804000, 0, 0x40004040},
        {"atomic_add_f64", 8, 0x3FF0000000000000, 0x3FF0000000000000, 0, 0x4000000000000000},
        {"atomic_min_f64", 8, 0x3FF0000000000000, 0xBFF0000000000000, 0, 0xBFF0000000000000},
        {"atomic_max_f64", 8, 0x8000000000000000, 0, 0, 0},
    };
    bare.wave.mode = 0;
    set_exec(1ull << 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int form = 0; form < 4; form++) { /* bit 0: the old value returns */
            const unsigned dwords = cases[i].bytes / 4;
            char name[40];
            snprintf(name, sizeof name, "%s_%s", form & 2 ? "flat" : "global", cases[i].name);
            struct sim_instruction atomic = access(name, 16);
            if (form & 1) {
                atomic.glc = 1;
                atomic.dst = V(16);
            }
            set_address(20, (uintptr_t)memory);
            memcpy(memory + 16, &cases[i].memory, cases[i].bytes);
            for (unsigned d = 0; d < dwords; d++) {
                bare.vgpr[4 + d][20] = (uint32_t)(cases[i].data >> 32 * d);
                bare.vgpr[4 + dwords + d][20] = (uint32_t)(cases[i].compared >> 32 * d);
                bare.vgpr[16 + d][20] = 0xEEEEEEEE;
            }
            bare_succeeds(&atomic);
            uint64_t result = 0;
            memcpy(&result, memory + 16, cases[i].bytes);
            if (result != cases[i].result)
                fail_msg("%s: 0x%" PRIx64 ", expected 0x%" PRIx64, name, result, cases[i].result);
            for (unsigned d = 0; d < dwords; d++)
                assert_int_equal(bare.vgpr[16 + d][20], form & 1 ? (uint32_t)(cases[i].memory >> 32 * d) : 0xEEEEEEEE);
        }
    }
    /* Lanes on one address, in order; the old value may replace the data. */
    struct sim_instruction add = access("global_atomic_add", 0);
    add.dst = V(4);
    add.src[2] = 10;
    sim_set_sgpr64(&bare.wave, 10, (uintptr_t)memory);
    memset(memory, 0, 4);
    memset(bare.vgpr[2], 0, sizeof bare.vgpr[2]);
    set_exec(SOME_LANES);
    for (unsigned lane = 0; lane < 64; lane++)
        bare.vgpr[4][lane] = lane;
    bare_succeeds(&add);
    for (unsigned lane = 0, sum = 0; lane < 64; lane++) {
        assert_int_equal(bare.vgpr[4][lane], SOME_LANES >> lane & 1 ? sum : lane);
        sum += SOME_LANES >> lane & 1 ? lane : 0;
    }
    assert_int_equal(bare.wave.lines_touched, 1);
}

static void loads_to_lds(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned bytes, written, stride;
        int is_signed;
    } cases[] = {{"global_load_lds_ubyte", 1, 4, 4, 0},     {"global_load_lds_sbyte", 1, 4, 4, 1},
                 {"global_load_lds_ushort", 2, 4, 4, 0},    {"global_load_lds_sshort", 2, 4, 4, 1},
                 {"global_load_lds_dword", 4, 4, 4, 0},     {"global_load_lds_dwordx3", 12, 12, 16, 0},
                 {"global_load_lds_dwordx4", 16, 16, 16, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        static unsigned char expected[BARE_LDS_BYTES];
        struct sim_instruction load = access(cases[c].name, 8);
        load.dst = SIM_NO_OPERAND;
        set_exec(SOME_LANES);
        memset(bare.lds, 0x77, sizeof bare.lds);
        memset(expected, 0x77, sizeof expected);
        bare.wave.sgpr[SIM_M0] = 0xABC00103; /* 17:2 */
        set_addresses(memory + 3, 33);
        for (unsigned lane = 0; lane < 64; lane++) {
            if (!(SOME_LANES >> lane & 1))
                continue;
            unsigned char *to = expected + 0x100 + 8 + lane * cases[c].stride;
            const unsigned char *from = memory + 3 + 33 * lane + 8;
            memset(to, cases[c].is_signed && from[cases[c].bytes - 1] & 0x80 ? 0xFF : 0, cases[c].written);
            memcpy(to, from, cases[c].bytes);
        }
        bare_succeeds(&load);
        assert_memory_equal(bare.lds, expected, sizeof expected);
    }
    struct sim_instruction load = access("global_load_lds_dword", 0);
    bare.wave.sgpr[SIM_M0] = BARE_LDS_BYTES - 16;
    set_exec(1ull << 4);
    bare_faults(&load, "lane 4 writes 4 bytes at LDS address 0x1000, and the workgroup's LDS has 4096 bytes");
}

static void lines(void **state)
{
    (void)state;
    struct sim_instruction load = access("global_load_dword", 0);
    static const struct {
        unsigned first, stride;
        uint64_t exec;
        uint32_t lines;
    } cases[] = {{0, 4, UINT64_MAX, 4},   {4, 4, UINT64_MAX, 5},    {0, 0, UINT64_MAX, 1},
                 {0, 64, UINT64_MAX, 64}, {62, 64, UINT64_MAX, 65}, {0, 4, 1, 1},
                 {0, 4, SOME_LANES, 4},   {0, 8, 0x100000001, 2},   {0, 4, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_exec(cases[i].exec);
        set_addresses(memory + cases[i].first, cases[i].stride);
        bare_succeeds(&load);
        if (bare.wave.lines_touched != cases[i].lines)
            fail_msg("case %zu: %u lines, expected %u", i, bare.wave.lines_touched, cases[i].lines);
    }
    load = access("global_load_dwordx4", 0);
    set_exec(UINT64_MAX);
    set_addresses(memory, 16);
    bare_succeeds(&load);
    assert_int_equal(bare.wave.lines_touched, 16);
    /* Back and forth between two lines. */
    for (unsigned lane = 0; lane < 64; lane++)
        set_address(lane, (uintptr_t)memory + lane % 2 * 640);
    bare_succeeds(&load);
    assert_int_equal(bare.wave.lines_touched, 2);
}

static void faults_name_what_is_wrong(void **state)
{
    (void)state;
    char sentence[160];
    struct sim_instruction load = access("global_load_dwordx2", 0);
    set_addresses(memory, 8);
    set_address(17, (uintptr_t)memory + MEMORY_BYTES - 4);
    snprintf(sentence, sizeof sentence, "no memory: 8 bytes at 0x%" PRIxPTR " to read",
             (uintptr_t)memory + MEMORY_BYTES - 4);
    bare_faults(&load, sentence);
    set_exec(~(1ull << 17)); /* the lane that is wrong is not active */
    bare_succeeds(&load);
    set_exec(UINT64_MAX);
    load = access("global_load_dword", 0); /* a whole wave side by side whose last lane is outside */
    set_addresses(memory + MEMORY_BYTES - 63 * 4, 4);
    snprintf(sentence, sizeof sentence, "no memory: 4 bytes at 0x%" PRIxPTR " to read",
             (uintptr_t)memory + MEMORY_BYTES);
    bare_faults(&load, sentence);
    set_addresses(memory + MEMORY_BYTES - 64 * 4, 4);
    bare_succeeds(&load);
    load = access("flat_load_dword", 0);
    set_address(17, 0);
    bare_faults(&load, "no memory: 4 bytes at 0x0 to read");

    /* Nothing is written where one lane fails. */
    struct sim_instruction store = access("global_store_dword", 0);
    set_addresses(memory, 4);
    set_address(63, (uintptr_t)read_only);
    const unsigned char before = memory[0];
    bare.vgpr[4][0] = before ^ 1u;
    snprintf(sentence, sizeof sentence, "no memory: 4 bytes at 0x%" PRIxPTR " to write", (uintptr_t)read_only);
    bare_faults(&store, sentence);
    assert_int_equal(memory[0], before);

    /* A whole wave side by side over the edge of two allocations is no fault; a lane that lies in both is. */
    set_addresses(neighbours + 128, 4);
    bare_succeeds(&store);
    set_addresses(neighbours + 130, 4);
    snprintf(sentence, sizeof sentence, "no memory: 4 bytes at 0x%" PRIxPTR " to write", (uintptr_t)neighbours + 254);
    bare_faults(&store, sentence);

    struct sim_instruction add = access("global_atomic_add_x2", 4);
    set_addresses(memory, 8);
    set_exec(2);
    snprintf(sentence, sizeof sentence,
             "lane 1 accesses 8 bytes at memory address 0x%" PRIxPTR ", which must be a multiple of 8",
             (uintptr_t)memory + 12);
    bare_faults(&add, sentence);
    bare.wave.vgpr_limit = 4;
    add.immediate = 0;
    bare_faults(&add, "vector register v5 is used, and the kernel's descriptor allocates 4 of them");
    bare.wave.vgpr_limit = 64;
    load = access("global_load_dwordx4", 0);
    load.dst = A(62);
    bare_faults(&load, "accumulation register a65 is used, and the kernel's descriptor allocates 64 of them");
    load.dst = A(60);
    bare_succeeds(&load);
    assert_memory_equal(&bare.vgpr[256 + 60][1], memory + 8, 4);
    load.src[2] = 101;
    bare_faults(&load, "scalar register s102 is used, and the wave has 102 of them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(loads, set_up),
        cmocka_unit_test_setup(offsets_have_their_signs, set_up),
        cmocka_unit_test_setup(stores, set_up),
        cmocka_unit_test_setup(private_memory, set_up),
        cmocka_unit_test_setup(flat_reaches_all_memory, set_up),
        cmocka_unit_test_setup(atomics, set_up),
        cmocka_unit_test_setup(loads_to_lds, set_up),
        cmocka_unit_test_setup(lines, set_up),
        cmocka_unit_test_setup(faults_name_what_is_wrong, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
