/* check.h - what the GPU tests share: cases, checks, traces as plain C++ values.
 *
 *     TEST_CASE(one_mark)
 *     {
 *         const test::trace trace = test::record(test::sizes(512, 16), [] { kernel<<<1, 32>>>(); });
 *         REQUIRE(trace.valid());
 *         test::check_sequence(trace.waves[0], {test::mark("a", 0)});
 *     }
 *     int main(int argc, char **argv) { return test::run(argc, argv); }
 *
 * A failed CHECK is counted and printed with the wave that is being looked at (test::about), and the case goes on; a
 * failed REQUIRE ends the case. The program goes on with the next case, ends with "N passed, N failed", and exits with
 * 0, 1, or 77 where there is no CUDA device.
 *
 * Options of every program: --only CASE (may be repeated), --list, --save DIR (each case's traces as DIR/<case>.ktrace),
 * --quick (smaller sizes, for sanitizers), --verbose (tables of measured values), --timeout SECONDS (of one case).
 */
#ifndef KTRACE_TESTS_GPU_CHECK_H
#define KTRACE_TESTS_GPU_CHECK_H

#include <cuda_runtime.h>
#include <ktrace/ktrace.h>

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>
#include <unistd.h>

namespace test
{

/* ---- Traces as values ------------------------------------------------------------------------------------------- */

struct event {
    std::string name, file;
    uint32_t line, kind, lane, partner, payload_type;
    uint64_t payload;
    int64_t time_ps;
    uint64_t clock_ticks;
};

struct wave {
    uint64_t index;
    ktrace_wave_info info;
    std::vector<event> events;
};

inline const char *kind_name(uint32_t kind)
{
    switch (kind) {
    case KTRACE_KIND_KERNEL: return "kernel";
    case KTRACE_KIND_MARK: return "mark";
    case KTRACE_KIND_PUSH: return "push";
    case KTRACE_KIND_POP: return "pop";
    case KTRACE_KIND_START: return "start";
    case KTRACE_KIND_STOP: return "stop";
    default: return "?";
    }
}

inline const char *payload_type_name(uint32_t type)
{
    switch (type) {
    case KTRACE_PAYLOAD_NONE: return "none";
    case KTRACE_PAYLOAD_BOOL: return "bool";
    case KTRACE_PAYLOAD_INT64: return "int64";
    case KTRACE_PAYLOAD_UINT64: return "uint64";
    case KTRACE_PAYLOAD_INT32: return "int32";
    case KTRACE_PAYLOAD_UINT32: return "uint32";
    case KTRACE_PAYLOAD_FLOAT32: return "float32";
    case KTRACE_PAYLOAD_FLOAT64: return "float64";
    default: return "?";
    }
}

/* The last part of a path. */
inline std::string base_name(const std::string &path)
{
    return path.substr(path.find_last_of('/') + 1);
}

inline void print_wave(const wave &wave)
{
    const ktrace_wave_info &info = wave.info;
    std::printf("    wave %" PRIu64 ": launch %u, workgroup (%u, %u, %u), wave %u, SM %u, %u lanes, %lld .. %lld ps, "
                "%u events, %" PRIu64 " slots lost%s\n",
                wave.index, info.launch, info.workgroup[0], info.workgroup[1], info.workgroup[2], info.wave, info.place,
                info.lane_count, (long long)info.begin_ps, (long long)info.end_ps, info.events, info.slots_lost,
                info.unfinished ? ", unfinished" : "");
    const size_t limit = 120;
    for (size_t i = 0; i < wave.events.size(); i++) {
        if (wave.events.size() > limit && i == limit / 2) {
            std::printf("      ... %zu events not shown ...\n", wave.events.size() - limit);
            i = wave.events.size() - limit / 2;
        }
        const event &e = wave.events[i];
        std::printf("      [%3zu] %-5s '%s' lane %u, %lld ps, clock %" PRIu64 ", partner ", i, kind_name(e.kind),
                    e.name.c_str(), e.lane, (long long)e.time_ps, e.clock_ticks);
        if (e.partner == KTRACE_NO_INDEX)
            std::printf("-");
        else
            std::printf("%u", e.partner);
        if (e.payload_type != KTRACE_PAYLOAD_NONE)
            std::printf(", payload %s 0x%" PRIx64, payload_type_name(e.payload_type), e.payload);
        std::printf(", %s:%u\n", base_name(e.file).c_str(), e.line);
    }
}

/* ---- Cases ------------------------------------------------------------------------------------------------------ */

struct registered_case {
    const char *name;
    void (*function)();
};

struct state {
    std::vector<registered_case> cases;
    std::vector<std::string> only;
    std::vector<std::pair<std::string, std::string>> values; /* of --key value that a program asked for */
    std::string save, program;
    bool quick = false, verbose = false;
    unsigned timeout_s = 90;

    const char *current = "";
    int failures = 0; /* of the current case */
    int saved = 0;    /* traces of the current case */
    bool case_skipped = false;
    std::vector<const wave *> about;
    const wave *printed = nullptr; /* the wave that was printed last in this case */
};

inline state &the()
{
    static state instance;
    return instance;
}

struct register_case {
    register_case(const char *name, void (*function)())
    {
        the().cases.push_back({name, function});
    }
};

inline bool quick()
{
    return the().quick;
}
inline bool verbose()
{
    return the().verbose;
}

/* The wave that the following checks are about: printed with the first failure. */
class about
{
  public:
    explicit about(const wave &wave)
    {
        the().about.push_back(&wave);
    }
    ~about()
    {
        the().about.pop_back();
        the().printed = nullptr;
    }
    about(const about &) = delete;
    about &operator=(const about &) = delete;
};

__attribute__((format(printf, 4, 5))) inline void fail(const char *file, int line, const char *what, const char *format,
                                                       ...)
{
    const int limit = 12;
    the().failures++;
    if (the().failures > limit) {
        if (the().failures == limit + 1)
            std::printf("  (further failures of this case are only counted)\n");
        return;
    }
    std::printf("  FAILED %s: %s:%d: %s:", the().current, base_name(file).c_str(), line, what);
    va_list arguments;
    va_start(arguments, format);
    std::vprintf(format, arguments);
    va_end(arguments);
    std::printf("\n");
    if (!the().about.empty() && the().printed != the().about.back()) {
        the().printed = the().about.back();
        print_wave(*the().printed);
    }
    std::fflush(stdout);
}

#define TEST_CASE(name) \
    static void case_##name(); \
    static const test::register_case registered_##name(#name, case_##name); \
    static void case_##name()

/* CHECK(condition [, "format", values...]) */
#define CHECK(condition, ...) \
    do { \
        if (!(condition)) \
            test::fail(__FILE__, __LINE__, #condition, " " __VA_ARGS__); \
    } while (0)
#define CHECK_EQUAL(actual, expected) \
    do { \
        const long long actual_ = (long long)(actual), expected_ = (long long)(expected); \
        if (actual_ != expected_) \
            test::fail(__FILE__, __LINE__, #actual " == " #expected, " %lld and not %lld", actual_, expected_); \
    } while (0)
/* In functions that return void. */
#define REQUIRE(condition, ...) \
    do { \
        if (!(condition)) { \
            test::fail(__FILE__, __LINE__, #condition, " " __VA_ARGS__); \
            return; \
        } \
    } while (0)
#define KTRACE_OK_OR_RETURN(call) \
    do { \
        const int status_ = (call); \
        if (status_ < 0) { \
            test::fail(__FILE__, __LINE__, #call, " %s: %s", ktrace_status_name(status_), ktrace_last_error()); \
            return; \
        } \
    } while (0)
#define CUDA_OK_OR_RETURN(call) \
    do { \
        const cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) { \
            test::fail(__FILE__, __LINE__, #call, " %s", cudaGetErrorString(error_)); \
            return; \
        } \
    } while (0)
#define CHECK_CUDA(call) \
    do { \
        const cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) \
            test::fail(__FILE__, __LINE__, #call, " %s", cudaGetErrorString(error_)); \
    } while (0)

/* The case cannot run here; it counts as neither passed nor failed. */
inline void skip_case(const char *why)
{
    the().case_skipped = true;
    std::printf("  skipped: %s\n", why);
}

/* ---- Captures and traces ---------------------------------------------------------------------------------------- */

class trace
{
  public:
    struct ktrace_trace_info info {}; /* the function of that name hides the plain one */
    std::vector<ktrace_launch_info> launches;
    std::vector<wave> waves;
    std::string warning;

    trace() = default;
    explicit trace(ktrace_trace *handle, bool save = true);
    trace(trace &&other) noexcept
    {
        swap(other);
    }
    trace &operator=(trace &&other) noexcept
    {
        swap(other);
        return *this;
    }
    ~trace()
    {
        ktrace_trace_destroy(handle_);
    }
    bool valid() const
    {
        return handle_ != nullptr;
    }
    const ktrace_trace *handle() const
    {
        return handle_;
    }

  private:
    void swap(trace &other)
    {
        std::swap(handle_, other.handle_);
        std::swap(info, other.info);
        launches.swap(other.launches);
        waves.swap(other.waves);
        warning.swap(other.warning);
    }
    ktrace_trace *handle_ = nullptr;
};

/* Larger traces are not saved: the files are fixtures. */
constexpr uint64_t most_saved_waves = 4096, most_saved_events = 100000;

inline void save(const ktrace_trace *handle)
{
    if (the().save.empty())
        return;
    std::string path = the().save + "/" + the().current;
    if (the().saved++ > 0)
        path += "_" + std::to_string(the().saved);
    path += ".ktrace";
    const int status = ktrace_trace_save(handle, path.c_str());
    if (status < 0)
        fail(__FILE__, __LINE__, "ktrace_trace_save", " %s: %s: %s", path.c_str(), ktrace_status_name(status),
             ktrace_last_error());
}

inline trace::trace(ktrace_trace *handle, bool save_it) : handle_(handle)
{
    if (!handle)
        return;
    info.struct_size = sizeof(info);
    int status = ktrace_trace_get_info(&info, handle);
    if (status < 0)
        fail(__FILE__, __LINE__, "ktrace_trace_info", " %s", ktrace_last_error());
    const char *text = ktrace_trace_warning(handle);
    warning = text ? text : "(NULL)";
    for (uint64_t i = 0; i < info.launches && status >= 0; i++) {
        ktrace_launch_info launch{};
        launch.struct_size = sizeof(launch);
        status = ktrace_trace_launch(&launch, handle, i);
        if (status < 0)
            fail(__FILE__, __LINE__, "ktrace_trace_launch", " %s", ktrace_last_error());
        launches.push_back(launch);
    }
    waves.reserve(info.waves);
    for (uint64_t i = 0; i < info.waves && status >= 0; i++) {
        wave one{};
        one.index = i;
        one.info.struct_size = sizeof(one.info);
        status = ktrace_trace_wave(&one.info, handle, i);
        if (status < 0) {
            fail(__FILE__, __LINE__, "ktrace_trace_wave", " %s", ktrace_last_error());
            break;
        }
        one.events.reserve(one.info.events);
        for (uint32_t k = 0; k < one.info.events; k++) {
            ktrace_event_info event{};
            event.struct_size = sizeof(event);
            status = ktrace_trace_event(&event, handle, i, k);
            if (status < 0) {
                fail(__FILE__, __LINE__, "ktrace_trace_event", " %s", ktrace_last_error());
                break;
            }
            one.events.push_back({event.name ? event.name : "(NULL)", event.file ? event.file : "(NULL)", event.line,
                                  event.kind, event.lane, event.partner, event.payload_type, event.payload,
                                  event.time_ps, event.clock_ticks});
        }
        waves.push_back(std::move(one));
    }
    if (save_it && info.waves > 0 && info.waves <= most_saved_waves && info.events <= most_saved_events)
        save(handle);
}

/* Saved to a file of its own and loaded again. Not valid() after a failure, which is reported. */
inline trace saved_and_loaded(const trace &original)
{
    const char *directory = std::getenv("TMPDIR");
    std::string path = std::string(directory && *directory ? directory : P_tmpdir) + "/ktrace_test_XXXXXX";
    const int file = mkstemp(&path[0]);
    CHECK(file >= 0, "mkstemp %s", path.c_str());
    if (file < 0)
        return trace();
    close(file);
    ktrace_trace *loaded = nullptr;
    int status = ktrace_trace_save(original.handle(), path.c_str());
    if (status >= 0)
        status = ktrace_trace_load(&loaded, path.c_str());
    CHECK(status >= 0, "saving to and loading from %s: %s: %s", path.c_str(), ktrace_status_name(status),
          ktrace_last_error());
    unlink(path.c_str());
    return trace(loaded, false);
}

inline ktrace_capture_options sizes(uint32_t events_per_wave, uint32_t events_per_lane, uint64_t buffer_bytes = 0)
{
    ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.name = the().current;
    options.events_per_wave = events_per_wave;
    options.events_per_lane = events_per_lane;
    options.buffer_bytes = buffer_bytes;
    return options;
}

/* A capture that is gone at the end of its scope, so that a case that fails halfway does not take the next with it. */
class capture
{
  public:
    capture() = default;
    ~capture()
    {
        ktrace_capture_destroy(handle_);
    }
    capture(const capture &) = delete;
    capture &operator=(const capture &) = delete;

    int begin(const ktrace_capture_options &options)
    {
        return report(ktrace_capture_begin(&handle_, &options), "ktrace_capture_begin");
    }
    int clear()
    {
        return report(ktrace_capture_clear(handle_), "ktrace_capture_clear");
    }
    int read(trace &out)
    {
        ktrace_trace *raw = nullptr;
        const int status = report(ktrace_capture_read(&raw, handle_), "ktrace_capture_read");
        if (status >= 0)
            out = trace(raw);
        return status;
    }
    int peek(trace &out)
    {
        ktrace_trace *raw = nullptr;
        const int status = report(ktrace_capture_peek(&raw, handle_), "ktrace_capture_peek");
        if (status >= 0)
            out = trace(raw);
        return status;
    }
    int end(trace &out)
    {
        ktrace_trace *raw = nullptr;
        ktrace_capture *gone = handle_;
        handle_ = nullptr;
        const int status = report(ktrace_capture_end(&raw, gone), "ktrace_capture_end");
        if (status >= 0)
            out = trace(raw);
        return status;
    }
    /* As the library gives it: failures are expected and not reported. */
    int end_raw(ktrace_trace **out)
    {
        ktrace_capture *gone = handle_;
        handle_ = nullptr;
        return ktrace_capture_end(out, gone);
    }
    /* Failures are expected: not reported. Returns the status; `message` is the sentence. */
    int try_read(trace &out, std::string &message, bool save_it = true)
    {
        ktrace_trace *raw = nullptr;
        const int status = ktrace_capture_read(&raw, handle_);
        message = status < 0 ? ktrace_last_error() : "";
        if (status >= 0)
            out = trace(raw, save_it);
        return status;
    }
    ktrace_capture *handle() const
    {
        return handle_;
    }

  private:
    static int report(int status, const char *call)
    {
        if (status < 0)
            fail(__FILE__, __LINE__, call, " %s: %s", ktrace_status_name(status), ktrace_last_error());
        return status;
    }
    ktrace_capture *handle_ = nullptr;
};

/* Begin, launch, wait, end. Not valid() after a failure, which is reported. */
template <class Launch>
trace record(const ktrace_capture_options &options, Launch launch)
{
    capture capture;
    trace result;
    if (capture.begin(options) < 0)
        return result;
    launch();
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
    capture.end(result);
    return result;
}

/* ---- Expectations ----------------------------------------------------------------------------------------------- */

struct expected {
    const char *name;
    uint32_t kind;
    int lane;
    uint32_t payload_type; /* KTRACE_PAYLOAD_NONE: there must be none */
    uint64_t payload;
};

inline expected mark(const char *name, int lane)
{
    return {name, KTRACE_KIND_MARK, lane, KTRACE_PAYLOAD_NONE, 0};
}
inline expected mark(const char *name, int lane, int payload)
{
    return {name, KTRACE_KIND_MARK, lane, KTRACE_PAYLOAD_INT32, (uint64_t)(int64_t)payload};
}
inline expected push(const char *name, int lane)
{
    return {name, KTRACE_KIND_PUSH, lane, KTRACE_PAYLOAD_NONE, 0};
}
inline expected push(const char *name, int lane, int payload)
{
    return {name, KTRACE_KIND_PUSH, lane, KTRACE_PAYLOAD_INT32, (uint64_t)(int64_t)payload};
}
inline expected pop(int lane)
{
    return {"", KTRACE_KIND_POP, lane, KTRACE_PAYLOAD_NONE, 0};
}
inline expected start(const char *name, int lane)
{
    return {name, KTRACE_KIND_START, lane, KTRACE_PAYLOAD_NONE, 0};
}
inline expected start(const char *name, int lane, int payload)
{
    return {name, KTRACE_KIND_START, lane, KTRACE_PAYLOAD_INT32, (uint64_t)(int64_t)payload};
}
inline expected stop(const char *name, int lane)
{
    return {name, KTRACE_KIND_STOP, lane, KTRACE_PAYLOAD_NONE, 0};
}
inline expected stop(const char *name, int lane, int payload)
{
    return {name, KTRACE_KIND_STOP, lane, KTRACE_PAYLOAD_INT32, (uint64_t)(int64_t)payload};
}

inline bool matches(const event &actual, const expected &wanted)
{
    return actual.name == wanted.name && actual.kind == wanted.kind && (int)actual.lane == wanted.lane &&
           actual.payload_type == wanted.payload_type &&
           (wanted.payload_type == KTRACE_PAYLOAD_NONE || actual.payload == wanted.payload);
}

inline std::string text_of(const expected &e)
{
    std::string text = std::string(kind_name(e.kind)) + " '" + e.name + "' lane " + std::to_string(e.lane);
    if (e.payload_type != KTRACE_PAYLOAD_NONE) {
        char bits[64];
        std::snprintf(bits, sizeof(bits), ", payload %s 0x%" PRIx64, payload_type_name(e.payload_type), e.payload);
        text += bits;
    }
    return text;
}

/* First index that differs; equal: SIZE_MAX. */
inline size_t first_difference(const std::vector<event> &actual, const std::vector<expected> &wanted)
{
    const size_t count = std::min(actual.size(), wanted.size());
    for (size_t i = 0; i < count; i++)
        if (!matches(actual[i], wanted[i]))
            return i;
    return actual.size() == wanted.size() ? SIZE_MAX : count;
}

inline void check_events(const std::vector<event> &actual, const std::vector<expected> &wanted, const char *what)
{
    const size_t at = first_difference(actual, wanted);
    CHECK(at == SIZE_MAX, "%s: %zu events, expected %zu; first difference at %zu, where %s is expected", what,
          actual.size(), wanted.size(), at, at < wanted.size() ? text_of(wanted[at]).c_str() : "nothing");
}

/* All events of the wave, in this order. */
inline void check_sequence(const wave &wave, const std::vector<expected> &wanted)
{
    const about about_this(wave);
    check_events(wave.events, wanted, "whole wave");
}

/* In one of these orders: which side of a branch runs first is the machine's choice. */
inline void check_one_of(const wave &wave, const std::vector<std::vector<expected>> &choices)
{
    const about about_this(wave);
    for (const auto &choice : choices)
        if (first_difference(wave.events, choice) == SIZE_MAX)
            return;
    std::string text;
    for (const auto &choice : choices) {
        text += "\n      either:";
        for (const auto &e : choice)
            text += " " + text_of(e) + ";";
    }
    CHECK(false && "none of the possible orders", "%s", text.c_str());
}

/* The events that one lane led, in order. */
inline std::vector<event> events_of_lane(const wave &wave, uint32_t lane)
{
    std::vector<event> events;
    for (const event &e : wave.events)
        if (e.lane == lane)
            events.push_back(e);
    return events;
}

inline void check_lane(const wave &wave, uint32_t lane, const std::vector<expected> &wanted)
{
    const about about_this(wave);
    char what[32];
    std::snprintf(what, sizeof(what), "lane %u", lane);
    check_events(events_of_lane(wave, lane), wanted, what);
}

inline size_t count_of(const wave &wave, uint32_t kind, const char *name)
{
    size_t count = 0;
    for (const event &e : wave.events)
        count += e.kind == kind && e.name == name;
    return count;
}

inline bool is_begin(const event &e)
{
    return e.kind == KTRACE_KIND_PUSH || e.kind == KTRACE_KIND_START;
}
inline bool is_end(const event &e)
{
    return e.kind == KTRACE_KIND_POP || e.kind == KTRACE_KIND_STOP;
}

/* Exactly these begins (index) are closed by these ends (index), and no other range is closed. */
inline void check_pairs(const wave &wave, const std::vector<std::pair<uint32_t, uint32_t>> &pairs)
{
    const about about_this(wave);
    std::vector<std::pair<uint32_t, uint32_t>> actual;
    for (uint32_t i = 0; i < wave.events.size(); i++)
        if (is_begin(wave.events[i]) && wave.events[i].partner != KTRACE_NO_INDEX)
            actual.push_back({i, wave.events[i].partner});
    std::string text;
    for (const auto &pair : pairs)
        text += " " + std::to_string(pair.first) + "-" + std::to_string(pair.second);
    CHECK(actual == pairs, "%zu closed ranges, expected%s", actual.size(), text.c_str());
}

/* Closed ranges of one name: their begins and ends as indices, by begin. */
inline std::vector<std::pair<size_t, size_t>> ranges_of(const wave &wave, const char *name)
{
    std::vector<std::pair<size_t, size_t>> ranges;
    for (size_t i = 0; i < wave.events.size(); i++) {
        const event &e = wave.events[i];
        if (is_begin(e) && e.name == name && e.partner != KTRACE_NO_INDEX)
            ranges.push_back({i, e.partner});
    }
    return ranges;
}

/* Index of the only event of this kind and name; SIZE_MAX and a failure when there is not exactly one. */
inline size_t only_event(const wave &wave, uint32_t kind, const char *name)
{
    size_t found = SIZE_MAX, count = 0;
    for (size_t i = 0; i < wave.events.size(); i++)
        if (wave.events[i].kind == kind && wave.events[i].name == name) {
            found = i;
            count++;
        }
    const about about_this(wave);
    CHECK(count == 1, "%zu events: %s '%s'", count, kind_name(kind), name);
    return count == 1 ? found : SIZE_MAX;
}

/* What holds for every trace: times rise, partners point at each other, the numbers add up. */
inline void check_consistent(const trace &trace)
{
    uint64_t events = 0, lost = 0, unfinished = 0, unclosed = 0;
    std::vector<uint64_t> waves_of(trace.launches.size()), events_of(trace.launches.size());
    for (const wave &wave : trace.waves) {
        const about about_this(wave);
        events += wave.events.size();
        lost += wave.info.slots_lost;
        unfinished += wave.info.unfinished != 0;
        if (wave.info.launch < trace.launches.size()) {
            waves_of[wave.info.launch]++;
            events_of[wave.info.launch] += wave.events.size();
        }
        CHECK(wave.info.launch < trace.launches.size(), "launch %u", wave.info.launch);
        CHECK(wave.info.begin_ps <= wave.info.end_ps);
        CHECK(wave.info.lane_count >= 1 && wave.info.lane_count <= 32, "%u lanes", wave.info.lane_count);
        CHECK(wave.info.place < trace.info.places, "SM %u of %u", wave.info.place, trace.info.places);
        for (uint32_t i = 0; i < wave.events.size(); i++) {
            const event &e = wave.events[i];
            CHECK(e.time_ps >= wave.info.begin_ps && e.time_ps <= wave.info.end_ps, "event %u is outside its wave", i);
            if (i > 0) {
                CHECK(e.clock_ticks >= wave.events[i - 1].clock_ticks, "clock of event %u", i);
                CHECK(e.time_ps >= wave.events[i - 1].time_ps, "time of event %u", i);
            }
            unclosed += is_begin(e) && e.partner == KTRACE_NO_INDEX;
            if (e.kind == KTRACE_KIND_MARK)
                CHECK(e.partner == KTRACE_NO_INDEX, "mark %u has a partner", i);
            if (e.partner == KTRACE_NO_INDEX)
                continue;
            CHECK(e.partner < wave.events.size(), "partner of event %u", i);
            if (e.partner >= wave.events.size())
                continue;
            const event &partner = wave.events[e.partner];
            CHECK(partner.partner == i, "partner of event %u has another partner", i);
            if (e.kind == KTRACE_KIND_PUSH)
                CHECK(partner.kind == KTRACE_KIND_POP && e.partner > i, "event %u", i);
            if (e.kind == KTRACE_KIND_START) {
                CHECK(partner.kind == KTRACE_KIND_STOP && e.partner > i, "event %u", i);
                CHECK(partner.name == e.name, "the stop of event %u is called '%s'", i, partner.name.c_str());
            }
        }
    }
    CHECK_EQUAL(trace.info.events, events);
    CHECK_EQUAL(trace.info.waves, trace.waves.size());
    CHECK_EQUAL(trace.info.slots_lost, lost);
    CHECK_EQUAL(trace.info.waves_unfinished, unfinished);
    CHECK_EQUAL(trace.info.ranges_unclosed, unclosed);
    for (size_t i = 0; i < trace.launches.size(); i++) {
        CHECK_EQUAL(trace.launches[i].waves, waves_of[i]);
        CHECK_EQUAL(trace.launches[i].events, events_of[i]);
        if (i > 0)
            CHECK(trace.launches[i].begin_ps >= trace.launches[i - 1].begin_ps, "launch %zu", i);
    }
}

/* Nothing is missing, nothing is odd. */
inline void check_clean(const trace &trace)
{
    check_consistent(trace);
    CHECK_EQUAL(trace.info.waves_dropped, 0);
    CHECK_EQUAL(trace.info.waves_filtered, 0);
    CHECK_EQUAL(trace.info.waves_unfinished, 0);
    CHECK_EQUAL(trace.info.slots_lost, 0);
    CHECK_EQUAL(trace.info.ranges_unclosed, 0);
    CHECK_EQUAL(trace.info.ends_unmatched, 0);
    CHECK_EQUAL(trace.info.slots_corrupt, 0);
    CHECK_EQUAL(trace.info.clocks_ambiguous, 0);
    /* A wave that waits for others, or for the host, can be long. */
    CHECK(trace.warning.empty() || trace.warning.find("waves ran for up to ") == 0, "warning: %s",
          trace.warning.c_str());
}

/* The only wave of a trace that must have one; otherwise a failure and an empty wave. */
inline const wave &only_wave(const trace &trace)
{
    static const wave none{};
    CHECK(trace.waves.size() == 1, "%zu waves", trace.waves.size());
    return trace.waves.size() == 1 ? trace.waves[0] : none;
}

/* ---- Device memory ---------------------------------------------------------------------------------------------- */

/* Zeroed device memory that is freed at the end of its scope; get() is null when the device refused. */
template <class T>
class device_array
{
  public:
    explicit device_array(size_t count) : count_(count)
    {
        const cudaError_t error = cudaMalloc(&data_, count * sizeof(T));
        if (error != cudaSuccess) {
            data_ = nullptr;
            fail(__FILE__, __LINE__, "cudaMalloc", " %s", cudaGetErrorString(error));
            return;
        }
        CHECK_CUDA(cudaMemset(data_, 0, count * sizeof(T)));
        CHECK_CUDA(cudaDeviceSynchronize()); /* for streams that do not wait for the default one */
    }
    ~device_array()
    {
        cudaFree(data_);
    }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;
    T *get() const
    {
        return data_;
    }
    std::vector<T> host() const
    {
        std::vector<T> values(count_);
        if (data_)
            CHECK_CUDA(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }

  private:
    T *data_ = nullptr;
    size_t count_;
};

/* ---- The program ------------------------------------------------------------------------------------------------ */

/* The value of an option that only this program has, or `otherwise`. */
inline std::string value_of(const char *key, const std::string &otherwise)
{
    for (const auto &value : the().values)
        if (value.first == key)
            return value.second;
    return otherwise;
}

inline void timed_out(int)
{
    static const char text[] = "\n  FAILED: the case ran into its time limit; the program ends here\n";
    if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
        _exit(125);
    _exit(124);
}

/* `keys`: options with a value that only this program has, such as {"--dir"}. */
inline int run(int argc, char **argv, const std::vector<std::string> &keys = {})
{
    state &state = the();
    state.program = base_name(argv[0]);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        const bool has_value = i + 1 < argc;
        if (argument == "--quick") {
            state.quick = true;
        } else if (argument == "--verbose") {
            state.verbose = true;
        } else if (argument == "--list") {
            for (const registered_case &one : state.cases)
                std::printf("%s\n", one.name);
            return 0;
        } else if (argument == "--only" && has_value) {
            state.only.push_back(argv[++i]);
        } else if (argument == "--save" && has_value) {
            state.save = argv[++i];
        } else if (argument == "--timeout" && has_value) {
            state.timeout_s = (unsigned)std::atoi(argv[++i]);
        } else if (std::find(keys.begin(), keys.end(), argument) != keys.end() && has_value) {
            state.values.push_back({argument, argv[++i]});
        } else {
            std::printf("%s: unknown option, or one without its value: %s\n", argv[0], argv[i]);
            return 2;
        }
    }
    for (const std::string &name : state.only) {
        const auto is_named = [&](const registered_case &one) { return name == one.name; };
        if (std::find_if(state.cases.begin(), state.cases.end(), is_named) == state.cases.end()) {
            std::printf("%s: there is no case %s\n", argv[0], name.c_str());
            return 2;
        }
    }

    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess || devices == 0) {
        std::printf("%s: skipped: no CUDA device (%s)\n", state.program.c_str(),
                    error != cudaSuccess ? cudaGetErrorString(error) : "0 devices");
        return 77;
    }
    cudaDeviceProp properties;
    if (cudaSetDevice(0) == cudaSuccess && cudaGetDeviceProperties(&properties, 0) == cudaSuccess)
        std::printf("%s: %s, compute capability %d.%d, %d SMs, ktrace %s\n", state.program.c_str(), properties.name,
                    properties.major, properties.minor, properties.multiProcessorCount, ktrace_version());

    signal(SIGALRM, timed_out);
    int passed = 0, failed = 0, skipped = 0;
    for (const registered_case &one : state.cases) {
        if (!state.only.empty() && std::find(state.only.begin(), state.only.end(), one.name) == state.only.end())
            continue;
        state.current = one.name;
        state.failures = state.saved = 0;
        state.case_skipped = false;
        state.about.clear();
        state.printed = nullptr;
        std::printf("%s\n", one.name);
        alarm(state.timeout_s);
        one.function();
        /* A device fault poisons the context: nothing after it can be judged. */
        const cudaError_t left = cudaDeviceSynchronize();
        if (left != cudaSuccess)
            fail(__FILE__, __LINE__, "the device after the case", " %s", cudaGetErrorString(left));
        cudaGetLastError();
        alarm(0);
        if (state.failures > 0)
            failed++;
        else if (state.case_skipped)
            skipped++;
        else
            passed++;
        std::printf("  %s\n", state.failures ? "FAILED" : state.case_skipped ? "skipped" : "ok");
        if (left != cudaSuccess) {
            std::printf("  the context is lost; the remaining cases are not run\n");
            break;
        }
    }
    if (skipped > 0)
        std::printf("%d skipped\n", skipped);
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed + skipped == 0;
}

} /* namespace test */

#endif
