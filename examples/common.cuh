/* common.cuh - common.h with the CUDA runtime: errors, and whether there is a device. */
#ifndef EXAMPLES_COMMON_CUH
#define EXAMPLES_COMMON_CUH

#include "common.h"

#include <cuda_runtime.h>

#define CHECK_CUDA(call) check_cuda(call, #call)

static inline void check_cuda(cudaError_t status, const char *call)
{
    if (status != cudaSuccess)
        fail("%s: %s", call, cudaGetErrorString(status));
}

/* Exit with 77 unless the current device has compute capability `major`.x or newer. */
static inline cudaDeviceProp require_device(int major)
{
    int count = 0, driver = 0;
    /* Without a driver, the error below would speak of one that is too old. */
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
        skip("no CUDA driver on this machine");
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess)
        skip("no CUDA device: %s", cudaGetErrorString(status));
    if (count == 0)
        skip("no CUDA device");
    cudaDeviceProp device;
    CHECK_CUDA(cudaGetDeviceProperties(&device, 0));
    if (device.major < major)
        skip("%s has compute capability %d.%d, and this example needs %d.0", device.name, device.major, device.minor,
             major);
    CHECK_CUDA(cudaSetDevice(0));
    return device;
}

#endif
