// add.cu - the vector addition of Proton's tutorial as a CUDA kernel with ktrace.
#include <cstdio>
#include <cstdlib>
#include <ktrace/device.h>
#include <ktrace/ktrace.h>

constexpr int threads = 256, per_thread = 4;

__global__ void add(float *out, const float *x, const float *y, int count)
{
    KTRACE_KERNEL("add");
    const int first = blockIdx.x * threads * per_thread + threadIdx.x;
    float a[per_thread], b[per_thread];
    {
        KTRACE_RANGE("load_and_add");
        {
            KTRACE_RANGE("load_x_issue");
            for (int i = 0; i < per_thread; i++)
                a[i] = first + i * threads < count ? x[first + i * threads] : 0;
        }
        {
            KTRACE_RANGE("load_y_issue");
            for (int i = 0; i < per_thread; i++)
                b[i] = first + i * threads < count ? y[first + i * threads] : 0;
        }
        for (int i = 0; i < per_thread; i++) {
            a[i] += b[i];
            KTRACE_WAIT(a[i]); // the sum belongs inside the range, and with it the wait for what was loaded
        }
    }
    KTRACE_RANGE("store");
    for (int i = 0; i < per_thread; i++)
        if (first + i * threads < count)
            out[first + i * threads] = a[i];
}

static void must(bool ok, const char *why)
{
    if (!ok) {
        fprintf(stderr, "add: %s\n", why);
        exit(1);
    }
}

int main()
{
    constexpr int count = 98432, blocks = (count + threads * per_thread - 1) / (threads * per_thread);
    float *x, *y, *out;
    must(cudaMallocManaged(&x, count * sizeof(float)) == cudaSuccess, "no memory, or no GPU");
    must(cudaMallocManaged(&y, count * sizeof(float)) == cudaSuccess, "no memory");
    must(cudaMallocManaged(&out, count * sizeof(float)) == cudaSuccess, "no memory");
    for (int i = 0; i < count; i++)
        x[i] = (float)i, y[i] = (float)(2 * i);
    add<<<blocks, threads>>>(out, x, y, count); // warms up, and is not recorded

    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    options.name = "vector-add";
    options.blocks = "waves:0,2"; // two warps of each block, as with sampling_options="0,2"
    must(ktrace_capture_begin(&capture, &options) == 0, ktrace_last_error());
    add<<<blocks, threads>>>(out, x, y, count);
    must(ktrace_capture_end(&trace, capture) == 0, ktrace_last_error());
    for (int i = 0; i < count; i++)
        must(out[i] == (float)(3 * i), "a sum is wrong");

    must(ktrace_trace_export(trace, "perfetto", "vector-add.pftrace.gz") == 0, ktrace_last_error());
    must(ktrace_trace_save(trace, "vector-add.ktrace") == 0, ktrace_last_error());
    ktrace_trace_destroy(trace);
    return 0;
}
