// graph - three layers as nodes of a graph that is built once and launched twice, and a timeline of each launch.
#include <cstdio>
#include <cstdlib>
#include <ktrace/device.h>
#include <ktrace/ktrace.h>

constexpr int blocks = 16, threads = 128, layers = 3;

__global__ void layer(float *x, int number)
{
    KTRACE_KERNEL("layer");
    KTRACE_RANGE("all", number);
    float &mine = x[blockIdx.x * threads + threadIdx.x];
    for (int i = 0; i <= number; i++)
        mine = mine * 0.5f + 1.0f;
}

static void must(bool ok, const char *why)
{
    if (!ok) {
        fprintf(stderr, "graph: %s\n", why);
        exit(1);
    }
}

static void must_cuda(cudaError_t error)
{
    must(error == cudaSuccess, cudaGetErrorString(error));
}

int main()
{
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    float *x;
    must_cuda(cudaMalloc(&x, blocks * threads * sizeof(float)));
    must_cuda(cudaStreamCreate(&stream));

    must_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int number = 0; number < layers; number++)
        layer<<<blocks, threads, 0, stream>>>(x, number);
    must_cuda(cudaStreamEndCapture(stream, &graph));
    must_cuda(cudaGraphInstantiate(&exec, graph, 0));

    must(ktrace_capture_begin(&capture, NULL) == 0, ktrace_last_error()); // the graph was built before: no matter
    must_cuda(cudaGraphLaunch(exec, stream));
    must_cuda(cudaGraphLaunch(exec, stream));
    must(ktrace_capture_end(&trace, capture) == 0, ktrace_last_error());

    struct ktrace_trace_info info = {};
    info.struct_size = sizeof info;
    must(ktrace_trace_get_info(&info, trace) == 0, ktrace_last_error());
    printf("%llu launches\n", (unsigned long long)info.launches);
    must(ktrace_trace_save(trace, "graph.ktrace") == 0, ktrace_last_error());
    ktrace_trace_destroy(trace);
    return 0;
}
