/* pair.h - which end closes which begin, and on which track a range is drawn. One wave at a time.
 *
 * A pop closes the newest open push of its own lane, and where lanes have parted the last pop of several closes their range:
 * the rules are in pair.c. A stop names its start by half of its token.
 *
 * Track 0 is the wave's own, where ranges nest; child tracks are numbered from 1, each range on the lowest that is free.
 * "Overlap" is meant in array order, in which events are shown: ranges that touch in time share a track exactly when the
 * end comes first.
 */
#ifndef KT_PAIR_H
#define KT_PAIR_H

#include "decode.h"

#define KT_CHILD_TRACKS_MAX 0xFFFF /* more ranges open at once share the last one */

/* Scratch that is used again for every wave. Zeroed, it is ready. */
struct kt_pairer {
    struct kt_start *starts; /* of token ranges, in time order */
    struct kt_push *pushes;  /* stack ranges, in time order */
    struct kt_claim *claims;
    uint32_t *nest;           /* ends of the ranges open on track 0, innermost last */
    uint32_t *newest_of_name; /* 1 + index into starts of the newest that may be open; 0: none */
    size_t start_capacity, push_capacity, claim_capacity, nest_capacity;
    uint32_t start_count;
    uint32_t
        *newest_of_token; /* the newest with that half token, open or not; index: half token / 2, as they are odd */
    uint64_t taken_tracks[KT_CHILD_TRACKS_MAX / 64 + 1];
    uint64_t full_words[(KT_CHILD_TRACKS_MAX / 64 + 1) / 64]; /* bit set: no track is free in that word */
};

struct kt_paired_wave {
    uint64_t ranges_unclosed, ends_unmatched;
    uint16_t track_count; /* child tracks */
};

/* Set partner, track and flags of a wave's events, whose sites are of the module that `sites` has selected. `tokens` as
 * kt_decode_wave leaves them. */
int kt_pair_wave(struct kt_paired_wave *out, struct kt_pairer *pairer, struct kt_event *events, const uint16_t *tokens,
                 uint32_t count, const struct kt_site_index *sites);
void kt_pairer_release(struct kt_pairer *pairer);

#endif
