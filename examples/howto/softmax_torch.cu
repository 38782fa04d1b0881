// softmax_torch.cu - an extension for PyTorch with an annotated kernel.
#include <c10/cuda/CUDAStream.h>
#include <ktrace/device.h>
#include <torch/extension.h>

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

__global__ void softmax_kernel(float *out, const float *in, int columns)
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
    }
    KTRACE_RANGE("store");
    for (int i = threadIdx.x; i < columns; i += threads)
        out[i] = expf(in[i] - largest) / sum;
}

static torch::Tensor softmax(torch::Tensor in)
{
    TORCH_CHECK(in.is_cuda() && in.is_contiguous() && in.dim() == 2 && in.scalar_type() == torch::kFloat,
                "softmax takes a contiguous matrix of float on a GPU");
    torch::Tensor out = torch::empty_like(in);
    softmax_kernel<<<(unsigned)in.size(0), threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        out.data_ptr<float>(), in.data_ptr<float>(), (int)in.size(1));
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "softmax cannot be launched");
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module)
{
    module.def("softmax", &softmax, "softmax of each row");
}
