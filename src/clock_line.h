/* clock_line.h - the longest straight line through a row of intervals. Part of the clock fit: see clock.c. */
#ifndef KT_CLOCK_LINE_H
#define KT_CLOCK_LINE_H

#include <stddef.h>

struct kt_point {
    double x, y;
};

/* A line y = offset + slope * x is feasible while low <= y(x) <= high holds for every interval (x, low, high) added, and
 * slope_low <= slope <= slope_high. Intervals come with rising x. */
struct kt_line_fit {
    double slope_low, slope_high; /* of the feasible lines so far: begins as the allowed band */
    size_t count;
    double last_x;
    /* Ends of intervals that a tangent of a later interval can still touch: the lower ends' upper hull and the upper ends'
     * lower hull. */
    struct kt_point *low_hull, *high_hull; /* room for as many points as intervals will be added */
    size_t low_first, low_end, high_first, high_end;
};

/* The hulls stay the caller's. */
void kt_line_begin(struct kt_line_fit *fit, struct kt_point *low_hull, struct kt_point *high_hull, double slope_low,
                   double slope_high);
/* 1: a feasible line passes through this interval as well. Nothing is changed. */
int kt_line_fits(const struct kt_line_fit *fit, double x, double low, double high);
/* Add an interval that fits, x above that of the last. */
void kt_line_add(struct kt_line_fit *fit, double x, double low, double high);

#endif
