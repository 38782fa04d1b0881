/* pipeline.hip - one wave brings data, three work on it, through a ring of buffers in LDS. HIP C++.
 *
 * Ranges show who waits for whom: the producer for an empty buffer, the consumers for a full one. HIP's own headers are
 * not needed for this kernel, and its words come from hip_words.h, so that clang alone compiles it.
 */
#include "hip_words.h"

#include <ktrace/device.h>

constexpr int lanes = 64, consumers = 3, stages = 4;

/* Counters are read and written around the compiler's idea of memory. */
__device__ __attribute__((always_inline)) inline int peek(const int &counter)
{
    return __atomic_load_n(&counter, __ATOMIC_ACQUIRE);
}
__device__ __attribute__((always_inline)) inline void post(int &counter)
{
    if (__builtin_amdgcn_workitem_id_x() % lanes == 0)
        __atomic_fetch_add(&counter, 1, __ATOMIC_RELEASE);
}

template <int Rounds>
__device__ __attribute__((always_inline)) inline float work(float x)
{
    for (int i = 0; i < Rounds; i++)
        x = x * 0.5f + 1.0f;
    return x;
}

/* out[tile * 64 + lane] = work(in[tile * 64 + lane]); tile t is consumer t % 3's. */
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256))) void pipeline(float *out, const float *in,
                                                                                           int tiles)
{
    KTRACE_KERNEL("pipeline");
    __shared__ float data[stages][lanes];
    __shared__ int full[stages], empty[stages]; /* tiles that were put in, and taken out */
    const int wave = __builtin_amdgcn_readfirstlane(__builtin_amdgcn_workitem_id_x() / lanes);
    const int lane = __builtin_amdgcn_workitem_id_x() % lanes;
    if (wave == 0 && lane < stages)
        full[lane] = empty[lane] = 0;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");

    const int base = __builtin_amdgcn_workgroup_id_x() * tiles * lanes;
    if (wave == consumers) {
        KTRACE_RANGE("produce");
        for (int tile = 0; tile < tiles; tile++) {
            const int stage = tile % stages;
            {
                KTRACE_RANGE("wait for room", tile);
                while (peek(empty[stage]) < tile / stages)
                    __builtin_amdgcn_s_sleep(1);
            }
            KTRACE_RANGE("fill");
            data[stage][lane] = in[base + tile * lanes + lane];
            post(full[stage]);
        }
    } else {
        KTRACE_RANGE("consume", wave);
        for (int tile = wave; tile < tiles; tile += consumers) {
            const int stage = tile % stages;
            ktrace_token wait = KTRACE_RANGE_START("wait for data", tile);
            while (peek(full[stage]) <= tile / stages)
                __builtin_amdgcn_s_sleep(1);
            KTRACE_RANGE_STOP(wait);
            float x = data[stage][lane];
            post(empty[stage]);
            KTRACE_RANGE("work");
            KTRACE_PIN(x);
            x = work<100>(x);
            KTRACE_PIN(x);
            out[base + tile * lanes + lane] = x;
        }
    }
}
