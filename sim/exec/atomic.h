/* atomic.h - what atomic instructions make of the value that memory has: one function an operation, for LDS, vector and
 * scalar memory alike. Instructions execute one after the other, lanes in ascending order: nothing else is atomic here. */
#ifndef SIM_ATOMIC_H
#define SIM_ATOMIC_H

#include <stdint.h>

#include "../machine/wave.h"

/* Of float operations: subnormal sources, subnormal results become 0. */
enum sim_flush { SIM_FLUSH_NOTHING = 0, SIM_FLUSH_SOURCES = 1, SIM_FLUSH_RESULTS = 2 };

/* The new value of memory. `data2` is what only some operations have: the value to compare with (cmpswap), bits to set
 * (mskor, where `data` is those to clear), what to add if the difference were negative (wrap). */
typedef uint32_t (*sim_atomic32)(uint32_t memory, uint32_t data, uint32_t data2, unsigned flush);
typedef uint64_t (*sim_atomic64)(uint64_t memory, uint64_t data, uint64_t data2, unsigned flush);

#define SIM_ATOMICS_BOTH_WIDTHS(X) \
    X(swap) X(cmpswap) X(add) X(sub) X(rsub) X(smin) X(umin) X(smax) X(umax) X(and) X(or) X(xor) X(inc) X(dec) X(mskor)
#define SIM_ATOMICS_32_ONLY(X) X(wrap) X(add_f32) X(min_f32) X(max_f32) X(cmpswap_f32) X(pk_add_f16) X(pk_add_bf16)
#define SIM_ATOMICS_64_ONLY(X) X(add_f64) X(min_f64) X(max_f64) X(cmpswap_f64)

#define SIM_DECLARE_ATOMIC32(name) \
    uint32_t sim_atomic32_##name(uint32_t memory, uint32_t data, uint32_t data2, unsigned flush);
#define SIM_DECLARE_ATOMIC64(name) \
    uint64_t sim_atomic64_##name(uint64_t memory, uint64_t data, uint64_t data2, unsigned flush);
SIM_ATOMICS_BOTH_WIDTHS(SIM_DECLARE_ATOMIC32)
SIM_ATOMICS_BOTH_WIDTHS(SIM_DECLARE_ATOMIC64)
SIM_ATOMICS_32_ONLY(SIM_DECLARE_ATOMIC32)
SIM_ATOMICS_64_ONLY(SIM_DECLARE_ATOMIC64)

/* What LDS flushes: MODE decides, for f32 and for 16 and 64 bits separately (CDNA3 ISA manual, 9.2.2: "LDS handling"). The
 * L2 cache flushes nothing: the manual's table has ADD_F32 flush, but of gfx940 and later LLVM's backend says that it
 * supports subnormal numbers (feature memory-atomic-fadd-f32-denormal-support), which is newer and acted on. */
static inline unsigned sim_lds_flush32(const struct sim_wave *wave)
{
    return ~wave->mode >> 4 & 3;
}
static inline unsigned sim_lds_flush16_64(const struct sim_wave *wave)
{
    return ~wave->mode >> 6 & 3;
}

#endif
