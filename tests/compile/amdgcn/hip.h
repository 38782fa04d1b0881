/* The words of HIP that these sources use: HIP's own headers need ROCm's device libraries. */
#ifndef TESTS_COMPILE_AMDGCN_HIP_H
#define TESTS_COMPILE_AMDGCN_HIP_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))

typedef __SIZE_TYPE__ size_t;
typedef enum { hipSuccess = 0 } hipError_t;
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned width = 1, unsigned height = 1, unsigned depth = 1) : x(width), y(height), z(depth)
    {
    }
};
extern "C" {
hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream);
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, void *stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void **stream);
hipError_t hipGetSymbolAddress(void **address, const void *symbol);
hipError_t hipGetLastError(void);
}

#endif
