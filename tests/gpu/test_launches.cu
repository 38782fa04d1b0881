/* Launches: one entry for each, in the order in which they began, each with what its kernel says of itself. Repeated calls,
 * several kernels, streams that overlap, host threads, and the ways to launch that CUDA has beside <<<>>>: cooperative, in
 * clusters, and dependent on a predecessor that is still running. */
#include "check.h"
#include "launches.h"

#include <ktrace/device.h>

#include <cooperative_groups.h>

#include <atomic>
#include <memory>
#include <thread>

using test::mark;
using test::pop;
using test::push;
using test::told;
using test::whole_launch;

/* ---- Kernels ---------------------------------------------------------------------------------------------------- */

/* Three events a wave. */
__global__ void small(int number, told *all)
{
    KTRACE_KERNEL("small");
    KTRACE_RANGE("body", number);
    KTRACE_MARK("block", (int)blockIdx.x);
    test::tell(all + number);
}

/* 1 + 2 * turns. */
__global__ void with_tokens(int number, int turns, told *all)
{
    KTRACE_KERNEL("with tokens");
    KTRACE_MARK("number", number);
    test::tell(all + number);
#pragma unroll 1
    for (int i = 0; i < turns; i++) {
        const ktrace_token token = KTRACE_RANGE_START("turn", i);
        test::tell(all + number);
        KTRACE_RANGE_STOP(token);
    }
}

/* The same names as in the first: phases are a kernel's own. */
__global__ void namesake(int number, told *all)
{
    KTRACE_KERNEL("namesake");
    KTRACE_RANGE("body", number);
    test::tell(all + number);
}

/* Runs until `wanted` launches are on the device. */
__global__ void meeting(int number, told *all, unsigned *arrived, unsigned wanted, unsigned *late)
{
    KTRACE_KERNEL("meeting");
    KTRACE_RANGE("body", number);
    test::tell(all + number);
    if (blockIdx.x == 0 && threadIdx.x == 0 && !test::meet(arrived, wanted))
        atomicAdd(late, 1u);
    __syncthreads();
    __syncwarp();
    KTRACE_MARK("met");
    test::tell(all + number);
}

__global__ void cooperative(int number, told *all, unsigned *sums)
{
    KTRACE_KERNEL("cooperative");
    KTRACE_RANGE("body", number);
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    test::tell(all + number);
    if (threadIdx.x == 0)
        atomicAdd(&sums[0], 1u);
    __syncwarp();
    KTRACE_RANGE_PUSH("barrier");
    grid.sync();
    __syncwarp();
    KTRACE_RANGE_POP();
    if (threadIdx.x == 0)
        atomicAdd(&sums[1], sums[0]); /* all of them see all */
    test::tell(all + number);
}

/* Every workgroup adds up the linear indexes of its cluster's workgroups, which it reads in their shared memory. */
__device__ __forceinline__ void cluster_sum(unsigned *sums)
{
#if __CUDA_ARCH__ >= 900
    __shared__ unsigned mine;
    cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    if (threadIdx.x == 0)
        mine = block;
    cluster.sync();
    if (threadIdx.x == 0) {
        unsigned sum = 0;
        for (unsigned rank = 0; rank < cluster.num_blocks(); rank++)
            sum += *cluster.map_shared_rank(&mine, rank);
        sums[block] = sum;
    }
    cluster.sync();
    __syncwarp();
#else
    (void)sums;
#endif
}

__global__ void clustered(int number, told *all, unsigned *sums)
{
    KTRACE_KERNEL("clustered");
    KTRACE_RANGE("body", number);
    test::tell(all + number);
    {
        KTRACE_RANGE("cluster");
        cluster_sum(sums);
    }
    test::tell(all + number);
}

/* One of a chain in which each begins while the one before still runs: it does not end before the next has begun.
 * values[i + 1] is written by launch i and read by launch i + 1 behind its wait. */
__global__ void dependent(int number, int last, told *all, unsigned *begun, int *values, unsigned *late)
{
    KTRACE_KERNEL("dependent");
    {
        KTRACE_RANGE("preamble", number);
        test::tell(all + number);
        if (threadIdx.x == 0)
            atomicAdd(&begun[number], 1u);
        __syncwarp();
    }
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    KTRACE_MARK("released");
    if (blockIdx.x == 0 && threadIdx.x == 0 && number < last && !test::meet(&begun[number + 1], gridDim.x + 1))
        atomicAdd(late, 1u);
    __syncthreads();
    __syncwarp();
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    KTRACE_RANGE("body", *(volatile int *)&values[number]);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *(volatile int *)&values[number + 1] = number + 1;
    __syncwarp();
    test::tell(all + number);
}

/* ---- One after the other ---------------------------------------------------------------------------------------- */

namespace
{

/* The first payload of a launch's first wave: every kernel here begins with its number, in every wave. -1: none. */
int number_of(const test::trace &trace, uint32_t launch)
{
    int number = -1;
    for (const test::wave &wave : trace.waves) {
        if (wave.info.launch != launch)
            continue;
        const test::about about(wave);
        CHECK(!wave.events.empty() && wave.events[0].payload_type == KTRACE_PAYLOAD_INT32, "no number");
        if (wave.events.empty())
            return -1;
        if (number < 0)
            number = (int)wave.events[0].payload;
        CHECK(number == (int)wave.events[0].payload, "a wave of launch %d among those of %d",
              (int)wave.events[0].payload, number);
    }
    return number;
}

/* Launch i has number i. */
void check_numbers_rise(const test::trace &trace, const std::vector<told> &all)
{
    std::set<uint64_t> ids;
    for (uint32_t i = 0; i < trace.launches.size(); i++) {
        CHECK_EQUAL(number_of(trace, i), i);
        if (i < all.size())
            test::check_told(trace, i, all[i]);
        CHECK_EQUAL(trace.launches[i].occurrence, 0);
        CHECK(ids.insert(trace.launches[i].grid_id).second, "grid id %llu of launch %u is not its own",
              (unsigned long long)trace.launches[i].grid_id, i);
    }
}

/* The launch of every number, which must be there exactly once. Empty after a failure. */
std::vector<uint32_t> launches_by_number(const test::trace &trace, int count)
{
    std::vector<uint32_t> index(count, KTRACE_NO_INDEX);
    CHECK(trace.launches.size() == (size_t)count, "%zu launches, expected %d", trace.launches.size(), count);
    for (uint32_t i = 0; i < trace.launches.size(); i++) {
        const int number = number_of(trace, i);
        CHECK(number >= 0 && number < count && index[number] == KTRACE_NO_INDEX, "launch %u has number %d", i, number);
        if (number >= 0 && number < count)
            index[number] = i;
    }
    for (const uint32_t i : index)
        if (i == KTRACE_NO_INDEX)
            return {};
    return index;
}

} /* namespace */

TEST_CASE(repeated_calls)
{
    const int count = test::quick() ? 5 : 40;
    test::device_array<told> all(count);
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (int i = 0; i < count; i++)
            small<<<7, 96>>>(i, all.get());
    });
    REQUIRE(trace.valid());
    REQUIRE(test::check_launches(trace, std::vector<test::wanted_launch>(count, whole_launch("small", 7, 96, 3))));
    check_numbers_rise(trace, all.host());
    test::check_phases(trace, {{"small", "body", KTRACE_KIND_PUSH, 21u * (unsigned)count},
                               {"small", "block", KTRACE_KIND_MARK, 21u * (unsigned)count}});
    for (int i = 0; i < count; i++) {
        CHECK_EQUAL(test::phase_in_launch(trace, i, KTRACE_KIND_PUSH, "body"), 21);
        CHECK_EQUAL(test::phase_in_launch(trace, i, KTRACE_KIND_MARK, "block"), 21);
    }
}

TEST_CASE(several_kernels)
{
    const int rounds = 4;
    test::device_array<told> all(3 * rounds);
    const dim3 grids[3] = {dim3(3, 2, 2), dim3(1, 5), dim3(2)};
    const dim3 blocks[3] = {dim3(8, 4, 3), dim3(33), dim3(16, 2, 32)};
    const test::trace trace = test::record(test::sizes(64, 4), [&] {
        for (int i = 0; i < rounds; i++) {
            small<<<grids[0], blocks[0]>>>(3 * i, all.get());
            with_tokens<<<grids[1], blocks[1]>>>(3 * i + 1, i, all.get());
            namesake<<<grids[2], blocks[2]>>>(3 * i + 2, all.get());
        }
    });
    REQUIRE(trace.valid());
    std::vector<test::wanted_launch> wanted;
    uint64_t turns = 0;
    for (int i = 0; i < rounds; i++) {
        wanted.push_back(whole_launch("small", grids[0], blocks[0], 3));
        wanted.push_back(whole_launch("with tokens", grids[1], blocks[1], 1u + 2u * (unsigned)i));
        wanted.push_back(whole_launch("namesake", grids[2], blocks[2], 2));
        turns += wanted[3 * i + 1].waves * (unsigned)i;
    }
    REQUIRE(test::check_launches(trace, wanted));
    check_numbers_rise(trace, all.host());
    test::check_phases(trace, {{"small", "body", KTRACE_KIND_PUSH, rounds * wanted[0].waves},
                               {"small", "block", KTRACE_KIND_MARK, rounds * wanted[0].waves},
                               {"with tokens", "number", KTRACE_KIND_MARK, rounds * wanted[1].waves},
                               {"with tokens", "turn", KTRACE_KIND_START, turns},
                               {"namesake", "body", KTRACE_KIND_PUSH, rounds * wanted[2].waves}});
    for (int i = 0; i < rounds; i++)
        CHECK_EQUAL(test::phase_in_launch(trace, 3 * i + 1, KTRACE_KIND_START, "turn"), wanted[3 * i + 1].waves * i);
}

/* Many more waves than fit on the device at once. */
TEST_CASE(one_large_launch)
{
    const uint32_t blocks = test::quick() ? 2000 : 30000;
    test::device_array<told> all(1);
    const test::trace trace =
        test::record(test::sizes(8, 2, 512 << 20), [&] { small<<<dim3(blocks / 4, 4), 64>>>(0, all.get()); });
    REQUIRE(trace.valid());
    REQUIRE(test::check_launches(trace, {whole_launch("small", dim3(blocks / 4, 4), 64, 3)}));
    check_numbers_rise(trace, all.host());
    test::check_phases(trace, {{"small", "body", KTRACE_KIND_PUSH, 2 * (uint64_t)blocks},
                               {"small", "block", KTRACE_KIND_MARK, 2 * (uint64_t)blocks}});
}

/* ---- At the same time ------------------------------------------------------------------------------------------- */

/* In each round all streams have the same kernel, of the same size, on the device at once: they wait for one another. */
TEST_CASE(streams_overlap)
{
    const int streams = 4, rounds = 5, count = streams * rounds;
    test::device_array<told> all(count);
    test::device_array<unsigned> arrived(rounds), late(1);
    std::vector<std::unique_ptr<test::side_stream>> side;
    for (int s = 0; s < streams; s++)
        side.emplace_back(new test::side_stream);
    test::preload(meeting);
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (int r = 0; r < rounds; r++)
            for (int s = 0; s < streams; s++)
                meeting<<<3, 64, 0, *side[s]>>>(r * streams + s, all.get(), arrived.get() + r, streams, late.get());
    });
    REQUIRE(trace.valid());
    CHECK(late.host()[0] == 0, "launches of different streams were not on the device at once");
    test::check_launches(trace, std::vector<test::wanted_launch>(count, whole_launch("meeting", 3, 64, 3)));
    const std::vector<uint32_t> index = launches_by_number(trace, count);
    REQUIRE(!index.empty());
    const std::vector<told> said = all.host();
    for (int i = 0; i < count; i++) {
        test::check_told(trace, index[i], said[i]);
        if (i >= streams)
            CHECK(index[i] > index[i - streams], "launches %d and %d of one stream", i - streams, i);
        for (int k = i / streams * streams; k < i; k++)
            CHECK(test::overlap(trace.launches[index[i]], trace.launches[index[k]]),
                  "launches %d and %d, which met, do not overlap", k, i);
    }
    test::check_phases(
        trace, {{"meeting", "body", KTRACE_KIND_PUSH, 6u * count}, {"meeting", "met", KTRACE_KIND_MARK, 6u * count}});
}

/* Launches on many streams, each of which waits for an event behind the one before: their order is known. */
TEST_CASE(streams_in_a_chain)
{
    const int streams = 6, count = test::quick() ? 12 : 60;
    test::device_array<told> all(count);
    std::vector<std::unique_ptr<test::side_stream>> side;
    for (int s = 0; s < streams; s++)
        side.emplace_back(new test::side_stream);
    cudaEvent_t done;
    CUDA_OK_OR_RETURN(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (int i = 0; i < count; i++) {
            const cudaStream_t stream = *side[i * 5 % streams];
            if (i > 0)
                CHECK_CUDA(cudaStreamWaitEvent(stream, done, 0));
            small<<<2, 64, 0, stream>>>(i, all.get());
            CHECK_CUDA(cudaEventRecord(done, stream));
        }
    });
    CHECK_CUDA(cudaEventDestroy(done));
    REQUIRE(trace.valid());
    REQUIRE(test::check_launches(trace, std::vector<test::wanted_launch>(count, whole_launch("small", 2, 64, 3))));
    check_numbers_rise(trace, all.host());
}

TEST_CASE(host_threads)
{
    const int threads = 8, launches = test::quick() ? 5 : 60, count = threads * launches;
    test::device_array<told> all(count);
    std::atomic<int> errors{0};
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        std::vector<std::thread> workers;
        for (int t = 0; t < threads; t++)
            workers.emplace_back([&, t] {
                cudaStream_t stream;
                errors += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
                for (int i = 0; i < launches; i++) {
                    const int number = t * launches + i;
                    if (i % 2)
                        small<<<1 + t, 64, 0, stream>>>(number, all.get());
                    else
                        with_tokens<<<1 + t, 32, 0, stream>>>(number, 2, all.get());
                    errors += cudaGetLastError() != cudaSuccess;
                }
                errors += cudaStreamSynchronize(stream) != cudaSuccess;
                errors += cudaStreamDestroy(stream) != cudaSuccess;
            });
        for (std::thread &worker : workers)
            worker.join();
    });
    CHECK_EQUAL(errors.load(), 0);
    REQUIRE(trace.valid());
    test::check_clean(trace);
    test::check_launch_waves(trace);
    const std::vector<uint32_t> index = launches_by_number(trace, count);
    REQUIRE(!index.empty());
    const std::vector<told> said = all.host();
    for (int i = 0; i < count; i++) {
        const unsigned blocks = 1u + (unsigned)(i / launches);
        test::check_launch(trace, index[i],
                           i % launches % 2 ? whole_launch("small", blocks, 64, 3)
                                            : whole_launch("with tokens", blocks, 32, 5));
        test::check_told(trace, index[i], said[i]);
        if (i % launches)
            CHECK(index[i] > index[i - 1], "launches %d and %d of one thread", i - 1, i);
    }
}

/* ---- Other ways to launch --------------------------------------------------------------------------------------- */

TEST_CASE(cooperative_launches)
{
    int supported = 0;
    CUDA_OK_OR_RETURN(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
    if (!supported)
        return test::skip_case("the device has no cooperative launches");
    const int count = 4;
    const unsigned blocks = 32;
    test::device_array<told> all(count);
    test::device_array<unsigned> sums(2 * count);
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (int i = 0; i < count; i++) {
            told *said = all.get();
            unsigned *sum = sums.get() + 2 * i;
            void *arguments[] = {&i, &said, &sum};
            CHECK_CUDA(
                cudaLaunchCooperativeKernel((const void *)cooperative, dim3(blocks), dim3(128), arguments, 0, nullptr));
        }
    });
    REQUIRE(trace.valid());
    REQUIRE(test::check_launches(trace,
                                 std::vector<test::wanted_launch>(count, whole_launch("cooperative", blocks, 128, 4))));
    check_numbers_rise(trace, all.host());
    test::check_phases(trace, {{"cooperative", "body", KTRACE_KIND_PUSH, blocks * 4u * count},
                               {"cooperative", "barrier", KTRACE_KIND_PUSH, blocks * 4u * count}});
    const std::vector<unsigned> sum = sums.host();
    for (int i = 0; i < count; i++)
        CHECK(sum[2 * i] == blocks && sum[2 * i + 1] == blocks * blocks, "the grid was not in step: %u, %u", sum[2 * i],
              sum[2 * i + 1]);
}

namespace
{

int compute_capability()
{
    int major = 0;
    CHECK_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    return major;
}

cudaLaunchConfig_t config_of(dim3 grid, dim3 block, cudaLaunchAttribute *attribute)
{
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

unsigned cluster_sum_of(dim3 grid, dim3 cluster, unsigned x, unsigned y)
{
    unsigned sum = 0;
    for (unsigned j = y / cluster.y * cluster.y; j < y / cluster.y * cluster.y + cluster.y; j++)
        for (unsigned i = x / cluster.x * cluster.x; i < x / cluster.x * cluster.x + cluster.x; i++)
            sum += i + grid.x * j;
    return sum;
}

} /* namespace */

TEST_CASE(cluster_launches)
{
    if (compute_capability() < 9)
        return test::skip_case("clusters begin with compute capability 9.0");
    const struct {
        dim3 grid, cluster;
        unsigned threads;
    } shapes[] = {{dim3(8), dim3(2), 64},
                  {dim3(16, 3), dim3(8), 32},
                  {dim3(4, 6), dim3(2, 2), 96},
                  {dim3(5, 2), dim3(1), 33},
                  {dim3(64, 4), dim3(4), 128}};
    const int count = sizeof(shapes) / sizeof(shapes[0]), most = 256;
    test::device_array<told> all(count);
    test::device_array<unsigned> sums((size_t)count * most);
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (int i = 0; i < count; i++) {
            cudaLaunchAttribute attribute{};
            attribute.id = cudaLaunchAttributeClusterDimension;
            attribute.val.clusterDim.x = shapes[i].cluster.x;
            attribute.val.clusterDim.y = shapes[i].cluster.y;
            attribute.val.clusterDim.z = shapes[i].cluster.z;
            const cudaLaunchConfig_t config = config_of(shapes[i].grid, shapes[i].threads, &attribute);
            CHECK_CUDA(cudaLaunchKernelEx(&config, clustered, i, all.get(), sums.get() + i * most));
        }
    });
    REQUIRE(trace.valid());
    std::vector<test::wanted_launch> wanted;
    uint64_t waves = 0;
    for (const auto &shape : shapes) {
        wanted.push_back(whole_launch("clustered", shape.grid, shape.threads, 4));
        waves += wanted.back().waves;
    }
    REQUIRE(test::check_launches(trace, wanted));
    check_numbers_rise(trace, all.host());
    test::check_phases(
        trace, {{"clustered", "body", KTRACE_KIND_PUSH, waves}, {"clustered", "cluster", KTRACE_KIND_PUSH, waves}});
    const std::vector<unsigned> sum = sums.host();
    for (int i = 0; i < count; i++)
        for (unsigned y = 0; y < shapes[i].grid.y; y++)
            for (unsigned x = 0; x < shapes[i].grid.x; x++) {
                const unsigned expected = cluster_sum_of(shapes[i].grid, shapes[i].cluster, x, y);
                const unsigned actual = sum[(size_t)i * most + x + shapes[i].grid.x * y];
                CHECK(actual == expected, "cluster of (%u, %u) in launch %d: %u and not %u", x, y, i, actual, expected);
            }
}

/* Each is begun before the one before has ended, which waits for it. */
TEST_CASE(programmatic_dependent_launches)
{
    if (compute_capability() < 9)
        return test::skip_case("programmatic dependent launches begin with compute capability 9.0");
    const int count = 8;
    const unsigned blocks = 4;
    test::device_array<told> all(count);
    test::device_array<unsigned> begun(count), late(1);
    test::device_array<int> values(count + 1);
    test::preload(dependent);
    test::side_stream stream;
    const test::trace trace = test::record(test::sizes(16, 4), [&] {
        for (int i = 0; i < count; i++) {
            cudaLaunchAttribute attribute{};
            attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
            attribute.val.programmaticStreamSerializationAllowed = 1;
            cudaLaunchConfig_t config = config_of(blocks, 64, &attribute);
            config.stream = stream;
            CHECK_CUDA(
                cudaLaunchKernelEx(&config, dependent, i, count - 1, all.get(), begun.get(), values.get(), late.get()));
        }
    });
    REQUIRE(trace.valid());
    CHECK(late.host()[0] == 0, "%u launches waited in vain for the next to begin", late.host()[0]);
    CHECK_EQUAL(values.host()[count], count);
    REQUIRE(
        test::check_launches(trace, std::vector<test::wanted_launch>(count, whole_launch("dependent", blocks, 64, 5))));
    check_numbers_rise(trace, all.host());
    for (int i = 1; i < count; i++)
        CHECK(test::overlap(trace.launches[i - 1], trace.launches[i]), "launches %d and %d do not overlap", i - 1, i);
    for (const test::wave &wave : trace.waves) {
        const int number = (int)wave.info.launch; /* what it read behind its wait is its predecessor's */
        test::check_sequence(
            wave, {push("preamble", 0, number), pop(0), mark("released", 0), push("body", 0, number), pop(0)});
    }
    test::check_phases(trace, {{"dependent", "preamble", KTRACE_KIND_PUSH, blocks * 2u * count},
                               {"dependent", "released", KTRACE_KIND_MARK, blocks * 2u * count},
                               {"dependent", "body", KTRACE_KIND_PUSH, blocks * 2u * count}});
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
