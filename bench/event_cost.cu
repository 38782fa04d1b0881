/* event_cost - what one event costs on the device, beside the forms that other tools use.
 *
 * Each form runs the same loop: work, event, work, event, ... with the work's values pinned around each event, so that
 * nothing moves across. `chain` is 32 dependent FMAs (latency bound), `ILP` 8 chains of 8 (issue bound). The figures are
 * extra cycles an event for one warp and for 8 warps an SM, and for 64 warps an SM the whole kernel's time over that of
 * the loop without events. Forms are run in turn, round by round, and the median of the rounds is printed.
 *
 * Usage: event_cost [--rounds N]. Prints Markdown. Exit 77: no device.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <ktrace/device.h>
#include <ktrace/ktrace.h>

#define CHECK(call) \
    do { \
        const cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) { \
            fprintf(stderr, "event_cost: %s: %s\n", #call, cudaGetErrorString(error_)); \
            exit(1); \
        } \
    } while (0)

namespace
{

constexpr uint32_t window_bytes = 4096; /* of the other forms' buffers, a warp: what ours has by default */

struct Arguments {
    float *out;
    uint64_t *elapsed; /* cycles a warp spent in the loop */
    unsigned char *memory;
    uint64_t unbounded_bytes; /* a warp's share of memory for forms without a bound */
    int iterations;
    float x;
};

/* ---- The loop --------------------------------------------------------------------------------------------------- */

struct Values {
    float a[8];
};

__device__ __forceinline__ void pin(Values &v)
{
    asm volatile(""
                 : "+f"(v.a[0]), "+f"(v.a[1]), "+f"(v.a[2]), "+f"(v.a[3]), "+f"(v.a[4]), "+f"(v.a[5]), "+f"(v.a[6]),
                   "+f"(v.a[7]));
}

template <bool Chain>
__device__ __forceinline__ void work(Values &v, float x)
{
    if constexpr (Chain) {
#pragma unroll
        for (int i = 0; i < 32; i++)
            v.a[0] = fmaf(v.a[0], x, 1.0f);
    } else {
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                v.a[j] = fmaf(v.a[j], x, 1.0f);
    }
}

__device__ __forceinline__ uint32_t lane()
{
    return threadIdx.x & 31;
}
__device__ __forceinline__ uint32_t warp()
{
    return (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
}

/* EVENT(n) is expanded four times; SETUP once, first in the kernel. */
#define COST_KERNEL(name, SETUP, EVENT) \
    template <bool Chain> \
    __global__ void __launch_bounds__(256) name(Arguments arguments) \
    { \
        SETUP; \
        const float x = arguments.x; \
        Values v; \
        for (int i = 0; i < 8; i++) \
            v.a[i] = x + (float)i + (float)lane(); \
        const uint64_t start = clock64(); \
        _Pragma("unroll 1") for (int i = 0; i < arguments.iterations; i++) \
        { \
            work<Chain>(v, x); \
            pin(v); \
            EVENT(1); \
            pin(v); \
            work<Chain>(v, x); \
            pin(v); \
            EVENT(2); \
            pin(v); \
            work<Chain>(v, x); \
            pin(v); \
            EVENT(3); \
            pin(v); \
            work<Chain>(v, x); \
            pin(v); \
            EVENT(4); \
            pin(v); \
        } \
        const uint64_t stop = clock64(); \
        float sum = 0; \
        for (int i = 0; i < 8; i++) \
            sum += v.a[i]; \
        arguments.out[blockIdx.x * blockDim.x + threadIdx.x] = sum; \
        if (lane() == 0) \
            arguments.elapsed[warp()] = stop - start; \
    }

/* ---- Ours, through the header ------------------------------------------------------------------------------------ */

#define NOTHING(n)
COST_KERNEL(none, , NOTHING)

#define MARK(n) KTRACE_MARK("event " #n)
COST_KERNEL(ours_mark, KTRACE_KERNEL("cost"), MARK)
#define MARK_32(n) KTRACE_MARK("event " #n, i)
COST_KERNEL(ours_mark_32, KTRACE_KERNEL("cost"), MARK_32)
#define MARK_64(n) KTRACE_MARK("event " #n, start + (uint64_t)i)
COST_KERNEL(ours_mark_64, KTRACE_KERNEL("cost"), MARK_64)
/* Two events: a push and a pop around nothing. */
#define RANGE(n) \
    { \
        KTRACE_RANGE("event " #n); \
    }
COST_KERNEL(ours_range, KTRACE_KERNEL("cost"), RANGE)
/* Two events: the last token's stop and the next one's start, as in a loop over tiles. */
#define TOKEN(n) \
    KTRACE_RANGE_STOP(token); \
    token = KTRACE_RANGE_START("event " #n)
COST_KERNEL(ours_token, KTRACE_KERNEL("cost"); ktrace_token token = KTRACE_INACTIVE_TOKEN("event"), TOKEN)
/* Named in an asm statement so that the read is not dropped. */
/* Used by a store that is not taken, as ptxas drops a read that nothing uses. */
#define CLOCK(n) \
    asm volatile("{ .reg .u32 t; .reg .pred p;\n\tmov.u32 t, %%clock;\n\tsetp.eq.u32 p, t, 0;\n\t" \
                 "@p st.global.u32 [%0], t; }" ::"l"(arguments.memory) \
                 : "memory")
COST_KERNEL(clock_only, , CLOCK)

/* ---- The forms of other tools, rebuilt from their descriptions ---------------------------------------------------- */

#define WINDOW_SETUP \
    uint64_t pointer = (uint64_t)arguments.memory + (uint64_t)warp() * window_bytes; \
    const bool first = lane() == 0
#define WINDOW_NEXT(bytes) \
    pointer = (pointer & ~(uint64_t)(window_bytes - 1)) | ((pointer + (bytes)) & (window_bytes - 1))
#define UNBOUNDED_SETUP \
    uint64_t pointer = (uint64_t)arguments.memory + (uint64_t)warp() * arguments.unbounded_bytes; \
    const bool first = lane() == 0

/* FlashInfer's profiler: lane 0 stores {tag, globaltimer}, then a block fence. In a window, so that the stores stay in the
 * cache as ours do; and as written, without a bound. */
#define FLASHINFER_STORE(n) \
    uint32_t t##n; \
    asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(t##n)); \
    if (first) \
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(pointer), "r"(n), "r"(t##n) : "memory")
#define FLASHINFER(n) \
    FLASHINFER_STORE(n); \
    WINDOW_NEXT(8); \
    __threadfence_block()
COST_KERNEL(flashinfer, WINDOW_SETUP, FLASHINFER)
#define FLASHINFER_UNBOUNDED(n) \
    FLASHINFER_STORE(n); \
    pointer += 8; \
    __threadfence_block()
COST_KERNEL(flashinfer_unbounded, UNBOUNDED_SETUP, FLASHINFER_UNBOUNDED)

/* IKET's native form: every active lane stores globaltimer with the id in its low bits. */
#define IKET_STORE(n) \
    uint32_t t##n; \
    asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(t##n)); \
    asm volatile("st.global.u32 [%0], %1;" ::"l"(pointer), "r"((t##n & ~31u) | n) : "memory")
#define IKET(n) \
    IKET_STORE(n); \
    WINDOW_NEXT(4)
COST_KERNEL(iket, WINDOW_SETUP, IKET)
#define IKET_UNBOUNDED(n) \
    IKET_STORE(n); \
    pointer += 4
COST_KERNEL(iket_unbounded, UNBOUNDED_SETUP, IKET_UNBOUNDED)

/* Triton Proton's idea: lane 0 stores 8 bytes to a ring in shared memory; nothing flushes it here. */
#define PROTON_SETUP \
    __shared__ uint2 ring[8 * 64]; \
    const uint32_t ring_base = (uint32_t)__cvta_generic_to_shared(&ring[(threadIdx.x >> 5) * 64]); \
    uint32_t count = 0; \
    const bool first = lane() == 0
#define PROTON(n) \
    uint32_t t##n; \
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t##n)); \
    asm volatile("{ .reg .pred q; setp.ne.u32 q, %3, 0; @q st.shared.v2.u32 [%0], {%1, %2}; }" ::"r"(ring_base + \
                                                                                                     (count & 511)), \
                 "r"(t##n), "r"(n), "r"((uint32_t)first) \
                 : "memory"); \
    count += 8
COST_KERNEL(proton, PROTON_SETUP, PROTON)

/* Lane 0 only, 8 bytes, bounded ring in global memory: loses what lane 0 does not reach. */
#define LANE0(n) \
    uint32_t t##n; \
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t##n)); \
    if (first) \
        asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(pointer), "r"(t##n), "r"(n) : "memory"); \
    WINDOW_NEXT(8)
COST_KERNEL(lane0, WINDOW_SETUP, LANE0)

/* First active lane, 16-byte record. */
#define WIDE_SETUP \
    WINDOW_SETUP; \
    uint32_t below; \
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below)); \
    (void)first
#define WIDE(n) \
    uint32_t t##n, m##n; \
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t##n)); \
    asm volatile("activemask.b32 %0;" : "=r"(m##n)); \
    asm volatile("{ .reg .pred q; setp.eq.u32 q, %5, 0; @q st.global.v4.u32 [%0], {%1, %2, %3, %4}; }" ::"l"(pointer), \
                 "r"(t##n), "r"(n), "r"(i), "r"(m##n), "r"(m##n & below) \
                 : "memory"); \
    WINDOW_NEXT(16)
COST_KERNEL(wide16, WIDE_SETUP, WIDE)

/* ---- A wave's start and end --------------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(256) wave_start(uint64_t *start_cycles, uint64_t *end_cycles)
{
    const uint64_t before = clock64();
    uint64_t inside;
    {
        KTRACE_KERNEL("start");
        KTRACE_MARK("first");
        inside = clock64();
        start_cycles[warp()] = inside - before;
        inside = clock64();
    }
    if (lane() == 0)
        end_cycles[warp()] = clock64() - inside;
}

/* ---- Running ------------------------------------------------------------------------------------------------------ */

enum class Mode { untraced, traced, filtered };

struct Form {
    const char *name;
    Mode mode;
    int events; /* an EVENT */
    void (*chain)(Arguments);
    void (*ilp)(Arguments);
};

#define FORM(label, mode, events, kernel) \
    { \
        label, mode, events, kernel<true>, kernel<false> \
    }
const Form forms[] = {
    FORM("no events", Mode::untraced, 1, none),
    FORM("**ktrace mark**", Mode::traced, 1, ours_mark),
    FORM("ktrace mark, 32-bit payload", Mode::traced, 1, ours_mark_32),
    FORM("ktrace mark, 64-bit payload", Mode::traced, 1, ours_mark_64),
    FORM("ktrace range (push and pop)", Mode::traced, 2, ours_range),
    FORM("ktrace token (stop and start)", Mode::traced, 2, ours_token),
    FORM("ktrace mark, dormant (no capture)", Mode::untraced, 1, ours_mark),
    FORM("ktrace mark, wave filtered out", Mode::filtered, 1, ours_mark),
    FORM("FlashInfer's form (4 KiB window)", Mode::untraced, 1, flashinfer),
    FORM("FlashInfer's form, unbounded as written", Mode::untraced, 1, flashinfer_unbounded),
    FORM("IKET's form (4 KiB window)", Mode::untraced, 1, iket),
    FORM("IKET's form, unbounded as written", Mode::untraced, 1, iket_unbounded),
    FORM("16-byte record, first active lane", Mode::untraced, 1, wide16),
    FORM("lane 0 only, global ring (loses divergent events)", Mode::untraced, 1, lane0),
    FORM("lane 0 only, ring in shared memory, no flush (Proton's idea)", Mode::untraced, 1, proton),
    FORM("clock read, compared, store not taken", Mode::untraced, 1, clock_only),
};
constexpr int form_count = (int)(sizeof forms / sizeof forms[0]);

struct Shape {
    const char *name;
    int blocks_per_sm, threads, iterations; /* blocks_per_sm 0: one block in all */
};
const Shape shapes[] = {{"1 warp", 0, 32, 2000}, {"8 warps an SM", 1, 256, 1000}, {"64 warps an SM", 8, 256, 500}};

struct Sample {
    double cycles_per_event, milliseconds;
};

Arguments arguments;
cudaEvent_t begin_event, end_event;

Sample run_once(const Form &form, const Shape &shape, bool chain, int blocks)
{
    arguments.iterations = shape.iterations;
    void (*kernel)(Arguments) = chain ? form.chain : form.ilp;
    CHECK(cudaEventRecord(begin_event));
    kernel<<<blocks, shape.threads>>>(arguments);
    CHECK(cudaEventRecord(end_event));
    CHECK(cudaDeviceSynchronize());
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, begin_event, end_event));
    std::vector<uint64_t> elapsed((size_t)blocks * shape.threads / 32);
    CHECK(cudaMemcpy(elapsed.data(), arguments.elapsed, elapsed.size() * 8, cudaMemcpyDeviceToHost));
    double sum = 0;
    for (uint64_t cycles : elapsed)
        sum += (double)cycles;
    return {sum / (double)elapsed.size() / shape.iterations / 4, milliseconds};
}

void fail_ktrace(const char *what)
{
    fprintf(stderr, "event_cost: %s: %s\n", what, ktrace_last_error());
    exit(1);
}

ktrace_capture *open_capture(Mode mode)
{
    if (mode == Mode::untraced)
        return nullptr;
    ktrace_filter nobody = KTRACE_FILTER_INIT;
    nobody.block_first[0] = 0x7FFFFFFFu;
    ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.name = "event_cost";
    options.buffer_bytes = (uint64_t)160 << 20;
    options.keep_last = 1;
    if (mode == Mode::filtered)
        options.filter = &nobody;
    ktrace_capture *capture = nullptr;
    if (ktrace_capture_begin(&capture, &options) < 0)
        fail_ktrace("begin");
    return capture;
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const size_t n = values.size();
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* figures[form][shape * 2 + ilp]: extra cycles an EVENT, and the kernel's time over that of the bare loop. */
struct Figures {
    double extra_cycles[6], ratio[6];
};

std::vector<Figures> measure(int sms, int rounds)
{
    std::vector<Figures> figures(form_count);
    for (int s = 0; s < 3; s++)
        for (int ilp = 0; ilp < 2; ilp++) {
            const int blocks = shapes[s].blocks_per_sm ? sms * shapes[s].blocks_per_sm : 1;
            std::vector<std::vector<double>> extra(form_count), ratio(form_count);
            for (int round = -1; round < rounds; round++) { /* round -1 warms up */
                Sample base = {};
                for (int f = 0; f < form_count; f++) {
                    ktrace_capture *capture = open_capture(forms[f].mode);
                    const Sample warm = run_once(forms[f], shapes[s], !ilp, blocks);
                    if (capture && ktrace_capture_clear(capture) < 0)
                        fail_ktrace("clear");
                    const Sample sample = run_once(forms[f], shapes[s], !ilp, blocks);
                    (void)warm;
                    ktrace_capture_destroy(capture);
                    if (f == 0)
                        base = sample;
                    if (round < 0)
                        continue;
                    extra[f].push_back(sample.cycles_per_event - base.cycles_per_event);
                    ratio[f].push_back(sample.milliseconds / base.milliseconds);
                }
            }
            for (int f = 0; f < form_count; f++) {
                figures[f].extra_cycles[s * 2 + ilp] = median(extra[f]);
                figures[f].ratio[s * 2 + ilp] = median(ratio[f]);
            }
        }
    return figures;
}

int registers_of(void (*kernel)(Arguments))
{
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, kernel));
    return attributes.numRegs;
}

void print_events(const std::vector<Figures> &figures)
{
    printf(
        "Extra cycles an event (a range or token: for its two events); at 64 warps an SM the whole kernel's time over\n"
        "that of the loop without events. Registers are of the chain kernel.\n\n");
    printf("| form | 1 warp chain / ILP | 8 warps an SM chain / ILP | 64 warps an SM chain / ILP | registers |\n");
    printf("|---|---|---|---|---|\n");
    for (int f = 0; f < form_count; f++) {
        const Figures &row = figures[f];
        printf("| %s | %.1f / %.1f | %.1f / %.1f | x%.3f / x%.3f | %d |\n", forms[f].name, row.extra_cycles[0],
               row.extra_cycles[1], row.extra_cycles[2], row.extra_cycles[3], row.ratio[4], row.ratio[5],
               registers_of(forms[f].chain));
    }
}

void print_wave_start(int sms)
{
    printf("\nA wave's start (KTRACE_KERNEL to after its first event, cycles) and end (the handle's scope):\n\n");
    printf("| waves at once | mode | start p50 / p99 | end p50 / p99 |\n|---|---|---|---|\n");
    const int shape_blocks[] = {1, sms, sms * 8}, shape_threads[] = {32, 256, 256};
    const struct {
        Mode mode;
        const char *name;
    } modes[] = {{Mode::untraced, "dormant"}, {Mode::filtered, "filtered out"}, {Mode::traced, "recording"}};
    uint64_t *start, *end;
    CHECK(cudaMalloc(&start, (size_t)sms * 64 * 8));
    CHECK(cudaMalloc(&end, (size_t)sms * 64 * 8));
    for (int s = 0; s < 3; s++)
        for (const auto &mode : modes) {
            ktrace_capture *capture = open_capture(mode.mode);
            for (int i = 0; i < 2; i++) { /* the first warms the caches */
                wave_start<<<shape_blocks[s], shape_threads[s]>>>(start, end);
                CHECK(cudaDeviceSynchronize());
            }
            ktrace_capture_destroy(capture);
            std::vector<uint64_t> a((size_t)shape_blocks[s] * shape_threads[s] / 32), b(a.size());
            CHECK(cudaMemcpy(a.data(), start, a.size() * 8, cudaMemcpyDeviceToHost));
            CHECK(cudaMemcpy(b.data(), end, b.size() * 8, cudaMemcpyDeviceToHost));
            std::sort(a.begin(), a.end());
            std::sort(b.begin(), b.end());
            const size_t p50 = a.size() / 2, p99 = (a.size() * 99) / 100;
            printf("| %zu | %s | %llu / %llu | %llu / %llu |\n", a.size(), mode.name, (unsigned long long)a[p50],
                   (unsigned long long)a[p99], (unsigned long long)b[p50], (unsigned long long)b[p99]);
        }
    CHECK(cudaFree(start));
    CHECK(cudaFree(end));
}

} // namespace

int main(int argc, char **argv)
{
    int rounds = 9;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = atoi(argv[++i]);
        else {
            fprintf(stderr, "usage: event_cost [--rounds N]\n");
            return 2;
        }
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fprintf(stderr, "event_cost: no CUDA device\n");
        return 77;
    }
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    const int sms = properties.multiProcessorCount;
    const size_t warps = (size_t)sms * 64;
    arguments.x = 0.5f;
    arguments.unbounded_bytes = 4 * 500 * 8 + 64;
    /* the longest unbounded run is one warp's, or 8 an SM's */
    arguments.unbounded_bytes = std::max<uint64_t>(arguments.unbounded_bytes, 4 * 2000 * 8 + 64);
    CHECK(cudaMalloc(&arguments.memory, std::max(warps * window_bytes, warps * (size_t)arguments.unbounded_bytes)));
    CHECK(cudaMalloc(&arguments.out, warps * 32 * sizeof(float)));
    CHECK(cudaMalloc(&arguments.elapsed, warps * 8));
    CHECK(cudaEventCreate(&begin_event));
    CHECK(cudaEventCreate(&end_event));

    int runtime = 0, driver = 0;
    CHECK(cudaRuntimeGetVersion(&runtime));
    CHECK(cudaDriverGetVersion(&driver));
    printf("Device %s, %d SMs; CUDA runtime %d, driver %d; median of %d rounds, forms in turn in each.\n\n",
           properties.name, sms, runtime, driver, rounds);
    print_events(measure(sms, rounds));
    print_wave_start(sms);
    return 0;
}
