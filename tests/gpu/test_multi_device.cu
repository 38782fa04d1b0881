/* Several GPUs of one process in one capture: one timeline, each launch on the device where it ran. With one GPU the cases that need
 * two are skipped and the others run on it alone. */
#include "check.h"
#include "launches.h"

#include <ktrace/device.h>

#include <atomic>
#include <memory>
#include <thread>

#include <unistd.h>

using test::mark;
using test::pop;
using test::push;
using test::whole_launch;

/* ---- Kernels ---------------------------------------------------------------------------------------------------- */

/* Three events a wave. */
__global__ void here(int number, int device)
{
    KTRACE_KERNEL("here");
    KTRACE_RANGE("number", number);
    KTRACE_MARK("device", device);
}

/* Meets its like on the other device through words in host memory, one of each device: how many of them came; and stays for
 * two milliseconds. */
__global__ void meeting(int number, int device, volatile unsigned *came, volatile unsigned *late)
{
    KTRACE_KERNEL("meeting");
    KTRACE_RANGE("number", number);
    KTRACE_MARK("device", device);
    if (threadIdx.x == 0) {
        const unsigned long long start = test::wall_clock_ns();
        const unsigned mine = came[device] + 1;
        came[device] = mine;
        __threadfence_system();
        while (came[1 - device] < mine)
            if (test::wall_clock_ns() - start > 2000000000ull) {
                *late = 1;
                break;
            }
        const unsigned long long met = test::wall_clock_ns();
        while (test::wall_clock_ns() - met < 2000000ull) {
        }
    }
    __syncthreads();
    __syncwarp();
}

namespace
{

int device_count()
{
    int count = 0;
    CHECK_CUDA(cudaGetDeviceCount(&count));
    return std::min(count, 2);
}

/* The current device until the end of the scope, then device 0 again. */
class on_device
{
  public:
    explicit on_device(int device)
    {
        CHECK_CUDA(cudaSetDevice(device));
    }
    ~on_device()
    {
        cudaSetDevice(0);
    }
    on_device(const on_device &) = delete;
    on_device &operator=(const on_device &) = delete;
};

constexpr unsigned grid = 3, block = 64, waves = 6, events = 3;

void launch(int number, int device, cudaStream_t stream = nullptr)
{
    const on_device current(device);
    here<<<grid, block, 0, stream>>>(number, device);
    CHECK_CUDA(cudaGetLastError());
}

void synchronize(int device)
{
    const on_device current(device);
    CHECK_CUDA(cudaDeviceSynchronize());
}

test::wanted_launch wanted_launch()
{
    return whole_launch("here", grid, block, events);
}

ktrace_capture_options on_devices(const char *devices)
{
    ktrace_capture_options options = test::sizes(16, 4);
    options.devices = devices;
    return options;
}

/* What the waves of a launch say: the same number and device in all. */
struct said {
    int number = -1, device = -1;
};
std::vector<said> said_by(const test::trace &trace)
{
    std::vector<said> all(trace.launches.size());
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        CHECK(wave.events.size() == 3, "%zu events", wave.events.size());
        if (wave.events.size() != 3)
            continue;
        said &launch = all[wave.info.launch];
        if (launch.number < 0)
            launch = {(int)wave.events[0].payload, (int)wave.events[1].payload};
        test::check_sequence(wave, {push("number", 0, launch.number), mark("device", 0, launch.device), pop(0)});
    }
    return all;
}

ktrace_device_info device_of(const test::trace &trace, uint32_t index)
{
    ktrace_device_info device{};
    device.struct_size = sizeof(device);
    const int status = ktrace_trace_device(&device, trace.handle(), index);
    CHECK(status == 0, "device %u: %s", index, ktrace_last_error());
    return device;
}

/* Every launch and wave is of the CUDA device that its kernel was told, and the devices' numbers add up. */
void check_devices(const test::trace &trace, const std::vector<said> &all)
{
    std::vector<uint64_t> launches(trace.info.devices), waves_of(trace.info.devices), events_of(trace.info.devices);
    for (size_t i = 0; i < trace.launches.size(); i++) {
        const uint32_t index = trace.launches[i].device;
        REQUIRE(index < trace.info.devices, "launch %zu is of device %u of %u", i, index, trace.info.devices);
        const uint32_t ordinal = device_of(trace, index).ordinal;
        CHECK((int)ordinal == all[i].device, "launch %zu is of CUDA device %u, its kernel says %d", i, ordinal,
              all[i].device);
        launches[index]++;
        events_of[index] += trace.launches[i].events;
    }
    for (const test::wave &wave : trace.waves) {
        const test::about about(wave);
        CHECK_EQUAL(wave.info.device, trace.launches[wave.info.launch].device);
        CHECK(wave.info.place < device_of(trace, wave.info.device).places, "SM %u", wave.info.place);
        waves_of[wave.info.device]++;
    }
    std::set<uint32_t> ordinals;
    for (uint32_t i = 0; i < trace.info.devices; i++) {
        const ktrace_device_info device = device_of(trace, i);
        CHECK(ordinals.insert(device.ordinal).second, "CUDA device %u is there twice", device.ordinal);
        CHECK_EQUAL(device.launches, launches[i]);
        CHECK_EQUAL(device.waves, waves_of[i]);
        CHECK_EQUAL(device.events, events_of[i]);
        CHECK_EQUAL(device.waves_dropped, 0);
        CHECK_EQUAL(device.waves_filtered, 0);
        CHECK(trace.info.devices == 1 || (device.clock_uncertainty_ns > 0 && device.clock_uncertainty_ns < 1e6),
              "the times of device %u are right to within %g ns", i, device.clock_uncertainty_ns);
        if (test::verbose())
            std::printf("  device %u: CUDA device %u, '%s', %llu launches, host ahead by %lld ns, within %.0f ns\n", i,
                        device.ordinal, device.name, (unsigned long long)device.launches,
                        (long long)device.clock_offset_ns, device.clock_uncertainty_ns);
    }
}

/* Launches first, first + 1, ... alternately on `devices` devices, in this order. */
void check_alternating(const test::trace &trace, int count, int devices, int first = 0)
{
    if (!test::check_launches(trace, std::vector<test::wanted_launch>((size_t)count, wanted_launch())))
        return;
    const std::vector<said> all = said_by(trace);
    for (int i = 0; i < count; i++) {
        CHECK(all[i].number == first + i, "launch %d has number %d, expected %d", i, all[i].number, first + i);
        CHECK_EQUAL(all[i].device, all[i].number % devices);
    }
    check_devices(trace, all);
    test::check_phases(trace, {{"here", "number", KTRACE_KIND_PUSH, (unsigned)count * waves},
                               {"here", "device", KTRACE_KIND_MARK, (unsigned)count * waves}});
}

/* One after the other, each over before the next begins on the other device. The pause is larger than what two devices'
 * clocks may disagree by. */
void alternate(int count, int devices, int first = 0)
{
    for (int i = first; i < first + count; i++) {
        launch(i, i % devices);
        synchronize(i % devices);
        usleep(1000);
    }
}

} /* namespace */

/* ---- Which devices ---------------------------------------------------------------------------------------------- */

/* A device that is used for the first time inside of the capture records from the next read or clear on. First of the cases:
 * later the device would be in use. */
TEST_CASE(device_that_comes_late)
{
    if (device_count() < 2)
        return test::skip_case("one GPU");
    test::capture capture;
    test::trace trace;
    launch(0, 0);
    synchronize(0);
    REQUIRE(capture.begin(on_devices(nullptr)) == 0);
    launch(1, 0);
    launch(2, 1);
    synchronize(1);
    REQUIRE(capture.read(trace) == 0);
    for (const said &one : said_by(trace))
        CHECK(one.number == 1 || one.number == 2, "number %d", one.number);
    std::printf("  %zu launches at first; %s\n", trace.launches.size(), trace.warning.c_str());
    alternate(6, 2);
    REQUIRE(capture.end(trace) == 0);
    check_alternating(trace, 6, 2);
}

TEST_CASE(devices_in_use)
{
    const int devices = device_count(), count = test::quick() ? 6 : 20;
    for (int d = 0; d < devices; d++)
        launch(-1, d);
    const test::trace trace = test::record(on_devices("active"), [&] { alternate(count, devices); });
    REQUIRE(trace.valid());
    check_alternating(trace, count, devices);
}

TEST_CASE(all_devices)
{
    const int devices = device_count(), count = test::quick() ? 6 : 20;
    test::capture capture;
    test::trace trace;
    REQUIRE(capture.begin(on_devices("all")) == 0);
    alternate(count, devices);
    REQUIRE(capture.read(trace) == 0);
    check_alternating(trace, count, devices);
    alternate(4, devices);
    REQUIRE(capture.clear() == 0);
    alternate(4, devices, 4);
    REQUIRE(capture.read(trace) == 0);
    check_alternating(trace, 4, devices, 4);
    alternate(4, devices, 8);
    REQUIRE(capture.end(trace) == 0);
    check_alternating(trace, 4, devices, 8);
    const test::trace loaded = test::saved_and_loaded(trace);
    REQUIRE(loaded.valid());
    check_alternating(loaded, 4, devices, 8);
}

/* Without pauses: each launch begins behind the end of the one before, as far as the devices' clocks are known. */
TEST_CASE(order_within_the_uncertainty)
{
    const int devices = device_count(), count = test::quick() ? 10 : 100;
    const test::trace trace = test::record(on_devices("all"), [&] {
        for (int i = 0; i < count; i++) {
            launch(i, i % devices);
            synchronize(i % devices);
        }
    });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    REQUIRE(trace.launches.size() == (size_t)count, "%zu launches", trace.launches.size());
    const std::vector<said> all = said_by(trace);
    check_devices(trace, all);
    std::vector<uint32_t> index(count, KTRACE_NO_INDEX);
    for (uint32_t i = 0; i < trace.launches.size(); i++)
        if (all[i].number >= 0 && all[i].number < count)
            index[all[i].number] = i;
    double uncertainty_ns = 0;
    for (uint32_t i = 0; devices > 1 && i < trace.info.devices; i++)
        uncertainty_ns += device_of(trace, i).clock_uncertainty_ns;
    int swapped = 0;
    for (int i = 1; i < count; i++) {
        REQUIRE(index[i] != KTRACE_NO_INDEX && index[i - 1] != KTRACE_NO_INDEX, "launch %d is missing", i);
        const double gap_ns = (double)(trace.launches[index[i]].begin_ps - trace.launches[index[i - 1]].end_ps) / 1000;
        CHECK(gap_ns > -uncertainty_ns, "launch %d begins %.0f ns before the end of the one before; known to %.0f ns",
              i, -gap_ns, uncertainty_ns);
        swapped += index[i] < index[i - 1];
    }
    std::printf("  %d launches, %d out of order, clocks known to %.0f ns\n", count, swapped, uncertainty_ns);
}

/* Only what was chosen records; launches elsewhere are dormant. */
TEST_CASE(chosen_devices)
{
    const int devices = device_count();
    for (int chosen = 0; chosen < devices; chosen++) {
        const std::string name = std::to_string(chosen);
        const test::trace trace = test::record(on_devices(name.c_str()), [&] {
            for (int i = 0; i < 4; i++)
                for (int d = 0; d < devices; d++)
                    launch(i, d);
            for (int d = 0; d < devices; d++)
                synchronize(d);
        });
        REQUIRE(trace.valid());
        REQUIRE(test::check_launches(trace, std::vector<test::wanted_launch>(4, wanted_launch())));
        const std::vector<said> all = said_by(trace);
        for (int i = 0; i < 4; i++)
            CHECK(all[i].number == i && all[i].device == chosen, "launch %d: number %d on device %d", i, all[i].number,
                  all[i].device);
        CHECK_EQUAL(trace.info.devices, 1);
        check_devices(trace, all);
    }
    if (devices == 2) {
        const test::trace trace = test::record(on_devices("0-1"), [] { alternate(4, 2); });
        REQUIRE(trace.valid());
        check_alternating(trace, 4, 2);
    }
}

TEST_CASE(devices_that_are_not_there)
{
    for (const char *const devices : {"4711", "0,4711", "gpu", "1-0"}) {
        const ktrace_capture_options options = on_devices(devices);
        ktrace_capture *capture = nullptr;
        const int status = ktrace_capture_begin(&capture, &options);
        const std::string message = status < 0 ? ktrace_last_error() : "";
        CHECK(status == KTRACE_ERROR_ARGUMENT || status == KTRACE_ERROR_NO_DEVICE, "\"%s\" gives '%s'", devices,
              ktrace_status_name(status));
        const char *const quoted = std::strstr(devices, "4711") ? "4711" : devices;
        CHECK(message.find(quoted) != std::string::npos, "\"%s\" is not in '%s'", quoted, message.c_str());
        ktrace_capture_destroy(capture);
        std::printf("  said: %s\n", message.c_str());
    }
}

/* ---- At the same time ------------------------------------------------------------------------------------------- */

/* Two kernels, one on each device, that wait for each other: in the timeline they overlap. */
TEST_CASE(devices_overlap)
{
    if (device_count() < 2)
        return test::skip_case("one GPU");
    const int rounds = 5;
    unsigned *shared = nullptr;
    CUDA_OK_OR_RETURN(
        cudaHostAlloc((void **)&shared, 3 * sizeof(*shared), cudaHostAllocPortable | cudaHostAllocMapped));
    shared[0] = shared[1] = shared[2] = 0;
    for (int d = 0; d < 2; d++) {
        const on_device current(d);
        test::preload(meeting);
    }
    const test::trace trace = test::record(on_devices("all"), [&] {
        for (int i = 0; i < 2 * rounds; i++) {
            const on_device current(i % 2);
            meeting<<<1, 64>>>(i, i % 2, shared, shared + 2);
        }
        for (int d = 0; d < 2; d++)
            synchronize(d);
    });
    CHECK(shared[2] == 0, "the two were not running at once");
    CHECK_CUDA(cudaFreeHost(shared));
    REQUIRE(trace.valid());
    REQUIRE(
        test::check_launches(trace, std::vector<test::wanted_launch>(2 * rounds, whole_launch("meeting", 1, 64, 3))));
    const std::vector<said> all = said_by(trace);
    check_devices(trace, all);
    for (int i = 0; i < rounds; i++) {
        CHECK(all[2 * i].number / 2 == i && all[2 * i + 1].number / 2 == i, "round %d has launches %d and %d", i,
              all[2 * i].number, all[2 * i + 1].number);
        CHECK(all[2 * i].device != all[2 * i + 1].device, "both of round %d are of device %d", i, all[2 * i].device);
        CHECK(test::overlap(trace.launches[2 * i], trace.launches[2 * i + 1]), "the two of round %d do not overlap", i);
    }
}

/* A thread for each device that launches without pause, and reads meanwhile: every wave once, of its own device. */
TEST_CASE(reads_while_devices_run)
{
    const int devices = device_count(), reads = test::quick() ? 5 : 40;
    test::capture capture;
    ktrace_capture_options options = on_devices("all");
    options.buffer_bytes = 256 << 20;
    REQUIRE(capture.begin(options) == 0);
    std::atomic<bool> stop{false};
    std::atomic<int> errors{0};
    std::vector<int> launched(devices);
    std::vector<std::thread> threads;
    for (int d = 0; d < devices; d++)
        threads.emplace_back([&, d] {
            errors += cudaSetDevice(d) != cudaSuccess;
            cudaStream_t stream;
            errors += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
            for (; !stop; launched[d]++) {
                here<<<grid, block, 0, stream>>>(launched[d], d);
                errors += cudaGetLastError() != cudaSuccess;
                usleep(100); /* a wave is work for the reader, too */
            }
            errors += cudaStreamSynchronize(stream) != cudaSuccess;
            errors += cudaStreamDestroy(stream) != cudaSuccess;
        });
    std::vector<std::vector<uint8_t>> seen(devices);
    uint64_t twice = 0, torn = 0, faults = 0, recorded = 0;
    const auto add = [&](ktrace_trace *raw) {
        const test::trace trace(raw, false);
        const ktrace_trace_info &info = trace.info;
        faults += info.waves_dropped + info.waves_unfinished + info.slots_lost + info.ranges_unclosed +
                  info.ends_unmatched + info.slots_corrupt + info.clocks_ambiguous;
        recorded += info.waves;
        for (const test::wave &wave : trace.waves) {
            const uint32_t unit = wave.info.workgroup[0] * 2 + wave.info.wave;
            if (wave.events.size() != 3 || unit >= waves || wave.events[1].payload >= (uint64_t)devices) {
                torn++;
                continue;
            }
            std::vector<uint8_t> &of_device = seen[wave.events[1].payload];
            const size_t number = wave.events[0].payload;
            if (number >= of_device.size())
                of_device.resize(2 * number + 1);
            twice += of_device[number] >> unit & 1;
            of_device[number] |= (uint8_t)(1u << unit);
        }
    };
    int status = 0;
    for (int i = 0; i < reads && status == 0; i++) {
        ktrace_trace *raw = nullptr;
        status = ktrace_capture_read(&raw, capture.handle());
        CHECK(status == 0, "%s: %s", ktrace_status_name(status), ktrace_last_error());
        if (status == 0)
            add(raw);
    }
    stop = true;
    for (std::thread &thread : threads)
        thread.join();
    CHECK_EQUAL(errors.load(), 0);
    ktrace_trace *raw = nullptr;
    status = capture.end_raw(&raw);
    REQUIRE(status == 0, "%s: %s", ktrace_status_name(status), ktrace_last_error());
    add(raw);
    CHECK_EQUAL(twice, 0);
    CHECK_EQUAL(torn, 0);
    CHECK_EQUAL(faults, 0);
    uint64_t missing = 0, all = 0;
    for (int d = 0; d < devices; d++) {
        seen[d].resize(std::max<size_t>(seen[d].size(), (size_t)launched[d]));
        for (int i = 0; i < launched[d]; i++)
            missing += seen[d][i] != (1u << waves) - 1;
        all += (uint64_t)launched[d];
        std::printf("  device %d: %d launches\n", d, launched[d]);
    }
    CHECK(missing == 0, "%llu of %llu launches are missing, or not whole", (unsigned long long)missing,
          (unsigned long long)all);
    CHECK_EQUAL(recorded, all * waves);
}

/* ---- Overflow --------------------------------------------------------------------------------------------------- */

/* One device's buffer is full: the sentence names what that one needs, and the next read is right on both. */
TEST_CASE(overflow_on_one_device)
{
    const int devices = device_count(), full = devices - 1;
    test::capture capture;
    test::trace trace;
    std::string message;
    ktrace_capture_options options = on_devices("all");
    options.buffer_bytes = 256 << 10;
    REQUIRE(capture.begin(options) == 0);
    {
        const on_device current(full);
        here<<<1000, block>>>(0, full);
    }
    for (int d = 0; d < devices; d++)
        synchronize(d);
    const int status = capture.try_read(trace, message);
    CHECK(status == KTRACE_ERROR_OVERFLOW, "%s", ktrace_status_name(status));
    CHECK(message.find("buffer_bytes >= ") != std::string::npos, "'%s'", message.c_str());
    std::printf("  said: %s\n", message.c_str());
    alternate(6, devices);
    REQUIRE(capture.end(trace) == 0);
    check_alternating(trace, 6, devices);
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
