/* Sums of floats are of integers small enough to be exact in any order. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define GREATEST(a, b) ((a) > (b) ? (a) : (b))

struct results { /* as device/atomics.c has it */
    uint64_t add, low, high, mask, any, parity;
    int64_t signed_low, signed_high;
    double sum_f64;
    uint32_t add_32, low_32, high_32, mask_32, any_32, parity_32;
    int32_t signed_low_32, signed_high_32;
    float sum_f32, high_cas;
    uint32_t exchanged, last_block;
};

/* Each of 0..count - 1 once. */
static void check_permutation(const char *what, const uint32_t *values, uint32_t count)
{
    uint8_t *seen = calloc(count, 1);
    assert_non_null(seen);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count; i++)
        wrong += values[i] >= count || seen[values[i]]++ != 0;
    free(seen);
    if (wrong != 0)
        fail_msg("%s: %u of %u are missing or there twice", what, wrong, count);
}

void check_atomics_global(void **state)
{
    (void)state;
    enum { COUNT = 256 };
    uint64_t values[COUNT];
    uint32_t tickets[COUNT];
    random_fill(values, sizeof values, 36);
    const struct results initial = {.low = UINT64_MAX, .mask = UINT64_MAX, .low_32 = UINT32_MAX, .mask_32 = UINT32_MAX};
    struct results r = initial, e = initial;
    for (int i = 0; i < COUNT; i++) {
        uint64_t v = values[i];
        uint32_t w = (uint32_t)(v >> 16);
        e.add += v;
        e.low = LEAST(e.low, v);
        e.high = GREATEST(e.high, v);
        e.mask &= v | 0xff00000000000000;
        e.any |= v & 0x00ff00ff00ff00ff;
        e.parity ^= v;
        e.signed_low = LEAST(e.signed_low, (int64_t)v);
        e.signed_high = GREATEST(e.signed_high, (int64_t)v);
        e.sum_f64 += (double)(v & 0xffff);
        e.add_32 -= w;
        e.low_32 = LEAST(e.low_32, w);
        e.high_32 = GREATEST(e.high_32, w);
        e.mask_32 &= w | 0xff;
        e.any_32 |= w & 0x0ff00ff0;
        e.parity_32 ^= w;
        e.signed_low_32 = LEAST(e.signed_low_32, (int32_t)w);
        e.signed_high_32 = GREATEST(e.signed_high_32, (int32_t)w);
        e.sum_f32 += (float)(v & 0xff);
        e.high_cas = GREATEST(e.high_cas, (float)(w & 0xffffff));
    }
    e.exchanged = COUNT;
    void *d_r = device_copy(&r, sizeof r), *d_values = device_copy(values, sizeof values),
         *d_tickets = device_zeros(sizeof tickets);
    LAUNCH("atomics_global", SHAPE_1D(2, COUNT / 2), &d_r, &d_values, &d_tickets);
    device_read(&r, d_r, sizeof r);
    device_read(tickets, d_tickets, sizeof tickets);
    check_equal("words of the results", &r, &e, sizeof r / 4, 4);
    check_permutation("tickets", tickets, COUNT);
}

void check_atomics_local(void **state)
{
    (void)state;
    enum { BLOCKS = 2, THREADS = 192 };
    uint32_t values[BLOCKS][THREADS], out[BLOCKS][9 + THREADS];
    uint64_t wide[BLOCKS][5];
    float sums[BLOCKS][3];
    random_fill(values, sizeof values, 37);
    void *d_out = device_zeros(sizeof out), *d_wide = device_zeros(sizeof wide), *d_sums = device_zeros(sizeof sums),
         *d_values = device_copy(values, sizeof values);
    LAUNCH("atomics_local", SHAPE_1D(BLOCKS, THREADS), &d_out, &d_wide, &d_sums, &d_values);
    device_read(out, d_out, sizeof out);
    device_read(wide, d_wide, sizeof wide);
    device_read(sums, d_sums, sizeof sums);
    for (int b = 0; b < BLOCKS; b++) {
        uint32_t word[9] = {0, UINT32_MAX, 0, UINT32_MAX, 0, 0, 0, 0, THREADS};
        int32_t low = INT32_MAX, high = 0;
        uint64_t e[5] = {0, UINT64_MAX, 0, 0, 0};
        float sum[3] = {0};
        double sum_f64 = 0;
        for (int t = 0; t < THREADS; t++) {
            uint32_t v = values[b][t];
            uint64_t v64 = ((uint64_t)v << 20) | v;
            word[0] += v;
            word[1] = LEAST(word[1], v);
            word[2] = GREATEST(word[2], v);
            word[3] &= v | 0xff;
            word[4] |= v & 0xff00ff;
            word[5] ^= v;
            low = LEAST(low, (int32_t)v);
            high = GREATEST(high, (int32_t)v);
            e[0] += v64;
            e[1] = LEAST(e[1], v64);
            e[2] = GREATEST(e[2], v64);
            e[3] |= v64;
            e[4] ^= v64;
            sum[0] += (float)(v & 0xff);
            sum[1] = GREATEST(sum[1], (float)(v & 0xffff));
            sum_f64 += v;
        }
        word[6] = (uint32_t)low;
        word[7] = (uint32_t)high;
        sum[2] = (float)sum_f64;
        check_equal("32 bits", out[b], word, 9, 4);
        check_equal("64 bits", wide[b], e, 5, 8);
        check_equal("floats", sums[b], sum, 3, 4);
        check_permutation("tickets", out[b] + 9, THREADS);
    }
}

void check_atomics_last_block(void **state)
{
    (void)state;
    enum { BLOCKS = 40, THREADS = 64, COUNT = BLOCKS * THREADS - 11 };
    uint32_t values[COUNT], done, count = COUNT;
    uint64_t total, expected = 0;
    random_fill(values, sizeof values, 38);
    for (int i = 0; i < COUNT; i++)
        expected += values[i];
    void *d_total = device_zeros(8), *d_done = device_zeros(4), *d_partial = device_zeros(BLOCKS * 8),
         *d_values = device_copy(values, sizeof values);
    LAUNCH("atomics_last_block", SHAPE_1D(BLOCKS, THREADS), &d_total, &d_done, &d_partial, &d_values, &count);
    device_read(&total, d_total, 8);
    device_read(&done, d_done, 4);
    assert_int_equal(done, BLOCKS);
    check_equal("total", &total, &expected, 1, 8);
}

void check_atomics_hash(void **state)
{
    (void)state;
    enum { COUNT = 512, KEYS = 150, SLOTS = 211 };
    uint64_t keys[KEYS], values[COUNT], table[SLOTS], seed = 39;
    uint32_t expected[KEYS] = {0}, counts[SLOTS], slots = SLOTS, all = 0;
    for (int i = 0; i < KEYS; i++)
        keys[i] = random_u64(&seed) | 1;
    for (int i = 0; i < COUNT; i++) {
        uint32_t key = random_u32(&seed) % KEYS;
        values[i] = keys[key];
        expected[key]++;
    }
    void *d_table = device_zeros(sizeof table), *d_counts = device_zeros(sizeof counts),
         *d_values = device_copy(values, sizeof values);
    LAUNCH("atomics_hash", SHAPE_1D(4, COUNT / 4), &d_table, &d_counts, &slots, &d_values);
    device_read(table, d_table, sizeof table);
    device_read(counts, d_counts, sizeof counts);
    for (int s = 0; s < SLOTS; s++) /* each key is in one slot and has its count */
        for (int i = 0; table[s] != 0 && i < KEYS; i++)
            if (keys[i] == table[s]) {
                assert_int_equal(counts[s], expected[i]);
                all += counts[s];
                expected[i] = 0;
            }
    assert_int_equal(all, COUNT);
}
