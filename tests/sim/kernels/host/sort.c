#include "check.h"

#include <stdlib.h>
#include <string.h>

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}
static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
static int compare_f32(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void sort(const char *kernel, size_t bytes, unsigned threads, uint32_t count,
                 int (*compare)(const void *, const void *))
{
    enum { BLOCKS = 2 };
    static unsigned char keys[BLOCKS * 1024 * 8], expected[sizeof keys];
    size_t all = BLOCKS * count * bytes;
    random_fill(keys, all, 13);
    if (compare == compare_f32) {
        uint64_t seed = 14;
        for (uint32_t i = 0; i < BLOCKS * count; i++) {
            float value = random_integer(&seed, 1 << 20) + 0.5f;
            memcpy(keys + i * 4, &value, 4);
        }
    }
    memcpy(expected, keys, all);
    for (int b = 0; b < BLOCKS; b++)
        qsort(expected + (size_t)b * count * bytes, count, bytes, compare);
    void *d_keys = device_copy(keys, all);
    LAUNCH(kernel, SHAPE_1D(BLOCKS, threads), &d_keys, &count);
    device_read(keys, d_keys, all);
    check_equal(kernel, keys, expected, BLOCKS * count, bytes);
}

void check_sort(void **state)
{
    (void)state;
    sort("sort_u32", 4, 128, 256, compare_u32);
    sort("sort_u32", 4, 1024, 1024, compare_u32);
    sort("sort_i64", 8, 64, 128, compare_i64);
    sort("sort_f32", 4, 64, 256, compare_f32);
}
