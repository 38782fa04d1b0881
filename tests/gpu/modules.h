/* modules.h - what test_modules.cu calls in the other modules. Each launches kernels of its own translation unit and returns
 * a cudaError_t. */
#ifndef KTRACE_TESTS_GPU_MODULES_H
#define KTRACE_TESTS_GPU_MODULES_H

extern "C" {
int launch_module_a(int *out, int blocks);
int launch_module_b(int *out, int blocks);
int launch_module_global(int *out, int blocks);
/* in each shared library */
typedef int (*launch_module_lib)(int blocks);
}

#endif
