// deadlock - a pipeline whose consumers wait for one tile more than the producer brings: the kernel never ends.
#include <cstdio>
#include <hip/hip_runtime.h>
#include <ktrace/device.h>
#include <ktrace/ktrace.h>

constexpr int waves = 4, lanes = 64, tiles = 100;

// Without a barrier: waves of one workgroup, and a counter of tiles that are there.
__global__ void pipeline(int *ready, int *out)
{
    KTRACE_KERNEL("pipeline");
    volatile int *count = ready + blockIdx.x;
    int sum = 0;
    for (int tile = 0; tile <= tiles; tile++) { // the mistake: < tiles
        if (threadIdx.x < lanes) {
            KTRACE_RANGE("produce", tile);
            if (tile < tiles)
                *count = tile + 1;
        } else {
            {
                KTRACE_RANGE("wait for tile", tile);
                while (*count <= tile) {
                }
            }
            KTRACE_RANGE("consume", tile);
            sum += tile;
        }
    }
    out[blockIdx.x * waves * lanes + threadIdx.x] = sum;
}

int main()
{
    static int zeros[2];
    int *ready, *out;
    if (hipMalloc(&ready, sizeof zeros) != hipSuccess || hipMalloc(&out, 2 * waves * lanes * sizeof(int)) != hipSuccess)
        return 1;
    if (hipMemcpy(ready, zeros, sizeof zeros, hipMemcpyHostToDevice) != hipSuccess)
        return 1;

    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    options.name = "pipeline";
    options.keep_last = 1; // a flight recorder: of waves with too many events the newest are kept
    if (ktrace_capture_begin(&capture, &options) < 0) {
        fprintf(stderr, "deadlock: %s\n", ktrace_last_error());
        return 1;
    }
    pipeline<<<2, waves * lanes>>>(ready, out);
    return ktrace_capture_end(NULL, capture) < 0; // waits for the kernel
}
