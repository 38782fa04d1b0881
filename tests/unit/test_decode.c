/* Slots to events: rings that wrap, rings without a count, clocks that wrap, lanes, and garbage. */
#include "build_snapshot.h"
#include "error.h"
#include "trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TURN (1ull << 32)

struct sites {
    uint32_t kernel, mark, value, push, pop, start, stop, stop_value, next, next_value, wide, wide_value, wide_next;
};

static struct sites add_sites(struct build *build)
{
    uint32_t module = build_module(build, 0xFFC0); /* ids wrap around 2^16 */
    return (struct sites){
        .kernel = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "kernel"),
        .mark = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "mark"),
        .value = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_UINT64, "value"),
        .push = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "push"),
        .pop = build_site(build, module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, ""),
        .start = build_site(build, module, KTRACE_KIND_START, KTRACE_PAYLOAD_NONE, "start"),
        .stop = build_site(build, module, KTRACE_KIND_STOP, KTRACE_PAYLOAD_NONE, ""),
        .stop_value = build_site(build, module, KTRACE_KIND_STOP, KTRACE_PAYLOAD_UINT64, ""),
        .next = build_site(build, module, KTRACE_KIND_NEXT, KTRACE_PAYLOAD_NONE, "next"),
        .next_value = build_site(build, module, KTRACE_KIND_NEXT, KTRACE_PAYLOAD_UINT64, "next value"),
        .wide = build_wide_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "wide"),
        .wide_value = build_wide_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_UINT64, "wide value"),
        .wide_next = build_wide_site(build, module, KTRACE_KIND_NEXT, KTRACE_PAYLOAD_UINT64, "wide next")};
}

static struct ktrace_trace *decode(struct build *build)
{
    struct ktrace_trace *trace = NULL;
    if (kt_trace_from_snapshot(&trace, build_finish(build)) < 0)
        fail_msg("%s", ktrace_last_error());
    return trace;
}

static struct ktrace_event_info event_of(const struct ktrace_trace *trace, uint64_t wave, uint32_t index)
{
    struct ktrace_event_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_event(&info, trace, wave, index), 0);
    return info;
}

static uint64_t random_state;
static uint32_t random_u32(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) ^ (uint32_t)random_state << 31;
}

/* ---- Rings ------------------------------------------------------------------------------------------------------ */

static void marks_in_ring(uint32_t ring_slots, uint32_t marks, int finish)
{
    struct build *build = build_begin(ring_slots, 8);
    struct sites sites = add_sites(build);
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 1000});
    for (uint32_t i = 0; i < marks; i++)
        build_event(build, wave, 0, 2000 + 10 * i, sites.mark);
    if (finish)
        build_end(build, wave, 3000 + 10 * marks);
    struct ktrace_trace *trace = decode(build);

    uint32_t kept = marks < ring_slots ? marks : ring_slots;
    assert_int_equal(trace->event_count, kept);
    assert_int_equal(trace->slots_lost, marks - kept);
    assert_int_equal(trace->waves[0].slots_lost, marks - kept);
    assert_int_equal(trace->slots_corrupt, 0);
    assert_int_equal(trace->clocks_ambiguous, 0);
    assert_int_equal(trace->waves_unfinished, !finish);
    for (uint32_t i = 0; i < kept; i++)
        assert_int_equal(event_of(trace, 0, i).clock_ticks, 2000 + 10 * (marks - kept + i));
    ktrace_trace_destroy(trace);
}

static void rings_keep_the_newest_slots(void **state)
{
    static const uint32_t sizes[] = {1, 2, 8, 16, 64};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int finish = 0; finish < 2; finish++) {
            uint32_t n = sizes[s], counts[] = {0, n - 1, n, n + 1, 2 * n - 1, 2 * n, 2 * n + 1, 10 * n};
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                marks_in_ring(n, counts[c], finish);
        }
}

static void sequence_numbers_wrap(void **state)
{
    static const uint32_t marks[] = {65534, 65535, 65536, 65537, 65536 + 15, 65536 + 16, 65536 + 17};
    (void)state;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        marks_in_ring(16, marks[i], 1);
        marks_in_ring(32768, marks[i], 1);
        marks_in_ring(32768, marks[i], 0);
        if (marks[i] < 65536 + 16)
            marks_in_ring(16, marks[i], 0);
    }
    marks_in_ring(16, 3 * 65536 + 5, 1);
}

static void rings_larger_than_sequence_numbers(void **state)
{
    static const uint32_t sizes[] = {65536, 131072};
    (void)state;
    for (int s = 0; s < 2; s++) {
        marks_in_ring(sizes[s], 60000, 0);
        marks_in_ring(sizes[s], sizes[s] - 1, 0);
        marks_in_ring(sizes[s], sizes[s], 0);
        marks_in_ring(sizes[s], sizes[s] + 40000, 0);
        marks_in_ring(sizes[s], sizes[s] + 40000, 1);
    }
}

/* What the device stored, to compare with. */
struct model_event {
    uint64_t clock, payload;
    uint32_t index, slots; /* in its ring */
    uint32_t site;
};

static struct model_event store_random(struct build *build, uint32_t wave, const struct sites *sites, uint32_t index,
                                       uint64_t clock, uint32_t spoil)
{
    struct model_event event = {.clock = clock, .index = index, .payload = random_u32()};
    uint32_t pick = random_u32() % 11;
    if (spoil) { /* a payload that looks like an event where it lies */
        struct ktrace_slot lookalike = {(uint32_t)clock + 1, build_site_bits(build, sites->value),
                                        (uint16_t)(index + 1)};
        pick = 1;
        memcpy(&event.payload, &lookalike, sizeof event.payload);
    }
    switch (pick) {
    case 0:
    case 1:
        event.slots = 2;
        build_payload(build, wave, 0, clock, event.site = sites->value, event.payload);
        break;
    case 2:
        event.slots = 1;
        build_stop(build, wave, 0, clock, event.site = sites->stop, 99);
        break;
    case 3:
        event.slots = 2;
        build_stop_payload(build, wave, 0, clock, event.site = sites->stop_value, 99, event.payload);
        break;
    case 4:
        event.slots = 2;
        build_event(build, wave, 0, clock, event.site = sites->wide);
        break;
    case 5:
        event.slots = 3;
        build_payload(build, wave, 0, clock, event.site = sites->wide_value, event.payload);
        break;
    case 6: /* of nothing: one event */
        event.slots = 1;
        build_next(build, wave, 0, clock, event.site = sites->next, 0);
        break;
    case 7:
        event.slots = 2;
        build_next_payload(build, wave, 0, clock, event.site = sites->next_value, 0, event.payload);
        break;
    case 8:
        event.slots = 3;
        build_next_payload(build, wave, 0, clock, event.site = sites->wide_next, 0, event.payload);
        break;
    default:
        event.slots = 1;
        build_event(build, wave, 0, clock, event.site = sites->mark);
        break;
    }
    return event;
}

static void random_events_in_ring(uint32_t ring_slots, uint32_t events, int finish, int spoil)
{
    struct build *build = build_begin(ring_slots, 8);
    struct sites sites = add_sites(build);
    struct model_event *model = calloc(events, sizeof *model);
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 1000});
    uint32_t index = 1, first = 0, kept_slots = 0;
    for (uint32_t i = 0; i < events; i++) {
        model[i] = store_random(build, wave, &sites, index, 2000 + 10 * i, spoil && i % 5 == 0);
        index += model[i].slots;
    }
    if (finish)
        build_end(build, wave, 3000 + 10 * events);
    while (first < events && index - model[first].index > ring_slots)
        first++;
    for (uint32_t i = first; i < events; i++)
        kept_slots += model[i].slots;

    struct ktrace_trace *trace = decode(build);
    /* where such a payload is the oldest slot, nothing tells it from an event */
    int undecidable = spoil && first % 5 == 1 && model[first - 1].index + ring_slots == index - 1;
    if (undecidable)
        events = 0;
    else
        assert_int_equal(trace->event_count, events - first);
    if (!undecidable)
        assert_int_equal(trace->slots_lost, index - 1 - kept_slots);
    assert_int_equal(trace->slots_corrupt, 0);
    for (uint32_t i = first; i < events; i++) {
        const struct kt_event *event = &trace->events[i - first];
        assert_int_equal(event_of(trace, 0, i - first).clock_ticks, model[i].clock);
        if (event->flags & KT_EVENT_PAYLOAD)
            assert_int_equal(event->payload, model[i].payload);
        assert_int_equal(event->site->line, (model[i].site & 0xFFFF) * 10);
    }
    free(model);
    ktrace_trace_destroy(trace);
}

static void followers_straddle_the_wrap(void **state)
{
    (void)state;
    random_state = 1;
    for (uint32_t events = 0; events < 200; events++)
        for (int finish = 0; finish < 2; finish++) {
            random_events_in_ring(64, events, finish, 0);
            random_events_in_ring(16, events, finish, 0);
        }
}

static void payloads_that_look_like_events(void **state)
{
    (void)state;
    random_state = 2;
    for (uint32_t events = 0; events < 200; events++)
        for (int finish = 0; finish < 2; finish++)
            random_events_in_ring(64, events, finish, 1);
}

static void a_lane_ring_has_its_own_size(void **state)
{
    (void)state;
    struct build *build = build_begin(64, 4);
    struct sites sites = add_sites(build);
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel});
    for (uint32_t i = 0; i < 10; i++) {
        build_event(build, wave, 0, 100 + 10 * i, sites.mark);
        build_event(build, wave, 31, 105 + 10 * i, sites.mark);
    }
    build_end(build, wave, 1000);
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->event_count, 14);
    assert_int_equal(trace->slots_lost, 6);
    assert_int_equal(event_of(trace, 0, 6).clock_ticks, 160);
    assert_int_equal(event_of(trace, 0, 7).clock_ticks, 165);
    assert_int_equal(event_of(trace, 0, 7).lane, 31);
    ktrace_trace_destroy(trace);
}

/* ---- Payloads --------------------------------------------------------------------------------------------------- */

static void payload_zero_is_not_absent(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    struct sites sites = add_sites(build);
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel});
    build_payload(build, wave, 0, 10, sites.value, 0);
    build_event(build, wave, 0, 20, sites.mark);
    build_payload(build, wave, 0, 30, sites.value, UINT64_MAX);
    build_payload(build, wave, 0, 40, sites.wide_value, 0);
    build_stop_payload(build, wave, 0, 50, sites.stop_value, 1, 7);
    build_end(build, wave, 60);
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->event_count, 5);
    assert_int_equal(trace->events[0].flags & KT_EVENT_PAYLOAD, KT_EVENT_PAYLOAD);
    assert_int_equal(trace->events[0].payload, 0);
    assert_int_equal(trace->events[1].flags & KT_EVENT_PAYLOAD, 0);
    assert_int_equal(event_of(trace, 0, 1).payload_type, KTRACE_PAYLOAD_NONE);
    assert_int_equal(trace->events[2].payload, UINT64_MAX);
    assert_int_equal(trace->events[3].flags & KT_EVENT_PAYLOAD, KT_EVENT_PAYLOAD);
    assert_string_equal(event_of(trace, 0, 3).name, "wide value");
    assert_int_equal(trace->events[4].payload, 7);
    ktrace_trace_destroy(trace);
}

/* What a type of 32 bits leaves in the upper half of its slot is nobody's. */
static void payloads_are_extended_to_64_bits(void **state)
{
    static const struct {
        enum ktrace_payload_type type;
        uint64_t stored, decoded;
    } cases[] = {
        {KTRACE_PAYLOAD_BOOL, 0xDEADBEEF00000001, 1},
        {KTRACE_PAYLOAD_BOOL, 0xDEADBEEF00000000, 0},
        {KTRACE_PAYLOAD_INT32, 0xDEADBEEF00000007, 7},
        {KTRACE_PAYLOAD_INT32, 0x00000000FFFFFFFF, UINT64_MAX},
        {KTRACE_PAYLOAD_INT32, 0x0000000080000000, 0xFFFFFFFF80000000},
        {KTRACE_PAYLOAD_INT32, 0xFFFFFFFF7FFFFFFF, 0x7FFFFFFF},
        {KTRACE_PAYLOAD_UINT32, 0xDEADBEEFFFFFFFFF, 0xFFFFFFFF},
        {KTRACE_PAYLOAD_FLOAT32, 0xDEADBEEFBF800000, 0xBF800000},
        {KTRACE_PAYLOAD_INT64, 0xDEADBEEF00000007, 0xDEADBEEF00000007},
        {KTRACE_PAYLOAD_UINT64, 0xDEADBEEFFFFFFFFF, 0xDEADBEEFFFFFFFFF},
        {KTRACE_PAYLOAD_FLOAT64, 0xBFF0000000000001, 0xBFF0000000000001},
    };
    enum { COUNT = sizeof cases / sizeof *cases };
    (void)state;
    struct build *build = build_begin(64, 4);
    struct sites sites = add_sites(build);
    uint32_t typed[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        typed[i] = build_site(build, 0, KTRACE_KIND_MARK, cases[i].type, "typed");
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel});
    for (size_t i = 0; i < COUNT; i++)
        build_payload(build, wave, 0, 10 * (i + 1), typed[i], cases[i].stored);
    build_end(build, wave, 1000);
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->event_count, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(trace->events[i].payload == cases[i].decoded);
        assert_true(event_of(trace, 0, i).payload == cases[i].decoded);
        assert_int_equal(event_of(trace, 0, i).payload_type, cases[i].type);
    }
    ktrace_trace_destroy(trace);
}

/* ---- Stops and nexts -------------------------------------------------------------------------------------------- */

static void a_next_is_a_stop_and_a_start(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct build *build = build_begin(32, 4);
        struct sites sites = add_sites(build);
        uint32_t site = wide ? sites.wide_next : sites.next_value;
        uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
        uint32_t token = build_event(build, wave, 0, 200, sites.start);
        token = build_next_payload(build, wave, 0, 300, site, token, 7);
        token = build_next_payload(build, wave, 0, 401, site, token, 8);
        build_event(build, wave, 0, 450, sites.mark);
        build_stop(build, wave, 0, 500, sites.stop, token);
        build_end(build, wave, 600);
        struct ktrace_trace *trace = decode(build);
        static const struct {
            uint32_t clock, kind, partner;
            uint64_t payload;
            const char *name;
        } expected[] = {{200, KTRACE_KIND_START, 1, 0, "start"}, {300, KTRACE_KIND_STOP, 0, 0, "start"},
                        {300, KTRACE_KIND_START, 3, 7, NULL},    {401, KTRACE_KIND_STOP, 2, 0, NULL},
                        {401, KTRACE_KIND_START, 6, 8, NULL},    {450, KTRACE_KIND_MARK, KT_NONE, 0, "mark"},
                        {500, KTRACE_KIND_STOP, 4, 0, NULL}};
        assert_int_equal(trace->event_count, 7);
        for (uint32_t i = 0; i < 7; i++) {
            struct ktrace_event_info event = event_of(trace, 0, i);
            assert_int_equal(event.clock_ticks, expected[i].clock);
            assert_int_equal(event.kind, expected[i].kind);
            assert_int_equal(event.partner, expected[i].partner);
            assert_string_equal(event.name, expected[i].name ? expected[i].name : wide ? "wide next" : "next value");
            assert_string_equal(event.file, "kernel.cu");
            int has_payload = event.kind == KTRACE_KIND_START && i != 0;
            assert_int_equal(event.payload_type, has_payload ? KTRACE_PAYLOAD_UINT64 : KTRACE_PAYLOAD_NONE);
            assert_int_equal(trace->events[i].flags, has_payload ? KT_EVENT_PAYLOAD : 0);
            assert_int_equal(event.payload, expected[i].payload);
            if (i == 1 || i == 2)
                assert_int_equal(event.line, (site & 0xFFFF) * 10);
        }
        assert_int_equal(trace->slots_corrupt + trace->ends_unmatched + trace->ranges_unclosed, 0);
        assert_int_equal(trace->waves[0].track_count, 1);
        ktrace_trace_destroy(trace);
    }
}

/* A ring of nothing else: no event has a sequence number, and what is newest is told by the clock. */
static void nexts_in_a_loop(void **state)
{
    (void)state;
    for (uint32_t count = 1; count < 70; count++)
        for (int finish = 0; finish < 2; finish++) {
            struct build *build = build_begin(16, 4);
            struct sites sites = add_sites(build);
            uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
            uint32_t token = 0;
            for (uint32_t i = 0; i < count; i++)
                token = build_next(build, wave, 0, 200 + 10 * i, sites.next, token);
            if (finish)
                build_end(build, wave, 9000);
            struct ktrace_trace *trace = decode(build);
            uint32_t kept = count < 16 ? count : 16, stops = count > 16 ? kept : kept - 1;
            assert_int_equal(trace->event_count, kept + stops);
            assert_int_equal(event_of(trace, 0, 0).clock_ticks, 200 + 10 * (count - kept));
            assert_int_equal(event_of(trace, 0, kept + stops - 1).clock_ticks, 200 + 10 * (count - 1));
            assert_int_equal(trace->ends_unmatched, count > 16);
            assert_int_equal(trace->ranges_unclosed, 1);
            assert_int_equal(trace->slots_corrupt, 0);
            /* how often an unfinished one went around, nothing tells */
            assert_int_equal(trace->slots_lost, finish ? count - kept : count > 16 ? count % 16 : 0);
            ktrace_trace_destroy(trace);
        }
}

/* A payload of 32 bits over an older stop leaves that one's upper half. As the oldest slot of a ring it looks like a stop. */
static void a_stale_half_is_no_stop(void **state)
{
    (void)state;
    for (int finish = 0; finish < 2; finish++) {
        struct build *build = build_begin(16, 4);
        struct sites sites = add_sites(build);
        uint32_t bits32 = build_site(build, 0, KTRACE_KIND_MARK, KTRACE_PAYLOAD_UINT32, "bits");
        uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
        uint64_t stale = (uint64_t)build_site_bits(build, sites.stop) << 32 | (uint64_t)201 << 48;
        build_payload(build, wave, 0, 0x70000000, bits32, stale | 7); /* the event goes, the payload stays */
        for (uint32_t i = 0; i < 15; i++)
            build_event(build, wave, 0, 0x70000010 + 10 * i, sites.mark);
        if (finish)
            build_end(build, wave, 0x70001000);
        struct ktrace_trace *trace = decode(build);
        assert_int_equal(trace->event_count, 15);
        assert_int_equal(trace->slots_lost, 2);
        assert_int_equal(trace->slots_corrupt + trace->ends_unmatched, 0);
        ktrace_trace_destroy(trace);
    }
}

static void a_next_and_a_start_of_one_name_are_one_phase(void **state)
{
    (void)state;
    struct build *build = build_begin(32, 4);
    struct sites sites = add_sites(build);
    uint32_t same = build_site(build, 0, KTRACE_KIND_NEXT, KTRACE_PAYLOAD_NONE, "start");
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
    uint32_t token = build_event(build, wave, 0, 200, sites.start);
    token = build_next(build, wave, 0, 300, same, token);
    build_stop(build, wave, 0, 500, sites.stop, token);
    build_end(build, wave, 600);
    struct ktrace_trace *trace = decode(build);
    struct ktrace_phase_info phase = {.struct_size = sizeof phase};
    assert_int_equal(ktrace_trace_phase_count(trace), 1);
    assert_int_equal(ktrace_trace_phase(&phase, trace, 0), 0);
    assert_string_equal(phase.name, "start");
    assert_int_equal(phase.kind, KTRACE_KIND_START);
    assert_int_equal(phase.count, 2);
    void *exported;
    size_t bytes;
    assert_int_equal(ktrace_trace_export_memory(&exported, &bytes, trace, "perfetto"), 0);
    free(exported);
    ktrace_trace_destroy(trace);
}

/* Tokens are odd, and a stop always has one. */
static void a_stop_without_a_token_is_corrupt(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    struct sites sites = add_sites(build);
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
    build_event(build, wave, 0, 200, sites.mark);
    build_stop(build, wave, 0, 300, sites.stop, 0x10000);
    build_next(build, wave, 0, 310, sites.next, 200);
    build_event(build, wave, 0, 400, sites.mark);
    build_end(build, wave, 500);
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->event_count, 2);
    assert_int_equal(event_of(trace, 0, 1).clock_ticks, 400);
    assert_int_equal(trace->slots_corrupt, 2);
    ktrace_trace_destroy(trace);
}

/* Halves of several modules, which have sites of the same ids. */
static void halves_belong_to_their_module(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    uint32_t nexts[3];
    for (uint32_t m = 0; m < 3; m++) {
        static const char *const names[] = {"one", "two", "three"};
        uint32_t module = build_module(build, 0x40 * m);
        uint32_t kernel = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "kernel");
        nexts[m] = build_site(build, module, KTRACE_KIND_NEXT, KTRACE_PAYLOAD_NONE, names[m]);
        uint32_t wave =
            build_wave(build, &(struct build_wave){.kernel = kernel, .grid_id = m, .start_clock = 1000 * (m + 1)});
        uint32_t token = build_next(build, wave, 0, 1000 * (m + 1) + 100, nexts[m], 0);
        build_next(build, wave, 0, 1000 * (m + 1) + 200, nexts[m], token);
        build_end(build, wave, 1000 * (m + 1) + 300);
    }
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->wave_count, 3);
    assert_string_equal(event_of(trace, 0, 0).name, "one");
    assert_string_equal(event_of(trace, 1, 1).name, "two");
    assert_string_equal(event_of(trace, 2, 2).name, "three");
    assert_int_equal(ktrace_trace_phase_count(trace), 3);
    ktrace_trace_destroy(trace);
}

/* ---- Clocks ----------------------------------------------------------------------------------------------------- */

/* The clocks of a wave's marks, given their 64-bit times; each is recorded by the lane beside it. */
static void clocks_come_back(const uint64_t *clocks, const uint32_t *lanes, uint32_t count, uint64_t start,
                             uint64_t end, uint64_t ambiguous)
{
    struct build *build = build_begin(16, 16);
    struct sites sites = add_sites(build);
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = start});
    uint32_t first = count > 16 ? count - 16 : 0;
    for (uint32_t i = 0; i < count; i++)
        build_event(build, wave, lanes ? lanes[i] : 0, clocks[i], sites.mark);
    if (end)
        build_end(build, wave, end);
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->clocks_ambiguous, ambiguous);
    assert_int_equal(trace->event_count, count - first);
    for (uint32_t i = first; i < count && !ambiguous; i++)
        assert_int_equal(event_of(trace, 0, i - first).clock_ticks, clocks[i]);
    ktrace_trace_destroy(trace);
}

static void clocks_wrap(void **state)
{
    uint64_t start = 7 * TURN - 100;
    uint64_t gaps[] = {start + 50, start + 150, start + TURN, start + 2 * TURN - 1, start + 3 * TURN - 2};
    uint64_t steady[40];
    uint32_t lanes[] = {0, 5, 0, 5, 0};
    (void)state;
    clocks_come_back(gaps, NULL, 5, start, start + 3 * TURN, 0);
    clocks_come_back(gaps, NULL, 5, start, 0, 0);
    uint64_t early[] = {start, start + 1, start + 200, start + 300, start + TURN - 1};
    clocks_come_back(early, lanes, 5, start, start + TURN, 0);
    for (uint32_t i = 0; i < 40; i++)
        steady[i] = start + i * 0xC0000000ull;
    clocks_come_back(steady, NULL, 40, start, steady[39] + 5, 0);
    clocks_come_back(steady, NULL, 16, start, steady[15] + 5, 0);
}

static void a_wrapped_unfinished_ring_is_placed_behind_the_start(void **state)
{
    uint64_t clocks[40];
    (void)state;
    for (uint32_t i = 0; i < 40; i++)
        clocks[i] = TURN - 20 + i;
    clocks_come_back(clocks, NULL, 40, TURN - 30, 0, 0);
}

static void gaps_that_anchors_cannot_place_are_counted(void **state)
{
    uint64_t gap[] = {1100, 1200 + TURN, 1300 + TURN}, trailing[] = {1100, 1200}, backward[] = {1100, 1050};
    uint32_t lanes[] = {0, 3};
    (void)state;
    clocks_come_back(gap, NULL, 3, 1000, 2000 + TURN, 1);
    clocks_come_back(trailing, NULL, 2, 1000, 1200 + TURN, 1);
    clocks_come_back(trailing, NULL, 2, 1000, 1199 + TURN, 0);
    clocks_come_back(backward, NULL, 2, 1000, 2000, 1);
    clocks_come_back(backward + 1, lanes + 1, 1, 1000, 2000, 0);
}

/* Of a wave whose end anchor is before its start. */
static void clocks_far_before_the_start_come_back(void **state)
{
    struct build *build = build_begin(16, 16);
    struct sites sites = add_sites(build);
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 10 * TURN});
    (void)state;
    for (uint32_t i = 0; i < 20; i++)
        build_event(build, wave, 0, 9 * TURN + i, sites.mark);
    build_end(build, wave, 9 * TURN + 100);
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->clocks_ambiguous, 1);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(event_of(trace, 0, i).clock_ticks, 9 * TURN + 4 + i);
    ktrace_trace_destroy(trace);
}

/* Two groups of lanes leave one after the other, and the end anchor of the first is the one that stays. */
static void an_event_may_follow_the_end_anchor_closely(void **state)
{
    uint64_t clocks[20];
    (void)state;
    for (uint32_t i = 0; i < 20; i++)
        clocks[i] = 2000 + i;
    clocks_come_back(clocks, NULL, 10, 1000, 2005, 0);
    clocks_come_back(clocks, NULL, 20, 1000, 2005, 0);
}

static void lanes_merge_by_clock_then_lane(void **state)
{
    static const struct {
        uint64_t clock;
        uint32_t lane;
    } expected[] = {{10, 2}, {20, 0}, {20, 1}, {20, 1}, {20, 2}, {30, 1}, {30, 31}, {40, 0}, {50, 31}};
    (void)state;
    struct build *build = build_begin(16, 16);
    struct sites sites = add_sites(build);
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel});
    for (size_t i = 0; i < 9; i++)
        build_event(build, wave, expected[i].lane, expected[i].clock, sites.mark);
    build_end(build, wave, 100);
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->event_count, 9);
    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(event_of(trace, 0, i).clock_ticks, expected[i].clock);
        assert_int_equal(trace->events[i].lane, expected[i].lane);
    }
    ktrace_trace_destroy(trace);
}

static void lanes_may_interleave_in_any_way(void **state)
{
    (void)state;
    random_state = 3;
    for (int round = 0; round < 50; round++) {
        struct build *build = build_begin(512, 64);
        struct sites sites = add_sites(build);
        uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel}), lane_counts[32] = {0};
        uint32_t clocks[500], events = 0, lane = 0;
        uint64_t clock = 0;
        while (events < 500) {
            lane = random_u32() % 4 ? lane : random_u32() % 32;
            if (lane && lane_counts[lane]++ >= 64)
                continue;
            build_event(build, wave, lane, clock += 1 + random_u32() % 9, sites.mark);
            clocks[events++] = (uint32_t)clock;
        }
        build_end(build, wave, clock + 1);
        struct ktrace_trace *trace = decode(build);
        assert_int_equal(trace->event_count, 500);
        for (uint32_t i = 0; i < 500; i++)
            assert_int_equal(event_of(trace, 0, i).clock_ticks, clocks[i]);
        ktrace_trace_destroy(trace);
    }
}

/* ---- Unfinished waves ------------------------------------------------------------------------------------------- */

static void some_lanes_have_left(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    struct sites sites = add_sites(build);
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
    build_event(build, wave, 0, 200, sites.mark);
    build_leave(build, wave, 0);
    for (uint32_t i = 0; i < 6; i++)
        build_event(build, wave, 7, 300 + i, sites.mark);
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->event_count, 5);
    assert_int_equal(trace->slots_lost, 2);
    assert_int_equal(trace->waves_unfinished, 1);
    assert_int_equal(trace->waves[0].end_ps, trace->events[4].time_ps);
    ktrace_trace_destroy(trace);
}

/* The first lanes have written their end anchor, others go on. */
static void events_behind_an_end_anchor_of_other_lanes(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    struct sites sites = add_sites(build);
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
    build_event(build, wave, 0, 200, sites.mark);
    build_event(build, wave, 9, 90000000, sites.mark);
    build_end(build, wave, 300);
    build_header(build, wave)->final_count_bytes[9] = 0;
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->event_count, 2);
    assert_int_equal(trace->waves_unfinished, 1);
    assert_int_equal(trace->clocks_ambiguous, 0);
    assert_int_equal(trace->waves[0].end_ps, trace->events[1].time_ps);
    assert_int_equal(trace->duration_ps, trace->events[1].time_ps);
    ktrace_trace_destroy(trace);
}

static void an_unfinished_wave_without_events(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    struct sites sites = add_sites(build);
    build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->event_count, 0);
    assert_int_equal(trace->waves_unfinished, 1);
    assert_int_equal(trace->waves[0].end_ps, trace->waves[0].begin_ps);
    ktrace_trace_destroy(trace);
}

/* A store that has not landed yet leaves a hole, and the slot of the lap before in a wrapped ring. */
static void holes_in_a_running_ring(void **state)
{
    (void)state;
    for (uint32_t events = 5; events <= 40; events += 35) {
        struct build *build = build_begin(16, 4);
        struct sites sites = add_sites(build);
        uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
        for (uint32_t i = 1; i <= events; i++)
            build_event(build, wave, 0, 200 + i, sites.mark);
        build_overwrite(build, wave, 0, (events - 2) % 16, (struct ktrace_slot){0, 0, 0});
        struct ktrace_trace *trace = decode(build);
        assert_int_equal(trace->event_count, events == 5 ? 4 : 15);
        assert_int_equal(trace->slots_corrupt, 0);
        assert_int_equal(trace->slots_lost, events == 5 ? 0 : 24);
        ktrace_trace_destroy(trace);
    }
}

/* ---- Garbage ---------------------------------------------------------------------------------------------------- */

static void one_spoiled_slot_costs_one_event(void **state)
{
    (void)state;
    for (uint32_t place = 1; place <= 10; place++) {
        struct build *build = build_begin(16, 4);
        struct sites sites = add_sites(build);
        uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
        for (uint32_t i = 1; i <= 10; i++)
            build_event(build, wave, 0, 200 + i, sites.mark);
        build_end(build, wave, 300);
        build_overwrite(build, wave, 0, place, (struct ktrace_slot){1, 0x1234, (uint16_t)place});
        struct ktrace_trace *trace = decode(build);
        assert_int_equal(trace->event_count, 9);
        assert_int_equal(trace->slots_corrupt, 1);
        assert_int_equal(trace->slots_lost, 0);
        ktrace_trace_destroy(trace);
    }
}

static void a_last_event_without_its_followers_is_corrupt(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    struct sites sites = add_sites(build);
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
    build_event(build, wave, 0, 200, sites.mark);
    build_payload(build, wave, 0, 210, sites.value, 5);
    build_end(build, wave, 300);
    build_header(build, wave)->final_count_bytes[0] -= 8;
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->event_count, 1);
    assert_int_equal(trace->slots_corrupt, 1);
    ktrace_trace_destroy(trace);
}

static void a_kernel_site_is_no_event(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    struct sites sites = add_sites(build);
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
    build_event(build, wave, 0, 200, sites.kernel);
    build_end(build, wave, 300);
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->event_count, 0);
    assert_int_equal(trace->slots_corrupt, 1);
    ktrace_trace_destroy(trace);
}

static void slots_of_an_unknown_module_are_corrupt(void **state)
{
    (void)state;
    for (int finish = 0; finish < 2; finish++) {
        struct build *build = build_begin(16, 4);
        struct sites sites = add_sites(build);
        uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = 100});
        for (uint32_t i = 0; i < 10; i++)
            build_event(build, wave, 0, 200 + i, sites.mark);
        if (finish)
            build_end(build, wave, 300);
        build_header(build, wave)->module = 77;
        struct ktrace_trace *trace = decode(build);
        assert_int_equal(trace->event_count, 0);
        assert_int_equal(trace->slots_corrupt, 10);
        assert_string_equal(trace->kernels[trace->launches[0].kernel].name, "(unknown kernel)");
        ktrace_trace_destroy(trace);
    }
}

/* Modules have sites of their own, and a slot is read with its wave's module only. */
static void sites_belong_to_their_module(void **state)
{
    (void)state;
    struct build *build = build_begin(16, 4);
    struct sites sites = add_sites(build);
    uint32_t other = build_module(build, 0xFFC0);
    uint32_t kernel = build_site(build, other, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "other");
    uint32_t mark = build_site(build, other, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "other mark");
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t wave = build_wave(
            build,
            &(struct build_wave){.kernel = i % 2 ? kernel : sites.kernel, .grid_id = i, .start_clock = 1000 * i});
        build_event(build, wave, 0, 1000 * i + 100, i % 2 ? mark : sites.mark);
        build_event(build, wave, 0, 1000 * i + 200, sites.push); /* there is none in the other module */
        build_end(build, wave, 1000 * i + 300);
    }
    struct ktrace_trace *trace = decode(build);
    assert_int_equal(trace->event_count, 6);
    assert_int_equal(trace->slots_corrupt, 2);
    assert_string_equal(event_of(trace, 1, 0).name, "other mark");
    assert_string_equal(event_of(trace, 2, 0).name, "mark");
    ktrace_trace_destroy(trace);
}

static struct ktrace_slot random_slot(const struct build *build, const struct sites *sites, uint32_t place)
{
    const uint32_t *all = &sites->kernel;
    uint32_t site = all[random_u32() % (sizeof *sites / sizeof *all)];
    struct ktrace_slot slot = {random_u32(), (uint16_t)random_u32(), (uint16_t)random_u32()};
    if (random_u32() % 4)
        slot.site = build_site_bits(build, site);
    if (random_u32() % 4)
        slot.sequence = (uint16_t)(place + (random_u32() % 3) * 64);
    return slot;
}

static void garbage_never_harms(void **state)
{
    (void)state;
    random_state = 4;
    for (int round = 0; round < 400; round++) {
        struct build *build = build_begin(64, 16);
        struct sites sites = add_sites(build);
        uint32_t wave = build_wave(build, &(struct build_wave){.kernel = sites.kernel, .start_clock = random_u32()});
        for (uint32_t lane = 0; lane < 32; lane += 1 + random_u32() % 9)
            for (uint32_t place = 0; place < (lane ? 16u : 64u); place++)
                build_overwrite(build, wave, lane, place, random_slot(build, &sites, place));
        if (round % 2) {
            build_end(build, wave, random_u32());
            for (uint32_t lane = 0; lane < 32; lane++)
                build_header(build, wave)->final_count_bytes[lane] = 8 + random_u32() % 200 * 8;
        }
        struct kt_snapshot *snapshot = build_finish(build);
        uint64_t slots = snapshot->slot_count;
        struct ktrace_trace *trace;
        assert_int_equal(kt_trace_from_snapshot(&trace, snapshot), 0);
        assert_true(trace->event_count + trace->slots_corrupt <= slots);
        for (uint64_t i = 1; i < trace->event_count; i++)
            assert_true(trace->events[i - 1].time_ps <= trace->events[i].time_ps);
        ktrace_trace_destroy(trace);
    }
}

/* ---- What is refused -------------------------------------------------------------------------------------------- */

static void refused(struct kt_snapshot *snapshot, int status, const char *words)
{
    struct ktrace_trace *trace = (struct ktrace_trace *)1;
    assert_int_equal(kt_trace_from_snapshot(&trace, snapshot), status);
    assert_ptr_equal(trace, (struct ktrace_trace *)1);
    if (!strstr(ktrace_last_error(), words))
        fail_msg("\"%s\" does not say \"%s\"", ktrace_last_error(), words);
}

#define REFUSED_WITH(change, status, words) \
    do { \
        struct kt_snapshot *s = build_example(1, 1, 2); \
        change; \
        refused(s, status, words); \
    } while (0)
#define REFUSED(change, words) REFUSED_WITH(change, KTRACE_ERROR_FORMAT, words)

static void bad_headers_are_refused(void **state)
{
    (void)state;
    REFUSED(s->waves[1].magic = 0, "wave 1: magic");
    REFUSED_WITH(s->waves[1].version = 3, KTRACE_ERROR_VERSION, "wave 1: its kernel was compiled with wire version 3");
    REFUSED_WITH(s->waves[1].version = 0, KTRACE_ERROR_VERSION, "wave 1: its kernel was compiled with wire version 0");
    REFUSED(s->waves[0].arch = 9, "architecture 9");
    REFUSED(s->waves[0].lane_count = 0, "0 lanes");
    REFUSED(s->waves[0].lane_count = 33, "33 lanes");
    REFUSED(s->waves[0].grid[1] = 0, "dimension 1 is zero");
    REFUSED(s->waves[0].block[2] = 0, "dimension 2 is zero");
    REFUSED(s->waves[0].workgroup[2] = 1, "outside of the grid");
    REFUSED(s->waves[0].wave = 4, "not below the workgroup's 4 waves");
    REFUSED(s->waves[0].grid[0] = s->waves[0].grid[1] = s->waves[0].grid[2] = UINT32_MAX, "2^64");
}

static void bad_rings_are_refused(void **state)
{
    (void)state;
    REFUSED(s->rings[0].wave = 1000, "wave 1000");
    REFUSED(s->rings[0].lane = 32, "lane 32");
    REFUSED(s->rings[1].lane = 0, "not in order");
    REFUSED(s->rings[0].first_slot = s->slot_count, "outside of the snapshot");
    REFUSED(s->rings[0].first_slot = UINT64_MAX, "outside of the snapshot");
    REFUSED(s->rings[0].slot_count = UINT32_MAX, "outside of the snapshot");
    REFUSED(s->rings[0].whole = 1, "in a ring of 1024");
    REFUSED(s->waves[0].final_count_bytes[0] = 0, "final count of 0");
    REFUSED(s->waves[0].final_count_bytes[0] = 16, "final count of 16");
    REFUSED(s->waves[0].final_count_bytes[0] += 1, "final count");
    REFUSED(s->processes[0].main_ring_slots = 1000, "power of two");
    REFUSED(s->processes[0].lane_ring_slots = 0, "power of two");
    REFUSED(s->rings[0].whole = 2, "ring 0: whole is 2");
    REFUSED(s->ring_count = 0; s->processes[0].main_ring_slots = 3, "lane 0's rings of 3 slots");
    REFUSED(s->ring_count = 0; s->processes[0].lane_ring_slots = 5, "other lanes' rings of 5 slots");
    REFUSED(s->arch = 4, "architecture 4 is unknown");
    REFUSED(s->slot_count -= 1, "outside of the snapshot");
    REFUSED(
        {
            for (uint64_t i = 1; i < s->ring_count; i++)
                s->rings[i].first_slot = 0;
            s->slot_count = 1024;
        },
        "rings overlap");
    struct kt_snapshot *amdgcn = build_nothing();
    amdgcn->arch = KTRACE_ARCH_AMDGCN;
    amdgcn->processes[0].lane_ring_slots = 4;
    refused(amdgcn, KTRACE_ERROR_FORMAT, "on amdgcn there are none");
}

static void bad_sites_are_refused(void **state)
{
    (void)state;
    REFUSED(s->modules[0].sites[1].id = s->modules[0].sites[0].id, "not in order");
    REFUSED(s->modules[0].sites[1].kind = 8, "unknown kind 8");
    REFUSED(s->modules[0].sites[1].kind = 0, "unknown kind 0");
    REFUSED(s->modules[0].sites[1].payload_type = 8, "payload type 8");
    REFUSED(
        {
            char *name = calloc(1, 4095 - strlen(s->modules[0].sites[1].file) + 1);
            free(s->modules[0].sites[1].name);
            s->modules[0].sites[1].name = memset(name, 'n', 4095 - strlen(s->modules[0].sites[1].file));
        },
        "name and file take more than 4094 bytes");
    REFUSED(s->modules[0].sites[s->modules[0].site_count - 1].id = 0x10000, "constant bank");
}

static void add_second(struct kt_snapshot *snapshot, uint32_t ordinal)
{
    assert_non_null(kt_snapshot_add_device(snapshot, "second"));
    snapshot->devices[1].ordinal = ordinal;
}

static void bad_devices_are_refused(void **state)
{
    (void)state;
    REFUSED(s->modules[0].device = 1, "module 0: its device 1 is not there");
    REFUSED(add_second(s, 0), "two devices with the number 0");
    REFUSED((add_second(s, 1), s->waves[1].module = 77), "wave 1: its module 77 is not there to tell its device");
    REFUSED((add_second(s, 1), s->devices[1].waves_dropped = 1), "does not add up");
    REFUSED((add_second(s, 1), s->devices[1].regions = UINT64_MAX), "2^64");
    REFUSED((free(s->devices[0].name), s->device_count = 0), "no device");
}

static void an_empty_snapshot_is_an_empty_trace(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = build_nothing();
    struct ktrace_trace *trace;
    free(snapshot->warning);
    snapshot->warning = strdup("no traced kernel was launched");
    assert_int_equal(kt_trace_from_snapshot(&trace, snapshot), 0);
    assert_int_equal(trace->launch_count + trace->wave_count + trace->event_count + trace->phase_count, 0);
    assert_string_equal(ktrace_trace_warning(trace), "no traced kernel was launched");
    ktrace_trace_destroy(trace);
}

/* One wave of `ticks` at 2 GHz and one whose end is `late_ns` late. */
static struct ktrace_trace *long_wave(uint64_t ticks, uint64_t late_ns)
{
    struct build *build = build_begin(16, 4);
    uint32_t module = build_module(build, 0x140);
    uint32_t kernel = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "kernel");
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t start = 1000 + i * (ticks + 1000);
        uint32_t wave = build_wave(
            build,
            &(struct build_wave){.kernel = kernel, .grid = {5, 1, 1}, .workgroup = {i, 0, 0}, .start_clock = start});
        build_end(build, wave, start + ticks);
        build_header(build, wave)->end_wall_ns += i == 2 ? late_ns : 0;
    }
    struct ktrace_trace *trace;
    assert_int_equal(kt_trace_from_snapshot(&trace, build_finish(build)), 0);
    return trace;
}

static void uncertain_clocks_are_told(void **state)
{
    (void)state;
    struct ktrace_trace *trace = long_wave(19000000, 0);
    assert_string_equal(trace->clock_warning, "");
    assert_string_equal(ktrace_trace_warning(trace), "waves ran, but none came to an annotation");
    ktrace_trace_destroy(trace);

    trace = long_wave(400000000, 0);
    assert_true(trace->clock_residual_ns == 0);
    assert_non_null(strstr(ktrace_trace_warning(trace), "waves ran for up to 200 ms between two readings"));
    assert_non_null(strstr(ktrace_trace_warning(trace), "may be off by up to 24.9 us"));
    char *summary = NULL; /* which says so, too */
    assert_int_equal(ktrace_trace_summary_text(&summary, trace), 0);
    assert_non_null(strstr(summary, "\nclocks\n  waves ran for up to 200 ms between two readings"));
    free(summary);
    ktrace_trace_destroy(trace);

    trace = long_wave(UINT64_C(8000000000), 0); /* and no 4e+03 */
    assert_non_null(strstr(ktrace_trace_warning(trace), "waves ran for up to 4000 ms between two readings"));
    ktrace_trace_destroy(trace);

    trace = long_wave(20000, 100);
    assert_string_equal(trace->clock_warning, "");
    ktrace_trace_destroy(trace);

    trace = long_wave(20000, 5000);
    assert_true(trace->clock_residual_ns > 4900 && trace->clock_residual_ns < 5100);
    assert_non_null(strstr(ktrace_trace_warning(trace), "readings of the wall clock contradict each other by up to "));
    ktrace_trace_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_keep_the_newest_slots),
        cmocka_unit_test(sequence_numbers_wrap),
        cmocka_unit_test(rings_larger_than_sequence_numbers),
        cmocka_unit_test(followers_straddle_the_wrap),
        cmocka_unit_test(payloads_that_look_like_events),
        cmocka_unit_test(a_lane_ring_has_its_own_size),
        cmocka_unit_test(payload_zero_is_not_absent),
        cmocka_unit_test(payloads_are_extended_to_64_bits),
        cmocka_unit_test(a_next_is_a_stop_and_a_start),
        cmocka_unit_test(nexts_in_a_loop),
        cmocka_unit_test(a_next_and_a_start_of_one_name_are_one_phase),
        cmocka_unit_test(a_stale_half_is_no_stop),
        cmocka_unit_test(a_stop_without_a_token_is_corrupt),
        cmocka_unit_test(halves_belong_to_their_module),
        cmocka_unit_test(clocks_wrap),
        cmocka_unit_test(a_wrapped_unfinished_ring_is_placed_behind_the_start),
        cmocka_unit_test(gaps_that_anchors_cannot_place_are_counted),
        cmocka_unit_test(clocks_far_before_the_start_come_back),
        cmocka_unit_test(an_event_may_follow_the_end_anchor_closely),
        cmocka_unit_test(lanes_merge_by_clock_then_lane),
        cmocka_unit_test(lanes_may_interleave_in_any_way),
        cmocka_unit_test(some_lanes_have_left),
        cmocka_unit_test(events_behind_an_end_anchor_of_other_lanes),
        cmocka_unit_test(an_unfinished_wave_without_events),
        cmocka_unit_test(holes_in_a_running_ring),
        cmocka_unit_test(one_spoiled_slot_costs_one_event),
        cmocka_unit_test(a_last_event_without_its_followers_is_corrupt),
        cmocka_unit_test(a_kernel_site_is_no_event),
        cmocka_unit_test(slots_of_an_unknown_module_are_corrupt),
        cmocka_unit_test(sites_belong_to_their_module),
        cmocka_unit_test(garbage_never_harms),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(bad_rings_are_refused),
        cmocka_unit_test(bad_sites_are_refused),
        cmocka_unit_test(bad_devices_are_refused),
        cmocka_unit_test(an_empty_snapshot_is_an_empty_trace),
        cmocka_unit_test(uncertain_clocks_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
