/* Filters: which waves record, how many were turned away. The kernel writes down by itself where each of its waves ran, recorded or
 * not, and a second implementation of the filter, on the host, says from that list who must be in the trace. */
#include "check.h"
#include "launches.h"

#include <ktrace/device.h>

#include <functional>
#include <random>

using test::mark;
using test::pop;
using test::push;

/* ---- The kernel and its own list -------------------------------------------------------------------------------- */

/* place_of_wave[linear index of the wave] becomes 1 + its SM. */
__global__ void listed(uint32_t *place_of_wave)
{
    KTRACE_KERNEL("listed");
    const uint32_t block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const uint32_t waves = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
    KTRACE_RANGE("block", (int)block);
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    place_of_wave[block * waves + thread / 32] = 1 + sm; /* all lanes the same: a branch could part them */
    KTRACE_MARK("wave", (int)(thread / 32));
}

namespace
{

struct shape {
    dim3 grid, block;
    uint32_t blocks() const
    {
        return grid.x * grid.y * grid.z;
    }
    uint32_t waves_per_block() const
    {
        return (block.x * block.y * block.z + 31) / 32;
    }
    uint32_t waves() const
    {
        return blocks() * waves_per_block();
    }
};

using condition = std::function<bool(const uint32_t block[3], uint32_t linear, uint32_t wave, uint32_t sm)>;
using wave_key = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;

/* Who must be in the trace: everyone on the kernel's list for whom `passes` holds. */
std::set<wave_key> chosen(const shape &shape, const std::vector<uint32_t> &place_of_wave, const condition &passes)
{
    std::set<wave_key> keys;
    for (uint32_t linear = 0; linear < shape.blocks(); linear++)
        for (uint32_t wave = 0; wave < shape.waves_per_block(); wave++) {
            const uint32_t place = place_of_wave[linear * shape.waves_per_block() + wave];
            const uint32_t block[3] = {linear % shape.grid.x, linear / shape.grid.x % shape.grid.y,
                                       linear / shape.grid.x / shape.grid.y};
            CHECK(place != 0, "wave %u of workgroup %u did not run", wave, linear);
            if (place != 0 && passes(block, linear, wave, place - 1))
                keys.insert(wave_key(block[0], block[1], block[2], wave));
        }
    return keys;
}

/* Exactly these waves of the launch, each whole and where the kernel says that it ran; all others were counted. */
void check_chosen(const test::trace &trace, const shape &shape, const std::vector<uint32_t> &place_of_wave,
                  const std::set<wave_key> &wanted, const char *what)
{
    test::check_consistent(trace);
    std::set<wave_key> actual;
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        const uint32_t *at = wave.info.workgroup;
        const uint32_t linear = at[0] + shape.grid.x * (at[1] + shape.grid.y * at[2]);
        const uint32_t index = linear * shape.waves_per_block() + wave.info.wave;
        CHECK(actual.insert(wave_key(at[0], at[1], at[2], wave.info.wave)).second, "%s: a wave twice", what);
        REQUIRE(index < place_of_wave.size(), "%s: no such wave", what);
        CHECK(wave.info.place + 1 == place_of_wave[index], "%s: SM %u, and the kernel says %d", what, wave.info.place,
              (int)place_of_wave[index] - 1);
        test::check_sequence(wave, {push("block", 0, (int)linear), mark("wave", 0, (int)wave.info.wave), pop(0)});
    }
    for (const wave_key &key : wanted)
        CHECK(actual.count(key), "%s: wave %u of (%u, %u, %u) is missing", what, std::get<3>(key), std::get<0>(key),
              std::get<1>(key), std::get<2>(key));
    for (const wave_key &key : actual)
        CHECK(wanted.count(key), "%s: wave %u of (%u, %u, %u) should have been turned away", what, std::get<3>(key),
              std::get<0>(key), std::get<1>(key), std::get<2>(key));
    CHECK_EQUAL(trace.info.waves, wanted.size());
    CHECK_EQUAL(trace.info.waves_filtered, shape.waves() - wanted.size());
    CHECK_EQUAL(trace.info.waves_dropped, 0);
    CHECK_EQUAL(trace.info.waves_unfinished, 0);
    CHECK_EQUAL(trace.info.slots_corrupt, 0);
    CHECK_EQUAL(trace.info.launches, !wanted.empty());
    if (trace.launches.empty())
        return;
    const ktrace_launch_info &launch = trace.launches[0];
    CHECK_EQUAL(launch.waves_launched, shape.waves());
    CHECK_EQUAL(launch.waves, wanted.size());
    CHECK_EQUAL(launch.events, 3 * wanted.size());
    CHECK_EQUAL(launch.grid[0], shape.grid.x);
    CHECK_EQUAL(launch.grid[1], shape.grid.y);
    CHECK_EQUAL(launch.grid[2], shape.grid.z);
}

/* One launch under these options. How many waves were recorded. */
size_t check_options(const ktrace_capture_options &options, const shape &shape, const condition &passes,
                     const char *what)
{
    test::device_array<uint32_t> place_of_wave(shape.waves());
    const test::trace trace = test::record(options, [&] { listed<<<shape.grid, shape.block>>>(place_of_wave.get()); });
    if (!trace.valid())
        return 0;
    const std::vector<uint32_t> places = place_of_wave.host();
    const std::set<wave_key> wanted = chosen(shape, places, passes);
    check_chosen(trace, shape, places, wanted, what);
    return wanted.size();
}

size_t check_filter(const ktrace_filter &filter, const shape &shape, const condition &passes, const char *what)
{
    ktrace_capture_options options = test::sizes(16, 4);
    options.filter = &filter;
    return check_options(options, shape, passes, what);
}

uint32_t sm_count()
{
    int count = 0;
    CHECK_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return (uint32_t)count;
}

} /* namespace */

/* ---- One condition at a time ------------------------------------------------------------------------------------ */

TEST_CASE(every_wave)
{
    const ktrace_filter filter = KTRACE_FILTER_INIT;
    const shape shape = {dim3(7, 3, 2), dim3(8, 8)};
    CHECK_EQUAL(check_filter(
                    filter, shape, [](const uint32_t *, uint32_t, uint32_t, uint32_t) { return true; }, "all"),
                84);
}

TEST_CASE(box)
{
    const shape shape = {dim3(8, 4, 3), dim3(64)};
    const struct {
        uint32_t first[3], last[3];
        size_t waves;
    } boxes[] = {
        {{2, 1, 0}, {5, 2, 0}, 16},
        {{0, 0, 0}, {0, 0, 0}, 2},
        {{7, 3, 2}, {7, 3, 2}, 2},
        {{0, 2, 0}, {0xFFFFFFFFu, 2, 0xFFFFFFFFu}, 48}, /* *,2,* */
        {{3, 0, 1}, {3, 0xFFFFFFFFu, 1}, 8},            /* 3,*,1 */
        {{6, 3, 1}, {100, 100, 100}, 8},                /* past the grid's end */
        {{0, 0, 0}, {0xFFFFFFFEu, 0xFFFFFFFEu, 1}, 2 * 8 * 4 * 2},
    };
    for (const auto &box : boxes) {
        ktrace_filter filter = KTRACE_FILTER_INIT;
        std::copy(box.first, box.first + 3, filter.block_first);
        std::copy(box.last, box.last + 3, filter.block_last);
        const condition passes = [&](const uint32_t block[3], uint32_t, uint32_t, uint32_t) {
            bool inside = true;
            for (int i = 0; i < 3; i++)
                inside = inside && block[i] >= box.first[i] && block[i] <= box.last[i];
            return inside;
        };
        CHECK_EQUAL(check_filter(filter, shape, passes, "box"), box.waves);
    }
}

TEST_CASE(places)
{
    const uint32_t sms = sm_count();
    const shape shape = {dim3(25, 40), dim3(128)};
    const uint32_t ranges[][2] = {{0, 0}, {3, 9}, {sms - 1, sms - 1}, {sms / 2, 0xFFFFFFFFu}};
    for (const auto &range : ranges) {
        ktrace_filter filter = KTRACE_FILTER_INIT;
        filter.place_first = range[0];
        filter.place_last = range[1];
        const size_t waves = check_filter(
            filter, shape,
            [&](const uint32_t *, uint32_t, uint32_t, uint32_t sm) { return sm >= range[0] && sm <= range[1]; },
            "place");
        CHECK(waves > 0, "no workgroup of %u ran on SM %u to %u: nothing was tried", shape.blocks(), range[0],
              range[1]);
        std::printf("  SM %u to %u: %zu of %u waves\n", range[0], range[1], waves, shape.waves());
    }
}

TEST_CASE(every_nth_workgroup)
{
    const shape shape = {dim3(5, 3, 4), dim3(96)};
    for (const uint32_t step : {1u, 2u, 3u, 7u, 59u, 60u, 1000u}) {
        ktrace_filter filter = KTRACE_FILTER_INIT;
        filter.workgroup_step = step;
        const size_t waves = check_filter(
            filter, shape, [&](const uint32_t *, uint32_t linear, uint32_t, uint32_t) { return linear % step == 0; },
            "step");
        CHECK_EQUAL(waves, 3 * ((60 + step - 1) / step));
    }
}

TEST_CASE(wave_mask)
{
    const shape shape = {dim3(4), dim3(1024)};
    for (const uint32_t mask : {1u, 0x80000000u, 0x80000005u, 0x55555555u, 0xFFFFFFFFu}) {
        ktrace_filter filter = KTRACE_FILTER_INIT;
        filter.wave_mask_low = mask;
        filter.wave_mask_high = 0; /* no workgroup has more than 32 waves here */
        const size_t waves = check_filter(
            filter, shape, [&](const uint32_t *, uint32_t, uint32_t wave, uint32_t) { return mask >> wave & 1; },
            "mask");
        CHECK_EQUAL(waves, 4 * __builtin_popcount(mask));
    }
    ktrace_filter none = KTRACE_FILTER_INIT;
    none.wave_mask_low = 0;
    CHECK_EQUAL(check_filter(
                    none, shape, [](const uint32_t *, uint32_t, uint32_t, uint32_t) { return false; }, "upper half"),
                0);
}

/* ---- All together ----------------------------------------------------------------------------------------------- */

/* Hashed filters of all conditions, on grids and blocks of all shapes. */
TEST_CASE(combined)
{
    const uint32_t sms = sm_count();
    std::mt19937 random(4711);
    const auto below = [&](uint32_t limit) { return (uint32_t)(random() % limit); };
    size_t recorded = 0, some = 0;
    const int rounds = test::quick() ? 10 : 120;
    for (int round = 0; round < rounds; round++) {
        const shape shape = {dim3(1 + below(40), 1 + below(9), 1 + below(5)),
                             dim3(1 + below(64), 1 + below(4), 1 + below(4))};
        const uint32_t size[3] = {shape.grid.x, shape.grid.y, shape.grid.z};
        ktrace_filter filter = KTRACE_FILTER_INIT;
        for (int i = 0; i < 3; i++)
            if (below(2)) {
                filter.block_first[i] = below(size[i]);
                filter.block_last[i] = filter.block_first[i] + below(size[i]);
            }
        if (below(2)) {
            filter.place_first = below(sms);
            filter.place_last = filter.place_first + below(sms);
        }
        if (below(2))
            filter.workgroup_step = 1 + below(5);
        if (below(2))
            filter.wave_mask_low = 1u + below(0xFFFFFFFFu);
        const condition passes = [&](const uint32_t block[3], uint32_t linear, uint32_t wave, uint32_t sm) {
            for (int i = 0; i < 3; i++)
                if (block[i] < filter.block_first[i] || block[i] > filter.block_last[i])
                    return false;
            return sm >= filter.place_first && sm <= filter.place_last && linear % filter.workgroup_step == 0 &&
                   (filter.wave_mask_low >> wave & 1) != 0;
        };
        char what[32];
        std::snprintf(what, sizeof(what), "round %d", round);
        const size_t waves = check_filter(filter, shape, passes, what);
        recorded += waves;
        some += waves > 0;
    }
    std::printf("  %d filters, %zu of them let %zu waves pass\n", rounds, some, recorded);
    CHECK(some > (size_t)rounds / 4, "only %zu of %d filters let anything pass", some, rounds);
}

/* ---- As text ---------------------------------------------------------------------------------------------------- */

/* In the option, and in the environment where the option is not given. */
TEST_CASE(filters_as_text)
{
    const struct {
        const char *text;
        condition passes;
    } texts[] = {
        {"all", [](const uint32_t *, uint32_t, uint32_t, uint32_t) { return true; }},
        {"*,*,*", [](const uint32_t *, uint32_t, uint32_t, uint32_t) { return true; }},
        {"3", [](const uint32_t *at, uint32_t, uint32_t, uint32_t) { return at[0] == 3; }},
        {"0,0,0", [](const uint32_t *, uint32_t linear, uint32_t, uint32_t) { return linear == 0; }},
        {"2-5,1",
         [](const uint32_t *at, uint32_t, uint32_t, uint32_t) { return at[0] >= 2 && at[0] <= 5 && at[1] == 1; }},
        {"*,2-,-0", [](const uint32_t *at, uint32_t, uint32_t, uint32_t) { return at[1] >= 2 && at[2] == 0; }},
        {"sm:5", [](const uint32_t *, uint32_t, uint32_t, uint32_t sm) { return sm == 5; }},
        {"sm:10-40", [](const uint32_t *, uint32_t, uint32_t, uint32_t sm) { return sm >= 10 && sm <= 40; }},
        {"sm:40-", [](const uint32_t *, uint32_t, uint32_t, uint32_t sm) { return sm >= 40; }},
        {"every:3", [](const uint32_t *, uint32_t linear, uint32_t, uint32_t) { return linear % 3 == 0; }},
        {"waves:0,2-3", [](const uint32_t *, uint32_t, uint32_t wave, uint32_t) { return wave != 1 && wave <= 3; }},
        {"2-,*,1; sm:-90 every:2;waves:1-",
         [](const uint32_t *at, uint32_t linear, uint32_t wave, uint32_t sm) {
             return at[0] >= 2 && at[2] == 1 && sm <= 90 && linear % 2 == 0 && wave >= 1;
         }},
    };
    const shape shape = {dim3(8, 4, 3), dim3(160)};
    for (const auto &one : texts) {
        ktrace_capture_options options = test::sizes(16, 4);
        options.blocks = one.text;
        const size_t waves = check_options(options, shape, one.passes, one.text);
        std::printf("  \"%s\": %zu of %u waves\n", one.text, waves, shape.waves());
        options.blocks = nullptr;
        CHECK(setenv("KTRACE_BLOCKS", one.text, 1) == 0, "setenv");
        check_options(options, shape, one.passes, one.text);
        unsetenv("KTRACE_BLOCKS");
    }
    CHECK(setenv("KTRACE_BLOCKS", "0,0,0", 1) == 0, "setenv");
    ktrace_capture_options options = test::sizes(16, 4);
    options.blocks = "1,0,0";
    check_options(
        options, shape, [](const uint32_t *, uint32_t linear, uint32_t, uint32_t) { return linear == 1; },
        "the option before the environment");
    unsetenv("KTRACE_BLOCKS");
}

/* What is malformed, or of the other vendor, is quoted. */
TEST_CASE(malformed_texts_are_refused)
{
    const char *const texts[][2] = {{"1,2,3,4", "1,2,3,4"}, {"sm:x", "sm:x"},       {"5-2", "5-2"},
                                    {"xcc:0", "xcc:"},      {"every:0", "every:0"}, {"waves:64", "waves:64"},
                                    {"some", "some"}};
    for (const auto &one : texts) {
        const char *const text = one[0], *const quoted = one[1];
        ktrace_capture_options options = test::sizes(16, 4);
        options.blocks = text;
        ktrace_capture *capture = nullptr;
        const int status = ktrace_capture_begin(&capture, &options);
        const std::string message = status < 0 ? ktrace_last_error() : "";
        CHECK(status == KTRACE_ERROR_ARGUMENT, "\"%s\" gives '%s'", text, ktrace_status_name(status));
        CHECK(message.find(quoted) != std::string::npos, "\"%s\" is not in '%s'", quoted, message.c_str());
        ktrace_capture_destroy(capture);
        std::printf("  said: %s\n", message.c_str());
    }
}

/* ---- Over time -------------------------------------------------------------------------------------------------- */

/* The count of those turned away begins anew with each read and clear, as the waves do. */
TEST_CASE(filtered_waves_are_counted_anew)
{
    const shape shape = {dim3(10, 2), dim3(64)};
    test::device_array<uint32_t> place_of_wave(shape.waves());
    ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.block_first[0] = filter.block_last[0] = 4;
    ktrace_capture_options options = test::sizes(16, 4);
    options.filter = &filter;
    test::capture capture;
    test::trace trace;
    REQUIRE(capture.begin(options) == 0);
    for (int launches = 1; launches <= 3; launches++) {
        for (int i = 0; i < launches; i++)
            listed<<<shape.grid, shape.block>>>(place_of_wave.get());
        REQUIRE(capture.read(trace) == 0);
        test::check_consistent(trace);
        CHECK_EQUAL(trace.info.waves, 4 * launches);
        CHECK_EQUAL(trace.info.waves_filtered, 36 * launches);
        CHECK_EQUAL(trace.launches.size(), launches);
        listed<<<shape.grid, shape.block>>>(place_of_wave.get());
        REQUIRE(capture.clear() == 0);
    }
    listed<<<shape.grid, shape.block>>>(place_of_wave.get());
    REQUIRE(capture.end(trace) == 0);
    CHECK_EQUAL(trace.info.waves, 4);
    CHECK_EQUAL(trace.info.waves_filtered, 36);
}

/* A filtered wave claims nothing: a grid far larger than the buffer passes. */
TEST_CASE(filter_spares_the_buffer)
{
    const shape shape = {dim3(test::quick() ? 2000 : 50000), dim3(64)};
    ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.block_first[0] = filter.block_last[0] = 77;
    ktrace_capture_options options = test::sizes(16, 4, 64 * 1024);
    options.filter = &filter;
    test::device_array<uint32_t> place_of_wave(shape.waves());
    const test::trace trace = test::record(options, [&] { listed<<<shape.grid, shape.block>>>(place_of_wave.get()); });
    REQUIRE(trace.valid());
    check_chosen(trace, shape, place_of_wave.host(), {wave_key(77, 0, 0, 0), wave_key(77, 0, 0, 1)}, "77");
}

TEST_CASE(filter_turns_all_away)
{
    const shape shape = {dim3(10), dim3(64)};
    ktrace_filter filter = KTRACE_FILTER_INIT;
    filter.block_first[1] = 5;
    ktrace_capture_options options = test::sizes(16, 4);
    options.filter = &filter;
    test::device_array<uint32_t> place_of_wave(shape.waves());
    const test::trace trace = test::record(options, [&] { listed<<<shape.grid, shape.block>>>(place_of_wave.get()); });
    REQUIRE(trace.valid());
    check_chosen(trace, shape, place_of_wave.host(), {}, "none");
    CHECK(trace.warning.find("filter") != std::string::npos && trace.warning.find("20") != std::string::npos,
          "warning: '%s'", trace.warning.c_str());
}

/* Conditions that nothing can meet are refused, with the bounds that exclude each other. */
TEST_CASE(impossible_filters_are_refused)
{
    ktrace_filter filters[3] = {KTRACE_FILTER_INIT, KTRACE_FILTER_INIT, KTRACE_FILTER_INIT};
    filters[0].block_first[1] = 7, filters[0].block_last[1] = 6;
    filters[1].place_first = 9, filters[1].place_last = 8;
    filters[2].wave_mask_low = filters[2].wave_mask_high = 0;
    const char *const quoted[3] = {"7 to 6", "9 to 8", "mask"};
    for (int i = 0; i < 3; i++) {
        ktrace_capture_options options = test::sizes(16, 4);
        options.filter = &filters[i];
        ktrace_capture *capture = nullptr;
        const int status = ktrace_capture_begin(&capture, &options);
        const std::string message = ktrace_last_error();
        CHECK(status == KTRACE_ERROR_ARGUMENT, "filter %d: %s", i, ktrace_status_name(status));
        CHECK(message.find(quoted[i]) != std::string::npos, "'%s' is not in '%s'", quoted[i], message.c_str());
        ktrace_capture_destroy(capture);
        std::printf("  said: %s\n", message.c_str());
    }
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
