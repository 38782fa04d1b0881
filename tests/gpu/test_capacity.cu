/* What fits and what does not: rings, regions, filters, and reading again and again. An overflow is an error that names the
 * options under which everything would have fitted; what it names is tried. */
#include "check.h"

#include <ktrace/device.h>

#include <algorithm>
#include <thread>

using test::mark;

/* ---- Kernels ---------------------------------------------------------------------------------------------------- */

__global__ void plain_marks(int count)
{
    KTRACE_KERNEL("plain marks");
#pragma unroll 1
    for (int i = 0; i < count; i++)
        KTRACE_MARK("plain");
}

/* `before` marks without a payload, then `count` with one, then `behind` without. */
__global__ void payload_marks(int before, int count, int behind)
{
    KTRACE_KERNEL("payload marks");
#pragma unroll 1
    for (int i = 0; i < before; i++)
        KTRACE_MARK("before");
#pragma unroll 1
    for (int i = 0; i < count; i++)
        KTRACE_MARK("payload", i);
#pragma unroll 1
    for (int i = 0; i < behind; i++)
        KTRACE_MARK("behind");
}

__global__ void lane_marks(int lane, int count)
{
    KTRACE_KERNEL("lane marks");
    if ((int)(threadIdx.x & 31) == lane) {
#pragma unroll 1
        for (int i = 0; i < count; i++)
            KTRACE_MARK("lane", i);
    }
    __syncwarp();
    KTRACE_MARK("done");
}

__global__ void one_mark(int number)
{
    KTRACE_KERNEL("one mark");
    KTRACE_MARK("workgroup", (int)blockIdx.x);
    KTRACE_MARK("number", number);
}

__global__ void ranges_and_tokens(int count)
{
    KTRACE_KERNEL("ranges and tokens");
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        KTRACE_RANGE("turn", i);
        const ktrace_token token = KTRACE_RANGE_START("token");
        KTRACE_RANGE_STOP(token, i);
    }
}

/* Where every workgroup ran, told by the kernel itself. */
__global__ void places(uint32_t *sm_of_block)
{
    KTRACE_KERNEL("places");
    KTRACE_RANGE("all");
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0)
        sm_of_block[blockIdx.x] = sm;
}

/* ---- Overflow and what its sentence says ------------------------------------------------------------------------ */

namespace
{

/* The number behind "<option> >= " in an overflow's sentence; 0: not named. */
uint64_t named(const std::string &message, const char *option)
{
    const std::string key = std::string(option) + " >= ";
    const size_t at = message.find(key);
    return at == std::string::npos ? 0 : std::strtoull(message.c_str() + at + key.size(), nullptr, 10);
}

/* Follow the sentence. False when it names nothing larger than what was used. */
bool follow(ktrace_capture_options &options, const std::string &message)
{
    const uint64_t wave = named(message, "events_per_wave"), lane = named(message, "events_per_lane");
    const uint64_t bytes = named(message, "buffer_bytes");
    bool larger = false;
    if (wave > options.events_per_wave) {
        options.events_per_wave = (uint32_t)wave;
        larger = true;
    }
    if (lane > options.events_per_lane) {
        options.events_per_lane = (uint32_t)lane;
        larger = true;
    }
    if (bytes > options.buffer_bytes) {
        options.buffer_bytes = bytes;
        larger = true;
    }
    return larger;
}

/* Launches under `options`, which must overflow, then under what the sentence names, which must hold everything. Not valid()
 * after a failure. `options` are those that worked. */
template <class Launch>
test::trace after_overflow(ktrace_capture_options &options, Launch launch, bool save = true)
{
    test::trace trace;
    std::string message;
    {
        test::capture capture;
        if (capture.begin(options) < 0)
            return trace;
        launch();
        CHECK_CUDA(cudaGetLastError());
        const int status = capture.try_read(trace, message, false);
        CHECK(status == KTRACE_ERROR_OVERFLOW, "%s '%s'", ktrace_status_name(status), message.c_str());
        CHECK(!trace.valid(), "a trace came with the error");
        if (status != KTRACE_ERROR_OVERFLOW)
            return test::trace();
        std::printf("  said: %s\n", message.c_str());
    }
    CHECK(message.find_first_of("0123456789") != std::string::npos, "no number in '%s'", message.c_str());
    const bool followed = follow(options, message);
    CHECK(followed, "it names nothing larger than what was used");
    if (!followed)
        return trace;
    test::capture capture;
    if (capture.begin(options) < 0)
        return trace;
    launch();
    CHECK_CUDA(cudaGetLastError());
    const int status = capture.try_read(trace, message, save);
    CHECK(status == 0, "with events_per_wave %u, events_per_lane %u, buffer_bytes %llu: %s", options.events_per_wave,
          options.events_per_lane, (unsigned long long)options.buffer_bytes, message.c_str());
    return trace;
}

constexpr int ring = 64;

void check_payload_marks(const test::wave &wave, int before, int count, int behind)
{
    std::vector<test::expected> wanted;
    for (int i = 0; i < before; i++)
        wanted.push_back(mark("before", 0));
    for (int i = 0; i < count; i++)
        wanted.push_back(mark("payload", 0, i));
    for (int i = 0; i < behind; i++)
        wanted.push_back(mark("behind", 0));
    test::check_sequence(wave, wanted);
}

} /* namespace */

TEST_CASE(ring_just_fits)
{
    for (const int count : {0, 1, ring - 1, ring}) {
        const test::trace trace = test::record(test::sizes(ring, 16), [&] { plain_marks<<<1, 32>>>(count); });
        REQUIRE(trace.valid());
        test::check_consistent(trace);
        CHECK_EQUAL(trace.info.slots_lost, 0);
        const std::vector<test::expected> wanted(count, mark("plain", 0));
        test::check_sequence(test::only_wave(trace), wanted);
    }
    for (const int count : {ring / 2 - 1, ring / 2}) {
        const test::trace trace = test::record(test::sizes(ring, 16), [&] { payload_marks<<<1, 32>>>(0, count, 0); });
        REQUIRE(trace.valid());
        test::check_clean(trace);
        check_payload_marks(test::only_wave(trace), 0, count, 0);
    }
    const test::trace trace =
        test::record(test::sizes(ring, 16), [&] { payload_marks<<<1, 32>>>(1, ring / 2 - 1, 1); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    check_payload_marks(test::only_wave(trace), 1, ring / 2 - 1, 1);
}

TEST_CASE(ring_overflows)
{
    for (const int count : {ring + 1, 2 * ring, 10 * ring}) {
        ktrace_capture_options options = test::sizes(ring, 16);
        const test::trace trace = after_overflow(options, [&] { plain_marks<<<1, 32>>>(count); });
        REQUIRE(trace.valid());
        test::check_clean(trace);
        test::check_sequence(test::only_wave(trace), std::vector<test::expected>(count, mark("plain", 0)));
        CHECK(options.events_per_wave >= (uint32_t)count && options.events_per_wave <= 2u * (uint32_t)count,
              "%u for %d events", options.events_per_wave, count);
    }
}

TEST_CASE(ring_overflows_with_payloads)
{
    for (const int count : {ring / 2 + 1, ring, 5 * ring}) {
        ktrace_capture_options options = test::sizes(ring, 16);
        const test::trace trace = after_overflow(options, [&] { payload_marks<<<1, 32>>>(0, count, 1); });
        REQUIRE(trace.valid());
        test::check_clean(trace);
        check_payload_marks(test::only_wave(trace), 0, count, 1);
    }
    ktrace_capture_options options = test::sizes(ring, 16);
    const test::trace trace = after_overflow(options, [] { ranges_and_tokens<<<2, 64>>>(20); }); /* 7 slots a turn */
    REQUIRE(trace.valid());
    test::check_clean(trace);
    CHECK_EQUAL(trace.waves.size(), 4);
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        CHECK_EQUAL(wave.events.size(), 80);
        CHECK_EQUAL(test::ranges_of(wave, "turn").size(), 20);
        CHECK_EQUAL(test::ranges_of(wave, "token").size(), 20);
    }
}

TEST_CASE(lane_ring)
{
    const auto check = [](const test::trace &trace, int lane, int count) {
        test::check_clean(trace);
        std::vector<test::expected> wanted;
        for (int i = 0; i < count; i++)
            wanted.push_back(mark("lane", lane, i));
        wanted.push_back(mark("done", 0));
        test::check_sequence(test::only_wave(trace), wanted);
    };
    for (const int lane : {1, 17, 31}) {
        const test::trace trace = test::record(test::sizes(ring, 16), [&] { lane_marks<<<1, 32>>>(lane, 8); });
        REQUIRE(trace.valid());
        check(trace, lane, 8);
    }
    for (const int count : {9, 16, 80}) {
        ktrace_capture_options options = test::sizes(ring, 16);
        const test::trace trace = after_overflow(options, [&] { lane_marks<<<1, 32>>>(31, count); });
        REQUIRE(trace.valid());
        check(trace, 31, count);
        CHECK_EQUAL(options.events_per_wave, ring); /* that was large enough */
    }
}

/* Rings of both kinds and regions run out in the same capture: one sentence tells all. */
TEST_CASE(everything_overflows)
{
    ktrace_capture_options options = test::sizes(8, 2, 256 * 1024);
    const auto launch = [] {
        lane_marks<<<10, 32>>>(7, 5); /* of these a region is left, so that what they need is known */
        payload_marks<<<1000, 32>>>(3, 20, 2);
        lane_marks<<<990, 32>>>(7, 5);
    };
    const test::trace trace = after_overflow(options, launch);
    REQUIRE(trace.valid());
    test::check_clean(trace);
    CHECK_EQUAL(trace.waves.size(), 2000);
    CHECK_EQUAL(trace.info.events, 1000 * 25 + 1000 * 6);
}

/* After an overflow the same capture is as new. */
TEST_CASE(read_after_overflow)
{
    test::capture capture;
    REQUIRE(capture.begin(test::sizes(ring, 16, 256 * 1024)) == 0);
    test::trace trace;
    std::string message;
    for (int round = 0; round < 3; round++) {
        if (round == 0)
            plain_marks<<<1, 32>>>(10 * ring);
        if (round == 1)
            one_mark<<<2000, 32>>>(round); /* no room for so many */
        if (round == 2)
            lane_marks<<<1, 32>>>(9, 100);
        const int status = capture.try_read(trace, message);
        CHECK(status == KTRACE_ERROR_OVERFLOW, "round %d: %s", round, ktrace_status_name(status));
        one_mark<<<3, 32>>>(round);
        REQUIRE(capture.read(trace) == 0, "round %d", round);
        test::check_clean(trace);
        REQUIRE(trace.waves.size() == 3, "round %d: %zu waves", round, trace.waves.size());
        for (const test::wave &wave : trace.waves)
            test::check_sequence(wave, {mark("workgroup", 0, (int)wave.info.workgroup[0]), mark("number", 0, round)});
    }
    plain_marks<<<1, 32>>>(10 * ring);
    REQUIRE(capture.clear() == 0);
    one_mark<<<1, 32>>>(7);
    REQUIRE(capture.end(trace) == 0);
    test::check_clean(trace);
    CHECK_EQUAL(trace.waves.size(), 1);
}

/* ---- Flight recorder -------------------------------------------------------------------------------------------- */

static ktrace_capture_options keeping_last()
{
    ktrace_capture_options options = test::sizes(ring, 16);
    options.keep_last = 1;
    return options;
}

TEST_CASE(keep_last_plain)
{
    for (const int count : {ring, ring + 1, 10 * ring}) {
        const test::trace trace = test::record(keeping_last(), [&] { plain_marks<<<1, 32>>>(count); });
        REQUIRE(trace.valid());
        test::check_consistent(trace);
        CHECK_EQUAL(trace.info.slots_corrupt, 0);
        CHECK_EQUAL(trace.info.slots_lost, count - ring);
        const test::wave &wave = test::only_wave(trace);
        test::check_sequence(wave, std::vector<test::expected>(ring, mark("plain", 0)));
    }
}

TEST_CASE(keep_last_payloads)
{
    const int count = 10 * ring;
    /* The oldest kept slot is an event (behind == 0) or the payload of one that is gone (behind == 1). */
    for (const int behind : {0, 1}) {
        const test::trace trace = test::record(keeping_last(), [&] { payload_marks<<<2, 64>>>(0, count, behind); });
        REQUIRE(trace.valid());
        test::check_consistent(trace);
        CHECK_EQUAL(trace.info.slots_corrupt, 0);
        CHECK_EQUAL(trace.waves.size(), 4);
        for (const test::wave &wave : trace.waves) {
            const test::about about(wave);
            const int kept = behind ? ring / 2 - 1 : ring / 2;
            std::vector<test::expected> wanted;
            for (int i = count - kept; i < count; i++)
                wanted.push_back(mark("payload", 0, i));
            if (behind)
                wanted.push_back(mark("behind", 0));
            test::check_sequence(wave, wanted);
            CHECK(wave.info.slots_lost >= 2u * (unsigned)(count - kept) - 1 && wave.info.slots_lost <= 2u * count,
                  "%llu slots lost", (unsigned long long)wave.info.slots_lost);
        }
    }
}

/* Ends whose begins are gone, and lanes' rings that wrap. */
TEST_CASE(keep_last_ranges)
{
    ktrace_capture_options options = keeping_last();
    const test::trace trace = test::record(options, [&] {
        ranges_and_tokens<<<1, 32>>>(100);
        lane_marks<<<1, 32>>>(13, 100);
    });
    REQUIRE(trace.valid());
    test::check_consistent(trace);
    CHECK_EQUAL(trace.info.slots_corrupt, 0);
    REQUIRE(trace.waves.size() == 2, "%zu waves", trace.waves.size());
    const test::wave &ranges = trace.waves[0], &lanes = trace.waves[1];
    {
        const test::about about(ranges);
        /* 6 slots a turn (push 2, start 1, stop 2, pop 1): 10 whole turns, and of the one before all but its push */
        const auto turns = test::ranges_of(ranges, "turn");
        CHECK_EQUAL(turns.size(), 10);
        for (size_t i = 0; i < turns.size(); i++)
            CHECK_EQUAL(ranges.events[turns[i].first].payload, 90 + i);
        CHECK_EQUAL(test::ranges_of(ranges, "token").size(), 11);
        CHECK_EQUAL(ranges.events.size(), 43);
        CHECK_EQUAL(trace.info.ends_unmatched, 1);
        CHECK_EQUAL(trace.info.ranges_unclosed, 0);
    }
    {
        const test::about about(lanes);
        std::vector<test::expected> wanted;
        for (int i = 92; i < 100; i++)
            wanted.push_back(mark("lane", 13, i));
        wanted.push_back(mark("done", 0));
        test::check_sequence(lanes, wanted);
    }
}

/* ---- Large ------------------------------------------------------------------------------------------------------ */

/* More events than the 16 bits of a slot's sequence number count. */
TEST_CASE(long_ring)
{
    const int count = test::quick() ? 70000 : 200000;
    const test::trace trace = test::record(test::sizes(524288, 16), [&] { payload_marks<<<1, 32>>>(1, count, 1); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    REQUIRE(wave.events.size() == (size_t)count + 2, "%zu events", wave.events.size());
    int wrong = 0;
    for (int i = 0; i < count; i++)
        wrong += !test::matches(wave.events[i + 1], mark("payload", 0, i));
    CHECK_EQUAL(wrong, 0);
}

TEST_CASE(long_ring_keep_last)
{
    const int count = test::quick() ? 70000 : 200000;
    ktrace_capture_options options = keeping_last();
    options.events_per_wave = 1024;
    const test::trace trace = test::record(options, [&] { payload_marks<<<1, 32>>>(0, count, 0); });
    REQUIRE(trace.valid());
    test::check_consistent(trace);
    std::vector<test::expected> wanted;
    for (int i = count - 512; i < count; i++)
        wanted.push_back(mark("payload", 0, i));
    test::check_sequence(test::only_wave(trace), wanted);
    CHECK_EQUAL(trace.info.slots_lost, 2 * count - 1024);
}

/* Rings that lie more than 4 GiB behind the buffer's start. */
TEST_CASE(large_offsets)
{
    if (test::quick())
        return test::skip_case("--quick");
    const int blocks = 1300;
    const test::trace trace =
        test::record(test::sizes(524288, 16, 6400ull << 20), [&] { one_mark<<<blocks, 32>>>(5); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    REQUIRE(trace.waves.size() == (size_t)blocks, "%zu waves", trace.waves.size());
    for (const test::wave &wave : trace.waves)
        test::check_sequence(wave, {mark("workgroup", 0, (int)wave.info.workgroup[0]), mark("number", 0, 5)});
}

/* The smallest rings: a region is 256 bytes of header, 4 slots, and 31 rings of one slot. */
TEST_CASE(many_workgroups)
{
    const uint32_t blocks = test::quick() ? 3000 : 100000;
    const uint64_t region_bytes = 256 + 4 * 8 + 31 * 8;
    ktrace_capture_options options = test::sizes(4, 1, (blocks * 8 / 100) * region_bytes); /* room for about 8 % */
    const auto launch = [&] { one_mark<<<blocks, 32>>>(1); };
    const test::trace trace = after_overflow(options, launch);
    REQUIRE(trace.valid());
    test::check_clean(trace);
    CHECK(options.buffer_bytes < blocks * region_bytes * 5 / 4, "%llu bytes for %u regions of %llu",
          (unsigned long long)options.buffer_bytes, blocks, (unsigned long long)region_bytes);
    REQUIRE(trace.launches.size() == 1, "%zu launches", trace.launches.size());
    CHECK_EQUAL(trace.launches[0].waves_launched, blocks);
    REQUIRE(trace.waves.size() == blocks, "%zu waves", trace.waves.size());
    std::vector<uint8_t> seen(blocks);
    uint32_t twice = 0, outside = 0, wrong = 0;
    for (const test::wave &wave : trace.waves) {
        const uint32_t x = wave.info.workgroup[0];
        if (x >= blocks || wave.info.workgroup[1] || wave.info.workgroup[2] || wave.info.wave) {
            outside++;
            continue;
        }
        twice += seen[x]++ != 0;
        wrong += test::first_difference(wave.events, {mark("workgroup", 0, (int)x), mark("number", 0, 1)}) != SIZE_MAX;
    }
    CHECK_EQUAL(twice, 0);
    CHECK_EQUAL(outside, 0);
    CHECK_EQUAL(wrong, 0);
}

/* The buffer is full only when all of it is full. */
TEST_CASE(every_region_is_used)
{
    const ktrace_capture_options options = test::sizes(8, 2, 1 << 20);
    test::capture capture;
    REQUIRE(capture.begin(options) == 0);
    one_mark<<<20000, 32>>>(0);
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
    test::trace trace;
    REQUIRE(capture.peek(trace) == 0);
    const uint32_t regions = (uint32_t)trace.waves.size();
    std::printf("  %u regions of 816 bytes in 1 MiB; peek says %llu dropped\n", regions,
                (unsigned long long)trace.info.waves_dropped);
    CHECK_EQUAL(trace.info.waves_dropped + regions, 20000);
    CHECK(regions >= (1u << 20) / 816 * 9 / 10, "%u regions", regions);
    std::string message;
    CHECK_EQUAL(capture.try_read(trace, message), KTRACE_ERROR_OVERFLOW);
    one_mark<<<regions, 32>>>(1);
    int status = capture.try_read(trace, message);
    CHECK(status == 0, "exactly as many waves as regions: %s", message.c_str());
    if (status == 0)
        CHECK_EQUAL(trace.waves.size(), regions);
    one_mark<<<regions + 1, 32>>>(2);
    status = capture.try_read(trace, message);
    CHECK(status == KTRACE_ERROR_OVERFLOW, "one wave more than regions: %s", ktrace_status_name(status));
    std::printf("  said: %s\n", message.c_str());
}

/* ---- Filters ---------------------------------------------------------------------------------------------------- */

namespace
{

ktrace_capture_options with_filter(const ktrace_filter &filter)
{
    ktrace_capture_options options = test::sizes(16, 4);
    options.filter = &filter;
    return options;
}

/* The waves that pass, as (x, y, z, wave) in rising order, and how many were turned away. */
using wave_key = std::vector<uint32_t>;
void check_filtered(const test::trace &trace, std::vector<wave_key> wanted, uint64_t launched)
{
    test::check_consistent(trace);
    std::vector<wave_key> actual;
    for (const test::wave &wave : trace.waves)
        actual.push_back({wave.info.workgroup[0], wave.info.workgroup[1], wave.info.workgroup[2], wave.info.wave});
    std::sort(actual.begin(), actual.end());
    std::sort(wanted.begin(), wanted.end());
    CHECK(actual == wanted, "%zu waves, expected %zu", actual.size(), wanted.size());
    if (actual != wanted)
        for (const wave_key &key : actual)
            std::printf("    (%u, %u, %u) wave %u\n", key[0], key[1], key[2], key[3]);
    CHECK_EQUAL(trace.info.waves_filtered, launched - wanted.size());
    CHECK_EQUAL(trace.info.waves_dropped, 0);
    if (!trace.launches.empty())
        CHECK_EQUAL(trace.launches[0].waves_launched, launched);
}

} /* namespace */

TEST_CASE(filter_blocks)
{
    ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.block_first[0] = 2;
    filter.block_last[0] = 5;
    filter.block_first[1] = 1;
    filter.block_last[1] = 2;
    filter.block_last[2] = 0;
    const test::trace trace = test::record(with_filter(filter), [] { one_mark<<<dim3(8, 4, 2), 64>>>(0); });
    REQUIRE(trace.valid());
    std::vector<wave_key> wanted;
    for (uint32_t x = 2; x <= 5; x++)
        for (uint32_t y = 1; y <= 2; y++)
            for (uint32_t wave = 0; wave < 2; wave++)
                wanted.push_back({x, y, 0, wave});
    check_filtered(trace, wanted, 128);
}

TEST_CASE(filter_every_nth)
{
    ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.workgroup_step = 3;
    const test::trace trace = test::record(with_filter(filter), [] { one_mark<<<dim3(5, 2, 2), 32>>>(0); });
    REQUIRE(trace.valid());
    std::vector<wave_key> wanted;
    for (uint32_t i = 0; i < 20; i += 3)
        wanted.push_back({i % 5, i / 5 % 2, i / 10, 0});
    check_filtered(trace, wanted, 20);
}

TEST_CASE(filter_waves)
{
    ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.wave_mask_low = 0x80000005u;
    filter.wave_mask_high = 0;
    const test::trace trace = test::record(with_filter(filter), [] { one_mark<<<2, 1024>>>(0); });
    REQUIRE(trace.valid());
    std::vector<wave_key> wanted;
    for (uint32_t x = 0; x < 2; x++)
        for (const uint32_t wave : {0u, 2u, 31u})
            wanted.push_back({x, 0, 0, wave});
    check_filtered(trace, wanted, 64);
}

TEST_CASE(filter_places)
{
    const uint32_t blocks = 1000;
    ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.place_first = 3;
    filter.place_last = 9;
    test::device_array<uint32_t> sm_of_block(blocks);
    const test::trace trace = test::record(with_filter(filter), [&] { places<<<blocks, 128>>>(sm_of_block.get()); });
    REQUIRE(trace.valid());
    const std::vector<uint32_t> sm = sm_of_block.host();
    std::vector<wave_key> wanted;
    for (uint32_t x = 0; x < blocks; x++)
        if (sm[x] >= 3 && sm[x] <= 9)
            for (uint32_t wave = 0; wave < 4; wave++)
                wanted.push_back({x, 0, 0, wave});
    CHECK(!wanted.empty(), "no workgroup ran on SM 3 to 9");
    check_filtered(trace, wanted, blocks * 4);
    for (const test::wave &wave : trace.waves)
        CHECK(wave.info.place == sm[wave.info.workgroup[0]], "SM %u, the kernel says %u", wave.info.place,
              sm[wave.info.workgroup[0]]);
}

TEST_CASE(filter_all_together)
{
    ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.block_first[0] = 10;
    filter.block_last[0] = 99;
    filter.workgroup_step = 4;
    filter.wave_mask_low = 2;
    const test::trace trace = test::record(with_filter(filter), [] { one_mark<<<200, 96>>>(0); });
    REQUIRE(trace.valid());
    std::vector<wave_key> wanted;
    for (uint32_t x = 12; x <= 99; x += 4)
        wanted.push_back({x, 0, 0, 1});
    check_filtered(trace, wanted, 600);
}

/* A filtered wave claims nothing: a grid far larger than the buffer passes. */
TEST_CASE(filter_spares_the_buffer)
{
    ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.block_first[0] = filter.block_last[0] = 77;
    ktrace_capture_options options = with_filter(filter);
    options.buffer_bytes = 64 * 1024;
    const uint32_t blocks = test::quick() ? 2000 : 50000;
    const test::trace trace = test::record(options, [&] { one_mark<<<blocks, 64>>>(0); });
    REQUIRE(trace.valid());
    check_filtered(trace, {{77, 0, 0, 0}, {77, 0, 0, 1}}, (uint64_t)blocks * 2);
}

TEST_CASE(filter_turns_all_away)
{
    ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.block_first[1] = 5;
    const test::trace trace = test::record(with_filter(filter), [] { one_mark<<<10, 64>>>(0); });
    REQUIRE(trace.valid());
    check_filtered(trace, {}, 20);
    CHECK(trace.warning.find("filter") != std::string::npos, "warning: '%s'", trace.warning.c_str());
}

/* ---- Reading again and again ------------------------------------------------------------------------------------ */

TEST_CASE(clear_and_read_twice)
{
    test::capture capture;
    test::trace trace;
    one_mark<<<1, 32>>>(1); /* dormant */
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
    REQUIRE(ktrace_active() == 0);
    REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
    CHECK_EQUAL(ktrace_active(), 1);
    one_mark<<<4, 32>>>(2);
    REQUIRE(capture.clear() == 0);
    one_mark<<<2, 32>>>(3);
    REQUIRE(capture.read(trace) == 0);
    test::check_clean(trace);
    CHECK_EQUAL(trace.waves.size(), 2);
    for (const test::wave &wave : trace.waves)
        test::check_sequence(wave, {mark("workgroup", 0, (int)wave.info.workgroup[0]), mark("number", 0, 3)});

    test::trace empty;
    REQUIRE(capture.read(empty) == 0);
    CHECK_EQUAL(empty.info.waves, 0);
    CHECK_EQUAL(empty.info.events, 0);
    CHECK_EQUAL(empty.info.launches, 0);
    CHECK(!empty.warning.empty(), "an empty trace does not say why");
    std::printf("  empty: %s\n", empty.warning.c_str());

    one_mark<<<3, 32>>>(4);
    test::trace last;
    REQUIRE(capture.end(last) == 0);
    CHECK_EQUAL(ktrace_active(), 0);
    test::check_clean(last);
    CHECK_EQUAL(last.waves.size(), 3);
    CHECK_EQUAL(trace.waves.size(), 2); /* the first outlives it all */
    struct ktrace_trace_info info {};
    info.struct_size = sizeof(info);
    CHECK_EQUAL(ktrace_trace_get_info(&info, trace.handle()), 0);
    CHECK_EQUAL(info.waves, 2);

    one_mark<<<1, 32>>>(5); /* dormant again */
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
}

TEST_CASE(captures_do_not_nest)
{
    test::capture capture;
    REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
    ktrace_capture *second = nullptr;
    const ktrace_capture_options options = test::sizes(16, 4);
    const int status = ktrace_capture_begin(&second, &options);
    CHECK(status == KTRACE_ERROR_STATE, "%s", ktrace_status_name(status));
    CHECK(second == nullptr, "the out-parameter was written");
    one_mark<<<1, 32>>>(1);
    test::trace trace;
    REQUIRE(capture.end(trace) == 0);
    CHECK_EQUAL(trace.waves.size(), 1);
    /* and a new one can begin */
    test::capture third;
    REQUIRE(third.begin(test::sizes(16, 4)) == 0);
    one_mark<<<1, 32>>>(2);
    REQUIRE(third.end(trace) == 0);
    test::check_sequence(test::only_wave(trace), {mark("workgroup", 0, 0), mark("number", 0, 2)});
}

TEST_CASE(many_captures)
{
    for (int i = 0; i < (test::quick() ? 5 : 50); i++) {
        test::trace trace;
        test::capture capture;
        REQUIRE(capture.begin(test::sizes(i % 2 ? 16 : 64, 4, 1 << (16 + i % 5))) == 0);
        one_mark<<<1 + i % 3, 64>>>(i);
        REQUIRE(capture.end(trace) == 0);
        test::check_clean(trace);
        CHECK_EQUAL(trace.waves.size(), 2 * (1 + i % 3));
        for (const test::wave &wave : trace.waves)
            test::check_sequence(wave, {mark("workgroup", 0, (int)wave.info.workgroup[0]), mark("number", 0, i)});
    }
}

/* A read has everything since the last one: several launches of several kernels, in the order in which they ran. */
TEST_CASE(launches_accumulate)
{
    const test::trace trace = test::record(test::sizes(64, 16), [] {
        one_mark<<<3, 64>>>(1);
        plain_marks<<<2, 32>>>(5);
        one_mark<<<dim3(2, 2), dim3(8, 8)>>>(2);
        payload_marks<<<1, 96>>>(1, 2, 0);
        one_mark<<<3, 64>>>(3);
    });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const struct {
        const char *kernel;
        uint32_t grid[3], block[3];
        uint64_t waves, events;
    } wanted[] = {
        {"one mark", {3, 1, 1}, {64, 1, 1}, 6, 12}, {"plain marks", {2, 1, 1}, {32, 1, 1}, 2, 10},
        {"one mark", {2, 2, 1}, {8, 8, 1}, 8, 16},  {"payload marks", {1, 1, 1}, {96, 1, 1}, 3, 9},
        {"one mark", {3, 1, 1}, {64, 1, 1}, 6, 12},
    };
    REQUIRE(trace.launches.size() == 5, "%zu launches", trace.launches.size());
    for (size_t i = 0; i < 5; i++) {
        const ktrace_launch_info &launch = trace.launches[i];
        CHECK(std::string(launch.kernel) == wanted[i].kernel, "launch %zu is '%s'", i, launch.kernel);
        CHECK(std::equal(launch.grid, launch.grid + 3, wanted[i].grid), "grid of launch %zu", i);
        CHECK(std::equal(launch.block, launch.block + 3, wanted[i].block), "block of launch %zu", i);
        CHECK_EQUAL(launch.waves_launched, wanted[i].waves);
        CHECK_EQUAL(launch.waves, wanted[i].waves);
        CHECK_EQUAL(launch.events, wanted[i].events);
        CHECK_EQUAL(launch.slots_lost, 0);
        CHECK_EQUAL(launch.occurrence, 0);
        /* one stream: they do not overlap; the clocks of two SMs may disagree by a tick */
        if (i > 0)
            CHECK(launch.begin_ps > trace.launches[i - 1].end_ps - 100000, "launch %zu begins %lld ps before %zu ends",
                  i, (long long)(trace.launches[i - 1].end_ps - launch.begin_ps), i - 1);
        for (size_t k = 0; k < i; k++)
            CHECK(launch.grid_id != trace.launches[k].grid_id, "launches %zu and %zu have one grid id", k, i);
    }
    for (const test::wave &wave : trace.waves) {
        const uint32_t launch = wave.info.launch;
        if (std::string(trace.launches[launch].kernel) == "one mark")
            CHECK(wave.events.size() == 2 && wave.events[1].payload == (launch == 0   ? 1u
                                                                        : launch == 2 ? 2u
                                                                                      : 3u),
                  "a wave of launch %u", launch);
    }
}

/* Launches from several threads on streams of their own, then two threads that read at once. */
TEST_CASE(threads)
{
    const int thread_count = 4, launches = test::quick() ? 3 : 20;
    test::capture capture;
    REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
    for (int round = 0; round < 3; round++) {
        std::vector<std::thread> threads;
        std::vector<int> errors(thread_count);
        for (int t = 0; t < thread_count; t++)
            threads.emplace_back([t, launches, &errors] {
                cudaStream_t stream;
                errors[t] += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
                for (int i = 0; i < launches; i++)
                    one_mark<<<2, 64, 0, stream>>>(t * 1000 + i);
                errors[t] += cudaGetLastError() != cudaSuccess;
                errors[t] += cudaStreamDestroy(stream) != cudaSuccess;
            });
        for (std::thread &thread : threads)
            thread.join();
        for (int t = 0; t < thread_count; t++)
            CHECK_EQUAL(errors[t], 0);

        ktrace_trace *raw[2] = {};
        int status[2] = {};
        std::thread first([&] { status[0] = ktrace_capture_read(&raw[0], capture.handle()); });
        std::thread second([&] { status[1] = ktrace_capture_read(&raw[1], capture.handle()); });
        first.join();
        second.join();
        CHECK_EQUAL(status[0], 0);
        CHECK_EQUAL(status[1], 0);
        std::vector<int> seen(thread_count * 1000);
        size_t waves = 0;
        for (int i = 0; i < 2; i++) {
            if (status[i] < 0)
                continue;
            const test::trace trace(raw[i], round == 0);
            test::check_consistent(trace);
            waves += trace.waves.size();
            for (const test::wave &wave : trace.waves) {
                const test::about about(wave);
                REQUIRE(wave.events.size() == 2 && wave.events[1].payload < seen.size());
                seen[wave.events[1].payload]++;
            }
        }
        CHECK_EQUAL(waves, thread_count * launches * 4);
        for (int t = 0; t < thread_count; t++)
            for (int i = 0; i < launches; i++)
                CHECK_EQUAL(seen[t * 1000 + i], 4);
    }
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
