/* CUDA graphs: every replay of a node repeats its grid id, and is a launch of its own in the trace. */
#include "check.h"

#include <ktrace/device.h>

#include <map>

using test::mark;
using test::pop;
using test::push;

/* `replay` counts the replays; it is raised by the second node, when the first is over. */
__global__ void node_a(const int *replay)
{
    KTRACE_KERNEL("node a");
    KTRACE_MARK("replay", *replay);
}

__global__ void node_b(int *replay)
{
    KTRACE_KERNEL("node b");
    KTRACE_RANGE("body", (int)blockIdx.x);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *replay += 1;
}

namespace
{

constexpr uint32_t blocks_a = 5, threads_a = 96, blocks_b = 3, threads_b = 32;
constexpr uint64_t waves_a = blocks_a * 3, waves_b = blocks_b;

/* Two kernel nodes, b after a. */
struct graph {
    cudaStream_t stream = nullptr;
    cudaGraph_t built = nullptr;
    cudaGraphExec_t executable = nullptr;

    explicit graph(int *replay)
    {
        CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        node_a<<<blocks_a, threads_a, 0, stream>>>(replay);
        node_b<<<blocks_b, threads_b, 0, stream>>>(replay);
        CHECK_CUDA(cudaStreamEndCapture(stream, &built));
        if (built)
            CHECK_CUDA(cudaGraphInstantiate(&executable, built, 0));
    }
    ~graph()
    {
        if (executable)
            cudaGraphExecDestroy(executable);
        if (built)
            cudaGraphDestroy(built);
        if (stream)
            cudaStreamDestroy(stream);
    }
    graph(const graph &) = delete;
    graph &operator=(const graph &) = delete;
    void replay() const
    {
        CHECK_CUDA(cudaGraphLaunch(executable, stream));
    }
};

/* Launches a, b, a, b, ...: each whole, with all waves from the same replay, and occurrences that count up where a grid id
 * repeats. The first replay's number is `first`. */
void check_replays(const test::trace &trace, int replays, int first)
{
    test::check_clean(trace);
    REQUIRE(trace.launches.size() == 2u * (unsigned)replays, "%zu launches", trace.launches.size());
    std::map<uint64_t, uint32_t> seen;
    for (int i = 0; i < 2 * replays; i++) {
        const ktrace_launch_info &launch = trace.launches[i];
        const bool is_a = i % 2 == 0;
        std::printf("  launch %d: '%s', grid id %llu, occurrence %u, %lld .. %lld ps\n", i, launch.kernel,
                    (unsigned long long)launch.grid_id, launch.occurrence, (long long)launch.begin_ps,
                    (long long)launch.end_ps);
        CHECK(std::string(launch.kernel) == (is_a ? "node a" : "node b"), "launch %d is '%s'", i, launch.kernel);
        CHECK_EQUAL(launch.grid[0], is_a ? blocks_a : blocks_b);
        CHECK_EQUAL(launch.block[0], is_a ? threads_a : threads_b);
        CHECK_EQUAL(launch.waves_launched, is_a ? waves_a : waves_b);
        CHECK_EQUAL(launch.waves, is_a ? waves_a : waves_b);
        CHECK_EQUAL(launch.occurrence, seen[launch.grid_id]++);
    }
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        REQUIRE(wave.info.launch < trace.launches.size());
        if (wave.info.launch % 2 == 0)
            test::check_sequence(wave, {mark("replay", 0, first + (int)wave.info.launch / 2)});
        else
            test::check_sequence(wave, {push("body", 0, (int)wave.info.workgroup[0]), pop(0)});
    }
}

} /* namespace */

/* Built before the capture began: the nodes read the control block at each replay. */
TEST_CASE(graph_built_before)
{
    test::device_array<int> replay(1);
    const graph graph(replay.get());
    REQUIRE(graph.executable);
    graph.replay(); /* dormant: number 0 */
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
    test::capture capture;
    test::trace trace;
    REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
    for (int i = 0; i < 3; i++)
        graph.replay();
    REQUIRE(capture.read(trace) == 0);
    check_replays(trace, 3, 1);
    graph.replay();
    REQUIRE(capture.clear() == 0);
    for (int i = 0; i < 2; i++)
        graph.replay();
    REQUIRE(capture.end(trace) == 0);
    check_replays(trace, 2, 5);
    graph.replay(); /* the memory is gone, and the nodes know */
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
    CHECK_EQUAL(replay.host()[0], 8);
}

TEST_CASE(graph_built_inside)
{
    test::device_array<int> replay(1);
    test::capture capture;
    test::trace trace;
    REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
    {
        const graph graph(replay.get());
        REQUIRE(graph.executable);
        for (int i = 0; i < 3; i++)
            graph.replay();
        REQUIRE(capture.end(trace) == 0);
    }
    check_replays(trace, 3, 0);
}

/* A launch outside of the graph between two replays is a launch like any other. */
TEST_CASE(graph_and_plain_launches)
{
    test::device_array<int> replay(1);
    const graph graph(replay.get());
    REQUIRE(graph.executable);
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        graph.replay();
        node_a<<<2, 32, 0, graph.stream>>>(replay.get());
        graph.replay();
    });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    REQUIRE(trace.launches.size() == 5, "%zu launches", trace.launches.size());
    const uint64_t waves[5] = {waves_a, waves_b, 2, waves_a, waves_b};
    for (int i = 0; i < 5; i++)
        CHECK(trace.launches[i].waves == waves[i], "launch %d: %llu waves", i,
              (unsigned long long)trace.launches[i].waves);
    for (const test::wave &wave : trace.waves)
        if (wave.info.launch == 2)
            test::check_sequence(wave, {mark("replay", 0, 1)});
}

/* Reading and clearing while a stream is being captured are errors that say so; the capture survives them. */
TEST_CASE(read_while_a_graph_is_built)
{
    test::device_array<int> replay(1);
    cudaStream_t stream;
    CUDA_OK_OR_RETURN(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    test::capture capture;
    test::trace trace;
    std::string message;
    for (int which = 0; which < 3; which++) {
        if (which < 2)
            REQUIRE(capture.handle() || capture.begin(test::sizes(16, 4)) == 0);
        CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        node_a<<<1, 32, 0, stream>>>(replay.get());
        int status = 0;
        if (which == 0) {
            status = capture.try_read(trace, message);
        } else if (which == 1) {
            status = ktrace_capture_clear(capture.handle());
            message = ktrace_last_error();
        } else {
            ktrace_capture *second = nullptr;
            const ktrace_capture_options options = test::sizes(16, 4);
            status = ktrace_capture_begin(&second, &options);
            message = ktrace_last_error();
            ktrace_capture_destroy(second);
        }
        CHECK(status == KTRACE_ERROR_STATE, "%s gives '%s': %s",
              which == 0   ? "read"
              : which == 1 ? "clear"
                           : "begin",
              ktrace_status_name(status), message.c_str());
        std::printf("  said: %s\n", message.c_str());
        cudaGraph_t built = nullptr;
        cudaStreamEndCapture(stream, &built); /* our calls may have spoilt it */
        if (built)
            cudaGraphDestroy(built);
        cudaGetLastError();
        if (which == 1) { /* the capture still works */
            node_a<<<1, 32, 0, stream>>>(replay.get());
            CHECK_CUDA(cudaGetLastError());
            REQUIRE(capture.end(trace) == 0);
            test::check_clean(trace);
            test::check_sequence(test::only_wave(trace), {mark("replay", 0, 0)});
        }
    }
    CHECK_CUDA(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
