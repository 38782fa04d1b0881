/* ktrace_program on the simulator and its hipRTC: from a source to a trace. A test that needs an environment or a process of its
 * own runs this program again, with the name of a part below. */
#include <pthread.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host.h"
#include "scratch.h"

extern char **environ;

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

static struct ktrace_program_options options_for(int trace)
{
    struct ktrace_program_options options = KTRACE_PROGRAM_OPTIONS_INIT;
    options.name = "gemm.hip";
    options.headers = headers;
    options.header_count = 2;
    options.trace = trace;
    options.cache_directory = "";
    return options;
}

static struct ktrace_program *create(const char *text, const struct ktrace_program_options *options)
{
    struct ktrace_program *program;
    must(ktrace_program_create(&program, text, options));
    return program;
}

static struct ktrace_program *create_for(int trace)
{
    const struct ktrace_program_options options = options_for(trace);
    return create(source, &options);
}

static struct ktrace_capture *begin(void)
{
    struct ktrace_capture *capture;
    must(ktrace_capture_begin(&capture, NULL));
    return capture;
}

static struct ktrace_trace *end(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace;
    must(ktrace_capture_end(&trace, capture));
    return trace;
}

static uint64_t end_and_count(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace = end(capture);
    const uint64_t events = trace_info(trace).events;
    ktrace_trace_destroy(trace);
    return events;
}

/* gemm of `steps`: two groups of two waves, each with 2 * steps + 1 events where it is traced. */
static void run_gemm(void *function, int steps)
{
    float out[256];
    launch(function, 2, 128, (void *[]){&memory});
    assert_int_equal(hip.copy(out, memory, sizeof out, 2), 0);
    for (int i = 0; i < 256; i++)
        assert_true(out[i] == (float)(i % 128 * 3 * steps));
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* ---- Specializations --------------------------------------------------------------------------------------------- */

static void test_traced_inside_untraced_outside(void **state)
{
    (void)state;
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_AUTO);
    void *outside = kernel_of(program, "gemm<float, 4>");
    run_gemm(outside, 4);
    for (int i = 0; i < 2; i++) {
        struct ktrace_capture *capture = begin();
        void *inside = kernel_of(program, "gemm<float, 4>");
        assert_ptr_not_equal(inside, outside);
        run_gemm(inside, 4);
        run_gemm(outside, 4); /* records nothing */
        assert_int_equal(end_and_count(capture), 4 * 9);
        run_gemm(inside, 4); /* dormant */
        assert_ptr_equal(kernel_of(program, "gemm<float, 4>"), outside);
    }
    const struct ktrace_program_info info = program_info(program);
    assert_int_equal(info.compilations, 2); /* one each, whatever was asked for how often */
    assert_int_equal(info.modules, 2);
    ktrace_program_destroy(program);
}

static void test_always_and_never(void **state)
{
    (void)state;
    struct ktrace_program *always = create_for(KTRACE_PROGRAM_TRACE_ALWAYS),
                          *never = create_for(KTRACE_PROGRAM_TRACE_NEVER);
    void *traced = kernel_of(always, "gemm<float, 2>"), *untraced = kernel_of(never, "gemm<float, 2>");
    run_gemm(traced, 2);
    struct ktrace_capture *capture = begin();
    run_gemm(traced, 2);
    assert_ptr_equal(kernel_of(always, "gemm<float, 2>"), traced);
    assert_ptr_equal(kernel_of(never, "gemm<float, 2>"), untraced);
    run_gemm(untraced, 2);
    assert_int_equal(end_and_count(capture), 4 * 5);
    assert_int_equal(program_info(always).compilations, 1);
    assert_int_equal(program_info(never).compilations, 1);
    ktrace_program_destroy(always);
    ktrace_program_destroy(never);
}

static void test_obtained_before_the_capture(void **state)
{
    (void)state;
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_AUTO);
    void *outside = kernel_of(program, "gemm<float, 1>");
    struct ktrace_capture *capture = begin();
    run_gemm(outside, 1);
    struct ktrace_trace *trace = end(capture);
    assert_int_equal(trace_info(trace).events, 0);
    assert_has(ktrace_trace_warning(trace),
               "kernel \"gemm<float, 1>\" was obtained before the capture and stays untraced: "
               "ask ktrace_program_kernel again inside it");
    ktrace_trace_destroy(trace);
    capture = begin();
    run_gemm(kernel_of(program, "gemm<float, 1>"), 1);
    trace = end(capture);
    assert_int_equal(trace_info(trace).events, 4 * 3);
    assert_string_equal(ktrace_trace_warning(trace), "");
    ktrace_trace_destroy(trace);
    ktrace_program_destroy(program);
}

/* Its descriptors are read before it goes. */
static void test_destroyed_inside_the_capture(void **state)
{
    (void)state;
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_AUTO), *second;
    struct ktrace_capture *capture = begin();
    run_gemm(kernel_of(program, "gemm<float, 3>"), 3);
    ktrace_program_destroy(program);
    second = create_for(KTRACE_PROGRAM_TRACE_AUTO);
    run_gemm(kernel_of(second, "gemm<float, 1>"), 1);
    struct ktrace_trace *trace = end(capture);
    ktrace_program_destroy(second);
    const struct ktrace_trace_info info = trace_info(trace);
    assert_int_equal(info.events, 4 * 7 + 4 * 3);
    assert_int_equal(info.slots_corrupt, 0);
    struct ktrace_event_info event = {.struct_size = sizeof event};
    must(ktrace_trace_event(&event, trace, 0, 0));
    assert_string_equal(event.name, "step");
    assert_string_equal(event.file, "gemm.hip");
    assert_int_equal(event.line, 9);
    ktrace_trace_destroy(trace);
}

/* A traced kernel that was obtained before records with each replay of a graph; obtaining it is not possible meanwhile. */
static void test_in_a_graph(void **state)
{
    (void)state;
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_AUTO);
    void *stream, *graph, *exec, *other;
    struct ktrace_capture *capture = begin();
    void *inside = kernel_of(program, "gemm<float, 2>");
    assert_int_equal(hip.stream_create(&stream), 0);
    assert_int_equal(hip.begin_stream_capture(stream, 0), 0);
    assert_int_equal(ktrace_program_kernel(&other, program, "gemm<float, 1>"), KTRACE_ERROR_STATE);
    assert_string_equal(ktrace_last_error(),
                        "a program cannot be loaded while a stream is being captured into a HIP graph: ask "
                        "ktrace_program_kernel for its kernels before");
    hip.end_stream_capture(stream, &graph); /* which is invalid now */
    assert_int_equal(hip.begin_stream_capture(stream, 0), 0);
    assert_ptr_equal(kernel_of(program, "gemm<float, 2>"), inside); /* there already */
    assert_int_equal(hip.launch(inside, 2, 1, 1, 128, 1, 1, 0, stream, (void *[]){&memory}, NULL), 0);
    assert_int_equal(hip.end_stream_capture(stream, &graph), 0);
    assert_int_equal(hip.instantiate(&exec, graph, 0), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(hip.launch_graph(exec, stream), 0);
    assert_int_equal(hip.synchronize(), 0);
    assert_int_equal(end_and_count(capture), 3 * 4 * 5);
    run_gemm(kernel_of(program, "gemm<float, 1>"), 1); /* compiled then, loaded now */
    ktrace_program_destroy(program);
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static void test_names(void **state)
{
    (void)state;
    static const char *const kernels[] = {"count", "other::twice", "read_count"};
    struct ktrace_program_options options = options_for(KTRACE_PROGRAM_TRACE_AUTO);
    options.kernels = kernels;
    options.kernel_count = 3;
    struct ktrace_program *program = create(source, &options);
    int value = 21;
    assert_int_equal(hip.copy(memory, &value, sizeof value, 1), 0);
    launch(kernel_of(program, "other::twice"), 1, 1, (void *[]){&memory});
    assert_int_equal(hip.copy(&value, memory, sizeof value, 2), 0);
    assert_int_equal(value, 42);
    for (int i = 0; i < 3; i++) /* three kernels of one module share its variable */
        launch(kernel_of(program, "count"), 1, 64, (void *[]){NULL});
    launch(kernel_of(program, "read_count"), 1, 1, (void *[]){&memory});
    assert_int_equal(hip.copy(&value, memory, sizeof value, 2), 0);
    assert_int_equal(value, 3 * 64);
    assert_int_equal(program_info(program).compilations, 1);
    void *ints = kernel_of(program, "gemm<int, 2>"), *floats = kernel_of(program, "gemm<float,2>");
    assert_ptr_not_equal(ints, floats);
    run_gemm(floats, 2);
    assert_int_equal(program_info(program).compilations, 3);
    ktrace_program_destroy(program);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static void test_compile_errors(void **state)
{
    (void)state;
    static const char wrong[] = "#include <ktrace/device.h>\n"
                                "extern \"C\" __global__ void k(float *out)\n"
                                "{\n"
                                "    KTRACE_KERNEL(\"k\");\n"
                                "    out[0] = undeclared;\n"
                                "}\n";
    void *function;
    const struct ktrace_program_options options = options_for(KTRACE_PROGRAM_TRACE_ALWAYS);
    struct ktrace_program *program = create(wrong, &options);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ktrace_program_kernel(&function, program, "k"), KTRACE_ERROR_COMPILE);
        assert_string_equal(ktrace_last_error(),
                            "gemm.hip does not compile: gemm.hip:5:14: error: use of undeclared identifier "
                            "'undeclared' (hipRTC; ktrace_program_log has all)");
    }
    assert_has(ktrace_program_log(program), "5 |     out[0] = undeclared;");
    assert_int_equal(program_info(program).compilations, 1);
    ktrace_program_destroy(program);

    program = create_for(KTRACE_PROGRAM_TRACE_ALWAYS);
    assert_int_equal(ktrace_program_kernel(&function, program, "nosuch"), KTRACE_ERROR_COMPILE);
    assert_has(ktrace_last_error(), "use of undeclared identifier 'nosuch'");
    run_gemm(kernel_of(program, "gemm<float, 2>"), 2); /* nothing is wrong with the program */
    ktrace_program_destroy(program);
}

/* What the device headers refuse is said in their words, with the program's file and line. */
static void test_annotations_that_are_refused(void **state)
{
    (void)state;
    static const char wrong[] =
        "#include <ktrace/device.h>\n"
        "struct big { int x[4]; };\n"
        "extern \"C\" __global__ void k() { KTRACE_KERNEL(\"k\"); KTRACE_MARK(\"m\", big{}); }\n";
    void *function;
    struct ktrace_program_options options = options_for(KTRACE_PROGRAM_TRACE_ALWAYS);
    struct ktrace_program *program = create(wrong, &options);
    assert_int_equal(ktrace_program_kernel(&function, program, "k"), KTRACE_ERROR_COMPILE);
    assert_has(ktrace_program_log(program), "gemm.hip:3:");
    assert_has(ktrace_program_log(program), "ktrace: ");
    ktrace_program_destroy(program);
    options.trace = KTRACE_PROGRAM_TRACE_NEVER; /* which has no annotations */
    program = create(wrong, &options);
    kernel_of(program, "k");
    ktrace_program_destroy(program);
}

static void test_no_annotations(void **state)
{
    (void)state;
    struct ktrace_program_options options = options_for(KTRACE_PROGRAM_TRACE_ALWAYS);
    struct ktrace_program *program = create("extern \"C\" __global__ void k(int *out) { *out = 7; }", &options);
    int value = 0;
    launch(kernel_of(program, "k"), 1, 1, (void *[]){&memory});
    assert_int_equal(hip.copy(&value, memory, sizeof value, 2), 0);
    assert_int_equal(value, 7);
    ktrace_program_destroy(program);
}

static void test_warnings_are_in_the_log(void **state)
{
    (void)state;
    static const char *const warn[] = {"-Wunused-variable"};
    struct ktrace_program_options options = options_for(KTRACE_PROGRAM_TRACE_NEVER);
    options.compiler_options = warn;
    options.compiler_option_count = 1;
    struct ktrace_program *program = create("extern \"C\" __global__ void k() { int unused; }", &options);
    kernel_of(program, "k");
    assert_has(ktrace_program_log(program), "gemm.hip:1:38: warning: unused variable 'unused'");
    ktrace_program_destroy(program);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

struct asker {
    pthread_t thread;
    struct ktrace_program *program;
    void *function;
};

static void *ask(void *argument)
{
    struct asker *asker = argument;
    if (ktrace_program_kernel(&asker->function, asker->program, "gemm<float, 5>") < 0)
        asker->function = NULL;
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_AUTO);
    struct asker askers[4] = {{0}};
    for (int i = 0; i < 4; i++) {
        askers[i].program = program;
        pthread_create(&askers[i].thread, NULL, ask, &askers[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(askers[i].thread, NULL);
    assert_non_null(askers[0].function);
    for (int i = 1; i < 4; i++)
        assert_ptr_equal(askers[i].function, askers[0].function);
    assert_int_equal(program_info(program).compilations, 1);
    run_gemm(askers[0].function, 5);
    ktrace_program_destroy(program);
}

/* ---- Processes of their own -------------------------------------------------------------------------------------- */

/* What an include directory has can change: such programs are not kept. */
static int part_include_directory(const char *directory)
{
    char path[600];
    struct ktrace_program_options options = options_for(KTRACE_PROGRAM_TRACE_NEVER);
    options.cache_directory = directory;
    options.headers = NULL;
    options.header_count = 0;
    options.include_directories = &directory;
    options.include_directory_count = 1;
    for (int factor = 1; factor < 3; factor++) {
        snprintf(path, sizeof path, "%s/factor.h", directory);
        FILE *file = fopen(path, "w");
        fprintf(file, "#define FACTOR %d\n", factor);
        fclose(file);
        struct ktrace_program *program =
            create("#include \"factor.h\"\nextern \"C\" __global__ void k(int *out) { *out = FACTOR; }", &options);
        int value = 0;
        launch(kernel_of(program, "k"), 1, 1, (void *[]){&memory});
        assert_int_equal(hip.copy(&value, memory, sizeof value, 2), 0);
        assert_int_equal(value, factor);
        assert_has(program_info(program).not_cached, "may read files");
        ktrace_program_destroy(program);
    }
    return 0;
}

/* Prints how many were compiled and how many found. */
static int part_use(void)
{
    struct ktrace_program_options options = options_for(KTRACE_PROGRAM_TRACE_AUTO);
    options.cache_directory = NULL; /* the environment's */
    struct ktrace_program *program = create(source, &options);
    run_gemm(kernel_of(program, "gemm<float, 4>"), 4);
    struct ktrace_capture *capture = begin();
    run_gemm(kernel_of(program, "gemm<float, 4>"), 4);
    assert_int_equal(end_and_count(capture), 4 * 9);
    const struct ktrace_program_info info = program_info(program);
    printf("%d compiled, %d found\n", (int)info.compilations, (int)info.disk_hits);
    ktrace_program_destroy(program);
    return 0;
}

/* KTRACE_ENABLE=1 in the environment traces outside of captures, too; what is explicit wins. */
static int part_enabled(void)
{
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_AUTO),
                          *never = create_for(KTRACE_PROGRAM_TRACE_NEVER);
    struct ktrace_trace *trace;
    run_gemm(kernel_of(program, "gemm<float, 4>"), 4);
    run_gemm(kernel_of(never, "gemm<float, 4>"), 4);
    must(ktrace_collect_trace(&trace));
    printf("%d events\n", (int)trace_info(trace).events);
    ktrace_trace_destroy(trace);
    ktrace_program_destroy(program);
    ktrace_program_destroy(never);
    return 0;
}

static int part_no_compiler(void)
{
    void *function;
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_AUTO);
    const int status = ktrace_program_kernel(&function, program, "gemm<float, 4>");
    printf("%s: %s\n", ktrace_status_name(status), ktrace_last_error());
    ktrace_program_destroy(program);
    return 0;
}

/* One compilation for two devices of one kind, and a module on each. They go with the program, wherever the thread is then. */
static int part_two_devices(void)
{
    void *functions[2], *first = memory;
    for (int destroyed_inside = 0; destroyed_inside < 2; destroyed_inside++) {
        struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_AUTO);
        struct ktrace_capture *capture = begin();
        for (int device = 0; device < 2; device++) {
            assert_int_equal(hip.set_device(device), 0);
            assert_int_equal(hip.allocate(&memory, 4096), 0);
            functions[device] = kernel_of(program, "gemm<float, 4>");
            run_gemm(functions[device], 4);
            assert_int_equal(hip.release(memory), 0);
        }
        assert_ptr_not_equal(functions[0], functions[1]);
        const struct ktrace_program_info info = program_info(program);
        if (destroyed_inside)
            ktrace_program_destroy(program);
        printf("%d events; %d compiled, %d modules\n", (int)end_and_count(capture), (int)info.compilations,
               (int)info.modules);
        if (!destroyed_inside)
            ktrace_program_destroy(program);
    }
    memory = first;
    return 0;
}

/* Runs a part of this program, and gives back what it printed. */
static void run_part(char *output, size_t bytes, const char *part, const char *argument, const char *const *variables)
{
    char *child_environment[256];
    char self[512] = "", *arguments[] = {self, (char *)part, (char *)argument, NULL};
    int count = 0, pipe_ends[2], result;
    pid_t child;
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    for (; variables && *variables; variables++)
        child_environment[count++] = (char *)*variables;
    for (char **variable = environ; *variable && count < 255; variable++)
        child_environment[count++] = *variable; /* getenv finds the first of a name */
    child_environment[count] = NULL;
    assert_int_equal(pipe(pipe_ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    assert_int_equal(posix_spawn(&child, self, &actions, NULL, arguments, child_environment), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    size_t length = 0;
    for (ssize_t part_bytes; (part_bytes = read(pipe_ends[0], output + length, bytes - 1 - length)) > 0;)
        length += (size_t)part_bytes;
    output[length] = 0;
    close(pipe_ends[0]);
    assert_int_equal(waitpid(child, &result, 0), child);
    if (result != 0)
        fail_msg("%s failed: %s", part, output);
}

static void test_second_process_compiles_nothing(void **state)
{
    (void)state;
    char directory[512], setting[600], output[4096], command[600];
    if (strcmp(getenv("KTRACE_SIM_CHIP"), "gfx950") == 0)
        skip(); /* gfx942's test has both */
    assert_int_equal(make_scratch(directory, sizeof directory), 0);
    snprintf(setting, sizeof setting, "KTRACE_CACHE_DIR=%s/cache", directory);
    run_part(output, sizeof output, "use", NULL, (const char *[]){setting, NULL});
    assert_string_equal(output, "2 compiled, 0 found\n");
    run_part(output, sizeof output, "use", NULL, (const char *[]){setting, NULL});
    assert_string_equal(output, "0 compiled, 2 found\n");
    run_part(output, sizeof output, "use", NULL, (const char *[]){setting, "KTRACE_CACHE=0", NULL});
    assert_string_equal(output, "2 compiled, 0 found\n");
    const char *other =
        strcmp(getenv("KTRACE_SIM_CHIP"), "gfx942") == 0 ? "KTRACE_SIM_CHIP=gfx950" : "KTRACE_SIM_CHIP=gfx942";
    run_part(output, sizeof output, "use", NULL, (const char *[]){setting, other, NULL});
    assert_string_equal(output, "2 compiled, 0 found\n");
    snprintf(command, sizeof command, "for f in '%s'/cache/*; do echo x >> \"$f\"; done", directory);
    assert_int_equal(system(command), 0);
    run_part(output, sizeof output, "use", NULL, (const char *[]){setting, NULL}); /* damaged */
    assert_string_equal(output, "2 compiled, 0 found\n");
    run_part(output, sizeof output, "use", NULL, (const char *[]){setting, NULL}); /* written anew */
    assert_string_equal(output, "0 compiled, 2 found\n");
    run_part(output, sizeof output, "include_directory", directory, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    assert_int_equal(system(command), 0);
}

static void test_enabled_for_the_process(void **state)
{
    (void)state;
    char output[4096];
    run_part(output, sizeof output, "enabled", NULL, (const char *[]){"KTRACE_ENABLE=1", NULL});
    assert_string_equal(output, "36 events\n");
}

static void test_no_compiler(void **state)
{
    (void)state;
    char output[4096];
    run_part(output, sizeof output, "no_compiler", NULL,
             (const char *[]){"PATH=/nonexistent", "KTRACE_SIM_CLANG=", NULL});
    if (access("/opt/rocm/llvm/bin/clang", X_OK) != 0)
        assert_string_equal(
            output, "unsupported: hipRTC cannot compile here: error: the simulator compiles with clang-22, which "
                    "is not in PATH: install clang-22 and lld-22, or set KTRACE_SIM_CLANG to a clang that "
                    "knows gfx942\n");
    run_part(output, sizeof output, "no_compiler", NULL, (const char *[]){"KTRACE_SIM_CLANG=/nonexistent/clang", NULL});
    assert_string_equal(output,
                        "unsupported: hipRTC cannot compile here: error: KTRACE_SIM_CLANG names no program that can be "
                        "run: /nonexistent/clang\n");
}

static void test_two_devices(void **state)
{
    (void)state;
    char output[4096];
    run_part(output, sizeof output, "two_devices", NULL, (const char *[]){"KTRACE_SIM_DEVICES=2", NULL});
    assert_string_equal(output, "72 events; 1 compiled, 2 modules\n72 events; 1 compiled, 2 modules\n");
}

int main(int argument_count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traced_inside_untraced_outside),
        cmocka_unit_test(test_always_and_never),
        cmocka_unit_test(test_obtained_before_the_capture),
        cmocka_unit_test(test_destroyed_inside_the_capture),
        cmocka_unit_test(test_in_a_graph),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_compile_errors),
        cmocka_unit_test(test_annotations_that_are_refused),
        cmocka_unit_test(test_no_annotations),
        cmocka_unit_test(test_warnings_are_in_the_log),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_second_process_compiles_nothing),
        cmocka_unit_test(test_enabled_for_the_process),
        cmocka_unit_test(test_no_compiler),
        cmocka_unit_test(test_two_devices),
    };
    const char *part = argument_count > 1 ? arguments[1] : "";
    const int can_compile = open_hip() == 0;
    if (hip.allocate(&memory, 4096) != 0)
        return 1;
    if (strcmp(part, "no_compiler") == 0)
        return part_no_compiler();
    if (!can_compile)
        return 77;
    if (strcmp(part, "use") == 0)
        return part_use();
    if (strcmp(part, "enabled") == 0)
        return part_enabled();
    if (strcmp(part, "two_devices") == 0)
        return part_two_devices();
    if (strcmp(part, "include_directory") == 0)
        return part_include_directory(arguments[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
