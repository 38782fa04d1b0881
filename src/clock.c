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
 * the capture took, and here all devices are put on the timeline of one. What several processes recorded of one physical device
 * is of one clock. Processes that no clock relates were given timelines of their own (merge.c), which are laid beside each other
 * at the end. */
#include "clock.h"

#include "array.h"
#include "clock_device.h"
#include "clock_host.h"

#include <math.h>

struct device {
    struct kt_device_fit fit; /* of one with waves */
    uint32_t clock;           /* the first device that has the same wall clock */
    struct kt_host_line line; /* of one with anchors; the same for all that have one clock */
    struct kt_host_shift shift;
    int has_line;
};

struct timeline {
    struct ktrace_trace *trace;
    struct device *devices;
    const struct ktrace_wave_header **waves; /* by device */
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

static const struct kt_process *process_of(const struct timeline *timeline, uint32_t device)
{
    const struct kt_snapshot *snapshot = timeline->trace->snapshot;
    return &snapshot->processes[snapshot->devices[device].process];
}

/* ---- Against the host's clock ------------------------------------------------------------------------------------- */

/* Readings of one clock are no further apart than this, and what it may have drifted between them: where they are a
 * driver was loaded anew, which sets a device's clock. */
#define ONE_CLOCK_NS 1e6

/* Two of one physical device, seen by processes under one kernel. Simulated ones are each their process's own. */
static int is_one_device(const struct timeline *timeline, uint32_t a, uint32_t b)
{
    const struct kt_snapshot *snapshot = timeline->trace->snapshot;
    const struct kt_process *of_a = process_of(timeline, a), *of_b = process_of(timeline, b);
    const uint8_t *uuid = snapshot->devices[a].identity.uuid;
    return !(snapshot->flags & KT_SNAPSHOT_SIMULATED) && kt_id_is_known(uuid) && of_a->timeline == of_b->timeline &&
           *of_a->boot && strcmp(of_a->boot, of_b->boot) == 0 &&
           memcmp(uuid, snapshot->devices[b].identity.uuid, KT_ID_BYTES) == 0;
}

/* The first reading of a device on the timeline's host clock. */
static struct kt_host_anchor first_anchor(const struct timeline *timeline, uint32_t index)
{
    struct kt_host_anchor anchor = timeline->trace->snapshot->devices[index].anchors[0];
    anchor.host_before_ns += (uint64_t)process_of(timeline, index)->host_shift_ns;
    return anchor;
}

/* What one of two devices has no readings for cannot contradict. `with`: the first of the clock that has some, or `none`. */
static int agrees(const struct timeline *timeline, uint32_t index, uint32_t with)
{
    if (with == timeline->trace->snapshot->device_count || timeline->trace->snapshot->devices[index].anchor_count == 0)
        return 1;
    const struct kt_host_anchor a = first_anchor(timeline, with), b = first_anchor(timeline, index);
    const double apart_ns = (double)(int64_t)(b.device_ns - a.device_ns);
    const double host_apart_ns = (double)(int64_t)(b.host_before_ns - a.host_before_ns);
    return fabs(host_apart_ns - apart_ns) <= ONE_CLOCK_NS + KT_HOST_DRIFT_MAX * fabs(apart_ns);
}

/* Those that have the clock of device `first`, which no device before has. Returns how many anchors they have together. */
static uint64_t find_clock(struct timeline *timeline, uint32_t first)
{
    const struct kt_snapshot *snapshot = timeline->trace->snapshot;
    const uint32_t none = snapshot->device_count;
    uint32_t with = snapshot->devices[first].anchor_count ? first : none;
    uint64_t anchors = snapshot->devices[first].anchor_count;
    for (uint32_t i = first + 1; i < snapshot->device_count; i++) {
        if (timeline->devices[i].clock != i || !is_one_device(timeline, first, i) || !agrees(timeline, i, with))
            continue;
        timeline->devices[i].clock = first;
        anchors += snapshot->devices[i].anchor_count;
        with = with == none && snapshot->devices[i].anchor_count ? i : with;
    }
    return anchors;
}

/* What is known of one clock: anchors of several devices, with the hosts' clocks as the timeline has them. */
struct readings {
    struct kt_device facts; /* its anchors are owned */
    uint64_t first_ns, last_ns;
    int has_waves;
};

static int by_device_time(const void *left, const void *right)
{
    const struct kt_host_anchor *a = left, *b = right;
    return (a->device_ns > b->device_ns) - (a->device_ns < b->device_ns);
}

static void add_readings(struct readings *readings, const struct timeline *timeline, uint32_t index)
{
    const struct kt_device *device = &timeline->trace->snapshot->devices[index];
    const struct kt_device_fit *fit = &timeline->devices[index].fit;
    const uint64_t shift_ns = (uint64_t)process_of(timeline, index)->host_shift_ns;
    for (uint64_t i = 0; i < device->anchor_count; i++) {
        struct kt_host_anchor *anchor = &readings->facts.anchors[readings->facts.anchor_count++];
        *anchor = device->anchors[i];
        anchor->host_before_ns += shift_ns;
        anchor->host_after_ns += shift_ns;
    }
    readings->facts.wall_tick_ns = device->wall_tick_ns;
    if (fit->wave_count == 0)
        return;
    if (!readings->has_waves || fit->origin_ns < readings->first_ns)
        readings->first_ns = fit->origin_ns;
    if (!readings->has_waves || fit->latest_ns > readings->last_ns)
        readings->last_ns = fit->latest_ns;
    readings->has_waves = 1;
}

static int draw_line(struct kt_host_line *line, struct readings *readings)
{
    const struct kt_device *facts = &readings->facts;
    if (!readings->has_waves) {
        readings->first_ns = facts->anchors[0].device_ns;
        readings->last_ns = facts->anchors[facts->anchor_count - 1].device_ns;
    }
    return kt_host_line_fit(line, facts, readings->first_ns, readings->last_ns);
}

static void tell_line(struct timeline *timeline, uint32_t index, const struct kt_host_line *line, uint64_t first_ns)
{
    struct device *device = &timeline->devices[index];
    struct kt_trace_device *told = &timeline->trace->devices[index];
    const struct kt_process *process = process_of(timeline, index);
    device->line = *line;
    device->has_line = 1;
    told->host_offset_ns =
        (int64_t)((uint64_t)kt_host_offset_ns(line, device->fit.wave_count ? device->fit.origin_ns : first_ns) -
                  (uint64_t)process->host_shift_ns);
    told->uncertainty_ns = line->uncertainty_ns + device->fit.uncertainty_ns + process->host_shift_uncertainty_ns;
    told->contradiction_ns = line->contradiction_ns;
}

/* By all anchors of those that have the clock of device `first`. */
static int fit_clock(struct timeline *timeline, uint32_t first)
{
    const uint32_t count = timeline->trace->snapshot->device_count;
    const uint64_t anchors = find_clock(timeline, first);
    struct readings readings = {.has_waves = 0};
    struct kt_host_line line;
    uint32_t devices = 0;
    readings.facts.anchors = kt_array_new((size_t)anchors, sizeof *readings.facts.anchors);
    if (!readings.facts.anchors)
        return KTRACE_ERROR_MEMORY;
    for (uint32_t i = first; i < count; i++)
        if (timeline->devices[i].clock == first) {
            add_readings(&readings, timeline, i);
            devices++;
        }
    if (devices > 1 && anchors)
        qsort(readings.facts.anchors, (size_t)anchors, sizeof *readings.facts.anchors, by_device_time);
    const int status = anchors ? draw_line(&line, &readings) : 0;
    for (uint32_t i = first; i < count && status == 0 && anchors; i++)
        if (timeline->devices[i].clock == first)
            tell_line(timeline, i, &line, readings.first_ns);
    free(readings.facts.anchors);
    return status;
}

/* Devices of a simulator need no line. */
static int fit_lines(struct timeline *timeline)
{
    const struct kt_snapshot *snapshot = timeline->trace->snapshot;
    int status = 0;
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        timeline->devices[i].clock = i;
        if (!(snapshot->flags & KT_SNAPSHOT_SIMULATED))
            timeline->trace->devices[i].uncertainty_ns = INFINITY;
    }
    for (uint32_t i = 0; i < snapshot->device_count && status == 0; i++)
        if (!(snapshot->flags & KT_SNAPSHOT_SIMULATED) && timeline->devices[i].clock == i)
            status = fit_clock(timeline, i);
    return status;
}

/* ---- Devices of one timeline --------------------------------------------------------------------------------------- */

/* The first device of the timeline that has anchors, or the first at all: how good its anchors are does not matter, as what is
 * not known of two devices adds up, whichever is the timeline's; and so all reads of one capture have the same. None with waves:
 * as many as there are. */
static uint32_t choose_reference(const struct timeline *timeline, uint32_t number)
{
    const uint32_t count = timeline->trace->snapshot->device_count;
    uint32_t best = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct device *device = &timeline->devices[i];
        if (process_of(timeline, i)->timeline == number && device->fit.wave_count &&
            (best == count || (device->has_line && !timeline->devices[best].has_line)))
            best = i;
    }
    return best;
}

/* What two devices' waves are apart by. Those of one trace are not 40 days apart: then an anchor is false. */
static int is_near(const struct kt_host_shift *shift)
{
    return fabs(shift->begin_ns) <= (double)KT_TRACE_SPAN_NS;
}

/* Devices that have one clock, as those of a simulator do. */
static int shift_directly(struct kt_host_shift *shift, uint64_t origin_ns, uint64_t reference_ns)
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

/* Where the origin of each device of a timeline lies on the reference's clock. Returns that of the earliest. A device that
 * nothing relates to the others begins there, too: so all of it is seen beside them, and that is no more of a guess than any other
 * place. */
static double relate(struct timeline *timeline, uint32_t number, uint32_t reference_index)
{
    struct ktrace_trace *trace = timeline->trace;
    const struct device *reference = &timeline->devices[reference_index];
    const int simulated = (trace->snapshot->flags & KT_SNAPSHOT_SIMULATED) != 0;
    double earliest_ns = 0;
    for (uint32_t i = 0; i < trace->snapshot->device_count; i++) {
        struct device *device = &timeline->devices[i];
        struct kt_trace_device *told = &trace->devices[i];
        if (process_of(timeline, i)->timeline != number)
            continue;
        device->shift = (struct kt_host_shift){0, 1};
        told->related = 1;
        if (device == reference || device->fit.wave_count == 0)
            continue;
        told->related = simulated || device->clock == reference->clock
                            ? shift_directly(&device->shift, device->fit.origin_ns, reference->fit.origin_ns)
                            : shift_by_host(&device->shift, device, reference);
        if (told->related)
            earliest_ns = fmin(earliest_ns, device->shift.begin_ns);
        else
            told->uncertainty_ns = INFINITY;
    }
    for (uint32_t i = 0; i < trace->snapshot->device_count; i++)
        if (process_of(timeline, i)->timeline == number && !trace->devices[i].related)
            timeline->devices[i].shift = (struct kt_host_shift){earliest_ns, 1};
    return earliest_ns;
}

/* ---- All on one timeline ------------------------------------------------------------------------------------------- */

static void move_timeline(struct timeline *timeline, uint32_t number, double by_ns)
{
    for (uint32_t i = 0; i < timeline->trace->snapshot->device_count; i++)
        if (process_of(timeline, i)->timeline == number)
            timeline->devices[i].shift.begin_ns += by_ns;
}

static void move_knots(struct timeline *timeline, double back_ns)
{
    struct ktrace_trace *trace = timeline->trace;
    for (uint32_t i = 0; i < trace->place_clock_count; i++) {
        const struct kt_place_clock *clock = &trace->place_clocks[i];
        const struct kt_host_shift *shift = &timeline->devices[clock->device].shift;
        if (clock->device == trace->timeline_device && back_ns == 0)
            continue; /* not a bit of it */
        for (uint32_t k = clock->first_knot; k < clock->first_knot + clock->knot_count; k++) {
            struct kt_clock_knot *knot = &trace->knots[k];
            knot->wall_ns = back_ns + shift->begin_ns + shift->rate * knot->wall_ns;
            knot->ns_per_tick *= shift->rate;
        }
    }
}

/* The first timeline that has waves is where the others are laid beside, each with its earliest wave where it was placed. */
static void put_on_one(struct timeline *timeline)
{
    struct ktrace_trace *trace = timeline->trace;
    const struct kt_snapshot *snapshot = trace->snapshot;
    const uint32_t none = snapshot->device_count;
    double first_ns = 0, earliest_ns = 0;
    int64_t placed_ns = 0;
    trace->timeline_device = none;
    for (uint32_t i = 0; i < snapshot->timeline_count; i++) {
        const uint32_t reference = choose_reference(timeline, i);
        if (reference == none)
            continue;
        const double of_this_ns = relate(timeline, i, reference);
        if (trace->timeline_device == none) {
            trace->timeline_device = reference;
            first_ns = earliest_ns = of_this_ns;
            placed_ns = snapshot->timeline_begins_ns[i];
            continue;
        }
        const double begin_ns = first_ns + (double)(snapshot->timeline_begins_ns[i] - placed_ns);
        move_timeline(timeline, i, begin_ns - of_this_ns);
        earliest_ns = fmin(earliest_ns, begin_ns);
    }
    const uint64_t origin_ns = timeline->devices[trace->timeline_device].fit.origin_ns;
    uint64_t back_ns = (uint64_t)ceil(-earliest_ns);
    if (back_ns > origin_ns && snapshot->timeline_count == 1)
        back_ns = origin_ns;
    trace->origin_ns = back_ns < origin_ns ? origin_ns - back_ns : 0; /* what was placed may precede the clock's zero */
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
    for (uint32_t i = 0; i < snapshot->device_count && status == 0; i++)
        trace->devices[i].clock = timeline.devices[i].clock;
    free(timeline.waves);
    free(timeline.devices);
    return status;
}
