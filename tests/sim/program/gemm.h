/* gemm.h - the program of these tests, with what they do with it. In C, behind cmocka.h. */
#ifndef GEMM_H
#define GEMM_H

#include <string.h>

#include "host.h"

static const char source[] = "#include <ktrace/device.h>\n"
                             "#include \"scale.h\"\n"
                             "template <class T, int Steps>\n"
                             "__global__ void gemm(T *out)\n"
                             "{\n"
                             "    KTRACE_KERNEL(\"gemm\");\n"
                             "    T sum = 0;\n"
                             "    for (int i = 0; i < Steps; i++) {\n"
                             "        KTRACE_RANGE(\"step\", i);\n"
                             "        sum += scaled<T>(threadIdx.x);\n"
                             "    }\n"
                             "    KTRACE_MARK(\"sum\", sum);\n"
                             "    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;\n"
                             "}\n"
                             "namespace other { __global__ void twice(int *out) { KTRACE_KERNEL(\"twice\");\n"
                             "    out[threadIdx.x] *= 2; } }\n"
                             "__device__ int counter;\n"
                             "__global__ void count() { KTRACE_KERNEL(\"count\"); atomicAdd(&counter, 1); }\n"
                             "extern \"C\" __global__ void read_count(int *out) { out[0] = counter; }\n";
static const struct ktrace_program_header headers[] = {
    {"scale.h", "#include <detail/factor.h>\n"
                "template <class T> __device__ T scaled(int x) { return (T)(x * FACTOR); }\n"},
    {"detail/factor.h", "#define FACTOR 3\n"}};

static void *memory; /* on the device */

static inline struct ktrace_program_options options_for(int trace)
{
    struct ktrace_program_options options = KTRACE_PROGRAM_OPTIONS_INIT;
    options.name = "gemm.hip";
    options.headers = headers;
    options.header_count = 2;
    options.trace = trace;
    options.cache_directory = "";
    return options;
}

static inline struct ktrace_program *create(const char *text, const struct ktrace_program_options *options)
{
    struct ktrace_program *program;
    must(ktrace_program_create(&program, text, options));
    return program;
}

static inline struct ktrace_program *create_for(int trace)
{
    const struct ktrace_program_options options = options_for(trace);
    return create(source, &options);
}

static inline struct ktrace_capture *begin(void)
{
    struct ktrace_capture *capture;
    must(ktrace_capture_begin(&capture, NULL));
    return capture;
}

static inline struct ktrace_trace *end(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace;
    must(ktrace_capture_end(&trace, capture));
    return trace;
}

static inline uint64_t end_and_count(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace = end(capture);
    const uint64_t events = trace_info(trace).events;
    ktrace_trace_destroy(trace);
    return events;
}

/* gemm of `steps`: two groups of two waves, each with 2 * steps + 1 events where it is traced. */
static inline void run_gemm(void *function, int steps)
{
    float out[256];
    launch(function, 2, 128, (void *[]){&memory});
    assert_int_equal(hip.copy(out, memory, sizeof out, 2), 0);
    for (int i = 0; i < 256; i++)
        assert_true(out[i] == (float)(i % 128 * 3 * steps));
}

static inline void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

#endif
