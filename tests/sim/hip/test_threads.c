/* test_threads.c - host threads: each with a stream of its own, calls against each other, and one that looks while another waits.
 * Under the thread sanitizer, too. */
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

/* ---- Calls against each other ------------------------------------------------------------------------------------ */

struct worker {
    pthread_t id;
    int index;
    int (*body)(int index); /* returns how many calls and results were wrong */
    int wrong;
};

static void *run(void *worker)
{
    struct worker *mine = worker;
    mine->wrong = mine->body(mine->index);
    return NULL;
}

static void in_threads(int (*body)(int index))
{
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.index = i, .body = body};
        assert_int_equal(pthread_create(&workers[i].id, NULL, run, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].id, NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
    }
}

static uint32_t *shared_counter; /* of `module`, on the device */

/* All threads on one stream, with one function. */
static int launch_on_the_null_stream(int index)
{
    hipFunction_t add;
    uint32_t *out, by = 1 + (uint32_t)index;
    int wrong = hipModuleGetFunction(&add, module, "add_counter") != hipSuccess;
    wrong += hipMalloc((void **)&out, 4) != hipSuccess;
    for (int i = 0; i < ROUNDS; i++)
        wrong += launch(add, 1, 64, NULL, &out, &by) != hipSuccess;
    return wrong + (hipFree(out) != hipSuccess);
}

static void launches_against_launches(void **state)
{
    (void)state;
    module = load_kernels();
    ok(hipModuleGetGlobal((void **)&shared_counter, NULL, module, "counter"));
    in_threads(launch_on_the_null_stream);
    uint32_t value;
    ok(hipMemcpy(&value, shared_counter, 4, hipMemcpyDeviceToHost));
    assert_int_equal(value, 7 + ROUNDS * THREADS * (THREADS + 1) / 2);
    ok(hipModuleUnload(module));
}

/* Half of the threads launch, the others copy what those count, which never goes back, and to and from memory of their own. */
static int launch_or_copy(int index)
{
    if (index % 2)
        return launch_on_the_null_stream(0);
    uint32_t before = 0, now, words[256], back[256];
    void *mine;
    int wrong = hipMalloc(&mine, sizeof words) != hipSuccess;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        for (uint32_t k = 0; k < 256; k++)
            words[k] = i * k + (uint32_t)index;
        wrong += hipMemcpy(mine, words, sizeof words, hipMemcpyHostToDevice) != hipSuccess;
        wrong += hipMemcpy(&now, shared_counter, 4, hipMemcpyDeviceToHost) != hipSuccess || now < before;
        before = now;
        wrong += hipMemcpy(back, mine, sizeof back, hipMemcpyDeviceToHost) != hipSuccess;
        wrong += memcmp(words, back, sizeof back) != 0;
        wrong += hipMemset(mine, 0, sizeof words) != hipSuccess;
    }
    return wrong + (hipFree(mine) != hipSuccess);
}

static void launches_against_copies(void **state)
{
    (void)state;
    module = load_kernels();
    ok(hipModuleGetGlobal((void **)&shared_counter, NULL, module, "counter"));
    in_threads(launch_or_copy);
    ok(hipModuleUnload(module));
}

/* Half of the threads launch, the others load, launch and unload: what is unloaded while it runs is waited for. */
static int launch_or_unload(int index)
{
    if (index % 2)
        return launch_on_the_null_stream(0);
    uint32_t *out, by = 1, value = 0;
    hipStream_t stream;
    int wrong = hipMalloc((void **)&out, 4) != hipSuccess;
    wrong += hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess;
    for (int i = 0; i < ROUNDS && !wrong; i++) {
        hipModule_t mine;
        hipFunction_t add;
        wrong += hipModuleLoad(&mine, KERNELS) != hipSuccess;
        wrong += hipModuleGetFunction(&add, mine, "add_counter") != hipSuccess;
        wrong += launch(add, 1, 64, stream, &out, &by) != hipSuccess;
        wrong += launch(add, 1, 64, stream, &out, &by) != hipSuccess;
        wrong += hipModuleUnload(mine) != hipSuccess;
        wrong += hipMemcpyAsync(&value, out, 4, hipMemcpyDeviceToHost, stream) != hipSuccess;
        wrong += hipStreamSynchronize(stream) != hipSuccess || value != 9;
    }
    wrong += hipStreamDestroy(stream) != hipSuccess;
    return wrong + (hipFree(out) != hipSuccess);
}

static void launches_against_unloads(void **state)
{
    (void)state;
    module = load_kernels();
    in_threads(launch_or_unload);
    ok(hipModuleUnload(module));
}

/* Every thread builds and launches graphs of its own, in thread-local captures; each is launched by the next thread, too. */
static hipGraphExec_t graphs[THREADS];
static uint32_t *totals[THREADS];
static pthread_barrier_t built;

static int build_and_launch_graphs(int index)
{
    hipStream_t stream;
    hipFunction_t affine;
    hipGraph_t graph;
    uint32_t a = 1, count = 1, value = 0;
    uint8_t b = 1;
    uint32_t **const total = &totals[index];
    int wrong = hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess;
    wrong += hipModuleGetFunction(&affine, module, "affine") != hipSuccess;
    wrong += hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal) != hipSuccess;
    for (int i = 0; i < 3; i++)
        wrong += launch(affine, 1, 64, stream, total, total, &a, &b, &count) != hipSuccess;
    wrong += hipStreamEndCapture(stream, &graph) != hipSuccess;
    wrong += hipGraphInstantiate(&graphs[index], graph, NULL, NULL, 0) != hipSuccess;
    wrong += hipGraphDestroy(graph) != hipSuccess;
    pthread_barrier_wait(&built);
    for (int i = 0; i < ROUNDS; i++)
        wrong += hipGraphLaunch(graphs[(index + i) % THREADS], stream) != hipSuccess;
    wrong += hipStreamSynchronize(stream) != hipSuccess;
    pthread_barrier_wait(&built);
    wrong += hipMemcpy(&value, *total, 4, hipMemcpyDeviceToHost) != hipSuccess;
    wrong += value != 3 * ROUNDS; /* in some order, never at once */
    wrong += hipGraphExecDestroy(graphs[index]) != hipSuccess;
    return wrong + (hipStreamDestroy(stream) != hipSuccess);
}

static void graphs_against_graphs(void **state)
{
    (void)state;
    module = load_kernels();
    for (int i = 0; i < THREADS; i++)
        totals[i] = device_zeros(4);
    ok(hipDeviceSynchronize());
    assert_int_equal(pthread_barrier_init(&built, NULL, THREADS), 0);
    in_threads(build_and_launch_graphs);
    pthread_barrier_destroy(&built);
    for (int i = 0; i < THREADS; i++)
        ok(hipFree(totals[i]));
    ok(hipModuleUnload(module));
}

/* The current device is the thread's. */
static int work_on_a_device(int index)
{
    const int device = index % 3;
    int current = -1, wrong = hipSetDevice(device) != hipSuccess;
    uint32_t *out, by = 1, value = 0;
    hipModule_t mine;
    hipFunction_t add;
    wrong +=
        hipModuleLoad(&mine, KERNELS) != hipSuccess || hipModuleGetFunction(&add, mine, "add_counter") != hipSuccess;
    wrong += hipMalloc((void **)&out, 4) != hipSuccess;
    for (uint32_t i = 0; i < ROUNDS && !wrong; i++) {
        wrong += launch(add, 1, 64, hipStreamPerThread, &out, &by) != hipSuccess;
        wrong += hipStreamSynchronize(hipStreamPerThread) != hipSuccess;
        wrong += hipMemcpy(&value, out, 4, hipMemcpyDeviceToHost) != hipSuccess || value != 8 + i;
        wrong += hipGetDevice(&current) != hipSuccess || current != device;
    }
    wrong += hipDeviceSynchronize() != hipSuccess;
    wrong += hipFree(out) != hipSuccess;
    return wrong + (hipModuleUnload(mine) != hipSuccess);
}

static void devices_against_devices(void **state)
{
    (void)state;
    in_threads(work_on_a_device);
}

/* ---- Waiting ------------------------------------------------------------------------------------------------------ */

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
    setenv("KTRACE_SIM_DEVICES", "3", 1);
    setenv("KTRACE_SIM_QUIET", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_streams),    cmocka_unit_test(launches_against_launches),
        cmocka_unit_test(launches_against_copies), cmocka_unit_test(launches_against_unloads),
        cmocka_unit_test(graphs_against_graphs),   cmocka_unit_test(devices_against_devices),
        cmocka_unit_test(a_wait_lets_others_look), /* last: the device is lost */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
