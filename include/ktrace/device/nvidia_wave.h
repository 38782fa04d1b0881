/* device/nvidia_wave.h - the module's control block, and how a wave starts and ends. Part of nvidia.h. */
#ifndef KTRACE_DEVICE_NVIDIA_WAVE_H
#define KTRACE_DEVICE_NVIDIA_WAVE_H

#include "nvidia_event.h"

/* Found by name in modules loaded through the driver API, by address in objects that nvcc links. In whole-program mode
 * each translation unit is a module and has its own; with -rdc=true the linked module has one. */
#if defined(__CUDACC_RDC__)
extern "C" {
inline
#else
static
#endif
    __constant__ __align__(128) struct ktrace_control ktrace_control_block = {KTRACE_CONTROL_MAGIC,
                                                                              KTRACE_WIRE_VERSION,
                                                                              sizeof(struct ktrace_control),
                                                                              {0, 0},
                                                                              0,
                                                                              0,
                                                                              0,
                                                                              0,
                                                                              0,
                                                                              0,
                                                                              0,
                                                                              0,
                                                                              0,
                                                                              0,
                                                                              {{0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 0}};
#if defined(__CUDACC_RDC__)
}
#endif

namespace ktrace_detail
{

#define KTRACE_SPECIAL_U32(name, register) \
    KTRACE_DEVICE_INLINE ktrace_u32 name() \
    { \
        ktrace_u32 value; \
        asm("mov.u32 %0, %%" register ";" : "=r"(value)); \
        return value; \
    }
#define KTRACE_SPECIAL_U64(how, name, register) \
    KTRACE_DEVICE_INLINE ktrace_u64 name() \
    { \
        unsigned long long value; \
        how("mov.u64 %0, %%" register ";" : "=l"(value)); \
        return value; \
    }
#if defined(__CUDA_ARCH__)
KTRACE_SPECIAL_U32(lane_id, "laneid")
KTRACE_SPECIAL_U32(lanes_below, "lanemask_lt")
KTRACE_SPECIAL_U32(sm_id, "smid")
KTRACE_SPECIAL_U32(sm_count, "nsmid")
KTRACE_SPECIAL_U32(warp_slot, "warpid")
KTRACE_SPECIAL_U64(asm, grid_id, "gridid")
KTRACE_SPECIAL_U64(asm volatile, clock_ticks, "clock64")
KTRACE_SPECIAL_U64(asm volatile, wall_ns, "globaltimer")
/* Built-ins of the same meaning are calls in debug builds, and a call lets lanes run apart. */
KTRACE_DEVICE_INLINE ktrace_u32 active_lanes()
{
    ktrace_u32 mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}
#if __CUDA_ARCH__ >= 900
KTRACE_SPECIAL_U32(cluster_rank, "cluster_ctarank")
#else
KTRACE_DEVICE_INLINE ktrace_u32 cluster_rank()
{
    return 0;
}
#endif
#endif
#undef KTRACE_SPECIAL_U32
#undef KTRACE_SPECIAL_U64

constexpr ktrace_u32 no_region = 0xFFFFFFFFu;
constexpr ktrace_u32 dropped_region = 0xFFFFFFFDu; /* + the half that is full */

struct wave_place {
    ktrace_u32 wave, waves; /* within the workgroup */
    ktrace_u32 workgroup;   /* linear index, mod 2^32 */
};

#if defined(__CUDA_ARCH__)

KTRACE_DEVICE_INLINE wave_place place_of_wave()
{
    wave_place place;
    const ktrace_u32 thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    place.wave = thread >> 5;
    place.waves = (blockDim.x * blockDim.y * blockDim.z + 31) >> 5;
    place.workgroup = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    return place;
}

KTRACE_DEVICE_INLINE bool passes(const struct ktrace_filter &filter, const wave_place &place)
{
    const ktrace_u32 sm = sm_id();
    const ktrace_u32 wave_bit = place.wave < 32 ? filter.wave_mask_low >> place.wave
                                                : filter.wave_mask_high >> (place.wave < 64 ? place.wave - 32 : 31);
    return blockIdx.x >= filter.block_first[0] && blockIdx.x <= filter.block_last[0] &&
           blockIdx.y >= filter.block_first[1] && blockIdx.y <= filter.block_last[1] &&
           blockIdx.z >= filter.block_first[2] && blockIdx.z <= filter.block_last[2] && sm >= filter.place_first &&
           sm <= filter.place_last && (wave_bit & 1) != 0 &&
           (filter.workgroup_step <= 1 || place.workgroup % filter.workgroup_step == 0);
}

/* The value of the one lane where `chosen`, for all `lanes`. Uniform in the compiler's eyes where the machine can say so,
 * so that the kernel's own code behind it keeps its uniform registers. */
KTRACE_DEVICE_INLINE ktrace_u32 of_chosen(ktrace_u32 value, bool chosen, ktrace_u32 lanes)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(lanes, chosen ? value : 0);
#else
    return __shfl_sync(lanes, value, __ffs((int)__ballot_sync(lanes, chosen)) - 1);
#endif
}

/* Adds 1 in the lane where `chosen` and returns what was there; without a branch. */
KTRACE_DEVICE_INLINE ktrace_u64 take_number(ktrace_u64 *counter, bool chosen)
{
    unsigned long long before = 0;
    asm volatile("{ .reg .pred q; setp.ne.u32 q, %2, 0; @q atom.global.add.u64 %0, [%1], 1; }"
                 : "+l"(before)
                 : "l"((unsigned long long)counter), "r"((ktrace_u32)chosen)
                 : "memory");
    return before;
}

/* The region that a claim owns, or no_region: past the end of its half. */
KTRACE_DEVICE_INLINE ktrace_u32 region_of(const struct ktrace_control &control, ktrace_u32 partition, ktrace_u64 claim)
{
    const ktrace_u64 index = claim & ~KTRACE_CLAIM_HALF;
    const ktrace_u32 first = claim & KTRACE_CLAIM_HALF ? control.regions_per_partition : 0;
    return index < control.regions_per_partition ? ((ktrace_u32)index + first) * control.partitions + partition
                                                 : no_region;
}

KTRACE_DEVICE_INLINE ktrace_dropped *dropped_of(const struct ktrace_control &control, ktrace_u32 half)
{
    return (ktrace_dropped *)(control.counters + sizeof(struct ktrace_counters)) + half * KTRACE_DROPPED_SHARES +
           (sm_id() & (KTRACE_DROPPED_SHARES - 1));
}

/* Of one lane, whose partition is full: the next one's, and so on. Once all are full a flag spares later waves of that half
 * the search. Little code, since every kernel carries it. */
KTRACE_DEVICE_INLINE ktrace_u32 claim_elsewhere(const struct ktrace_control &control, ktrace_u32 partition,
                                                ktrace_u64 claim)
{
    const ktrace_u32 half = (ktrace_u32)(claim >> 63);
    struct ktrace_counters *counters = (struct ktrace_counters *)control.counters;
    volatile ktrace_u64 *full = &counters->all.full;
    for (ktrace_u32 left = control.partitions; *full != 1 + half;) {
        if (--left == 0) {
            *full = 1 + half;
            break;
        }
        partition = (partition + 1) & (control.partitions - 1);
        const ktrace_u32 region =
            region_of(control, partition, take_number(&counters->partition[partition].claims, true));
        if (region != no_region)
            return region;
    }
    take_number(&dropped_of(control, half)->waves, true);
    return dropped_region + half;
}

KTRACE_DEVICE_INLINE void store_words(bool chosen, ktrace_u64 address, ktrace_u32 a, ktrace_u32 b, ktrace_u32 c,
                                      ktrace_u32 d)
{
    asm volatile("{ .reg .pred q; setp.ne.u32 q, %5, 0; @q st.global.v4.u32 [%0], {%1, %2, %3, %4}; }" ::"l"(
                     (unsigned long long)address),
                 "r"(a), "r"(b), "r"(c), "r"(d), "r"((ktrace_u32)chosen)
                 : "memory");
}
KTRACE_DEVICE_INLINE void store_pair(bool chosen, ktrace_u64 address, ktrace_u64 a, ktrace_u64 b)
{
    store_words(chosen, address, (ktrace_u32)a, (ktrace_u32)(a >> 32), (ktrace_u32)b, (ktrace_u32)(b >> 32));
}

/* A wall time between two clock reads, the clock at their middle, and how far they are apart. */
struct anchor {
    ktrace_u64 clock, wall;
    ktrace_u32 gap;
};
KTRACE_DEVICE_INLINE anchor read_anchor()
{
    anchor result;
    const ktrace_u64 before = clock_ticks();
    result.wall = wall_ns();
    const ktrace_u64 after = clock_ticks();
    result.gap = (ktrace_u32)(after - before);
    result.clock = before + result.gap / 2;
    return result;
}

KTRACE_DEVICE_INLINE void write_header(bool leads, ktrace_u64 header, const struct ktrace_control &control,
                                       site_id kernel, const wave_place &place, const anchor &start,
                                       ktrace_u32 lane_count)
{
    store_words(leads, header, KTRACE_WAVE_MAGIC, KTRACE_WIRE_VERSION | KTRACE_ARCH_NVIDIA << 16 | lane_count << 24,
                control.module, constant_offset(&control));
    store_pair(leads, header + 16, kernel.value, grid_id());
    store_words(leads, header + 32, gridDim.x, gridDim.y, gridDim.z, blockIdx.x);
    store_words(leads, header + 48, blockIdx.y, blockIdx.z, blockDim.x | blockDim.y << 16,
                blockDim.z | place.wave << 16);
    store_pair(leads, header + 64, start.clock, start.wall);
    /* the end anchor at 80 stays 0 until the wave ends */
    store_words(leads, header + 96, sm_id(), sm_count(), warp_slot(), cluster_rank());
    store_words(leads, header + 112, start.gap, 0, 0, 0);
}

/* See KTRACE_SPREAD. */
KTRACE_DEVICE_INLINE ktrace_u32 partition_of(const struct ktrace_control &control, ktrace_u32 index)
{
    const ktrace_u32 mask = control.partitions - 1, lap = index >> __popc(mask);
    return (index + __umulhi(lap * KTRACE_SPREAD, control.partitions)) & mask;
}

/* The region of a wave that the filter let through, or dropped_region and its half. The index that says which partition moves
 * on with time, by one in 8 us, so that many small launches, and replays of one, do not fill the same partitions. */
KTRACE_DEVICE_INLINE ktrace_u32 claim(const struct ktrace_control &control, const wave_place &place, ktrace_u32 lanes,
                                      bool leads, anchor *start)
{
    struct ktrace_counters *counters = (struct ktrace_counters *)control.counters;
    const ktrace_u32 index = place.workgroup * place.waves + place.wave + (ktrace_u32)(wall_ns() >> 13);
    const ktrace_u32 partition = partition_of(control, index);
    const ktrace_u64 taken = take_number(&counters->partition[partition].claims, leads);
    *start = read_anchor(); /* while the atomic is under way */
    const ktrace_u32 region = of_chosen(region_of(control, partition, taken), leads, lanes);
    if (region != no_region)
        return region;
    return of_chosen(leads ? claim_elsewhere(control, partition, taken) : 0, leads, lanes);
}

KTRACE_DEVICE_INLINE void begin(ktrace_wave &wave, site_id kernel)
{
    const struct ktrace_control &control = ktrace_control_block;
    wave.count_bytes = 8;
    wave.ring_low = wave.ring_high = wave.ring_mask = 0;
    wave.elect_mask = 0xFFFFFFFFu;
    if (control.mode == KTRACE_MODE_DORMANT)
        return;
    const ktrace_u32 lanes = active_lanes(); /* keeps dormant waves from waiting for the block's second line */
    if (control.regions_per_partition == 0)
        return;
    const wave_place place = place_of_wave();
    const bool leads = (lanes & lanes_below()) == 0;
    if (control.mode == KTRACE_MODE_FILTER && !passes(control.filter, place)) {
        struct ktrace_counters *counters = (struct ktrace_counters *)control.counters;
        take_number(&counters->partition[place.wave & (control.partitions - 1)].filtered, leads);
        return;
    }
    anchor start;
    const ktrace_u32 region = claim(control, place, lanes, leads, &start);
    const ktrace_u32 lane = lane_id();
    wave.elect_mask = lanes_below();
    if (region >= dropped_region) { /* it counts its slots, and stores them all to one place: no mask */
        const ktrace_u64 sink = (ktrace_u64)&dropped_of(control, region - dropped_region)->sink[lane];
        wave.ring_low = (ktrace_u32)sink;
        wave.ring_high = (ktrace_u32)(sink >> 32);
        return;
    }
    const ktrace_u32 ring_bytes = lane == 0 ? control.main_ring_bytes : control.lane_ring_bytes;
    const ktrace_u64 rings = lane == 0 ? control.main_rings : control.lane_rings;
    const ktrace_u64 ring = rings + (ktrace_u64)(lane == 0 ? region : region * 31 + (lane - 1)) * ring_bytes;
    wave.ring_low = (ktrace_u32)ring;
    wave.ring_high = (ktrace_u32)(ring >> 32);
    wave.ring_mask = ring_bytes - 1;
    write_header(leads, control.headers + (ktrace_u64)region * sizeof(struct ktrace_wave_header), control, kernel,
                 place, start, __popc(lanes));
}

/* Lanes may come here together or apart: each writes its own count, and the last to come writes the end that stays. */
KTRACE_DEVICE_INLINE void end(const ktrace_wave &wave)
{
    const ktrace_u32 lane = lane_id();
    const ktrace_u64 ring = (ktrace_u64)wave.ring_high << 32 | wave.ring_low;
    if (wave.ring_mask == 0) {
        if (wave.elect_mask != 0xFFFFFFFFu) { /* it found no region: its ring is its lane's slot of the sink */
            const ktrace_u64 sink = ring - lane * KTRACE_SLOT_BYTES;
            ktrace_dropped *dropped = (ktrace_dropped *)(sink - KTRACE_SINK_OFFSET_BYTES);
            ktrace_u32 *most = &dropped->most_count_bytes[lane != 0];
            if (*(volatile ktrace_u32 *)most < wave.count_bytes)
                atomicMax(most, wave.count_bytes);
        }
        return;
    }
    const struct ktrace_control &control = ktrace_control_block;
    const anchor stop = read_anchor();
    /* the region follows from the ring's address: no register is kept for it */
    const ktrace_u32 index =
        (ktrace_u32)((ring - (lane == 0 ? control.main_rings : control.lane_rings)) >> __popc(wave.ring_mask));
    const ktrace_u32 region = lane == 0 ? index : index / 31;
    struct ktrace_wave_header *header = (struct ktrace_wave_header *)control.headers + region;
    header->final_count_bytes[lane] = wave.count_bytes;
    if ((active_lanes() & wave.elect_mask) == 0) {
        store_pair(true, (ktrace_u64)&header->end_clock_ticks, stop.clock, stop.wall);
        header->end_gap_ticks = stop.gap;
    }
}

#else

KTRACE_DEVICE_INLINE void begin(ktrace_wave &, site_id)
{
}
KTRACE_DEVICE_INLINE void end(const ktrace_wave &)
{
}

#endif

} /* namespace ktrace_detail */

#endif
