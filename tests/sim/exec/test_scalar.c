/* Scalar arithmetic, masks and control flow against C over values at the edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bare_wave.h"

static const uint32_t words[] = {0,          1,          2,          3,          31,         32,         33,
                                 0x7F,       0x80,       0xFF,       0x7FFF,     0x8000,     0xFFFF,     0x00080004,
                                 0x00200000, 0x00400008, 0x00210010, 0x12345678, 0x55555555, 0xAAAAAAAA, 0x7FFFFFFE,
                                 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFEFFFF, 0xFFFFFFFE, 0xFFFFFFFF};
#define WORDS (sizeof words / sizeof *words)
static const uint64_t doubles[] = {0,
                                   1,
                                   3,
                                   0x10,
                                   0x80000000,
                                   0xFFFFFFFF,
                                   0x100000000,
                                   0x123456789ABCDEF0,
                                   0x5555555555555555,
                                   0x7FFFFFFFFFFFFFFF,
                                   0x8000000000000000,
                                   0xFFFFFFFF00000000,
                                   0xFFFFFFFFFFFFFFFE,
                                   UINT64_MAX};
#define DOUBLES (sizeof doubles / sizeof *doubles)

/* Sources in s[10:11] and s[20:21], destination s[30:31] with a known value, so that unwanted writes show. */
#define OLD_DESTINATION 0xD15EA5EDDEADBEEFull
struct outcome {
    uint64_t d;
    uint32_t scc;
};
static struct outcome run(const char *name, uint64_t a, uint64_t b, uint32_t scc)
{
    struct sim_instruction instruction = bare_instruction(name);
    instruction.dst = 30;
    instruction.src[0] = 10;
    instruction.src[1] = 20;
    sim_set_sgpr64(&bare.wave, 10, a);
    sim_set_sgpr64(&bare.wave, 20, b);
    sim_set_sgpr64(&bare.wave, 30, OLD_DESTINATION);
    bare.wave.scc = scc;
    bare_execute(&instruction);
    assert_int_equal(bare.wave.faulted, 0);
    return (struct outcome){sim_sgpr64(&bare.wave, 30), bare.wave.scc};
}
static void expect(const char *name, uint64_t a, uint64_t b, uint32_t scc_before, uint64_t d, uint32_t scc)
{
    const struct outcome outcome = run(name, a, b, scc_before);
    if (outcome.d != d || outcome.scc != scc)
        fail_msg("%s of 0x%llx and 0x%llx, scc %u: 0x%llx scc %u, expected 0x%llx scc %u", name, (unsigned long long)a,
                 (unsigned long long)b, scc_before, (unsigned long long)outcome.d, outcome.scc, (unsigned long long)d,
                 scc);
}
/* 32-bit results leave the upper half of the old destination. */
static void expect32(const char *name, uint64_t a, uint64_t b, uint32_t scc_before, uint32_t d, uint32_t scc)
{
    expect(name, a, b, scc_before, (OLD_DESTINATION & 0xFFFFFFFF00000000) | d, scc);
}

#define EACH_PAIR \
    for (size_t i = 0; i < WORDS; i++) \
        for (size_t j = 0; j < WORDS; j++) \
            for (uint32_t scc = 0, a = words[i], b = words[j]; scc < 2; scc++)
#define EACH_PAIR_64 \
    for (size_t i = 0; i < DOUBLES; i++) \
        for (size_t j = 0; j < DOUBLES; j++) \
            for (uint64_t scc = 0, a = doubles[i], b = doubles[j]; scc < 2; scc++)

static void sums_and_differences(void **state)
{
    (void)state;
    EACH_PAIR
    {
        uint32_t d;
        int32_t s;
        uint32_t carry = __builtin_add_overflow(a, b, &d);
        expect32("s_add_u32", a, b, scc, d, carry);
        carry = __builtin_sub_overflow(a, b, &d);
        expect32("s_sub_u32", a, b, scc, d, carry);
        uint32_t overflow = __builtin_add_overflow((int32_t)a, (int32_t)b, &s);
        expect32("s_add_i32", a, b, scc, (uint32_t)s, overflow);
        overflow = __builtin_sub_overflow((int32_t)a, (int32_t)b, &s);
        expect32("s_sub_i32", a, b, scc, (uint32_t)s, overflow);
        const uint64_t sum = (uint64_t)a + b + scc;
        expect32("s_addc_u32", a, b, scc, (uint32_t)sum, sum > UINT32_MAX);
        const int64_t difference = (int64_t)a - b - scc;
        expect32("s_subb_u32", a, b, scc, (uint32_t)difference, difference < 0);
        const int32_t between = (int32_t)(a - b);
        expect32("s_absdiff_i32", a, b, scc, between < 0 ? 0 - (uint32_t)between : (uint32_t)between, between != 0);
        for (unsigned shift = 1; shift <= 4; shift++) {
            char name[] = "s_lshl0_add_u32";
            name[6] = (char)('0' + shift);
            const uint64_t shifted = ((uint64_t)a << shift) + b;
            expect32(name, a, b, scc, (uint32_t)shifted, shifted > UINT32_MAX);
        }
    }
}

static void carries_join_halves(void **state)
{
    (void)state;
    for (size_t i = 0; i < DOUBLES; i++) {
        for (size_t j = 0; j < DOUBLES; j++) {
            const uint64_t a = doubles[i], b = doubles[j];
            struct outcome low = run("s_add_u32", (uint32_t)a, (uint32_t)b, 1);
            struct outcome high = run("s_addc_u32", a >> 32, b >> 32, low.scc);
            assert_int_equal((uint32_t)low.d | high.d << 32, a + b);
            low = run("s_sub_u32", (uint32_t)a, (uint32_t)b, 1);
            high = run("s_subb_u32", a >> 32, b >> 32, low.scc);
            assert_int_equal((uint32_t)low.d | high.d << 32, a - b);
        }
    }
}

static void minimum_maximum_selection(void **state)
{
    (void)state;
    EACH_PAIR
    {
        const int32_t x = (int32_t)a, y = (int32_t)b;
        expect32("s_min_i32", a, b, scc, x < y ? a : b, x < y);
        expect32("s_max_i32", a, b, scc, x > y ? a : b, x >= y);
        expect32("s_min_u32", a, b, scc, a < b ? a : b, a < b);
        expect32("s_max_u32", a, b, scc, a > b ? a : b, a >= b);
        expect32("s_cselect_b32", a, b, scc, scc ? a : b, scc);
        expect32("s_pack_ll_b32_b16", a, b, scc, b << 16 | (uint16_t)a, scc);
        expect32("s_pack_lh_b32_b16", a, b, scc, b >> 16 << 16 | (uint16_t)a, scc);
        expect32("s_pack_hh_b32_b16", a, b, scc, b >> 16 << 16 | a >> 16, scc);
    }
    EACH_PAIR_64 expect("s_cselect_b64", a, b, (uint32_t)scc, scc ? a : b, (uint32_t)scc);
}

static void logic(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned truth; /* bit 2a + b: result of those bits */
    } operations[] = {{"and", 8},   {"or", 14},  {"xor", 6}, {"andn2", 4},
                      {"orn2", 13}, {"nand", 7}, {"nor", 1}, {"xnor", 9}};
    for (size_t o = 0; o < sizeof operations / sizeof *operations; o++) {
        char name32[16], name64[16];
        snprintf(name32, sizeof name32, "s_%s_b32", operations[o].name);
        snprintf(name64, sizeof name64, "s_%s_b64", operations[o].name);
        EACH_PAIR_64
        {
            uint64_t d = 0;
            for (unsigned bit = 0; bit < 64; bit++)
                d |= (uint64_t)(operations[o].truth >> (2 * (a >> bit & 1) + (b >> bit & 1)) & 1) << bit;
            expect(name64, a, b, (uint32_t)scc, d, d != 0);
            expect32(name32, a, b, (uint32_t)scc, (uint32_t)d, (uint32_t)d != 0);
        }
    }
}

static void shifts(void **state)
{
    (void)state;
    EACH_PAIR
    {
        const unsigned n = b % 32;
        expect32("s_lshl_b32", a, b, scc, a << n, a << n != 0);
        expect32("s_lshr_b32", a, b, scc, a >> n, a >> n != 0);
        const uint32_t arithmetic = n && a >> 31 ? a >> n | ~(UINT32_MAX >> n) : a >> n;
        expect32("s_ashr_i32", a, b, scc, arithmetic, arithmetic != 0);
    }
    for (size_t i = 0; i < DOUBLES; i++) {
        static const uint32_t amounts[] = {0, 1, 31, 32, 33, 63, 64, 65, 0xFFFFFFFF};
        for (size_t j = 0; j < sizeof amounts / sizeof *amounts; j++) {
            const uint64_t a = doubles[i];
            const unsigned n = amounts[j] % 64;
            expect("s_lshl_b64", a, amounts[j], 0, a << n, a << n != 0);
            expect("s_lshr_b64", a, amounts[j], 0, a >> n, a >> n != 0);
            const uint64_t arithmetic = n && a >> 63 ? a >> n | ~(UINT64_MAX >> n) : a >> n;
            expect("s_ashr_i64", a, amounts[j], 1, arithmetic, arithmetic != 0);
        }
    }
}

/* Bit by bit, as the manual's text says: bits offset to offset + size - 1, where those past the top are 0 or the sign. */
static uint64_t extracted(uint64_t a, unsigned width, unsigned offset, unsigned size, int is_signed)
{
    uint64_t d = 0;
    for (unsigned bit = 0; bit < width; bit++) {
        unsigned from = offset + (is_signed && bit >= size ? size - 1 : bit);
        if (size == 0 || (!is_signed && bit >= size))
            continue;
        if (from >= width && !is_signed)
            continue;
        from = from < width ? from : width - 1;
        d |= (a >> from & 1) << bit;
    }
    return d;
}
static void bit_fields(void **state)
{
    (void)state;
    static const unsigned sizes[] = {0, 1, 5, 8, 31, 32, 33, 63, 64, 127}, offsets[] = {0, 1, 8, 28, 31, 32, 40, 63};
    for (size_t i = 0; i < DOUBLES; i++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++) {
                const uint64_t a = doubles[i];
                const uint32_t control = sizes[s] << 16 | offsets[o];
                uint32_t d32 = (uint32_t)extracted((uint32_t)a, 32, offsets[o] % 32, sizes[s], 0);
                expect32("s_bfe_u32", (uint32_t)a, control, 0, d32, d32 != 0);
                d32 = (uint32_t)extracted((uint32_t)a, 32, offsets[o] % 32, sizes[s], 1);
                expect32("s_bfe_i32", (uint32_t)a, control, 0, d32, d32 != 0);
                uint64_t d = extracted(a, 64, offsets[o], sizes[s], 0);
                expect("s_bfe_u64", a, control, 1, d, d != 0);
                d = extracted(a, 64, offsets[o], sizes[s], 1);
                expect("s_bfe_i64", a, control, 1, d, d != 0);
            }
        }
    }
    expect32("s_bfm_b32", 4, 28, 1, 0xF0000000, 1);
    expect32("s_bfm_b32", 32, 3, 1, 0, 1); /* the size has 5 bits */
    expect32("s_bfm_b32", 31, 0, 0, 0x7FFFFFFF, 0);
    expect("s_bfm_b64", 40, 20, 0, 0x0FFFFFFFFFF00000, 0);
    expect("s_bfm_b64", 63, 63, 1, 0x8000000000000000, 1);
}

static void products(void **state)
{
    (void)state;
    EACH_PAIR
    {
        expect32("s_mul_i32", a, b, scc, (uint32_t)((uint64_t)a * b), scc);
        expect32("s_mul_hi_u32", a, b, scc, (uint32_t)((uint64_t)a * b >> 32), scc);
        expect32("s_mul_hi_i32", a, b, scc, (uint32_t)((uint64_t)((int64_t)(int32_t)a * (int32_t)b) >> 32), scc);
    }
}

static void one_operand(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORDS; i++) {
        const uint32_t a = words[i];
        uint32_t ones = 0, reversed = 0;
        for (unsigned bit = 0; bit < 32; bit++) {
            ones += a >> bit & 1;
            reversed |= (a >> bit & 1) << (31 - bit);
        }
        expect32("s_mov_b32", a, 0, 1, a, 1);
        expect32("s_not_b32", a, 0, 1, ~a, ~a != 0);
        expect32("s_abs_i32", a, 0, 0, a >> 31 ? 0 - a : a, a != 0);
        expect32("s_sext_i32_i8", a, 0, 0, a & 0x80 ? a | 0xFFFFFF00 : a & 0xFF, 0);
        expect32("s_sext_i32_i16", a, 0, 1, a & 0x8000 ? a | 0xFFFF0000 : a & 0xFFFF, 1);
        expect32("s_brev_b32", a, 0, 1, reversed, 1);
        expect32("s_bcnt1_i32_b32", a, 0, 1, ones, ones != 0);
        expect32("s_bcnt0_i32_b32", a, 0, 1, 32 - ones, ones != 32);
        expect32("s_cmov_b32", a, 0, 1, a, 1);
        expect32("s_cmov_b32", a, 0, 0, (uint32_t)OLD_DESTINATION, 0);
        expect32("s_bitset0_b32", a, 0, 0, (uint32_t)OLD_DESTINATION & ~(1u << a % 32), 0);
        expect32("s_bitset1_b32", a, 0, 1, (uint32_t)OLD_DESTINATION | 1u << a % 32, 1);
        expect("s_bitset0_b64", a, 0, 0, OLD_DESTINATION & ~(1ull << a % 64), 0);
        expect("s_bitset1_b64", a, 0, 1, OLD_DESTINATION | 1ull << a % 64, 1);
        uint64_t doubled = 0;
        for (unsigned bit = 0; bit < 64; bit++)
            doubled |= (uint64_t)(a >> bit / 2 & 1) << bit;
        expect("s_bitreplicate_b64_b32", a, 0, 1, doubled, 1);
    }
    for (size_t i = 0; i < DOUBLES; i++) {
        const uint64_t a = doubles[i];
        uint32_t ones = 0;
        uint64_t reversed = 0;
        for (unsigned bit = 0; bit < 64; bit++) {
            ones += a >> bit & 1;
            reversed |= (a >> bit & 1) << (63 - bit);
        }
        expect("s_mov_b64", a, 0, 1, a, 1);
        expect("s_not_b64", a, 0, 1, ~a, ~a != 0);
        expect("s_brev_b64", a, 0, 0, reversed, 0);
        expect32("s_bcnt1_i32_b64", a, 0, 1, ones, ones != 0);
        expect32("s_bcnt0_i32_b64", a, 0, 1, 64 - ones, ones != 64);
        expect("s_cmov_b64", a, 0, 1, a, 1);
        expect("s_cmov_b64", a, 0, 0, OLD_DESTINATION, 0);
    }
}

/* The manual's own examples. */
static void searches(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t a;
        int32_t d;
    } examples[] = {
        {"s_ff0_i32_b32", 0xAAAAAAAA, 0},
        {"s_ff0_i32_b32", 0x55555555, 1},
        {"s_ff0_i32_b32", 0, 0},
        {"s_ff0_i32_b32", 0xFFFFFFFF, -1},
        {"s_ff0_i32_b32", 0xFFFEFFFF, 16},
        {"s_ff0_i32_b64", UINT64_MAX, -1},
        {"s_ff0_i32_b64", 0xFFFFFFFF, 32},
        {"s_ff1_i32_b32", 0xAAAAAAAA, 1},
        {"s_ff1_i32_b32", 0, -1},
        {"s_ff1_i32_b32", 0x00010000, 16},
        {"s_ff1_i32_b64", 0, -1},
        {"s_ff1_i32_b64", 0x8000000000000000, 63},
        {"s_flbit_i32_b32", 0, -1},
        {"s_flbit_i32_b32", 0xCCCC, 16},
        {"s_flbit_i32_b32", 0x7FFFFFFF, 1},
        {"s_flbit_i32_b32", 0x80000000, 0},
        {"s_flbit_i32_b64", 1, 63},
        {"s_flbit_i32_b64", 0, -1},
        {"s_flbit_i32", 0, -1},
        {"s_flbit_i32", 0xCCCC, 16},
        {"s_flbit_i32", 0xFFFF3333, 16},
        {"s_flbit_i32", 0x7FFFFFFF, 1},
        {"s_flbit_i32", 0x80000000, 1},
        {"s_flbit_i32", 0xFFFFFFFF, -1},
        {"s_flbit_i32_i64", 0xFFFFFFFF3333FFFF, 32},
        {"s_flbit_i32_i64", UINT64_MAX, -1},
        {"s_flbit_i32_i64", 0x7FFFFFFFFFFFFFFF, 1},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        expect32(examples[i].name, examples[i].a, 0, 1, (uint32_t)examples[i].d, 1);
}

static void comparisons(void **state)
{
    (void)state;
    static const char *const names[] = {"eq", "lg", "gt", "ge", "lt", "le"};
    EACH_PAIR
    {
        const int order_signed = ((int32_t)a > (int32_t)b) - ((int32_t)a < (int32_t)b), order = (a > b) - (a < b);
        for (unsigned c = 0; c < 6; c++) {
            const int truths[6] = {0, 1, 1, 1, 0, 0}; /* of order 1 */
            const int of_equal[6] = {1, 0, 0, 1, 0, 1}, of_less[6] = {0, 1, 0, 0, 1, 1};
            char name[16];
            snprintf(name, sizeof name, "s_cmp_%s_i32", names[c]);
            expect(name, a, b, scc, OLD_DESTINATION,
                   (uint32_t)(order_signed > 0   ? truths[c]
                              : order_signed < 0 ? of_less[c]
                                                 : of_equal[c]));
            snprintf(name, sizeof name, "s_cmp_%s_u32", names[c]);
            expect(name, a, b, scc, OLD_DESTINATION,
                   (uint32_t)(order > 0   ? truths[c]
                              : order < 0 ? of_less[c]
                                          : of_equal[c]));
        }
        expect("s_bitcmp0_b32", a, b, scc, OLD_DESTINATION, !(a >> b % 32 & 1));
        expect("s_bitcmp1_b32", a, b, scc, OLD_DESTINATION, a >> b % 32 & 1);
    }
    EACH_PAIR_64
    {
        expect("s_cmp_eq_u64", a, b, (uint32_t)scc, OLD_DESTINATION, a == b);
        expect("s_cmp_lg_u64", a, b, (uint32_t)scc, OLD_DESTINATION, a != b);
        expect("s_bitcmp0_b64", a, b, (uint32_t)scc, OLD_DESTINATION, !(a >> b % 64 & 1));
        expect("s_bitcmp1_b64", a, b, (uint32_t)scc, OLD_DESTINATION, a >> b % 64 & 1);
    }
}

static struct outcome run_k(const char *name, uint32_t d, int32_t k, uint32_t scc)
{
    struct sim_instruction instruction = bare_instruction(name);
    if (instruction.opcode->dst_dwords)
        instruction.dst = 30;
    if (instruction.opcode->src_dwords[0])
        instruction.src[0] = 30;
    instruction.immediate = k;
    bare.wave.sgpr[30] = d;
    bare.wave.scc = scc;
    bare_execute(&instruction);
    assert_int_equal(bare.wave.faulted, 0);
    return (struct outcome){bare.wave.sgpr[30], bare.wave.scc};
}
static void constants(void **state)
{
    (void)state;
    static const int32_t ks[] = {0, 1, 0x7FFF, -1, -32768};
    for (size_t i = 0; i < WORDS; i++) {
        for (size_t j = 0; j < 5; j++) {
            const uint32_t a = words[i];
            const int32_t k = ks[j];
            int32_t sum;
            const uint32_t overflow = __builtin_add_overflow((int32_t)a, k, &sum);
            assert_int_equal(run_k("s_addk_i32", a, k, 0).d, (uint32_t)sum);
            assert_int_equal(run_k("s_addk_i32", a, k, !overflow).scc, overflow);
            assert_int_equal(run_k("s_mulk_i32", a, k, 1).d, (uint32_t)((int64_t)(int32_t)a * k));
            assert_int_equal(run_k("s_movk_i32", a, k, 1).d, (uint32_t)k);
            assert_int_equal(run_k("s_cmovk_i32", a, k, 1).d, (uint32_t)k);
            assert_int_equal(run_k("s_cmovk_i32", a, k, 0).d, a);
            assert_int_equal(run_k("s_cmpk_lt_i32", a, k, 0).scc, (int32_t)a < k);
            assert_int_equal(run_k("s_cmpk_lt_u32", a, k, 0).scc, a < (uint16_t)k); /* zero extended */
            assert_int_equal(run_k("s_cmpk_eq_u32", a, k, 0).scc, a == (uint16_t)k);
            assert_int_equal(run_k("s_cmpk_ge_i32", a, k, 0).scc, (int32_t)a >= k);
        }
    }
}

static void constants_as_sources(void **state)
{
    (void)state;
    struct sim_instruction instruction = bare_instruction("s_mov_b64");
    instruction.dst = 30;
    instruction.src[0] = SIM_INT_MINUS_1;
    bare_execute(&instruction);
    assert_int_equal(sim_sgpr64(&bare.wave, 30), UINT64_MAX);
    instruction.src[0] = SIM_LITERAL; /* 64-bit bits: zeros above a literal */
    instruction.literal = 0xFFFF0000;
    bare_execute(&instruction);
    assert_int_equal(sim_sgpr64(&bare.wave, 30), 0xFFFF0000);
    instruction = bare_instruction("s_ashr_i64"); /* signed: its sign */
    instruction.dst = 30;
    instruction.src[0] = SIM_LITERAL;
    instruction.literal = 0xFFFF0000;
    instruction.src[1] = SIM_INT_0 + 16;
    bare_execute(&instruction);
    assert_int_equal(sim_sgpr64(&bare.wave, 30), UINT64_MAX);
    instruction = bare_instruction("s_addc_u32");
    instruction.dst = 30;
    instruction.src[0] = SIM_SCC;
    instruction.src[1] = SIM_EXECZ;
    bare.wave.scc = 1;
    bare_execute(&instruction);
    assert_int_equal(bare.wave.sgpr[30], 2);
}

static void lane_masks(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned truth; /* bit 2s + e */
        int saves_result;
    } operations[] = {
        {"s_and_saveexec_b64", 8, 0},   {"s_or_saveexec_b64", 14, 0},   {"s_xor_saveexec_b64", 6, 0},
        {"s_andn2_saveexec_b64", 4, 0}, {"s_orn2_saveexec_b64", 13, 0}, {"s_nand_saveexec_b64", 7, 0},
        {"s_nor_saveexec_b64", 1, 0},   {"s_xnor_saveexec_b64", 9, 0},  {"s_andn1_saveexec_b64", 2, 0},
        {"s_orn1_saveexec_b64", 11, 0}, {"s_andn1_wrexec_b64", 2, 1},   {"s_andn2_wrexec_b64", 4, 1},
    };
    for (size_t o = 0; o < sizeof operations / sizeof *operations; o++) {
        EACH_PAIR_64
        {
            uint64_t result = 0;
            for (unsigned bit = 0; bit < 64; bit++)
                result |= (uint64_t)(operations[o].truth >> (2 * (a >> bit & 1) + (b >> bit & 1)) & 1) << bit;
            sim_set_sgpr64(&bare.wave, SIM_EXEC_LO, b);
            expect(operations[o].name, a, 0, (uint32_t)scc, operations[o].saves_result ? result : b, result != 0);
            assert_int_equal(sim_exec(&bare.wave), result);
        }
    }
    /* The saved mask may go where the source is. */
    struct sim_instruction instruction = bare_instruction("s_and_saveexec_b64");
    instruction.dst = instruction.src[0] = SIM_VCC_LO;
    sim_set_sgpr64(&bare.wave, SIM_EXEC_LO, 0xFF00FF);
    sim_set_sgpr64(&bare.wave, SIM_VCC_LO, 0x0FF0);
    bare_execute(&instruction);
    assert_int_equal(sim_exec(&bare.wave), 0x00F0);
    assert_int_equal(sim_sgpr64(&bare.wave, SIM_VCC_LO), 0xFF00FF);

    expect("s_wqm_b64", 0x8000000000000021, 0, 0, 0xF0000000000000FF, 1);
    expect("s_wqm_b64", 0, 0, 1, 0, 0);
    expect32("s_wqm_b32", 0x80000021, 0, 0, 0xF00000FF, 1);
    expect("s_quadmask_b64", 0x8000000000000021, 0, 0, 0x8003, 1);
    expect32("s_quadmask_b32", 0x80000021, 0, 0, 0x83, 1);
}

static void relative_registers(void **state)
{
    (void)state;
    bare.wave.sgpr[SIM_M0] = 10; /* the manual's examples */
    struct sim_instruction instruction = bare_instruction("s_movrels_b32");
    instruction.dst = 5;
    instruction.src[0] = 7;
    bare.wave.sgpr[17] = 1234;
    bare_execute(&instruction);
    assert_int_equal(bare.wave.sgpr[5], 1234);
    instruction = bare_instruction("s_movreld_b64");
    instruction.dst = 4;
    instruction.src[0] = 8;
    sim_set_sgpr64(&bare.wave, 8, 0x123456789);
    bare_execute(&instruction);
    assert_int_equal(sim_sgpr64(&bare.wave, 14), 0x123456789);
    bare.wave.sgpr[SIM_M0] = 98;
    bare_execute(&instruction);
    assert_int_equal(bare.wave.faulted, 1);
    assert_string_equal(stub_fault, "s4 indexed by M0 = 98 is not one of the wave's 102 scalar registers");
}

static void branches(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t scc;
        uint64_t vcc, exec;
        int taken;
    } cases[] = {
        {"s_branch", 0, 0, 0, 1},
        {"s_cbranch_scc0", 0, 0, 0, 1},
        {"s_cbranch_scc0", 1, 0, 0, 0},
        {"s_cbranch_scc1", 1, 0, 0, 1},
        {"s_cbranch_scc1", 0, 0, 0, 0},
        {"s_cbranch_vccz", 0, 0, 1, 1},
        {"s_cbranch_vccz", 0, 1ull << 32, 1, 0},
        {"s_cbranch_vccnz", 0, 1ull << 63, 0, 1},
        {"s_cbranch_vccnz", 0, 0, 1, 0},
        {"s_cbranch_execz", 1, 1, 0, 1},
        {"s_cbranch_execz", 1, 0, 1ull << 40, 0},
        {"s_cbranch_execnz", 0, 0, 2, 1},
        {"s_cbranch_execnz", 0, 1, 0, 0},
        {"s_cbranch_cdbgsys_or_user", 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sim_instruction instruction = bare_instruction(cases[i].name);
        instruction.immediate = -3;
        bare.wave.pc = 0x1004;
        bare.wave.scc = cases[i].scc;
        sim_set_sgpr64(&bare.wave, SIM_VCC_LO, cases[i].vcc);
        sim_set_sgpr64(&bare.wave, SIM_EXEC_LO, cases[i].exec);
        bare_execute(&instruction);
        if (bare.wave.pc != (cases[i].taken ? 0xFF8u : 0x1004u))
            fail_msg("%s (case %zu) goes to 0x%llx", cases[i].name, i, (unsigned long long)bare.wave.pc);
    }
}

static void calls(void **state)
{
    (void)state;
    struct sim_instruction instruction = bare_instruction("s_call_b64");
    instruction.dst = 30;
    instruction.immediate = 0x10;
    bare.wave.pc = 0x1004;
    bare_execute(&instruction);
    assert_int_equal(bare.wave.pc, 0x1044);
    assert_int_equal(sim_sgpr64(&bare.wave, 30), 0x1004);
    instruction = bare_instruction("s_swappc_b64"); /* the destination may be the source */
    instruction.dst = instruction.src[0] = 30;
    bare_execute(&instruction);
    assert_int_equal(bare.wave.pc, 0x1004);
    assert_int_equal(sim_sgpr64(&bare.wave, 30), 0x1044);
    instruction = bare_instruction("s_setpc_b64");
    instruction.src[0] = 30;
    bare_execute(&instruction);
    assert_int_equal(bare.wave.pc, 0x1044);
    instruction = bare_instruction("s_getpc_b64");
    instruction.dst = 32;
    bare_execute(&instruction);
    assert_int_equal(sim_sgpr64(&bare.wave, 32), 0x1044);
}

/* Fork on some lanes: the smaller side first, the other at the first join, and on at the second. */
static void forks(void **state)
{
    (void)state;
    struct sim_instruction fork = bare_instruction("s_cbranch_i_fork"), join = bare_instruction("s_cbranch_join");
    fork.src[0] = 20;
    fork.immediate = 0x40;
    join.src[0] = 22; /* 0: the stack's height before the fork */
    sim_set_sgpr64(&bare.wave, SIM_EXEC_LO, 0xFF);
    sim_set_sgpr64(&bare.wave, 20, 0x3F);
    bare.wave.pc = 0x1004;
    bare_execute(&fork);
    assert_int_equal(sim_exec(&bare.wave), 0xC0); /* fewer lanes fail */
    assert_int_equal(bare.wave.pc, 0x1004);
    bare_execute(&join);
    assert_int_equal(sim_exec(&bare.wave), 0x3F);
    assert_int_equal(bare.wave.pc, 0x1104);
    bare.wave.pc = 0x2000;
    bare_execute(&join);
    assert_int_equal(bare.wave.pc, 0x2000);
    assert_int_equal(bare.wave.mode >> 29, 0);
    sim_set_sgpr64(&bare.wave, 20, 0); /* all fail: no fork */
    bare_execute(&fork);
    assert_int_equal(bare.wave.pc, 0x2000);
    sim_set_sgpr64(&bare.wave, 20, 0xFFFF);
    bare_execute(&fork);
    assert_int_equal(bare.wave.pc, 0x2100);
}

static int32_t field(unsigned id, unsigned offset, unsigned size)
{
    return (int16_t)(id | offset << 6 | (size - 1) << 11);
}
static void hardware_registers(void **state)
{
    (void)state;
    struct sim_instruction get = bare_instruction("s_getreg_b32"), set = bare_instruction("s_setreg_b32");
    get.dst = 30;
    set.src[0] = 31;
    get.immediate = field(4, 4, 4);
    bare_execute(&get);
    assert_int_equal(bare.wave.sgpr[30], 3); /* of 0x1234 */
    get.immediate = field(4, 0, 32);
    bare_execute(&get);
    assert_int_equal(bare.wave.sgpr[30], 0x1234);

    bare.wave.mode = 0x2F0;
    bare.wave.sgpr[31] = 0xFFFFFFF9;
    set.immediate = field(1, 0, 4); /* rounding: the other bits stay */
    bare_execute(&set);
    assert_int_equal(bare.wave.mode, 0x2F9);
    set = bare_instruction("s_setreg_imm32_b32");
    set.immediate = field(1, 4, 2);
    set.literal = 0;
    bare_execute(&set);
    assert_int_equal(bare.wave.mode, 0x2C9);
    get.immediate = field(1, 3, 7);
    bare_execute(&get);
    assert_int_equal(bare.wave.sgpr[30], 0x2C9 >> 3);

    set.immediate = field(1, 12, 9);
    set.literal = 1;
    bare_execute(&set);
    assert_string_equal(stub_fault, "MODE 0x000012c9 enables floating-point exceptions, which are not modelled");
    assert_int_equal(bare.wave.mode, 0x2C9);
    bare_clear_fault();
    set.immediate = field(3, 0, 8);
    bare_execute(&set);
    assert_string_equal(stub_fault, "hardware register 3 is written, and only MODE (1) can be written here");
    bare_clear_fault();
    get.immediate = field(7, 0, 8);
    bare_execute(&get);
    assert_string_equal(stub_fault, "s_getreg_b32 reads hardware register 7, which is not modelled");
}

static void vector_register_indexing(void **state)
{
    (void)state;
    struct sim_instruction on = bare_instruction("s_set_gpr_idx_on");
    on.src[0] = 10;
    on.words[0] = 0xBF11090A; /* s_set_gpr_idx_on s10, gpr_idx(SRC0,DST) */
    bare.wave.sgpr[10] = 0x105;
    bare.wave.sgpr[SIM_M0] = 0xABCDEFEF;
    bare_execute(&on);
    assert_int_equal(bare.wave.sgpr[SIM_M0], 0xABCD9F05);
    assert_true(bare.wave.mode & SIM_MODE_GPR_INDEXING);
    struct sim_instruction move = bare_instruction("v_mov_b32"), copy;
    move.dst = V(3);
    move.src[0] = V(4);
    assert_int_equal(sim_index_registers(&bare.wave, &copy, &move), 1);
    assert_int_equal(copy.dst, V(8));
    assert_int_equal(copy.src[0], V(9));
    struct sim_instruction mode = bare_instruction("s_set_gpr_idx_mode");
    mode.immediate = 1; /* sources alone */
    bare_execute(&mode);
    move.src[0] = 10; /* a scalar register does not move */
    assert_int_equal(sim_index_registers(&bare.wave, &copy, &move), 1);
    assert_int_equal(copy.dst, V(3));
    assert_int_equal(copy.src[0], 10);
    struct sim_instruction index = bare_instruction("s_set_gpr_idx_idx");
    index.src[0] = SIM_INT_0 + 64;
    bare_execute(&index);
    assert_int_equal(bare.wave.sgpr[SIM_M0], 0xABCD1F40);
    struct sim_instruction off = bare_instruction("s_set_gpr_idx_off");
    bare_execute(&off);
    assert_false(bare.wave.mode & SIM_MODE_GPR_INDEXING);
}

static void what_asks_the_machine(void **state)
{
    (void)state;
    struct sim_instruction instruction = bare_instruction("s_barrier");
    bare_execute(&instruction);
    assert_int_equal(stub_barriers, 1);
    instruction = bare_instruction("s_sleep");
    instruction.immediate = 3;
    bare_execute(&instruction);
    assert_int_equal(stub_sleep_cycles, 192);
    instruction = bare_instruction("s_endpgm");
    bare_execute(&instruction);
    assert_int_equal(stub_ends, 1);
    static const char *const quiet[] = {"s_nop", "s_waitcnt", "s_setprio", "s_icache_inv", "s_wakeup", "s_ttracedata"};
    const struct bare_wave before = bare;
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        instruction = bare_instruction(quiet[i]);
        bare_execute(&instruction);
        assert_memory_equal(&before, &bare, sizeof bare);
    }
}

static void what_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t immediate;
        const char *fault; /* NULL: none */
    } cases[] = {
        {"s_trap", 2, "the kernel traps: s_trap 2 is __builtin_trap, abort or a failed assertion"},
        {"s_trap", 3, NULL},
        {"s_trap", 7, "s_trap 7: the amdhsa ABI gives traps other than 2 and 3 no meaning"},
        {"s_sethalt", 1, "s_sethalt 1 stops the wave for a debugger, and there is none to resume it"},
        {"s_sethalt", 0, NULL},
        {"s_setkill", 1, "s_setkill 1 kills the wave"},
        {"s_sendmsg", 1, NULL},
        {"s_sendmsg", 2,
         "s_sendmsg sends message 2: compute kernels have nobody to send other messages than 1, an interrupt"},
        {"s_sendmsghalt", 1, "s_sendmsghalt stops the wave, and there is nothing to resume it"},
        {"s_rfe_b64", 0, "s_rfe_b64 belongs into a trap handler, and the kernel runs outside one"},
        {"s_endpgm_saved", 0, "s_endpgm_saved belongs into a trap handler, and the kernel runs outside one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sim_instruction instruction = bare_instruction(cases[i].name);
        instruction.immediate = cases[i].immediate;
        bare_clear_fault();
        bare_execute(&instruction);
        assert_string_equal(stub_fault, cases[i].fault ? cases[i].fault : "");
    }
    bare_clear_fault();
    struct sim_instruction skip = bare_instruction("s_setvskip");
    skip.src[0] = SIM_INT_0 + 2;
    skip.src[1] = SIM_INT_0;
    bare_execute(&skip);
    assert_int_equal(bare.wave.faulted, 0);
    skip.src[1] = SIM_INT_0 + 1;
    bare_execute(&skip);
    assert_string_equal(stub_fault, "s_setvskip enables VSKIP, which is not modelled");

    bare_clear_fault();
    bare.wave.sgpr_limit = 32;
    struct sim_instruction move = bare_instruction("s_mov_b64");
    move.dst = 31;
    move.src[0] = 0;
    bare_execute(&move);
    assert_string_equal(stub_fault, "scalar register s32 is used, and the wave has 32 of them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sums_and_differences, bare_set_up),
        cmocka_unit_test_setup(carries_join_halves, bare_set_up),
        cmocka_unit_test_setup(minimum_maximum_selection, bare_set_up),
        cmocka_unit_test_setup(logic, bare_set_up),
        cmocka_unit_test_setup(shifts, bare_set_up),
        cmocka_unit_test_setup(bit_fields, bare_set_up),
        cmocka_unit_test_setup(products, bare_set_up),
        cmocka_unit_test_setup(one_operand, bare_set_up),
        cmocka_unit_test_setup(searches, bare_set_up),
        cmocka_unit_test_setup(comparisons, bare_set_up),
        cmocka_unit_test_setup(constants, bare_set_up),
        cmocka_unit_test_setup(constants_as_sources, bare_set_up),
        cmocka_unit_test_setup(lane_masks, bare_set_up),
        cmocka_unit_test_setup(relative_registers, bare_set_up),
        cmocka_unit_test_setup(branches, bare_set_up),
        cmocka_unit_test_setup(calls, bare_set_up),
        cmocka_unit_test_setup(forks, bare_set_up),
        cmocka_unit_test_setup(hardware_registers, bare_set_up),
        cmocka_unit_test_setup(vector_register_indexing, bare_set_up),
        cmocka_unit_test_setup(what_asks_the_machine, bare_set_up),
        cmocka_unit_test_setup(what_cannot_be, bare_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
