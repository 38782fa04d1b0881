/* Which end closes which begin, and on which track a range lies. */
#include "build_snapshot.h"
#include "trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One wave under construction: each event one tick of 100 after the last. */
struct scene {
    struct build *build;
    uint32_t wave, kernel, a, b, pop, mark, t, u, stop, next;
    uint64_t clock;
};

static struct scene begin_rings(uint32_t main_slots, uint32_t lane_slots)
{
    struct scene s = {.build = build_begin(main_slots, lane_slots), .clock = 1000};
    uint32_t module = build_module(s.build, 0x200);
    s.kernel = build_site(s.build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "kernel");
    s.a = build_site(s.build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "a");
    s.b = build_site(s.build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "b");
    s.pop = build_site(s.build, module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "");
    s.mark = build_site(s.build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "mark");
    s.t = build_site(s.build, module, KTRACE_KIND_START, KTRACE_PAYLOAD_NONE, "t");
    s.u = build_site(s.build, module, KTRACE_KIND_START, KTRACE_PAYLOAD_NONE, "u");
    s.stop = build_site(s.build, module, KTRACE_KIND_STOP, KTRACE_PAYLOAD_NONE, "");
    s.next = build_site(s.build, module, KTRACE_KIND_NEXT, KTRACE_PAYLOAD_NONE, "t");
    s.wave = build_wave(s.build, &(struct build_wave){.kernel = s.kernel, .start_clock = 1000});
    return s;
}

static struct scene begin_ring(uint32_t ring_slots)
{
    return begin_rings(ring_slots, 16);
}

static struct scene begin(void)
{
    return begin_ring(256);
}

static uint32_t at(struct scene *s, uint32_t lane, uint32_t site)
{
    return build_event(s->build, s->wave, lane, s->clock += 100, site);
}

static void stop(struct scene *s, uint32_t lane, uint32_t token)
{
    build_stop(s->build, s->wave, lane, s->clock += 100, s->stop, token);
}

static uint32_t next(struct scene *s, uint32_t lane, uint32_t token)
{
    return build_next(s->build, s->wave, lane, s->clock += 100, s->next, token);
}

static struct ktrace_trace *trace_of(struct scene *s)
{
    struct ktrace_trace *trace = NULL;
    if (kt_trace_from_snapshot(&trace, build_finish(s->build)) < 0)
        fail_msg("%s", ktrace_last_error());
    return trace;
}

static struct ktrace_trace *finish(struct scene *s)
{
    build_end(s->build, s->wave, s->clock + 100);
    return trace_of(s);
}

static void joined(const struct ktrace_trace *trace, uint32_t begin, uint32_t end)
{
    assert_int_equal(trace->events[begin].partner, end);
    assert_int_equal(trace->events[end].partner, begin);
    assert_int_equal(trace->events[begin].track, trace->events[end].track);
    assert_int_equal((trace->events[begin].flags | trace->events[end].flags) & ~KT_EVENT_PAYLOAD, 0);
}

static void alone(const struct ktrace_trace *trace, uint32_t index, uint8_t flag)
{
    assert_int_equal(trace->events[index].partner, KT_NONE);
    assert_int_equal(trace->events[index].flags, flag);
}

static void counts(const struct ktrace_trace *trace, uint64_t unclosed, uint64_t unmatched)
{
    assert_int_equal(trace->ranges_unclosed, unclosed);
    assert_int_equal(trace->ends_unmatched, unmatched);
}

/* Show the events as the exporter does, in array order: on track 0 an end closes the innermost range, on a child track there
 * is one range at a time, and no lower track was free. */
static void tracks_are_sound(const struct ktrace_trace *trace, const struct kt_wave *wave)
{
    const struct kt_event *events = trace->events + wave->first_event;
    uint32_t *open = calloc(wave->event_count + 1, sizeof *open), depth = 0; /* begins on track 0 */
    uint8_t *busy = calloc(wave->track_count + 2u, 1);
    uint16_t used = 0;
    for (uint32_t i = 0; i < wave->event_count; i++) {
        const struct kt_event *event = &events[i];
        int kind = event->site->kind, begin = kind == KTRACE_KIND_PUSH || kind == KTRACE_KIND_START;
        assert_true(event->track <= wave->track_count);
        if (event->partner != KT_NONE)
            assert_int_equal(events[event->partner].partner, i);
        if (begin)
            assert_true(event->partner == KT_NONE ? event->flags & KT_EVENT_UNCLOSED : event->partner > i);
        if (begin && event->track) {
            assert_int_equal(busy[event->track]++, 0);
            for (uint16_t t = 1; t < event->track; t++)
                assert_int_equal(busy[t], 1);
            used = event->track > used ? event->track : used;
        } else if (begin) {
            assert_int_equal(kind, KTRACE_KIND_PUSH);
            open[depth++] = i;
        } else if (kind != KTRACE_KIND_MARK && event->partner != KT_NONE && event->track) {
            busy[event->track]--;
        } else if (kind != KTRACE_KIND_MARK && event->partner != KT_NONE) {
            assert_true(depth > 0);
            assert_int_equal(open[--depth], event->partner);
        } else if (kind != KTRACE_KIND_MARK) {
            assert_true(event->flags & (KT_EVENT_UNMATCHED | KT_EVENT_SUPERSEDED));
        }
    }
    while (depth)
        assert_true(events[open[--depth]].flags & KT_EVENT_UNCLOSED);
    assert_int_equal(used, wave->track_count);
    free(busy);
    free(open);
}

/* ---- Stack ranges ----------------------------------------------------------------------------------------------- */

static void ranges_nest(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.a);
    at(&s, 0, s.b);
    at(&s, 0, s.mark);
    at(&s, 0, s.pop);
    at(&s, 0, s.b);
    at(&s, 0, s.pop);
    at(&s, 0, s.pop);
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 0, 6);
    joined(trace, 1, 3);
    joined(trace, 4, 5);
    alone(trace, 2, 0);
    counts(trace, 0, 0);
    assert_int_equal(trace->waves[0].track_count, 0);
    ktrace_trace_destroy(trace);
}

static void a_pop_prefers_its_own_lane(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.a);
    at(&s, 5, s.b);
    at(&s, 0, s.pop);
    at(&s, 5, s.pop);
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 0, 2);
    joined(trace, 1, 3);
    assert_int_equal(trace->events[0].track, 0);
    assert_int_equal(trace->events[1].track, 1); /* would cross on the wave's own track */
    tracks_are_sound(trace, trace->waves);
    ktrace_trace_destroy(trace);
}

/* Opened by all, closed in a branch that lane 0 does not take. */
static void a_pop_in_a_branch_closes_what_a_lower_lane_opened(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.a);
    at(&s, 3, s.b);
    at(&s, 7, s.pop);
    at(&s, 7, s.pop);
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 1, 2);
    joined(trace, 0, 3);
    counts(trace, 0, 0);
    ktrace_trace_destroy(trace);
}

/* Lane 5's own is taken first, then the newest of the lower lanes, although a higher lane has a newer one. */
static void a_pop_prefers_lower_lanes_to_higher(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 2, s.a);
    at(&s, 9, s.b);
    at(&s, 5, s.pop);
    at(&s, 9, s.pop);
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 0, 2);
    joined(trace, 1, 3);
    ktrace_trace_destroy(trace);
}

/* Opened in a branch that lane 5 leads, closed by lane 0 after the branches have met. */
static void a_pop_after_reconvergence_closes_a_higher_lanes_push(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 5, s.a);
    at(&s, 9, s.b);
    at(&s, 0, s.pop);
    at(&s, 0, s.pop);
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 1, 2);
    joined(trace, 0, 3);
    counts(trace, 0, 0);
    ktrace_trace_destroy(trace);
}

static void both_sides_of_a_branch_have_ranges(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.a);
    at(&s, 0, s.b); /* then-side */
    at(&s, 0, s.pop);
    at(&s, 16, s.b); /* else-side */
    at(&s, 16, s.pop);
    at(&s, 0, s.pop);
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 1, 2);
    joined(trace, 3, 4);
    joined(trace, 0, 5);
    assert_int_equal(trace->waves[0].track_count, 0);
    ktrace_trace_destroy(trace);
}

/* Lane 0 recorded the push for all; each side pops it. */
static void both_sides_of_a_branch_pop_one_push(void **state)
{
    (void)state;
    for (uint32_t first = 0; first <= 16; first += 16) {
        struct scene s = begin();
        at(&s, 0, s.a);
        at(&s, first, s.mark);
        at(&s, first, s.pop);
        at(&s, 16 - first, s.mark);
        at(&s, 16 - first, s.pop);
        at(&s, 0, s.b);
        at(&s, 0, s.pop);
        struct ktrace_trace *trace = finish(&s);
        joined(trace, 0, 4);
        alone(trace, 2, KT_EVENT_SUPERSEDED);
        joined(trace, 5, 6);
        counts(trace, 0, 0);
        assert_string_equal(ktrace_trace_warning(trace), "");
        tracks_are_sound(trace, trace->waves);
        ktrace_trace_destroy(trace);
    }
}

/* The same with a range around it, which the second pop must not close for good. */
static void both_sides_of_a_branch_pop_within_a_range(void **state)
{
    (void)state;
    for (uint32_t first = 0; first <= 16; first += 16) {
        struct scene s = begin();
        at(&s, 0, s.a);
        for (int i = 0; i < 3; i++) {
            at(&s, 0, s.b);
            at(&s, first, s.pop);
            at(&s, 16 - first, s.pop);
        }
        at(&s, 0, s.pop);
        struct ktrace_trace *trace = finish(&s);
        joined(trace, 0, 10);
        for (uint32_t i = 1; i < 10; i += 3)
            assert_true(trace->events[i].partner == i + 1 || trace->events[i].partner == i + 2);
        counts(trace, 0, 0);
        assert_int_equal(trace->waves[0].track_count, 0);
        tracks_are_sound(trace, trace->waves);
        ktrace_trace_destroy(trace);
    }
}

/* Ranges a > b, and a third one, b', that was closed before. Lanes 16... return inside of b: their two pops come first. */
static void the_upper_half_returns_early(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.a);    /* 0 */
    at(&s, 0, s.b);    /* 1: b' */
    at(&s, 0, s.pop);  /* 2 */
    at(&s, 0, s.b);    /* 3 */
    at(&s, 16, s.pop); /* 4 */
    at(&s, 16, s.pop); /* 5 */
    at(&s, 0, s.mark); /* 6 */
    at(&s, 0, s.pop);  /* 7 */
    at(&s, 0, s.pop);  /* 8 */
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 0, 8);
    joined(trace, 1, 2);
    joined(trace, 3, 7);
    alone(trace, 4, KT_EVENT_SUPERSEDED);
    alone(trace, 5, KT_EVENT_SUPERSEDED);
    counts(trace, 0, 0);
    assert_int_equal(trace->waves[0].track_count, 0);
    ktrace_trace_destroy(trace);
}

/* One lane after the other returns out of a loop, through the turn's range and the one around the loop. */
static void lanes_return_from_a_loop_one_by_one(void **state)
{
    (void)state;
    struct scene s = begin();
    uint32_t turns[5], ends[5], count = 0;
    at(&s, 0, s.a);
    count++;
    for (uint32_t lane = 0; lane < 5; lane++) {
        turns[lane] = count++;
        at(&s, lane, s.b);
        at(&s, lane, s.pop); /* the leading lane leaves the turn and the loop, for good */
        at(&s, lane, s.pop);
        count += 2;
        ends[lane] = count++;
        at(&s, lane + 1, s.pop); /* the others leave the turn */
    }
    at(&s, 5, s.mark);
    at(&s, 5, s.pop);
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 0, count + 1);
    for (uint32_t lane = 0; lane < 5; lane++)
        joined(trace, turns[lane], ends[lane]);
    counts(trace, 0, 0);
    assert_int_equal(trace->waves[0].track_count, 0);
    ktrace_trace_destroy(trace);
}

/* The lanes that lead return first, and the others go on, with ranges of their own. */
static void the_lower_half_returns_early(void **state)
{
    (void)state;
    for (int inside = 0; inside < 2; inside++) {
        struct scene s = begin();
        at(&s, 0, s.a); /* 0 */
        if (!inside) {
            at(&s, 0, s.a); /* 1: closed before b begins */
            at(&s, 0, s.pop);
            at(&s, 0, s.b); /* 3 */
        } else {
            at(&s, 0, s.b); /* 1 */
            at(&s, 0, s.a); /* 2: closed inside of b */
            at(&s, 0, s.pop);
        }
        uint32_t outer = 0, inner = inside ? 1 : 3, closed = inside ? 2 : 1;
        at(&s, 0, s.pop);   /* 4 */
        at(&s, 0, s.pop);   /* 5 */
        at(&s, 16, s.mark); /* 6 */
        at(&s, 16, s.b);    /* 7 */
        at(&s, 16, s.pop);  /* 8 */
        at(&s, 16, s.pop);  /* 9 */
        at(&s, 16, s.mark); /* 10 */
        at(&s, 16, s.pop);  /* 11 */
        struct ktrace_trace *trace = finish(&s);
        joined(trace, outer, 11);
        joined(trace, inner, 9);
        joined(trace, closed, closed + 1);
        joined(trace, 7, 8);
        alone(trace, 4, KT_EVENT_SUPERSEDED);
        alone(trace, 5, KT_EVENT_SUPERSEDED);
        counts(trace, 0, 0);
        assert_int_equal(trace->waves[0].track_count, 0);
        ktrace_trace_destroy(trace);
    }
}

/* Four groups return out of two ranges one after the other, in every order of three of them. */
static void groups_return_one_after_the_other(void **state)
{
    static const uint32_t orders[][4] = {
        {0, 8, 16, 24}, {24, 16, 8, 0}, {8, 0, 24, 16}, {16, 24, 0, 8}, {8, 24, 16, 0}};
    (void)state;
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        struct scene s = begin();
        at(&s, 0, s.a);
        at(&s, 0, s.b);
        for (int i = 0; i < 4; i++) {
            at(&s, orders[o][i], s.mark);
            at(&s, orders[o][i], s.pop);
            at(&s, orders[o][i], s.pop);
        }
        struct ktrace_trace *trace = finish(&s);
        joined(trace, 0, 13);
        joined(trace, 1, 12);
        for (uint32_t i = 2; i < 11; i += 3) {
            alone(trace, i + 1, KT_EVENT_SUPERSEDED);
            alone(trace, i + 2, KT_EVENT_SUPERSEDED);
        }
        counts(trace, 0, 0);
        ktrace_trace_destroy(trace);
    }
}

/* Pops of two sides take turns, as they do where lanes are scheduled on their own. */
static void pops_of_two_sides_interleave(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.a);    /* 0 */
    at(&s, 0, s.b);    /* 1 */
    at(&s, 0, s.pop);  /* 2 */
    at(&s, 16, s.pop); /* 3: takes a, wrongly, until lane 0 does */
    at(&s, 0, s.pop);  /* 4 */
    at(&s, 16, s.pop); /* 5 */
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 1, 2);
    joined(trace, 0, 5);
    alone(trace, 3, KT_EVENT_SUPERSEDED);
    alone(trace, 4, KT_EVENT_SUPERSEDED);
    counts(trace, 0, 0);
    ktrace_trace_destroy(trace);
}

/* A branch inside a branch, each side with ranges of its own, and a return out of the inner one. */
static void divergence_nests(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.a);    /* 0: all */
    at(&s, 16, s.b);   /* 1: 16... in a branch */
    at(&s, 24, s.a);   /* 2: 24... in a branch of that */
    at(&s, 24, s.pop); /* 3 */
    at(&s, 24, s.pop); /* 4: return: b ... */
    at(&s, 24, s.pop); /* 5: ... and a */
    at(&s, 16, s.mark);
    at(&s, 16, s.pop); /* 7: of b */
    at(&s, 0, s.b);    /* 8: the other side */
    at(&s, 0, s.pop);  /* 9 */
    at(&s, 0, s.pop);  /* 10: of a */
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 0, 10);
    joined(trace, 1, 7);
    joined(trace, 2, 3);
    alone(trace, 4, KT_EVENT_SUPERSEDED);
    alone(trace, 5, KT_EVENT_SUPERSEDED);
    joined(trace, 8, 9);
    counts(trace, 0, 0);
    tracks_are_sound(trace, trace->waves);
    ktrace_trace_destroy(trace);
}

/* A range that two sides leave at different times ends with the last, and then holds what it would have crossed. */
static void final_ends_decide_the_track(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.a);
    at(&s, 16, s.b);
    at(&s, 0, s.pop);
    at(&s, 16, s.pop);
    at(&s, 16, s.pop);
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 0, 4);
    joined(trace, 1, 3);
    alone(trace, 2, KT_EVENT_SUPERSEDED);
    counts(trace, 0, 0);
    assert_int_equal(trace->waves[0].track_count, 0);
    tracks_are_sound(trace, trace->waves);
    ktrace_trace_destroy(trace);
}

static void a_push_in_a_branch_leaves_lane_0s_alone(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.a);
    at(&s, 0, s.b);
    at(&s, 16, s.a);
    at(&s, 16, s.b);
    at(&s, 16, s.pop);
    at(&s, 16, s.pop);
    at(&s, 0, s.pop);
    at(&s, 0, s.pop);
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 0, 7);
    joined(trace, 1, 6);
    joined(trace, 2, 5);
    joined(trace, 3, 4);
    assert_int_equal(trace->waves[0].track_count, 0);
    ktrace_trace_destroy(trace);
}

/* A pop too many closes nothing, however much was closed before; in a branch, once all that was closed is used up. */
static void stray_pops_are_unmatched(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 5, s.pop); /* 0 */
    for (int i = 0; i < 2; i++) {
        at(&s, 0, s.a); /* 1, 3 */
        at(&s, 0, s.pop);
    }
    at(&s, 0, s.pop); /* 5 */
    at(&s, 9, s.pop); /* 6: of the second */
    at(&s, 9, s.pop); /* 7: of the first, by then: 6 is of the second no more */
    at(&s, 9, s.pop); /* 8 */
    struct ktrace_trace *trace = finish(&s);
    alone(trace, 0, KT_EVENT_UNMATCHED);
    alone(trace, 5, KT_EVENT_UNMATCHED);
    joined(trace, 1, 6);
    joined(trace, 3, 7);
    alone(trace, 8, KT_EVENT_UNMATCHED);
    counts(trace, 0, 3);
    ktrace_trace_destroy(trace);
}

/* No pattern may take time that grows with the square: seconds here, or hours. */
static void many_pops_by_many_lanes(void **state)
{
    (void)state;
    for (int shape = 0; shape < 4; shape++) {
        struct scene s = begin_rings(1u << 18, 1u << 17);
        uint32_t n = 100000;
        for (uint32_t i = 0; i < n; i++) {
            at(&s, 0, s.a);
            if (shape == 1) { /* one after the other, both sides pop */
                at(&s, 0, s.pop);
                at(&s, 31, s.pop);
            } else if (shape == 2) { /* claimed by another lane, its own never comes */
                at(&s, 31, s.pop);
            } else if (shape == 3) {
                at(&s, 0, s.pop);
            }
        }
        for (uint32_t i = 0; shape == 0 && i < n; i++) /* deep, and all is popped three times */
            at(&s, 31, s.pop);
        for (uint32_t i = 0; shape == 0 && i < n; i++)
            at(&s, 0, s.pop);
        for (uint32_t i = 0; (shape == 0 || shape == 3) && i < n; i++)
            at(&s, 30, s.pop);
        struct ktrace_trace *trace = finish(&s);
        counts(trace, 0, 0);
        if (shape == 0)
            joined(trace, 0, 4 * n - 1);
        if (shape != 3)
            tracks_are_sound(trace, trace->waves);
        ktrace_trace_destroy(trace);
    }
}

static void ends_without_begins_are_counted(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.pop);
    at(&s, 0, s.a);
    at(&s, 0, s.pop);
    at(&s, 0, s.pop);
    stop(&s, 0, 12345);
    struct ktrace_trace *trace = finish(&s);
    alone(trace, 0, KT_EVENT_UNMATCHED);
    joined(trace, 1, 2);
    alone(trace, 3, KT_EVENT_UNMATCHED);
    alone(trace, 4, KT_EVENT_UNMATCHED);
    counts(trace, 0, 3);
    assert_string_equal(ktrace_trace_warning(trace), "3 pops or stops have no begin");
    ktrace_trace_destroy(trace);
}

static void begins_without_ends_are_unclosed(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.a);
    at(&s, 0, s.t);
    at(&s, 3, s.b);
    at(&s, 0, s.mark);
    struct ktrace_trace *trace = trace_of(&s);
    alone(trace, 0, KT_EVENT_UNCLOSED);
    alone(trace, 1, KT_EVENT_UNCLOSED);
    alone(trace, 2, KT_EVENT_UNCLOSED);
    assert_int_equal(trace->events[0].track, 0);
    assert_int_equal(trace->events[1].track, 1);
    assert_int_equal(trace->events[2].track, 0);
    counts(trace, 3, 0);
    assert_string_equal(ktrace_trace_warning(trace), "1 wave is unfinished, 3 ranges are unclosed");
    struct ktrace_event_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_event(&info, trace, 0, 0), 0);
    assert_int_equal(info.partner, KTRACE_NO_INDEX);
    ktrace_trace_destroy(trace);
}

static void a_wrapped_ring_has_ends_without_begins(void **state)
{
    (void)state;
    struct scene s = begin_ring(8);
    at(&s, 0, s.a);
    for (int i = 0; i < 4; i++) {
        at(&s, 0, s.b);
        at(&s, 0, s.pop);
    }
    at(&s, 0, s.pop);
    struct ktrace_trace *trace = finish(&s);
    assert_int_equal(trace->slots_lost, 2);
    alone(trace, 0, KT_EVENT_UNMATCHED);
    joined(trace, 1, 2);
    alone(trace, 7, KT_EVENT_UNMATCHED);
    counts(trace, 0, 2);
    ktrace_trace_destroy(trace);
}

/* ---- Token ranges ----------------------------------------------------------------------------------------------- */

static void tokens_pair_in_any_order(void **state)
{
    (void)state;
    struct scene s = begin();
    uint32_t first = at(&s, 0, s.t), second = at(&s, 0, s.t), third = at(&s, 0, s.u);
    stop(&s, 0, second);
    stop(&s, 0, third);
    stop(&s, 0, first);
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 1, 3);
    joined(trace, 2, 4);
    joined(trace, 0, 5);
    counts(trace, 0, 0);
    assert_int_equal(trace->waves[0].track_count, 3);
    struct ktrace_event_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_event(&info, trace, 0, 4), 0);
    assert_string_equal(info.name, "u");
    assert_int_equal(info.kind, KTRACE_KIND_STOP);
    ktrace_trace_destroy(trace);
}

static void a_token_range_crosses_lanes(void **state)
{
    (void)state;
    struct scene s = begin();
    uint32_t token = at(&s, 5, s.t);
    stop(&s, 0, token);
    token = at(&s, 0, s.t);
    stop(&s, 9, token);
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 0, 1);
    joined(trace, 2, 3);
    assert_int_equal(trace->waves[0].track_count, 1);
    ktrace_trace_destroy(trace);
}

/* Both sides of a branch stop what was started before it. */
static void a_token_range_ends_with_the_last_lanes_stop(void **state)
{
    (void)state;
    struct scene s = begin();
    uint32_t token = at(&s, 0, s.t);
    stop(&s, 16, token);
    stop(&s, 0, token);
    stop(&s, 0, token); /* one too many */
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 0, 2);
    alone(trace, 1, KT_EVENT_SUPERSEDED);
    alone(trace, 3, KT_EVENT_UNMATCHED);
    counts(trace, 0, 1);
    ktrace_trace_destroy(trace);
}

/* B6, B7: the token of a start is the start's, whatever was recorded beside it. */
static void a_token_of_another_wave_closes_nothing(void **state)
{
    (void)state;
    struct scene s = begin();
    uint32_t token = at(&s, 0, s.t);
    s.wave = build_wave(s.build, &(struct build_wave){.kernel = s.kernel, .grid_id = 1, .start_clock = s.clock});
    stop(&s, 0, token);
    struct ktrace_trace *trace = finish(&s);
    counts(trace, 1, 1);
    ktrace_trace_destroy(trace);
}

/* Lanes run a loop with a range in each iteration, carried into the next; lane 0 leaves first. Its token is used up when the
 * others stop theirs. */
static void a_used_up_token_stands_for_the_latest_of_its_name(void **state)
{
    (void)state;
    struct scene s = begin();
    uint32_t stale = at(&s, 0, s.t); /* 0: held by all */
    stop(&s, 0, stale);              /* 1 */
    at(&s, 7, s.t);                  /* 2 */
    at(&s, 5, s.t);                  /* 3: lanes 5... in the next iteration */
    at(&s, 9, s.u);                  /* 4: another name */
    stop(&s, 0, stale);              /* 5 */
    stop(&s, 0, stale);              /* 6 */
    stop(&s, 0, stale);              /* 7: nothing is left for it */
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 0, 1);
    joined(trace, 3, 5);
    joined(trace, 2, 6);
    alone(trace, 4, KT_EVENT_UNCLOSED);
    alone(trace, 7, KT_EVENT_UNMATCHED);
    counts(trace, 1, 1);
    ktrace_trace_destroy(trace);
}

/* What a stop has of a token repeats after 2^16 ticks: the newest that is open is meant. */
static void the_newest_open_range_of_half_a_token(void **state)
{
    (void)state;
    struct scene s = begin();
    uint32_t tokens[4];
    for (int i = 0; i < 4; i++) {
        tokens[i] = at(&s, 0, i % 2 ? s.t : s.u);
        s.clock += 0x10000 - 100;
    }
    stop(&s, 0, tokens[0]); /* 4: of 3 */
    stop(&s, 0, tokens[0]); /* 5: of 2 */
    s.clock = 1000 + 5 * 0x10000;
    at(&s, 5, s.t);         /* 6 */
    stop(&s, 0, tokens[0]); /* 7: of 6 */
    stop(&s, 0, tokens[0]); /* 8: of 1 */
    stop(&s, 0, tokens[0]); /* 9: of 0 */
    stop(&s, 0, tokens[0]); /* 10 */
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 3, 4);
    joined(trace, 2, 5);
    joined(trace, 6, 7);
    joined(trace, 1, 8);
    joined(trace, 0, 9);
    alone(trace, 10, KT_EVENT_UNMATCHED);
    ktrace_trace_destroy(trace);
}

/* A next closes like a stop does, also what another lane started, and what it opens is closed like any other. */
static void nexts_pair_like_stops_and_starts(void **state)
{
    (void)state;
    struct scene s = begin();
    uint32_t token = at(&s, 5, s.u); /* 0 */
    token = next(&s, 5, token);      /* 1, 2 */
    next(&s, 0, token);              /* 3, 4 */
    next(&s, 0, 0);                  /* 5: of nothing */
    next(&s, 0, token);              /* 6, 7: used up: the latest of its name */
    struct ktrace_trace *trace = finish(&s);
    assert_int_equal(trace->event_count, 8);
    joined(trace, 0, 1);
    joined(trace, 2, 3);
    joined(trace, 5, 6);
    alone(trace, 4, KT_EVENT_UNCLOSED);
    alone(trace, 7, KT_EVENT_UNCLOSED);
    counts(trace, 2, 0);
    tracks_are_sound(trace, trace->waves);
    ktrace_trace_destroy(trace);
}

/* Low halves of clocks repeat after 2^32 ticks, and tokens are then out of order. */
static void tokens_survive_a_clock_wrap(void **state)
{
    (void)state;
    struct scene s = begin();
    uint32_t tokens[6];
    for (int i = 0; i < 6; i++) {
        s.clock += 0x50000000;
        tokens[i] = at(&s, 0, s.t);
    }
    for (int i = 5; i >= 0; i--)
        stop(&s, 0, tokens[i]);
    struct ktrace_trace *trace = finish(&s);
    for (uint32_t i = 0; i < 6; i++)
        joined(trace, i, 11 - i);
    ktrace_trace_destroy(trace);
}

/* Nothing of a wave reaches the next: neither its open ranges nor its tracks. */
static void waves_are_independent(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.t);
    at(&s, 0, s.t);
    at(&s, 0, s.a);
    build_end(s.build, s.wave, s.clock + 100);
    s.wave = build_wave(s.build, &(struct build_wave){.kernel = s.kernel, .grid_id = 1, .start_clock = s.clock});
    uint32_t token = at(&s, 0, s.t);
    stop(&s, 0, token);
    stop(&s, 0, token);
    at(&s, 0, s.pop);
    struct ktrace_trace *trace = finish(&s);
    const struct kt_event *events = trace->events + trace->waves[1].first_event;
    assert_int_equal(events[0].partner, 1);
    assert_int_equal(events[0].track, 1);
    assert_int_equal(events[2].partner, KT_NONE);
    assert_int_equal(events[3].partner, KT_NONE);
    assert_int_equal(trace->waves[0].track_count, 2);
    assert_int_equal(trace->waves[1].track_count, 1);
    counts(trace, 3, 2);
    ktrace_trace_destroy(trace);
}

/* ---- Tracks ----------------------------------------------------------------------------------------------------- */

static void overlapping_token_ranges_take_the_first_free_track(void **state)
{
    (void)state;
    struct scene s = begin();
    uint32_t first = at(&s, 0, s.t), second = at(&s, 0, s.t);
    stop(&s, 0, first);
    uint32_t third = at(&s, 0, s.t);
    stop(&s, 0, second);
    stop(&s, 0, third);
    at(&s, 0, s.t);
    struct ktrace_trace *trace = finish(&s);
    assert_int_equal(trace->events[0].track, 1);
    assert_int_equal(trace->events[1].track, 2);
    assert_int_equal(trace->events[3].track, 1);
    assert_int_equal(trace->events[6].track, 1);
    assert_int_equal(trace->waves[0].track_count, 2);
    tracks_are_sound(trace, trace->waves);
    ktrace_trace_destroy(trace);
}

/* Equal clocks: what counts is the order in the ring, in which events are shown. */
static void ranges_that_touch_share_a_track(void **state)
{
    (void)state;
    struct scene s = begin();
    uint32_t token = at(&s, 0, s.t);
    stop(&s, 0, token);
    build_event(s.build, s.wave, 0, s.clock, s.u);
    build_stop(s.build, s.wave, 0, s.clock, s.stop, (uint32_t)s.clock | 1);
    at(&s, 0, s.a);
    build_event(s.build, s.wave, 0, s.clock, s.b);
    build_event(s.build, s.wave, 0, s.clock, s.pop);
    build_event(s.build, s.wave, 0, s.clock, s.pop);
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 0, 1);
    joined(trace, 2, 3);
    joined(trace, 5, 6);
    joined(trace, 4, 7);
    assert_int_equal(trace->waves[0].track_count, 1);
    tracks_are_sound(trace, trace->waves);
    ktrace_trace_destroy(trace);
}

static void an_unclosed_range_holds_what_comes_behind_it(void **state)
{
    (void)state;
    struct scene s = begin();
    at(&s, 0, s.a);
    at(&s, 0, s.b);   /* closed by lane 0's pop: lies within a */
    at(&s, 5, s.a);   /* closed by nobody */
    at(&s, 0, s.pop); /* of b */
    struct ktrace_trace *trace = finish(&s);
    joined(trace, 1, 3);
    alone(trace, 0, KT_EVENT_UNCLOSED);
    alone(trace, 2, KT_EVENT_UNCLOSED);
    assert_int_equal(trace->events[1].track, 0);
    assert_int_equal(trace->events[2].track, 1);
    tracks_are_sound(trace, trace->waves);
    ktrace_trace_destroy(trace);
}

static void many_open_ranges_need_many_tracks(void **state)
{
    (void)state;
    struct scene s = begin_ring(0x40000);
    uint32_t first = at(&s, 0, s.t);
    s.clock += 2; /* to no other's half token */
    for (uint32_t i = 1; i < 70000; i++)
        at(&s, 0, s.t);
    stop(&s, 0, first);
    at(&s, 0, s.t);
    struct ktrace_trace *trace = finish(&s);
    assert_int_equal(trace->waves[0].track_count, 0xFFFF);
    assert_int_equal(trace->events[100].track, 101);
    assert_int_equal(trace->events[0xFFFE].track, 0xFFFF);
    assert_int_equal(trace->events[69999].track, 0xFFFF);
    assert_int_equal(trace->events[70001].track, 1);
    counts(trace, 70000, 0);
    ktrace_trace_destroy(trace);
}

static void any_events_make_sound_tracks(void **state)
{
    (void)state;
    srand(7);
    for (int round = 0; round < 300; round++) {
        struct scene s = begin();
        uint32_t tokens[200], token_count = 0, lanes = 1u + (uint32_t)(rand() % 4) * 7;
        for (int i = 0; i < 60 + rand() % 60; i++) {
            uint32_t lane = (uint32_t)rand() % lanes, pick = (uint32_t)rand() % 9;
            s.clock -= rand() % 2 ? 100 : 0;
            if (lane && pick > 5)
                lane = 0;
            if (lane && rand() % 2)
                continue;
            if (pick < 2)
                at(&s, lane, pick ? s.a : s.b);
            else if (pick < 4)
                at(&s, lane, s.pop);
            else if (pick < 6)
                tokens[token_count++] = at(&s, lane, pick == 4 ? s.t : s.u);
            else if (pick == 6)
                tokens[token_count++] = next(&s, lane, rand() % 4 ? (uint32_t)s.clock | 1 : 0);
            else if (token_count)
                stop(&s, lane, tokens[(uint32_t)rand() % token_count]);
        }
        struct ktrace_trace *trace = rand() % 2 ? finish(&s) : trace_of(&s);
        uint64_t unclosed = 0, unmatched = 0;
        for (uint64_t i = 0; i < trace->event_count; i++) {
            unclosed += (trace->events[i].flags & KT_EVENT_UNCLOSED) != 0;
            unmatched += (trace->events[i].flags & KT_EVENT_UNMATCHED) != 0;
        }
        counts(trace, unclosed, unmatched);
        tracks_are_sound(trace, trace->waves);
        ktrace_trace_destroy(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_nest),
        cmocka_unit_test(a_pop_prefers_its_own_lane),
        cmocka_unit_test(a_pop_in_a_branch_closes_what_a_lower_lane_opened),
        cmocka_unit_test(a_pop_prefers_lower_lanes_to_higher),
        cmocka_unit_test(a_pop_after_reconvergence_closes_a_higher_lanes_push),
        cmocka_unit_test(both_sides_of_a_branch_have_ranges),
        cmocka_unit_test(both_sides_of_a_branch_pop_one_push),
        cmocka_unit_test(both_sides_of_a_branch_pop_within_a_range),
        cmocka_unit_test(the_upper_half_returns_early),
        cmocka_unit_test(lanes_return_from_a_loop_one_by_one),
        cmocka_unit_test(the_lower_half_returns_early),
        cmocka_unit_test(groups_return_one_after_the_other),
        cmocka_unit_test(pops_of_two_sides_interleave),
        cmocka_unit_test(divergence_nests),
        cmocka_unit_test(final_ends_decide_the_track),
        cmocka_unit_test(a_push_in_a_branch_leaves_lane_0s_alone),
        cmocka_unit_test(stray_pops_are_unmatched),
        cmocka_unit_test(many_pops_by_many_lanes),
        cmocka_unit_test(ends_without_begins_are_counted),
        cmocka_unit_test(begins_without_ends_are_unclosed),
        cmocka_unit_test(a_wrapped_ring_has_ends_without_begins),
        cmocka_unit_test(tokens_pair_in_any_order),
        cmocka_unit_test(a_token_range_crosses_lanes),
        cmocka_unit_test(a_token_range_ends_with_the_last_lanes_stop),
        cmocka_unit_test(a_token_of_another_wave_closes_nothing),
        cmocka_unit_test(a_used_up_token_stands_for_the_latest_of_its_name),
        cmocka_unit_test(the_newest_open_range_of_half_a_token),
        cmocka_unit_test(nexts_pair_like_stops_and_starts),
        cmocka_unit_test(tokens_survive_a_clock_wrap),
        cmocka_unit_test(waves_are_independent),
        cmocka_unit_test(overlapping_token_ranges_take_the_first_free_track),
        cmocka_unit_test(ranges_that_touch_share_a_track),
        cmocka_unit_test(an_unclosed_range_holds_what_comes_behind_it),
        cmocka_unit_test(many_open_ranges_need_many_tracks),
        cmocka_unit_test(any_events_make_sound_tracks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
