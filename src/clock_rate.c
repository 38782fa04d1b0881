/* Every wave that ended is a baseline: the place was awake for all of it, so its two anchors bound the rate to
 * (wall +- error) / ticks. One short wave says little (1 us: 3 %), but all places run at nearly one rate, and over the waves
 * of a kernel the ratio of the sums is good to a fraction of a percent.
 *
 * Waves are taken by time into the current rate while the bounds of all of them have something in common. A wave that has
 * not starts a candidate, and three in agreement make the candidate the next rate: one wave with a bad anchor does not, nor
 * do short waves that agree with both.
 *
 * Measured on one H200: SMs of different clusters ran at 1967, 1973 and 1980 MHz at the same time and each drifted by 0.05 %
 * between milliseconds. Bounds are therefore widened by RATE_SPREAD, and no rate is trusted to better than RATE_DEVIATION. */
#include "clock_rate.h"

#include "error.h"

#include <math.h>
#include <stdlib.h>

#define RATE_SPREAD 0.01
#define RATE_DEVIATION 0.002
#define NOMINAL_DEVIATION 0.005
#define MISFITS_TO_CHANGE 3

struct sums {
    struct kt_rate rate;
    double wall_ns, clock_ticks, variance_ns2;
    size_t misfits; /* baselines that the rate before did not allow */
};

static int compare_baselines(const void *left, const void *right)
{
    const struct kt_baseline *a = left, *b = right;
    if (a->begin_wall_ns != b->begin_wall_ns) return a->begin_wall_ns < b->begin_wall_ns ? -1 : 1;
    if (a->clock_ticks != b->clock_ticks) return a->clock_ticks < b->clock_ticks ? -1 : 1;
    return (a->wall_ns > b->wall_ns) - (a->wall_ns < b->wall_ns);
}

static double lower_bound(const struct kt_baseline *baseline)
{
    return fmax(0, (baseline->wall_ns - baseline->error_ns) / baseline->clock_ticks * (1 - RATE_SPREAD));
}

static double upper_bound(const struct kt_baseline *baseline)
{
    return (baseline->wall_ns + baseline->error_ns) / baseline->clock_ticks * (1 + RATE_SPREAD);
}

static int agrees(const struct sums *sums, const struct kt_baseline *baseline)
{
    return lower_bound(baseline) <= sums->rate.high && upper_bound(baseline) >= sums->rate.low;
}

static void take(struct sums *sums, const struct kt_baseline *baseline)
{
    sums->rate.low = fmax(sums->rate.low, lower_bound(baseline));
    sums->rate.high = fmin(sums->rate.high, upper_bound(baseline));
    sums->wall_ns += baseline->wall_ns;
    sums->clock_ticks += baseline->clock_ticks;
    /* The error is a difference of two uniform ones. */
    sums->variance_ns2 += baseline->error_ns * baseline->error_ns / 6;
}

static struct sums sums_from(const struct kt_baseline *baseline)
{
    struct sums sums = {.rate = {.begin_wall_ns = baseline->begin_wall_ns, .low = 0, .high = INFINITY}};
    sums.rate.settled_wall_ns = baseline->begin_wall_ns + (uint64_t)baseline->wall_ns;
    take(&sums, baseline);
    return sums;
}

static struct kt_rate finish(const struct sums *sums, double nominal)
{
    struct kt_rate rate = sums->rate;
    double measured = sums->wall_ns / sums->clock_ticks;
    double variance = sums->variance_ns2 / (sums->clock_ticks * sums->clock_ticks);
    rate.ns_per_tick = measured;
    if (nominal >= rate.low && nominal <= rate.high) {
        double nominal_variance = pow(nominal * NOMINAL_DEVIATION, 2);
        rate.ns_per_tick = (measured * nominal_variance + nominal * variance) / (variance + nominal_variance);
        variance = variance * nominal_variance / (variance + nominal_variance);
    }
    rate.ns_per_tick = fmin(fmax(rate.ns_per_tick, rate.low), rate.high);
    rate.deviation = sqrt(variance + pow(rate.ns_per_tick * RATE_DEVIATION, 2));
    return rate;
}

static int append(struct kt_rate_profile *profile, size_t *capacity, struct kt_rate rate)
{
    if (profile->count == *capacity) {
        size_t next = *capacity ? *capacity * 2 : 4;
        struct kt_rate *grown = realloc(profile->rates, next * sizeof *grown);
        if (!grown) return kt_fail_memory(next * sizeof *grown);
        profile->rates = grown;
        *capacity = next;
    }
    profile->rates[profile->count++] = rate;
    return 0;
}

static int follow(struct kt_rate_profile *out, const struct kt_baseline *baselines, size_t count, double nominal)
{
    size_t capacity = 0;
    struct sums current = sums_from(&baselines[0]), candidate = {.misfits = 0};
    for (size_t i = 1; i < count; i++) {
        int fits_current = agrees(&current, &baselines[i]);
        int fits_candidate = candidate.misfits > 0 && agrees(&candidate, &baselines[i]);
        if (fits_current) take(&current, &baselines[i]);
        if (fits_candidate) {
            take(&candidate, &baselines[i]);
            candidate.misfits += !fits_current;
        } else if (fits_current) {
            candidate.misfits = 0;
        } else {
            /* Waves that straddle a change agree with nothing: the change may have come with the first of them. */
            uint64_t begin_wall_ns = candidate.misfits ? candidate.rate.begin_wall_ns : baselines[i].begin_wall_ns;
            candidate = sums_from(&baselines[i]);
            candidate.rate.begin_wall_ns = begin_wall_ns;
            candidate.misfits = 1;
        }
        if (candidate.misfits == MISFITS_TO_CHANGE) {
            int status = append(out, &capacity, finish(&current, nominal));
            if (status < 0) return status;
            current = candidate;
            candidate.misfits = 0;
        }
    }
    int status = append(out, &capacity, finish(&current, nominal));
    if (status == 0 && candidate.misfits > 0) status = append(out, &capacity, finish(&candidate, nominal));
    return status;
}

int kt_rate_profile_make(struct kt_rate_profile *out, struct kt_baseline *baselines, size_t count,
                         double nominal_ns_per_tick)
{
    *out = (struct kt_rate_profile){0, NULL};
    int status;
    if (count == 0) {
        size_t capacity = 0;
        struct kt_rate rate = {.ns_per_tick = nominal_ns_per_tick,
                               .deviation = nominal_ns_per_tick * NOMINAL_DEVIATION,
                               .low = nominal_ns_per_tick / 2,
                               .high = nominal_ns_per_tick * 8}; /* idle parts run slowly */
        status = append(out, &capacity, rate);
    } else {
        qsort(baselines, count, sizeof *baselines, compare_baselines);
        status = follow(out, baselines, count, nominal_ns_per_tick);
    }
    if (status < 0) kt_rate_profile_destroy(out);
    return status;
}

int kt_rate_profile_exact(struct kt_rate_profile *out, double ns_per_tick)
{
    size_t capacity = 0;
    *out = (struct kt_rate_profile){0, NULL};
    return append(out, &capacity, (struct kt_rate){.ns_per_tick = ns_per_tick, .low = ns_per_tick, .high = ns_per_tick});
}

void kt_rate_profile_destroy(struct kt_rate_profile *profile)
{
    free(profile->rates);
    *profile = (struct kt_rate_profile){0, NULL};
}

struct kt_rate kt_rate_at(const struct kt_rate_profile *profile, uint64_t wall_ns)
{
    size_t first = 0, end = profile->count;
    while (end - first > 1) { /* the last rate that began by then, or the first of all */
        size_t middle = first + (end - first) / 2;
        if (profile->rates[middle].begin_wall_ns <= wall_ns) first = middle;
        else end = middle;
    }
    struct kt_rate rate = profile->rates[first];
    if (first == 0 || wall_ns >= rate.settled_wall_ns) return rate;
    const struct kt_rate *before = &profile->rates[first - 1];
    rate.low = fmin(rate.low, before->low);
    rate.high = fmax(rate.high, before->high);
    rate.deviation = fmax(rate.deviation, fabs(rate.ns_per_tick - before->ns_per_tick));
    return rate;
}
