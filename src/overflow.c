#include "overflow.h"

#include "error.h"
#include "text.h"

static int overflowed(const struct kt_layout *layout, const struct kt_usage *usage, int keep_last)
{
    return usage->waves_dropped || (!keep_last && (usage->most_main_slots > layout->main_ring_slots ||
                                                   usage->most_lane_slots > layout->lane_ring_slots));
}

/* What one kind of ring would have had to hold. Counts wrap, so that a very large one is a lower bound. */
struct ring_need {
    const char *who, *option;
    uint32_t slots; /* it had */
    uint64_t most;  /* were recorded */
};

/* 0 when no option can hold that many. */
static int put_ring(struct kt_text *text, const struct ring_need *need)
{
    kt_put(text, "%s recorded %s%llu slots in a ring of %u; ", need->who,
           need->most > KT_MAX_RING_SLOTS ? "at least " : "", (unsigned long long)need->most, need->slots);
    return need->most <= KT_MAX_RING_SLOTS;
}

int kt_check_overflow(const struct kt_layout *layout, const struct kt_usage *usage, int keep_last)
{
    const struct ring_need needs[2] = {
        {"a wave", "events_per_wave", layout->main_ring_slots, usage->most_main_slots},
        {"a lane other than 0", "events_per_lane", layout->lane_ring_slots, usage->most_lane_slots}};
    const uint64_t waves = usage->waves_recorded + usage->waves_dropped;
    struct kt_text text = {.length = 0}, options = {.length = 0};
    uint32_t slots[2];
    int possible = 1;
    if (!overflowed(layout, usage, keep_last))
        return KTRACE_OK;

    if (usage->waves_dropped)
        kt_put(&text, "%llu of %llu waves found no room; ", (unsigned long long)usage->waves_dropped,
               (unsigned long long)waves);
    for (int i = 0; i < 2; i++) {
        slots[i] = needs[i].slots;
        if (needs[i].most <= needs[i].slots || keep_last)
            continue;
        possible &= put_ring(&text, &needs[i]);
        slots[i] = (uint32_t)needs[i].most;
        kt_put(&options, "%s%s >= %u", options.length ? ", " : "", needs[i].option, slots[i]);
    }
    const uint64_t bytes = possible ? kt_layout_bytes_for(layout->arch, waves, slots[0], slots[1]) : 0;
    if (bytes > layout->buffer_bytes)
        kt_put(&options, "%sbuffer_bytes >= %llu", options.length ? ", " : "", (unsigned long long)bytes);
    if (bytes)
        kt_put(&text, "to hold everything, begin with %s (or record fewer waves with a filter, or read more often)",
               options.text);
    else
        kt_put(&text,
               "no ring holds more than %u slots and no buffer all of this: record fewer events or waves, read more "
               "often, or begin with keep_last to keep the newest",
               KT_MAX_RING_SLOTS);
    return kt_fail(KTRACE_ERROR_OVERFLOW, "the capture overflowed: %s" KT_OVERFLOW_TAIL, text.text);
}
