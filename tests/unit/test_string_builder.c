#include "string_builder.h"
#include "table.h"

#include "ktrace/ktrace.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_text(struct kt_string *string, const char *expected)
{
    assert_string_equal(kt_string_text(string), expected);
    assert_int_equal(string->length, strlen(expected));
    kt_string_destroy(string);
}

static void appends(void **state)
{
    (void)state;
    struct kt_string string = KT_STRING_INIT;
    assert_string_equal(kt_string_text(&string), "");
    kt_string_append(&string, "ab");
    kt_string_append(&string, NULL);
    kt_string_append(&string, "");
    kt_string_append_bytes(&string, "cde", 2);
    kt_string_append_bytes(&string, NULL, 0);
    kt_string_append_char(&string, 'e');
    kt_string_append_repeated(&string, '.', 3);
    kt_string_append_repeated(&string, '!', 0);
    kt_string_printf(&string, "%d-%s", 42, "x");
    assert_text(&string, "abcde...42-x");
}

static void grows(void **state)
{
    (void)state;
    struct kt_string string = KT_STRING_INIT;
    for (int i = 0; i < 20000; i++)
        kt_string_printf(&string, "%05d", i);
    assert_int_equal(string.length, 100000);
    for (int i = 0; i < 20000; i++) {
        char expected[16];
        snprintf(expected, sizeof expected, "%05d", i);
        assert_memory_equal(string.text + 5 * i, expected, 5);
    }
    kt_string_destroy(&string);
}

static void takes(void **state)
{
    (void)state;
    struct kt_string string = KT_STRING_INIT;
    char *text = NULL;
    assert_int_equal(kt_string_take(&text, &string), 0);
    assert_string_equal(text, "");
    free(text);
    kt_string_append(&string, "kept");
    assert_int_equal(kt_string_take(&text, &string), 0);
    assert_string_equal(text, "kept");
    assert_null(string.text);
    assert_int_equal(string.length, 0);
    free(text);
}

static void failure_sticks(void **state)
{
    (void)state;
    struct kt_string string = KT_STRING_INIT;
    char *text = (char *)"untouched";
    kt_string_append(&string, "some");
    kt_string_append_repeated(&string, ' ', SIZE_MAX - 2);
    assert_true(string.failed);
    kt_string_append(&string, "more");
    kt_string_append_json(&string, "more");
    assert_string_equal(kt_string_text(&string), "some");
    assert_int_equal(kt_string_take(&text, &string), KTRACE_ERROR_MEMORY);
    assert_string_equal(text, "untouched");
    assert_true(strlen(ktrace_last_error()) > 0);
    assert_false(string.failed); /* empty again */
}

/* Every lead byte, and every way to be wrong behind one. */
static void utf8_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"", 0},
        {"a", 1},
        {"\x7F", 1},
        {"\x80", 0},
        {"\xBF", 0},
        {"\xC0\x80", 0}, /* overlong */
        {"\xC1\xBF", 0},
        {"\xC2\x80", 2},
        {"\xDF\xBF", 2},
        {"\xC3", 0}, /* cut short */
        {"\xC3(", 0},
        {"\xE0\x9F\xBF", 0}, /* overlong */
        {"\xE0\xA0\x80", 3},
        {"\xE2\x82\xAC", 3},
        {"\xE2\x82", 0},
        {"\xED\x9F\xBF", 3},
        {"\xED\xA0\x80", 0}, /* surrogate */
        {"\xEF\xBF\xBF", 3},
        {"\xF0\x8F\xBF\xBF", 0}, /* overlong */
        {"\xF0\x90\x80\x80", 4},
        {"\xF4\x8F\xBF\xBF", 4},
        {"\xF4\x90\x80\x80", 0}, /* beyond U+10FFFF */
        {"\xF5\x80\x80\x80", 0},
        {"\xFF", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(kt_utf8_length(cases[i].text), cases[i].length);
}

#define R "\xEF\xBF\xBD"

static void utf8_repair(void **state)
{
    (void)state;
    static const struct {
        const char *text, *repaired;
    } cases[] = {
        {"plain \xC3\xA9 \xF0\x9F\x9A\x80", "plain \xC3\xA9 \xF0\x9F\x9A\x80"},
        {"a\xFFz", "a" R "z"},
        {"\xE2\x82", R}, /* a part of one character is one replacement */
        {"\xE2\x82z", R "z"},
        {"\xF0\x9F\x9Az", R "z"},
        {"\xE0\x80\x80", R R R}, /* no part of any character: one each, as Unicode recommends */
        {"\xED\xA0\x80", R R R},
        {"\x80\x80", R R},
        {"\xC3\xC3\xA9", R "\xC3\xA9"},
    };
    struct kt_string string = KT_STRING_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kt_string_append_utf8(&string, cases[i].text);
        assert_text(&string, cases[i].repaired);
    }
    kt_string_append_utf8(&string, NULL);
    assert_text(&string, "");
}

static void visible(void **state)
{
    (void)state;
    struct kt_string string = KT_STRING_INIT;
    kt_string_append_visible(&string, "a\x1B[31m\n\xC3\xA9\xC2\x9B\xFF\x7F");
    assert_text(&string, "a\\x1B[31m\\x0A\xC3\xA9\\xC2\\x9B\\xFF\\x7F");
    assert_int_equal(kt_utf8_columns("a\xC3\xA9\xE2\x82\xAC"), 3);
}

static void json_strings(void **state)
{
    (void)state;
    struct kt_string string = KT_STRING_INIT;
    kt_string_append_json(&string, "q\" b\\ s/ \b\f\n\r\t \x01 \x1F \x7F \xC3\xA9 \xFF");
    assert_text(&string, "\"q\\\" b\\\\ s/ \\b\\f\\n\\r\\t \\u0001 \\u001f \\u007f \xC3\xA9 " R "\"");
    kt_string_append_json(&string, "");
    assert_text(&string, "\"\"");
    kt_string_append_json(&string, NULL);
    assert_text(&string, "null");
}

/* Nothing that a string can hold makes the JSON invalid: quotes, controls and bad UTF-8 never come through. */
static void json_random_bytes(void **state)
{
    (void)state;
    uint32_t random = 12345;
    for (int round = 0; round < 2000; round++) {
        char bytes[24] = {0};
        for (size_t i = 0; i < sizeof bytes - 1; i++) {
            random = random * 1664525u + 1013904223u;
            bytes[i] = (char)(random >> 24);
        }
        struct kt_string string = KT_STRING_INIT;
        kt_string_append_json(&string, bytes);
        const char *text = string.text;
        assert_int_equal(text[0], '"');
        assert_int_equal(text[string.length - 1], '"');
        for (size_t i = 1; i < string.length - 1;) {
            size_t length = kt_utf8_length(text + i);
            assert_true(length > 0);
            assert_true((unsigned char)text[i] >= 0x20);
            assert_int_not_equal(text[i], '"');
            i += text[i] == '\\' ? 2 : length;
        }
        kt_string_destroy(&string);
    }
}

static void json_numbers(void **state)
{
    (void)state;
    struct kt_string string = KT_STRING_INIT;
    const double exact[] = {0.1, 1.0 / 3, 1e300, DBL_MIN, DBL_MAX, -2.5, 123456789012345.678, 5e-324};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        kt_string_append_json_double(&string, exact[i]);
        assert_true(strtod(string.text, NULL) == exact[i]);
        kt_string_destroy(&string);
    }
    kt_string_append_json_double(&string, 0.1);
    assert_text(&string, "0.1");
    kt_string_append_json_double(&string, 42);
    assert_text(&string, "42");
    kt_string_append_json_double(&string, NAN);
    assert_text(&string, "null");
    kt_string_append_json_double(&string, -INFINITY);
    assert_text(&string, "null");
}

static void styles(void **state)
{
    (void)state;
    struct kt_string plain = KT_STRING_INIT, styled = KT_STRING_INIT;
    styled.styled = 1;
    struct kt_string *both[] = {&plain, &styled};
    for (size_t i = 0; i < 2; i++) {
        kt_string_append_styled(both[i], KT_STYLE_TITLE, "title");
        kt_string_append(both[i], " ");
        kt_string_append_visible_styled(both[i], KT_STYLE_BAD, "\033[5m");
    }
    assert_text(&plain, "title \\x1B[5m");
    assert_text(&styled, "\033[1mtitle\033[0m \033[31m\\x1B[5m\033[0m");
}

/* Widths are those of the text, whether it is styled or not, and whoever wrote it into the cell. */
static void styled_tables(void **state)
{
    (void)state;
    static const struct kt_table_column columns[] = {{"name", KT_LEFT}, {"count", KT_RIGHT}, {"", KT_LEFT}};
    for (int is_styled = 0; is_styled < 2; is_styled++) {
        struct kt_table table = kt_table_of(columns, 3);
        struct kt_string out = KT_STRING_INIT;
        out.styled = is_styled;
        kt_table_printf(&table, "%s", "a\033c");
        kt_table_cell(&table, "7");
        kt_table_style(&table, KT_STYLE_WARNING);
        kt_table_cell(&table, "##");
        kt_table_style(&table, KT_STYLE_MOST);
        kt_table_cell(&table, "longer name");
        kt_table_cell(&table, NULL);
        kt_table_style(&table, KT_STYLE_WARNING); /* of nothing: nothing */
        kt_table_cell(&table, NULL);
        assert_int_equal(kt_table_width(&table), 2 + 11 + 2 + 5 + 2 + 2);
        kt_table_finish(&out, &table);
        if (is_styled)
            assert_text(&out, "  \033[1mname\033[0m         \033[1mcount\033[0m\n"
                              "  a\\x1Bc           \033[33m7\033[0m  \033[31m##\033[0m\n"
                              "  longer name\n");
        else
            assert_text(&out, "  name         count\n"
                              "  a\\x1Bc           7  ##\n"
                              "  longer name\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends),        cmocka_unit_test(grows),        cmocka_unit_test(takes),
        cmocka_unit_test(failure_sticks), cmocka_unit_test(utf8_lengths), cmocka_unit_test(utf8_repair),
        cmocka_unit_test(visible),        cmocka_unit_test(json_strings), cmocka_unit_test(json_random_bytes),
        cmocka_unit_test(json_numbers),   cmocka_unit_test(styles),       cmocka_unit_test(styled_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
