/* Programs on a fake compiler and device: which specialization is handed out, and how often anything is done for it. The disk
 * cache has tests of its own, and is off here. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_program.h"
#include "ktrace/ktrace.h"
#include "program/program.h"
#include "program_explain.h"

static const char source[] = "extern \"C\" void plain() and extern \"C\" void second()";

static int set_up(void **state)
{
    (void)state;
    fake_program_reset();
    return 0;
}

static struct ktrace_program_options options_for(int trace)
{
    struct ktrace_program_options options = KTRACE_PROGRAM_OPTIONS_INIT;
    options.trace = trace;
    options.cache_directory = "";
    return options;
}

static struct ktrace_program *create(const struct ktrace_program_options *options)
{
    struct ktrace_program *program;
    if (kt_program_create_for(&program, source, options, &fake_target) < 0)
        fail_msg("%s", ktrace_last_error());
    return program;
}

static struct ktrace_program *create_for(int trace)
{
    const struct ktrace_program_options options = options_for(trace);
    return create(&options);
}

static void *kernel_of(struct ktrace_program *program, const char *kernel)
{
    void *function = NULL;
    if (ktrace_program_kernel(&function, program, kernel) < 0)
        fail_msg("%s: %s", kernel, ktrace_last_error());
    return function;
}

static struct ktrace_program_info info_of(struct ktrace_program *program)
{
    struct ktrace_program_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_program_get_info(&info, program), 0);
    return info;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void assert_has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" is in \"%s\"", part, text);
}

/* ---- How often --------------------------------------------------------------------------------------------------- */

static void test_is_compiled_loaded_and_attached_once(void **state)
{
    (void)state;
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_ALWAYS);
    assert_int_equal(fake.compilations, 0); /* not before it is asked for */
    void *function = kernel_of(program, "gemm<float>");
    assert_ptr_equal(kernel_of(program, "gemm<float>"), function);
    assert_int_equal(fake.compilations, 1);
    assert_int_equal(fake.loads, 1);
    assert_int_equal(fake.attaches, 1);
    assert_int_equal(fake.programs, 0);
    assert_has(fake_image_of(function), "kernel _Zgemm<float>;");
    assert_has(fake_image_of(function),
               "option --gpu-architecture=sm_90\noption --std=c++17\noption -DKTRACE_ENABLE=1\n");
    assert_has(fake_image_of(function), "header ktrace/device.h");
    assert_int_equal(info_of(program).compilations, 1);
    assert_int_equal(info_of(program).modules, 1);
    ktrace_program_destroy(program);
    assert_int_equal(fake.detaches, 1);
    assert_int_equal(fake.unloads, 1);
}

static void test_untraced_is_not_attached(void **state)
{
    (void)state;
    for (int trace = KTRACE_PROGRAM_TRACE_AUTO; trace <= KTRACE_PROGRAM_TRACE_NEVER; trace += 2) {
        fake_program_reset();
        struct ktrace_program *program = create_for(trace); /* and no capture is open */
        assert_has(fake_image_of(kernel_of(program, "plain")), "option -DKTRACE_ENABLE=0\n");
        assert_int_equal(fake.attaches, 0);
        ktrace_program_destroy(program);
        assert_int_equal(fake.detaches, 0);
        assert_int_equal(fake.unloads, 1);
    }
}

static void test_contexts_share_compilations(void **state)
{
    (void)state;
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_ALWAYS);
    void *first = kernel_of(program, "plain");
    fake_program_go(2, "sm_90");
    void *second = kernel_of(program, "plain");
    assert_ptr_not_equal(first, second);
    assert_int_equal(fake.compilations, 1);
    assert_int_equal(fake.loads, 2);
    assert_int_equal(fake.attaches, 2);
    fake_program_go(3, "sm_75");
    void *other = kernel_of(program, "plain");
    assert_has(fake_image_of(other), "option --gpu-architecture=sm_75\n");
    assert_int_equal(fake.compilations, 2);
    fake_program_go(1, "sm_90");
    assert_ptr_equal(kernel_of(program, "plain"), first);
    assert_int_equal(info_of(program).modules, 3);
    ktrace_program_destroy(program);
    assert_int_equal(fake.detaches, 3);
    assert_int_equal(fake.unloads, 3);
}

struct asker {
    pthread_t thread;
    struct ktrace_program *program;
    const char *kernel;
    void *function;
};

static void *ask(void *argument)
{
    struct asker *asker = argument;
    fake_program_go(1, "sm_90");
    if (ktrace_program_kernel(&asker->function, asker->program, asker->kernel) < 0)
        asker->function = NULL;
    return NULL;
}

/* Both for one kernel, and for two of which the second is extern "C" and so in the first one's module. */
static void test_threads_compile_once(void **state)
{
    (void)state;
    static const char *const kernels[2][2] = {{"gemm<int>", "gemm<int>"}, {"gemm<int>", "plain"}};
    for (int i = 0; i < 2; i++) {
        fake_program_reset();
        fake.holds = 1;
        struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_ALWAYS);
        struct asker askers[8] = {{0}};
        for (int j = 0; j < 8; j++) {
            askers[j] = (struct asker){.program = program, .kernel = kernels[i][j > 0]};
            pthread_create(&askers[j].thread, NULL, ask, &askers[j]);
            if (j == 0)
                sem_wait(&fake.entered);
        }
        usleep(20000); /* the others are there, most likely; right code passes in any case */
        for (int j = 0; j < 8; j++)
            sem_post(&fake.release);
        for (int j = 0; j < 8; j++) {
            pthread_join(askers[j].thread, NULL);
            assert_non_null(askers[j].function);
        }
        assert_ptr_equal(fake_image_of(askers[7].function), fake_image_of(askers[0].function));
        assert_int_equal(fake.compilations, 1);
        assert_int_equal(fake.loads, 1);
        ktrace_program_destroy(program);
    }
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static void test_names(void **state)
{
    (void)state;
    static const char *const listed[] = {"a<1>", "b"};
    struct ktrace_program_options options = options_for(KTRACE_PROGRAM_TRACE_ALWAYS);
    options.kernels = listed;
    options.kernel_count = 2;
    struct ktrace_program *program = create(&options);
    void *a = kernel_of(program, "a<1>"), *b = kernel_of(program, "b");
    assert_ptr_equal(fake_image_of(a), fake_image_of(b)); /* one module: they share variables */
    assert_int_equal(fake.compilations, 1);
    assert_ptr_equal(fake_image_of(kernel_of(program, "plain")), fake_image_of(a)); /* extern "C" is in it */
    assert_ptr_equal(fake_image_of(kernel_of(program, "second")), fake_image_of(a));
    assert_int_equal(fake.compilations, 1);
    void *c = kernel_of(program, "c<2>"); /* a template that nothing has instantiated */
    assert_int_equal(fake.compilations, 2);
    assert_ptr_not_equal(fake_image_of(c), fake_image_of(a));
    assert_has(fake_image_of(c), "kernel _Zc<2>;");
    ktrace_program_destroy(program);
}

static void test_first_kernel_may_be_any(void **state)
{
    (void)state;
    static const char *const listed[] = {"a<1>"};
    struct ktrace_program_options options = options_for(KTRACE_PROGRAM_TRACE_ALWAYS);
    options.kernels = listed;
    options.kernel_count = 1;
    struct ktrace_program *program = create(&options);
    void *other = kernel_of(program, "x<3>");
    assert_ptr_equal(fake_image_of(kernel_of(program, "a<1>")), fake_image_of(other));
    assert_int_equal(fake.compilations, 1);
    ktrace_program_destroy(program);
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

static int try_kernel(struct ktrace_program *program, const char *kernel)
{
    void *function = &function;
    const int status = ktrace_program_kernel(&function, program, kernel);
    if (status < 0)
        assert_ptr_equal(function, &function); /* as it was */
    return status;
}

static void test_refusals_are_remembered(void **state)
{
    (void)state;
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_ALWAYS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(try_kernel(program, "nosuch"), KTRACE_ERROR_COMPILE);
        assert_string_equal(ktrace_last_error(),
                            "program.cu does not compile: program.cu(3): error: no such thing (FakeRTC; "
                            "ktrace_program_log has all)");
    }
    assert_int_equal(fake.compilations, 1);
    assert_string_equal(ktrace_program_log(program),
                        "while compiling\nprogram.cu(3): error: no such thing\n  thing\n2 errors\n");
    kernel_of(program, "gemm<float>"); /* another is another */
    assert_int_equal(fake.compilations, 2);
    assert_string_equal(ktrace_program_log(program), "");
    assert_int_equal(info_of(program).compilations, 2);
    ktrace_program_destroy(program);
}

static void test_other_failures_may_pass(void **state)
{
    (void)state;
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_ALWAYS);
    fake.open_status = KTRACE_ERROR_UNSUPPORTED;
    assert_int_equal(try_kernel(program, "plain"), KTRACE_ERROR_UNSUPPORTED);
    assert_string_equal(ktrace_last_error(), "there is no FakeRTC");
    fake.open_status = 0;
    fake.result = KT_RTC_ERROR_BUILTIN_OPERATION_FAILURE;
    assert_int_equal(try_kernel(program, "plain"), KTRACE_ERROR_UNSUPPORTED);
    fake.result = KT_RTC_ERROR_OUT_OF_MEMORY;
    assert_int_equal(try_kernel(program, "plain"), KTRACE_ERROR_MEMORY);
    fake.result = 0;
    fake.attach_status = KTRACE_ERROR_VERSION;
    assert_int_equal(try_kernel(program, "plain"), KTRACE_ERROR_VERSION);
    assert_string_equal(ktrace_last_error(), "cannot be attached");
    assert_int_equal(fake.unloads, fake.loads);
    fake.attach_status = 0;
    kernel_of(program, "plain");
    ktrace_program_destroy(program);
    assert_int_equal(fake.unloads, fake.loads);
    assert_int_equal(fake.programs, 0);
}

/* A program needs no annotations. */
static void test_nothing_to_attach(void **state)
{
    (void)state;
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_ALWAYS);
    fake.attach_status = KTRACE_ERROR_NOT_FOUND;
    kernel_of(program, "plain");
    ktrace_program_destroy(program);
    assert_int_equal(fake.attaches, 1);
    assert_int_equal(fake.detaches, 0);
    assert_int_equal(fake.unloads, 1);
}

/* ---- Options ----------------------------------------------------------------------------------------------------- */

static void test_options_in_order(void **state)
{
    (void)state;
    static const char *const given[] = {"-DA=1", "-arch=sm_90a", "--std=c++20", "-UA"};
    static const char *const folders[] = {"one", "/two"};
    static const struct ktrace_program_header header = {"tile.h", "12345"};
    struct ktrace_program_options options = options_for(KTRACE_PROGRAM_TRACE_NEVER);
    options.name = "gemm.cu";
    options.compiler_options = given;
    options.compiler_option_count = 4;
    options.include_directories = folders;
    options.include_directory_count = 2;
    options.headers = &header;
    options.header_count = 1;
    struct ktrace_program *program = create(&options);
    const char *image = fake_image_of(kernel_of(program, "plain"));
    assert_has(image, "name gemm.cu\n");
    assert_has(image, "header tile.h of 5 bytes\n");
    assert_has(image,
               "option -DKTRACE_ENABLE=0\noption -Ione\noption -I/two\noption -DA=1\noption -arch=sm_90a\noption "
               "--std=c++20\noption -UA\n");
    assert_has_not(image, "--gpu-architecture");
    assert_has_not(image, "c++17");
    ktrace_program_destroy(program);
}

static void refuse(const struct ktrace_program_options *options, int status, const char *sentence)
{
    struct ktrace_program *program = NULL;
    assert_int_equal(ktrace_program_create(&program, source, options), status);
    assert_null(program);
    assert_string_equal(ktrace_last_error(), sentence);
}

static void test_impossible_options(void **state)
{
    (void)state;
    static const char *const enable[] = {"-O2", "-DKTRACE_ENABLE=1"}, *const empty[] = {""}, *const null[] = {NULL};
    static const struct ktrace_program_header own = {"ktrace/device.h", ""}, nameless = {NULL, ""},
                                              textless = {"a.h", NULL};
    static const struct ktrace_program_header twice[] = {{"a.h", "1"}, {"a.h", "2"}};
    const struct ktrace_program_options good = options_for(0);
    struct ktrace_program_options options = good;
    options.struct_size = 3;
    refuse(&options, KTRACE_ERROR_ARGUMENT,
           "ktrace_program_options.struct_size is 3: start from KTRACE_PROGRAM_OPTIONS_INIT");
    options = good;
    options.trace = 3;
    refuse(&options, KTRACE_ERROR_ARGUMENT,
           "ktrace_program_options.trace is 3: there are KTRACE_PROGRAM_TRACE_AUTO (0), _ALWAYS (1) and _NEVER (2)");
    options = good;
    options.backend = "metal";
    refuse(&options, KTRACE_ERROR_ARGUMENT,
           "ktrace_program_options.backend is \"metal\": there are \"cuda\" and \"hip\"");
    options = good;
    options.compiler_options = enable;
    options.compiler_option_count = 2;
    refuse(&options, KTRACE_ERROR_ARGUMENT,
           "the compiler option \"-DKTRACE_ENABLE=1\" sets KTRACE_ENABLE, which each specialization of a program sets "
           "itself: "
           "say which one is wanted by ktrace_program_options.trace");
    options.compiler_options = NULL;
    refuse(&options, KTRACE_ERROR_ARGUMENT, "ktrace_program_options.compiler_options is NULL, and its count is 2");
    options = good;
    options.kernels = empty;
    options.kernel_count = 1;
    refuse(&options, KTRACE_ERROR_ARGUMENT, "ktrace_program_options.kernels[0] is empty");
    options = good;
    options.include_directories = null;
    options.include_directory_count = 1;
    refuse(&options, KTRACE_ERROR_ARGUMENT, "ktrace_program_options.include_directories[0] is NULL");
    options = good;
    options.header_count = 1;
    refuse(&options, KTRACE_ERROR_ARGUMENT, "ktrace_program_options.headers is NULL, and its count is 1");
    options.headers = &own;
    refuse(&options, KTRACE_ERROR_ARGUMENT,
           "ktrace_program_options.headers has \"ktrace/device.h\", which the library brings itself");
    options.headers = &nameless;
    refuse(&options, KTRACE_ERROR_ARGUMENT, "ktrace_program_options.headers[0] has no name");
    options.headers = &textless;
    refuse(&options, KTRACE_ERROR_ARGUMENT, "ktrace_program_options.headers[0] has no text");
    options.headers = twice;
    options.header_count = 2;
    refuse(&options, KTRACE_ERROR_ARGUMENT, "ktrace_program_options.headers has \"a.h\" twice");
}

static void test_other_versions_of_the_options(void **state)
{
    (void)state;
    struct {
        struct ktrace_program_options known;
        uint64_t later;
    } longer = {.known = options_for(KTRACE_PROGRAM_TRACE_NEVER)};
    longer.known.struct_size = sizeof longer;
    struct ktrace_program *program;
    assert_int_equal(ktrace_program_create(&program, source, &longer.known), 0);
    ktrace_program_destroy(program);
    longer.later = 1;
    assert_int_equal(ktrace_program_create(&program, source, &longer.known), KTRACE_ERROR_VERSION);
    longer.known.struct_size = offsetof(struct ktrace_program_options, trace); /* ends before a field that is no good */
    longer.known.trace = 99;
    assert_int_equal(ktrace_program_create(&program, source, &longer.known), 0);
    ktrace_program_destroy(program);
    assert_int_equal(ktrace_program_create(&program, source, NULL), 0);
    ktrace_program_destroy(program);
    ktrace_program_destroy(NULL);
}

static void test_arguments(void **state)
{
    (void)state;
    void *function;
    struct ktrace_program *program;
    assert_int_equal(ktrace_program_create(NULL, source, NULL), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_program_create(&program, NULL, NULL), KTRACE_ERROR_ARGUMENT);
    program = create_for(0);
    assert_int_equal(ktrace_program_kernel(NULL, program, "plain"), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_program_kernel(&function, NULL, "plain"), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_program_kernel(&function, program, NULL), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_program_kernel(&function, program, ""), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(), "ktrace_program_kernel: the kernel's name is empty");
    assert_string_equal(ktrace_program_log(program), "");
    struct ktrace_program_info info = {.struct_size = 0};
    assert_int_equal(ktrace_program_get_info(&info, program), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_program_get_info(NULL, program), KTRACE_ERROR_ARGUMENT);
    kernel_of(program, "plain");
    info = (struct ktrace_program_info){.struct_size = offsetof(struct ktrace_program_info, disk_hits), .disk_hits = 7};
    assert_int_equal(ktrace_program_get_info(&info, program), 0);
    assert_int_equal(info.compilations, 1);
    assert_int_equal(info.disk_hits, 7); /* not asked for */
    struct {
        struct ktrace_program_info known;
        uint64_t later;
    } longer = {.known.struct_size = sizeof longer, .later = 7};
    assert_int_equal(ktrace_program_get_info(&longer.known, program), 0);
    assert_int_equal(longer.later, 0);
    assert_int_equal(longer.known.struct_size, sizeof longer);
    ktrace_program_destroy(program);
}

/* ---- What a capture says ----------------------------------------------------------------------------------------- */

static void test_explains(void **state)
{
    (void)state;
    char text[512];
    assert_int_equal(kt_program_explain(text, sizeof text, "; ", 0), 0);
    struct ktrace_program *program = create_for(KTRACE_PROGRAM_TRACE_AUTO),
                          *never = create_for(KTRACE_PROGRAM_TRACE_NEVER);
    kernel_of(never, "plain"); /* nobody expects anything else */
    assert_int_equal(kt_program_explain(text, sizeof text, "; ", 0), 0);
    kernel_of(program, "plain");
    kernel_of(program, "plain");
    const size_t length = kt_program_explain(text, sizeof text, "; ", KTRACE_ARCH_NVIDIA);
    assert_int_equal(strlen(text), length);
    assert_string_equal(text, "; kernel \"plain\" was obtained before the capture and stays untraced: ask "
                              "ktrace_program_kernel again inside it");
    assert_int_equal(kt_program_explain(text, sizeof text, "; ", KTRACE_ARCH_AMDGCN), 0);
    kernel_of(program, "second");
    kernel_of(program, "a<1>");
    kernel_of(program, "a<2>");
    kernel_of(program, "a<3>");
    kt_program_explain(text, sizeof text, "", 0);
    assert_string_equal(text,
                        "kernels \"plain\", \"second\", \"a<1>\" and 2 more were obtained before the capture and stay "
                        "untraced: ask ktrace_program_kernel again inside it");
    for (size_t bytes = 1; bytes < 80; bytes++) {
        memset(text, 'x', sizeof text);
        assert_int_equal(kt_program_explain(text, bytes, "", 0), bytes - 1);
        assert_int_equal(strlen(text), bytes - 1);
        assert_int_equal(text[bytes], 'x');
    }
    static const char *const names[] = {"plain", "a<1>", "a<2>", "a<3>"};
    for (int i = 0; i < 4; i++) /* asked for inside one */
        kt_program_note(program, names[i], KTRACE_ARCH_NVIDIA, 0);
    kt_program_explain(text, sizeof text, "", 0);
    assert_has(text, "kernel \"second\" was");
    ktrace_program_destroy(program);
    assert_int_equal(kt_program_explain(text, sizeof text, "", 0), 0);
    ktrace_program_destroy(never);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_is_compiled_loaded_and_attached_once, set_up),
        cmocka_unit_test_setup(test_untraced_is_not_attached, set_up),
        cmocka_unit_test_setup(test_contexts_share_compilations, set_up),
        cmocka_unit_test_setup(test_threads_compile_once, set_up),
        cmocka_unit_test_setup(test_names, set_up),
        cmocka_unit_test_setup(test_first_kernel_may_be_any, set_up),
        cmocka_unit_test_setup(test_refusals_are_remembered, set_up),
        cmocka_unit_test_setup(test_other_failures_may_pass, set_up),
        cmocka_unit_test_setup(test_nothing_to_attach, set_up),
        cmocka_unit_test_setup(test_options_in_order, set_up),
        cmocka_unit_test_setup(test_impossible_options, set_up),
        cmocka_unit_test_setup(test_other_versions_of_the_options, set_up),
        cmocka_unit_test_setup(test_arguments, set_up),
        cmocka_unit_test_setup(test_explains, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
