/* matrix.c against a plain triple loop. Where elements lie is written down here as AMD's matrix instruction calculator prints
 * it for each instruction (gfx950's by the same rule for its longer k), not as matrix.h computes it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bare_wave.h"
#include "float_reference.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum type { F16, BF16, F32, XF32, FP8, BF8, I8, F64 };
/* `per_lane`: consecutive elements along k that one lane has; 4 to 16 times as many lanes for the rest. */
struct shape {
    const char *name;
    unsigned m, k, blocks, per_lane; /* n is m */
    enum type a, b;
    int sparse, is_gfx950;
};

#define DENSE(name, m, k, blocks, per_lane, type) \
    { \
        "v_mfma_" name, m, k, blocks, per_lane, type, type, 0, 0 \
    }
#define EIGHTS(prefix, shape, m, k, per_lane, sparse, is_gfx950) \
    {prefix "_f32_" shape "_fp8_fp8", m, k, 1, per_lane, FP8, FP8, sparse, is_gfx950}, \
        {prefix "_f32_" shape "_fp8_bf8", m, k, 1, per_lane, FP8, BF8, sparse, is_gfx950}, \
        {prefix "_f32_" shape "_bf8_fp8", m, k, 1, per_lane, BF8, FP8, sparse, is_gfx950}, \
    { \
        prefix "_f32_" shape "_bf8_bf8", m, k, 1, per_lane, BF8, BF8, sparse, is_gfx950 \
    }
#define SPARSE(name, m, k, per_lane, type, is_gfx950) \
    { \
        "v_smfmac_" name, m, k, 1, per_lane, type, type, 1, is_gfx950 \
    }
static const struct shape shapes[] = {
    DENSE("f32_32x32x1_2b_f32", 32, 1, 2, 1, F32),
    DENSE("f32_16x16x1_4b_f32", 16, 1, 4, 1, F32),
    DENSE("f32_4x4x1_16b_f32", 4, 1, 16, 1, F32),
    DENSE("f32_32x32x2_f32", 32, 2, 1, 1, F32),
    DENSE("f32_16x16x4_f32", 16, 4, 1, 1, F32),
    DENSE("f32_32x32x4_2b_f16", 32, 4, 2, 4, F16),
    DENSE("f32_16x16x4_4b_f16", 16, 4, 4, 4, F16),
    DENSE("f32_4x4x4_16b_f16", 4, 4, 16, 4, F16),
    DENSE("f32_32x32x8_f16", 32, 8, 1, 4, F16),
    DENSE("f32_16x16x16_f16", 16, 16, 1, 4, F16),
    DENSE("f32_32x32x4_2b_bf16", 32, 4, 2, 4, BF16),
    DENSE("f32_16x16x4_4b_bf16", 16, 4, 4, 4, BF16),
    DENSE("f32_4x4x4_16b_bf16", 4, 4, 16, 4, BF16),
    DENSE("f32_32x32x8_bf16", 32, 8, 1, 4, BF16),
    DENSE("f32_16x16x16_bf16", 16, 16, 1, 4, BF16),
    DENSE("i32_32x32x4_2b_i8", 32, 4, 2, 4, I8),
    DENSE("i32_16x16x4_4b_i8", 16, 4, 4, 4, I8),
    DENSE("i32_4x4x4_16b_i8", 4, 4, 16, 4, I8),
    DENSE("i32_32x32x16_i8", 32, 16, 1, 8, I8),
    DENSE("i32_16x16x32_i8", 16, 32, 1, 8, I8),
    DENSE("f64_16x16x4_f64", 16, 4, 1, 1, F64),
    DENSE("f64_4x4x4_4b_f64", 4, 4, 4, 1, F64),
    DENSE("f32_16x16x8_xf32", 16, 8, 1, 2, XF32),
    DENSE("f32_32x32x4_xf32", 32, 4, 1, 2, XF32),
    EIGHTS("v_mfma", "16x16x32", 16, 32, 8, 0, 0),
    EIGHTS("v_mfma", "32x32x16", 32, 16, 8, 0, 0),
    EIGHTS("v_mfma", "16x16x32", 16, 32, 8, 0, 1),
    {"v_mfma_f32_16x16x32_f16", 16, 32, 1, 8, F16, F16, 0, 1},
    {"v_mfma_f32_32x32x16_f16", 32, 16, 1, 8, F16, F16, 0, 1},
    {"v_mfma_f32_16x16x32_bf16", 16, 32, 1, 8, BF16, BF16, 0, 1},
    {"v_mfma_f32_32x32x16_bf16", 32, 16, 1, 8, BF16, BF16, 0, 1},
    {"v_mfma_i32_16x16x64_i8", 16, 64, 1, 16, I8, I8, 0, 1},
    {"v_mfma_i32_32x32x32_i8", 32, 32, 1, 16, I8, I8, 0, 1},
    SPARSE("f32_16x16x32_f16", 16, 32, 8, F16, 0),
    SPARSE("f32_32x32x16_f16", 32, 16, 8, F16, 0),
    SPARSE("f32_16x16x32_bf16", 16, 32, 8, BF16, 0),
    SPARSE("f32_32x32x16_bf16", 32, 16, 8, BF16, 0),
    SPARSE("i32_16x16x64_i8", 16, 64, 16, I8, 0),
    SPARSE("i32_32x32x32_i8", 32, 32, 16, I8, 0),
    EIGHTS("v_smfmac", "16x16x64", 16, 64, 16, 1, 0),
    EIGHTS("v_smfmac", "32x32x32", 32, 32, 16, 1, 0),
    SPARSE("f32_16x16x64_f16", 16, 64, 16, F16, 1),
    SPARSE("f32_32x32x32_f16", 32, 32, 16, F16, 1),
    SPARSE("f32_16x16x64_bf16", 16, 64, 16, BF16, 1),
    SPARSE("f32_32x32x32_bf16", 32, 32, 16, BF16, 1),
    SPARSE("i32_16x16x128_i8", 16, 128, 32, I8, 1),
    SPARSE("i32_32x32x64_i8", 32, 64, 32, I8, 1),
    EIGHTS("v_smfmac", "16x16x128", 16, 128, 32, 1, 1),
    EIGHTS("v_smfmac", "32x32x64", 32, 64, 32, 1, 1),
};

static unsigned bits_of(enum type type)
{
    return type == F64 ? 64 : type == F32 || type == XF32 ? 32 : type == F16 || type == BF16 ? 16 : 8;
}

static uint64_t random_state;
static uint64_t random_bits(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 29 ^ random_state << 31;
}

/* ---- Where elements lie ---------------------------------------------------------------------------------------------- */

static unsigned lane_of_ab(const struct shape *shape, unsigned block, unsigned i, unsigned k)
{
    switch (shape->blocks * 100 + shape->m) {
    case 232: return 32 * block + i;
    case 416: return 16 * block + i;
    case 1604: return 4 * block + i;
    case 404: return 4 * block + 16 * k + i;
    case 132: return 32 * (k / shape->per_lane) + i;
    default: return 16 * (k / shape->per_lane) + i;
    }
}
static void place_d(const struct shape *shape, unsigned block, unsigned i, unsigned j, unsigned *lane, unsigned *reg)
{
    switch (shape->a == F64 ? 6400 + shape->m : shape->m) {
    case 6416: *reg = i / 4, *lane = 16 * (i % 4) + j; break;
    case 6404: *reg = 0, *lane = 16 * i + 4 * block + j; break;
    case 32: *reg = 16 * block + 4 * (i / 8) + i % 4, *lane = 32 * (i / 4) % 64 + j; break;
    case 16: *reg = 4 * block + i % 4, *lane = 16 * (i / 4) + j; break;
    default: *reg = i % 4, *lane = 4 * block + j; break;
    }
}

/* ---- Values ---------------------------------------------------------------------------------------------------------- */

static double value_of_8(uint32_t bits, int mantissa_bits, int bias, int is_fnuz)
{
    const uint32_t magnitude = bits & 0x7F, fraction = magnitude & ((1u << mantissa_bits) - 1);
    const int exponent = (int)(magnitude >> mantissa_bits);
    if (is_fnuz && bits == 0x80)
        return NAN;
    if (!is_fnuz && mantissa_bits == 3 && magnitude == 0x7F)
        return NAN;
    if (!is_fnuz && mantissa_bits == 2 && exponent == 31)
        return fraction ? NAN : bits & 0x80 ? -INFINITY : INFINITY;
    const double value = exponent ? ldexp(1 + (double)fraction / (1 << mantissa_bits), exponent - bias)
                                  : ldexp((double)fraction / (1 << mantissa_bits), 1 - bias);
    return bits & 0x80 ? -value : value;
}

static double element(enum type type, uint64_t bits, int is_gfx950)
{
    switch (type) {
    case F16: return value_of_half((uint32_t)bits);
    case BF16: return (double)f32(bits << 16);
    case F32: return (double)f32(bits);
    case XF32: {
        const float value = f32(bits); /* 11 significant bits, nearest even */
        int exponent;
        const double mantissa = frexp((double)value, &exponent);
        return ldexp(nearbyint(ldexp(mantissa, 11)), exponent - 11);
    }
    case FP8: return value_of_8((uint32_t)bits, 3, is_gfx950 ? 7 : 8, !is_gfx950);
    case BF8: return value_of_8((uint32_t)bits, 2, is_gfx950 ? 15 : 16, !is_gfx950);
    case I8: return (int8_t)bits;
    default: return f64(bits);
    }
}

/* Random finite numbers of moderate size; every bit pattern for 8 bits. */
static uint64_t random_element(enum type type)
{
    const uint64_t random = random_bits();
    switch (type) {
    case F16: return (random & 0x83FF) | (10 + (random >> 20 & 7)) << 10;
    case BF16: return (random & 0x807F) | (124 + (random >> 20 & 7)) << 7;
    case F32:
    case XF32: return (random & 0x807FFFFF) | (124 + (random >> 40 & 7)) << 23;
    case F64: return bits64((double)(int64_t)random * 0x1p-60);
    default: return random & 0xFF;
    }
}

/* ---- The wave -------------------------------------------------------------------------------------------------------- */

enum { ROW_A = 0, ROW_B = 8, ROW_INDEX = 16, ROW_C = 20, ROW_D = 60 };

static uint64_t get(unsigned row, unsigned number, unsigned bits, unsigned lane)
{
    const unsigned position = number * bits;
    if (bits == 64)
        return bare.vgpr[row + 2 * number][lane] | (uint64_t)bare.vgpr[row + 2 * number + 1][lane] << 32;
    return bare.vgpr[row + position / 32][lane] >> position % 32 & (0xFFFFFFFF >> (32 - bits));
}
static void put(unsigned row, unsigned number, unsigned bits, unsigned lane, uint64_t value)
{
    const unsigned position = number * bits;
    uint32_t *const dword = &bare.vgpr[row + position / 32][lane];
    if (bits == 64) {
        bare.vgpr[row + 2 * number][lane] = (uint32_t)value;
        bare.vgpr[row + 2 * number + 1][lane] = (uint32_t)(value >> 32);
    } else {
        *dword &= ~((0xFFFFFFFF >> (32 - bits)) << position % 32);
        *dword |= (uint32_t)value << position % 32;
    }
}

static void fill(const struct shape *shape)
{
    const unsigned a_elements = shape->sparse ? shape->per_lane / 2 : shape->per_lane;
    for (unsigned lane = 0; lane < SIM_LANES; lane++) {
        for (unsigned number = 0; number < a_elements; number++)
            put(ROW_A, number, bits_of(shape->a), lane, random_element(shape->a));
        for (unsigned number = 0; number < shape->per_lane; number++)
            put(ROW_B, number, bits_of(shape->b), lane, random_element(shape->b));
        for (unsigned number = 0; number < 32; number++) {
            if (shape->a == F64 && number < 8)
                put(ROW_C, number, 64, lane, random_element(F64));
            else if (shape->a != F64)
                put(ROW_C, number, 32, lane, shape->a == I8 ? random_bits() & 0xFFFFFFFF : random_element(F32));
        }
        /* Two different positions of 4, the lower one first, for each group. */
        for (unsigned nibble = 0; nibble < 8; nibble++) {
            static const uint8_t pairs[] = {0x4, 0x8, 0xC, 0x9, 0xD, 0xE};
            put(ROW_INDEX, nibble, 4, lane, pairs[random_bits() % 6]);
        }
    }
}

/* What the modifiers do, and where C is. */
struct variant {
    unsigned cbsz, abid, blgp;
    int constant_c, in_acc;
};

static unsigned lane_read_for_b(unsigned blgp, unsigned lane)
{
    static const unsigned first_of[] = {0, 0, 32, 0, 0, 16, 32, 48};
    if (blgp == 0)
        return lane;
    if (blgp == 3)
        return (lane + 16) % 64;
    return first_of[blgp] + lane % (blgp < 3 ? 32 : 16);
}

/* A's element (i, k), by its place, or 0 where a sparse row has none. */
static double value_of_a(const struct shape *shape, const struct variant *variant, unsigned block, unsigned i,
                         unsigned k)
{
    const unsigned bits = bits_of(shape->a);
    const double sign = shape->a == F64 && variant->blgp & 1 ? -1 : 1;
    if (!shape->sparse) {
        const unsigned source = block - block % (1u << variant->cbsz) + variant->abid;
        const unsigned lane = lane_of_ab(shape, source, i, k);
        return sign * element(shape->a, get(ROW_A, k % shape->per_lane, bits, lane), shape->is_gfx950);
    }
    const unsigned lane = lane_of_ab(shape, 0, i, k), group = k % shape->per_lane / 4, groups = shape->per_lane / 4;
    const unsigned set = variant->cbsz ? 0 : variant->abid;
    const uint64_t index = get(ROW_INDEX, set * groups + group, 4, lane);
    for (unsigned which = 0; which < 2; which++)
        if ((index >> 2 * which & 3) == k % 4)
            return element(shape->a, get(ROW_A, group * 2 + which, bits, lane), shape->is_gfx950);
    return 0;
}

static void check(const struct shape *shape, const struct variant *variant)
{
    stub_chip = shape->is_gfx950 ? SIM_GFX950 : SIM_GFX942;
    fill(shape);
    struct sim_instruction instruction = bare_instruction(shape->name);
    instruction.src[0] = V(ROW_A);
    instruction.src[1] = V(ROW_B);
    instruction.src[2] = shape->sparse ? V(ROW_INDEX) : variant->constant_c ? (uint16_t)(SIM_INT_0 + 1) : V(ROW_C);
    if (variant->constant_c && shape->a != I8)
        instruction.src[2] = SIM_FLOAT_0_5 + 2;
    instruction.dst = V(shape->sparse ? ROW_C : ROW_D);
    instruction.cbsz = (uint8_t)variant->cbsz;
    instruction.abid = (uint8_t)variant->abid;
    instruction.blgp = (uint8_t)variant->blgp;
    if (variant->in_acc) { /* everything moves to the accumulation registers, C to where D will be */
        memcpy(&bare.vgpr[256], bare.vgpr[ROW_A], 20 * sizeof *bare.vgpr);
        memcpy(&bare.vgpr[256 + 20], bare.vgpr[ROW_C], 40 * sizeof *bare.vgpr);
        instruction.src[0] = A(0);
        instruction.src[1] = A(8);
        instruction.src[2] = shape->sparse ? A(16) : A(20);
        instruction.dst = A(20);
    }
    static uint32_t before[SIM_VGPRS][SIM_LANES];
    memcpy(before, bare.vgpr, sizeof before);
    sim_set_sgpr64(&bare.wave, SIM_EXEC_LO, random_bits()); /* which does not matter */
    bare_succeeds(&instruction);
    static uint32_t after[SIM_VGPRS][SIM_LANES];
    memcpy(after, bare.vgpr, sizeof after);
    memcpy(bare.vgpr, before, sizeof before);

    const unsigned row_d = variant->in_acc ? 256 + 20 : shape->sparse ? ROW_C : ROW_D;
    for (unsigned block = 0; block < shape->blocks; block++)
        for (unsigned i = 0; i < shape->m; i++)
            for (unsigned j = 0; j < shape->m; j++) {
                unsigned lane, reg;
                place_d(shape, block, i, j, &lane, &reg);
                const uint64_t c_bits = get(ROW_C, reg, shape->a == F64 ? 64 : 32, lane);
                double sum64 = variant->constant_c ? 1 : f64(c_bits);
                float sum32 = variant->constant_c ? 1 : f32(c_bits);
                uint32_t sum = variant->constant_c ? 1 : (uint32_t)c_bits;
                if (shape->a == F64 && variant->blgp & 4)
                    sum64 = -sum64;
                for (unsigned k = 0; k < shape->k; k++) {
                    const double a = value_of_a(shape, variant, block, i, k);
                    const unsigned blgp = shape->a == F64 ? 0 : variant->blgp;
                    const unsigned b_lane = lane_read_for_b(blgp, lane_of_ab(shape, block, j, k));
                    const uint64_t b_bits = get(ROW_B, k % shape->per_lane, bits_of(shape->b), b_lane);
                    double b = element(shape->b, b_bits, shape->is_gfx950);
                    if (shape->a == F64 && variant->blgp & 2)
                        b = -b;
                    sum64 = fma(a, b, sum64);
                    sum32 = fmaf((float)a, (float)b, sum32);
                    if (shape->a == I8)
                        sum += (uint32_t)((int32_t)a * (int32_t)b);
                }
                uint64_t expected = shape->a == F64 ? bits64(sum64) : shape->a == I8 ? sum : bits32(sum32);
                if (shape->a != F64 && shape->a != I8 && sum32 != sum32)
                    expected = 0x7FC00000;
                uint64_t result = after[row_d + reg][lane];
                if (shape->a == F64)
                    result = after[row_d + 2 * reg][lane] | (uint64_t)after[row_d + 2 * reg + 1][lane] << 32;
                if (result != expected)
                    fail_msg("%s cbsz:%u abid:%u blgp:%u: block %u, (%u, %u) is %llx, not %llx", shape->name,
                             variant->cbsz, variant->abid, variant->blgp, block, i, j, (unsigned long long)result,
                             (unsigned long long)expected);
                if (shape->a == F64)
                    after[row_d + 2 * reg + 1][lane] = before[row_d + 2 * reg + 1][lane];
                after[row_d + reg * (shape->a == F64 ? 2 : 1)][lane] =
                    before[row_d + reg * (shape->a == F64 ? 2 : 1)][lane];
            }
    assert_memory_equal(after, before, sizeof before); /* nothing else was written */
}

static void test_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const struct variant from_registers = {0}, in_acc = {.in_acc = 1}, constant = {.constant_c = 1};
        check(&shapes[i], &from_registers);
        check(&shapes[i], &in_acc);
        if (!shapes[i].sparse)
            check(&shapes[i], &constant);
    }
}

static int has_both_modifiers(const struct shape *shape)
{
    const int is_old = shape->a == F32 || shape->a == I8 || shape->a == F16 || shape->a == BF16;
    return is_old && !shape->sparse && !shape->is_gfx950;
}

/* cbsz: 2^cbsz neighbouring blocks multiply A's block number abid of them. blgp: other lanes' B. */
static void test_modifiers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        if (!has_both_modifiers(&shapes[i]))
            continue;
        for (unsigned cbsz = 0; 1u << cbsz <= shapes[i].blocks; cbsz++)
            for (unsigned abid = 0; abid < 1u << cbsz; abid++) {
                const struct variant variant = {.cbsz = cbsz, .abid = abid, .blgp = abid % 8};
                check(&shapes[i], &variant);
            }
        for (unsigned blgp = 0; blgp < 8; blgp++)
            check(&shapes[i], &(const struct variant){.blgp = blgp});
    }
}

static void test_f64_negation(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (unsigned blgp = 0; blgp < 8 && shapes[i].a == F64; blgp++)
            check(&shapes[i], &(const struct variant){.blgp = blgp});
}

/* abid chooses among the sets of indices that a register holds: 32 bits, 4 for each group of a lane. */
static void test_index_sets(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const unsigned sets = shapes[i].sparse ? 32 / shapes[i].per_lane : 0;
        for (unsigned abid = 0; abid < sets; abid++) {
            check(&shapes[i], &(const struct variant){.abid = abid});
            check(&shapes[i], &(const struct variant){.abid = abid, .cbsz = 1});
        }
    }
}

static void test_refusals(void **state)
{
    (void)state;
    struct sim_instruction instruction = bare_instruction("v_mfma_f32_32x32x8_f16");
    instruction.src[0] = V(0);
    instruction.src[1] = V(4);
    instruction.src[2] = instruction.dst = V(20);
    instruction.cbsz = 1;
    bare_faults(&instruction,
                "v_mfma_f32_32x32x8_f16 has no cbsz:1 abid:0 blgp:0: the manual gives them no meaning for "
                "this shape");
    bare_clear_fault();
    instruction.cbsz = 0;
    instruction.dst = V(120);
    bare_faults(&instruction, "vector register v135 is used, and the kernel's descriptor allocates 128 of them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_shapes, bare_set_up),       cmocka_unit_test_setup(test_modifiers, bare_set_up),
        cmocka_unit_test_setup(test_f64_negation, bare_set_up), cmocka_unit_test_setup(test_index_sets, bare_set_up),
        cmocka_unit_test_setup(test_refusals, bare_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
