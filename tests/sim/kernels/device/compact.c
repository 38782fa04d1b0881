/* The values that a predicate keeps, in order: ballots give places within waves, LDS those of waves. */
#include "kernel.h"

KERNEL compact(u32 *kept, u32 *kept_counts, const u32 *values, u32 count, u32 divisor)
{
    SHARED u32 of_wave[16];
    u32 i = global_x(), wave = wave_id();
    u32 value = i < count ? values[i] : 0;
    u32 keep = i < count && value % divisor == 0;
    u64 lanes = __builtin_amdgcn_ballot_w64(keep != 0);
    u32 before = __builtin_amdgcn_mbcnt_hi((u32)(lanes >> 32), __builtin_amdgcn_mbcnt_lo((u32)lanes, 0));
    if (lane_id() == 0)
        of_wave[wave] = (u32)__builtin_popcountl(lanes);
    barrier();
    u32 total = 0;
    for (u32 w = 0; w < threads_x() / LANES; w++) {
        if (w < wave)
            before += of_wave[w];
        total += of_wave[w];
    }
    if (keep)
        kept[block_x() * threads_x() + before] = value;
    if (thread_x() == 0)
        kept_counts[block_x()] = total;
}

/* Runs of equal values: lanes that hold one value elect a leader until none is left. */
KERNEL elect(u32 *leaders, const u32 *values)
{
    u32 i = global_x(), value = values[i], rounds = 0;
    for (;;) {
        u32 first = (u32)__builtin_amdgcn_readfirstlane((i32)value);
        rounds++;
        if (value == first) {
            leaders[i] = rounds << 16 | (first & 0xffff);
            break;
        }
    }
}
