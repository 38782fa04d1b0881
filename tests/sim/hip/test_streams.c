/* test_streams.c - streams, events and what happens when. */
#include "fixture.h"

struct spin_times {
    uint64_t begin, end; /* 100 MHz ticks */
};

static hipModule_t module;
static hipFunction_t spin;

static int set_up(void **state)
{
    (void)state;
    module = load_kernels();
    spin = kernel_named(module, "spin");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ok(hipModuleUnload(module));
    return 0;
}

/* Spin in both streams; give back when each ran. */
static void spin_in(struct spin_times times[2], hipStream_t first, hipStream_t second)
{
    void *out[2];
    uint64_t ticks = SPIN_10_US;
    for (int i = 0; i < 2; i++)
        out[i] = device_zeros(sizeof *times);
    ok(hipDeviceSynchronize());
    ok(launch(spin, 1, 64, first, &out[0], &ticks));
    ok(launch(spin, 1, 64, second, &out[1], &ticks));
    ok(hipDeviceSynchronize());
    for (int i = 0; i < 2; i++) {
        ok(hipMemcpy(&times[i], out[i], sizeof *times, hipMemcpyDeviceToHost));
        assert_in_range(times[i].end - times[i].begin, ticks, ticks + 100);
        ok(hipFree(out[i]));
    }
}

static int overlap(const struct spin_times times[2])
{
    return times[0].begin < times[1].end && times[1].begin < times[0].end;
}

static void which_streams_overlap(void **state)
{
    (void)state;
    hipStream_t blocking[2], independent;
    for (int i = 0; i < 2; i++)
        ok(hipStreamCreate(&blocking[i]));
    ok(hipStreamCreateWithFlags(&independent, hipStreamNonBlocking));
    struct spin_times times[2];
    spin_in(times, blocking[0], blocking[1]);
    assert_true(overlap(times));
    spin_in(times, blocking[0], independent);
    assert_true(overlap(times));
    spin_in(times, NULL, independent);
    assert_true(overlap(times));
    spin_in(times, independent, NULL);
    assert_true(overlap(times));
    /* One after the other: in one stream, and beside the legacy one. */
    spin_in(times, blocking[0], blocking[0]);
    assert_true(times[0].end < times[1].begin);
    spin_in(times, independent, independent);
    assert_true(times[0].end < times[1].begin);
    spin_in(times, NULL, blocking[1]);
    assert_true(times[0].end < times[1].begin);
    spin_in(times, blocking[1], NULL);
    assert_true(times[0].end < times[1].begin);
    spin_in(times, hipStreamLegacy, blocking[1]);
    assert_true(times[0].end < times[1].begin);
    spin_in(times, hipStreamPerThread, blocking[1]);
    assert_true(overlap(times));
    for (int i = 0; i < 2; i++)
        ok(hipStreamDestroy(blocking[i]));
    ok(hipStreamDestroy(independent));
}

/* The legacy stream waits for work of a stream that was destroyed meanwhile. */
static void a_destroyed_stream_ends_its_work(void **state)
{
    (void)state;
    hipStream_t stream;
    ok(hipStreamCreate(&stream));
    uint64_t *out = device_zeros(16), ticks = SPIN_100_US, times[2];
    ok(launch(spin, 1, 64, stream, &out, &ticks));
    ok(hipStreamDestroy(stream));
    ok(hipMemcpy(times, out, 16, hipMemcpyDeviceToHost));
    assert_in_range(times[1] - times[0], ticks, ticks + 100);
    fails(hipStreamSynchronize(stream), hipErrorInvalidHandle, "destroyed");
    fails(hipStreamDestroy(stream), hipErrorInvalidHandle, "destroyed");
    ok(hipFree(out));
}

static void events_time_streams(void **state)
{
    (void)state;
    hipStream_t stream;
    hipEvent_t start, stop, untimed;
    ok(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    ok(hipEventCreate(&start));
    ok(hipEventCreate(&stop));
    ok(hipEventCreateWithFlags(&untimed, hipEventDisableTiming));
    uint64_t *out = device_zeros(16), ticks = SPIN_100_US;
    ok(hipDeviceSynchronize());
    float milliseconds;
    fails(hipEventElapsedTime(&milliseconds, start, stop), hipErrorInvalidHandle, "never recorded");
    ok(hipEventQuery(start));
    ok(hipEventSynchronize(start));
    ok(hipEventRecord(start, stream));
    ok(launch(spin, 1, 64, stream, &out, &ticks));
    ok(hipEventRecord(stop, stream));
    fails(hipStreamQuery(stream), hipErrorNotReady, "unfinished");
    fails(hipEventQuery(stop), hipErrorNotReady, "not finished");
    fails(hipEventElapsedTime(&milliseconds, start, stop), hipErrorNotReady, "not finished");
    int polls = 0;
    while (hipEventQuery(stop) == hipErrorNotReady) /* each costs the host some time */
        polls++;
    assert_in_range(polls, 10, 10000);
    ok(hipStreamQuery(stream));
    milliseconds = milliseconds_between(start, stop);
    assert_true(milliseconds > 0.100F && milliseconds < 0.110F);
    assert_true(milliseconds_between(stop, start) == -milliseconds);
    ok(hipEventRecord(untimed, stream));
    ok(hipEventSynchronize(untimed));
    fails(hipEventElapsedTime(&milliseconds, start, untimed), hipErrorInvalidHandle, "hipEventDisableTiming");
    fails(hipEventElapsedTime(NULL, start, stop), hipErrorInvalidValue, "NULL");
    fails(hipEventCreate(NULL), hipErrorInvalidValue, "NULL");
    hipEvent_t none;
    fails(hipEventCreateWithFlags(&none, hipEventInterprocess), hipErrorInvalidValue, "0x4");
    fails(hipEventRecord((hipEvent_t)&none, stream), hipErrorInvalidHandle, "no event");
    ok(hipEventDestroy(start));
    fails(hipEventDestroy(start), hipErrorInvalidHandle, "destroyed");
    ok(hipEventDestroy(stop));
    ok(hipEventDestroy(untimed));
    ok(hipStreamDestroy(stream));
    ok(hipFree(out));
}

static void streams_wait_for_events(void **state)
{
    (void)state;
    hipStream_t streams[2];
    hipEvent_t event;
    ok(hipEventCreate(&event));
    for (int i = 0; i < 2; i++)
        ok(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
    struct spin_times *out[2], times[2];
    uint64_t ticks = SPIN_10_US;
    for (int i = 0; i < 2; i++)
        out[i] = device_zeros(sizeof times[i]);
    ok(hipStreamWaitEvent(streams[1], event, 0)); /* never recorded: no wait */
    ok(launch(spin, 1, 64, streams[0], &out[0], &ticks));
    ok(hipEventRecord(event, streams[0]));
    ok(hipStreamWaitEvent(streams[1], event, 0));
    ok(launch(spin, 1, 64, streams[1], &out[1], &ticks));
    ok(hipStreamSynchronize(streams[1]));
    for (int i = 0; i < 2; i++)
        ok(hipMemcpy(&times[i], out[i], sizeof times[i], hipMemcpyDeviceToHost));
    assert_true(times[0].begin && times[0].end <= times[1].begin);
    fails(hipStreamWaitEvent(streams[1], event, 1), hipErrorInvalidValue, "flags");
    for (int i = 0; i < 2; i++) {
        ok(hipStreamDestroy(streams[i]));
        ok(hipFree(out[i]));
    }
    ok(hipEventDestroy(event));
}

/* A copy on a second stream sees what a kernel that runs has written, and its progress from copy to copy. */
static void a_copy_looks_at_a_running_kernel(void **state)
{
    (void)state;
    hipStream_t worker, peek;
    ok(hipStreamCreateWithFlags(&worker, hipStreamNonBlocking));
    ok(hipStreamCreateWithFlags(&peek, hipStreamNonBlocking));
    uint64_t *out = device_zeros(16), ticks = SPIN_100_US;
    uint64_t *seen;
    ok(hipHostMalloc((void **)&seen, 16, 0));
    seen[1] = 1;
    ok(hipDeviceSynchronize());
    ok(launch(spin, 1, 64, worker, &out, &ticks));
    ok(hipMemcpyAsync(seen, out, 16, hipMemcpyDeviceToHost, peek));
    ok(hipStreamSynchronize(peek));
    assert_int_equal(seen[1], 0);
    fails(hipStreamQuery(worker), hipErrorNotReady, "unfinished");
    ok(hipStreamSynchronize(worker));
    ok(hipMemcpyAsync(seen, out, 16, hipMemcpyDeviceToHost, peek));
    ok(hipStreamSynchronize(peek));
    assert_int_not_equal(seen[1], 0);
    ok(hipHostFree(seen));
    ok(hipFree(out));
    ok(hipStreamDestroy(worker));
    ok(hipStreamDestroy(peek));
}

static void copies_take_time_by_size(void **state)
{
    (void)state;
    const size_t sizes[2] = {1 << 12, 1 << 26};
    float times[2];
    hipEvent_t start, stop;
    ok(hipEventCreate(&start));
    ok(hipEventCreate(&stop));
    void *device = device_zeros(sizes[1]), *host;
    ok(hipHostMalloc(&host, sizes[1], 0));
    for (int i = 0; i < 2; i++) {
        ok(hipEventRecord(start, NULL));
        ok(hipMemcpyAsync(device, host, sizes[i], hipMemcpyHostToDevice, NULL));
        ok(hipEventRecord(stop, NULL));
        ok(hipEventSynchronize(stop));
        times[i] = milliseconds_between(start, stop);
    }
    /* 64 MiB at 50 bytes a nanosecond are 1.34 ms. */
    assert_true(times[0] < 0.01F && times[1] > 1.3F && times[1] < 1.4F);
    ok(hipFree(device));
    ok(hipHostFree(host));
    ok(hipEventDestroy(start));
    ok(hipEventDestroy(stop));
}

/* How often the host looks does not change what the device does. */
static void polling_changes_nothing(void **state)
{
    (void)state;
    hipFunction_t reduce = kernel_named(module, "reduce");
    hipEvent_t start, stop;
    hipStream_t stream;
    void *out = device_zeros(1 << 12);
    float times[3];
    ok(hipEventCreate(&start));
    ok(hipEventCreate(&stop));
    ok(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    for (int way = 0; way < 3; way++) {
        ok(hipDeviceSynchronize());
        ok(hipEventRecord(start, stream));
        ok(launch(reduce, 100, 256, stream, &out));
        ok(hipEventRecord(stop, stream));
        if (way == 1)
            ok(hipEventSynchronize(stop));
        int device;
        while (way == 2 && hipEventQuery(stop) == hipErrorNotReady)
            ok(hipGetDevice(&device));
        ok(hipStreamSynchronize(stream));
        times[way] = milliseconds_between(start, stop);
    }
    assert_true(times[0] > 0.005F && times[0] == times[1] && times[1] == times[2]);
    ok(hipEventDestroy(start));
    ok(hipEventDestroy(stop));
    ok(hipStreamDestroy(stream));
    ok(hipFree(out));
}

static void facts_of_streams(void **state)
{
    (void)state;
    hipStream_t stream;
    int least, greatest, priority = 7, device = 7;
    unsigned flags = 7;
    ok(hipDeviceGetStreamPriorityRange(&least, &greatest));
    ok(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, greatest - 10));
    ok(hipStreamGetPriority(stream, &priority));
    ok(hipStreamGetFlags(stream, &flags));
    ok(hipStreamGetDevice(stream, &device));
    assert_int_equal(priority, greatest);
    assert_int_equal(flags, hipStreamNonBlocking);
    assert_int_equal(device, 0);
    fails(hipStreamGetDevice(stream, NULL), hipErrorInvalidValue, "NULL");
    fails(hipStreamCreateWithFlags(&stream, 8), hipErrorInvalidValue, "0x8");
    fails(hipStreamCreate(NULL), hipErrorInvalidValue, "NULL");
    fails(hipStreamDestroy(NULL), hipErrorInvalidHandle, "no stream");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_streams_overlap),
        cmocka_unit_test(a_destroyed_stream_ends_its_work),
        cmocka_unit_test(events_time_streams),
        cmocka_unit_test(streams_wait_for_events),
        cmocka_unit_test(a_copy_looks_at_a_running_kernel),
        cmocka_unit_test(copies_take_time_by_size),
        cmocka_unit_test(polling_changes_nothing),
        cmocka_unit_test(facts_of_streams),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
