/* golden_places.c - waves on all of the chip: places against what each kernel read itself, shapes of grids and workgroups,
 * waves side by side, and which waves a filter lets through. */
#include "golden.h"

const char *const golden_group = "places";

static uint32_t waves_of(const struct shape *s)
{
    return (s->block[0] * s->block[1] * s->block[2] + 63) / 64;
}

/* Every wave of the grid is there once, or, with a filter, each that is there is right. */
static void check_places(struct test *t, const struct shape *s)
{
    static int stored[OUT_WORDS];
    const uint32_t waves = waves_of(s), threads = s->block[0] * s->block[1] * s->block[2];
    const uint32_t groups = s->grid[0] * s->grid[1] * s->grid[2];
    char *seen = calloc(groups, waves);
    read_out(t, stored, 2 * groups * waves);
    for (uint64_t i = 0; i < info_of(t).waves; i++) {
        const struct ktrace_wave_info wave = wave_info(t, i);
        const uint32_t *const at = wave.workgroup;
        if (at[0] >= s->grid[0] || at[1] >= s->grid[1] || at[2] >= s->grid[2] || wave.wave >= waves) {
            CHECK(0, "(%u, %u, %u) wave %u", at[0], at[1], at[2], wave.wave);
            continue;
        }
        const uint32_t unit = (at[0] + s->grid[0] * (at[1] + s->grid[1] * at[2])) * waves + wave.wave;
        CHECK(!seen[unit]++, "wave %u twice", unit);
        const uint32_t place = (uint32_t)stored[2 * unit + 1] << 16 | ((uint32_t)stored[2 * unit] & 0x7F00);
        CHECK(wave.place == place, "wave %u is on 0x%x, the kernel says 0x%x", unit, wave.place, place);
        const uint32_t lanes = threads - wave.wave * 64 < 64 ? threads - wave.wave * 64 : 64;
        CHECK(wave.lane_count == lanes, "wave %u has %u lanes of %u", unit, wave.lane_count, lanes);
        char wanted[64];
        if (lanes > 8)
            snprintf(wanted, sizeof wanted, "wave=%u from lane 8=%u", wave.wave, wave.wave * 64 + 8);
        else
            snprintf(wanted, sizeof wanted, "wave=%u", wave.wave);
        expect_wave(t, i, wanted);
    }
    free(seen);
}

static void run_shape(struct test *t, struct shape s)
{
    const uint32_t groups = s.grid[0] * s.grid[1] * s.grid[2];
    const struct ktrace_capture_options options = sized(8, 0);
    begin(t, &options);
    launch_shape(t, "places", s, (int)waves_of(&s), NULL);
    t->is_brief = groups * waves_of(&s) > 40;
    end(t);
    expect_clean(t, 0, 0);
    REQUIRE(info_of(t).launches == 1 && info_of(t).waves == groups * waves_of(&s), "%llu waves",
            (unsigned long long)info_of(t).waves);
    const struct ktrace_launch_info l = launch_info(t, 0);
    for (int i = 0; i < 3; i++)
        CHECK(l.grid[i] == s.grid[i] && l.block[i] == s.block[i], "axis %d: %u of %u", i, l.grid[i], l.block[i]);
    check_places(t, &s);
}

static void partial_waves(struct test *t)
{
    const uint32_t threads[] = {1, 33, 65, 100};
    for (int i = 0; i < 4; i++)
        run_shape(t, (struct shape){{2, 1, 1}, {threads[i], 1, 1}});
}

static void largest_workgroups(struct test *t)
{
    run_shape(t, (struct shape){{2, 1, 1}, {1024, 1, 1}});
}

static void three_dimensions(struct test *t)
{
    run_shape(t, (struct shape){{3, 2, 2}, {5, 7, 3}}); /* 105 threads: the second wave has 41 */
}

/* More workgroups than the chip has CUs. */
static void whole_chip(struct test *t)
{
    run_shape(t, (struct shape){{700, 1, 1}, {128, 1, 1}});
    unsigned xccs = 0;
    for (uint64_t i = 0; i < info_of(t).waves; i++)
        xccs |= 1u << (wave_info(t, i).place >> 16);
    CHECK(xccs == 0xFF, "XCDs 0x%x", xccs);
}

static void interleaved(struct test *t)
{
    begin(t, NULL);
    launch(t, "interleaved", 2, 256, 0);
    end(t);
    expect_clean(t, 0, 0);
    REQUIRE(info_of(t).waves == 8, "%llu waves", (unsigned long long)info_of(t).waves);
    int64_t last_start = INT64_MIN, first_stop = INT64_MAX;
    for (uint64_t i = 0; i < 8; i++) {
        char wanted[256];
        snprintf(
            wanted, sizeof wanted,
            "all{=%u work{=0 }work +barrier -barrier work{=1 }work +barrier -barrier work{=2 }work +barrier -barrier "
            "}all",
            wave_info(t, i).wave);
        expect_wave(t, i, wanted);
        if (wave_info(t, i).workgroup[0])
            continue;
        const int64_t start = event_info(t, i, 3).time_ps, stop = event_info(t, i, 4).time_ps;
        last_start = start > last_start ? start : last_start;
        first_stop = stop < first_stop ? stop : first_stop;
    }
    CHECK(last_start <= first_stop, "a wave leaves the barrier before another is there");
}

/* ---- Streams ---------------------------------------------------------------------------------------------------- */

/* Launches of two streams overlap in time; each has a queue of its own, in which dispatches are numbered. */
static void two_streams(struct test *t)
{
    hipStream_t streams[2];
    const struct shape one = {{1, 1, 1}, {64, 1, 1}};
    for (int i = 0; i < 2; i++)
        OK(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
    begin(t, NULL);
    for (int i = 0; i < 4; i++)
        launch_shape(t, "long_kernel", one, i, streams[i % 2]);
    end(t);
    expect_clean(t, 0, 0);
    REQUIRE(info_of(t).launches == 4, "%llu launches", (unsigned long long)info_of(t).launches);
    for (uint64_t i = 0; i < 4; i++) {
        const struct ktrace_launch_info a = launch_info(t, i);
        const uint64_t n = event_info(t, i, 0).payload;
        for (uint64_t k = 0; k < i; k++) {
            const struct ktrace_launch_info b = launch_info(t, k);
            const int same_stream = n % 2 == event_info(t, k, 0).payload % 2;
            CHECK((a.queue == b.queue) == same_stream, "launches %llu and %llu", (unsigned long long)k,
                  (unsigned long long)i);
            CHECK(!same_stream || (a.grid_id > b.grid_id && a.begin_ps > b.end_ps), "launches %llu and %llu",
                  (unsigned long long)k, (unsigned long long)i);
        }
    }
    CHECK(launch_info(t, 1).begin_ps < launch_info(t, 0).end_ps, "the streams do not overlap");
}

/* Every replay is a launch with a dispatch id of its own. */
static void graph(struct test *t)
{
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t exec;
    const struct shape one = {{1, 1, 1}, {64, 1, 1}}, two = {{2, 1, 1}, {64, 1, 1}};
    OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    launch_shape(t, "long_kernel", one, 0, stream);
    launch_shape(t, "places", two, 1, stream);
    OK(hipStreamEndCapture(stream, &graph));
    OK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    OK(hipGraphLaunch(exec, stream)); /* dormant */
    OK(hipStreamSynchronize(stream));
    begin(t, NULL);
    for (int i = 0; i < 3; i++)
        OK(hipGraphLaunch(exec, stream));
    launch_shape(t, "places", one, 1, stream);
    end(t);
    expect_clean(t, 0, 0);
    REQUIRE(info_of(t).launches == 7, "%llu launches", (unsigned long long)info_of(t).launches);
    for (uint64_t i = 0; i < 7; i++) {
        const struct ktrace_launch_info now = launch_info(t, i);
        CHECK(!strcmp(now.kernel, i % 2 || i == 6 ? "places" : "long"), "launch %llu is %s", (unsigned long long)i,
              now.kernel);
        CHECK(now.occurrence == 0, "launch %llu", (unsigned long long)i);
        if (i > 0)
            CHECK(now.grid_id > launch_info(t, i - 1).grid_id && now.queue == launch_info(t, 0).queue, "launch %llu",
                  (unsigned long long)i);
    }
    OK(hipGraphExecDestroy(exec));
    OK(hipGraphDestroy(graph));
}

/* The same code object loaded twice is two modules; one is not known and stays dormant until it is. */
static void two_modules(struct test *t)
{
    hipModule_t second;
    OK(hipModuleLoad(&second, t->kernels));
    begin(t, NULL);
    launch_of(t, second, "places", 1, 64, 1); /* not attached yet */
    MUST(ktrace_attach_hip_module(second));
    launch(t, "places", 1, 64, 1);
    launch_of(t, second, "long_kernel", 1, 64, 2);
    launch(t, "long_kernel", 1, 64, 3);
    launch_of(t, second, "places", 1, 64, 1);
    MUST(ktrace_detach_hip_module(second));
    launch_of(t, second, "places", 1, 64, 1); /* dormant again */
    end(t);
    expect_clean(t, 0, 0);
    REQUIRE(info_of(t).launches == 4, "%llu launches", (unsigned long long)info_of(t).launches);
    expect_wave(t, 0, "wave=0 from lane 8=8");
    expect_wave(t, 1, "body{=2 }body");
    expect_wave(t, 2, "body{=3 }body");
    expect_wave(t, 3, "wave=0 from lane 8=8");
    OK(hipModuleUnload(second));
}

/* ---- Filters ---------------------------------------------------------------------------------------------------- */

/* Waves of a grid through a filter: as many as `passes` says, the others counted. */
static void filtered(struct test *t, struct shape s, const struct ktrace_filter *filter,
                     int (*passes)(const struct ktrace_wave_info *wave))
{
    struct ktrace_capture_options options = sized(8, 0);
    const uint32_t all = s.grid[0] * s.grid[1] * s.grid[2] * waves_of(&s);
    uint64_t wanted = 0;
    begin(t, &options); /* without it, who would pass */
    launch_shape(t, "places", s, (int)waves_of(&s), NULL);
    struct ktrace_trace *trace = NULL;
    MUST(ktrace_capture_end(&trace, t->capture));
    t->capture = NULL;
    t->trace = trace;
    for (uint64_t i = 0; i < info_of(t).waves; i++) {
        const struct ktrace_wave_info wave = wave_info(t, i);
        wanted += (uint64_t)passes(&wave);
    }
    options.filter = filter;
    begin(t, &options);
    launch_shape(t, "places", s, (int)waves_of(&s), NULL);
    end(t);
    const struct ktrace_trace_info info = info_of(t);
    CHECK(info.waves == wanted && info.waves_filtered == all - wanted && info.waves_dropped == 0,
          "%llu waves of %u, %llu wanted, %llu filtered", (unsigned long long)info.waves, all,
          (unsigned long long)wanted, (unsigned long long)info.waves_filtered);
    for (uint64_t i = 0; i < info.waves; i++) {
        const struct ktrace_wave_info wave = wave_info(t, i);
        CHECK(passes(&wave), "(%u, %u, %u) wave %u", wave.workgroup[0], wave.workgroup[1], wave.workgroup[2],
              wave.wave);
    }
    check_places(t, &s);
}

static int in_box(const struct ktrace_wave_info *w)
{
    return w->workgroup[0] >= 2 && w->workgroup[0] <= 3 && w->workgroup[1] == 1 && w->workgroup[2] == 0;
}

static void filter_box(struct test *t)
{
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.block_first[0] = 2, filter.block_last[0] = 3;
    filter.block_first[1] = filter.block_last[1] = 1;
    filter.block_last[2] = 0;
    filtered(t, (struct shape){{5, 3, 2}, {100, 1, 1}}, &filter, in_box);
}

static int on_xcc_3_or_4(const struct ktrace_wave_info *w)
{
    return w->place >> 16 == 3 || w->place >> 16 == 4;
}

static void filter_xcc(struct test *t)
{
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.place_first = 3, filter.place_last = 4;
    filtered(t, (struct shape){{20, 1, 1}, {64, 1, 1}}, &filter, on_xcc_3_or_4);
}

static int every_third(const struct ktrace_wave_info *w)
{
    return (w->workgroup[0] + 5 * (w->workgroup[1] + 2 * w->workgroup[2])) % 3 == 0;
}

static void filter_step(struct test *t)
{
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.workgroup_step = 3;
    filtered(t, (struct shape){{5, 2, 2}, {64, 1, 1}}, &filter, every_third);
}

static int wave_0_or_15(const struct ktrace_wave_info *w)
{
    return w->wave == 0 || w->wave == 15;
}

static void filter_waves(struct test *t)
{
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.wave_mask_low = 0x8001;
    filtered(t, (struct shape){{2, 1, 1}, {1024, 1, 1}}, &filter, wave_0_or_15);
}

static int all_together(const struct ktrace_wave_info *w)
{
    return w->workgroup[0] >= 10 && w->workgroup[0] < 100 && w->workgroup[0] % 4 == 0 && w->wave == 1 &&
           w->place >> 16 == 0;
}

static void filter_all(struct test *t)
{
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.block_first[0] = 10, filter.block_last[0] = 99;
    filter.workgroup_step = 4;
    filter.wave_mask_low = 2;
    filter.place_last = 0;
    filtered(t, (struct shape){{128, 1, 1}, {192, 1, 1}}, &filter, all_together);
}

static int none(const struct ktrace_wave_info *w)
{
    (void)w;
    return 0;
}

static void filter_none(struct test *t)
{
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.block_first[1] = 5;
    filtered(t, (struct shape){{10, 1, 1}, {64, 1, 1}}, &filter, none);
    CHECK(strstr(ktrace_trace_warning(t->trace), "filter"), "%s", ktrace_trace_warning(t->trace));
}

/* A filtered wave claims nothing: a grid larger than the buffer passes. */
static void filter_spares_the_buffer(struct test *t)
{
    static struct ktrace_counters counters;
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    struct ktrace_capture_options options = sized(8, 4096);
    struct ktrace_control control;
    filter.block_first[0] = filter.block_last[0] = 77;
    options.filter = &filter;
    begin(t, &options);
    launch(t, "places", 300, 128, 2);
    OK(hipDeviceSynchronize());
    read_control(t, &control, &counters);
    uint64_t claims = 0;
    for (uint32_t i = 0; i < KTRACE_MAX_PARTITIONS; i++)
        claims += counters.partition[i].claims;
    CHECK(claims == 2, "%llu claims", (unsigned long long)claims);
    end(t);
    CHECK(info_of(t).waves == 2 && info_of(t).waves_filtered == 598, "%llu",
          (unsigned long long)info_of(t).waves_filtered);
}

static const struct golden_case cases[] = {RUNS(partial_waves),
                                           RUNS(largest_workgroups),
                                           RUNS(three_dimensions),
                                           RUNS(whole_chip),
                                           RUNS(interleaved),
                                           RUNS(two_streams),
                                           RUNS(graph),
                                           RUNS(two_modules),
                                           RUNS(filter_box),
                                           RUNS(filter_xcc),
                                           RUNS(filter_step),
                                           RUNS(filter_waves),
                                           RUNS(filter_all),
                                           RUNS(filter_none),
                                           RUNS(filter_spares_the_buffer),
                                           NO_MORE};
const struct golden_case *const golden_cases = cases;
