/* layout.h - how a capture's buffer is cut into regions, and how large it must be to hold a given trace.
 *
 * One allocation: main rings, lane rings, headers, each for both halves of the buffer: waves record into one while the other is
 * read. Counters lie apart. Rings of a kind lie together, so that reading copies only the used columns of the used rows. On NVIDIA each ring is aligned to its size and a region has 31 lane rings; on amdgcn a
 * region has one ring, aligned to 64 bytes and followed by its overhang.
 */
#ifndef KT_LAYOUT_H
#define KT_LAYOUT_H

#include "ktrace/ktrace.h"

#define KT_DEFAULT_BUFFER_BYTES ((uint64_t)64 << 20)
#define KT_DEFAULT_EVENTS_PER_WAVE 512u
#define KT_DEFAULT_EVENTS_PER_LANE 16u
#define KT_LANE_RINGS (KTRACE_MAX_LANES - 1)
#define KT_HALVES 2u
/* A ring's byte count is 32 bits on the device, and a ring must not cross a 4 GiB boundary. */
#define KT_MAX_RING_SLOTS (1u << 27)

struct kt_layout {
    uint32_t arch;                             /* enum ktrace_arch */
    uint64_t buffer_bytes;                     /* as asked for, of one half */
    uint32_t main_ring_slots, lane_ring_slots; /* powers of two; amdgcn: no lane rings, 0 */
    uint32_t partitions;                       /* power of two */
    uint32_t regions_per_partition;            /* of one half, as is: */
    uint64_t regions;
    /* offsets from an address aligned to `alignment_bytes` */
    uint64_t alignment_bytes;
    uint64_t lane_rings_offset, headers_offset;
    uint64_t total_bytes; /* what those offsets need, both halves */
};

/* Zero means the default. Fails when not even one region fits, or a ring is larger than the wire format allows. */
int kt_layout_make(struct kt_layout *out, uint32_t arch, uint64_t buffer_bytes, uint32_t events_per_wave,
                   uint32_t events_per_lane);

/* The least buffer_bytes whose layout with these rings has at least `waves` regions. 0: there is none, since a ring would have
 * more than KT_MAX_RING_SLOTS or there would be more regions than can be numbered. */
uint64_t kt_layout_bytes_for(uint32_t arch, uint64_t waves, uint32_t events_per_wave, uint32_t events_per_lane);

static inline uint64_t kt_layout_main_ring_bytes(const struct kt_layout *layout)
{
    return (uint64_t)layout->main_ring_slots * KTRACE_SLOT_BYTES;
}
/* From one region's main ring to the next. */
static inline uint64_t kt_layout_main_pitch_bytes(const struct kt_layout *layout)
{
    return kt_layout_main_ring_bytes(layout) + (layout->arch == KTRACE_ARCH_AMDGCN ? KTRACE_RING_OVERHANG_BYTES : 0u);
}
static inline uint64_t kt_layout_lane_ring_bytes(const struct kt_layout *layout)
{
    return (uint64_t)layout->lane_ring_slots * KTRACE_SLOT_BYTES;
}

#endif
