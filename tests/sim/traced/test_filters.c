/* test_filters.c - which waves a filter lets through, against the places that all waves of the grid note, recorded or not. */
#include "traced.h"

#define ANY UINT32_MAX

/* What a filter means, as the test has it. */
struct spec {
    uint32_t first[3], last[3]; /* workgroup */
    uint32_t xcc_first, xcc_last;
    uint32_t every;
    uint32_t waves; /* bit i: wave i, of at most 16 */
};
#define EVERYTHING \
    { \
        {0, 0, 0}, {ANY, ANY, ANY}, 0, ANY, 1, 0xFFFF \
    }

static int passes(const struct launched *launched, const struct truth *wave, const void *closure)
{
    const struct spec *spec = closure;
    const uint32_t *at = wave->workgroup;
    const uint32_t linear = at[0] + launched->grid.x * (at[1] + launched->grid.y * at[2]);
    int inside = 1;
    for (int i = 0; i < 3; i++)
        inside &= at[i] >= spec->first[i] && at[i] <= spec->last[i];
    return inside && wave->xcc_id >= spec->xcc_first && wave->xcc_id <= spec->xcc_last && linear % spec->every == 0 &&
           (spec->waves >> wave->wave & 1);
}

/* Begin with a filter: parsed, as the option, or in the environment, in turn. */
static void begin_with(struct traced *t, const char *text)
{
    static int way;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_filter filter;
    if (ktrace_filter_parse(&filter, text) < 0)
        fail_msg("'%s': %s", text, ktrace_last_error());
    if (way == 0)
        options.filter = &filter;
    else if (way == 1)
        options.blocks = text;
    else
        setenv("KTRACE_BLOCKS", text, 1);
    way = (way + 1) % 3;
    options.events_per_wave = 16;
    begin(t, &options);
    unsetenv("KTRACE_BLOCKS");
}

/* Grids of several shapes through one filter. */
static void through(struct traced *t, const char *text, const struct spec *spec)
{
    begin_with(t, text);
    ok(launch_prepared(t, prepare(t, "work", (struct dim3){6, 4, 3}, (struct dim3){48, 4, 1}, 2), NULL));
    ok(launch_prepared(t, prepare(t, "other", (struct dim3){25, 1, 1}, (struct dim3){100, 1, 1}, 1), NULL));
    ok(launch_prepared(t, prepare(t, "work", (struct dim3){1, 9, 2}, (struct dim3){1024, 1, 1}, 1), NULL));
    struct ktrace_trace *trace = end(t);
    check_passing(t, 0, 3, trace, passes, spec);
    if (info_of(trace).waves == 0)
        assert_non_null(strstr(ktrace_trace_warning(trace), "the filter turned away all"));
    else
        assert_string_equal(ktrace_trace_warning(trace), "");
    ktrace_trace_destroy(trace);
    forget_launches(t);
}

static void each_kind_alone(void **state)
{
    struct traced *t = *state;
    const struct {
        const char *text;
        struct spec spec;
    } cases[] = {
        {"", EVERYTHING},
        {"all", EVERYTHING},
        {"*,*,*", EVERYTHING},
        {"0,0,0", {{0, 0, 0}, {0, 0, 0}, 0, ANY, 1, 0xFFFF}},
        {"3", {{3, 0, 0}, {3, ANY, ANY}, 0, ANY, 1, 0xFFFF}},
        {"*,2", {{0, 2, 0}, {ANY, 2, ANY}, 0, ANY, 1, 0xFFFF}},
        {"*,*,1", {{0, 0, 1}, {ANY, ANY, 1}, 0, ANY, 1, 0xFFFF}},
        {"2-4,1-2,0-1", {{2, 1, 0}, {4, 2, 1}, 0, ANY, 1, 0xFFFF}},
        {"2-,-1,*", {{2, 0, 0}, {ANY, 1, ANY}, 0, ANY, 1, 0xFFFF}},
        {"24-24,0", {{24, 0, 0}, {24, 0, ANY}, 0, ANY, 1, 0xFFFF}},
        {"xcc:0", {{0, 0, 0}, {ANY, ANY, ANY}, 0, 0, 1, 0xFFFF}},
        {"xcc:7", {{0, 0, 0}, {ANY, ANY, ANY}, 7, 7, 1, 0xFFFF}},
        {"xcc:2-4", {{0, 0, 0}, {ANY, ANY, ANY}, 2, 4, 1, 0xFFFF}},
        {"xcc:5-", {{0, 0, 0}, {ANY, ANY, ANY}, 5, ANY, 1, 0xFFFF}},
        {"every:1", EVERYTHING},
        {"every:2", {{0, 0, 0}, {ANY, ANY, ANY}, 0, ANY, 2, 0xFFFF}},
        {"every:7", {{0, 0, 0}, {ANY, ANY, ANY}, 0, ANY, 7, 0xFFFF}},
        {"every:1000", {{0, 0, 0}, {ANY, ANY, ANY}, 0, ANY, 1000, 0xFFFF}},
        {"waves:0", {{0, 0, 0}, {ANY, ANY, ANY}, 0, ANY, 1, 0x0001}},
        {"waves:1,3-5,15", {{0, 0, 0}, {ANY, ANY, ANY}, 0, ANY, 1, 0x803A}},
        {"waves:12-63", {{0, 0, 0}, {ANY, ANY, ANY}, 0, ANY, 1, 0xF000}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        through(t, cases[i].text, &cases[i].spec);
}

static void nothing_passes(void **state)
{
    struct traced *t = *state;
    const struct spec beyond = {{100, 0, 0}, {ANY, ANY, ANY}, 0, ANY, 1, 0xFFFF};
    const struct spec elsewhere = {{0, 0, 0}, {ANY, ANY, ANY}, 8, 15, 1, 0xFFFF}; /* there are 8 XCDs */
    const struct spec late = {{0, 0, 0}, {ANY, ANY, ANY}, 0, ANY, 1, 0};
    through(t, "100-", &beyond);
    through(t, "xcc:8-15", &elsewhere);
    through(t, "waves:16-63", &late);
}

/* ---- All of it together, at random ------------------------------------------------------------------------------- */

static uint32_t random_below(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*seed >> 33) % below;
}

/* A range as text, and its ends: up to `most`. */
static void random_range(FILE *out, uint64_t *seed, uint32_t *first, uint32_t *last, uint32_t most)
{
    const uint32_t a = random_below(seed, most + 1), b = a + random_below(seed, most + 1 - a);
    switch (random_below(seed, 5)) {
    case 0: fprintf(out, "%u", *first = *last = a); break;
    case 1: fprintf(out, "%u-%u", *first = a, *last = b); break;
    case 2:
        fprintf(out, "%u-", *first = a);
        *last = ANY;
        break;
    case 3:
        fprintf(out, "-%u", *last = b);
        *first = 0;
        break;
    default:
        fprintf(out, "*");
        *first = 0;
        *last = ANY;
    }
}

static void random_box(FILE *out, uint64_t *seed, struct spec *spec)
{
    static const uint32_t most[3] = {24, 8, 2};
    const uint32_t axes = 1 + random_below(seed, 3);
    for (uint32_t i = 0; i < axes; i++) {
        fputs(i ? "," : "", out);
        random_range(out, seed, &spec->first[i], &spec->last[i], most[i]);
    }
}

static void random_waves(FILE *out, uint64_t *seed, struct spec *spec)
{
    spec->waves = 0;
    fprintf(out, "waves:");
    for (uint32_t i = 0; i < 16; i++) {
        if (random_below(seed, 3) == 0 && !(i == 15 && !spec->waves))
            continue;
        fprintf(out, "%s%u", spec->waves ? "," : "", i);
        spec->waves |= 1u << i;
    }
}

static void combined(void **state)
{
    struct traced *t = *state;
    uint64_t seed = 20261130;
    for (int round = 0; round < 40; round++) {
        struct spec spec = EVERYTHING;
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        const char *separator = "", *next = round % 2 ? " " : "; ";
        const uint32_t terms = 1 + random_below(&seed, 15); /* a bit each */
        for (uint32_t i = 0; i < 4; i++) {
            if (!(terms >> i & 1))
                continue;
            fputs(separator, out);
            separator = next;
            if (i == 0)
                random_box(out, &seed, &spec);
            else if (i == 1)
                fprintf(out, "every:%u", spec.every = 1 + random_below(&seed, 6));
            else if (i == 2)
                random_waves(out, &seed, &spec);
            else {
                fprintf(out, "xcc:");
                random_range(out, &seed, &spec.xcc_first, &spec.xcc_last, 7);
            }
        }
        fclose(out);
        through(t, text, &spec);
        free(text);
    }
}

/* What is turned away claims nothing: a grid that is larger than the buffer passes. */
static void spares_the_buffer(void **state)
{
    struct traced *t = *state;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_filter filter;
    const struct spec spec = {{77, 0, 0}, {78, ANY, ANY}, 0, ANY, 1, 2};
    must(ktrace_filter_parse(&filter, "77-78; waves:1"));
    options.filter = &filter;
    options.events_per_wave = 16;
    options.buffer_bytes = 2048;
    begin(t, &options);
    launch_kernel(t, "work", 300, 128, 1, NULL);
    struct ktrace_trace *trace = end(t);
    assert_int_equal(info_of(trace).waves, 2);
    check_passing(t, 0, 1, trace, passes, &spec);
    ktrace_trace_destroy(trace);
}

/* Those turned away are counted anew with each read and each clear, as waves are. */
static void counted_anew(void **state)
{
    struct traced *t = *state;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_filter filter;
    const struct spec spec = {{0, 0, 0}, {ANY, ANY, ANY}, 0, ANY, 3, 0xFFFF};
    must(ktrace_filter_parse(&filter, "every:3"));
    options.filter = &filter;
    begin(t, &options);
    for (uint32_t round = 0; round < 5; round++) {
        const size_t first = t->count;
        launch_kernel(t, "work", 4 + round, 128, 1, NULL);
        launch_kernel(t, "other", 1, 64, 1, NULL);
        if (round == 2) {
            must(ktrace_capture_clear(t->capture));
            continue;
        }
        struct ktrace_trace *trace = round == 4 ? end(t) : read_trace(t);
        check_passing(t, first, 2, trace, passes, &spec);
        ktrace_trace_destroy(trace);
    }
}

/* What can never be right is refused, and quoted. */
static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *blocks, *quoted;
    } cases[] = {{"sm:3", "(sm:)"}, {"1,2,3,4", "1,2,3,4"}, {"4-2", "4-2"}, {"every:0", "every:0"}, {"xcc:x", "xcc:x"}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        struct ktrace_capture *capture = NULL;
        struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
        if (i % 2)
            options.blocks = cases[i / 2].blocks;
        else
            setenv("KTRACE_BLOCKS", cases[i / 2].blocks, 1);
        refuses(ktrace_capture_begin(&capture, &options), KTRACE_ERROR_ARGUMENT, cases[i / 2].quoted);
        assert_null(capture);
        unsetenv("KTRACE_BLOCKS");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACED_TEST(each_kind_alone),   TRACED_TEST(nothing_passes), TRACED_TEST(combined),
        TRACED_TEST(spares_the_buffer), TRACED_TEST(counted_anew),   TRACED_TEST(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
