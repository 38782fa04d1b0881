/* test_graphs.c - captures around graphs: nodes read the control block at each replay, and each replay of each node is a launch of
 * its own. */
#include "replayed.h"

/* ---- Captures around graphs -------------------------------------------------------------------------------------- */

static void built_before_the_capture(void **state)
{
    struct traced *t = *state;
    struct graph g;
    build_two(&g, t);
    replay(&g, t); /* dormant */
    begin(t, NULL);
    size_t first = t->count;
    for (int i = 0; i < 3; i++)
        replay(&g, t);
    check_and_destroy(t, first, read_trace(t));
    replay(&g, t);
    must(ktrace_capture_clear(t->capture));
    first = t->count;
    for (int i = 0; i < 2; i++)
        replay(&g, t);
    check_and_destroy(t, first, end(t));
    replay(&g, t); /* the buffer is gone, and the nodes know */
    begin(t, NULL);
    first = t->count;
    replay(&g, t);
    check_and_destroy(t, first, end(t));
    destroy_graph(&g);
}

/* The way of the documentation: prepare on a side stream, construct, clear, replay. */
static void prepare_construct_clear_replay(void **state)
{
    struct traced *t = *state;
    struct graph g;
    hipStream_t stream;
    ok(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    begin(t, NULL);
    launch_kernel(t, "work", 2, 128, 3, stream);
    launch_kernel(t, "other", 3, 64, 2, stream);
    build_two(&g, t);
    must(ktrace_capture_clear(t->capture));
    const size_t first = t->count;
    replay(&g, t);
    check_and_destroy(t, first, end(t));
    destroy_graph(&g);
    ok(hipStreamDestroy(stream));
}

static void construction_launches_nothing(void **state)
{
    struct traced *t = *state;
    struct graph g;
    begin(t, NULL);
    build_two(&g, t);
    struct ktrace_trace *trace = end(t);
    assert_int_equal(info_of(trace).waves, 0);
    assert_non_null(strstr(ktrace_trace_warning(trace), "nothing was recorded"));
    ktrace_trace_destroy(trace);
    destroy_graph(&g);
}

/* Each read has what was replayed since the last, and what was read before stays as it is. */
static void read_after_later_replays(void **state)
{
    struct traced *t = *state;
    struct graph g;
    struct ktrace_trace *traces[4];
    char *before[4], *after;
    size_t first[5];
    begin(t, NULL);
    build_two(&g, t);
    for (int i = 0; i < 4; i++) {
        first[i] = t->count;
        for (int k = 0; k <= i; k++)
            replay(&g, t);
        traces[i] = read_trace(t);
        must(ktrace_trace_summary_json(&before[i], traces[i]));
    }
    first[4] = t->count;
    ktrace_trace_destroy(end(t));
    for (int i = 0; i < 4; i++) {
        check_launches(t, first[i], first[i + 1] - first[i], traces[i]);
        must(ktrace_trace_summary_json(&after, traces[i]));
        assert_string_equal(before[i], after);
        free(before[i]);
        free(after);
        ktrace_trace_destroy(traces[i]);
    }
    destroy_graph(&g);
}

/* Another buffer each time, and sometimes a filter: the nodes follow. */
static int in_first_workgroup(const struct launched *launched, const struct truth *wave, const void *closure)
{
    (void)launched;
    (void)closure;
    return wave->workgroup[0] == 0 && wave->workgroup[1] == 0;
}

static void one_graph_in_many_captures(void **state)
{
    struct traced *t = *state;
    struct graph g;
    struct ktrace_filter filter;
    must(ktrace_filter_parse(&filter, "0,0,0"));
    build_two(&g, t);
    for (uint32_t i = 0; i < 12; i++) {
        struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
        options.events_per_wave = 16u << i % 5;
        options.buffer_bytes = 1u << (15 + i % 7);
        options.filter = i % 3 == 2 ? &filter : NULL;
        begin(t, &options);
        const size_t first = t->count;
        replay(&g, t);
        struct ktrace_trace *trace = end(t);
        check_passing(t, first, 2, trace, options.filter ? in_first_workgroup : NULL, NULL);
        ktrace_trace_destroy(trace);
        replay(&g, t);
    }
    destroy_graph(&g);
}

/* ---- After the capture ------------------------------------------------------------------------------------------- */

/* Looking loses nothing: snapshots grow, and the read has all of it. */
static void snapshots_between_replays(void **state)
{
    struct traced *t = *state;
    struct graph g;
    build_two(&g, t);
    begin(t, NULL);
    size_t first = t->count;
    for (int i = 0; i < 4; i++) {
        replay(&g, t);
        for (int k = 0; k < 2; k++) {
            struct ktrace_trace *trace = snapshot(t);
            check_launches(t, first, 2 + 2 * (size_t)i, trace);
            ktrace_trace_destroy(trace);
        }
    }
    check_and_destroy(t, first, read_trace(t));
    check_and_destroy(t, first, snapshot(t)); /* nothing newer */
    first = t->count;
    replay(&g, t);
    check_and_destroy(t, first, snapshot(t));
    check_and_destroy(t, first, end(t));
    destroy_graph(&g);
}

/* The window is closed, what was recorded is kept, and later replays are dormant. */
static void stopped(void **state)
{
    struct traced *t = *state;
    struct graph g;
    struct ktrace_trace *trace = NULL;
    build_two(&g, t);
    begin(t, NULL);
    const size_t first = t->count;
    for (int i = 0; i < 2; i++)
        replay(&g, t);
    must(ktrace_capture_stop(t->capture));
    assert_int_equal(ktrace_active(), 0);
    const size_t count = t->count - first;
    replay(&g, t);
    trace = snapshot(t);
    check_launches(t, first, count, trace);
    ktrace_trace_destroy(trace);
    refuses(ktrace_capture_stop(t->capture), KTRACE_ERROR_STATE, "stopped already");
    refuses(ktrace_capture_read(&trace, t->capture), KTRACE_ERROR_STATE, "stay_armed");
    trace = end(t); /* what it shows */
    check_launches(t, first, count, trace);
    ktrace_trace_destroy(trace);
    destroy_graph(&g);
}

/* The graph keeps the buffer after the window: a read after later replays replaces what the capture shows. */
static void replays_after_a_stop(void **state)
{
    struct traced *t = *state;
    struct graph g;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.stay_armed = 1;
    build_two(&g, t);
    begin(t, &options);
    size_t first = t->count;
    replay(&g, t);
    must(ktrace_capture_stop(t->capture));
    assert_int_equal(ktrace_active(), 0);
    check_and_destroy(t, first, snapshot(t));
    for (int i = 0; i < 3; i++) {
        const size_t before = first, shown = t->count - first;
        first = t->count;
        for (int k = 0; k <= i; k++)
            replay(&g, t);
        struct ktrace_trace *trace = snapshot(t); /* still what was shown */
        check_launches(t, before, shown, trace);
        ktrace_trace_destroy(trace);
        check_and_destroy(t, first, read_trace(t));
        check_and_destroy(t, first, snapshot(t));
    }
    /* Another capture ends it: what was replayed until then is shown, and what comes is the other's. */
    struct ktrace_capture *const stopped = t->capture;
    first = t->count;
    replay(&g, t);
    begin(t, NULL);
    const size_t second = t->count;
    replay(&g, t);
    struct ktrace_trace *trace = NULL;
    must(ktrace_capture_snapshot(&trace, stopped));
    check_launches(t, first, second - first, trace);
    ktrace_trace_destroy(trace);
    ktrace_capture_destroy(stopped);
    check_and_destroy(t, second, end(t));
    replay(&g, t);
    begin(t, &options); /* destroyed while armed: replays are dormant */
    replay(&g, t);
    must(ktrace_capture_stop(t->capture));
    ktrace_capture_destroy(t->capture);
    t->capture = NULL;
    replay(&g, t);
    ok(hipDeviceSynchronize());
    destroy_graph(&g);
}

/* ---- What replays look like -------------------------------------------------------------------------------------- */

/* Three layers are three nodes of one kernel, of equal size, between nodes of others. */
static void several_kernels_and_repeated_nodes(void **state)
{
    struct traced *t = *state;
    struct graph g;
    for (int layer = 0; layer < 3; layer++) {
        prepare(t, "work", (struct dim3){2, 1, 1}, (struct dim3){128, 1, 1}, 5);
        prepare(t, "plain", (struct dim3){2, 1, 1}, (struct dim3){64, 1, 1}, 0);
        prepare(t, "other", (struct dim3){3, 1, 1}, (struct dim3){64, 1, 1}, layer);
    }
    build_graph(&g, t, 0);
    begin(t, NULL);
    for (int i = 0; i < 4; i++)
        replay(&g, t);
    /* `plain` records nothing: its replays go to the end, where they are not looked for */
    struct launched traced[MAX_LAUNCHES], plain[MAX_LAUNCHES];
    size_t traced_count = 0, plain_count = 0;
    for (size_t i = g.count; i < t->count; i++)
        if (strcmp(t->launched[i].kernel, "plain") != 0)
            traced[traced_count++] = t->launched[i];
        else
            plain[plain_count++] = t->launched[i];
    memcpy(&t->launched[g.count], traced, traced_count * sizeof *traced);
    memcpy(&t->launched[g.count + traced_count], plain, plain_count * sizeof *plain);
    struct ktrace_trace *trace = end(t);
    check_launches(t, g.count, traced_count, trace);
    for (uint64_t i = 0; i < traced_count; i++) /* in order of the graph, replay after replay */
        assert_ptr_equal(strcmp(launch_of(trace, i).kernel, i % 2 ? "other" : "work") ? NULL : trace, trace);
    ktrace_trace_destroy(trace);
    destroy_graph(&g);
}

static void eager_launches_between_replays(void **state)
{
    struct traced *t = *state;
    struct graph g;
    build_two(&g, t);
    begin(t, NULL);
    const size_t first = t->count;
    for (int i = 0; i < 4; i++) {
        replay(&g, t);
        launch_kernel(t, "work", 2, 128, 3, g.stream); /* as the graph's first node */
        launch_kernel(t, "other", 1, 64, i, NULL);
    }
    check_and_destroy(t, first, end(t));
    destroy_graph(&g);
}

static void two_graphs_in_turn(void **state)
{
    struct traced *t = *state;
    struct graph a, b;
    build_two(&a, t);
    build_two(&b, t);
    begin(t, NULL);
    const size_t first = t->count;
    for (int i = 0; i < 4; i++) {
        replay(&a, t);
        if (i % 2)
            replay(&b, t);
    }
    check_and_destroy(t, first, end(t));
    destroy_graph(&a);
    destroy_graph(&b);
}

/* ---- At once ------------------------------------------------------------------------------------------------------ */

/* How many pairs of launches of one kernel overlap in time. */
static int overlaps(const struct ktrace_trace *trace)
{
    int count = 0;
    const uint64_t launches = info_of(trace).launches;
    for (uint64_t i = 0; i < launches; i++)
        for (uint64_t k = i + 1; k < launches; k++) {
            const struct ktrace_launch_info a = launch_of(trace, i), b = launch_of(trace, k);
            count += !strcmp(a.kernel, b.kernel) && a.begin_ps < b.end_ps && b.begin_ps < a.end_ps;
        }
    return count;
}

static void two_graphs_at_once(void **state)
{
    struct traced *t = *state;
    struct graph graphs[2];
    for (int i = 0; i < 2; i++) {
        prepare(t, "work", (struct dim3){2, 1, 1}, (struct dim3){128, 1, 1}, 200);
        build_graph(&graphs[i], t, (size_t)i);
    }
    begin(t, NULL);
    const size_t first = t->count;
    for (int i = 0; i < 8; i++)
        replay(&graphs[i % 2], t);
    struct ktrace_trace *trace = end(t);
    assert_true(overlaps(trace) > 3);
    check_and_destroy(t, first, trace);
    for (int i = 0; i < 2; i++)
        destroy_graph(&graphs[i]);
}

/* Two instances of one graph: even these are two launches each time. Their nodes share a log, so that each waits to note until
 * the other's replay was remembered. */
static void one_graph_twice_at_once(void **state)
{
    struct traced *t = *state;
    struct graph g;
    hipGraphExec_t second;
    hipStream_t stream;
    prepare(t, "work", (struct dim3){1, 1, 1}, (struct dim3){64, 1, 1}, 100);
    build_graph(&g, t, 0);
    ok(hipGraphInstantiate(&second, g.graph, NULL, NULL, 0));
    ok(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    begin(t, NULL);
    for (int i = 0; i < 4; i++) {
        ok(hipGraphLaunch(g.exec, g.stream));
        ok(hipGraphLaunch(second, stream));
    }
    struct ktrace_trace *trace = end(t);
    assert_int_equal(info_of(trace).launches, 8);
    assert_int_equal(info_of(trace).waves, 8);
    assert_true(overlaps(trace) >= 4);
    for (uint64_t i = 0; i < 8; i++) {
        const struct ktrace_launch_info a = launch_of(trace, i);
        assert_int_equal(a.events, 102);
        assert_int_equal(a.occurrence, 0);
        for (uint64_t k = 0; k < i; k++) {
            const struct ktrace_launch_info b = launch_of(trace, k);
            assert_false(a.queue == b.queue && a.grid_id == b.grid_id);
        }
    }
    ktrace_trace_destroy(trace);
    ok(hipGraphExecDestroy(second));
    ok(hipStreamDestroy(stream));
    destroy_graph(&g);
}

/* Two branches of one graph, of the same kernel and size: one queue, two dispatches. */
static void parallel_branches(void **state)
{
    struct traced *t = *state;
    struct graph g = {.count = 3};
    hipStream_t side;
    hipEvent_t parts, joins;
    prepare(t, "work", (struct dim3){2, 1, 1}, (struct dim3){64, 1, 1}, 100);
    prepare(t, "work", (struct dim3){2, 1, 1}, (struct dim3){64, 1, 1}, 100);
    prepare(t, "other", (struct dim3){1, 1, 1}, (struct dim3){64, 1, 1}, 1);
    ok(hipStreamCreateWithFlags(&g.stream, hipStreamNonBlocking));
    ok(hipStreamCreateWithFlags(&side, hipStreamNonBlocking));
    ok(hipEventCreate(&parts));
    ok(hipEventCreate(&joins));
    ok(hipStreamBeginCapture(g.stream, hipStreamCaptureModeGlobal));
    ok(hipEventRecord(parts, g.stream));
    ok(hipStreamWaitEvent(side, parts, 0));
    ok(launch_prepared(t, &t->launched[0], g.stream));
    ok(launch_prepared(t, &t->launched[1], side));
    ok(hipEventRecord(joins, side));
    ok(hipStreamWaitEvent(g.stream, joins, 0));
    ok(launch_prepared(t, &t->launched[2], g.stream));
    ok(hipStreamEndCapture(g.stream, &g.graph));
    ok(hipGraphInstantiate(&g.exec, g.graph, NULL, NULL, 0));
    begin(t, NULL);
    for (int i = 0; i < 3; i++)
        replay(&g, t);
    struct ktrace_trace *trace = end(t);
    assert_int_equal(overlaps(trace), 3);
    check_and_destroy(t, 3, trace);
    ok(hipEventDestroy(parts));
    ok(hipEventDestroy(joins));
    ok(hipStreamDestroy(side));
    destroy_graph(&g);
}

/* A node whose parameters change between replays, of a graph that was built by hand. */
static void changed_parameters(void **state)
{
    struct traced *t = *state;
    struct graph g = {.count = 1};
    hipGraphNode_t node;
    struct launched *l = prepare(t, "work", (struct dim3){4, 1, 1}, (struct dim3){64, 1, 1}, 0);
    void *arguments[] = {&l->log, &l->n, &l->arrived};
    hipKernelNodeParams parameters = {.func = kernel_named(t->modules[0], "work"),
                                      .gridDim = l->grid,
                                      .blockDim = l->block,
                                      .kernelParams = arguments};
    ok(hipStreamCreateWithFlags(&g.stream, hipStreamNonBlocking));
    ok(hipGraphCreate(&g.graph, 0));
    ok(hipGraphAddKernelNode(&node, g.graph, NULL, 0, &parameters));
    ok(hipGraphInstantiate(&g.exec, g.graph, NULL, NULL, 0));
    begin(t, NULL);
    for (int i = 0; i < 4; i++) {
        replay(&g, t);
        l->n = 3 * i + 1;
        l->grid.x = parameters.gridDim.x = l->waves = 3 - (uint32_t)i % 3;
        ok(hipGraphExecKernelNodeSetParams(g.exec, node, &parameters));
    }
    check_and_destroy(t, 1, end(t));
    destroy_graph(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACED_TEST(built_before_the_capture),
        TRACED_TEST(prepare_construct_clear_replay),
        TRACED_TEST(construction_launches_nothing),
        TRACED_TEST(read_after_later_replays),
        TRACED_TEST(one_graph_in_many_captures),
        TRACED_TEST(snapshots_between_replays),
        TRACED_TEST(stopped),
        TRACED_TEST(replays_after_a_stop),
        TRACED_TEST(several_kernels_and_repeated_nodes),
        TRACED_TEST(eager_launches_between_replays),
        TRACED_TEST(two_graphs_in_turn),
        TRACED_TEST(two_graphs_at_once),
        TRACED_TEST(one_graph_twice_at_once),
        TRACED_TEST(parallel_branches),
        TRACED_TEST(changed_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
