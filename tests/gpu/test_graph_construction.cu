/* Captures and the life of a graph: what is an error while one is built, and replays after the end of a capture. */
#include "check.h"
#include "graphs.h"

using test::a_and_b;
using test::check_replays;
using test::check_waves;
using test::graph;
using test::launch_a;
using test::launch_b;
using test::wanted_a;
using test::wanted_b;

/* ---- Construction ----------------------------------------------------------------------------------------------- */

namespace
{

struct forbidden {
    const char *name;
    bool inside; /* of a capture that was begun before */
    int (*call)(ktrace_capture *capture);
};

int try_begin(ktrace_capture *)
{
    ktrace_capture *second = nullptr;
    const ktrace_capture_options options = test::sizes(16, 4);
    const int status = ktrace_capture_begin(&second, &options);
    CHECK(second == nullptr, "the out-parameter was written");
    const std::string sentence = ktrace_last_error();
    ktrace_capture_destroy(second);
    std::printf("    said: %s\n", sentence.c_str());
    return status;
}
int try_read(ktrace_capture *capture)
{
    ktrace_trace *trace = nullptr;
    const int status = ktrace_capture_read(&trace, capture);
    CHECK(trace == nullptr, "the out-parameter was written");
    std::printf("    said: %s\n", ktrace_last_error());
    return status;
}
int try_clear(ktrace_capture *capture)
{
    const int status = ktrace_capture_clear(capture);
    std::printf("    said: %s\n", ktrace_last_error());
    return status;
}
int try_end(ktrace_capture *capture)
{
    ktrace_trace *trace = nullptr;
    const int status = ktrace_capture_end(&trace, capture);
    CHECK(trace == nullptr, "the out-parameter was written");
    std::printf("    said: %s\n", ktrace_last_error());
    return status;
}
int try_snapshot(ktrace_capture *capture)
{
    ktrace_trace *trace = nullptr;
    const int status = ktrace_capture_snapshot(&trace, capture);
    CHECK(trace == nullptr, "the out-parameter was written");
    std::printf("    said: %s\n", ktrace_last_error());
    return status;
}
int try_stop(ktrace_capture *capture)
{
    const int status = ktrace_capture_stop(capture);
    std::printf("    said: %s\n", ktrace_last_error());
    return status;
}
int try_destroy(ktrace_capture *capture)
{
    ktrace_capture_destroy(capture); /* says nothing; the capture must still be open */
    return ktrace_active() ? KTRACE_ERROR_STATE : KTRACE_OK;
}

const forbidden calls[] = {{"begin", false, try_begin}, {"nested begin", true, try_begin}, {"read", true, try_read},
                           {"clear", true, try_clear},  {"snapshot", true, try_snapshot},  {"stop", true, try_stop},
                           {"end", true, try_end},      {"destroy", true, try_destroy}};

/* A call while a, b are put into a graph on a blocking stream: an error, after which graph and capture are as before it. */
void check_forbidden(const forbidden &one, cudaStreamCaptureMode mode)
{
    test::device_array<int> replay(1);
    cudaStream_t stream;
    CUDA_OK_OR_RETURN(cudaStreamCreate(&stream));
    test::capture capture;
    if (one.inside) {
        REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
        launch_a(stream, replay.get()); /* recorded, and neither read nor cleared by what fails */
        CUDA_OK_OR_RETURN(cudaStreamSynchronize(stream));
    }
    CUDA_OK_OR_RETURN(cudaStreamBeginCapture(stream, mode));
    launch_a(stream, replay.get());
    const int status = one.call(capture.handle());
    CHECK(status == KTRACE_ERROR_STATE, "%s gives '%s'", one.name, ktrace_status_name(status));
    CHECK_EQUAL(ktrace_active(), one.inside);
    launch_b(stream, replay.get());
    CHECK_CUDA(cudaGetLastError());
    cudaGraph_t built = nullptr;
    cudaGraphExec_t executable = nullptr;
    size_t nodes = 0;
    CHECK_CUDA(cudaStreamEndCapture(stream, &built));
    REQUIRE(built != nullptr);
    CHECK_CUDA(cudaGraphGetNodes(built, nullptr, &nodes));
    CHECK_EQUAL(nodes, 2);
    CHECK_CUDA(cudaGraphInstantiate(&executable, built, 0));
    REQUIRE(executable != nullptr);
    if (!one.inside) {
        CHECK_CUDA(cudaGraphLaunch(executable, stream)); /* dormant */
        CHECK_CUDA(cudaStreamSynchronize(stream));
        REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
    }
    CHECK_CUDA(cudaGraphLaunch(executable, stream));
    test::trace trace;
    REQUIRE(capture.end(trace) == 0);
    if (one.inside) {
        if (test::check_launches(trace, {wanted_a(), wanted_a(), wanted_b()}))
            check_waves(trace, [](uint32_t) { return 0; });
    } else {
        check_replays(trace, 1, 1);
    }
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaGraphDestroy(built));
    CHECK_CUDA(cudaStreamDestroy(stream));
}

} /* namespace */

TEST_CASE(errors_during_construction)
{
    const struct {
        cudaStreamCaptureMode mode;
        const char *name;
    } modes[] = {{cudaStreamCaptureModeGlobal, "global"},
                 {cudaStreamCaptureModeThreadLocal, "thread-local"},
                 {cudaStreamCaptureModeRelaxed, "relaxed"}};
    for (const auto &mode : modes)
        for (const forbidden &one : calls) {
            std::printf("  %s, %s mode\n", one.name, mode.name);
            check_forbidden(one, mode.mode);
        }
}

/* On a stream that does not wait for the default one nobody can ask whether it is captured without spoiling the graph. The call
 * is an error, and the capture survives it. */
TEST_CASE(errors_during_construction_on_a_side_stream)
{
    for (const forbidden &one : calls) {
        std::printf("  %s\n", one.name);
        test::device_array<int> replay(1);
        test::side_stream stream;
        test::capture capture;
        if (one.inside)
            REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
        CUDA_OK_OR_RETURN(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        launch_a(stream, replay.get());
        const int status = one.call(capture.handle());
        CHECK(status == KTRACE_ERROR_STATE, "%s gives '%s'", one.name, ktrace_status_name(status));
        cudaGraph_t built = nullptr;
        cudaStreamEndCapture(stream, &built);
        if (built)
            cudaGraphDestroy(built);
        cudaGetLastError();
        if (!one.inside)
            REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
        launch_a(stream, replay.get());
        CHECK_CUDA(cudaGetLastError());
        test::trace trace;
        REQUIRE(capture.end(trace) == 0);
        test::check_launches(trace, {wanted_a()});
    }
}

/* Nesting is an error with or without graphs; replays under way do not notice. */
TEST_CASE(nested_begin_between_replays)
{
    test::device_array<int> replay(1);
    const graph graph(a_and_b(replay.get()));
    test::capture capture;
    REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
    for (int i = 0; i < 6; i++) {
        graph.replay();
        CHECK_EQUAL(try_begin(nullptr), KTRACE_ERROR_STATE);
    }
    test::trace trace;
    REQUIRE(capture.end(trace) == 0);
    check_replays(trace, 6, 0);
}

/* ---- Behind the end --------------------------------------------------------------------------------------------- */

namespace
{

test::trace snapshot_of(const test::capture &capture)
{
    ktrace_trace *raw = nullptr;
    const int status = ktrace_capture_snapshot(&raw, capture.handle());
    CHECK(status == 0, "ktrace_capture_snapshot: %s: %s", ktrace_status_name(status), ktrace_last_error());
    return test::trace(raw);
}

} /* namespace */

/* Told to stay armed, the capture records replays after its end, which a read puts in the place of what it showed. */
TEST_CASE(replays_after_the_end)
{
    test::device_array<int> replay(1);
    ktrace_capture_options options = test::sizes(16, 4);
    options.stay_armed = 1;
    const graph graph(a_and_b(replay.get()));
    test::capture capture;
    test::trace trace;
    REQUIRE(capture.begin(options) == 0);
    graph.replay();
    KTRACE_OK_OR_RETURN(ktrace_capture_stop(capture.handle()));
    CHECK_EQUAL(ktrace_active(), 0);
    check_replays(snapshot_of(capture), 1, 0);
    for (int i = 0; i < 2; i++)
        graph.replay();
    check_replays(snapshot_of(capture), 1, 0); /* until it is read */
    REQUIRE(capture.read(trace) == 0);
    check_replays(trace, 2, 1);
    check_replays(snapshot_of(capture), 2, 1);
    for (int i = 0; i < 3; i++)
        graph.replay();
    REQUIRE(capture.read(trace) == 0);
    check_replays(trace, 3, 3);
    check_replays(snapshot_of(capture), 3, 3);
    graph.replay();
    REQUIRE(capture.clear() == 0);
    CHECK_EQUAL(snapshot_of(capture).info.launches, 0);
    graph.replay();
    REQUIRE(capture.read(trace) == 0);
    check_replays(trace, 1, 7);
    REQUIRE(capture.end(trace) == 0); /* what it shows */
    check_replays(trace, 1, 7);
    graph.replay(); /* dormant: the memory is gone */
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
    CHECK_EQUAL(replay.host()[0], 9);
    trace = test::record(test::sizes(16, 4), [&] { graph.replay(); });
    REQUIRE(trace.valid());
    check_replays(trace, 1, 9);
}

/* The graph keeps the capture that stayed armed until another one begins. */
TEST_CASE(another_capture_after_one_that_stays_armed)
{
    test::device_array<int> replay(1);
    ktrace_capture_options options = test::sizes(16, 4);
    options.stay_armed = 1;
    const graph graph(a_and_b(replay.get()));
    test::capture first;
    REQUIRE(first.begin(options) == 0);
    graph.replay();
    KTRACE_OK_OR_RETURN(ktrace_capture_stop(first.handle()));
    graph.replay();
    test::trace trace = test::record(test::sizes(32, 2), [&] {
        graph.replay();
        graph.replay();
    });
    REQUIRE(trace.valid());
    check_replays(trace, 2, 2);
    REQUIRE(first.end(trace) == 0);
    CHECK(trace.valid() && trace.info.launches > 0, "the first capture shows nothing any more");
    graph.replay();
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
}

/* Without that option replays after the end are dormant, and change nothing of what the capture shows. */
TEST_CASE(stopped_captures_are_dormant)
{
    test::device_array<int> replay(1);
    const graph graph(a_and_b(replay.get()));
    test::capture capture;
    test::trace trace;
    REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
    graph.replay();
    check_replays(snapshot_of(capture), 1, 0); /* looking loses nothing */
    graph.replay();
    KTRACE_OK_OR_RETURN(ktrace_capture_stop(capture.handle()));
    graph.replay();
    check_replays(snapshot_of(capture), 2, 0);
    REQUIRE(capture.end(trace) == 0);
    check_replays(trace, 2, 0);
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
