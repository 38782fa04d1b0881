/* ranks.cu - one of two processes that test_merge.py merges: they take turns through memory that both see, so that the order of
 * what they record is known.
 *
 *     ranks NUMBER SHARED COUNT HOW SAVE.ktrace
 *
 *     NUMBER  0 or 1
 *     SHARED  a file of zeros in /dev/shm, the same for both
 *     COUNT   turns of each
 *     HOW     kernels: a turn is a launch that was waited for; marks: one launch, whose marks wait for the other device's
 *
 * A turn is a mark "turn" with its number, counted over both. On the current device. Exit status 77: there is no GPU.
 */
#include <ktrace/device.h>
#include <ktrace/ktrace.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

namespace
{

constexpr unsigned long long patience_ns = 20000000000ull;
constexpr size_t page_bytes = 4096;

/* In the file: two words on lines of their own. */
struct shared {
    std::atomic<unsigned> ready; /* how many have begun their capture */
    char space[124];
    std::atomic<unsigned> turn;
};

} // namespace

__global__ void one_turn(unsigned turn)
{
    KTRACE_KERNEL("turns");
    KTRACE_MARK("turn", turn);
}

/* Waits for its turns, whose number lies in host memory. */
__global__ void all_turns(unsigned number, unsigned count, volatile unsigned *turn, volatile unsigned *late)
{
    KTRACE_KERNEL("turns");
    for (unsigned i = 0; i < count; i++) {
        const unsigned mine = 2 * i + number;
        unsigned long long start, now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
        while (*turn != mine) {
            asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
            if (now - start > patience_ns) {
                *late = 1;
                return;
            }
        }
        __threadfence_system(); /* what was seen is before what follows */
        KTRACE_MARK("turn", mine);
        __threadfence_system();
        *turn = mine + 1;
    }
}

namespace
{

[[noreturn]] void fail(const char *what)
{
    std::fprintf(stderr, "ranks: %s\n", what);
    std::exit(1);
}

void must(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "ranks: %s\n", cudaGetErrorString(error));
    std::exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 77 : 1);
}

void must(int status)
{
    if (status < 0)
        fail(ktrace_last_error());
}

void wait_for(const std::atomic<unsigned> &word, unsigned least, const char *what)
{
    for (unsigned long long waited = 0; word.load() < least; waited += 1000) {
        if (waited > patience_ns)
            fail(what);
        const timespec microsecond = {0, 1000};
        nanosleep(&microsecond, nullptr);
    }
}

void run_kernels(shared *both, unsigned number, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const unsigned mine = 2 * i + number;
        wait_for(both->turn, mine, "the other process does not come to its turn");
        one_turn<<<1, 32>>>(mine);
        must(cudaGetLastError());
        must(cudaDeviceSynchronize());
        both->turn = mine + 1;
    }
}

void run_marks(shared *both, unsigned number, unsigned count)
{
    unsigned *turn = nullptr, *late = nullptr, *late_there = nullptr;
    must(cudaHostRegister(both, page_bytes, cudaHostRegisterMapped));
    must(cudaHostGetDevicePointer((void **)&turn, &both->turn, 0));
    must(cudaHostAlloc((void **)&late, sizeof *late, cudaHostAllocMapped));
    must(cudaHostGetDevicePointer((void **)&late_there, late, 0));
    *late = 0;
    all_turns<<<1, 1>>>(number, count, turn, late_there);
    must(cudaGetLastError());
    must(cudaDeviceSynchronize());
    if (*late)
        fail("the other device does not come to its turn");
    must(cudaHostUnregister(both));
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 6)
        fail("ranks NUMBER SHARED COUNT kernels|marks SAVE.ktrace");
    const unsigned number = (unsigned)std::atoi(argv[1]), count = (unsigned)std::atoi(argv[3]);
    const int file = open(argv[2], O_RDWR);
    void *page = file < 0 ? MAP_FAILED : mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED)
        fail("the shared file cannot be mapped");
    auto *both = static_cast<shared *>(page);

    must(cudaFree(nullptr));
    ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    ktrace_capture *capture = nullptr;
    ktrace_trace *trace = nullptr;
    options.name = "turns";
    options.events_per_wave = 4 * count;
    must(ktrace_capture_begin(&capture, &options));
    both->ready++;
    wait_for(both->ready, 2, "the other process does not begin");
    if (std::strcmp(argv[4], "marks") == 0)
        run_marks(both, number, count);
    else
        run_kernels(both, number, count);
    must(ktrace_capture_end(&trace, capture));
    must(ktrace_trace_save(trace, argv[5]));
    ktrace_trace_destroy(trace);
    return 0;
}
