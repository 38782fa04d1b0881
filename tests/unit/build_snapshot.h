/* build_snapshot.h - synthetic snapshots for tests: says what a kernel did, gets what a capture would have read.
 *
 *     struct build *build = build_begin(512, 16);               // slots of lane 0's ring, and of each other lane's
 *     uint32_t module = build_module(build, 0x140);             // its control block lies there in its bank
 *     uint32_t gemm = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "gemm");
 *     uint32_t tile = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_UINT64, "tile");
 *     uint32_t pop = build_site(build, module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "");
 *     uint32_t wave = build_wave(build, &(struct build_wave){.kernel = gemm, .start_clock = 1000});
 *     build_payload(build, wave, 0, 1100, tile, 42);
 *     build_event(build, wave, 0, 1900, pop);
 *     build_end(build, wave, 2000);                             // left out: an unfinished wave
 *     struct kt_snapshot *snapshot = build_finish(build);       // goes to kt_trace_from_snapshot, which owns it then
 *
 * Rings are simulated as the device fills them: counts, sequence numbers and overwriting are exact. Clocks are 64-bit
 * ticks of the wave's place; a slot keeps the low half. Wall time defaults to build_wall_ns(clock): 2 GHz, the same on
 * every place, in steps of 32 ns. Memory that runs out and calls that make no sense abort.
 */
#ifndef BUILD_SNAPSHOT_H
#define BUILD_SNAPSHOT_H

#include "snapshot.h"

struct build;

/* Zero means the default named at each field. */
struct build_wave {
    uint32_t kernel;   /* site handle of a KERNEL site; its module is the wave's */
    uint64_t grid_id;  /* 0 */
    uint32_t grid[3];  /* 1, 1, 1 */
    uint16_t block[3]; /* 32, 1, 1 */
    uint32_t workgroup[3];
    uint16_t wave;
    uint32_t place;
    uint8_t lane_count; /* 32 */
    uint64_t start_clock;
    uint64_t start_wall_ns; /* build_wall_ns(start_clock) */
};

struct build *build_begin(uint32_t main_ring_slots, uint32_t lane_ring_slots);

/* One more device, of which the modules made from now on are. The first one is there, with the ordinal 0. */
void build_device(struct build *build, uint32_t ordinal);

/* Numbers count from 0. Sites get distances 16, 32, ... behind the control block, device addresses from 0x700000000000,
 * lines 10, 20, ... and the file "kernel.cu". */
uint32_t build_module(struct build *build, uint32_t control_offset);
uint32_t build_site(struct build *build, uint32_t module, enum ktrace_kind kind, enum ktrace_payload_type payload_type,
                    const char *name);
uint32_t build_wide_site(struct build *build, uint32_t module, enum ktrace_kind kind,
                         enum ktrace_payload_type payload_type, const char *name);
/* What an event of this site stores as its 16 bits. */
uint16_t build_site_bits(const struct build *build, uint32_t site);

/* Waves are numbered from 0, as in snapshot->waves. */
uint32_t build_wave(struct build *build, const struct build_wave *options);

/* One event recorded by `lane`. Returns clock | 1: a start's token. The site's payload type says whether a payload
 * follows: build_event stores none, so it is for sites without one. */
uint32_t build_event(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site);
uint32_t build_payload(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site,
                       uint64_t payload);
/* `token` as the start returned it. */
void build_stop(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site, uint32_t token);
void build_stop_payload(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site,
                        uint32_t token, uint64_t payload);
/* A stop and a start in one: returns the start's token. `token` 0: there is nothing to stop. The payload is the new
 * range's. */
uint32_t build_next(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site, uint32_t token);
uint32_t build_next_payload(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site,
                            uint32_t token, uint64_t payload);

/* The wave's remaining lanes leave the handle's scope at `clock`. */
void build_end(struct build *build, uint32_t wave, uint64_t clock);
/* One lane leaves before the others, without an end anchor. */
void build_leave(struct build *build, uint32_t wave, uint32_t lane);

/* Garbage: what lies at `place` of a lane's ring, past the device's own stores; the count stays as it is. */
void build_overwrite(struct build *build, uint32_t wave, uint32_t lane, uint32_t place, struct ktrace_slot slot);
/* The header, for tests that spoil it. Valid until the next build_wave. */
struct ktrace_wave_header *build_header(struct build *build, uint32_t wave);

uint64_t build_wall_ns(uint64_t clock);

/* The snapshot is the caller's; `build` is gone. */
struct kt_snapshot *build_finish(struct build *build);

/* One device that recorded nothing. */
struct kt_snapshot *build_nothing(void);

/* Devices 0 and 3 with wall clocks of their own, host anchors, launches of one kernel on each at about the same time, and
 * waves that were dropped and filtered. Deterministic. */
struct kt_snapshot *build_two_devices(void);

/* A whole capture with something of everything: kernels "gemm" (nested ranges, marks, overlapping token ranges, every
 * payload type, a branch that lane 5 leads) and, in every second launch, "reduce". Four waves a workgroup, eight SMs. The
 * last wave is unfinished inside two ranges. Deterministic. */
struct kt_snapshot *build_example(uint32_t launches, uint32_t workgroups, uint32_t iterations);

#endif
