/* Events under every kind of divergence: which lane leads, in what order, which end closes which begin. Nothing is lost and
 * nothing is recorded twice.
 *
 * What the machine may choose, the side of a branch that runs first, the checks leave open. Where an exact order is
 * expected behind a branch, the kernel meets in __syncwarp, except in the cases called natural, which rely on what every
 * compiler so far does: lanes meet again right behind the branch. */
#include "check.h"

#include <cooperative_groups.h>
#include <ktrace/device.h>

#include <algorithm>

using test::mark;
using test::pop;
using test::push;
using test::start;
using test::stop;

namespace
{

constexpr uint32_t roomy = 512; /* slots of every ring, where the case is not about capacity */

ktrace_capture_options roomy_rings()
{
    return test::sizes(roomy, roomy);
}

__device__ int lane_index()
{
    return (int)(threadIdx.x & 31);
}

/* Work that the compiler cannot remove or move across events. */
__device__ __forceinline__ void work(int &x)
{
    x = x * 1664525 + 1013904223;
    KTRACE_PIN(x);
}

__host__ __device__ uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

} /* namespace */

/* ---- Branches --------------------------------------------------------------------------------------------------- */

__global__ void if_else_kernel(int *out, int natural)
{
    KTRACE_KERNEL("if else");
    const int lane = lane_index();
    int x = lane;
    KTRACE_MARK("before");
    if (lane < 16) {
        KTRACE_MARK("low", lane);
        work(x);
    } else {
        KTRACE_MARK("high", lane);
        x += 3;
        work(x);
    }
    if (!natural)
        __syncwarp();
    KTRACE_MARK("after");
    out[threadIdx.x] = x;
}

static void check_if_else(int natural)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { if_else_kernel<<<1, 32>>>(out.get(), natural); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    test::check_one_of(test::only_wave(trace),
                       {{mark("before", 0), mark("low", 0, 0), mark("high", 16, 16), mark("after", 0)},
                        {mark("before", 0), mark("high", 16, 16), mark("low", 0, 0), mark("after", 0)}});
}

TEST_CASE(if_else)
{
    check_if_else(0);
}

TEST_CASE(if_else_natural)
{
    check_if_else(1);
}

__global__ void single_lanes_kernel(int *out)
{
    KTRACE_KERNEL("single lanes");
    const int lane = lane_index();
    int x = lane;
    if (lane == 5)
        KTRACE_MARK("five", lane);
    __syncwarp();
    if (lane == 31) {
        KTRACE_RANGE("last");
        work(x);
        KTRACE_MARK("inside", lane);
    }
    __syncwarp();
    if (lane == 0)
        KTRACE_MARK("zero", lane);
    __syncwarp();
    if (lane == 5 || lane == 31)
        KTRACE_MARK("two", lane);
    __syncwarp();
    KTRACE_MARK("all", lane);
    out[threadIdx.x] = x;
}

TEST_CASE(single_lanes)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { single_lanes_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    test::check_sequence(wave, {mark("five", 5, 5), push("last", 31), mark("inside", 31, 31), pop(31),
                                mark("zero", 0, 0), mark("two", 5, 5), mark("all", 0, 0)});
    test::check_pairs(wave, {{1, 3}});
}

/* Lane 0 takes neither branch that records. */
__global__ void not_lane_zero_kernel(int *out)
{
    KTRACE_KERNEL("not lane zero");
    const int lane = lane_index();
    int x = lane;
    if (lane != 0) {
        KTRACE_RANGE_PUSH("outer");
        work(x);
        if (lane > 7) {
            KTRACE_RANGE("inner", lane);
            KTRACE_MARK("deep");
            work(x);
        }
        __syncwarp(0xFFFFFFFEu);
        const ktrace_token token = KTRACE_RANGE_START("token");
        work(x);
        KTRACE_RANGE_STOP(token, 7);
        KTRACE_RANGE_POP();
    }
    out[threadIdx.x] = x;
}

TEST_CASE(not_lane_zero)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { not_lane_zero_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    test::check_sequence(wave, {push("outer", 1), push("inner", 8, 8), mark("deep", 8), pop(8), start("token", 1),
                                stop("token", 1, 7), pop(1)});
    test::check_pairs(wave, {{0, 6}, {1, 3}, {4, 5}});
}

__global__ void switch_kernel(int *out)
{
    KTRACE_KERNEL("switch");
    const int lane = lane_index();
    int x = lane;
    KTRACE_MARK("before");
    switch (lane & 3) {
    case 0: {
        KTRACE_RANGE("way 0", lane);
        work(x);
        break;
    }
    case 1: {
        KTRACE_RANGE("way 1", lane);
        x ^= 5;
        work(x);
        break;
    }
    case 2: {
        KTRACE_RANGE("way 2", lane);
        x -= 9;
        work(x);
        break;
    }
    default: {
        KTRACE_RANGE("way 3", lane);
        x *= 7;
        work(x);
        break;
    }
    }
    __syncwarp();
    switch (lane & 3) {
    case 0: KTRACE_MARK("mark 0", lane); break;
    case 1: KTRACE_MARK("mark 1", lane); break;
    case 2: KTRACE_MARK("mark 2", lane); break;
    default: KTRACE_MARK("mark 3", lane); break;
    }
    __syncwarp();
    KTRACE_MARK("after");
    out[threadIdx.x] = x;
}

TEST_CASE(switch_four_ways)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { switch_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    const test::about about(wave);
    test::check_lane(wave, 0, {mark("before", 0), push("way 0", 0, 0), pop(0), mark("mark 0", 0, 0), mark("after", 0)});
    test::check_lane(wave, 1, {push("way 1", 1, 1), pop(1), mark("mark 1", 1, 1)});
    test::check_lane(wave, 2, {push("way 2", 2, 2), pop(2), mark("mark 2", 2, 2)});
    test::check_lane(wave, 3, {push("way 3", 3, 3), pop(3), mark("mark 3", 3, 3)});
    REQUIRE(wave.events.size() == 14, "%zu events", wave.events.size());
    CHECK(wave.events.front().name == "before" && wave.events.back().name == "after");
    for (const char *name : {"way 0", "way 1", "way 2", "way 3"}) {
        const auto ranges = test::ranges_of(wave, name);
        REQUIRE(ranges.size() == 1, "%zu ranges '%s'", ranges.size(), name);
        CHECK(wave.events[ranges[0].first].lane == wave.events[ranges[0].second].lane, "'%s'", name);
        for (size_t i = 1; i <= 8; i++)
            CHECK(test::is_begin(wave.events[i]) || test::is_end(wave.events[i]));
    }
}

/* ---- Loops ------------------------------------------------------------------------------------------------------ */

namespace
{

constexpr int most_trips = 13;

__host__ __device__ int trips_of(int lane)
{
    return (lane * 5) % (most_trips + 1); /* lane 0: none; lane 31: 1; the most, 13, for lane 11 and 25 */
}

/* The first lane that takes turn `turn`, or -1. */
int leader_of_turn(int turn)
{
    for (int lane = 0; lane < 32; lane++)
        if (trips_of(lane) > turn)
            return lane;
    return -1;
}

} /* namespace */

template <int Unroll>
__global__ void trip_counts_kernel(int *out)
{
    KTRACE_KERNEL("trip counts");
    const int lane = lane_index();
    const int trips = trips_of(lane);
    int x = lane;
    KTRACE_MARK("before");
    if (Unroll == 1) {
#pragma unroll 1
        for (int turn = 0; turn < trips; turn++) {
            KTRACE_MARK("turn", turn);
            work(x);
        }
    } else { /* whatever the compiler makes of it */
        for (int turn = 0; turn < trips; turn++) {
            KTRACE_MARK("turn", turn);
            work(x);
        }
    }
    __syncwarp();
    KTRACE_MARK("after");
    out[threadIdx.x] = x;
}

TEST_CASE(trip_counts)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { trip_counts_kernel<1><<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    std::vector<test::expected> wanted = {mark("before", 0)};
    for (int turn = 0; turn < most_trips; turn++)
        wanted.push_back(mark("turn", leader_of_turn(turn), turn));
    wanted.push_back(mark("after", 0));
    test::check_sequence(test::only_wave(trace), wanted);
}

/* A compiler that unrolls sends lanes with few turns left through another copy of the loop's body than those with many: a
 * turn is then executed by several groups of lanes, each of which records it, and one group may be in different turns: its
 * first lane says which. What holds: no lane leads a turn that it does not take, none leads one twice, and there are as many
 * events as the lane with the most turns has. */
TEST_CASE(trip_counts_natural)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { trip_counts_kernel<0><<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    const test::about about(wave);
    int led[32][most_trips] = {};
    for (const test::event &e : wave.events) {
        if (e.name != "turn")
            continue;
        REQUIRE(e.payload < (uint64_t)most_trips && e.lane < 32);
        led[e.lane][e.payload]++;
    }
    for (int turn = 0; turn < most_trips; turn++) {
        for (int lane = 0; lane < 32; lane++)
            CHECK(led[lane][turn] <= (trips_of(lane) > turn), "lane %d led turn %d %d times", lane, turn,
                  led[lane][turn]);
    }
    CHECK(test::count_of(wave, KTRACE_KIND_MARK, "turn") >= (size_t)most_trips, "%zu turns",
          (size_t)test::count_of(wave, KTRACE_KIND_MARK, "turn"));
    CHECK_EQUAL(test::count_of(wave, KTRACE_KIND_MARK, "before"), 1);
    CHECK_EQUAL(test::count_of(wave, KTRACE_KIND_MARK, "after"), 1);
}

__global__ void trip_ranges_kernel(int *out)
{
    KTRACE_KERNEL("trip ranges");
    const int lane = lane_index();
    const int trips = trips_of(lane);
    int x = lane;
    KTRACE_RANGE("loop");
#pragma unroll 1
    for (int turn = 0; turn < trips; turn++) {
        KTRACE_RANGE("turn", turn);
        work(x);
        KTRACE_MARK("middle", lane);
        work(x);
    }
    __syncwarp();
    out[threadIdx.x] = x;
}

TEST_CASE(trip_ranges)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { trip_ranges_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    std::vector<test::expected> wanted = {push("loop", 0)};
    std::vector<std::pair<uint32_t, uint32_t>> pairs = {{0u, 3u * most_trips + 1}};
    for (int turn = 0; turn < most_trips; turn++) {
        const int leader = leader_of_turn(turn);
        pairs.push_back({(uint32_t)wanted.size(), (uint32_t)wanted.size() + 2});
        wanted.push_back(push("turn", leader, turn));
        wanted.push_back(mark("middle", leader, leader));
        wanted.push_back(pop(leader));
    }
    wanted.push_back(pop(0));
    const test::wave &wave = test::only_wave(trace);
    test::check_sequence(wave, wanted);
    test::check_pairs(wave, pairs);
}

/* Lanes break out of a scoped range at different turns. */
__global__ void break_kernel(int *out)
{
    KTRACE_KERNEL("break");
    const int lane = lane_index();
    int x = lane;
    KTRACE_RANGE_PUSH("loop");
#pragma unroll 1
    for (int turn = 0; turn < 8; turn++) {
        KTRACE_RANGE("turn", turn);
        work(x);
        if (lane == turn)
            break;
        work(x);
    }
    __syncwarp();
    KTRACE_RANGE_POP();
    out[threadIdx.x] = x;
}

/* Ranges of `name`: `count`, with payload and leader both 0, 1, 2 ...; each is closed. */
static void check_led_in_turn(const test::wave &wave, const char *name, int count)
{
    const test::about about(wave);
    const auto ranges = test::ranges_of(wave, name);
    REQUIRE((int)ranges.size() == count, "%zu ranges '%s'", ranges.size(), name);
    for (int i = 0; i < count; i++)
        CHECK(test::matches(wave.events[ranges[i].first], push(name, i, i)), "range %d of '%s'", i, name);
    CHECK_EQUAL(test::count_of(wave, KTRACE_KIND_PUSH, name), count);
}

TEST_CASE(break_out_of_ranges)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { break_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    const test::about about(wave);
    check_led_in_turn(wave, "turn", 8);
    const auto loop = test::ranges_of(wave, "loop");
    REQUIRE(loop.size() == 1, "%zu ranges", loop.size());
    CHECK(loop[0].first == 0 && loop[0].second == wave.events.size() - 1, "the loop's range is %zu to %zu",
          loop[0].first, loop[0].second);
}

/* ---- Leaving early ---------------------------------------------------------------------------------------------- */

template <bool LowLeaves>
__global__ void early_return_kernel(int *out)
{
    KTRACE_KERNEL("early return");
    const int lane = lane_index();
    int x = lane;
    KTRACE_RANGE("outer");
    work(x);
    {
        KTRACE_RANGE("inner", lane);
        work(x);
        if ((lane < 16) == LowLeaves) {
            KTRACE_MARK("leaves", lane);
            out[threadIdx.x] = x;
            return;
        }
        KTRACE_MARK("stays", lane);
        work(x);
    }
    KTRACE_MARK("behind", lane);
    out[threadIdx.x] = x;
}

template <bool LowLeaves>
static void check_early_return()
{
    test::device_array<int> out(32);
    const test::trace trace =
        test::record(roomy_rings(), [&] { early_return_kernel<LowLeaves><<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    const test::about about(wave);
    const int leaver = LowLeaves ? 0 : 16, stayer = LowLeaves ? 16 : 0;
    const size_t leaves = test::only_event(wave, KTRACE_KIND_MARK, "leaves");
    const size_t stays = test::only_event(wave, KTRACE_KIND_MARK, "stays");
    const size_t behind = test::only_event(wave, KTRACE_KIND_MARK, "behind");
    const auto outer = test::ranges_of(wave, "outer"), inner = test::ranges_of(wave, "inner");
    REQUIRE(leaves != SIZE_MAX && stays != SIZE_MAX && behind != SIZE_MAX);
    REQUIRE(outer.size() == 1 && inner.size() == 1, "%zu outer, %zu inner", outer.size(), inner.size());
    CHECK(test::matches(wave.events[0], push("outer", 0)));
    CHECK(test::matches(wave.events[1], push("inner", 0, 0)));
    CHECK(test::matches(wave.events[leaves], mark("leaves", leaver, leaver)));
    CHECK(test::matches(wave.events[stays], mark("stays", stayer, stayer)));
    CHECK(test::matches(wave.events[behind], mark("behind", stayer, stayer)));
    CHECK_EQUAL(outer[0].first, 0);
    CHECK_EQUAL(inner[0].first, 1);
    /* Each range ends when the last of its lanes left it. */
    size_t last_pop = 0, pops = 0;
    for (size_t i = 0; i < wave.events.size(); i++)
        if (wave.events[i].kind == KTRACE_KIND_POP) {
            last_pop = i;
            pops++;
        }
    CHECK(pops >= 2 && pops <= 4, "%zu pops", pops);
    CHECK_EQUAL(outer[0].second, last_pop);
    CHECK(outer[0].second > behind);
    CHECK(inner[0].second > leaves && inner[0].second > stays);
}

TEST_CASE(early_return_high)
{
    check_early_return<false>();
}

TEST_CASE(early_return_low)
{
    check_early_return<true>();
}

/* One lane after the other leaves from inside a loop, through two open ranges. */
__global__ void return_in_loop_kernel(int *out)
{
    KTRACE_KERNEL("return in loop");
    const int lane = lane_index();
    int x = lane;
    KTRACE_RANGE("outer");
#pragma unroll 1
    for (int turn = 0; turn < 8; turn++) {
        KTRACE_RANGE("turn", turn);
        work(x);
        if (lane == turn) {
            out[threadIdx.x] = -x;
            return;
        }
        work(x);
    }
    KTRACE_MARK("behind", lane);
    out[threadIdx.x] = x;
}

TEST_CASE(return_in_loop)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { return_in_loop_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    const test::about about(wave);
    check_led_in_turn(wave, "turn", 8);
    const size_t behind = test::only_event(wave, KTRACE_KIND_MARK, "behind");
    const auto outer = test::ranges_of(wave, "outer");
    REQUIRE(behind != SIZE_MAX && outer.size() == 1, "%zu outer ranges", outer.size());
    CHECK(test::matches(wave.events[behind], mark("behind", 8, 8)));
    CHECK(outer[0].first == 0 && outer[0].second > behind, "outer is %zu to %zu", outer[0].first, outer[0].second);
}

/* ---- Shapes ----------------------------------------------------------------------------------------------------- */

__global__ void shape_kernel(int *out)
{
    KTRACE_KERNEL("shape");
    const int thread = (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
    const int block = (int)(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
    const int threads = (int)(blockDim.x * blockDim.y * blockDim.z);
    int x = thread;
    KTRACE_RANGE("all", block);
    work(x);
    if ((thread & 31) >= 8)
        KTRACE_MARK("upper", thread);
    __syncwarp();
    KTRACE_MARK("wave", thread >> 5);
    out[block * threads + thread] = x;
}

static void check_shape(dim3 grid, dim3 block)
{
    const uint32_t threads = block.x * block.y * block.z, blocks = grid.x * grid.y * grid.z;
    const uint32_t waves = (threads + 31) / 32;
    test::device_array<int> out((size_t)threads * blocks);
    const test::trace trace = test::record(test::sizes(64, 16), [&] { shape_kernel<<<grid, block>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    REQUIRE(trace.launches.size() == 1, "%zu launches", trace.launches.size());
    const ktrace_launch_info &launch = trace.launches[0];
    CHECK(std::string(launch.kernel) == "shape", "'%s'", launch.kernel);
    CHECK(launch.grid[0] == grid.x && launch.grid[1] == grid.y && launch.grid[2] == grid.z);
    CHECK(launch.block[0] == block.x && launch.block[1] == block.y && launch.block[2] == block.z);
    CHECK_EQUAL(launch.waves_launched, (uint64_t)waves * blocks);
    REQUIRE(trace.waves.size() == (size_t)waves * blocks, "%zu waves of %u", trace.waves.size(), waves * blocks);
    std::vector<int> seen((size_t)waves * blocks);
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        const uint32_t *at = wave.info.workgroup;
        REQUIRE(at[0] < grid.x && at[1] < grid.y && at[2] < grid.z && wave.info.wave < waves);
        const uint32_t index = at[0] + grid.x * (at[1] + grid.y * at[2]);
        CHECK_EQUAL(seen[index * waves + wave.info.wave]++, 0);
        const uint32_t first = wave.info.wave * 32, lanes = std::min(32u, threads - first);
        CHECK_EQUAL(wave.info.lane_count, lanes);
        std::vector<test::expected> wanted = {push("all", 0, (int)index)};
        if (lanes > 8)
            wanted.push_back(mark("upper", 8, (int)first + 8));
        wanted.push_back(mark("wave", 0, (int)wave.info.wave));
        wanted.push_back(pop(0));
        test::check_sequence(wave, wanted);
        test::check_pairs(wave, {{0, (uint32_t)wanted.size() - 1}});
    }
}

TEST_CASE(partial_last_wave)
{
    check_shape(dim3(1), dim3(48));
}

TEST_CASE(one_thread)
{
    check_shape(dim3(1), dim3(1));
}

TEST_CASE(largest_block)
{
    check_shape(dim3(2), dim3(1024));
}

TEST_CASE(three_dimensions)
{
    check_shape(dim3(3, 2, 2), dim3(5, 7, 3)); /* 105 threads: the last wave has 9 lanes */
}

/* ---- Device functions ------------------------------------------------------------------------------------------- */

__device__ __forceinline__ int inlined(int x KTRACE_PARAM)
{
    KTRACE_RANGE("inlined", 1);
    work(x);
    if (x == 123456789)
        return 0; /* never: another way out of the range */
    KTRACE_MARK("in inlined");
    return x;
}

__device__ __noinline__ int called(int x, int depth KTRACE_PARAM)
{
    KTRACE_RANGE("called", depth);
    work(x);
    x = inlined(x KTRACE_ARG);
    KTRACE_MARK("in called", depth);
    return x;
}

__device__ __noinline__ int caller(int x KTRACE_PARAM)
{
    KTRACE_RANGE("caller");
    x = called(x, 2 KTRACE_ARG);
    work(x);
    return x;
}

__device__ __noinline__ void alone(KTRACE_PARAM_ONLY)
{
    KTRACE_MARK("alone");
}

__global__ void calls_kernel(int *out)
{
    KTRACE_KERNEL("calls");
    int x = lane_index();
    KTRACE_MARK("first");
    x = called(x, 1 KTRACE_ARG);
    x = caller(x KTRACE_ARG);
    x = inlined(x KTRACE_ARG);
    alone(KTRACE_ARG_ONLY);
    KTRACE_MARK("last");
    out[threadIdx.x] = x;
}

TEST_CASE(calls)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { calls_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    test::check_sequence(wave, {mark("first", 0),
                                push("called", 0, 1),
                                push("inlined", 0, 1),
                                mark("in inlined", 0),
                                pop(0),
                                mark("in called", 0, 1),
                                pop(0),
                                push("caller", 0),
                                push("called", 0, 2),
                                push("inlined", 0, 1),
                                mark("in inlined", 0),
                                pop(0),
                                mark("in called", 0, 2),
                                pop(0),
                                pop(0),
                                push("inlined", 0, 1),
                                mark("in inlined", 0),
                                pop(0),
                                mark("alone", 0),
                                mark("last", 0)});
    test::check_pairs(wave, {{1, 6}, {2, 4}, {7, 14}, {8, 13}, {9, 11}, {15, 17}});
}

/* The same function from both sides of a branch: the same sites, led by two lanes. */
__global__ void divergent_calls_kernel(int *out)
{
    KTRACE_KERNEL("divergent calls");
    const int lane = lane_index();
    int x = lane;
    if (lane & 1) {
        KTRACE_MARK("odd");
        x = called(x, 1 KTRACE_ARG);
        KTRACE_MARK("odd done");
    } else {
        KTRACE_MARK("even");
        x = called(x + 1, 2 KTRACE_ARG);
        KTRACE_MARK("even done");
    }
    __syncwarp();
    KTRACE_MARK("after");
    out[threadIdx.x] = x;
}

TEST_CASE(divergent_calls)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { divergent_calls_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    const test::about about(wave);
    test::check_lane(wave, 0,
                     {mark("even", 0), push("called", 0, 2), push("inlined", 0, 1), mark("in inlined", 0), pop(0),
                      mark("in called", 0, 2), pop(0), mark("even done", 0), mark("after", 0)});
    test::check_lane(wave, 1,
                     {mark("odd", 1), push("called", 1, 1), push("inlined", 1, 1), mark("in inlined", 1), pop(1),
                      mark("in called", 1, 1), pop(1), mark("odd done", 1)});
    CHECK_EQUAL(wave.events.size(), 17);
    for (const char *name : {"called", "inlined"}) {
        const auto ranges = test::ranges_of(wave, name);
        CHECK_EQUAL(ranges.size(), 2);
        for (const auto &range : ranges)
            CHECK(wave.events[range.first].lane == wave.events[range.second].lane, "'%s' at %zu", name, range.first);
    }
}

/* ---- Pushes and pops on different sides of a branch ------------------------------------------------------------- */

__global__ void both_pop_kernel(int *out, int depth)
{
    KTRACE_KERNEL("both pop");
    const int lane = lane_index();
    int x = lane;
    if (depth == 2)
        KTRACE_RANGE_PUSH("outer");
    KTRACE_RANGE_PUSH("inner");
    work(x);
    if (lane < 16) {
        KTRACE_MARK("low");
        work(x);
        KTRACE_RANGE_POP();
        KTRACE_MARK("low behind");
    } else {
        KTRACE_MARK("high");
        x ^= 77;
        work(x);
        KTRACE_RANGE_POP();
        KTRACE_MARK("high behind");
    }
    __syncwarp();
    KTRACE_MARK("after");
    if (depth == 2)
        KTRACE_RANGE_POP();
    out[threadIdx.x] = x;
}

static void check_both_pop(int depth)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { both_pop_kernel<<<1, 32>>>(out.get(), depth); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    const test::about about(wave);
    for (const char *name : {"low", "high", "low behind", "high behind", "after"})
        test::only_event(wave, KTRACE_KIND_MARK, name);
    CHECK_EQUAL(wave.events.size(), depth == 2 ? 10 : 8);
    const auto inner = test::ranges_of(wave, "inner");
    REQUIRE(inner.size() == 1, "%zu ranges", inner.size());
    /* The range is over when the later of the two sides popped it. Which goes first is the compiler's choice: where it is
     * lane 0's and a range around is still open, the record reads as if the others left that one (the limit of rule (c) in
     * src/pair.c). */
    const size_t after = test::only_event(wave, KTRACE_KIND_MARK, "after");
    std::vector<size_t> pops;
    for (size_t i = 0; i < wave.events.size() && i < after; i++)
        if (wave.events[i].kind == KTRACE_KIND_POP)
            pops.push_back(i);
    REQUIRE(pops.size() == 2, "%zu pops", pops.size());
    CHECK_EQUAL(inner[0].first, depth - 1);
    CHECK_EQUAL(inner[0].second, depth == 2 && wave.events[pops[0]].lane == 0 ? pops[0] : pops[1]);
    if (depth == 2) {
        const auto outer = test::ranges_of(wave, "outer");
        REQUIRE(outer.size() == 1, "%zu ranges", outer.size());
        CHECK_EQUAL(outer[0].first, 0);
        CHECK_EQUAL(outer[0].second, wave.events.size() - 1);
    }
}

TEST_CASE(both_sides_pop)
{
    check_both_pop(1);
}

TEST_CASE(both_sides_pop_inner)
{
    check_both_pop(2);
}

template <bool LowPops>
__global__ void one_pops_kernel(int *out)
{
    KTRACE_KERNEL("one pops");
    const int lane = lane_index();
    int x = lane;
    KTRACE_RANGE_PUSH("range");
    work(x);
    if ((lane < 16) == LowPops) {
        KTRACE_MARK("pops");
        work(x);
        KTRACE_RANGE_POP();
    } else {
        KTRACE_MARK("does not");
        x ^= 77;
        work(x);
    }
    __syncwarp();
    KTRACE_MARK("after");
    out[threadIdx.x] = x;
}

template <bool LowPops>
static void check_one_pops()
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { one_pops_kernel<LowPops><<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    const test::about about(wave);
    CHECK_EQUAL(wave.events.size(), 5);
    const auto ranges = test::ranges_of(wave, "range");
    REQUIRE(ranges.size() == 1, "%zu ranges", ranges.size());
    CHECK_EQUAL(ranges[0].first, 0);
    CHECK_EQUAL(wave.events[ranges[0].second].lane, LowPops ? 0 : 16);
}

TEST_CASE(lane_zeros_side_pops)
{
    check_one_pops<true>();
}

TEST_CASE(other_side_pops)
{
    check_one_pops<false>();
}

/* Ends without a begin are counted and close nothing. */
__global__ void dangling_kernel(int *out)
{
    KTRACE_KERNEL("dangling");
    int x = lane_index();
    KTRACE_RANGE_POP();
    KTRACE_MARK("between");
    KTRACE_RANGE_PUSH("whole");
    work(x);
    KTRACE_RANGE_POP();
    KTRACE_RANGE_POP();
    KTRACE_RANGE_PUSH("open");
    const ktrace_token token = KTRACE_RANGE_START("open token");
    work(x);
    KTRACE_MARK("last");
    out[threadIdx.x] = x + (int)(token & 0);
}

TEST_CASE(dangling)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { dangling_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_consistent(trace);
    const test::wave &wave = test::only_wave(trace);
    test::check_sequence(wave, {pop(0), mark("between", 0), push("whole", 0), pop(0), pop(0), push("open", 0),
                                start("open token", 0), mark("last", 0)});
    test::check_pairs(wave, {{2, 3}});
    CHECK_EQUAL(trace.info.ends_unmatched, 2);
    CHECK_EQUAL(trace.info.ranges_unclosed, 2);
    CHECK_EQUAL(trace.info.slots_corrupt, 0);
    CHECK_EQUAL(trace.info.slots_lost, 0);
}

/* ---- Tokens ----------------------------------------------------------------------------------------------------- */

__global__ void overlapping_tokens_kernel(int *out)
{
    KTRACE_KERNEL("overlapping tokens");
    int x = lane_index();
    const ktrace_token a = KTRACE_RANGE_START("a");
    work(x);
    const ktrace_token b = KTRACE_RANGE_START("b", 11);
    KTRACE_RANGE_PUSH("stack");
    work(x);
    KTRACE_RANGE_STOP(a, 12);
    work(x);
    KTRACE_RANGE_POP();
    KTRACE_RANGE_STOP(b);
    out[threadIdx.x] = x;
}

TEST_CASE(overlapping_tokens)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { overlapping_tokens_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    test::check_sequence(wave,
                         {start("a", 0), start("b", 0, 11), push("stack", 0), stop("a", 0, 12), pop(0), stop("b", 0)});
    test::check_pairs(wave, {{0, 3}, {1, 5}, {2, 4}});
}

__global__ void token_both_stop_kernel(int *out)
{
    KTRACE_KERNEL("token both stop");
    const int lane = lane_index();
    int x = lane;
    const ktrace_token token = KTRACE_RANGE_START("token");
    work(x);
    if (lane < 16) {
        KTRACE_MARK("low");
        work(x);
        KTRACE_RANGE_STOP(token);
        KTRACE_MARK("low behind");
    } else {
        KTRACE_MARK("high");
        x ^= 77;
        work(x);
        KTRACE_RANGE_STOP(token);
        KTRACE_MARK("high behind");
    }
    __syncwarp();
    KTRACE_MARK("after");
    out[threadIdx.x] = x;
}

TEST_CASE(token_started_together_stopped_apart)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { token_both_stop_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    const test::about about(wave);
    CHECK_EQUAL(wave.events.size(), 8);
    const auto ranges = test::ranges_of(wave, "token");
    REQUIRE(ranges.size() == 1, "%zu ranges", ranges.size());
    CHECK_EQUAL(ranges[0].first, 0);
    size_t last_stop = 0;
    for (size_t i = 0; i < wave.events.size(); i++)
        if (wave.events[i].kind == KTRACE_KIND_STOP)
            last_stop = i;
    CHECK_EQUAL(ranges[0].second, last_stop);
}

/* Only the side without lane 0 stops the token. */
__global__ void token_one_stops_kernel(int *out)
{
    KTRACE_KERNEL("token one stops");
    const int lane = lane_index();
    int x = lane;
    const ktrace_token token = KTRACE_RANGE_START("token");
    work(x);
    if (lane >= 9)
        KTRACE_RANGE_STOP(token, lane);
    __syncwarp();
    KTRACE_MARK("after");
    out[threadIdx.x] = x;
}

TEST_CASE(token_stopped_without_lane_zero)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { token_one_stops_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    test::check_sequence(wave, {start("token", 0), stop("token", 9, 9), mark("after", 0)});
    test::check_pairs(wave, {{0, 1}});
}

/* Both sides start; one stop, reached together, closes one of the two: a wave has one stop, and its event says which token
 * its first lane holds and which lanes hold any. */
__global__ void token_both_start_kernel(int *out)
{
    KTRACE_KERNEL("token both start");
    const int lane = lane_index();
    int x = lane;
    ktrace_token token;
    if (lane < 16) {
        token = KTRACE_RANGE_START("low");
        work(x);
    } else {
        token = KTRACE_RANGE_START("high");
        x ^= 77;
        work(x);
    }
    __syncwarp();
    KTRACE_RANGE_STOP(token);
    KTRACE_MARK("after");
    out[threadIdx.x] = x;
}

TEST_CASE(token_started_apart_stopped_together)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { token_both_start_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_consistent(trace);
    const test::wave &wave = test::only_wave(trace);
    const test::about about(wave);
    REQUIRE(wave.events.size() == 4, "%zu events", wave.events.size());
    CHECK(wave.events[0].kind == KTRACE_KIND_START && wave.events[1].kind == KTRACE_KIND_START);
    CHECK(wave.events[2].kind == KTRACE_KIND_STOP && wave.events[2].lane == 0);
    CHECK(wave.events[2].partner <= 1, "the stop closes %u", wave.events[2].partner);
    std::printf("  the stop closes the %s start\n", wave.events[2].partner == 1 ? "later" : "earlier");
    CHECK_EQUAL(trace.info.ranges_unclosed, 1);
    CHECK_EQUAL(trace.info.ends_unmatched, 0);
}

/* The reference's loop: stop the last turn's range, start this turn's. Lanes leave at different turns, lane 0 before the
 * first; the stop behind the loop closes the latest. */
template <int First>
__global__ void token_loop_kernel(int *out)
{
    KTRACE_KERNEL("token loop");
    const int lane = lane_index();
    const int trips = First + trips_of(lane);
    int x = lane;
    ktrace_token token = KTRACE_INACTIVE_TOKEN("turn");
#pragma unroll 1
    for (int turn = 0; turn < trips; turn++) {
        KTRACE_RANGE_STOP(token);
        token = KTRACE_RANGE_START("turn", turn);
        work(x);
    }
    __syncwarp();
    KTRACE_MARK("behind");
    KTRACE_RANGE_STOP(token, 99);
    out[threadIdx.x] = x;
}

template <int First>
static void check_token_loop()
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { token_loop_kernel<First><<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    std::vector<test::expected> wanted;
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (int turn = 0; turn < most_trips + First; turn++) {
        const int leader = turn < First ? 0 : leader_of_turn(turn - First);
        if (turn > 0)
            wanted.push_back(stop("turn", leader));
        pairs.push_back({(uint32_t)wanted.size(), (uint32_t)wanted.size() + 1});
        wanted.push_back(start("turn", leader, turn));
    }
    pairs.back().second++; /* the mark lies between */
    wanted.push_back(mark("behind", 0));
    wanted.push_back(stop("turn", First > 0 ? 0 : 1, 99)); /* the first lane that holds a token */
    const test::wave &wave = test::only_wave(trace);
    test::check_sequence(wave, wanted);
    test::check_pairs(wave, pairs);
}

TEST_CASE(token_loop)
{
    check_token_loop<1>();
}

TEST_CASE(token_loop_without_lane_zero)
{
    check_token_loop<0>();
}

__global__ void inactive_kernel(int *out)
{
    KTRACE_KERNEL("inactive");
    const int lane = lane_index();
    int x = lane;
    ktrace_token token = KTRACE_INACTIVE_TOKEN("some");
    KTRACE_RANGE_STOP(token);
    KTRACE_RANGE_STOP(token, lane);
    KTRACE_MARK("before");
    if (lane >= 20)
        token = KTRACE_RANGE_START("some", lane);
    __syncwarp();
    work(x);
    KTRACE_RANGE_STOP(token, lane); /* lane 20 is the first that holds one */
    token = KTRACE_INACTIVE_TOKEN("some");
    KTRACE_RANGE_STOP(token);
    KTRACE_MARK("after");
    out[threadIdx.x] = x;
}

TEST_CASE(inactive_tokens)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { inactive_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    test::check_sequence(wave, {mark("before", 0), start("some", 20, 20), stop("some", 20, 20), mark("after", 0)});
    test::check_pairs(wave, {{1, 2}});
}

/* The same for every lane: n is 1, then 0. */
__global__ void select_kernel(int *out, int n)
{
    KTRACE_KERNEL("select");
    int x = lane_index();
    const ktrace_token a = KTRACE_RANGE_START("a");
    work(x);
    const ktrace_token b = KTRACE_RANGE_START("b");
    work(x);
    const ktrace_token first = n > 0 ? a : b, second = n > 0 ? b : a;
    KTRACE_RANGE_STOP(first);
    work(x);
    KTRACE_RANGE_STOP(second);
    const ktrace_token none = n > 5 ? a : KTRACE_INACTIVE_TOKEN("a");
    KTRACE_RANGE_STOP(none);
    out[threadIdx.x] = x;
}

TEST_CASE(select_between_tokens)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] {
        select_kernel<<<1, 32>>>(out.get(), 1);
        select_kernel<<<1, 32>>>(out.get(), 0);
    });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    REQUIRE(trace.waves.size() == 2, "%zu waves", trace.waves.size());
    test::check_sequence(trace.waves[0], {start("a", 0), start("b", 0), stop("a", 0), stop("b", 0)});
    test::check_pairs(trace.waves[0], {{0, 2}, {1, 3}});
    test::check_sequence(trace.waves[1], {start("a", 0), start("b", 0), stop("b", 0), stop("a", 0)});
    test::check_pairs(trace.waves[1], {{0, 3}, {1, 2}});
}

/* Another token in each half of the wave. */
__global__ void select_by_lane_kernel(int *out)
{
    KTRACE_KERNEL("select by lane");
    const int lane = lane_index();
    int x = lane;
    const ktrace_token a = KTRACE_RANGE_START("a");
    work(x);
    const ktrace_token b = KTRACE_RANGE_START("b");
    work(x);
    const ktrace_token mine = lane < 16 ? a : b;
    if (lane < 16) {
        KTRACE_MARK("low");
        KTRACE_RANGE_STOP(mine);
        KTRACE_MARK("low behind");
    } else {
        KTRACE_MARK("high");
        KTRACE_RANGE_STOP(mine);
        KTRACE_MARK("high behind");
    }
    __syncwarp();
    out[threadIdx.x] = x;
}

TEST_CASE(select_by_lane)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { select_by_lane_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    test::check_lane(wave, 0, {start("a", 0), start("b", 0), mark("low", 0), stop("a", 0), mark("low behind", 0)});
    test::check_lane(wave, 16, {mark("high", 16), stop("b", 16), mark("high behind", 16)});
    CHECK_EQUAL(wave.events.size(), 8);
}

/* ---- Warp-level code in between --------------------------------------------------------------------------------- */

__global__ void shuffle_kernel(int *out)
{
    KTRACE_KERNEL("shuffle");
    const int lane = lane_index();
    int sum = lane + 1;
    KTRACE_RANGE_PUSH("reduce");
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
        KTRACE_MARK("step", step);
    }
    KTRACE_RANGE_POP();
    const unsigned odd = __ballot_sync(0xFFFFFFFFu, lane & 1);
    if (lane & 1) {
        KTRACE_RANGE("odd lanes");
        sum += __shfl_down_sync(odd, lane, 2, 32) >= 0;
        __syncwarp(odd);
        KTRACE_MARK("odd synced", lane);
    }
    __syncwarp();
    KTRACE_MARK("vote", (int)__popc(odd));
    out[threadIdx.x] = sum;
}

TEST_CASE(shuffles)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { shuffle_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    test::check_sequence(wave, {push("reduce", 0), mark("step", 0, 16), mark("step", 0, 8), mark("step", 0, 4),
                                mark("step", 0, 2), mark("step", 0, 1), pop(0), push("odd lanes", 1),
                                mark("odd synced", 1, 1), pop(1), mark("vote", 0, 16)});
    test::check_pairs(wave, {{0, 6}, {7, 9}});
    const std::vector<int> values = out.host();
    for (int lane = 0; lane < 32; lane++)
        CHECK_EQUAL(values[lane], 528 + (lane & 1));
}

__global__ void groups_kernel(int *out)
{
    KTRACE_KERNEL("groups");
    namespace cg = cooperative_groups;
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const int lane = lane_index();
    int x = lane;
    /* One instruction for the leaders of all four tiles: one event. */
    if (tile.thread_rank() == 0)
        KTRACE_MARK("tile leaders", (int)tile.meta_group_rank());
    __syncwarp();
#pragma unroll 1
    for (int which = 0; which < 4; which++) {
        if ((int)tile.meta_group_rank() == which) {
            KTRACE_RANGE("tile", which);
            x = tile.shfl_xor(x, 1);
            work(x);
            tile.sync();
        }
        __syncwarp();
    }
    if (lane % 3 == 1) {
        const auto some = cg::coalesced_threads();
        if (some.thread_rank() == 2)
            KTRACE_MARK("third of some", (int)some.size());
    }
    __syncwarp();
    KTRACE_MARK("after");
    out[threadIdx.x] = x;
}

TEST_CASE(cooperative_groups_in_a_wave)
{
    test::device_array<int> out(32);
    const test::trace trace = test::record(roomy_rings(), [&] { groups_kernel<<<1, 32>>>(out.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    /* lanes 1, 4, 7, ... 31: eleven of them; the third is 7 */
    test::check_sequence(wave, {mark("tile leaders", 0, 0), push("tile", 0, 0), pop(0), push("tile", 8, 1), pop(8),
                                push("tile", 16, 2), pop(16), push("tile", 24, 3), pop(24),
                                mark("third of some", 7, 11), mark("after", 0)});
    test::check_pairs(wave, {{1, 2}, {3, 4}, {5, 6}, {7, 8}});
}

/* ---- Many waves, every lane its own way ------------------------------------------------------------------------- */

namespace
{

__host__ __device__ uint32_t way_of(uint32_t block, uint32_t thread, uint32_t turn)
{
    return mix(block * 7919u + thread * 131u + turn * 104729u) >> 7 & 3u;
}

__device__ __noinline__ int way_three(int x, int turn KTRACE_PARAM)
{
    KTRACE_RANGE("way 3", turn);
    work(x);
    return x;
}

} /* namespace */

__global__ void hashed_ways_kernel(int *out, int turns)
{
    KTRACE_KERNEL("hashed ways");
    const uint32_t thread = threadIdx.x, block = blockIdx.x;
    int x = (int)thread;
#pragma unroll 1
    for (int turn = 0; turn < turns; turn++) {
        switch (way_of(block, thread, (uint32_t)turn)) {
        case 0: {
            KTRACE_MARK("way 0", turn);
            work(x);
            break;
        }
        case 1: {
            KTRACE_RANGE("way 1", turn);
            work(x);
            KTRACE_MARK("in way 1");
            work(x);
            break;
        }
        case 2: {
            const ktrace_token token = KTRACE_RANGE_START("way 2", turn);
            x ^= 3;
            work(x);
            KTRACE_RANGE_STOP(token);
            break;
        }
        default:
            if (turn & 1)
                x = way_three(x, turn KTRACE_ARG);
            break;
        }
        __syncwarp();
    }
    out[block * blockDim.x + thread] = x;
}

TEST_CASE(hashed_ways)
{
    const int turns = 40;
    const uint32_t blocks = test::quick() ? 4 : 48, threads = 112; /* the last wave has 16 lanes */
    test::device_array<int> out((size_t)blocks * threads);
    const test::trace trace =
        test::record(test::sizes(256, 256), [&] { hashed_ways_kernel<<<blocks, threads>>>(out.get(), turns); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    REQUIRE(trace.waves.size() == blocks * 4, "%zu waves", trace.waves.size());
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        const uint32_t first = wave.info.wave * 32, lanes = std::min(32u, threads - first);
        std::vector<std::vector<test::expected>> wanted(32);
        size_t total = 0;
        for (int turn = 0; turn < turns; turn++)
            for (uint32_t way = 0; way < 4; way++) {
                int leader = -1;
                for (uint32_t lane = 0; lane < lanes && leader < 0; lane++)
                    if (way_of(wave.info.workgroup[0], first + lane, (uint32_t)turn) == way)
                        leader = (int)lane;
                if (leader < 0)
                    continue;
                std::vector<test::expected> &events = wanted[leader];
                const size_t before = events.size();
                if (way == 0) {
                    events.push_back(mark("way 0", leader, turn));
                } else if (way == 1) {
                    events.push_back(push("way 1", leader, turn));
                    events.push_back(mark("in way 1", leader));
                    events.push_back(pop(leader));
                } else if (way == 2) {
                    events.push_back(start("way 2", leader, turn));
                    events.push_back(stop("way 2", leader));
                } else if (turn & 1) {
                    events.push_back(push("way 3", leader, turn));
                    events.push_back(pop(leader));
                }
                total += events.size() - before;
            }
        CHECK_EQUAL(wave.events.size(), total);
        for (uint32_t lane = 0; lane < 32; lane++)
            test::check_lane(wave, lane, wanted[lane]);
        for (size_t i = 0; i < wave.events.size(); i++) {
            const test::event &e = wave.events[i];
            if (!test::is_begin(e))
                continue;
            CHECK(e.partner != KTRACE_NO_INDEX && wave.events[e.partner].lane == e.lane, "range at %zu", i);
        }
    }
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
