/* How large a buffer has to be: what an overflow's message tells to begin with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "layout.h"

/* What is named is enough, and one region less is not. */
static void assert_enough(uint64_t waves, uint32_t events_per_wave, uint32_t events_per_lane)
{
    struct kt_layout layout;
    const uint64_t bytes = kt_layout_bytes_for(KTRACE_ARCH_NVIDIA, waves, events_per_wave, events_per_lane);
    assert_int_not_equal(bytes, 0);
    assert_int_equal(kt_layout_make(&layout, KTRACE_ARCH_NVIDIA, bytes, events_per_wave, events_per_lane), KTRACE_OK);
    assert_true(layout.regions >= waves);
    const uint64_t region = sizeof(struct ktrace_wave_header) + kt_layout_main_ring_bytes(&layout) +
                            KT_LANE_RINGS * kt_layout_lane_ring_bytes(&layout);
    if (bytes > region &&
        kt_layout_make(&layout, KTRACE_ARCH_NVIDIA, bytes - region, events_per_wave, events_per_lane) == KTRACE_OK)
        assert_true(layout.regions < waves);
}

/* Regions of up to 32 GiB, of which not one fits into 4. */
static void large_rings(void **state)
{
    (void)state;
    for (uint32_t slots = 1; slots <= KT_MAX_RING_SLOTS; slots *= 8)
        for (uint64_t waves = 1; waves < 5000; waves = waves * 5 + 1) {
            assert_enough(waves, slots, 16);
            assert_enough(waves, 512, slots);
            assert_enough(waves, slots, slots);
        }
}

static void what_cannot_be(void **state)
{
    (void)state;
    assert_int_equal(kt_layout_bytes_for(KTRACE_ARCH_NVIDIA, 1, KT_MAX_RING_SLOTS + 1, 16), 0);
    assert_int_equal(kt_layout_bytes_for(KTRACE_ARCH_NVIDIA, 1, 512, UINT32_MAX), 0);
    assert_int_equal(kt_layout_bytes_for(KTRACE_ARCH_NVIDIA, (1u << 27) + 1, 1, 1), 0);
    assert_int_equal(kt_layout_bytes_for(KTRACE_ARCH_NVIDIA, UINT64_MAX, 512, 16), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_rings),
        cmocka_unit_test(what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
