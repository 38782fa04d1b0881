/* hip_runtime.h - as much of HIP as the documentation's programs use, where ROCm is not: clang compiles them, and they are linked with
 * the simulator in place of libamdhip64. `hipcc` of ../bin finds it. */
#ifndef STAND_IN_HIP_RUNTIME_H
#define STAND_IN_HIP_RUNTIME_H

#include <cstddef>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))

#define INFINITY __builtin_inff()

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
    {
    }
};
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphExec *hipGraphExec_t;
typedef struct hipGraphNode *hipGraphNode_t;
enum hipError_t { hipSuccess = 0 };
enum hipMemcpyKind { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };
enum hipStreamCaptureMode { hipStreamCaptureModeGlobal = 0 };

extern "C" {
/* clang calls these for <<<>>>. */
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes = 0, hipStream_t stream = nullptr);
hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                           hipStream_t stream);
hipError_t hipMalloc(void **address, size_t bytes);
hipError_t hipFree(void *address);
hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind);
hipError_t hipGetSymbolAddress(void **address, const void *symbol);
hipError_t hipDeviceSynchronize(void);
hipError_t hipGetLastError(void);
hipError_t hipStreamCreate(hipStream_t *stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph);
hipError_t hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph, hipGraphNode_t *node, char *log, size_t bytes);
hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream);
const char *hipGetErrorString(hipError_t error);
}

template <class T>
hipError_t hipMalloc(T **address, size_t bytes)
{
    return hipMalloc((void **)address, bytes);
}

/* Each is read where it is asked for, as HIP's are. */
#define STAND_IN_INDEX(name, function) \
    struct stand_in_##name { \
        __declspec(property(get = get_x)) unsigned x; \
        __declspec(property(get = get_y)) unsigned y; \
        __declspec(property(get = get_z)) unsigned z; \
        __device__ __forceinline__ unsigned get_x() const \
        { \
            return function##_x(); \
        } \
        __device__ __forceinline__ unsigned get_y() const \
        { \
            return function##_y(); \
        } \
        __device__ __forceinline__ unsigned get_z() const \
        { \
            return function##_z(); \
        } \
    }; \
    static constexpr __device__ stand_in_##name name \
    { \
    }
STAND_IN_INDEX(threadIdx, __builtin_amdgcn_workitem_id);
STAND_IN_INDEX(blockIdx, __builtin_amdgcn_workgroup_id);
#undef STAND_IN_INDEX

__device__ __forceinline__ void __syncthreads()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ __forceinline__ float fmaxf(float a, float b)
{
    return __builtin_fmaxf(a, b);
}
__device__ __forceinline__ float expf(float x)
{
    return __builtin_expf(x);
}

#endif
