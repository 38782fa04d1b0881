/* kernel.h - the dialect that the kernels here are written in: C11 and HIP C++17 at once, without a vendor's headers.
 *
 * In C a kernel's pointers are generic and LDS is an address space of the language; in HIP both are generic. LOCAL marks
 * pointers to LDS where that differs.
 */
#ifndef TEST_KERNEL_H
#define TEST_KERNEL_H

#include <stdbool.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef _Float16 f16;
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x4 __attribute__((ext_vector_type(4)));
typedef f16 f16x8 __attribute__((ext_vector_type(8)));
typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef double f64x4 __attribute__((ext_vector_type(4)));
typedef i32 i32x4 __attribute__((ext_vector_type(4)));
typedef i32 i32x16 __attribute__((ext_vector_type(16)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef i16 i16x4 __attribute__((ext_vector_type(4)));

/* A build may limit registers: -DKERNEL_ATTRIBUTES=... */
#ifndef KERNEL_ATTRIBUTES
#define KERNEL_ATTRIBUTES
#endif

#ifdef __HIP__
#define KERNEL extern "C" __attribute__((global)) KERNEL_ATTRIBUTES void
#define DEVICE static __attribute__((device))
#define LOCAL
#define SHARED static __attribute__((shared))
#define DYNAMIC_SHARED(type, name) extern __attribute__((shared)) type name[]
#define TABLE static __attribute__((device)) const
#else
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) KERNEL_ATTRIBUTES void
#define DEVICE static
#define LOCAL __attribute__((address_space(3)))
/* The backend refuses LDS with an initializer, and C gives every static one. */
#define SHARED static __attribute__((address_space(3), loader_uninitialized))
#define DYNAMIC_SHARED(type, name) extern __attribute__((address_space(3))) type name[]
#define TABLE static const __attribute__((address_space(4)))
#endif
#define NOINLINE __attribute__((noinline))

#define LANES 64u

DEVICE inline u32 thread_x(void)
{
    return __builtin_amdgcn_workitem_id_x();
}
DEVICE inline u32 thread_y(void)
{
    return __builtin_amdgcn_workitem_id_y();
}
DEVICE inline u32 thread_z(void)
{
    return __builtin_amdgcn_workitem_id_z();
}
DEVICE inline u32 block_x(void)
{
    return __builtin_amdgcn_workgroup_id_x();
}
DEVICE inline u32 block_y(void)
{
    return __builtin_amdgcn_workgroup_id_y();
}
DEVICE inline u32 block_z(void)
{
    return __builtin_amdgcn_workgroup_id_z();
}
DEVICE inline u32 threads_x(void)
{
    return __builtin_amdgcn_workgroup_size_x();
}
DEVICE inline u32 threads_y(void)
{
    return __builtin_amdgcn_workgroup_size_y();
}
DEVICE inline u32 threads_z(void)
{
    return __builtin_amdgcn_workgroup_size_z();
}
/* Workgroups of the grid, as the dispatch packet has it. */
DEVICE inline u32 blocks_x(void)
{
    return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x();
}
DEVICE inline u32 global_x(void)
{
    return block_x() * threads_x() + thread_x();
}
DEVICE inline u32 lane_id(void)
{
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}
DEVICE inline u32 wave_id(void)
{
    return thread_x() / LANES;
}
DEVICE inline void barrier(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#define ATOMIC(operation, pointer, value) \
    __scoped_atomic_fetch_##operation(pointer, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define ATOMIC_LOCAL(operation, pointer, value) \
    __scoped_atomic_fetch_##operation(pointer, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP)

#endif
