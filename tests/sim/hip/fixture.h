/* fixture.h - what tests of the simulator's HIP interface begin with. KERNELS is the path of kernels.c's code object. */
#ifndef FIXTURE_H
#define FIXTURE_H

/* clang-format off: cmocka needs the first four before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* clang-format on */

#include "hip/hip_api.h"

/* A call that must succeed. */
#define ok(call) \
    do { \
        const hipError_t ok_status = (call); \
        if (ok_status != hipSuccess) \
            fail_msg("%s: %s: %s", #call, hipGetErrorName(ok_status), ktrace_simulator_error()); \
    } while (0)

/* A call that must fail with this code, and with a sentence that holds `words`. */
#define fails(call, code, words) \
    do { \
        const hipError_t fails_status = (call); \
        if (fails_status != (code) || !strstr(ktrace_simulator_error(), words)) \
            fail_msg("%s: %s: %s", #call, hipGetErrorName(fails_status), ktrace_simulator_error()); \
        assert_int_equal(hipGetLastError(), (code) == hipErrorNotReady ? hipSuccess : (code)); \
    } while (0)

static inline hipModule_t load_kernels(void)
{
    hipModule_t module = NULL;
    ok(hipModuleLoad(&module, KERNELS));
    return module;
}

static inline hipFunction_t kernel_named(hipModule_t module, const char *name)
{
    hipFunction_t function = NULL;
    ok(hipModuleGetFunction(&function, module, name));
    return function;
}

/* Workgroups of `block` workitems; arguments are addresses of values. */
#define launch(function, grid, block, stream, ...) \
    hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, (void *[]){__VA_ARGS__}, NULL)

static inline void *device_zeros(size_t bytes)
{
    void *memory = NULL;
    ok(hipMalloc(&memory, bytes));
    ok(hipMemset(memory, 0, bytes));
    return memory;
}

static inline float milliseconds_between(hipEvent_t start, hipEvent_t stop)
{
    float milliseconds = -1;
    ok(hipEventElapsedTime(&milliseconds, start, stop));
    return milliseconds;
}

/* 100 MHz: ticks of spin(). */
#define SPIN_10_US 1000
#define SPIN_100_US 10000

#endif
