/* Kernels of sim_speed.c, for gfx942. */
typedef unsigned u32;
#define KERNEL __attribute__((amdgpu_kernel, visibility("default"))) void
#define GLOBAL __attribute__((address_space(1)))

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));

static u32 item(void)
{
    return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
}

KERNEL alu(GLOBAL float *out, u32 rounds)
{
    float a = (float)item(), b = 1;
    for (u32 i = 0; i < rounds; i++)
        for (int j = 0; j < 8; j++) {
            a = __builtin_fmaf(a, 0.5f, b);
            b = __builtin_fmaf(b, 0.25f, a);
        }
    out[item()] = a + b;
}

/* Each round reads two streams and writes one, 16 bytes a lane. */
typedef float f32x4 __attribute__((ext_vector_type(4)));
KERNEL stream(GLOBAL f32x4 *out, const GLOBAL f32x4 *a, const GLOBAL f32x4 *b, u32 rounds, u32 stride)
{
    u32 i = item();
    for (u32 round = 0; round < rounds; round++, i += stride)
        out[i] = a[i] + b[i];
}

KERNEL matrix(GLOBAL float *out, u32 rounds)
{
    f16x4 a = (_Float16)1, b = (_Float16)0.5f;
    f32x16 c[2] = {0, 1};
    for (u32 i = 0; i < rounds; i++)
        for (int j = 0; j < 2; j++)
            c[j] = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c[j], 0, 0, 0);
    out[item()] = c[0][0] + c[1][5];
}
