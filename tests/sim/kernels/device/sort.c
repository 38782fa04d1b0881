/* Bitonic sort of a workgroup's part in LDS, of 32-bit and of 64-bit keys. */
#include "kernel.h"

#define SORT(name, type) \
    KERNEL name(type *keys, u32 count) \
    { \
        SHARED type part[1024]; \
        type *mine = keys + (u64)block_x() * count; \
        for (u32 i = thread_x(); i < count; i += threads_x()) \
            part[i] = mine[i]; \
        barrier(); \
        for (u32 size = 2; size <= count; size *= 2) { \
            for (u32 stride = size / 2; stride > 0; stride /= 2) { \
                for (u32 i = thread_x(); i < count; i += threads_x()) { \
                    u32 other = i ^ stride; \
                    if (other <= i) \
                        continue; \
                    type low = part[i], high = part[other]; \
                    if ((low > high) == ((i & size) == 0)) { \
                        part[i] = high; \
                        part[other] = low; \
                    } \
                } \
                barrier(); \
            } \
        } \
        for (u32 i = thread_x(); i < count; i += threads_x()) \
            mine[i] = part[i]; \
    }

SORT(sort_u32, u32)
SORT(sort_i64, i64)
SORT(sort_f32, float)
