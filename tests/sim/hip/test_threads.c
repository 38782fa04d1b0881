/* test_threads.c - host threads: each with a stream of its own, and one that looks while another waits. */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8
#define ROUNDS 20

static hipModule_t module;

static void *work(void *failures)
{
    hipStream_t stream;
    hipFunction_t affine;
    uint32_t *value, a = 3, count = 1, result = 0, expected = 0;
    uint8_t b = 1;
    int bad = hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess;
    bad += hipModuleGetFunction(&affine, module, "affine") != hipSuccess;
    bad += hipMalloc((void **)&value, 4) != hipSuccess;
    bad += hipMemsetAsync(value, 0, 4, stream) != hipSuccess;
    for (int round = 0; round < ROUNDS && !bad; round++) {
        bad += launch(affine, 1, 64, stream, &value, &value, &a, &b, &count) != hipSuccess;
        bad += hipMemcpyAsync(&result, value, 4, hipMemcpyDeviceToHost, stream) != hipSuccess;
        expected = 3 * expected + 1;
        bad += result != expected;
    }
    /* Errors are the thread's own. */
    bad += hipSetDevice(99) != hipErrorInvalidDevice;
    bad += hipGetLastError() != hipErrorInvalidDevice;
    bad += hipFree(value) != hipSuccess;
    bad += hipStreamDestroy(stream) != hipSuccess;
    atomic_fetch_add((atomic_int *)failures, bad);
    return NULL;
}

static void threads_have_streams(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    atomic_int failures = 0;
    module = load_kernels();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &failures), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(failures, 0);
    assert_int_equal(hipGetLastError(), hipSuccess);
    ok(hipModuleUnload(module));
}

static atomic_int is_done;

static void *wait_for_device(void *status)
{
    *(hipError_t *)status = hipDeviceSynchronize();
    atomic_store(&is_done, 1);
    return NULL;
}

/* One thread waits for a kernel that never ends by itself; this one watches it. */
static void a_wait_lets_others_look(void **state)
{
    (void)state;
    hipStream_t worker, peek;
    module = load_kernels();
    ok(hipStreamCreateWithFlags(&worker, hipStreamNonBlocking));
    ok(hipStreamCreateWithFlags(&peek, hipStreamNonBlocking));
    uint32_t *out = device_zeros(4);
    ok(hipDeviceSynchronize());
    ok(launch(kernel_named(module, "hang"), 1, 64, worker, &out));
    pthread_t thread;
    hipError_t status = hipErrorUnknown;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_device, &status), 0);
    uint32_t seen[3];
    for (int i = 0; i < 3; i++) {
        ok(hipMemcpyAsync(&seen[i], out, 4, hipMemcpyDeviceToHost, peek));
        assert_true(!i || seen[i] > seen[i - 1]);
    }
    assert_false(atomic_load(&is_done));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(status, hipErrorLaunchTimeOut);
}

int main(void)
{
    setenv("KTRACE_SIM_MAX_INSTRUCTIONS", "3000000", 1);
    setenv("KTRACE_SIM_QUIET", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_streams),
        cmocka_unit_test(a_wait_lets_others_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
