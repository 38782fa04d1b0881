/* gemm_kernel.cuh - C = A * B on tensor cores: half precision in, single precision out, all matrices row-major.
 *
 * A workgroup of 2 x 2 waves computes 128 x 128 elements of C, 32 of K at a time. Tiles of A and B come through a ring of
 * four stages in shared memory (cp.async), from there as fragments (ldmatrix) to the tensor cores (mma.sync). Fragments of
 * the next 16 of K are loaded while the current ones multiply.
 *
 * One source, three kernels, chosen by the template argument: without annotations, with ranges around its phases, and
 * with a token range around every K tile as well.
 */
#ifndef EXAMPLES_GEMM_KERNEL_CUH
#define EXAMPLES_GEMM_KERNEL_CUH

#include <cuda_fp16.h>
#include <ktrace/device.h>
#include <stddef.h>
#include <stdint.h>

enum gemm_trace {
    GEMM_UNTRACED,
    GEMM_TRACE_RANGES, /* prologue, mainloop, epilogue */
    GEMM_TRACE_TOKENS  /* and k_tile in every iteration, and marks with payloads */
};

namespace gemm
{

constexpr int block_m = 128, block_n = 128, block_k = 32;
constexpr int tiles_an_iteration = 2; /* of the K loop: 64 deep */
constexpr int wave_m = 64, wave_n = 64;
constexpr int threads = 128;
constexpr int stages = 4;

constexpr uint32_t a_row_bytes = block_k * sizeof(half), b_row_bytes = block_n * sizeof(half);
constexpr uint32_t a_bytes = block_m * a_row_bytes, b_bytes = block_k * b_row_bytes;
constexpr uint32_t stage_bytes = a_bytes + b_bytes;
constexpr uint32_t shared_bytes = stages * stage_bytes;

/* Slots that a wave of the most heavily annotated kernel records: a payload takes one of its own, a token another. */
constexpr uint32_t slots_per_wave(int k)
{
    return 11 + 2 + 2 * (k / (block_k * tiles_an_iteration));
}

/* ---- The instructions ------------------------------------------------------------------------------------------- */

__device__ __forceinline__ void copy_async(uint32_t shared, const half *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}
__device__ __forceinline__ void commit_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/* Wait until at most `Pending` groups of copies are under way, and for the other waves to get here. */
template <int Pending>
__device__ __forceinline__ void wait_for_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
    __syncthreads();
}
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
__device__ __forceinline__ void multiply(float (&sum)[4], const uint32_t (&a)[4], uint32_t b_low, uint32_t b_high)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
}

/* ---- Shared memory ---------------------------------------------------------------------------------------------- */

/* A tile is stored row by row in chunks of 16 bytes. The chunk's place in its row is turned by the row, so that the 8 rows
 * of one 8 x 8 matrix lie in different banks: two rows of A, or half a row of B, fill the 32 banks. */
__device__ __forceinline__ uint32_t a_offset(int row, int chunk)
{
    return row * a_row_bytes + ((chunk ^ (row >> 1 & 3)) << 4);
}
__device__ __forceinline__ uint32_t b_offset(int row, int chunk)
{
    return row * b_row_bytes + ((chunk ^ (row & 7)) << 4);
}

/* What one thread copies of each K tile: four chunks of A, 32 rows apart, and four of B, 8 rows apart. */
struct tile_copy {
    const half *a, *b;
    size_t a_stride, b_stride; /* between its chunks, in elements */
    size_t b_step;             /* to the next K tile */
    uint32_t a_shared, b_shared;

    __device__ __forceinline__ tile_copy(const half *matrix_a, const half *matrix_b, int n, int k)
    {
        const int a_row = threadIdx.x / 4, a_chunk = threadIdx.x % 4;
        const int b_row = threadIdx.x / 16, b_chunk = threadIdx.x % 16;
        a = matrix_a + ((size_t)blockIdx.y * block_m + a_row) * k + a_chunk * 8;
        b = matrix_b + (size_t)b_row * n + blockIdx.x * block_n + b_chunk * 8;
        a_stride = (size_t)32 * k;
        b_stride = (size_t)8 * n;
        b_step = (size_t)block_k * n;
        a_shared = a_offset(a_row, a_chunk);
        b_shared = a_bytes + b_offset(b_row, b_chunk);
    }

    /* Start copying the next tile into the stage at `shared`. */
    __device__ __forceinline__ void next(uint32_t shared)
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            copy_async(shared + a_shared + i * 32 * a_row_bytes, a + i * a_stride);
            copy_async(shared + b_shared + i * 8 * b_row_bytes, b + i * b_stride);
        }
        a += block_k;
        b += b_step;
    }
};

/* A wave's operands for 16 of K. */
struct fragments {
    uint32_t a[wave_m / 16][4];
    uint32_t b[wave_n / 16][4];
};

/* Where a lane loads them from. */
struct fragment_source {
    uint32_t a, b;

    __device__ __forceinline__ fragment_source()
    {
        const int lane = threadIdx.x % 32, wave = threadIdx.x / 32;
        a = a_offset(wave / 2 * wave_m + lane % 16, lane / 16);
        b = a_bytes + b_offset(lane % 16, wave % 2 * (wave_n / 8) + lane / 16);
    }

    /* `half_tile` 0 or 1: the first or last 16 of the tile at `shared`. */
    __device__ __forceinline__ void load(fragments &out, uint32_t shared, int half_tile) const
    {
#pragma unroll
        for (int i = 0; i < wave_m / 16; i++)
            load_matrices(out.a[i], shared + (a ^ half_tile * 32) + i * 16 * a_row_bytes);
#pragma unroll
        for (int j = 0; j < wave_n / 16; j++)
            load_matrices_transposed(out.b[j], shared + (b ^ j * 32) + half_tile * 16 * b_row_bytes);
    }
};

using accumulators = float[wave_m / 16][wave_n / 8][4];

__device__ __forceinline__ void multiply(accumulators &sum, const fragments &operands)
{
#pragma unroll
    for (int i = 0; i < wave_m / 16; i++)
#pragma unroll
        for (int j = 0; j < wave_n / 8; j++)
            multiply(sum[i][j], operands.a[i], operands.b[j / 2][j % 2 * 2], operands.b[j / 2][j % 2 * 2 + 1]);
}

__device__ __forceinline__ void store(float *c, const accumulators &sum, int n)
{
    const int lane = threadIdx.x % 32, wave = threadIdx.x / 32;
    const int row = blockIdx.y * block_m + wave / 2 * wave_m + lane / 4;
    const int column = blockIdx.x * block_n + wave % 2 * wave_n + lane % 4 * 2;
    c += (size_t)row * n + column;
#pragma unroll
    for (int i = 0; i < wave_m / 16; i++) {
#pragma unroll
        for (int j = 0; j < wave_n / 8; j++) {
            *(float2 *)(c + (size_t)(i * 16) * n + j * 8) = make_float2(sum[i][j][0], sum[i][j][1]);
            *(float2 *)(c + (size_t)(i * 16 + 8) * n + j * 8) = make_float2(sum[i][j][2], sum[i][j][3]);
        }
    }
}

} /* namespace gemm */

/* ---- The kernel ------------------------------------------------------------------------------------------------- */

template <gemm_trace Trace>
__global__ void __launch_bounds__(gemm::threads) gemm_kernel(float *c, const half *a, const half *b, int n, int k)
{
    using namespace gemm;
    KTRACE_KERNEL_IF(Trace != GEMM_UNTRACED, "gemm");
    if constexpr (Trace == GEMM_TRACE_TOKENS)
        KTRACE_MARK("tile", blockIdx.y * gridDim.x + blockIdx.x);

    extern __shared__ __align__(128) unsigned char storage[];
    const uint32_t ring = (uint32_t)__cvta_generic_to_shared(storage);
    const int tiles = k / block_k;
    tile_copy copy(a, b, n, k);
    const fragment_source source;
    fragments first, last; /* halves of a tile */
    {
        KTRACE_RANGE("prologue");
        for (int tile = 0; tile < stages - 1; tile++) {
            if (tile < tiles)
                copy.next(ring + tile * stage_bytes);
            commit_copies();
        }
        wait_for_copies<stages - 2>();
        source.load(first, ring, 0);
    }

    accumulators sum = {};
    /* The first half of `tile` is loaded. Loads its second half, the next tile's first, and multiplies both. */
    auto step = [&](int tile) {
        const uint32_t here = ring + tile % stages * stage_bytes;
        const uint32_t next = ring + (tile + 1) % stages * stage_bytes;
        source.load(last, here, 1);
        if (tile + stages - 1 < tiles) /* into the stage that every wave left before the last barrier */
            copy.next(ring + (tile + stages - 1) % stages * stage_bytes);
        commit_copies(); /* an empty group too, so that the count below is right to the end */
        multiply(sum, first);
        wait_for_copies<stages - 2>(); /* the next tile is there, and every wave has left this one */
        source.load(first, next, 0);   /* past the last tile these are never used */
        multiply(sum, last);
    };
    {
        KTRACE_RANGE("mainloop", tiles);
        [[maybe_unused]] ktrace_token k_tile = KTRACE_INACTIVE_TOKEN("k_tile");
        for (int tile = 0; tile < tiles; tile += tiles_an_iteration) {
            if constexpr (Trace == GEMM_TRACE_TOKENS)
                k_tile = KTRACE_RANGE_NEXT(k_tile, "k_tile");
            for (int i = 0; i < tiles_an_iteration; i++)
                step(tile + i);
        }
        if constexpr (Trace == GEMM_TRACE_TOKENS)
            KTRACE_RANGE_STOP(k_tile);
    }
    if constexpr (Trace == GEMM_TRACE_TOKENS)
        KTRACE_MARK("acc", sum[0][0][0]);
    {
        KTRACE_RANGE("epilogue");
        store(c, sum, n);
    }
}

/* `c` is m x n, `a` m x k, `b` k x n. m and n are multiples of 128, k of 64. */
template <gemm_trace Trace>
cudaError_t gemm_launch(float *c, const half *a, const half *b, int m, int n, int k, cudaStream_t stream = 0)
{
    if (m <= 0 || n <= 0 || k <= 0 || m % gemm::block_m || n % gemm::block_n ||
        k % (gemm::block_k * gemm::tiles_an_iteration))
        return cudaErrorInvalidValue;
    cudaError_t status =
        cudaFuncSetAttribute(gemm_kernel<Trace>, cudaFuncAttributeMaxDynamicSharedMemorySize, gemm::shared_bytes);
    if (status == cudaSuccess)
        status = cudaFuncSetAttribute(gemm_kernel<Trace>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                      cudaSharedmemCarveoutMaxShared);
    if (status != cudaSuccess)
        return status;
    const dim3 grid(n / gemm::block_n, m / gemm::block_m);
    gemm_kernel<Trace><<<grid, gemm::threads, gemm::shared_bytes, stream>>>(c, a, b, n, k);
    return cudaGetLastError();
}

#endif
