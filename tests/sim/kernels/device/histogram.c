/* Histogram of bytes: counted in LDS atomically, added to global counters. */
#include "kernel.h"

KERNEL histogram(u32 *counters, const u8 *bytes, u32 count)
{
    SHARED u32 local[256];
    for (u32 b = thread_x(); b < 256; b += threads_x())
        local[b] = 0;
    barrier();
    for (u32 i = global_x(); i < count; i += threads_x() * blocks_x())
        ATOMIC_LOCAL(add, &local[bytes[i]], 1u);
    barrier();
    for (u32 b = thread_x(); b < 256; b += threads_x())
        if (local[b] != 0)
            ATOMIC(add, &counters[b], local[b]);
}
