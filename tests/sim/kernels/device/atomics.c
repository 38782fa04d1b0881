/* Atomics on global memory and LDS: every operation, 32 and 64 bits, floats, loops of compare-and-swap. */
#include "kernel.h"

struct atomic_results {
    u64 add, low, high, mask, any, parity;
    i64 signed_low, signed_high;
    double sum_f64;
    u32 add_32, low_32, high_32, mask_32, any_32, parity_32;
    i32 signed_low_32, signed_high_32;
    float sum_f32, high_cas;
    u32 exchanged, last_block;
};

DEVICE void cas_max(float *to, float value)
{
    u32 *word = (u32 *)to;
    u32 seen = __scoped_atomic_load_n(word, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    while (__builtin_bit_cast(float, seen) < value &&
           !__scoped_atomic_compare_exchange_n(word, &seen, __builtin_bit_cast(u32, value), false, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE))
        ;
}

KERNEL atomics_global(struct atomic_results *r, const u64 *values, u32 *tickets)
{
    u32 i = global_x();
    u64 v = values[i];
    ATOMIC(add, &r->add, v);
    ATOMIC(min, &r->low, v);
    ATOMIC(max, &r->high, v);
    ATOMIC(and, &r->mask, v | 0xff00000000000000);
    ATOMIC(or, &r->any, v & 0x00ff00ff00ff00ff);
    ATOMIC(xor, &r->parity, v);
    ATOMIC(min, &r->signed_low, (i64)v);
    ATOMIC(max, &r->signed_high, (i64)v);
    ATOMIC(add, &r->sum_f64, (double)(v & 0xffff));
    u32 w = (u32)(v >> 16);
    ATOMIC(sub, &r->add_32, w);
    ATOMIC(min, &r->low_32, w);
    ATOMIC(max, &r->high_32, w);
    ATOMIC(and, &r->mask_32, w | 0xff);
    ATOMIC(or, &r->any_32, w & 0x0ff00ff0);
    ATOMIC(xor, &r->parity_32, w);
    ATOMIC(min, &r->signed_low_32, (i32)w);
    ATOMIC(max, &r->signed_high_32, (i32)w);
    ATOMIC(add, &r->sum_f32, (float)(v & 0xff));
    cas_max(&r->high_cas, (float)(w & 0xffffff));
    /* Every ticket is taken once. */
    tickets[ATOMIC(add, &r->exchanged, 1u)] = i;
}

KERNEL atomics_local(u32 *out, u64 *out_64, float *out_float, const u32 *values)
{
    SHARED u32 word[9];
    SHARED u64 wide[5];
    SHARED float sum[2];
    SHARED double sum_f64;
    u32 t = thread_x();
    if (t == 0) {
        for (u32 i = 0; i < 9; i++)
            word[i] = i == 3 || i == 1 ? ~0u : 0;
        word[6] = 0x7fffffff;
        for (u32 i = 0; i < 5; i++)
            wide[i] = i == 1 ? ~0ul : 0;
        sum[0] = sum[1] = 0;
        sum_f64 = 0;
    }
    barrier();
    u32 v = values[global_x()];
    u64 v64 = (u64)v << 20 | v;
    ATOMIC_LOCAL(add, &word[0], v);
    ATOMIC_LOCAL(min, &word[1], v);
    ATOMIC_LOCAL(max, &word[2], v);
    ATOMIC_LOCAL(and, &word[3], v | 0xff);
    ATOMIC_LOCAL(or, &word[4], v & 0xff00ff);
    ATOMIC_LOCAL(xor, &word[5], v);
    ATOMIC_LOCAL(min, (LOCAL i32 *)&word[6], (i32)v);
    ATOMIC_LOCAL(max, (LOCAL i32 *)&word[7], (i32)v);
    ATOMIC_LOCAL(add, &wide[0], v64);
    ATOMIC_LOCAL(min, &wide[1], v64);
    ATOMIC_LOCAL(max, &wide[2], v64);
    ATOMIC_LOCAL(or, &wide[3], v64);
    ATOMIC_LOCAL(xor, &wide[4], v64);
    ATOMIC_LOCAL(add, &sum[0], (float)(v & 0xff));
    ATOMIC_LOCAL(max, &sum[1], (float)(v & 0xffff));
    ATOMIC_LOCAL(add, &sum_f64, (double)v);
    u32 ticket = ATOMIC_LOCAL(add, &word[8], 1u);
    out[block_x() * (threads_x() + 9) + 9 + ticket] = t;
    barrier();
    if (t < 9)
        out[block_x() * (threads_x() + 9) + t] = word[t];
    if (t < 5)
        out_64[block_x() * 5 + t] = wide[t];
    if (t == 0) {
        out_float[block_x() * 3] = sum[0];
        out_float[block_x() * 3 + 1] = sum[1];
        out_float[block_x() * 3 + 2] = (float)sum_f64;
    }
}

/* The last workgroup to finish adds up what all have written: fences of device scope. */
KERNEL atomics_last_block(u64 *total, u32 *done, u64 *partial, const u32 *values, u32 count)
{
    SHARED u32 is_last;
    SHARED u64 sum;
    u32 i = global_x();
    if (thread_x() == 0)
        sum = 0;
    barrier();
    ATOMIC_LOCAL(add, &sum, (u64)(i < count ? values[i] : 0));
    barrier();
    if (thread_x() == 0) {
        partial[block_x()] = sum;
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
        is_last = __scoped_atomic_fetch_add(done, 1u, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE) == blocks_x() - 1;
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    }
    barrier();
    if (is_last && thread_x() == 0) {
        u64 all = 0;
        for (u32 b = 0; b < blocks_x(); b++)
            all += partial[b];
        *total = all;
    }
}

/* Open addressing: keys are claimed by compare-and-swap, counts added. */
KERNEL atomics_hash(u64 *keys, u32 *counts, u32 slots, const u64 *values)
{
    u64 key = values[global_x()];
    u32 at = (u32)(key * 0x9e3779b97f4a7c15 >> 40) % slots;
    for (;;) {
        u64 expected = 0;
        if (__scoped_atomic_compare_exchange_n(&keys[at], &expected, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                               __MEMORY_SCOPE_DEVICE) ||
            expected == key)
            break;
        at = (at + 1) % slots;
    }
    ATOMIC(add, &counts[at], 1u);
}
