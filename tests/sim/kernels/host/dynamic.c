#include "check.h"

void check_dynamic(void **state)
{
    (void)state;
    enum { BLOCKS = 2, MOST = 8000 };
    static uint32_t values[BLOCKS][MOST], expected[BLOCKS][MOST];
    const uint32_t sizes[] = {100, 1000, MOST};
    for (int s = 0; s < 3; s++) {
        uint32_t each = sizes[s];
        random_fill(values, sizeof values, 40);
        uint32_t *in = values[0], *out = expected[0];
        for (uint32_t b = 0; b < BLOCKS; b++)
            for (uint32_t i = 0; i < each; i++)
                out[b * each + i] = in[b * each + each - 1 - i] + i % 4 * 1000;
        void *d_values = device_copy(values, BLOCKS * each * 4);
        struct shape shape = {{BLOCKS, 1, 1}, {128, 1, 1}, each * 4};
        LAUNCH("dynamic_reverse", shape, &d_values, &each);
        device_read(values, d_values, BLOCKS * each * 4);
        check_equal("reversed", values, expected, BLOCKS * each, 4);
    }
}
