/* matrix.c - MFMA and SMFMAC: products of matrices that a whole wave holds. EXEC does not matter to them.
 *
 * An element of D is C's, to which the products along k are added in order, each with one rounding to nearest even: a chain
 * of fma in f32 (f64 in f64). Products of f16, bf16 and 8-bit floats are exact in f32. Subnormals are kept; MODE does not
 * matter. In which order, and how precisely, hardware adds the products of one instruction is not documented; results of
 * other orders differ in the last places. i8 is exact, modulo 2^32.
 */
#include "matrix.h"

#include <pthread.h>

#include "../machine/machine.h"
#include "exec.h"
#include "float.h"
#include "operands.h"

#define MAX_ROWS 32
#define MAX_DEPTH 128
/* One block, ready for multiplication; 32-bit integers are in the bits of floats' places. */
union operand {
    float f32[MAX_ROWS * MAX_DEPTH];
    int32_t i32[MAX_ROWS * MAX_DEPTH];
    double f64[16 * 4];
};
union accumulator {
    float f32[MAX_ROWS * MAX_ROWS];
    uint32_t i32[MAX_ROWS * MAX_ROWS];
    double f64[16 * 16];
};

static unsigned bits_of(enum sim_element element)
{
    static const uint8_t bits[] = {
        [SIM_ELEMENT_F16] = 16, [SIM_ELEMENT_BF16] = 16, [SIM_ELEMENT_F32] = 32, [SIM_ELEMENT_XF32] = 32,
        [SIM_ELEMENT_FP8] = 8,  [SIM_ELEMENT_BF8] = 8,   [SIM_ELEMENT_I8] = 8,   [SIM_ELEMENT_F64] = 64};
    return bits[element];
}

/* f32 with 10 bits of fraction, rounded to nearest even. */
static float xf32(uint32_t bits)
{
    const uint32_t rounded = bits + 0xFFF + (bits >> 13 & 1);
    return sim_float_of(sim_is_nan32(bits) ? bits | SIM_QUIET_32 : rounded & ~0x1FFFu);
}

/* All values of the 8-bit formats. */
enum { TABLE_FP8_FNUZ, TABLE_BF8_FNUZ, TABLE_FP8, TABLE_BF8, TABLES };
static float tables[TABLES][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;
static void fill_tables(void)
{
    const struct sim_float_format *const formats[] = {&sim_fp8_fnuz, &sim_bf8_fnuz, &sim_fp8, &sim_bf8};
    for (unsigned i = 0; i < TABLES; i++)
        for (uint32_t bits = 0; bits < 256; bits++) {
            const struct sim_number number = sim_unpack(formats[i], bits);
            tables[i][bits] = sim_float_of((uint32_t)sim_pack(&sim_f32, number, SIM_ROUND_NEAREST_EVEN));
        }
}

/* A's or B's registers, moved as blgp says. */
struct source {
    uint32_t (*rows)[SIM_LANES];
    enum sim_element element;
    int negate;
    const float *table;
    uint32_t moved[8][SIM_LANES];
};

/* Element `number` of each of `count` lanes from `lane` on. */
static void get_elements(union operand *out, unsigned index, const struct source *source, unsigned lane,
                         unsigned number, unsigned count)
{
    const unsigned bits = bits_of(source->element), shift = number * bits % 32;
    const uint32_t *const row = &source->rows[number * bits / 32][lane];
    const uint32_t *const high = &source->rows[number * bits / 32 + (bits == 64)][lane];
    float *const f32 = &out->f32[index];
    switch (source->element) {
    case SIM_ELEMENT_F16:
        for (unsigned i = 0; i < count; i++)
            f32[i] = sim_float_of_half(row[i] >> shift);
        break;
    case SIM_ELEMENT_BF16:
        for (unsigned i = 0; i < count; i++)
            f32[i] = sim_float_of_bf16(row[i] >> shift);
        break;
    case SIM_ELEMENT_F32:
        for (unsigned i = 0; i < count; i++)
            f32[i] = sim_float_of(row[i]);
        break;
    case SIM_ELEMENT_XF32:
        for (unsigned i = 0; i < count; i++)
            f32[i] = xf32(row[i]);
        break;
    case SIM_ELEMENT_FP8:
    case SIM_ELEMENT_BF8:
        for (unsigned i = 0; i < count; i++)
            f32[i] = source->table[row[i] >> shift & 0xFF];
        break;
    case SIM_ELEMENT_I8:
        for (unsigned i = 0; i < count; i++)
            out->i32[index + i] = (int8_t)(row[i] >> shift);
        break;
    case SIM_ELEMENT_F64:
        for (unsigned i = 0; i < count; i++) {
            const double value = sim_double_of(row[i] | (uint64_t)high[i] << 32);
            out->f64[index + i] = source->negate ? -value : value;
        }
        break;
    }
}

/* Lane whose registers `lane` reads of B. */
static unsigned permuted_lane(unsigned blgp, unsigned lane)
{
    switch (blgp) {
    case 0: return lane;
    case 1: return lane % 32;
    case 2: return lane % 32 + 32;
    case 3: return (lane + 16) % 64;
    default: return lane % 16 + 16 * (blgp - 4);
    }
}

static int open_source(struct source *source, struct sim_wave *wave, const struct sim_instruction *instruction,
                       unsigned index, enum sim_element element, unsigned blgp)
{
    const unsigned dwords = instruction->opcode->src_dwords[index];
    source->rows = sim_vector_rows(wave, instruction->src[index], dwords);
    if (!source->rows)
        return 0;
    source->element = element;
    source->negate = 0;
    source->table = NULL;
    if (blgp) {
        for (unsigned row = 0; row < dwords; row++)
            for (unsigned lane = 0; lane < SIM_LANES; lane++)
                source->moved[row][lane] = source->rows[row][permuted_lane(blgp, lane)];
        source->rows = source->moved;
    }
    if (element == SIM_ELEMENT_FP8 || element == SIM_ELEMENT_BF8) {
        pthread_once(&tables_once, fill_tables);
        const unsigned first = sim_machine_config(wave->machine)->chip == SIM_GFX942 ? TABLE_FP8_FNUZ : TABLE_FP8;
        source->table = tables[first + (element == SIM_ELEMENT_BF8)];
    }
    return 1;
}

/* ---- Multiplication -------------------------------------------------------------------------------------------------- */

/* A is [k][m], B [k][n], D [m][n]. Up to 16 elements of a row of D are in the host's registers while k goes on; n is a constant
 * where this is inlined. */
#define ROWS(T, suffix, fma) \
    __attribute__((always_inline)) static inline void rows##suffix( \
        T *restrict d, const T *restrict a, const T *restrict b, unsigned m, unsigned n, unsigned depth) \
    { \
        const unsigned width = n < 16 ? n : 16; \
        for (unsigned i = 0; i < m; i++) \
            for (unsigned first = 0; first < n; first += width) { \
                T row[16]; \
                for (unsigned j = 0; j < width; j++) \
                    row[j] = d[i * n + first + j]; \
                for (unsigned k = 0; k < depth; k++) \
                    for (unsigned j = 0; j < width; j++) \
                        row[j] = fma(a[k * m + i], b[k * n + first + j], row[j]); \
                for (unsigned j = 0; j < width; j++) \
                    d[i * n + first + j] = row[j]; \
            } \
    }
ROWS(float, 32, fmaf)
ROWS(double, 64, fma)

#define MULTIPLY(suffix, attribute) \
    attribute static void multiply32_##suffix(float *restrict d, const float *restrict a, const float *restrict b, \
                                              unsigned n, unsigned depth) \
    { \
        if (n == 32) \
            rows32(d, a, b, 32, 32, depth); \
        else if (n == 16) \
            rows32(d, a, b, 16, 16, depth); \
        else \
            rows32(d, a, b, 4, 4, depth); \
    } \
    attribute static void multiply64_##suffix(double *restrict d, const double *restrict a, const double *restrict b, \
                                              unsigned n, unsigned depth) \
    { \
        if (n == 16) \
            rows64(d, a, b, 16, 16, depth); \
        else \
            rows64(d, a, b, 4, 4, depth); \
    }
MULTIPLY(any, )
#if defined(__x86_64__)
MULTIPLY(avx2, __attribute__((target("avx2,fma"))))
#define HOST_HAS_FMA (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
#else
#define multiply32_avx2 multiply32_any
#define multiply64_avx2 multiply64_any
#define HOST_HAS_FMA 0
#endif

static void multiply_integers(uint32_t *restrict d, const int32_t *restrict a, const int32_t *restrict b, unsigned m,
                              unsigned n, unsigned depth)
{
    for (unsigned i = 0; i < m; i++)
        for (unsigned k = 0; k < depth; k++)
            for (unsigned j = 0; j < n; j++)
                d[i * n + j] += (uint32_t)(a[k * m + i] * b[k * n + j]);
}

static void multiply(const struct sim_matrix *matrix, union accumulator *d, const union operand *a,
                     const union operand *b)
{
    const unsigned m = matrix->m, n = matrix->n, k = matrix->k;
    if (matrix->a == SIM_ELEMENT_I8)
        multiply_integers(d->i32, a->i32, b->i32, m, n, k);
    else if (matrix->a == SIM_ELEMENT_F64)
        (HOST_HAS_FMA ? multiply64_avx2 : multiply64_any)(d->f64, a->f64, b->f64, n, k);
    else
        (HOST_HAS_FMA ? multiply32_avx2 : multiply32_any)(d->f32, a->f32, b->f32, n, k);
}

/* ---- Registers to blocks and back ------------------------------------------------------------------------------------ */

/* To [k][m]: a row of A at one k, or of B, lies in consecutive lanes. */
static void load_ab(const struct sim_matrix *matrix, union operand *out, const struct source *source, unsigned m,
                    unsigned block)
{
    for (unsigned k = 0; k < matrix->k; k++) {
        unsigned lane, number;
        sim_matrix_place_ab(matrix, m, block, 0, k, &lane, &number);
        get_elements(out, k * m, source, lane, number, m);
    }
}

/* Row i of a sparse A: each 4 elements along k have 2 that are stored, and 4 bits that say which. */
static void load_sparse_a(const struct sim_matrix *matrix, union operand *out, const struct source *source,
                          const uint32_t *indices, unsigned set)
{
    const unsigned m = matrix->m, groups_per_lane = m * matrix->k / 64 / 4;
    memset(out, 0, sizeof(float) * m * matrix->k);
    for (unsigned group = 0; group < matrix->k / 4u; group++)
        for (unsigned i = 0; i < m; i++) {
            const unsigned lane = group / groups_per_lane * m + i, in_lane = group % groups_per_lane;
            const unsigned index = indices[lane] >> (set * groups_per_lane + in_lane) * 4;
            for (unsigned which = 0; which < 2; which++) {
                const unsigned k = group * 4 + (index >> 2 * which & 3);
                get_elements(out, k * m + i, source, lane, in_lane * 2 + which, 1);
            }
        }
}

/* Where C comes from: registers, or one constant for all elements. */
struct addend {
    uint32_t (*rows)[SIM_LANES];
    uint64_t constant;
    int negate;
};

/* Row i of C and of D lies in consecutive lanes of one register, or pair. */
static void load_c(const struct sim_matrix *matrix, union accumulator *out, const struct addend *c, unsigned block)
{
    const unsigned n = matrix->n;
    for (unsigned i = 0; i < matrix->m; i++) {
        unsigned lane, reg;
        sim_matrix_place_d(matrix, block, i, 0, &lane, &reg);
        for (unsigned j = 0; j < n && matrix->a == SIM_ELEMENT_F64; j++) {
            const uint64_t bits =
                c->rows ? c->rows[2 * reg][lane + j] | (uint64_t)c->rows[2 * reg + 1][lane + j] << 32 : c->constant;
            out->f64[i * n + j] = c->negate ? -sim_double_of(bits) : sim_double_of(bits);
        }
        for (unsigned j = 0; j < n && matrix->a != SIM_ELEMENT_F64; j++)
            out->i32[i * n + j] = c->rows ? c->rows[reg][lane + j] : (uint32_t)c->constant;
    }
}

/* Which NaN a result is, is the host's choice: make it one. */
static void store_d(const struct sim_matrix *matrix, uint32_t (*rows)[SIM_LANES], const union accumulator *d,
                    unsigned block)
{
    const unsigned n = matrix->n;
    for (unsigned i = 0; i < matrix->m; i++) {
        unsigned lane, reg;
        sim_matrix_place_d(matrix, block, i, 0, &lane, &reg);
        switch (matrix->a) {
        case SIM_ELEMENT_F64:
            for (unsigned j = 0; j < n; j++) {
                const uint64_t bits = sim_double_bits(d->f64[i * n + j]);
                const uint64_t kept = sim_is_nan64(bits) ? 0x7FF8000000000000 : bits;
                rows[2 * reg][lane + j] = (uint32_t)kept;
                rows[2 * reg + 1][lane + j] = (uint32_t)(kept >> 32);
            }
            break;
        case SIM_ELEMENT_I8: memcpy(&rows[reg][lane], &d->i32[i * n], n * sizeof(uint32_t)); break;
        default:
            for (unsigned j = 0; j < n; j++) {
                const uint32_t bits = d->i32[i * n + j];
                rows[reg][lane + j] = sim_is_nan32(bits) ? 0x7FC00000 : bits;
            }
        }
    }
}

/* ---- Execution ------------------------------------------------------------------------------------------------------- */

static int modifiers_exist(struct sim_wave *wave, const struct sim_instruction *instruction,
                           const struct sim_matrix *matrix)
{
    const unsigned blgp_limit = matrix->has_permute_b ? 8 : 1, cbsz_limit = matrix->has_broadcast_a ? 8 : 1;
    const unsigned group = 1u << instruction->cbsz;
    const int cbsz_fits = matrix->sparse || (group <= matrix->blocks && instruction->abid < group);
    if (instruction->blgp < blgp_limit && instruction->cbsz < cbsz_limit && cbsz_fits)
        return 1;
    sim_fault(wave, "%s has no cbsz:%u abid:%u blgp:%u: the manual gives them no meaning for this shape",
              instruction->opcode->name, instruction->cbsz, instruction->abid, instruction->blgp);
    return 0;
}

static void dense(struct sim_wave *wave, const struct sim_instruction *instruction, const struct sim_matrix *matrix)
{
    const int is_f64 = matrix->a == SIM_ELEMENT_F64;
    struct source a, b;
    struct addend c = {NULL, 0, 0};
    if (!modifiers_exist(wave, instruction, matrix) || !open_source(&a, wave, instruction, 0, matrix->a, 0) ||
        !open_source(&b, wave, instruction, 1, matrix->b, is_f64 ? 0 : instruction->blgp))
        return;
    if (is_f64) {
        a.negate = instruction->blgp & 1;
        b.negate = instruction->blgp >> 1 & 1;
        c.negate = instruction->blgp >> 2 & 1;
    }
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, instruction->opcode->dst_dwords);
    if (!rows)
        return;
    if (instruction->src[2] >= SIM_VGPR_FIRST) {
        c.rows = sim_vector_rows(wave, instruction->src[2], instruction->opcode->src_dwords[2]);
        if (!c.rows)
            return;
    } else {
        const enum sim_type type = matrix->a == SIM_ELEMENT_I8 ? SIM_B32 : SIM_F32;
        c.constant = is_f64 ? sim_scalar64(wave, instruction, instruction->src[2], SIM_F64)
                            : sim_scalar32(wave, instruction, instruction->src[2], type);
    }

    /* All blocks are read before D is written, which may be A or B. */
    static _Thread_local union operand left, right;
    static _Thread_local union accumulator result[16];
    for (unsigned block = 0; block < matrix->blocks; block++) {
        const unsigned block_of_a = (block & ~((1u << instruction->cbsz) - 1)) + instruction->abid;
        load_ab(matrix, &left, &a, matrix->m, block_of_a);
        load_ab(matrix, &right, &b, matrix->n, block);
        load_c(matrix, &result[block], &c, block);
        multiply(matrix, &result[block], &left, &right);
    }
    for (unsigned block = 0; block < matrix->blocks; block++)
        store_d(matrix, rows, &result[block], block);
}

static void sparse(struct sim_wave *wave, const struct sim_instruction *instruction, const struct sim_matrix *matrix)
{
    struct source a, b;
    if (!modifiers_exist(wave, instruction, matrix) || !open_source(&a, wave, instruction, 0, matrix->a, 0) ||
        !open_source(&b, wave, instruction, 1, matrix->b, 0))
        return;
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, instruction->opcode->dst_dwords);
    uint32_t(*indices)[SIM_LANES] = sim_vector_rows(wave, instruction->src[2], 1);
    if (!rows || !indices)
        return;
    /* A register of indices holds as many sets as fit; cbsz other than 0 means the first. */
    const unsigned bits_of_set = matrix->m * matrix->k / 64u, sets = 32 / bits_of_set;
    const unsigned set = instruction->cbsz ? 0 : instruction->abid;
    if (set >= sets) {
        sim_fault(wave, "%s has abid:%u, but its register of indices holds %u sets", instruction->opcode->name, set,
                  sets);
        return;
    }
    static _Thread_local union operand left, right;
    static _Thread_local union accumulator result;
    const struct addend d = {rows, 0, 0};
    load_sparse_a(matrix, &left, &a, indices[0], set);
    load_ab(matrix, &right, &b, matrix->n, 0);
    load_c(matrix, &result, &d, 0);
    multiply(matrix, &result, &left, &right);
    store_d(matrix, rows, &result, 0);
}

#define SHAPE(opcode, execute, ...) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        static const struct sim_matrix matrix = {__VA_ARGS__}; \
        execute(wave, instruction, &matrix); \
    }
/* Shapes that gfx908 and gfx90a had have both modifiers, but for f64; newer ones have none. */
#define MFMA_BOTH(opcode, m, n, k, blocks, element) \
    SHAPE(v_mfma_##opcode, dense, m, n, k, blocks, SIM_ELEMENT_##element, SIM_ELEMENT_##element, 0, 1, 1)
#define MFMA_NONE(opcode, m, n, k, a, b) \
    SHAPE(v_mfma_##opcode, dense, m, n, k, 1, SIM_ELEMENT_##a, SIM_ELEMENT_##b, 0, 0, 0)
#define MFMA_F64(opcode, m, n, k, blocks) \
    SHAPE(v_mfma_##opcode, dense, m, n, k, blocks, SIM_ELEMENT_F64, SIM_ELEMENT_F64, 0, 0, 1)
#define SMFMAC(opcode, m, n, k, a, b) \
    SHAPE(v_smfmac_##opcode, sparse, m, n, k, 1, SIM_ELEMENT_##a, SIM_ELEMENT_##b, 1, 1, 0)
/* The four combinations of 8-bit floats. */
#define MFMA_8(shape, m, n, k) \
    MFMA_NONE(f32_##shape##_bf8_bf8, m, n, k, BF8, BF8) \
    MFMA_NONE(f32_##shape##_bf8_fp8, m, n, k, BF8, FP8) \
    MFMA_NONE(f32_##shape##_fp8_bf8, m, n, k, FP8, BF8) \
    MFMA_NONE(f32_##shape##_fp8_fp8, m, n, k, FP8, FP8)
#define SMFMAC_8(shape, m, n, k) \
    SMFMAC(f32_##shape##_bf8_bf8, m, n, k, BF8, BF8) \
    SMFMAC(f32_##shape##_bf8_fp8, m, n, k, BF8, FP8) \
    SMFMAC(f32_##shape##_fp8_bf8, m, n, k, FP8, BF8) \
    SMFMAC(f32_##shape##_fp8_fp8, m, n, k, FP8, FP8)

MFMA_BOTH(f32_32x32x1_2b_f32, 32, 32, 1, 2, F32)
MFMA_BOTH(f32_16x16x1_4b_f32, 16, 16, 1, 4, F32)
MFMA_BOTH(f32_4x4x1_16b_f32, 4, 4, 1, 16, F32)
MFMA_BOTH(f32_32x32x2_f32, 32, 32, 2, 1, F32)
MFMA_BOTH(f32_16x16x4_f32, 16, 16, 4, 1, F32)
MFMA_BOTH(f32_32x32x4_2b_f16, 32, 32, 4, 2, F16)
MFMA_BOTH(f32_16x16x4_4b_f16, 16, 16, 4, 4, F16)
MFMA_BOTH(f32_4x4x4_16b_f16, 4, 4, 4, 16, F16)
MFMA_BOTH(f32_32x32x8_f16, 32, 32, 8, 1, F16)
MFMA_BOTH(f32_16x16x16_f16, 16, 16, 16, 1, F16)
MFMA_BOTH(f32_32x32x4_2b_bf16, 32, 32, 4, 2, BF16)
MFMA_BOTH(f32_16x16x4_4b_bf16, 16, 16, 4, 4, BF16)
MFMA_BOTH(f32_4x4x4_16b_bf16, 4, 4, 4, 16, BF16)
MFMA_BOTH(f32_32x32x8_bf16, 32, 32, 8, 1, BF16)
MFMA_BOTH(f32_16x16x16_bf16, 16, 16, 16, 1, BF16)
MFMA_BOTH(i32_32x32x4_2b_i8, 32, 32, 4, 2, I8)
MFMA_BOTH(i32_16x16x4_4b_i8, 16, 16, 4, 4, I8)
MFMA_BOTH(i32_4x4x4_16b_i8, 4, 4, 4, 16, I8)
MFMA_BOTH(i32_32x32x16_i8, 32, 32, 16, 1, I8)
MFMA_BOTH(i32_16x16x32_i8, 16, 16, 32, 1, I8)
MFMA_F64(f64_16x16x4_f64, 16, 16, 4, 1)
MFMA_F64(f64_4x4x4_4b_f64, 4, 4, 4, 4)
MFMA_NONE(f32_16x16x8_xf32, 16, 16, 8, XF32, XF32)
MFMA_NONE(f32_32x32x4_xf32, 32, 32, 4, XF32, XF32)
MFMA_8(16x16x32, 16, 16, 32)
MFMA_8(32x32x16, 32, 32, 16)
MFMA_NONE(f32_16x16x32_f16, 16, 16, 32, F16, F16)
MFMA_NONE(f32_32x32x16_f16, 32, 32, 16, F16, F16)
MFMA_NONE(f32_16x16x32_bf16, 16, 16, 32, BF16, BF16)
MFMA_NONE(f32_32x32x16_bf16, 32, 32, 16, BF16, BF16)
MFMA_NONE(i32_16x16x64_i8, 16, 16, 64, I8, I8)
MFMA_NONE(i32_32x32x32_i8, 32, 32, 32, I8, I8)
SMFMAC(f32_16x16x32_f16, 16, 16, 32, F16, F16)
SMFMAC(f32_32x32x16_f16, 32, 32, 16, F16, F16)
SMFMAC(f32_16x16x32_bf16, 16, 16, 32, BF16, BF16)
SMFMAC(f32_32x32x16_bf16, 32, 32, 16, BF16, BF16)
SMFMAC(i32_16x16x64_i8, 16, 16, 64, I8, I8)
SMFMAC(i32_32x32x32_i8, 32, 32, 32, I8, I8)
SMFMAC_8(16x16x64, 16, 16, 64)
SMFMAC_8(32x32x32, 32, 32, 32)
SMFMAC(f32_16x16x64_f16, 16, 16, 64, F16, F16)
SMFMAC(f32_32x32x32_f16, 32, 32, 32, F16, F16)
SMFMAC(f32_16x16x64_bf16, 16, 16, 64, BF16, BF16)
SMFMAC(f32_32x32x32_bf16, 32, 32, 32, BF16, BF16)
SMFMAC(i32_16x16x128_i8, 16, 16, 128, I8, I8)
SMFMAC(i32_32x32x64_i8, 32, 32, 64, I8, I8)
SMFMAC_8(16x16x128, 16, 16, 128)
SMFMAC_8(32x32x64, 32, 32, 64)

#define BIND_8(opcode) \
    SIM_BIND(opcode##_bf8_bf8), SIM_BIND(opcode##_bf8_fp8), SIM_BIND(opcode##_fp8_bf8), SIM_BIND(opcode##_fp8_fp8)
static const struct sim_binding entries[] = {
    SIM_BIND(v_mfma_f32_32x32x1_2b_f32),  SIM_BIND(v_mfma_f32_16x16x1_4b_f32),  SIM_BIND(v_mfma_f32_4x4x1_16b_f32),
    SIM_BIND(v_mfma_f32_32x32x2_f32),     SIM_BIND(v_mfma_f32_16x16x4_f32),     SIM_BIND(v_mfma_f32_32x32x4_2b_f16),
    SIM_BIND(v_mfma_f32_16x16x4_4b_f16),  SIM_BIND(v_mfma_f32_4x4x4_16b_f16),   SIM_BIND(v_mfma_f32_32x32x8_f16),
    SIM_BIND(v_mfma_f32_16x16x16_f16),    SIM_BIND(v_mfma_f32_32x32x4_2b_bf16), SIM_BIND(v_mfma_f32_16x16x4_4b_bf16),
    SIM_BIND(v_mfma_f32_4x4x4_16b_bf16),  SIM_BIND(v_mfma_f32_32x32x8_bf16),    SIM_BIND(v_mfma_f32_16x16x16_bf16),
    SIM_BIND(v_mfma_i32_32x32x4_2b_i8),   SIM_BIND(v_mfma_i32_16x16x4_4b_i8),   SIM_BIND(v_mfma_i32_4x4x4_16b_i8),
    SIM_BIND(v_mfma_i32_32x32x16_i8),     SIM_BIND(v_mfma_i32_16x16x32_i8),     SIM_BIND(v_mfma_f64_16x16x4_f64),
    SIM_BIND(v_mfma_f64_4x4x4_4b_f64),    SIM_BIND(v_mfma_f32_16x16x8_xf32),    SIM_BIND(v_mfma_f32_32x32x4_xf32),
    BIND_8(v_mfma_f32_16x16x32),          BIND_8(v_mfma_f32_32x32x16),          SIM_BIND(v_mfma_f32_16x16x32_f16),
    SIM_BIND(v_mfma_f32_32x32x16_f16),    SIM_BIND(v_mfma_f32_16x16x32_bf16),   SIM_BIND(v_mfma_f32_32x32x16_bf16),
    SIM_BIND(v_mfma_i32_16x16x64_i8),     SIM_BIND(v_mfma_i32_32x32x32_i8),     SIM_BIND(v_smfmac_f32_16x16x32_f16),
    SIM_BIND(v_smfmac_f32_32x32x16_f16),  SIM_BIND(v_smfmac_f32_16x16x32_bf16), SIM_BIND(v_smfmac_f32_32x32x16_bf16),
    SIM_BIND(v_smfmac_i32_16x16x64_i8),   SIM_BIND(v_smfmac_i32_32x32x32_i8),   BIND_8(v_smfmac_f32_16x16x64),
    BIND_8(v_smfmac_f32_32x32x32),        SIM_BIND(v_smfmac_f32_16x16x64_f16),  SIM_BIND(v_smfmac_f32_32x32x32_f16),
    SIM_BIND(v_smfmac_f32_16x16x64_bf16), SIM_BIND(v_smfmac_f32_32x32x32_bf16), SIM_BIND(v_smfmac_i32_16x16x128_i8),
    SIM_BIND(v_smfmac_i32_32x32x64_i8),   BIND_8(v_smfmac_f32_16x16x128),       BIND_8(v_smfmac_f32_32x32x64),
};
const struct sim_bindings sim_matrix = {entries, sizeof entries / sizeof *entries};
