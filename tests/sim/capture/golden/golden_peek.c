/* golden_peek.c - looking at kernels that are still inside, and at one that never ends. What a peek sees depends on how many
 * calls the host made before, and on nothing else: the simulator's host has a clock, too. */
#include "golden.h"

const char *const golden_group = "peek";

static hipStream_t worker(struct test *t)
{
    hipStream_t stream = NULL;
    const int zero = 0;
    OK(hipMemcpy(t->out, &zero, sizeof zero, hipMemcpyHostToDevice));
    OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    return stream;
}

static void release(struct test *t)
{
    static const int one = 1;
    hipStream_t stream;
    OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    OK(hipMemcpyAsync(t->out, &one, sizeof one, hipMemcpyHostToDevice, stream));
    OK(hipStreamSynchronize(stream));
}

/* Peeks until the trace has `events` events: it takes simulated time until they are there. Only the last one is text. */
static void peek_until(struct test *t, uint64_t events)
{
    struct ktrace_trace *trace;
    for (int i = 0; i < 1000; i++) {
        MUST(ktrace_capture_peek(&trace, t->capture));
        ktrace_trace_destroy(t->trace);
        t->trace = trace;
        if (info_of(t).events >= events)
            break;
    }
    peek_trace(t);
    CHECK(info_of(t).events == events, "%llu events, %llu expected", (unsigned long long)info_of(t).events,
          (unsigned long long)events);
}

static const struct shape two = {{2, 1, 1}, {64, 1, 1}};

static void open_ranges(struct test *t)
{
    const hipStream_t stream = worker(t);
    begin(t, NULL);
    launch_shape(t, "waits_in_ranges", two, 5, stream);
    peek_until(t, 8);
    expect_wave(t, 0, "first=5 outer{?=0 +token? inner{?");
    expect_wave(t, 1, "first=5 outer{?=1 +token? inner{?");
    CHECK(info_of(t).waves_unfinished == 2 && info_of(t).ranges_unclosed == 6, "unfinished");
    release(t);
    end(t);
    expect_clean(t, 0, 0);
    expect_wave(t, 0, "first=5 outer{=0 +token inner{ released }inner -token }outer");
    expect_wave(t, 1, "first=5 outer{=1 +token inner{ released }inner -token }outer");
}

static void some_inside(struct test *t)
{
    const hipStream_t stream = worker(t);
    begin(t, NULL);
    launch_shape(t, "some_wait", (struct shape){{6, 1, 1}, {64, 1, 1}}, 1, stream);
    peek_until(t, 9);
    CHECK(info_of(t).waves_unfinished == 3, "%llu", (unsigned long long)info_of(t).waves_unfinished);
    for (uint64_t i = 0; i < info_of(t).waves; i++) {
        char wanted[64];
        const struct ktrace_wave_info wave = wave_info(t, i);
        const uint32_t group = wave.workgroup[0];
        snprintf(wanted, sizeof wanted, group & 1 ? "body{?=%u" : "body{=%u }body", group);
        expect_wave(t, i, wanted);
        CHECK(wave.unfinished == (int)(group & 1), "workgroup %u", group);
    }
    release(t);
    end(t);
    expect_clean(t, 0, 0);
    CHECK(info_of(t).waves == 6, "%llu", (unsigned long long)info_of(t).waves);
}

/* A ring that has wrapped, of a wave whose count nobody knows yet. */
static void wrapped_ring(struct test *t)
{
    const struct ktrace_capture_options options = sized(16, 0);
    const hipStream_t stream = worker(t);
    char wanted[256] = "";
    begin(t, &options);
    launch_shape(t, "waits_after_many", (struct shape){{1, 1, 1}, {64, 1, 1}}, 100, stream);
    for (int i = 0; i < 20; i++) /* time for all of them */
        OK(hipStreamQuery(stream) == hipErrorNotReady ? hipSuccess : hipErrorUnknown);
    struct ktrace_trace *trace = NULL;
    const char *last = "";
    for (int i = 0; i < 1000 && strcmp(last, "99") != 0; i++) {
        MUST(ktrace_capture_peek(&trace, t->capture));
        ktrace_trace_destroy(t->trace);
        t->trace = trace;
        if (info_of(t).waves && event_info(t, 0, wave_info(t, 0).events - 1).payload == 99)
            last = "99";
    }
    peek_trace(t);
    CHECK(info_of(t).slots_corrupt == 0 && info_of(t).waves == 1, "corrupt");
    const uint32_t kept = wave_info(t, 0).events;
    CHECK(kept == 7 || kept == 8, "%u events", kept);
    for (uint32_t i = 100 - kept; i < 100; i++)
        snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%smany=%u", *wanted ? " " : "", i);
    expect_wave(t, 0, wanted);
    release(t);
    OK(hipStreamSynchronize(stream));
    CHECK(overflows(t, "events_per_wave") == 201, "%s", ktrace_last_error());
}

/* A kernel that the simulator ends, as a watchdog would: what it recorded until then can be seen, but not read afterwards. */
static void hung(struct test *t)
{
    const hipStream_t stream = worker(t);
    begin(t, NULL);
    launch_shape(t, "hangs", two, 9, stream);
    peek_until(t, 4);
    expect(t, "alive=9 loop{?");
    CHECK(info_of(t).waves_unfinished == 2 && info_of(t).ranges_unclosed == 2, "unfinished");
    peek_trace(t);
    expect(t, "alive=9 loop{?");
    CHECK(hipStreamSynchronize(stream) == hipErrorLaunchTimeOut, "it ended");
    CHECK(strstr(ktrace_simulator_error(), "the kernel does not end"), "%s", ktrace_simulator_error());
    struct ktrace_trace *trace = NULL;
    const int status = ktrace_capture_end(&trace, t->capture);
    t->capture = NULL;
    CHECK(status == KTRACE_ERROR_DEVICE && !trace, "%s", ktrace_status_name(status));
    CHECK(strstr(ktrace_last_error(), "LaunchTimeOut"), "%s", ktrace_last_error());
}

static const struct golden_case cases[] = {
    RUNS(open_ranges),
    RUNS(some_inside),
    RUNS(wrapped_ring),
    {.name = "hung", .run = hung, .environment = "KTRACE_SIM_MAX_INSTRUCTIONS=100000"},
    NO_MORE};
const struct golden_case *const golden_cases = cases;
