/* Programs in processes of their own, for an environment or a disk cache: this program runs itself again, with the name of a
 * part. */
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

#include "gemm.h"
#include "scratch.h"

extern char **environ;

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

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

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

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
