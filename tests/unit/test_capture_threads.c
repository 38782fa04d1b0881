/* Captures on a device that hangs, fails or builds a graph, while other threads, forks and libraries come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "capture_fixture.h"

static int set_up_capture(void **state)
{
    set_up(state);
    struct fixture *f = *state;
    if (fake_begin(&f->capture, &f->device, NULL) < 0)
        fail_msg("begin: %s", ktrace_last_error());
    return 0;
}

static void run_wave(struct fixture *f, struct fake_module *module)
{
    struct fake_wave wave;
    fake_wave_begin(&wave, module, f->kernel, 0, 1, 1, 1000);
    fake_event(&wave, 0, f->mark, 1010);
    fake_wave_end(&wave, 1020);
}

static void *read_in_thread(void *argument)
{
    struct fixture *f = argument;
    struct ktrace_trace *trace = NULL;
    ktrace_capture_read(&trace, f->capture);
    return trace;
}

static pthread_t start_hung_read(struct fixture *f)
{
    pthread_t thread;
    __atomic_store_n(&f->device.hang, 1, __ATOMIC_RELEASE);
    assert_int_equal(pthread_create(&thread, NULL, read_in_thread, f), 0);
    while (!__atomic_load_n(&f->device.waiting, __ATOMIC_ACQUIRE))
        usleep(1000);
    return thread;
}

static struct ktrace_trace *finish_hung_read(struct fixture *f, pthread_t thread)
{
    void *trace;
    __atomic_store_n(&f->device.hang, 0, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(thread, &trace), 0);
    assert_non_null(trace);
    return trace;
}

/* Everything that must not wait for the device, while a read waits for one that hangs. */
static void test_hung_read_holds_nobody_up(void **state)
{
    struct fixture *f = *state;
    struct fake_module other;
    struct ktrace_trace *trace = NULL;
    make_module(f, &other);
    run_wave(f, &f->module);
    const pthread_t thread = start_hung_read(f);
    alarm(60); /* a deadlock ends the test */

    assert_int_equal(ktrace_capture_peek(&trace, f->capture), 0);
    assert_int_equal(info_of(trace).waves, 1);
    ktrace_trace_destroy(trace);
    ktrace_register(&other.registration); /* dlopen, dlclose and exit */
    ktrace_unregister(&other.registration);
    struct fake_device second;
    struct ktrace_capture *capture = NULL;
    fake_device_init(&second);
    assert_int_equal(fake_begin(&capture, &second, NULL), KTRACE_ERROR_STATE);

    trace = finish_hung_read(f, thread);
    alarm(0);
    assert_int_equal(info_of(trace).waves, 1);
    ktrace_trace_destroy(trace);
    assert_int_equal(ktrace_capture_end(NULL, f->capture), 0);
    fake_module_free(&other);
}

static void test_forked_child_is_free(void **state)
{
    struct fixture *f = *state;
    run_wave(f, &f->module);
    const pthread_t thread = start_hung_read(f);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        struct ktrace_trace *trace = NULL;
        const int left = ktrace_active() || ktrace_capture_end(&trace, f->capture) != KTRACE_ERROR_STATE;
        ktrace_unregister(&f->module.registration); /* as exit() does */
        _exit(left);
    }
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    struct ktrace_trace *trace = finish_hung_read(f, thread);
    assert_int_equal(info_of(trace).waves, 1);
    ktrace_trace_destroy(trace);
    assert_int_equal(ktrace_capture_end(NULL, f->capture), 0);
}

static void test_graph_capture_defers_the_end(void **state)
{
    struct fixture *f = *state;
    struct ktrace_trace *trace = NULL;
    run_wave(f, &f->module);
    f->device.building_graph = 1;
    assert_int_equal(ktrace_capture_end(&trace, f->capture), KTRACE_ERROR_STATE);
    assert_null(trace);
    ktrace_capture_destroy(f->capture);
    assert_int_equal(ktrace_active(), 1);
    run_wave(f, &f->module); /* its memory is still there */
    f->device.building_graph = 0;
    assert_int_equal(ktrace_capture_end(&trace, f->capture), 0);
    assert_int_equal(info_of(trace).waves, 2);
    ktrace_trace_destroy(trace);
    assert_int_equal(f->device.allocations, 0);
    assert_int_equal(fake_control(&f->module)->mode, KTRACE_MODE_DORMANT);
}

static void test_armed_modules_keep_their_memory(void **state)
{
    struct fixture *f = *state;
    const int before = f->device.allocations;
    f->device.fail_writes = 1;
    assert_int_equal(ktrace_capture_end(NULL, f->capture), KTRACE_ERROR_DEVICE);
    assert_non_null(strstr(ktrace_last_error(), "could not be disarmed"));
    assert_int_equal(ktrace_active(), 0);
    assert_int_equal(f->device.allocations, before);
    run_wave(f, &f->module); /* writes to it */
    fake_control(&f->module)->mode = KTRACE_MODE_DORMANT;
}

/* The mode goes last and alone, so that no kernel sees a half-armed module; disarming touches the mode and the room only, as
 * waves that are inside need the rest. */
static void test_mode_is_written_last(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(f->device.last_write, sizeof(uint32_t));
    assert_int_equal(f->device.writes, 2);
    const uint64_t headers = fake_control(&f->module)->headers;
    assert_int_equal(ktrace_capture_end(NULL, f->capture), 0);
    assert_int_equal(f->device.writes, 4);
    assert_int_equal(fake_control(&f->module)->headers, headers);
    assert_int_equal(fake_control(&f->module)->mode, KTRACE_MODE_DORMANT);
    assert_int_equal(fake_control(&f->module)->regions_per_partition, 0);
}

static void test_modules_that_come_late_are_named(void **state)
{
    struct fixture *f = *state;
    struct fake_module late, foreign;
    struct ktrace_trace *trace = NULL;
    make_module(f, &late);
    make_module(f, &foreign);
    fake_control(&foreign)->version = 99;
    ktrace_register(&late.registration);
    ktrace_register(&foreign.registration);
    run_wave(f, &f->module);
    assert_int_equal(ktrace_capture_read(&trace, f->capture), 0);
    assert_int_equal(info_of(trace).waves, 1);
    assert_non_null(strstr(ktrace_trace_warning(trace), "1 module loaded since the capture began records from now on"));
    assert_non_null(strstr(ktrace_trace_warning(trace), "wire version 99"));
    ktrace_trace_destroy(trace);
    ktrace_unregister(&foreign.registration);

    run_wave(f, &late);
    assert_int_equal(ktrace_capture_read(&trace, f->capture), 0);
    assert_int_equal(info_of(trace).waves, 1);
    assert_string_equal(ktrace_trace_warning(trace), "");
    ktrace_trace_destroy(trace);
    ktrace_unregister(&late.registration);
    const uint64_t writes = f->device.writes;
    assert_int_equal(ktrace_capture_end(NULL, f->capture), 0);
    assert_int_equal(f->device.writes, writes + 2); /* only what is still loaded is disarmed */
    fake_module_free(&late);
    fake_module_free(&foreign);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hung_read_holds_nobody_up, set_up_capture, tear_down),
        cmocka_unit_test_setup_teardown(test_forked_child_is_free, set_up_capture, tear_down),
        cmocka_unit_test_setup_teardown(test_graph_capture_defers_the_end, set_up_capture, tear_down),
        cmocka_unit_test_setup_teardown(test_armed_modules_keep_their_memory, set_up_capture, tear_down),
        cmocka_unit_test_setup_teardown(test_mode_is_written_last, set_up_capture, tear_down),
        cmocka_unit_test_setup_teardown(test_modules_that_come_late_are_named, set_up_capture, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
