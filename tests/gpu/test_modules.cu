/* Several modules in one capture: translation units built apart, shared libraries with runtimes of their own, cubins loaded
 * through the driver. Names, files and lines are each module's own.
 *
 * Built twice: test_modules (whole program, module_global.cu linked in) and test_modules_rdc (-rdc=true, TEST_MODULES_RDC=1).
 * Both look for libmodule_lib_one.so, libmodule_lib_two.so, module_cubin.cubin and module_plain.cubin next to themselves
 * or in --dir DIR. libktrace is linked as a shared library: the libraries must find the same one. */
#include "check.h"
#include "modules.h"

#include <ktrace/device.h>

#include <cuda.h>
#include <dlfcn.h>

#ifndef TEST_MODULES_RDC
#define TEST_MODULES_RDC 0
#endif

using test::mark;
using test::pop;
using test::push;
using test::start;
using test::stop;

/* ---- Finding things --------------------------------------------------------------------------------------------- */

namespace
{

std::string path_of(const char *name)
{
    std::string directory = test::value_of("--dir", "");
    if (directory.empty()) {
        char self[4096];
        const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
        directory = length > 0 ? std::string(self, (size_t)length) : std::string("./x");
        directory = directory.substr(0, directory.find_last_of('/'));
    }
    return directory + "/" + name;
}

/* The driver API as far as it is used here, from the driver itself: no link against libcuda. */
struct driver {
    decltype(&cuModuleLoad) load = nullptr;
    decltype(&cuModuleUnload) unload = nullptr;
    decltype(&cuModuleGetFunction) function = nullptr;
    decltype(&cuLaunchKernel) launch = nullptr;

    driver()
    {
        void *library = dlopen("libcuda.so.1", RTLD_NOW);
        if (!library)
            return;
        load = (decltype(load))dlsym(library, "cuModuleLoad");
        unload = (decltype(unload))dlsym(library, "cuModuleUnload");
        function = (decltype(function))dlsym(library, "cuModuleGetFunction");
        launch = (decltype(launch))dlsym(library, "cuLaunchKernel");
    }
    bool found() const
    {
        return load && unload && function && launch;
    }
};

const driver &the_driver()
{
    static const driver instance;
    return instance;
}

#define DRIVER_OK_OR_RETURN(call) \
    do { \
        const CUresult result_ = (call); \
        if (result_ != CUDA_SUCCESS) { \
            test::fail(__FILE__, __LINE__, #call, " CUresult %d", (int)result_); \
            return; \
        } \
    } while (0)

/* A shared library, open until close() or the end of the scope. */
struct library {
    void *handle = nullptr;
    launch_module_lib launch = nullptr;

    explicit library(const char *name)
    {
        const std::string path = path_of(name);
        handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        CHECK(handle, "dlopen: %s", handle ? "" : dlerror());
        if (handle)
            launch = (launch_module_lib)dlsym(handle, "launch_module_lib");
        if (handle)
            CHECK(launch, "launch_module_lib is not in %s", path.c_str());
    }
    ~library()
    {
        close();
    }
    library(const library &) = delete;
    library &operator=(const library &) = delete;
    void close()
    {
        if (handle)
            dlclose(handle);
        handle = nullptr;
        launch = nullptr;
    }
};

/* ---- What each module records ----------------------------------------------------------------------------------- */

const ktrace_capture_options options()
{
    return test::sizes(64, 16);
}

/* The launches of a kernel name, by index. */
std::vector<uint32_t> launches_of(const test::trace &trace, const char *kernel)
{
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < trace.launches.size(); i++)
        if (std::string(trace.launches[i].kernel) == kernel)
            found.push_back(i);
    return found;
}

/* Every wave of the launch has these events (made by `wanted` from the block's index), all from this file. */
template <class Wanted>
void check_launch(const test::trace &trace, uint32_t launch, int blocks, const std::vector<std::string> &files,
                  Wanted wanted)
{
    int waves = 0;
    for (const test::wave &wave : trace.waves) {
        if (wave.info.launch != launch)
            continue;
        waves++;
        const test::about about(wave);
        test::check_sequence(wave, wanted((int)wave.info.workgroup[0]));
        for (size_t i = 0; i < wave.events.size(); i++) {
            const test::event &e = wave.events[i];
            if (e.kind == KTRACE_KIND_POP || e.kind == KTRACE_KIND_STOP)
                continue; /* one descriptor for all ends */
            const std::string file = test::base_name(e.file);
            CHECK(std::find(files.begin(), files.end(), file) != files.end(), "event %zu is from '%s'", i,
                  e.file.c_str());
            CHECK(e.line > 0 && e.line < 200, "event %zu is from line %u", i, e.line);
        }
    }
    CHECK(waves == blocks, "%d waves of launch %u, expected %d", waves, launch, blocks);
}

test::expected push_double(const char *name, int lane, double payload)
{
    uint64_t bits;
    std::memcpy(&bits, &payload, sizeof(bits));
    return {name, KTRACE_KIND_PUSH, lane, KTRACE_PAYLOAD_FLOAT64, bits};
}

std::vector<test::expected> wanted_of_a(int block)
{
    std::vector<test::expected> wanted = {mark("shared name", 0, block), push("only in a", 0), push("hidden", 0, block),
                                          pop(0), pop(0)};
    if (TEST_MODULES_RDC) {
        const int x = block * 3 + 1;
        wanted.push_back(push("across", 0, x));
        wanted.push_back(push_double("hidden", 0, x));
        wanted.push_back(mark("in hidden of b", 0));
        wanted.push_back(pop(0));
        wanted.push_back(pop(0));
    }
    wanted.push_back(mark("a", 0));
    return wanted;
}

std::vector<test::expected> wanted_of_b(int block)
{
    return {mark("b", 0), start("only in b", 0, block), push_double("hidden", 0, block),    mark("in hidden of b", 0),
            pop(0),       stop("only in b", 0),         mark("shared name", 0, 100 + block)};
}

void check_a(const test::trace &trace, uint32_t launch, int blocks)
{
    std::vector<std::string> files = {"module_a.cu"};
    if (TEST_MODULES_RDC)
        files.push_back("module_b.cu");
    check_launch(trace, launch, blocks, files, wanted_of_a);
}

void check_b(const test::trace &trace, uint32_t launch, int blocks)
{
    check_launch(trace, launch, blocks, {"module_b.cu"}, wanted_of_b);
}

void check_lib(const test::trace &trace, uint32_t launch, int blocks, const std::string &name)
{
    const std::string range = "body of " + name;
    check_launch(trace, launch, blocks, {"module_lib.cu"}, [&](int block) {
        return std::vector<test::expected>{push(range.c_str(), 0, block), mark("shared name", 0, 300), pop(0)};
    });
}

void check_cubin(const test::trace &trace, uint32_t launch, int blocks, int number)
{
    check_launch(trace, launch, blocks, {"module_cubin.cu"}, [&](int block) {
        return std::vector<test::expected>{push("body", 0, number), mark("shared name", 0, 400 + block), pop(0)};
    });
}

/* A cubin's module, unloaded at the end of the scope. */
struct cubin {
    CUmodule module = nullptr;
    CUfunction function = nullptr;

    explicit cubin(const char *name)
    {
        const std::string path = path_of(name);
        CUresult result = the_driver().load(&module, path.c_str());
        CHECK(result == CUDA_SUCCESS, "cuModuleLoad %s: CUresult %d", path.c_str(), (int)result);
        if (result != CUDA_SUCCESS)
            return;
        result = the_driver().function(&function, module, "cubin_kernel");
        CHECK(result == CUDA_SUCCESS, "cuModuleGetFunction: CUresult %d", (int)result);
    }
    ~cubin()
    {
        unload();
    }
    cubin(const cubin &) = delete;
    cubin &operator=(const cubin &) = delete;
    bool loaded() const
    {
        return function != nullptr;
    }
    void unload()
    {
        if (module)
            CHECK(the_driver().unload(module) == CUDA_SUCCESS, "cuModuleUnload");
        module = nullptr;
        function = nullptr;
    }
    CUresult launch(int *out, int blocks, int number)
    {
        void *arguments[] = {&out, &number};
        return the_driver().launch(function, (unsigned)blocks, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);
    }
};

} /* namespace */

/* ---- Translation units ------------------------------------------------------------------------------------------ */

TEST_CASE(two_units)
{
    test::device_array<int> out(64);
    const test::trace trace = test::record(options(), [&] {
        CHECK_EQUAL(launch_module_a(out.get(), 3), 0);
        CHECK_EQUAL(launch_module_b(out.get(), 4), 0);
        CHECK_EQUAL(launch_module_a(out.get(), 2), 0);
    });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    REQUIRE(trace.launches.size() == 3, "%zu launches", trace.launches.size());
    for (const ktrace_launch_info &launch : trace.launches)
        CHECK(std::string(launch.kernel) == "same kernel", "'%s'", launch.kernel);
    check_a(trace, 0, 3);
    check_b(trace, 1, 4);
    check_a(trace, 2, 2);
}

#if !TEST_MODULES_RDC
TEST_CASE(sites_in_global_memory)
{
    test::device_array<int> out(64);
    const test::trace trace = test::record(options(), [&] {
        CHECK_EQUAL(launch_module_global(out.get(), 3), 0);
        CHECK_EQUAL(launch_module_a(out.get(), 2), 0);
    });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    REQUIRE(trace.launches.size() == 2, "%zu launches", trace.launches.size());
    CHECK(std::string(trace.launches[0].kernel) == "global sites", "'%s'", trace.launches[0].kernel);
    float one_and_a_half = 1.5f;
    uint32_t bits;
    std::memcpy(&bits, &one_and_a_half, sizeof(bits));
    check_launch(trace, 0, 3, {"module_global.cu"}, [&](int block) {
        return std::vector<test::expected>{mark("shared name", 0, block + 200),
                                           push("body", 0),
                                           {"token", KTRACE_KIND_START, 0, KTRACE_PAYLOAD_FLOAT32, bits},
                                           mark("upper", 7, 7),
                                           stop("token", 0),
                                           start("other token", 0),
                                           stop("other token", 0, block - 1),
                                           mark("plain", 0),
                                           pop(0)};
    });
    check_a(trace, 1, 2);
}
#endif

/* ---- Shared libraries ------------------------------------------------------------------------------------------- */

TEST_CASE(library_before_the_capture)
{
    library one("libmodule_lib_one.so");
    REQUIRE(one.launch);
    CHECK_EQUAL(one.launch(1), 0); /* dormant; its runtime is up */
    test::device_array<int> out(64);
    const test::trace trace = test::record(options(), [&] {
        CHECK_EQUAL(one.launch(3), 0);
        CHECK_EQUAL(launch_module_a(out.get(), 2), 0);
    });
    REQUIRE(trace.valid());
    test::check_clean(trace);
    const std::vector<uint32_t> libs = launches_of(trace, "library one"), units = launches_of(trace, "same kernel");
    REQUIRE(libs.size() == 1 && units.size() == 1, "%zu and %zu launches", libs.size(), units.size());
    check_lib(trace, libs[0], 3, "one");
    check_a(trace, units[0], 2);
}

/* Armed by the next clear or read; one that was never launched before begin as well. */
TEST_CASE(library_during_the_capture)
{
    test::device_array<int> out(64);
    test::capture capture;
    REQUIRE(capture.begin(options()) == 0);
    CHECK_EQUAL(launch_module_a(out.get(), 1), 0);
    library two("libmodule_lib_two.so");
    REQUIRE(two.launch);
    CHECK_EQUAL(two.launch(2), 0); /* not armed yet */
    REQUIRE(capture.clear() == 0);
    CHECK_EQUAL(two.launch(3), 0);
    CHECK_EQUAL(launch_module_b(out.get(), 2), 0);
    test::trace trace;
    REQUIRE(capture.read(trace) == 0);
    test::check_clean(trace);
    std::vector<uint32_t> libs = launches_of(trace, "library two"), units = launches_of(trace, "same kernel");
    REQUIRE(libs.size() == 1 && units.size() == 1, "%zu and %zu launches", libs.size(), units.size());
    check_lib(trace, libs[0], 3, "two");
    check_b(trace, units[0], 2);

    /* A third is armed by read. */
    library one("libmodule_lib_one.so");
    REQUIRE(one.launch);
    test::trace empty;
    REQUIRE(capture.read(empty) == 0);
    CHECK_EQUAL(empty.info.waves, 0);
    CHECK_EQUAL(one.launch(4), 0);
    CHECK_EQUAL(two.launch(1), 0);
    REQUIRE(capture.end(trace) == 0);
    test::check_clean(trace);
    libs = launches_of(trace, "library one");
    REQUIRE(libs.size() == 1 && trace.launches.size() == 2, "%zu of %zu launches", libs.size(), trace.launches.size());
    check_lib(trace, libs[0], 4, "one");
}

/* The library goes while a capture is open: what it recorded stays, and the rest works on. */
TEST_CASE(library_closed_during_the_capture)
{
    test::device_array<int> out(64);
    library two("libmodule_lib_two.so");
    REQUIRE(two.launch);
    CHECK_EQUAL(two.launch(1), 0);
    test::capture capture;
    REQUIRE(capture.begin(options()) == 0);
    CHECK_EQUAL(two.launch(3), 0);
    CHECK_EQUAL(launch_module_a(out.get(), 1), 0);
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
    two.close();
    CHECK_EQUAL(launch_module_b(out.get(), 2), 0);
    test::trace trace;
    REQUIRE(capture.read(trace) == 0);
    test::check_clean(trace);
    const std::vector<uint32_t> libs = launches_of(trace, "library two");
    REQUIRE(libs.size() == 1 && trace.launches.size() == 3, "%zu of %zu launches", libs.size(), trace.launches.size());
    check_lib(trace, libs[0], 3, "two");
    CHECK_EQUAL(launch_module_a(out.get(), 2), 0);
    REQUIRE(capture.end(trace) == 0);
    test::check_clean(trace);
    REQUIRE(trace.launches.size() == 1, "%zu launches", trace.launches.size());
    check_a(trace, 0, 2);
    const test::trace next = test::record(options(), [&] { CHECK_EQUAL(launch_module_a(out.get(), 1), 0); });
    REQUIRE(next.valid());
    CHECK_EQUAL(next.waves.size(), 1);
}

/* ---- Cubins ----------------------------------------------------------------------------------------------------- */

TEST_CASE(cubin_attached)
{
    if (!the_driver().found())
        return test::skip_case("no driver API in libcuda.so.1");
    test::device_array<int> out(64);
    cubin module("module_cubin.cubin");
    REQUIRE(module.loaded());
    {
        /* not attached: nothing is recorded, and that is no error */
        const test::trace trace = test::record(options(), [&] { CHECK_EQUAL(module.launch(out.get(), 2, 1), 0); });
        REQUIRE(trace.valid());
        CHECK_EQUAL(trace.waves.size(), 0);
        CHECK(!trace.warning.empty());
    }
    KTRACE_OK_OR_RETURN(ktrace_attach_cuda_module(module.module));
    {
        const test::trace trace = test::record(options(), [&] {
            CHECK_EQUAL(module.launch(out.get(), 3, 2), 0);
            CHECK_EQUAL(launch_module_a(out.get(), 2), 0);
        });
        REQUIRE(trace.valid());
        test::check_clean(trace);
        const std::vector<uint32_t> cubins = launches_of(trace, "cubin"), units = launches_of(trace, "same kernel");
        REQUIRE(cubins.size() == 1 && units.size() == 1, "%zu and %zu launches", cubins.size(), units.size());
        check_cubin(trace, cubins[0], 3, 2);
        check_a(trace, units[0], 2);
    }
    KTRACE_OK_OR_RETURN(ktrace_detach_cuda_module(module.module));
    {
        const test::trace trace = test::record(options(), [&] { CHECK_EQUAL(module.launch(out.get(), 2, 3), 0); });
        REQUIRE(trace.valid());
        CHECK_EQUAL(trace.waves.size(), 0);
    }
}

/* The same cubin loaded twice is two modules. One is attached inside the capture and gone before the read. */
TEST_CASE(cubin_loaded_twice)
{
    if (!the_driver().found())
        return test::skip_case("no driver API in libcuda.so.1");
    test::device_array<int> out(64);
    cubin first("module_cubin.cubin"), second("module_cubin.cubin");
    REQUIRE(first.loaded() && second.loaded());
    KTRACE_OK_OR_RETURN(ktrace_attach_cuda_module(first.module));
    test::capture capture;
    REQUIRE(capture.begin(options()) == 0);
    CHECK_EQUAL(first.launch(out.get(), 2, 10), 0);
    CHECK_EQUAL(second.launch(out.get(), 2, 11), 0); /* not attached yet */
    KTRACE_OK_OR_RETURN(ktrace_attach_cuda_module(second.module));
    CHECK_EQUAL(second.launch(out.get(), 3, 12), 0);
    CHECK_EQUAL(first.launch(out.get(), 1, 13), 0);
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
    KTRACE_OK_OR_RETURN(ktrace_detach_cuda_module(second.module));
    second.unload();
    test::trace trace;
    REQUIRE(capture.read(trace) == 0);
    test::check_clean(trace);
    REQUIRE(trace.launches.size() == 3, "%zu launches", trace.launches.size());
    check_cubin(trace, 0, 2, 10);
    check_cubin(trace, 1, 3, 12);
    check_cubin(trace, 2, 1, 13);

    CHECK_EQUAL(first.launch(out.get(), 4, 14), 0);
    REQUIRE(capture.end(trace) == 0);
    test::check_clean(trace);
    REQUIRE(trace.launches.size() == 1, "%zu launches", trace.launches.size());
    check_cubin(trace, 0, 4, 14);
    KTRACE_OK_OR_RETURN(ktrace_detach_cuda_module(first.module));
}

TEST_CASE(cubin_without_annotations)
{
    if (!the_driver().found())
        return test::skip_case("no driver API in libcuda.so.1");
    test::device_array<int> out(64);
    cubin plain("module_plain.cubin");
    REQUIRE(plain.loaded());
    const int status = ktrace_attach_cuda_module(plain.module);
    CHECK(status == KTRACE_ERROR_NOT_FOUND, "%s", ktrace_status_name(status));
    CHECK(ktrace_last_error()[0] != 0);
    std::printf("  said: %s\n", ktrace_last_error());
    CHECK_EQUAL(plain.launch(out.get(), 2, 77), 0);
    CUDA_OK_OR_RETURN(cudaDeviceSynchronize());
    CHECK_EQUAL(out.host()[1], 77);
}

int main(int argc, char **argv)
{
    return test::run(argc, argv, {"--dir"});
}
