/* Looking at kernels that are still inside: which waves, in which ranges, at which event. No kernel here can hang for good: each
 * gives up after some seconds. */
#include "check.h"

#include <ktrace/device.h>

using test::mark;
using test::pop;
using test::push;
using test::start;
using test::stop;

namespace
{

constexpr unsigned long long give_up_ns = 20000000000ull;

/* In host memory that the device sees. */
struct signals {
    volatile unsigned release; /* the host lets the kernel go on */
    volatile unsigned inside;  /* waves that wait */
    volatile unsigned gave_up;
};

__device__ unsigned long long wall_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

/* By one lane of a wave. Everything it stored is visible before `inside` counts it. */
__device__ void wait_for_release(signals *host)
{
    __threadfence_system();
    atomicAdd_system((unsigned *)&host->inside, 1u);
    const unsigned long long begin = wall_ns();
    while (host->release == 0) {
        if (wall_ns() - begin > give_up_ns) {
            host->gave_up = 1;
            break;
        }
        __nanosleep(200);
    }
}

/* The kernel waits on a stream of its own until release() or the end of the scope. */
struct waiting_kernel {
    signals *host = nullptr;
    signals *device = nullptr;
    cudaStream_t stream = nullptr;

    waiting_kernel()
    {
        CHECK_CUDA(cudaHostAlloc(&host, sizeof(signals), cudaHostAllocMapped));
        if (!host)
            return;
        std::memset((void *)host, 0, sizeof(*host));
        CHECK_CUDA(cudaHostGetDevicePointer(&device, (void *)host, 0));
        CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    ~waiting_kernel()
    {
        release();
        if (stream)
            cudaStreamDestroy(stream);
        if (host)
            cudaFreeHost((void *)host);
    }
    waiting_kernel(const waiting_kernel &) = delete;
    waiting_kernel &operator=(const waiting_kernel &) = delete;
    bool ready() const
    {
        return host && device && stream;
    }
    /* All of them wait: true. */
    bool wait_until_inside(unsigned waves) const
    {
        for (int i = 0; i < 10000 && host->inside < waves; i++)
            usleep(1000);
        return host->inside >= waves;
    }
    void release()
    {
        if (!host)
            return;
        host->release = 1;
        __sync_synchronize();
        if (stream)
            CHECK_CUDA(cudaStreamSynchronize(stream));
    }
};

} /* namespace */

__global__ void waits_in_ranges(signals *host)
{
    KTRACE_KERNEL("waits in ranges");
    KTRACE_RANGE("outer", (int)blockIdx.x);
    KTRACE_MARK("entered");
    {
        KTRACE_RANGE("done before");
    }
    const ktrace_token token = KTRACE_RANGE_START("waiting");
    KTRACE_RANGE_PUSH("inner");
    KTRACE_MARK("last", (int)(threadIdx.x >> 5));
    if ((threadIdx.x & 31) == 0)
        wait_for_release(host);
    __syncwarp();
    KTRACE_RANGE_POP();
    KTRACE_RANGE_STOP(token);
    KTRACE_MARK("released");
}

TEST_CASE(peek_into_open_ranges)
{
    const unsigned blocks = 3, waves = blocks * 2;
    test::capture capture;
    waiting_kernel kernel; /* released before the capture goes */
    REQUIRE(kernel.ready());
    REQUIRE(capture.begin(test::sizes(64, 16)) == 0);
    test::trace trace;
    REQUIRE(capture.peek(trace) == 0);
    CHECK_EQUAL(trace.info.waves, 0);

    waits_in_ranges<<<blocks, 64, 0, kernel.stream>>>(kernel.device);
    CUDA_OK_OR_RETURN(cudaGetLastError());
    REQUIRE(kernel.wait_until_inside(waves), "%u of %u waves are inside", kernel.host->inside, waves);
    for (int look = 0; look < 2; look++) {
        REQUIRE(capture.peek(trace) == 0);
        CHECK(cudaStreamQuery(kernel.stream) == cudaErrorNotReady,
              "the kernel does not run any more: peek waited for it");
        test::check_consistent(trace);
        CHECK_EQUAL(trace.waves.size(), waves);
        CHECK_EQUAL(trace.info.waves_unfinished, waves);
        CHECK_EQUAL(trace.info.ranges_unclosed, 3 * waves);
        CHECK_EQUAL(trace.info.ends_unmatched, 0);
        CHECK_EQUAL(trace.info.slots_corrupt, 0);
        CHECK_EQUAL(trace.info.slots_lost, 0);
        for (const test::wave &wave : trace.waves) {
            const test::about about(wave);
            CHECK(wave.info.unfinished != 0);
            test::check_sequence(wave, {push("outer", 0, (int)wave.info.workgroup[0]), mark("entered", 0),
                                        push("done before", 0), pop(0), start("waiting", 0), push("inner", 0),
                                        mark("last", 0, (int)wave.info.wave)});
            test::check_pairs(wave, {{2, 3}});
        }
    }
    cudaGetLastError(); /* of the query */
    kernel.release();
    CHECK_EQUAL(kernel.host->gave_up, 0);
    REQUIRE(capture.end(trace) == 0);
    test::check_clean(trace);
    CHECK_EQUAL(trace.waves.size(), waves);
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        CHECK(wave.info.unfinished == 0);
        test::check_sequence(wave,
                             {push("outer", 0, (int)wave.info.workgroup[0]), mark("entered", 0), push("done before", 0),
                              pop(0), start("waiting", 0), push("inner", 0), mark("last", 0, (int)wave.info.wave),
                              pop(0), stop("waiting", 0), mark("released", 0), pop(0)});
        test::check_pairs(wave, {{0, 10}, {2, 3}, {4, 8}, {5, 7}});
    }
}

/* One lane other than 0 waits in its branch. The rest of the wave waits for it, behind or before its own branch. */
__global__ void lane_waits(signals *host)
{
    KTRACE_KERNEL("lane waits");
    const int lane = (int)(threadIdx.x & 31);
    KTRACE_RANGE("outer");
    KTRACE_MARK("together");
    __syncwarp();
    if (lane == 5) {
        KTRACE_RANGE("lane five");
        KTRACE_MARK("five waits", lane);
        wait_for_release(host);
        KTRACE_MARK("five goes on");
    }
    __syncwarp();
    KTRACE_MARK("together again");
}

TEST_CASE(peek_at_one_lane)
{
    test::capture capture;
    waiting_kernel kernel; /* released before the capture goes */
    REQUIRE(kernel.ready());
    REQUIRE(capture.begin(test::sizes(64, 16)) == 0);
    lane_waits<<<1, 32, 0, kernel.stream>>>(kernel.device);
    CUDA_OK_OR_RETURN(cudaGetLastError());
    REQUIRE(kernel.wait_until_inside(1));
    test::trace trace;
    REQUIRE(capture.peek(trace) == 0);
    test::check_consistent(trace);
    test::check_sequence(test::only_wave(trace),
                         {push("outer", 0), mark("together", 0), push("lane five", 5), mark("five waits", 5, 5)});
    CHECK_EQUAL(trace.info.waves_unfinished, 1);
    CHECK_EQUAL(trace.info.ranges_unclosed, 2);
    kernel.release();
    CHECK_EQUAL(kernel.host->gave_up, 0);
    REQUIRE(capture.end(trace) == 0);
    test::check_clean(trace);
    test::check_sequence(test::only_wave(trace),
                         {push("outer", 0), mark("together", 0), push("lane five", 5), mark("five waits", 5, 5),
                          mark("five goes on", 5), pop(5), mark("together again", 0), pop(0)});
}

__global__ void waits_after_many(signals *host, int count)
{
    KTRACE_KERNEL("waits after many");
#pragma unroll 1
    for (int i = 0; i < count; i++)
        KTRACE_MARK("many", i);
    if ((threadIdx.x & 31) == 0)
        wait_for_release(host);
    __syncwarp();
    KTRACE_MARK("released");
}

/* A ring that has wrapped, of a wave whose count nobody knows yet. */
TEST_CASE(peek_at_a_wrapped_ring)
{
    const int count = 1000, slots = 64;
    test::capture capture;
    waiting_kernel kernel; /* released before the capture goes */
    REQUIRE(kernel.ready());
    REQUIRE(capture.begin(test::sizes(slots, 16)) == 0);
    waits_after_many<<<1, 32, 0, kernel.stream>>>(kernel.device, count);
    CUDA_OK_OR_RETURN(cudaGetLastError());
    REQUIRE(kernel.wait_until_inside(1));
    test::trace trace;
    REQUIRE(capture.peek(trace) == 0);
    test::check_consistent(trace);
    {
        const test::wave &wave = test::only_wave(trace);
        const test::about about(wave);
        CHECK(wave.events.size() == (size_t)slots / 2 || wave.events.size() == (size_t)slots / 2 - 1, "%zu events",
              wave.events.size());
        for (size_t i = 0; i < wave.events.size(); i++)
            CHECK(test::matches(wave.events[i], mark("many", 0, count - (int)wave.events.size() + (int)i)), "event %zu",
                  i);
        CHECK(wave.info.slots_lost > 0);
    }
    kernel.release();
    CHECK_EQUAL(kernel.host->gave_up, 0);
    std::string message;
    const int status = capture.try_read(trace, message);
    CHECK(status == KTRACE_ERROR_OVERFLOW, "%s", ktrace_status_name(status));
}

/* Some waves are done, some inside, some not there yet. */
__global__ void some_wait(signals *host)
{
    KTRACE_KERNEL("some wait");
    KTRACE_RANGE("body", (int)blockIdx.x);
    if (blockIdx.x & 1) {
        if (threadIdx.x == 0)
            wait_for_release(host);
        __syncwarp();
    }
}

TEST_CASE(peek_at_some)
{
    const unsigned blocks = 8;
    test::capture capture;
    waiting_kernel kernel; /* released before the capture goes */
    REQUIRE(kernel.ready());
    REQUIRE(capture.begin(test::sizes(16, 4)) == 0);
    some_wait<<<blocks, 32, 0, kernel.stream>>>(kernel.device);
    CUDA_OK_OR_RETURN(cudaGetLastError());
    REQUIRE(kernel.wait_until_inside(blocks / 2));
    usleep(10000); /* the others have long left */
    test::trace trace;
    REQUIRE(capture.peek(trace) == 0);
    test::check_consistent(trace);
    CHECK_EQUAL(trace.waves.size(), blocks);
    CHECK_EQUAL(trace.info.waves_unfinished, blocks / 2);
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        const int block = (int)wave.info.workgroup[0];
        CHECK_EQUAL(wave.info.unfinished != 0, block & 1);
        if (block & 1)
            test::check_sequence(wave, {push("body", 0, block)});
        else
            test::check_sequence(wave, {push("body", 0, block), pop(0)});
    }
    kernel.release();
    CHECK_EQUAL(kernel.host->gave_up, 0);
    REQUIRE(capture.end(trace) == 0);
    test::check_clean(trace);
    CHECK_EQUAL(trace.waves.size(), blocks);
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
