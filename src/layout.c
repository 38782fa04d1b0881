#include "layout.h"

#include <stdio.h>

#include "error.h"

/* A wave numbers its lanes' rings with 32 bits: 31 a region, of two halves. */
#define MAX_REGIONS (1u << 26)

static uint64_t round_up(uint64_t value, uint64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint32_t power_of_two_at_least(uint32_t value)
{
    uint32_t power = 1;
    while (power < value)
        power *= 2;
    return power;
}

static uint64_t region_bytes(const struct kt_layout *layout)
{
    return sizeof(struct ktrace_wave_header) + kt_layout_main_pitch_bytes(layout) +
           kt_layout_lane_ring_bytes(layout) * KT_LANE_RINGS;
}

/* About 64 regions or more a partition: few enough that rounding down to whole rows loses little, many enough that
 * waves that start together use different counters. */
static uint32_t partitions_for(uint64_t regions)
{
    uint32_t partitions = 1;
    while (partitions < KTRACE_MAX_PARTITIONS && (uint64_t)partitions * 2 * 64 <= regions)
        partitions *= 2;
    return partitions;
}

/* The capacities of rings for so many events; zero means the default. */
static int choose_rings(struct kt_layout *layout, uint32_t events_per_wave, uint32_t events_per_lane)
{
    if (events_per_wave == 0)
        events_per_wave = KT_DEFAULT_EVENTS_PER_WAVE;
    if (layout->arch == KTRACE_ARCH_AMDGCN)
        events_per_lane = 1; /* whatever was asked for */
    if (events_per_lane == 0)
        events_per_lane = KT_DEFAULT_EVENTS_PER_LANE;
    if (events_per_wave > KT_MAX_RING_SLOTS || events_per_lane > KT_MAX_RING_SLOTS)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "a ring of %u events is too large: at most %u",
                       events_per_wave > KT_MAX_RING_SLOTS ? events_per_wave : events_per_lane, KT_MAX_RING_SLOTS);
    layout->main_ring_slots = power_of_two_at_least(events_per_wave);
    layout->lane_ring_slots = layout->arch == KTRACE_ARCH_AMDGCN ? 0 : power_of_two_at_least(events_per_lane);
    return KTRACE_OK;
}

static int fail_small(const struct kt_layout *layout)
{
    char lanes[32] = "";
    if (layout->lane_ring_slots)
        snprintf(lanes, sizeof lanes, " and %u a lane", layout->lane_ring_slots);
    return kt_fail(KTRACE_ERROR_ARGUMENT,
                   "buffer_bytes = %llu cannot hold one wave: %u events a wave%s take %llu bytes",
                   (unsigned long long)layout->buffer_bytes, layout->main_ring_slots, lanes,
                   (unsigned long long)region_bytes(layout));
}

/* Main rings first: what follows a multiple of the larger power of two need only be aligned to the smaller. */
static void place_rings(struct kt_layout *layout)
{
    const uint64_t regions = KT_HALVES * layout->regions;
    const uint64_t header_bytes = sizeof(struct ktrace_wave_header), lane_bytes = kt_layout_lane_ring_bytes(layout);
    const uint64_t main_bytes =
        layout->arch == KTRACE_ARCH_AMDGCN ? KTRACE_RING_OVERHANG_BYTES : kt_layout_main_ring_bytes(layout);
    layout->alignment_bytes = larger(larger(main_bytes, lane_bytes), header_bytes);
    layout->lane_rings_offset =
        round_up(regions * kt_layout_main_pitch_bytes(layout), larger(lane_bytes, KTRACE_SLOT_BYTES));
    layout->headers_offset = round_up(layout->lane_rings_offset + regions * KT_LANE_RINGS * lane_bytes, header_bytes);
    layout->total_bytes = layout->headers_offset + regions * header_bytes;
}

int kt_layout_make(struct kt_layout *out, uint32_t arch, uint64_t buffer_bytes, uint32_t events_per_wave,
                   uint32_t events_per_lane)
{
    struct kt_layout layout = {.arch = arch, .buffer_bytes = buffer_bytes ? buffer_bytes : KT_DEFAULT_BUFFER_BYTES};
    const int status = choose_rings(&layout, events_per_wave, events_per_lane);
    if (status < 0)
        return status;

    const uint64_t region = region_bytes(&layout);
    const uint64_t fitting = layout.buffer_bytes / region;
    if (fitting == 0)
        return fail_small(&layout);
    if (fitting > MAX_REGIONS)
        return kt_fail(KTRACE_ERROR_ARGUMENT,
                       "buffer_bytes = %llu makes %llu regions of %llu bytes, more than can be numbered: ask for more "
                       "events a wave or a smaller buffer",
                       (unsigned long long)layout.buffer_bytes, (unsigned long long)fitting,
                       (unsigned long long)region);
    layout.partitions = partitions_for(fitting);
    layout.regions_per_partition = (uint32_t)(fitting / layout.partitions);
    layout.regions = (uint64_t)layout.regions_per_partition * layout.partitions;
    place_rings(&layout);
    *out = layout;
    return KTRACE_OK;
}

uint64_t kt_layout_bytes_for(uint32_t arch, uint64_t waves, uint32_t events_per_wave, uint32_t events_per_lane)
{
    struct kt_layout layout = {.arch = arch};
    if (waves == 0)
        waves = 1;
    if (waves > MAX_REGIONS || choose_rings(&layout, events_per_wave, events_per_lane) < 0)
        return 0;
    const uint64_t region = region_bytes(&layout);
    /* Whole rows only: round up by at most one row of partitions. */
    const uint64_t rows = partitions_for(waves);
    uint64_t bytes = (waves + rows - 1) / rows * rows * region;
    int status;
    while ((status = kt_layout_make(&layout, arch, bytes, events_per_wave, events_per_lane)) == KTRACE_OK &&
           layout.regions < waves)
        bytes += region;
    return status == KTRACE_OK ? bytes : 0;
}
