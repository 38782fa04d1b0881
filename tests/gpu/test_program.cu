/* ktrace_program with NVRTC: kernels compiled at run time, traced inside a capture and untraced outside, as of CUDA's runtime and
 * driver used together. Skipped case by case where there is no NVRTC. */
#include "check.h"

#include <cuda.h>
#include <dlfcn.h>
#include <thread>

using test::mark;
using test::pop;
using test::push;

/* ---- The program ------------------------------------------------------------------------------------------------ */

namespace
{

const char source[] = R"(#include <ktrace/device.h>
#include "scale.h"
template <class T, int Steps>
__global__ void sum(T *out)
{
    KTRACE_KERNEL("sum");
    T total = 0;
    for (int i = 0; i < Steps; i++) {
        KTRACE_RANGE("step", i);
        total += scaled<T>(threadIdx.x);
    }
    if (threadIdx.x % 32 == 5)
        KTRACE_MARK("five", (int)blockIdx.x);
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
__device__ int counter;
__global__ void count()
{
    KTRACE_KERNEL("count");
    atomicAdd(&counter, 1);
}
extern "C" __global__ void read_count(int *out)
{
    *out = counter;
}
)";
const ktrace_program_header headers[] = {
    {"scale.h",
     "#include <detail/factor.h>\ntemplate <class T> __device__ T scaled(int x) { return (T)(x * FACTOR); }\n"},
    {"detail/factor.h", "#define FACTOR 3\n"}};
constexpr int blocks = 3, threads = 128, waves = blocks * threads / 32;

/* The driver API as far as it is used here, from the driver itself: no link against libcuda. */
CUresult launch_kernel(void *function, int grid, int block, void **arguments, CUstream stream = nullptr)
{
    static const auto launch = []() -> decltype(&cuLaunchKernel) {
        void *library = dlopen("libcuda.so.1", RTLD_NOW);
        return library ? (decltype(&cuLaunchKernel))dlsym(library, "cuLaunchKernel") : nullptr;
    }();
    if (!launch)
        return CUDA_ERROR_NOT_FOUND;
    return launch((CUfunction)function, (unsigned)grid, 1, 1, (unsigned)block, 1, 1, 0, stream, arguments, nullptr);
}

/* A program, destroyed at the end of the scope. */
struct program {
    ktrace_program *handle = nullptr;
    int status;

    explicit program(int trace, const char *directory = "", const char *text = source,
                     std::vector<const char *> compiler_options = {}, std::vector<const char *> kernels = {})
    {
        CHECK_CUDA(cudaFree(nullptr)); /* the runtime's context becomes the thread's */
        ktrace_program_options options = KTRACE_PROGRAM_OPTIONS_INIT;
        options.name = "sum.cu";
        options.headers = headers;
        options.header_count = 2;
        options.compiler_options = compiler_options.data();
        options.compiler_option_count = compiler_options.size();
        options.kernels = kernels.data();
        options.kernel_count = kernels.size();
        options.backend = "cuda";
        options.trace = trace;
        options.cache_directory = directory;
        status = ktrace_program_create(&handle, text, &options);
        CHECK(status >= 0, "ktrace_program_create: %s", ktrace_last_error());
    }
    ~program()
    {
        destroy();
    }
    program(const program &) = delete;
    program &operator=(const program &) = delete;
    void destroy()
    {
        ktrace_program_destroy(handle);
        handle = nullptr;
    }
    /* NULL after a failure, which is reported, but for a missing NVRTC: that skips the case. */
    void *kernel(const char *name)
    {
        void *function = nullptr;
        status = ktrace_program_kernel(&function, handle, name);
        if (status == KTRACE_ERROR_UNSUPPORTED)
            test::skip_case(ktrace_last_error());
        else
            CHECK(status >= 0, "%s: %s: %s\n%s", name, ktrace_status_name(status), ktrace_last_error(),
                  ktrace_program_log(handle));
        return function;
    }
    ktrace_program_info info() const
    {
        ktrace_program_info info{};
        info.struct_size = sizeof(info);
        CHECK(ktrace_program_get_info(&info, handle) >= 0, "%s", ktrace_last_error());
        return info;
    }
};

/* A kernel, or the end of the case. */
#define KERNEL_OR_RETURN(variable, of, name) \
    void *const variable = (of).kernel(name); \
    if (!variable) \
    return

void run_sum(void *function, int steps, CUstream stream = nullptr)
{
    test::device_array<float> out(blocks * threads);
    float *address = out.get();
    void *arguments[] = {&address};
    CHECK_EQUAL(launch_kernel(function, blocks, threads, arguments, stream), CUDA_SUCCESS);
    std::vector<float> values(blocks * threads);
    CHECK_CUDA(cudaMemcpy(values.data(), address, values.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < blocks * threads; i++)
        if (values[i] != (float)(i % threads * 3 * steps))
            return test::fail(__FILE__, __LINE__, "values[i]", " element %d is %g", i, (double)values[i]);
}

void check_sum(const test::trace &trace, int steps)
{
    test::check_clean(trace);
    CHECK_EQUAL(trace.waves.size(), waves);
    for (const test::wave &wave : trace.waves) {
        std::vector<test::expected> wanted;
        for (int i = 0; i < steps; i++) {
            wanted.push_back(push("step", 0, i));
            wanted.push_back(pop(0));
        }
        wanted.push_back(mark("five", 5, (int)wave.info.workgroup[0]));
        test::check_sequence(wave, wanted);
        for (const test::event &event : wave.events)
            if (event.kind == KTRACE_KIND_PUSH)
                CHECK(event.file == "sum.cu" && event.line == 9, "%s:%u", event.file.c_str(), event.line);
    }
}

std::string scratch()
{
    const char *parent = std::getenv("TMPDIR");
    std::string path = std::string(parent && *parent ? parent : P_tmpdir) + "/ktrace_test_XXXXXX";
    return mkdtemp(&path[0]) ? path : std::string();
}

} /* namespace */

/* ---- Specializations -------------------------------------------------------------------------------------------- */

TEST_CASE(traced_inside_untraced_outside)
{
    program p(KTRACE_PROGRAM_TRACE_AUTO);
    KERNEL_OR_RETURN(outside, p, "sum<float, 4>");
    run_sum(outside, 4);
    for (int i = 0; i < 2; i++) {
        test::capture capture;
        test::trace trace;
        REQUIRE(capture.begin(test::sizes(64, 16)) == 0);
        KERNEL_OR_RETURN(inside, p, "sum<float, 4>");
        CHECK(inside != outside);
        run_sum(inside, 4);
        run_sum(outside, 4); /* records nothing */
        REQUIRE(capture.end(trace) == 0);
        check_sum(trace, 4);
        run_sum(inside, 4); /* dormant */
        CHECK(p.kernel("sum<float, 4>") == outside);
    }
    CHECK_EQUAL(p.info().compilations, 2);
    CHECK_EQUAL(p.info().modules, 2);
}

TEST_CASE(always_and_never)
{
    program always(KTRACE_PROGRAM_TRACE_ALWAYS), never(KTRACE_PROGRAM_TRACE_NEVER);
    KERNEL_OR_RETURN(traced, always, "sum<float, 2>");
    KERNEL_OR_RETURN(untraced, never, "sum<float, 2>");
    const test::trace trace = test::record(test::sizes(64, 16), [&] {
        run_sum(traced, 2);
        run_sum(untraced, 2);
        CHECK(always.kernel("sum<float, 2>") == traced);
        CHECK(never.kernel("sum<float, 2>") == untraced);
    });
    REQUIRE(trace.valid());
    check_sum(trace, 2);
}

TEST_CASE(obtained_before_the_capture)
{
    program p(KTRACE_PROGRAM_TRACE_AUTO);
    KERNEL_OR_RETURN(outside, p, "sum<float, 1>");
    const test::trace trace = test::record(test::sizes(64, 16), [&] { run_sum(outside, 1); });
    REQUIRE(trace.valid());
    CHECK_EQUAL(trace.waves.size(), 0);
    CHECK(trace.warning.find("kernel \"sum<float, 1>\" was obtained before the capture and stays untraced") !=
              std::string::npos,
          "%s", trace.warning.c_str());
}

TEST_CASE(destroyed_inside_the_capture)
{
    program p(KTRACE_PROGRAM_TRACE_AUTO);
    test::capture capture;
    test::trace trace;
    REQUIRE(capture.begin(test::sizes(64, 16)) == 0);
    KERNEL_OR_RETURN(function, p, "sum<float, 3>");
    run_sum(function, 3);
    p.destroy();
    REQUIRE(capture.end(trace) == 0);
    check_sum(trace, 3);
}

/* The traced kernel records each time that a graph with it is replayed, also when the capture is another one. */
TEST_CASE(in_a_graph)
{
    program p(KTRACE_PROGRAM_TRACE_AUTO);
    test::device_array<float> out(blocks * threads);
    float *address = out.get();
    void *arguments[] = {&address};
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA_OK_OR_RETURN(cudaStreamCreate(&stream));
    test::capture capture;
    test::trace trace;
    REQUIRE(capture.begin(test::sizes(64, 16)) == 0);
    KERNEL_OR_RETURN(function, p, "sum<float, 2>"); /* before the graph is built: loading is not possible meanwhile */
    CUDA_OK_OR_RETURN(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK_EQUAL(launch_kernel(function, blocks, threads, arguments, (CUstream)stream), CUDA_SUCCESS);
    CUDA_OK_OR_RETURN(cudaStreamEndCapture(stream, &graph));
    CUDA_OK_OR_RETURN(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        CHECK_CUDA(cudaGraphLaunch(exec, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    REQUIRE(capture.end(trace) == 0);
    CHECK_EQUAL(trace.launches.size(), 3);
    CHECK_EQUAL(trace.waves.size(), 3 * waves);
    CHECK_CUDA(cudaGraphLaunch(exec, stream)); /* dormant */
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_CUDA(cudaStreamDestroy(stream));
}

/* ---- Names, options, errors ------------------------------------------------------------------------------------- */

TEST_CASE(kernels_of_one_module)
{
    program p(KTRACE_PROGRAM_TRACE_ALWAYS, "", source, {}, {"count", "sum<int, 2>"});
    KERNEL_OR_RETURN(count, p, "count");
    KERNEL_OR_RETURN(read, p, "read_count"); /* extern "C": in every module */
    KERNEL_OR_RETURN(sum, p, "sum<int, 2>");
    CHECK(sum != count);
    test::device_array<int> out(1);
    int *address = out.get(), value = 0;
    void *arguments[] = {&address};
    const test::trace trace = test::record(test::sizes(64, 16), [&] {
        for (int i = 0; i < 3; i++)
            CHECK_EQUAL(launch_kernel(count, 2, 64, nullptr), CUDA_SUCCESS);
    });
    REQUIRE(trace.valid());
    CHECK_EQUAL(trace.launches.size(), 3);
    CHECK_EQUAL(launch_kernel(read, 1, 1, arguments), CUDA_SUCCESS);
    CHECK_CUDA(cudaMemcpy(&value, address, sizeof(value), cudaMemcpyDeviceToHost));
    CHECK_EQUAL(value, 3 * 128);
    CHECK_EQUAL(p.info().compilations, 1);
    CHECK_EQUAL(p.info().modules, 1);
}

TEST_CASE(another_architecture_and_standard)
{
    int major = 0, minor = 0;
    CUDA_OK_OR_RETURN(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CUDA_OK_OR_RETURN(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    if (major != 9 || minor != 0)
        return test::skip_case("sm_90a is for compute capability 9.0");
    program p(KTRACE_PROGRAM_TRACE_ALWAYS, "", source, {"-arch=sm_90a", "--std=c++20", "-lineinfo"});
    KERNEL_OR_RETURN(function, p, "sum<float, 2>");
    const test::trace trace = test::record(test::sizes(64, 16), [&] { run_sum(function, 2); });
    REQUIRE(trace.valid());
    check_sum(trace, 2);
}

TEST_CASE(compile_errors)
{
    program good(KTRACE_PROGRAM_TRACE_NEVER);
    KERNEL_OR_RETURN(function, good, "sum<float, 1>");
    run_sum(function, 1);
    program bad(KTRACE_PROGRAM_TRACE_NEVER, "", "extern \"C\" __global__ void k(int *out) { *out = nothing; }");
    void *none = nullptr;
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(ktrace_program_kernel(&none, bad.handle, "k"), KTRACE_ERROR_COMPILE);
        CHECK(std::string(ktrace_last_error()).find("sum.cu(1): error: identifier \"nothing\" is undefined") !=
                  std::string::npos,
              "%s", ktrace_last_error());
    }
    CHECK(std::strstr(ktrace_program_log(bad.handle), "1 error detected"), "%s", ktrace_program_log(bad.handle));
    CHECK_EQUAL(bad.info().compilations, 1);
}

/* ---- Contexts, threads, cache ----------------------------------------------------------------------------------- */

TEST_CASE(two_devices)
{
    int devices = 0;
    CUDA_OK_OR_RETURN(cudaGetDeviceCount(&devices));
    if (devices < 2)
        return test::skip_case("one device only");
    program p(KTRACE_PROGRAM_TRACE_AUTO);
    void *functions[2];
    for (int device = 0; device < 2; device++) {
        CUDA_OK_OR_RETURN(cudaSetDevice(device));
        CUDA_OK_OR_RETURN(cudaFree(nullptr)); /* makes its context current */
        functions[device] = p.kernel("sum<float, 2>");
        if (!functions[device])
            return;
        run_sum(functions[device], 2);
    }
    CHECK(functions[0] != functions[1]);
    CHECK_EQUAL(p.info().modules, 2);
    CUDA_OK_OR_RETURN(cudaSetDevice(0));
    CHECK(p.kernel("sum<float, 2>") == functions[0]);
    run_sum(functions[0], 2);
}

TEST_CASE(threads_at_once)
{
    program p(KTRACE_PROGRAM_TRACE_AUTO);
    KERNEL_OR_RETURN(first, p, "sum<float, 1>");
    CHECK(first != nullptr);
    void *functions[4] = {};
    std::vector<std::thread> askers;
    for (void *&function : functions)
        askers.emplace_back([&] {
            if (cudaSetDevice(0) == cudaSuccess && cudaFree(nullptr) == cudaSuccess)
                ktrace_program_kernel(&function, p.handle, "sum<float, 7>");
        });
    for (std::thread &asker : askers)
        asker.join();
    REQUIRE(functions[0]);
    for (void *function : functions)
        CHECK(function == functions[0]);
    CHECK_EQUAL(p.info().compilations, 2);
    run_sum(functions[0], 7);
}

TEST_CASE(no_context)
{
    program p(KTRACE_PROGRAM_TRACE_AUTO);
    int status = 0;
    std::string sentence;
    std::thread([&] {
        void *function;
        status = ktrace_program_kernel(&function, p.handle, "sum<float, 1>");
        sentence = ktrace_last_error();
    }).join();
    CHECK_EQUAL(status, KTRACE_ERROR_NO_DEVICE);
    CHECK(sentence.find("this thread has none") != std::string::npos, "%s", sentence.c_str());
}

TEST_CASE(from_the_disk_cache)
{
    const std::string directory = scratch();
    REQUIRE(!directory.empty());
    for (int round = 0; round < 2; round++) {
        program p(KTRACE_PROGRAM_TRACE_AUTO, directory.c_str());
        KERNEL_OR_RETURN(outside, p, "sum<float, 3>");
        run_sum(outside, 3);
        test::capture capture;
        test::trace trace;
        REQUIRE(capture.begin(test::sizes(64, 16)) == 0);
        KERNEL_OR_RETURN(inside, p, "sum<float, 3>");
        run_sum(inside, 3);
        REQUIRE(capture.end(trace) == 0);
        check_sum(trace, 3);
        CHECK_EQUAL(p.info().compilations, round == 0 ? 2 : 0);
        CHECK_EQUAL(p.info().disk_writes, round == 0 ? 2 : 0);
        CHECK_EQUAL(p.info().disk_hits, round == 0 ? 0 : 2);
        CHECK(std::string(p.info().not_cached).empty(), "%s", p.info().not_cached);
    }
    CHECK_EQUAL(std::system(("rm -rf '" + directory + "'").c_str()), 0);
}

int main(int argc, char **argv)
{
    return test::run(argc, argv);
}
