/* test_threads.c - host threads that launch while others read, look, clear, begin, end, attach and unload: each wave is in exactly one
 * trace, or forgotten by exactly one clear. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "traced.h"

#define LAUNCHERS 3
#define ROUNDS 40

static atomic_int running, failures;
static atomic_int steps;   /* of the thread that reads, clears ... */
static atomic_int is_over; /* that thread steps no more */

struct launcher {
    pthread_t id;
    struct traced *t;
    size_t first; /* its launches, ROUNDS of them */
    int index;
};

static void *launch_rounds(void *argument)
{
    const struct launcher *launcher = argument;
    hipStream_t stream = NULL;
    int bad = launcher->index && hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess;
    for (size_t i = 0; i < ROUNDS; i++) {
        bad += launch_prepared(launcher->t, &launcher->t->launched[launcher->first + i], stream) != hipSuccess;
        if (i % 4 != 3)
            continue;
        bad += hipStreamSynchronize(stream) != hipSuccess;
        for (const int before = atomic_load(&steps); !atomic_load(&is_over) && atomic_load(&steps) - before < 2;)
            sched_yield(); /* not all launches before the other thread's first step */
    }
    bad += stream && hipStreamDestroy(stream) != hipSuccess;
    atomic_fetch_add(&failures, bad);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* Threads that launch; until they are joined `running` counts them. */
static void start(struct traced *t, struct launcher launchers[LAUNCHERS])
{
    atomic_store(&running, LAUNCHERS);
    atomic_store(&failures, 0);
    atomic_store(&is_over, 0);
    for (int i = 0; i < LAUNCHERS; i++) {
        launchers[i] = (struct launcher){.t = t, .first = t->count, .index = i};
        for (int k = 0; k < ROUNDS; k++)
            prepare(t, (i + k) % 3 ? "work" : "other", (struct dim3){1 + (uint32_t)k % 5, 1, 1},
                    (struct dim3){128, 1, 1}, 5 + k % 9);
    }
    for (int i = 0; i < LAUNCHERS; i++)
        assert_int_equal(pthread_create(&launchers[i].id, NULL, launch_rounds, &launchers[i]), 0);
}

static void join(struct launcher launchers[LAUNCHERS])
{
    atomic_store(&is_over, 1);
    for (int i = 0; i < LAUNCHERS; i++)
        assert_int_equal(pthread_join(launchers[i].id, NULL), 0);
    assert_int_equal(failures, 0);
}

/* ---- Reading ------------------------------------------------------------------------------------------------------ */

struct traces {
    struct ktrace_trace *items[4096];
    size_t count;
    struct ktrace_capture *capture;
    int status; /* of a read that failed */
};

static void *read_while_they_launch(void *argument)
{
    struct traces *traces = argument;
    while (atomic_load(&running) && traces->count + 1 < sizeof traces->items / sizeof traces->items[0]) {
        traces->status = ktrace_capture_read(&traces->items[traces->count], traces->capture);
        if (traces->status < 0)
            break;
        traces->count++;
        atomic_fetch_add(&steps, 1);
    }
    return NULL;
}

static void forget_traces(struct traces *traces)
{
    for (size_t i = 0; i < traces->count; i++)
        ktrace_trace_destroy(traces->items[i]);
    traces->count = 0;
}

static void reads_lose_nothing(void **state)
{
    struct traced *t = *state;
    static struct traces traces;
    struct launcher launchers[LAUNCHERS];
    begin(t, NULL);
    traces.capture = t->capture;
    start(t, launchers);
    read_while_they_launch(&traces);
    join(launchers);
    must(traces.status);
    traces.items[traces.count++] = end(t);
    size_t with_waves = 0;
    for (size_t i = 0; i < traces.count; i++)
        with_waves += info_of(traces.items[i]).waves > 0;
    assert_true(with_waves > 2); /* or nothing was tested */
    check_parts(t, 0, t->count, traces.items, traces.count);
    forget_traces(&traces);
}

/* Each wave is in the trace of one of them. */
static void two_readers(void **state)
{
    struct traced *t = *state;
    static struct traces traces[2];
    struct ktrace_trace *all[2 * 4096];
    struct launcher launchers[LAUNCHERS];
    pthread_t other;
    size_t count = 0;
    begin(t, NULL);
    traces[0].capture = traces[1].capture = t->capture;
    start(t, launchers);
    assert_int_equal(pthread_create(&other, NULL, read_while_they_launch, &traces[1]), 0);
    read_while_they_launch(&traces[0]);
    assert_int_equal(pthread_join(other, NULL), 0);
    join(launchers);
    traces[0].items[traces[0].count++] = end(t);
    for (int i = 0; i < 2; i++) {
        must(traces[i].status);
        for (size_t k = 0; k < traces[i].count; k++)
            all[count++] = traces[i].items[k];
    }
    check_parts(t, 0, t->count, all, count);
    for (int i = 0; i < 2; i++)
        forget_traces(&traces[i]);
}

/* Looking loses nothing: each snapshot has what the one before had, and the end has all. */
static void snapshots_lose_nothing(void **state)
{
    struct traced *t = *state;
    struct launcher launchers[LAUNCHERS];
    uint64_t waves = 0;
    begin(t, NULL);
    start(t, launchers);
    while (atomic_load(&running)) {
        struct ktrace_trace *trace = snapshot(t);
        assert_true(info_of(trace).waves >= waves);
        waves = info_of(trace).waves;
        ktrace_trace_destroy(trace);
        atomic_fetch_add(&steps, 1);
    }
    join(launchers);
    struct ktrace_trace *trace = end(t);
    check_launches(t, 0, t->count, trace);
    ktrace_trace_destroy(trace);
}

/* A peek waits for nothing and takes nothing away; what it shows need not be whole, but is right. */
static void peeks_change_nothing(void **state)
{
    struct traced *t = *state;
    struct launcher launchers[LAUNCHERS];
    begin(t, NULL);
    start(t, launchers);
    while (atomic_load(&running)) {
        struct ktrace_trace *trace;
        must(ktrace_capture_peek(&trace, t->capture));
        assert_int_equal(info_of(trace).slots_corrupt, 0);
        assert_true(info_of(trace).launches <= t->count);
        ktrace_trace_destroy(trace);
        atomic_fetch_add(&steps, 1);
    }
    join(launchers);
    struct ktrace_trace *trace = end(t);
    check_launches(t, 0, t->count, trace);
    ktrace_trace_destroy(trace);
}

/* ---- Clearing, beginning, ending ---------------------------------------------------------------------------------- */

/* What was over before a clear began is gone, what is launched after it returned is there; of the other threads' waves some,
 * each once, and never more than were launched. */
static void clears_forget_the_past_only(void **state)
{
    struct traced *t = *state;
    struct launcher launchers[LAUNCHERS];
    hipStream_t stream;
    ok(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    begin(t, NULL);
    start(t, launchers);
    const size_t others = t->count;
    while (atomic_load(&running) && t->count + 2 < MAX_LAUNCHES) {
        launch_kernel(t, "meets", 1, 64, 1, stream);
        ok(hipStreamSynchronize(stream));
        must(ktrace_capture_clear(t->capture));
        launch_kernel(t, "meets", 2, 64, 2, stream);
        struct ktrace_trace *trace = snapshot(t);
        uint64_t mine = 0;
        for (uint64_t i = 0; i < info_of(trace).launches; i++) {
            const struct ktrace_launch_info launch = launch_of(trace, i);
            if (strcmp(launch.kernel, "meets") != 0)
                continue;
            mine++;
            assert_int_equal(launch.grid[0], 2);
            assert_int_equal(launch.waves, 2);
        }
        assert_int_equal(mine, 1);
        assert_true(info_of(trace).launches <= others + 1);
        ktrace_trace_destroy(trace);
        atomic_fetch_add(&steps, 1);
    }
    join(launchers);
    assert_true(t->count >= others + 4);
    ktrace_trace_destroy(end(t));
    ok(hipStreamDestroy(stream));
}

/* Captures begin and end while kernels run: what was launched after a begin and is over before the end is in the trace. */
static void captures_come_and_go(void **state)
{
    struct traced *t = *state;
    struct launcher launchers[LAUNCHERS];
    static struct traces traces;
    hipStream_t stream;
    ok(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    start(t, launchers);
    const size_t others = t->count;
    while (atomic_load(&running) && t->count + 1 < MAX_LAUNCHES) {
        struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
        options.buffer_bytes = 1 << 22;
        options.stay_armed = (int)traces.count % 2;
        begin(t, &options);
        launch_kernel(t, "meets", 3, 64, 3, stream);
        if (options.stay_armed)
            must(ktrace_capture_stop(t->capture));
        traces.items[traces.count++] = end(t);
        atomic_fetch_add(&steps, 1);
    }
    join(launchers);
    assert_true(traces.count > 3);
    for (size_t i = 0; i < traces.count; i++) {
        uint64_t mine = 0;
        for (uint64_t k = 0; k < info_of(traces.items[i]).launches; k++) {
            const struct ktrace_launch_info launch = launch_of(traces.items[i], k);
            mine += !strcmp(launch.kernel, "meets") && launch.waves == 3;
        }
        assert_int_equal(mine, 1);
        assert_int_equal(info_of(traces.items[i]).slots_corrupt, 0);
    }
    launch_kernel(t, "work", 1, 64, 1, NULL); /* dormant, and right */
    ok(hipDeviceSynchronize());
    assert_true(t->count > others);
    forget_traces(&traces);
    ok(hipStreamDestroy(stream));
}

#define BEGINNERS 4

static atomic_int inside, begun, overlaps;

static void *begin_and_end(void *argument)
{
    (void)argument;
    for (int i = 0; i < 30; i++) {
        struct ktrace_capture *capture;
        const int status = ktrace_capture_begin(&capture, NULL);
        atomic_fetch_add(&steps, 1);
        if (status == KTRACE_ERROR_STATE)
            continue;
        if (status < 0 || atomic_fetch_add(&inside, 1) != 0)
            atomic_fetch_add(&overlaps, 1);
        atomic_fetch_add(&begun, 1);
        atomic_fetch_sub(&inside, 1);
        if (status == KTRACE_OK &&
            (i % 2 ? ktrace_capture_end(NULL, capture) < 0 : (ktrace_capture_destroy(capture), 0)))
            atomic_fetch_add(&overlaps, 1);
    }
    return NULL;
}

/* Of threads that begin at once one wins; the others are told so. Meanwhile kernels run. */
static void threads_that_begin(void **state)
{
    struct traced *t = *state;
    struct launcher launchers[LAUNCHERS];
    pthread_t beginners[BEGINNERS];
    start(t, launchers);
    for (int i = 0; i < BEGINNERS; i++)
        assert_int_equal(pthread_create(&beginners[i], NULL, begin_and_end, NULL), 0);
    for (int i = 0; i < BEGINNERS; i++)
        assert_int_equal(pthread_join(beginners[i], NULL), 0);
    join(launchers);
    assert_true(atomic_load(&begun) > 0);
    assert_int_equal(overlaps, 0);
    assert_int_equal(ktrace_active(), 0);
    begin(t, NULL);
    const size_t first = t->count;
    launch_kernel(t, "work", 2, 64, 2, NULL);
    struct ktrace_trace *trace = end(t);
    check_launches(t, first, 1, trace);
    ktrace_trace_destroy(trace);
}

/* ---- Modules ------------------------------------------------------------------------------------------------------ */

#define LOADS 12

/* Loads, launches, and unloads what recorded; its launches are of `t`, from `first` on. */
static void *load_and_unload(void *argument)
{
    const struct launcher *loader = argument;
    hipStream_t stream;
    int bad = hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess;
    for (size_t i = 0; i < LOADS && !bad; i++) {
        struct launched *l = &loader->t->launched[loader->first + i];
        hipModule_t module;
        hipFunction_t function;
        bad += hipModuleLoad(&module, KERNELS) != hipSuccess || ktrace_attach_hip_module(module) < 0;
        bad += hipModuleGetFunction(&function, module, l->kernel) != hipSuccess;
        bad += hipModuleLaunchKernel(function, l->grid.x, 1, 1, l->block.x, 1, 1, 0, stream,
                                     (void *[]){&l->log, &l->n, &l->arrived}, NULL) != hipSuccess;
        bad += hipStreamSynchronize(stream) != hipSuccess;
        bad += ktrace_detach_hip_module(module) < 0 || hipModuleUnload(module) != hipSuccess;
    }
    bad += hipStreamDestroy(stream) != hipSuccess;
    atomic_fetch_add(&failures, bad);
    return NULL;
}

/* What an unloaded module recorded is still read, while others launch and one reads. */
static void modules_that_come_and_go(void **state)
{
    struct traced *t = *state;
    static struct traces traces;
    struct launcher launchers[LAUNCHERS], loader = {.t = t, .first = 0};
    for (int i = 0; i < LOADS; i++)
        prepare(t, i % 2 ? "work" : "other", (struct dim3){2, 1, 1}, (struct dim3){64, 1, 1}, i);
    begin(t, NULL);
    traces.capture = t->capture;
    start(t, launchers);
    assert_int_equal(pthread_create(&loader.id, NULL, load_and_unload, &loader), 0);
    read_while_they_launch(&traces);
    assert_int_equal(pthread_join(loader.id, NULL), 0);
    join(launchers);
    must(traces.status);
    traces.items[traces.count++] = end(t);
    check_parts(t, 0, t->count, traces.items, traces.count);
    forget_traces(&traces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACED_TEST(reads_lose_nothing),          TRACED_TEST(two_readers),
        TRACED_TEST(snapshots_lose_nothing),      TRACED_TEST(peeks_change_nothing),
        TRACED_TEST(clears_forget_the_past_only), TRACED_TEST(captures_come_and_go),
        TRACED_TEST(threads_that_begin),          TRACED_TEST(modules_that_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
