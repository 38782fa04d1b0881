#include "check.h"

#include <string.h>

void check_search(void **state)
{
    (void)state;
    enum { LENGTH = 1000, THREADS = 256, BLOCKS = 4 };
    static const char pattern[] = "abaab";
    char text[LENGTH];
    uint64_t seed = 15;
    for (int i = 0; i < LENGTH; i++)
        text[i] = (char)('a' + random_u32(&seed) % 2);
    memcpy(text + LENGTH - 5, pattern, 5);
    uint32_t pattern_length = 5, length = LENGTH, found, first, none = UINT32_MAX;
    uint32_t expected_found = 0, expected_first = none;
    uint64_t mask[BLOCKS * THREADS / 64], expected_mask[BLOCKS * THREADS / 64] = {0};
    for (uint32_t i = 0; i + pattern_length <= LENGTH; i++)
        if (memcmp(text + i, pattern, pattern_length) == 0) {
            expected_found++;
            if (i < expected_first)
                expected_first = i;
            expected_mask[i / 64] |= UINT64_C(1) << i % 64;
        }
    void *d_found = device_zeros(4), *d_first = device_copy(&none, 4), *d_mask = device_zeros(sizeof mask),
         *d_text = device_copy(text, sizeof text), *d_pattern = device_copy(pattern, sizeof pattern);
    LAUNCH("search", SHAPE_1D(BLOCKS, THREADS), &d_found, &d_first, &d_mask, &d_text, &length, &d_pattern,
           &pattern_length);
    device_read(&found, d_found, 4);
    device_read(&first, d_first, 4);
    device_read(mask, d_mask, sizeof mask);
    assert_true(expected_found > 2);
    assert_int_equal(found, expected_found);
    assert_int_equal(first, expected_first);
    check_equal("places", mask, expected_mask, BLOCKS * THREADS / 64, 8);
}
