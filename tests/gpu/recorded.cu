/* recorded.cu - what test_record.py records: knows nothing of captures, and does what its arguments say, one after the other.
 *
 *     launch, launch=N   a kernel with a range and a mark, N times
 *     many=N             one with N marks
 *     hang               a kernel that waits for ten minutes, once it has begun
 *     fault              one that writes where nothing is
 *     sync               waits for the device
 *     say=WORD           on standard output, at once
 *     pause              for ever
 *     leave              the rest is done by a child; this process returns when that comes to the word apart
 *     abort, crash, exit=N, _exit=N
 *
 * Exit status 77: there is no GPU.
 */
#include <ktrace/device.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

__global__ void layer(int number)
{
    KTRACE_KERNEL("layer");
    KTRACE_RANGE("layer", number);
    KTRACE_MARK("block", (int)blockIdx.x);
}

__global__ void marks(int count)
{
    KTRACE_KERNEL("marks");
    for (int i = 0; i < count; i++)
        KTRACE_MARK("mark", i);
}

/* A tenth of a microsecond a turn: ten minutes. */
__global__ void hang(volatile int *begun)
{
    KTRACE_KERNEL("hang");
    KTRACE_RANGE("wait");
    *begun = 1;
    for (unsigned i = 0; i < 6000000; i++)
        for (int k = 0; k < 1000; k++)
            __nanosleep(100);
}

__global__ void fault(int *nowhere)
{
    KTRACE_KERNEL("fault");
    KTRACE_RANGE("write");
    *nowhere = 1;
}

namespace
{

void must(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 77 : 1);
}

void launch_hang()
{
    volatile int *begun = nullptr;
    int *on_device = nullptr;
    must(cudaHostAlloc((void **)&begun, sizeof *begun, cudaHostAllocMapped));
    *begun = 0;
    must(cudaHostGetDevicePointer((void **)&on_device, (void *)begun, 0));
    hang<<<4, 64>>>(on_device);
    must(cudaGetLastError());
    while (*begun == 0)
        usleep(1000);
}

void leave(const char *program, char **rest)
{
    int ends[2];
    char byte;
    if (pipe(ends) < 0)
        std::exit(1);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 9);
        execv(program, rest); /* CUDA does not survive a fork */
        _exit(1);
    }
    std::exit(child > 0 && read(ends[0], &byte, 1) == 1 ? 0 : 1);
}

void crash()
{
    static int *volatile nowhere;
    *nowhere = 1;
}

bool is(const char *word, const char *wanted)
{
    return std::strcmp(word, wanted) == 0;
}

void act(const char *word, const char *value)
{
    const int number = value ? std::atoi(value) : 1;
    if (is(word, "launch"))
        for (int i = 0; i < number; i++)
            layer<<<4, 64>>>(i);
    else if (is(word, "many"))
        marks<<<4, 64>>>(number);
    else if (is(word, "hang"))
        launch_hang();
    else if (is(word, "fault"))
        fault<<<1, 32>>>(reinterpret_cast<int *>(8));
    else if (is(word, "sync"))
        must(cudaDeviceSynchronize());
    else if (is(word, "say"))
        (void)!write(STDOUT_FILENO, value, std::strlen(value));
    else if (is(word, "apart"))
        (void)!write(9, "", 1);
    else if (is(word, "abort"))
        std::abort();
    else if (is(word, "crash"))
        crash();
    else if (is(word, "exit"))
        std::exit(number);
    else if (is(word, "_exit"))
        _exit(number);
    else
        std::exit(2);
}

} /* namespace */

int main(int argc, char **argv)
{
    int devices = 0;
    must(cudaGetDeviceCount(&devices));
    for (int i = 1; i < argc; i++) {
        char *value = std::strchr(argv[i], '=');
        if (value)
            *value++ = 0;
        if (is(argv[i], "leave")) {
            argv[i] = argv[0];
            leave("/proc/self/exe", argv + i);
        }
        while (is(argv[i], "pause"))
            pause();
        act(argv[i], value);
    }
    return 0;
}
