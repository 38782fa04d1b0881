/* Programs on CUDA, with a driver in this file: contexts that come and go, and what the driver refuses. The linker puts
 * __wrap_kt_cuda_api_open and __wrap_kt_nvrtc_open in the place of the library's functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cuda_api.h"
#include "backend/nvrtc_api.h"
#include "error.h"
#include "fake_program.h"
#include "ktrace/ktrace.h"

/* ---- The driver -------------------------------------------------------------------------------------------------- */

struct CUctx_st {
    unsigned long long id; /* 0: destroyed */
    int device;
};
static struct CUctx_st contexts[4];
static struct CUctx_st *stack[8]; /* of the one thread; the last is current */
static int depth;
static unsigned long long ids;
static int loads, unloads, load_result;
static struct CUctx_st *unloaded_in;

static struct CUctx_st *now(void)
{
    return depth ? stack[depth - 1] : NULL;
}

static kt_cu_context create(int slot, int device)
{
    contexts[slot] = (struct CUctx_st){.id = ++ids, .device = device};
    stack[depth++] = &contexts[slot];
    return now();
}

static int error_name(kt_cu_result result, const char **name)
{
    *name = result == KT_CU_ERROR_STREAM_CAPTURE_FIRST ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" : "CUDA_ERROR_X";
    return KT_CU_SUCCESS;
}

static int error_text(kt_cu_result result, const char **text)
{
    (void)result;
    *text = "in the driver's words";
    return KT_CU_SUCCESS;
}

static int device_count(int *count)
{
    *count = 2;
    return KT_CU_SUCCESS;
}

static int attribute(int *value, int which, kt_cu_device device)
{
    *value = which == KT_CU_ATTRIBUTE_CAPABILITY_MAJOR ? (device == 0 ? 9 : 10) : device == 0 ? 0 : 3;
    return KT_CU_SUCCESS;
}

static int get_current(kt_cu_context *context)
{
    *context = now();
    return KT_CU_SUCCESS;
}

static int get_id(kt_cu_context context, unsigned long long *id)
{
    *id = context->id;
    return context->id ? KT_CU_SUCCESS : 709; /* CUDA_ERROR_CONTEXT_IS_DESTROYED */
}

static int get_device(kt_cu_device *device)
{
    *device = now()->device;
    return KT_CU_SUCCESS;
}

static int push(kt_cu_context context)
{
    assert_int_not_equal(context->id, 0);
    stack[depth++] = context;
    return KT_CU_SUCCESS;
}

static int pop(kt_cu_context *context)
{
    *context = stack[--depth];
    return KT_CU_SUCCESS;
}

static int load(kt_cu_module *module, const void *image)
{
    if (load_result)
        return load_result;
    loads++;
    *module = (kt_cu_module)(void *)strdup(image);
    return KT_CU_SUCCESS;
}

static int unload(kt_cu_module module)
{
    unloads++;
    unloaded_in = now();
    free(module);
    return KT_CU_SUCCESS;
}

static int function(kt_cu_function *out, kt_cu_module module, const char *name)
{
    char line[96];
    snprintf(line, sizeof line, "kernel %s;", name);
    char *found = strstr((const char *)module, line);
    *out = (kt_cu_function)(void *)found;
    return found ? KT_CU_SUCCESS : KT_CU_ERROR_NOT_FOUND;
}

/* The control block of a module that was compiled with annotations. */
static int global(kt_cu_pointer *address, size_t *bytes, kt_cu_module module, const char *name)
{
    (void)bytes, (void)name;
    *address = 64;
    return strstr((const char *)module, "option -DKTRACE_ENABLE=1") ? KT_CU_SUCCESS : KT_CU_ERROR_NOT_FOUND;
}

int __wrap_kt_cuda_api_open(const struct kt_cuda_api **out);
int __wrap_kt_nvrtc_open(const struct kt_rtc_api **out);

int __wrap_kt_cuda_api_open(const struct kt_cuda_api **out)
{
    static const struct kt_cuda_api api = {.get_error_name = error_name,
                                           .get_error_string = error_text,
                                           .device_count = device_count,
                                           .device_get_attribute = attribute,
                                           .context_get_current = get_current,
                                           .context_get_id = get_id,
                                           .context_get_device = get_device,
                                           .context_push = push,
                                           .context_pop = pop,
                                           .module_load_data = load,
                                           .module_unload = unload,
                                           .module_get_function = function,
                                           .module_get_global = global};
    *out = &api;
    return KTRACE_OK;
}

int __wrap_kt_nvrtc_open(const struct kt_rtc_api **out)
{
    *out = &fake_compiler;
    return KTRACE_OK;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    (void)state;
    fake_program_reset();
    depth = loads = unloads = load_result = 0;
    unloaded_in = NULL;
    return 0;
}

static struct ktrace_program *create_program(int trace)
{
    struct ktrace_program_options options = KTRACE_PROGRAM_OPTIONS_INIT;
    struct ktrace_program *program;
    options.backend = "cuda";
    options.trace = trace;
    options.cache_directory = "";
    assert_int_equal(ktrace_program_create(&program, "text", &options), 0);
    return program;
}

static void *kernel_of(struct ktrace_program *program, const char *kernel)
{
    void *found = NULL;
    if (ktrace_program_kernel(&found, program, kernel) < 0)
        fail_msg("%s", ktrace_last_error());
    return found;
}

static void test_contexts(void **state)
{
    (void)state;
    struct ktrace_program *program = create_program(KTRACE_PROGRAM_TRACE_ALWAYS);
    const kt_cu_context a = create(0, 0);
    void *in_a = kernel_of(program, "gemm<float>");
    assert_non_null(strstr(fake_image_of(in_a), "option --gpu-architecture=sm_90\n"));
    create(1, 0);
    void *in_b = kernel_of(program, "gemm<float>");
    assert_ptr_not_equal(in_b, in_a);
    assert_int_equal(fake.compilations, 1);
    create(2, 1);
    assert_non_null(strstr(fake_image_of(kernel_of(program, "gemm<float>")), "option --gpu-architecture=sm_103\n"));
    assert_int_equal(fake.compilations, 2);
    stack[depth++] = a;
    assert_ptr_equal(kernel_of(program, "gemm<float>"), in_a);
    assert_int_equal(loads, 3);
    const int before = depth;
    ktrace_program_destroy(program);
    assert_int_equal(unloads, 3);
    assert_ptr_equal(unloaded_in, &contexts[0]); /* units and their modules, newest first */
    assert_int_equal(depth, before);
    assert_ptr_equal(now(), a);
}

/* Another context at the same address: what was loaded in the first one is gone with it. */
static void test_a_context_that_is_gone(void **state)
{
    (void)state;
    struct ktrace_program *program = create_program(KTRACE_PROGRAM_TRACE_ALWAYS);
    create(0, 0);
    void *first = kernel_of(program, "gemm<float>");
    depth = 0;
    contexts[0].id = 0;
    create(0, 0);
    void *second = kernel_of(program, "gemm<float>");
    assert_ptr_not_equal(second, first);
    assert_int_equal(fake.compilations, 1);
    assert_int_equal(loads, 2);
    depth = 0;
    create(1, 0);
    kernel_of(program, "gemm<float>");
    contexts[0].id = 0;
    ktrace_program_destroy(program);
    assert_int_equal(unloads, 1); /* only where there is a context to enter */
    assert_ptr_equal(unloaded_in, &contexts[1]);
    free((void *)(uintptr_t)fake_image_of(first)); /* as a driver does with the context */
    free((void *)(uintptr_t)fake_image_of(second));
}

static void test_no_context(void **state)
{
    (void)state;
    void *found;
    struct ktrace_program *program = create_program(KTRACE_PROGRAM_TRACE_AUTO);
    assert_int_equal(ktrace_program_kernel(&found, program, "gemm"), KTRACE_ERROR_NO_DEVICE);
    assert_non_null(strstr(ktrace_last_error(), "this thread has none: call cuCtxSetCurrent"));
    create(0, 0);
    kernel_of(program, "gemm");
    ktrace_program_destroy(program);
}

static void test_the_driver_refuses(void **state)
{
    (void)state;
    void *found;
    struct ktrace_program *program = create_program(KTRACE_PROGRAM_TRACE_NEVER);
    create(0, 0);
    load_result = 209; /* CUDA_ERROR_NO_BINARY_FOR_GPU */
    assert_int_equal(ktrace_program_kernel(&found, program, "gemm"), KTRACE_ERROR_DEVICE);
    assert_string_equal(ktrace_last_error(), "loading a compiled program failed: in the driver's words (CUDA_ERROR_X)");
    load_result = KT_CU_ERROR_STREAM_CAPTURE_FIRST;
    assert_int_equal(ktrace_program_kernel(&found, program, "gemm"), KTRACE_ERROR_STATE);
    assert_string_equal(ktrace_last_error(),
                        "a program cannot be loaded while a stream is being captured into a CUDA graph: "
                        "ask ktrace_program_kernel for its kernels before");
    load_result = 0;
    kernel_of(program, "gemm");
    assert_int_equal(fake.compilations, 1);
    ktrace_program_destroy(program);
}

/* The registry knows the traced module as long as it is loaded. */
static void test_attached(void **state)
{
    (void)state;
    create(0, 0);
    struct ktrace_program *program = create_program(KTRACE_PROGRAM_TRACE_ALWAYS),
                          *untraced = create_program(KTRACE_PROGRAM_TRACE_NEVER);
    void *module = (void *)(uintptr_t)fake_image_of(kernel_of(program, "gemm"));
    assert_int_equal(ktrace_attach_cuda_module(module), KTRACE_ERROR_STATE); /* already */
    void *plain = (void *)(uintptr_t)fake_image_of(kernel_of(untraced, "gemm"));
    assert_int_equal(ktrace_detach_cuda_module(plain), KTRACE_ERROR_NOT_FOUND);
    ktrace_program_destroy(program);
    assert_int_equal(ktrace_detach_cuda_module(module), KTRACE_ERROR_NOT_FOUND);
    ktrace_program_destroy(untraced);
    assert_int_equal(unloads, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_contexts, set_up),   cmocka_unit_test_setup(test_a_context_that_is_gone, set_up),
        cmocka_unit_test_setup(test_no_context, set_up), cmocka_unit_test_setup(test_the_driver_refuses, set_up),
        cmocka_unit_test_setup(test_attached, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
