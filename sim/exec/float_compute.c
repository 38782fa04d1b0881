#include "float_compute.h"

/* ---- Rounding to nearest even, by the host -------------------------------------------------------------------------- */

/* A loop over the lanes for each width. f16 is computed in double, where sums and products of halves are exact. */
#define LANES(name, value16, value32, value64) \
    static void name##16(uint32_t *restrict result, const uint32_t *a_lanes, const uint32_t *b_lanes, \
                         const uint32_t *c_lanes) \
    { \
        (void)c_lanes; \
        SIM_EACH_LANE(lane) \
        { \
            const double a = sim_float_of_half(a_lanes[lane]), b = sim_float_of_half(b_lanes[lane]); \
            result[lane] = sim_half_of_double(value16); \
        } \
    } \
    static void name##32(uint32_t *restrict result, const uint32_t *a_lanes, const uint32_t *b_lanes, \
                         const uint32_t *c_lanes) \
    { \
        (void)c_lanes; \
        SIM_EACH_LANE(lane) \
        { \
            const float a = sim_float_of(a_lanes[lane]), b = sim_float_of(b_lanes[lane]); \
            result[lane] = sim_float_bits(value32); \
        } \
    } \
    static void name##64(uint64_t *restrict result, const uint64_t *a_lanes, const uint64_t *b_lanes, \
                         const uint64_t *c_lanes) \
    { \
        (void)c_lanes; \
        SIM_EACH_LANE(lane) \
        { \
            const double a = sim_double_of(a_lanes[lane]), b = sim_double_of(b_lanes[lane]); \
            result[lane] = sim_double_bits(value64); \
        } \
    }

LANES(add, a + b, a + b, a + b)
LANES(subtract, a - b, a - b, a - b)
LANES(subtract_reverse, b - a, b - a, b - a)
LANES(multiply, a *b, a *b, a *b)

/* Products of halves are exact in double. A sum is, too, unless the product is more than 2^42 times smaller than c; then it is
 * c or c's neighbour in double, and both become c as a half. */
static void fma_lanes16(uint32_t *restrict result, const uint32_t *a, const uint32_t *b, const uint32_t *c)
{
    SIM_EACH_LANE(lane)
    {
        const double product = (double)sim_float_of_half(a[lane]) * (double)sim_float_of_half(b[lane]);
        result[lane] = sim_half_of_double(product + (double)sim_float_of_half(c[lane]));
    }
}

#define FMA_LANES(suffix, attribute) \
    attribute static void fma_lanes32_##suffix(uint32_t *restrict result, const uint32_t *a, const uint32_t *b, \
                                               const uint32_t *c) \
    { \
        SIM_EACH_LANE(lane) \
        result[lane] = sim_float_bits(fmaf(sim_float_of(a[lane]), sim_float_of(b[lane]), sim_float_of(c[lane]))); \
    } \
    attribute static void fma_lanes64_##suffix(uint64_t *restrict result, const uint64_t *a, const uint64_t *b, \
                                               const uint64_t *c) \
    { \
        SIM_EACH_LANE(lane) \
        result[lane] = sim_double_bits(fma(sim_double_of(a[lane]), sim_double_of(b[lane]), sim_double_of(c[lane]))); \
    }

FMA_LANES(any, )
#if defined(__x86_64__)
FMA_LANES(avx2, __attribute__((target("avx2,fma"))))
#define HOST_HAS_FMA (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
#else
#define fma_lanes32_avx2 fma_lanes32_any
#define fma_lanes64_avx2 fma_lanes64_any
#define HOST_HAS_FMA 0
#endif

void sim_fma_lanes32(uint32_t *restrict result, const uint32_t *a, const uint32_t *b, const uint32_t *c)
{
    if (HOST_HAS_FMA)
        fma_lanes32_avx2(result, a, b, c);
    else
        fma_lanes32_any(result, a, b, c);
}

void sim_fma_lanes64(uint64_t *restrict result, const uint64_t *a, const uint64_t *b, const uint64_t *c)
{
    if (HOST_HAS_FMA)
        fma_lanes64_avx2(result, a, b, c);
    else
        fma_lanes64_any(result, a, b, c);
}

/* ---- Any rounding ---------------------------------------------------------------------------------------------------- */

static struct sim_number add_exact(struct sim_number a, struct sim_number b, struct sim_number c, enum sim_round round)
{
    (void)c;
    return sim_number_add(a, b, round);
}
static struct sim_number subtract_exact(struct sim_number a, struct sim_number b, struct sim_number c,
                                        enum sim_round round)
{
    (void)c;
    b.negative ^= b.kind != SIM_NAN;
    return sim_number_add(a, b, round);
}
static struct sim_number subtract_reverse_exact(struct sim_number a, struct sim_number b, struct sim_number c,
                                                enum sim_round round)
{
    (void)c;
    a.negative ^= a.kind != SIM_NAN;
    return sim_number_add(a, b, round);
}
static struct sim_number multiply_exact(struct sim_number a, struct sim_number b, struct sim_number c,
                                        enum sim_round round)
{
    (void)c, (void)round;
    return sim_number_multiply(a, b);
}

const struct sim_float_operation sim_operation_add = {add16, add32, add64, add_exact, 2};
const struct sim_float_operation sim_operation_subtract = {subtract16, subtract32, subtract64, subtract_exact, 2};
const struct sim_float_operation sim_operation_subtract_reverse = {subtract_reverse16, subtract_reverse32,
                                                                   subtract_reverse64, subtract_reverse_exact, 2};
const struct sim_float_operation sim_operation_multiply = {multiply16, multiply32, multiply64, multiply_exact, 2};
const struct sim_float_operation sim_operation_fma = {fma_lanes16, sim_fma_lanes32, sim_fma_lanes64, sim_number_fma, 3};

/* ---- The steps, for each width --------------------------------------------------------------------------------------- */

static double multiplier(unsigned omod)
{
    static const double factors[4] = {1, 2, 4, 0.5};
    return factors[omod & 3];
}

/* W: width; L: lane; MASK: its bits; FORMAT; V, OF, TO: how the host computes it. */
#define STEPS(W, L, MASK, FORMAT, V, OF, TO) \
    const L *sim_prepare##W(const L *lanes, const struct sim_float_mode *mode, L *buffer) \
    { \
        if (!mode->flush_sources) \
            return lanes; \
        SIM_EACH_LANE(lane) buffer[lane] = sim_flush##W(lanes[lane]); \
        return buffer; \
    } \
\
    void sim_finish##W(L *result, const struct sim_float_mode *mode) \
    { \
        if (mode->omod) { \
            const V factor = (V)multiplier(mode->omod); \
            SIM_EACH_LANE(lane) \
            { \
                const L scaled = TO(OF(result[lane]) * factor); \
                const L kept = sim_is_nan##W(result[lane]) ? result[lane] : scaled; \
                result[lane] = OF(kept) == 0 ? 0 : kept; /* the manual: -0 becomes +0 */ \
            } \
        } \
        if (mode->flush_results) \
            SIM_EACH_LANE(lane) result[lane] = sim_flush##W(result[lane]); \
        if (mode->clamp) \
            SIM_EACH_LANE(lane) \
            { \
                const V value = OF(result[lane]); \
                const L clamped = value > 0 ? TO(value < 1 ? value : 1) : 0; \
                result[lane] = sim_is_nan##W(result[lane]) && !mode->clamp_nan ? result[lane] : clamped; \
            } \
    } \
\
    /* The first source that is NaN, made quiet. Which sign hardware gives to a NaN that no source had is not documented; \
     * here it is 0. */ \
    static L nan##W(const L *const source[3], unsigned sources, int lane) \
    { \
        for (unsigned i = 0; i < sources; i++) \
            if (sim_is_nan##W(source[i][lane])) \
                return (source[i][lane] & MASK) | SIM_QUIET_##W; \
        return (L)sim_pack(&FORMAT, (struct sim_number){.kind = SIM_NAN}, SIM_ROUND_NEAREST_EVEN); \
    } \
\
    /* Infinity that no source was: below it is the largest finite number. */ \
    static L is_overflow##W(L bits, const L *const source[3], unsigned sources, int lane) \
    { \
        const L infinity = (L)sim_pack(&FORMAT, (struct sim_number){.kind = SIM_INFINITY}, SIM_ROUND_NEAREST_EVEN); \
        int infinite = (bits & MASK >> 1) == infinity; \
        for (unsigned i = 0; i < sources; i++) \
            infinite &= (source[i][lane] & MASK >> 1) != infinity; \
        return (L)infinite; \
    } \
\
    static void exact##W(L *result, const struct sim_float_operation *operation, const L *const source[3], \
                         enum sim_round round) \
    { \
        for (int lane = 0; lane < SIM_LANES; lane++) { \
            struct sim_number number[3] = {{.kind = SIM_ZERO}, {.kind = SIM_ZERO}, {.kind = SIM_ZERO}}; \
            for (unsigned i = 0; i < operation->sources; i++) \
                number[i] = sim_unpack(&FORMAT, source[i][lane] & MASK); \
            result[lane] = (L)sim_pack(&FORMAT, operation->exact(number[0], number[1], number[2], round), round); \
        } \
    } \
\
    void sim_compute##W(L *result, const struct sim_float_operation *operation, const L *const source[3], \
                        const struct sim_float_mode *mode) \
    { \
        L buffer[3][SIM_LANES], computed[SIM_LANES]; \
        const L *prepared[3] = {NULL, NULL, NULL}; \
        for (unsigned i = 0; i < operation->sources; i++) \
            prepared[i] = sim_prepare##W(source[i], mode, buffer[i]); \
        if (mode->round == SIM_ROUND_NEAREST_EVEN) { \
            operation->lanes##W(computed, prepared[0], prepared[1], prepared[2]); \
            L nans = 0; \
            for (int lane = 0; lane < SIM_LANES; lane++) \
                nans |= sim_is_nan##W(computed[lane]); \
            if (nans) \
                for (int lane = 0; lane < SIM_LANES; lane++) \
                    if (sim_is_nan##W(computed[lane])) \
                        computed[lane] = nan##W(prepared, operation->sources, lane); \
        } else { \
            exact##W(computed, operation, prepared, mode->round); \
        } \
        if (W == 16 && mode->saturate) \
            for (int lane = 0; lane < SIM_LANES; lane++) \
                computed[lane] -= is_overflow##W(computed[lane], prepared, operation->sources, lane); \
        sim_finish##W(computed, mode); \
        memcpy(result, computed, sizeof computed); \
    }

STEPS(16, uint32_t, 0xFFFF, sim_f16, float, sim_float_of_half, sim_half_of_float)
STEPS(32, uint32_t, UINT32_MAX, sim_f32, float, sim_float_of, sim_float_bits)
STEPS(64, uint64_t, UINT64_MAX, sim_f64, double, sim_double_of, sim_double_bits)
