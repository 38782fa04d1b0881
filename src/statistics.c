#include "statistics.h"

#include <stddef.h>
#include <string.h>

/* Least significant byte first, bytes that are equal everywhere left out: O(n), and the result is in `values`. */
static void radix_sort(uint64_t *values, uint64_t *scratch, size_t count)
{
    uint64_t *from = values, *to = scratch;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t starts[257] = {0};
        for (size_t i = 0; i < count; i++)
            starts[(from[i] >> shift & 0xFF) + 1]++;
        if (starts[(from[0] >> shift & 0xFF) + 1] == count)
            continue;
        for (size_t i = 1; i < 257; i++)
            starts[i] += starts[i - 1];
        for (size_t i = 0; i < count; i++)
            to[starts[from[i] >> shift & 0xFF]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != values)
        memcpy(values, from, count * sizeof *values);
}

/* Nearest rank: the smallest value that `percent` of all values do not exceed. */
static double percentile_ns(const uint64_t *sorted_ps, uint64_t count, uint64_t percent)
{
    uint64_t rank = count / 100 * percent + (count % 100 * percent + 99) / 100;
    return (double)sorted_ps[rank - 1] / 1000;
}

static double total_ns(const uint64_t *durations_ps, uint64_t count)
{
    uint64_t whole_ns = 0, rest_ps = 0; /* apart, so that the sum is exact for 584 years */
    for (uint64_t i = 0; i < count; i++) {
        if (__builtin_add_overflow(whole_ns, durations_ps[i] / 1000, &whole_ns))
            return (double)UINT64_MAX;
        rest_ps += durations_ps[i] % 1000;
    }
    return (double)whole_ns + (double)rest_ps / 1000;
}

void kt_describe_durations(struct kt_statistics *out, uint64_t *durations_ps, uint64_t *scratch, uint64_t count)
{
    *out = (struct kt_statistics){.count = count};
    if (count == 0)
        return;
    radix_sort(durations_ps, scratch, (size_t)count);
    out->total_ns = total_ns(durations_ps, count);
    out->mean_ns = out->total_ns / (double)count;
    out->min_ns = (double)durations_ps[0] / 1000;
    out->p50_ns = percentile_ns(durations_ps, count, 50);
    out->p90_ns = percentile_ns(durations_ps, count, 90);
    out->p99_ns = percentile_ns(durations_ps, count, 99);
    out->max_ns = (double)durations_ps[count - 1] / 1000;
}
