/* instructions.cuh - the PTX that attention.cuh is made of: asynchronous copies, barriers in shared memory, tensor cores.
 * Compute capability 8.0 and newer. Addresses of shared memory are 32-bit, as __cvta_generic_to_shared gives them. */
#ifndef TUTORIAL_INSTRUCTIONS_CUH
#define TUTORIAL_INSTRUCTIONS_CUH

#include <cuda_fp16.h>
#include <stdint.h>

/* ---- Copies from global to shared memory ------------------------------------------------------------------------ */

/* Start copying 16 bytes. */
__device__ __forceinline__ void copy_async(uint32_t shared, const void *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}
/* Wait for all copies that this thread has started. */
__device__ __forceinline__ void wait_for_copies()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/* ---- Barriers in shared memory ---------------------------------------------------------------------------------- */

__device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/* What this thread read and wrote before is done for who waits for the barrier. */
__device__ __forceinline__ void arrive(uint32_t barrier)
{
    asm volatile("{ .reg .b64 state;\n\t"
                 "mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(barrier)
                 : "memory");
}
/* The hardware arrives in this thread's place, once all copies are there that the thread has started. Nobody waits here. */
__device__ __forceinline__ void arrive_after_copies(uint32_t barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}
/* Wait, as a wave, for the end of the barrier's phase of this parity. The phase before the first counts as ended. */
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
    uint32_t done;
    do {
#if __CUDA_ARCH__ >= 900 /* sleeps in hardware for a while */
        asm volatile("{ .reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
#else
        asm volatile("{ .reg .pred p;\n\t"
                     "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
#endif
    } while (!__all_sync(0xFFFFFFFFu, done));
}

/* ---- Tensor cores ----------------------------------------------------------------------------------------------- */

/* Four matrices of 8 x 8 halves; lane i has the address of a row: row i % 8 of matrix i / 8. */
__device__ __forceinline__ void load_matrices(uint32_t (&words)[4], uint32_t shared)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(shared)
                 : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(uint32_t (&words)[4], uint32_t shared)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(shared)
                 : "memory");
}
/* sum (16 x 8) += a (16 x 16) * b (16 x 8). */
__device__ __forceinline__ void multiply(float (&sum)[4], const uint32_t (&a)[4], uint32_t b_low, uint32_t b_high)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
}

/* What all lanes hold alike: now the compiler knows it too, and need not gather lanes behind a branch that depends on it. */
__device__ __forceinline__ int uniform(int x)
{
    return __shfl_sync(0xFFFFFFFFu, x, 0);
}

__device__ __forceinline__ uint32_t pack(float low, float high)
{
    const half2 both = __floats2half2_rn(low, high);
    return *(const uint32_t *)&both;
}

#endif
