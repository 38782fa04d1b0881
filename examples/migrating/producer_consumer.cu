// producer_consumer.cu - a kernel with a producer warp and consumer warps, such as FlashInfer's profiler is used in, with ktrace.
#include <cstdio>
#include <cstdlib>
#include <ktrace/device.h>
#include <ktrace/ktrace.h>

constexpr int consumers = 3, threads = 32 * (1 + consumers), tile = 32 * consumers, tiles = 16;

// Device functions that record take the kernel's handle, as they took the profiler's closure.
__device__ void load(float *stage, const float *in, int number KTRACE_PARAM)
{
    KTRACE_RANGE("issue-load", number);
    for (int part = 0; part < tile; part += 32)
        stage[part + threadIdx.x] = in[number * tile + part + threadIdx.x];
}

__global__ void square_sums(float *out, const float *in)
{
    KTRACE_KERNEL("square_sums");
    __shared__ float stages[2][tile];
    const bool producer = threadIdx.x < 32;
    float sum = 0;
    in += blockIdx.x * tiles * tile;
    if (producer)
        load(stages[0], in, 0 KTRACE_ARG);
    __syncthreads();
    for (int i = 0; i < tiles; i++) {
        if (producer) {
            if (i + 1 < tiles)
                load(stages[(i + 1) % 2], in, i + 1 KTRACE_ARG);
        } else {
            KTRACE_RANGE("compute", i);
            const float x = stages[i % 2][threadIdx.x - 32];
            sum += x * x;
            KTRACE_PIN(sum);
        }
        KTRACE_RANGE("wait");
        __syncthreads();
    }
    if (!producer) {
        KTRACE_MARK("store", sum);
        out[blockIdx.x * tile + threadIdx.x - 32] = sum;
    }
}

static void must(bool ok, const char *why)
{
    if (!ok) {
        fprintf(stderr, "producer_consumer: %s\n", why);
        exit(1);
    }
}

int main()
{
    constexpr int blocks = 132;
    float *in, *out;
    must(cudaMallocManaged(&in, blocks * tiles * tile * sizeof(float)) == cudaSuccess, "no memory, or no GPU");
    must(cudaMallocManaged(&out, blocks * tile * sizeof(float)) == cudaSuccess, "no memory");
    for (int i = 0; i < blocks * tiles * tile; i++)
        in[i] = (float)(i % 7);
    square_sums<<<blocks, threads>>>(out, in); // warms up, and is not recorded: nothing has to be zeroed

    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    must(ktrace_capture_begin(&capture, NULL) == 0, ktrace_last_error());
    square_sums<<<blocks, threads>>>(out, in);
    must(ktrace_capture_end(&trace, capture) == 0, ktrace_last_error());
    for (int i = 0; i < blocks * tile; i++) {
        float sum = 0;
        for (int k = 0; k < tiles; k++) {
            const float x = in[i / tile * tiles * tile + k * tile + i % tile];
            sum += x * x; // whole numbers: exact
        }
        must(out[i] == sum, "a sum is wrong");
    }

    must(ktrace_trace_export(trace, "perfetto", "square_sums.pftrace.gz") == 0, ktrace_last_error());
    must(ktrace_trace_save(trace, "square_sums.ktrace") == 0, ktrace_last_error());
    ktrace_trace_destroy(trace);
    return 0;
}
