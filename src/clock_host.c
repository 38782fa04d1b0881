/* An anchor says that the device's clock stood at device_ns at some time between two readings of the host's. Over the
 * device's time it is a vertical interval of what the host's clock is ahead, and the true course of that passes through all
 * intervals. Taken to be a straight line, as both clocks run evenly but not equally fast, it is one of those that pass
 * through all intervals; how far these lie apart, at the begin and the end of what was recorded, is what is not known.
 *
 * For a slope s, the lines that pass have offsets from low(s) = max(low_i - s x_i) to high(s) = min(high_i - s x_i): low is
 * convex, high concave, and only the corners of the intervals' ends count. So all that is asked for is the maximum of a
 * concave function of s, which is found by search.
 *
 * Where no line passes, the intervals are widened by the least that lets one pass, and that is told as a contradiction: the
 * host's clock was set meanwhile, or an anchor is false. Set between the only two anchors, by so little that it passes for
 * drift, it is not seen. */
#include "clock_host.h"

#include "array.h"
#include "clock.h"
#include "clock_line.h"

#include <math.h>

/* And how fast they mostly do: what short captures leave open is drawn to 0 accordingly, or it would stretch all durations. */
#define DRIFT_USUAL 5e-5
/* NTP and temperature move a clock's rate by some ppm within minutes; 10 are allowed for. Between two anchors nothing shows it:
 * over a second without one the line may be off by 5 us in the middle. Over many it leaves every line, which is no
 * contradiction then, but as much is not known. Not measured. */
#define WANDER 1e-5
#define SEARCH_STEPS 100

struct problem {
    struct kt_point *low, *high; /* corners of the intervals' lower and upper ends, x rising */
    size_t low_count, high_count;
    double from, to;   /* slopes of the lines that pass */
    double widened_ns; /* on either side */
};

/* ---- Corners ---------------------------------------------------------------------------------------------------- */

static int by_x(const void *left, const void *right)
{
    const struct kt_point *a = left, *b = right;
    if (a->x != b->x)
        return a->x < b->x ? -1 : 1;
    return (a->y > b->y) - (a->y < b->y);
}

static int turns_left(struct kt_point a, struct kt_point b, struct kt_point c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x) > 0;
}

/* Leaves those that a line from below touches first. `sign` -1: from above. Returns how many. */
static size_t keep_corners(struct kt_point *points, size_t count, double sign)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        points[i].y *= sign;
    qsort(points, count, sizeof *points, by_x);
    for (size_t i = 0; i < count; i++) {
        if (kept && points[kept - 1].x == points[i].x)
            continue; /* it is not lower */
        while (kept > 1 && !turns_left(points[kept - 2], points[kept - 1], points[i]))
            kept--;
        points[kept++] = points[i];
    }
    for (size_t i = 0; i < kept; i++)
        points[i].y *= sign;
    return kept;
}

/* ---- Search ----------------------------------------------------------------------------------------------------- */

static double low_at(const struct problem *problem, double slope)
{
    double low = -INFINITY;
    for (size_t i = 0; i < problem->low_count; i++)
        low = fmax(low, problem->low[i].y - slope * problem->low[i].x);
    return low - problem->widened_ns;
}

static double high_at(const struct problem *problem, double slope)
{
    double high = INFINITY;
    for (size_t i = 0; i < problem->high_count; i++)
        high = fmin(high, problem->high[i].y - slope * problem->high[i].x);
    return high + problem->widened_ns;
}

typedef double goal(const struct problem *problem, double slope, double x);

static double width(const struct problem *problem, double slope, double x)
{
    (void)x;
    return high_at(problem, slope) - low_at(problem, slope);
}

static double highest(const struct problem *problem, double slope, double x)
{
    return high_at(problem, slope) + slope * x;
}

static double lowest(const struct problem *problem, double slope, double x)
{
    return -(low_at(problem, slope) + slope * x);
}

/* The slope for which the concave `goal` is largest. */
static double best_slope(const struct problem *problem, goal *goal, double x)
{
    double from = problem->from, to = problem->to;
    for (int i = 0; i < SEARCH_STEPS; i++) {
        double left = from + (to - from) / 3, right = to - (to - from) / 3;
        if (goal(problem, left, x) < goal(problem, right, x))
            from = left;
        else
            to = right;
    }
    return (from + to) / 2;
}

/* The last slope from `passes` towards `fails` that still lets a line pass. */
static double last_slope(const struct problem *problem, double passes, double fails)
{
    if (width(problem, fails, 0) >= 0)
        return fails;
    for (int i = 0; i < SEARCH_STEPS; i++) {
        double middle = (passes + fails) / 2;
        if (width(problem, middle, 0) >= 0)
            passes = middle;
        else
            fails = middle;
    }
    return passes;
}

static void narrow(struct problem *problem)
{
    double slope = best_slope(problem, width, 0), left_ns = width(problem, slope, 0);
    if (left_ns < 0) {
        problem->widened_ns = -left_ns / 2;
        problem->from = problem->to = slope;
        return;
    }
    double from = last_slope(problem, slope, problem->from);
    problem->to = last_slope(problem, slope, problem->to);
    problem->from = from;
}

/* The middle of the slopes that pass, drawn to 0 as far as that is the better known of the two. */
static double choose_slope(const struct problem *problem)
{
    const double middle = (problem->from + problem->to) / 2, half = (problem->to - problem->from) / 2;
    const double variance = half * half / 3, usual = DRIFT_USUAL * DRIFT_USUAL;
    return fmin(fmax(middle * usual / (usual + variance), problem->from), problem->to);
}

/* How far the lines that pass at `x` reach above and below one of this slope through 0. */
struct reach {
    double low, high;
};

static struct reach reach_at(const struct problem *problem, double slope, double x)
{
    return (struct reach){-lowest(problem, best_slope(problem, lowest, x), x) - slope * x,
                          highest(problem, best_slope(problem, highest, x), x) - slope * x};
}

/* ---- Anchors ---------------------------------------------------------------------------------------------------- */

/* Of two readings of one clock; what is nonsense is so far away that it contradicts. */
static double after_ns(uint64_t later, uint64_t earlier)
{
    return (double)(int64_t)(later - earlier);
}

struct anchors {
    struct kt_host_anchor *list; /* times are from the first one's */
    size_t count;
    double tick_ns;
    double first, last; /* what was recorded */
};

/* The last anchor before what was recorded, the first one behind it, and those between: what is further away tells of rates that
 * clocks once had. All of them where that leaves one only. */
static int choose_anchors(struct anchors *out, const struct kt_device *device, uint64_t first_ns, uint64_t last_ns)
{
    double before = -INFINITY, behind = INFINITY;
    *out = (struct anchors){.list = kt_array_new((size_t)device->anchor_count, sizeof *out->list),
                            .tick_ns = kt_clock_wall_tick_ns(device)};
    if (!out->list)
        return KTRACE_ERROR_MEMORY;
    for (uint64_t i = 0; i < device->anchor_count; i++) {
        const double from_first = after_ns(device->anchors[i].device_ns, first_ns);
        const double from_last = after_ns(device->anchors[i].device_ns, last_ns);
        before = from_first <= 0 ? fmax(before, from_first) : before;
        behind = from_last >= 0 ? fmin(behind, from_last) : behind;
    }
    for (uint64_t i = 0; i < device->anchor_count; i++)
        if (after_ns(device->anchors[i].device_ns, first_ns) >= before &&
            after_ns(device->anchors[i].device_ns, last_ns) <= behind)
            out->list[out->count++] = device->anchors[i];
    if (out->count < 2) {
        memcpy(out->list, device->anchors, (size_t)device->anchor_count * sizeof *out->list);
        out->count = (size_t)device->anchor_count;
    }
    out->first = after_ns(first_ns, out->list[0].device_ns);
    out->last = after_ns(last_ns, out->list[0].device_ns);
    return 0;
}

static double time_of(const struct anchors *anchors, size_t index)
{
    return after_ns(anchors->list[index].device_ns, anchors->list[0].device_ns);
}

/* How far the clocks may have left the line where the next anchor is furthest, during what was recorded. */
static double wander_ns(const struct anchors *anchors)
{
    double before = -INFINITY, furthest = 0;
    for (size_t i = 0; i <= anchors->count; i++) {
        const double behind = i < anchors->count ? time_of(anchors, i) : INFINITY;
        if (behind >= anchors->first && before <= anchors->last) {
            const double middle = i == 0                ? anchors->first
                                  : i == anchors->count ? anchors->last
                                                        : before + (behind - before) / 2;
            const double at = fmin(fmax(middle, anchors->first), anchors->last);
            furthest = fmax(furthest, fmin(at - before, behind - at));
        }
        before = behind;
    }
    return furthest * WANDER;
}

/* A clock whose rate is off by as much for half of the time and the other way for the rest leaves every line by this much. */
static double explained_ns(const struct anchors *anchors)
{
    return fmax(0, time_of(anchors, anchors->count - 1)) * WANDER / 4;
}

/* ---- The line --------------------------------------------------------------------------------------------------- */

static int make_problem(struct problem *problem, const struct anchors *anchors)
{
    const struct kt_host_anchor *first = &anchors->list[0];
    *problem = (struct problem){.from = -KT_HOST_DRIFT_MAX, .to = KT_HOST_DRIFT_MAX};
    problem->low = kt_array_new(anchors->count, sizeof *problem->low);
    problem->high = kt_array_new(anchors->count, sizeof *problem->high);
    if (!problem->low || !problem->high)
        return KTRACE_ERROR_MEMORY;
    for (size_t i = 0; i < anchors->count; i++) {
        const struct kt_host_anchor *anchor = &anchors->list[i];
        const double x = time_of(anchors, i);
        double before = after_ns(anchor->host_before_ns - first->host_before_ns, anchor->device_ns - first->device_ns);
        double after = after_ns(anchor->host_after_ns - first->host_before_ns, anchor->device_ns - first->device_ns);
        /* the device's clock shows the last of its ticks */
        problem->low[i] = (struct kt_point){x, before - anchors->tick_ns};
        problem->high[i] = (struct kt_point){x, after};
    }
    problem->low_count = keep_corners(problem->low, anchors->count, -1);
    problem->high_count = keep_corners(problem->high, anchors->count, 1);
    return 0;
}

static struct kt_host_line draw_line(struct problem *problem, const struct anchors *anchors)
{
    narrow(problem);
    /* In the middle of what passes at both ends; in between, no line that passes is further from it. */
    const double drift = choose_slope(problem);
    const struct reach begin = reach_at(problem, drift, anchors->first), end = reach_at(problem, drift, anchors->last);
    const double low = fmin(begin.low, end.low), high = fmax(begin.high, end.high);
    return (struct kt_host_line){
        .device_ns = anchors->list[0].device_ns,
        .host_ns = anchors->list[0].host_before_ns,
        .offset_ns = (low + high) / 2,
        .drift = drift,
        .uncertainty_ns = fmax(0, (high - low) / 2) + wander_ns(anchors) + 2 * problem->widened_ns,
        .contradiction_ns = problem->widened_ns > explained_ns(anchors) ? problem->widened_ns : 0};
}

int kt_host_line_fit(struct kt_host_line *out, const struct kt_device *device, uint64_t first_ns, uint64_t last_ns)
{
    struct anchors anchors;
    struct problem problem = {NULL, NULL, 0, 0, 0, 0, 0};
    int status = choose_anchors(&anchors, device, first_ns, last_ns);
    if (status == 0)
        status = make_problem(&problem, &anchors);
    if (status == 0)
        *out = draw_line(&problem, &anchors);
    free(problem.low);
    free(problem.high);
    free(anchors.list);
    return status;
}

struct kt_host_shift kt_host_shift(const struct kt_host_line *from, uint64_t origin_ns, const struct kt_host_line *to,
                                   uint64_t to_origin_ns)
{
    /* host(origin) on both lines; whole nanoseconds are exact, the rest is small beside them */
    const double x = after_ns(origin_ns, from->device_ns);
    const int64_t whole_ns = (int64_t)(from->host_ns - to->host_ns + (origin_ns - from->device_ns));
    const double rest_ns = from->offset_ns - to->offset_ns + from->drift * x;
    const double correction_ns = ((double)whole_ns + rest_ns) * (to->drift / (1 + to->drift));
    return (struct kt_host_shift){.begin_ns = (double)(int64_t)((uint64_t)whole_ns + to->device_ns - to_origin_ns) +
                                              rest_ns - correction_ns,
                                  .rate = (1 + from->drift) / (1 + to->drift)};
}

int64_t kt_host_offset_ns(const struct kt_host_line *line, uint64_t device_ns)
{
    const double rest_ns = line->offset_ns + line->drift * after_ns(device_ns, line->device_ns);
    return (int64_t)(line->host_ns - line->device_ns + (uint64_t)(int64_t)fmin(fmax(rint(rest_ns), -9e18), 9e18));
}
