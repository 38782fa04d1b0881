/* attention_problem.cuh - a batch of sequences for attention.cuh, a plain kernel to check it against, its time, and its trace. */
#ifndef TUTORIAL_ATTENTION_PROBLEM_CUH
#define TUTORIAL_ATTENTION_PROBLEM_CUH

#include "../common.cuh"
#include "attention.cuh"

#include <algorithm>
#include <numeric>
#include <vector>

namespace attention
{

constexpr int kv_heads = 8;
constexpr int sequences = 64;

/* What each sequence has so far, in tokens: most are short, and a few, wherever they are in the batch, are long. */
static std::vector<int> batch_lengths()
{
    std::vector<int> lengths(sequences);
    for (int i = 0; i < sequences; i++)
        lengths[i] = i % 11 == 8 ? 2048 - i : 384 + i * 37 % 384;
    return lengths;
}

static std::vector<int> as_they_came(const std::vector<int> &lengths)
{
    std::vector<int> order(lengths.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
}

/* Numbers that look random, the same on every machine. */
static __host__ __device__ inline uint32_t scrambled(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7FEB352Du;
    x = (x ^ x >> 15) * 0x846CA68Bu;
    return x ^ x >> 16;
}

/* Uniform in [-range, range). */
static __global__ void fill(half *out, size_t count, uint32_t seed, float range)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        out[i] = __float2half(((float)(scrambled((uint32_t)i * 0x9E3779B9u + seed) >> 8) * 0x1p-23f - 1.0f) * range);
}

/* A wave for one query: each lane has 4 columns. */
static __global__ void reference(arguments of)
{
    const int head = blockIdx.z, lane = threadIdx.x;
    const size_t here = (((size_t)blockIdx.y * gridDim.x + blockIdx.x) * heads + head) * dim + lane * 4;
    float most = -INFINITY, sum = 0, out[4] = {};
    for (int token = 0; token < of.lengths[blockIdx.y]; token++) {
        const size_t page = (size_t)of.tables[blockIdx.y * of.max_pages + token / page_tokens] * gridDim.x + blockIdx.x;
        const size_t at = (page * page_tokens + token % page_tokens) * dim + lane * 4;
        float score = 0;
        for (int i = 0; i < 4; i++)
            score += __half2float(of.queries[here + i]) * __half2float(of.keys[at + i]);
        for (int other = 16; other; other /= 2)
            score += __shfl_xor_sync(0xFFFFFFFFu, score, other);
        score /= sqrtf((float)dim);
        const float highest = fmaxf(most, score), before = expf(most - highest), weight = expf(score - highest);
        most = highest;
        sum = sum * before + weight;
        for (int i = 0; i < 4; i++)
            out[i] = out[i] * before + weight * __half2float(of.values[at + i]);
    }
    for (int i = 0; i < 4; i++)
        of.out[here + i] = out[i] / sum;
}

/* Device memory that is freed with its scope. */
template <class T>
struct device_array {
    T *data = nullptr;
    const size_t count;

    explicit device_array(size_t elements) : count(elements)
    {
        CHECK_CUDA(cudaMalloc(&data, count * sizeof(T)));
    }
    explicit device_array(const std::vector<T> &from) : device_array(from.size())
    {
        CHECK_CUDA(cudaMemcpy(data, from.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~device_array()
    {
        cudaFree(data);
    }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;

    std::vector<T> read() const
    {
        std::vector<T> host(count);
        CHECK_CUDA(cudaMemcpy(host.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }
};

template <class Step>
class problem
{
  public:
    problem()
        : lengths(batch_lengths()), max_pages(pages_of(*std::max_element(lengths.begin(), lengths.end()))),
          device_tables(tables()), device_lengths(lengths), device_order(Step::order(lengths)),
          queries((size_t)sequences * kv_heads * heads * dim),
          keys((size_t)page_count() * kv_heads * page_tokens * dim), values(keys.count), out(queries.count),
          right(queries.count)
    {
        fill<<<256, 256>>>(queries.data, queries.count, 1, 8.0f);
        fill<<<1024, 256>>>(keys.data, keys.count, 2, 1.0f);
        fill<<<1024, 256>>>(values.data, values.count, 3, 1.0f);
        reference<<<dim3(kv_heads, sequences, heads), 32>>>(all(right.data));
        CHECK_CUDA(cudaGetLastError());
        CHECK_CUDA(cudaFuncSetAttribute(attention_kernel<Step, false>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        shared_bytes<Step>()));
        CHECK_CUDA(cudaFuncSetAttribute(attention_kernel<Step, true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        shared_bytes<Step>()));
        forget();
    }

    template <bool Traced>
    void launch(int launches)
    {
        for (int i = 0; i < launches; i++)
            attention_kernel<Step, Traced><<<dim3(kv_heads, sequences), threads, shared_bytes<Step>()>>>(all(out.data));
        CHECK_CUDA(cudaGetLastError());
    }

    /* Of one launch, by CUDA's events. */
    template <bool Traced>
    double time_us(int launches)
    {
        cudaEvent_t begin, end;
        float elapsed_ms = 0;
        CHECK_CUDA(cudaEventCreate(&begin));
        CHECK_CUDA(cudaEventCreate(&end));
        launch<Traced>(1);
        CHECK_CUDA(cudaEventRecord(begin));
        launch<Traced>(launches);
        CHECK_CUDA(cudaEventRecord(end));
        CHECK_CUDA(cudaEventSynchronize(end));
        CHECK_CUDA(cudaEventElapsedTime(&elapsed_ms, begin, end));
        CHECK_CUDA(cudaEventDestroy(begin));
        CHECK_CUDA(cudaEventDestroy(end));
        return elapsed_ms * 1e3 / launches;
    }

    /* Fails unless the result is right, then forgets it, so that the next kernel has to write all of it. */
    double check()
    {
        const std::vector<float> got = out.read(), wanted = right.read();
        double difference = 0, norm = 0;
        for (size_t i = 0; i < got.size(); i++) {
            difference += ((double)got[i] - wanted[i]) * ((double)got[i] - wanted[i]);
            norm += (double)wanted[i] * wanted[i];
        }
        const double relative = sqrt(difference / norm);
        if (!(relative < 2e-3))
            fail("the result differs from the reference by %.2e of its norm", relative);
        forget();
        return relative;
    }

    uint32_t slots() const
    {
        return slots_per_wave(max_pages);
    }
    uint64_t waves() const
    {
        return (uint64_t)sequences * kv_heads * (consumers + 1);
    }
    /* Keys and values that a launch reads. */
    double megabytes() const
    {
        return 2.0 * page_count() * kv_heads * page_bytes * 1e-6;
    }

  private:
    const std::vector<int> lengths;
    const int max_pages;
    const device_array<int> device_tables, device_lengths, device_order;
    const device_array<half> queries, keys, values;
    const device_array<float> out, right;

    static int pages_of(int length)
    {
        return (length + page_tokens - 1) / page_tokens;
    }
    int page_count() const
    {
        int pages = 0;
        for (int length : lengths)
            pages += pages_of(length);
        return pages;
    }
    /* Pages lie anywhere, as they do after some time of allocation. */
    std::vector<int> tables() const
    {
        std::vector<int> anywhere(page_count());
        std::iota(anywhere.begin(), anywhere.end(), 0);
        for (uint32_t i = (uint32_t)anywhere.size(); i > 1; i--)
            std::swap(anywhere[i - 1], anywhere[scrambled(i) % i]);
        std::vector<int> table((size_t)sequences * max_pages);
        size_t next = 0;
        for (int sequence = 0; sequence < sequences; sequence++)
            for (int page = 0; page < pages_of(lengths[sequence]); page++)
                table[(size_t)sequence * max_pages + page] = anywhere[next++];
        return table;
    }
    arguments all(float *result) const
    {
        return {
            result,   queries.data, keys.data, values.data, device_tables.data, device_lengths.data, device_order.data,
            max_pages};
    }
    void forget() const
    {
        CHECK_CUDA(cudaMemset(out.data, 0xFF, out.count * sizeof(float))); /* not numbers */
    }
};

static double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

#if KTRACE_ENABLE

/* `blocks` NULL: what KTRACE_BLOCKS says. */
template <class Step>
struct ktrace_capture *begin_capture(const problem<Step> &of, const char *blocks)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.name = example.name;
    options.blocks = blocks;
    options.events_per_wave = of.slots();
    options.events_per_lane = 1;
    options.buffer_bytes = (uint64_t)1 << 30;
    struct ktrace_capture *capture = nullptr;
    check_ktrace(ktrace_capture_begin(&capture, &options));
    return capture;
}

static uint64_t waves_in(const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {};
    info.struct_size = sizeof info;
    check_ktrace(ktrace_trace_get_info(&info, trace));
    return info.waves;
}

#endif

/* Prints the time of a launch: untraced, and while every wave records, in turn. */
template <class Step>
void measure(problem<Step> &of)
{
    constexpr int rounds = 15, batch = 8;
    std::vector<double> untraced_us;
#if KTRACE_ENABLE
    std::vector<double> recorded_us, ratio;
    struct ktrace_capture *capture = begin_capture(of, "all");
#endif
    for (int round = 0; round < rounds; round++) {
        untraced_us.push_back(of.template time_us<false>(batch));
#if KTRACE_ENABLE
        check_ktrace(ktrace_capture_clear(capture));
        recorded_us.push_back(of.template time_us<true>(batch));
        ratio.push_back(recorded_us.back() / untraced_us.back());
#endif
    }
    const double us = median(untraced_us);
    printf("untraced   %.1f us a launch, %.2f TB/s\n", us, of.megabytes() / us);
#if KTRACE_ENABLE
    struct ktrace_trace *trace = nullptr;
    check_ktrace(ktrace_capture_end(&trace, capture));
    if (waves_in(trace) != of.waves() * (batch + 1)) /* one to warm up */
        fail("%llu waves were recorded", (unsigned long long)waves_in(trace));
    ktrace_trace_destroy(trace);
    printf("recording  %.1f us a launch, %+.1f %%\n", median(recorded_us), (median(ratio) - 1) * 100);
#endif
}

} /* namespace attention */

/* Checks the step's kernel and times it; or, with --save, records: one launch, or as many as --launches says, and of them what
 * KTRACE_BLOCKS says. */
template <class Step>
int attention_main(const char *name, int argc, char **argv)
{
#if KTRACE_ENABLE
    static const char usage[] = " [--launches N] [--save FILE.ktrace] [--export]";
    int launches = 1;
    example.name = name;
    if (argc > 1 && strcmp(argv[1], "--launches") == 0) {
        launches = argc > 2 ? atoi(argv[2]) : 0;
        if (launches < 1)
            example_usage(argv[1], usage);
        argc -= 2, argv += 2;
    } else if (argc > 1 && strcmp(argv[1], "--help") == 0)
        example_usage(argv[1], usage);
#endif
    example_start(name, argc, argv);
    require_device(8);
    attention::problem<Step> problem;
    problem.template launch<false>(1);
    printf("%s: ok, relative error %.1e\n", example.name, problem.check());
    if (!example.save)
        attention::measure(problem);

#if KTRACE_ENABLE
    struct ktrace_capture *capture = attention::begin_capture(problem, nullptr);
    problem.template launch<false>(100); /* the clocks settle */
    problem.template launch<true>(launches);
    struct ktrace_trace *trace = nullptr;
    check_ktrace(ktrace_capture_end(&trace, capture));
    if (*ktrace_trace_warning(trace))
        fprintf(stderr, "%s: %s\n", example.name, ktrace_trace_warning(trace));
    problem.check();
    trace_finish(trace);
#endif
    return 0;
}

#endif
