/* pair.c - the rules of pairing.
 *
 * An event is recorded by the first active lane alone, for all that are active. As long as a wave runs together that is lane
 * 0, and a pop closes the newest open push. Where lanes have parted, what one of them pops may have been pushed by another:
 * both sides of a branch pop one push, or half of a wave returns inside a scoped range and the other half goes on. From the
 * record one cannot see who took part in a push. So every pop claims a range, and a range ends with the last pop that claims
 * it; the pops before are superseded. What a pop by lane L claims:
 *
 *   (a) the newest push that L recorded itself and has not popped yet, whoever else claimed it. That settles it: what a lane
 *       led for others it also leaves;
 *   (b) else the newest range of a lower lane that nobody has claimed. Its own lane can still claim it later;
 *   (c) else a range of a lower lane that another lane's pop has closed: L leaves later what others left before. Which one is
 *       decided when the wave is known whole: L's pops of this kind, from its last to its first, take one by one the ranges
 *       closed last before them, in the order in which they were closed. So lanes that stay behind where others returned out
 *       of two ranges leave the inner one first, and what was closed longer ago is not touched;
 *   (d) else the newest open range of a higher lane: pushed in a branch, popped after it;
 *   (e) else nothing: it is unmatched.
 *
 * (c) is not for lane 0, so that a pop too many in code that never diverges is unmatched. Its limit: with a further range
 * still open, the second side of a branch claims that one by (b) until its own lane does, and the range that both sides meant
 * ends with the first side's pop.
 *
 * A stop names its start by half of its token: the newest open range with such a token is meant. Where that is closed already,
 * since lanes left a loop at different iterations and the first of them holds a token that is used up, it is the newest open
 * range of the same name; and where there is none, and another lane closed it, lanes have parted since they started it
 * together: it ends with the last of their stops. On amdgcn all lanes are one, and a stop names the latest start of those that
 * are active: a second stop by a token means that lanes have parted, and nothing else.
 */
#include "pair.h"

#define HALF_TOKENS 0x8000u /* that are odd */

/* A stack range. */
struct kt_push {
    uint32_t event;
    uint32_t below;      /* 1 + index into pushes: what its lane has yet to pop after it; 0: nothing */
    uint32_t open_below; /* the same for what was unclaimed when it began */
    uint32_t claim;      /* the last pop that claims it; KT_NONE: it is open */
    uint32_t kept_by;    /* 1 + the lane whose pop was the last to claim it by (c) */
};

/* A pop that claims a range, in time order; those of (c) from when their lane's turn has come. */
struct kt_claim {
    uint32_t event, push;
};

/* One token range. Those of equal name are a list, and those of equal token. */
struct kt_start {
    uint32_t event, name;
    uint32_t older_of_name, older_of_token; /* 1 + index into starts; 0: none */
    uint16_t token;
    uint8_t closed;
};

static inline void join(struct kt_event *events, uint32_t begin, uint32_t end)
{
    events[begin].partner = end;
    events[end].partner = begin;
}

/* ---- Stack ranges ----------------------------------------------------------------------------------------------- */

/* What each lane recorded: 1 + index into pushes, or 0. */
struct stacks {
    struct kt_event *events;
    struct kt_push *pushes;
    struct kt_claim *claims;
    uint32_t push_count, claim_count;
    uint32_t top[KTRACE_MAX_LANES];     /* the newest that the lane has not popped */
    uint32_t open[KTRACE_MAX_LANES];    /* the newest that may be open */
    uint32_t closed[KTRACE_MAX_LANES];  /* how many of the lane's ranges have been claimed */
    uint32_t claimed[KTRACE_MAX_LANES]; /* how many of lower lanes' ranges it claimed */
    uint32_t late[KTRACE_MAX_LANES];    /* 1 + its newest pop by (c); that one's partner is the next older; 0: none */
};

/* The lane's newest open range. What is claimed never opens again and is passed over once. */
static uint32_t newest_open(struct stacks *stacks, uint32_t lane)
{
    uint32_t *open = &stacks->open[lane];
    while (*open && stacks->pushes[*open - 1].claim != KT_NONE)
        *open = stacks->pushes[*open - 1].open_below;
    return *open;
}

static uint32_t newest_open_of(struct stacks *stacks, uint32_t first_lane, uint32_t last_lane)
{
    uint32_t newest = 0;
    for (uint32_t lane = first_lane; lane < last_lane; lane++) {
        uint32_t open = newest_open(stacks, lane);
        newest = open > newest ? open : newest;
    }
    return newest;
}

static inline uint32_t lane_of(const struct stacks *stacks, uint32_t push)
{
    return stacks->events[stacks->pushes[push].event].lane;
}

static void push(struct stacks *stacks, uint32_t i)
{
    uint32_t lane = stacks->events[i].lane, number = stacks->push_count++;
    stacks->pushes[number] = (struct kt_push){
        .event = i, .below = stacks->top[lane], .open_below = newest_open(stacks, lane), .claim = KT_NONE};
    stacks->top[lane] = stacks->open[lane] = number + 1;
}

static void claim(struct stacks *stacks, uint32_t number, uint32_t i)
{
    struct kt_push *push = &stacks->pushes[number];
    if (push->claim == KT_NONE)
        stacks->closed[lane_of(stacks, number)]++;
    else
        stacks->events[push->claim].flags |= KT_EVENT_SUPERSEDED;
    push->claim = i;
    stacks->claims[stacks->claim_count++] = (struct kt_claim){i, number};
}

/* Whether some closed range of a lower lane is left for `lane` to claim. */
static int can_leave_late(const struct stacks *stacks, uint32_t lane)
{
    uint64_t closed = 0;
    for (uint32_t lower = 0; lower < lane; lower++)
        closed += stacks->closed[lower];
    return closed > stacks->claimed[lane];
}

static int pop(struct stacks *stacks, uint32_t i)
{
    uint32_t lane = stacks->events[i].lane, found = stacks->top[lane];
    if (found) {
        stacks->top[lane] = stacks->pushes[found - 1].below;
    } else if ((found = newest_open_of(stacks, 0, lane)) != 0) {
        stacks->claimed[lane]++;
    } else if (can_leave_late(stacks, lane)) {
        stacks->claimed[lane]++;
        stacks->events[i].flags |= KT_EVENT_SUPERSEDED; /* until it turns out that it is the last of its range */
        stacks->events[i].partner = stacks->late[lane];
        stacks->late[lane] = i + 1;
        return 1;
    } else if ((found = newest_open_of(stacks, lane + 1, KTRACE_MAX_LANES)) != 0) {
        /* all have left it, its own lane too, and so what that recorded inside of it */
        stacks->top[lane_of(stacks, found - 1)] = stacks->pushes[found - 1].below;
    } else {
        return 0;
    }
    claim(stacks, found - 1, i);
    return 1;
}

static int by_event(const void *left, const void *right)
{
    const struct kt_claim *a = left, *b = right;
    return (a->event > b->event) - (a->event < b->event);
}

/* Rule (c) for one lane: newest first, each of its late pops takes the range closed last before it by another lane. These
 * closings count for the lanes above, which may have left later still. */
static void leave_late(struct stacks *stacks, uint32_t lane)
{
    uint32_t claimed_before = stacks->claim_count, left = claimed_before, next;
    for (uint32_t late = stacks->late[lane]; late; late = next) {
        uint32_t i = late - 1;
        next = stacks->events[i].partner;
        stacks->events[i].partner = KT_NONE;
        for (; left; left--) {
            const struct kt_claim *closing = &stacks->claims[left - 1];
            if (closing->event < i && stacks->events[closing->event].lane != lane &&
                lane_of(stacks, closing->push) < lane && stacks->pushes[closing->push].kept_by != lane + 1)
                break;
        }
        if (left == 0)
            continue;
        uint32_t number = stacks->claims[--left].push;
        struct kt_push *push = &stacks->pushes[number];
        push->kept_by = lane + 1;
        stacks->claims[stacks->claim_count++] = (struct kt_claim){i, number};
        if (push->claim > i)
            continue;
        stacks->events[push->claim].flags |= KT_EVENT_SUPERSEDED;
        stacks->events[i].flags &= (uint8_t)~KT_EVENT_SUPERSEDED;
        push->claim = i;
    }
    if (stacks->claim_count != claimed_before)
        qsort(stacks->claims, stacks->claim_count, sizeof *stacks->claims, by_event);
}

/* Join every range with the last pop that claims it. The number of those that nothing claims. */
static uint64_t settle(struct stacks *stacks)
{
    uint64_t unclosed = 0;
    for (uint32_t lane = 1; lane < KTRACE_MAX_LANES; lane++)
        leave_late(stacks, lane);
    for (uint32_t i = 0; i < stacks->push_count; i++) {
        const struct kt_push *push = &stacks->pushes[i];
        if (push->claim != KT_NONE) {
            join(stacks->events, push->event, push->claim);
        } else {
            stacks->events[push->event].flags |= KT_EVENT_UNCLOSED;
            unclosed++;
        }
    }
    return unclosed;
}

/* ---- Token ranges ----------------------------------------------------------------------------------------------- */

/* Only where a wave has a start: most have none. */
static int begin_starts(struct kt_pairer *pairer, uint32_t count, const struct kt_site_index *sites)
{
    if (!pairer->newest_of_name)
        pairer->newest_of_name = kt_array_new_zeroed(sites->name_count, sizeof *pairer->newest_of_name);
    if (!pairer->newest_of_token)
        pairer->newest_of_token = kt_array_new_zeroed(HALF_TOKENS, sizeof *pairer->newest_of_token);
    if (!pairer->newest_of_name || !pairer->newest_of_token)
        return KTRACE_ERROR_MEMORY;
    return kt_array_reserve(&pairer->starts, &pairer->start_capacity, count, sizeof *pairer->starts);
}

static int start(struct kt_pairer *pairer, uint32_t i, uint16_t token, uint32_t count,
                 const struct kt_site_index *sites, const struct kt_site *site)
{
    if (pairer->start_count == 0 && begin_starts(pairer, count, sites) < 0)
        return KTRACE_ERROR_MEMORY;
    uint32_t name = kt_site_index_name(sites, site);
    uint32_t *of_name = &pairer->newest_of_name[name], *of_token = &pairer->newest_of_token[token / 2];
    pairer->starts[pairer->start_count++] = (struct kt_start){
        .event = i, .name = name, .older_of_name = *of_name, .older_of_token = *of_token, .token = token};
    *of_name = *of_token = pairer->start_count;
    return 0;
}

/* 1 + index of the newest open start; 0: none. Of those that are closed, all that are passed over come to point there, so
 * that this is not walked again. */
static uint32_t open_of_token(struct kt_pairer *pairer, uint16_t token)
{
    uint32_t newest = pairer->newest_of_token[token / 2], open = newest, older;
    while (open && pairer->starts[open - 1].closed)
        open = pairer->starts[open - 1].older_of_token;
    for (; newest != open; newest = older) {
        older = pairer->starts[newest - 1].older_of_token;
        pairer->starts[newest - 1].older_of_token = open;
    }
    return open;
}

/* The same; what is closed is left out of the list. */
static uint32_t open_of_name(struct kt_pairer *pairer, uint32_t name)
{
    uint32_t *newest = &pairer->newest_of_name[name];
    while (*newest && pairer->starts[*newest - 1].closed)
        *newest = pairer->starts[*newest - 1].older_of_name;
    return *newest;
}

static int stop(struct kt_pairer *pairer, struct kt_event *events, uint32_t i, uint16_t token, int one_lane)
{
    if (pairer->start_count == 0)
        return 0;
    uint32_t found = open_of_token(pairer, token), newest = pairer->newest_of_token[token / 2];
    if (!found && newest && !one_lane)
        found = open_of_name(pairer, pairer->starts[newest - 1].name);
    if (!found && newest) { /* lanes that part stop what they started together: it ends with the last of them */
        struct kt_event *other = &events[events[pairer->starts[newest - 1].event].partner];
        if (other->lane == events[i].lane && !one_lane)
            return 0;
        other->partner = KT_NONE;
        other->flags |= KT_EVENT_SUPERSEDED;
        found = newest;
    }
    if (!found)
        return 0;
    pairer->starts[found - 1].closed = 1;
    join(events, pairer->starts[found - 1].event, i);
    return 1;
}

static uint64_t leave_open_starts(struct kt_pairer *pairer, struct kt_event *events)
{
    uint64_t unclosed = 0;
    for (uint32_t i = 0; i < pairer->start_count; i++) {
        const struct kt_start *start = &pairer->starts[i];
        pairer->newest_of_name[start->name] = 0;
        pairer->newest_of_token[start->token / 2] = 0;
        if (!start->closed) {
            events[start->event].flags |= KT_EVENT_UNCLOSED;
            unclosed++;
        }
    }
    return unclosed;
}

/* ---- Tracks ----------------------------------------------------------------------------------------------------- */

static uint16_t take_track(struct kt_pairer *pairer)
{
    for (uint32_t s = 0; s < sizeof pairer->full_words / sizeof *pairer->full_words; s++) {
        if (pairer->full_words[s] == UINT64_MAX)
            continue;
        uint32_t word = s * 64 + (uint32_t)__builtin_ctzll(~pairer->full_words[s]);
        uint32_t bit = (uint32_t)__builtin_ctzll(~pairer->taken_tracks[word]);
        if (word * 64 + bit >= KT_CHILD_TRACKS_MAX)
            break;
        pairer->taken_tracks[word] |= 1ull << bit;
        if (pairer->taken_tracks[word] == UINT64_MAX)
            pairer->full_words[s] |= 1ull << word % 64;
        return (uint16_t)(word * 64 + bit + 1);
    }
    return KT_CHILD_TRACKS_MAX;
}

static void free_track(struct kt_pairer *pairer, uint16_t track)
{
    uint32_t bit = track - 1u;
    pairer->taken_tracks[bit / 64] &= ~(1ull << bit % 64);
    pairer->full_words[bit / 64 / 64] &= ~(1ull << bit / 64 % 64);
}

static void free_all_tracks(struct kt_pairer *pairer, uint16_t used)
{
    memset(pairer->taken_tracks, 0, (used + 63u) / 64 * sizeof *pairer->taken_tracks);
    memset(pairer->full_words, 0, sizeof pairer->full_words);
}

/* Whether range [i, end] lies within the innermost one that is open on track 0; then it is open there. An unclosed range
 * ends at KT_NONE, behind everything. */
static int nests(struct kt_pairer *pairer, uint32_t *depth, uint32_t i, uint32_t end)
{
    while (*depth && pairer->nest[*depth - 1] < i)
        --*depth;
    if (*depth && end > pairer->nest[*depth - 1])
        return 0;
    pairer->nest[(*depth)++] = end;
    return 1;
}

static uint16_t assign_tracks(struct kt_pairer *pairer, struct kt_event *events, uint32_t count)
{
    uint32_t depth = 0;
    uint16_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct kt_event *event = &events[i];
        switch (event->site->kind) {
        case KTRACE_KIND_PUSH:
            if (nests(pairer, &depth, i, event->partner))
                break;
            /* fall through */
        case KTRACE_KIND_START:
            event->track = take_track(pairer);
            used = event->track > used ? event->track : used;
            break;
        case KTRACE_KIND_POP:
        case KTRACE_KIND_STOP:
            event->track = event->partner == KT_NONE ? 0 : events[event->partner].track;
            if (event->track)
                free_track(pairer, event->track);
            break;
        default: break;
        }
    }
    free_all_tracks(pairer, used);
    return used;
}

/* ---- Waves ------------------------------------------------------------------------------------------------------ */

int kt_pair_wave(struct kt_paired_wave *out, struct kt_pairer *pairer, struct kt_event *events, const uint16_t *tokens,
                 uint32_t count, const struct kt_site_index *sites)
{
    struct stacks stacks = {.events = events};
    *out = (struct kt_paired_wave){0};
    if (kt_array_reserve(&pairer->nest, &pairer->nest_capacity, count, sizeof *pairer->nest) < 0 ||
        kt_array_reserve(&pairer->pushes, &pairer->push_capacity, count, sizeof *pairer->pushes) < 0 ||
        kt_array_reserve(&pairer->claims, &pairer->claim_capacity, count, sizeof *pairer->claims) < 0)
        return KTRACE_ERROR_MEMORY;
    pairer->start_count = 0;
    stacks.pushes = pairer->pushes;
    stacks.claims = pairer->claims;
    for (uint32_t i = 0; i < count; i++) {
        int matched = 1;
        switch (events[i].site->kind) {
        case KTRACE_KIND_PUSH: push(&stacks, i); break;
        case KTRACE_KIND_POP: matched = pop(&stacks, i); break;
        case KTRACE_KIND_START:
            if (start(pairer, i, tokens[i], count, sites, events[i].site) < 0)
                return KTRACE_ERROR_MEMORY;
            break;
        case KTRACE_KIND_STOP: matched = stop(pairer, events, i, tokens[i], sites->indexed); break;
        default: break;
        }
        if (!matched) {
            events[i].flags |= KT_EVENT_UNMATCHED;
            out->ends_unmatched++;
        }
    }
    out->ranges_unclosed = settle(&stacks) + leave_open_starts(pairer, events);
    out->track_count = assign_tracks(pairer, events, count);
    return 0;
}

void kt_pairer_release(struct kt_pairer *pairer)
{
    free(pairer->starts);
    free(pairer->newest_of_name);
    free(pairer->newest_of_token);
    free(pairer->nest);
    free(pairer->pushes);
    free(pairer->claims);
    *pairer = (struct kt_pairer){0};
}
