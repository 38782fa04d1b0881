/* Reading while others launch: host threads launch without pause, each on its own stream, while another reads, clears, or begins and
 * ends captures. Every wave says who it is in several events, so that one that is missing, there twice or put together from
 * two is found. */
#include "check.h"
#include "launches.h"

#include <ktrace/device.h>

#include <atomic>
#include <memory>
#include <thread>

/* ---- The kernel ------------------------------------------------------------------------------------------------- */

/* Four events a wave, in the ring of lane 0 and in that of another lane. `of_replays`: the number is read there and raised at
 * the end, for a launch that repeats; one workgroup. Runs for about `spin_ns`, so that reads meet it at all of its points. */
__global__ void numbered(unsigned thread, unsigned number, unsigned *of_replays, unsigned spin_ns)
{
    KTRACE_KERNEL("numbered");
    if (of_replays)
        number = *(volatile unsigned *)of_replays;
    const unsigned long long id = (unsigned long long)thread << 32 | number;
    KTRACE_RANGE("body", id);
    if ((threadIdx.x & 31) == 5)
        KTRACE_MARK("lane", id * 3);
    __syncwarp();
    const unsigned long long until = test::wall_clock_ns() + spin_ns;
    while (test::wall_clock_ns() < until) {
    }
    __syncthreads(); /* all have read the number */
    if (of_replays && threadIdx.x == 0)
        *(volatile unsigned *)of_replays = number + 1;
    __syncwarp();
    KTRACE_MARK("end", ~id);
}

/* ---- Who launched what, and who was recorded -------------------------------------------------------------------- */

namespace
{

constexpr unsigned thread_count = 4, blocks = 2, waves_per_block = 2, waves = blocks * waves_per_block;
/* Long enough that a reader, for whom a wave is work, too, keeps up. */
constexpr unsigned usual_spin_ns = 400000, all_waves = (1u << waves) - 1;

ktrace_capture_options roomy()
{
    return test::sizes(8, 2, test::quick() ? 64ull << 20 : 1024ull << 20);
}

/* What has been recorded of every launch, over all traces: a bit for each wave. */
class ledger
{
  public:
    uint64_t recorded = 0, events = 0, twice = 0, torn = 0, strange = 0, faults = 0;

    /* Takes the trace's waves in, and destroys it. */
    void add(ktrace_trace *trace)
    {
        ktrace_trace_info info{};
        info.struct_size = sizeof(info);
        CHECK_EQUAL(ktrace_trace_get_info(&info, trace), 0);
        faults += info.waves_dropped + info.waves_filtered + info.waves_unfinished + info.slots_lost +
                  info.ranges_unclosed + info.ends_unmatched + info.slots_corrupt + info.clocks_ambiguous;
        recorded += info.waves;
        events += info.events;
        for (uint64_t i = 0; i < info.waves; i++)
            add_wave(trace, i);
        ktrace_trace_destroy(trace);
    }
    /* The waves of one launch, as bits. */
    unsigned of(unsigned thread, unsigned number) const
    {
        return number < seen_[thread].size() ? seen_[thread][number] : 0;
    }
    /* Nothing was recorded that is not a whole wave of some launch, once. */
    void check_sound() const
    {
        CHECK_EQUAL(twice, 0);
        CHECK_EQUAL(torn, 0);
        CHECK_EQUAL(strange, 0);
        CHECK_EQUAL(faults, 0);
        CHECK_EQUAL(events, 4 * recorded);
    }

  private:
    static bool is(const ktrace_event_info &event, uint32_t kind, const char *name, uint32_t lane)
    {
        return event.kind == kind && event.lane == lane && std::strcmp(event.name, name) == 0;
    }
    void add_wave(const ktrace_trace *trace, uint64_t index)
    {
        ktrace_wave_info wave{};
        ktrace_event_info e[4] = {};
        wave.struct_size = sizeof(wave);
        bool whole = ktrace_trace_wave(&wave, trace, index) == 0 && wave.events == 4;
        for (uint32_t i = 0; i < 4 && whole; i++) {
            e[i].struct_size = sizeof(e[i]);
            whole = ktrace_trace_event(&e[i], trace, index, i) == 0;
        }
        const uint64_t id = e[0].payload;
        whole = whole && is(e[0], KTRACE_KIND_PUSH, "body", 0) && e[0].partner == 3 &&
                is(e[1], KTRACE_KIND_MARK, "lane", 5) && e[1].payload == id * 3 &&
                is(e[2], KTRACE_KIND_MARK, "end", 0) && e[2].payload == ~id && is(e[3], KTRACE_KIND_POP, "", 0);
        if (!whole) {
            if (torn++ == 0)
                print(trace, index, wave);
            return;
        }
        const uint32_t thread = (uint32_t)(id >> 32), number = (uint32_t)id;
        const uint32_t unit = wave.workgroup[0] * waves_per_block + wave.wave;
        if (thread >= thread_count || number >= 1u << 26 || wave.wave >= waves_per_block || unit >= waves) {
            strange++;
            return;
        }
        std::vector<uint8_t> &seen = seen_[thread];
        if (number >= seen.size())
            seen.resize(std::max<size_t>(number + 1, seen.size() * 2));
        twice += (seen[number] >> unit & 1) != 0;
        seen[number] |= (uint8_t)(1u << unit);
    }
    static void print(const ktrace_trace *trace, uint64_t index, const ktrace_wave_info &info)
    {
        test::wave wave{};
        wave.index = index;
        wave.info = info;
        for (uint32_t i = 0; i < info.events; i++) {
            ktrace_event_info e{};
            e.struct_size = sizeof(e);
            if (ktrace_trace_event(&e, trace, index, i) == 0)
                wave.events.push_back({e.name, e.file, e.line, e.kind, e.lane, e.partner, e.payload_type, e.payload,
                                       e.time_ps, e.clock_ticks});
        }
        test::print_wave(wave);
    }

    std::vector<uint8_t> seen_[thread_count];
};

/* Threads that launch until they are stopped. Each has 16 to 32 launches waiting, so that the device never idles and one who
 * waits for it never waits long. */
class launchers
{
  public:
    /* `replays`: of a graph of one workgroup, which counts for itself. */
    explicit launchers(bool replays, unsigned spin_ns = usual_spin_ns) : replays_(replays), spin_ns_(spin_ns)
    {
        test::preload(numbered);
        for (unsigned t = 0; t < thread_count; t++)
            threads_.emplace_back([this, t] { work(t); });
        while (working_ < thread_count)
            std::this_thread::yield();
    }
    ~launchers()
    {
        stop();
    }
    launchers(const launchers &) = delete;
    launchers &operator=(const launchers &) = delete;
    /* All that were launched are over. */
    void stop()
    {
        stop_ = true;
        for (std::thread &thread : threads_)
            thread.join();
        threads_.clear();
        CHECK_EQUAL(errors_.load(), 0);
    }
    /* Launches with this number and later ones begin after now. */
    unsigned next(unsigned thread) const
    {
        return begun_[thread].load();
    }
    /* Launches before this number are over. */
    unsigned done(unsigned thread) const
    {
        return done_[thread].load();
    }
    /* Until some launches of every thread from `from` on are over: how far each is then. */
    void wait(unsigned over[thread_count], const unsigned from[thread_count]) const
    {
        for (unsigned t = 0; t < thread_count; t++)
            while (done(t) < from[t] + 16 && errors_ == 0)
                std::this_thread::yield();
        for (unsigned t = 0; t < thread_count; t++)
            over[t] = done(t);
    }

  private:
    void work(unsigned t)
    {
        cudaStream_t stream = nullptr;
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        unsigned *count = nullptr;
        bool good = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
        if (good && replays_) {
            good = cudaMalloc(&count, sizeof(*count)) == cudaSuccess &&
                   cudaMemsetAsync(count, 0, sizeof(*count), stream) == cudaSuccess &&
                   cudaStreamSynchronize(stream) == cudaSuccess &&
                   cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
            numbered<<<1, 32 * waves_per_block, 0, stream>>>(t, 0, count, spin_ns_);
            good = good && cudaStreamEndCapture(stream, &graph) == cudaSuccess &&
                   cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess;
        }
        errors_ += !good;
        working_++;
        while (working_ < thread_count) /* no launch before all graphs are built */
            std::this_thread::yield();
        cudaEvent_t passed[2] = {};
        for (cudaEvent_t &event : passed)
            good = good && cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess;
        for (unsigned i = 0; good && !stop_; i++) {
            begun_[t] = i + 1; /* before the launch: whoever reads it knows of all that were begun */
            if (replays_)
                good = cudaGraphLaunch(executable, stream) == cudaSuccess;
            else
                numbered<<<blocks, 32 * waves_per_block, 0, stream>>>(t, i, nullptr, spin_ns_);
            good = good && cudaGetLastError() == cudaSuccess;
            if (i % 16 == 15) {
                const cudaEvent_t latest = passed[i / 16 % 2], before = passed[1 - i / 16 % 2];
                good = good && cudaEventRecord(latest, stream) == cudaSuccess &&
                       cudaEventSynchronize(before) == cudaSuccess;
                done_[t] = i - 15;
            }
        }
        errors_ += !good;
        errors_ += cudaStreamSynchronize(stream) != cudaSuccess;
        done_[t] = begun_[t].load();
        for (const cudaEvent_t event : passed)
            cudaEventDestroy(event);
        if (executable)
            cudaGraphExecDestroy(executable);
        if (graph)
            cudaGraphDestroy(graph);
        cudaFree(count);
        cudaStreamDestroy(stream);
    }

    const bool replays_;
    const unsigned spin_ns_;
    std::atomic<bool> stop_{false};
    std::atomic<unsigned> working_{0};
    std::atomic<int> errors_{0};
    std::atomic<unsigned> begun_[thread_count] = {}, done_[thread_count] = {};
    std::vector<std::thread> threads_;
};

/* Every launch that was ever made is in the ledger, whole. */
void check_complete(const ledger &ledger, const launchers &launchers, unsigned waves_of_launch)
{
    const unsigned whole = (1u << waves_of_launch) - 1;
    uint64_t launched = 0, missing = 0;
    for (unsigned t = 0; t < thread_count; t++)
        for (unsigned i = 0; i < launchers.next(t); i++) {
            launched++;
            if (ledger.of(t, i) != whole && missing++ < 5)
                std::printf("    launch %u of thread %u: waves 0x%x of 0x%x\n", i, t, ledger.of(t, i), whole);
        }
    CHECK(missing == 0, "%llu of %llu launches are missing, or not whole", (unsigned long long)missing,
          (unsigned long long)launched);
    CHECK_EQUAL(ledger.recorded, launched * waves_of_launch);
    CHECK_EQUAL(ledger.events, launched * waves_of_launch * 4);
    std::printf("  %llu launches, %llu waves, %llu events\n", (unsigned long long)launched,
                (unsigned long long)ledger.recorded, (unsigned long long)ledger.events);
}

int read_into(ledger &ledger, ktrace_capture *capture)
{
    ktrace_trace *trace = nullptr;
    const int status = ktrace_capture_read(&trace, capture);
    CHECK(status == 0, "ktrace_capture_read: %s: %s", ktrace_status_name(status), ktrace_last_error());
    if (status == 0)
        ledger.add(trace);
    return status;
}

int end_into(ledger &ledger, test::capture &capture)
{
    ktrace_trace *trace = nullptr;
    const int status = capture.end_raw(&trace);
    CHECK(status == 0, "ktrace_capture_end: %s: %s", ktrace_status_name(status), ktrace_last_error());
    if (status == 0)
        ledger.add(trace);
    return status;
}

/* Reads `reads` times while the threads launch, then once more by the end. */
void check_reads(bool replays, unsigned waves_of_launch)
{
    const int reads = test::quick() ? 20 : 40;
    ledger ledger;
    test::capture capture;
    REQUIRE(capture.begin(roomy()) == 0);
    launchers launchers(replays);
    int empty = 0;
    for (int i = 0; i < reads; i++) {
        const uint64_t before = ledger.recorded;
        if (read_into(ledger, capture.handle()) < 0)
            break;
        empty += ledger.recorded == before;
    }
    launchers.stop();
    REQUIRE(end_into(ledger, capture) == 0);
    std::printf("  %d reads, %d of them empty\n", reads, empty);
    CHECK(empty < reads / 2, "most reads met nothing: this tried little");
    ledger.check_sound();
    check_complete(ledger, launchers, waves_of_launch);
}

} /* namespace */

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

TEST_CASE(reads_lose_nothing)
{
    check_reads(false, waves);
}

TEST_CASE(reads_of_replays_lose_nothing)
{
    check_reads(true, waves_per_block);
}

/* Two threads read at once: each wave is in the trace of one of them. */
TEST_CASE(two_readers)
{
    const int reads = test::quick() ? 10 : 100;
    ledger ledgers[2], all;
    test::capture capture;
    REQUIRE(capture.begin(roomy()) == 0);
    launchers launchers(false);
    std::vector<ktrace_trace *> traces[2];
    int status[2] = {};
    std::vector<std::thread> readers;
    for (int r = 0; r < 2; r++)
        readers.emplace_back([&, r] {
            for (int i = 0; i < reads && status[r] == 0; i++) {
                ktrace_trace *trace = nullptr;
                status[r] = ktrace_capture_read(&trace, capture.handle());
                if (status[r] == 0)
                    traces[r].push_back(trace);
            }
        });
    for (std::thread &reader : readers)
        reader.join();
    launchers.stop();
    for (int r = 0; r < 2; r++) {
        CHECK(status[r] == 0, "reader %d: %s", r, ktrace_status_name(status[r]));
        for (ktrace_trace *trace : traces[r])
            all.add(trace);
    }
    REQUIRE(end_into(all, capture) == 0);
    all.check_sound();
    check_complete(all, launchers, waves);
}

/* Looking loses nothing: each snapshot has what the one before had, and the end has all. A snapshot has more to decode each time:
 * few of them, of longer kernels. */
TEST_CASE(snapshots_lose_nothing)
{
    const int looks = test::quick() ? 4 : 20;
    ledger ledger;
    test::capture capture;
    REQUIRE(capture.begin(roomy()) == 0);
    launchers launchers(false, 2 * usual_spin_ns);
    uint64_t before = 0;
    for (int i = 0; i < looks; i++) {
        ktrace_trace *trace = nullptr;
        const int status = ktrace_capture_snapshot(&trace, capture.handle());
        REQUIRE(status == 0, "ktrace_capture_snapshot: %s: %s", ktrace_status_name(status), ktrace_last_error());
        class ledger now;
        now.add(trace);
        now.check_sound();
        CHECK(now.recorded >= before, "snapshot %d has %llu waves, and the one before had %llu", i,
              (unsigned long long)now.recorded, (unsigned long long)before);
        before = now.recorded;
    }
    launchers.stop();
    REQUIRE(end_into(ledger, capture) == 0);
    CHECK(before > 0, "the snapshots met nothing");
    ledger.check_sound();
    check_complete(ledger, launchers, waves);
}

/* ---- Clearing --------------------------------------------------------------------------------------------------- */

/* What was over before a clear began is gone, what is launched after it returned is there; of what runs meanwhile, some. */
TEST_CASE(clear_forgets_the_past_only)
{
    const int rounds = test::quick() ? 10 : 60;
    test::capture capture;
    REQUIRE(capture.begin(roomy()) == 0);
    launchers launchers(false);
    uint64_t kept = 0, cleared = 0, lost = 0, undead = 0;
    for (int round = 0; round < rounds; round++) {
        unsigned over[thread_count], fresh[thread_count], finished[thread_count];
        for (unsigned t = 0; t < thread_count; t++)
            over[t] = launchers.done(t);
        REQUIRE(capture.clear() == 0);
        for (unsigned t = 0; t < thread_count; t++)
            fresh[t] = launchers.next(t);
        launchers.wait(finished, fresh);
        ledger ledger;
        REQUIRE(read_into(ledger, capture.handle()) == 0);
        ledger.check_sound();
        for (unsigned t = 0; t < thread_count; t++) {
            for (unsigned i = fresh[t]; i < finished[t]; i++)
                lost += ledger.of(t, i) != all_waves;
            for (unsigned i = 0; i < over[t]; i++)
                undead += ledger.of(t, i) != 0;
            kept += finished[t] - fresh[t];
            cleared += over[t];
        }
    }
    launchers.stop();
    CHECK(lost == 0, "%llu of %llu launches behind a clear are missing, or not whole", (unsigned long long)lost,
          (unsigned long long)kept);
    CHECK(undead == 0, "%llu of %llu launches from before a clear are there", (unsigned long long)undead,
          (unsigned long long)cleared);
    std::printf("  %d clears, %llu launches behind them\n", rounds, (unsigned long long)kept);
}

/* ---- Beginning and ending --------------------------------------------------------------------------------------- */

/* Captures begin and end while kernels run: what was launched after a begin and is over before the end is in the trace. */
TEST_CASE(captures_come_and_go)
{
    const int rounds = test::quick() ? 5 : 40;
    launchers launchers(false);
    uint64_t kept = 0, lost = 0;
    for (int round = 0; round < rounds; round++) {
        unsigned fresh[thread_count], finished[thread_count];
        test::capture capture;
        ktrace_capture_options options = test::sizes(8u << round % 3, 2u << round % 2, 32ull << 20);
        REQUIRE(capture.begin(options) == 0);
        for (unsigned t = 0; t < thread_count; t++)
            fresh[t] = launchers.next(t);
        launchers.wait(finished, fresh);
        ledger ledger;
        REQUIRE(end_into(ledger, capture) == 0);
        ledger.check_sound();
        for (unsigned t = 0; t < thread_count; t++) {
            for (unsigned i = fresh[t]; i < finished[t]; i++)
                lost += ledger.of(t, i) != all_waves;
            kept += finished[t] - fresh[t];
        }
    }
    launchers.stop();
    CHECK(lost == 0, "%llu of %llu launches inside of captures are missing, or not whole", (unsigned long long)lost,
          (unsigned long long)kept);
    std::printf("  %d captures, %llu launches inside of them\n", rounds, (unsigned long long)kept);
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
