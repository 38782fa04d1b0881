/* gemm_problem.cuh - matrices for gemm_kernel.cuh: random operands, and how far a result is from a plain kernel's. */
#ifndef EXAMPLES_GEMM_PROBLEM_CUH
#define EXAMPLES_GEMM_PROBLEM_CUH

#include "common.cuh"
#include "gemm_kernel.cuh"

#include <math.h>

#include <vector>

/* Uniform in [-1, 1), the same for a seed on every machine. */
static __global__ void gemm_fill(half *out, size_t count, uint32_t seed)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        uint32_t x = (uint32_t)i * 0x9E3779B9u + seed;
        x = (x ^ x >> 16) * 0x7FEB352Du;
        x = (x ^ x >> 15) * 0x846CA68Bu;
        x ^= x >> 16;
        out[i] = __float2half((float)(x >> 8) * 0x1p-23f - 1.0f);
    }
}

static __global__ void gemm_reference(float *c, const half *a, const half *b, int n, int k)
{
    const int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += __half2float(a[(size_t)row * k + i]) * __half2float(b[(size_t)i * n + column]);
    c[(size_t)row * n + column] = sum;
}

class gemm_problem
{
  public:
    const int m, n, k;

    gemm_problem(int rows, int columns, int depth) : m(rows), n(columns), k(depth)
    {
        CHECK_CUDA(cudaMalloc(&a, (size_t)m * k * sizeof *a));
        CHECK_CUDA(cudaMalloc(&b, (size_t)k * n * sizeof *b));
        CHECK_CUDA(cudaMalloc(&c, (size_t)m * n * sizeof *c));
        CHECK_CUDA(cudaMalloc(&reference, (size_t)m * n * sizeof *reference));
        gemm_fill<<<256, 256>>>(a, (size_t)m * k, 1);
        gemm_fill<<<256, 256>>>(b, (size_t)k * n, 2);
        gemm_reference<<<dim3(n / 128, m), 128>>>(reference, a, b, n, k);
        CHECK_CUDA(cudaGetLastError());
        clear();
    }
    ~gemm_problem()
    {
        cudaFree(a);
        cudaFree(b);
        cudaFree(c);
        cudaFree(reference);
    }
    gemm_problem(const gemm_problem &) = delete;
    gemm_problem &operator=(const gemm_problem &) = delete;

    template <gemm_trace Trace>
    void launch()
    {
        CHECK_CUDA(gemm_launch<Trace>(c, a, b, m, n, k));
    }

    /* Mean time of a launch. */
    template <gemm_trace Trace>
    double time_ms(int launches)
    {
        cudaEvent_t begin, end;
        float elapsed_ms = 0;
        CHECK_CUDA(cudaEventCreate(&begin));
        CHECK_CUDA(cudaEventCreate(&end));
        launch<Trace>();
        CHECK_CUDA(cudaEventRecord(begin));
        for (int i = 0; i < launches; i++)
            launch<Trace>();
        CHECK_CUDA(cudaEventRecord(end));
        CHECK_CUDA(cudaEventSynchronize(end));
        CHECK_CUDA(cudaEventElapsedTime(&elapsed_ms, begin, end));
        CHECK_CUDA(cudaEventDestroy(begin));
        CHECK_CUDA(cudaEventDestroy(end));
        return elapsed_ms / launches;
    }

    double tflops(double ms) const
    {
        return 2.0 * m * n * k / (ms * 1e9);
    }

    /* |C - reference| / |reference|, in the Frobenius norm. Not a number if anything in C is none. */
    double error() const
    {
        const size_t count = (size_t)m * n;
        std::vector<float> result(count), right(count);
        CHECK_CUDA(cudaMemcpy(result.data(), c, count * sizeof(float), cudaMemcpyDeviceToHost));
        CHECK_CUDA(cudaMemcpy(right.data(), reference, count * sizeof(float), cudaMemcpyDeviceToHost));
        double difference = 0, norm = 0;
        for (size_t i = 0; i < count; i++) {
            difference += ((double)result[i] - right[i]) * ((double)result[i] - right[i]);
            norm += (double)right[i] * right[i];
        }
        return sqrt(difference / norm);
    }

    /* Fails unless C is right, then makes it wrong, so that the next kernel has to write all of it. */
    double check()
    {
        const double relative = error();
        if (!(relative < 1e-3))
            fail("C differs from the reference by %.2e of its norm", relative);
        clear();
        return relative;
    }

  private:
    half *a = nullptr, *b = nullptr;
    float *c = nullptr, *reference = nullptr;

    void clear()
    {
        CHECK_CUDA(cudaMemset(c, 0xFF, (size_t)m * n * sizeof *c)); /* not numbers */
    }
};

#endif
