/* launches.h - what whole launches must look like: who, how large, how many waves, events and ranges, and when. For
 * programs whose kernels tell themselves what they were: test::told. */
#ifndef KTRACE_TESTS_GPU_LAUNCHES_H
#define KTRACE_TESTS_GPU_LAUNCHES_H

#include "check.h"

#include <map>
#include <set>
#include <tuple>

namespace test
{

/* ---- Launches --------------------------------------------------------------------------------------------------- */

struct wanted_launch {
    std::string kernel;
    uint32_t grid[3], block[3];
    uint64_t waves, events;
};

inline wanted_launch whole_launch(const char *kernel, dim3 grid, dim3 block, uint64_t events_per_wave)
{
    const uint64_t waves = (uint64_t)grid.x * grid.y * grid.z * ((block.x * block.y * block.z + 31) / 32);
    return {kernel, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, waves, waves * events_per_wave};
}

inline std::string size_text(const uint32_t size[3])
{
    return std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
}

/* Recorded whole: every wave of the grid, and nothing lost. */
inline void check_launch(const trace &trace, size_t index, const wanted_launch &wanted)
{
    const ktrace_launch_info &launch = trace.launches[index];
    CHECK(launch.kernel == wanted.kernel, "launch %zu is '%s', expected '%s'", index, launch.kernel,
          wanted.kernel.c_str());
    CHECK(std::equal(launch.grid, launch.grid + 3, wanted.grid), "grid of launch %zu is %s, expected %s", index,
          size_text(launch.grid).c_str(), size_text(wanted.grid).c_str());
    CHECK(std::equal(launch.block, launch.block + 3, wanted.block), "block of launch %zu is %s, expected %s", index,
          size_text(launch.block).c_str(), size_text(wanted.block).c_str());
    CHECK(launch.waves_launched == wanted.waves && launch.waves == wanted.waves,
          "launch %zu: %llu waves of %llu launched, expected %llu", index, (unsigned long long)launch.waves,
          (unsigned long long)launch.waves_launched, (unsigned long long)wanted.waves);
    CHECK(launch.events == wanted.events, "launch %zu: %llu events, expected %llu", index,
          (unsigned long long)launch.events, (unsigned long long)wanted.events);
    CHECK_EQUAL(launch.slots_lost, 0);
}

/* What holds for every launch of a trace: it spans its waves, no wave is in it twice, and each is inside of its grid. */
inline void check_launch_waves(const trace &trace)
{
    using unit = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;
    std::vector<int64_t> begin(trace.launches.size(), INT64_MAX), end(trace.launches.size(), INT64_MIN);
    std::vector<std::set<unit>> units(trace.launches.size());
    for (const wave &wave : trace.waves) {
        const about about_this(wave);
        const uint32_t index = wave.info.launch;
        REQUIRE(index < trace.launches.size(), "launch %u", index);
        const ktrace_launch_info &launch = trace.launches[index];
        const uint32_t *at = wave.info.workgroup;
        const uint64_t threads = (uint64_t)launch.block[0] * launch.block[1] * launch.block[2];
        begin[index] = std::min(begin[index], wave.info.begin_ps);
        end[index] = std::max(end[index], wave.info.end_ps);
        CHECK(units[index].insert(unit(at[0], at[1], at[2], wave.info.wave)).second,
              "a second wave %u of workgroup (%u, %u, %u) in launch %u", wave.info.wave, at[0], at[1], at[2], index);
        for (int i = 0; i < 3; i++)
            CHECK(at[i] < launch.grid[i], "workgroup (%u, %u, %u) in a grid of %s", at[0], at[1], at[2],
                  size_text(launch.grid).c_str());
        CHECK(wave.info.wave < (threads + 31) / 32, "wave %u of a workgroup of %llu threads", wave.info.wave,
              (unsigned long long)threads);
    }
    for (size_t i = 0; i < trace.launches.size(); i++) {
        CHECK_EQUAL(trace.launches[i].begin_ps, begin[i]);
        CHECK_EQUAL(trace.launches[i].end_ps, end[i]);
    }
}

/* What the library says of each launch's phases is what its waves recorded: closed ranges, and marks. */
inline void check_launch_phases(const trace &trace)
{
    using phase_key = std::pair<std::string, uint32_t>;
    std::vector<std::map<phase_key, uint64_t>> recorded(trace.launches.size());
    for (const wave &wave : trace.waves)
        for (const event &e : wave.events)
            if (wave.info.launch < recorded.size() &&
                (e.kind == KTRACE_KIND_MARK || (is_begin(e) && e.partner != KTRACE_NO_INDEX)))
                recorded[wave.info.launch][phase_key(e.name, e.kind)]++;
    for (size_t i = 0; i < recorded.size(); i++) {
        uint64_t count = 0;
        KTRACE_OK_OR_RETURN(ktrace_trace_launch_phase_count(&count, trace.handle(), i));
        CHECK(count == recorded[i].size(), "launch %zu has %llu phases, its waves %zu", i, (unsigned long long)count,
              recorded[i].size());
        for (uint64_t k = 0; k < count; k++) {
            ktrace_phase_info phase{};
            phase.struct_size = sizeof(phase);
            KTRACE_OK_OR_RETURN(ktrace_trace_launch_phase(&phase, trace.handle(), i, k));
            const auto found = recorded[i].find(phase_key(phase.name, phase.kind));
            CHECK(found != recorded[i].end() && found->second == phase.count,
                  "launch %zu, phase '%s': %llu, its waves have %llu", i, phase.name, (unsigned long long)phase.count,
                  found != recorded[i].end() ? (unsigned long long)found->second : 0ull);
        }
    }
}

/* A clean trace of these launches, recorded whole, in this order. False when there are not as many. */
inline bool check_launches(const trace &trace, const std::vector<wanted_launch> &wanted)
{
    check_clean(trace);
    check_launch_waves(trace);
    check_launch_phases(trace);
    CHECK(trace.launches.size() == wanted.size(), "%zu launches, expected %zu", trace.launches.size(), wanted.size());
    for (size_t i = 0; i < std::min(trace.launches.size(), wanted.size()); i++)
        check_launch(trace, i, wanted[i]);
    return trace.launches.size() == wanted.size();
}

/* Both ran at the same time at least for an instant. */
inline bool overlap(const ktrace_launch_info &a, const ktrace_launch_info &b)
{
    return a.begin_ps < b.end_ps && b.begin_ps < a.end_ps;
}

/* ---- Phases ----------------------------------------------------------------------------------------------------- */

struct wanted_phase {
    std::string kernel, name;
    uint32_t kind;
    uint64_t count;
};

/* Exactly these phases, each with so many closed ranges or marks, and none unclosed. */
inline void check_phases(const trace &trace, const std::vector<wanted_phase> &wanted)
{
    const uint64_t count = ktrace_trace_phase_count(trace.handle());
    CHECK(count == wanted.size(), "%llu phases, expected %zu", (unsigned long long)count, wanted.size());
    for (uint64_t i = 0; i < count; i++) {
        ktrace_phase_info phase{};
        phase.struct_size = sizeof(phase);
        KTRACE_OK_OR_RETURN(ktrace_trace_phase(&phase, trace.handle(), i));
        const auto same = [&](const wanted_phase &one) {
            return one.kernel == phase.kernel && one.name == phase.name && one.kind == phase.kind;
        };
        const auto found = std::find_if(wanted.begin(), wanted.end(), same);
        CHECK(found != wanted.end(), "phase '%s' of '%s' (%s) is not expected", phase.name, phase.kernel,
              kind_name(phase.kind));
        if (found == wanted.end())
            continue;
        CHECK(phase.count == found->count && phase.unclosed == 0,
              "phase '%s' of '%s': %llu and %llu unclosed, expected %llu", phase.name, phase.kernel,
              (unsigned long long)phase.count, (unsigned long long)phase.unclosed, (unsigned long long)found->count);
        if (phase.kind != KTRACE_KIND_MARK && phase.count > 0)
            CHECK(phase.min_ns >= 0 && phase.min_ns <= phase.p50_ns && phase.p50_ns <= phase.max_ns &&
                      phase.total_ns >= phase.max_ns,
                  "phase '%s': min %g, p50 %g, max %g, total %g ns", phase.name, phase.min_ns, phase.p50_ns,
                  phase.max_ns, phase.total_ns);
    }
}

/* Closed ranges, or marks, of one name in one launch. */
inline uint64_t phase_in_launch(const trace &trace, uint32_t launch, uint32_t kind, const char *name)
{
    uint64_t count = 0;
    for (const wave &wave : trace.waves)
        if (wave.info.launch == launch)
            for (const event &e : wave.events)
                count += e.kind == kind && e.name == name && (kind == KTRACE_KIND_MARK || e.partner != KTRACE_NO_INDEX);
    return count;
}

/* ---- What kernels tell of themselves ---------------------------------------------------------------------------- */

/* One a launch, in device memory that was zero. */
struct told {
    unsigned long long grid_id;
    unsigned long long not_first_ns; /* ~ of the earliest wall clock that a thread read */
    unsigned long long last_ns;
};

#if defined(__CUDACC__)
__device__ __forceinline__ unsigned long long wall_clock_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__device__ __forceinline__ void tell(told *of_this_launch)
{
    unsigned long long id;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(id));
    const unsigned long long now = wall_clock_ns();
    of_this_launch->grid_id = id;
    atomicMax(&of_this_launch->not_first_ns, ~now);
    atomicMax(&of_this_launch->last_ns, now);
    __syncwarp(); /* a compiler may let one lane add for all; the next event is one of the whole wave */
}

/* Waits until its group of `size` is complete: the first `size` that come are one, the next another. False after two
 * seconds, so that a test fails and does not hang. */
__device__ __forceinline__ bool meet(unsigned *arrived, unsigned size)
{
    const unsigned long long limit = wall_clock_ns() + 2000000000ull;
    __threadfence();
    const unsigned group = atomicAdd(arrived, 1u) / size;
    while (*(volatile unsigned *)arrived < (group + 1) * size)
        if (wall_clock_ns() > limit)
            return false;
    __threadfence();
    return true;
}
#endif

/* The grid id is the kernel's own, and what it saw of the wall clock lies in the launch. 5 us: instants inside of a wave are
 * fitted to its anchors, and this is to tell launches apart, not to measure the fit. */
inline void check_told(const trace &trace, size_t index, const told &wanted)
{
    const ktrace_launch_info &launch = trace.launches[index];
    const double slack_ns = 5000;
    const double origin = (double)trace.info.origin_ns;
    const double begin = (double)launch.begin_ps / 1000, end = (double)launch.end_ps / 1000;
    const double first = (double)~wanted.not_first_ns - origin, last = (double)wanted.last_ns - origin;
    CHECK(launch.grid_id == wanted.grid_id, "launch %zu has grid id %llu, its kernel says %llu", index,
          (unsigned long long)launch.grid_id, (unsigned long long)wanted.grid_id);
    CHECK(begin <= first + slack_ns && last <= end + slack_ns,
          "launch %zu is from %.0f to %.0f ns, its kernel says %.0f to %.0f", index, begin, end, first, last);
}

/* Kernels that wait for others must be on the device before they start: loading one may wait for those that run. */
template <class Kernel>
void preload(Kernel *kernel)
{
    cudaFuncAttributes attributes;
    CHECK_CUDA(cudaFuncGetAttributes(&attributes, (const void *)kernel));
}

/* A stream that does not wait for the default one. */
class side_stream
{
  public:
    side_stream()
    {
        CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    ~side_stream()
    {
        if (stream_)
            cudaStreamDestroy(stream_);
    }
    side_stream(const side_stream &) = delete;
    side_stream &operator=(const side_stream &) = delete;
    operator cudaStream_t() const
    {
        return stream_;
    }

  private:
    cudaStream_t stream_ = nullptr;
};

} /* namespace test */

#endif
