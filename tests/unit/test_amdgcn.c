/* Captures of an AMD device, on one in host memory: launches, translation units, tokens, losses, what is refused, files, and time
 * that is simulated. What rings do is in test_amdgcn_rings.c. */
#include <libdeflate.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../fuzz/repair.h"
#include "capture_fixture.h"
#include "check.h"
#include "fake_amdgcn.h"
#include "layout.h"
#include "scratch.h"
#include "trace.h"

/* Two translation units: what lies in the second begins behind what lies in the first. */
struct amd {
    struct fake_device device;
    struct fake_amdgcn module;
    uint32_t gemm, mark, number, push, pop, start, stop, next;
    uint32_t second, softmax, tock;
};

static int set_up_amd(void **state)
{
    struct amd *a = calloc(1, sizeof *a);
    struct fake_amdgcn *m = &a->module;
    fake_device_init(&a->device);
    a->device.arch = KTRACE_ARCH_AMDGCN;
    fake_amdgcn_init(m, 16);
    a->gemm = fake_amdgcn_site(m, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "gemm\0gemm.hip");
    a->mark = fake_amdgcn_site(m, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "tick\0gemm.hip");
    a->number = fake_amdgcn_site(m, KTRACE_KIND_MARK, KTRACE_PAYLOAD_INT32, "number\0gemm.hip");
    a->push = fake_amdgcn_site(m, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "body\0gemm.hip");
    a->pop = fake_amdgcn_site(m, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "\0gemm.hip");
    a->start = fake_amdgcn_site(m, KTRACE_KIND_START, KTRACE_PAYLOAD_NONE, "tile\0gemm.hip");
    a->stop = fake_amdgcn_site(m, KTRACE_KIND_STOP, KTRACE_PAYLOAD_NONE, "\0gemm.hip");
    a->next = fake_amdgcn_site(m, KTRACE_KIND_NEXT, KTRACE_PAYLOAD_NONE, "tile\0gemm.hip");
    a->second = m->site_count;
    a->softmax = fake_amdgcn_site(m, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "softmax\0softmax.hip");
    a->tock = fake_amdgcn_site(m, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "tock\0softmax.hip");
    ktrace_register(&m->registration);
    *state = a;
    return 0;
}

static int tear_down_amd(void **state)
{
    struct amd *a = *state;
    ktrace_unregister(&a->module.registration);
    fake_amdgcn_free(&a->module);
    free(a);
    return 0;
}

static struct ktrace_capture *begin(struct amd *a, uint64_t buffer_bytes, uint32_t events)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture = NULL;
    const int simulated = a->device.simulated;
    fake_device_init(&a->device);
    a->device.arch = KTRACE_ARCH_AMDGCN;
    a->device.simulated = simulated;
    options.buffer_bytes = buffer_bytes ? buffer_bytes : 1 << 20;
    options.events_per_wave = events;
    if (fake_begin(&capture, &a->device, &options) < 0)
        fail_msg("begin: %s", ktrace_last_error());
    return capture;
}

static struct ktrace_trace *end(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace = NULL;
    if (ktrace_capture_end(&trace, capture) < 0)
        fail_msg("end: %s", ktrace_last_error());
    return trace;
}

static struct ktrace_event_info event_of(const struct ktrace_trace *trace, uint64_t wave, uint32_t index)
{
    struct ktrace_event_info event = {.struct_size = sizeof event};
    if (ktrace_trace_event(&event, trace, wave, index) < 0)
        fail_msg("%s", ktrace_last_error());
    return event;
}

static struct ktrace_launch_info launch_of(const struct ktrace_trace *trace, uint64_t index)
{
    struct ktrace_launch_info launch = {.struct_size = sizeof launch};
    assert_int_equal(ktrace_trace_launch(&launch, trace, index), 0);
    return launch;
}

/* A wave of one body with a number in it. */
static void run_wave(struct amd *a, const struct fake_amdgcn_launch *launch, uint32_t workgroup, uint16_t wave,
                     uint64_t clock)
{
    struct fake_amdgcn_wave w;
    fake_amdgcn_begin(&w, &a->module, launch, workgroup, wave, clock);
    fake_amdgcn_event(&w, a->push, clock + 4, NULL);
    fake_amdgcn_event(&w, a->number, clock + 8, &(uint64_t){0xABCD0000FFFFFFF9 + wave});
    fake_amdgcn_event(&w, a->pop, clock + 12, NULL);
    fake_amdgcn_end(&w, clock + 16);
}

/* ---- What is recorded -------------------------------------------------------------------------------------------- */

static void test_launches_and_waves(void **state)
{
    struct amd *a = *state;
    const struct fake_amdgcn_launch launches[] = {
        {.kernel = a->gemm, .queue = 0x7000, .dispatch = 5, .grid = {6, 1, 1}, .block = {200, 1, 1}},
        {.kernel = a->gemm, .queue = 0x7000, .dispatch = 6, .grid = {6, 1, 1}, .block = {200, 1, 1}},
        {.kernel = a->gemm, .queue = 0x9000, .dispatch = 6, .grid = {6, 1, 1}, .block = {200, 1, 1}}};
    run_wave(a, &launches[0], 0, 0, 1000); /* dormant */
    struct ktrace_capture *capture = begin(a, 0, 0);
    for (uint32_t l = 0; l < 3; l++)
        for (uint32_t g = 0; g < 6; g++)
            for (uint16_t w = 0; w < 4; w++)
                run_wave(a, &launches[l], g, w, 1000000 + l * 1000 + g * 20 + w);
    struct ktrace_trace *trace = end(capture);
    const struct ktrace_trace_info info = info_of(trace);
    assert_string_equal(ktrace_trace_warning(trace), "");
    assert_int_equal(info.arch, KTRACE_ARCH_AMDGCN);
    assert_int_equal(info.places, 304);
    assert_int_equal(info.simulated, 0);
    assert_int_equal(info.waves, 72);
    assert_int_equal(info.events, 216);
    assert_int_equal(info.launches, 3);
    assert_true(info.clock_hz == 1e8 && info.clock_residual_ns == 0);
    for (uint32_t l = 0; l < 3; l++) {
        const struct ktrace_launch_info launch = launch_of(trace, l);
        assert_string_equal(launch.kernel, "gemm");
        assert_int_equal(launch.queue, launches[l].queue);
        assert_int_equal(launch.grid_id, launches[l].dispatch);
        assert_int_equal(launch.occurrence, 0);
        assert_int_equal(launch.waves, 24);
        assert_int_equal(launch.waves_launched, 24); /* 200 threads are 4 waves of 64 */
        assert_int_equal(launch.begin_ps, l * 1000 * 10000);
        assert_int_equal(launch.end_ps, (l * 1000 + 5 * 20 + 3 + 16) * 10000);
    }
    struct ktrace_wave_info wave = {.struct_size = sizeof wave};
    assert_int_equal(ktrace_trace_wave(&wave, trace, 7), 0); /* by place, which a workgroup here has alone */
    assert_int_equal(wave.workgroup[0], 1);
    assert_int_equal(wave.wave, 3);
    assert_int_equal(wave.place, 1u << 16);
    assert_int_equal(wave.lane_count, 64);
    struct ktrace_event_info event = event_of(trace, 7, 1);
    assert_string_equal(event.name, "number");
    assert_int_equal((int64_t)event.payload, -7 + 3); /* the upper half is not the payload's */
    assert_int_equal(event.time_ps, (20 + 3 + 8) * 10000);
    assert_int_equal(event.clock_ticks, 1000000 + 20 + 3 + 8);
    assert_int_equal(event_of(trace, 7, 0).partner, 2);
    assert_int_equal(event.lane, 0);
    char *json;
    assert_int_equal(ktrace_trace_summary_json(&json, trace), 0);
    assert_non_null(strstr(json, "\"queue\": 28672"));
    assert_null(strstr(json, "simulated"));
    free(json);
    ktrace_trace_destroy(trace);
    run_wave(a, &launches[0], 0, 0, 1000); /* dormant again: writes nowhere */
}

/* Ids count from their unit's first site, headers say which that is. */
static void test_translation_units(void **state)
{
    struct amd *a = *state;
    struct ktrace_capture *capture = begin(a, 0, 0);
    struct fake_amdgcn_wave wave;
    run_wave(a, &(struct fake_amdgcn_launch){.kernel = a->gemm, .dispatch = 1}, 0, 0, 1000);
    fake_amdgcn_begin(&wave, &a->module,
                      &(struct fake_amdgcn_launch){.unit = a->second, .kernel = a->softmax, .dispatch = 2}, 0, 0, 2000);
    fake_amdgcn_event(&wave, a->tock, 2004, NULL);
    fake_amdgcn_end(&wave, 2008);
    struct ktrace_trace *trace = end(capture);
    assert_string_equal(launch_of(trace, 0).kernel, "gemm");
    assert_string_equal(launch_of(trace, 1).kernel, "softmax");
    assert_string_equal(event_of(trace, 0, 0).name, "body");
    assert_string_equal(event_of(trace, 1, 0).name, "tock");
    assert_string_equal(event_of(trace, 1, 0).file, "softmax.hip");
    assert_int_equal(event_of(trace, 1, 0).line, a->tock + 1);
    assert_int_equal(info_of(trace).slots_corrupt, 0);
    ktrace_trace_destroy(trace);
}

/* Starts that share a clock have tokens of their own. A second stop by one token is the other side of a branch. */
static void test_tokens(void **state)
{
    struct amd *a = *state;
    struct ktrace_capture *capture = begin(a, 0, 0);
    struct fake_amdgcn_wave w;
    fake_amdgcn_begin(&w, &a->module, &(struct fake_amdgcn_launch){.kernel = a->gemm}, 0, 0, 1000);
    const uint32_t first = fake_amdgcn_event(&w, a->start, 1004, NULL);  /* 0 */
    const uint32_t second = fake_amdgcn_event(&w, a->start, 1004, NULL); /* 1 */
    assert_int_equal(first, 3);
    assert_int_equal(second, 5);
    fake_amdgcn_close(&w, a->stop, 1008, first, NULL);                         /* 2 */
    fake_amdgcn_close(&w, a->stop, 1012, first, NULL);                         /* 3: supersedes 2, and leaves 1 open */
    const uint32_t third = fake_amdgcn_close(&w, a->next, 1016, second, NULL); /* 4: stop of 1; 5: start */
    const uint32_t fourth = fake_amdgcn_close(&w, a->next, 1020, 0, NULL);     /* 6: start alone */
    fake_amdgcn_close(&w, a->stop, 1024, third, NULL);                         /* 7 */
    fake_amdgcn_close(&w, a->stop, 1028, fourth, NULL);                        /* 8 */
    fake_amdgcn_close(&w, a->stop, 1032, 0x7001, NULL);                        /* 9: of nothing */
    fake_amdgcn_end(&w, 1040);
    struct ktrace_trace *trace = end(capture);
    static const uint32_t partners[] = {3, 4, KTRACE_NO_INDEX, 0, 1, 7, 8, 5, 6, KTRACE_NO_INDEX};
    assert_int_equal(info_of(trace).events, sizeof partners / sizeof *partners);
    for (uint32_t i = 0; i < sizeof partners / sizeof *partners; i++)
        assert_int_equal(event_of(trace, 0, i).partner, partners[i]);
    assert_int_equal(info_of(trace).ends_unmatched, 1);
    assert_int_equal(info_of(trace).ranges_unclosed, 0);
    ktrace_trace_destroy(trace);
}

static void test_unfinished_and_peek(void **state)
{
    struct amd *a = *state;
    struct ktrace_capture *capture = begin(a, 0, 0);
    struct fake_amdgcn_wave w;
    struct ktrace_trace *trace;
    const struct fake_amdgcn_launch launch = {.kernel = a->gemm, .grid = {2, 1, 1}};
    run_wave(a, &launch, 0, 0, 1000);
    fake_amdgcn_begin(&w, &a->module, &launch, 1, 0, 1000);
    fake_amdgcn_event(&w, a->push, 1004, NULL);
    fake_amdgcn_event(&w, a->number, 1008, &(uint64_t){7});
    for (int i = 0; i < 2; i++) { /* a peek changes nothing */
        assert_int_equal(ktrace_capture_peek(&trace, capture), 0);
        assert_int_equal(info_of(trace).waves, 2);
        assert_int_equal(info_of(trace).waves_unfinished, 1);
        assert_int_equal(info_of(trace).ranges_unclosed, 1);
        assert_int_equal(info_of(trace).events, 5);
        assert_int_equal(event_of(trace, 1, 1).payload, 7);
        ktrace_trace_destroy(trace);
    }
    assert_int_equal(ktrace_capture_read(&trace, capture), 0); /* it trapped */
    assert_int_equal(info_of(trace).waves_unfinished, 1);
    ktrace_trace_destroy(trace);
    trace = end(capture);
    assert_int_equal(info_of(trace).waves, 0);
    ktrace_trace_destroy(trace);
}

/* ---- What does not fit ------------------------------------------------------------------------------------------- */

static uint64_t suggested(const char *key)
{
    const char *at = strstr(ktrace_last_error(), key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* The size that the error names holds everything, and a region less does not. */
static void test_wave_overflow(void **state)
{
    struct amd *a = *state;
    static const uint32_t counts[] = {2, 64, 65, 1000, 4097};
    const struct fake_amdgcn_launch launch = {.kernel = a->gemm, .grid = {5000, 1, 1}};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct ktrace_trace *trace = NULL;
        struct ktrace_capture *capture = begin(a, 256 + 64 + 64, 8);
        for (uint32_t i = 0; i < counts[c]; i++)
            run_wave(a, &launch, i, 0, 1000);
        assert_int_equal(ktrace_capture_end(&trace, capture), KTRACE_ERROR_OVERFLOW);
        char says[64];
        snprintf(says, sizeof says, "%u of %u waves found no room", counts[c] - 1, counts[c]);
        assert_non_null(strstr(ktrace_last_error(), says));
        assert_int_equal(suggested("events_per_"), 0);
        const uint64_t bytes = suggested("buffer_bytes >= ");
        assert_true(bytes >= counts[c] * 384ull && bytes < (counts[c] + 256) * 384ull);
        capture = begin(a, bytes, 8);
        for (uint32_t i = 0; i < counts[c]; i++)
            run_wave(a, &launch, i, 0, 1000);
        trace = end(capture);
        assert_int_equal(info_of(trace).waves, counts[c]);
        ktrace_trace_destroy(trace);
    }
}

static void test_ring_overflow(void **state)
{
    struct amd *a = *state;
    for (uint32_t slots = 15; slots <= 18; slots++)
        for (int at_edge = 0; at_edge < 2; at_edge++) { /* the last event may have a payload: over the edge at 15 + 1 */
            struct ktrace_capture *capture = begin(a, 0, 16);
            struct fake_amdgcn_wave w;
            struct ktrace_trace *trace;
            fake_amdgcn_begin(&w, &a->module, &(struct fake_amdgcn_launch){.kernel = a->gemm}, 0, 0, 1000);
            for (uint32_t i = 0; i < slots - 2 * (uint32_t)at_edge; i++)
                fake_amdgcn_event(&w, a->mark, 1004, NULL);
            if (at_edge)
                fake_amdgcn_event(&w, a->number, 1004, &(uint64_t){77});
            fake_amdgcn_end(&w, 1008);
            if (slots <= 16) {
                trace = end(capture);
                assert_int_equal(info_of(trace).events, slots - (uint32_t)at_edge);
                assert_int_equal(info_of(trace).slots_lost, 0);
                if (at_edge)
                    assert_int_equal(event_of(trace, 0, slots - 2).payload, 77);
                ktrace_trace_destroy(trace);
            } else {
                assert_int_equal(ktrace_capture_end(&trace, capture), KTRACE_ERROR_OVERFLOW);
                assert_int_equal(suggested("events_per_wave >= "), slots);
                assert_null(strstr(ktrace_last_error(), "events_per_lane"));
            }
        }
}

/* A count of slots that wrapped looks like that of a short wave. */
static void test_wrapped_count(void **state)
{
    struct amd *a = *state;
    for (int payloads = 0; payloads < 2; payloads++)
        for (uint32_t extra = 2; extra < 16; extra += 2) {
            struct ktrace_capture *capture = begin(a, 0, 16);
            struct fake_amdgcn_wave w;
            struct ktrace_trace *trace;
            fake_amdgcn_begin(&w, &a->module, &(struct fake_amdgcn_launch){.kernel = a->gemm}, 0, 0, 1000);
            w.count_bytes = 0u - (40 - 1) * KTRACE_SLOT_BYTES;
            for (uint32_t i = 0; i < 40 + extra; i += 1 + (uint32_t)payloads)
                fake_amdgcn_event(&w, payloads ? a->number : a->mark, 1004 + i, payloads ? &(uint64_t){0} : NULL);
            fake_amdgcn_end(&w, 2000);
            assert_int_equal(ktrace_capture_end(&trace, capture), KTRACE_ERROR_OVERFLOW);
            assert_non_null(strstr(ktrace_last_error(), "recorded at least "));
        }
}

static void test_filter(void **state)
{
    struct amd *a = *state;
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    filter.block_first[0] = 3;
    options.filter = &filter;
    options.buffer_bytes = 1 << 16;
    assert_int_equal(fake_begin(&capture, &a->device, &options), 0);
    for (uint32_t i = 0; i < 5; i++)
        run_wave(a, &(struct fake_amdgcn_launch){.kernel = a->gemm, .grid = {5, 1, 1}}, i, 0, 1000);
    struct ktrace_trace *trace = end(capture);
    assert_int_equal(info_of(trace).waves, 2);
    assert_int_equal(info_of(trace).waves_filtered, 3);
    assert_int_equal(launch_of(trace, 0).waves_launched, 5);
    ktrace_trace_destroy(trace);

    filter.place_first = 4;
    filter.place_last = 3;
    fake_device_init(&a->device);
    a->device.arch = KTRACE_ARCH_AMDGCN;
    assert_int_equal(fake_begin(&capture, &a->device, &options), KTRACE_ERROR_ARGUMENT);
    assert_non_null(strstr(ktrace_last_error(), "the filter's XCC range is empty: 4 to 3"));
}

/* Regions lie at the pitch that waves expect, from an address that is aligned to an overhang. */
static void test_layout(void **state)
{
    (void)state;
    for (uint32_t events = 1; events <= 4096; events *= 4)
        for (uint64_t waves = 1; waves < 100000; waves = waves * 3 + 1) {
            struct kt_layout layout, less;
            const uint64_t bytes = kt_layout_bytes_for(KTRACE_ARCH_AMDGCN, waves, events, 1000000);
            assert_int_equal(kt_layout_make(&layout, KTRACE_ARCH_AMDGCN, bytes, events, 1000000), 0);
            const uint64_t region = 256 + 64 + events * 8ull;
            assert_true(layout.regions >= waves && layout.lane_ring_slots == 0);
            assert_int_equal(kt_layout_main_pitch_bytes(&layout), events * 8 + 64);
            assert_true(layout.headers_offset >= KT_HALVES * layout.regions * kt_layout_main_pitch_bytes(&layout));
            assert_int_equal(layout.headers_offset % 256, 0);
            assert_true(layout.total_bytes <= KT_HALVES * bytes + 256);
            if (bytes > region && kt_layout_make(&less, KTRACE_ARCH_AMDGCN, bytes - region, events, 0) == 0)
                assert_true(less.regions < waves || waves % layout.partitions);
        }
    struct kt_layout layout;
    assert_int_equal(kt_layout_make(&layout, KTRACE_ARCH_AMDGCN, 383, 8, 0), KTRACE_ERROR_ARGUMENT);
    assert_non_null(strstr(ktrace_last_error(), "cannot hold one wave: 8 events a wave take 384 bytes"));
}

/* ---- Modules that are refused ------------------------------------------------------------------------------------ */

static void assert_refused(struct amd *a, const char *words)
{
    struct ktrace_capture *capture = begin(a, 0, 0);
    run_wave(a, &(struct fake_amdgcn_launch){.kernel = a->gemm}, 0, 0, 1000);
    struct ktrace_trace *trace = end(capture);
    assert_int_equal(info_of(trace).waves, 0);
    if (!strstr(ktrace_trace_warning(trace), words))
        fail_msg("\"%s\" is not in: %s", words, ktrace_trace_warning(trace));
    assert_int_equal(a->module.control->base.mode, 0);
    ktrace_trace_destroy(trace);
}

static void test_refused_modules(void **state)
{
    struct amd *a = *state;
    struct ktrace_control_amdgcn *control = a->module.control;
    const struct ktrace_control_amdgcn good = *control;
    struct ktrace_site *site = fake_amdgcn_descriptor(&a->module, a->pop);

    control->base.version = 9;
    assert_refused(a, "wire version 9");
    *control = good;
    control->base.bytes = sizeof control->base; /* CUDA's */
    assert_refused(a, "recompile");
    *control = good;
    control->sites_end = good.sites_begin + 16 * 0x10001ull;
    assert_refused(a, "the module has 65537 annotations");
    *control = good;
    control->sites_end = good.sites_begin - 16;
    assert_refused(a, "is no array of descriptors");
    *control = good;
    control->sites_end = good.sites_end - 4;
    assert_refused(a, "is no array of descriptors");
    *control = good;
    control->sites_end = good.sites_begin + 16 * 0x10000ull; /* more than there is */
    assert_refused(a, "no device memory there");
    *control = good;
    site->version_line += 1u << 24;
    assert_refused(a, "descriptor 4 of 10 in the module's section ktrace_sites is none of this version");
    site->version_line -= 1u << 24;
    const uint64_t text = site->text;
    site->text = 0x7FFFFFF0; /* of no memory */
    assert_refused(a, "no device memory there");
    site->text = text;

    struct ktrace_capture *capture = begin(a, 0, 0); /* as it was, it is fine */
    run_wave(a, &(struct fake_amdgcn_launch){.kernel = a->gemm}, 0, 0, 1000);
    struct ktrace_trace *trace = end(capture);
    assert_int_equal(info_of(trace).waves, 1);
    ktrace_trace_destroy(trace);
}

/* Texts may lie before their descriptors. */
static void test_text_behind(void **state)
{
    struct amd *a = *state;
    struct ktrace_site *site = fake_amdgcn_descriptor(&a->module, a->tock);
    char *text = (char *)fake_amdgcn_descriptor(&a->module, a->tock + 1) + 8;
    site->text = UINT64_C(0xFFFFFFFF) << 32 | (uint32_t)(text - (char *)site);
    strcpy(text, "ping");
    struct ktrace_site moved = *site;
    moved.text = (uint32_t)((char *)text - (char *)(site + 2));
    site[2] = moved;
    a->module.control->sites_begin += 16ull * (a->tock + 2);
    a->module.control->sites_end = a->module.control->sites_begin + 16;
    struct ktrace_capture *capture = begin(a, 0, 0);
    struct fake_amdgcn_wave w;
    fake_amdgcn_begin(&w, &a->module, &(struct fake_amdgcn_launch){0}, 0, 0, 1000);
    fake_amdgcn_event(&w, 0, 1004, NULL);
    fake_amdgcn_end(&w, 1008);
    struct ktrace_trace *trace = end(capture);
    assert_string_equal(event_of(trace, 0, 0).name, "ping");
    ktrace_trace_destroy(trace);
}

/* ---- Snapshots and files ----------------------------------------------------------------------------------------- */

static char folder[128];

static struct ktrace_trace *recorded(struct amd *a)
{
    struct ktrace_capture *capture = begin(a, 0, 4);
    for (uint32_t i = 0; i < 5; i++) /* a ring of four: the pop lies in its last place but one; none is over the edge */
        run_wave(a, &(struct fake_amdgcn_launch){.kernel = a->gemm, .queue = 1, .grid = {6, 1, 1}}, i, 0, 1000 + i);
    struct fake_amdgcn_wave w;
    fake_amdgcn_begin(&w, &a->module, &(struct fake_amdgcn_launch){.kernel = a->gemm, .queue = 1, .grid = {6, 1, 1}}, 5,
                      0, 1000);
    fake_amdgcn_event(&w, a->mark, 1004, NULL);
    fake_amdgcn_event(&w, a->mark, 1004, NULL);
    fake_amdgcn_event(&w, a->number, 1008, &(uint64_t){99}); /* this one is, and unfinished */
    return end(capture);
}

static void test_files(void **state)
{
    struct amd *a = *state;
    char path[200];
    a->device.simulated = 1;
    struct ktrace_trace *trace = recorded(a), *loaded = NULL;
    assert_int_equal(make_scratch(folder, sizeof folder), 0);
    snprintf(path, sizeof path, "%s/amd.ktrace", folder);
    assert_int_equal(ktrace_trace_save(trace, path), 0);
    if (ktrace_trace_load(&loaded, path) < 0)
        fail_msg("%s", ktrace_last_error());
    char *before, *after;
    assert_int_equal(ktrace_trace_summary_json(&before, trace), 0);
    assert_int_equal(ktrace_trace_summary_json(&after, loaded), 0);
    assert_string_equal(before, after);
    assert_non_null(strstr(after, "\"simulated\": 1"));
    assert_int_equal(event_of(loaded, 5, 2).payload, 99);
    assert_int_equal(event_of(loaded, 5, 2).payload_type, KTRACE_PAYLOAD_INT32);
    char *summary = before;
    free(after);
    ktrace_trace_destroy(loaded);
    ktrace_trace_destroy(trace);

    /* Files stay readable for ever: this one was written by the first version that knows of amdgcn, which did not say who
     * recorded. */
    void *data, *fixture;
    size_t bytes, fixture_bytes;
    assert_int_equal(kt_file_read(&data, &bytes, path), 0);
    if (kt_file_read(&fixture, &fixture_bytes, KT_TEST_DATA "/format/v1_amdgcn.ktrace") < 0)
        fail_msg("%s", ktrace_last_error());
    struct kt_file_index index;
    assert_int_equal(kt_file_index_read(&index, data, bytes), 0);
    const struct kt_file_section *last = &index.sections[index.section_count - 1];
    assert_int_equal(last->type, KT_FILE_ORIGIN);
    assert_int_equal(last->payload_offset - KT_FILE_SECTION_HEADER_BYTES, fixture_bytes);
    kt_file_index_free(&index);
    assert_int_equal(ktrace_trace_load_memory(&loaded, fixture, fixture_bytes), 0);
    assert_int_equal(ktrace_trace_summary_json(&after, loaded), 0);
    assert_string_equal(summary, after);
    free(summary);
    free(after);
    ktrace_trace_destroy(loaded);
    free(fixture);

    /* What the feature bit says must be so, whoever reads it. */
    assert_int_equal(repair_get((uint8_t *)data + 16, 8), 1);
    repair_put((uint8_t *)data + 16, 0, 8);
    repair(data, bytes);
    assert_int_not_equal(ktrace_trace_load_memory(&loaded, data, bytes), 0);
    repair_put((uint8_t *)data + 16, 9, 8);
    repair(data, bytes);
    assert_int_equal(ktrace_trace_load_memory(&loaded, data, bytes), KTRACE_ERROR_VERSION);
    free(data);
    unlink(path);
    rmdir(folder);
}

/* Each way in which a snapshot of this architecture can be wrong is one that decoding would stumble over. */
static void test_hostile_snapshots(void **state)
{
    struct amd *a = *state;
    struct ktrace_trace *trace = recorded(a);
    struct kt_snapshot *s = trace->snapshot;
    assert_int_equal(kt_check_snapshot(s), 0);
#define ASSERT_REFUSED(place, value, words) \
    do { \
        const uint64_t kept = (place); \
        (place) = (value); \
        assert_int_equal(kt_check_snapshot(s), KTRACE_ERROR_FORMAT); \
        if (!strstr(ktrace_last_error(), words)) \
            fail_msg("%s", ktrace_last_error()); \
        (place) = kept; /* of a smaller type */ \
        assert_int_equal(kt_check_snapshot(s), 0); \
    } while (0)
    ASSERT_REFUSED(s->waves[1].arch, KTRACE_ARCH_NVIDIA, "architecture 1 in a trace of architecture 2");
    ASSERT_REFUSED(s->waves[1].lane_count, 65, "65 lanes are not 1 to 64");
    ASSERT_REFUSED(s->rings[1].lane, 1, "lane 1 is not there");
    ASSERT_REFUSED(s->modules[0].sites[3].id, 4, "site 3 has id 4");
    ASSERT_REFUSED(s->modules[0].sites[3].wide, 1, "site 3 has id");
    ASSERT_REFUSED(s->slot_count, s->slot_count - 1, "outside of the snapshot's"); /* the last overhang */
    ASSERT_REFUSED(s->processes[0].main_ring_slots, 0, "not a power of two");
    ASSERT_REFUSED(s->arch, KTRACE_ARCH_NVIDIA, "architecture 2 in a trace of architecture 1");
#undef ASSERT_REFUSED
    /* Ids and units that lead out of the module are no sites. */
    s->waves[0].control_offset = 0xFFFFFFFF;
    s->waves[1].kernel_site = UINT64_MAX;
    s->waves[2].control_offset = a->module.site_count - 1;
    struct ktrace_trace *again;
    struct kt_snapshot *copy;
    assert_int_equal(kt_snapshot_copy(&copy, s), 0);
    assert_int_equal(kt_trace_from_snapshot(&again, copy), 0);
    assert_true(info_of(again).slots_corrupt > 0);
    ktrace_trace_destroy(again);
    ktrace_trace_destroy(trace);
}

/* ---- Simulated time ---------------------------------------------------------------------------------------------- */

static int contains(const void *data, size_t bytes, const char *words)
{
    return memmem(data, bytes, words, strlen(words)) != NULL;
}

static void test_simulated_time_is_said_everywhere(void **state)
{
    struct amd *a = *state;
    for (int simulated = 0; simulated < 2; simulated++) {
        a->device.simulated = simulated;
        struct ktrace_trace *trace = recorded(a);
        assert_int_equal(info_of(trace).simulated, simulated);
        char *text;
        assert_int_equal(ktrace_trace_summary_text(&text, trace), 0);
        assert_int_equal(strstr(text, "of simulated time") != NULL, simulated);
        assert_non_null(strstr(text, "Fake CUs, 304 CUs\n"));
        free(text);
        assert_int_equal(ktrace_trace_summary_json(&text, trace), 0);
        assert_int_equal(strstr(text, "\"simulated\": 1") != NULL, simulated);
        free(text);
        void *packed;
        size_t packed_bytes, bytes, limit = 1 << 20;
        char *plain = malloc(limit);
        struct libdeflate_decompressor *inflate = libdeflate_alloc_decompressor();
        assert_int_equal(ktrace_trace_export_memory(&packed, &packed_bytes, trace, "perfetto"), 0);
        assert_int_equal(libdeflate_gzip_decompress(inflate, packed, packed_bytes, plain, limit, &bytes), 0);
        assert_int_equal(contains(plain, bytes, "ktrace (simulated time)"), simulated);
        assert_int_equal(contains(plain, bytes, "Fake CUs (simulated time)"), simulated);
        assert_int_equal(contains(plain, bytes, "simulated_time"), simulated);
        static const char *const tracks[] = {"gemm",
                                             "launch #0: grid(6, 1, 1) block(64, 1, 1), 6 of 6 waves",
                                             "XCD3/SE0/SH0/CU0",
                                             "WG(3, 0, 0)",
                                             "Wave0",
                                             "queue"};
        for (size_t i = 0; i < sizeof tracks / sizeof *tracks; i++)
            assert_true(contains(plain, bytes, tracks[i]));
        libdeflate_free_decompressor(inflate);
        free(plain);
        free(packed);
        ktrace_trace_destroy(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_launches_and_waves, set_up_amd, tear_down_amd),
        cmocka_unit_test_setup_teardown(test_translation_units, set_up_amd, tear_down_amd),
        cmocka_unit_test_setup_teardown(test_tokens, set_up_amd, tear_down_amd),
        cmocka_unit_test_setup_teardown(test_unfinished_and_peek, set_up_amd, tear_down_amd),
        cmocka_unit_test_setup_teardown(test_wave_overflow, set_up_amd, tear_down_amd),
        cmocka_unit_test_setup_teardown(test_ring_overflow, set_up_amd, tear_down_amd),
        cmocka_unit_test_setup_teardown(test_wrapped_count, set_up_amd, tear_down_amd),
        cmocka_unit_test_setup_teardown(test_filter, set_up_amd, tear_down_amd),
        cmocka_unit_test(test_layout),
        cmocka_unit_test_setup_teardown(test_refused_modules, set_up_amd, tear_down_amd),
        cmocka_unit_test_setup_teardown(test_text_behind, set_up_amd, tear_down_amd),
        cmocka_unit_test_setup_teardown(test_files, set_up_amd, tear_down_amd),
        cmocka_unit_test_setup_teardown(test_hostile_snapshots, set_up_amd, tear_down_amd),
        cmocka_unit_test_setup_teardown(test_simulated_time_is_said_everywhere, set_up_amd, tear_down_amd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
