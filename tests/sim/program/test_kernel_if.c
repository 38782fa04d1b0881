/* KTRACE_KERNEL_IF: both instances of a kernel in one module. The untraced one records nothing, and has the machine code of a
 * source that was compiled without KTRACE_ENABLE; the host chooses by ktrace_active(). */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host.h"

static const char source[] = "#include <ktrace/device.h>\n"
                             "template <bool Traced>\n"
                             "__device__ __forceinline__ int step(int x KTRACE_PARAM_IF(Traced))\n"
                             "{\n"
                             "    KTRACE_RANGE(\"step\", x);\n"
                             "    return x * 3 + 1;\n"
                             "}\n"
                             "template <bool Traced>\n"
                             "__global__ void both(int *out, int steps)\n"
                             "{\n"
                             "    KTRACE_KERNEL_IF(Traced, \"both\");\n"
                             "    int x = threadIdx.x;\n"
                             "    for (int i = 0; i < steps; i++) {\n"
                             "        ktrace_token token = KTRACE_RANGE_START(\"turn\", i);\n"
                             "        x = step<Traced>(x KTRACE_ARG);\n"
                             "        KTRACE_RANGE_STOP(token);\n"
                             "    }\n"
                             "    if (threadIdx.x >= 70)\n"
                             "        KTRACE_MARK(\"upper\");\n"
                             "    out[threadIdx.x] = x;\n"
                             "}\n";
static const char *const kernels[] = {"both<false>", "both<true>"};
enum { UNTRACED, TRACED };

static void *memory;

static struct ktrace_program *create(int trace)
{
    struct ktrace_program_options options = KTRACE_PROGRAM_OPTIONS_INIT;
    struct ktrace_program *program;
    options.kernels = kernels;
    options.kernel_count = 2;
    options.trace = trace;
    options.cache_directory = "";
    must(ktrace_program_create(&program, source, &options));
    return program;
}

static void run(void *const functions[2], int which)
{
    int steps = 3, values[128];
    launch(functions[which], 1, 128, (void *[]){&memory, &steps});
    assert_int_equal(hip.copy(values, memory, sizeof values, 2), 0);
    for (int i = 0; i < 128; i++)
        assert_int_equal(values[i], 27 * i + 13);
}

static void test_host_chooses(void **state)
{
    (void)state;
    struct ktrace_program *program = create(KTRACE_PROGRAM_TRACE_ALWAYS);
    void *const functions[2] = {kernel_of(program, kernels[UNTRACED]), kernel_of(program, kernels[TRACED])};
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    assert_int_equal(program_info(program).modules, 1);
    run(functions, ktrace_active() ? TRACED : UNTRACED);
    run(functions, TRACED); /* dormant */
    must(ktrace_capture_begin(&capture, NULL));
    run(functions, UNTRACED);
    must(ktrace_capture_read(&trace, capture));
    assert_int_equal(trace_info(trace).waves, 0);
    ktrace_trace_destroy(trace);
    run(functions, ktrace_active() ? TRACED : UNTRACED);
    must(ktrace_capture_end(&trace, capture));
    const struct ktrace_trace_info info = trace_info(trace);
    assert_int_equal(info.waves, 2);
    assert_int_equal(info.events, 2 * 3 * 4 + 1);
    assert_int_equal(info.ranges_unclosed, 0);
    ktrace_trace_destroy(trace);
    ktrace_program_destroy(program);
}

/* ---- Machine code ------------------------------------------------------------------------------------------------ */

static int (*rtc_create)(void **, const char *, const char *, int, const char *const *, const char *const *);
static int (*rtc_destroy)(void **), (*rtc_name)(void *, const char *);
static int (*rtc_compile)(void *, int, const char *const *);
static int (*rtc_size)(void *, size_t *), (*rtc_code)(void *, char *);

static unsigned char *compile(int enabled, size_t *bytes)
{
    const char *const options[] = {"-std=c++17", "-I" INCLUDE, enabled ? "-DKTRACE_ENABLE=1" : "-DKTRACE_ENABLE=0"};
    void *program;
    assert_int_equal(rtc_create(&program, source, "both.hip", 0, NULL, NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rtc_name(program, kernels[i]), 0);
    assert_int_equal(rtc_compile(program, 3, options), 0);
    assert_int_equal(rtc_size(program, bytes), 0);
    unsigned char *code = malloc(*bytes);
    assert_int_equal(rtc_code(program, (char *)code), 0);
    rtc_destroy(&program);
    return code;
}

/* Of a symbol, in an ELF file that clang has just made. */
static const unsigned char *bytes_of(const unsigned char *code, const char *name, size_t *bytes)
{
    const Elf64_Ehdr *header = (const void *)code;
    const Elf64_Shdr *sections = (const void *)(code + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *symbols = (const void *)(code + sections[i].sh_offset);
        const char *names = (const char *)code + sections[sections[i].sh_link].sh_offset;
        for (size_t j = 0; j < sections[i].sh_size / sizeof *symbols; j++) {
            if (strcmp(names + symbols[j].st_name, name) != 0)
                continue;
            const Elf64_Shdr *section = &sections[symbols[j].st_shndx];
            *bytes = symbols[j].st_size;
            return code + section->sh_offset + (symbols[j].st_value - section->sh_addr);
        }
    }
    fail_msg("no symbol %s", name);
    return NULL;
}

static void test_machine_code(void **state)
{
    (void)state;
    static const char *const symbols[] = {"_Z4bothILb0EEvPii", "_Z4bothILb1EEvPii"};
    size_t file_bytes[2], sizes[2][2];
    unsigned char *files[2] = {compile(0, &file_bytes[0]), compile(1, &file_bytes[1])};
    const unsigned char *codes[2][2]; /* by file and instance */
    for (int file = 0; file < 2; file++)
        for (int i = 0; i < 2; i++)
            codes[file][i] = bytes_of(files[file], symbols[i], &sizes[file][i]);
    assert_int_equal(sizes[1][UNTRACED], sizes[0][UNTRACED]);
    assert_memory_equal(codes[1][UNTRACED], codes[0][UNTRACED], sizes[0][UNTRACED]);
    assert_int_equal(sizes[0][TRACED], sizes[0][UNTRACED]); /* where nothing is enabled both are the same */
    assert_true(sizes[1][TRACED] > sizes[1][UNTRACED] + 100);
    free(files[0]);
    free(files[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_chooses),
        cmocka_unit_test(test_machine_code),
    };
    static const struct {
        const char *name;
        void *slot;
    } functions[] = {{"hiprtcCreateProgram", &rtc_create},   {"hiprtcDestroyProgram", &rtc_destroy},
                     {"hiprtcAddNameExpression", &rtc_name}, {"hiprtcCompileProgram", &rtc_compile},
                     {"hiprtcGetCodeSize", &rtc_size},       {"hiprtcGetCode", &rtc_code}};
    if (open_hip() < 0)
        return 77;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        *(void **)functions[i].slot = dlsym(hip_library, functions[i].name);
    if (hip.allocate(&memory, 4096) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
