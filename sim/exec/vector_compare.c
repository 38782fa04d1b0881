/* vector_compare.c - v_cmp_*, v_cmpx_* and the tests of a float's class.
 *
 * A comparison writes a bit per lane to an SGPR pair; v_cmpx writes the same to EXEC, too. No predicate but the u family is
 * true of NaNs, and none traps. Subnormal sources count as 0 where MODE does not allow them, except for classes.
 */
#include "float.h"

static void write_comparison(struct sim_wave *wave, const struct sim_instruction *instruction, const uint32_t *truth,
                             int to_exec)
{
    const uint64_t mask = sim_collect_mask(truth) & sim_exec(wave);
    sim_write_mask(wave, instruction, mask);
    if (to_exec)
        sim_set_sgpr64(wave, SIM_EXEC_LO, mask);
}

/* Floats as they are compared: exact, and without the subnormals that MODE does not allow. */
#define SIM_SOURCE_f16(index, buffer) sim_source32(wave, instruction, index, SIM_F16, buffer)
#define SIM_LANE_f16 uint32_t
#define COMPARED_f16(bits) sim_float_of_half(flush ? sim_flush16(bits) : (bits))
#define COMPARED_f32(bits) sim_float_of(flush ? sim_flush32(bits) : (bits))
#define COMPARED_f64(bits) sim_double_of(flush ? sim_flush64(bits) : (bits))
#define COMPARED_u16(bits) ((uint32_t)SIM_FROM_u16(bits))
#define COMPARED_i16(bits) ((int32_t)SIM_FROM_i16(bits))
#define COMPARED_u32(bits) SIM_FROM_u32(bits)
#define COMPARED_i32(bits) SIM_FROM_i32(bits)
#define COMPARED_u64(bits) SIM_FROM_u64(bits)
#define COMPARED_i64(bits) SIM_FROM_i64(bits)
#define FLUSHES_f16 sim_float_mode(wave, instruction, 0).flush_sources
#define FLUSHES_f32 sim_float_mode(wave, instruction, 1).flush_sources
#define FLUSHES_f64 sim_float_mode(wave, instruction, 0).flush_sources
#define FLUSHES_u16 0
#define FLUSHES_i16 0
#define FLUSHES_u32 0
#define FLUSHES_i32 0
#define FLUSHES_u64 0
#define FLUSHES_i64 0

/* v_cmp_NAME_T and v_cmpx_NAME_T. */
#define COMPARE(name, T, C, predicate) \
    static inline void name##_##T(struct sim_wave *wave, const struct sim_instruction *instruction, int to_exec) \
    { \
        SIM_LANES_OF(T, a, 0) \
        SIM_LANES_OF(T, b, 1) \
        const int flush = FLUSHES_##T; \
        uint32_t truth[SIM_LANES]; \
        SIM_EACH_LANE(lane) \
        { \
            const C a = COMPARED_##T(a_lanes[lane]), b = COMPARED_##T(b_lanes[lane]); \
            (void)a, (void)b, (void)flush; \
            truth[lane] = predicate; \
        } \
        write_comparison(wave, instruction, truth, to_exec); \
    } \
    TWO_OPCODES(name##_##T)
#define TWO_OPCODES(test) \
    static void v_cmp_##test(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        test(wave, instruction, 0); \
    } \
    static void v_cmpx_##test(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        test(wave, instruction, 1); \
    }

#define COMPARE_INTEGERS(T, C) \
    COMPARE(f, T, C, 0) \
    COMPARE(lt, T, C, a < b) \
    COMPARE(eq, T, C, a == b) \
    COMPARE(le, T, C, a <= b) \
    COMPARE(gt, T, C, a > b) \
    COMPARE(ne, T, C, a != b) \
    COMPARE(ge, T, C, a >= b) \
    COMPARE(t, T, C, 1)
COMPARE_INTEGERS(u16, uint32_t)
COMPARE_INTEGERS(i16, int32_t)
COMPARE_INTEGERS(u32, uint32_t)
COMPARE_INTEGERS(i32, int32_t)
COMPARE_INTEGERS(u64, uint64_t)
COMPARE_INTEGERS(i64, int64_t)

#define COMPARE_FLOATS(T, C) \
    COMPARE(f, T, C, 0) \
    COMPARE(lt, T, C, a < b) \
    COMPARE(eq, T, C, a == b) \
    COMPARE(le, T, C, a <= b) \
    COMPARE(gt, T, C, a > b) \
    COMPARE(lg, T, C, (a < b) | (a > b)) \
    COMPARE(ge, T, C, a >= b) \
    COMPARE(o, T, C, (a == a) & (b == b)) \
    COMPARE(u, T, C, (a != a) | (b != b)) \
    COMPARE(nge, T, C, !(a >= b)) \
    COMPARE(nlg, T, C, !((a < b) | (a > b))) \
    COMPARE(ngt, T, C, !(a > b)) \
    COMPARE(nle, T, C, !(a <= b)) \
    COMPARE(neq, T, C, a != b) \
    COMPARE(nlt, T, C, !(a < b)) \
    COMPARE(tru, T, C, 1)
COMPARE_FLOATS(f16, float)
COMPARE_FLOATS(f32, float)
COMPARE_FLOATS(f64, double)

/* ---- Classes ------------------------------------------------------------------------------------------------------------- */

/* The bit of a class test's second source that asks for this number: of NaNs 0 signalling, 1 quiet; else by magnitude 2
 * infinite, 3 normal, 4 subnormal, 5 zero where negative, and 9 to 6 in the same order where not. */
static inline unsigned class_of(uint64_t bits, int mantissa_bits, int exponent_bits)
{
    const uint64_t fraction = bits & ((1ull << mantissa_bits) - 1);
    const unsigned largest = (1u << exponent_bits) - 1;
    const unsigned exponent = (unsigned)(bits >> mantissa_bits) & largest;
    const int negative = (int)(bits >> (mantissa_bits + exponent_bits) & 1);
    if (exponent == largest && fraction)
        return (unsigned)(fraction >> (mantissa_bits - 1));
    const unsigned magnitude = exponent == largest ? 0 : exponent ? 1 : fraction ? 2 : 3;
    return negative ? 2 + magnitude : 9 - magnitude;
}
#define CLASS(T, mantissa_bits, exponent_bits) \
    static inline void class_##T(struct sim_wave *wave, const struct sim_instruction *instruction, int to_exec) \
    { \
        SIM_LANES_OF(T, a, 0) \
        SIM_LANES_OF(u32, b, 1) \
        uint32_t truth[SIM_LANES]; \
        for (int lane = 0; lane < SIM_LANES; lane++) \
            truth[lane] = b_lanes[lane] >> class_of(a_lanes[lane], mantissa_bits, exponent_bits) & 1; \
        write_comparison(wave, instruction, truth, to_exec); \
    } \
    TWO_OPCODES(class_##T)
CLASS(f16, 10, 5)
CLASS(f32, 23, 8)
CLASS(f64, 52, 11)

#define BIND_TEST(test) SIM_BIND(v_cmp_##test), SIM_BIND(v_cmpx_##test)
#define BIND_INTEGERS(T) \
    BIND_TEST(f_##T), BIND_TEST(lt_##T), BIND_TEST(eq_##T), BIND_TEST(le_##T), BIND_TEST(gt_##T), BIND_TEST(ne_##T), \
        BIND_TEST(ge_##T), BIND_TEST(t_##T)
#define BIND_FLOATS(T) \
    BIND_TEST(f_##T), BIND_TEST(lt_##T), BIND_TEST(eq_##T), BIND_TEST(le_##T), BIND_TEST(gt_##T), BIND_TEST(lg_##T), \
        BIND_TEST(ge_##T), BIND_TEST(o_##T), BIND_TEST(u_##T), BIND_TEST(nge_##T), BIND_TEST(nlg_##T), \
        BIND_TEST(ngt_##T), BIND_TEST(nle_##T), BIND_TEST(neq_##T), BIND_TEST(nlt_##T), BIND_TEST(tru_##T), \
        BIND_TEST(class_##T)
static const struct sim_binding bindings[] = {
    BIND_INTEGERS(u16), BIND_INTEGERS(i16), BIND_INTEGERS(u32), BIND_INTEGERS(i32), BIND_INTEGERS(u64),
    BIND_INTEGERS(i64), BIND_FLOATS(f16),   BIND_FLOATS(f32),   BIND_FLOATS(f64),
};
const struct sim_bindings sim_vector_compare = {bindings, sizeof bindings / sizeof *bindings};
