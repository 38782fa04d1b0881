#include "decode.h"

#include "clock.h"

#define SEQUENCES 0x10000u
#define FOLLOWERS_MAX 2u
/* How far a guess of where a wrapped ring's first event lies is tried out. */
#define TRIAL_SLOTS 64u
/* A STOP or NEXT at the edge of a wrapped ring is believed when the next event comes within this time. */
#define EDGE_TICKS (1u << 24)
/* A lane may leave up to this long after the end anchor was read: two groups of lanes leaving can store in either order. */
#define LEAVE_TICKS (1u << 20)

/* ---- Slots to events -------------------------------------------------------------------------------------------- */

/* A ring's slots in the order of their index. */
struct walk {
    const struct ktrace_slot *slots;
    uint32_t mask; /* slot i of the walk is slots[(first + i) & mask] */
    uint32_t first;
    uint32_t count;
    uint64_t first_index; /* of slot 0 of the walk */
    uint32_t control_offset;
    uint32_t last_place;                /* of the ring */
    const struct ktrace_slot *overhang; /* amdgcn: the slot behind it; NULL: payloads go on at place 0 */
    const struct kt_site_index *sites;
};

static inline const struct ktrace_slot *slot_at(const struct walk *walk, uint32_t i)
{
    return &walk->slots[(walk->first + i) & walk->mask];
}

static inline uint64_t bits_of(const struct ktrace_slot *slot)
{
    uint64_t bits;
    memcpy(&bits, slot, sizeof bits);
    return bits;
}

/* The site that `slot` names, whatever its sequence number. `next`: NULL at the end. */
static inline const struct kt_site *site_of(const struct walk *walk, const struct ktrace_slot *slot,
                                            const struct ktrace_slot *next)
{
    if (slot->site != KTRACE_SITE_WIDE || walk->overhang)
        return kt_site_index_event(walk->sites, walk->control_offset, slot->site);
    return next ? kt_site_index_wide_event(walk->sites, bits_of(next)) : NULL;
}

static inline int has_token(const struct kt_site *site)
{
    return site->kind == KTRACE_KIND_STOP || site->kind == KTRACE_KIND_NEXT;
}

/* Tokens are odd; a NEXT has 0 where there was none. */
static inline int token_is_valid(const struct ktrace_slot *slot, const struct kt_site *site)
{
    return (slot->sequence & 1) != 0 || (slot->sequence == 0 && site->kind == KTRACE_KIND_NEXT);
}

/* A ring that wrapped may begin with place 0, where an event of the lap before may lie: no payload of its lap covers it any
 * more. Only a sequence number that did not wrap itself tells. */
static inline int may_be_dead(const struct walk *walk, uint32_t i, const struct kt_site *site)
{
    return walk->overhang && i == 0 && walk->first_index > 1 && (walk->first_index & walk->last_place) == 0 &&
           (has_token(site) || walk->last_place >= SEQUENCES - 1);
}

static inline uint32_t followers_of(const struct kt_site *site)
{
    return (uint32_t)(site->wide != 0) + (site->payload_type != KTRACE_PAYLOAD_NONE);
}

/* The site of the event that begins at slot i, with its followers there; NULL: none does. */
static inline const struct kt_site *event_at(const struct walk *walk, uint32_t i)
{
    const struct ktrace_slot *slot = slot_at(walk, i);
    const struct kt_site *site = site_of(walk, slot, i + 1 < walk->count ? slot_at(walk, i + 1) : NULL);
    if (!site || (has_token(site) ? !token_is_valid(slot, site) : slot->sequence != (uint16_t)(walk->first_index + i)))
        return NULL;
    return followers_of(site) >= walk->count - i || may_be_dead(walk, i, site) ? NULL : site;
}

static inline const struct ktrace_slot *payload_at(const struct walk *walk, uint32_t i)
{
    const int over_the_edge = walk->overhang && ((walk->first_index + i) & walk->last_place) == walk->last_place;
    return over_the_edge ? walk->overhang : slot_at(walk, i + 1);
}

/* The low half of what a range that begins at slot i is known by. */
static inline uint16_t token_at(const struct walk *walk, uint32_t i)
{
    return (uint16_t)(walk->overhang ? 2 * (walk->first_index + i) + 1 : slot_at(walk, i)->clock_ticks | 1);
}

/* A payload's slot to 64 bits: types of 32 leave the upper half as it was. */
static inline uint64_t extended(uint64_t bits, uint8_t payload_type)
{
    switch (payload_type) {
    case KTRACE_PAYLOAD_BOOL:
    case KTRACE_PAYLOAD_UINT32:
    case KTRACE_PAYLOAD_FLOAT32: return (uint32_t)bits;
    case KTRACE_PAYLOAD_INT32: return (uint64_t)(int64_t)(int32_t)(uint32_t)bits;
    default: return bits;
    }
}

/* What speaks against the walk beginning at `from`: two for each slot among the next few that is no event; one if it would
 * begin with a STOP or NEXT that lies long before what follows, since nothing but its site tells that from a payload. */
static uint32_t trial_errors(const struct walk *walk, uint32_t from)
{
    uint32_t errors = 0, end = walk->count - from < TRIAL_SLOTS ? walk->count : from + TRIAL_SLOTS, second = 0;
    const struct kt_site *first = from < end ? event_at(walk, from) : NULL;
    for (uint32_t i = from; i < end; i++) {
        const struct kt_site *site = event_at(walk, i);
        if (site && i > from && !second)
            second = i;
        if (site)
            i += followers_of(site);
        else
            errors += 2;
    }
    if (first && has_token(first) && second)
        errors += slot_at(walk, second)->clock_ticks - slot_at(walk, from)->clock_ticks >= EDGE_TICKS;
    return errors;
}

/* Where the first whole event of a wrapped ring lies: before it are followers of an event that was overwritten, and such a
 * follower may look like an event itself. */
static uint32_t first_event_of(const struct walk *walk)
{
    uint32_t best = 0, best_errors = trial_errors(walk, 0);
    for (uint32_t from = 1; from <= FOLLOWERS_MAX && from <= walk->count && best_errors; from++) {
        uint32_t errors = trial_errors(walk, from);
        if (errors < best_errors) {
            best = from;
            best_errors = errors;
        }
    }
    return best;
}

/* The events of what lies at slot i: one; two of a NEXT that names a token, the stop first. */
static size_t read_event(struct kt_ring_event *out, const struct walk *walk, uint32_t i, const struct kt_site *site,
                         uint8_t lane)
{
    const struct ktrace_slot *slot = slot_at(walk, i);
    struct kt_ring_event event = {.clock_ticks = slot->clock_ticks, .lane = lane};
    const uint16_t token = token_at(walk, i);
    size_t count = 0;
    i += site->wide;
    if (site->kind == KTRACE_KIND_NEXT) {
        const struct kt_site *halves = kt_site_index_halves(walk->sites, site);
        event.site = &halves[0];
        event.token = slot->sequence;
        out[count] = event;
        count += slot->sequence != 0;
        site = &halves[1];
    }
    event.site = site;
    event.token = site->kind == KTRACE_KIND_STOP ? slot->sequence : token;
    if (site->payload_type != KTRACE_PAYLOAD_NONE) {
        event.payload = extended(bits_of(payload_at(walk, i)), site->payload_type);
        event.flags = KT_EVENT_PAYLOAD;
    }
    out[count] = event;
    return count + 1;
}

/* The walk's events from slot `from` on. Slots that no site explains are counted, unwritten ones of a ring that may have
 * gaps are not. */
static size_t read_events(struct kt_decoded_wave *wave, struct kt_ring_event *events, const struct walk *walk,
                          uint32_t from, uint8_t lane, int may_have_gaps)
{
    size_t count = 0;
    for (uint32_t i = from; i < walk->count; i++) {
        const struct kt_site *site = event_at(walk, i);
        if (!site) {
            wave->slots_corrupt += !may_have_gaps || bits_of(slot_at(walk, i)) != 0;
            continue;
        }
        count += read_event(&events[count], walk, i, site, lane);
        i += followers_of(site);
    }
    return count;
}

/* ---- Rings whose count is not known ----------------------------------------------------------------------------- */

static inline const struct kt_site *event_at_place(const struct walk *ring, uint32_t place)
{
    const struct ktrace_slot *slot = &ring->slots[place];
    if (bits_of(slot) == 0)
        return NULL;
    const struct kt_site *site = site_of(ring, slot, &ring->slots[(place + 1) & ring->mask]);
    if (!site || (has_token(site) ? !token_is_valid(slot, site)
                                  : ((slot->sequence ^ place) & ring->mask & (SEQUENCES - 1)) != 0))
        return NULL;
    return site;
}

/* The ring up to `head` was written in lap `lap`, the rest in the lap before: how many events say so, for the best head. */
static uint32_t agreement(uint32_t *head, const struct walk *ring, const uint32_t *places, size_t count, uint32_t lap,
                          uint32_t laps)
{
    uint32_t score = 0, best = 0, capacity = ring->mask + 1, before = (lap + laps - 1) % laps;
    for (size_t i = 0; i < count; i++)
        score += ring->slots[places[i]].sequence / capacity == before;
    for (size_t i = 0; i < count; i++) {
        uint32_t its = ring->slots[places[i]].sequence / capacity;
        score = score + (its == lap) - (its == before);
        if (its == lap && score > best) {
            best = score;
            *head = places[i];
        }
    }
    return best;
}

/* Index of the newest event, as small as its sequence number allows, in a ring of fewer slots than there are sequence
 * numbers. All events lie within one lap, so that two values of sequence / capacity are right; more come from garbage, and
 * so much garbage that the right ones are not among the first to be tried leaves nothing to save. */
static uint64_t newest_by_sequence(const struct walk *ring, const uint32_t *places, size_t count)
{
    uint32_t capacity = ring->mask + 1, laps = SEQUENCES / capacity;
    uint32_t best = 0, best_head = 0, best_lap = 0, tried_count = 0, tried[16];
    for (size_t i = 0; i < count && tried_count < 16; i++) {
        uint32_t lap = ring->slots[places[i]].sequence / capacity, head = 0, t = 0;
        while (t < tried_count && tried[t] != lap)
            t++;
        if (t < tried_count)
            continue;
        tried[tried_count++] = lap;
        uint32_t score = agreement(&head, ring, places, count, lap, laps);
        if (score > best) {
            best = score;
            best_head = head;
            best_lap = lap;
        }
    }
    uint64_t index = (uint64_t)best_lap * capacity + best_head;
    if (best_lap != 0)
        return index;
    /* lap 0 begins at index 1: what lies at place 0 or comes from before has an index from which 2^16 was taken */
    for (size_t i = 0; i < count; i++)
        if (places[i] == 0 || (places[i] > best_head && ring->slots[places[i]].sequence / capacity == laps - 1))
            return index + SEQUENCES;
    return index;
}

/* The same where sequence numbers repeat within the ring, or no event has one: behind the newest event the clock steps
 * back. */
static uint64_t newest_by_clock(const struct walk *ring, const uint32_t *places, size_t count)
{
    uint32_t largest = 0x7FFFFFFF;
    /* without such a step it is the last; no slot has index 0, so that what lies at place 0 is of a later lap */
    uint64_t newest = (bits_of(&ring->slots[0]) ? (uint64_t)ring->mask + 1 : 0) + places[count - 1];
    for (size_t i = 1; i < count; i++) {
        uint32_t step = ring->slots[places[i]].clock_ticks - ring->slots[places[i - 1]].clock_ticks;
        if (step > largest) {
            largest = step;
            newest = (uint64_t)ring->mask + 1 + places[i - 1];
        }
    }
    return newest;
}

/* The places of what looks like an event and is none's follower; those of STOP and NEXT only `with_tokens`. An event of the
 * lap before can lose its followers to the newest event, which then has an index of just one lap more. Not at place 0 of a ring
 * with an overhang: what covers that is not over before its event is overwritten. The first time around finds out what
 * covers place 0. */
static size_t find_events(uint32_t *places, const struct walk *ring, int with_tokens)
{
    size_t count = 0;
    uint32_t capacity = ring->count, covered = 0, next_sequence = 0;
    for (uint32_t i = 0; i < 2 * capacity; i++) {
        uint32_t place = i & ring->mask;
        const struct kt_site *site = event_at_place(ring, place);
        uint16_t sequence = ring->slots[place].sequence;
        int numbered = site && !has_token(site);
        int may_uncover = place != 0 || !ring->overhang;
        if (site && (covered == 0 || (may_uncover && numbered && sequence == (uint16_t)(next_sequence + capacity)))) {
            covered = followers_of(site);
            next_sequence = (numbered ? sequence : next_sequence) + 1u;
            if (i >= capacity && (numbered || with_tokens))
                places[count++] = place;
        } else if (covered) {
            covered--;
            next_sequence++;
        }
    }
    return count;
}

/* STOP and NEXT events behind `last`, the last slot of the newest event that has a sequence number: up to where the clock
 * steps back. Returns the last slot of the last of them. */
static uint64_t behind_newest(const struct walk *ring, uint64_t newest, uint64_t last)
{
    uint64_t limit = newest + ring->mask; /* the slot before the newest event's own */
    uint32_t clock = ring->slots[newest & ring->mask].clock_ticks;
    while (last < limit) {
        uint32_t place = (uint32_t)(last + 1) & ring->mask;
        const struct kt_site *site = event_at_place(ring, place);
        if (!site || !has_token(site) || followers_of(site) >= limit - last ||
            ring->slots[place].clock_ticks - clock > 0x7FFFFFFF)
            break;
        clock = ring->slots[place].clock_ticks;
        last += 1 + followers_of(site);
    }
    return last;
}

/* Index of a whole ring's last slot that was written; 0: none. */
static uint64_t last_slot_of(const struct walk *ring, uint32_t *places)
{
    uint64_t newest;
    size_t count = ring->count < SEQUENCES ? find_events(places, ring, 0) : 0;
    if (count) {
        newest = newest_by_sequence(ring, places, count);
        return behind_newest(ring, newest, newest + followers_of(event_at_place(ring, (uint32_t)newest & ring->mask)));
    }
    count = find_events(places, ring, 1);
    if (count == 0)
        return 0;
    newest = newest_by_clock(ring, places, count);
    return newest + followers_of(event_at_place(ring, (uint32_t)newest & ring->mask));
}

/* Turn a whole ring in place order to index order. The slots that this leaves out were never written, or are garbage. */
static int order_whole_ring(struct kt_decoded_wave *wave, struct walk *ring)
{
    uint32_t capacity = ring->count, used;
    uint32_t *places = kt_array_new(capacity, sizeof *places);
    if (!places)
        return KTRACE_ERROR_MEMORY;
    uint64_t last = last_slot_of(ring, places);
    free(places);

    ring->first_index = last >= capacity ? last - capacity + 1 : 1;
    used = (uint32_t)(last - ring->first_index + 1);
    ring->first = (uint32_t)ring->first_index & ring->mask;
    for (uint32_t i = used; i < capacity; i++)
        wave->slots_corrupt += bits_of(slot_at(ring, i)) != 0;
    ring->count = used;
    wave->slots_lost += ring->first_index - 1;
    return 0;
}

/* ---- 32-bit clocks to 64 bits ----------------------------------------------------------------------------------- */

/* Every event at the first time its low half allows, from the wave's start on. Saturates, so that clocks never fall. */
static void unwrap_forward(struct kt_ring_event *events, size_t count, uint64_t start)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t step = (uint32_t)events[i].clock_ticks - (uint32_t)start;
        start = events[i].clock_ticks = step > UINT64_MAX - start ? UINT64_MAX : start + step;
    }
}

/* Every event at the last time its low half allows, up to the end anchor. */
static void unwrap_backward(struct kt_ring_event *events, size_t count, uint64_t end)
{
    uint64_t next = end > UINT64_MAX - LEAVE_TICKS ? UINT64_MAX : end + LEAVE_TICKS;
    for (size_t i = count; i-- > 0;) {
        uint32_t step = (uint32_t)next - (uint32_t)events[i].clock_ticks;
        next = events[i].clock_ticks = step > next ? 0 : next - step;
    }
}

/* The anchors bound a ring on both sides: forward, the last event has to come out less than one turn before the end. What
 * a wrapped ring lost can have taken any time, so that it is counted from its end, and only has to stay behind the start. */
static void unwrap_ring(struct kt_decoded_wave *wave, struct kt_ring_event *events, size_t count,
                        const struct ktrace_wave_header *header, int finished, int wrapped)
{
    uint64_t start = header->start_clock_ticks, end = header->end_clock_ticks;
    if (count == 0)
        return;
    if (finished && wrapped) {
        unwrap_backward(events, count, end);
        wave->ambiguous |= events[0].clock_ticks < start;
        return;
    }
    unwrap_forward(events, count, start);
    if (finished) {
        int64_t left = (int64_t)(end - events[count - 1].clock_ticks);
        wave->ambiguous |= left < -(int64_t)LEAVE_TICKS || left >= (int64_t)1 << 32;
    }
}

/* ---- Waves ------------------------------------------------------------------------------------------------------ */

struct run {
    const struct kt_ring_event *next, *end;
};

/* Decode one ring to `events`, which has room for an event a slot. */
static int decode_ring(struct run *out, struct kt_decoded_wave *wave, const struct kt_decoder *decoder,
                       struct kt_ring_event *events, const struct kt_ring *ring)
{
    const struct ktrace_wave_header *header = &decoder->snapshot->waves[ring->wave];
    uint64_t recorded = header->final_count_bytes[ring->lane] / 8 - 1;
    const struct kt_process *process = kt_snapshot_process_of(decoder->snapshot, header);
    const int amdgcn = decoder->snapshot->arch == KTRACE_ARCH_AMDGCN;
    struct walk walk = {.slots = ring->slot_count ? decoder->snapshot->slots + ring->first_slot : NULL,
                        .mask = 0xFFFFFFFF,
                        .count = ring->slot_count,
                        .control_offset = header->control_offset,
                        .last_place = (ring->lane ? process->lane_ring_slots : process->main_ring_slots) - 1,
                        .overhang = amdgcn ? decoder->snapshot->slots + ring->first_slot + ring->slot_count : NULL,
                        .sites = decoder->sites};
    if (ring->whole) {
        walk.mask = ring->slot_count - 1;
        int status = order_whole_ring(wave, &walk);
        if (status < 0)
            return status;
    } else {
        walk.first_index = recorded - ring->slot_count + 1;
        wave->slots_lost += walk.first_index - 1;
    }
    int wrapped = walk.first_index > 1;
    uint32_t from = wrapped ? first_event_of(&walk) : 0;
    wave->slots_lost += from;
    size_t count = read_events(wave, events, &walk, from, (uint8_t)ring->lane, ring->whole);
    unwrap_ring(wave, events, count, header, !ring->whole && header->end_wall_ns != 0, wrapped);
    *out = (struct run){events, events + count};
    return 0;
}

static inline void emit(struct kt_event *event, uint16_t *token, const struct kt_ring_event *from,
                        struct kt_clock_cursor *cursor)
{
    *event = (struct kt_event){.time_ps = kt_clock_cursor_ps(cursor, from->clock_ticks),
                               .payload = from->payload,
                               .site = from->site,
                               .partner = KT_NONE,
                               .lane = from->lane,
                               .flags = from->flags};
    *token = from->token;
}

/* By clock, then by lane: runs come in the order of their lanes, and lanes record in bursts, so that a run is followed as
 * long as it stays in front. */
static uint32_t merge(struct kt_event *events, uint16_t *tokens, struct run *runs, size_t run_count,
                      struct kt_clock_cursor *cursor)
{
    uint32_t count = 0;
    while (run_count) {
        size_t first = 0;
        for (size_t i = 1; i < run_count; i++)
            if (runs[i].next->clock_ticks < runs[first].next->clock_ticks)
                first = i;
        uint64_t limit = UINT64_MAX; /* the front run may go on to here */
        for (size_t i = 0; i < run_count; i++) {
            uint64_t clock = runs[i].next->clock_ticks;
            if (i != first && clock - (i < first) < limit)
                limit = clock - (i < first);
        }
        struct run *run = &runs[first];
        do {
            emit(&events[count], &tokens[count], run->next++, cursor);
            count++;
        } while (run->next < run->end && run->next->clock_ticks <= limit);
        if (run->next == run->end)
            memmove(run, run + 1, (--run_count - first) * sizeof *run);
    }
    return count;
}

/* Lanes that recorded but have no ring in the snapshot lost everything. */
static void count_missing_rings(struct kt_decoded_wave *wave, const struct ktrace_wave_header *header,
                                const struct kt_ring *rings, size_t ring_count)
{
    const uint32_t lanes = header->arch == KTRACE_ARCH_AMDGCN ? 1 : KTRACE_MAX_LANES;
    uint32_t present = 0;
    for (size_t i = 0; i < ring_count; i++)
        present |= 1u << rings[i].lane;
    for (uint32_t lane = 0; lane < lanes; lane++)
        if (!(present >> lane & 1) && header->final_count_bytes[lane] >= 16)
            wave->slots_lost += header->final_count_bytes[lane] / 8 - 1;
}

int kt_decode_wave(struct kt_decoded_wave *out, struct kt_event *events, struct kt_decoder *decoder,
                   const struct ktrace_trace *trace, uint64_t number, const struct kt_ring *rings, size_t ring_count)
{
    const struct ktrace_wave_header *header = &decoder->snapshot->waves[number];
    struct run runs[KTRACE_MAX_LANES];
    size_t run_count = 0, room = 0, used = 0;
    struct kt_clock_cursor cursor;
    *out = (struct kt_decoded_wave){.unfinished = header->end_wall_ns == 0};

    for (size_t i = 0; i < ring_count; i++)
        room += rings[i].slot_count * kt_decode_events_a_slot(decoder->sites);
    if (kt_array_reserve(&decoder->events, &decoder->event_capacity, room, sizeof *decoder->events) < 0 ||
        kt_array_reserve(&decoder->tokens, &decoder->token_capacity, room, sizeof *decoder->tokens) < 0)
        return KTRACE_ERROR_MEMORY;
    kt_site_index_select(decoder->sites, header->module);
    for (size_t i = 0; i < ring_count; i++) {
        int status = decode_ring(&runs[run_count], out, decoder, decoder->events + used, &rings[i]);
        if (status < 0)
            return status;
        out->unfinished |= rings[i].whole != 0;
        used += (size_t)(runs[run_count].end - runs[run_count].next);
        run_count += runs[run_count].end > runs[run_count].next;
    }
    count_missing_rings(out, header, rings, ring_count);
    kt_clock_cursor_begin(&cursor, trace, kt_snapshot_device_of(decoder->snapshot, header), header->place);
    out->event_count = merge(events, decoder->tokens, runs, run_count, &cursor);
    return 0;
}

void kt_decoder_release(struct kt_decoder *decoder)
{
    free(decoder->events);
    free(decoder->tokens);
    *decoder = (struct kt_decoder){0};
}
