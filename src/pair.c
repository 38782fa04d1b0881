#include "pair.h"

/* One token range. Open ones of equal name and lane are a list. */
struct kt_start {
    uint32_t token;
    uint32_t event;
    uint32_t list;         /* index into newest_start */
    uint32_t older, newer; /* 1 + index into starts; 0: none */
    uint32_t closed;
};

static inline void join(struct kt_event *events, uint32_t begin, uint32_t end)
{
    events[begin].partner = end;
    events[end].partner = begin;
}

/* ---- Stack ranges ----------------------------------------------------------------------------------------------- */

/* 1 + index of each lane's newest open push; 0: none. While a push is open its partner is the lane's next older one. */
struct stacks {
    uint32_t top[KTRACE_MAX_LANES];
};

static void push(struct stacks *stacks, struct kt_event *events, uint32_t i)
{
    uint32_t *top = &stacks->top[events[i].lane];
    events[i].partner = *top;
    *top = i + 1;
}

static uint32_t newest_lane(const struct stacks *stacks, uint32_t lane_count)
{
    uint32_t newest = 0;
    for (uint32_t lane = 1; lane < lane_count; lane++)
        if (stacks->top[lane] > stacks->top[newest])
            newest = lane;
    return newest;
}

static int pop(struct stacks *stacks, struct kt_event *events, uint32_t i)
{
    uint32_t lane = events[i].lane;
    if (!stacks->top[lane])
        lane = newest_lane(stacks, lane);
    if (!stacks->top[lane])
        lane = newest_lane(stacks, KTRACE_MAX_LANES);
    if (!stacks->top[lane])
        return 0;
    uint32_t begin = stacks->top[lane] - 1;
    stacks->top[lane] = events[begin].partner;
    join(events, begin, i);
    return 1;
}

static uint64_t leave_open_pushes(struct stacks *stacks, struct kt_event *events)
{
    uint64_t unclosed = 0;
    for (uint32_t lane = 0; lane < KTRACE_MAX_LANES; lane++)
        while (stacks->top[lane]) {
            struct kt_event *begin = &events[stacks->top[lane] - 1];
            stacks->top[lane] = begin->partner;
            begin->partner = KT_NONE;
            begin->flags |= KT_EVENT_UNCLOSED;
            unclosed++;
        }
    return unclosed;
}

/* ---- Token ranges ----------------------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static int collect_starts(struct kt_pairer *pairer, uint32_t *start_count, const struct kt_event *events,
                          const struct kt_token *tokens, uint32_t count, const struct kt_site_index *sites)
{
    uint32_t used = 0;
    int sorted = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].site->kind != KTRACE_KIND_START)
            continue;
        if (kt_array_reserve(&pairer->starts, &pairer->start_capacity, used + 1, sizeof *pairer->starts) < 0 ||
            kt_array_reserve(&pairer->by_token, &pairer->by_token_capacity, used + 1, sizeof *pairer->by_token) < 0)
            return KTRACE_ERROR_MEMORY;
        uint32_t list = kt_site_index_name(sites, events[i].site) * KTRACE_MAX_LANES + events[i].lane;
        pairer->starts[used] = (struct kt_start){.token = tokens[i].token, .event = i, .list = list};
        pairer->by_token[used] = (uint64_t)tokens[i].token << 32 | used;
        sorted &= used == 0 || pairer->by_token[used - 1] < pairer->by_token[used];
        used++;
    }
    /* tokens are clocks: out of order only where those wrap */
    if (!sorted)
        qsort(pairer->by_token, used, sizeof *pairer->by_token, compare_keys);
    if (used && !pairer->newest_start) {
        pairer->newest_start = kt_array_new_zeroed((size_t)sites->name_count * KTRACE_MAX_LANES, sizeof(uint32_t));
        if (!pairer->newest_start)
            return KTRACE_ERROR_MEMORY;
    }
    *start_count = used;
    return 0;
}

/* The newest of the first `seen` starts with this token, open or not. */
static struct kt_start *find_start(const struct kt_pairer *pairer, uint32_t start_count, uint32_t seen, uint32_t token)
{
    uint64_t limit = (uint64_t)token << 32 | seen;
    uint32_t low = 0, length = start_count;
    while (length) {
        uint32_t half = length / 2;
        int below = pairer->by_token[low + half] < limit;
        low = below ? low + half + 1 : low;
        length = below ? length - half - 1 : half;
    }
    if (low == 0 || pairer->by_token[low - 1] >> 32 != token)
        return NULL;
    return &pairer->starts[(uint32_t)pairer->by_token[low - 1]];
}

static void open_start(struct kt_pairer *pairer, uint32_t number)
{
    struct kt_start *start = &pairer->starts[number];
    uint32_t *newest = &pairer->newest_start[start->list];
    start->older = *newest;
    if (*newest)
        pairer->starts[*newest - 1].newer = number + 1;
    *newest = number + 1;
}

static void close_start(struct kt_pairer *pairer, struct kt_start *start)
{
    start->closed = 1;
    if (start->older)
        pairer->starts[start->older - 1].newer = start->newer;
    if (start->newer)
        pairer->starts[start->newer - 1].older = start->older;
    else
        pairer->newest_start[start->list] = start->older;
}

/* Lanes left a loop at different iterations, and the first of them holds a token that is used up: what is meant is the
 * latest range of that name which one of the others holds. */
static struct kt_start *start_of_other_lane(const struct kt_pairer *pairer, const struct kt_start *stale,
                                            uint32_t lanes)
{
    const uint32_t *newest = &pairer->newest_start[stale->list - stale->list % KTRACE_MAX_LANES];
    uint32_t latest = 0;
    for (; lanes; lanes &= lanes - 1) {
        uint32_t candidate = newest[__builtin_ctz(lanes)];
        latest = candidate > latest ? candidate : latest;
    }
    return latest ? &pairer->starts[latest - 1] : NULL;
}

static int stop(struct kt_pairer *pairer, struct kt_event *events, uint32_t i, const struct kt_token *token,
                uint32_t start_count, uint32_t seen)
{
    struct kt_start *start = find_start(pairer, start_count, seen, token->token);
    if (start && start->closed)
        start = start_of_other_lane(pairer, start, token->lanes);
    if (!start)
        return 0;
    close_start(pairer, start);
    join(events, start->event, i);
    return 1;
}

static uint64_t leave_open_starts(struct kt_pairer *pairer, struct kt_event *events, uint32_t start_count)
{
    uint64_t unclosed = 0;
    for (uint32_t i = 0; i < start_count; i++) {
        const struct kt_start *start = &pairer->starts[i];
        pairer->newest_start[start->list] = 0;
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

int kt_pair_wave(struct kt_paired_wave *out, struct kt_pairer *pairer, struct kt_event *events,
                 const struct kt_token *tokens, uint32_t count, const struct kt_site_index *sites)
{
    struct stacks stacks = {{0}};
    uint32_t start_count, seen = 0;
    *out = (struct kt_paired_wave){0};
    if (kt_array_reserve(&pairer->nest, &pairer->nest_capacity, count, sizeof *pairer->nest) < 0 ||
        collect_starts(pairer, &start_count, events, tokens, count, sites) < 0)
        return KTRACE_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        int matched = 1;
        switch (events[i].site->kind) {
        case KTRACE_KIND_PUSH: push(&stacks, events, i); break;
        case KTRACE_KIND_POP: matched = pop(&stacks, events, i); break;
        case KTRACE_KIND_START: open_start(pairer, seen++); break;
        case KTRACE_KIND_STOP: matched = stop(pairer, events, i, &tokens[i], start_count, seen); break;
        default: break;
        }
        if (!matched) {
            events[i].flags |= KT_EVENT_UNMATCHED;
            out->ends_unmatched++;
        }
    }
    out->ranges_unclosed = leave_open_pushes(&stacks, events) + leave_open_starts(pairer, events, start_count);
    out->track_count = assign_tracks(pairer, events, count);
    return 0;
}

void kt_pairer_release(struct kt_pairer *pairer)
{
    free(pairer->starts);
    free(pairer->by_token);
    free(pairer->newest_start);
    free(pairer->nest);
    *pairer = (struct kt_pairer){0};
}
