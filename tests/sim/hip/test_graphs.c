/* test_graphs.c - graphs built by hand and by capture, their launches, and what a capture forbids. */
#include "fixture.h"

#include <pthread.h>

static hipModule_t module;
static hipFunction_t affine, spin;
static hipStream_t stream, other;

static int set_up(void **state)
{
    (void)state;
    module = load_kernels();
    affine = kernel_named(module, "affine");
    spin = kernel_named(module, "spin");
    ok(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    ok(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ok(hipStreamDestroy(stream));
    ok(hipStreamDestroy(other));
    ok(hipModuleUnload(module));
    return 0;
}

/* value -> 3 * value + 1, in place. */
static hipError_t step(uint32_t *value, hipStream_t where)
{
    uint32_t a = 3, count = 1;
    uint8_t b = 1;
    return launch(affine, 1, 64, where, &value, &value, &a, &b, &count);
}

static void a_capture_forks_joins_and_replays(void **state)
{
    (void)state;
    uint32_t *value = device_zeros(4);
    uint64_t *left = device_zeros(16), *right = device_zeros(16), ticks = SPIN_10_US;
    hipEvent_t fork, join;
    ok(hipEventCreate(&fork));
    ok(hipEventCreate(&join));
    ok(hipDeviceSynchronize());

    hipStreamCaptureStatus status;
    ok(hipStreamIsCapturing(stream, &status));
    assert_int_equal(status, hipStreamCaptureStatusNone);
    ok(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    ok(step(value, stream));
    ok(hipEventRecord(fork, stream));
    ok(hipStreamWaitEvent(other, fork, 0));
    ok(launch(spin, 1, 64, stream, &left, &ticks));
    ok(launch(spin, 1, 64, other, &right, &ticks));
    ok(hipEventRecord(join, other));
    unsigned long long ids[2] = {0, 1};
    ok(hipStreamGetCaptureInfo(stream, &status, &ids[0]));
    assert_int_equal(status, hipStreamCaptureStatusActive);
    ok(hipStreamGetCaptureInfo(other, &status, &ids[1]));
    assert_int_equal(ids[0], ids[1]);
    ok(hipStreamWaitEvent(stream, join, 0));
    hipGraph_t graph = NULL;
    const hipGraphNode_t *dependencies = NULL;
    size_t count = 0;
    ok(hipStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, &dependencies, &count));
    assert_int_equal(count, 2);
    ok(step(value, stream));
    hipGraph_t same;
    ok(hipStreamEndCapture(stream, &same));
    assert_ptr_equal(graph, same);
    ok(hipStreamIsCapturing(other, &status));
    assert_int_equal(status, hipStreamCaptureStatusNone);
    fails(hipEventSynchronize(join), hipErrorCapturedEvent, "capture");

    ok(hipGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 4);
    hipGraphNode_t nodes[6];
    count = 6;
    ok(hipGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 4);
    assert_null(nodes[5]);
    hipGraphNodeType type;
    ok(hipGraphNodeGetType(nodes[0], &type));
    assert_int_equal(type, hipGraphNodeTypeKernel);

    uint32_t result;
    ok(hipMemcpy(&result, value, 4, hipMemcpyDeviceToHost));
    assert_int_equal(result, 0); /* captured, not run */
    hipGraphExec_t exec;
    ok(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    ok(hipGraphDestroy(graph)); /* the instance lives on */
    for (int i = 0; i < 3; i++)
        ok(hipGraphLaunch(exec, stream));
    ok(hipStreamSynchronize(stream));
    ok(hipMemcpy(&result, value, 4, hipMemcpyDeviceToHost));
    assert_int_equal(result, 364); /* six steps */
    uint64_t times[2][2];
    ok(hipMemcpy(times[0], left, 16, hipMemcpyDeviceToHost));
    ok(hipMemcpy(times[1], right, 16, hipMemcpyDeviceToHost));
    assert_true(times[0][0] < times[1][1] && times[1][0] < times[0][1]); /* side by side */
    ok(hipGraphExecDestroy(exec));
    fails(hipGraphLaunch(exec, stream), hipErrorInvalidValue, "destroyed");
    ok(hipEventDestroy(fork));
    ok(hipEventDestroy(join));
    ok(hipFree(value));
    ok(hipFree(left));
    ok(hipFree(right));
}

/* A graph's kernels are packets of the queue it is launched into. */
static void replays_have_dispatch_ids_of_their_own(void **state)
{
    (void)state;
    hipFunction_t identity = kernel_named(module, "identity");
    uint64_t *out = device_zeros(16), seen[3][2], direct[2];
    hipStream_t own;
    ok(hipStreamCreateWithFlags(&own, hipStreamNonBlocking));
    ok(hipStreamBeginCapture(own, hipStreamCaptureModeRelaxed));
    ok(launch(identity, 1, 64, own, &out));
    hipGraph_t graph;
    ok(hipStreamEndCapture(own, &graph));
    hipGraphExec_t exec;
    ok(hipGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        ok(hipGraphLaunch(exec, own));
        ok(hipMemcpyAsync(seen[i], out, 16, hipMemcpyDeviceToHost, own));
        assert_int_equal(seen[i][0], i);
        assert_int_equal(seen[i][1], seen[0][1]);
    }
    ok(launch(identity, 1, 64, own, &out));
    ok(hipMemcpyAsync(direct, out, 16, hipMemcpyDeviceToHost, own));
    assert_int_equal(direct[0], 3);
    ok(hipGraphExecDestroy(exec));
    ok(hipGraphDestroy(graph));
    ok(hipStreamDestroy(own));
    ok(hipFree(out));
}

/* An instance does not overlap itself, on whatever streams it is launched. Two instances do. */
static void launches_of_one_instance_follow_each_other(void **state)
{
    (void)state;
    uint64_t *out = device_zeros(16), ticks = SPIN_100_US;
    ok(hipDeviceSynchronize());
    ok(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    ok(launch(spin, 1, 64, stream, &out, &ticks));
    hipGraph_t graph;
    ok(hipStreamEndCapture(stream, &graph));
    hipGraphExec_t execs[2];
    hipEvent_t start, stop;
    ok(hipEventCreate(&start));
    ok(hipEventCreate(&stop));
    float times[2];
    for (int i = 0; i < 2; i++)
        ok(hipGraphInstantiate(&execs[i], graph, NULL, NULL, 0));
    for (int i = 0; i < 2; i++) {
        ok(hipEventRecord(start, stream));
        ok(hipGraphLaunch(execs[0], stream));
        ok(hipGraphLaunch(execs[i], other));
        ok(hipEventRecord(stop, other));
        ok(hipDeviceSynchronize());
        times[i] = milliseconds_between(start, stop);
    }
    assert_true(times[0] > 0.2F && times[1] < 0.15F);
    for (int i = 0; i < 2; i++)
        ok(hipGraphExecDestroy(execs[i]));
    ok(hipGraphDestroy(graph));
    ok(hipEventDestroy(start));
    ok(hipEventDestroy(stop));
    ok(hipFree(out));
}

static void graphs_are_built_by_hand(void **state)
{
    (void)state;
    uint32_t *values = device_zeros(8), *copies = device_zeros(8), result[2] = {0};
    uint32_t a = 2, count = 2;
    uint8_t b = 5;
    void *arguments[] = {&values, &values, &a, &b, &count};
    hipGraph_t graph;
    ok(hipGraphCreate(&graph, 0));
    hipGraphNode_t fill, kernel, copy, empty;
    const hipMemsetParams ones = {.dst = values, .elementSize = 4, .value = 10, .width = 2, .height = 1};
    ok(hipGraphAddMemsetNode(&fill, graph, NULL, 0, &ones));
    hipKernelNodeParams parameters = {
        .func = affine, .gridDim = {1, 1, 1}, .blockDim = {64, 1, 1}, .kernelParams = arguments};
    ok(hipGraphAddKernelNode(&kernel, graph, &fill, 1, &parameters));
    ok(hipGraphAddMemcpyNode1D(&copy, graph, NULL, 0, copies, values, 8, hipMemcpyDeviceToDevice));
    ok(hipGraphAddEmptyNode(&empty, graph, &kernel, 1));
    ok(hipGraphAddDependencies(graph, &empty, &copy, 1));
    hipGraphExec_t exec;
    ok(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    ok(hipGraphLaunch(exec, stream));
    ok(hipMemcpyAsync(result, copies, 8, hipMemcpyDeviceToHost, stream));
    assert_int_equal(result[0], 25);
    assert_int_equal(result[1], 25);

    b = 7;
    ok(hipGraphExecKernelNodeSetParams(exec, kernel, &parameters));
    ok(hipGraphLaunch(exec, stream));
    ok(hipMemcpyAsync(result, copies, 8, hipMemcpyDeviceToHost, stream));
    assert_int_equal(result[0], 27);

    fails(hipGraphExecKernelNodeSetParams(exec, fill, &parameters), hipErrorInvalidValue, "no kernel node");
    fails(hipGraphAddKernelNode(&kernel, graph, NULL, 0, NULL), hipErrorInvalidValue, "NULL");
    fails(hipGraphAddEmptyNode(&empty, graph, NULL, 1), hipErrorInvalidValue, "NULL");
    fails(hipGraphAddEmptyNode(NULL, graph, NULL, 0), hipErrorInvalidValue, "NULL");
    fails(hipGraphAddEmptyNode(&empty, (hipGraph_t)&exec, NULL, 0), hipErrorInvalidValue, "no graph");
    fails(hipGraphAddDependencies(graph, &copy, &copy, 1), hipErrorInvalidValue, "itself");
    fails(hipGraphCreate(&graph, 1), hipErrorInvalidValue, "flags");
    ok(hipGraphAddDependencies(graph, &copy, &fill, 1));
    hipGraphExec_t none;
    fails(hipGraphInstantiate(&none, graph, NULL, NULL, 0), hipErrorInvalidValue, "cycle");
    assert_null(none);
    ok(hipGraphExecDestroy(exec));
    ok(hipGraphDestroy(graph));
    fails(hipGraphDestroy(graph), hipErrorInvalidValue, "no graph");
    ok(hipFree(values));
    ok(hipFree(copies));
}

/* ---- What a capture forbids ----------------------------------------------------------------------------------------- */

static void end_invalid(void)
{
    hipStreamCaptureStatus status;
    ok(hipStreamIsCapturing(stream, &status));
    assert_int_equal(status, hipStreamCaptureStatusInvalidated);
    hipGraph_t graph;
    fails(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated, "invalid");
    assert_null(graph);
}

#define is_forbidden(call, code) \
    do { \
        ok(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal)); \
        fails(call, code, "captur"); \
        end_invalid(); \
    } while (0)

static void unsafe_calls_invalidate_a_capture(void **state)
{
    (void)state;
    uint32_t *value = device_zeros(4), host = 0;
    void *memory;
    hipStream_t blocking;
    ok(hipStreamCreate(&blocking));
    is_forbidden(hipDeviceSynchronize(), hipErrorStreamCaptureUnsupported);
    is_forbidden(hipStreamSynchronize(stream), hipErrorStreamCaptureUnsupported);
    is_forbidden(hipStreamQuery(stream), hipErrorStreamCaptureUnsupported);
    is_forbidden(hipMemcpy(&host, value, 4, hipMemcpyDeviceToHost), hipErrorStreamCaptureImplicit);
    is_forbidden(hipMemset(value, 0, 4), hipErrorStreamCaptureImplicit);
    is_forbidden(hipMalloc(&memory, 4), hipErrorStreamCaptureUnsupported);
    is_forbidden(hipFree(value), hipErrorStreamCaptureUnsupported);
    is_forbidden(hipModuleLoad((hipModule_t *)&memory, KERNELS), hipErrorStreamCaptureUnsupported);

    /* The legacy stream is forbidden beside a blocking stream's capture only. */
    ok(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    ok(step(value, NULL));
    hipGraph_t graph;
    ok(hipStreamEndCapture(stream, &graph));
    ok(hipGraphDestroy(graph));
    ok(hipStreamBeginCapture(blocking, hipStreamCaptureModeGlobal));
    hipStreamCaptureStatus status;
    fails(hipStreamIsCapturing(NULL, &status), hipErrorStreamCaptureImplicit, "legacy");
    fails(step(value, NULL), hipErrorStreamCaptureImplicit, "legacy");
    fails(hipStreamEndCapture(blocking, &graph), hipErrorStreamCaptureInvalidated, "invalid");

    /* Relaxed captures forbid only to wait for the device. */
    ok(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    ok(hipMalloc(&memory, 4));
    ok(hipFree(memory));
    ok(hipStreamEndCapture(stream, &graph));
    ok(hipGraphDestroy(graph));
    /* Nor does any to a thread in relaxed mode. */
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    ok(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    ok(hipThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, hipStreamCaptureModeGlobal);
    ok(hipMalloc(&memory, 4));
    ok(hipFree(memory));
    ok(hipThreadExchangeStreamCaptureMode(&mode));
    ok(hipStreamEndCapture(stream, &graph));
    ok(hipGraphDestroy(graph));
    for (hipStreamCaptureMode each = hipStreamCaptureModeGlobal; each <= hipStreamCaptureModeRelaxed; each++) {
        ok(hipStreamBeginCapture(stream, each));
        fails(hipDeviceSynchronize(), hipErrorStreamCaptureUnsupported, "whatever mode");
        end_invalid();
        ok(hipStreamBeginCapture(stream, each));
        fails(hipMemcpy(&host, value, 4, hipMemcpyDeviceToHost), hipErrorStreamCaptureImplicit, "whatever mode");
        end_invalid();
    }
    ok(hipStreamDestroy(blocking));
    ok(hipFree(value));
}

static void *allocate(void *status)
{
    void *memory;
    *(hipError_t *)status = hipMalloc(&memory, 4);
    return NULL;
}

static hipError_t allocate_in_a_thread(void)
{
    pthread_t thread;
    hipError_t status = hipErrorUnknown;
    assert_int_equal(pthread_create(&thread, NULL, allocate, &status), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return status;
}

static void other_threads_are_forbidden_by_global_captures(void **state)
{
    (void)state;
    hipGraph_t graph;
    ok(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    assert_int_equal(allocate_in_a_thread(), hipSuccess);
    ok(hipStreamEndCapture(stream, &graph));
    ok(hipGraphDestroy(graph));
    ok(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    assert_int_equal(allocate_in_a_thread(), hipErrorStreamCaptureUnsupported);
    end_invalid();
}

static void captures_are_checked(void **state)
{
    (void)state;
    hipGraph_t graph;
    hipEvent_t inside, outside;
    uint32_t *value = device_zeros(4);
    ok(hipEventCreate(&inside));
    ok(hipEventCreate(&outside));
    ok(hipEventRecord(outside, stream));
    fails(hipStreamBeginCapture(NULL, hipStreamCaptureModeGlobal), hipErrorStreamCaptureUnsupported, "legacy");
    fails(hipStreamBeginCapture(stream, (hipStreamCaptureMode)5), hipErrorInvalidValue, "5");
    fails(hipStreamEndCapture(stream, &graph), hipErrorIllegalState, "not being captured");

    is_forbidden(hipStreamWaitEvent(stream, outside, 0), hipErrorStreamCaptureIsolation);

    ok(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    fails(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), hipErrorIllegalState, "already");
    ok(hipEventRecord(inside, stream));
    ok(hipStreamWaitEvent(other, inside, 0));
    fails(hipStreamEndCapture(other, &graph), hipErrorStreamCaptureUnmatched, "another stream");
    ok(step(value, other));
    fails(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureUnjoined, "record an event");
    fails(hipStreamWaitEvent(stream, inside, 0), hipErrorCapturedEvent, "ended");

    ok(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    ok(hipEventRecord(inside, stream));
    ok(hipStreamBeginCapture(other, hipStreamCaptureModeGlobal));
    fails(hipStreamWaitEvent(other, inside, 0), hipErrorStreamCaptureMerge, "different");
    fails(hipStreamEndCapture(other, &graph), hipErrorStreamCaptureInvalidated, "invalid");
    end_invalid();

    void *memory;
    ok(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    fails(hipMallocAsync(&memory, 4, stream), hipErrorNotSupported, "before the capture");
    ok(hipStreamEndCapture(stream, &graph));
    ok(hipGraphDestroy(graph));
    ok(hipEventDestroy(inside));
    ok(hipEventDestroy(outside));
    ok(hipFree(value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_forks_joins_and_replays),
        cmocka_unit_test(replays_have_dispatch_ids_of_their_own),
        cmocka_unit_test(launches_of_one_instance_follow_each_other),
        cmocka_unit_test(graphs_are_built_by_hand),
        cmocka_unit_test(unsafe_calls_invalidate_a_capture),
        cmocka_unit_test(other_threads_are_forbidden_by_global_captures),
        cmocka_unit_test(captures_are_checked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
