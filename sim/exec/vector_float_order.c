/* vector_float_order.c - least, greatest and middle of f16, f32, f64. */
#include "vector_float.h"

/* The smaller and the larger of two numbers, -0 being smaller than +0. `v_min_f32` and its like give the other number where
 * one is NaN, but in IEEE mode a signalling NaN made quiet; gfx950's minimum and maximum always give NaN. Bits above the
 * value are ignored. */
#define ORDER(W, L, S, SHIFT) \
    static inline S key##W(L bits) \
    { \
        const S value = (S)(bits << SHIFT); \
        return value ^ (S)((L)(value >> (sizeof(S) * 8 - 1)) >> 1); \
    } \
    static inline int is_signalling##W(L bits) \
    { \
        return sim_is_nan##W(bits) && !(bits & SIM_QUIET_##W); \
    } \
    static inline L choose##W(L a, L b, L chosen, int ieee) \
    { \
        const L number = sim_is_nan##W(a) ? b : sim_is_nan##W(b) ? a : chosen; \
        const L quiet = is_signalling##W(a) ? a | SIM_QUIET_##W : b | SIM_QUIET_##W; \
        return ieee && (is_signalling##W(a) || is_signalling##W(b)) ? quiet : number; \
    } \
    static inline L min##W(L a, L b, int ieee) \
    { \
        return choose##W(a, b, key##W(a) < key##W(b) ? a : b, ieee); \
    } \
    static inline L max##W(L a, L b, int ieee) \
    { \
        return choose##W(a, b, key##W(a) >= key##W(b) ? a : b, ieee); \
    }

#define ORDER_OF_THREE(W, L) \
    static inline L propagate##W(L a, L b, L chosen) \
    { \
        return sim_is_nan##W(a) ? a | SIM_QUIET_##W : sim_is_nan##W(b) ? b | SIM_QUIET_##W : chosen; \
    } \
    static inline L minimum##W(L a, L b) \
    { \
        return propagate##W(a, b, key##W(a) < key##W(b) ? a : b); \
    } \
    static inline L maximum##W(L a, L b) \
    { \
        return propagate##W(a, b, key##W(a) >= key##W(b) ? a : b); \
    } \
    static inline L med3_##W(L a, L b, L c, int ieee) \
    { \
        if (sim_is_nan##W(a) || sim_is_nan##W(b) || sim_is_nan##W(c)) \
            return min##W(min##W(a, b, ieee), c, ieee); \
        const L low = min##W(a, b, 0), high = max##W(a, b, 0); \
        return max##W(low, min##W(high, c, 0), 0); \
    }

ORDER(16, uint32_t, int32_t, 16)
ORDER(32, uint32_t, int32_t, 0)
ORDER(64, uint64_t, int64_t, 0)
ORDER_OF_THREE(16, uint32_t)
ORDER_OF_THREE(32, uint32_t)

#define SOURCE(W, L, name, index) \
    L name##_buffer[SIM_LANES]; \
    const L *const name##_lanes = sim_float_source##W(wave, instruction, index, &mode, name##_buffer);

#define ORDER_2(opcode, W, L, write, ...) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_##W); \
        SOURCE(W, L, a, 0) \
        SOURCE(W, L, b, 1) \
        L result[SIM_LANES]; \
        SIM_EACH_LANE(lane) \
        { \
            const L a = a_lanes[lane], b = b_lanes[lane]; \
            result[lane] = __VA_ARGS__; \
        } \
        sim_finish##W(result, &mode); \
        write; \
    }
#define ORDER_3(opcode, W, L, write, ...) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        const struct sim_float_mode mode = sim_float_mode(wave, instruction, SIM_SINGLE_##W); \
        SOURCE(W, L, a, 0) \
        SOURCE(W, L, b, 1) \
        SOURCE(W, L, c, 2) \
        L result[SIM_LANES]; \
        SIM_EACH_LANE(lane) \
        { \
            const L a = a_lanes[lane], b = b_lanes[lane], c = c_lanes[lane]; \
            result[lane] = __VA_ARGS__; \
        } \
        sim_finish##W(result, &mode); \
        write; \
    }
#define ZERO_16 sim_write16(wave, instruction, result, SIM_ZERO_HIGH)
#define KEEP_16 sim_write16(wave, instruction, result, SIM_KEEP_HIGH)
#define ALL_32 sim_write32(wave, instruction, result)
#define ALL_64 sim_write64(wave, instruction, result)

ORDER_2(v_min_f16, 16, uint32_t, ZERO_16, min16(a, b, mode.ieee))
ORDER_2(v_max_f16, 16, uint32_t, ZERO_16, max16(a, b, mode.ieee))
ORDER_3(v_min3_f16, 16, uint32_t, KEEP_16, min16(min16(a, b, mode.ieee), c, mode.ieee))
ORDER_3(v_max3_f16, 16, uint32_t, KEEP_16, max16(max16(a, b, mode.ieee), c, mode.ieee))
ORDER_3(v_med3_f16, 16, uint32_t, KEEP_16, med3_16(a, b, c, mode.ieee))

ORDER_2(v_min_f32, 32, uint32_t, ALL_32, min32(a, b, mode.ieee))
ORDER_2(v_max_f32, 32, uint32_t, ALL_32, max32(a, b, mode.ieee))
ORDER_3(v_min3_f32, 32, uint32_t, ALL_32, min32(min32(a, b, mode.ieee), c, mode.ieee))
ORDER_3(v_max3_f32, 32, uint32_t, ALL_32, max32(max32(a, b, mode.ieee), c, mode.ieee))
ORDER_3(v_med3_f32, 32, uint32_t, ALL_32, med3_32(a, b, c, mode.ieee))
ORDER_3(v_minimum3_f32, 32, uint32_t, ALL_32, minimum32(minimum32(a, b), c))
ORDER_3(v_maximum3_f32, 32, uint32_t, ALL_32, maximum32(maximum32(a, b), c))

ORDER_2(v_min_f64, 64, uint64_t, ALL_64, min64(a, b, mode.ieee))
ORDER_2(v_max_f64, 64, uint64_t, ALL_64, max64(a, b, mode.ieee))

/* ---- Packed halves --------------------------------------------------------------------------------------------------- */

void sim_order16(uint32_t *result, enum sim_order order, const uint32_t *const source[3],
                 const struct sim_float_mode *mode)
{
    uint32_t buffer[3][SIM_LANES];
    const uint32_t *const a_lanes = sim_prepare16(source[0], mode, buffer[0]);
    const uint32_t *const b_lanes = sim_prepare16(source[1], mode, buffer[1]);
    const uint32_t *const c_lanes = sim_prepare16(source[2], mode, buffer[2]);
    SIM_EACH_LANE(lane)
    {
        const uint32_t a = a_lanes[lane], b = b_lanes[lane], c = c_lanes[lane];
        switch (order) {
        case SIM_MIN: result[lane] = min16(a, b, mode->ieee); break;
        case SIM_MAX: result[lane] = max16(a, b, mode->ieee); break;
        case SIM_MINIMUM3: result[lane] = minimum16(minimum16(a, b), c); break;
        case SIM_MAXIMUM3: result[lane] = maximum16(maximum16(a, b), c); break;
        }
        result[lane] &= 0xFFFF;
    }
    sim_finish16(result, mode);
}

static const struct sim_binding entries[] = {
    SIM_BIND(v_min_f16),      SIM_BIND(v_max_f16), SIM_BIND(v_min3_f16), SIM_BIND(v_max3_f16),     SIM_BIND(v_med3_f16),
    SIM_BIND(v_min_f32),      SIM_BIND(v_max_f32), SIM_BIND(v_min3_f32), SIM_BIND(v_max3_f32),     SIM_BIND(v_med3_f32),
    SIM_BIND(v_minimum3_f32), SIM_BIND(v_min_f64), SIM_BIND(v_max_f64),  SIM_BIND(v_maximum3_f32),
};
const struct sim_bindings sim_vector_float_order = {entries, sizeof entries / sizeof *entries};
