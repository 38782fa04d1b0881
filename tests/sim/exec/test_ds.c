/* LDS: loads, stores, atomics of integers and floats, exchanges between lanes, transposed reads, and what faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bare_wave.h"

/* v2 = address, v[4:7] = data, v[8:11] = second data, v[16:19] = destination. */
static struct sim_instruction access(const char *name, int32_t offset)
{
    struct sim_instruction instruction = bare_instruction(name);
    const struct sim_opcode *opcode = instruction.opcode;
    instruction.immediate = offset;
    instruction.src[0] = opcode->src_dwords[0] ? V(2) : SIM_NO_OPERAND;
    instruction.src[1] = opcode->src_dwords[1] ? V(4) : SIM_NO_OPERAND;
    instruction.src[2] = opcode->src_dwords[2] ? V(8) : SIM_NO_OPERAND;
    instruction.dst = opcode->dst_dwords ? V(16) : SIM_NO_OPERAND;
    return instruction;
}
static void set_exec(uint64_t exec)
{
    sim_set_sgpr64(&bare.wave, SIM_EXEC_LO, exec);
}
static void fill_lds(void)
{
    for (unsigned i = 0; i < BARE_LDS_BYTES; i++)
        bare.lds[i] = (unsigned char)(i * 37 + (i >> 8) * 11 + 5);
}
static uint32_t lds32(unsigned address)
{
    uint32_t value;
    memcpy(&value, bare.lds + address, 4);
    return value;
}
static void set_lds(unsigned address, uint64_t value, size_t bytes)
{
    memcpy(bare.lds + address, &value, bytes);
}

#define SOME_LANES 0xF00FF00F12345679ull

static void loads(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned bytes, shift;
        int is_signed, is_16;
    } cases[] = {
        {"ds_read_u8", 1, 0, 0, 0},          {"ds_read_i8", 1, 0, 1, 0},         {"ds_read_u16", 2, 0, 0, 0},
        {"ds_read_i16", 2, 0, 1, 0},         {"ds_read_u8_d16", 1, 0, 0, 1},     {"ds_read_i8_d16", 1, 0, 1, 1},
        {"ds_read_u16_d16", 2, 0, 0, 1},     {"ds_read_u8_d16_hi", 1, 16, 0, 1}, {"ds_read_i8_d16_hi", 1, 16, 1, 1},
        {"ds_read_u16_d16_hi", 2, 16, 0, 1}, {"ds_read_b32", 4, 0, 0, 0},        {"ds_read_b64", 8, 0, 0, 0},
        {"ds_read_b96", 12, 0, 0, 0},        {"ds_read_b128", 16, 0, 0, 0},
    };
    static const unsigned strides[] = {0, 1, 4, 12, 16, 48}; /* of these the width makes a whole wave contiguous */
    fill_lds();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
            for (int all = 0; all < 2; all++) {
                const uint64_t exec = all ? UINT64_MAX : SOME_LANES;
                set_exec(exec);
                memset(bare.vgpr[16], 0xEE, sizeof bare.vgpr[16] * 5);
                for (unsigned lane = 0; lane < 64; lane++)
                    bare.vgpr[2][lane] = exec >> lane & 1 ? lane * strides[s] : 0x7FFFFFFF;
                const struct sim_instruction load = access(cases[c].name, 20);
                bare_succeeds(&load);
                for (unsigned lane = 0; lane < 64; lane++) {
                    uint32_t expected[5];
                    memset(expected, 0xEE, sizeof expected);
                    if (exec >> lane & 1) {
                        const unsigned char *from = bare.lds + lane * strides[s] + 20;
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
                            fail_msg("%s stride %u lane %u dword %u: 0x%x, expected 0x%x", cases[c].name, strides[s],
                                     lane, d, bare.vgpr[16 + d][lane], expected[d]);
                }
            }
        }
    }
}

static void stores(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned bytes, shift;
    } cases[] = {{"ds_write_b8", 1, 0},         {"ds_write_b16", 2, 0},  {"ds_write_b8_d16_hi", 1, 2},
                 {"ds_write_b16_d16_hi", 2, 2}, {"ds_write_b32", 4, 0},  {"ds_write_b64", 8, 0},
                 {"ds_write_b96", 12, 0},       {"ds_write_b128", 16, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (unsigned stride = 2; stride < 34; stride += stride) { /* narrower than the data: the last lane wins */
            for (int all = 0; all < 2; all++) {
                const uint64_t exec = all ? UINT64_MAX : SOME_LANES;
                unsigned char expected[BARE_LDS_BYTES];
                set_exec(exec);
                fill_lds();
                memcpy(expected, bare.lds, sizeof expected);
                for (unsigned lane = 0; lane < 64; lane++) {
                    uint32_t data[4];
                    bare.vgpr[2][lane] = lane * stride;
                    for (unsigned d = 0; d < 4; d++)
                        data[d] = bare.vgpr[4 + d][lane] = lane * 0x01030507u + d * 0x10101010u + 0x80000000u;
                    if (exec >> lane & 1)
                        memcpy(expected + 8 + lane * stride, (unsigned char *)data + cases[c].shift, cases[c].bytes);
                }
                const struct sim_instruction store = access(cases[c].name, 8);
                bare_succeeds(&store);
                assert_memory_equal(bare.lds, expected, sizeof expected);
            }
        }
    }
}

static void two_addresses(void **state)
{
    (void)state;
    fill_lds();
    set_exec(SOME_LANES);
    static const struct {
        const char *read, *write, *exchange;
        unsigned dwords, scale;
    } cases[] = {{"ds_read2_b32", "ds_write2_b32", "ds_wrxchg2_rtn_b32", 1, 4},
                 {"ds_read2st64_b32", "ds_write2st64_b32", "ds_wrxchg2st64_rtn_b32", 1, 256},
                 {"ds_read2_b64", "ds_write2_b64", "ds_wrxchg2_rtn_b64", 2, 8},
                 {"ds_read2st64_b64", "ds_write2st64_b64", "ds_wrxchg2st64_rtn_b64", 2, 512}};
    for (size_t c = 0; c < 4; c++) {
        const unsigned dwords = cases[c].dwords, first = 1 * cases[c].scale, second = 3 * cases[c].scale;
        for (unsigned lane = 0; lane < 64; lane++) {
            bare.vgpr[2][lane] = 16 * lane;
            for (unsigned d = 0; d < 2; d++) {
                bare.vgpr[4 + d][lane] = 0x1000 * d + lane;
                bare.vgpr[8 + d][lane] = 0x1000 * d + lane + 0x80000;
            }
        }
        struct sim_instruction read = access(cases[c].read, 1);
        read.offset1 = 3;
        bare_succeeds(&read);
        for (unsigned lane = 0; lane < 64; lane++)
            for (unsigned d = 0; d < dwords && SOME_LANES >> lane & 1; d++) {
                assert_int_equal(bare.vgpr[16 + d][lane], lds32(16 * lane + first + 4 * d));
                assert_int_equal(bare.vgpr[16 + dwords + d][lane], lds32(16 * lane + second + 4 * d));
            }
        struct sim_instruction write = access(cases[c].write, 1);
        write.offset1 = 3;
        set_exec(1ull << 5); /* one lane, so that nothing overlaps */
        bare_succeeds(&write);
        for (unsigned d = 0; d < dwords; d++) {
            assert_int_equal(lds32(80 + first + 4 * d), 0x1000 * d + 5);
            assert_int_equal(lds32(80 + second + 4 * d), 0x1000 * d + 5 + 0x80000);
        }
        struct sim_instruction exchange = access(cases[c].exchange, 1);
        exchange.offset1 = 3;
        bare.vgpr[4][5] = 0xABC;
        bare_succeeds(&exchange);
        assert_int_equal(bare.vgpr[16][5], 5);
        assert_int_equal(bare.vgpr[16 + dwords][5], 5 + 0x80000);
        assert_int_equal(lds32(80 + first), 0xABC);
        set_exec(SOME_LANES);
    }
    struct sim_instruction same = access("ds_write2_b32", 2);
    same.offset1 = 2;
    bare_faults(&same, "ds_write2_b32 with two equal offsets: AMD's manual contradicts itself about what it does");
}

struct atomic_case {
    const char *name;
    unsigned bytes;
    uint64_t memory, data, data2, result;
};
/* One lane, with and without return; then all lanes on one address, which see each other's results in order. */
static void check_atomic(const struct atomic_case *c)
{
    struct sim_instruction atomic = access(c->name, 8);
    for (int returns = 0; returns < 2; returns++) {
        if (returns && !strstr(c->name, "_rtn")) {
            char name[32];
            const char *type = strrchr(c->name, '_');
            snprintf(name, sizeof name, "%.*s_rtn%s", (int)(type - c->name), c->name, type);
            atomic = access(name, 8);
        }
        set_exec(1ull << 33);
        set_lds(40, c->memory, c->bytes);
        for (unsigned d = 0; d < 2; d++) {
            bare.vgpr[4 + d][33] = (uint32_t)(c->data >> 32 * d);
            bare.vgpr[8 + d][33] = (uint32_t)(c->data2 >> 32 * d);
            bare.vgpr[16 + d][33] = 0xEEEEEEEE;
        }
        bare.vgpr[2][33] = 32;
        bare_succeeds(&atomic);
        uint64_t result = 0;
        memcpy(&result, bare.lds + 40, c->bytes);
        if (result != c->result)
            fail_msg("%s of 0x%llx, 0x%llx: 0x%llx, expected 0x%llx", c->name, (unsigned long long)c->memory,
                     (unsigned long long)c->data, (unsigned long long)result, (unsigned long long)c->result);
        for (unsigned d = 0; d < c->bytes / 4 && atomic.dst != SIM_NO_OPERAND; d++)
            assert_int_equal(bare.vgpr[16 + d][33], (uint32_t)(c->memory >> 32 * d));
    }
}

static void integer_atomics(void **state)
{
    (void)state;
    static const struct atomic_case cases[] = {
        {"ds_add_u32", 4, 0xFFFFFFFF, 3, 0, 2},
        {"ds_sub_u32", 4, 1, 3, 0, 0xFFFFFFFE},
        {"ds_rsub_u32", 4, 1, 3, 0, 2},
        {"ds_inc_u32", 4, 3, 3, 0, 0},
        {"ds_inc_u32", 4, 2, 3, 0, 3},
        {"ds_dec_u32", 4, 0, 3, 0, 3},
        {"ds_dec_u32", 4, 9, 3, 0, 3},
        {"ds_dec_u32", 4, 3, 3, 0, 2},
        {"ds_min_i32", 4, 0x80000000, 1, 0, 0x80000000},
        {"ds_max_i32", 4, 0x80000000, 1, 0, 1},
        {"ds_min_u32", 4, 0x80000000, 1, 0, 1},
        {"ds_max_u32", 4, 0x80000000, 1, 0, 0x80000000},
        {"ds_and_b32", 4, 0xC, 0xA, 0, 8},
        {"ds_or_b32", 4, 0xC, 0xA, 0, 14},
        {"ds_xor_b32", 4, 0xC, 0xA, 0, 6},
        {"ds_mskor_b32", 4, 0xFFFF, 0x0FF0, 0x0120, 0xF12F},
        {"ds_cmpst_b32", 4, 5, 5, 9, 9}, /* compared first, unlike memory's cmpswap */
        {"ds_cmpst_b32", 4, 9, 5, 7, 9},
        {"ds_wrxchg_rtn_b32", 4, 9, 5, 0, 5},
        {"ds_wrap_rtn_b32", 4, 9, 5, 100, 4},
        {"ds_wrap_rtn_b32", 4, 4, 5, 100, 104},
        {"ds_add_u64", 8, 0xFFFFFFFF, 3, 0, 0x100000002},
        {"ds_sub_u64", 8, 0, 1, 0, UINT64_MAX},
        {"ds_rsub_u64", 8, 0x100000000, 3, 0, 0xFFFFFFFF00000003},
        {"ds_inc_u64", 8, UINT64_MAX - 1, UINT64_MAX, 0, UINT64_MAX},
        {"ds_dec_u64", 8, 0, 0x500000000, 0, 0x500000000},
        {"ds_min_i64", 8, UINT64_MAX, 1, 0, UINT64_MAX},
        {"ds_max_i64", 8, UINT64_MAX, 1, 0, 1},
        {"ds_min_u64", 8, UINT64_MAX, 1, 0, 1},
        {"ds_max_u64", 8, UINT64_MAX, 1, 0, UINT64_MAX},
        {"ds_and_b64", 8, 0xC00000000, 0xA00000000, 0, 0x800000000},
        {"ds_or_b64", 8, 0xC00000000, 0xA, 0, 0xC0000000A},
        {"ds_xor_b64", 8, UINT64_MAX, 0xF, 0, 0xFFFFFFFFFFFFFFF0},
        {"ds_mskor_b64", 8, UINT64_MAX, 0xFF00000000, 0x1200000000, 0xFFFFFF12FFFFFFFF},
        {"ds_cmpst_b64", 8, 0x500000000, 0x500000000, 9, 9},
        {"ds_wrxchg_rtn_b64", 8, 9, 0x500000000, 0, 0x500000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_atomic(&cases[i]);

    struct sim_instruction add = access("ds_add_rtn_u32", 0);
    set_exec(SOME_LANES);
    set_lds(0, 1000, 4);
    uint32_t expected = 1000;
    for (unsigned lane = 0; lane < 64; lane++) {
        bare.vgpr[2][lane] = 0;
        bare.vgpr[4][lane] = lane;
    }
    bare_succeeds(&add);
    for (unsigned lane = 0; lane < 64; lane++) {
        if (!(SOME_LANES >> lane & 1))
            continue;
        assert_int_equal(bare.vgpr[16][lane], expected);
        expected += lane;
    }
    assert_int_equal(lds32(0), expected);
}

/* MODE's bits: subnormal sources and results of f32 (4, 5), of f16 and f64 (6, 7). */
static void float_atomics(void **state)
{
    (void)state;
    static const struct {
        uint32_t mode;
        struct atomic_case atomic;
    } cases[] = {
        {0xF0, {"ds_add_f32", 4, 0x3F800000, 0x40000000, 0, 0x40400000}},
        {0xF0, {"ds_add_f32", 4, 0x7F800000, 0xFF800000, 0, 0x7FC00000}}, /* infinity - infinity */
        {0xF0, {"ds_add_f32", 4, 0x7FA00001, 0x7FC12345, 0, 0x7FE00001}}, /* the first NaN, made quiet */
        {0xF0, {"ds_add_f32", 4, 0x3F800000, 0xFF812345, 0, 0xFFC12345}},
        {0xF0, {"ds_add_f32", 4, 0x80000000, 0, 0, 0}},
        {0xF0, {"ds_add_f32", 4, 1, 2, 0, 3}}, /* subnormal */
        {0xC0, {"ds_add_f32", 4, 1, 0x80000002, 0, 0}},
        {0xD0, {"ds_add_f32", 4, 1, 2, 0, 0}},                            /* the result alone is flushed */
        {0xE0, {"ds_add_f32", 4, 0x00800000, 0x80000001, 0, 0x00800000}}, /* the sources alone are */
        {0xF0, {"ds_add_f32", 4, 0x4B800000, 0x3F800000, 0, 0x4B800000}}, /* to nearest even */
        {0xF0, {"ds_min_f32", 4, 0x80000000, 0, 0, 0x80000000}},
        {0xF0, {"ds_max_f32", 4, 0x80000000, 0, 0, 0}},
        {0xF0, {"ds_min_f32", 4, 0x7FC00000, 0x3F800000, 0, 0x3F800000}}, /* a quiet NaN loses */
        {0xF0, {"ds_max_f32", 4, 0x3F800000, 0x7FC00000, 0, 0x3F800000}},
        {0xF0, {"ds_max_f32", 4, 0x3F800000, 0x7F800001, 0, 0x7FC00001}}, /* a signalling one wins */
        {0xF0, {"ds_min_f32", 4, 0xBF800000, 0xC0000000, 0, 0xC0000000}},
        {0xF0, {"ds_max_f32", 4, 1, 2, 0, 2}},
        {0xC0, {"ds_max_f32", 4, 1, 2, 0, 1}}, /* flushed they are equal, and the result is not flushed */
        {0xF0, {"ds_cmpst_f32", 4, 0x80000000, 0, 0x40000000, 0x40000000}}, /* -0 == 0 */
        {0xF0, {"ds_cmpst_f32", 4, 0x7FC00000, 0x7FC00000, 0x40000000, 0x7FC00000}},
        {0xC0, {"ds_cmpst_f32", 4, 1, 2, 3, 0}},
        {0xF0, {"ds_add_f64", 8, 0x3FF0000000000000, 0x4000000000000000, 0, 0x4008000000000000}},
        {0x00, {"ds_add_f64", 8, 1, 2, 0, 3}}, /* never flushed */
        {0xF0, {"ds_add_f64", 8, 0x7FF0000000000000, 0xFFF0000000000000, 0, 0x7FF8000000000000}},
        {0xF0, {"ds_min_f64", 8, 0x7FF0000000000001, 0, 0, 0x7FF8000000000001}},
        {0xF0, {"ds_max_f64", 8, 0x8000000000000000, 0, 0, 0}},
        {0x30, {"ds_max_f64", 8, 1, 2, 0, 1}},
        {0xF0, {"ds_cmpst_f64", 8, 0x8000000000000000, 0, 0x3FF0000000000000, 0x3FF0000000000000}},
        {0xF0, {"ds_pk_add_f16", 4, 0x3C004000, 0x3C003C00, 0, 0x40004200}},
        {0xF0, {"ds_pk_add_f16", 4, 0x7BFF7C00, 0x7BFFFC00, 0, 0x7C007E00}}, /* overflow; infinity - infinity */
        {0xF0, {"ds_pk_add_f16", 4, 0x00010001, 0x00028001, 0, 0x00030000}},
        {0x30, {"ds_pk_add_f16", 4, 0x00010400, 0x00020001, 0, 0x00000400}},
        {0xF0, {"ds_pk_add_f16", 4, 0x68003C00, 0x3C001000, 0, 0x68003C00}}, /* halves round to even */
        {0xF0, {"ds_pk_add_bf16", 4, 0x3F803F80, 0x3F804000, 0, 0x40004040}},
        {0xF0, {"ds_pk_add_bf16", 4, 0x7F807F81, 0xFF803F80, 0, 0x7FC07FC1}},
        {0xF0, {"ds_pk_add_bf16", 4, 0x43803F80, 0x3F803B80, 0, 0x43803F80}}, /* to even */
        {0xF0, {"ds_pk_add_bf16", 4, 0x7F7F0001, 0x7F7F0001, 0, 0x7F800002}},
        {0x30, {"ds_pk_add_bf16", 4, 0x00010080, 0x00010001, 0, 0x00000080}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bare.wave.mode = cases[i].mode;
        check_atomic(&cases[i].atomic);
    }
}

static void permutes(void **state)
{
    (void)state;
    /* The manual's examples, of four lanes. */
    static const uint32_t address[4] = {0, 0, 12, 4};
    static const struct {
        const char *name;
        uint64_t exec;
        uint32_t result[4];
    } cases[] = {{"ds_permute_b32", 0xF, {'B', 'D', 0, 'C'}},
                 {"ds_permute_b32", 0xA, {'-', 'D', '-', 0}},
                 {"ds_bpermute_b32", 0xF, {'A', 'A', 'D', 'B'}},
                 {"ds_bpermute_b32", 0xA, {'-', 0, '-', 'B'}}};
    for (size_t c = 0; c < 4; c++) {
        const struct sim_instruction permute = access(cases[c].name, 0);
        for (unsigned lane = 0; lane < 4; lane++) {
            bare.vgpr[2][lane] = address[lane] + 0x400; /* only 7:2 count */
            bare.vgpr[4][lane] = 'A' + lane;
            bare.vgpr[16][lane] = '-';
        }
        set_exec(cases[c].exec);
        bare_succeeds(&permute);
        assert_memory_equal(bare.vgpr[16], cases[c].result, sizeof cases[c].result);
    }
    set_exec(UINT64_MAX); /* no LDS is needed; the offset is added; the destination may be the source */
    bare.wave.lds_bytes = 0;
    struct sim_instruction rotate = access("ds_bpermute_b32", 8);
    rotate.dst = V(4);
    for (unsigned lane = 0; lane < 64; lane++) {
        bare.vgpr[2][lane] = 4 * lane;
        bare.vgpr[4][lane] = 100 + lane;
    }
    bare_succeeds(&rotate);
    for (unsigned lane = 0; lane < 64; lane++)
        assert_int_equal(bare.vgpr[4][lane], 100 + (lane + 2) % 64);
}

static void swizzles(void **state)
{
    (void)state;
    /* Input 1, 2, ... 0x20 in each half; the manual's tables. */
    static const struct {
        int32_t offset;
        uint8_t result[32];
    } cases[] = {
        {0xE000, {0x01, 0x11, 0x09, 0x19, 0x05, 0x15, 0x0D, 0x1D, 0x03, 0x13, 0x0B, 0x1B, 0x07, 0x17, 0x0F, 0x1F,
                  0x02, 0x12, 0x0A, 0x1A, 0x06, 0x16, 0x0E, 0x1E, 0x04, 0x14, 0x0C, 0x1C, 0x08, 0x18, 0x10, 0x20}},
        {0xE010, {0x01, 0x09, 0x05, 0x0D, 0x03, 0x0B, 0x07, 0x0F, 0x02, 0x0A, 0x06, 0x0E, 0x04, 0x0C, 0x08, 0x10,
                  0x11, 0x19, 0x15, 0x1D, 0x13, 0x1B, 0x17, 0x1F, 0x12, 0x1A, 0x16, 0x1E, 0x14, 0x1C, 0x18, 0x20}},
        {0xC020, {2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                  18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 1}},
        {0xC420, {32, 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                  16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}},
        {0xC021, {1,  4,  3,  6,  5,  8,  7,  10, 9,  12, 11, 14, 13, 16, 15, 18,
                  17, 20, 19, 22, 21, 24, 23, 26, 25, 28, 27, 30, 29, 32, 31, 2}},
        {0x8000 | 0x1B, {4,  3,  2,  1,  8,  7,  6,  5,  12, 11, 10, 9,  16, 15, 14, 13,
                         20, 19, 18, 17, 24, 23, 22, 21, 28, 27, 26, 25, 32, 31, 30, 29}},
        {0x1F | 0x10 << 10, {17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
                             1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16}},
        {0x10 | 3 << 5, {4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,
                         20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct sim_instruction swizzle = access("ds_swizzle_b32", cases[c].offset);
        for (unsigned lane = 0; lane < 64; lane++)
            bare.vgpr[2][lane] = lane % 32 + 1 + (lane & 32) * 4;
        bare_succeeds(&swizzle);
        for (unsigned lane = 0; lane < 64; lane++)
            assert_int_equal(bare.vgpr[16][lane], cases[c].result[lane % 32] + (lane & 32) * 4);
    }
    set_exec(~2ull); /* lane 1 does not exist for others */
    struct sim_instruction swizzle = access("ds_swizzle_b32", 0x8055);
    bare_succeeds(&swizzle);
    assert_int_equal(bare.vgpr[16][0], 0);
    assert_int_equal(bare.vgpr[16][4], bare.vgpr[2][5]);
}

static void addresses_from_m0(void **state)
{
    (void)state;
    bare.wave.sgpr[SIM_M0] = 0xABCD0100;
    struct sim_instruction write = access("ds_write_addtid_b32", 16), read = access("ds_read_addtid_b32", 12);
    for (unsigned lane = 0; lane < 64; lane++)
        bare.vgpr[4][lane] = lane + 1;
    bare_succeeds(&write);
    assert_int_equal(lds32(0x110), 1);
    assert_int_equal(lds32(0x110 + 63 * 4), 64);
    bare_succeeds(&read);
    assert_int_equal(bare.vgpr[16][0], 0);
    assert_int_equal(bare.vgpr[16][10], 10);

    struct sim_instruction append = access("ds_append", 4), consume = access("ds_consume", 4);
    set_exec(SOME_LANES);
    bare.vgpr[16][1] = 0xEEEEEEEE; /* not active */
    set_lds(0x104, 7, 4);
    bare_succeeds(&append);
    const unsigned lanes = (unsigned)__builtin_popcountll(SOME_LANES);
    assert_int_equal(lds32(0x104), 7 + lanes);
    assert_int_equal(bare.vgpr[16][0], 7);
    assert_int_equal(bare.vgpr[16][63], 7);
    assert_int_equal(bare.vgpr[16][1], 0xEEEEEEEE);
    bare_succeeds(&consume);
    assert_int_equal(lds32(0x104), 7);
    assert_int_equal(bare.vgpr[16][0], 7 + lanes);
}

static void conditional_exchange(void **state)
{
    (void)state;
    struct sim_instruction exchange = access("ds_condxchg32_rtn_b64", 4);
    set_exec(1);
    set_lds(64, 0x0000002200000011, 8);
    bare.vgpr[2][0] = 62; /* 66 without its low bits */
    bare.vgpr[4][0] = 0x80000033;
    bare.vgpr[5][0] = 0x00000044;
    bare_succeeds(&exchange);
    assert_int_equal(bare.vgpr[16][0], 0x11);
    assert_int_equal(bare.vgpr[17][0], 0x22);
    assert_int_equal(lds32(64), 0x33);
    assert_int_equal(lds32(68), 0x22);
}

/* A matrix whose rows are 16 elements; lanes hold it row by row. Column l goes to lane l. */
static void transposed_reads(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned bits, dwords;
    } cases[] = {{"ds_read_b64_tr_b16", 16, 2},
                 {"ds_read_b64_tr_b8", 8, 2},
                 {"ds_read_b64_tr_b4", 4, 2},
                 {"ds_read_b96_tr_b6", 6, 3}};
    for (size_t c = 0; c < 4; c++) {
        const unsigned bits = cases[c].bits, lane_bytes = 4 * cases[c].dwords, stride = lane_bytes == 8 ? 8 : 16;
        const unsigned rows = 8 * lane_bytes / bits;
        const struct sim_instruction read = access(cases[c].name, 0);
        memset(bare.lds, 0, sizeof bare.lds);
        for (unsigned lane = 0; lane < 64; lane++)
            bare.vgpr[2][lane] = (63 - lane) * stride; /* lanes' addresses are their own */
        for (unsigned group = 0; group < 4; group++)
            for (unsigned row = 0; row < rows; row++)
                for (unsigned column = 0; column < 16; column++) {
                    const unsigned value = (group * 77 + row * 29 + column * 3) & ((1u << bits) - 1);
                    const unsigned element = row * 16 + column, lane = group * 16 + element / rows;
                    for (unsigned bit = 0; bit < bits; bit++) {
                        const unsigned at = element % rows * bits + bit;
                        bare.lds[(63 - lane) * stride + at / 8] |= (unsigned char)((value >> bit & 1) << at % 8);
                    }
                }
        bare_succeeds(&read);
        for (unsigned lane = 0; lane < 64; lane++)
            for (unsigned row = 0; row < rows; row++) {
                unsigned value = 0;
                for (unsigned bit = 0; bit < bits; bit++) {
                    const unsigned at = row * bits + bit;
                    value |= (bare.vgpr[16 + at / 32][lane] >> at % 32 & 1) << bit;
                }
                assert_int_equal(value, (lane / 16 * 77 + row * 29 + lane % 16 * 3) & ((1u << bits) - 1));
            }
    }
    set_exec(~1ull);
    struct sim_instruction read = access("ds_read_b64_tr_b8", 0);
    bare_faults(&read,
                "ds_read_b64_tr_b8 with EXEC 0xfffffffffffffffe: AMD's manual defines it for all lanes active only");
}

static void faults_name_what_is_wrong(void **state)
{
    (void)state;
    struct sim_instruction read = access("ds_read_b64", 0);
    set_exec(1ull << 9 | 1ull << 3);
    bare.vgpr[2][9] = BARE_LDS_BYTES - 4;
    bare_faults(&read, "lane 9 reads 8 bytes at LDS address 0xffc, and the workgroup's LDS has 4096 bytes");
    bare.vgpr[2][9] = BARE_LDS_BYTES - 8;
    bare_succeeds(&read);
    bare.vgpr[2][9] = (uint32_t)-8; /* negative addresses reach LDS with their offset */
    read.immediate = 16;
    bare_succeeds(&read);
    struct sim_instruction add = access("ds_add_u32", 2);
    bare.vgpr[2][9] = 0;
    bare_faults(&add, "lane 3 writes 4 bytes at LDS address 0x2, which must be a multiple of 4");
    assert_int_equal(lds32(0) | lds32(4), 0);
    struct sim_instruction store = access("ds_write_b32", 0xFFFF);
    bare_faults(&store, "lane 3 writes 4 bytes at LDS address 0xffff, and the workgroup's LDS has 4096 bytes");
    set_exec(0); /* nobody: nothing happens */
    bare_succeeds(&store);
    store.gds = 1;
    bare_faults(&store, "ds_write_b32 with gds: gfx942 and gfx950 have no global data share");
    bare.wave.vgpr_limit = 18;
    read = access("ds_read_b128", 0);
    bare_faults(&read, "vector register v19 is used, and the kernel's descriptor allocates 18 of them");
    read.dst = A(0); /* accumulation registers are as good */
    set_exec(UINT64_MAX);
    memset(bare.vgpr[2], 0, sizeof bare.vgpr[2]);
    set_lds(0, 0x1122334455667788, 8);
    bare_succeeds(&read);
    assert_int_equal(bare.vgpr[256][40], 0x55667788);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(loads, bare_set_up),
        cmocka_unit_test_setup(stores, bare_set_up),
        cmocka_unit_test_setup(two_addresses, bare_set_up),
        cmocka_unit_test_setup(integer_atomics, bare_set_up),
        cmocka_unit_test_setup(float_atomics, bare_set_up),
        cmocka_unit_test_setup(permutes, bare_set_up),
        cmocka_unit_test_setup(swizzles, bare_set_up),
        cmocka_unit_test_setup(addresses_from_m0, bare_set_up),
        cmocka_unit_test_setup(conditional_exchange, bare_set_up),
        cmocka_unit_test_setup(transposed_reads, bare_set_up),
        cmocka_unit_test_setup(faults_name_what_is_wrong, bare_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
