/* Where a string occurs: the number of places, the first, and a mask of bits. Waves leave their loops divergently. */
#include "kernel.h"

KERNEL search(u32 *found, u32 *first, u64 *mask, const char *text, u32 length, const char *pattern, u32 pattern_length)
{
    u32 i = global_x();
    u32 matches = i + pattern_length <= length;
    for (u32 j = 0; matches && j < pattern_length; j++)
        matches = text[i + j] == pattern[j];
    if (matches) {
        ATOMIC(add, found, 1u);
        ATOMIC(min, first, i);
    }
    u64 lanes = __builtin_amdgcn_ballot_w64(matches != 0);
    if (lane_id() == 0)
        mask[i / LANES] = lanes;
}
