/* vector_table.h - vector opcodes as a table, one a line.
 *
 *     SIM_VECTOR_2(v_lshlrev_b32, u32, u32, u32, b << (a & 31))
 *
 * defines the sim_execute function v_lshlrev_b32, whose result and two sources are of type u32 and whose value in each lane
 * is the expression of a and b (and c, in SIM_VECTOR_3). SIM_BIND(v_lshlrev_b32) is its entry in a file's bindings. Types:
 * u16 i16 u32 i32 f32 u64 i64 f64, and for results of opcodes that leave the other half of their destination alone,
 * keep16. Expressions may also use `wave`, `instruction` and `lane`. A file may add types of its own by defining the six
 * macros of one.
 */
#ifndef SIM_VECTOR_TABLE_H
#define SIM_VECTOR_TABLE_H

#include "exec.h"
#include "operands.h"

static inline float sim_float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline uint32_t sim_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline double sim_double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline uint64_t sim_double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* For each type: what C calls it; how a lane holds it; lanes of a source; a lane's value; a value's lane; the write. */
#define SIM_C_u16 uint16_t
#define SIM_C_i16 int16_t
#define SIM_C_u32 uint32_t
#define SIM_C_i32 int32_t
#define SIM_C_f32 float
#define SIM_C_u64 uint64_t
#define SIM_C_i64 int64_t
#define SIM_C_f64 double

#define SIM_LANE_u16 uint32_t
#define SIM_LANE_i16 uint32_t
#define SIM_LANE_keep16 uint32_t
#define SIM_LANE_u32 uint32_t
#define SIM_LANE_i32 uint32_t
#define SIM_LANE_f32 uint32_t
#define SIM_LANE_u64 uint64_t
#define SIM_LANE_i64 uint64_t
#define SIM_LANE_f64 uint64_t

#define SIM_SOURCE_u16(index, buffer) sim_source32(wave, instruction, index, SIM_B16, buffer)
#define SIM_SOURCE_i16(index, buffer) sim_source32(wave, instruction, index, SIM_B16, buffer)
#define SIM_SOURCE_u32(index, buffer) sim_source32(wave, instruction, index, SIM_B32, buffer)
#define SIM_SOURCE_i32(index, buffer) sim_source32(wave, instruction, index, SIM_B32, buffer)
#define SIM_SOURCE_f32(index, buffer) sim_source32(wave, instruction, index, SIM_F32, buffer)
#define SIM_SOURCE_u64(index, buffer) sim_source64(wave, instruction, index, SIM_B64, buffer)
#define SIM_SOURCE_i64(index, buffer) sim_source64(wave, instruction, index, SIM_I64, buffer)
#define SIM_SOURCE_f64(index, buffer) sim_source64(wave, instruction, index, SIM_F64, buffer)

#define SIM_FROM_u16(lane_bits) ((uint16_t)(lane_bits))
#define SIM_FROM_i16(lane_bits) ((int16_t)(lane_bits))
#define SIM_FROM_u32(lane_bits) (lane_bits)
#define SIM_FROM_i32(lane_bits) ((int32_t)(lane_bits))
#define SIM_FROM_f32(lane_bits) sim_float_of(lane_bits)
#define SIM_FROM_u64(lane_bits) (lane_bits)
#define SIM_FROM_i64(lane_bits) ((int64_t)(lane_bits))
#define SIM_FROM_f64(lane_bits) sim_double_of(lane_bits)

#define SIM_TO_u16(value) ((uint32_t)(value))
#define SIM_TO_i16(value) ((uint32_t)(value))
#define SIM_TO_keep16(value) ((uint32_t)(value))
#define SIM_TO_u32(value) ((uint32_t)(value))
#define SIM_TO_i32(value) ((uint32_t)(value))
#define SIM_TO_f32(value) sim_float_bits(value)
#define SIM_TO_u64(value) ((uint64_t)(value))
#define SIM_TO_i64(value) ((uint64_t)(value))
#define SIM_TO_f64(value) sim_double_bits(value)

#define SIM_WRITE_u16(result) sim_write16(wave, instruction, result, SIM_ZERO_HIGH)
#define SIM_WRITE_i16(result) sim_write16(wave, instruction, result, SIM_ZERO_HIGH)
#define SIM_WRITE_keep16(result) sim_write16(wave, instruction, result, SIM_KEEP_HIGH)
#define SIM_WRITE_u32(result) sim_write32(wave, instruction, result)
#define SIM_WRITE_i32(result) sim_write32(wave, instruction, result)
#define SIM_WRITE_f32(result) sim_write32(wave, instruction, result)
#define SIM_WRITE_u64(result) sim_write64(wave, instruction, result)
#define SIM_WRITE_i64(result) sim_write64(wave, instruction, result)
#define SIM_WRITE_f64(result) sim_write64(wave, instruction, result)

/* Source `index` as lanes, and its value in a lane. */
#define SIM_LANES_OF(type, name, index) \
    SIM_LANE_##type name##_buffer[SIM_LANES]; \
    const SIM_LANE_##type *name##_lanes = SIM_SOURCE_##type(index, name##_buffer);
#define SIM_VALUE_OF(type, name) const SIM_C_##type name = SIM_FROM_##type(name##_lanes[lane]);

#define SIM_VECTOR_1(opcode, R, A, ...) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        SIM_LANES_OF(A, a, 0) \
        SIM_LANE_##R result[SIM_LANES]; \
        SIM_EACH_LANE(lane) \
        { \
            SIM_VALUE_OF(A, a) \
            result[lane] = SIM_TO_##R(__VA_ARGS__); \
        } \
        SIM_WRITE_##R(result); \
    }

#define SIM_VECTOR_2(opcode, R, A, B, ...) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        SIM_LANES_OF(A, a, 0) \
        SIM_LANES_OF(B, b, 1) \
        SIM_LANE_##R result[SIM_LANES]; \
        SIM_EACH_LANE(lane) \
        { \
            SIM_VALUE_OF(A, a) \
            SIM_VALUE_OF(B, b) \
            result[lane] = SIM_TO_##R(__VA_ARGS__); \
        } \
        SIM_WRITE_##R(result); \
    }

#define SIM_VECTOR_3(opcode, R, A, B, C, ...) \
    static void opcode(struct sim_wave *wave, const struct sim_instruction *instruction) \
    { \
        SIM_LANES_OF(A, a, 0) \
        SIM_LANES_OF(B, b, 1) \
        SIM_LANES_OF(C, c, 2) \
        SIM_LANE_##R result[SIM_LANES]; \
        SIM_EACH_LANE(lane) \
        { \
            SIM_VALUE_OF(A, a) \
            SIM_VALUE_OF(B, b) \
            SIM_VALUE_OF(C, c) \
            result[lane] = SIM_TO_##R(__VA_ARGS__); \
        } \
        SIM_WRITE_##R(result); \
    }

#define SIM_BIND(opcode) \
    { \
#opcode, opcode \
    }

#endif
