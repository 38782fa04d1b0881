/* perfetto.h - what the parts of the Perfetto exporter share: perfetto.c (waves and events), perfetto_sites.c (what events need of
 * sites), perfetto_tracks.c (the tree of tracks, launches) and perfetto_facts.c (what the trace says about itself).
 *
 * The file is what the Perfetto SDK would write, so that every version of the viewer reads it:
 *   - sequence 1 declares every track before anything is on it, and has launches and metadata with absolute times;
 *   - every wave is a packet sequence of its own, from 2. Its first packet clears the incremental state, sets the default
 *     track and clock, and anchors the incremental clock 64; later packets carry differences and interned names.
 * All clocks are anchored at one and the same time: the viewer finds snapshots by a 32-bit hash, and where two
 * sequences' hashes are equal it refuses snapshots that go back in time, and with them the wave.
 */
#ifndef KT_PERFETTO_H
#define KT_PERFETTO_H

#include "../vocabulary.h"
#include "export.h"
#include "perfetto_fields.h"
#include "protobuf.h"

enum { KT_PERFETTO_METADATA_SEQUENCE = 1, KT_PERFETTO_FIRST_WAVE_SEQUENCE = 2 };
enum { KT_PERFETTO_FLUSH_BYTES = 256 * 1024 };

struct kt_perfetto {
    const struct ktrace_trace *trace;
    uint64_t only_launch;              /* KT_EVERY_LAUNCH, or what the file holds of the trace: */
    uint64_t first_launch, end_launch; /* its launches, the end excluded */
    const struct kt_vocabulary *vocabulary;
    struct kt_sink *sink;
    struct kt_pb pb;    /* whole packets on their way to the sink */
    int status;         /* sticky */
    uint64_t anchor_ns; /* absolute; no later than anything in the trace */
    int64_t anchor_ps;  /* the same, from the trace's time 0: never positive */
    uint64_t next_uuid;

    uint64_t *device_tracks; /* of several devices */
    uint64_t *kernel_tracks; /* device by device; 0: not declared yet */
    /* Of the wave before: where the tree goes on. */
    uint64_t launch_track, place_track, workgroup_track;
    uint32_t place, workgroup[3];
    int32_t place_rank, workgroup_rank, wave_rank;
};

/* Nanoseconds since anchor_ns, to the nearest: never negative, and never out of order. */
static inline uint64_t kt_perfetto_time_ns(const struct kt_perfetto *perfetto, int64_t time_ps)
{
    if (time_ps <= perfetto->anchor_ps)
        return 0;
    return ((uint64_t)time_ps - (uint64_t)perfetto->anchor_ps + 500) / 1000;
}

/* Open a packet; kt_pb_end closes it. */
size_t kt_perfetto_packet(struct kt_perfetto *perfetto, uint32_t sequence, uint32_t flags);
/* Hand whole packets to the sink when there are many, or when `now`. Returns the sticky status. */
int kt_perfetto_flush(struct kt_perfetto *perfetto, int now);

/* One debug annotation with its name in full. `field`: debug_annotations of a TrackEvent, or another's dict_entries. */
void kt_annotate_uint(struct kt_pb *pb, uint32_t field, const char *name, uint64_t value);
void kt_annotate_int(struct kt_pb *pb, uint32_t field, const char *name, int64_t value);
void kt_annotate_bool(struct kt_pb *pb, uint32_t field, const char *name, int value);
void kt_annotate_double(struct kt_pb *pb, uint32_t field, const char *name, double value);
void kt_annotate_string(struct kt_pb *pb, uint32_t field, const char *name, const char *text);
/* "nan", "inf", "-inf": JSON and SQL have no such numbers. NULL for a finite one. */
const char *kt_not_finite(double value);

/* A track of its own, below `parent` (0: at the top), with children in the order of their ranks or without any. Siblings with equal
 * names stay apart: by default the viewer merges them. */
uint64_t kt_perfetto_track(struct kt_perfetto *perfetto, uint64_t parent, const char *name, int32_t rank,
                           int has_children);
/* Under which the tracks of its kernels lie: 0 where there is one device. */
static inline uint64_t kt_perfetto_device(const struct kt_perfetto *perfetto, uint32_t device)
{
    return perfetto->trace->snapshot->device_count > 1 ? perfetto->device_tracks[device] : 0;
}

/* An event at an absolute time. What is written between begin and end belongs to it. */
struct kt_perfetto_event {
    size_t packet, event;
};
struct kt_perfetto_event kt_perfetto_begin_event(struct kt_perfetto *perfetto, int64_t time_ps,
                                                 enum kt_perfetto_value type, uint64_t track, const char *category,
                                                 const char *name);
void kt_perfetto_end_event(struct kt_perfetto *perfetto, struct kt_perfetto_event open);

/* The first packets: the clock, the "ktrace" track, those of devices, and everything that the trace says about itself. */
void kt_perfetto_begin(struct kt_perfetto *perfetto);
/* The tracks of a launch and of its kernel, and its slice. */
void kt_perfetto_launch(struct kt_perfetto *perfetto, uint64_t launch);
/* The tracks of a wave, and what is above it where that is new. Returns the wave's track; its child track "ranges n" has
 * that number plus n. */
uint64_t kt_perfetto_wave_tracks(struct kt_perfetto *perfetto, const struct kt_wave *wave);

#endif
