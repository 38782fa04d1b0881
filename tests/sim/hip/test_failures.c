/* test_failures.c - kernels that fail. Each ends its device, so that every test here has one of its own. */
#include "fixture.h"

static const char log_path[] = "test_failures.log"; /* stderr goes there */

static hipModule_t on_device(int device)
{
    ok(hipSetDevice(device));
    return load_kernels();
}

static void expect_in_log(const char *words, int times)
{
    static char text[1 << 16];
    FILE *file = fopen(log_path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    int found = 0;
    for (const char *at = text; (at = strstr(at, words)); at++)
        found++;
    assert_int_equal(found, times);
}

static void an_address_out_of_bounds(void **state)
{
    (void)state;
    hipModule_t module = on_device(0);
    void *out = device_zeros(64);
    uint64_t offset = 1 << 20;
    ok(launch(kernel_named(module, "store_at"), 1, 64, NULL, &out, &offset));
    fails(hipDeviceSynchronize(), hipErrorIllegalAddress, "store_at");
    expect_in_log("device 0: kernel 'store_at'", 1);
    /* For ever, and for every call that needs the device. */
    void *memory;
    fails(hipMalloc(&memory, 64), hipErrorIllegalAddress, "store_at");
    fails(hipMemcpy(&offset, out, 8, hipMemcpyDeviceToHost), hipErrorIllegalAddress, "store_at");
    fails(launch(kernel_named(module, "store_at"), 1, 64, NULL, &out, &offset), hipErrorIllegalAddress, "store_at");
    fails(hipFree(out), hipErrorIllegalAddress, "store_at");
    expect_in_log("device 0: kernel 'store_at'", 1);
    int device;
    ok(hipGetDevice(&device));
    assert_int_equal(device, 0);
}

/* While it hangs, a copy on a second stream sees its progress. Then it exceeds the number of instructions that
 * KTRACE_SIM_MAX_INSTRUCTIONS allows. */
static void a_kernel_that_never_ends(void **state)
{
    (void)state;
    hipModule_t module = on_device(1);
    hipStream_t worker, peek;
    ok(hipStreamCreateWithFlags(&worker, hipStreamNonBlocking));
    ok(hipStreamCreateWithFlags(&peek, hipStreamNonBlocking));
    uint32_t *out = device_zeros(4), first = 0, second = 0;
    ok(hipDeviceSynchronize());
    ok(launch(kernel_named(module, "hang"), 1, 64, worker, &out));
    ok(hipMemcpyAsync(&first, out, 4, hipMemcpyDeviceToHost, peek));
    while (!first)
        ok(hipMemcpyAsync(&first, out, 4, hipMemcpyDeviceToHost, peek));
    ok(hipMemcpyAsync(&second, out, 4, hipMemcpyDeviceToHost, peek));
    assert_true(second > first);
    fails(hipStreamQuery(worker), hipErrorNotReady, "unfinished");
    fails(hipStreamSynchronize(worker), hipErrorLaunchTimeOut, "hang");
    fails(hipStreamQuery(peek), hipErrorLaunchTimeOut, "hang");
    expect_in_log("device 1: kernel 'hang'", 1);
}

/* What was submitted behind a kernel that failed did not happen. */
static void work_behind_a_failure(void **state)
{
    (void)state;
    hipModule_t module = on_device(2);
    uint32_t *out = device_zeros(64);
    uint64_t offset = 1 << 20;
    hipStream_t streams[2];
    hipEvent_t event;
    ok(hipEventCreate(&event));
    uint32_t *pinned;
    ok(hipHostMalloc((void **)&pinned, 64, 0));
    pinned[0] = 5;
    for (int i = 0; i < 2; i++)
        ok(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
    uint64_t ticks = SPIN_100_US; /* time to submit all of it before the failure */
    ok(launch(kernel_named(module, "spin"), 1, 64, streams[0], &out, &ticks));
    ok(launch(kernel_named(module, "store_at"), 1, 64, streams[0], &out, &offset));
    ok(hipMemcpyAsync(pinned, out, 4, hipMemcpyDeviceToHost, streams[0]));
    ok(hipEventRecord(event, streams[0]));
    ok(hipStreamWaitEvent(streams[1], event, 0));
    ok(hipMemcpyAsync(pinned, out, 4, hipMemcpyDeviceToHost, streams[1]));
    fails(hipStreamSynchronize(streams[1]), hipErrorIllegalAddress, "store_at");
    assert_int_equal(pinned[0], 5);
    fails(hipEventSynchronize(event), hipErrorIllegalAddress, "store_at");
}

static void other_devices_go_on(void **state)
{
    (void)state;
    hipModule_t module = on_device(3);
    uint32_t *out = device_zeros(4), sum = 0;
    ok(launch(kernel_named(module, "reduce"), 1, 256, NULL, &out));
    ok(hipMemcpy(&sum, out, 4, hipMemcpyDeviceToHost));
    assert_int_equal(sum, 255 * 256 / 2);
    ok(hipFree(out));
}

int main(void)
{
    setenv("KTRACE_SIM_DEVICES", "4", 1);
    setenv("KTRACE_SIM_MAX_INSTRUCTIONS", "200000", 1);
    unsetenv("KTRACE_SIM_QUIET");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_out_of_bounds),
        cmocka_unit_test(a_kernel_that_never_ends),
        cmocka_unit_test(work_behind_a_failure),
        cmocka_unit_test(other_devices_go_on),
    };
    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    FILE *log = freopen(log_path, "w", stderr);
    if (!log)
        return 1;
    setvbuf(stderr, NULL, _IONBF, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
