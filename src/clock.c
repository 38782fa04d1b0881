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
 *   clock_device.c all of that for one device: anchors from waves, origin, residuals;
 *   clock_map.c    the way out: from a place's clock to time.
 *
 * An instant that two places see lies in both their intervals, so they differ by less than a tick in the worst case.
 * Anchors that contradict their neighbours are left out and show in the residual only. All arithmetic is on differences
 * from a near point, so that hours keep picoseconds.
 *
 * Of several devices each has a wall clock of its own. clock_host.c relates it to the host's, through the readings of both that
 * the capture took, and here all devices are put on the timeline of one. */
#include "clock.h"

#include "array.h"
#include "clock_device.h"
#include "clock_host.h"

#include <math.h>

struct device {
    struct kt_device_fit fit; /* of one with waves */
    struct kt_host_line line; /* of one with anchors */
    struct kt_host_shift shift;
    int has_line;
};

struct timeline {
    struct ktrace_trace *trace;
    struct device *devices;
    const struct ktrace_wave_header **waves; /* by device */
    uint32_t reference;                      /* whose wall clock the trace's times are on */
};

/* ---- Each device for itself -------------------------------------------------------------------------------------- */

static int sort_waves(struct timeline *timeline)
{
    const struct kt_snapshot *snapshot = timeline->trace->snapshot;
    size_t first = 0;
    timeline->waves = kt_array_new((size_t)snapshot->wave_count, sizeof *timeline->waves);
    if (!timeline->waves)
        return KTRACE_ERROR_MEMORY;
    for (uint64_t i = 0; i < snapshot->wave_count; i++)
        timeline->devices[kt_snapshot_device_of(snapshot, &snapshot->waves[i])].fit.wave_count++;
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        struct kt_device_fit *fit = &timeline->devices[i].fit;
        fit->device = i;
        fit->waves = timeline->waves + first;
        first += fit->wave_count;
        fit->wave_count = 0;
    }
    for (uint64_t i = 0; i < snapshot->wave_count; i++) {
        struct kt_device_fit *fit = &timeline->devices[kt_snapshot_device_of(snapshot, &snapshot->waves[i])].fit;
        fit->waves[fit->wave_count++] = &snapshot->waves[i];
    }
    return 0;
}

static int fit_devices(struct timeline *timeline)
{
    struct ktrace_trace *trace = timeline->trace;
    struct kt_clock_room room = {0, 0};
    double ticks = 0, ns = 0;
    int status = 0;
    for (uint32_t i = 0; i < trace->snapshot->device_count && status == 0; i++) {
        struct kt_device_fit *fit = &timeline->devices[i].fit;
        if (fit->wave_count == 0)
            continue;
        status = kt_clock_fit_device(fit, trace, &room);
        ticks += fit->line_ticks;
        ns += fit->line_ns;
        trace->devices[i].residual_ns = fit->residual_ns;
        trace->clock_residual_ns = fmax(trace->clock_residual_ns, fit->residual_ns);
        trace->clock_uncertainty_ns = fmax(trace->clock_uncertainty_ns, fit->uncertainty_ns);
        trace->clock_unanchored_ns = fmax(trace->clock_unanchored_ns, fit->unanchored_ns);
    }
    for (uint32_t i = 0; i < trace->snapshot->device_count && ns == 0; i++)
        if (timeline->devices[i].fit.wave_count) {
            ns = timeline->devices[i].fit.ns_per_tick;
            ticks = 1;
        }
    if (ns > 0)
        trace->clock_hz = 1e9 / (ns / ticks);
    return status;
}

/* Against the host's clock. Devices of a simulator need no line. */
static int fit_lines(struct timeline *timeline)
{
    const struct kt_snapshot *snapshot = timeline->trace->snapshot;
    int status = 0;
    for (uint32_t i = 0; i < snapshot->device_count && status == 0; i++) {
        struct device *device = &timeline->devices[i];
        struct kt_trace_device *told = &timeline->trace->devices[i];
        const struct kt_device *facts = &snapshot->devices[i];
        const int has_waves = device->fit.wave_count > 0;
        if (snapshot->flags & KT_SNAPSHOT_SIMULATED)
            continue;
        told->uncertainty_ns = INFINITY;
        if (facts->anchor_count == 0)
            continue;
        uint64_t first_ns = has_waves ? device->fit.origin_ns : facts->anchors[0].device_ns;
        uint64_t last_ns = has_waves ? device->fit.latest_ns : facts->anchors[facts->anchor_count - 1].device_ns;
        status = kt_host_line_fit(&device->line, facts, first_ns, last_ns);
        device->has_line = status == 0;
        told->host_offset_ns = kt_host_offset_ns(&device->line, first_ns);
        told->uncertainty_ns = device->line.uncertainty_ns + device->fit.uncertainty_ns;
        told->contradiction_ns = device->line.contradiction_ns;
    }
    return status;
}

/* ---- All on one timeline ----------------------------------------------------------------------------------------- */

/* The first device that has anchors, or the first at all: how good its anchors are does not matter, as what is not known of two
 * devices adds up, whichever is the timeline's; and so all reads of one capture have the same. */
static void choose_reference(struct timeline *timeline)
{
    const uint32_t count = timeline->trace->snapshot->device_count;
    uint32_t best = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct device *device = &timeline->devices[i];
        if (device->fit.wave_count && (best == count || (device->has_line && !timeline->devices[best].has_line)))
            best = i;
    }
    timeline->reference = timeline->trace->timeline_device = best;
}

/* What two devices' waves are apart by. Those of one capture are not 40 days apart: then an anchor is false. */
static int is_near(const struct kt_host_shift *shift)
{
    return fabs(shift->begin_ns) <= (double)KT_TRACE_SPAN_NS;
}

/* Simulated devices have one clock. */
static int shift_simulated(struct kt_host_shift *shift, uint64_t origin_ns, uint64_t reference_ns)
{
    *shift = (struct kt_host_shift){(double)(int64_t)(origin_ns - reference_ns), 1};
    return is_near(shift);
}

static int shift_by_host(struct kt_host_shift *shift, const struct device *device, const struct device *reference)
{
    if (!device->has_line || !reference->has_line)
        return 0;
    *shift = kt_host_shift(&device->line, device->fit.origin_ns, &reference->line, reference->fit.origin_ns);
    return is_near(shift);
}

/* Where each device's origin lies on the reference's timeline, which begins with the earliest. A device that nothing relates
 * to the others begins there, too: so all of it is seen beside them, and that is no more of a guess than any other place. */
static double relate(struct timeline *timeline)
{
    struct ktrace_trace *trace = timeline->trace;
    const struct device *reference = &timeline->devices[timeline->reference];
    const int simulated = (trace->snapshot->flags & KT_SNAPSHOT_SIMULATED) != 0;
    double earliest_ns = 0;
    for (uint32_t i = 0; i < trace->snapshot->device_count; i++) {
        struct device *device = &timeline->devices[i];
        struct kt_trace_device *told = &trace->devices[i];
        device->shift = (struct kt_host_shift){0, 1};
        told->related = 1;
        if (device == reference || device->fit.wave_count == 0)
            continue;
        told->related = simulated ? shift_simulated(&device->shift, device->fit.origin_ns, reference->fit.origin_ns)
                                  : shift_by_host(&device->shift, device, reference);
        if (told->related)
            earliest_ns = fmin(earliest_ns, device->shift.begin_ns);
        else
            told->uncertainty_ns = INFINITY;
    }
    for (uint32_t i = 0; i < trace->snapshot->device_count; i++)
        if (!trace->devices[i].related)
            timeline->devices[i].shift = (struct kt_host_shift){earliest_ns, 1};
    return earliest_ns;
}

static void move_knots(struct timeline *timeline, double back_ns)
{
    struct ktrace_trace *trace = timeline->trace;
    for (uint32_t i = 0; i < trace->place_clock_count; i++) {
        const struct kt_place_clock *clock = &trace->place_clocks[i];
        const struct kt_host_shift *shift = &timeline->devices[clock->device].shift;
        if (clock->device == timeline->reference && back_ns == 0)
            continue; /* not a bit of it */
        for (uint32_t k = clock->first_knot; k < clock->first_knot + clock->knot_count; k++) {
            struct kt_clock_knot *knot = &trace->knots[k];
            knot->wall_ns = back_ns + shift->begin_ns + shift->rate * knot->wall_ns;
            knot->ns_per_tick *= shift->rate;
        }
    }
}

static void put_on_one(struct timeline *timeline)
{
    struct ktrace_trace *trace = timeline->trace;
    choose_reference(timeline);
    const uint64_t origin_ns = timeline->devices[timeline->reference].fit.origin_ns;
    uint64_t back_ns = (uint64_t)ceil(-relate(timeline));
    if (back_ns > origin_ns)
        back_ns = origin_ns;
    trace->origin_ns = origin_ns - back_ns;
    move_knots(timeline, (double)back_ns);
}

int kt_clock_fit(struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    struct timeline timeline = {.trace = trace};
    trace->origin_ns = 0;
    trace->clock_residual_ns = trace->clock_uncertainty_ns = trace->clock_unanchored_ns = 0;
    trace->clock_hz = snapshot->devices[0].clock_khz * 1e3;
    trace->devices = kt_array_new_zeroed(snapshot->device_count, sizeof *trace->devices);
    timeline.devices = kt_array_new_zeroed(snapshot->device_count, sizeof *timeline.devices);
    int status = trace->devices && timeline.devices ? sort_waves(&timeline) : KTRACE_ERROR_MEMORY;
    if (status == 0)
        status = fit_devices(&timeline);
    if (status == 0)
        status = fit_lines(&timeline);
    if (status == 0 && snapshot->wave_count)
        put_on_one(&timeline);
    free(timeline.waves);
    free(timeline.devices);
    return status;
}
