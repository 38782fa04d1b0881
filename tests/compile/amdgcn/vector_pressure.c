/* One wave a SIMD, with nearly all of its 512 vector registers: accumulators of matrix instructions, and operands from LDS. */
#include <ktrace/device.h>

#define GLOBAL __attribute__((address_space(1)))
#define SHARED static __attribute__((address_space(3), loader_uninitialized))

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));

enum { TILES = 16, OPERANDS = 40 };
SHARED half4 operands[OPERANDS][64];

__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64), amdgpu_waves_per_eu(1, 1))) void
accumulators(GLOBAL float16 *out, const GLOBAL half4 *in, int n)
{
    KTRACE_KERNEL("accumulators");
    const int lane = (int)__builtin_amdgcn_workitem_id_x();
    float16 sum[TILES];
    half4 loaded[OPERANDS];
    for (int i = 0; i < TILES; i++)
        sum[i] = out[i * 64 + lane];
    for (int k = 0; k < n; k++) {
        KTRACE_RANGE("turn", k);
        for (int i = 0; i < OPERANDS; i++)
            loaded[i] = in[(k * OPERANDS + i) * 64 + lane];
        KTRACE_MARK("loaded");
        for (int i = 0; i < OPERANDS; i++)
            operands[i][lane] = loaded[i];
        KTRACE_RANGE("multiply");
        for (int i = 0; i < OPERANDS; i++)
            sum[i % TILES] =
                __builtin_amdgcn_mfma_f32_32x32x8f16(operands[i][63 - lane], loaded[i], sum[i % TILES], 0, 0, 0);
    }
    KTRACE_MARK("first", sum[0][0]);
    for (int i = 0; i < TILES; i++)
        out[i * 64 + lane] = sum[i];
}
