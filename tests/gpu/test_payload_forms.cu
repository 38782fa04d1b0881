/* Payloads of every type in every annotation that takes one, all the way: from the kernel to the trace, through a .ktrace file,
 * into the summary and to Perfetto. With --save DIR the Perfetto files lie there, each with a list of the values that it must
 * show, NAME.expected: check_payload_export.py compares the two with Perfetto's own schema, on any machine. */
#include "check.h"
#include "launches.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ktrace/device.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <type_traits>

/* ---- The kernel ------------------------------------------------------------------------------------------------- */

template <class T>
__global__ void forms(const T *values, int count)
{
    KTRACE_KERNEL("forms");
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        const T value = values[i];
        KTRACE_MARK("absent");
        KTRACE_MARK("mark", value);
        {
            KTRACE_RANGE("range", value);
        }
        KTRACE_RANGE_PUSH("push", value);
        ktrace_token token = KTRACE_RANGE_START("start", value);
        token = KTRACE_RANGE_NEXT(token, "next", value);
        KTRACE_RANGE_STOP(token, value);
        KTRACE_RANGE_POP();
    }
}

namespace
{

/* What one value becomes. A conversion may choose the bits of a NaN where `any_nan`. */
struct shown {
    uint32_t type;
    uint64_t bits;
    bool any_nan;
};

std::vector<test::expected> events_of(const shown &value)
{
    const auto with = [&](const char *name, uint32_t kind) {
        return test::expected{name, kind, 0, value.type, value.bits};
    };
    return {test::mark("absent", 0),
            with("mark", KTRACE_KIND_MARK),
            with("range", KTRACE_KIND_PUSH),
            test::pop(0),
            with("push", KTRACE_KIND_PUSH),
            with("start", KTRACE_KIND_START),
            test::stop("start", 0), /* by the next, whose payload is that of what it opens */
            with("next", KTRACE_KIND_START),
            with("next", KTRACE_KIND_STOP),
            test::pop(0)};
}

/* ---- Values ----------------------------------------------------------------------------------------------------- */

template <class To, class From>
To bits_as(From from)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
}

/* One launch: a type's name, how to launch it, and what its values become. */
struct typed {
    std::string name;
    std::function<void()> launch;
    std::vector<shown> values;
};

template <class T>
typed typed_of(const char *name, const std::vector<T> &values, const std::vector<shown> &become)
{
    /* vector<bool> has no bool in memory */
    const std::shared_ptr<T> host(new T[values.size()], std::default_delete<T[]>());
    for (size_t i = 0; i < values.size(); i++)
        host.get()[i] = values[i];
    const auto device = std::make_shared<test::device_array<T>>(values.size());
    CHECK_CUDA(cudaMemcpy(device->get(), host.get(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    const int count = (int)values.size();
    return {name, [device, count] { forms<T><<<1, 32>>>(device->get(), count); }, become};
}

template <class T>
typed integers(const char *name)
{
    using limits = std::numeric_limits<T>;
    const bool is_signed = limits::is_signed, wide = sizeof(T) == 8;
    const uint32_t type = is_signed ? (wide ? KTRACE_PAYLOAD_INT64 : KTRACE_PAYLOAD_INT32)
                                    : (wide ? KTRACE_PAYLOAD_UINT64 : KTRACE_PAYLOAD_UINT32);
    const std::vector<T> values = {T(0),
                                   T(1),
                                   T(-1), /* all ones where there is no sign */
                                   limits::min(),
                                   T(limits::min() + 1),
                                   limits::max(),
                                   T(limits::max() - 1),
                                   T(limits::max() / 2 + 1), /* 2^63 of the widest that has no sign */
                                   T(100),
                                   T(-100)};
    std::vector<shown> become;
    for (const T value : values)
        become.push_back({type, is_signed ? (uint64_t)(int64_t)value : (uint64_t)value, false});
    return typed_of<T>(name, values, become);
}

typed bools()
{
    return typed_of<bool>("bool", {false, true}, {{KTRACE_PAYLOAD_BOOL, 0, false}, {KTRACE_PAYLOAD_BOOL, 1, false}});
}

typed floats()
{
    const std::vector<uint32_t> bits = {
        0x00000000u, 0x80000000u,              /* zeros */
        0x3F800000u, 0xC0490FDBu, 0x3DCCCCCDu, /* 1, -pi, 0.1 */
        0x7F7FFFFFu, 0xFF7FFFFFu,              /* the largest */
        0x00800000u, 0x00000001u, 0x807FFFFFu, /* the smallest normal, subnormals */
        0x7F800000u, 0xFF800000u,              /* infinities */
        0x7FC00000u, 0x7FC12345u, 0xFFC00001u, /* quiet NaNs, with payloads of their own */
        0x7FA00001u,                           /* a signalling one */
    };
    std::vector<float> values;
    std::vector<shown> become;
    for (const uint32_t one : bits) {
        values.push_back(bits_as<float>(one));
        become.push_back({KTRACE_PAYLOAD_FLOAT32, one, false});
    }
    return typed_of<float>("float", values, become);
}

typed doubles()
{
    const std::vector<uint64_t> bits = {
        0x0000000000000000ull, 0x8000000000000000ull, 0x3FF0000000000000ull, 0xC00921FB54442D18ull,
        0x3FB999999999999Aull, 0x7FEFFFFFFFFFFFFFull, 0xFFEFFFFFFFFFFFFFull, 0x0010000000000000ull,
        0x0000000000000001ull, 0x800FFFFFFFFFFFFFull, 0x7FF0000000000000ull, 0xFFF0000000000000ull,
        0x7FF8000000000000ull, 0x7FF8DEADBEEF1234ull, 0xFFF8000000000001ull, 0x7FF4000000000001ull,
    };
    std::vector<double> values;
    std::vector<shown> become;
    for (const uint64_t one : bits) {
        values.push_back(bits_as<double>(one));
        become.push_back({KTRACE_PAYLOAD_FLOAT64, one, false});
    }
    return typed_of<double>("double", values, become);
}

/* By its definition: sign, five bits of exponent, ten of fraction. */
double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
    return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}

typed halves()
{
    const std::vector<uint16_t> bits = {
        0x0000, 0x8000, 0x3C00, 0xBC00, 0x2E66, /* zeros, 1, -1, 0.1 */
        0x7BFF, 0xFBFF, 0x0400, 0x8400,         /* the largest, the smallest normal */
        0x0001, 0x8001, 0x03FF, 0x83FF,         /* the smallest and largest subnormal */
        0x7C00, 0xFC00,                         /* infinities */
        0x7E00, 0x7E55, 0xFE01, 0x7D01,         /* NaNs */
    };
    std::vector<__half> values;
    std::vector<shown> become;
    for (const uint16_t one : bits) {
        __half_raw raw{};
        raw.x = one;
        values.push_back(__half(raw));
        const float value = (float)half_value(one); /* exact */
        become.push_back({KTRACE_PAYLOAD_FLOAT32, bits_as<uint32_t>(value), std::isnan(value)});
    }
    return typed_of<__half>("half", values, become);
}

/* The upper half of a float. */
typed bfloats()
{
    const std::vector<uint16_t> bits = {
        0x0000, 0x8000, 0x3F80, 0xBF80, 0x3DCD, /* zeros, 1, -1, 0.1 */
        0x7F7F, 0xFF7F, 0x0080, 0x8080,         /* the largest, the smallest normal */
        0x0001, 0x8001, 0x007F, 0x807F,         /* the smallest and largest subnormal */
        0x7F80, 0xFF80,                         /* infinities */
        0x7FC0, 0x7FD5, 0xFFC1, 0x7F81,         /* NaNs */
    };
    std::vector<__nv_bfloat16> values;
    std::vector<shown> become;
    for (const uint16_t one : bits) {
        __nv_bfloat16_raw raw{};
        raw.x = one;
        values.push_back(__nv_bfloat16(raw));
        become.push_back({KTRACE_PAYLOAD_FLOAT32, (uint64_t)one << 16, false});
    }
    return typed_of<__nv_bfloat16>("bfloat16", values, become);
}

std::vector<typed> all_types()
{
    return {bools(),
            integers<char>("char"),
            integers<signed char>("signed char"),
            integers<unsigned char>("unsigned char"),
            integers<short>("short"),
            integers<unsigned short>("unsigned short"),
            integers<int>("int"),
            integers<unsigned>("unsigned"),
            integers<long>("long"),
            integers<unsigned long>("unsigned long"),
            integers<long long>("long long"),
            integers<unsigned long long>("unsigned long long"),
            integers<char16_t>("char16_t"),
            integers<char32_t>("char32_t"),
            integers<wchar_t>("wchar_t"),
            floats(),
            doubles(),
            halves(),
            bfloats()};
}

/* ---- Comparisons ------------------------------------------------------------------------------------------------ */

bool is_nan(uint64_t bits)
{
    return bits >> 32 == 0 && std::isnan(bits_as<float>((uint32_t)bits));
}

/* The wave's events are those of the values, one after the other. */
void check_values(const test::wave &wave, const typed &typed)
{
    const test::about about(wave);
    size_t at = 0;
    for (size_t i = 0; i < typed.values.size(); i++)
        for (test::expected wanted : events_of(typed.values[i])) {
            REQUIRE(at < wave.events.size(), "%s: %zu events", typed.name.c_str(), wave.events.size());
            const test::event &actual = wave.events[at++];
            if (typed.values[i].any_nan && wanted.payload_type != KTRACE_PAYLOAD_NONE && is_nan(actual.payload))
                wanted.payload = actual.payload;
            CHECK(test::matches(actual, wanted), "%s: value %zu, event %zu: %s is expected", typed.name.c_str(), i,
                  at - 1, test::text_of(wanted).c_str());
        }
    CHECK_EQUAL(wave.events.size(), at);
}

bool same(const test::event &a, const test::event &b)
{
    return a.name == b.name && a.file == b.file && a.line == b.line && a.kind == b.kind && a.lane == b.lane &&
           a.partner == b.partner && a.payload_type == b.payload_type && a.payload == b.payload &&
           a.time_ps == b.time_ps && a.clock_ticks == b.clock_ticks;
}

using text_call = int (*)(char **out, const ktrace_trace *trace);
std::string text_of(text_call call, const test::trace &trace)
{
    char *text = nullptr;
    const int status = call(&text, trace.handle());
    CHECK(status == 0, "%s: %s", ktrace_status_name(status), ktrace_last_error());
    const std::string result = text ? text : "";
    std::free(text);
    return result;
}

std::string perfetto_of(const test::trace &trace)
{
    void *data = nullptr;
    size_t bytes = 0;
    const int status = ktrace_trace_export_memory(&data, &bytes, trace.handle(), "perfetto");
    CHECK(status == 0, "%s: %s", ktrace_status_name(status), ktrace_last_error());
    const std::string result((const char *)data, bytes);
    std::free(data);
    return result;
}

/* A file's trace is the one that was saved, to the bit, and so is all that is made of it. */
void check_round_trip(const test::trace &trace)
{
    const test::trace loaded = test::saved_and_loaded(trace);
    REQUIRE(loaded.valid());
    CHECK_EQUAL(loaded.info.events, trace.info.events);
    CHECK_EQUAL(loaded.launches.size(), trace.launches.size());
    REQUIRE(loaded.waves.size() == trace.waves.size());
    for (size_t i = 0; i < trace.waves.size(); i++) {
        const test::about about(loaded.waves[i]);
        const std::vector<test::event> &before = trace.waves[i].events, &after = loaded.waves[i].events;
        REQUIRE(before.size() == after.size(), "%zu events, and %zu when loaded", before.size(), after.size());
        for (size_t k = 0; k < before.size(); k++)
            CHECK(same(before[k], after[k]), "event %zu is another when loaded", k);
    }
    CHECK(text_of(ktrace_trace_summary_text, trace) == text_of(ktrace_trace_summary_text, loaded), "summaries differ");
    CHECK(text_of(ktrace_trace_summary_json, trace) == text_of(ktrace_trace_summary_json, loaded), "JSON differs");
    const std::string perfetto = perfetto_of(trace);
    CHECK(!perfetto.empty() && perfetto == perfetto_of(loaded), "Perfetto's bytes differ");
}

/* ---- For check_payload_export.py -------------------------------------------------------------------------------- */

/* A value as the viewer has it: its kind, and a text that tells all values apart. */
std::string exported(const shown &value)
{
    char text[64];
    switch (value.type) {
    case KTRACE_PAYLOAD_BOOL: return value.bits ? "bool true" : "bool false";
    case KTRACE_PAYLOAD_INT32:
    case KTRACE_PAYLOAD_INT64: std::snprintf(text, sizeof(text), "int %" PRId64, (int64_t)value.bits); return text;
    case KTRACE_PAYLOAD_UINT32:
    case KTRACE_PAYLOAD_UINT64: std::snprintf(text, sizeof(text), "uint %" PRIu64, value.bits); return text;
    default: break;
    }
    const double number = value.type == KTRACE_PAYLOAD_FLOAT32 ? (double)bits_as<float>((uint32_t)value.bits)
                                                               : bits_as<double>(value.bits);
    if (std::isnan(number))
        return "string nan";
    if (std::isinf(number))
        return number > 0 ? "string inf" : "string -inf";
    std::snprintf(text, sizeof(text), "double %016" PRIx64, bits_as<uint64_t>(number));
    return text;
}

/* NAME.pftrace.gz, and NAME.expected with a line for each value: its launch, kind and text. */
void save_export(const test::trace &trace, const std::vector<typed> &types)
{
    if (test::the().save.empty())
        return;
    const std::string path = test::the().save + "/" + test::the().current;
    const int status = ktrace_trace_export(trace.handle(), "perfetto", (path + ".pftrace.gz").c_str());
    CHECK(status == 0, "%s: %s", ktrace_status_name(status), ktrace_last_error());
    std::FILE *file = std::fopen((path + ".expected").c_str(), "w");
    REQUIRE(file != nullptr, "%s.expected", path.c_str());
    for (size_t launch = 0; launch < types.size(); launch++)
        for (const shown &value : types[launch].values)
            std::fprintf(file, "%zu %s\n", launch, exported(value).c_str());
    CHECK(std::fclose(file) == 0, "%s.expected", path.c_str());
}

} /* namespace */

/* ---- The case --------------------------------------------------------------------------------------------------- */

TEST_CASE(payload_forms)
{
    const std::vector<typed> types = all_types();
    const test::trace trace = test::record(test::sizes(512, 1), [&] {
        for (const typed &type : types)
            type.launch();
    });
    REQUIRE(trace.valid());
    std::vector<test::wanted_launch> wanted;
    uint64_t values = 0;
    for (const typed &type : types) {
        wanted.push_back(test::whole_launch("forms", 1, 32, 10 * type.values.size()));
        values += type.values.size();
    }
    REQUIRE(test::check_launches(trace, wanted));
    REQUIRE(trace.waves.size() == types.size());
    for (size_t i = 0; i < types.size(); i++)
        check_values(trace.waves[i], types[i]);
    test::check_phases(trace, {{"forms", "absent", KTRACE_KIND_MARK, values},
                               {"forms", "mark", KTRACE_KIND_MARK, values},
                               {"forms", "range", KTRACE_KIND_PUSH, values},
                               {"forms", "push", KTRACE_KIND_PUSH, values},
                               {"forms", "start", KTRACE_KIND_START, values},
                               {"forms", "next", KTRACE_KIND_START, values}});
    check_round_trip(trace);
    save_export(trace, types);
    std::printf("  %zu types, %llu values, each in six forms\n", types.size(), (unsigned long long)values);
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
