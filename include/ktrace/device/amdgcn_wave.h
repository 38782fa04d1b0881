/* device/amdgcn_wave.h - the module's control block, and how a wave starts and ends. Part of amdgcn.h.
 *
 * All of it is scalar, written in C on values that are the same in all lanes. A wave that does not record gets a ring of one
 * slot in its module's sink, so that its events need no branch either.
 */
#ifndef KTRACE_DEVICE_AMDGCN_WAVE_H
#define KTRACE_DEVICE_AMDGCN_WAVE_H

#include "amdgcn_event.h"

#define KTRACE_SINK_LINES 256u /* a line for each CU and wave slot of a shader engine: few waves share one */

/* The control block as the compiler initializes it: addresses only fit pointers. */
struct ktrace_control_image {
    ktrace_u32 magic;
    ktrace_u16 version, bytes;
    ktrace_u32 reserved0[2];
    ktrace_u32 from_host[(sizeof(struct ktrace_control) - 16) / 4];
    KTRACE_GLOBAL_SPACE const char *sites_begin, *sites_end;
};
KTRACE_STATIC_ASSERT(sizeof(struct ktrace_control_image) == sizeof(struct ktrace_control_amdgcn),
                     "the image is what the host reads");

#if KTRACE_DEVICE_PASS
/* The linker's bounds of a section: every translation unit of the module has its sites there. */
extern KTRACE_DEVICE_VARIABLE const char __start_ktrace_sites[] __attribute__((visibility("hidden")));
extern KTRACE_DEVICE_VARIABLE const char __stop_ktrace_sites[] __attribute__((visibility("hidden")));
#define KTRACE_SITES_BEGIN __start_ktrace_sites
#define KTRACE_SITES_END __stop_ktrace_sites
#else
#define KTRACE_SITES_BEGIN 0
#define KTRACE_SITES_END 0
#endif

KTRACE_CONTROL_LINKAGE KTRACE_DEVICE_VARIABLE struct ktrace_control_image
    ktrace_control_block __asm__("ktrace_control_block") KTRACE_CONTROL_ATTRIBUTES __attribute__((aligned(128))) = {
        KTRACE_CONTROL_MAGIC, KTRACE_WIRE_VERSION, sizeof(struct ktrace_control_amdgcn), {0, 0}, {0},
        KTRACE_SITES_BEGIN,   KTRACE_SITES_END};

#if KTRACE_DEVICE_PASS

struct ktrace_sink_line {
    ktrace_u32 words[16];
};
static KTRACE_DEVICE_VARIABLE struct ktrace_sink_line ktrace_sink[KTRACE_SINK_LINES] __attribute__((aligned(64)));

typedef KTRACE_CONSTANT_SPACE const struct ktrace_control *ktrace_control_pointer;
#define KTRACE_NO_REGION 0xFFFFFFFFu
#define KTRACE_DROPPED_REGION 0xFFFFFFFDu /* + the half that is full: a wave that found no region */

/* The HSA dispatch packet, as far as it is wanted here (HSA Runtime Specification 1.2, 2.9.6). */
struct ktrace_dispatch_packet {
    ktrace_u16 header, setup;
    ktrace_u16 workgroup_size[3], reserved;
    ktrace_u32 grid_size[3]; /* workitems */
};
extern KTRACE_DEVICE_FUNCTION ktrace_u64 ktrace_dispatch_id(void) __asm("llvm.amdgcn.dispatch.id");

/* Read through the scalar cache, which a launch invalidates: the host writes it before. */
KTRACE_DEVICE_INLINE ktrace_control_pointer ktrace_control_of_module(void)
{
    ktrace_u64 address; /* opaque: else it is computed again for each field */
    __asm__("" : "=s"(address) : "0"(KTRACE_UNIFORM_64(&ktrace_control_block)));
    return (ktrace_control_pointer)address;
}

KTRACE_DEVICE_INLINE ktrace_u64 ktrace_realtime(void)
{
    ktrace_u64 ticks;
    __asm__ volatile("s_memrealtime %0\n\ts_waitcnt lgkmcnt(0)" : "=s"(ticks)::"memory");
    return ticks;
}

/* Adds to a counter, returns what was there. */
KTRACE_DEVICE_INLINE ktrace_u64 ktrace_fetch_add(ktrace_u64 address, ktrace_u64 value)
{
    ktrace_u64 before;
    __asm__ volatile("s_atomic_add_x2 %0, %1, 0x0 glc\n\ts_waitcnt lgkmcnt(0)"
                     : "=s"(before)
                     : "s"(KTRACE_UNIFORM_64(address)), "0"(KTRACE_UNIFORM_64(value))
                     : "memory");
    return before;
}

KTRACE_DEVICE_INLINE void ktrace_exchange(ktrace_u64 address, ktrace_u64 value)
{
    __asm__ volatile("s_atomic_swap_x2 %1, %0, 0x0\n\ts_waitcnt lgkmcnt(0)" ::"s"(KTRACE_UNIFORM_64(address)),
                     "s"(KTRACE_UNIFORM_64(value))
                     : "memory");
}

/* Raises a 32-bit counter to at least `value`. */
KTRACE_DEVICE_INLINE void ktrace_raise(ktrace_u64 address, ktrace_u32 value)
{
    __asm__ volatile("s_atomic_umax %1, %0, 0x0\n\ts_waitcnt lgkmcnt(0)" ::"s"(KTRACE_UNIFORM_64(address)),
                     "s"(KTRACE_UNIFORM_32(value))
                     : "memory");
}

/* Where struct ktrace_dropped of half `which` is: "half" is a type of OpenCL. */
KTRACE_DEVICE_INLINE ktrace_u64 ktrace_dropped_of(ktrace_control_pointer control, ktrace_u32 which)
{
    return control->counters + sizeof(struct ktrace_counters) + which * (ktrace_u32)sizeof(struct ktrace_dropped);
}

struct ktrace_place {
    ktrace_u32 wave, waves; /* within the workgroup */
    ktrace_u32 workgroup[3], block[3], grid[3];
    ktrace_u32 hw_id, xcc_id;
};

KTRACE_DEVICE_INLINE struct ktrace_place ktrace_place_of_wave(void)
{
    KTRACE_CONSTANT_SPACE const struct ktrace_dispatch_packet *packet =
        (KTRACE_CONSTANT_SPACE const struct ktrace_dispatch_packet *)(ktrace_u64)__builtin_amdgcn_dispatch_ptr();
    struct ktrace_place place;
    ktrace_u32 thread;
    place.workgroup[0] = __builtin_amdgcn_workgroup_id_x();
    place.workgroup[1] = __builtin_amdgcn_workgroup_id_y();
    place.workgroup[2] = __builtin_amdgcn_workgroup_id_z();
    for (int i = 0; i < 3; i++) {
        place.block[i] = packet->workgroup_size[i];
        place.grid[i] = packet->grid_size[i];
    }
    thread = KTRACE_UNIFORM_32(__builtin_amdgcn_workitem_id_x()) +
             place.block[0] * (KTRACE_UNIFORM_32(__builtin_amdgcn_workitem_id_y()) +
                               place.block[1] * KTRACE_UNIFORM_32(__builtin_amdgcn_workitem_id_z()));
    place.wave = thread >> 6;
    place.waves = (place.block[0] * place.block[1] * place.block[2] + 63) >> 6;
    __asm__ volatile("s_getreg_b32 %0, hwreg(HW_REG_HW_ID)\n\ts_getreg_b32 %1, hwreg(HW_REG_XCC_ID)"
                     : "=&s"(place.hw_id), "=s"(place.xcc_id));
    place.xcc_id &= 15;
    return place;
}

KTRACE_DEVICE_INLINE int ktrace_passes(KTRACE_CONSTANT_SPACE const struct ktrace_filter *filter,
                                       const struct ktrace_place *place)
{
    const ktrace_u32 wave_bit = place->wave < 32 ? filter->wave_mask_low >> place->wave
                                                 : filter->wave_mask_high >> (place->wave < 64 ? place->wave - 32 : 31);
    int inside = (wave_bit & 1) & (place->xcc_id >= filter->place_first) & (place->xcc_id <= filter->place_last);
    for (int i = 0; i < 3; i++)
        inside &= (place->workgroup[i] >= filter->block_first[i]) & (place->workgroup[i] <= filter->block_last[i]);
    if (inside && filter->workgroup_step > 1) {
        const ktrace_u32 columns = (place->grid[0] + place->block[0] - 1) / place->block[0];
        const ktrace_u32 rows = (place->grid[1] + place->block[1] - 1) / place->block[1];
        const ktrace_u32 workgroup = place->workgroup[0] + columns * (place->workgroup[1] + rows * place->workgroup[2]);
        inside = KTRACE_UNIFORM_32(workgroup % filter->workgroup_step) == 0;
    }
    return inside;
}

/* The region that a claim owns, or KTRACE_NO_REGION: past the end of its half. */
KTRACE_DEVICE_INLINE ktrace_u32 ktrace_region_of(ktrace_control_pointer control, ktrace_u32 partition, ktrace_u64 claim)
{
    const ktrace_u64 index = claim & ~KTRACE_CLAIM_HALF;
    const ktrace_u32 first = claim & KTRACE_CLAIM_HALF ? control->regions_per_partition : 0;
    return index < control->regions_per_partition ? ((ktrace_u32)index + first) * control->partitions + partition
                                                  : KTRACE_NO_REGION;
}

/* See KTRACE_SPREAD. */
KTRACE_DEVICE_INLINE ktrace_u32 ktrace_partition_of(ktrace_control_pointer control, ktrace_u32 index)
{
    const ktrace_u32 mask = control->partitions - 1, lap = index >> __builtin_popcount(mask);
    return (index + (ktrace_u32)((ktrace_u64)(lap * KTRACE_SPREAD) * control->partitions >> 32)) & mask;
}

/* A region, or KTRACE_DROPPED_REGION and a half. A full partition passes the wave on. Once all are full a flag spares
 * later waves of that half the search. */
KTRACE_DEVICE_INLINE ktrace_u32 ktrace_claim(ktrace_control_pointer control, const struct ktrace_place *place)
{
    const ktrace_u64 lines = control->counters;
    const ktrace_u64 all = lines + KTRACE_MAX_PARTITIONS * KTRACE_COUNTER_STRIDE_BYTES;
    const ktrace_u32 mask = control->partitions - 1;
    ktrace_u64 half_full = 0;
    /* a linear index of the workgroup would take divisions; another for each row and layer is as good */
    const ktrace_u32 row = place->workgroup[0] + 37 * place->workgroup[1] + 1013 * place->workgroup[2];
    const ktrace_u32 index = row * place->waves + place->wave + 5 * (ktrace_u32)ktrace_dispatch_id();
    const ktrace_u32 first = ktrace_partition_of(control, index);
    for (ktrace_u32 step = 0; step <= mask; step++) {
        const ktrace_u32 partition = (first + step) & mask;
        const ktrace_u64 line = lines + (ktrace_u64)partition * KTRACE_COUNTER_STRIDE_BYTES;
        ktrace_u64 claim;
        ktrace_u32 region;
        if (step > 0) { /* not the wave's own: look before taking a number */
            if (ktrace_fetch_add(all + 8, 0) == half_full)
                break;
            if (ktrace_region_of(control, partition, ktrace_fetch_add(line, 0)) == KTRACE_NO_REGION)
                continue;
        }
        claim = ktrace_fetch_add(line, 1);
        region = ktrace_region_of(control, partition, claim);
        if (region != KTRACE_NO_REGION)
            return region;
        if (step == 0)
            half_full = 1 + (claim >> 63);
    }
    ktrace_exchange(all + 8, half_full);
    ktrace_fetch_add(ktrace_dropped_of(control, (ktrace_u32)half_full - 1), 1);
    return KTRACE_DROPPED_REGION + (ktrace_u32)half_full - 1;
}

/* Clang 19 leaves queue_ptr undefined in code objects of version 5 and later. There it is the hidden argument at 200, as in
 * clang 20 and 21, which could not be tried. */
#if __clang_major__ < 22
#define KTRACE_QUEUE() \
    (((KTRACE_CONSTANT_SPACE const ktrace_u64 *)(ktrace_u64)__builtin_amdgcn_implicitarg_ptr())[200 / 8])
#else
#define KTRACE_QUEUE() ((ktrace_u64)__builtin_amdgcn_queue_ptr())
#endif

#define KTRACE_WORDS(low, high) ((ktrace_u64)KTRACE_UNIFORM_32(high) << 32 | KTRACE_UNIFORM_32(low))

/* The first half of struct ktrace_wave_header. Waits, so that its registers are free. */
KTRACE_DEVICE_INLINE void ktrace_write_header(ktrace_u64 header, ktrace_control_pointer control,
                                              const struct ktrace_place *place, ktrace_u64 site_and_offset)
{
    const ktrace_u32 kernel_site = (ktrace_u32)site_and_offset, control_offset = (ktrace_u32)(site_and_offset >> 32);
    const ktrace_u64 dispatch = ktrace_dispatch_id(), ticks = ktrace_realtime();
    const ktrace_u32 lanes = (ktrace_u32)__builtin_popcountll(__builtin_amdgcn_read_exec());
    const ktrace_u64 queue = KTRACE_QUEUE();
    __asm__ volatile("s_store_dwordx2 %1, %0, 0x00 glc\n\ts_store_dwordx2 %2, %0, 0x08 glc\n\t"
                     "s_store_dwordx2 %3, %0, 0x10 glc\n\ts_store_dwordx2 %4, %0, 0x18 glc\n\t"
                     "s_store_dwordx2 %5, %0, 0x20 glc\n\ts_store_dwordx2 %6, %0, 0x28 glc\n\t"
                     "s_store_dwordx2 %7, %0, 0x30 glc\n\ts_store_dwordx2 %8, %0, 0x38 glc\n\t"
                     "s_store_dwordx2 %9, %0, 0x40 glc\n\ts_store_dwordx2 %10, %0, 0x48 glc\n\t"
                     "s_store_dwordx2 %11, %0, 0x60 glc\n\ts_store_dwordx2 %12, %0, 0x68 glc\n\t"
                     "s_store_dwordx2 %13, %0, 0x78 glc\n\ts_waitcnt lgkmcnt(0)" ::"s"(KTRACE_UNIFORM_64(header)),
                     "s"(KTRACE_WORDS(KTRACE_WAVE_MAGIC, KTRACE_WIRE_VERSION | KTRACE_ARCH_AMDGCN << 16 | lanes << 24)),
                     "s"(KTRACE_WORDS(control->module, control_offset)), "s"(KTRACE_WORDS(kernel_site, 0)),
                     "s"(KTRACE_UNIFORM_64(dispatch)), "s"(KTRACE_WORDS(place->grid[0], place->grid[1])),
                     "s"(KTRACE_WORDS(place->grid[2], place->workgroup[0])),
                     "s"(KTRACE_WORDS(place->workgroup[1], place->workgroup[2])),
                     "s"(KTRACE_WORDS(place->block[0] | place->block[1] << 16, place->block[2] | place->wave << 16)),
                     "s"(KTRACE_UNIFORM_64(ticks)), "s"(KTRACE_UNIFORM_64(ticks * 10)),
                     "s"(KTRACE_WORDS(place->xcc_id << 16 | (place->hw_id & 0x7F00), 0)),
                     "s"(KTRACE_WORDS(place->hw_id & 0xFF, 0)), "s"(KTRACE_UNIFORM_64(queue))
                     : "memory");
}

KTRACE_DEVICE_INLINE ktrace_u32 ktrace_region(ktrace_control_pointer control, ktrace_u64 site_and_offset)
{
    const struct ktrace_place place = ktrace_place_of_wave();
    ktrace_u32 region;
    if (control->mode == KTRACE_MODE_FILTER && !ktrace_passes(&control->filter, &place)) {
        ktrace_fetch_add(
            control->counters + (place.wave & (control->partitions - 1)) * KTRACE_COUNTER_STRIDE_BYTES + 16, 1);
        return KTRACE_NO_REGION;
    }
    region = ktrace_claim(control, &place);
    if (region < KTRACE_DROPPED_REGION)
        ktrace_write_header(control->headers + (ktrace_u64)region * sizeof(struct ktrace_wave_header), control, &place,
                            site_and_offset);
    return region;
}

/* `site`: index of the kernel's site in its translation unit, whose first site is at `unit_sites`. */
KTRACE_DEVICE_INLINE void ktrace_begin(ktrace_u32 site, ktrace_u64 unit_sites)
{
    const ktrace_control_pointer control = ktrace_control_of_module();
    ktrace_u32 region = KTRACE_NO_REGION, mask = 7;
    ktrace_u64 ring;
    if (control->mode != KTRACE_MODE_DORMANT && control->regions_per_partition != 0) {
        const ktrace_u64 begin = ((KTRACE_CONSTANT_SPACE const struct ktrace_control_amdgcn *)control)->sites_begin;
        region = ktrace_region(control, (ktrace_u64)(ktrace_u32)((unit_sites - begin) >> 4) << 32 | site);
    }
    if (region < KTRACE_DROPPED_REGION) {
        mask = control->main_ring_bytes - 1;
        ring = control->main_rings +
               (ktrace_u64)region * (control->main_ring_bytes + (ktrace_u64)KTRACE_RING_OVERHANG_BYTES);
    } else {
        ktrace_u32 hw_id;
        __asm__ volatile("s_getreg_b32 %0, hwreg(HW_REG_HW_ID)" : "=s"(hw_id));
        ring = (ktrace_u64)&ktrace_sink[(hw_id >> 4 & 0xF0) | (hw_id & 15)];
    }
    __asm__ volatile("s_mov_b64 s[80:81], %0\n\ts_mov_b32 s82, 8\n\ts_mov_b32 s83, %1\n\ts_mov_b32 s84, %2" ::"s"(
                         KTRACE_UNIFORM_64(ring)),
                     "s"(KTRACE_UNIFORM_32(mask)), "s"(KTRACE_UNIFORM_32(region))
                     : "memory");
}

/* Lanes may come here together or apart: the last to come write the end that stays. Scalar stores lie in the scalar cache
 * until they are written back. */
KTRACE_DEVICE_INLINE void ktrace_end_wave(void)
{
    const ktrace_control_pointer control = ktrace_control_of_module();
    ktrace_u32 count, region;
    __asm__ volatile("s_mov_b32 %0, s82\n\ts_mov_b32 %1, s84" : "=&s"(count), "=s"(region)::"memory");
    if (region < KTRACE_DROPPED_REGION) {
        const ktrace_u64 ticks = ktrace_realtime();
        const ktrace_u64 header = control->headers + (ktrace_u64)region * sizeof(struct ktrace_wave_header);
        __asm__ volatile("s_store_dwordx2 %1, %0, 0x50 glc\n\ts_store_dwordx2 %2, %0, 0x58 glc\n\t"
                         "s_store_dword %3, %0, 0x80 glc" ::"s"(KTRACE_UNIFORM_64(header)),
                         "s"(KTRACE_UNIFORM_64(ticks)), "s"(KTRACE_UNIFORM_64(ticks * 10)),
                         "s"(KTRACE_UNIFORM_32(count))
                         : "memory");
    } else if (region != KTRACE_NO_REGION) {
        ktrace_raise(ktrace_dropped_of(control, region - KTRACE_DROPPED_REGION) + 8, count);
    }
    __asm__ volatile("s_waitcnt lgkmcnt(0)\n\ts_dcache_wb" ::: "memory");
}

/* The largest of the active lanes' tokens: the latest start, 0 when no lane holds one. Costs nothing where the compiler knows
 * that all lanes hold the same; else it is a loop over the active lanes. */
#if __has_builtin(__builtin_amdgcn_wave_reduce_max_u32)
KTRACE_DEVICE_INLINE ktrace_u32 ktrace_latest(ktrace_u32 token)
{
    return __builtin_amdgcn_wave_reduce_max_u32(token, 0);
}
#else
extern KTRACE_DEVICE_FUNCTION ktrace_u32 ktrace_wave_max(ktrace_u32 value,
                                                         ktrace_u32 strategy) __asm("llvm.amdgcn.wave.reduce.umax.i32");
#define ktrace_latest(token) ktrace_wave_max(token, 0)
#endif

#endif /* KTRACE_DEVICE_PASS */

#endif
