/* CUDA graphs: every replay of a node repeats its grid id, and is a launch of its own in the trace. */
#include "check.h"
#include "graphs.h"

using test::a_and_b;
using test::check_occurrences;
using test::check_replays;
using test::check_waves;
using test::graph;
using test::launch_a;
using test::launch_b;
using test::mark;
using test::pop;
using test::push;
using test::wanted_a;
using test::wanted_b;
using test::whole_launch;

/* Runs until two of these are on the device. */
__global__ void meeting(int number, unsigned *arrived, unsigned *late)
{
    KTRACE_KERNEL("meeting");
    KTRACE_RANGE("body", number);
    if (blockIdx.x == 0 && threadIdx.x == 0 && !test::meet(arrived, 2))
        atomicAdd(late, 1u);
    __syncthreads();
    __syncwarp();
    KTRACE_MARK("met");
}

/* ---- Captures around graphs ------------------------------------------------------------------------------------- */

/* Built before the capture began: the nodes read the control block at each replay. */
TEST_CASE(graph_built_before)
{
    test::device_array<int> replay(1);
    const graph graph(a_and_b(replay.get()));
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

/* The way of the documentation: prepare on a side stream, construct, clear, replay. Construction launches nothing. */
TEST_CASE(prepare_construct_clear_replay)
{
    test::device_array<int> replay(1);
    test::capture capture;
    test::trace trace;
    REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
    test::side_stream side;
    a_and_b(replay.get())(side);
    CUDA_OK_OR_RETURN(cudaStreamSynchronize(side));
    const graph graph(a_and_b(replay.get()));
    REQUIRE(capture.clear() == 0);
    graph.replay();
    REQUIRE(capture.end(trace) == 0);
    check_replays(trace, 1, 1);
}

TEST_CASE(construction_launches_nothing)
{
    test::device_array<int> replay(1);
    test::capture capture;
    test::trace trace;
    REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
    {
        const graph graph(a_and_b(replay.get()));
        REQUIRE(capture.read(trace) == 0);
        CHECK_EQUAL(trace.info.launches, 0);
        CHECK(!trace.warning.empty(), "an empty trace does not say why");
        for (int i = 0; i < 3; i++)
            graph.replay();
        REQUIRE(capture.end(trace) == 0);
    }
    check_replays(trace, 3, 0);
}

/* Each read has what was replayed since the last one, and leaves what was read before as it is. */
TEST_CASE(read_after_later_replays)
{
    test::device_array<int> replay(1);
    const graph graph(a_and_b(replay.get()));
    test::capture capture;
    REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
    std::vector<test::trace> traces;
    int first = 0;
    for (int replays = 1; replays <= 4; replays++) {
        for (int i = 0; i < replays; i++)
            graph.replay();
        test::trace trace;
        REQUIRE(capture.read(trace) == 0);
        check_replays(trace, replays, first);
        traces.push_back(std::move(trace));
        first += replays;
    }
    test::trace last;
    REQUIRE(capture.end(last) == 0);
    CHECK_EQUAL(last.info.launches, 0);
    for (size_t i = 0; i < traces.size(); i++) {
        struct ktrace_trace_info info {};
        info.struct_size = sizeof(info);
        CHECK_EQUAL(ktrace_trace_get_info(&info, traces[i].handle()), 0);
        CHECK_EQUAL(info.launches, 2 * (i + 1));
    }
}

/* Capture after capture of one graph. */
TEST_CASE(graph_in_many_captures)
{
    test::device_array<int> replay(1);
    const graph graph(a_and_b(replay.get()));
    for (int i = 0; i < 5; i++) {
        const test::trace trace = test::record(test::sizes(16u << i, 4, 1 << (18 + i)), [&] { graph.replay(); });
        REQUIRE(trace.valid());
        check_replays(trace, 1, 2 * i);
        graph.replay();
        CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
    }
}

/* ---- What replays look like ------------------------------------------------------------------------------------- */

TEST_CASE(replays_are_told_apart)
{
    const int replays = test::quick() ? 10 : 150;
    test::device_array<int> replay(1);
    const graph graph(a_and_b(replay.get()));
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (int i = 0; i < replays; i++)
            graph.replay();
    });
    REQUIRE(trace.valid());
    check_replays(trace, replays, 0);
    std::set<uint64_t> ids;
    for (const ktrace_launch_info &launch : trace.launches)
        ids.insert(launch.grid_id);
    std::printf("  %zu grid ids in %d launches\n", ids.size(), 2 * replays);
}

/* Three layers are three nodes of one kernel, of equal size, between nodes of others. */
TEST_CASE(several_kernels_and_repeated_nodes)
{
    const int layers = 3, nodes = layers + 2, replays = 4;
    test::device_array<int> replay(1);
    const graph graph([&](cudaStream_t stream) {
        launch_a(stream, replay.get());
        for (int i = 0; i < layers; i++)
            layer<<<4, 64, 0, stream>>>(i, replay.get());
        launch_b(stream, replay.get());
    });
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (int i = 0; i < replays; i++)
            graph.replay();
    });
    REQUIRE(trace.valid());
    std::vector<test::wanted_launch> wanted;
    for (int i = 0; i < replays; i++) {
        wanted.push_back(wanted_a());
        for (int k = 0; k < layers; k++)
            wanted.push_back(whole_launch("layer", 4, 64, 3));
        wanted.push_back(wanted_b());
    }
    REQUIRE(test::check_launches(trace, wanted));
    check_occurrences(trace);
    check_waves(
        trace, [](uint32_t launch) { return (int)launch / nodes; },
        [](uint32_t launch) { return (int)launch % nodes - 1; });
    test::check_phases(trace, {{"node a", "replay", KTRACE_KIND_MARK, replays * wanted_a().waves},
                               {"layer", "layer", KTRACE_KIND_PUSH, 8u * layers * replays},
                               {"layer", "replay", KTRACE_KIND_MARK, 8u * layers * replays},
                               {"node b", "body", KTRACE_KIND_PUSH, replays * wanted_b().waves}});
}

/* A launch outside of the graph between two replays, of the same kernel and size as its first node. */
TEST_CASE(eager_launch_between_replays)
{
    test::device_array<int> replay(1);
    const graph graph(a_and_b(replay.get()));
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        graph.replay();
        launch_a(graph.stream, replay.get());
        graph.replay();
        launch_a(graph.stream, replay.get());
        launch_a(graph.stream, replay.get());
    });
    REQUIRE(trace.valid());
    REQUIRE(test::check_launches(trace,
                                 {wanted_a(), wanted_b(), wanted_a(), wanted_a(), wanted_b(), wanted_a(), wanted_a()}));
    const int replay_of[7] = {0, 0, 1, 1, 1, 2, 2};
    check_waves(trace, [&](uint32_t launch) { return replay_of[launch]; });
    check_occurrences(trace);
    const uint64_t eager[3] = {trace.launches[2].grid_id, trace.launches[5].grid_id, trace.launches[6].grid_id};
    CHECK(eager[0] != eager[1] && eager[1] != eager[2] && eager[0] != eager[2], "eager launches share a grid id");
}

TEST_CASE(two_graphs)
{
    test::device_array<int> first(1), second(1);
    const graph one(a_and_b(first.get()));
    const graph two([&](cudaStream_t stream) {
        launch_a(stream, second.get());
        layer<<<4, 64, 0, stream>>>(7, second.get());
        launch_b(stream, second.get());
    });
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (int i = 0; i < 3; i++) {
            one.replay();
            two.replay(0, one.stream);
        }
    });
    REQUIRE(trace.valid());
    std::vector<test::wanted_launch> wanted;
    for (int i = 0; i < 3; i++)
        for (const auto &launch : {wanted_a(), wanted_b(), wanted_a(), whole_launch("layer", 4, 64, 3), wanted_b()})
            wanted.push_back(launch);
    REQUIRE(test::check_launches(trace, wanted));
    check_occurrences(trace);
    check_waves(
        trace, [](uint32_t launch) { return (int)launch / 5; }, [](uint32_t) { return 7; });
}

/* A graph within a graph, twice: one node of ours runs two times in each replay. */
TEST_CASE(child_graph_twice)
{
    const int replays = 3;
    test::device_array<int> replay(1);
    test::side_stream stream;
    cudaGraph_t inner = nullptr, outer = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaGraphNode_t first, second;
    CUDA_OK_OR_RETURN(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    layer<<<4, 64, 0, stream>>>(9, replay.get());
    CUDA_OK_OR_RETURN(cudaStreamEndCapture(stream, &inner));
    CUDA_OK_OR_RETURN(cudaGraphCreate(&outer, 0));
    CUDA_OK_OR_RETURN(cudaGraphAddChildGraphNode(&first, outer, nullptr, 0, inner));
    CUDA_OK_OR_RETURN(cudaGraphAddChildGraphNode(&second, outer, &first, 1, inner));
    CUDA_OK_OR_RETURN(cudaGraphInstantiate(&executable, outer, 0));
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (int i = 0; i < replays; i++)
            CHECK_CUDA(cudaGraphLaunch(executable, stream));
    });
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaGraphDestroy(outer));
    CHECK_CUDA(cudaGraphDestroy(inner));
    REQUIRE(trace.valid());
    REQUIRE(
        test::check_launches(trace, std::vector<test::wanted_launch>(2 * replays, whole_launch("layer", 4, 64, 3))));
    check_occurrences(trace);
    check_waves(
        trace, [](uint32_t) { return 0; }, [](uint32_t) { return 9; });
}

/* A node that is told another argument between replays. */
TEST_CASE(node_with_another_argument)
{
    const int replays = 4;
    test::device_array<int> replay(1);
    test::side_stream stream;
    cudaGraph_t built = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaGraphNode_t node;
    int number = 0;
    const int *count = replay.get();
    void *arguments[] = {&number, &count};
    cudaKernelNodeParams parameters{};
    parameters.func = (void *)layer;
    parameters.gridDim = dim3(4);
    parameters.blockDim = dim3(64);
    parameters.kernelParams = arguments;
    CUDA_OK_OR_RETURN(cudaGraphCreate(&built, 0));
    CUDA_OK_OR_RETURN(cudaGraphAddKernelNode(&node, built, nullptr, 0, &parameters));
    CUDA_OK_OR_RETURN(cudaGraphInstantiate(&executable, built, 0));
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (; number < replays; number++) {
            CHECK_CUDA(cudaGraphExecKernelNodeSetParams(executable, node, &parameters));
            CHECK_CUDA(cudaGraphLaunch(executable, stream));
        }
    });
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaGraphDestroy(built));
    REQUIRE(trace.valid());
    REQUIRE(test::check_launches(trace, std::vector<test::wanted_launch>(replays, whole_launch("layer", 4, 64, 3))));
    check_occurrences(trace);
    check_waves(
        trace, [](uint32_t) { return 0; }, [](uint32_t launch) { return (int)launch; });
}

/* ---- At the same time ------------------------------------------------------------------------------------------- */

namespace
{

struct meeting_place {
    test::device_array<unsigned> arrived{1}, late{1};
    void launch(cudaStream_t stream, int number) const
    {
        meeting<<<3, 64, 0, stream>>>(number, arrived.get(), late.get());
    }
};

/* `rounds` times two launches that met: whole, overlapping, one of each number. */
void check_meetings(const test::trace &trace, const meeting_place &place, int rounds, const std::vector<int> &numbers)
{
    CHECK(place.late.host()[0] == 0, "the two were not on the device at once");
    if (!test::check_launches(trace,
                              std::vector<test::wanted_launch>(2 * (size_t)rounds, whole_launch("meeting", 3, 64, 3))))
        return;
    check_occurrences(trace);
    std::vector<int> number(trace.launches.size(), -1);
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        REQUIRE(wave.events.size() == 3);
        int &of_launch = number[wave.info.launch];
        if (of_launch < 0)
            of_launch = (int)wave.events[0].payload;
        test::check_sequence(wave, {push("body", 0, of_launch), mark("met", 0), pop(0)});
    }
    for (int i = 0; i < rounds; i++) {
        CHECK(test::overlap(trace.launches[2 * i], trace.launches[2 * i + 1]), "the two of round %d do not overlap", i);
        std::vector<int> both = {number[2 * i], number[2 * i + 1]};
        std::sort(both.begin(), both.end());
        CHECK(both == numbers, "round %d has %d and %d", i, both[0], both[1]);
    }
}

} /* namespace */

/* Two branches of one graph, of the same kernel and size, that wait for each other. */
TEST_CASE(parallel_branches)
{
    const int rounds = 4;
    const meeting_place place;
    test::side_stream branch;
    cudaEvent_t fork, join;
    CUDA_OK_OR_RETURN(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CUDA_OK_OR_RETURN(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    test::preload(meeting);
    {
        const graph graph([&](cudaStream_t stream) {
            CHECK_CUDA(cudaEventRecord(fork, stream));
            CHECK_CUDA(cudaStreamWaitEvent(branch, fork, 0));
            place.launch(stream, 1);
            place.launch(branch, 2);
            CHECK_CUDA(cudaEventRecord(join, branch));
            CHECK_CUDA(cudaStreamWaitEvent(stream, join, 0));
        });
        const test::trace trace = test::record(test::sizes(16, 4), [&] {
            for (int i = 0; i < rounds; i++)
                graph.replay();
        });
        if (trace.valid())
            check_meetings(trace, place, rounds, {1, 2});
    }
    CHECK_CUDA(cudaEventDestroy(fork));
    CHECK_CUDA(cudaEventDestroy(join));
}

/* Two graphs on two streams, each of the same single node. */
TEST_CASE(two_graphs_at_once)
{
    const int rounds = 4;
    const meeting_place place;
    test::preload(meeting);
    const graph one([&](cudaStream_t stream) { place.launch(stream, 1); });
    const graph two([&](cudaStream_t stream) { place.launch(stream, 2); });
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (int i = 0; i < rounds; i++) {
            one.replay();
            two.replay();
        }
    });
    REQUIRE(trace.valid());
    check_meetings(trace, place, rounds, {1, 2});
}

/* Two executables of one graph on two streams: even these are two launches each time. */
TEST_CASE(one_graph_twice_at_once)
{
    const int rounds = 4;
    const meeting_place place;
    test::preload(meeting);
    test::side_stream other;
    const graph graph([&](cudaStream_t stream) { place.launch(stream, 5); }, 2);
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (int i = 0; i < rounds; i++) {
            graph.replay(0, graph.stream);
            graph.replay(1, other);
        }
    });
    REQUIRE(trace.valid());
    check_meetings(trace, place, rounds, {5, 5});
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
