#include "clock_place.h"

#include <math.h>

/* Clocks are not straight to the last nanosecond: on one H200 a line through the anchors of 7 us missed the tightest
 * intervals by up to 6 ns. Lines may pass this far outside, or every jitter would become a change of rate. */
#define JITTER_NS 8.0
/* An anchor that is out by more than its interval's height is skipped when of the next LOOK_AHEAD anchors all but one fit; at
 * the end of a place, when all that follow fit, LOOK_AHEAD_LEAST or more. One that is out by less tells of a clock that
 * drifts. */
#define LOOK_AHEAD 6
#define LOOK_AHEAD_LEAST 2
/* A segment of fewer anchors is a mistake where its neighbours agree without it. */
#define FEW_ANCHORS 3
/* Between two segments a part may have idled at another rate; beyond this multiple of the expected rate, in either direction,
 * a short segment is held to be wrong. */
#define IDLE_RATE_LIMIT 20.0
/* The same for a single anchor that two long segments could do without. */
#define LONE_RATE_LIMIT 1.03
/* A bridge over a small jump is made so long that its rate is off by no more than this. */
#define BRIDGE_RATE_ERROR 0.01

/* Exact for rising clocks however far from 0 they are. */
static double ticks_between(uint64_t from, uint64_t to)
{
    return to >= from ? (double)(to - from) : -(double)(from - to);
}

static double segment_ns(const struct kt_segment *segment, uint64_t clock_ticks)
{
    return segment->base_ns + segment->ns_per_tick * ticks_between(segment->base_ticks, clock_ticks);
}

static uint64_t first_ticks(const struct kt_place_fit *fit, const struct kt_segment *segment)
{
    return fit->anchors[segment->first].clock_ticks;
}

static uint64_t last_ticks(const struct kt_place_fit *fit, const struct kt_segment *segment)
{
    return fit->anchors[segment->last].clock_ticks;
}

/* ---- One segment: the longest line, then the best of the lines that are left --------------------------------------- */

/* An anchor's interval seen from the segment's first anchor, with the expected rate taken off: what remains is small, so
 * doubles lose nothing. */
struct window {
    double x, low, high;
};

static struct window window_of(const struct kt_place_fit *fit, const struct kt_segment *segment, size_t index)
{
    const struct kt_anchor *first = &fit->anchors[segment->first], *anchor = &fit->anchors[index];
    double x = (double)(anchor->clock_ticks - first->clock_ticks);
    double y = (double)(anchor->wall_ns - first->wall_ns) - segment->expected_ns_per_tick * x;
    return (struct window){x, y + anchor->low_ns, y + anchor->high_ns};
}

static int fits_wider(const struct kt_line_fit *line, struct window window, double margin)
{
    return kt_line_fits(line, window.x, window.low - margin, window.high + margin);
}

static int contradicted(const struct kt_place_fit *fit, const struct kt_segment *segment,
                        const struct kt_line_fit *line, size_t index)
{
    struct window own = window_of(fit, segment, index);
    if (fits_wider(line, own, own.high - own.low + JITTER_NS))
        return 0;
    size_t seen = 0, fitting = 0;
    for (size_t next = index + 1; next < fit->anchor_count && seen < LOOK_AHEAD; next++) {
        if (fit->anchors[next].wild)
            continue;
        fitting += (size_t)fits_wider(line, window_of(fit, segment, next), JITTER_NS);
        seen++;
    }
    return seen == LOOK_AHEAD ? fitting + 1 >= seen : seen >= LOOK_AHEAD_LEAST && fitting == seen;
}

/* The middle of the feasible slopes, drawn to the expected rate (0 here) as far as that is the better known of the two. */
static double choose_slope(const struct kt_line_fit *line, double deviation)
{
    double middle = (line->slope_low + line->slope_high) / 2, half = (line->slope_high - line->slope_low) / 2;
    double middle_variance = half * half / 3, expected_variance = deviation * deviation;
    double slope = middle;
    if (middle_variance > 0)
        slope = middle * expected_variance / (expected_variance + middle_variance);
    return fmin(fmax(slope, line->slope_low), line->slope_high);
}

static void place_line(const struct kt_place_fit *fit, struct kt_segment *segment, double slope)
{
    double low = -INFINITY, high = INFINITY;
    for (size_t i = segment->first; i <= segment->last; i++) {
        if (fit->anchors[i].skipped || fit->anchors[i].wild)
            continue;
        struct window window = window_of(fit, segment, i);
        low = fmax(low, window.low - slope * window.x);
        high = fmin(high, window.high - slope * window.x);
    }
    segment->base_ticks = first_ticks(fit, segment);
    segment->base_ns = (double)fit->anchors[segment->first].wall_ns + (low + high) / 2;
    segment->ns_per_tick = fmax(0, segment->expected_ns_per_tick + slope);
    segment->half_width_ns = fmax(0, (high - low) / 2);
}

/* `loose` decides how far the segment reaches. `strict` knows no jitter: the best lines are those that it still allows when
 * the segment ends. */
struct lines {
    struct kt_line_fit loose, strict;
    int strict_holds;
};

static struct lines begin_lines(const struct kt_place_fit *fit, const struct kt_rate *rate)
{
    struct lines lines = {.strict_holds = 1};
    double low = rate->low - rate->ns_per_tick, high = rate->high - rate->ns_per_tick;
    struct kt_point *hulls = fit->hulls;
    kt_line_begin(&lines.loose, hulls, hulls + fit->anchor_count, low, high);
    kt_line_begin(&lines.strict, hulls + 2 * fit->anchor_count, hulls + 3 * fit->anchor_count, low, high);
    return lines;
}

static void add_window(struct lines *lines, struct window window)
{
    kt_line_add(&lines->loose, window.x, window.low - JITTER_NS, window.high + JITTER_NS);
    lines->strict_holds = lines->strict_holds && fits_wider(&lines->strict, window, 0);
    if (lines->strict_holds)
        kt_line_add(&lines->strict, window.x, window.low, window.high);
}

/* Returns the anchor after the segment. `first` is not wild. */
static size_t make_segment(struct kt_place_fit *fit, struct kt_segment *segment, size_t first)
{
    int64_t first_wall_ns = fit->anchors[first].wall_ns;
    const struct kt_rate *rate = kt_rate_at(fit->profile, fit->zero_wall_ns + (uint64_t)first_wall_ns);
    *segment = (struct kt_segment){.first = first, .last = first, .expected_ns_per_tick = rate->ns_per_tick};
    struct lines lines = begin_lines(fit, rate);
    size_t index = first;
    for (; index < fit->anchor_count; index++) {
        struct kt_anchor *anchor = &fit->anchors[index];
        if (anchor->wild)
            continue;
        struct window window = window_of(fit, segment, index);
        if (fits_wider(&lines.loose, window, JITTER_NS)) {
            add_window(&lines, window);
            segment->last = index;
            segment->anchor_count++;
        } else if (window.x == lines.loose.last_x || contradicted(fit, segment, &lines.loose, index)) {
            anchor->skipped = 1;
        } else {
            break;
        }
    }
    const struct kt_line_fit *line = lines.strict_holds ? &lines.strict : &lines.loose;
    place_line(fit, segment, segment->anchor_count > 1 ? choose_slope(line, rate->deviation) : 0);
    return index;
}

/* ---- All segments: those that can stand one after another ---------------------------------------------------------- */

/* The clock runs from the end of `before` to the start of `after` within `limit` of the expected rate. */
static int joins(const struct kt_place_fit *fit, const struct kt_segment *before, const struct kt_segment *after,
                 double limit)
{
    const struct kt_anchor *edge = &fit->anchors[after->first];
    uint64_t from = last_ticks(fit, before), to = first_ticks(fit, after);
    double expected_ns = ticks_between(from, to) * before->expected_ns_per_tick;
    double ns = segment_ns(after, to) - segment_ns(before, from), error_ns = edge->high_ns - edge->low_ns;
    return ns - error_ns <= expected_ns * limit && (ns + error_ns) * limit >= expected_ns;
}

/* `after` would go back in time, by more than the width of both can explain. */
static int goes_back(const struct kt_place_fit *fit, const struct kt_segment *before, const struct kt_segment *after)
{
    double before_end = segment_ns(before, last_ticks(fit, before));
    const struct kt_anchor *edge = &fit->anchors[after->first];
    return segment_ns(after, last_ticks(fit, after)) <= before_end ||
           segment_ns(after, first_ticks(fit, after)) < before_end - 4 * (edge->high_ns - edge->low_ns);
}

static void drop(struct kt_place_fit *fit, const struct kt_segment *segment)
{
    for (size_t i = segment->first; i <= segment->last; i++)
        fit->anchors[i].skipped = 1;
}

/* The last of the kept segments is a mistake that the one before it, if any, and the newest agree without. */
static int in_the_way(const struct kt_place_fit *fit, size_t count, const struct kt_segment *newest)
{
    const struct kt_segment *last = &fit->segments[count - 1];
    if (last->anchor_count >= FEW_ANCHORS || newest->anchor_count < FEW_ANCHORS)
        return 0;
    double limit = count > 1 && last->anchor_count == 1 ? LONE_RATE_LIMIT : IDLE_RATE_LIMIT;
    if (joins(fit, last, newest, limit))
        return 0;
    return count == 1 || joins(fit, last - 1, newest, limit);
}

/* The newest segment comes on top of the kept ones: take away what contradicts it or is contradicted. Of two that cannot
 * both be right, the one with more anchors stays. */
static void settle(struct kt_place_fit *fit, const struct kt_segment *newest)
{
    struct kt_segment *kept = fit->segments;
    size_t count = fit->segment_count;
    while (count > 0 && goes_back(fit, &kept[count - 1], newest) && kept[count - 1].anchor_count < newest->anchor_count)
        drop(fit, &kept[--count]);
    if (count > 0 && goes_back(fit, &kept[count - 1], newest)) {
        drop(fit, newest);
    } else {
        while (count > 0 && in_the_way(fit, count, newest))
            drop(fit, &kept[--count]);
        kept[count++] = *newest;
    }
    fit->segment_count = count;
}

static void make_segments(struct kt_place_fit *fit)
{
    fit->segment_count = 0;
    for (size_t first = 0; first < fit->anchor_count;) {
        if (fit->anchors[first].wild) {
            first++;
            continue;
        }
        struct kt_segment newest;
        first = make_segment(fit, &newest, first);
        settle(fit, &newest);
    }
}

/* ---- Knots --------------------------------------------------------------------------------------------------------- */

/* Where the last piece is at `clock_ticks`, at or after its knot. */
static double last_piece_ns(const struct kt_place_fit *fit, uint64_t clock_ticks)
{
    const struct kt_clock_knot *last = &fit->knots[fit->knot_count - 1];
    return last->wall_ns + last->ns_per_tick * (double)(clock_ticks - last->clock_ticks);
}

/* A knot on the last piece, or a later one: time never falls, a knot at the same clock replaces its predecessor. */
static void add_knot(struct kt_place_fit *fit, uint64_t clock_ticks, double wall_ns, double ns_per_tick)
{
    if (fit->knot_count > 0) {
        struct kt_clock_knot *last = &fit->knots[fit->knot_count - 1];
        wall_ns = fmax(wall_ns, last->wall_ns);
        if (clock_ticks <= last->clock_ticks) {
            last->ns_per_tick = ns_per_tick;
            return;
        }
    }
    fit->knots[fit->knot_count++] = (struct kt_clock_knot){clock_ticks, wall_ns, ns_per_tick};
}

/* Every used anchor from index `first` to `last` has the segment's line inside its interval. */
static int holds(const struct kt_place_fit *fit, const struct kt_segment *segment, size_t first, size_t last)
{
    for (size_t i = first; i <= last; i++) {
        const struct kt_anchor *anchor = &fit->anchors[i];
        if (anchor->wild || anchor->skipped)
            continue;
        double past_ns = segment_ns(segment, anchor->clock_ticks) - (double)anchor->wall_ns;
        if (past_ns < anchor->low_ns - JITTER_NS || past_ns > anchor->high_ns + JITTER_NS)
            return 0;
    }
    return 1;
}

/* The clock at which both lines meet, if the time may turn from one to the other there without leaving an anchor: between
 * the two segments, or inside one as far as the other's line holds as well. A change of rate looks like this: the greedy line
 * runs past the change until the intervals forbid it. */
static int meeting(const struct kt_place_fit *fit, const struct kt_segment *before, const struct kt_segment *after,
                   uint64_t *clock_ticks)
{
    uint64_t edge = last_ticks(fit, before);
    double closing = after->ns_per_tick - before->ns_per_tick;
    double ticks = (segment_ns(before, edge) - segment_ns(after, edge)) / closing; /* from the edge */
    if (!isfinite(ticks))
        return 0;
    const struct kt_clock_knot *last_knot = &fit->knots[fit->knot_count - 1];
    if (ticks <= ticks_between(edge, last_knot->clock_ticks) || ticks >= ticks_between(edge, last_ticks(fit, after)))
        return 0;
    uint64_t most = last_ticks(fit, after) - edge, least = edge - last_knot->clock_ticks;
    uint64_t distance = (uint64_t)fabs(ticks);
    *clock_ticks =
        ticks >= 0 ? edge + (distance < most ? distance : most) : edge - (distance < least ? distance : least);
    size_t first = before->last, last = after->first;
    while (first > before->first && fit->anchors[first].clock_ticks > *clock_ticks)
        first--;
    while (last < after->last && fit->anchors[last].clock_ticks < *clock_ticks)
        last++;
    return holds(fit, after, first + 1, before->last) &&
           (last == after->first || holds(fit, before, after->first, last - 1));
}

/* How far a bridge may reach into the segments on both sides, so that a small jump does not make it much steeper or flatter
 * than they are: a jump of 10 ns between anchors 60 ns apart would falsify every duration there by a sixth. Over 1 us it is
 * 1 %, and moves no time by more than 5 ns. 0 for a jump that jitter cannot explain. */
static double reach_ticks(const struct kt_place_fit *fit, const struct kt_segment *before,
                          const struct kt_segment *after)
{
    uint64_t from = last_ticks(fit, before), to = first_ticks(fit, after);
    double rate = (before->ns_per_tick + after->ns_per_tick) / 2, gap_ticks = ticks_between(from, to);
    double jump_ns = fabs(segment_ns(after, to) - segment_ns(before, from) - rate * gap_ticks);
    const struct kt_anchor *edge = &fit->anchors[after->first];
    if (!(rate > 0) || jump_ns > edge->high_ns - edge->low_ns)
        return 0;
    return fmax(0, jump_ns / (rate * BRIDGE_RATE_ERROR) - gap_ticks) / 2;
}

/* No meeting: leave `before` at its last anchor and be on `after` at its first, or reach some way into both; or later, where
 * time would have to fall. */
static void bridge(struct kt_place_fit *fit, const struct kt_segment *before, const struct kt_segment *after)
{
    uint64_t from = last_ticks(fit, before), to = first_ticks(fit, after), end = last_ticks(fit, after);
    double reach = reach_ticks(fit, before, after);
    from -= (uint64_t)fmin(reach, ticks_between(fit->knots[fit->knot_count - 1].clock_ticks, from) / 2);
    to += (uint64_t)fmin(reach, ticks_between(to, end) / 2);
    double from_ns = last_piece_ns(fit, from), to_ns = segment_ns(after, to);
    if (to_ns < from_ns) {
        double flat_ticks = ceil((from_ns - to_ns) / after->ns_per_tick);
        to = flat_ticks < ticks_between(to, end) ? to + (uint64_t)flat_ticks : end;
        to_ns = fmax(from_ns, segment_ns(after, to));
    }
    add_knot(fit, from, from_ns, (to_ns - from_ns) / ticks_between(from, to));
    add_knot(fit, to, to_ns, after->ns_per_tick);
}

static void first_knot(struct kt_place_fit *fit, const struct kt_segment *segment)
{
    /* One tick early, so that what lies before a lone first anchor runs at its rate, not at that of a bridge. */
    uint64_t ticks = first_ticks(fit, segment);
    if (ticks > 0)
        ticks--;
    add_knot(fit, ticks, segment_ns(segment, ticks), segment->ns_per_tick);
}

static void make_knots(struct kt_place_fit *fit)
{
    fit->knot_count = 0;
    first_knot(fit, &fit->segments[0]);
    for (size_t i = 1; i < fit->segment_count; i++) {
        const struct kt_segment *before = &fit->segments[i - 1], *after = &fit->segments[i];
        uint64_t ticks;
        if (meeting(fit, before, after, &ticks))
            add_knot(fit, ticks, last_piece_ns(fit, ticks), after->ns_per_tick);
        else
            bridge(fit, before, after);
    }
}

void kt_place_fit(struct kt_place_fit *fit)
{
    make_segments(fit);
    fit->uncertainty_ns = fit->line_ticks = fit->line_ns = 0;
    for (size_t i = 0; i < fit->segment_count; i++) {
        const struct kt_segment *segment = &fit->segments[i];
        double ticks = ticks_between(first_ticks(fit, segment), last_ticks(fit, segment));
        fit->uncertainty_ns = fmax(fit->uncertainty_ns, segment->half_width_ns);
        fit->line_ticks += ticks;
        fit->line_ns += ticks * segment->ns_per_tick;
    }
    if (fit->segment_count > 0) {
        make_knots(fit);
        return;
    }
    /* Not one anchor of this place can be believed. */
    double ns_per_tick = kt_rate_at(fit->profile, fit->zero_wall_ns)->ns_per_tick;
    fit->knots[0] = (struct kt_clock_knot){fit->anchors[0].clock_ticks, 0, ns_per_tick};
    fit->knot_count = 1;
}
