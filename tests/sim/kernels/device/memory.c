/* Copies of sizes that are known only to the lane, private memory that lanes allocate, packed structs, clocks. */
#include "kernel.h"

struct __attribute__((packed)) memory_packed {
    u8 tag;
    u32 word;
    u16 half;
    u64 wide;
};

KERNEL memory_packed(u64 *out, const struct memory_packed *in)
{
    u32 i = global_x();
    struct memory_packed copy = in[i];
    out[i] = copy.tag + (u64)copy.word * 3 + (u64)copy.half * 5 + copy.wide * 7;
}

/* Lane i moves i % 50 bytes through private memory and fills the rest of its 64. */
KERNEL memory_copy(u8 *out, const u8 *in)
{
    u32 i = global_x(), bytes = i % 50;
    u8 staged[64];
    __builtin_memset(staged, (int)i, sizeof staged);
    __builtin_memcpy(staged + i % 13, in + (u64)i * 64, bytes);
    __builtin_memmove(staged + 2, staged, 40);
    __builtin_memcpy(out + (u64)i * 64, staged, 64);
}

/* Later clock reads are not earlier, on the core clock and on the one of constant rate. */
KERNEL memory_clocks(u64 *out)
{
    u32 i = global_x();
    u64 core = __builtin_readcyclecounter(), steady = __builtin_readsteadycounter();
    for (u32 n = 0; n < 40; n++)
        __builtin_amdgcn_s_sleep(10);
    out[i * 2] = __builtin_readcyclecounter() - core;
    out[i * 2 + 1] = __builtin_readsteadycounter() - steady;
}

KERNEL memory_streams(u32x4 *out, const u32x4 *in)
{
    u32 i = global_x();
    u32x4 value = __builtin_nontemporal_load(&in[i]);
    __builtin_nontemporal_store(value * 3u + 1u, &out[i]);
}
