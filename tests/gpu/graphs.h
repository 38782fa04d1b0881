/* graphs.h - CUDA graphs of annotated kernels, and what a trace of their replays must look like. */
#ifndef KTRACE_TESTS_GPU_GRAPHS_H
#define KTRACE_TESTS_GPU_GRAPHS_H

#include "check.h"
#include "launches.h"

#include <ktrace/device.h>

#include <functional>

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

/* ---- Graphs ----------------------------------------------------------------------------------------------------- */

namespace test
{

constexpr uint32_t blocks_a = 5, threads_a = 96, blocks_b = 3, threads_b = 32;

inline void launch_a(cudaStream_t stream, const int *replay)
{
    node_a<<<blocks_a, threads_a, 0, stream>>>(replay);
}
inline void launch_b(cudaStream_t stream, int *replay)
{
    node_b<<<blocks_b, threads_b, 0, stream>>>(replay);
}
inline wanted_launch wanted_a()
{
    return whole_launch("node a", blocks_a, threads_a, 1);
}
inline wanted_launch wanted_b()
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

    side_stream stream;

  private:
    cudaGraph_t built_ = nullptr;
    std::vector<cudaGraphExec_t> executables_;
};

/* a, then b, which counts the replay. */
inline std::function<void(cudaStream_t)> a_and_b(int *replay)
{
    return [replay](cudaStream_t stream) {
        launch_a(stream, replay);
        launch_b(stream, replay);
    };
}

/* ---- Expectations ----------------------------------------------------------------------------------------------- */

/* Launches that share a grid id are numbered in their order. */
inline void check_occurrences(const trace &trace)
{
    std::map<uint64_t, uint32_t> seen;
    for (size_t i = 0; i < trace.launches.size(); i++) {
        const ktrace_launch_info &launch = trace.launches[i];
        if (verbose())
            std::printf("  launch %zu: '%s', grid id %llu, occurrence %u, %lld .. %lld ps\n", i, launch.kernel,
                        (unsigned long long)launch.grid_id, launch.occurrence, (long long)launch.begin_ps,
                        (long long)launch.end_ps);
        CHECK(launch.occurrence == seen[launch.grid_id]++, "occurrence %u of grid id %llu", launch.occurrence,
              (unsigned long long)launch.grid_id);
    }
}

/* Every wave is of the replay that its launch belongs to: `replay_of(launch)` and `number_of(launch)`. */
inline void check_waves(const trace &trace, const std::function<int(uint32_t)> &replay_of,
                        const std::function<int(uint32_t)> &number_of = nullptr)
{
    for (const wave &wave : trace.waves) {
        const about about(wave);
        REQUIRE(wave.info.launch < trace.launches.size());
        const std::string kernel = trace.launches[wave.info.launch].kernel;
        if (kernel == "node a")
            check_sequence(wave, {mark("replay", 0, replay_of(wave.info.launch))});
        else if (kernel == "node b")
            check_sequence(wave, {push("body", 0, (int)wave.info.workgroup[0]), pop(0)});
        else if (kernel == "layer")
            check_sequence(wave, {push("layer", 0, number_of(wave.info.launch)),
                                  mark("replay", 0, replay_of(wave.info.launch)), pop(0)});
        else
            CHECK(false, "a wave of '%s'", kernel.c_str());
    }
}

/* Launches a, b, a, b, ...; the first replay's number is `first`. */
inline void check_replays(const trace &trace, int replays, int first)
{
    std::vector<wanted_launch> wanted;
    for (int i = 0; i < replays; i++) {
        wanted.push_back(wanted_a());
        wanted.push_back(wanted_b());
    }
    if (!check_launches(trace, wanted))
        return;
    check_occurrences(trace);
    check_waves(trace, [first](uint32_t launch) { return first + (int)launch / 2; });
    check_phases(trace, {{"node a", "replay", KTRACE_KIND_MARK, (unsigned)replays * wanted_a().waves},
                         {"node b", "body", KTRACE_KIND_PUSH, (unsigned)replays * wanted_b().waves}});
}

} /* namespace test */

#endif
