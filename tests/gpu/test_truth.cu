/* Is what the trace says true? Durations and loads against the kernel's own clock reads, times of one instant on all SMs against the
 * wall clock that each SM reads at that instant, and results that do not differ by a bit. */
#include "check.h"

#include <ktrace/device.h>

#include <algorithm>
#include <cmath>

namespace traced
{
#include "test_truth_kernels.inc"
}
namespace untraced
{
std::vector<uint32_t> compute();
}

namespace
{

/* ---- Numbers ---------------------------------------------------------------------------------------------------- */

struct distribution {
    double min, p50, p95, p99, max;
};

distribution distribution_of(std::vector<double> values)
{
    if (values.empty())
        return {0, 0, 0, 0, 0};
    std::sort(values.begin(), values.end());
    const auto rank = [&](double share) { return values[(size_t)(share * (double)(values.size() - 1) + 0.5)]; };
    return {values.front(), rank(0.50), rank(0.95), rank(0.99), values.back()};
}

int sm_count()
{
    int count = 0;
    CHECK_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return count;
}

/* 64 bits throughout, so that ptxas reads the clock with CS2R as an event does, and not with S2UR. */
__device__ __forceinline__ unsigned long long clock_ticks()
{
    unsigned long long ticks;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(ticks)::"memory");
    return ticks;
}

__device__ __forceinline__ unsigned long long wall_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

/* Absolute time of an event on the device's wall clock. */
double wall_of(const test::trace &trace, const test::event &event, uint64_t from_ns)
{
    return (double)(int64_t)(trace.info.origin_ns - from_ns) + (double)event.time_ps * 1e-3;
}

} /* namespace */

/* ---- Durations -------------------------------------------------------------------------------------------------- */

template <int Count>
__device__ __forceinline__ void chain(float &x, float a, float b)
{
    if (Count <= 128) {
#pragma unroll
        for (int i = 0; i < Count; i++)
            x = fmaf(x, a, b);
    } else {
#pragma unroll 1
        for (int i = 0; i < Count / 8; i++) {
#pragma unroll
            for (int k = 0; k < 8; k++)
                x = fmaf(x, a, b);
        }
    }
}

/* The user's two clock reads lie right before those of the range's two events. */
template <int Count>
__global__ void phase(float *out, unsigned long long *difference, int rounds, float a, float b)
{
    KTRACE_KERNEL("phase");
    float x = a + (float)threadIdx.x;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        KTRACE_PIN(x);
        const unsigned long long before = clock_ticks();
        KTRACE_RANGE_PUSH("phase");
        chain<Count>(x, a, b);
        KTRACE_PIN(x);
        const unsigned long long after = clock_ticks();
        KTRACE_RANGE_POP();
        if (threadIdx.x == 0)
            difference[blockIdx.x * rounds + round] = after - before;
        chain<64>(x, b, a); /* until this round's stores have left */
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

TEST_CASE(durations)
{
    constexpr int sizes = 8, rounds = 8;
    const int fmas[sizes] = {8, 16, 32, 64, 128, 1000, 10000, 100000};
    const int blocks = sm_count();
    test::device_array<float> out((size_t)blocks * 32);
    test::device_array<unsigned long long> difference((size_t)sizes * blocks * rounds);
    REQUIRE(out.get() && difference.get());
    const auto launch = [&] {
        const float a = 0.999f, b = 0.125f;
        const auto at = [&](int size) { return difference.get() + (size_t)size * blocks * rounds; };
        phase<8><<<blocks, 32>>>(out.get(), at(0), rounds, a, b);
        phase<16><<<blocks, 32>>>(out.get(), at(1), rounds, a, b);
        phase<32><<<blocks, 32>>>(out.get(), at(2), rounds, a, b);
        phase<64><<<blocks, 32>>>(out.get(), at(3), rounds, a, b);
        phase<128><<<blocks, 32>>>(out.get(), at(4), rounds, a, b);
        phase<1000><<<blocks, 32>>>(out.get(), at(5), rounds, a, b);
        phase<10000><<<blocks, 32>>>(out.get(), at(6), rounds, a, b);
        phase<100000><<<blocks, 32>>>(out.get(), at(7), rounds, a, b);
    };
    launch(); /* dormant: code is loaded, clocks are up */
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
    const test::trace trace = test::record(test::sizes(64, 4), launch);
    REQUIRE(trace.valid());
    test::check_clean(trace);
    REQUIRE(trace.launches.size() == sizes, "%zu launches", trace.launches.size());
    CHECK(trace.info.clock_hz > 0.3e9 && trace.info.clock_hz < 4e9, "clock_hz %g", trace.info.clock_hz);
    CHECK(trace.info.clock_residual_ns >= 0 && trace.info.clock_residual_ns < 40, "clock_residual_ns %g",
          trace.info.clock_residual_ns);
    std::printf("  clock %.3f MHz, residual %.3f ns\n", trace.info.clock_hz * 1e-6, trace.info.clock_residual_ns);

    const std::vector<unsigned long long> users = difference.host();
    std::vector<double> tick_errors[sizes], time_errors[sizes], ticks[sizes];
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        const uint32_t size = wave.info.launch;
        REQUIRE(wave.events.size() == 2 * rounds, "%zu events", wave.events.size());
        for (int round = 1; round < rounds; round++) { /* the first has instruction cache misses anywhere */
            const test::event &push = wave.events[2 * round], &pop = wave.events[2 * round + 1];
            CHECK(push.partner == (uint32_t)(2 * round + 1), "round %d", round);
            const double user = (double)users[((size_t)size * blocks + wave.info.workgroup[0]) * rounds + round];
            const double in_ticks = (double)(pop.clock_ticks - push.clock_ticks);
            const double in_time = (double)(pop.time_ps - push.time_ps) * 1e-12 * trace.info.clock_hz;
            ticks[size].push_back(in_ticks);
            tick_errors[size].push_back(std::fabs(in_ticks - user) / user);
            time_errors[size].push_back(std::fabs(in_time - user) / user);
            /* dependent FMAs issue 4 cycles apart; the last is issued, not finished, when the range closes */
            CHECK(in_ticks >= 4.0 * fmas[size] - 4.0, "%g cycles for %d FMAs in round %d", in_ticks, fmas[size], round);
        }
    }
    for (int size = 0; size < sizes; size++) {
        const distribution length = distribution_of(ticks[size]);
        const distribution by_ticks = distribution_of(tick_errors[size]), by_time = distribution_of(time_errors[size]);
        std::printf("  %6d FMAs: %9.0f cycles (min %.0f, max %.0f); off by clock p50 %.3f %% p95 %.3f %% max %.3f %%, "
                    "by time p50 %.3f %% p95 %.3f %% max %.3f %%\n",
                    fmas[size], length.p50, length.min, length.max, 100 * by_ticks.p50, 100 * by_ticks.p95,
                    100 * by_ticks.max, 100 * by_time.p50, 100 * by_time.p95, 100 * by_time.max);
        /* Two clock reads are 2 cycles apart at best: what is shorter cannot be told from the user's own reading. */
        const double usual = std::max(0.02, 2.0 / length.p50), rare = std::max(0.02, 8.0 / length.p50);
        CHECK(by_ticks.p50 <= usual && by_ticks.p95 <= rare, "%d FMAs by clock", fmas[size]);
        CHECK(by_time.p50 <= usual && by_time.p95 <= rare, "%d FMAs by time", fmas[size]);
    }
}

/* ---- Loads ------------------------------------------------------------------------------------------------------ */

namespace
{
constexpr unsigned chased = 1u << 26; /* 256 MiB of them: no cache has that */
}

/* Every number below `chased` once, far from the one before. */
__global__ void link_all(unsigned *next)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < chased; i += gridDim.x * blockDim.x)
        next[i] = (i * 1664525u + 1013904223u) % chased;
}

/* A range around a load of cold memory, and the user's clock reads around that and a branch that needs what was loaded. */
template <bool Waits>
__global__ void chase(unsigned *out, const unsigned *next, unsigned long long *difference, int rounds, unsigned at)
{
    KTRACE_KERNEL("chase");
    at = (at + blockIdx.x * 2654435761u) % chased;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        KTRACE_PIN(at);
        const unsigned long long before = clock_ticks();
        KTRACE_RANGE_PUSH("load");
        unsigned loaded = next[at];
        if (Waits)
            KTRACE_WAIT(loaded);
        else
            KTRACE_PIN(loaded);
        KTRACE_RANGE_POP();
        if (loaded >= chased)
            break;
        const unsigned long long after = clock_ticks();
        if (threadIdx.x == 0)
            difference[blockIdx.x * rounds + round] = after - before;
        at = loaded;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

/* With KTRACE_WAIT the range has the load; with KTRACE_PIN, as far as ptxas put it there: that is printed only. */
TEST_CASE(waits)
{
    constexpr int blocks = 16, rounds = 64;
    constexpr double most_around = 200; /* cycles: the two events' own instructions and the branch */
    test::device_array<unsigned> next(chased), out(blocks * 32);
    test::device_array<unsigned long long> difference(2 * blocks * rounds);
    REQUIRE(next.get() && out.get() && difference.get());
    link_all<<<1024, 256>>>(next.get());
    const auto launch = [&](unsigned at) {
        chase<true><<<blocks, 32>>>(out.get(), next.get(), difference.get(), rounds, at);
        chase<false><<<blocks, 32>>>(out.get(), next.get(), difference.get() + blocks * rounds, rounds, at + 1);
    };
    launch(0); /* dormant: code is loaded, clocks are up */
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
    const test::trace trace = test::record(test::sizes(256, 4), [&] { launch(chased / 2); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    REQUIRE(trace.launches.size() == 2, "%zu launches", trace.launches.size());

    const std::vector<unsigned long long> users = difference.host();
    std::vector<double> ticks[2], user_ticks[2], around[2];
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        const uint32_t pins = wave.info.launch;
        REQUIRE(wave.events.size() == 2 * rounds, "%zu events", wave.events.size());
        for (int round = 1; round < rounds; round++) { /* the first has instruction cache misses anywhere */
            const test::event &push = wave.events[2 * round], &pop = wave.events[2 * round + 1];
            const double user = (double)users[((size_t)pins * blocks + wave.info.workgroup[0]) * rounds + round];
            const double in_ticks = (double)(pop.clock_ticks - push.clock_ticks);
            CHECK(in_ticks <= user, "%g cycles in a range, %g around it in round %d", in_ticks, user, round);
            ticks[pins].push_back(in_ticks);
            user_ticks[pins].push_back(user);
            around[pins].push_back(user - in_ticks);
        }
    }
    const distribution waits = distribution_of(ticks[0]), pins = distribution_of(ticks[1]);
    for (int which = 0; which < 2; which++) {
        const distribution in = which ? pins : waits, user = distribution_of(user_ticks[which]),
                           off = distribution_of(around[which]);
        std::printf("  %s: ranges min %.0f p50 %.0f p95 %.0f max %.0f cycles; the kernel's own reading p50 %.0f; it is "
                    "longer by min %.0f p50 %.0f p95 %.0f max %.0f\n",
                    which ? "KTRACE_PIN " : "KTRACE_WAIT", in.min, in.p50, in.p95, in.max, user.p50, off.min, off.p50,
                    off.p95, off.max);
    }
    const double loads = distribution_of(user_ticks[0]).p50, outside = distribution_of(around[0]).p50;
    REQUIRE(loads > 2 * most_around, "%g cycles for a load: the memory is not cold", loads);
    CHECK(outside <= most_around, "%g of %g cycles are outside of a range that waits", outside, loads);
    CHECK(pins.p50 <= 1.1 * waits.p50, "%g cycles with pins, %g with waits", pins.p50, waits.p50);
}

/* ---- One instant on all SMs ------------------------------------------------------------------------------------- */

namespace
{

struct reading {
    unsigned long long before_ns, after_ns; /* %globaltimer on both sides of the mark */
};

struct barrier {
    unsigned arrived, go;
    unsigned long long target_ns;
    unsigned gave_up; /* spins that ran into their limit */
};

constexpr unsigned spin_limit = 1u << 26;

} /* namespace */

/* One workgroup an SM, all running. They meet, then mark: at a wall time that the last to arrive named (by_timer), or as soon
 * as they see the flag that it raised. */
template <bool ByTimer>
__global__ void instants(barrier *meeting, reading *readings, int rounds, unsigned interval_ns)
{
    KTRACE_KERNEL("instants");
    volatile barrier *shared = meeting;
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int round = 0; round < rounds; round++) {
            __threadfence();
            const unsigned goal = gridDim.x * (unsigned)(round + 1);
            if (atomicAdd(&meeting->arrived, 1u) + 1 == goal) {
                const unsigned long long begin = wall_ns();
                if (ByTimer)
                    shared->target_ns = begin + interval_ns;
                else
                    while (wall_ns() < begin + interval_ns) {
                    } /* all others spin by now */
                __threadfence();
                shared->go = (unsigned)(round + 1);
            }
            unsigned spins = 0;
            while (shared->go < (unsigned)(round + 1) && ++spins < spin_limit) {
            }
            if (spins >= spin_limit) {
                atomicAdd(&meeting->gave_up, 1u);
                break;
            }
            reading mine;
            if (ByTimer) {
                __threadfence();
                const unsigned long long target = shared->target_ns;
                do
                    mine.before_ns = wall_ns();
                while (mine.before_ns < target);
            } else {
                mine.before_ns = wall_ns();
            }
            KTRACE_MARK("instant", mine.before_ns);
            mine.after_ns = wall_ns();
            readings[blockIdx.x * rounds + round] = mine;
        }
    }
    __syncwarp();
}

/* The wall clock's step. */
__global__ void timer_step(unsigned long long *step)
{
    unsigned long long least = ~0ull, last = wall_ns();
    for (int i = 0; i < 4000; i++) {
        const unsigned long long now = wall_ns();
        if (now != last && now - last < least)
            least = now - last;
        last = now;
    }
    *step = least;
}

static double measured_step_ns()
{
    test::device_array<unsigned long long> step(1);
    if (!step.get())
        return 0;
    timer_step<<<1, 1>>>(step.get());
    return (double)step.host()[0];
}

template <bool ByTimer>
static void check_instants(int launches, unsigned pause_us, int rounds, unsigned interval_ns, double bar_ns)
{
    const int blocks = sm_count();
    const double step_ns = measured_step_ns();
    if (step_ns <= 0 || step_ns > 64) {
        std::printf("  this wall clock steps by %g ns: the bars are for 32 ns\n", step_ns);
        return test::skip_case("coarse wall clock");
    }
    int optin = 0;
    CUDA_OK_OR_RETURN(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    const int alone_bytes = optin * 3 / 4; /* two such workgroups do not fit on one SM */
    CUDA_OK_OR_RETURN(
        cudaFuncSetAttribute(instants<ByTimer>, cudaFuncAttributeMaxDynamicSharedMemorySize, alone_bytes));
    const size_t count = (size_t)blocks * rounds;
    test::device_array<reading> readings(count * launches);
    test::device_array<barrier> meetings(launches + 1);
    REQUIRE(readings.get() && meetings.get());
    /* dormant first: loads the code */
    instants<ByTimer><<<blocks, 32, alone_bytes>>>(meetings.get() + launches, readings.get(), 2, interval_ns);
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
    const test::trace trace = test::record(test::sizes((uint32_t)rounds * 2, 4), [&] {
        for (int i = 0; i < launches; i++) {
            if (i > 0)
                usleep(pause_us);
            instants<ByTimer>
                <<<blocks, 32, alone_bytes>>>(meetings.get() + i, readings.get() + count * i, rounds, interval_ns);
            CHECK_CUDA(cudaDeviceSynchronize());
        }
    });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    for (const barrier &meeting : meetings.host())
        CHECK_EQUAL(meeting.gave_up, 0);
    REQUIRE(trace.launches.size() == (size_t)launches && trace.waves.size() == (size_t)launches * blocks,
            "%zu launches, %zu waves", trace.launches.size(), trace.waves.size());
    std::printf("  wall clock steps by %.0f ns; trace's clock %.3f MHz, residual %.3f ns\n", step_ns,
                trace.info.clock_hz * 1e-6, trace.info.clock_residual_ns);
    CHECK(trace.info.clock_residual_ns >= 0 && trace.info.clock_residual_ns < 40, "clock_residual_ns %g",
          trace.info.clock_residual_ns);

    const std::vector<reading> all = readings.host();
    const uint64_t from_ns = trace.info.origin_ns;
    std::vector<double> errors, outside;
    std::vector<std::vector<double>> at((size_t)launches * rounds); /* the marks of one instant */
    std::vector<std::vector<double>> errors_of_sm(trace.info.places);
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        REQUIRE(wave.events.size() == (size_t)rounds, "%zu events", wave.events.size());
        REQUIRE(wave.info.place < errors_of_sm.size());
        for (int round = 0; round < rounds; round++) {
            const reading &mine = all[count * wave.info.launch + (size_t)wave.info.workgroup[0] * rounds + round];
            const test::event &mark = wave.events[round];
            CHECK(mark.payload == mine.before_ns, "round %d", round);
            const double time = wall_of(trace, mark, from_ns);
            const double before = (double)(int64_t)(mine.before_ns - from_ns);
            const double after = (double)(int64_t)(mine.after_ns - from_ns);
            /* A timer value g says that its time is in [g, g + step). Waiting for a value stops right behind its step. */
            const double reference = ByTimer ? before + step_ns / 4 : (before + after) / 2 + step_ns / 2;
            errors.push_back(time - reference);
            errors_of_sm[wave.info.place].push_back(time - reference);
            outside.push_back(std::max({0.0, before - time, time - (after + step_ns)}));
            at[(size_t)wave.info.launch * rounds + round].push_back(time);
            CHECK(outside.back() < bar_ns,
                  "SM %u round %d: the mark is at %.1f ns, the SM read %.0f before and %.0f after", wave.info.place,
                  round, time, before, after);
        }
    }
    std::vector<double> spreads;
    for (const std::vector<double> &times : at) {
        const auto ends = std::minmax_element(times.begin(), times.end());
        spreads.push_back(*ends.second - *ends.first);
    }
    std::vector<double> means;
    for (size_t sm = 0; sm < errors_of_sm.size(); sm++) {
        if (errors_of_sm[sm].empty())
            continue;
        double sum = 0;
        for (const double error : errors_of_sm[sm])
            sum += error;
        means.push_back(sum / (double)errors_of_sm[sm].size());
        const distribution d = distribution_of(errors_of_sm[sm]);
        if (test::verbose())
            std::printf("    SM %3zu: min %7.1f p50 %7.1f p99 %7.1f max %7.1f mean %7.1f ns\n", sm, d.min, d.p50, d.p99,
                        d.max, means.back());
    }
    const distribution e = distribution_of(errors), o = distribution_of(outside), s = distribution_of(spreads),
                       m = distribution_of(means);
    std::printf("  mark against the SM's own reading: min %.1f p50 %.1f p99 %.1f max %.1f ns\n", e.min, e.p50, e.p99,
                e.max);
    std::printf("  outside of what the readings leave open: p50 %.1f p99 %.1f max %.1f ns\n", o.p50, o.p99, o.max);
    std::printf("  mean of each SM: min %.1f p50 %.1f max %.1f ns: two SMs differ by %.1f ns\n", m.min, m.p50, m.max,
                m.max - m.min);
    std::printf("  first to last mark of one instant: min %.1f p50 %.1f p99 %.1f max %.1f ns\n", s.min, s.p50, s.p99,
                s.max);
    CHECK(m.max - m.min < bar_ns, "two SMs differ by %.1f ns", m.max - m.min);
    /* Seeing the named time takes up to one turn of the polling loop more on one SM than on another. */
    if (ByTimer)
        CHECK(s.p99 < bar_ns + step_ns, "p99 of the spread is %.1f ns", s.p99);
}

/* Waves of some 100 us: within one, an SM's clock is taken to be steady between the anchors at its start and its end. */
TEST_CASE(instants_by_timer)
{
    check_instants<true>(16, 0, 4, 20000, 40);
}

TEST_CASE(instants_by_flag)
{
    check_instants<false>(16, 0, 4, 20000, 40);
}

/* The SMs idle in between, and their clocks may change. */
TEST_CASE(instants_of_launches_apart)
{
    check_instants<true>(4, test::quick() ? 1000 : 300000, 4, 20000, 40);
}

/* A wave has anchors at its start and its end only: what lies between them is interpolated over 200 ms. No bar is set for
 * that; 1 % of it would be an error of the fit. */
TEST_CASE(instants_in_long_waves)
{
    if (test::quick())
        return test::skip_case("--quick");
    check_instants<true>(1, 0, 32, 6000000, 2e6);
}

/* ---- Long gaps -------------------------------------------------------------------------------------------------- */

__global__ void gap(reading *readings, unsigned long long gap_ns)
{
    KTRACE_KERNEL("gap");
    reading mine;
    mine.before_ns = wall_ns();
    KTRACE_MARK("before the gap");
    while (wall_ns() - mine.before_ns < gap_ns)
        __nanosleep(1000);
    KTRACE_MARK("behind the gap");
    mine.after_ns = wall_ns();
    if (threadIdx.x == 0)
        readings[blockIdx.x] = mine;
}

/* An event has 32 bits of clock, which wrap after 2.2 s: the wave's anchors say how often. Either the distance is right, or the
 * trace says that it cannot tell. */
TEST_CASE(clock_wraps)
{
    if (test::quick())
        return test::skip_case("--quick");
    const int blocks = 2;
    test::device_array<reading> readings(blocks);
    const test::trace trace =
        test::record(test::sizes(16, 4), [&] { gap<<<blocks, 32>>>(readings.get(), 2700000000ull); });
    REQUIRE(trace.valid());
    test::check_consistent(trace);
    REQUIRE(trace.waves.size() == (size_t)blocks, "%zu waves", trace.waves.size());
    std::printf("  clocks_ambiguous %llu, warning '%s'\n", (unsigned long long)trace.info.clocks_ambiguous,
                trace.warning.c_str());
    const std::vector<reading> all = readings.host();
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        REQUIRE(wave.events.size() == 2, "%zu events", wave.events.size());
        const reading &mine = all[wave.info.workgroup[0]];
        const double wanted = (double)(mine.after_ns - mine.before_ns);
        const double distance = (double)(wave.events[1].time_ps - wave.events[0].time_ps) * 1e-3;
        std::printf("  gap of %.0f ns, in the trace %.0f ns\n", wanted, distance);
        if (trace.info.clocks_ambiguous == 0)
            CHECK(std::fabs(distance - wanted) < 0.001 * wanted, "off by %.0f ns", distance - wanted);
    }
}

/* ---- Results ---------------------------------------------------------------------------------------------------- */

static void compare(const std::vector<uint32_t> &actual, const std::vector<uint32_t> &wanted, const char *when)
{
    CHECK_EQUAL(actual.size(), wanted.size());
    size_t different = 0, first = 0;
    for (size_t i = 0; i < std::min(actual.size(), wanted.size()); i++)
        if (actual[i] != wanted[i] && different++ == 0)
            first = i;
    CHECK(different == 0, "%s: %zu of %zu words differ, first at %zu: 0x%08x, not 0x%08x", when, different,
          wanted.size(), first, actual[first], wanted[first]);
}

TEST_CASE(results_are_bit_identical)
{
    const std::vector<uint32_t> wanted = untraced::compute();
    REQUIRE(!wanted.empty());
    size_t zeros = 0;
    for (const uint32_t word : wanted)
        zeros += word == 0;
    CHECK(zeros < wanted.size() / 100, "%zu of %zu words are zero: nothing was computed", zeros, wanted.size());
    compare(untraced::compute(), wanted, "untraced again");
    compare(traced::compute(), wanted, "dormant, before");
    {
        std::vector<uint32_t> words;
        const test::trace trace = test::record(test::sizes(512, 256, 256ull << 20), [&] { words = traced::compute(); });
        REQUIRE(trace.valid());
        test::check_consistent(trace);
        CHECK_EQUAL(trace.info.slots_lost, 0);
        CHECK_EQUAL(trace.info.slots_corrupt, 0);
        CHECK_EQUAL(trace.launches.size(), 6);
        CHECK(trace.info.events > 5000, "%llu events", (unsigned long long)trace.info.events);
        std::printf("  %llu events in %llu waves; %llu ranges unclosed, %llu ends unmatched\n",
                    (unsigned long long)trace.info.events, (unsigned long long)trace.info.waves,
                    (unsigned long long)trace.info.ranges_unclosed, (unsigned long long)trace.info.ends_unmatched);
        compare(words, wanted, "captured");
    }
    {
        ktrace_capture_options options = test::sizes(4, 1, 1 << 20);
        options.keep_last = 1;
        test::capture capture;
        REQUIRE(capture.begin(options) == 0);
        compare(traced::compute(), wanted, "in a buffer that is too small");
        test::trace trace;
        std::string message;
        CHECK_EQUAL(capture.try_read(trace, message), KTRACE_ERROR_OVERFLOW);
    }
    {
        ktrace_filter filter = KTRACE_FILTER_INIT;
        filter.workgroup_step = 3;
        ktrace_capture_options options = test::sizes(512, 256, 256ull << 20);
        options.filter = &filter;
        std::vector<uint32_t> words;
        const test::trace trace = test::record(options, [&] { words = traced::compute(); });
        REQUIRE(trace.valid());
        CHECK(trace.info.waves_filtered > 0);
        compare(words, wanted, "filtered");
    }
    compare(traced::compute(), wanted, "dormant, after");
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
