/* Which programs the disk cache takes for the same one, and which it keeps at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_program.h"
#include "ktrace/ktrace.h"
#include "program/key.h"
#include "program/self_contained.h"

/* ---- SHA-256 ----------------------------------------------------------------------------------------------------- */

static void check_digest(const char *text, size_t step, const char *expected)
{
    struct kt_sha256 hash;
    unsigned char digest[KT_SHA256_BYTES];
    char found[KT_SHA256_TEXT_BYTES];
    const size_t length = strlen(text);
    kt_sha256_begin(&hash);
    for (size_t at = 0; at < length; at += step)
        kt_sha256_add(&hash, text + at, length - at < step ? length - at : step);
    kt_sha256_end(&hash, digest);
    kt_sha256_text(found, digest);
    assert_string_equal(found, expected);
}

/* NIST's examples, and lengths around a block's, whose digests are Python's hashlib's. */
static void test_sha256(void **state)
{
    (void)state;
    check_digest("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 7,
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    static const struct {
        size_t length;
        const char *digest;
    } cases[] = {
        {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
        {119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
        {120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"},
        {128, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e"},
        {1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"},
    };
    char text[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(text, 'a', cases[i].length);
        text[cases[i].length] = 0;
        for (size_t step = 1; step < 130; step += 17)
            check_digest(text, step, cases[i].digest);
    }
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

struct variant {
    const char *what;
    struct kt_program_source source;
    const char *architecture, *kernel;
    int traced;
    struct kt_rtc_api compiler;
};

static void key_of(unsigned char key[KT_SHA256_BYTES], const struct variant *variant)
{
    struct kt_compilation compilation;
    fake_compiler = variant->compiler;
    assert_int_equal(kt_compilation_make(&compilation, &variant->source, &fake_target, variant->architecture,
                                         variant->traced, variant->kernel),
                     0);
    kt_program_key(key, &compilation);
    kt_compilation_free(&compilation);
}

static struct kt_program_texts texts(size_t count, char **list)
{
    return (struct kt_program_texts){list, count};
}
#define TEXTS(...) texts(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *), (char *[]){__VA_ARGS__})

static void test_everything_changes_the_key(void **state)
{
    (void)state;
    fake_program_reset();
    const struct kt_rtc_api compiler = fake_compiler;
    const struct variant base = {
        .what = "nothing",
        .source = {.text = (char *)"text",
                   .name = (char *)"a.cu",
                   .options = TEXTS((char *)"-DA", (char *)"-DB"),
                   .kernels = TEXTS((char *)"k1"),
                   .header_names = TEXTS((char *)"h1", (char *)"h2"),
                   .header_texts = TEXTS((char *)"t1", (char *)"t2")},
        .architecture = "sm_90",
        .kernel = "k1",
        .traced = 1,
        .compiler = compiler,
    };
    enum { VARIANTS = 18 };
    struct variant variants[VARIANTS];
    for (int i = 0; i < VARIANTS; i++)
        variants[i] = base;
    int n = 1; /* the first is the base */
#define VARIANT(member, value) variants[n].what = #member " = " #value, variants[n].member = value, n++
    VARIANT(source.text, (char *)"text ");
    VARIANT(source.name, (char *)"b.cu");
    VARIANT(source.name, NULL);
    VARIANT(source.options, TEXTS((char *)"-DB", (char *)"-DA"));
    VARIANT(source.options, TEXTS((char *)"-DA"));
    VARIANT(source.options, TEXTS((char *)"-DA-DB"));
    VARIANT(source.options, TEXTS((char *)"-DA", (char *)"-DB", (char *)"-O1"));
    VARIANT(source.include_directories, TEXTS((char *)"dir"));
    VARIANT(source.kernels, TEXTS((char *)"k1", (char *)"k2"));
    VARIANT(source.header_names, TEXTS((char *)"h1", (char *)"h3"));
    VARIANT(source.header_texts, TEXTS((char *)"t1", (char *)"t2 "));
    VARIANT(source.header_texts, TEXTS((char *)"t1t", (char *)"2"));
    VARIANT(architecture, "sm_75");
    VARIANT(kernel, "k2");
    VARIANT(traced, 0);
    variants[n].what = "compiler's name", variants[n++].compiler.label = "Other";
    variants[n].what = "compiler's version";
    snprintf(variants[n++].compiler.identity, sizeof compiler.identity, "FakeRTC 1.3");
    assert_int_equal(n, VARIANTS);
    unsigned char keys[VARIANTS][KT_SHA256_BYTES], again[KT_SHA256_BYTES];
    for (int i = 0; i < VARIANTS; i++) {
        key_of(keys[i], &variants[i]);
        for (int j = 0; j < i; j++)
            if (memcmp(keys[i], keys[j], sizeof keys[i]) == 0 &&
                !(i == 14 && j == 9)) /* k1 and k2, asked for or listed */
                fail_msg("the same key with %s and %s", variants[i].what, variants[j].what);
        key_of(again, &variants[i]);
        assert_memory_equal(again, keys[i], sizeof again);
    }
    setenv("HIPRTC_COMPILE_OPTIONS_APPEND", "-O0", 1);
    key_of(again, &base);
    unsetenv("HIPRTC_COMPILE_OPTIONS_APPEND");
    assert_memory_not_equal(again, keys[0], sizeof again);
    fake_compiler = compiler;
}

/* ktrace's own headers are a part, by their text: another text is another key. */
static void test_own_headers_change_the_key(void **state)
{
    (void)state;
    fake_program_reset();
    const struct kt_program_source source = {.text = (char *)"text"};
    struct kt_compilation compilation;
    unsigned char before[KT_SHA256_BYTES], after[KT_SHA256_BYTES];
    assert_int_equal(kt_compilation_make(&compilation, &source, &fake_target, "sm_90", 1, "k"), 0);
    kt_program_key(before, &compilation);
    assert_string_equal(compilation.header_names.texts[0], "ktrace/device.h");
    compilation.header_texts.texts[0][100] ^= 1;
    kt_program_key(after, &compilation);
    assert_memory_not_equal(before, after, sizeof before);
    kt_compilation_free(&compilation);
}

/* ---- Self-contained ---------------------------------------------------------------------------------------------- */

static int closed(const char *text, const char *option, const char *header, char reason[KT_NOT_SELF_CONTAINED_BYTES])
{
    const struct kt_program_source source = {.text = (char *)text,
                                             .name = (char *)"a.cu",
                                             .options = texts(option != NULL, (char *[]){(char *)option}),
                                             .header_names = TEXTS((char *)"mine.h"),
                                             .header_texts = texts(1, (char *[]){(char *)header})};
    struct kt_compilation compilation;
    assert_int_equal(kt_compilation_make(&compilation, &source, &fake_target, "sm_90", 1, "k"), 0);
    const int is = kt_is_self_contained(&compilation, reason);
    kt_compilation_free(&compilation);
    return is;
}

static void test_texts_that_read_no_file(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "#include <ktrace/device.h>",
        "  #  include\t\"mine.h\" // ours\n#include <ktrace/record.h>\n",
        "#include \\\n \"mine.h\"",
        "#inc\\\nlude \"mine.h\"",
        "// include the halo, embed it\nint include;",
        "int x_include_y, included;\n#define EMBED 1",
        "#if A\nint include = 1;\n#endif",
    };
    char reason[KT_NOT_SELF_CONTAINED_BYTES];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!closed(texts[i], NULL, "", reason))
            fail_msg("\"%s\" counts as reading files: %s", texts[i], reason);
        assert_string_equal(reason, "");
        assert_true(closed("", NULL, texts[i], reason));
    }
}

/* Also where it is far-fetched, and where it reads none but is hard to tell. */
static void test_texts_that_may_read_files(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "#include <cuda_fp16.h>",
        "#include \"other.h\"",
        "#include MINE",
        "#include <mine.h",
        "#include \"mine.h",
        "# include /* here */ \"mine.h\"",
        "#/* here */include \"other.h\"",
        "#/* here\n*/include \"other.h\"",
        "#/* here\n*/ /* there */ \t include \"other.h\"",
        "%:include \"other.h\"",
        "?\?=include \"other.h\"",
        "#inc\\\nlude \"other.h\"",
        "#inc\\ \t\nlude \"other.h\"",
        "#inc?\?/\nlude \"other.h\"",
        "int a;\n#\\\n\\\ninclude \"other.h\"",
        "\t#include_next <mine.h>",
        "#import <mine.h>",
        "import thing;",
        "const char data[] = {\n#embed \"data.bin\"\n};",
        "#if __has_include(<cuda_fp16.h>)\n#endif",
        "#if __has_include (\"mine.h\")\n#endif",
        "#if __has_embed(\"a\")\n#endif",
        "__asm__(\".incbin \\\"x\\\"\");",
        "__asm__(\".include \\\"x\\\"\");",
        "const char *when = __DATE__;",
        "const char *when = __TIME__;",
        "const char *when = __TIMESTAMP__;",
        "#include \"mine.h\"\n#include \"other.h\"\n",
    };
    char reason[KT_NOT_SELF_CONTAINED_BYTES];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (closed(texts[i], NULL, "", reason))
            fail_msg("\"%s\" counts as reading no file", texts[i]);
        assert_non_null(strstr(reason, "a.cu has the line \""));
        if (closed("", NULL, texts[i], reason))
            fail_msg("\"%s\" counts as reading no file in a header", texts[i]);
        assert_non_null(strstr(reason, "mine.h has the line \""));
    }
}

static void test_options_that_read_files(void **state)
{
    (void)state;
    static const char *const plain[] = {"-DA=1",
                                        "-O3",
                                        "-lineinfo",
                                        "--use_fast_math",
                                        "-maxrregcount=64",
                                        "-Wall",
                                        "--offload-arch=gfx942",
                                        "-std=c++20",
                                        "-fno-rtti",
                                        "-arch=sm_90a",
                                        "-UA"};
    static const char *const readers[] = {"-I.",
                                          "-I",
                                          "-include",
                                          "--include-path=/x",
                                          "--pre-include=x.h",
                                          "-isystem",
                                          "@file",
                                          "-Wp,-include,x.h",
                                          "-Xclang",
                                          "-fplugin=x.so",
                                          "-fprofile-use=x",
                                          "--options-file",
                                          "-mlink-builtin-bitcode",
                                          "unheard-of",
                                          "--pch"};
    char reason[KT_NOT_SELF_CONTAINED_BYTES];
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (!closed("", plain[i], "", reason))
            fail_msg("%s: %s", plain[i], reason);
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        char expected[128];
        assert_false(closed("", readers[i], "", reason));
        snprintf(expected, sizeof expected, "the compiler option \"%s\" may read files", readers[i]);
        assert_string_equal(reason, expected);
    }
}

static void test_values_of_options(void **state)
{
    (void)state;
    const struct kt_program_source source = {.text = (char *)"",
                                             .options = TEXTS((char *)"-D", (char *)"A=1", (char *)"-U", (char *)"B")};
    struct kt_compilation compilation;
    char reason[KT_NOT_SELF_CONTAINED_BYTES];
    assert_int_equal(kt_compilation_make(&compilation, &source, &fake_target, "sm_90", 1, "k"), 0);
    assert_true(kt_is_self_contained(&compilation, reason));
    kt_compilation_free(&compilation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_everything_changes_the_key),
        cmocka_unit_test(test_own_headers_change_the_key),
        cmocka_unit_test(test_texts_that_read_no_file),
        cmocka_unit_test(test_texts_that_may_read_files),
        cmocka_unit_test(test_options_that_read_files),
        cmocka_unit_test(test_values_of_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
