/* From a place's clock to time, once the knots are there. */
#include "clock.h"

#include <math.h>

#define CURSOR_STEPS 8

static size_t piece_at(const struct kt_clock_knot *knots, size_t count, uint64_t clock_ticks)
{
    size_t first = 0, end = count;
    while (end - first > 1) {
        size_t middle = first + (end - first) / 2;
        if (knots[middle].clock_ticks <= clock_ticks)
            first = middle;
        else
            end = middle;
    }
    return first;
}

static double ticks_from(const struct kt_clock_knot *knot, uint64_t clock_ticks)
{
    return clock_ticks >= knot->clock_ticks ? (double)(clock_ticks - knot->clock_ticks)
                                            : -(double)(knot->clock_ticks - clock_ticks);
}

double kt_clock_to_ns(const struct ktrace_trace *trace, const struct kt_place_clock *clock, uint64_t clock_ticks)
{
    const struct kt_clock_knot *knots = trace->knots + clock->first_knot;
    const struct kt_clock_knot *knot = &knots[piece_at(knots, clock->knot_count, clock_ticks)];
    return knot->wall_ns + knot->ns_per_tick * ticks_from(knot, clock_ticks);
}

/* To the nearest, halves away from zero, as llround does. That is a call, and this is done for every event. */
static int64_t to_ps(double ns)
{
    double ps = ns * 1000;
    if (!(ps > -9.2e18))
        return INT64_C(-9200000000000000000);
    if (ps > 9.2e18)
        return INT64_C(9200000000000000000);
    int64_t whole = (int64_t)ps;
    double rest = ps - (double)whole; /* exact */
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

static void enter_piece(struct kt_clock_cursor *cursor, size_t piece)
{
    cursor->piece = (uint32_t)piece;
    cursor->begin_ps = to_ps(cursor->knots[piece].wall_ns);
    cursor->end_ps = piece + 1 < cursor->knot_count ? to_ps(cursor->knots[piece + 1].wall_ns) : INT64_MAX;
}

static int64_t piece_ps(const struct kt_clock_cursor *cursor, uint64_t clock_ticks)
{
    const struct kt_clock_knot *knot = &cursor->knots[cursor->piece];
    int64_t ps, past_ps = to_ps(knot->ns_per_tick * ticks_from(knot, clock_ticks));
    if (__builtin_add_overflow(cursor->begin_ps, past_ps, &ps))
        ps = past_ps < 0 ? INT64_MIN : INT64_MAX;
    return ps < cursor->end_ps ? ps : cursor->end_ps; /* rounding must not carry a time over the next knot */
}

static int is_before(const struct kt_place_clock *clock, uint32_t device, uint32_t place)
{
    return clock->device < device || (clock->device == device && clock->place < place);
}

const struct kt_place_clock *kt_clock_of_place(const struct ktrace_trace *trace, uint32_t device, uint32_t place)
{
    size_t first = 0, end = trace->place_clock_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (is_before(&trace->place_clocks[middle], device, place))
            first = middle + 1;
        else
            end = middle;
    }
    if (first == trace->place_clock_count)
        return NULL;
    const struct kt_place_clock *clock = &trace->place_clocks[first];
    return clock->device == device && clock->place == place ? clock : NULL;
}

int64_t kt_clock_to_ps(const struct ktrace_trace *trace, const struct kt_place_clock *clock, uint64_t clock_ticks)
{
    struct kt_clock_cursor cursor = {.knots = trace->knots + clock->first_knot, .knot_count = clock->knot_count};
    enter_piece(&cursor, piece_at(cursor.knots, cursor.knot_count, clock_ticks));
    return piece_ps(&cursor, clock_ticks);
}

void kt_clock_cursor_begin(struct kt_clock_cursor *cursor, const struct ktrace_trace *trace, uint32_t device,
                           uint32_t place)
{
    const struct kt_place_clock *clock = kt_clock_of_place(trace, device, place);
    *cursor = (struct kt_clock_cursor){.knots = NULL};
    if (!clock)
        return;
    cursor->knots = trace->knots + clock->first_knot;
    cursor->knot_count = clock->knot_count;
    enter_piece(cursor, 0);
}

int64_t kt_clock_cursor_ps(struct kt_clock_cursor *cursor, uint64_t clock_ticks)
{
    if (!cursor->knots)
        return 0;
    size_t piece = cursor->piece;
    if (clock_ticks < cursor->knots[piece].clock_ticks)
        piece = piece_at(cursor->knots, cursor->knot_count, clock_ticks);
    /* A few steps, then by halving: every wave begins at the first piece, and a hostile file has a piece for each wave. */
    size_t near = piece + CURSOR_STEPS;
    while (piece + 1 < cursor->knot_count && cursor->knots[piece + 1].clock_ticks <= clock_ticks) {
        if (piece++ == near) {
            piece += piece_at(cursor->knots + piece, cursor->knot_count - piece, clock_ticks);
            break;
        }
    }
    if (piece != cursor->piece)
        enter_piece(cursor, piece);
    return piece_ps(cursor, clock_ticks);
}
