#include "clock_line.h"

static double slope_between(struct kt_point from, struct kt_point to)
{
    return (to.y - from.y) / (to.x - from.x);
}

/* Above 0: a, b, c turn left. */
static double turn(struct kt_point a, struct kt_point b, struct kt_point c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/* From `point` back to the hull of the lower ends, the slope of the tangent: no feasible line that passes below `point` is
 * steeper. Slopes to the points of a hull fall, then rise, so that halving finds the lowest whatever a file makes of it. */
static size_t steepest_tangent(const struct kt_line_fit *fit, struct kt_point point, double *slope)
{
    size_t first = fit->low_first, last = fit->low_end - 1;
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        if (slope_between(fit->low_hull[middle + 1], point) > slope_between(fit->low_hull[middle], point))
            last = middle;
        else
            first = middle + 1;
    }
    *slope = slope_between(fit->low_hull[first], point);
    return first;
}

static size_t flattest_tangent(const struct kt_line_fit *fit, struct kt_point point, double *slope)
{
    size_t first = fit->high_first, last = fit->high_end - 1;
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        if (slope_between(fit->high_hull[middle + 1], point) < slope_between(fit->high_hull[middle], point))
            last = middle;
        else
            first = middle + 1;
    }
    *slope = slope_between(fit->high_hull[first], point);
    return first;
}

void kt_line_begin(struct kt_line_fit *fit, struct kt_point *low_hull, struct kt_point *high_hull, double slope_low,
                   double slope_high)
{
    *fit = (struct kt_line_fit){
        .slope_low = slope_low, .slope_high = slope_high, .low_hull = low_hull, .high_hull = high_hull};
}

int kt_line_fits(const struct kt_line_fit *fit, double x, double low, double high)
{
    if (fit->count == 0)
        return 1;
    if (!(x > fit->last_x))
        return 0;
    double steepest, flattest;
    steepest_tangent(fit, (struct kt_point){x, high}, &steepest);
    flattest_tangent(fit, (struct kt_point){x, low}, &flattest);
    if (steepest > fit->slope_high)
        steepest = fit->slope_high;
    if (flattest < fit->slope_low)
        flattest = fit->slope_low;
    return flattest <= steepest;
}

static void push_high(struct kt_line_fit *fit, struct kt_point point)
{
    while (fit->high_end >= fit->high_first + 2 &&
           turn(fit->high_hull[fit->high_end - 2], fit->high_hull[fit->high_end - 1], point) <= 0)
        fit->high_end--;
    fit->high_hull[fit->high_end++] = point;
}

static void push_low(struct kt_line_fit *fit, struct kt_point point)
{
    while (fit->low_end >= fit->low_first + 2 &&
           turn(fit->low_hull[fit->low_end - 2], fit->low_hull[fit->low_end - 1], point) >= 0)
        fit->low_end--;
    fit->low_hull[fit->low_end++] = point;
}

void kt_line_add(struct kt_line_fit *fit, double x, double low, double high)
{
    struct kt_point low_point = {x, low}, high_point = {x, high};
    fit->last_x = x;
    if (fit->count++ > 0) {
        double slope;
        /* Points of a hull before a tangent that became the limit can never be touched again. */
        size_t touched = steepest_tangent(fit, high_point, &slope);
        if (slope < fit->slope_high) {
            fit->slope_high = slope;
            fit->low_first = touched;
        }
        touched = flattest_tangent(fit, low_point, &slope);
        if (slope > fit->slope_low) {
            fit->slope_low = slope;
            fit->high_first = touched;
        }
    }
    push_high(fit, high_point);
    push_low(fit, low_point);
}
