/* The HIP backend on the simulator: what a host program does to capture kernels of a code object, from ktrace_hip_library to the
 * trace. KERNELS is the path of kernels.c's code object. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ktrace/ktrace.h"

/* ---- The host program -------------------------------------------------------------------------------------------- */

struct hip {
    int (*module_load)(void **module, const char *path);
    int (*module_unload)(void *module);
    int (*get_function)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared, void *stream, void **arguments, void **extra);
    int (*allocate)(void **memory, size_t bytes);
    int (*free)(void *memory);
    int (*copy)(void *to, const void *from, size_t bytes, int kind);
    int (*host_allocate)(void **memory, size_t bytes, unsigned flags);
    int (*host_free)(void *memory);
    int (*synchronize)(void);
    int (*begin_stream_capture)(void *stream, int mode);
    int (*end_stream_capture)(void *stream, void **graph);
    int (*stream_create)(void **stream);
    const char *(*error_name)(int error);
    int (*last_error)(void);
};

struct program {
    struct hip hip;
    void *module, *phases, *waits, *memory;
};

static void ok(const struct program *p, int error)
{
    if (error)
        fail_msg("HIP: %s", p->hip.error_name(error));
}

static void must(int status)
{
    if (status < 0)
        fail_msg("%s: %s", ktrace_status_name(status), ktrace_last_error());
}

static int set_up(void **state)
{
    struct program *p = calloc(1, sizeof *p);
    const char *path;
    must(ktrace_hip_library(&path));
    void *library = dlopen(path, RTLD_NOW);
    const struct {
        const char *name;
        void *slot;
    } functions[] = {{"hipModuleLoad", &p->hip.module_load},
                     {"hipModuleUnload", &p->hip.module_unload},
                     {"hipModuleGetFunction", &p->hip.get_function},
                     {"hipModuleLaunchKernel", &p->hip.launch},
                     {"hipMalloc", &p->hip.allocate},
                     {"hipFree", &p->hip.free},
                     {"hipMemcpy", &p->hip.copy},
                     {"hipHostMalloc", &p->hip.host_allocate},
                     {"hipHostFree", &p->hip.host_free},
                     {"hipDeviceSynchronize", &p->hip.synchronize},
                     {"hipStreamBeginCapture", &p->hip.begin_stream_capture},
                     {"hipStreamEndCapture", &p->hip.end_stream_capture},
                     {"hipStreamCreate", &p->hip.stream_create},
                     {"hipGetErrorName", &p->hip.error_name},
                     {"hipGetLastError", &p->hip.last_error}};
    assert_non_null(library);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        *(void **)functions[i].slot = dlsym(library, functions[i].name);
        if (*(void **)functions[i].slot == NULL)
            fail_msg("%s has no %s", path, functions[i].name);
    }
    ok(p, p->hip.module_load(&p->module, KERNELS));
    ok(p, p->hip.get_function(&p->phases, p->module, "phases"));
    ok(p, p->hip.get_function(&p->waits, p->module, "waits"));
    ok(p, p->hip.allocate(&p->memory, 1 << 16));
    must(ktrace_attach_hip_module(p->module));
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct program *p = *state;
    must(ktrace_detach_hip_module(p->module));
    ok(p, p->hip.module_unload(p->module));
    ok(p, p->hip.free(p->memory));
    free(p);
    return 0;
}

static void launch_phases(struct program *p, unsigned groups, unsigned threads, int steps)
{
    void *arguments[] = {&p->memory, &steps};
    ok(p, p->hip.launch(p->phases, groups, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL));
}

static struct ktrace_trace_info info_of(const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    must(ktrace_trace_get_info(&info, trace));
    return info;
}

static struct ktrace_event_info event_of(const struct ktrace_trace *trace, uint64_t wave, uint32_t index)
{
    struct ktrace_event_info event = {.struct_size = sizeof event};
    must(ktrace_trace_event(&event, trace, wave, index));
    return event;
}

/* ---- Captures ---------------------------------------------------------------------------------------------------- */

static void test_records(void **state)
{
    struct program *p = *state;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    int results[128 * 6];
    launch_phases(p, 6, 128, 3); /* dormant */
    must(ktrace_capture_begin(&capture, NULL));
    launch_phases(p, 6, 128, 3);
    launch_phases(p, 2, 64, 0);
    must(ktrace_capture_end(&trace, capture));
    launch_phases(p, 6, 128, 3); /* dormant again */
    ok(p, p->hip.copy(results, p->memory, sizeof results, 2));
    for (int i = 0; i < 128 * 6; i++)
        assert_int_equal(results[i], i + 3);

    const struct ktrace_trace_info info = info_of(trace);
    assert_string_equal(ktrace_trace_warning(trace), "");
    assert_int_equal(info.arch, KTRACE_ARCH_AMDGCN);
    assert_int_equal(info.simulated, 1);
    assert_true(info.places > 0);
    assert_non_null(strstr(info.device, "gfx9"));
    assert_int_equal(info.launches, 2);
    assert_int_equal(info.waves, 14);
    assert_int_equal(info.events, 12 * 7 + 2 * 4);
    assert_true(info.clock_hz == 1e8);
    struct ktrace_launch_info launch = {.struct_size = sizeof launch}, second = launch;
    must(ktrace_trace_launch(&launch, trace, 0));
    must(ktrace_trace_launch(&second, trace, 1));
    assert_string_equal(launch.kernel, "phases");
    assert_int_equal(launch.waves_launched, 12);
    assert_int_equal(launch.grid[0], 6);
    assert_int_equal(launch.block[0], 128);
    assert_int_not_equal(launch.queue, 0);
    assert_int_equal(second.queue, launch.queue);
    assert_true(second.grid_id > launch.grid_id);
    for (uint64_t wave = 0; wave < 12; wave++) {
        static const char *const names[] = {"body", "all steps", "step", "step", "step", "", ""};
        int64_t before = INT64_MIN;
        for (uint32_t i = 0; i < 7; i++) {
            const struct ktrace_event_info event = event_of(trace, wave, i);
            if (event.kind != KTRACE_KIND_STOP)
                assert_string_equal(event.name, names[i]);
            assert_true(event.time_ps >= before);
            before = event.time_ps;
        }
        assert_int_equal(event_of(trace, wave, 0).payload, 3);
        assert_int_equal(event_of(trace, wave, 4).payload, 2l << 40);
        assert_int_equal(event_of(trace, wave, 0).partner, 6);
        assert_int_equal(event_of(trace, wave, 1).partner, 5);
        assert_non_null(strstr(event_of(trace, wave, 2).file, "kernels.c"));
    }
    ktrace_trace_destroy(trace);
}

/* Rings that are full to the last slot, wrap once, and many times. */
static void test_rings(void **state)
{
    struct program *p = *state;
    for (int steps = 0; steps < 60; steps += 1 + steps / 12) {
        struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
        struct ktrace_capture *capture;
        struct ktrace_trace *trace;
        const uint32_t slots = 2 + 1 + 2 * (uint32_t)steps + 1 + 1;
        options.events_per_wave = 16;
        options.buffer_bytes = 1 << 16;
        must(ktrace_capture_begin(&capture, &options));
        launch_phases(p, 2, 64, steps);
        const int status = ktrace_capture_read(&trace, capture);
        if (slots <= 16) {
            must(status);
            assert_int_equal(info_of(trace).events, 2 * (4 + steps));
            ktrace_trace_destroy(trace);
        } else {
            char says[64];
            snprintf(says, sizeof says, "begin with events_per_wave >= %u", slots);
            assert_int_equal(status, KTRACE_ERROR_OVERFLOW);
            assert_non_null(strstr(ktrace_last_error(), says));
        }
        ktrace_capture_destroy(capture);
        options.keep_last = 1;
        must(ktrace_capture_begin(&capture, &options));
        launch_phases(p, 2, 64, steps);
        must(ktrace_capture_end(&trace, capture));
        assert_int_equal(info_of(trace).slots_corrupt, 0);
        for (uint64_t wave = 0; wave < 2; wave++) {
            struct ktrace_wave_info info = {.struct_size = sizeof info};
            must(ktrace_trace_wave(&info, trace, wave));
            assert_int_equal(event_of(trace, wave, info.events - 1).kind, KTRACE_KIND_POP);
            for (int i = 0; i < 5 && i < steps; i++) /* the newest steps, behind them a stop and a pop */
                assert_int_equal(event_of(trace, wave, info.events - 3 - (uint32_t)i).payload, (uint64_t)(steps - 1 - i)
                                                                                                   << 40);
        }
        ktrace_trace_destroy(trace);
    }
}

static void test_filter(void **state)
{
    struct program *p = *state;
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    filter.workgroup_step = 2;
    filter.wave_mask_low = 2;
    options.filter = &filter;
    must(ktrace_capture_begin(&capture, &options));
    launch_phases(p, 5, 256, 1);
    must(ktrace_capture_end(&trace, capture));
    assert_int_equal(info_of(trace).waves, 3);
    assert_int_equal(info_of(trace).waves_filtered, 17);
    for (uint64_t i = 0; i < 3; i++) {
        struct ktrace_wave_info wave = {.struct_size = sizeof wave};
        must(ktrace_trace_wave(&wave, trace, i));
        assert_int_equal(wave.wave, 1);
        assert_int_equal(wave.workgroup[0] % 2, 0);
    }
    ktrace_trace_destroy(trace);
}

static void *wait_for_flag(void *argument)
{
    struct program *p = argument;
    p->hip.synchronize();
    return NULL;
}

/* A look at waves that are inside their kernel, while another thread waits for them. */
static void test_peek(void **state)
{
    struct program *p = *state;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    int *flag;
    pthread_t waiting;
    ok(p, p->hip.host_allocate((void **)&flag, sizeof *flag, 0));
    *flag = 0;
    must(ktrace_capture_begin(&capture, NULL));
    void *arguments[] = {&flag};
    ok(p, p->hip.launch(p->waits, 2, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
    assert_int_equal(pthread_create(&waiting, NULL, wait_for_flag, p), 0);
    for (uint64_t waves = 0; waves < 2;) {
        must(ktrace_capture_peek(&trace, capture));
        const struct ktrace_trace_info info = info_of(trace);
        waves = info.ranges_unclosed;
        assert_int_equal(info.waves_unfinished, info.waves);
        if (waves == 2)
            assert_string_equal(event_of(trace, 1, 0).name, "waiting");
        ktrace_trace_destroy(trace);
    }
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    must(ktrace_capture_end(&trace, capture));
    pthread_join(waiting, NULL);
    assert_int_equal(info_of(trace).waves_unfinished, 0);
    assert_int_equal(info_of(trace).events, 4);
    ktrace_trace_destroy(trace);
    ok(p, p->hip.host_free(flag));
}

/* No stream is waited for while it becomes a graph. */
static void test_graph_construction(void **state)
{
    struct program *p = *state;
    struct ktrace_capture *capture, *second = NULL;
    struct ktrace_trace *trace = NULL;
    void *stream, *graph;
    ok(p, p->hip.stream_create(&stream));
    must(ktrace_capture_begin(&capture, NULL));
    ok(p, p->hip.begin_stream_capture(stream, 0));
    assert_int_equal(ktrace_capture_read(&trace, capture), KTRACE_ERROR_STATE);
    assert_non_null(strstr(ktrace_last_error(), "while a stream is being captured into a HIP graph"));
    assert_int_equal(p->hip.last_error(), 0); /* what we asked is no error of the program's */
    assert_int_equal(ktrace_capture_clear(capture), KTRACE_ERROR_STATE);
    assert_int_equal(ktrace_capture_end(&trace, capture), KTRACE_ERROR_STATE);
    assert_int_equal(ktrace_capture_begin(&second, NULL), KTRACE_ERROR_STATE);
    ok(p, p->hip.end_stream_capture(stream, &graph)); /* it was not spoilt */
    must(ktrace_capture_end(&trace, capture));
    ktrace_trace_destroy(trace);
}

static void test_attaching(void **state)
{
    struct program *p = *state;
    void *untraced;
    assert_int_equal(ktrace_attach_hip_module(p->module), KTRACE_ERROR_STATE);
    assert_non_null(strstr(ktrace_last_error(), "is attached already"));
    ok(p, p->hip.module_load(&untraced, UNTRACED_KERNELS));
    assert_int_equal(ktrace_attach_hip_module(untraced), KTRACE_ERROR_NOT_FOUND);
    assert_non_null(strstr(ktrace_last_error(), "compile it with KTRACE_ENABLE=1"));
    assert_int_equal(p->hip.last_error(), 0);
    assert_int_equal(ktrace_detach_hip_module(untraced), KTRACE_ERROR_NOT_FOUND);
    assert_int_equal(ktrace_detach_cuda_module(p->module), KTRACE_ERROR_NOT_FOUND);
    ok(p, p->hip.module_unload(untraced));

    struct ktrace_capture *capture; /* detached, it is dormant, and what it recorded can still be read */
    struct ktrace_trace *trace;
    must(ktrace_capture_begin(&capture, NULL));
    launch_phases(p, 1, 64, 1);
    must(ktrace_detach_hip_module(p->module));
    launch_phases(p, 1, 64, 1);
    must(ktrace_attach_hip_module(p->module));
    launch_phases(p, 1, 64, 1);
    must(ktrace_capture_end(&trace, capture));
    assert_int_equal(info_of(trace).launches, 2);
    assert_int_equal(info_of(trace).slots_corrupt, 0);
    ktrace_trace_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_filter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_attaching, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_peek, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_graph_construction, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
