/* diff_samples.c - a trace's durations, phase by phase. */
#include "diff.h"

#include "../array.h"
#include "../trace.h"

/* What is gathered of one sample. */
struct gathered {
    double *durations_ps; /* whole numbers, so that sums are exact for hours */
    size_t duration_count, duration_capacity, observation_capacity;
    /* Of the observation that is being made. */
    double sum_ps;
    uint64_t ranges;
};

struct gathering {
    const struct ktrace_trace *trace;
    struct diff_samples *samples;
    struct gathered *gathered; /* beside samples->samples */
};

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static bool is_closed(const struct kt_event *begin)
{
    return begin->partner != KT_NONE && !(begin->flags & KT_EVENT_UNCLOSED);
}

static int take_range(struct diff_sample *sample, struct gathered *gathered, double duration_ps)
{
    if (kt_array_reserve(&gathered->durations_ps, &gathered->duration_capacity, gathered->duration_count + 1,
                         sizeof *gathered->durations_ps) < 0)
        return -1;
    gathered->durations_ps[gathered->duration_count++] = duration_ps;
    gathered->sum_ps += duration_ps;
    gathered->ranges++;
    sample->count++;
    return 0;
}

static int take_wave(struct gathering *gathering, const struct kt_wave *wave, const struct kt_launch *launch)
{
    const struct ktrace_trace *trace = gathering->trace;
    const size_t first_sample = (size_t)launch->device * trace->phase_count;
    for (uint32_t i = 0; i < wave->event_count; i++) {
        const struct kt_event *event = &trace->events[wave->first_event + i];
        const uint8_t kind = event->site->kind;
        if (kind != KTRACE_KIND_MARK && kind != KTRACE_KIND_PUSH && kind != KTRACE_KIND_START)
            continue;
        const uint32_t phase = kt_trace_phase_of(trace, launch->kernel, event->site);
        if (phase >= trace->phase_count)
            continue;
        struct diff_sample *sample = &gathering->samples->samples[first_sample + phase];
        if (kind == KTRACE_KIND_MARK) {
            sample->count++;
        } else if (!is_closed(event) || event->partner >= wave->event_count) {
            sample->unclosed++;
        } else {
            const int64_t end_ps = trace->events[wave->first_event + event->partner].time_ps;
            /* Unsigned: a file from anywhere can have times so far apart that no int64_t is their distance. */
            const double duration_ps =
                end_ps > event->time_ps ? (double)((uint64_t)end_ps - (uint64_t)event->time_ps) : 0;
            if (take_range(sample, &gathering->gathered[first_sample + phase], duration_ps) < 0)
                return -1;
        }
    }
    return 0;
}

/* What was gathered on `device` since the last time is one observation of each phase. */
static int observe(struct gathering *gathering, uint32_t device)
{
    const size_t first_sample = (size_t)device * gathering->trace->phase_count;
    for (uint32_t i = 0; i < gathering->trace->phase_count; i++) {
        struct diff_sample *sample = &gathering->samples->samples[first_sample + i];
        struct gathered *gathered = &gathering->gathered[first_sample + i];
        if (!gathered->ranges)
            continue;
        if (kt_array_reserve(&sample->observations_ns, &gathered->observation_capacity, sample->observation_count + 1,
                             sizeof *sample->observations_ns) < 0)
            return -1;
        sample->observations_ns[sample->observation_count++] = gathered->sum_ps / (double)gathered->ranges / 1000;
        gathered->sum_ps = 0;
        gathered->ranges = 0;
    }
    return 0;
}

static int gather(struct gathering *gathering, enum diff_unit unit)
{
    const struct ktrace_trace *trace = gathering->trace;
    for (uint64_t l = 0; l < trace->launch_count; l++) {
        const struct kt_launch *launch = &trace->launches[l];
        for (uint64_t w = 0; w < launch->wave_count; w++)
            if (take_wave(gathering, &trace->waves[launch->first_wave + w], launch) < 0 ||
                (unit == DIFF_WAVES && observe(gathering, launch->device) < 0))
                return -1;
        if (unit == DIFF_LAUNCHES && observe(gathering, launch->device) < 0)
            return -1;
    }
    return 0;
}

/* Nearest rank, as in `ktrace summary`. */
static double percentile_ns(const double *sorted_ps, size_t count, size_t percent)
{
    return sorted_ps[count / 100 * percent + (count % 100 * percent + 99) / 100 - 1] / 1000;
}

static void describe(struct diff_sample *sample, struct gathered *gathered)
{
    const size_t count = gathered->duration_count;
    if (!count)
        return;
    qsort(gathered->durations_ps, count, sizeof *gathered->durations_ps, by_value);
    qsort(sample->observations_ns, sample->observation_count, sizeof *sample->observations_ns, by_value);
    for (size_t i = 0; i < count; i++)
        sample->total_ns += gathered->durations_ps[i];
    sample->total_ns /= 1000;
    sample->mean_ns = sample->total_ns / (double)count;
    sample->p50_ns = percentile_ns(gathered->durations_ps, count, 50);
    sample->p90_ns = percentile_ns(gathered->durations_ps, count, 90);
    sample->p99_ns = percentile_ns(gathered->durations_ps, count, 99);
}

int diff_samples_make(struct diff_samples *out, const struct ktrace_trace *trace, enum diff_unit unit)
{
    const uint32_t devices = trace->snapshot->device_count;
    const size_t count = (size_t)devices * trace->phase_count;
    *out = (struct diff_samples){.device_count = devices, .phase_count = trace->phase_count};
    struct gathering gathering = {trace, out, kt_array_new_zeroed(count, sizeof *gathering.gathered)};
    out->samples = kt_array_new_zeroed(count, sizeof *out->samples);
    int status = gathering.gathered && out->samples ? gather(&gathering, unit) : -1;
    for (size_t i = 0; gathering.gathered && i < count; i++) {
        if (status == 0)
            describe(&out->samples[i], &gathering.gathered[i]);
        free(gathering.gathered[i].durations_ps);
    }
    free(gathering.gathered);
    return status;
}

void diff_samples_destroy(struct diff_samples *samples)
{
    for (size_t i = 0; samples->samples && i < (size_t)samples->device_count * samples->phase_count; i++)
        free(samples->samples[i].observations_ns);
    free(samples->samples);
    *samples = (struct diff_samples){0};
}
