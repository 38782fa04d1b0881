/* The simulator's hipRTC: the order of its calls, its results, and what it predefines. */
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

#include "hip/hip_api.h"
#include "hip/hiprtc.h"
#include "scratch.h"

static hiprtcProgram create(const char *source)
{
    hiprtcProgram program;
    assert_int_equal(hiprtcCreateProgram(&program, source, "a.hip", 0, NULL, NULL), HIPRTC_SUCCESS);
    return program;
}

static char *log_of(hiprtcProgram program)
{
    static char log[20000];
    size_t bytes = 0;
    log[0] = 0;
    assert_int_equal(hiprtcGetProgramLogSize(program, &bytes), HIPRTC_SUCCESS);
    assert_true(bytes < sizeof log);
    assert_int_equal(hiprtcGetProgramLog(program, log), HIPRTC_SUCCESS);
    return log;
}

static void compile(hiprtcProgram program, int count, const char *const *options)
{
    if (hiprtcCompileProgram(program, count, options) != HIPRTC_SUCCESS)
        fail_msg("%s", log_of(program));
}

static char *code_of(hiprtcProgram program, size_t *bytes)
{
    assert_int_equal(hiprtcGetCodeSize(program, bytes), HIPRTC_SUCCESS);
    char *code = malloc(*bytes);
    assert_int_equal(hiprtcGetCode(program, code), HIPRTC_SUCCESS);
    return code;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static void test_order_of_calls(void **state)
{
    (void)state;
    hiprtcProgram program = create("template <class T> __global__ void k(T *p) { *p = 1; }"), gone;
    const char *lowered = NULL;
    size_t bytes;
    assert_int_equal(hiprtcGetLoweredName(program, "k<int>", &lowered),
                     HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
    assert_int_equal(hiprtcGetCodeSize(program, &bytes), HIPRTC_ERROR_INVALID_PROGRAM);
    assert_string_equal(log_of(program), "");
    assert_int_equal(hiprtcAddNameExpression(program, "k<int>"), HIPRTC_SUCCESS);
    assert_int_equal(hiprtcAddNameExpression(program, "k< float >"), HIPRTC_SUCCESS);
    compile(program, 0, NULL);
    assert_int_equal(hiprtcAddNameExpression(program, "k<char>"), HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
    assert_int_equal(hiprtcGetLoweredName(program, "k<int>", &lowered), HIPRTC_SUCCESS);
    assert_string_equal(lowered, "_Z1kIiEvPT_");
    assert_int_equal(hiprtcGetLoweredName(program, "k< float >", &lowered), HIPRTC_SUCCESS);
    assert_string_equal(lowered, "_Z1kIfEvPT_");
    assert_int_equal(hiprtcGetLoweredName(program, "k<float>", &lowered), HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
    gone = program;
    assert_int_equal(hiprtcDestroyProgram(&program), HIPRTC_SUCCESS);
    assert_null(program);
    assert_int_equal(hiprtcDestroyProgram(&gone), HIPRTC_ERROR_INVALID_PROGRAM);
    assert_int_equal(hiprtcCompileProgram(gone, 0, NULL), HIPRTC_ERROR_INVALID_PROGRAM);
    assert_int_equal(hiprtcGetProgramLogSize(NULL, &bytes), HIPRTC_ERROR_INVALID_PROGRAM);
}

static void test_arguments(void **state)
{
    (void)state;
    static const char *const text[] = {"int x;"}, *const up[] = {"a/../../x.h"}, *const root[] = {"/x.h"},
                             *const null[] = {NULL}, *const twice[] = {"x.h", "x.h"}, *const texts[] = {"", ""};
    hiprtcProgram program = NULL;
    int major, minor;
    assert_int_equal(hiprtcCreateProgram(&program, NULL, "a", 0, NULL, NULL), HIPRTC_ERROR_INVALID_INPUT);
    assert_int_equal(hiprtcCreateProgram(NULL, "", "a", 0, NULL, NULL), HIPRTC_ERROR_INVALID_INPUT);
    assert_int_equal(hiprtcCreateProgram(&program, "", "a", 1, NULL, NULL), HIPRTC_ERROR_INVALID_INPUT);
    assert_int_equal(hiprtcCreateProgram(&program, "", "a", 1, text, null), HIPRTC_ERROR_INVALID_INPUT);
    assert_int_equal(hiprtcCreateProgram(&program, "", "a", 1, text, up), HIPRTC_ERROR_INVALID_INPUT);
    assert_int_equal(hiprtcCreateProgram(&program, "", "a", 1, text, root), HIPRTC_ERROR_INVALID_INPUT);
    assert_int_equal(hiprtcCreateProgram(&program, "", "a", 2, texts, twice), HIPRTC_ERROR_INVALID_INPUT);
    assert_null(program);
    assert_int_equal(hiprtcVersion(&major, &minor), HIPRTC_SUCCESS);
    assert_true(major >= 5);
    assert_string_equal(hiprtcGetErrorString(HIPRTC_ERROR_COMPILATION), "HIPRTC_ERROR_COMPILATION");
    assert_string_equal(hiprtcGetErrorString((hiprtcResult)99), "an unknown result of hipRTC");
}

static void test_options(void **state)
{
    (void)state;
    static const char *const refused[] = {"-c", "-o", "a.c", "-x", "--output=a"};
    static const char *const good[] = {"--gpu-architecture=gfx950", "-D", "A=2", "-UB", "-O1"};
    static const char *const both[] = {"--offload-arch=gfx942"}, *const unknown[] = {"--offload-arch=gfx1"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char expected[128];
        hiprtcProgram program = create("");
        assert_int_equal(hiprtcCompileProgram(program, 1, &refused[i]), HIPRTC_ERROR_INVALID_OPTION);
        snprintf(expected, sizeof expected, "error: hipRTC has no option '%s'\n", refused[i]);
        assert_string_equal(log_of(program), expected);
        hiprtcDestroyProgram(&program);
    }
    hiprtcProgram program = create("#if A != 2 || !defined(__gfx950__) || !__HIPCC_RTC__\n#error no\n#endif");
    compile(program, 5, good);
    assert_int_equal(hiprtcCompileProgram(program, 1, both), HIPRTC_ERROR_COMPILATION);
    assert_has(log_of(program), "a.hip:2:2: error: no");
    assert_int_equal(hiprtcCompileProgram(program, 1, unknown), HIPRTC_ERROR_COMPILATION);
    assert_has(log_of(program), "gfx1");
    hiprtcDestroyProgram(&program);
}

/* The folder in which clang works appears nowhere, and is gone afterwards. */
static void test_nothing_of_the_folder_remains(void **state)
{
    (void)state;
    static const char source[] =
        "#include \"a/b.h\"\n#include <c.h>\nextern \"C\" __global__ void k(int *p) { *p = b() + c(); }";
    static const char b[] = "#include \"d.h\"\nconst char *name() { return __FILE__; }\n"
                            "__device__ inline int b() { return D; }";
    static const char *const texts[] = {b, "__device__ inline int c() { return 1; }\n#warning careful", "#define D 4"};
    static const char *const names[] = {"a/b.h", "c.h", "a/d.h"};
    char scratch[512];
    assert_int_equal(make_scratch(scratch, sizeof scratch), 0);
    assert_int_equal(setenv("TMPDIR", scratch, 1), 0);
    char *codes[2];
    size_t bytes[2];
    for (int i = 0; i < 2; i++) {
        hiprtcProgram program;
        assert_int_equal(hiprtcCreateProgram(&program, source, "dir/a \"b\".hip", 3, texts, names), HIPRTC_SUCCESS);
        hiprtcAddNameExpression(program, "k");
        compile(program, 0, NULL);
        assert_has(log_of(program), "c.h:2:2: warning: careful");
        assert_has(log_of(program), "dir/a \"b\".hip:2:");
        assert_null(strstr(log_of(program), scratch));
        codes[i] = code_of(program, &bytes[i]);
        assert_null(memmem(codes[i], bytes[i], scratch, strlen(scratch)));
        hiprtcDestroyProgram(&program);
    }
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(codes[0], codes[1], bytes[0]);
    free(codes[0]);
    free(codes[1]);
    unsetenv("TMPDIR");
    assert_int_equal(rmdir(scratch), 0); /* it is empty */
}

static void test_no_folder(void **state)
{
    (void)state;
    assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
    hiprtcProgram program = create("");
    assert_int_equal(hiprtcCompileProgram(program, 0, NULL), HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE);
    assert_string_equal(log_of(program), "error: no folder for the compiler can be made below /nonexistent");
    hiprtcDestroyProgram(&program);
    unsetenv("TMPDIR");
}

/* ---- What is predefined ------------------------------------------------------------------------------------------ */

static void test_predefined(void **state)
{
    (void)state;
    static const char source[] =
        "__constant__ int table[4] = {1, 2, 3, 4};\n"
        "__device__ __forceinline__ int own(dim3 place) { return (int)(place.x + 10 * place.y); }\n"
        "extern \"C\" __global__ __launch_bounds__(128) void k(int *out, int *counters)\n"
        "{\n"
        "    __shared__ int ring[128];\n"
        "    const int i = threadIdx.x + blockDim.x * threadIdx.y;\n"
        "    ring[i] = i;\n"
        "    __syncthreads();\n"
        "    const int next = ring[(i + 1) % 128];\n"
        "    atomicAdd(&counters[0], 1);\n"
        "    atomicMax(&counters[1], i);\n"
        "    atomicCAS(&counters[2], 0, 5);\n"
        "    atomicSub(&counters[3], 2);\n"
        "    const float root = sqrtf(fmaxf((float)(i * i), 0.0f));\n"
        "    const int ballot = __popcll(__ballot(i % 4 == 0));\n"
        "    const int swapped = __shfl_xor(i, 1);\n"
        "    const int4 four = make_int4(1, 2, 3, 4);\n"
        "    __threadfence();\n"
        "    out[i] = next + (int)root + ballot * 1000 + swapped * 100000 + four.w + table[i % 4] + min(i, 3) + "
        "own(blockIdx) +\n"
        "             (int)gridDim.x * 7 + (int)warpSize;\n"
        "}\n";
    hiprtcProgram program = create(source);
    compile(program, 0, NULL);
    size_t bytes;
    char *code = code_of(program, &bytes);
    hipModule_t module;
    hipFunction_t function;
    int *out, *counters, values[128], counts[4] = {0};
    assert_int_equal(hipModuleLoadData(&module, code), hipSuccess);
    assert_int_equal(hipModuleGetFunction(&function, module, "k"), hipSuccess);
    assert_int_equal(hipMalloc((void **)&out, sizeof values), hipSuccess);
    assert_int_equal(hipMalloc((void **)&counters, sizeof counts), hipSuccess);
    assert_int_equal(hipMemcpy(counters, counts, sizeof counts, hipMemcpyHostToDevice), hipSuccess);
    void *arguments[] = {&out, &counters};
    assert_int_equal(hipModuleLaunchKernel(function, 1, 1, 1, 32, 4, 1, 0, NULL, arguments, NULL), hipSuccess);
    assert_int_equal(hipMemcpy(values, out, sizeof values, hipMemcpyDeviceToHost), hipSuccess);
    assert_int_equal(hipMemcpy(counts, counters, sizeof counts, hipMemcpyDeviceToHost), hipSuccess);
    for (int i = 0; i < 128; i++)
        assert_int_equal(values[i],
                         (i + 1) % 128 + i + 16 * 1000 + (i ^ 1) * 100000 + 4 + (i % 4 + 1) + (i < 3 ? i : 3) + 7 + 64);
    assert_int_equal(counts[0], 128);
    assert_int_equal(counts[1], 127);
    assert_int_equal(counts[2], 5);
    assert_int_equal(counts[3], -256);
    assert_int_equal(hipModuleUnload(module), hipSuccess);
    assert_int_equal(hipFree(out), hipSuccess);
    assert_int_equal(hipFree(counters), hipSuccess);
    free(code);
    hiprtcDestroyProgram(&program);
}

/* Names of variables, overloads and kernels in namespaces, at every level of optimization. */
static void test_names(void **state)
{
    (void)state;
    static const char *const levels[] = {"-O0", "-O1", "-O2", "-O3", "-Os"};
    static const char *const names[][2] = {{"plain", "plain"},
                                           {"n::inner", "_ZN1n5innerEPi"},
                                           {"&n::table", "_ZN1n5tableE"},
                                           {"&n::inner", "_ZN1n5innerEPi"},
                                           {"pair<int, 3>", "_Z4pairIiLi3EEvPT_"}};
    for (size_t level = 0; level < 5; level++) {
        hiprtcProgram program =
            create("extern \"C\" __global__ void plain(int *p) { *p = 1; }\n"
                   "namespace n { __global__ void inner(int *p) { *p = 2; } __device__ int table[3]; }\n"
                   "__global__ void over(int *p) { *p = 3; } __global__ void over(float *p) { *p = 4; }\n"
                   "template <class T, int N> __global__ void pair(T *p) { *p = N; }\n");
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(hiprtcAddNameExpression(program, names[i][0]), HIPRTC_SUCCESS);
        compile(program, 1, &levels[level]);
        for (size_t i = 0; i < 5; i++) {
            const char *lowered;
            assert_int_equal(hiprtcGetLoweredName(program, names[i][0], &lowered), HIPRTC_SUCCESS);
            assert_string_equal(lowered, names[i][1]);
        }
        hiprtcDestroyProgram(&program);
    }
    /* What NVRTC takes, and ROCm's hipRTC does not. */
    hiprtcProgram program =
        create("__global__ void over(int *p) { *p = 3; } __global__ void over(float *p) { *p = 4; }\n");
    assert_int_equal(hiprtcAddNameExpression(program, "(void (*)(float *))over"), HIPRTC_SUCCESS);
    assert_int_equal(hiprtcCompileProgram(program, 0, NULL), HIPRTC_ERROR_COMPILATION);
    assert_has(log_of(program),
               "name expression:2:1: error: cannot take the address of an rvalue of type 'void (*)(float *)'");
    hiprtcDestroyProgram(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_calls), cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_options),        cmocka_unit_test(test_nothing_of_the_folder_remains),
        cmocka_unit_test(test_no_folder),      cmocka_unit_test(test_predefined),
        cmocka_unit_test(test_names),
    };
    if (!*ktrace_simulator_compiler()) {
        printf("skipped: no clang-22 in PATH, with which the simulator compiles programs\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
