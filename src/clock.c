/* The geometry of the clock fit.
 *
 * Draw a place's clock to the right and wall time upwards. The place's true course is a rising curve, straight as long as
 * its rate stays. An anchor {clock, wall} is a vertical interval that the curve passes through: the wall clock stands still
 * for a tick (32 ns), so wall <= time(clock) < wall + tick; and it was read some ticks before or after `clock`, which widens
 * the interval. Wanted is a curve of few straight pieces through all intervals:
 *
 *   clock_rate.c   first, how fast clocks ran over the time of the trace, from all places together;
 *   clock_line.c   the longest line through a row of intervals, exactly (O'Rourke 1981), in O(n log n);
 *   clock_place.c  for each place: the longest line from its first anchor, the longest line from the next, and so on. A line's
 *                  slope must be one that clock_rate.c allows, so that no line lies across two kernels and an idle time
 *                  between them. Of the lines left, it takes the slope best known and then the middle of what the intervals
 *                  leave open. Where two lines meet in agreement with all intervals, the curve turns there (a change of
 *                  rate); otherwise a bridge leads from one to the other (idle time);
 *   clock.c        the way in and out: anchors from waves, origin, residuals, look-up.
 *
 * An instant that two places see lies in both their intervals, so they differ by less than a tick in the worst case.
 * Anchors that contradict their neighbours are left out and show in the residual only. All arithmetic is on differences
 * from a near point, so that hours keep picoseconds. */
#include "clock.h"

#include "array.h"
#include "clock_place.h"
#include "error.h"

#include <math.h>

#define DEFAULT_WALL_TICK_NS 32
#define DEFAULT_NS_PER_TICK 0.5 /* no nominal clock and no finished wave: the right order of magnitude */
#define UNKNOWN_GAP_TICKS 4
#define CURSOR_STEPS 8
/* Between two anchors a clock is taken to run evenly, and nothing shows where it did not: a line passes through any two. The
 * SMs of one H200 drifted by 0.05 % between milliseconds. A clock that is 0.025 % too fast for half of the time between two
 * anchors and as much too slow for the rest is off by 0.0125 % of that time in the middle. Measured there in waves of 200 ms: 3.2 us,
 * an eighth of this. */
#define DRIFT 0.000125
#define DRIFT_FROM_NS 1e6
/* Anchors further than this from the median start are not of this trace. Twice this, in ps, fits an int64_t. */
#define TRACE_SPAN_NS (INT64_C(40) * 24 * 3600 * 1000000000)

/* ---- Anchors from waves -------------------------------------------------------------------------------------------- */

struct fit {
    const struct kt_snapshot *snapshot;
    struct kt_anchor *anchors; /* by place, then clock */
    size_t anchor_count;
    uint64_t zero_wall_ns;   /* wall times are relative to this: the earliest start that can be believed */
    uint64_t latest_wall_ns; /* the latest time that can be */
    double nominal_ns_per_tick;
    double wall_tick_ns;
    struct kt_rate_profile profile;
    struct kt_place_fit place;
    double line_ticks, line_ns;
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

static int choose_zero(struct fit *fit)
{
    size_t count = (size_t)fit->snapshot->wave_count;
    uint64_t *starts = kt_array_new_zeroed(count, sizeof *starts);
    if (!starts)
        return KTRACE_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++)
        starts[i] = fit->snapshot->waves[i].start_wall_ns;
    qsort(starts, count, sizeof *starts, compare_u64);
    uint64_t median = starts[count / 2], span = (uint64_t)TRACE_SPAN_NS;
    size_t first = 0;
    while (median - starts[first] > span)
        first++;
    fit->zero_wall_ns = starts[first];
    fit->latest_wall_ns = median > UINT64_MAX - span ? UINT64_MAX : median + span;
    free(starts);
    return 0;
}

static int is_believable(const struct fit *fit, uint64_t wall_ns)
{
    return wall_ns >= fit->zero_wall_ns && wall_ns <= fit->latest_wall_ns;
}

static int64_t relative_wall_ns(const struct fit *fit, uint64_t wall_ns)
{
    uint64_t limit = (uint64_t)TRACE_SPAN_NS * 4;
    if (wall_ns >= fit->zero_wall_ns) {
        uint64_t after = wall_ns - fit->zero_wall_ns;
        return (int64_t)(after < limit ? after : limit);
    }
    uint64_t before = fit->zero_wall_ns - wall_ns;
    return -(int64_t)(before < limit ? before : limit);
}

/* The wall clock was read at most half the gap between the anchor's two clock reads before or after the anchor's clock. On an
 * idle SM the gap is 4 ticks; with 64 waves an SM one in a hundred anchors had over 200, and some 65,000, because other waves
 * were issued in between (measured, H200). The header says how far apart the reads were; 0: unknown. */
static double reading_error_ns(const struct fit *fit, uint32_t gap_ticks)
{
    return (gap_ticks ? gap_ticks : UNKNOWN_GAP_TICKS) / 2.0 * fit->nominal_ns_per_tick;
}

static double start_error_ns(const struct fit *fit, const struct ktrace_wave_header *wave)
{
    return reading_error_ns(fit, wave->start_gap_ticks);
}

static double end_error_ns(const struct fit *fit, const struct ktrace_wave_header *wave)
{
    return reading_error_ns(fit, wave->end_gap_ticks);
}

static void add_anchor(struct fit *fit, uint32_t place, uint64_t clock_ticks, uint64_t wall_ns, double error_ns,
                       int waves)
{
    struct kt_anchor *anchor = &fit->anchors[fit->anchor_count++];
    *anchor = (struct kt_anchor){.clock_ticks = clock_ticks, .place = place, .waves = (int8_t)waves};
    anchor->wild = !is_believable(fit, wall_ns);
    anchor->wall_ns = relative_wall_ns(fit, wall_ns);
    if (fit->snapshot->arch == KTRACE_ARCH_NVIDIA) {
        anchor->low_ns = -error_ns;
        anchor->high_ns = fit->wall_tick_ns + error_ns;
    } else { /* the clock is the wall clock: times are exact, to the unit they are given in */
        anchor->low_ns = -0.5;
        anchor->high_ns = 0.5;
    }
}

static int collect_anchors(struct fit *fit)
{
    const struct kt_snapshot *snapshot = fit->snapshot;
    fit->anchors = kt_array_new_zeroed((size_t)snapshot->wave_count, 2 * sizeof *fit->anchors);
    if (!fit->anchors)
        return KTRACE_ERROR_MEMORY;
    for (uint64_t i = 0; i < snapshot->wave_count; i++) {
        const struct ktrace_wave_header *wave = &snapshot->waves[i];
        add_anchor(fit, wave->place, wave->start_clock_ticks, wave->start_wall_ns, start_error_ns(fit, wave),
                   wave->end_wall_ns != 0);
        if (wave->end_wall_ns)
            add_anchor(fit, wave->place, wave->end_clock_ticks, wave->end_wall_ns, end_error_ns(fit, wave), -1);
    }
    qsort(fit->anchors, fit->anchor_count, sizeof *fit->anchors, compare_anchors);
    return 0;
}

/* ---- Rates --------------------------------------------------------------------------------------------------------- */

static double nominal_ns_per_tick(const struct kt_snapshot *snapshot)
{
    if (snapshot->devices[0].clock_khz)
        return 1e6 / snapshot->devices[0].clock_khz;
    if (snapshot->arch == KTRACE_ARCH_HOST)
        return 1;
    if (snapshot->arch == KTRACE_ARCH_AMDGCN)
        return 10;
    return DEFAULT_NS_PER_TICK;
}

/* 0: the wave's anchors bound no rate that a clock could have. */
static int make_baseline(const struct fit *fit, const struct ktrace_wave_header *wave, struct kt_baseline *out)
{
    if (!is_believable(fit, wave->start_wall_ns) || !is_believable(fit, wave->end_wall_ns))
        return 0;
    if (wave->end_wall_ns < wave->start_wall_ns || wave->end_clock_ticks <= wave->start_clock_ticks)
        return 0;
    *out = (struct kt_baseline){.begin_wall_ns = wave->start_wall_ns,
                                .wall_ns = (double)(wave->end_wall_ns - wave->start_wall_ns),
                                .clock_ticks = (double)(wave->end_clock_ticks - wave->start_clock_ticks),
                                .error_ns = fit->wall_tick_ns + start_error_ns(fit, wave) + end_error_ns(fit, wave)};
    double fastest = 0.05, slowest = 50; /* ns per tick: 20 GHz, 20 MHz */
    return out->wall_ns + out->error_ns > fastest * out->clock_ticks &&
           out->wall_ns - out->error_ns < slowest * out->clock_ticks;
}

static int make_profile(struct fit *fit)
{
    if (fit->snapshot->arch != KTRACE_ARCH_NVIDIA)
        return kt_rate_profile_exact(&fit->profile, fit->nominal_ns_per_tick);
    struct kt_baseline *baselines = kt_array_new_zeroed((size_t)fit->snapshot->wave_count, sizeof *baselines);
    if (!baselines)
        return KTRACE_ERROR_MEMORY;
    size_t count = 0;
    for (uint64_t i = 0; i < fit->snapshot->wave_count; i++)
        count += (size_t)make_baseline(fit, &fit->snapshot->waves[i], &baselines[count]);
    int status = kt_rate_profile_make(&fit->profile, baselines, count, fit->nominal_ns_per_tick);
    free(baselines);
    return status;
}

/* ---- Places -------------------------------------------------------------------------------------------------------- */

static size_t end_of_place(const struct fit *fit, size_t first)
{
    size_t end = first + 1;
    while (end < fit->anchor_count && fit->anchors[end].place == fit->anchors[first].place)
        end++;
    return end;
}

static void count_places(const struct fit *fit, uint32_t *places, size_t *largest)
{
    *places = 0;
    *largest = 0;
    for (size_t first = 0, end; first < fit->anchor_count; first = end) {
        end = end_of_place(fit, first);
        if (end - first > *largest)
            *largest = end - first;
        ++*places;
    }
}

static int store_knots(struct ktrace_trace *trace, const struct kt_place_fit *place, size_t *capacity)
{
    size_t need = (size_t)trace->knot_count + place->knot_count;
    if (need > UINT32_MAX)
        return kt_fail(KTRACE_ERROR_MEMORY, "the clocks of this trace need more than 2^32 knots");
    int status = kt_array_reserve(&trace->knots, capacity, need, sizeof *trace->knots);
    if (status < 0)
        return status;
    memcpy(trace->knots + trace->knot_count, place->knots, place->knot_count * sizeof *place->knots);
    trace->knot_count = (uint32_t)need;
    return 0;
}

static int prepare_place_fit(struct fit *fit, size_t largest)
{
    struct kt_place_fit *place = &fit->place;
    place->profile = &fit->profile;
    place->zero_wall_ns = fit->zero_wall_ns;
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

static void measure_drift(struct ktrace_trace *trace, struct kt_place_clock *clock, const struct fit *fit)
{
    if (fit->snapshot->arch == KTRACE_ARCH_NVIDIA)
        clock->unanchored_ns = longest_unanchored_ns(&fit->place);
    clock->uncertainty_ns += fmax(0, clock->unanchored_ns - DRIFT_FROM_NS) * DRIFT;
    trace->clock_unanchored_ns = fmax(trace->clock_unanchored_ns, clock->unanchored_ns);
    trace->clock_uncertainty_ns = fmax(trace->clock_uncertainty_ns, clock->uncertainty_ns);
}

static int fit_places(struct ktrace_trace *trace, struct fit *fit)
{
    uint32_t places;
    size_t largest, capacity = 0;
    count_places(fit, &places, &largest);
    trace->place_clocks = kt_array_new_zeroed(places, sizeof *trace->place_clocks);
    if (!trace->place_clocks)
        return KTRACE_ERROR_MEMORY;
    int status = prepare_place_fit(fit, largest);
    for (size_t first = 0, end; status == 0 && first < fit->anchor_count; first = end) {
        end = end_of_place(fit, first);
        fit->place.anchors = fit->anchors + first;
        fit->place.anchor_count = end - first;
        kt_place_fit(&fit->place);
        fit->line_ticks += fit->place.line_ticks;
        fit->line_ns += fit->place.line_ns;
        struct kt_place_clock *clock = &trace->place_clocks[trace->place_clock_count++];
        *clock = (struct kt_place_clock){.place = fit->anchors[first].place,
                                         .knot_count = (uint32_t)fit->place.knot_count,
                                         .first_knot = trace->knot_count,
                                         .anchor_count = (uint32_t)(end - first),
                                         .uncertainty_ns = fit->place.uncertainty_ns};
        measure_drift(trace, clock, fit);
        status = store_knots(trace, &fit->place, &capacity);
    }
    return status;
}

/* ---- Origin and residuals ------------------------------------------------------------------------------------------ */

static size_t piece_at(const struct kt_clock_knot *knots, size_t count, uint64_t clock_ticks)
{
    size_t first = 0, end = count;
    while (end - first > 1) {
        size_t middle = first + (end - first) / 2;
        if (knots[middle].clock_ticks <= clock_ticks)
            first = middle;
        else
            end = middle;
    }
    return first;
}

static double ticks_from(const struct kt_clock_knot *knot, uint64_t clock_ticks)
{
    return clock_ticks >= knot->clock_ticks ? (double)(clock_ticks - knot->clock_ticks)
                                            : -(double)(knot->clock_ticks - clock_ticks);
}

static double time_ns(const struct ktrace_trace *trace, const struct kt_place_clock *clock, uint64_t clock_ticks)
{
    const struct kt_clock_knot *knots = trace->knots + clock->first_knot;
    const struct kt_clock_knot *knot = &knots[piece_at(knots, clock->knot_count, clock_ticks)];
    return knot->wall_ns + knot->ns_per_tick * ticks_from(knot, clock_ticks);
}

/* Earlier than zero by less than a reading error: the origin goes back far enough. */
static void choose_origin(struct ktrace_trace *trace, const struct fit *fit)
{
    double earliest = 0;
    size_t index = 0;
    for (uint32_t i = 0; i < trace->place_clock_count; i++) {
        const struct kt_place_clock *clock = &trace->place_clocks[i];
        size_t end = index + clock->anchor_count;
        while (index < end && (fit->anchors[index].wild || fit->anchors[index].skipped))
            index++;
        if (index < end)
            earliest = fmin(earliest, time_ns(trace, clock, fit->anchors[index].clock_ticks));
        index = end;
    }
    uint64_t back_ns = (uint64_t)ceil(fmin(-earliest, (double)TRACE_SPAN_NS));
    if (back_ns > fit->zero_wall_ns)
        back_ns = fit->zero_wall_ns;
    trace->origin_ns = fit->zero_wall_ns - back_ns;
    for (uint32_t i = 0; i < trace->knot_count; i++)
        trace->knots[i].wall_ns += (double)back_ns;
}

static void measure_residuals(struct ktrace_trace *trace, const struct fit *fit)
{
    double zero_ns = (double)(fit->zero_wall_ns - trace->origin_ns);
    size_t index = 0;
    for (uint32_t i = 0; i < trace->place_clock_count; i++) {
        struct kt_place_clock *clock = &trace->place_clocks[i];
        for (size_t end = index + clock->anchor_count; index < end; index++) {
            const struct kt_anchor *anchor = &fit->anchors[index];
            double past_ns = time_ns(trace, clock, anchor->clock_ticks) - zero_ns - (double)anchor->wall_ns;
            double outside_ns = fmax(anchor->low_ns - past_ns, past_ns - anchor->high_ns);
            /* A line through the very edge of an interval is inside, whichever way the last bit was rounded. */
            if (outside_ns > 1e-3)
                clock->residual_ns = fmax(clock->residual_ns, outside_ns);
        }
        trace->clock_residual_ns = fmax(trace->clock_residual_ns, clock->residual_ns);
    }
}

static int run_fit(struct ktrace_trace *trace, struct fit *fit)
{
    int status = choose_zero(fit);
    if (status == 0)
        status = collect_anchors(fit);
    if (status == 0)
        status = make_profile(fit);
    if (status == 0)
        status = fit_places(trace, fit);
    if (status < 0)
        return status;
    choose_origin(trace, fit);
    measure_residuals(trace, fit);
    trace->clock_hz = 1e9 / (fit->line_ns > 0 ? fit->line_ns / fit->line_ticks : fit->profile.rates[0].ns_per_tick);
    return 0;
}

int kt_clock_fit(struct ktrace_trace *trace)
{
    struct fit fit = {.snapshot = trace->snapshot};
    fit.nominal_ns_per_tick = nominal_ns_per_tick(trace->snapshot);
    fit.wall_tick_ns =
        trace->snapshot->devices[0].wall_tick_ns ? trace->snapshot->devices[0].wall_tick_ns : DEFAULT_WALL_TICK_NS;
    trace->origin_ns = 0;
    trace->clock_residual_ns = trace->clock_uncertainty_ns = trace->clock_unanchored_ns = 0;
    trace->clock_hz = trace->snapshot->devices[0].clock_khz * 1e3;
    if (trace->snapshot->wave_count == 0)
        return 0;
    int status = run_fit(trace, &fit);
    free(fit.anchors);
    free(fit.place.segments);
    free(fit.place.hulls);
    free(fit.place.knots);
    kt_rate_profile_destroy(&fit.profile);
    return status;
}

/* ---- Look-up ------------------------------------------------------------------------------------------------------- */

/* To the nearest, halves away from zero, as llround does. That is a call, and this is done for every event. */
static int64_t to_ps(double ns)
{
    double ps = ns * 1000;
    if (!(ps > -9.2e18))
        return INT64_C(-9200000000000000000);
    if (ps > 9.2e18)
        return INT64_C(9200000000000000000);
    int64_t whole = (int64_t)ps;
    double rest = ps - (double)whole; /* exact */
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

static void enter_piece(struct kt_clock_cursor *cursor, size_t piece)
{
    cursor->piece = (uint32_t)piece;
    cursor->begin_ps = to_ps(cursor->knots[piece].wall_ns);
    cursor->end_ps = piece + 1 < cursor->knot_count ? to_ps(cursor->knots[piece + 1].wall_ns) : INT64_MAX;
}

static int64_t piece_ps(const struct kt_clock_cursor *cursor, uint64_t clock_ticks)
{
    const struct kt_clock_knot *knot = &cursor->knots[cursor->piece];
    int64_t ps, past_ps = to_ps(knot->ns_per_tick * ticks_from(knot, clock_ticks));
    if (__builtin_add_overflow(cursor->begin_ps, past_ps, &ps))
        ps = past_ps < 0 ? INT64_MIN : INT64_MAX;
    return ps < cursor->end_ps ? ps : cursor->end_ps; /* rounding must not carry a time over the next knot */
}

const struct kt_place_clock *kt_clock_of_place(const struct ktrace_trace *trace, uint32_t place)
{
    size_t first = 0, end = trace->place_clock_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (trace->place_clocks[middle].place == place)
            return &trace->place_clocks[middle];
        if (trace->place_clocks[middle].place < place)
            first = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

int64_t kt_clock_to_ps(const struct ktrace_trace *trace, const struct kt_place_clock *clock, uint64_t clock_ticks)
{
    struct kt_clock_cursor cursor = {.knots = trace->knots + clock->first_knot, .knot_count = clock->knot_count};
    enter_piece(&cursor, piece_at(cursor.knots, cursor.knot_count, clock_ticks));
    return piece_ps(&cursor, clock_ticks);
}

void kt_clock_cursor_begin(struct kt_clock_cursor *cursor, const struct ktrace_trace *trace, uint32_t place)
{
    const struct kt_place_clock *clock = kt_clock_of_place(trace, place);
    *cursor = (struct kt_clock_cursor){.knots = NULL};
    if (!clock)
        return;
    cursor->knots = trace->knots + clock->first_knot;
    cursor->knot_count = clock->knot_count;
    enter_piece(cursor, 0);
}

int64_t kt_clock_cursor_ps(struct kt_clock_cursor *cursor, uint64_t clock_ticks)
{
    if (!cursor->knots)
        return 0;
    size_t piece = cursor->piece;
    if (clock_ticks < cursor->knots[piece].clock_ticks)
        piece = piece_at(cursor->knots, cursor->knot_count, clock_ticks);
    /* A few steps, then by halving: every wave begins at the first piece, and a hostile file has a piece for each wave. */
    size_t near = piece + CURSOR_STEPS;
    while (piece + 1 < cursor->knot_count && cursor->knots[piece + 1].clock_ticks <= clock_ticks) {
        if (piece++ == near) {
            piece += piece_at(cursor->knots + piece, cursor->knot_count - piece, clock_ticks);
            break;
        }
    }
    if (piece != cursor->piece)
        enter_piece(cursor, piece);
    return piece_ps(cursor, clock_ticks);
}
