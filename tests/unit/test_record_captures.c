/* What a process that is recorded leaves in its folder, of captures on a device in host memory. Runs itself again with that folder in
 * the environment, where a process looks for it once. */
#include <dirent.h>
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

#include "capture_fixture.h"
#include "locks.h"
#include "record_captures.h"
#include "record_session.h"
#include "scratch.h"

/* ---- The folder ----------------------------------------------------------------------------------------------------- */

/* What was said since the last look: lines, without those about the process. */
struct said {
    char lines[16][512];
    int count;
};
static long said_until;

static FILE *open_process_file(void)
{
    const char *folder = getenv(KT_RECORD_VARIABLE);
    char path[4096];
    snprintf(path, sizeof path, "%s/%ld-0.process", folder, (long)getpid());
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("%s: there is no such file", path);
    return file;
}

static struct said listen(void)
{
    struct said said = {.count = 0};
    char line[512];
    FILE *file = open_process_file();
    fseek(file, said_until, SEEK_SET);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "process ", 8) && strncmp(line, "program ", 8) && strncmp(line, "command ", 8) &&
            strcmp(line, "collecting") != 0)
            strcpy(said.lines[said.count++], line);
    }
    said_until = ftell(file);
    fclose(file);
    return said;
}

static void assert_silent(void)
{
    const struct said said = listen();
    if (said.count)
        fail_msg("%d lines, the first is: %s", said.count, said.lines[0]);
}

/* One line, of a trace with these waves, which the file has as well. */
static void assert_trace(const char *line, unsigned long long waves)
{
    char path[4096];
    unsigned long long found = 0;
    struct ktrace_trace *trace = NULL;
    if (sscanf(line, "trace %*u %llu", &found) != 1 || found != waves)
        fail_msg("%s: not a trace of %llu waves", line, waves);
    snprintf(path, sizeof path, "%s/%s", getenv(KT_RECORD_VARIABLE), strrchr(line, ' ') + 1);
    if (ktrace_trace_load(&trace, path) < 0)
        fail_msg("%s", ktrace_last_error());
    assert_int_equal(info_of(trace).waves, waves);
    ktrace_trace_destroy(trace);
}

static void assert_one_trace(unsigned long long waves)
{
    const struct said said = listen();
    if (said.count != 1)
        fail_msg("%d lines instead of one: %s", said.count, said.count ? said.lines[0] : "");
    assert_trace(said.lines[0], waves);
}

/* ---- The device ----------------------------------------------------------------------------------------------------- */

static struct ktrace_capture *begin(struct fixture *f, const struct ktrace_capture_options *options)
{
    struct ktrace_capture *capture = NULL;
    fake_device_init(&f->device);
    if (fake_begin(&capture, &f->device, options) < 0)
        fail_msg("begin: %s", ktrace_last_error());
    return capture;
}

static void run_waves(struct fixture *f, uint32_t count)
{
    static uint64_t grid_id;
    grid_id++;
    for (uint32_t i = 0; i < count; i++) {
        struct fake_wave wave;
        fake_wave_begin(&wave, &f->module, f->kernel, i, count, grid_id, 1000000 * grid_id + 100 * i);
        fake_event(&wave, 0, f->mark, 1000000 * grid_id + 100 * i + 10);
        fake_event(&wave, 0, f->mark, 1000000 * grid_id + 100 * i + 20);
        fake_wave_end(&wave, 1000000 * grid_id + 100 * i + 50);
    }
}

static void read_capture(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace = NULL;
    assert_int_equal(ktrace_capture_read(&trace, capture), 0);
    ktrace_trace_destroy(trace);
}

static void look_at(struct ktrace_capture *capture)
{
    struct ktrace_trace *trace = NULL;
    assert_int_equal(ktrace_capture_snapshot(&trace, capture), 0);
    ktrace_trace_destroy(trace);
}

/* ---- Tests ---------------------------------------------------------------------------------------------------------- */

static void test_each_once(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL);
    run_waves(f, 2);
    look_at(capture); /* it grows */
    assert_silent();
    run_waves(f, 3);
    read_capture(capture);
    assert_one_trace(5);
    look_at(capture);
    read_capture(capture); /* nothing since */
    assert_silent();
    run_waves(f, 1);
    assert_int_equal(ktrace_capture_stop(capture), 0);
    assert_one_trace(1);
    look_at(capture);
    ktrace_capture_destroy(capture);
    assert_silent();
}

static void test_the_error_stays(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL);
    run_waves(f, 1);
    assert_int_equal(ktrace_capture_read(NULL, capture), KTRACE_ERROR_ARGUMENT);
    char before[1024];
    strcpy(before, ktrace_last_error());
    read_capture(capture);
    assert_string_equal(ktrace_last_error(), before);
    assert_one_trace(1);
    ktrace_capture_destroy(capture);
}

static void test_overflow(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_trace *trace = NULL;
    options.events_per_wave = 1;
    struct ktrace_capture *capture = begin(f, &options);
    run_waves(f, 1);
    assert_int_equal(ktrace_capture_end(&trace, capture), KTRACE_ERROR_OVERFLOW);
    const struct said said = listen();
    assert_int_equal(said.count, 1);
    if (strncmp(said.lines[0], "overflow the capture overflowed: ", 33) != 0)
        fail_msg("%s", said.lines[0]);
}

static void test_calls_that_are_refused(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL), *second = NULL;
    assert_int_equal(fake_begin(&second, &f->device, NULL), KTRACE_ERROR_STATE);
    assert_int_equal(ktrace_capture_clear(NULL), KTRACE_ERROR_ARGUMENT);
    ktrace_capture_destroy(capture);
    assert_silent();
}

/* A call that finds that a graph is captured hands over nothing, and the next one everything. */
static void test_calls_beside_a_graph(void **state)
{
    struct fixture *f = *state;
    struct ktrace_trace *trace = NULL;
    struct ktrace_capture *capture = begin(f, NULL);
    run_waves(f, 2);
    look_at(capture);
    f->device.building_graph = 1;
    assert_int_equal(ktrace_capture_clear(capture), KTRACE_ERROR_STATE);
    assert_int_equal(ktrace_capture_read(&trace, capture), KTRACE_ERROR_STATE);
    assert_int_equal(ktrace_capture_stop(capture), KTRACE_ERROR_STATE);
    assert_int_equal(ktrace_capture_end(&trace, capture), KTRACE_ERROR_STATE);
    ktrace_capture_destroy(capture);
    assert_silent();
    f->device.building_graph = 0;
    run_waves(f, 1);
    assert_int_equal(ktrace_capture_clear(capture), 0); /* of what could be looked at */
    assert_one_trace(2);
    ktrace_capture_destroy(capture);
    assert_silent();
}

static void test_last_look(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL);
    run_waves(f, 2);
    look_at(capture);
    run_waves(f, 3);
    kt_record_last_look(1000); /* as one: on the host, and on the device */
    assert_one_trace(5);
    ktrace_capture_destroy(capture);
    listen();
}

static void test_last_look_after_a_read(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL);
    run_waves(f, 2);
    read_capture(capture);
    assert_one_trace(2);
    kt_record_last_look(1000);
    assert_silent();
    run_waves(f, 4);
    kt_record_last_look(1000);
    assert_one_trace(4);
    ktrace_capture_destroy(capture);
    listen();
}

static void test_last_look_beside_a_read(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL);
    run_waves(f, 2);
    look_at(capture);
    run_waves(f, 3);
    kt_operation_lock(); /* somebody waits for the device */
    kt_record_last_look(20);
    kt_operation_unlock();
    assert_one_trace(3);
    kt_state_lock();
    kt_record_last_look(20);
    kt_state_unlock();
    const struct said said = listen();
    assert_int_equal(said.count, 2);
    assert_string_equal(said.lines[0],
                        "loss what was on the devices is lost: another thread was changing what records");
    assert_trace(said.lines[1], 2);
    ktrace_capture_destroy(capture);
    listen();
}

static void test_open_at_exit(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f, NULL);
    run_waves(f, 2);
    kt_record_captures();
    assert_one_trace(2);
    kt_record_captures(); /* in several ways at once */
    assert_silent();
    ktrace_capture_destroy(capture);
    assert_silent();
}

/* Static constructors of programs that are linked with libktrace.a run before those of the library, as this one does. */
static int on_from_the_start;
__attribute__((constructor)) static void ask_first(void)
{
    on_from_the_start = kt_record_is_on();
}

static void test_asked_by_a_constructor(void **state)
{
    (void)state;
    assert_int_equal(on_from_the_start, 1);
}

static void test_text_of_a_line(void **state)
{
    (void)state;
    assert_int_equal(kt_record_say(KT_RECORD_NOTE, "two\nlines, and \x1b[31m"), 1);
    const struct said said = listen();
    assert_int_equal(said.count, 1);
    assert_string_equal(said.lines[0], "note two\\x0Alines, and \\x1B[31m");
}

/* A program that closes what it does not know gets our number for a file of its own. */
static void test_descriptors_that_are_taken(void **state)
{
    (void)state;
    for (int i = 3; i < 64; i++)
        close(i);
    FILE *file = tmpfile();
    assert_non_null(file);
    const int first = fileno(file);
    int last = first;
    for (int i = 0; i < 40; i++)
        last = dup(first);
    assert_int_equal(kt_record_say(KT_RECORD_NOTE, "still there"), 1);
    const struct said said = listen();
    assert_int_equal(said.count, 1);
    assert_string_equal(said.lines[0], "note still there");
    assert_int_equal(lseek(first, 0, SEEK_END), 0);
    for (int i = first + 1; i <= last; i++)
        close(i);
    fclose(file);
}

static void test_forked_child(void **state)
{
    int status;
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        char path[4096];
        kt_record_say(KT_RECORD_NOTE, "of the child");
        snprintf(path, sizeof path, "%s/%ld-0.process", getenv(KT_RECORD_VARIABLE), (long)getpid());
        _exit(access(path, R_OK) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_silent();
}

static void remove_folder(const char *folder)
{
    DIR *opened = opendir(folder);
    const struct dirent *entry;
    while (opened && (entry = readdir(opened)) != NULL)
        unlinkat(dirfd(opened), entry->d_name, 0);
    if (opened)
        closedir(opened);
    rmdir(folder);
}

static int run_again(char **argv)
{
    char folder[4096];
    int status = 1;
    if (make_scratch(folder, sizeof folder) < 0 || setenv(KT_RECORD_VARIABLE, folder, 1) != 0)
        return 1;
    const pid_t child = fork();
    if (child == 0) {
        execv("/proc/self/exe", argv);
        _exit(1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        status = 1;
    remove_folder(folder);
    return status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!kt_record_is_on())
        return run_again(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked_by_a_constructor),
        cmocka_unit_test_setup_teardown(test_each_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_error_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_overflow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_calls_that_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_calls_beside_a_graph, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_last_look, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_last_look_after_a_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_last_look_beside_a_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_open_at_exit, set_up, tear_down),
        cmocka_unit_test(test_text_of_a_line),
        cmocka_unit_test(test_descriptors_that_are_taken),
        cmocka_unit_test(test_forked_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
