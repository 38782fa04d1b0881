/* Anchors from a device's waves, how fast its places' clocks ran, a fit for each place; then the device's origin, and how far
 * anchors lie from the fit. */
#include "clock_device.h"

#include "array.h"
#include "clock.h"
#include "clock_place.h"

#include <math.h>

#define DEFAULT_NS_PER_TICK 0.5 /* no nominal clock and no finished wave: the right order of magnitude */
#define UNKNOWN_GAP_TICKS 4
/* Between two anchors a clock is taken to run evenly, and nothing shows where it did not: a line passes through any two. The
 * SMs of one H200 drifted by 0.05 % between milliseconds. A clock that is 0.025 % too fast for half of the time between two
 * anchors and as much too slow for the rest is off by 0.0125 % of that time in the middle. Measured there in waves of 200 ms: 3.2 us,
 * an eighth of this. */
#define DRIFT 0.000125
#define DRIFT_FROM_NS 1e6

/* ---- Anchors from waves -------------------------------------------------------------------------------------------- */

struct work {
    uint32_t arch;
    const struct ktrace_wave_header **waves;
    size_t wave_count;
    struct kt_anchor *anchors; /* by place, then clock */
    size_t anchor_count;
    uint64_t zero_wall_ns;   /* wall times are relative to this: the earliest start that can be believed */
    uint64_t latest_wall_ns; /* the latest time that can be */
    double nominal_ns_per_tick;
    double wall_tick_ns;
    struct kt_rate_profile profile;
    struct kt_place_fit place;
    uint32_t first_place; /* index into trace->place_clocks, and into knots */
    uint32_t first_knot;
};

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static int compare_anchors(const void *left, const void *right)
{
    const struct kt_anchor *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->clock_ticks != b->clock_ticks)
        return a->clock_ticks < b->clock_ticks ? -1 : 1;
    return (a->wall_ns > b->wall_ns) - (a->wall_ns < b->wall_ns);
}

static int choose_zero(struct work *work)
{
    size_t count = work->wave_count;
    uint64_t *starts = kt_array_new_zeroed(count, sizeof *starts);
    if (!starts)
        return KTRACE_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++)
        starts[i] = work->waves[i]->start_wall_ns;
    qsort(starts, count, sizeof *starts, compare_u64);
    uint64_t median = starts[count / 2], span = (uint64_t)KT_TRACE_SPAN_NS;
    size_t first = 0;
    while (median - starts[first] > span)
        first++;
    work->zero_wall_ns = starts[first];
    work->latest_wall_ns = median > UINT64_MAX - span ? UINT64_MAX : median + span;
    free(starts);
    return 0;
}

static int is_believable(const struct work *work, uint64_t wall_ns)
{
    return wall_ns >= work->zero_wall_ns && wall_ns <= work->latest_wall_ns;
}

static int64_t relative_wall_ns(const struct work *work, uint64_t wall_ns)
{
    uint64_t limit = (uint64_t)KT_TRACE_SPAN_NS * 4;
    if (wall_ns >= work->zero_wall_ns) {
        uint64_t after = wall_ns - work->zero_wall_ns;
        return (int64_t)(after < limit ? after : limit);
    }
    uint64_t before = work->zero_wall_ns - wall_ns;
    return -(int64_t)(before < limit ? before : limit);
}

/* The wall clock was read at most half the gap between the anchor's two clock reads before or after the anchor's clock. On an
 * idle SM the gap is 4 ticks; with 64 waves an SM one in a hundred anchors had over 200, and some 65,000, because other waves
 * were issued in between (measured, H200). The header says how far apart the reads were; 0: unknown. */
static double reading_error_ns(const struct work *work, uint32_t gap_ticks)
{
    return (gap_ticks ? gap_ticks : UNKNOWN_GAP_TICKS) / 2.0 * work->nominal_ns_per_tick;
}

static double start_error_ns(const struct work *work, const struct ktrace_wave_header *wave)
{
    return reading_error_ns(work, wave->start_gap_ticks);
}

static double end_error_ns(const struct work *work, const struct ktrace_wave_header *wave)
{
    return reading_error_ns(work, wave->end_gap_ticks);
}

static void add_anchor(struct work *work, uint32_t place, uint64_t clock_ticks, uint64_t wall_ns, double error_ns,
                       int waves)
{
    struct kt_anchor *anchor = &work->anchors[work->anchor_count++];
    *anchor = (struct kt_anchor){.clock_ticks = clock_ticks, .place = place, .waves = (int8_t)waves};
    anchor->wild = !is_believable(work, wall_ns);
    anchor->wall_ns = relative_wall_ns(work, wall_ns);
    if (work->arch == KTRACE_ARCH_NVIDIA) {
        anchor->low_ns = -error_ns;
        anchor->high_ns = work->wall_tick_ns + error_ns;
    } else { /* the clock is the wall clock: times are exact, to the unit they are given in */
        anchor->low_ns = -0.5;
        anchor->high_ns = 0.5;
    }
}

static int collect_anchors(struct work *work)
{
    work->anchors = kt_array_new_zeroed(work->wave_count, 2 * sizeof *work->anchors);
    if (!work->anchors)
        return KTRACE_ERROR_MEMORY;
    for (size_t i = 0; i < work->wave_count; i++) {
        const struct ktrace_wave_header *wave = work->waves[i];
        add_anchor(work, wave->place, wave->start_clock_ticks, wave->start_wall_ns, start_error_ns(work, wave),
                   wave->end_wall_ns != 0);
        if (wave->end_wall_ns)
            add_anchor(work, wave->place, wave->end_clock_ticks, wave->end_wall_ns, end_error_ns(work, wave), -1);
    }
    qsort(work->anchors, work->anchor_count, sizeof *work->anchors, compare_anchors);
    return 0;
}

/* ---- Rates --------------------------------------------------------------------------------------------------------- */

static double nominal_ns_per_tick(const struct kt_device *device, uint32_t arch)
{
    if (device->clock_khz)
        return 1e6 / device->clock_khz;
    if (arch == KTRACE_ARCH_HOST)
        return 1;
    if (arch == KTRACE_ARCH_AMDGCN)
        return 10;
    return DEFAULT_NS_PER_TICK;
}

/* 0: the wave's anchors bound no rate that a clock could have. */
static int make_baseline(const struct work *work, const struct ktrace_wave_header *wave, struct kt_baseline *out)
{
    if (!is_believable(work, wave->start_wall_ns) || !is_believable(work, wave->end_wall_ns))
        return 0;
    if (wave->end_wall_ns < wave->start_wall_ns || wave->end_clock_ticks <= wave->start_clock_ticks)
        return 0;
    *out = (struct kt_baseline){.begin_wall_ns = wave->start_wall_ns,
                                .wall_ns = (double)(wave->end_wall_ns - wave->start_wall_ns),
                                .clock_ticks = (double)(wave->end_clock_ticks - wave->start_clock_ticks),
                                .error_ns = work->wall_tick_ns + start_error_ns(work, wave) + end_error_ns(work, wave)};
    double fastest = 0.05, slowest = 50; /* ns per tick: 20 GHz, 20 MHz */
    return out->wall_ns + out->error_ns > fastest * out->clock_ticks &&
           out->wall_ns - out->error_ns < slowest * out->clock_ticks;
}

static int make_profile(struct work *work)
{
    if (work->arch != KTRACE_ARCH_NVIDIA)
        return kt_rate_profile_exact(&work->profile, work->nominal_ns_per_tick);
    struct kt_baseline *baselines = kt_array_new_zeroed(work->wave_count, sizeof *baselines);
    if (!baselines)
        return KTRACE_ERROR_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < work->wave_count; i++)
        count += (size_t)make_baseline(work, work->waves[i], &baselines[count]);
    int status = kt_rate_profile_make(&work->profile, baselines, count, work->nominal_ns_per_tick);
    free(baselines);
    return status;
}

/* ---- Places -------------------------------------------------------------------------------------------------------- */

static size_t end_of_place(const struct work *work, size_t first)
{
    size_t end = first + 1;
    while (end < work->anchor_count && work->anchors[end].place == work->anchors[first].place)
        end++;
    return end;
}

static size_t largest_place(const struct work *work)
{
    size_t largest = 0;
    for (size_t first = 0, end; first < work->anchor_count; first = end) {
        end = end_of_place(work, first);
        if (end - first > largest)
            largest = end - first;
    }
    return largest;
}

static int store_place(struct ktrace_trace *trace, struct kt_clock_room *room, const struct kt_place_clock *clock,
                       const struct kt_place_fit *place)
{
    size_t knots = (size_t)trace->knot_count + place->knot_count, clocks = (size_t)trace->place_clock_count + 1;
    if (knots > UINT32_MAX || clocks > UINT32_MAX)
        return kt_fail(KTRACE_ERROR_MEMORY, "the clocks of this trace need more than 2^32 knots");
    int status = kt_array_reserve(&trace->knots, &room->knots, knots, sizeof *trace->knots);
    if (status == 0)
        status = kt_array_reserve(&trace->place_clocks, &room->place_clocks, clocks, sizeof *trace->place_clocks);
    if (status < 0)
        return status;
    memcpy(trace->knots + trace->knot_count, place->knots, place->knot_count * sizeof *place->knots);
    trace->knot_count = (uint32_t)knots;
    trace->place_clocks[trace->place_clock_count++] = *clock;
    return 0;
}

static int prepare_place_fit(struct work *work, size_t largest)
{
    struct kt_place_fit *place = &work->place;
    place->profile = &work->profile;
    place->zero_wall_ns = work->zero_wall_ns;
    place->segments = kt_array_new_zeroed(largest, sizeof *place->segments);
    place->hulls = kt_array_new_zeroed(largest, 4 * sizeof *place->hulls);
    place->knots = kt_array_new_zeroed(2 * largest + 2, sizeof *place->knots);
    return place->segments && place->hulls && place->knots ? 0 : KTRACE_ERROR_MEMORY;
}

/* The longest time between two anchors that were used, while a wave ran: that idle SMs have none says nothing of events. */
static double longest_unanchored_ns(const struct kt_place_fit *place)
{
    const struct kt_anchor *last = NULL;
    int64_t running = 0;
    int busy = 0; /* since `last` */
    double longest_ns = 0;
    for (size_t i = 0; i < place->anchor_count; i++) {
        const struct kt_anchor *anchor = &place->anchors[i];
        if (!anchor->wild && !anchor->skipped) {
            if (last && busy)
                longest_ns = fmax(longest_ns, (double)(anchor->wall_ns - last->wall_ns));
            last = anchor;
            busy = 0;
        }
        running += anchor->waves;
        busy |= running > 0;
    }
    return longest_ns;
}

static void measure_drift(struct kt_place_clock *clock, const struct work *work)
{
    if (work->arch == KTRACE_ARCH_NVIDIA)
        clock->unanchored_ns = longest_unanchored_ns(&work->place);
    clock->uncertainty_ns += fmax(0, clock->unanchored_ns - DRIFT_FROM_NS) * DRIFT;
}

static int fit_places(struct kt_device_fit *fit, struct ktrace_trace *trace, struct kt_clock_room *room,
                      struct work *work)
{
    int status = prepare_place_fit(work, largest_place(work));
    for (size_t first = 0, end; status == 0 && first < work->anchor_count; first = end) {
        end = end_of_place(work, first);
        work->place.anchors = work->anchors + first;
        work->place.anchor_count = end - first;
        kt_place_fit(&work->place);
        fit->line_ticks += work->place.line_ticks;
        fit->line_ns += work->place.line_ns;
        struct kt_place_clock clock = {.device = fit->device,
                                       .place = work->anchors[first].place,
                                       .knot_count = (uint32_t)work->place.knot_count,
                                       .first_knot = trace->knot_count,
                                       .anchor_count = (uint32_t)(end - first),
                                       .uncertainty_ns = work->place.uncertainty_ns};
        measure_drift(&clock, work);
        fit->unanchored_ns = fmax(fit->unanchored_ns, clock.unanchored_ns);
        fit->uncertainty_ns = fmax(fit->uncertainty_ns, clock.uncertainty_ns);
        status = store_place(trace, room, &clock, &work->place);
    }
    return status;
}

/* ---- Origin and residuals ------------------------------------------------------------------------------------------ */

/* Earlier than zero by less than a reading error: the origin goes back far enough. */
static void choose_origin(struct kt_device_fit *fit, struct ktrace_trace *trace, const struct work *work)
{
    double earliest = 0;
    size_t index = 0;
    for (uint32_t i = work->first_place; i < trace->place_clock_count; i++) {
        const struct kt_place_clock *clock = &trace->place_clocks[i];
        size_t end = index + clock->anchor_count;
        while (index < end && (work->anchors[index].wild || work->anchors[index].skipped))
            index++;
        if (index < end)
            earliest = fmin(earliest, kt_clock_to_ns(trace, clock, work->anchors[index].clock_ticks));
        index = end;
    }
    uint64_t back_ns = (uint64_t)ceil(fmin(-earliest, (double)KT_TRACE_SPAN_NS));
    if (back_ns > work->zero_wall_ns)
        back_ns = work->zero_wall_ns;
    fit->origin_ns = work->zero_wall_ns - back_ns;
    for (uint32_t i = work->first_knot; i < trace->knot_count; i++)
        trace->knots[i].wall_ns += (double)back_ns;
}

static void measure_residuals(struct kt_device_fit *fit, struct ktrace_trace *trace, const struct work *work)
{
    double zero_ns = (double)(work->zero_wall_ns - fit->origin_ns);
    size_t index = 0;
    for (uint32_t i = work->first_place; i < trace->place_clock_count; i++) {
        struct kt_place_clock *clock = &trace->place_clocks[i];
        for (size_t end = index + clock->anchor_count; index < end; index++) {
            const struct kt_anchor *anchor = &work->anchors[index];
            double past_ns = kt_clock_to_ns(trace, clock, anchor->clock_ticks) - zero_ns - (double)anchor->wall_ns;
            double outside_ns = fmax(anchor->low_ns - past_ns, past_ns - anchor->high_ns);
            /* A line through the very edge of an interval is inside, whichever way the last bit was rounded. */
            if (outside_ns > 1e-3)
                clock->residual_ns = fmax(clock->residual_ns, outside_ns);
        }
        fit->residual_ns = fmax(fit->residual_ns, clock->residual_ns);
    }
}

static void find_latest(struct kt_device_fit *fit, const struct work *work)
{
    int64_t latest_ns = 0;
    for (size_t i = 0; i < work->anchor_count; i++)
        if (!work->anchors[i].wild && work->anchors[i].wall_ns > latest_ns)
            latest_ns = work->anchors[i].wall_ns;
    fit->latest_ns = work->zero_wall_ns + (uint64_t)latest_ns;
}

static int run_fit(struct kt_device_fit *fit, struct ktrace_trace *trace, struct kt_clock_room *room, struct work *work)
{
    int status = choose_zero(work);
    if (status == 0)
        status = collect_anchors(work);
    if (status == 0)
        status = make_profile(work);
    if (status == 0)
        status = fit_places(fit, trace, room, work);
    if (status < 0)
        return status;
    fit->ns_per_tick = work->profile.rates[0].ns_per_tick;
    choose_origin(fit, trace, work);
    measure_residuals(fit, trace, work);
    find_latest(fit, work);
    return 0;
}

int kt_clock_fit_device(struct kt_device_fit *fit, struct ktrace_trace *trace, struct kt_clock_room *room)
{
    const struct kt_device *device = &trace->snapshot->devices[fit->device];
    struct work work = {.arch = trace->snapshot->arch,
                        .waves = fit->waves,
                        .wave_count = fit->wave_count,
                        .first_place = trace->place_clock_count,
                        .first_knot = trace->knot_count};
    work.nominal_ns_per_tick = nominal_ns_per_tick(device, work.arch);
    work.wall_tick_ns = kt_clock_wall_tick_ns(device);
    int status = run_fit(fit, trace, room, &work);
    free(work.anchors);
    free(work.place.segments);
    free(work.place.hulls);
    free(work.place.knots);
    kt_rate_profile_destroy(&work.profile);
    return status;
}
