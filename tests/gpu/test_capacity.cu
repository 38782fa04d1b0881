/* What fits and what does not: rings and regions. An overflow is an error that names the
 * options under which everything would have fitted; what it names is tried. */
#include "check.h"
#include "marks.h"

#include <ktrace/device.h>

#include <algorithm>

using test::mark;

/* ---- Kernels ---------------------------------------------------------------------------------------------------- */

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

/* On a lane that is not lane 0, one slot each. */
__global__ void plain_lane_marks(int lane, int count)
{
    KTRACE_KERNEL("plain lane marks");
    if ((int)(threadIdx.x & 31) == lane) {
#pragma unroll 1
        for (int i = 0; i < count; i++)
            KTRACE_MARK("plain");
    }
}

/* Every 16th workgroup records on another lane as well. */
__global__ void some_lane_marks(int lane)
{
    KTRACE_KERNEL("some lane marks");
    if (blockIdx.x % 16 == 15 && (int)(threadIdx.x & 31) == lane)
        KTRACE_MARK("lane", (int)blockIdx.x);
    __syncwarp();
    KTRACE_MARK("done", (int)blockIdx.x);
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
        payload_marks<<<1000, 32>>>(3, 20, 2);
        lane_marks<<<1000, 32>>>(7, 5); /* none of these finds a region */
    };
    const test::trace trace = after_overflow(options, launch);
    REQUIRE(trace.valid());
    test::check_clean(trace);
    CHECK_EQUAL(trace.waves.size(), 2000);
    CHECK_EQUAL(trace.info.events, 1000 * 25 + 1000 * 6);
}

namespace
{

/* What a read under these options says of the launches: a status, and the sentence of an overflow. */
template <class Launch>
int outcome(const ktrace_capture_options &options, Launch launch, std::string &message)
{
    test::capture capture;
    test::trace trace;
    if (capture.begin(options) < 0)
        return KTRACE_ERROR_ARGUMENT;
    launch();
    CHECK_CUDA(cudaGetLastError());
    return capture.try_read(trace, message, false);
}

template <class Launch>
void check_outcome(const ktrace_capture_options &options, Launch launch, int wanted)
{
    std::string message;
    const int status = outcome(options, launch, message);
    CHECK(status == wanted, "events_per_wave %u, events_per_lane %u, buffer_bytes %llu: '%s', expected '%s'; %s",
          options.events_per_wave, options.events_per_lane, (unsigned long long)options.buffer_bytes,
          ktrace_status_name(status), ktrace_status_name(wanted), message.c_str());
}

uint32_t power_of_two_below(uint32_t value)
{
    uint32_t power = 1;
    while (power * 2 < value)
        power *= 2;
    return power;
}

} /* namespace */

/* What is named is what was recorded, to the slot. Rings are powers of two: the one below is too small. */
TEST_CASE(named_rings_are_exact)
{
    for (const uint32_t count : {ring + 1u, 80u, 128u, 129u, 1025u, 5000u}) {
        const auto launch = [&] { plain_marks<<<1, 32>>>((int)count); };
        std::string message;
        ktrace_capture_options options = test::sizes(ring, 16);
        CHECK_EQUAL(outcome(options, launch, message), KTRACE_ERROR_OVERFLOW);
        CHECK_EQUAL(named(message, "events_per_wave"), count);
        CHECK_EQUAL(named(message, "events_per_lane"), 0);
        options.events_per_wave = count;
        check_outcome(options, launch, KTRACE_OK);
        options.events_per_wave = power_of_two_below(count); /* count - 1, where that is one */
        check_outcome(options, launch, KTRACE_ERROR_OVERFLOW);
    }
    for (const uint32_t count : {17u, 33u, 40u, 257u}) {
        const auto launch = [&] { plain_lane_marks<<<1, 32>>>(31, (int)count); };
        std::string message;
        ktrace_capture_options options = test::sizes(ring, 16);
        CHECK_EQUAL(outcome(options, launch, message), KTRACE_ERROR_OVERFLOW);
        CHECK_EQUAL(named(message, "events_per_lane"), count);
        CHECK_EQUAL(named(message, "events_per_wave"), 0);
        options.events_per_lane = count;
        check_outcome(options, launch, KTRACE_OK);
        options.events_per_lane = power_of_two_below(count);
        check_outcome(options, launch, KTRACE_ERROR_OVERFLOW);
    }
}

/* A buffer of the bytes that are named holds all waves; of one byte less, not. */
TEST_CASE(named_buffer_is_exact)
{
    const struct {
        uint32_t blocks, threads, events_per_wave, events_per_lane;
    } tries[] = {{300, 32, 8, 2}, {1000, 64, 16, 4}, {20000, 32, 4, 1}, {999, 96, 64, 1}, {17, 1024, 512, 16}};
    for (const auto &one : tries) {
        const auto launch = [&] { one_mark<<<one.blocks, one.threads>>>(1); };
        std::string message, again;
        ktrace_capture_options options = test::sizes(one.events_per_wave, one.events_per_lane, 64 * 1024);
        CHECK_EQUAL(outcome(options, launch, message), KTRACE_ERROR_OVERFLOW);
        const uint64_t bytes = named(message, "buffer_bytes");
        std::printf("  said: %s\n", message.c_str());
        REQUIRE(bytes > options.buffer_bytes, "it names %llu bytes", (unsigned long long)bytes);
        options.buffer_bytes = bytes;
        check_outcome(options, launch, KTRACE_OK);
        options.buffer_bytes = bytes - 1;
        CHECK_EQUAL(outcome(options, launch, again), KTRACE_ERROR_OVERFLOW);
        CHECK_EQUAL(named(again, "buffer_bytes"), bytes);
    }
}

/* Only waves without a region need more than there is: they count what they would have recorded. The named sizes suffice, the ring
 * below and a byte less do not; and a read leaves nothing of it to the next, in either half of the buffer. */
TEST_CASE(waves_without_a_region_count)
{
    const struct {
        int main, lane, lane_count;
    } tries[] = {{9, 1, 0}, {100, 31, 0}, {0, 1, 3}, {5, 17, 40}, {1025, 30, 129}};
    for (const auto &one : tries) {
        const auto launch = [&] {
            one_mark<<<2000, 64>>>(1);
            plain_marks<<<3, 32>>>(one.main);
            plain_lane_marks<<<300, 64>>>(one.lane, one.lane_count);
        };
        const uint32_t main = one.main > 8 ? (uint32_t)one.main : 0,
                       lane = one.lane_count > 1 ? (uint32_t)one.lane_count : 0;
        std::string message, again;
        ktrace_capture_options options = test::sizes(8, 1, 256 * 1024);
        {
            test::capture capture;
            test::trace trace;
            REQUIRE(capture.begin(options) == 0);
            for (int round = 0; round < 3; round++) {
                launch();
                CHECK_EQUAL(capture.try_read(trace, message, false), KTRACE_ERROR_OVERFLOW);
                CHECK_EQUAL(named(message, "events_per_wave"), main);
                CHECK_EQUAL(named(message, "events_per_lane"), lane);
                one_mark<<<2000, 64>>>(1); /* too many, and no more than that */
                CHECK_EQUAL(capture.try_read(trace, again, false), KTRACE_ERROR_OVERFLOW);
                CHECK_EQUAL(named(again, "events_per_wave"), 0);
                CHECK_EQUAL(named(again, "events_per_lane"), 0);
                one_mark<<<3, 32>>>(1);
                REQUIRE(capture.read(trace) == 0);
                test::check_clean(trace);
                CHECK_EQUAL(trace.waves.size(), 3);
            }
        }
        REQUIRE(follow(options, message));
        check_outcome(options, launch, KTRACE_OK);
        ktrace_capture_options less = options;
        less.buffer_bytes--;
        check_outcome(less, launch, KTRACE_ERROR_OVERFLOW);
        less = options;
        less.events_per_wave = main ? power_of_two_below(main) : 8;
        less.events_per_lane = !main ? power_of_two_below(lane) : options.events_per_lane;
        check_outcome(less, launch, KTRACE_ERROR_OVERFLOW);
    }
}

/* An overflow at the end is an error as well, and the capture is gone as always. */
TEST_CASE(end_after_overflow)
{
    test::capture capture;
    REQUIRE(capture.begin(test::sizes(ring, 16)) == 0);
    plain_marks<<<1, 32>>>(10 * ring);
    ktrace_trace *raw = nullptr;
    const int status = capture.end_raw(&raw);
    CHECK(status == KTRACE_ERROR_OVERFLOW, "%s", ktrace_status_name(status));
    CHECK_EQUAL(named(ktrace_last_error(), "events_per_wave"), 10 * ring);
    CHECK(raw == nullptr, "a trace came with the error");
    CHECK_EQUAL(ktrace_active(), 0);
    const test::trace trace = test::record(test::sizes(ring, 16), [] { one_mark<<<1, 32>>>(3); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    test::check_sequence(test::only_wave(trace), {mark("workgroup", 0, 0), mark("number", 0, 3)});
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

/* A trace that lost its oldest events says so wherever it goes. One whose rings just held everything does not. */
TEST_CASE(keep_last_is_marked)
{
    for (const int count : {ring, ring + 1}) {
        const test::trace trace = test::record(keeping_last(), [&] { plain_marks<<<1, 32>>>(count); });
        REQUIRE(trace.valid());
        const bool lost = count > ring;
        CHECK_EQUAL(trace.info.slots_lost, lost);
        CHECK((trace.warning.find("overwritten") != std::string::npos) == lost, "warning: '%s'", trace.warning.c_str());
        const test::trace loaded = test::saved_and_loaded(trace);
        REQUIRE(loaded.valid());
        CHECK_EQUAL(loaded.info.slots_lost, lost);
        CHECK(loaded.warning == trace.warning, "warning: '%s'", loaded.warning.c_str());
        char *text = nullptr;
        CHECK_EQUAL(ktrace_trace_summary_text(&text, loaded.handle()), 0);
        CHECK((text && std::strstr(text, "overwritten")) == lost, "%s", text ? text : "");
        std::free(text);
    }
}

/* Keeping the last events is of rings; a wave that finds no region is an error all the same. */
TEST_CASE(keep_last_needs_regions)
{
    ktrace_capture_options options = keeping_last();
    options.buffer_bytes = 256 * 1024;
    const auto launch = [] { plain_marks<<<1000, 32>>>(3 * ring); };
    const test::trace trace = after_overflow(options, launch, false);
    REQUIRE(trace.valid());
    CHECK_EQUAL(options.events_per_wave, ring);
    test::check_consistent(trace);
    CHECK_EQUAL(trace.info.waves, 1000);
    CHECK_EQUAL(trace.info.slots_lost, 1000 * 2 * ring);
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

/* Headers, lanes' rings and main rings of so many waves that each kind goes on beyond 4 GiB. */
TEST_CASE(many_waves_beyond_4_gib)
{
    if (test::quick())
        return test::skip_case("--quick");
    const uint32_t blocks = 640000, events_per_wave = 1024, events_per_lane = 32;
    const uint64_t main_bytes = events_per_wave * 8, lane_bytes = 31 * events_per_lane * 8;
    static_assert(blocks * (uint64_t)events_per_wave * 8 > (1ull << 32), "main rings beyond 4 GiB");
    static_assert(blocks * 31ull * events_per_lane * 8 > (1ull << 32), "lanes' rings beyond 4 GiB");
    const uint64_t buffer_bytes = blocks * (main_bytes + lane_bytes + 256) * 11 / 10;
    std::printf("  a buffer of %llu bytes\n", (unsigned long long)buffer_bytes);
    test::capture capture;
    REQUIRE(capture.begin(test::sizes(events_per_wave, events_per_lane, buffer_bytes)) == 0);
    for (int round = 0; round < 2; round++) {
        const uint32_t lane = 1 + 30 * (uint32_t)round;
        some_lane_marks<<<blocks, 32>>>((int)lane);
        CUDA_OK_OR_RETURN(cudaGetLastError());
        ktrace_trace *raw = nullptr;
        KTRACE_OK_OR_RETURN(ktrace_capture_read(&raw, capture.handle()));
        uint64_t waves = 0, twice = 0, wrong = 0;
        std::vector<bool> seen(blocks);
        ktrace_wave_info wave{};
        wave.struct_size = sizeof(wave);
        for (; ktrace_trace_wave(&wave, raw, waves) == 0; waves++) {
            const uint32_t block = wave.workgroup[0], events = block % 16 == 15 ? 2 : 1;
            bool right = block < blocks && wave.events == events && !wave.unfinished;
            for (uint32_t i = 0; right && i < events; i++) {
                ktrace_event_info event{};
                event.struct_size = sizeof(event);
                const bool done = i + 1 == events;
                right = ktrace_trace_event(&event, raw, waves, i) == 0 && event.payload == block &&
                        event.lane == (done ? 0 : lane) && std::strcmp(event.name, done ? "done" : "lane") == 0;
            }
            wrong += !right;
            if (block < blocks) {
                twice += seen[block];
                seen[block] = true;
            }
        }
        ktrace_trace_destroy(raw);
        CHECK_EQUAL(waves, blocks);
        CHECK_EQUAL(twice, 0);
        CHECK_EQUAL(wrong, 0);
    }
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

/* Claims of this module's waves since the capture began, partition by partition. */
std::vector<uint64_t> claims()
{
    ktrace_control control;
    static ktrace_counters counters;
    CHECK_CUDA(cudaMemcpyFromSymbol(&control, ktrace_control_block, sizeof(control)));
    CHECK_CUDA(cudaMemcpy(&counters, (const void *)control.counters, sizeof(counters), cudaMemcpyDeviceToHost));
    std::vector<uint64_t> result;
    for (uint32_t i = 0; i < control.partitions; i++)
        result.push_back(counters.partition[i].claims & ~KTRACE_CLAIM_HALF);
    return result;
}

/* A launch fills all partitions alike, whatever its shape and whatever a filter leaves of it: or waves would have to search for
 * room long before the buffer is full. */
TEST_CASE(partitions_fill_alike)
{
    const struct {
        dim3 grid, block;
        const char *blocks;
        double limit; /* of the fullest over the mean; where the index moves with time it need not be 1 */
    } shapes[] = {
        {dim3(8192), dim3(32), nullptr, 1.3},
        {dim3(1, 8192), dim3(32), nullptr, 1.3},
        {dim3(8, 64, 16), dim3(160), nullptr, 1.3},
        {dim3(2, 2, 2048), dim3(8, 16), nullptr, 1.3},
        {dim3(8192), dim3(256), "waves:0", 1.5},
        {dim3(65536), dim3(128), "every:64", 2},
        {dim3(256, 256), dim3(32), "0-3,*", 2},
        {dim3(64, 1024), dim3(128), "0,*,* waves:3", 2},
        {dim3(65535), dim3(1024), "every:8 waves:0", 2},
    };
    for (const auto &shape : shapes) {
        ktrace_capture_options options = test::sizes(8, 2, 64 << 20);
        options.blocks = shape.blocks;
        test::capture capture;
        REQUIRE(capture.begin(options) == 0);
        one_mark<<<shape.grid, shape.block>>>(0);
        CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
        const std::vector<uint64_t> counts = claims();
        uint64_t sum = 0, most = 0;
        for (uint64_t count : counts) {
            sum += count;
            most = std::max(most, count);
        }
        const double mean = (double)sum / (double)counts.size();
        std::printf("  (%u, %u, %u) x %u, %s: %zu partitions, %.1f waves on the mean, %llu in the fullest\n",
                    shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x * shape.block.y,
                    shape.blocks ? shape.blocks : "all", counts.size(), mean, (unsigned long long)most);
        CHECK(counts.size() > 1 && mean >= 3, "%zu partitions, %.1f waves each", counts.size(), mean);
        CHECK((double)most <= mean * shape.limit + 2, "%llu waves in the fullest of %.1f", (unsigned long long)most,
              mean);
    }
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

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
