/* hiprtc_prelude.h - what hipRTC predefines, as far as the simulator has it: HIP's words, where a thread is, barriers, atomics, the
 * vector types and functions that are one instruction or a few. Functions of the device library (sinf, expf, printf, ...) are not
 * there. Included before every program.
 */
#ifndef SIM_HIPRTC_PRELUDE_H
#define SIM_HIPRTC_PRELUDE_H

#pragma clang system_header

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) SIM_BOUNDS_(__VA_ARGS__, 0)
#define SIM_BOUNDS_(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __HIP_PLATFORM_AMD__ 1

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;

/* ---- Places ------------------------------------------------------------------------------------------------------ */

struct dim3 {
    uint32_t x, y, z;
    __host__ __device__ constexpr dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

#define SIM_AXIS(axis, value) \
    __declspec(property(get = get_##axis)) unsigned axis; \
    static __device__ __forceinline__ unsigned get_##axis() \
    { \
        return value; \
    }
#define SIM_PLACE(name, x_value, y_value, z_value) \
    struct sim_##name { \
        SIM_AXIS(x, x_value) \
        SIM_AXIS(y, y_value) SIM_AXIS(z, z_value) __device__ __forceinline__ operator dim3() const \
        { \
            return dim3(get_x(), get_y(), get_z()); \
        } \
    }; \
    static constexpr __device__ sim_##name name{};

SIM_PLACE(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
          __builtin_amdgcn_workitem_id_z())
SIM_PLACE(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
          __builtin_amdgcn_workgroup_id_z())
SIM_PLACE(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
          __builtin_amdgcn_workgroup_size_z())
SIM_PLACE(gridDim, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
          __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(),
          __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z())
static constexpr int warpSize = 64;

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ void __syncthreads()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
static __device__ __forceinline__ void __threadfence_block()
{
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
static __device__ __forceinline__ void __threadfence()
{
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
static __device__ __forceinline__ void __threadfence_system()
{
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
}

#define SIM_ATOMIC(name, builtin) \
    template <class T> \
    static __device__ __forceinline__ T name(T *address, T value) \
    { \
        return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
    }
SIM_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
SIM_ATOMIC(atomicMin, __hip_atomic_fetch_min)
SIM_ATOMIC(atomicMax, __hip_atomic_fetch_max)
SIM_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
SIM_ATOMIC(atomicOr, __hip_atomic_fetch_or)
SIM_ATOMIC(atomicXor, __hip_atomic_fetch_xor)
SIM_ATOMIC(atomicExch, __hip_atomic_exchange)
template <class T>
static __device__ __forceinline__ T atomicSub(T *address, T value)
{
    return atomicAdd(address, -value);
}
template <class T>
static __device__ __forceinline__ T atomicCAS(T *address, T expected, T value)
{
    __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                         __HIP_MEMORY_SCOPE_AGENT);
    return expected;
}

/* ---- Lanes, bits, clocks ----------------------------------------------------------------------------------------- */

static __device__ __forceinline__ unsigned __lane_id()
{
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}
static __device__ __forceinline__ uint64_t __ballot(int predicate)
{
    return __builtin_amdgcn_uicmp(predicate, 0, 33); /* ICMP_NE */
}
static __device__ __forceinline__ int __all(int predicate)
{
    return __ballot(predicate) == __builtin_amdgcn_read_exec();
}
static __device__ __forceinline__ int __any(int predicate)
{
    return __ballot(predicate) != 0;
}
template <class T>
static __device__ __forceinline__ T __shfl(T value, int lane)
{
    static_assert(sizeof(T) == 4, "the simulator's __shfl takes values of 32 bits");
    return __builtin_bit_cast(T, __builtin_amdgcn_ds_bpermute(lane << 2, __builtin_bit_cast(int, value)));
}
template <class T>
static __device__ __forceinline__ T __shfl_xor(T value, int mask)
{
    return __shfl(value, (int)__lane_id() ^ mask);
}
static __device__ __forceinline__ int __popc(unsigned value)
{
    return __builtin_popcount(value);
}
static __device__ __forceinline__ int __popcll(uint64_t value)
{
    return __builtin_popcountll(value);
}
static __device__ __forceinline__ int __clz(int value)
{
    return value ? __builtin_clz((unsigned)value) : 32;
}
static __device__ __forceinline__ int __ffs(int value)
{
    return __builtin_ffs(value);
}
static __device__ __forceinline__ long long clock64()
{
    return (long long)__builtin_readcyclecounter();
}
static __device__ __forceinline__ long long wall_clock64()
{
    return (long long)__builtin_amdgcn_s_memrealtime();
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

template <class T>
static __host__ __device__ __forceinline__ constexpr T min(T a, T b)
{
    return b < a ? b : a;
}
template <class T>
static __host__ __device__ __forceinline__ constexpr T max(T a, T b)
{
    return a < b ? b : a;
}
#define SIM_FUNCTION_1(name) \
    static __device__ __forceinline__ float name##f(float x) \
    { \
        return __builtin_##name##f(x); \
    } \
    static __device__ __forceinline__ double name(double x) \
    { \
        return __builtin_##name(x); \
    }
#define SIM_FUNCTION_2(name) \
    static __device__ __forceinline__ float name##f(float x, float y) \
    { \
        return __builtin_##name##f(x, y); \
    } \
    static __device__ __forceinline__ double name(double x, double y) \
    { \
        return __builtin_##name(x, y); \
    }
SIM_FUNCTION_1(fabs)
SIM_FUNCTION_1(sqrt)
SIM_FUNCTION_1(floor)
SIM_FUNCTION_1(ceil)
SIM_FUNCTION_1(trunc)
SIM_FUNCTION_1(rint)
SIM_FUNCTION_2(fmin)
SIM_FUNCTION_2(fmax)
SIM_FUNCTION_2(copysign)
static __device__ __forceinline__ float fmaf(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}
static __device__ __forceinline__ double fma(double x, double y, double z)
{
    return __builtin_fma(x, y, z);
}

#define SIM_VECTOR(type, name) \
    struct __attribute__((aligned(2 * sizeof(type)))) name##2 \
    { \
        type x, y; \
    }; \
    struct name##3 \
    { \
        type x, y, z; \
    }; \
    struct __attribute__((aligned(4 * sizeof(type)))) name##4 \
    { \
        type x, y, z, w; \
    }; \
    static __host__ __device__ __forceinline__ name##2 make_##name##2(type x, type y) \
    { \
        return {x, y}; \
    } \
    static __host__ __device__ __forceinline__ name##3 make_##name##3(type x, type y, type z) \
    { \
        return {x, y, z}; \
    } \
    static __host__ __device__ __forceinline__ name##4 make_##name##4(type x, type y, type z, type w) \
    { \
        return {x, y, z, w}; \
    }
SIM_VECTOR(int, int)
SIM_VECTOR(unsigned, uint)
SIM_VECTOR(float, float)
SIM_VECTOR(double, double)

#endif
