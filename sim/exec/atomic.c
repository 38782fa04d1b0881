/* atomic.c - the operations of atomic.h, as AMD's CDNA3 and CDNA4 ISA manuals define them (DS, FLAT: chapter 12; floats:
 * 9.2). */
#include "atomic.h"

#include "float.h"

#define INTEGER(name, unsigned_expression, bits) \
    uint##bits##_t sim_atomic##bits##_##name(uint##bits##_t memory, uint##bits##_t data, uint##bits##_t data2, \
                                             unsigned flush) \
    { \
        typedef int##bits##_t integer; \
        (void)sizeof(integer); \
        (void)memory, (void)data, (void)data2, (void)flush; \
        return unsigned_expression; \
    }
#define BOTH(name, expression) \
    INTEGER(name, expression, 32) \
    INTEGER(name, expression, 64)
BOTH(swap, data)
BOTH(cmpswap, memory == data2 ? data : memory)
BOTH(add, memory + data)
BOTH(sub, memory - data)
BOTH(rsub, data - memory)
BOTH(smin, (integer)data < (integer)memory ? data : memory)
BOTH(smax, (integer)data >= (integer)memory ? data : memory)
BOTH(umin, data < memory ? data : memory)
BOTH(umax, data >= memory ? data : memory)
BOTH(and, (memory & data))
BOTH(or, memory | data)
BOTH(xor, memory ^ data)
BOTH(inc, memory >= data ? 0 : memory + 1)
BOTH(dec, memory == 0 || memory > data ? data : memory - 1)
BOTH(mskor, (memory & ~data) | data2)
INTEGER(wrap, memory >= data ? memory - data : memory + data2, 32)

/* ---- Floats ------------------------------------------------------------------------------------------------------ */

/* Sums round to nearest even. Of NaNs the first stays and becomes quiet; infinity - infinity is the NaN without other
 * fraction bits. */
uint32_t sim_atomic32_add_f32(uint32_t memory, uint32_t data, uint32_t data2, unsigned flush)
{
    (void)data2;
    if (sim_is_nan32(memory) || sim_is_nan32(data))
        return (sim_is_nan32(memory) ? memory : data) | SIM_QUIET_32;
    if (flush & SIM_FLUSH_SOURCES) {
        memory = sim_flush32(memory);
        data = sim_flush32(data);
    }
    const uint32_t sum = sim_float_bits(sim_float_of(memory) + sim_float_of(data));
    if (sim_is_nan32(sum))
        return 0x7FC00000;
    return flush & SIM_FLUSH_RESULTS ? sim_flush32(sum) : sum;
}

/* Doubles are never flushed (manual, table "Denorm Handling Rules for Memory Ops"). */
uint64_t sim_atomic64_add_f64(uint64_t memory, uint64_t data, uint64_t data2, unsigned flush)
{
    (void)data2, (void)flush;
    if (sim_is_nan64(memory) || sim_is_nan64(data))
        return (sim_is_nan64(memory) ? memory : data) | SIM_QUIET_64;
    const uint64_t sum = sim_double_bits(sim_double_of(memory) + sim_double_of(data));
    return sim_is_nan64(sum) ? 0x7FF8000000000000 : sum;
}

/* A float has more than twice a half's digits: rounding its sum again gives the half nearest to the exact sum. */
static uint32_t add_half(uint32_t a, uint32_t b, unsigned flush)
{
    if (sim_is_nan16(a) || sim_is_nan16(b))
        return (sim_is_nan16(a) ? a : b) | SIM_QUIET_16;
    if (flush & SIM_FLUSH_SOURCES) {
        a = sim_flush16(a);
        b = sim_flush16(b);
    }
    const float exact = sim_float_of_half(a) + sim_float_of_half(b);
    if (exact != exact)
        return 0x7E00;
    const uint32_t sum = sim_half_of_float(exact);
    return flush & SIM_FLUSH_RESULTS ? sim_flush16(sum) : sum;
}
/* bfloat16 is the upper half of a float. */
static uint32_t add_bf16(uint32_t a, uint32_t b, unsigned flush)
{
    const uint32_t sum = sim_atomic32_add_f32(a << 16, b << 16, 0, flush);
    if (sim_is_nan32(sum))
        return sum >> 16;
    const uint32_t rounded = (sum + 0x7FFF + (sum >> 16 & 1)) & 0xFFFF0000;
    return (flush & SIM_FLUSH_RESULTS ? sim_flush32(rounded) : rounded) >> 16;
}
uint32_t sim_atomic32_pk_add_f16(uint32_t memory, uint32_t data, uint32_t data2, unsigned flush)
{
    (void)data2;
    return add_half(memory >> 16, data >> 16, flush) << 16 | add_half(memory & 0xFFFF, data & 0xFFFF, flush);
}
uint32_t sim_atomic32_pk_add_bf16(uint32_t memory, uint32_t data, uint32_t data2, unsigned flush)
{
    (void)data2;
    return add_bf16(memory >> 16, data >> 16, flush) << 16 | add_bf16(memory & 0xFFFF, data & 0xFFFF, flush);
}

/* Minimum, maximum and comparison. A signalling NaN wins and becomes quiet; a quiet one loses; -0 is below +0. Flushing is
 * for the comparison only: the result is a source as it was. cmpswap takes -0 for +0, never swaps for a NaN, and flushes
 * what it writes. */
#define COMPARE(bits, type, fraction) \
    static int is_signalling##bits(uint##bits##_t value) \
    { \
        return sim_is_nan##bits(value) && !(value & SIM_QUIET_##bits); \
    } \
    static int less##bits(uint##bits##_t a, uint##bits##_t b, unsigned flush) \
    { \
        if (flush & SIM_FLUSH_SOURCES) { \
            a = sim_flush##bits(a); \
            b = sim_flush##bits(b); \
        } \
        /* Sign and magnitude to an order of integers. */ \
        const uint##bits##_t top = (uint##bits##_t)1 << (bits - 1); \
        return (a & top ? ~a : a | top) < (b & top ? ~b : b | top); \
    } \
    static uint##bits##_t chosen##bits(uint##bits##_t memory, uint##bits##_t data, unsigned flush, int maximum) \
    { \
        if (is_signalling##bits(memory)) \
            return memory | SIM_QUIET_##bits; \
        if (is_signalling##bits(data)) \
            return data | SIM_QUIET_##bits; \
        if (sim_is_nan##bits(data)) \
            return memory; \
        if (sim_is_nan##bits(memory)) \
            return data; \
        return (maximum ? less##bits(memory, data, flush) : less##bits(data, memory, flush)) ? data : memory; \
    } \
    uint##bits##_t sim_atomic##bits##_min_f##bits(uint##bits##_t memory, uint##bits##_t data, uint##bits##_t data2, \
                                                  unsigned flush) \
    { \
        (void)data2; \
        return chosen##bits(memory, data, flush, 0); \
    } \
    uint##bits##_t sim_atomic##bits##_max_f##bits(uint##bits##_t memory, uint##bits##_t data, uint##bits##_t data2, \
                                                  unsigned flush) \
    { \
        (void)data2; \
        return chosen##bits(memory, data, flush, 1); \
    } \
    uint##bits##_t sim_atomic##bits##_cmpswap_f##bits(uint##bits##_t memory, uint##bits##_t data, \
                                                      uint##bits##_t data2, unsigned flush) \
    { \
        const int flushes = flush & SIM_FLUSH_SOURCES; \
        const type old = fraction(flushes ? sim_flush##bits(memory) : memory); \
        const type compared = fraction(flushes ? sim_flush##bits(data2) : data2); \
        if (old != compared) \
            return memory; \
        return flushes ? sim_flush##bits(data) : data; \
    }
COMPARE(32, float, sim_float_of)
COMPARE(64, double, sim_double_of)
