/* The real NVRTC, which needs no GPU to compile: programs with the library's headers, templates, and what it says of mistakes. */
#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/nvrtc_api.h"
#include "ktrace/ktrace.h"
#include "program/compile.h"
#include "program/self_contained.h"
#include "scratch.h"

static const char source[] = "#include <ktrace/device.h>\n"
                             "#include \"tile.h\"\n"
                             "template <class T>\n"
                             "__global__ void gemm(T *out, int steps)\n"
                             "{\n"
                             "    KTRACE_KERNEL(\"gemm\");\n"
                             "    for (int i = 0; i < steps; i++) {\n"
                             "        KTRACE_RANGE(\"tile\", i);\n"
                             "        out[threadIdx.x + i * TILE] += (T)i;\n"
                             "    }\n"
                             "}\n"
                             "extern \"C\" __global__ void plain(int *out) { KTRACE_KERNEL(\"plain\"); *out = 1; }\n";

static struct kt_program_source copy(const char *text, const char *option)
{
    static const struct ktrace_program_header header = {"tile.h", "#define TILE 8\n"};
    struct ktrace_program_options options = KTRACE_PROGRAM_OPTIONS_INIT;
    struct kt_program_source out;
    options.name = "gemm.cu";
    options.headers = &header;
    options.header_count = 1;
    options.compiler_options = &option;
    options.compiler_option_count = option != NULL;
    assert_int_equal(kt_program_source_copy(&out, text, &options), 0);
    return out;
}

static int compile(struct kt_binary *out, const char *text, const char *option, int traced, const char *kernel)
{
    struct kt_program_source copied = copy(text, option);
    struct kt_compilation compilation;
    char reason[KT_NOT_SELF_CONTAINED_BYTES];
    assert_int_equal(kt_compilation_make(&compilation, &copied, &kt_program_cuda, "sm_90", traced, kernel), 0);
    if (option == NULL)
        assert_true(kt_is_self_contained(&compilation, reason));
    const int status = kt_compile(out, &compilation);
    kt_compilation_free(&compilation);
    kt_program_source_free(&copied);
    return status;
}

static int has(const struct kt_binary *binary, const char *text)
{
    return memmem(binary->image, binary->image_bytes, text, strlen(text)) != NULL;
}

static void test_both_specializations(void **state)
{
    (void)state;
    struct kt_binary traced, untraced;
    if (compile(&traced, source, NULL, 1, "gemm<float>") < 0 || compile(&untraced, source, NULL, 0, "gemm<float>") < 0)
        fail_msg("%s", ktrace_last_error());
    assert_memory_equal(traced.image, "\177ELF", 4);
    assert_string_equal(traced.lowered.texts[0], "_Z4gemmIfEvPT_i");
    assert_string_equal(untraced.lowered.texts[0], "_Z4gemmIfEvPT_i");
    assert_true(has(&traced, "plain"));
    assert_true(has(&traced, "ktrace_control"));
    assert_false(has(&untraced, "ktrace_control"));
    assert_string_equal(traced.log, "");
    kt_binary_free(&traced);
    kt_binary_free(&untraced);
}

static void test_mistakes(void **state)
{
    (void)state;
    struct kt_binary binary;
    assert_int_equal(compile(&binary, "extern \"C\" __global__ void k(int *out) { *out = nothing; }", NULL, 1, "k"),
                     KTRACE_ERROR_COMPILE);
    assert_string_equal(ktrace_last_error(),
                        "gemm.cu does not compile: gemm.cu(1): error: identifier \"nothing\" is undefined "
                        "(NVRTC; ktrace_program_log has all)");
    kt_binary_free(&binary);
    assert_int_equal(compile(&binary, source, NULL, 1, "gemm<nosuch>"), KTRACE_ERROR_COMPILE);
    assert_non_null(strstr(ktrace_last_error(), "identifier \"nosuch\" is undefined"));
    kt_binary_free(&binary);
    assert_int_equal(compile(&binary, source, "--no-such-option", 1, "plain"), KTRACE_ERROR_COMPILE);
    assert_non_null(strstr(ktrace_last_error(), "no-such-option"));
    kt_binary_free(&binary);
    assert_int_equal(compile(&binary, source, "--gpu-architecture=compute_90", 1, "plain"), KTRACE_ERROR_ARGUMENT);
    assert_non_null(strstr(ktrace_last_error(), "made no machine code"));
    kt_binary_free(&binary);
    assert_int_equal(compile(&binary, "#include \"nowhere.h\"", "-I.", 1, "plain"), KTRACE_ERROR_COMPILE);
    assert_non_null(strstr(ktrace_last_error(), "nowhere.h"));
    kt_binary_free(&binary);
}

/* The section of a cubin with a kernel's machine code. */
static const unsigned char *code_of(const struct kt_binary *binary, const char *kernel, size_t *bytes)
{
    const unsigned char *image = binary->image;
    const Elf64_Ehdr *header = binary->image;
    const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
    const char *names = (const char *)image + sections[header->e_shstrndx].sh_offset;
    char wanted[128];
    snprintf(wanted, sizeof wanted, ".text.%s", kernel);
    for (int i = 0; i < header->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, wanted) == 0) {
            *bytes = sections[i].sh_size;
            return image + sections[i].sh_offset;
        }
    fail_msg("no section %s", wanted);
    return NULL;
}

/* KTRACE_KERNEL_IF: the untraced instance has the machine code that both have where nothing is enabled. */
static void test_two_instances(void **state)
{
    (void)state;
    static const char text[] = "#include <ktrace/device.h>\n"
                               "template <bool Traced> __device__ float f(float x KTRACE_PARAM_IF(Traced))\n"
                               "{ KTRACE_RANGE(\"f\", x); return x * 3; }\n"
                               "template <bool Traced> __global__ void both(float *out, int n)\n"
                               "{\n"
                               "    KTRACE_KERNEL_IF(Traced, \"both\");\n"
                               "    float x = threadIdx.x;\n"
                               "    for (int i = 0; i < n; i++) {\n"
                               "        ktrace_token token = KTRACE_RANGE_START(\"turn\", i);\n"
                               "        x = f<Traced>(x KTRACE_ARG);\n"
                               "        KTRACE_RANGE_STOP(token);\n"
                               "    }\n"
                               "    out[threadIdx.x] = x;\n"
                               "}\n"
                               "template __global__ void both<true>(float *, int);\n";
    struct kt_binary enabled, disabled;
    if (compile(&enabled, text, NULL, 1, "both<false>") < 0 || compile(&disabled, text, NULL, 0, "both<false>") < 0)
        fail_msg("%s", ktrace_last_error());
    size_t untraced_bytes, traced_bytes, plain_bytes;
    const unsigned char *untraced = code_of(&enabled, "_Z4bothILb0EEvPfi", &untraced_bytes);
    const unsigned char *plain = code_of(&disabled, "_Z4bothILb0EEvPfi", &plain_bytes);
    code_of(&enabled, "_Z4bothILb1EEvPfi", &traced_bytes);
    assert_int_equal(untraced_bytes, plain_bytes);
    assert_memory_equal(untraced, plain, plain_bytes);
    assert_true(traced_bytes > untraced_bytes + 200);
    kt_binary_free(&enabled);
    kt_binary_free(&disabled);
}

/* What is in memory comes before a file of that name, in the current directory too: else the cache would not be right. */
static void test_memory_comes_first(void **state)
{
    (void)state;
    struct kt_binary binary;
    char before[4096], folder[512];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(make_scratch(folder, sizeof folder), 0);
    assert_int_equal(chdir(folder), 0);
    FILE *file = fopen("tile.h", "w");
    fputs("#error the file\n", file);
    fclose(file);
    const int status = compile(&binary, source, "-I.", 1, "plain");
    assert_int_equal(unlink("tile.h"), 0);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(rmdir(folder), 0);
    if (status < 0)
        fail_msg("%s", ktrace_last_error());
    kt_binary_free(&binary);
}

/* In a child, as a library is looked for once in a process. */
static void check_library(const char *path, const char *sentence)
{
    const pid_t child = fork();
    if (child == 0) {
        const struct kt_rtc_api *api;
        setenv("KTRACE_NVRTC_LIBRARY", path, 1);
        _exit(kt_nvrtc_open(&api) != KTRACE_ERROR_UNSUPPORTED || strcmp(ktrace_last_error(), sentence) != 0);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

static void test_a_library_that_is_none(void **state)
{
    (void)state;
    check_library("/nonexistent/libnvrtc.so",
                  "KTRACE_NVRTC_LIBRARY names a library that cannot be used: /nonexistent/libnvrtc.so");
    check_library("libc.so.6",
                  "KTRACE_NVRTC_LIBRARY names a library that cannot be used: libc.so.6 has no nvrtcVersion: NVRTC "
                  "of CUDA 11.2 or newer is needed");
}

/* Below the folders where installers put it, under each one's names. A library that is none shows which one was taken. */
static void check_place(const char *scratch, const char *variable, const char *below)
{
    char path[1024], command[2400], sentence[1400];
    snprintf(path, sizeof path, "%s/%s", scratch, below);
    snprintf(command, sizeof command,
             "mkdir -p '%.*s' && ln -s \"$(ls /lib*/x86_64-linux-gnu/libc.so.6 /lib64/libc.so.6 "
             "2>/dev/null | head -n 1)\" '%s'",
             (int)(strrchr(path, '/') - path), path, path);
    assert_int_equal(system(command), 0);
    snprintf(sentence, sizeof sentence,
             "the NVRTC that was found cannot be used: %s has no nvrtcVersion: NVRTC of CUDA 11.2 or newer is needed",
             path);
    const pid_t child = fork();
    if (child == 0) {
        const struct kt_rtc_api *api;
        unsetenv("CUDA_PATH"), unsetenv("CUDA_HOME"), unsetenv("VIRTUAL_ENV"), unsetenv("CONDA_PREFIX");
        setenv(variable, scratch, 1);
        const int status = kt_nvrtc_open(&api);
        if (status != KTRACE_ERROR_UNSUPPORTED || strcmp(ktrace_last_error(), sentence) != 0)
            fprintf(stderr, "%d: %s\n", status, ktrace_last_error()), _exit(1);
        _exit(0);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    assert_int_equal(unlink(path), 0);
}

static void test_places(void **state)
{
    (void)state;
    char scratch[512], command[600];
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
    for (int i = 0; i < 4; i++)
        if (dlopen(names[i], RTLD_LAZY))
            skip(); /* the loader finds it before all of these */
    unsetenv("KTRACE_NVRTC_LIBRARY");
    assert_int_equal(make_scratch(scratch, sizeof scratch), 0);
    check_place(scratch, "CUDA_PATH", "lib64/libnvrtc.so.12");
    check_place(scratch, "CUDA_HOME", "targets/x86_64-linux/lib/libnvrtc.so.13");
    check_place(scratch, "CONDA_PREFIX", "lib/libnvrtc.so.12");
    check_place(scratch, "VIRTUAL_ENV", "lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
    check_place(scratch, "VIRTUAL_ENV", "lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest first[] = {cmocka_unit_test(test_a_library_that_is_none), cmocka_unit_test(test_places)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_specializations),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_two_instances),
        cmocka_unit_test(test_memory_comes_first),
    };
    const struct kt_rtc_api *api;
    const int failed = cmocka_run_group_tests(first, NULL, NULL);
    if (failed)
        return failed;
    if (kt_nvrtc_open(&api) < 0) {
        printf("skipped: %s\n", ktrace_last_error());
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
