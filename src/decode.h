/* decode.h - from the slots of a wave's rings to its events, merged and in time order.
 *
 * What the host sees of an event is one struct kt_event, but for a NEXT, which is two with the same clock, of the two halves
 * of its site: the stop, where it names a token, and the start.
 *
 * A ring is read in index order: an event is a slot whose sequence number is its index and whose site the module knows; the
 * site says how many slots follow it. STOP and NEXT have half a token in place of the sequence number, and are known by their
 * site alone. A finished ring's count says where it stands. A ring whose lane never left the kernel has no count: its newest
 * event is found from the sequence numbers, or where there are none from the clocks.
 *
 * On amdgcn a wave has one ring, and the payload of an event in the ring's last place lies in its overhang. Place 0 has the index
 * that this payload takes, and holds nothing of this lap then.
 */
#ifndef KT_DECODE_H
#define KT_DECODE_H

#include "array.h"
#include "site_index.h"
#include "trace.h"

/* An event of one ring, before lanes are merged. */
struct kt_ring_event {
    uint64_t clock_ticks;
    uint64_t payload;
    const struct kt_site *site;
    uint16_t token;      /* low half: of a start its own, of a stop that of what it closes */
    uint8_t lane, flags; /* as in struct kt_event */
};

/* Scratch that is used again for every wave. Zeroed, with `snapshot` and `sites` set, it is ready. */
struct kt_decoder {
    const struct kt_snapshot *snapshot;
    struct kt_site_index *sites;
    uint16_t *tokens; /* of the last wave's events, as in struct kt_ring_event */
    struct kt_ring_event *events;
    size_t token_capacity, event_capacity;
};

struct kt_decoded_wave {
    uint32_t event_count;
    uint64_t slots_lost;    /* overwritten, and what they left unreadable */
    uint64_t slots_corrupt; /* not explained by any site */
    uint8_t ambiguous;      /* its clocks do not add up to its anchors */
    uint8_t unfinished;     /* some lane never left the kernel */
};

/* At most. */
static inline size_t kt_decode_events_a_slot(const struct kt_site_index *sites)
{
    return sites->half_count ? 2 : 1;
}

/* Decode the rings of one wave to `events`, which has room for what that says of the rings' slots, with times from the clock
 * map. Sets flags, lane, payload, site and time_ps; leaves partner and track to pair.c. */
int kt_decode_wave(struct kt_decoded_wave *out, struct kt_event *events, struct kt_decoder *decoder,
                   const struct ktrace_trace *trace, uint64_t wave, const struct kt_ring *rings, size_t ring_count);
void kt_decoder_release(struct kt_decoder *decoder);

#endif
