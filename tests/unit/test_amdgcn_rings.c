/* Rings of amdgcn waves against a model: any mix of events, rings of any size, read at the end or in the middle. Payloads over the
 * edge of a ring, places that are skipped, laps, and what a wrapped ring keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_fixture.h"
#include "fake_amdgcn.h"

enum { KERNEL, MARK, NUMBER, PUSH, POP, START, START_NUMBER, STOP, STOP_NUMBER, NEXT, NEXT_NUMBER, SITES };
static const struct {
    enum ktrace_kind kind;
    enum ktrace_payload_type type;
    const char *text;
} descriptions[SITES] = {{KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "gemm\0a.hip"},
                         {KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "mark\0a.hip"},
                         {KTRACE_KIND_MARK, KTRACE_PAYLOAD_UINT64, "number\0a.hip"},
                         {KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "push\0a.hip"},
                         {KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "\0a.hip"},
                         {KTRACE_KIND_START, KTRACE_PAYLOAD_NONE, "start\0a.hip"},
                         {KTRACE_KIND_START, KTRACE_PAYLOAD_UINT64, "start number\0a.hip"},
                         {KTRACE_KIND_STOP, KTRACE_PAYLOAD_NONE, "\0a.hip"},
                         {KTRACE_KIND_STOP, KTRACE_PAYLOAD_UINT64, "\0a.hip"},
                         {KTRACE_KIND_NEXT, KTRACE_PAYLOAD_NONE, "next\0a.hip"},
                         {KTRACE_KIND_NEXT, KTRACE_PAYLOAD_UINT64, "next number\0a.hip"}};

struct rings {
    struct fake_device device;
    struct fake_amdgcn module;
    uint64_t random;
};

static int set_up_rings(void **state)
{
    struct rings *r = calloc(1, sizeof *r);
    r->random = 88172645463325252;
    fake_amdgcn_init(&r->module, SITES);
    for (int i = 0; i < SITES; i++)
        fake_amdgcn_site(&r->module, descriptions[i].kind, descriptions[i].type, descriptions[i].text);
    ktrace_register(&r->module.registration);
    *state = r;
    return 0;
}

static int tear_down_rings(void **state)
{
    struct rings *r = *state;
    ktrace_unregister(&r->module.registration);
    fake_amdgcn_free(&r->module);
    free(r);
    return 0;
}

static uint32_t random_below(struct rings *r, uint32_t limit)
{
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return (uint32_t)(r->random >> 32) % limit;
}

/* ---- The model --------------------------------------------------------------------------------------------------- */

struct done {
    uint64_t clock, payload;
    uint32_t index, site, token; /* closed; 0: none */
};

#define DONE_MAX 4096
struct model {
    struct done done[DONE_MAX];
    uint32_t count, slots;
    uint32_t tokens[8], token_count; /* open */
};

static int is_close(uint32_t site)
{
    return site >= STOP;
}

static int is_next(uint32_t site)
{
    return site >= NEXT;
}

static int has_payload(uint32_t site)
{
    return descriptions[site].type != KTRACE_PAYLOAD_NONE;
}

/* One random event, in the ring and in the model. */
static void step(struct rings *r, struct model *model, struct fake_amdgcn_wave *wave, uint64_t clock)
{
    uint32_t site = MARK + random_below(r, SITES - MARK), token = 0;
    if (is_close(site) && !is_next(site) && model->token_count == 0)
        site = NUMBER;
    if (is_close(site) && model->token_count)
        token = model->tokens[--model->token_count];
    const uint64_t payload = (uint64_t)random_below(r, UINT32_MAX) << 32 | random_below(r, UINT32_MAX);
    const uint64_t *stored = has_payload(site) ? &payload : NULL;
    model->done[model->count++] = (struct done){clock, stored ? payload : 0, model->slots + 1, site, token};
    const uint32_t started = is_close(site) ? fake_amdgcn_close(wave, site, clock, token, stored)
                                            : fake_amdgcn_event(wave, site, clock, stored);
    assert_int_equal(started, 2 * (model->slots + 1) + 1);
    if ((is_next(site) || site == START || site == START_NUMBER) && model->token_count < 8)
        model->tokens[model->token_count++] = started;
    model->slots += stored ? 2 : 1;
}

/* Whether a ring of `capacity` still has it. The oldest place is not believed if it is place 0 and has no sequence number: the lap
 * before may have left that there. */
static int is_kept(const struct model *model, const struct done *done, uint32_t capacity)
{
    const uint32_t first = model->slots >= capacity ? model->slots - capacity + 1 : 1;
    return done->index > first || (done->index == first && !(first % capacity == 0 && is_close(done->site)));
}

static uint32_t expect(const struct ktrace_trace *trace, uint32_t at, const struct done *done, const char *name,
                       enum ktrace_kind kind, int with_payload)
{
    struct ktrace_event_info event = {.struct_size = sizeof event};
    if (ktrace_trace_event(&event, trace, 0, at) < 0)
        fail_msg("event %u of slot %u is missing: %s", at, done->index, ktrace_last_error());
    if (event.clock_ticks != done->clock || event.kind != (uint32_t)kind ||
        (kind != KTRACE_KIND_STOP && strcmp(event.name, name) != 0))
        fail_msg("event %u: %s (kind %u) at %llu, not %s (kind %u) at %llu of slot %u", at, event.name, event.kind,
                 (unsigned long long)event.clock_ticks, name, kind, (unsigned long long)done->clock, done->index);
    assert_int_equal(event.payload_type != KTRACE_PAYLOAD_NONE, with_payload);
    if (with_payload)
        assert_true(event.payload == done->payload);
    return at + 1;
}

static void compare(const struct ktrace_trace *trace, const struct model *model, uint32_t capacity)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < model->count; i++) {
        const struct done *done = &model->done[i];
        const char *name = descriptions[done->site].text;
        if (!is_kept(model, done, capacity))
            continue;
        if (is_next(done->site)) {
            if (done->token)
                at = expect(trace, at, done, "", KTRACE_KIND_STOP, 0);
            at = expect(trace, at, done, name, KTRACE_KIND_START, has_payload(done->site));
        } else {
            at = expect(trace, at, done, name, descriptions[done->site].kind, has_payload(done->site));
        }
    }
    assert_int_equal(info_of(trace).events, at);
    assert_int_equal(info_of(trace).slots_corrupt, 0);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void run(struct rings *r, uint32_t capacity, uint32_t steps)
{
    static struct model model;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    struct fake_amdgcn_wave wave;
    uint64_t clock = 5000;
    fake_device_init(&r->device);
    r->device.arch = KTRACE_ARCH_AMDGCN;
    options.buffer_bytes = 4 * (256 + 64 + 8ull * capacity);
    options.events_per_wave = capacity;
    options.keep_last = 1;
    assert_int_equal(fake_begin(&capture, &r->device, &options), 0);
    fake_amdgcn_begin(&wave, &r->module, &(struct fake_amdgcn_launch){.kernel = KERNEL}, 0, 0, clock);
    model.count = model.slots = model.token_count = 0;
    for (uint32_t i = 0; i < steps; i++)
        step(r, &model, &wave, clock += random_below(r, 4) * 4);
    if (capacity >= 16) { /* smaller rings may hold too little to tell where they stand */
        assert_int_equal(ktrace_capture_peek(&trace, capture), 0);
        assert_int_equal(info_of(trace).waves_unfinished, 1);
        if (steps)
            compare(trace, &model, capacity);
        ktrace_trace_destroy(trace);
    }
    fake_amdgcn_end(&wave, clock + 4);
    if (ktrace_capture_end(&trace, capture) < 0)
        fail_msg("%s", ktrace_last_error());
    compare(trace, &model, capacity);
    ktrace_trace_destroy(trace);
}

static void test_any_events_in_any_ring(void **state)
{
    struct rings *r = *state;
    for (uint32_t capacity = 2; capacity <= 128; capacity *= 2)
        for (uint32_t steps = 0; steps < 4 * capacity + 8; steps += 1 + steps / 64)
            for (int repeat = 0; repeat < 3; repeat++)
                run(r, capacity, steps);
}

/* Nothing but marks with payloads: from the second lap on every lap ends over the edge, as a lap begins at place 1. */
static void test_payload_over_the_edge(void **state)
{
    struct rings *r = *state;
    for (uint32_t count = 1; count < 40; count++)
        for (int with_mark = 0; with_mark < 2; with_mark++) {
            struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
            struct ktrace_capture *capture;
            struct ktrace_trace *trace;
            struct fake_amdgcn_wave wave;
            uint64_t clock = 100;
            fake_device_init(&r->device);
            r->device.arch = KTRACE_ARCH_AMDGCN;
            options.events_per_wave = 8;
            options.buffer_bytes = 1 << 12;
            options.keep_last = 1;
            assert_int_equal(fake_begin(&capture, &r->device, &options), 0);
            fake_amdgcn_begin(&wave, &r->module, &(struct fake_amdgcn_launch){.kernel = KERNEL}, 0, 0, clock);
            if (with_mark)
                fake_amdgcn_event(&wave, MARK, clock, NULL);
            for (uint64_t i = 0; i < count; i++)
                fake_amdgcn_event(&wave, NUMBER, clock += 4, &(uint64_t){1000 + i});
            fake_amdgcn_end(&wave, clock += 4);
            assert_int_equal(ktrace_capture_end(&trace, capture), 0);
            struct ktrace_event_info event = {.struct_size = sizeof event};
            const uint64_t events = info_of(trace).events, slots = 2 * count + (uint32_t)with_mark;
            assert_true(events >= (slots <= 8 ? count : 3) && events <= 5);
            for (uint32_t i = 0; i < events; i++) {
                assert_int_equal(ktrace_trace_event(&event, trace, 0, (uint32_t)events - 1 - i), 0);
                if (i < count)
                    assert_int_equal(event.payload, 1000 + count - 1 - i);
            }
            assert_int_equal(info_of(trace).slots_lost + 2 * events - (with_mark && slots <= 8), slots);
            ktrace_trace_destroy(trace);
        }
}

/* A skipped place that holds an event of two laps before, whose sequence number is that of two laps behind as well: both are
 * 2^15 slots away. */
static void test_skipped_place_in_a_large_ring(void **state)
{
    struct rings *r = *state;
    const uint32_t capacity = 1u << 15;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    struct fake_amdgcn_wave wave;
    fake_device_init(&r->device);
    r->device.arch = KTRACE_ARCH_AMDGCN;
    options.events_per_wave = capacity;
    options.buffer_bytes = 256 + 64 + 8 * capacity;
    options.keep_last = 1;
    assert_int_equal(fake_begin(&capture, &r->device, &options), 0);
    fake_amdgcn_begin(&wave, &r->module, &(struct fake_amdgcn_launch){.kernel = KERNEL}, 0, 0, 0);
    for (uint32_t index = 1; index < 2 * capacity - 1; index++)
        fake_amdgcn_event(&wave, MARK, index, NULL);
    fake_amdgcn_event(&wave, NUMBER, 2 * capacity - 1, &(uint64_t){42});
    for (uint32_t behind = 0; behind < 3; behind++) {
        assert_int_equal(ktrace_capture_peek(&trace, capture), 0);
        struct ktrace_event_info event = {.struct_size = sizeof event};
        const uint32_t last = (uint32_t)info_of(trace).events - 1;
        assert_int_equal(last + 1, capacity - 1);
        assert_int_equal(ktrace_trace_event(&event, trace, 0, last - behind), 0);
        assert_int_equal(event.payload, 42);
        assert_int_equal(event.clock_ticks, 2 * capacity - 1);
        ktrace_trace_destroy(trace);
        fake_amdgcn_event(&wave, MARK, 2 * capacity + behind, NULL);
    }
    ktrace_capture_destroy(capture);
}

/* What the reserve behind a ring is for: stores there are no part of any ring. */
static void test_rings_do_not_touch(void **state)
{
    struct rings *r = *state;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    struct fake_amdgcn_wave waves[3];
    fake_device_init(&r->device);
    r->device.arch = KTRACE_ARCH_AMDGCN;
    options.events_per_wave = 8;
    options.buffer_bytes = 3 * (256 + 64 + 8 * 8);
    assert_int_equal(fake_begin(&capture, &r->device, &options), 0);
    for (uint32_t i = 0; i < 3; i++)
        fake_amdgcn_begin(&waves[i], &r->module, &(struct fake_amdgcn_launch){.kernel = KERNEL, .grid = {3, 1, 1}}, i,
                          0, 1000);
    for (uint32_t n = 0; n < 4; n++) /* 8 slots, the last of them over the edge */
        for (uint32_t i = 0; i < 3; i++) {
            if (n == 0)
                fake_amdgcn_event(&waves[i], MARK, 1000, NULL);
            if (n < 3)
                fake_amdgcn_event(&waves[i], NUMBER, 1004 + 4 * n, &(uint64_t){10 * i + n});
            memset(fake_amdgcn_ring(&waves[i]) + 8 * 8 + 8, 0xAA, 56);
        }
    for (uint32_t i = 0; i < 3; i++)
        fake_amdgcn_event(&waves[i], MARK, 1100, NULL); /* place 0: index 8 */
    for (uint32_t i = 0; i < 3; i++)
        fake_amdgcn_end(&waves[i], 1200);
    assert_int_equal(ktrace_capture_read(&trace, capture), 0);
    assert_string_equal(ktrace_trace_warning(trace), "");
    assert_int_equal(info_of(trace).events, 15);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t n = 0; n < 3; n++) {
            struct ktrace_event_info event = {.struct_size = sizeof event};
            assert_int_equal(ktrace_trace_event(&event, trace, i, n + 1), 0);
            assert_int_equal(event.payload, 10 * i + n);
        }
    ktrace_trace_destroy(trace);
    for (int i = 0; i < 8 + 8; i++) /* a read clears rings with their overhangs */
        assert_int_equal(fake_amdgcn_ring(&waves[1])[8 * 8 + i], 0);
    ktrace_capture_destroy(capture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_any_events_in_any_ring, set_up_rings, tear_down_rings),
        cmocka_unit_test_setup_teardown(test_payload_over_the_edge, set_up_rings, tear_down_rings),
        cmocka_unit_test_setup_teardown(test_skipped_place_in_a_large_ring, set_up_rings, tear_down_rings),
        cmocka_unit_test_setup_teardown(test_rings_do_not_touch, set_up_rings, tear_down_rings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
