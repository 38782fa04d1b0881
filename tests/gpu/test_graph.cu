/* CUDA graphs: every replay of a node repeats its grid id, and is a launch of its own in the trace. Captures around, before and
 * behind the construction of graphs, and what is an error inside of it. */
#include "check.h"
#include "launches.h"

#include <ktrace/device.h>

#include <functional>

using test::mark;
using test::pop;
using test::push;
using test::whole_launch;

/* ---- Kernels ---------------------------------------------------------------------------------------------------- */

/* `replay` counts the replays; it is raised by the last node, when the others are over. */
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
    __syncwarp();
}

/* Several nodes of a graph, told apart by their number. */
__global__ void layer(int number, const int *replay)
{
    KTRACE_KERNEL("layer");
    KTRACE_RANGE("layer", number);
    KTRACE_MARK("replay", *replay);
}

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

/* ---- Graphs ----------------------------------------------------------------------------------------------------- */

namespace
{

constexpr uint32_t blocks_a = 5, threads_a = 96, blocks_b = 3, threads_b = 32;

void launch_a(cudaStream_t stream, const int *replay)
{
    node_a<<<blocks_a, threads_a, 0, stream>>>(replay);
}
void launch_b(cudaStream_t stream, int *replay)
{
    node_b<<<blocks_b, threads_b, 0, stream>>>(replay);
}
test::wanted_launch wanted_a()
{
    return whole_launch("node a", blocks_a, threads_a, 1);
}
test::wanted_launch wanted_b()
{
    return whole_launch("node b", blocks_b, threads_b, 2);
}

/* Built from what `launch` puts on a stream; `executables` of it. */
class graph
{
  public:
    explicit graph(const std::function<void(cudaStream_t)> &launch, int executables = 1)
    {
        CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        launch(stream);
        CHECK_CUDA(cudaGetLastError());
        CHECK_CUDA(cudaStreamEndCapture(stream, &built_));
        for (int i = 0; built_ && i < executables; i++) {
            cudaGraphExec_t executable = nullptr;
            CHECK_CUDA(cudaGraphInstantiate(&executable, built_, 0));
            if (executable)
                executables_.push_back(executable);
        }
        CHECK(executables_.size() == (size_t)executables, "the graph could not be built");
    }
    ~graph()
    {
        for (const cudaGraphExec_t executable : executables_)
            cudaGraphExecDestroy(executable);
        if (built_)
            cudaGraphDestroy(built_);
    }
    graph(const graph &) = delete;
    graph &operator=(const graph &) = delete;
    void replay() const
    {
        replay(0, stream);
    }
    void replay(size_t which, cudaStream_t on) const
    {
        if (which < executables_.size())
            CHECK_CUDA(cudaGraphLaunch(executables_[which], on));
    }

    test::side_stream stream;

  private:
    cudaGraph_t built_ = nullptr;
    std::vector<cudaGraphExec_t> executables_;
};

/* a, then b, which counts the replay. */
std::function<void(cudaStream_t)> a_and_b(int *replay)
{
    return [replay](cudaStream_t stream) {
        launch_a(stream, replay);
        launch_b(stream, replay);
    };
}

/* ---- Expectations ----------------------------------------------------------------------------------------------- */

/* Launches that share a grid id are numbered in their order. */
void check_occurrences(const test::trace &trace)
{
    std::map<uint64_t, uint32_t> seen;
    for (size_t i = 0; i < trace.launches.size(); i++) {
        const ktrace_launch_info &launch = trace.launches[i];
        if (test::verbose())
            std::printf("  launch %zu: '%s', grid id %llu, occurrence %u, %lld .. %lld ps\n", i, launch.kernel,
                        (unsigned long long)launch.grid_id, launch.occurrence, (long long)launch.begin_ps,
                        (long long)launch.end_ps);
        CHECK(launch.occurrence == seen[launch.grid_id]++, "occurrence %u of grid id %llu", launch.occurrence,
              (unsigned long long)launch.grid_id);
    }
}

/* Every wave is of the replay that its launch belongs to: `replay_of(launch)` and `number_of(launch)`. */
void check_waves(const test::trace &trace, const std::function<int(uint32_t)> &replay_of,
                 const std::function<int(uint32_t)> &number_of = nullptr)
{
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        REQUIRE(wave.info.launch < trace.launches.size());
        const std::string kernel = trace.launches[wave.info.launch].kernel;
        if (kernel == "node a")
            test::check_sequence(wave, {mark("replay", 0, replay_of(wave.info.launch))});
        else if (kernel == "node b")
            test::check_sequence(wave, {push("body", 0, (int)wave.info.workgroup[0]), pop(0)});
        else if (kernel == "layer")
            test::check_sequence(wave, {push("layer", 0, number_of(wave.info.launch)),
                                        mark("replay", 0, replay_of(wave.info.launch)), pop(0)});
        else
            CHECK(false, "a wave of '%s'", kernel.c_str());
    }
}

/* Launches a, b, a, b, ...; the first replay's number is `first`. */
void check_replays(const test::trace &trace, int replays, int first)
{
    std::vector<test::wanted_launch> wanted;
    for (int i = 0; i < replays; i++) {
        wanted.push_back(wanted_a());
        wanted.push_back(wanted_b());
    }
    if (!test::check_launches(trace, wanted))
        return;
    check_occurrences(trace);
    check_waves(trace, [first](uint32_t launch) { return first + (int)launch / 2; });
    test::check_phases(trace, {{"node a", "replay", KTRACE_KIND_MARK, (unsigned)replays * wanted_a().waves},
                               {"node b", "body", KTRACE_KIND_PUSH, (unsigned)replays * wanted_b().waves}});
}

} /* namespace */

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

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
