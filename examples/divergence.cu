/* divergence - events where lanes of a wave go different ways.
 *
 * An event is recorded once for the lanes that reach it together, by the first of them. So the arms of a switch, loops
 * that lanes leave at different times, early returns and device functions all show in the trace as they ran, and a
 * payload is the value of the lane that recorded. This program checks what the kernel computed, and that its trace has
 * exactly the events that follow from the input.
 */
#include "common.cuh"

#include <ktrace/device.h>

#include <set>
#include <vector>

constexpr int wave_size = 32;
constexpr int keys = 5;

/* The greatest common divisor; each lane takes its own number of steps. */
__device__ int divisor(int a, int b KTRACE_PARAM)
{
    KTRACE_RANGE("divisor");
    while (b != 0) {
        KTRACE_RANGE("step", b);
        const int rest = a % b;
        a = b;
        b = rest;
        KTRACE_PIN(b);
    }
    return a;
}

/* Lanes with equal keys find each other, one key after the other; returns how many share this lane's. */
__device__ int count_equal(unsigned lanes, int key KTRACE_PARAM)
{
    KTRACE_RANGE("search");
    int count = 0;
    for (unsigned open = lanes; open != 0;) {
        const int wanted = __shfl_sync(lanes, key, __ffs(open) - 1);
        const unsigned equal = __ballot_sync(lanes, key == wanted);
        if (key == wanted) {
            KTRACE_MARK("found", key);
            count = __popc(equal);
        }
        __syncwarp(lanes);
        open &= ~equal;
    }
    return count;
}

/* A function that hands the handle on. */
__device__ int pair_divisor(int value KTRACE_PARAM)
{
    return divisor(value, 360 KTRACE_ARG);
}

struct result {
    int arm, divisor, equal;
};

__global__ void divergence_kernel(result *out, const int *in, int count)
{
    KTRACE_KERNEL("divergence");
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    [[maybe_unused]] const int lane = threadIdx.x % wave_size; /* a payload only */
    const unsigned lanes = __ballot_sync(0xFFFFFFFFu, i < count);
    if (i >= count)
        return; /* these lanes' part of the trace ends here */
    const int value = in[i];
    result mine;

    switch (value % 4) {
    case 0:
        KTRACE_MARK("arm 0", lane);
        mine.arm = value / 4;
        break;
    case 1:
        KTRACE_MARK("arm 1", lane);
        mine.arm = value * 3;
        break;
    case 2: {
        KTRACE_RANGE("arm 2", lane);
        mine.arm = value ^ 0x55;
        break; /* leaves the range as well */
    }
    default: {
        KTRACE_MARK("arm 3", lane);
        mine.arm = -value;
    }
    }
    __syncwarp(lanes);

    mine.divisor = pair_divisor(value KTRACE_ARG);
    __syncwarp(lanes);
    mine.equal = count_equal(lanes, value % keys KTRACE_ARG);
    out[i] = mine;
}

/* ---- The same on the host, with what each wave must record ------------------------------------------------------- */

static result expected_result(const std::vector<int> &input, size_t i)
{
    const size_t wave = i / wave_size * wave_size;
    const int value = input[i];
    result right = {};
    switch (value % 4) {
    case 0: right.arm = value / 4; break;
    case 1: right.arm = value * 3; break;
    case 2: right.arm = value ^ 0x55; break;
    default: right.arm = -value;
    }
    int a = value, b = 360;
    while (b != 0) {
        const int rest = a % b;
        a = b;
        b = rest;
    }
    right.divisor = a;
    for (size_t j = wave; j < input.size() && j < wave + wave_size; j++)
        right.equal += input[j] % keys == value % keys;
    return right;
}

#if KTRACE_ENABLE

/* Of one wave: how often each phase was recorded, and the first lane of each arm. */
struct counts {
    int arm[4] = {}, arm_lane[4] = {-1, -1, -1, -1};
    int divisors = 0, steps = 0, searches = 0, found = 0;
};

static counts expected_counts(const std::vector<int> &input, size_t first)
{
    counts right;
    std::set<int> different;
    for (size_t i = first; i < input.size() && i < first + wave_size; i++) {
        const int arm = input[i] % 4;
        if (right.arm[arm]++ == 0)
            right.arm_lane[arm] = (int)(i - first);
        right.arm[arm] = 1; /* once, for all lanes that take it */
        int a = input[i], b = 360, steps = 0;
        for (; b != 0; steps++) {
            const int rest = a % b;
            a = b;
            b = rest;
        }
        if (right.steps < steps)
            right.steps = steps; /* as often as the last lane to leave */
        different.insert(input[i] % keys);
    }
    right.found = (int)different.size();
    right.divisors = right.searches = first < input.size();
    return right;
}

static counts recorded_counts(const struct ktrace_trace *trace, uint64_t wave, uint32_t events)
{
    counts found;
    for (uint32_t j = 0; j < events; j++) {
        struct ktrace_event_info event = {};
        event.struct_size = sizeof event;
        check_ktrace(ktrace_trace_event(&event, trace, wave, j));
        if (event.kind == KTRACE_KIND_POP)
            continue;
        if (strncmp(event.name, "arm ", 4) == 0) {
            const int arm = event.name[4] - '0';
            found.arm[arm]++;
            found.arm_lane[arm] = (int)event.lane;
            if (event.payload != event.lane)
                fail("\"%s\" has the payload of lane %llu, and lane %u recorded it", event.name,
                     (unsigned long long)event.payload, event.lane);
        }
        found.divisors += strcmp(event.name, "divisor") == 0;
        found.steps += strcmp(event.name, "step") == 0;
        found.searches += strcmp(event.name, "search") == 0;
        found.found += strcmp(event.name, "found") == 0;
    }
    return found;
}

static void check_trace(const struct ktrace_trace *trace, const std::vector<int> &input, uint64_t waves)
{
    struct ktrace_trace_info info = {};
    info.struct_size = sizeof info;
    check_ktrace(ktrace_trace_get_info(&info, trace));
    if (info.waves != waves)
        fail("the trace has %llu waves of %llu", (unsigned long long)info.waves, (unsigned long long)waves);
    for (uint64_t i = 0; i < info.waves; i++) {
        struct ktrace_wave_info wave = {};
        struct ktrace_launch_info launch = {};
        wave.struct_size = sizeof wave;
        launch.struct_size = sizeof launch;
        check_ktrace(ktrace_trace_wave(&wave, trace, i));
        check_ktrace(ktrace_trace_launch(&launch, trace, wave.launch));
        const size_t first = (size_t)wave.workgroup[0] * launch.block[0] + (size_t)wave.wave * wave_size;
        const counts right = expected_counts(input, first);
        const counts found = recorded_counts(trace, i, wave.events);
        for (int arm = 0; arm < 4; arm++)
            if (found.arm[arm] != right.arm[arm] || found.arm_lane[arm] != right.arm_lane[arm])
                fail("wave %u of workgroup %u recorded arm %d %d times, by lane %d: expected %d, by lane %d", wave.wave,
                     wave.workgroup[0], arm, found.arm[arm], found.arm_lane[arm], right.arm[arm], right.arm_lane[arm]);
        if (found.divisors != right.divisors || found.steps != right.steps || found.searches != right.searches ||
            found.found != right.found)
            fail("wave %u of workgroup %u recorded %d divisors, %d steps, %d searches, %d finds: "
                 "expected %d, %d, %d, %d",
                 wave.wave, wave.workgroup[0], found.divisors, found.steps, found.searches, found.found, right.divisors,
                 right.steps, right.searches, right.found);
    }
}

#endif

int main(int argc, char **argv)
{
    example_start("divergence", argc, argv);
    require_device(8);
    constexpr int count = 4007, block = 128, grid = (count + block - 1) / block; /* the last waves are not full */
    std::vector<int> input(count);
    unsigned state = 1;
    for (int &value : input)
        value = (int)((state = state * 1664525u + 1013904223u) >> 20) + 1;

    int *in;
    result *out;
    CHECK_CUDA(cudaMalloc(&in, count * sizeof *in));
    CHECK_CUDA(cudaMalloc(&out, count * sizeof *out));
    CHECK_CUDA(cudaMemcpy(in, input.data(), count * sizeof *in, cudaMemcpyHostToDevice));

#if KTRACE_ENABLE
    struct ktrace_capture *capture = capture_begin(128, 64); /* any lane may be the last one in a loop */
#endif
    divergence_kernel<<<grid, block>>>(out, in, count);
    CHECK_CUDA(cudaGetLastError());
    std::vector<result> results(count);
    CHECK_CUDA(cudaMemcpy(results.data(), out, count * sizeof *out, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < results.size(); i++) {
        const result right = expected_result(input, i), found = results[i];
        if (found.arm != right.arm || found.divisor != right.divisor || found.equal != right.equal)
            fail("element %zu is {%d, %d, %d} instead of {%d, %d, %d}", i, found.arm, found.divisor, found.equal,
                 right.arm, right.divisor, right.equal);
    }
#if KTRACE_ENABLE
    struct ktrace_trace *trace = capture_end(capture);
    check_trace(trace, input, (uint64_t)grid * (block / wave_size));
    trace_finish(trace);
#endif
    CHECK_CUDA(cudaFree(in));
    CHECK_CUDA(cudaFree(out));
    printf("divergence: ok, %d elements in %d waves\n", count, grid * block / wave_size);
    return 0;
}
