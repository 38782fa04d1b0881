/* Captures again and again: what a read has and what it leaves, many captures, launches that accumulate, threads. */
#include "check.h"
#include "marks.h"

#include <thread>

using test::mark;

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
