/* LDS whose size the launch says; a neighbourhood in it that reverses rows. */
#include "kernel.h"

DYNAMIC_SHARED(u32, dynamic_words);

KERNEL dynamic_reverse(u32 *values, u32 per_block)
{
    SHARED u32 fixed[4];
    u32 *mine = values + (u64)block_x() * per_block;
    if (thread_x() < 4)
        fixed[thread_x()] = thread_x() * 1000;
    for (u32 i = thread_x(); i < per_block; i += threads_x())
        dynamic_words[i] = mine[i];
    barrier();
    for (u32 i = thread_x(); i < per_block; i += threads_x())
        mine[i] = dynamic_words[per_block - 1 - i] + fixed[i % 4];
}
