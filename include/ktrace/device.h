/* ktrace/device.h - annotations for kernels: CUDA C++ by nvcc and NVRTC, and for gfx942 and gfx950 HIP C++, C and OpenCL C by clang.
 *
 *     __global__ void gemm(...)
 *     {
 *         KTRACE_KERNEL("gemm");                       // first in the kernel
 *         {
 *             KTRACE_RANGE("prologue");                // to the end of the enclosing block
 *             load_first_tiles();
 *         }
 *         ktrace_token tile = KTRACE_INACTIVE_TOKEN("k_tile");
 *         for (int k = 0; k < tiles; k++) {
 *             tile = KTRACE_RANGE_NEXT(tile, "k_tile", k);  // closes the last one, opens one with a payload
 *             ...
 *         }
 *         KTRACE_RANGE_STOP(tile);
 *         KTRACE_MARK("done");
 *     }
 *
 * Compile with KTRACE_ENABLE=1 to record. With 0, the default, every macro expands to nothing that reaches the binary
 * and payload expressions are not evaluated. Names are string literals.
 *
 *   KTRACE_KERNEL(name)               once, first in the kernel: declares the wave's handle; the wave's span lasts from here to
 *                                     the end of the enclosing scope
 *   KTRACE_KERNEL_IF(traced, name)    the same for a kernel template with both specializations in one binary: `traced` is
 *                                     a constant; the host chooses by ktrace_active()
 *   KTRACE_RANGE(name [, payload])    from here to the end of the enclosing block, however it is left
 *   KTRACE_MARK(name [, payload])     a point in time
 *   KTRACE_RANGE_PUSH(name [, payload]), KTRACE_RANGE_POP()   a range that ends in another block: a pop closes the one that
 *                                     was pushed last
 *   KTRACE_RANGE_START(name [, payload]) -> ktrace_token, KTRACE_RANGE_STOP(token [, payload])   a range that may overlap
 *                                     others and cross iterations: a stop closes the one whose token it is given
 *   KTRACE_RANGE_NEXT(token, name [, payload]) -> ktrace_token   a stop and a start at one instant, for the price of a stop
 *   KTRACE_INACTIVE_TOKEN(name)       a token whose stop records nothing
 *   KTRACE_PIN(x)                     x is computed before the next event, and what uses x after the last one: it orders code, and
 *                                     is no instruction. Where x waits for a load, an NVIDIA GPU may pass the event meanwhile
 *   KTRACE_WAIT(x)                    the same, and what x needs has arrived before the next event: the wave waits there. On NVIDIA
 *                                     it takes two instructions, three if x has 64 bits; on AMD a pin does wait, and this is one
 *   KTRACE_PARAM, KTRACE_ARG          hand the handle to a device function: f(int a KTRACE_PARAM), f(1 KTRACE_ARG)
 *   KTRACE_PARAM_ONLY, KTRACE_ARG_ONLY   the same for a function without other parameters
 *   KTRACE_PARAM_IF(traced), KTRACE_PARAM_ONLY_IF(traced)   the parameter in a template called from a KTRACE_KERNEL_IF kernel
 *
 * Payloads: bool, integers up to 64 bits (cast an enum), half, bfloat16, float, double; under divergence the value of the lane
 * that records, which is the first active one. Anything else is a compile error. A payload with commas goes in parentheses.
 *
 * Annotations belong in kernels and device functions and in lambdas there that capture by reference; in a __host__ __device__
 * function put them between #ifdef __CUDA_ARCH__ and #endif. On AMD include this behind HIP's headers, and let functions and
 * lambdas that have annotations be always inlined; KTRACE_KERNEL_IF is C++ only. docs/annotating.md has more.
 *
 * KTRACE_SITES_IN_GLOBAL=1 moves the descriptors of a module from its 64 KiB constant bank to global memory, for modules
 * where ptxas says "uses too much global constant data". It costs one more slot an event.
 */
#ifndef KTRACE_DEVICE_H
#define KTRACE_DEVICE_H

#ifndef KTRACE_ENABLE
#define KTRACE_ENABLE 0
#elif (0 - KTRACE_ENABLE - 1) == 1
#error "ktrace: KTRACE_ENABLE is defined without a value: give it 0 or 1"
#endif
#ifndef KTRACE_SITES_IN_GLOBAL
#define KTRACE_SITES_IN_GLOBAL 0
#endif

#if !KTRACE_ENABLE
#include "device/disabled.h"
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "device/nvidia.h"
#elif defined(__HIP__) || defined(__AMDGCN__)
#include "device/amdgcn.h"
#else
#error \
    "ktrace: KTRACE_ENABLE=1, but this compiler does not target a device that ktrace records on (CUDA C++, HIP C++, and C and" \
    "OpenCL C by clang for amdgcn are supported)"
#endif

#endif
