/* attention.cuh - the kernel of docs/tutorial.md: attention of one new token of each sequence over all tokens before it, whose
 * keys and values lie in pages ("paged attention", as engines that serve language models run it for every token).
 *
 * 16 query heads share the keys and values of one KV head. A workgroup has one sequence and one KV head: a producer wave copies
 * pages into a ring in shared memory, keys and values of a page in turn, and four consumer waves take a page each, in turn. A
 * page is ready when its `full` barrier says so; its place is free again when its `empty` barrier does.
 *
 * What the steps of the tutorial change is in a struct `Step`, one a file, attention_0.cu to attention_4.cu:
 *     page_numbers    how the producer learns where a sequence's pages are
 *     stages          places in the ring
 *     publish(full)   how the producer, who has started the copies of a page, has its barrier told that they are there
 *     order(lengths)  in which order the grid takes the sequences (attention_problem.cuh)
 */
#ifndef TUTORIAL_ATTENTION_CUH
#define TUTORIAL_ATTENTION_CUH

#include "instructions.cuh"

#include <ktrace/device.h>
#include <math.h>
#include <stddef.h>

namespace attention
{

constexpr int heads = 16; /* of queries for one of keys and values: the rows of a tensor core's tile */
constexpr int dim = 128;  /* of a head */
constexpr int page_tokens = 16;
constexpr int consumers = 4; /* waves */
constexpr int threads = 32 * (consumers + 1);

constexpr uint32_t row_bytes = dim * sizeof(half), page_bytes = page_tokens * row_bytes;
constexpr uint32_t merge_bytes = consumers * heads * dim * sizeof(float); /* where the ring was */

template <class Step>
constexpr uint32_t shared_bytes()
{
    return Step::stages * page_bytes > merge_bytes ? Step::stages * page_bytes : merge_bytes;
}

/* Slots of a producer, which records most: four for a page, and a few. */
constexpr uint32_t slots_per_wave(int max_pages)
{
    return 4 * max_pages + 16;
}

struct arguments {
    float *out;                /* [sequence][KV head][head][dim] */
    const half *queries;       /* the same */
    const half *keys, *values; /* [page][KV head][token][dim] */
    const int *tables;         /* [sequence][max_pages]: where a sequence's pages are */
    const int *lengths;        /* of the sequences, in tokens */
    const int *order;          /* sequence of each row of the grid */
    int max_pages;
};

/* A row of a page is 16 chunks of 16 bytes. Each is turned by its row, so that the 8 rows of a matrix lie in different banks. */
__device__ __forceinline__ uint32_t page_offset(int row, int chunk)
{
    return row * row_bytes + ((chunk ^ (row & 7)) << 4);
}

/* The ring, as addresses of shared memory. Item 2p is the keys of the sequence's page p, item 2p + 1 its values. */
template <int Stages>
struct ring {
    uint32_t pages, full, empty;

    __device__ __forceinline__ uint32_t page(int item) const
    {
        return pages + item % Stages * page_bytes;
    }
    __device__ __forceinline__ uint32_t is_full(int item) const
    {
        return full + item % Stages * 8;
    }
    __device__ __forceinline__ void wait_until_full(int item) const
    {
        barrier_wait(is_full(item), item / Stages & 1);
    }
    __device__ __forceinline__ void wait_until_empty(int item) const
    {
        barrier_wait(empty + item % Stages * 8, (item / Stages & 1) ^ 1);
    }
    /* The wave has read the item. */
    __device__ __forceinline__ void release(int item) const
    {
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            arrive(empty + item % Stages * 8);
    }
};

/* What a wave knows after some of the pages, of heads lane / 4 and lane / 4 + 8. */
struct partial {
    float most[2];         /* largest score, in units of log2 */
    float sum[2];          /* of weights, in this lane's tokens */
    float out[dim / 8][4]; /* weighted values: columns 8 i + lane % 4 * 2 and the next of both heads */
};

/* Numbers of pages, each loaded when it is needed. */
class one_by_one
{
  public:
    __device__ __forceinline__ one_by_one(const int *pages, int) : table(pages)
    {
    }
    __device__ __forceinline__ int of(int item) const
    {
        return table[item / 2];
    }

  private:
    const int *table;
};

/* 32 numbers, a line of the table, in the lanes of the wave, and the next 32 on their way. */
class a_line_ahead
{
  public:
    __device__ __forceinline__ a_line_ahead(const int *pages, int count)
        : table(pages), count(count), line(load(0)), next(load(32))
    {
    }
    __device__ __forceinline__ int of(int item)
    {
        const int number = __shfl_sync(0xFFFFFFFFu, line, item / 2 % 32);
        if (item % 64 == 63) {
            line = next;
            next = load(item / 2 + 33);
        }
        return number;
    }

  private:
    const int *table;
    int count, line, next;

    __device__ __forceinline__ int load(int first) const
    {
        const int page = first + threadIdx.x % 32;
        return page < count ? table[page] : 0;
    }
};

template <class Step, bool Traced>
__device__ __forceinline__ void produce(const ring<Step::stages> &ring, const arguments &of, int sequence,
                                        int pages KTRACE_PARAM_IF(Traced))
{
    const int lane = threadIdx.x % 32;
    typename Step::page_numbers numbers(of.tables + (size_t)sequence * of.max_pages, pages);
    [[maybe_unused]] ktrace_token phase = KTRACE_INACTIVE_TOKEN("wait for room");
    for (int item = 0; item < 2 * pages; item++) {
        phase = KTRACE_RANGE_NEXT(phase, "wait for room");
        ring.wait_until_empty(item);
        phase = KTRACE_RANGE_NEXT(phase, "copy");
        const size_t page = (size_t)numbers.of(item) * gridDim.x + blockIdx.x;
        const half *from = (item % 2 ? of.values : of.keys) + page * page_tokens * dim;
#pragma unroll
        for (int i = 0; i < page_tokens; i += 2) {
            const int row = i + lane / 16, chunk = lane % 16;
            copy_async(ring.page(item) + page_offset(row, chunk), from + row * dim + chunk * 8);
        }
        Step::publish(ring.is_full(item));
    }
    KTRACE_RANGE_STOP(phase);
}

/* The scores of 16 tokens, of which the first `tokens` count, and what follows from them for all before. The weights are
 * operands of the next product. */
__device__ __forceinline__ void weigh(uint32_t (&weights)[4], partial &mine, float (&scores)[2][4], int tokens)
{
    const float scale = 1.44269504f / sqrtf((float)dim); /* exp(x) is exp2 of 1.44 x */
    const int column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int half_row = 0; half_row < 2; half_row++) {
        float most = mine.most[half_row];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float &score = scores[i / 2][half_row * 2 + i % 2];
            score = i / 2 * 8 + column + i % 2 < tokens ? score * scale : -INFINITY;
            most = fmaxf(most, score);
        }
        most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFu, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFu, most, 2));
        const float before = exp2f(mine.most[half_row] - most);
        mine.most[half_row] = most;
        mine.sum[half_row] *= before;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float &score = scores[i / 2][half_row * 2 + i % 2];
            score = exp2f(score - most);
            mine.sum[half_row] += score;
        }
#pragma unroll
        for (int i = 0; i < dim / 8; i++) {
            mine.out[i][half_row * 2] *= before;
            mine.out[i][half_row * 2 + 1] *= before;
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        weights[i] = pack(scores[i / 2][i % 2 * 2], scores[i / 2][i % 2 * 2 + 1]);
}

template <class Step, bool Traced>
__device__ __forceinline__ void consume(partial &mine, const ring<Step::stages> &ring, const half *queries, int wave,
                                        int length, int pages KTRACE_PARAM_IF(Traced))
{
    const int lane = threadIdx.x % 32;
    uint32_t query[dim / 16][4];
#pragma unroll
    for (int i = 0; i < dim / 16; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            query[i][j] =
                *(const uint32_t *)(queries + (lane / 4 + j % 2 * 8) * dim + i * 16 + j / 2 * 8 + lane % 4 * 2);

    [[maybe_unused]] ktrace_token phase = KTRACE_INACTIVE_TOKEN("wait for data");
    for (int page = wave; page < pages; page += consumers) {
        phase = KTRACE_RANGE_NEXT(phase, "wait for data");
        ring.wait_until_full(2 * page);
        phase = KTRACE_RANGE_NEXT(phase, "compute");
        float scores[2][4] = {};
        uint32_t words[4], weights[4];
#pragma unroll
        for (int i = 0; i < dim / 16; i++) {
            load_matrices(words, ring.page(2 * page) + page_offset(lane / 16 * 8 + lane % 8, i * 2 + lane / 8 % 2));
            multiply(scores[0], query[i], words[0], words[1]);
            multiply(scores[1], query[i], words[2], words[3]);
        }
        ring.release(2 * page);
        weigh(weights, mine, scores, length - page * page_tokens);
#pragma unroll
        for (uint32_t &weight : weights)
            KTRACE_PIN(weight); /* without it, this arithmetic slips past the end of the range */

        phase = KTRACE_RANGE_NEXT(phase, "wait for data");
        ring.wait_until_full(2 * page + 1);
        phase = KTRACE_RANGE_NEXT(phase, "compute");
#pragma unroll
        for (int i = 0; i < dim / 16; i++) {
            load_matrices_transposed(words, ring.page(2 * page + 1) + page_offset(lane % 16, i * 2 + lane / 16));
            multiply(mine.out[2 * i], weights, words[0], words[1]);
            multiply(mine.out[2 * i + 1], weights, words[2], words[3]);
        }
        ring.release(2 * page + 1);
    }
#pragma unroll
    for (float &sum : mine.sum) {
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 1);
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
        KTRACE_PIN(sum);
    }
    KTRACE_RANGE_STOP(phase);
}

} /* namespace attention */

/* The grid: KV heads in x, sequences in y. `Traced`: the instance with annotations. */
template <class Step, bool Traced>
__global__ void __launch_bounds__(attention::threads, 2) attention_kernel(attention::arguments of)
{
    using namespace attention;
    /* Parity tells a phase from the next one only. A consumer that met all phases of its own places cannot be further behind. */
    static_assert(Step::stages % (2 * consumers) == 0, "each consumer has places of its own in the ring");
    KTRACE_KERNEL_IF(Traced, "attention");
    extern __shared__ __align__(128) unsigned char storage[];
    __shared__ uint64_t full[Step::stages], empty[Step::stages];
    __shared__ float most[consumers][heads], sum[consumers][heads];
    const ring<Step::stages> ring = {(uint32_t)__cvta_generic_to_shared(storage),
                                     (uint32_t)__cvta_generic_to_shared(full),
                                     (uint32_t)__cvta_generic_to_shared(empty)};
    const int lane = threadIdx.x % 32, wave = uniform(threadIdx.x / 32);
    const int sequence = of.order[blockIdx.y], length = uniform(of.lengths[sequence]);
    const int pages = (length + page_tokens - 1) / page_tokens;
    const size_t here = ((size_t)sequence * gridDim.x + blockIdx.x) * heads * dim; /* in queries and out */
    KTRACE_MARK("pages", pages);

    if (threadIdx.x == 0)
        for (int stage = 0; stage < Step::stages; stage++) {
            barrier_init(ring.full + stage * 8, 32); /* the producer's lanes */
            barrier_init(ring.empty + stage * 8, 1); /* a consumer */
        }
    __syncthreads();

    partial mine = {{-INFINITY, -INFINITY}, {0, 0}, {}};
    if (wave == consumers)
        produce<Step, Traced>(ring, of, sequence, pages KTRACE_ARG);
    else
        consume<Step, Traced>(mine, ring, of.queries + here, wave, length, pages KTRACE_ARG);

    KTRACE_RANGE("merge");
    __syncthreads(); /* nobody reads the ring any more */
    float(*const parts)[heads][dim] = (float(*)[heads][dim])storage;
    if (wave < consumers)
#pragma unroll
        for (int half_row = 0; half_row < 2; half_row++) {
            const int head = lane / 4 + half_row * 8;
            most[wave][head] = mine.most[half_row];
            sum[wave][head] = mine.sum[half_row];
#pragma unroll
            for (int i = 0; i < dim / 8; i++)
                *(float2 *)&parts[wave][head][i * 8 + lane % 4 * 2] =
                    make_float2(mine.out[i][half_row * 2], mine.out[i][half_row * 2 + 1]);
        }
    __syncthreads();
    for (int i = threadIdx.x; i < heads * dim; i += threads) {
        const int head = i / dim;
        float highest = most[0][head], total = 0, out = 0;
        for (int part = 1; part < consumers; part++)
            highest = fmaxf(highest, most[part][head]);
        for (int part = 0; part < consumers; part++) {
            const float weight = exp2f(most[part][head] - highest);
            total += weight * sum[part][head];
            out += weight * parts[part][head][i % dim];
        }
        of.out[here + i] = out / total;
    }
}

#endif
