/* test_construction.c - nothing is begun, read, looked at, cleared, stopped, ended or destroyed while a graph is built: errors that
 * change nothing, in every mode of stream captures. */
#include "replayed.h"

/* What must be refused. `inside`: of a capture that was begun before. */
struct forbidden {
    const char *name;
    int inside;
    int (*call)(struct ktrace_capture *capture);
};

static int try_begin(struct ktrace_capture *capture)
{
    struct ktrace_capture *second = NULL;
    (void)capture;
    const int status = ktrace_capture_begin(&second, NULL);
    assert_null(second);
    return status;
}

static int try_read(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace = NULL;
    const int status = ktrace_capture_read(&trace, capture);
    assert_null(trace);
    return status;
}

static int try_clear(struct ktrace_capture *capture)
{
    return ktrace_capture_clear(capture);
}

static int try_end(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace = NULL;
    const int status = ktrace_capture_end(&trace, capture);
    assert_null(trace);
    return status;
}

static int try_snapshot(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace = NULL;
    const int status = ktrace_capture_snapshot(&trace, capture);
    assert_null(trace);
    return status;
}

static int try_destroy(struct ktrace_capture *capture)
{
    ktrace_capture_destroy(capture); /* returns nothing: the capture must still be there */
    return try_clear(capture);
}

static const struct forbidden forbidden[] = {{"begin", 0, try_begin},
                                             {"begin inside", 1, try_begin},
                                             {"read", 1, try_read},
                                             {"clear", 1, try_clear},
                                             {"end", 1, try_end},
                                             {"snapshot", 1, try_snapshot},
                                             {"stop", 1, ktrace_capture_stop},
                                             {"destroy", 1, try_destroy}};
#define FORBIDDEN (sizeof forbidden / sizeof forbidden[0])

static void refused(struct traced *t, const struct forbidden *one)
{
    const int status = one->call(t->capture);
    if (status != KTRACE_ERROR_STATE)
        fail_msg("%s: %s: %s", one->name, ktrace_status_name(status), ktrace_last_error());
    if (!strstr(ktrace_last_error(),
                one->call == try_begin && one->inside ? "do not nest" : "captured into a HIP graph"))
        fail_msg("%s: %s", one->name, ktrace_last_error());
    assert_int_equal(hipGetLastError(), hipSuccess); /* it is no error of the program's */
    assert_int_equal(ktrace_active(), one->inside);
}

/* Beside a stream that the legacy one waits for, the call changes nothing: neither the graph nor the capture. */
static void forbidden_beside_a_blocking_stream(void **state)
{
    struct traced *t = *state;
    for (hipStreamCaptureMode mode = hipStreamCaptureModeGlobal; mode <= hipStreamCaptureModeRelaxed; mode++)
        for (size_t i = 0; i < FORBIDDEN; i++) {
            struct graph g = {.count = 2};
            forget_launches(t);
            prepare(t, "work", (struct dim3){2, 1, 1}, (struct dim3){64, 1, 1}, 2);
            prepare(t, "other", (struct dim3){1, 1, 1}, (struct dim3){64, 1, 1}, 1);
            ok(hipStreamCreate(&g.stream));
            if (forbidden[i].inside)
                begin(t, NULL);
            launch_kernel(t, "other", 1, 64, 3, g.stream); /* which the call must not take away */
            const size_t first = t->count - (size_t)forbidden[i].inside;
            ok(hipStreamBeginCapture(g.stream, mode));
            ok(launch_prepared(t, &t->launched[0], g.stream));
            refused(t, &forbidden[i]);
            if (launch_prepared(t, &t->launched[1], g.stream) != hipSuccess)
                fail_msg("%s has spoilt the graph, mode %d: %s", forbidden[i].name, (int)mode,
                         ktrace_simulator_error());
            refused(t, &forbidden[i]);
            ok(hipStreamEndCapture(g.stream, &g.graph));
            ok(hipGraphInstantiate(&g.exec, g.graph, NULL, NULL, 0));
            if (!forbidden[i].inside)
                begin(t, NULL);
            replay(&g, t);
            check_and_destroy(t, first, end(t));
            destroy_graph(&g);
        }
}

/* Beside one that the legacy stream does not wait for, nobody can ask whether it is captured without spoiling the graph. The call
 * is an error, and the capture survives it. */
static void forbidden_beside_a_side_stream(void **state)
{
    struct traced *t = *state;
    for (hipStreamCaptureMode mode = hipStreamCaptureModeGlobal; mode <= hipStreamCaptureModeRelaxed; mode++)
        for (size_t i = 0; i < FORBIDDEN; i++) {
            hipStream_t stream;
            hipGraph_t graph = NULL;
            forget_launches(t);
            prepare(t, "work", (struct dim3){2, 1, 1}, (struct dim3){64, 1, 1}, 2);
            ok(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
            if (forbidden[i].inside)
                begin(t, NULL);
            launch_kernel(t, "other", 1, 64, 3, stream);
            const size_t first = t->count - (size_t)forbidden[i].inside;
            ok(hipStreamBeginCapture(stream, mode));
            ok(launch_prepared(t, &t->launched[0], stream));
            refused(t, &forbidden[i]);
            if (hipStreamEndCapture(stream, &graph) == hipSuccess)
                ok(hipGraphDestroy(graph));
            hipGetLastError();
            if (!forbidden[i].inside)
                begin(t, NULL);
            launch_kernel(t, "work", 1, 64, 1, stream);
            check_and_destroy(t, first, end(t));
            ok(hipStreamDestroy(stream));
        }
}

/* Nesting is an error with and without graphs; replays under way do not notice. */
static void nested_begin_between_replays(void **state)
{
    struct traced *t = *state;
    struct graph g;
    build_two(&g, t);
    begin(t, NULL);
    const size_t first = t->count;
    for (int i = 0; i < 5; i++) {
        replay(&g, t);
        refused(t, &forbidden[1]);
    }
    check_and_destroy(t, first, end(t));
    destroy_graph(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACED_TEST(forbidden_beside_a_blocking_stream),
        TRACED_TEST(forbidden_beside_a_side_stream),
        TRACED_TEST(nested_begin_between_replays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
