/* watched.cu - what test_watch.py watches: hangs in a kernel until it is told to go on, as tests/sim/watch/program.c does on the
 * simulator, with the same kernel and the same commands.
 *
 *     watched capture|end|process-wide|full
 *
 * With `full` there are so many workgroups that all SMs are full of waiting waves, and more wait to start. Exit status 77: there is
 * no GPU. No kernel hangs for good: each gives up after a minute.
 */
#include <ktrace/device.h>
#include <ktrace/ktrace.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace
{

constexpr unsigned long long give_up_ns = 60000000000ull;

int *flag; /* in host memory: the kernel waits for it */
ktrace_capture *capture;
std::thread waiting;
const char *how;

void must(bool good, const char *what)
{
    if (good)
        return;
    std::fprintf(stderr, "%s: %s %s\n", what, ktrace_last_error(), cudaGetErrorString(cudaGetLastError()));
    std::exit(1);
}

void say(const char *line)
{
    std::printf("%s\n", line);
    std::fflush(stdout);
}

__device__ unsigned long long wall_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

__device__ void wait_for_host(const volatile int *host)
{
    if ((threadIdx.x & 31) == 0) {
        const unsigned long long begin = wall_ns();
        while (*host == 0 && wall_ns() - begin < give_up_ns)
            __nanosleep(1000);
    }
    __syncwarp();
}

} /* namespace */

/* Two waves a workgroup. Workgroups from `stuck` on go straight through. */
__global__ void pipeline(const volatile int *host, int stuck)
{
    KTRACE_KERNEL("pipeline");
    KTRACE_RANGE("body", (int)blockIdx.x);
    KTRACE_MARK("entered");
    if ((int)blockIdx.x >= stuck)
        return;
    if (threadIdx.x < 32) {
        KTRACE_RANGE("wait_empty", 3);
        wait_for_host(host);
    } else {
        const ktrace_token tile = KTRACE_RANGE_START("tile", 7);
        KTRACE_RANGE("wait_full", (int)blockIdx.x);
        wait_for_host(host);
        KTRACE_RANGE_STOP(tile);
    }
    KTRACE_MARK("released");
}

namespace
{

void wait_for_kernel()
{
    if (std::strcmp(how, "end") == 0) {
        ktrace_trace *trace = nullptr;
        must(ktrace_capture_end(&trace, capture) == 0, "ktrace_capture_end");
        capture = nullptr;
        ktrace_trace_destroy(trace);
    } else {
        must(cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
    }
}

void launch()
{
    int *host = nullptr;
    const bool full = std::strcmp(how, "full") == 0;
    must(cudaHostGetDevicePointer((void **)&host, flag, 0) == cudaSuccess, "cudaHostGetDevicePointer");
    *(volatile int *)flag = 0;
    if (full)
        pipeline<<<100000, 64>>>(host, 100000);
    else
        pipeline<<<6, 64>>>(host, 4);
    must(cudaGetLastError() == cudaSuccess, "launching");
    waiting = std::thread(wait_for_kernel);
    say("launched");
}

void go()
{
    *(volatile int *)flag = 1;
    waiting.join();
    say("gone on");
}

} /* namespace */

int main(int argc, char **argv)
{
    char line[64];
    if (argc != 2)
        return 2;
    how = argv[1];
    const cudaError_t error = cudaHostAlloc((void **)&flag, sizeof(*flag), cudaHostAllocMapped);
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        return 77;
    }
    while (std::fgets(line, sizeof(line), stdin)) {
        if (std::strcmp(line, "begin\n") == 0) {
            ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
            options.name = "watched";
            must(ktrace_capture_begin(&capture, &options) == 0, "ktrace_capture_begin");
            say("begun");
        } else if (std::strcmp(line, "launch\n") == 0) {
            launch();
        } else if (std::strcmp(line, "go\n") == 0) {
            go();
        } else if (std::strcmp(line, "end\n") == 0) {
            must(ktrace_capture_end(nullptr, capture) == 0, "ktrace_capture_end");
            capture = nullptr;
            say("ended");
        } else {
            return 2;
        }
    }
    return 0;
}
