/* golden_capacity.c - what fits and what does not: rings, regions, reading again and again. An overflow is an error that names
 * the options under which everything would have fitted; what it names is tried. */
#include "golden.h"

const char *const golden_group = "capacity";

#define RING 16
#define MARKS(before, count, behind) ((before) << 16 | (count) << 8 | (behind))

static char *marks(int before, int count, int behind, int first)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    const char *space = "";
    for (int i = 0; i < before; i++, space = " ")
        fprintf(out, "%sbefore", space);
    for (int i = first; i < count; i++, space = " ")
        fprintf(out, "%spayload=%d", space, i);
    for (int i = 0; i < behind; i++, space = " ")
        fprintf(out, "%sbehind", space);
    fclose(out);
    return text;
}

static void expect_marks(struct test *t, int before, int count, int behind, int first)
{
    char *text = marks(before, count, behind, first);
    expect(t, text);
    free(text);
}

/* Full to the last slot, with plain events, with payloads, and with a payload that lies behind the ring: an event in the last
 * slot takes the overhang, and the ring's first place is skipped, which costs a slot. */
static void ring_just_fits(struct test *t)
{
    const struct ktrace_capture_options options = sized(RING, 0);
    const int fitting[][3] = {
        {RING, 0, 0}, {RING - 1, 0, 0}, {0, RING / 2, 0}, {1, RING / 2 - 1, 1}, {0, RING / 2 - 1, 2}};
    begin(t, &options);
    for (size_t i = 0; i < sizeof fitting / sizeof fitting[0]; i++) {
        const int *const f = fitting[i];
        launch(t, "payload_marks", 1, 64, MARKS(f[0], f[1], f[2]));
        read_trace(t);
        expect_clean(t, 0, 0);
        expect_marks(t, f[0], f[1], f[2], 0);
    }
}

/* One event too many, a payload in the overhang, many times round. Each is tried with what the sentence names. */
static void ring_overflows(struct test *t)
{
    const int cases[][3] = {{RING + 1, 0, 0}, {RING - 1, 1, 0}, {1, RING / 2, 0}, {0, RING / 2, 1}, {100, 50, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int *const c = cases[i], n = MARKS(c[0], c[1], c[2]);
        struct ktrace_capture_options options = sized(RING, 0);
        begin(t, &options);
        launch(t, "payload_marks", 2, 64, n);
        options.events_per_wave = (uint32_t)overflows(t, "events_per_wave");
        ktrace_capture_destroy(t->capture);
        const uint32_t slots = (uint32_t)(c[0] + 2 * c[1] + c[2]);
        REQUIRE(options.events_per_wave >= slots && options.events_per_wave <= slots + 1, "%u for %u slots",
                options.events_per_wave, slots);
        begin(t, &options);
        launch(t, "payload_marks", 2, 64, n);
        t->is_brief = 1;
        end(t);
        REQUIRE(t->trace, "what the sentence names does not suffice");
        expect_clean(t, 0, 0);
        expect_marks(t, c[0], c[1], c[2], 0);
    }
}

/* After an overflow the capture is as new. */
static void read_after_overflow(struct test *t)
{
    const struct ktrace_capture_options options = sized(RING, 0);
    begin(t, &options);
    for (int round = 0; round < 2; round++) {
        launch(t, "plain_marks", 1, 64, 100 + round);
        CHECK(overflows(t, "events_per_wave") == 100u + (unsigned)round, "round %d", round);
        launch(t, "one_mark", 1, 64, round);
        read_trace(t);
        expect_clean(t, 0, 0);
        expect(t, round ? "group=0 number=1" : "group=0 number=0");
    }
    launch(t, "plain_marks", 1, 64, 100);
    MUST(ktrace_capture_clear(t->capture));
    launch(t, "one_mark", 1, 64, 7);
    end(t);
    expect_clean(t, 0, 0);
    expect(t, "group=0 number=7");
}

/* The flight recorder: an event in the last slot has its payload behind the ring. Which place is skipped depends on how many
 * slots lie before. */
static void keep_last(struct test *t)
{
    struct ktrace_capture_options options = sized(RING, 0);
    options.keep_last = 1;
    begin(t, &options);
    for (int before = 0; before < 2; before++)
        for (int behind = 0; behind < 3; behind++) {
            launch(t, "payload_marks", 1, 64, MARKS(before, 40, behind));
            read_trace(t);
            const struct ktrace_trace_info info = info_of(t);
            CHECK(info.slots_corrupt == 0 && info.waves == 1 && info.slots_lost > 0, "before %d behind %d", before,
                  behind);
            char *text = short_text(t, 0);
            int kept = 0; /* the newest, without a gap */
            for (const char *at = text; (at = strstr(at, "payload=")); at++)
                kept++;
            free(text);
            CHECK(kept >= (RING - behind) / 2 - 1, "%d of 40 are kept", kept);
            expect_marks(t, 0, 40, behind, 40 - kept);
        }
}

static void keep_last_ranges(struct test *t)
{
    struct ktrace_capture_options options = sized(RING, 0);
    options.keep_last = 1;
    begin(t, &options);
    launch(t, "ranges_and_tokens", 2, 64, 50);
    end(t);
    const struct ktrace_trace_info info = info_of(t);
    CHECK(info.slots_corrupt == 0 && info.ranges_unclosed == 0, "corrupt or unclosed");
    for (uint64_t wave = 0; wave < info.waves; wave++) {
        char *text = short_text(t, wave);
        CHECK(strstr(text, "turn{=48 +token -token=48 }turn turn{=49 +token -token=49 }turn"), "%s", text);
        free(text);
    }
}

/* More waves than regions: the count is exact, and the named size suffices. */
static void regions_overflow(struct test *t)
{
    struct ktrace_capture_options options = sized(8, 32 * 1024);
    t->is_brief = 1;
    begin(t, &options);
    launch(t, "one_mark", 300, 64, 0);
    OK(hipDeviceSynchronize());
    peek_trace(t);
    const struct ktrace_trace_info peeked = info_of(t);
    CHECK(peeked.waves + peeked.waves_dropped == 300 && peeked.waves_dropped > 0, "%llu and %llu dropped",
          (unsigned long long)peeked.waves, (unsigned long long)peeked.waves_dropped);
    options.buffer_bytes = overflows(t, "buffer_bytes");
    CHECK(options.buffer_bytes > 32 * 1024, "%llu", (unsigned long long)options.buffer_bytes);
    launch(t, "one_mark", (uint32_t)peeked.waves, 64, 1); /* as many as there are regions */
    read_trace(t);
    expect_clean(t, 0, 0);
    CHECK(info_of(t).waves == peeked.waves, "%llu", (unsigned long long)info_of(t).waves);
    launch(t, "one_mark", (uint32_t)peeked.waves + 1, 64, 1);
    overflows(t, "buffer_bytes");
    ktrace_capture_destroy(t->capture);
    begin(t, &options);
    launch(t, "one_mark", 300, 64, 2);
    end(t);
    expect_clean(t, 0, 0);
    REQUIRE(info_of(t).waves == 300, "%llu", (unsigned long long)info_of(t).waves);
    unsigned char seen[300] = {0};
    for (uint64_t i = 0; i < 300; i++) {
        char wanted[64];
        const uint32_t group = wave_info(t, i).workgroup[0];
        CHECK(group < 300 && !seen[group]++, "workgroup %u", group);
        snprintf(wanted, sizeof wanted, "group=%u number=2", group);
        expect_wave(t, i, wanted);
    }
}

/* Rings and regions run out in one capture: one sentence tells both. */
static void everything_overflows(struct test *t)
{
    struct ktrace_capture_options options = sized(8, 16 * 1024);
    begin(t, &options);
    launch(t, "payload_marks", 5, 64, MARKS(3, 20, 2));
    launch(t, "one_mark", 200, 64, 0);
    options.events_per_wave = (uint32_t)overflows(t, "events_per_wave");
    options.buffer_bytes = strtoull(strstr(ktrace_last_error(), "buffer_bytes >= ") + 16, NULL, 10);
    ktrace_capture_destroy(t->capture);
    t->is_brief = 1;
    begin(t, &options);
    launch(t, "payload_marks", 5, 64, MARKS(3, 20, 2));
    launch(t, "one_mark", 200, 64, 0);
    end(t);
    expect_clean(t, 0, 0);
    CHECK(info_of(t).waves == 205, "%llu", (unsigned long long)info_of(t).waves);
}

/* One atomic a wave: as many claims as waves, spread evenly over the partitions. */
static void partitions(struct test *t)
{
    static struct ktrace_counters counters;
    struct ktrace_control control;
    const struct ktrace_capture_options options = sized(8, 0);
    t->is_brief = 1;
    begin(t, &options);
    launch(t, "one_mark", 512, 128, 0);
    OK(hipDeviceSynchronize());
    read_control(t, &control, &counters);
    uint64_t claims = 0, most = 0, least = UINT64_MAX;
    for (uint32_t i = 0; i < KTRACE_MAX_PARTITIONS; i++) {
        const uint64_t here = counters.partition[i].claims;
        claims += here;
        CHECK(i < control.partitions || here == 0, "partition %u of %u", i, control.partitions);
        if (i < control.partitions) {
            most = here > most ? here : most;
            least = here < least ? here : least;
        }
    }
    CHECK(claims == 1024, "%llu", (unsigned long long)claims);
    CHECK(counters.all.full == 0 && counters.all.claims == 0 && counters.all.filtered == 0, "something was lost");
    CHECK(control.partitions > 1 && most == least, "%u partitions with %llu to %llu claims", control.partitions,
          (unsigned long long)least, (unsigned long long)most);
    fprintf(t->text, "%u partitions, %llu claims each\n", control.partitions, (unsigned long long)most);
    end(t);
    expect_clean(t, 0, 0);
    CHECK(info_of(t).waves == 1024, "%llu", (unsigned long long)info_of(t).waves);
}

static void launches_accumulate(struct test *t)
{
    begin(t, NULL);
    launch(t, "one_mark", 3, 128, 1);
    launch(t, "plain_marks", 2, 64, 3);
    launch_shape(t, "one_mark", (struct shape){{2, 2, 1}, {8, 16, 1}}, 2, NULL);
    launch(t, "payload_marks", 1, 192, MARKS(1, 1, 0));
    launch(t, "one_mark", 1, 64, 3);
    end(t);
    expect_clean(t, 0, 0);
    const char *const kernels[] = {"one mark", "plain marks", "one mark", "payload marks", "one mark"};
    REQUIRE(info_of(t).launches == 5, "%llu", (unsigned long long)info_of(t).launches);
    for (uint64_t i = 0; i < 5; i++) {
        const struct ktrace_launch_info now = launch_info(t, i);
        CHECK(!strcmp(now.kernel, kernels[i]), "launch %llu is %s", (unsigned long long)i, now.kernel);
        CHECK(now.waves == now.waves_launched, "launch %llu", (unsigned long long)i);
        if (i > 0) /* one stream: they do not overlap */
            CHECK(now.begin_ps > launch_info(t, i - 1).end_ps, "launch %llu", (unsigned long long)i);
    }
}

static void clear_read_peek_end(struct test *t)
{
    launch(t, "one_mark", 1, 64, 1); /* dormant */
    begin(t, NULL);
    launch(t, "one_mark", 4, 64, 2);
    MUST(ktrace_capture_clear(t->capture));
    launch(t, "one_mark", 2, 64, 3);
    OK(hipDeviceSynchronize());
    for (int i = 0; i < 2; i++) { /* a peek takes nothing away */
        peek_trace(t);
        expect_clean(t, 0, 0);
        expect_wave(t, 1, "group=1 number=3");
    }
    read_trace(t);
    expect_clean(t, 0, 0);
    expect_wave(t, 1, "group=1 number=3");
    read_trace(t);
    CHECK(info_of(t).waves == 0 && strstr(ktrace_trace_warning(t->trace), "nothing was recorded"), "an empty read");
    launch(t, "one_mark", 1, 64, 4);
    end(t);
    expect(t, "group=0 number=4");
    launch(t, "one_mark", 1, 64, 5); /* dormant again */
    OK(hipDeviceSynchronize());
}

/* Without a capture nothing is recorded, nothing is counted, and results are right. */
static void dormant(struct test *t)
{
    struct ktrace_control control;
    int values[64];
    hipDeviceptr_t address;
    size_t bytes;
    launch(t, "ranges_and_tokens", 3, 64, 77);
    read_out(t, values, 64);
    for (int i = 0; i < 64; i++)
        CHECK(values[i] == 77, "thread %d: %d", i, values[i]);
    OK(hipModuleGetGlobal(&address, &bytes, t->module, "ktrace_control_block"));
    OK(hipMemcpy(&control, address, sizeof control, hipMemcpyDeviceToHost));
    CHECK(control.mode == KTRACE_MODE_DORMANT && control.headers == 0 && control.counters == 0, "it is armed");
    begin(t, NULL);
    end(t);
    CHECK(info_of(t).waves == 0, "%llu", (unsigned long long)info_of(t).waves);
}

static const struct golden_case cases[] = {RUNS(ring_just_fits),
                                           RUNS(ring_overflows),
                                           RUNS(read_after_overflow),
                                           RUNS(keep_last),
                                           RUNS(keep_last_ranges),
                                           RUNS(regions_overflow),
                                           RUNS(everything_overflows),
                                           RUNS(partitions),
                                           RUNS(launches_accumulate),
                                           RUNS(clear_read_peek_end),
                                           RUNS(dormant),
                                           NO_MORE};
const struct golden_case *const golden_cases = cases;
