/* The log callback: who is told what, from where, and what stays as it was. */
#include "log.h"

#include "error.h"
#include "locks.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct heard {
    int count;
    char last[2048];
};

static void hear(void *context, const char *sentence)
{
    struct heard *heard = context;
    heard->count++;
    strncpy(heard->last, sentence, sizeof heard->last - 1);
}

static int forget(void **state)
{
    (void)state;
    ktrace_set_log(NULL, NULL);
    return 0;
}

static void test_nobody_is_told(void **state)
{
    (void)state;
    kt_fail(KTRACE_ERROR_IO, "before");
    kt_log("%d", 1);
    assert_string_equal(ktrace_last_error(), "before");
}

static void test_a_sentence_arrives(void **state)
{
    struct heard first = {0}, second = {0};
    (void)state;
    ktrace_set_log(hear, &first);
    kt_log("wrote %s with %d launches", "a.gz", 3);
    assert_int_equal(first.count, 1);
    assert_string_equal(first.last, "wrote a.gz with 3 launches");
    ktrace_set_log(hear, &second);
    kt_log("again");
    ktrace_set_log(NULL, &second);
    kt_log("to nobody");
    assert_int_equal(first.count, 1);
    assert_int_equal(second.count, 1);
    assert_string_equal(second.last, "again");
}

static void test_a_long_sentence_is_cut(void **state)
{
    struct heard heard = {0};
    char text[4000];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ktrace_set_log(hear, &heard);
    kt_log("%s", text);
    assert_int_equal(strlen(heard.last), 1023);
    assert_memory_equal(heard.last, text, 1023);
}

/* What `talk` writes to stderr. */
static void stderr_of(void (*talk)(void), char text[2048])
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    const int before = dup(STDERR_FILENO);
    assert_true(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    talk();
    fflush(stderr);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    text[fread(text, 1, 2047, file)] = '\0';
    fclose(file);
}

static void tell(void)
{
    kt_tell("%d launches exported", 3);
}

static void log_it(void)
{
    kt_log("to nobody");
}

static void test_what_is_told_reaches_somebody(void **state)
{
    struct heard heard = {0};
    char text[2048];
    (void)state;
    kt_fail(KTRACE_ERROR_IO, "before");
    stderr_of(tell, text);
    assert_string_equal(text, "ktrace: 3 launches exported\n");
    stderr_of(log_it, text);
    assert_string_equal(text, "");
    ktrace_set_log(hear, &heard);
    stderr_of(tell, text);
    assert_string_equal(text, "");
    assert_string_equal(heard.last, "3 launches exported");
    assert_string_equal(ktrace_last_error(), "before");
}

/* The callback uses the library: takes its locks, fails in it, sets another callback, and makes it log. */
static void busy(void *context, const char *sentence)
{
    struct heard *heard = context;
    hear(context, sentence);
    struct ktrace_filter filter;
    assert_int_equal(ktrace_filter_parse(&filter, "nonsense"), KTRACE_ERROR_ARGUMENT);
    kt_operation_lock();
    kt_state_lock();
    kt_list_lock();
    kt_list_unlock();
    kt_state_unlock();
    kt_operation_unlock();
    ktrace_set_log(busy, heard);
    kt_log("inside");
    kt_tell("inside, too");
}

static void test_the_callback_may_use_the_library(void **state)
{
    struct heard heard = {0};
    (void)state;
    ktrace_set_log(busy, &heard);
    kt_fail(KTRACE_ERROR_IO, "what failed");
    kt_log("outside");
    assert_int_equal(heard.count, 1);
    assert_string_equal(heard.last, "outside");
    assert_string_equal(ktrace_last_error(), "what failed");
    kt_log("outside again"); /* no longer inside */
    assert_int_equal(heard.count, 2);
}

enum { THREADS = 4, SENTENCES = 5000 };

static void count_whole(void *context, const char *sentence)
{
    if (strcmp(sentence, "a sentence of a thread") == 0)
        __atomic_add_fetch((int *)context, 1, __ATOMIC_RELAXED);
}

static void *talk(void *argument)
{
    (void)argument;
    for (int i = 0; i < SENTENCES; i++)
        kt_log("a %s of a %s", "sentence", "thread");
    return NULL;
}

static void test_any_thread_may_log(void **state)
{
    pthread_t threads[THREADS];
    int counts[2] = {0, 0};
    (void)state;
    ktrace_set_log(count_whole, &counts[0]);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, talk, NULL), 0);
    for (int i = 0; i < 1000; i++)
        ktrace_set_log(count_whole, &counts[i % 2]); /* while they talk: context and function stay together */
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(counts[0] + counts[1], THREADS * SENTENCES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_nobody_is_told, forget),
        cmocka_unit_test_teardown(test_a_sentence_arrives, forget),
        cmocka_unit_test_teardown(test_a_long_sentence_is_cut, forget),
        cmocka_unit_test_teardown(test_what_is_told_reaches_somebody, forget),
        cmocka_unit_test_teardown(test_the_callback_may_use_the_library, forget),
        cmocka_unit_test_teardown(test_any_thread_may_log, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
