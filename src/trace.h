/* trace.h - a decoded trace: what the statistics and the exporters read.
 *
 * kt_trace_from_snapshot runs the whole way: decode.c (slots to events with 64-bit clocks), clock.c (clocks to time),
 * pair.c (which end closes which begin, and on which track a range is drawn), launch.c (waves to launches). Everything is in flat
 * arrays, ordered: launches by first time; waves by launch, place, workgroup (z, y, x), wave; events by wave, then time.
 * Immutable afterwards.
 */
#ifndef KT_TRACE_H
#define KT_TRACE_H

#include "snapshot.h"

#define KT_NONE 0xFFFFFFFFu

/* One name of one kernel and kind: what the user calls a phase. */
struct kt_phase {
    uint32_t kernel; /* index into kernels */
    uint32_t kind;   /* MARK, PUSH or START */
    const char *name;
};

struct kt_kernel {
    const char *name;
};

enum kt_event_flags {
    KT_EVENT_PAYLOAD = 1,   /* `payload` is there */
    KT_EVENT_UNCLOSED = 2,  /* a begin that nothing closed: it ends with its wave's last event */
    KT_EVENT_UNMATCHED = 4, /* a pop or stop without a begin: not to be shown */
    KT_EVENT_SUPERSEDED =
        8 /* a pop or stop of a range that another lane left later: not to be shown, and nothing is wrong */
};

struct kt_event {
    int64_t time_ps;  /* from origin */
    uint64_t payload; /* bits; type from site->payload_type */
    const struct kt_site *site;
    uint32_t partner; /* index within the wave of the event at the other end, or KT_NONE */
    uint16_t track;   /* begins and ends: 0 = the wave's own track (properly nested), n = its child track "ranges n" */
    uint8_t lane;
    uint8_t flags; /* enum kt_event_flags */
};

struct kt_wave {
    uint64_t first_event;     /* index into events */
    uint64_t snapshot_wave;   /* index into snapshot->waves */
    int64_t begin_ps, end_ps; /* of the handle's scope; an unfinished wave ends with its last event */
    uint64_t start_clock_ticks;
    uint64_t slots_lost;
    uint32_t event_count;
    uint32_t launch;
    uint32_t workgroup[3];
    uint32_t wave;
    uint32_t place;
    uint16_t track_count; /* child tracks "ranges 1" .. "ranges n" */
    uint8_t lane_count;
    uint8_t unfinished;
};

struct kt_launch {
    uint32_t kernel; /* index into kernels */
    uint32_t device; /* index into snapshot->devices, and into devices */
    uint32_t occurrence;
    uint64_t grid_id, queue;
    uint32_t grid[3], block[3];
    int64_t begin_ps, end_ps;
    uint64_t first_wave, wave_count; /* into waves */
    uint64_t waves_launched;         /* workgroups times waves a workgroup */
    uint64_t event_count, slots_lost;
};

/* A file from anywhere can have times so far apart that no int64_t is their distance. */
static inline int64_t kt_launch_duration_ps(const struct kt_launch *launch)
{
    int64_t duration_ps;
    return __builtin_sub_overflow(launch->end_ps, launch->begin_ps, &duration_ps) ? INT64_MAX : duration_ps;
}

/* A begin that something closed: the others have no duration. */
static inline int kt_range_is_closed(const struct kt_event *begin)
{
    return begin->partner != KT_NONE && !(begin->flags & KT_EVENT_UNCLOSED);
}

/* How a place's clock maps to wall time: straight pieces between knots, extended beyond the first and the last. */
struct kt_clock_knot {
    uint64_t clock_ticks;
    double wall_ns;     /* from origin_ns */
    double ns_per_tick; /* from here on */
};
struct kt_place_clock {
    uint32_t device, place;
    uint32_t knot_count;
    uint32_t first_knot; /* into knots */
    uint32_t anchor_count;
    double residual_ns;    /* largest distance of an anchor's interval from the fit; 0: inside every tick */
    double uncertainty_ns; /* half the width of what the anchors leave open, and what a clock may drift between two */
    double unanchored_ns;  /* longest time inside of waves between two anchors; 0 where clocks do not drift */
};

/* What the trace adds to a struct kt_device of its snapshot. */
struct kt_trace_device {
    uint64_t launch_count, wave_count, event_count;
    int64_t host_offset_ns;  /* host's clock minus the device's, at its first wave; 0: not known */
    double uncertainty_ns;   /* of its times against the host's clock; INFINITY: nothing relates them; 0: simulated */
    double contradiction_ns; /* its host anchors contradict each other by up to this */
    double residual_ns;      /* largest of its places' */
    uint8_t related;         /* its times are comparable with those of other devices, as far as its timeline's are */
    uint32_t clock;          /* the first device that has the same wall clock: index */
    char *number;            /* what tells it from the others: "0", or "rank 3 #0"; owned, as those below */
    char *words;             /* the same in a sentence: "device 0", "rank 3 #0" */
    char *label;             /* with its name: "device 0: NVIDIA H200", "rank 3: NVIDIA H200 #0" */
    char uuid[KT_ID_TEXT_BYTES];
};

/* What the trace adds to a struct kt_process of its snapshot. */
struct kt_trace_process {
    char *label;                     /* what tells it from the others: "rank 3", "pid 4711"; owned */
    uint32_t device_count, relation; /* enum ktrace_relation */
    uint64_t launch_count, wave_count, event_count, waves_dropped, waves_filtered;
};

struct ktrace_trace {
    struct kt_snapshot *snapshot; /* owned */
    uint32_t more_references;     /* besides the first; atomic */
    uint64_t origin_ns;
    int64_t duration_ps;
    uint32_t timeline_device; /* origin_ns and all times are on this one's wall clock: index */

    uint32_t kernel_count, phase_count, place_clock_count, knot_count;
    uint64_t launch_count, wave_count, event_count;
    struct kt_kernel *kernels;
    struct kt_phase *phases; /* ordered by first kernel, then first appearance */
    struct kt_launch *launches;
    struct kt_wave *waves;
    struct kt_event *events;
    struct kt_site
        *halves; /* of the NEXT sites: see site_index.h. Events have sites from here and from snapshot->modules */
    uint64_t half_count;
    struct kt_trace_device *devices;     /* one for each of the snapshot's */
    struct kt_trace_process *processes;  /* one for each of the snapshot's */
    char *device_names;                  /* of several devices; owned */
    struct kt_place_clock *place_clocks; /* ordered by device, then place */
    struct kt_clock_knot *knots;
    struct ktrace_phase_info *statistics;    /* one a phase */
    struct kt_launch_phases **launch_phases; /* one a launch, made when asked for: launch_phases.h. Atomic */
    struct kt_phase_index *phase_index;      /* what kt_trace_phase_of looks in; see phase.h */

    uint64_t waves_unfinished, slots_lost, ranges_unclosed, ends_unmatched, slots_corrupt, clocks_ambiguous;
    double clock_hz, clock_residual_ns;
    double clock_uncertainty_ns, clock_unanchored_ns; /* largest of all places' */
    char *warning;                                    /* owned; "" when all is well */
    const char *clock_warning;                        /* the part of it that speaks of clocks; "" */
};

/* From a begin of `wave` to its end. */
static inline uint64_t kt_range_ps(const struct ktrace_trace *trace, const struct kt_wave *wave,
                                   const struct kt_event *begin)
{
    if (begin->partner >= wave->event_count)
        return 0;
    const struct kt_event *end = &trace->events[wave->first_event + begin->partner];
    return end->time_ps > begin->time_ps ? (uint64_t)end->time_ps - (uint64_t)begin->time_ps : 0;
}

/* Of the wave's handle. */
static inline uint64_t kt_wave_span_ps(const struct kt_wave *wave)
{
    return wave->end_ps > wave->begin_ps ? (uint64_t)wave->end_ps - (uint64_t)wave->begin_ps : 0;
}

/* Takes over `snapshot`, also on failure. */
int kt_trace_from_snapshot(struct ktrace_trace **out, struct kt_snapshot *snapshot);

/* Part of making one, when clocks and launches are there: sets `processes`, and what devices are called. */
int kt_make_processes(struct ktrace_trace *trace);
void kt_free_processes(struct ktrace_trace *trace);

/* Whether its times were placed beside those of the first device, as somebody asked, and nothing relates them. */
static inline int kt_trace_device_is_placed(const struct ktrace_trace *trace, uint32_t device)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    return trace->timeline_device < snapshot->device_count &&
           snapshot->processes[snapshot->devices[device].process].timeline !=
               snapshot->processes[snapshot->devices[trace->timeline_device].process].timeline;
}

/* Part of making one, when all else is there: sets `warning` and `clock_warning`. */
int kt_make_warning(struct ktrace_trace *trace);

/* The device's name, or what stands for the names of several. */
static inline const char *kt_trace_device_names(const struct ktrace_trace *trace)
{
    return trace->snapshot->device_count == 1 ? trace->snapshot->devices[0].name : trace->device_names;
}

/* One reference more: each wants its own ktrace_trace_destroy, of which the last one frees. Any thread may do either. Returns
 * the same trace, for the new reference. */
struct ktrace_trace *kt_trace_retain(const struct ktrace_trace *trace);

/* The phase of a begin or mark in `kernel`, or KT_NONE. One hash look-up. */
uint32_t kt_trace_phase_of(const struct ktrace_trace *trace, uint32_t kernel, const struct kt_site *site);

#endif
