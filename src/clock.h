/* clock.h - from a place's own clock to time on the trace.
 *
 * kt_clock_fit runs once, while a trace is made, and only needs trace->snapshot; decode.c then asks for the time of every
 * event through a cursor. Times are picoseconds from trace->origin_ns and never fall while a place's clock rises, whatever
 * the anchors say. How the fit works is told in clock.c; where it finds its frequencies, in clock_rate.c.
 */
#ifndef KT_CLOCK_H
#define KT_CLOCK_H

#include "trace.h"

/* Fit every place that has a wave in trace->snapshot, and put all devices on one timeline. Sets origin_ns, place_clocks, knots,
 * their counts, devices, clock_hz and the other clock_ fields; the arrays are the trace's to free(). No wave starts before the
 * origin. Bad anchors are no error:
 * they show as residual_ns. That says how well the fit explains the anchors, and nothing of the time between two: with as few
 * as two it is always 0; see unanchored_ns. Fails with KTRACE_ERROR_MEMORY only. */
int kt_clock_fit(struct ktrace_trace *trace);

/* NULL: the place has no wave. `device`: index into snapshot->devices. */
const struct kt_place_clock *kt_clock_of_place(const struct ktrace_trace *trace, uint32_t device, uint32_t place);

/* Time of one reading of `clock`'s place. Monotonic in clock_ticks; saturates far outside of int64. */
int64_t kt_clock_to_ps(const struct ktrace_trace *trace, const struct kt_place_clock *clock, uint64_t clock_ticks);

/* Not rounded, in ns. */
double kt_clock_to_ns(const struct ktrace_trace *trace, const struct kt_place_clock *clock, uint64_t clock_ticks);

/* The same for many readings of one place: remembers its piece, so that readings in rising order cost O(1) each. */
struct kt_clock_cursor {
    const struct kt_clock_knot *knots; /* of the place; NULL: no such place, every time is 0 */
    uint32_t knot_count;
    uint32_t piece;           /* index of the knot that the last reading was behind */
    int64_t begin_ps, end_ps; /* of that piece */
};

void kt_clock_cursor_begin(struct kt_clock_cursor *cursor, const struct ktrace_trace *trace, uint32_t device,
                           uint32_t place);
int64_t kt_clock_cursor_ps(struct kt_clock_cursor *cursor, uint64_t clock_ticks);

/* Of the device's wall clock: as its snapshot says, or what is usual. */
static inline uint32_t kt_clock_wall_tick_ns(const struct kt_device *device)
{
    return device->wall_tick_ns ? device->wall_tick_ns : 32;
}

/* What is further than this from the median start of a device's waves, or from the waves of other devices, is not of this
 * trace. Twice this, in ps, fits an int64_t. */
#define KT_TRACE_SPAN_NS (INT64_C(40) * 24 * 3600 * 1000000000)
/* A host's clock is set by no more than this: 73 years. A few of them fit an int64_t. */
#define KT_HOST_SHIFT_MAX_NS (INT64_C(1) << 61)

#endif
