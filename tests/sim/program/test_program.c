/* ktrace_program on the simulator and its hipRTC: from a source to a trace, in one process. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gemm.h"

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

int main(void)
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
    };
    if (open_hip() < 0)
        return 77;
    if (hip.allocate(&memory, 4096) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
