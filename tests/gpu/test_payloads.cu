/* Every payload type at its edges, from the kernel to the trace: bits and type. Values come from device memory, so that no
 * compiler can fold them; a second kernel has them as constants. */
#include "check.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ktrace/device.h>

#include <climits>
#include <cmath>

namespace
{

struct values {
    bool yes, no;
    char character[3];
    signed char int8[3];
    unsigned char uint8[2];
    short int16[3];
    unsigned short uint16[2];
    int int32[4];
    unsigned uint32[2];
    long longs[3];
    unsigned long ulongs[2];
    long long int64[4];
    unsigned long long uint64[3];
    float float32[9];
    double float64[9];
    uint16_t half[8], bfloat[8]; /* bits */
};

uint64_t bits_of(float value)
{
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}
uint64_t bits_of(double value)
{
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}
float float_of(uint32_t bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}
double double_of(uint64_t bits)
{
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

values edges()
{
    values v{};
    v.yes = true;
    v.character[0] = CHAR_MIN, v.character[1] = -1, v.character[2] = CHAR_MAX;
    v.int8[0] = SCHAR_MIN, v.int8[1] = -1, v.int8[2] = SCHAR_MAX;
    v.uint8[1] = UCHAR_MAX;
    v.int16[0] = SHRT_MIN, v.int16[1] = -1, v.int16[2] = SHRT_MAX;
    v.uint16[1] = USHRT_MAX;
    v.int32[0] = INT_MIN, v.int32[1] = -1, v.int32[2] = 0, v.int32[3] = INT_MAX;
    v.uint32[1] = UINT_MAX;
    v.longs[0] = LONG_MIN, v.longs[1] = -1, v.longs[2] = LONG_MAX;
    v.ulongs[1] = ULONG_MAX;
    v.int64[0] = LLONG_MIN, v.int64[1] = -1, v.int64[2] = 0, v.int64[3] = LLONG_MAX;
    v.uint64[1] = 1ull << 63, v.uint64[2] = ULLONG_MAX;
    const float floats[9] = {0.0f,
                             -0.0f,
                             1.5f,
                             -2.0f,
                             INFINITY,
                             -INFINITY,
                             float_of(0x7FC00000u),  /* a quiet NaN */
                             float_of(0x7FA00001u),  /* a signalling NaN with a payload of its own */
                             float_of(0x80000001u)}; /* the smallest negative subnormal */
    const double doubles[9] = {0.0,
                               -0.0,
                               1.5,
                               -2.0,
                               (double)INFINITY,
                               -(double)INFINITY,
                               double_of(0x7FF8000000000000ull),
                               double_of(0x7FF4000000000001ull),
                               double_of(0x8000000000000001ull)};
    std::memcpy(v.float32, floats, sizeof(floats));
    std::memcpy(v.float64, doubles, sizeof(doubles));
    /* 0, -0, 1.5, inf, -inf, the largest, the smallest subnormal, NaN */
    const uint16_t half[8] = {0x0000, 0x8000, 0x3E00, 0x7C00, 0xFC00, 0x7BFF, 0x0001, 0x7E00};
    const uint16_t bfloat[8] = {0x0000, 0x8000, 0x3FC0, 0x7F80, 0xFF80, 0x7F7F, 0x0001, 0x7FC0};
    std::memcpy(v.half, half, sizeof(half));
    std::memcpy(v.bfloat, bfloat, sizeof(bfloat));
    return v;
}

struct wanted {
    const char *name;
    uint32_t type;
    uint64_t bits;
    bool any_nan; /* a NaN whose bits the conversion may choose */
};

__device__ __half half_of(uint16_t bits)
{
    return __ushort_as_half(bits);
}
__device__ __nv_bfloat16 bfloat_of(uint16_t bits)
{
    return __ushort_as_bfloat16(bits);
}

} /* namespace */

__global__ void from_memory(const values *v)
{
    KTRACE_KERNEL("from memory");
    KTRACE_MARK("absent");
    KTRACE_MARK("true", v->yes);
    KTRACE_MARK("false", v->no);
#pragma unroll
    for (int i = 0; i < 3; i++)
        KTRACE_MARK("char", v->character[i]);
#pragma unroll
    for (int i = 0; i < 3; i++)
        KTRACE_MARK("signed char", v->int8[i]);
#pragma unroll
    for (int i = 0; i < 2; i++)
        KTRACE_MARK("unsigned char", v->uint8[i]);
#pragma unroll
    for (int i = 0; i < 3; i++)
        KTRACE_MARK("short", v->int16[i]);
#pragma unroll
    for (int i = 0; i < 2; i++)
        KTRACE_MARK("unsigned short", v->uint16[i]);
#pragma unroll
    for (int i = 0; i < 4; i++)
        KTRACE_MARK("int", v->int32[i]);
#pragma unroll
    for (int i = 0; i < 2; i++)
        KTRACE_MARK("unsigned", v->uint32[i]);
#pragma unroll
    for (int i = 0; i < 3; i++)
        KTRACE_MARK("long", v->longs[i]);
#pragma unroll
    for (int i = 0; i < 2; i++)
        KTRACE_MARK("unsigned long", v->ulongs[i]);
#pragma unroll
    for (int i = 0; i < 4; i++)
        KTRACE_MARK("long long", v->int64[i]);
#pragma unroll
    for (int i = 0; i < 3; i++)
        KTRACE_MARK("unsigned long long", v->uint64[i]);
#pragma unroll
    for (int i = 0; i < 9; i++)
        KTRACE_MARK("float", v->float32[i]);
#pragma unroll
    for (int i = 0; i < 9; i++)
        KTRACE_MARK("double", v->float64[i]);
#pragma unroll
    for (int i = 0; i < 8; i++)
        KTRACE_MARK("half", half_of(v->half[i]));
#pragma unroll
    for (int i = 0; i < 8; i++)
        KTRACE_MARK("bfloat16", bfloat_of(v->bfloat[i]));
}

static std::vector<wanted> wanted_from_memory(const values &v)
{
    std::vector<wanted> all;
    const auto add = [&](const char *name, uint32_t type, uint64_t bits, bool any_nan = false) {
        all.push_back({name, type, bits, any_nan});
    };
    const uint32_t i32 = KTRACE_PAYLOAD_INT32, u32 = KTRACE_PAYLOAD_UINT32;
    const uint32_t i64 = KTRACE_PAYLOAD_INT64, u64 = KTRACE_PAYLOAD_UINT64;
    const uint32_t f32 = KTRACE_PAYLOAD_FLOAT32, f64 = KTRACE_PAYLOAD_FLOAT64;
    add("absent", KTRACE_PAYLOAD_NONE, 0);
    add("true", KTRACE_PAYLOAD_BOOL, 1);
    add("false", KTRACE_PAYLOAD_BOOL, 0);
    for (const char value : v.character)
        add("char", CHAR_MIN < 0 ? i32 : u32, (uint64_t)(int64_t)value);
    for (const signed char value : v.int8)
        add("signed char", i32, (uint64_t)(int64_t)value);
    for (const unsigned char value : v.uint8)
        add("unsigned char", u32, value);
    for (const short value : v.int16)
        add("short", i32, (uint64_t)(int64_t)value);
    for (const unsigned short value : v.uint16)
        add("unsigned short", u32, value);
    for (const int value : v.int32)
        add("int", i32, (uint64_t)(int64_t)value);
    for (const unsigned value : v.uint32)
        add("unsigned", u32, value);
    for (const long value : v.longs)
        add("long", i64, (uint64_t)(int64_t)value);
    for (const unsigned long value : v.ulongs)
        add("unsigned long", u64, value);
    for (const long long value : v.int64)
        add("long long", i64, (uint64_t)value);
    for (const unsigned long long value : v.uint64)
        add("unsigned long long", u64, value);
    for (int i = 0; i < 9; i++) {
        uint32_t bits; /* not through a float register, which could quiet a NaN */
        std::memcpy(&bits, &v.float32[i], sizeof(bits));
        add("float", f32, bits);
    }
    for (int i = 0; i < 9; i++) {
        uint64_t bits;
        std::memcpy(&bits, &v.float64[i], sizeof(bits));
        add("double", f64, bits);
    }
    const float halves[8] = {0.0f, -0.0f, 1.5f, INFINITY, -INFINITY, 65504.0f, 5.9604645e-8f, NAN};
    for (int i = 0; i < 8; i++)
        add("half", f32, bits_of(halves[i]), i == 7);
    for (int i = 0; i < 8; i++)
        add("bfloat16", f32, (uint64_t)v.bfloat[i] << 16);
    return all;
}

static void check_payloads(const test::wave &wave, const std::vector<wanted> &all)
{
    const test::about about(wave);
    CHECK_EQUAL(wave.events.size(), all.size());
    for (size_t i = 0; i < std::min(all.size(), wave.events.size()); i++) {
        const test::event &e = wave.events[i];
        CHECK(e.name == all[i].name, "event %zu is '%s', expected '%s'", i, e.name.c_str(), all[i].name);
        CHECK(e.payload_type == all[i].type, "event %zu '%s' is %s, expected %s", i, all[i].name,
              test::payload_type_name(e.payload_type), test::payload_type_name(all[i].type));
        if (all[i].any_nan)
            CHECK(std::isnan(float_of((uint32_t)e.payload)) && e.payload >> 32 == 0,
                  "event %zu '%s' is 0x%llx, expected a NaN", i, all[i].name, (unsigned long long)e.payload);
        else if (all[i].type != KTRACE_PAYLOAD_NONE)
            CHECK(e.payload == all[i].bits, "event %zu '%s' is 0x%llx, expected 0x%llx", i, all[i].name,
                  (unsigned long long)e.payload, (unsigned long long)all[i].bits);
    }
}

TEST_CASE(payloads_from_memory)
{
    const values v = edges();
    test::device_array<values> device(1);
    REQUIRE(device.get());
    CUDA_OK_OR_RETURN(cudaMemcpy(device.get(), &v, sizeof(v), cudaMemcpyHostToDevice));
    const test::trace trace = test::record(test::sizes(256, 16), [&] { from_memory<<<1, 32>>>(device.get()); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    check_payloads(test::only_wave(trace), wanted_from_memory(v));
}

__global__ void constants()
{
    KTRACE_KERNEL("constants");
    KTRACE_MARK("zero", 0);
    KTRACE_MARK("minus one", -1);
    KTRACE_MARK("unsigned", 0xFFFFFFFFu);
    KTRACE_MARK("two to the 63", 1ull << 63);
    KTRACE_MARK("all ones", ~0ull);
    KTRACE_MARK("comparison", threadIdx.x == 0);
    KTRACE_MARK("letter", 'k');
    KTRACE_MARK("float", 2.5f);
    KTRACE_MARK("minus zero", -0.0f);
    KTRACE_MARK("double", 2.5);
    KTRACE_MARK("half", __float2half(0.5f));
    KTRACE_MARK("bfloat16", __float2bfloat16(-3.0f));
    KTRACE_MARK("block", blockDim.x);
}

TEST_CASE(payloads_as_constants)
{
    const test::trace trace = test::record(test::sizes(64, 16), [] { constants<<<1, 32>>>(); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    check_payloads(test::only_wave(trace), {
                                               {"zero", KTRACE_PAYLOAD_INT32, 0, false},
                                               {"minus one", KTRACE_PAYLOAD_INT32, ~0ull, false},
                                               {"unsigned", KTRACE_PAYLOAD_UINT32, 0xFFFFFFFFull, false},
                                               {"two to the 63", KTRACE_PAYLOAD_UINT64, 1ull << 63, false},
                                               {"all ones", KTRACE_PAYLOAD_UINT64, ~0ull, false},
                                               {"comparison", KTRACE_PAYLOAD_BOOL, 1, false},
                                               {"letter", KTRACE_PAYLOAD_INT32, 'k', false},
                                               {"float", KTRACE_PAYLOAD_FLOAT32, bits_of(2.5f), false},
                                               {"minus zero", KTRACE_PAYLOAD_FLOAT32, bits_of(-0.0f), false},
                                               {"double", KTRACE_PAYLOAD_FLOAT64, bits_of(2.5), false},
                                               {"half", KTRACE_PAYLOAD_FLOAT32, bits_of(0.5f), false},
                                               {"bfloat16", KTRACE_PAYLOAD_FLOAT32, bits_of(-3.0f), false},
                                               {"block", KTRACE_PAYLOAD_UINT32, 32, false},
                                           });
}

/* On begins and ends; 0 is not absent; under divergence it is the leader's value. */
__global__ void on_ranges(unsigned long long large)
{
    KTRACE_KERNEL("on ranges");
    const int lane = (int)(threadIdx.x & 31);
    {
        KTRACE_RANGE("scoped", large);
        KTRACE_RANGE_PUSH("pushed", 0);
        KTRACE_RANGE_POP();
    }
    const ktrace_token both = KTRACE_RANGE_START("both", 0u);
    KTRACE_RANGE_STOP(both, -0.0);
    const ktrace_token start = KTRACE_RANGE_START("start", false);
    KTRACE_RANGE_STOP(start);
    const ktrace_token stop = KTRACE_RANGE_START("stop");
    KTRACE_RANGE_STOP(stop, large);
    if (lane >= 3)
        KTRACE_MARK("leader", lane * 10);
    __syncwarp();
}

TEST_CASE(payloads_on_ranges)
{
    const test::trace trace = test::record(test::sizes(64, 16), [] { on_ranges<<<1, 32>>>(~0ull - 1); });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const test::wave &wave = test::only_wave(trace);
    test::check_sequence(wave, {{"scoped", KTRACE_KIND_PUSH, 0, KTRACE_PAYLOAD_UINT64, ~0ull - 1},
                                {"pushed", KTRACE_KIND_PUSH, 0, KTRACE_PAYLOAD_INT32, 0},
                                {"", KTRACE_KIND_POP, 0, KTRACE_PAYLOAD_NONE, 0},
                                {"", KTRACE_KIND_POP, 0, KTRACE_PAYLOAD_NONE, 0},
                                {"both", KTRACE_KIND_START, 0, KTRACE_PAYLOAD_UINT32, 0},
                                {"both", KTRACE_KIND_STOP, 0, KTRACE_PAYLOAD_FLOAT64, bits_of(-0.0)},
                                {"start", KTRACE_KIND_START, 0, KTRACE_PAYLOAD_BOOL, 0},
                                {"start", KTRACE_KIND_STOP, 0, KTRACE_PAYLOAD_NONE, 0},
                                {"stop", KTRACE_KIND_START, 0, KTRACE_PAYLOAD_NONE, 0},
                                {"stop", KTRACE_KIND_STOP, 0, KTRACE_PAYLOAD_UINT64, ~0ull - 1},
                                {"leader", KTRACE_KIND_MARK, 3, KTRACE_PAYLOAD_INT32, 30}});
    test::check_pairs(wave, {{0, 3}, {1, 2}, {4, 5}, {6, 7}, {8, 9}});
}

/* Payloads whose bits look like slots: what follows an event is never taken for one. */
__global__ void like_slots(unsigned site_and_sequence, int count)
{
    KTRACE_KERNEL("like slots");
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        const unsigned sequence = (unsigned)(2 * i + 2) << 16; /* of the slot that the payload takes */
        KTRACE_MARK("like a slot", (unsigned long long)(sequence | (site_and_sequence & 0xFFFFu)) << 32 | 0x12345678u);
    }
}

TEST_CASE(payloads_like_slots)
{
    for (const unsigned site : {0u, 0x60u, 0x78u, 0x80u, 0x100u, 0xFFFFu}) {
        const int count = 30;
        const test::trace trace = test::record(test::sizes(64, 16), [&] { like_slots<<<1, 32>>>(site, count); });
        REQUIRE(trace.valid());
        test::check_clean(trace);
        std::vector<test::expected> wanted;
        for (int i = 0; i < count; i++)
            wanted.push_back({"like a slot", KTRACE_KIND_MARK, 0, KTRACE_PAYLOAD_UINT64,
                              (unsigned long long)((unsigned)(2 * i + 2) << 16 | site) << 32 | 0x12345678u});
        test::check_sequence(test::only_wave(trace), wanted);
    }
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
