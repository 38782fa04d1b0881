/* Ways to memory that tuned kernels take: buffer resources with their bounds, and loads that go to LDS past the registers. */
#include "kernel.h"

/* 3: raw, unstructured; data format 32 (CDNA3 ISA manual, buffer resource descriptor, as ROCm's libraries set it). */
#define RESOURCE(pointer, bytes) __builtin_amdgcn_make_buffer_rsrc((void *)(pointer), 0, bytes, 0x00027000)

/* Beyond the resource's bytes loads give 0 and stores do nothing; the scalar offset is not looked at for that. */
KERNEL buffers_copy(u32 *out, const u32 *in, u32 in_bytes, u32 out_bytes)
{
    u32 i = global_x();
    __amdgpu_buffer_rsrc_t from = RESOURCE(in, in_bytes), to = RESOURCE(out, out_bytes);
    u32 word = __builtin_amdgcn_raw_buffer_load_b32(from, (i32)i * 4, 0, 0);
    u8 byte = __builtin_amdgcn_raw_buffer_load_b8(from, (i32)i, 3, 0);
    u16 half = __builtin_amdgcn_raw_buffer_load_b16(from, (i32)i * 2, 0, 0);
    u32x4 four = __builtin_amdgcn_raw_buffer_load_b128(from, (i32)i * 16 + 16, 0, 0);
    u32x4 result = {word + byte, word ^ half, four.x + four.y * 3, four.z ^ four.w};
    __builtin_amdgcn_raw_buffer_store_b128(result, to, (i32)i * 16, 0, 0);
}

#ifdef __HIP__
#define TO_LOCAL(pointer) ((__attribute__((address_space(3))) void *)(pointer))
#define TO_GLOBAL(pointer) ((__attribute__((address_space(1))) void *)(pointer))
#else
#define TO_LOCAL(pointer) (pointer)
#define TO_GLOBAL(pointer) ((__attribute__((address_space(1))) void *)(pointer))
#endif

/* Each lane names the word it wants; a wave's words lie side by side in LDS. */
KERNEL buffers_to_local(u32 *out, const u32 *in, u32 count)
{
    SHARED u32 staged[256];
    u32 i = global_x(), wave = thread_x() / LANES * LANES;
    wave = (u32)__builtin_amdgcn_readfirstlane((i32)wave);
    __builtin_amdgcn_global_load_lds(TO_GLOBAL(&in[i * 7 % count]), TO_LOCAL(&staged[wave]), 4, 0, 0);
    barrier();
    out[i] = staged[(thread_x() + 1) % threads_x()];
}
