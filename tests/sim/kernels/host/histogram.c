#include "check.h"

void check_histogram(void **state)
{
    (void)state;
    enum { COUNT = 5001 };
    static uint8_t bytes[COUNT];
    uint32_t counters[256], expected[256] = {0}, count = COUNT;
    random_fill(bytes, sizeof bytes, 10);
    for (int i = 0; i < COUNT; i++) {
        bytes[i] &= i % 3 ? 0xff : 0x0f; /* some counters are contended */
        expected[bytes[i]]++;
    }
    void *d_counters = device_zeros(sizeof counters), *d_bytes = device_copy(bytes, sizeof bytes);
    LAUNCH("histogram", SHAPE_1D(3, 192), &d_counters, &d_bytes, &count);
    device_read(counters, d_counters, sizeof counters);
    check_equal("counters", counters, expected, 256, 4);
}
