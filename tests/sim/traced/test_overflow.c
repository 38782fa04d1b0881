/* test_overflow.c - waves or events that do not fit: the sentence names what is needed, exactly that suffices and less does not, and
 * the next read is right. Buffers larger than 4 GiB. */
#include <unistd.h>

#include "traced.h"

static struct ktrace_capture_options sized(uint32_t events_per_wave, uint64_t buffer_bytes)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.events_per_wave = events_per_wave;
    options.buffer_bytes = buffer_bytes;
    return options;
}

/* What the last error says is needed of an option; 0: nothing. */
static uint64_t needed(const char *option)
{
    char key[64];
    snprintf(key, sizeof key, "%s >= ", option);
    const char *at = strstr(ktrace_last_error(), key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* In a capture of its own: does this launch fit? */
static int fits(struct traced *t, const struct ktrace_capture_options *options, const char *kernel, uint32_t groups,
                uint32_t threads, int n)
{
    struct ktrace_trace *trace = NULL;
    begin(t, options);
    launch_kernel(t, kernel, groups, threads, n, NULL);
    struct ktrace_capture *capture = t->capture;
    t->capture = NULL;
    const int status = ktrace_capture_end(&trace, capture);
    if (status == KTRACE_OK)
        check_launches(t, t->count - 1, 1, trace);
    else
        refuses(status, KTRACE_ERROR_OVERFLOW, "the capture overflowed");
    ktrace_trace_destroy(trace);
    forget_launches(t);
    return status == KTRACE_OK;
}

/* ---- What is named ------------------------------------------------------------------------------------------------ */

static uint32_t power_below(uint64_t value)
{
    uint32_t power = 1;
    while (2ull * power < value)
        power *= 2;
    return power;
}

/* Rings hold powers of two: the largest below what is named does not suffice. */
static void a_ring_is_too_small(void **state)
{
    struct traced *t = *state;
    const struct {
        const char *kernel;
        int n;
        uint64_t slots;
    } cases[] = {{"work", 7, 17},     {"work", 8, 19},      {"work", 100, 203},    {"work", 255, 513},
                 {"work", 511, 1025}, {"work", 999, 2001},  {"other", 5, 17},      {"other", 21, 65},
                 {"other", 100, 302}, {"other", 341, 1025}, {"work", 10000, 20003}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *kernel = cases[i].kernel;
        struct ktrace_capture_options options = sized(16, 1 << 20);
        assert_false(fits(t, &options, kernel, 2, 64, cases[i].n));
        const uint64_t named = needed("events_per_wave");
        /* A payload behind the last slot may skip a place. */
        assert_in_range(named, cases[i].slots, cases[i].slots + 1);
        assert_int_equal(needed("buffer_bytes"), 0); /* two waves have room */
        options.events_per_wave = power_below(named);
        assert_false(fits(t, &options, kernel, 2, 64, cases[i].n));
        assert_int_equal(needed("events_per_wave"), named); /* whatever the ring had */
        options.events_per_wave = (uint32_t)named;
        assert_true(fits(t, &options, kernel, 2, 64, cases[i].n));
        if (power_below(named) == named - 1) { /* exactly one less is a smaller ring */
            options.events_per_wave = (uint32_t)named - 1;
            assert_false(fits(t, &options, kernel, 2, 64, cases[i].n));
        }
    }
}

static void a_buffer_is_too_small(void **state)
{
    struct traced *t = *state;
    const struct {
        uint32_t groups, threads, events;
    } cases[] = {{5, 64, 16},    {1, 1024, 16},  {100, 64, 16}, {77, 192, 64},
                 {300, 128, 16}, {1000, 64, 32}, {64, 256, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t groups = cases[i].groups, threads = cases[i].threads;
        struct ktrace_capture_options options = sized(cases[i].events, 2048);
        assert_false(fits(t, &options, "work", groups, threads, 2));
        const uint64_t named = needed("buffer_bytes");
        assert_int_equal(needed("events_per_wave"), 0);
        assert_true(named > 2048);
        options.buffer_bytes = named - 1;
        assert_false(fits(t, &options, "work", groups, threads, 2));
        assert_int_equal(needed("buffer_bytes"), named);
        options.buffer_bytes = named;
        assert_true(fits(t, &options, "work", groups, threads, 2));
    }
}

/* Both at once: waves that found no room, and rings that wrapped in those that did. One sentence tells both. */
static void both_are_too_small(void **state)
{
    struct traced *t = *state;
    struct ktrace_capture_options options = sized(16, 4096);
    assert_false(fits(t, &options, "work", 50, 128, 30));
    const uint64_t events = needed("events_per_wave"), bytes = needed("buffer_bytes");
    assert_true(events && bytes);
    options.events_per_wave = (uint32_t)events;
    options.buffer_bytes = bytes - 1;
    assert_false(fits(t, &options, "work", 50, 128, 30));
    assert_int_equal(needed("events_per_wave"), 0);
    assert_int_equal(needed("buffer_bytes"), bytes);
    options.events_per_wave = power_below(events);
    options.buffer_bytes = bytes;
    assert_false(fits(t, &options, "work", 50, 128, 30));
    assert_int_equal(needed("events_per_wave"), events);
    options.events_per_wave = (uint32_t)events;
    assert_true(fits(t, &options, "work", 50, 128, 30));
}

/* Launches of 1 to 10 workgroups, each with more events than the last: in a capture of its own, do they fit? */
static int several_fit(struct traced *t, const struct ktrace_capture_options *options)
{
    struct ktrace_trace *trace = NULL;
    begin(t, options);
    for (int i = 0; i < 10; i++)
        launch_kernel(t, i % 2 ? "other" : "work", 1 + (uint32_t)i, 128, 2 * i, NULL);
    struct ktrace_capture *capture = t->capture;
    t->capture = NULL;
    const int status = ktrace_capture_end(&trace, capture);
    if (status == KTRACE_OK)
        check_launches(t, t->count - 10, 10, trace);
    else
        refuses(status, KTRACE_ERROR_OVERFLOW, "the capture overflowed");
    ktrace_trace_destroy(trace);
    forget_launches(t);
    return status == KTRACE_OK;
}

/* What several launches need together, of which only the first small ones find room: a wave that finds none counts its slots, so
 * the first sentence names all that is needed. */
static void several_launches_overflow(void **state)
{
    struct traced *t = *state;
    struct ktrace_capture_options options = sized(16, 8192);
    assert_false(several_fit(t, &options));
    const struct ktrace_capture_options enough = sized((uint32_t)needed("events_per_wave"), needed("buffer_bytes"));
    assert_int_equal(enough.events_per_wave, 56);
    assert_non_null(strstr(ktrace_last_error(), "of 110 waves found no room"));
    assert_true(several_fit(t, &enough));
    options = enough;
    options.buffer_bytes--;
    assert_false(several_fit(t, &options));
    assert_int_equal(needed("buffer_bytes"), enough.buffer_bytes);
    assert_int_equal(needed("events_per_wave"), 0);
    options = enough;
    options.events_per_wave = power_below(56);
    assert_false(several_fit(t, &options));
    assert_int_equal(needed("events_per_wave"), 56);
    assert_int_equal(needed("buffer_bytes"), 0); /* smaller rings: more of them fit */
}

/* A read leaves a half in which waves are without room; the next one knows nothing of them. */
static void what_was_dropped_ends_with_its_read(void **state)
{
    struct traced *t = *state;
    const struct ktrace_capture_options options = sized(16, 4096);
    begin(t, &options);
    for (int round = 0; round < 6; round++) {
        struct ktrace_trace *trace = NULL;
        launch_kernel(t, "work", 20, 64, 1, NULL);
        launch_kernel(t, "work", 5, 64, round % 2 ? 20 : 100, NULL);
        refuses(ktrace_capture_read(&trace, t->capture), KTRACE_ERROR_OVERFLOW, "found no room");
        assert_in_range(needed("events_per_wave"), round % 2 ? 43 : 203, round % 2 ? 44 : 204);
        assert_null(trace);
    }
    ktrace_trace_destroy(end(t));
}

/* ---- Afterwards --------------------------------------------------------------------------------------------------- */

/* The device is left clean, whatever overflowed and however often: reads and clears, both halves of the buffer. */
static void the_next_read_is_right(void **state)
{
    struct traced *t = *state;
    const struct ktrace_capture_options options = sized(16, 16384);
    begin(t, &options);
    for (int round = 0; round < 15; round++) {
        struct ktrace_trace *trace = NULL;
        const int what = round % 5; /* 0: waves, 1: events, 2: both, and cleared, 3: both, 4: nothing */
        if (what != 1 && what != 4)
            launch_kernel(t, "work", 200, 64, 2, NULL);
        if (what > 0 && what != 4)
            launch_kernel(t, "work", 3, 64, 60, NULL);
        if (what == 2)
            must(ktrace_capture_clear(t->capture));
        else if (what != 4)
            refuses(ktrace_capture_read(&trace, t->capture), KTRACE_ERROR_OVERFLOW, "nothing of this read is kept");
        assert_null(trace);
        const size_t first = t->count;
        launch_kernel(t, "work", 2, 128, 3, NULL);
        launch_kernel(t, "other", 1, 64, 4, NULL);
        trace = read_trace(t);
        check_launches(t, first, 2, trace);
        ktrace_trace_destroy(trace);
    }
    struct ktrace_trace *trace = end(t);
    assert_int_equal(info_of(trace).waves, 0);
    ktrace_trace_destroy(trace);
}

/* A capture whose end overflows is gone, and the next one begins with clean memory. */
static void an_end_that_overflows(void **state)
{
    struct traced *t = *state;
    struct ktrace_capture_options options = sized(16, 1 << 16);
    for (int i = 0; i < 3; i++) {
        assert_false(fits(t, &options, "work", 500, 64, 40));
        assert_int_equal(ktrace_active(), 0);
        assert_true(fits(t, &options, "other", 3, 64, 3));
    }
}

/* ---- The newest events -------------------------------------------------------------------------------------------- */

static void keep_last_marks_the_trace(void **state)
{
    struct traced *t = *state;
    struct ktrace_capture_options options = sized(16, 1 << 20);
    char *summary;
    options.keep_last = 1;
    begin(t, &options);
    launch_kernel(t, "work", 2, 64, 50, NULL); /* 103 slots */
    struct ktrace_trace *trace = read_trace(t);
    const struct ktrace_trace_info info = info_of(trace);
    assert_int_equal(info.waves, 2);
    assert_in_range(info.slots_lost, 2 * (103 - 16), 2 * (103 - 16 + 3));
    assert_int_equal(info.slots_lost, launch_of(trace, 0).slots_lost);
    assert_int_equal(info.slots_corrupt, 0);
    assert_string_not_equal(ktrace_trace_warning(trace), "");
    must(ktrace_trace_summary_text(&summary, trace));
    assert_non_null(strstr(summary, "overwritten"));
    free(summary);
    for (uint64_t wave = 0; wave < 2; wave++) {
        const struct ktrace_wave_info w = wave_of(trace, wave);
        assert_int_equal(2 * w.slots_lost, info.slots_lost);
        assert_in_range(w.events, 7, 9); /* the end of the body, and marks of two slots before it */
        for (uint32_t i = 0; i + 1 < w.events; i++)
            assert_int_equal(event_of(trace, wave, i).payload, 50 - w.events + 1 + i);
        assert_int_equal(event_of(trace, wave, w.events - 1).kind, KTRACE_KIND_POP);
    }
    ktrace_trace_destroy(trace);
    /* what fits is not marked */
    const size_t first = t->count;
    launch_kernel(t, "work", 2, 64, 5, NULL);
    trace = end(t);
    check_launches(t, first, 1, trace);
    ktrace_trace_destroy(trace);
    /* nor does it help waves that find no room */
    options.buffer_bytes = 2048;
    assert_false(fits(t, &options, "work", 100, 64, 2));
}

/* ---- Large buffers ------------------------------------------------------------------------------------------------ */

static uint64_t resident_bytes(void)
{
    unsigned long long all, resident;
    FILE *file = fopen("/proc/self/statm", "r"); /* in pages */
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu %llu", &all, &resident), 2);
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Rings of 1 GiB, so that most waves record beyond the first 4 GiB; and, with small ones, headers that lie there. Memory that
 * is not written takes none of the host's. */
static void beyond_4_gib(void **state)
{
    struct traced *t = *state;
    const struct ktrace_capture_options cases[] = {sized(1u << 27, 21ull << 30), sized(0, 24ull << 30)};
    const uint64_t before = resident_bytes();
    for (size_t i = 0; i < 2; i++) {
        begin(t, &cases[i]);
        for (int round = 0; round < 3; round++) { /* both halves */
            const size_t first = t->count;
            launch_kernel(t, "work", 6, 128, 40 + round, NULL);
            launch_kernel(t, "other", 8, 64, 3, NULL);
            struct ktrace_trace *trace = read_trace(t);
            check_launches(t, first, 2, trace);
            ktrace_trace_destroy(trace);
        }
        if (i == 0) { /* 20 waves */
            struct ktrace_trace *trace = NULL;
            launch_kernel(t, "work", 21, 64, 1, NULL);
            refuses(ktrace_capture_read(&trace, t->capture), KTRACE_ERROR_OVERFLOW, "1 of 21 waves found no room");
            assert_int_equal(needed("buffer_bytes") / (21ull << 30), 1);
        }
        ktrace_trace_destroy(end(t));
        forget_launches(t);
    }
    assert_true(resident_bytes() < before + (300ull << 20));
}

/* More than the device has is an error that says so, and nothing is left behind. */
static void more_than_the_device_has(void **state)
{
    struct traced *t = *state;
    size_t free_before, free_after;
    struct ktrace_capture *capture = NULL;
    const struct ktrace_capture_options options = sized(1 << 20, 1ull << 40);
    ok(hipMemGetInfo(&free_before, NULL));
    assert_int_equal(ktrace_capture_begin(&capture, &options), KTRACE_ERROR_DEVICE);
    assert_non_null(strstr(ktrace_last_error(), "bytes of device memory for the capture failed: out of memory"));
    assert_null(capture);
    assert_int_equal(hipGetLastError(), hipSuccess);
    ok(hipMemGetInfo(&free_after, NULL));
    assert_int_equal(free_before, free_after);
    const struct ktrace_capture_options small = sized(16, 1 << 16);
    assert_true(fits(t, &small, "work", 2, 64, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACED_TEST(a_ring_is_too_small),
        TRACED_TEST(a_buffer_is_too_small),
        TRACED_TEST(both_are_too_small),
        TRACED_TEST(several_launches_overflow),
        TRACED_TEST(what_was_dropped_ends_with_its_read),
        TRACED_TEST(the_next_read_is_right),
        TRACED_TEST(an_end_that_overflows),
        TRACED_TEST(keep_last_marks_the_trace),
        TRACED_TEST(beyond_4_gib),
        TRACED_TEST(more_than_the_device_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
