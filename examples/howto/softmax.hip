// softmax - a kernel with three phases, its timeline for Perfetto, and a table of them.
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <ktrace/device.h>
#include <ktrace/ktrace.h>

constexpr int threads = 256;

// The same for all threads of a block: the sum of their values, or the largest.
template <class Combine>
__device__ float over_block(float value, Combine combine)
{
    __shared__ float parts[threads];
    parts[threadIdx.x] = value;
    for (int half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            parts[threadIdx.x] = combine(parts[threadIdx.x], parts[threadIdx.x + half]);
    }
    __syncthreads();
    const float all = parts[0];
    __syncthreads();
    return all;
}

__global__ void softmax(float *out, const float *in, int columns)
{
    KTRACE_KERNEL("softmax");
    in += blockIdx.x * columns;
    out += blockIdx.x * columns;
    float largest = -INFINITY, sum = 0;
    {
        KTRACE_RANGE("max");
        for (int i = threadIdx.x; i < columns; i += threads)
            largest = fmaxf(largest, in[i]);
        largest = over_block(largest, [](float a, float b) { return fmaxf(a, b); });
    }
    {
        KTRACE_RANGE("sum");
        for (int i = threadIdx.x; i < columns; i += threads)
            sum += expf(in[i] - largest);
        sum = over_block(sum, [](float a, float b) { return a + b; });
        KTRACE_MARK("total", sum);
    }
    KTRACE_RANGE("store");
    for (int i = threadIdx.x; i < columns; i += threads)
        out[i] = expf(in[i] - largest) / sum;
}

static void must(bool ok, const char *why)
{
    if (!ok) {
        fprintf(stderr, "softmax: %s\n", why);
        exit(1);
    }
}

int main()
{
    constexpr int rows = 64, columns = 1024;
    float *in, *out;
    must(hipMalloc(&in, rows * columns * sizeof(float)) == hipSuccess, "no memory, or no GPU");
    must(hipMalloc(&out, rows * columns * sizeof(float)) == hipSuccess, "no memory");
    static float values[rows * columns];
    for (int i = 0; i < rows * columns; i++)
        values[i] = i % 1000 / 100.0f;
    must(hipMemcpy(in, values, sizeof values, hipMemcpyHostToDevice) == hipSuccess, "cannot copy");
    softmax<<<rows, threads>>>(out, in, columns); // warms up, and is not recorded

    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    must(ktrace_capture_begin(&capture, NULL) == 0, ktrace_last_error());
    softmax<<<rows, threads>>>(out, in, columns);
    must(ktrace_capture_end(&trace, capture) == 0, ktrace_last_error());
    must(hipGetLastError() == hipSuccess, "the kernel failed");

    must(ktrace_trace_export(trace, "perfetto", "softmax.pftrace.gz") == 0, ktrace_last_error());
    must(ktrace_trace_save(trace, "softmax.ktrace") == 0, ktrace_last_error());
    char *table;
    must(ktrace_trace_summary_text(&table, trace) == 0, ktrace_last_error());
    fputs(table, stdout);
    free(table);
    ktrace_trace_destroy(trace);
    return 0;
}
