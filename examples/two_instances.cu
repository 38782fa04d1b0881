/* two_instances - a kernel with and without its annotations in one binary, and a host that chooses by whether a capture is open.
 *
 * KTRACE_KERNEL_IF takes a constant: the instance for which it is false has the machine code of a kernel without annotations, so
 * that what runs outside of captures pays nothing. Device functions that record take the handle by KTRACE_PARAM_IF.
 */
#include "common.cuh"

#include <ktrace/device.h>

constexpr int block = 256, grid = 64, count = block * grid, steps = 16;

template <bool Traced>
__device__ float advance(float x KTRACE_PARAM_IF(Traced))
{
    KTRACE_RANGE("advance");
    KTRACE_PIN(x);
    for (int i = 0; i < 32; i++)
        x = x * 0.5f + 1.0f;
    KTRACE_PIN(x);
    return x;
}

template <bool Traced>
__global__ void relax(float *values)
{
    KTRACE_KERNEL_IF(Traced, "relax");
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = values[i];
    for (int step = 0; step < steps; step++) {
        KTRACE_RANGE("step", step);
        x = advance<Traced>(x KTRACE_ARG);
    }
    values[i] = x;
}

static void launch(float *values)
{
#if KTRACE_ENABLE
    if (ktrace_active())
        return relax<true><<<grid, block>>>(values);
#endif
    relax<false><<<grid, block>>>(values);
}

/* Launches on `values` = 0, 1, 2, ... and checks what comes back. */
static void run(float *values)
{
    static float input[count], output[count];
    for (int i = 0; i < count; i++)
        input[i] = (float)(i % 64);
    CHECK_CUDA(cudaMemcpy(values, input, sizeof input, cudaMemcpyHostToDevice));
    launch(values);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaMemcpy(output, values, sizeof output, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) {
        float x = input[i];
        for (int step = 0; step < steps * 32; step++)
            x = x * 0.5f + 1.0f; /* exact, or rounded the same with and without fused multiply-add: the product is */
        if (output[i] != x)
            fail("element %d is %.9g instead of %.9g", i, (double)output[i], (double)x);
    }
}

#if KTRACE_ENABLE

static void check_trace(const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    check_ktrace(ktrace_trace_get_info(&info, trace));
    const unsigned long long waves = count / 32;
    if (info.launches != 1 || info.waves != waves || info.events != waves * steps * 4)
        fail("%llu launches, %llu waves and %llu events were recorded instead of 1, %llu and %llu",
             (unsigned long long)info.launches, (unsigned long long)info.waves, (unsigned long long)info.events, waves,
             waves * steps * 4);
}

#endif

int main(int argc, char **argv)
{
    example_start("two_instances", argc, argv);
    require_device(7);
    float *values;
    CHECK_CUDA(cudaMalloc(&values, count * sizeof *values));
    run(values); /* the untraced one */
#if KTRACE_ENABLE
    struct ktrace_capture *capture = capture_begin(128, 1);
    run(values); /* the traced one */
    struct ktrace_trace *trace = capture_end(capture);
    check_trace(trace);
    trace_finish(trace);
#endif
    run(values);
    CHECK_CUDA(cudaFree(values));
    printf("%s: ok, %d elements\n", example.name, count);
    return 0;
}
