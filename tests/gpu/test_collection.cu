/* Process-wide collection: recording without a capture, by a call or by the environment, and what is exported when the program
 * exits. The program starts itself again for what only a new process can show. */
#include "check.h"
#include "files.h"
#include "launches.h"

#include <ktrace/device.h>

#include <spawn.h>
#include <sys/wait.h>

using test::folder;
using test::is_gzip;
using test::mark;
using test::pop;
using test::push;
using test::whole_launch;

/* ---- Kernels ---------------------------------------------------------------------------------------------------- */

__global__ void collected(int number)
{
    KTRACE_KERNEL("collected");
    KTRACE_RANGE("body", number);
    KTRACE_MARK("block", (int)blockIdx.x);
}

__global__ void unannotated(int *out)
{
    *out = 1;
}

namespace
{

constexpr unsigned grid = 3, block = 64;

void launch(int number, cudaStream_t stream = nullptr)
{
    collected<<<grid, block, 0, stream>>>(number);
    CHECK_CUDA(cudaGetLastError());
}

/* Launches first, first + 1, ... and no other. */
void check_numbers(const test::trace &trace, int first, int count)
{
    REQUIRE(trace.valid(), "no trace");
    if (!test::check_launches(
            trace, std::vector<test::wanted_launch>((size_t)count, whole_launch("collected", grid, block, 3))))
        return;
    for (const test::wave &wave : trace.waves)
        test::check_sequence(wave, {push("body", 0, first + (int)wave.info.launch),
                                    mark("block", 0, (int)wave.info.workgroup[0]), pop(0)});
}

test::trace collect()
{
    ktrace_trace *raw = nullptr;
    const int status = ktrace_collect_trace(&raw);
    CHECK(status == 0, "ktrace_collect_trace: %s: %s", ktrace_status_name(status), ktrace_last_error());
    return test::trace(raw, false);
}

/* Collection while it lives, so that a case that fails halfway leaves none behind. */
struct enabled {
    int status;
    explicit enabled(const ktrace_capture_options *options) : status(ktrace_enable(options))
    {
        CHECK(status == 0, "ktrace_enable: %s: %s", ktrace_status_name(status), ktrace_last_error());
    }
    ~enabled()
    {
        ktrace_disable();
    }
    enabled(const enabled &) = delete;
    enabled &operator=(const enabled &) = delete;
};

} /* namespace */

/* ---- By a call -------------------------------------------------------------------------------------------------- */

TEST_CASE(collect_and_collect_again)
{
    const ktrace_capture_options options = test::sizes(16, 4);
    test::device_array<int> out(1);
    launch(-1); /* dormant */
    CHECK_EQUAL(ktrace_active(), 0);
    const enabled on(&options);
    CHECK_EQUAL(ktrace_active(), 1);
    CHECK_EQUAL(ktrace_enable(&options), KTRACE_ERROR_STATE);
    for (int i = 0; i < 3; i++)
        launch(i);
    check_numbers(collect(), 0, 3);
    check_numbers(collect(), 0, 3); /* until another traced launch */
    unannotated<<<1, 1>>>(out.get());
    check_numbers(collect(), 0, 3);
    launch(3);
    check_numbers(collect(), 3, 1);
}

/* The summary and the file are of one snapshot. */
TEST_CASE(summary_and_file)
{
    const ktrace_capture_options options = test::sizes(16, 4);
    const folder folder;
    const enabled on(&options);
    char *text = nullptr, *path = nullptr;
    KTRACE_OK_OR_RETURN(ktrace_summary(&text));
    CHECK(text == nullptr, "a summary of nothing: %s", text ? text : "");
    KTRACE_OK_OR_RETURN(ktrace_collect(&path, "empty", folder.path.c_str()));
    CHECK(path == nullptr, "a file of nothing: %s", path ? path : "");
    launch(0);
    launch(1);
    KTRACE_OK_OR_RETURN(ktrace_summary(&text));
    CHECK(text && std::strstr(text, "collected") && std::strstr(text, "body"), "%s", text ? text : "(NULL)");
    std::free(text);
    for (const char *const name : {"one", "one"}) {
        path = nullptr;
        KTRACE_OK_OR_RETURN(ktrace_collect(&path, name, folder.path.c_str()));
        CHECK(path && is_gzip(path), "%s", path ? path : "(NULL)");
        std::free(path);
    }
    CHECK(folder.files().size() == 2, "%zu files", folder.files().size());
    check_numbers(collect(), 0, 2);
}

TEST_CASE(replays_are_collected)
{
    const ktrace_capture_options options = test::sizes(16, 4);
    test::side_stream stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CUDA_OK_OR_RETURN(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(0, stream);
    CUDA_OK_OR_RETURN(cudaStreamEndCapture(stream, &graph));
    CUDA_OK_OR_RETURN(cudaGraphInstantiate(&executable, graph, 0));
    {
        const enabled on(&options);
        CHECK_CUDA(cudaGraphLaunch(executable, stream));
        check_numbers(collect(), 0, 1);
        check_numbers(collect(), 0, 1);
        CHECK_CUDA(cudaGraphLaunch(executable, stream));
        CHECK_CUDA(cudaGraphLaunch(executable, stream));
        const test::trace trace = collect();
        CHECK_EQUAL(trace.info.launches, 2);
        CHECK_EQUAL(trace.info.waves, 2 * 6);
    }
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaGraphDestroy(graph));
}

/* Inside of a capture the collection rests, and its calls are errors. */
TEST_CASE(collection_rests_in_a_capture)
{
    const ktrace_capture_options options = test::sizes(16, 4);
    const enabled on(&options);
    launch(0);
    test::capture capture;
    test::trace trace;
    REQUIRE(capture.begin(test::sizes(32, 2)) == 0);
    launch(1);
    char *text = nullptr, *path = nullptr;
    ktrace_trace *raw = nullptr;
    CHECK_EQUAL(ktrace_summary(&text), KTRACE_ERROR_STATE);
    std::printf("  said: %s\n", ktrace_last_error());
    CHECK_EQUAL(ktrace_collect(&path, "none", nullptr), KTRACE_ERROR_STATE);
    CHECK_EQUAL(ktrace_collect_trace(&raw), KTRACE_ERROR_STATE);
    CHECK_EQUAL(ktrace_disable(), KTRACE_ERROR_STATE);
    CHECK(!text && !path && !raw, "an out-parameter was written");
    launch(2);
    REQUIRE(capture.end(trace) == 0);
    check_numbers(trace, 1, 2);
    CHECK_EQUAL(ktrace_active(), 1);
    launch(3);
    const test::trace rest = collect();
    CHECK_EQUAL(rest.info.launches, 2); /* from before the capture and behind it */
    for (const test::wave &wave : rest.waves) {
        const test::about about(wave);
        CHECK(!wave.events.empty() && wave.events[0].payload == (wave.info.launch ? 3u : 0u), "a wave of launch %u",
              wave.info.launch);
    }
}

/* ---- By the environment ----------------------------------------------------------------------------------------- */

namespace
{

/* This program again, with these variables and KTRACE_TEST_CHILD=what. Its exit status. */
int run_again(const std::string &what, const std::vector<std::string> &variables)
{
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return -1;
    self[length] = 0;
    std::vector<std::string> strings = variables;
    strings.push_back("KTRACE_TEST_CHILD=" + what);
    for (char **variable = environ; *variable; variable++)
        if (std::strncmp(*variable, "KTRACE_", 7) != 0)
            strings.push_back(*variable);
    std::vector<char *> environment;
    for (std::string &string : strings)
        environment.push_back(&string[0]);
    environment.push_back(nullptr);
    char *arguments[] = {self, nullptr};
    pid_t child = 0;
    int status = 0;
    std::fflush(stdout);
    if (posix_spawn(&child, self, nullptr, nullptr, arguments, environment.data()) != 0 ||
        waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What the new process does. */
int child(const std::string &what)
{
    test::the().current = "child";
    for (int i = 0; i < 4; i++)
        launch(i);
    CHECK_CUDA(cudaDeviceSynchronize());
    if (what == "collects") {
        CHECK_EQUAL(ktrace_active(), 1);
        check_numbers(collect(), 0, 4);
        char *path = nullptr;
        const int status = ktrace_collect(&path, nullptr, nullptr);
        CHECK(status == 0 && path, "ktrace_collect: %s", ktrace_last_error());
        std::free(path);
    } else if (what == "dormant") {
        CHECK_EQUAL(ktrace_active(), 0);
    } else if (what == "overflows") {
        ktrace_trace *raw = nullptr;
        CHECK_EQUAL(ktrace_collect_trace(&raw), KTRACE_ERROR_OVERFLOW);
    }
    return test::the().failures > 0;
}

} /* namespace */

/* What a program does not collect is exported when it exits, under its name. */
TEST_CASE(exported_at_exit)
{
    const folder folder;
    CHECK_EQUAL(run_again("exits", {"KTRACE_ENABLE=1", "KTRACE_DUMP_DIR=" + folder.path}), 0);
    const std::vector<std::string> files = folder.files();
    REQUIRE(files.size() == 1, "%zu files", files.size());
    CHECK(files[0].find("test_collection") == 0 && is_gzip(folder.path + "/" + files[0]), "%s", files[0].c_str());
    std::printf("  %s\n", files[0].c_str());
}

TEST_CASE(collected_before_exit)
{
    const folder folder;
    CHECK_EQUAL(run_again("collects", {"KTRACE_ENABLE=1", "KTRACE_DUMP_DIR=" + folder.path,
                                       "KTRACE_BUFFER_BYTES=1048576", "KTRACE_EVENTS_PER_WAVE=16"}),
                0);
    const std::vector<std::string> files = folder.files(); /* what was collected is not exported again */
    CHECK(files.size() == 1 && files[0].find("kernel") == 0, "%zu files, %s", files.size(),
          files.empty() ? "" : files[0].c_str());
}

/* The environment's sizes are those that are used. */
TEST_CASE(environment_is_too_small)
{
    const folder folder;
    CHECK_EQUAL(
        run_again("overflows", {"KTRACE_ENABLE=1", "KTRACE_DUMP_DIR=" + folder.path, "KTRACE_EVENTS_PER_WAVE=2"}), 0);
}

TEST_CASE(dormant_without_the_variable)
{
    const folder folder;
    CHECK_EQUAL(run_again("dormant", {"KTRACE_DUMP_DIR=" + folder.path}), 0);
    CHECK_EQUAL(run_again("dormant", {"KTRACE_ENABLE=0", "KTRACE_DUMP_DIR=" + folder.path}), 0);
    CHECK_EQUAL(folder.files().size(), 0);
}

int main(int argc, char **argv)
{
    if (const char *what = std::getenv("KTRACE_TEST_CHILD"))
        return child(what);
    return test::run(argc, argv);
}
