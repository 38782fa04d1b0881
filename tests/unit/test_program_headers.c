/* The device headers in the library: the files, and each as one text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ktrace/ktrace.h"
#include "program/headers.h"

static char *read_header(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, KT_TEST_DATA "/../../include/%s", name);
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void test_embedded_as_they_are(void **state)
{
    (void)state;
    int count = 0;
    for (const struct kt_embedded_header *header = kt_embedded_headers; header->name; header++, count++) {
        char *text = read_header(header->name);
        assert_string_equal(header->text, text);
        free(text);
    }
    assert_true(count >= 12);
}

static int occurrences(const char *text, const char *part)
{
    int count = 0;
    for (const char *place = strstr(text, part); place; place = strstr(place + 1, part))
        count++;
    return count;
}

/* Each header once, in place of the directive, with lines that are those of the files. */
static void test_one_text(void **state)
{
    (void)state;
    char *text;
    assert_int_equal(kt_program_header(&text, "ktrace/device.h"), 0);
    for (const struct kt_embedded_header *header = kt_embedded_headers; header->name; header++) {
        char begin[128];
        snprintf(begin, sizeof begin, "#line 1 \"%s\"\n", header->name);
        assert_true(occurrences(text, begin) >= 1);
        assert_true(strstr(text, begin) != NULL);
    }
    /* What is left is for hosts, where there are files. */
    assert_int_equal(occurrences(text, "#include \""), occurrences(text, "#include \"../ktrace.h\""));
    assert_int_equal(strncmp(text, "#line 1 \"ktrace/device.h\"\n", 26), 0);

    const char *inside =
        strstr(text, "#line 1 \"ktrace/device/disabled.h\"\n"); /* in line 59 of device.h, or wherever */
    char *device = read_header("ktrace/device.h"), line[64];
    unsigned number = 1;
    for (const char *c = device; c < strstr(device, "#include \"device/disabled.h\""); c++)
        number += *c == '\n';
    snprintf(line, sizeof line, "#line %u \"ktrace/device.h\"\n#elif", number + 1);
    assert_non_null(strstr(inside, line));
    free(device);
    free(text);
}

static void test_record_alone(void **state)
{
    (void)state;
    char *text, *file = read_header("ktrace/record.h");
    assert_int_equal(kt_program_header(&text, "ktrace/record.h"), 0);
    assert_string_equal(strchr(text, '\n') + 1, file);
    assert_int_equal(kt_program_header(&text, "ktrace/nothing.h"), KTRACE_ERROR_NOT_FOUND);
    assert_true(kt_program_header_is_own("ktrace/record.h"));
    assert_false(kt_program_header_is_own("record.h"));
    free(text);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embedded_as_they_are),
        cmocka_unit_test(test_one_text),
        cmocka_unit_test(test_record_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
