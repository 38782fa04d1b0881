// hip_minimal.h - the words that HIP kernels are written in. HIP's own headers need ROCm's device libraries.
#ifndef TEST_HIP_MINIMAL_H
#define TEST_HIP_MINIMAL_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))

// threadIdx.x and its like are read when they are named.
#define COORDINATES(name, read) \
    static constexpr struct name##_type { \
        struct X { \
            __device__ operator unsigned() const \
            { \
                return read##_x(); \
            } \
        } x{}; \
    } name{};
COORDINATES(threadIdx, __builtin_amdgcn_workitem_id)
COORDINATES(blockIdx, __builtin_amdgcn_workgroup_id)
COORDINATES(blockDim, __builtin_amdgcn_workgroup_size)
#undef COORDINATES

// The first implicit argument (code object version 5 and later): workgroups in x.
static constexpr struct gridDim_type {
    struct X {
        __device__ operator unsigned() const
        {
            return *(const __attribute__((address_space(4))) unsigned *)__builtin_amdgcn_implicitarg_ptr();
        }
    } x{};
} gridDim{};

__device__ inline void __syncthreads()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// What tables of pure virtual functions refer to.
extern "C" __attribute__((device, weak)) void __cxa_pure_virtual()
{
    __builtin_trap();
}

#endif
