/* Every wave that ended is a baseline: the place was awake for all of it, so its two anchors bound the rate to
 * (wall +- error) / ticks. One short wave says little (1 us: 3 %), but all places run at nearly one rate, and the weighted
 * ratio of the sums over many waves is good to a fraction of a percent. So waves are taken by time, as many as make the ratio
 * good to BUCKET_DEVIATION; then the next bucket begins.
 *
 * A bucket's bounds also hold what its two neighbours found: the rate may be changing. Its own rate is the median of the
 * three, so that one wave with a false anchor does not set what others are held against, while a change stays a step.
 *
 * Measured on one H200 at a nominal 1980 MHz: SMs of different clusters ran at 1967, 1973 and 1980 MHz at the same time;
 * each drifted by 0.05 % between milliseconds; and a burst of arithmetic on all SMs began at 1920 MHz and was back at 1970 MHz
 * 30 us later. Hence RATE_SPREAD and RATE_DEVIATION. */
#include "clock_rate.h"

#include "array.h"

#include <math.h>

#define RATE_SPREAD 0.015
#define RATE_DEVIATION 0.003
#define NOMINAL_DEVIATION 0.005
#define BUCKET_DEVIATION 0.002
#define BUCKET_NS 2000 /* at least, so that no trace has needlessly many */

struct bucket {
    uint64_t begin_wall_ns;
    double wall, ticks, weight; /* weighted sums */
};

static int compare_baselines(const void *left, const void *right)
{
    const struct kt_baseline *a = left, *b = right;
    if (a->begin_wall_ns != b->begin_wall_ns)
        return a->begin_wall_ns < b->begin_wall_ns ? -1 : 1;
    if (a->clock_ticks != b->clock_ticks)
        return a->clock_ticks < b->clock_ticks ? -1 : 1;
    return (a->wall_ns > b->wall_ns) - (a->wall_ns < b->wall_ns);
}

static void take(struct bucket *bucket, const struct kt_baseline *baseline)
{
    double weight = 1 / (baseline->error_ns * baseline->error_ns);
    bucket->wall += weight * baseline->wall_ns;
    bucket->ticks += weight * baseline->clock_ticks;
    bucket->weight += weight;
}

/* Of wall / ticks. A baseline's error is the difference of two uniform ones: its variance is error_ns^2 / 6. */
static double deviation(const struct bucket *bucket)
{
    return sqrt(bucket->weight / 6) / bucket->ticks;
}

static int is_full(const struct bucket *bucket, uint64_t wall_ns)
{
    return deviation(bucket) * bucket->ticks < BUCKET_DEVIATION * bucket->wall &&
           wall_ns - bucket->begin_wall_ns >= BUCKET_NS;
}

/* A rate and its deviation; bounds are set later. */
static struct kt_rate measure(const struct bucket *bucket, double nominal)
{
    struct kt_rate rate = {.begin_wall_ns = bucket->begin_wall_ns,
                           .ns_per_tick = bucket->wall / bucket->ticks,
                           .deviation = deviation(bucket)};
    if (fabs(rate.ns_per_tick - nominal) <= 3 * rate.deviation) {
        double nominal_variance = pow(nominal * NOMINAL_DEVIATION, 2), variance = pow(rate.deviation, 2);
        rate.ns_per_tick = (rate.ns_per_tick * nominal_variance + nominal * variance) / (variance + nominal_variance);
        rate.deviation = sqrt(variance * nominal_variance / (variance + nominal_variance));
    }
    return rate;
}

static double median(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* `measured` as they were, `rates` get their bounds and medians. */
static void look_around(struct kt_rate *rates, const struct kt_rate *measured, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t first = i > 0 ? i - 1 : i, last = i + 1 < count ? i + 1 : i;
        rates[i] = measured[i];
        rates[i].low = INFINITY;
        rates[i].high = 0;
        for (size_t near = first; near <= last; near++) {
            double margin = measured[near].ns_per_tick * RATE_SPREAD + 3 * measured[near].deviation;
            rates[i].low = fmin(rates[i].low, fmax(0, measured[near].ns_per_tick - margin));
            rates[i].high = fmax(rates[i].high, measured[near].ns_per_tick + margin);
        }
        if (last - first == 2)
            rates[i].ns_per_tick =
                median(measured[first].ns_per_tick, measured[i].ns_per_tick, measured[last].ns_per_tick);
        rates[i].deviation = hypot(rates[i].deviation, rates[i].ns_per_tick * RATE_DEVIATION);
    }
}

static size_t fill_buckets(struct kt_rate *measured, const struct kt_baseline *baselines, size_t count, double nominal)
{
    size_t filled = 0;
    struct bucket bucket = {.begin_wall_ns = baselines[0].begin_wall_ns};
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && is_full(&bucket, baselines[i].begin_wall_ns)) {
            measured[filled++] = measure(&bucket, nominal);
            bucket = (struct bucket){.begin_wall_ns = baselines[i].begin_wall_ns};
        }
        take(&bucket, &baselines[i]);
    }
    measured[filled++] = measure(&bucket, nominal);
    return filled;
}

static int one_rate(struct kt_rate_profile *out, struct kt_rate rate)
{
    out->rates = kt_array_new(1, sizeof *out->rates);
    if (!out->rates)
        return KTRACE_ERROR_MEMORY;
    out->rates[0] = rate;
    out->count = 1;
    return 0;
}

int kt_rate_profile_make(struct kt_rate_profile *out, struct kt_baseline *baselines, size_t count,
                         double nominal_ns_per_tick)
{
    if (count == 0) /* a part that idles may run much more slowly than it could */
        return one_rate(out, (struct kt_rate){.ns_per_tick = nominal_ns_per_tick,
                                              .deviation = nominal_ns_per_tick * NOMINAL_DEVIATION,
                                              .low = nominal_ns_per_tick / 2,
                                              .high = nominal_ns_per_tick * 8});
    struct kt_rate *measured = kt_array_new(count, sizeof *measured);
    if (!measured)
        return KTRACE_ERROR_MEMORY;
    qsort(baselines, count, sizeof *baselines, compare_baselines);
    out->count = fill_buckets(measured, baselines, count, nominal_ns_per_tick);
    out->rates = kt_array_new(out->count, sizeof *out->rates);
    if (out->rates)
        look_around(out->rates, measured, out->count);
    free(measured);
    return out->rates ? 0 : KTRACE_ERROR_MEMORY;
}

int kt_rate_profile_exact(struct kt_rate_profile *out, double ns_per_tick)
{
    return one_rate(out, (struct kt_rate){.ns_per_tick = ns_per_tick, .low = ns_per_tick, .high = ns_per_tick});
}

void kt_rate_profile_destroy(struct kt_rate_profile *profile)
{
    free(profile->rates);
    *profile = (struct kt_rate_profile){0, NULL};
}

const struct kt_rate *kt_rate_at(const struct kt_rate_profile *profile, uint64_t wall_ns)
{
    size_t first = 0, end = profile->count;
    while (end - first > 1) { /* the last that began by then, or the first of all */
        size_t middle = first + (end - first) / 2;
        if (profile->rates[middle].begin_wall_ns <= wall_ns)
            first = middle;
        else
            end = middle;
    }
    return &profile->rates[first];
}
