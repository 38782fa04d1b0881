/* Filters as text: every rule of the grammar, the sentence of everything that is malformed, and that a filter's text makes
 * the same filter again. */
#include "filter_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST UINT32_MAX

static void assert_filter(const struct ktrace_filter *got, const struct ktrace_filter *wanted, const char *text)
{
    if (memcmp(got, wanted, sizeof *got) == 0)
        return;
    char *shown = NULL;
    if (ktrace_filter_format(&shown, got, KTRACE_ARCH_NVIDIA) == KTRACE_OK)
        print_error("\"%s\" became \"%s\"\n", text, shown);
    free(shown);
    fail_msg("another filter came of \"%s\"", text);
}

/* ---- What is right ---------------------------------------------------------------------------------------------- */

static void test_coordinates(void **state)
{
    static const struct {
        const char *text;
        uint32_t first[3], last[3];
    } cases[] = {
        {"0", {0, 0, 0}, {0, MOST, MOST}},
        {"7,8", {7, 8, 0}, {7, 8, MOST}},
        {"1,2,3", {1, 2, 3}, {1, 2, 3}},
        {"*", {0, 0, 0}, {MOST, MOST, MOST}},
        {"*,*,*", {0, 0, 0}, {MOST, MOST, MOST}},
        {"*,5", {0, 5, 0}, {MOST, 5, MOST}},
        {"2-5,*,0-0", {2, 0, 0}, {5, MOST, 0}},
        {"2-,-5", {2, 0, 0}, {MOST, 5, MOST}},
        {"0-", {0, 0, 0}, {MOST, MOST, MOST}},
        {"-0", {0, 0, 0}, {0, MOST, MOST}},
        {"4294967295", {MOST, 0, 0}, {MOST, MOST, MOST}},
        {"007", {7, 0, 0}, {7, MOST, MOST}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ktrace_filter got, wanted = KTRACE_FILTER_INIT;
        memcpy(wanted.block_first, cases[i].first, sizeof wanted.block_first);
        memcpy(wanted.block_last, cases[i].last, sizeof wanted.block_last);
        assert_int_equal(ktrace_filter_parse(&got, cases[i].text), KTRACE_OK);
        assert_filter(&got, &wanted, cases[i].text);
    }
}

static void test_places_and_their_word(void **state)
{
    static const struct {
        const char *text;
        uint32_t first, last;
        enum kt_place_word word;
    } cases[] = {
        {"sm:3", 3, 3, KT_PLACE_SM},       {"sm:3-7", 3, 7, KT_PLACE_SM},
        {"sm:3-", 3, MOST, KT_PLACE_SM},   {"sm:-7", 0, 7, KT_PLACE_SM},
        {"sm:*", 0, MOST, KT_PLACE_SM},    {"xcc:0", 0, 0, KT_PLACE_XCC},
        {"xcc:2-3", 2, 3, KT_PLACE_XCC},   {"xcc:*", 0, MOST, KT_PLACE_XCC},
        {"", 0, MOST, KT_PLACE_NOT_NAMED}, {"1,1,1", 0, MOST, KT_PLACE_NOT_NAMED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kt_filter got;
        assert_int_equal(kt_filter_parse(&got, cases[i].text, "KTRACE_BLOCKS"), KTRACE_OK);
        assert_int_equal(got.wire.place_first, cases[i].first);
        assert_int_equal(got.wire.place_last, cases[i].last);
        assert_int_equal(got.place_word, cases[i].word);
        assert_int_equal(got.wire.reserved, 0);
    }
}

static void test_every_and_waves(void **state)
{
    static const struct {
        const char *text;
        uint32_t step;
        uint64_t mask;
    } cases[] = {
        {"every:1", 1, UINT64_MAX},
        {"every:16", 16, UINT64_MAX},
        {"every:4294967295", MOST, UINT64_MAX},
        {"waves:0", 1, 1},
        {"waves:0,2-3", 1, 0xD},
        {"waves:3,0,3-4", 1, 0x19},
        {"waves:-1", 1, 3},
        {"waves:*", 1, UINT64_MAX},
        {"waves:62", 1, 1ull << 62},
        {"waves:63", 1, 1ull << 63},
        {"waves:63-", 1, 1ull << 63},
        {"waves:32-63", 1, 0xFFFFFFFF00000000},
        {"waves:32-", 1, 0xFFFFFFFF00000000},
        {"waves:1,8-", 1, 0xFFFFFFFFFFFFFF02},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ktrace_filter got, wanted = KTRACE_FILTER_INIT;
        wanted.workgroup_step = cases[i].step;
        wanted.wave_mask_low = (uint32_t)cases[i].mask;
        wanted.wave_mask_high = (uint32_t)(cases[i].mask >> 32);
        assert_int_equal(ktrace_filter_parse(&got, cases[i].text), KTRACE_OK);
        assert_filter(&got, &wanted, cases[i].text);
    }
}

static void test_every_wave(void **state)
{
    const char *const texts[] = {"", "all", " ", ";", " all ; ", "\tall\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ktrace_filter got;
        assert_int_equal(ktrace_filter_parse(&got, texts[i]), KTRACE_OK);
        assert_true(kt_filter_is_open(&got));
    }
}

/* In any order, with any separators. */
static void test_terms_are_combined(void **state)
{
    const char *const texts[] = {"1-2,*,0 sm:4-5 every:3 waves:0,2-3", "waves:0,2-3;every:3;sm:4-5;1-2,*,0",
                                 "  every:3 ;; waves:2-3,0\t1-2,*,0 ; sm:4-5  "};
    struct ktrace_filter wanted = KTRACE_FILTER_INIT;
    (void)state;
    wanted.block_first[0] = 1;
    wanted.block_last[0] = 2;
    wanted.block_last[2] = 0;
    wanted.place_first = 4;
    wanted.place_last = 5;
    wanted.workgroup_step = 3;
    wanted.wave_mask_low = 0xD;
    wanted.wave_mask_high = 0;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ktrace_filter got;
        assert_int_equal(ktrace_filter_parse(&got, texts[i]), KTRACE_OK);
        assert_filter(&got, &wanted, texts[i]);
    }
}

/* ---- What is wrong ---------------------------------------------------------------------------------------------- */

#define TERMS \
    "terms are x,y,z (each *, 3, 2-5, 2- or -5; those left out are *), sm:N or sm:N-M, xcc:N or xcc:N-M, every:N, " \
    "waves:0,2-3, and all alone"
#define RANGE(what) what " is a number, a range such as 2-5, 2- or -5, or *"

static void test_malformed_texts(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"0,x,1", "KTRACE_BLOCKS is \"0,x,1\", at character 3 (\"x,1\"): " RANGE("a coordinate")},
        {"0,", "KTRACE_BLOCKS is \"0,\", at its end: " RANGE("a coordinate")},
        {"0, 1", "KTRACE_BLOCKS is \"0, 1\", at character 3: " RANGE("a coordinate")},
        {",1", "KTRACE_BLOCKS is \",1\": " RANGE("a coordinate")},
        {"-", "KTRACE_BLOCKS is \"-\": " RANGE("a coordinate")},
        {"1,2,3,4", "KTRACE_BLOCKS is \"1,2,3,4\", at character 6 (\",4\"): a workgroup has three coordinates, x,y,z"},
        {"5-2", "KTRACE_BLOCKS is \"5-2\": the range runs backwards: write 2-5"},
        {"0,5-2", "KTRACE_BLOCKS is \"0,5-2\", at character 3 (\"5-2\"): the range runs backwards: write 2-5"},
        {"4294967296", "KTRACE_BLOCKS is \"4294967296\": a coordinate is at most 4294967295"},
        {"0-99999999999999999999",
         "KTRACE_BLOCKS is \"0-99999999999999999999\", at character 3 (\"99999999999999999999\"): a coordinate is at "
         "most 4294967295"},
        {"0x10",
         "KTRACE_BLOCKS is \"0x10\", at character 2 (\"x10\"): a term ends here, and a blank or ; follows; " TERMS},
        {"1-2-3",
         "KTRACE_BLOCKS is \"1-2-3\", at character 4 (\"-3\"): a term ends here, and a blank or ; follows; " TERMS},
        {"**", "KTRACE_BLOCKS is \"**\", at character 2 (\"*\"): a term ends here, and a blank or ; follows; " TERMS},
        {"1 1",
         "KTRACE_BLOCKS is \"1 1\", at character 3 (\"1\"): this is a second term of workgroups: a filter has one at "
         "most"},
        {"sm:1;sm:2",
         "KTRACE_BLOCKS is \"sm:1;sm:2\", at character 6 (\"sm:2\"): this is a second term of SMs or XCCs: a "
         "filter has one at most"},
        {"sm:1 xcc:2",
         "KTRACE_BLOCKS is \"sm:1 xcc:2\", at character 6 (\"xcc:2\"): this is a second term of SMs or XCCs: "
         "a filter has one at most"},
        {"every:2 every:3",
         "KTRACE_BLOCKS is \"every:2 every:3\", at character 9 (\"every:3\"): this is a second term of "
         "every:N: a filter has one at most"},
        {"waves:0 waves:1",
         "KTRACE_BLOCKS is \"waves:0 waves:1\", at character 9 (\"waves:1\"): this is a second term of "
         "waves: a filter has one at most"},
        {"all all",
         "KTRACE_BLOCKS is \"all all\", at character 5 (\"all\"): this is a second term of all: a filter has one "
         "at most"},
        {"all 0,0,0", "KTRACE_BLOCKS is \"all 0,0,0\", at character 5 (\"0,0,0\"): all stands alone"},
        {"every:2;all", "KTRACE_BLOCKS is \"every:2;all\", at character 9 (\"all\"): all stands alone"},
        {"allx",
         "KTRACE_BLOCKS is \"allx\", at character 4 (\"x\"): a term ends here, and a blank or ; follows; " TERMS},
        {"SM:1", "KTRACE_BLOCKS is \"SM:1\": " TERMS},
        {"sm 1", "KTRACE_BLOCKS is \"sm 1\": " TERMS},
        {"0 gpu:1", "KTRACE_BLOCKS is \"0 gpu:1\", at character 3 (\"gpu:1\"): " TERMS},
        {"sm:", "KTRACE_BLOCKS is \"sm:\", at its end: " RANGE("the SM's number")},
        {"sm:x", "KTRACE_BLOCKS is \"sm:x\", at character 4 (\"x\"): " RANGE("the SM's number")},
        {"xcc:-", "KTRACE_BLOCKS is \"xcc:-\", at character 5 (\"-\"): " RANGE("the XCC's number")},
        {"xcc:1,2",
         "KTRACE_BLOCKS is \"xcc:1,2\", at character 6 (\",2\"): a term ends here, and a blank or ; follows; " TERMS},
        {"every:0", "KTRACE_BLOCKS is \"every:0\", at character 7 (\"0\"): the step of every:N is at least 1, which is "
                    "every workgroup"},
        {"every:", "KTRACE_BLOCKS is \"every:\", at its end: the step of every:N is a decimal number"},
        {"every:-2", "KTRACE_BLOCKS is \"every:-2\", at character 7 (\"-2\"): the step of every:N is a decimal number"},
        {"every:4294967296",
         "KTRACE_BLOCKS is \"every:4294967296\", at character 7 (\"4294967296\"): the step of every:N "
         "is at most 4294967295"},
        {"waves:", "KTRACE_BLOCKS is \"waves:\", at its end: " RANGE("a wave")},
        {"waves:0,,1", "KTRACE_BLOCKS is \"waves:0,,1\", at character 9 (\",1\"): " RANGE("a wave")},
        {"waves:64",
         "KTRACE_BLOCKS is \"waves:64\", at character 7 (\"64\"): waves are told apart up to 62; 63 stands for "
         "it and all that follow: write 63-"},
        {"waves:0,60-64",
         "KTRACE_BLOCKS is \"waves:0,60-64\", at character 9 (\"60-64\"): waves are told apart up to 62; "
         "63 stands for it and all that follow: write 63-"},
        {"waves:3-1", "KTRACE_BLOCKS is \"waves:3-1\", at character 7 (\"3-1\"): the range runs backwards: write 1-3"},
        {"0\x1B[2J",
         "KTRACE_BLOCKS is \"0\\x1B[2J\", at character 2 (\"\\x1B[2J\"): a term ends here, and a blank or ; "
         "follows; " TERMS},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct kt_filter before = {.wire = {.reserved = 7}};
        struct kt_filter got = before;
        assert_int_equal(kt_filter_parse(&got, cases[i].text, "KTRACE_BLOCKS"), KTRACE_ERROR_ARGUMENT);
        assert_string_equal(ktrace_last_error(), cases[i].sentence);
        assert_memory_equal(&got, &before, sizeof got);
    }
}

static void test_long_texts_are_quoted_in_part(void **state)
{
    char text[4001], sentence[512];
    struct ktrace_filter filter;
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(ktrace_filter_parse(&filter, text), KTRACE_ERROR_ARGUMENT);
    snprintf(sentence, sizeof sentence, "the filter is \"%.160s...\": " TERMS, text);
    assert_string_equal(ktrace_last_error(), sentence);
    text[1] = text[0] = ' ';
    assert_int_equal(ktrace_filter_parse(&filter, text), KTRACE_ERROR_ARGUMENT);
    snprintf(sentence, sizeof sentence, "the filter is \"%.160s...\", at character 3 (\"%.40s...\"): " TERMS, text,
             text + 2);
    assert_string_equal(ktrace_last_error(), sentence);
}

static void test_missing_arguments(void **state)
{
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    char *text;
    (void)state;
    assert_int_equal(ktrace_filter_parse(NULL, "all"), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_filter_parse(&filter, NULL), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_filter_format(NULL, &filter, KTRACE_ARCH_NVIDIA), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_filter_format(&text, NULL, KTRACE_ARCH_NVIDIA), KTRACE_ERROR_ARGUMENT);
}

/* ---- Against a device ------------------------------------------------------------------------------------------- */

static int check(const char *text, uint32_t arch)
{
    struct kt_filter filter;
    assert_int_equal(kt_filter_parse(&filter, text, "KTRACE_BLOCKS"), KTRACE_OK);
    return kt_filter_check(&filter, arch);
}

static void test_the_other_vendors_word(void **state)
{
    (void)state;
    assert_int_equal(check("sm:1", KTRACE_ARCH_NVIDIA), KTRACE_OK);
    assert_int_equal(check("xcc:1", KTRACE_ARCH_AMDGCN), KTRACE_OK);
    assert_int_equal(check("1,2,3 every:2 waves:0", KTRACE_ARCH_NVIDIA), KTRACE_OK);
    assert_int_equal(check("1,2,3 every:2 waves:0", KTRACE_ARCH_AMDGCN), KTRACE_OK);
    assert_int_equal(check("sm:1", KTRACE_ARCH_AMDGCN), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(),
                        "KTRACE_BLOCKS names SMs (sm:), but the capture is of an AMD device: write xcc:");
    assert_int_equal(check("every:2 xcc:*", KTRACE_ARCH_NVIDIA), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(),
                        "KTRACE_BLOCKS names XCCs (xcc:), but the capture is of an NVIDIA device: write sm:");
}

static void test_filters_that_no_wave_passes(void **state)
{
    struct kt_filter filter = {.wire = KTRACE_FILTER_INIT};
    char *text;
    (void)state;
    filter.wire.block_first[1] = 5;
    filter.wire.block_last[1] = 4;
    assert_int_equal(kt_filter_check(&filter, KTRACE_ARCH_NVIDIA), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(), "the filter's block range in y is empty: 5 to 4");
    assert_int_equal(ktrace_filter_format(&text, &filter.wire, KTRACE_ARCH_NVIDIA), KTRACE_ERROR_ARGUMENT);
    filter = (struct kt_filter){.wire = KTRACE_FILTER_INIT};
    filter.wire.place_first = 1;
    filter.wire.place_last = 0;
    assert_int_equal(kt_filter_check(&filter, KTRACE_ARCH_NVIDIA), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(), "the filter's SM range is empty: 1 to 0");
    assert_int_equal(kt_filter_check(&filter, KTRACE_ARCH_AMDGCN), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(), "the filter's XCC range is empty: 1 to 0");
    filter = (struct kt_filter){0};
    filter.wire.workgroup_step = 1;
    assert_int_equal(kt_filter_check(&filter, KTRACE_ARCH_NVIDIA), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(), "the filter's wave mask is empty: start from KTRACE_FILTER_INIT");
}

/* ---- Back to text ----------------------------------------------------------------------------------------------- */

static void test_canonical_texts(void **state)
{
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        {"", "all"},
        {"*,*,*", "all"},
        {"waves:* every:1 0-", "all"},
        {"0,0,0", "0,0,0"},
        {"3", "3,*,*"},
        {"*,2-5", "*,2-5,*"},
        {"7-7,-0,1-", "7,0,1-"},
        {"4294967295", "4294967295-,*,*"},
        {"waves:63", "waves:63-"},
        {"waves:5-63,0", "waves:0,5-"},
        {"waves:2,1,0,7;every:04;sm:3-3", "sm:3 every:4 waves:0-2,7"},
        {"sm:-3 9,9,9", "9,9,9 sm:0-3"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ktrace_filter filter;
        char *text;
        assert_int_equal(ktrace_filter_parse(&filter, cases[i].text), KTRACE_OK);
        assert_int_equal(ktrace_filter_format(&text, &filter, KTRACE_ARCH_NVIDIA), KTRACE_OK);
        assert_string_equal(text, cases[i].canonical);
        free(text);
    }
}

static uint64_t random_state = 0x9E3779B97F4A7C15;
static uint64_t random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Small, huge and the largest, so that every form of a range occurs. */
static void random_range(uint32_t *first, uint32_t *last)
{
    static const uint32_t edges[] = {0, 1, 2, 9, 10, 65535, MOST - 1, MOST};
    uint32_t a = edges[random_number() % 8], b = edges[random_number() % 8];
    if (random_number() % 4 == 0)
        a = (uint32_t)random_number();
    *first = a < b ? a : b;
    *last = a < b ? b : a;
}

static void test_any_filter_comes_back(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        const uint32_t arch = random_number() % 2 ? KTRACE_ARCH_NVIDIA : KTRACE_ARCH_AMDGCN;
        struct ktrace_filter filter = KTRACE_FILTER_INIT, again;
        char *text;
        for (int axis = 0; axis < 3; axis++)
            if (random_number() % 2)
                random_range(&filter.block_first[axis], &filter.block_last[axis]);
        if (random_number() % 2)
            random_range(&filter.place_first, &filter.place_last);
        if (random_number() % 2)
            filter.workgroup_step = (uint32_t)(random_number() % 2 ? 1 + random_number() % 9 : random_number() | 1);
        if (random_number() % 2) {
            const uint64_t mask = random_number() & random_number() >> random_number() % 64;
            filter.wave_mask_low = (uint32_t)mask | (mask == 0);
            filter.wave_mask_high = (uint32_t)(mask >> 32);
        }
        assert_int_equal(ktrace_filter_format(&text, &filter, arch), KTRACE_OK);
        assert_int_equal(ktrace_filter_parse(&again, text), KTRACE_OK);
        assert_filter(&again, &filter, text);
        if (strstr(text, arch == KTRACE_ARCH_AMDGCN ? "sm:" : "xcc:"))
            fail_msg("the other vendor's word is in \"%s\"", text);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coordinates),
        cmocka_unit_test(test_places_and_their_word),
        cmocka_unit_test(test_every_and_waves),
        cmocka_unit_test(test_every_wave),
        cmocka_unit_test(test_terms_are_combined),
        cmocka_unit_test(test_malformed_texts),
        cmocka_unit_test(test_long_texts_are_quoted_in_part),
        cmocka_unit_test(test_missing_arguments),
        cmocka_unit_test(test_the_other_vendors_word),
        cmocka_unit_test(test_filters_that_no_wave_passes),
        cmocka_unit_test(test_canonical_texts),
        cmocka_unit_test(test_any_filter_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
