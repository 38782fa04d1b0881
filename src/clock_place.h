/* clock_place.h - the anchors of one place become its knots. Part of the clock fit: see clock.c. */
#ifndef KT_CLOCK_PLACE_H
#define KT_CLOCK_PLACE_H

#include "clock_line.h"
#include "clock_rate.h"
#include "trace.h"

/* The two clocks of a place, read together. Wall times are relative to one instant of the trace, the fit's zero. */
struct kt_anchor {
    uint64_t clock_ticks;
    int64_t wall_ns;
    double low_ns, high_ns; /* the time at clock_ticks lies between wall_ns + low_ns and wall_ns + high_ns */
    uint32_t place;
    uint8_t wild;    /* outside of any time that this trace can have: not used */
    uint8_t skipped; /* contradicts its neighbours: not used */
    int8_t waves;    /* 1: a wave that ended began here; -1: it ended here */
};

/* A stretch of anchors that one straight line passes through. */
struct kt_segment {
    size_t first, last; /* anchors; those between may be skipped */
    size_t anchor_count;
    uint64_t base_ticks; /* clock of the first anchor */
    double base_ns;      /* time there */
    double ns_per_tick;
    double expected_ns_per_tick; /* from the rate profile */
    double half_width_ns;        /* what the anchors leave open */
};

/* Room for the largest place. */
struct kt_place_fit {
    const struct kt_rate_profile *profile;
    uint64_t zero_wall_ns;
    struct kt_anchor *anchors; /* of this place, by clock */
    size_t anchor_count;
    struct kt_segment *segments; /* anchor_count */
    size_t segment_count;
    struct kt_point *hulls;      /* 4 * anchor_count */
    struct kt_clock_knot *knots; /* 2 * anchor_count + 2; wall_ns from the fit's zero */
    size_t knot_count;           /* at least 1 */
    double uncertainty_ns;
    double line_ticks, line_ns; /* the segments laid end to end: their rate is the place's */
};

void kt_place_fit(struct kt_place_fit *fit);

#endif
