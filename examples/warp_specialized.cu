/* warp_specialized - a producer wave fills a ring of shared memory, consumer waves empty it.
 *
 * One lane of the producer issues bulk copies (cp.async.bulk) that complete on a memory barrier of their stage; consumers
 * wait for it, compute, and release the stage through a second barrier. What to see in the trace:
 *
 *   - the producer's events come from a single lane, whichever that is: once the one that elect.sync chooses, once lane 5;
 *   - "in flight" ranges overlap: each stage has a token of its own, from its copy's issue to its release;
 *   - consumers' "wait" ranges are long where memory is the bottleneck, the producer's where computing is.
 */
#include "common.cuh"

#include <ktrace/device.h>
#include <math.h>
#include <stdint.h>

#include <vector>

constexpr int stages = 4;
constexpr int consumers = 4; /* waves */
constexpr int lane_floats = 8;
constexpr int tile_floats = consumers * 32 * lane_floats;
constexpr uint32_t tile_bytes = tile_floats * sizeof(float);
static_assert(tile_bytes % 16 == 0, "a bulk copy moves chunks of 16 bytes");
constexpr int rounds = 4; /* how often a workgroup goes round its ring */

constexpr int any_lane = -1; /* the producer lane is the one that elect.sync chooses */

/* ---- Memory barriers and copies --------------------------------------------------------------------------------- */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ __forceinline__ uint32_t shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}
__device__ __forceinline__ void barrier_init(uint64_t *barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_arrive(uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
/* Wait for the end of the barrier's phase of this parity. The phase before the first counts as ended. */
__device__ __forceinline__ void barrier_wait(uint64_t *barrier, uint32_t parity)
{
    uint32_t done;
    do {
        asm volatile("{ .reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
    } while (!done);
}
/* Copy a tile; the barrier's phase ends when all of its bytes are there. */
__device__ __forceinline__ void copy_tile(float *tile, const float *source, uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(tile_bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(tile)),
                 "l"(source), "r"(tile_bytes), "r"(shared_address(barrier))
                 : "memory");
}

/* True in one lane of a converged wave. */
template <int Lane>
__device__ __forceinline__ bool elected()
{
    if constexpr (Lane != any_lane)
        return threadIdx.x % 32 == Lane;
    uint32_t chosen;
    asm volatile("{ .reg .pred p;\n\t"
                 "elect.sync _|p, 0xFFFFFFFF;\n\t"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(chosen));
    return chosen != 0;
}

#endif

/* exp(x) for small x, as a polynomial: the same operations, and so the same bits, on the host. */
__host__ __device__ inline float series(float x)
{
    float y = 1;
    for (int i = 12; i > 0; i--)
        y = fmaf(y, x * (1.0f / (float)i), 1.0f);
    return y;
}

/* ---- The kernel ------------------------------------------------------------------------------------------------- */

/* `rounds * stages` tiles for each workgroup, side by side. */
template <int ProducerLane>
__global__ void __launch_bounds__(32 * (consumers + 1)) stream_kernel(float *out, const float *in)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    KTRACE_KERNEL("stream");
    __shared__ __align__(128) float ring[stages][tile_floats];
    __shared__ uint64_t full[stages], empty[stages];
    const int wave = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < stages; stage++) {
            barrier_init(&full[stage], 1);
            barrier_init(&empty[stage], 32 * consumers);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    if (wave == consumers) {
        if (elected<ProducerLane>()) {
            KTRACE_RANGE("produce");
            ktrace_token in_flight[stages];
            for (int stage = 0; stage < stages; stage++)
                in_flight[stage] = KTRACE_INACTIVE_TOKEN("in flight");
            for (int round = 0; round <= rounds; round++) {
#pragma unroll
                for (int stage = 0; stage < stages; stage++) {
                    {
                        KTRACE_RANGE("wait for room", stage);
                        barrier_wait(&empty[stage], (round & 1) ^ 1);
                    }
                    KTRACE_RANGE_STOP(in_flight[stage]);
                    if (round == rounds)
                        continue; /* the last round only sees the ring emptied */
                    const int tile = (blockIdx.x * rounds + round) * stages + stage;
                    in_flight[stage] = KTRACE_RANGE_START("in flight", tile);
                    copy_tile(ring[stage], in + (size_t)tile * tile_floats, &full[stage]);
                }
            }
        }
    } else {
        for (int round = 0; round < rounds; round++) {
            for (int stage = 0; stage < stages; stage++) {
                const int tile = (blockIdx.x * rounds + round) * stages + stage;
                {
                    KTRACE_RANGE("wait for data", stage);
                    barrier_wait(&full[stage], round & 1);
                    __syncwarp();
                }
                float values[lane_floats];
                {
                    KTRACE_RANGE("compute", tile);
#pragma unroll
                    for (int i = 0; i < lane_floats; i++) {
                        values[i] = series(ring[stage][i * 32 * consumers + threadIdx.x]);
                        KTRACE_PIN(values[i]); /* without it, arithmetic may slip past the end of the range */
                    }
                }
                barrier_arrive(&empty[stage]); /* every lane, for its own reads */
                {
                    KTRACE_RANGE("store");
                    float *to = out + (size_t)tile * tile_floats + threadIdx.x;
#pragma unroll
                    for (int i = 0; i < lane_floats; i++)
                        to[i * 32 * consumers] = values[i];
                }
            }
        }
    }
#else
    (void)out, (void)in; /* main asked for a newer device */
#endif
}

/* ---- The host --------------------------------------------------------------------------------------------------- */

#if KTRACE_ENABLE

/* Every wave of the launch must have recorded each phase as often as the kernel went through it, and the producer from one
 * lane. */
static void check_trace(const struct ktrace_trace *trace, uint32_t launch, int producer_lane)
{
    const int tiles = rounds * stages;
    struct ktrace_trace_info info = {};
    info.struct_size = sizeof info;
    check_ktrace(ktrace_trace_get_info(&info, trace));
    for (uint64_t i = 0; i < info.waves; i++) {
        struct ktrace_wave_info wave = {};
        wave.struct_size = sizeof wave;
        check_ktrace(ktrace_trace_wave(&wave, trace, i));
        if (wave.launch != launch)
            continue;
        const bool producer = wave.wave == consumers;
        int copies = 0, waits = 0, computes = 0, first_lane = -1;
        for (uint32_t j = 0; j < wave.events; j++) {
            struct ktrace_event_info event = {};
            event.struct_size = sizeof event;
            check_ktrace(ktrace_trace_event(&event, trace, i, j));
            const int expected_lane = !producer ? 0 : producer_lane != any_lane ? producer_lane : first_lane;
            if (first_lane < 0)
                first_lane = (int)event.lane;
            if (expected_lane >= 0 && (int)event.lane != expected_lane)
                fail("wave %u recorded \"%s\" from lane %u instead of lane %d", wave.wave, event.name, event.lane,
                     expected_lane);
            copies += event.kind == KTRACE_KIND_START && strcmp(event.name, "in flight") == 0;
            waits += event.kind == KTRACE_KIND_PUSH && strncmp(event.name, "wait for ", 9) == 0;
            computes += event.kind == KTRACE_KIND_PUSH && strcmp(event.name, "compute") == 0;
        }
        if (copies != (producer ? tiles : 0) || computes != (producer ? 0 : tiles) ||
            waits != (producer ? tiles + stages : tiles))
            fail("wave %u of workgroup %u recorded %d copies, %d waits and %d computations of %d tiles", wave.wave,
                 wave.workgroup[0], copies, waits, computes, tiles);
    }
}

#endif

template <int ProducerLane>
static void run(float *out, const float *in, int workgroups, const std::vector<float> &input)
{
    std::vector<float> result(input.size());
    CHECK_CUDA(cudaMemset(out, 0xFF, result.size() * sizeof(float)));
    stream_kernel<ProducerLane><<<workgroups, 32 * (consumers + 1)>>>(out, in);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaMemcpy(result.data(), out, result.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < result.size(); i++)
        if (result[i] != series(input[i]))
            fail("element %zu is %.9g instead of %.9g, with producer lane %d", i, result[i], series(input[i]),
                 ProducerLane);
}

int main(int argc, char **argv)
{
    example_start("warp_specialized", argc, argv);
    const int workgroups = require_device(9).multiProcessorCount;
    std::vector<float> input((size_t)workgroups * rounds * stages * tile_floats);
    for (size_t i = 0; i < input.size(); i++)
        input[i] = (float)(i % 2001) * 1e-3f - 1.0f;
    float *in, *out;
    CHECK_CUDA(cudaMalloc(&in, input.size() * sizeof *in));
    CHECK_CUDA(cudaMalloc(&out, input.size() * sizeof *out));
    CHECK_CUDA(cudaMemcpy(in, input.data(), input.size() * sizeof *in, cudaMemcpyHostToDevice));

#if KTRACE_ENABLE
    /* The producer is a lane that records on its own: lanes' rings must be as large as its events are many. */
    struct ktrace_capture *capture = capture_begin(256, 128);
#endif
    run<any_lane>(out, in, workgroups, input);
    run<5>(out, in, workgroups, input);
#if KTRACE_ENABLE
    struct ktrace_trace *trace = capture_end(capture);
    check_trace(trace, 0, any_lane);
    check_trace(trace, 1, 5);
    trace_finish(trace);
#endif
    CHECK_CUDA(cudaFree(in));
    CHECK_CUDA(cudaFree(out));
    printf("warp_specialized: ok, %zu elements through %d stages, producer lane elected and fixed\n", input.size(),
           stages);
    return 0;
}
