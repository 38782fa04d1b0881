/* test_launches.c - one entry for each launch, in order of first timestamps, whoever launched it and wherever: repeated calls,
 * several kernels, streams side by side, host threads, cooperative launches. */
#include <pthread.h>
#include <stdatomic.h>

#include "traced.h"

static void end_and_check(struct traced *t)
{
    struct ktrace_trace *trace = end(t);
    check_launches(t, 0, t->count, trace);
    ktrace_trace_destroy(trace);
}

static void one_kernel_many_times(void **state)
{
    struct traced *t = *state;
    begin(t, NULL);
    for (int i = 0; i < 100; i++)
        launch_kernel(t, "work", 1 + (uint32_t)i % 3, 64 + 50 * ((uint32_t)i % 4), i % 7, NULL);
    end_and_check(t);
}

static void several_kernels(void **state)
{
    struct traced *t = *state;
    launch_kernel(t, "work", 1, 64, 3, NULL); /* dormant */
    forget_launches(t);
    begin(t, NULL);
    launch_kernel(t, "work", 3, 128, 4, NULL);
    launch_kernel(t, "other", 2, 192, 2, NULL);
    ok(launch_prepared(t, prepare(t, "other", (struct dim3){2, 3, 2}, (struct dim3){5, 7, 3}, 1), NULL));
    launch_kernel(t, "meets", 4, 64, 4, NULL);
    ok(launch_prepared(t, prepare(t, "work", (struct dim3){1, 1, 5}, (struct dim3){1, 1, 1}, 0), NULL));
    launch_kernel(t, "work", 700, 64, 1, NULL); /* more than the chip has CUs */
    launch_kernel(t, "work", 1, 1024, 2, NULL);
    end_and_check(t);
}

/* What was read is not read again, and neither is what was cleared. */
static void in_several_reads(void **state)
{
    struct traced *t = *state;
    begin(t, NULL);
    launch_kernel(t, "work", 2, 64, 1, NULL);
    launch_kernel(t, "other", 2, 64, 1, NULL);
    struct ktrace_trace *trace = read_trace(t);
    check_launches(t, 0, 2, trace);
    ktrace_trace_destroy(trace);
    launch_kernel(t, "other", 1, 64, 3, NULL);
    must(ktrace_capture_clear(t->capture));
    for (int i = 0; i < 3; i++)
        launch_kernel(t, "other", 1, 64, i, NULL);
    trace = end(t);
    check_launches(t, 3, 3, trace);
    ktrace_trace_destroy(trace);
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static int overlap(const struct ktrace_launch_info *a, const struct ktrace_launch_info *b)
{
    return a->begin_ps < b->end_ps && b->begin_ps < a->end_ps;
}

/* Every stream's launches follow each other; those of different ones run side by side. */
static void streams_side_by_side(void **state)
{
    struct traced *t = *state;
    hipStream_t streams[4];
    for (int i = 0; i < 3; i++)
        ok(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
    streams[3] = hipStreamPerThread;
    for (int i = 0; i < 24; i++)
        prepare(t, i % 3 ? "other" : "work", (struct dim3){2, 1, 1}, (struct dim3){128, 1, 1}, 100 + i);
    begin(t, NULL);
    for (int i = 0; i < 24; i++)
        ok(launch_prepared(t, &t->launched[i], streams[i * 7 % 4]));
    struct ktrace_trace *trace = end(t);
    check_launches(t, 0, t->count, trace);
    int overlapping = 0;
    for (uint64_t i = 0; i < 24; i++)
        for (uint64_t k = i + 1; k < 24; k++) {
            const struct ktrace_launch_info a = launch_of(trace, i), b = launch_of(trace, k);
            overlapping += overlap(&a, &b);
            if (a.queue == b.queue) {
                assert_true(a.grid_id < b.grid_id);
                assert_false(overlap(&a, &b));
            }
        }
    assert_true(overlapping > 24);
    ktrace_trace_destroy(trace);
    for (int i = 0; i < 3; i++)
        ok(hipStreamDestroy(streams[i]));
}

/* Streams that wait for one event begin together, each with the first dispatch of its queue: only the queue tells them apart. */
static void streams_that_start_together(void **state)
{
    struct traced *t = *state;
    hipStream_t streams[6];
    hipEvent_t event;
    ok(hipEventCreate(&event));
    for (int i = 0; i < 6; i++) {
        ok(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
        prepare(t, "work", (struct dim3){3, 1, 1}, (struct dim3){64, 1, 1}, i ? 50 : 240);
    }
    begin(t, NULL);
    ok(launch_prepared(t, &t->launched[0], streams[0]));
    ok(hipEventRecord(event, streams[0]));
    for (int i = 1; i < 6; i++) {
        ok(hipStreamWaitEvent(streams[i], event, 0));
        ok(launch_prepared(t, &t->launched[i], streams[i]));
    }
    struct ktrace_trace *trace = end(t);
    check_launches(t, 0, 6, trace);
    const struct ktrace_launch_info first = launch_of(trace, 0);
    for (uint64_t i = 0; i < 6; i++) {
        const struct ktrace_launch_info a = launch_of(trace, i);
        assert_int_equal(a.grid_id, 0);
        assert_int_equal(a.begin_ps > first.end_ps, i > 0);
        for (uint64_t k = 1; k < i; k++) {
            const struct ktrace_launch_info b = launch_of(trace, k);
            assert_int_not_equal(a.queue, b.queue);
            assert_true(overlap(&a, &b));
        }
    }
    ktrace_trace_destroy(trace);
    for (int i = 0; i < 6; i++)
        ok(hipStreamDestroy(streams[i]));
    ok(hipEventDestroy(event));
}

/* A stream's queue is not that of one destroyed before, whose dispatches had the same numbers. */
static void streams_one_after_another(void **state)
{
    struct traced *t = *state;
    begin(t, NULL);
    for (int i = 0; i < 10; i++) {
        hipStream_t stream;
        ok(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        launch_kernel(t, "other", 2, 64, i % 3, stream);
        launch_kernel(t, "work", 1, 64, i % 4, stream);
        ok(hipStreamDestroy(stream));
    }
    end_and_check(t);
}

/* ---- Host threads ------------------------------------------------------------------------------------------------ */

#define THREADS 6
#define ROUNDS 12

struct thread {
    pthread_t id;
    struct traced *t;
    int index;
    atomic_int *failures;
};

/* Half of the threads have streams of their own, the others share the null stream. */
static void *launch_rounds(void *argument)
{
    const struct thread *thread = argument;
    hipStream_t stream = NULL;
    int bad = thread->index % 2 && hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess;
    for (int round = 0; round < ROUNDS; round++) {
        bad += launch_prepared(thread->t, &thread->t->launched[thread->index * ROUNDS + round], stream) != hipSuccess;
        if (round % 5 == 4)
            bad += hipStreamSynchronize(stream) != hipSuccess;
    }
    bad += stream && hipStreamDestroy(stream) != hipSuccess;
    atomic_fetch_add(thread->failures, bad);
    return NULL;
}

static void several_host_threads(void **state)
{
    struct traced *t = *state;
    struct thread threads[THREADS];
    atomic_int failures = 0;
    for (int i = 0; i < THREADS * ROUNDS; i++)
        prepare(t, i % 2 ? "other" : "work", (struct dim3){1 + (uint32_t)i % 3, 1, 1}, (struct dim3){128, 1, 1},
                i % 11);
    begin(t, NULL);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.t = t, .index = i, .failures = &failures};
        assert_int_equal(pthread_create(&threads[i].id, NULL, launch_rounds, &threads[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i].id, NULL), 0);
    assert_int_equal(failures, 0);
    end_and_check(t);
}

/* ---- Cooperative launches ---------------------------------------------------------------------------------------- */

/* One workgroup for each place of the device: all of them meet. */
static void cooperative(void **state)
{
    struct traced *t = *state;
    hipFunction_t meets = kernel_named(t->modules[0], "meets");
    begin(t, NULL);
    int places, units;
    ok(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0));
    ok(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&places, meets, 1024, 0));
    const uint32_t groups = (uint32_t)(units * places);
    struct launched *l = prepare(t, "meets", (struct dim3){groups, 1, 1}, (struct dim3){1024, 1, 1}, (int)groups);
    void *arguments[] = {&l->log, &l->n, &l->arrived};
    fails(hipModuleLaunchCooperativeKernel(meets, groups + 1, 1, 1, 1024, 1, 1, 0, NULL, arguments),
          hipErrorCooperativeLaunchTooLarge, "at a time");
    ok(hipModuleLaunchCooperativeKernel(meets, groups, 1, 1, 1024, 1, 1, 0, NULL, arguments));
    struct ktrace_trace *trace = end(t);
    check_launches(t, 0, 1, trace);
    int64_t last_arrived = INT64_MIN, first_met = INT64_MAX;
    for (uint64_t i = 0; i < info_of(trace).waves; i++) {
        const int64_t arrived = event_of(trace, i, 0).time_ps, met = event_of(trace, i, 1).time_ps;
        if (wave_of(trace, i).wave == 0)
            last_arrived = arrived > last_arrived ? arrived : last_arrived;
        first_met = met < first_met ? met : first_met;
    }
    assert_true(last_arrived <= first_met);
    ktrace_trace_destroy(trace);
}

/* ---- Refused launches -------------------------------------------------------------------------------------------- */

/* A launch that HIP refuses is not in the trace, and untraced kernels between traced ones are not either. */
static void others_are_not_there(void **state)
{
    struct traced *t = *state;
    begin(t, NULL);
    launch_kernel(t, "work", 1, 64, 1, NULL);
    struct launched *too_large = prepare(t, "work", (struct dim3){1, 1, 1}, (struct dim3){1025, 1, 1}, 1);
    fails(launch_prepared(t, too_large, NULL), hipErrorInvalidConfiguration, "1024");
    too_large->block.x = 64; /* in its memory, and after the refused one */
    too_large->waves = 1;
    too_large->kernel = "other";
    ok(launch_prepared(t, too_large, NULL));
    launch_kernel(t, "work", 1, 64, 2, NULL);
    struct launched *plain = launch_kernel(t, "plain", 2, 64, 0, NULL);
    struct ktrace_trace *trace = end(t);
    check_launches(t, 0, 3, trace);
    ok(hipMemcpy(plain->noted, plain->log, plain->waves * sizeof *plain->noted, hipMemcpyDeviceToHost));
    assert_int_equal(plain->noted[0].dispatch, launch_of(trace, 2).grid_id + 1);
    ktrace_trace_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACED_TEST(one_kernel_many_times),
        TRACED_TEST(several_kernels),
        TRACED_TEST(in_several_reads),
        TRACED_TEST(streams_side_by_side),
        TRACED_TEST(streams_that_start_together),
        TRACED_TEST(streams_one_after_another),
        TRACED_TEST(several_host_threads),
        TRACED_TEST(cooperative),
        TRACED_TEST(others_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
