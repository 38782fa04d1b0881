/* A shared library with a CUDA runtime of its own, built twice: MODULE_LIB_NAME is "one" and "two". */
#include <cuda_runtime.h>
#include <ktrace/device.h>

#ifndef MODULE_LIB_NAME
#error "MODULE_LIB_NAME is the library's name"
#endif

__global__ void kernel_lib(int *out)
{
    KTRACE_KERNEL("library " MODULE_LIB_NAME);
    KTRACE_RANGE("body of " MODULE_LIB_NAME, (int)blockIdx.x);
    KTRACE_MARK("shared name", 300);
    if (threadIdx.x == 0)
        out[blockIdx.x] = 1;
}

/* Launches on the default stream, waits, returns a cudaError_t. */
extern "C" __attribute__((visibility("default"))) int launch_module_lib(int blocks)
{
    int *out = nullptr;
    cudaError_t error = cudaMalloc(&out, sizeof(int) * (size_t)blocks);
    if (error != cudaSuccess)
        return (int)error;
    kernel_lib<<<blocks, 32>>>(out);
    error = cudaGetLastError();
    const cudaError_t waited = cudaDeviceSynchronize();
    cudaFree(out);
    return (int)(error != cudaSuccess ? error : waited);
}
