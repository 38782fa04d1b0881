/* Which runtime a capture is of, and what it says of modules of the other. No driver is needed: no library is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_fixture.h"
#include "fake_amdgcn.h"

static void assert_says(const char *words)
{
    if (!strstr(ktrace_last_error(), words))
        fail_msg("\"%s\" is not in: %s", words, ktrace_last_error());
}

static int begin(const char *backend)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture = NULL;
    options.backend = backend;
    const int status = ktrace_capture_begin(&capture, &options);
    ktrace_capture_destroy(capture);
    return status;
}

/* For the whole process: HIP's library is chosen once. */
static int without_libraries(void **state)
{
    (void)state;
    setenv("KTRACE_HIP_LIBRARY", "/nonexistent/libamdhip64.so", 1);
    unsetenv("KTRACE_BACKEND");
    return 0;
}

static void test_unknown_names_are_quoted(void **state)
{
    (void)state;
    assert_int_equal(begin("rocm"), KTRACE_ERROR_ARGUMENT);
    assert_says("ktrace_capture_options.backend asks for the backend \"rocm\": there are \"cuda\" and \"hip\"");
    setenv("KTRACE_BACKEND", "Cuda", 1);
    assert_int_equal(begin(NULL), KTRACE_ERROR_ARGUMENT);
    assert_says("KTRACE_BACKEND asks for the backend \"Cuda\"");
    assert_int_equal(begin(""), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(begin("hip"), KTRACE_ERROR_ARGUMENT); /* as any malformed variable */
    assert_says("KTRACE_BACKEND asks for the backend \"Cuda\"");
    setenv("KTRACE_BACKEND", "cuda", 1);
    assert_int_equal(begin("hip"), KTRACE_ERROR_NO_DEVICE); /* the option decides */
    assert_says("/nonexistent/libamdhip64.so");
    unsetenv("KTRACE_BACKEND");
}

static void test_library_that_is_not_there(void **state)
{
    (void)state;
    const char *path;
    assert_int_equal(ktrace_hip_library(NULL), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_hip_library(&path), KTRACE_ERROR_NO_DEVICE);
    assert_says("KTRACE_HIP_LIBRARY names a library that cannot be used: /nonexistent/libamdhip64.so");
    setenv("KTRACE_BACKEND", "hip", 1);
    assert_int_equal(begin(NULL), KTRACE_ERROR_NO_DEVICE);
    assert_says("/nonexistent/libamdhip64.so");
    unsetenv("KTRACE_BACKEND");
    int module;
    assert_int_equal(ktrace_attach_hip_module(NULL), KTRACE_ERROR_ARGUMENT);
    assert_says("ktrace_attach_hip_module: the module is NULL");
    assert_int_equal(ktrace_attach_hip_module(&module), KTRACE_ERROR_NO_DEVICE);
    assert_int_equal(ktrace_detach_hip_module(&module), KTRACE_ERROR_NOT_FOUND);
}

/* What is known decides: with modules of HIP alone nobody asks for CUDA. */
static void test_modules_decide(void **state)
{
    (void)state;
    struct fake_amdgcn module;
    fake_amdgcn_init(&module, 1);
    ktrace_register(&module.registration);
    assert_int_equal(begin(NULL), KTRACE_ERROR_NO_DEVICE);
    assert_null(strstr(ktrace_last_error(), "CUDA"));
    assert_says("KTRACE_HIP_LIBRARY");
    ktrace_unregister(&module.registration);
    fake_amdgcn_free(&module);
}

static struct ktrace_trace *empty_trace(struct fake_device *device)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    options.buffer_bytes = 1 << 16;
    assert_int_equal(fake_begin(&capture, device, &options), 0);
    assert_int_equal(ktrace_capture_end(&trace, capture), 0);
    return trace;
}

/* A module of the other runtime is left alone, and named where it may be why nothing is there. */
static void test_modules_of_the_other_runtime(void **state)
{
    struct fixture *f = *state;
    struct fake_amdgcn module;
    fake_amdgcn_init(&module, 1);
    ktrace_register(&module.registration);
    struct ktrace_trace *trace = empty_trace(&f->device);
    if (!strstr(ktrace_trace_warning(trace), "no kernel with KTRACE_KERNEL ran"))
        fail_msg("%s", ktrace_trace_warning(trace));
    assert_non_null(
        strstr(ktrace_trace_warning(trace),
               "this capture is of a CUDA device and cannot see 1 annotated HIP module (fake.hip): to record "
               "it begin with the backend \"hip\""));
    assert_int_equal(module.control->base.mode, 0);
    ktrace_trace_destroy(trace);

    fake_device_init(&f->device);
    f->device.arch = KTRACE_ARCH_AMDGCN;
    trace = empty_trace(&f->device);
    assert_non_null(strstr(ktrace_trace_warning(trace), "of a HIP device and cannot see 1 annotated CUDA module "
                                                        "(fake.cu): to record it begin with the backend \"cuda\""));
    ktrace_trace_destroy(trace);

    ktrace_unregister(&module.registration);
    fake_amdgcn_free(&module);
    fake_device_init(&f->device);
    f->device.arch = KTRACE_ARCH_AMDGCN;
    trace = empty_trace(&f->device);
    assert_non_null(strstr(ktrace_trace_warning(trace), "ktrace_attach_hip_module"));
    ktrace_trace_destroy(trace);
}

/* A struct that ends before `arch`, as an older header has it: CUDA's. */
static void test_old_registration(void **state)
{
    struct fixture *f = *state;
    ktrace_unregister(&f->module.registration);
    f->module.registration.struct_size = offsetof(struct ktrace_registration, arch);
    f->module.registration.arch = KTRACE_ARCH_AMDGCN; /* not there */
    ktrace_register(&f->module.registration);
    struct ktrace_trace *trace = empty_trace(&f->device);
    assert_null(strstr(ktrace_trace_warning(trace), "HIP"));
    assert_non_null(strstr(ktrace_trace_warning(trace), "no kernel with KTRACE_KERNEL ran"));
    ktrace_trace_destroy(trace);
    assert_true(f->device.writes > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_names_are_quoted),
        cmocka_unit_test(test_library_that_is_not_there),
        cmocka_unit_test(test_modules_decide),
        cmocka_unit_test_setup_teardown(test_modules_of_the_other_runtime, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_registration, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, without_libraries, NULL);
}
