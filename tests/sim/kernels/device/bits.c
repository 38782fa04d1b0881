/* Integer operations on single values: bits, narrow types, carries. 32 results a lane. */
#include "kernel.h"

KERNEL bits(u32 *out, const u32 *a, const u32 *b)
{
    u32 i = global_x(), x = a[i], y = b[i], n = y & 31;
    u64 xy = (u64)x << 32 | y, yx = (u64)y << 32 | x;
    u32 *to = out + (u64)i * 40;
    to[0] = (u32)__builtin_popcount(x);
    to[1] = x ? (u32)__builtin_clz(x) : 32;
    to[2] = x ? (u32)__builtin_ctz(x) : 32;
    to[3] = __builtin_bitreverse32(x);
    to[4] = __builtin_bswap32(x);
    to[5] = x << n | x >> (-n & 31);
    to[6] = (u32)(xy >> n);
    to[7] = x >> 5 & 0x7ff;
    to[8] = (u32)((i32)(x << 7) >> 20);
    to[9] = (x & y) | (~x & 0x12345678);
    to[10] = (x << 3) + y;
    to[11] = (x + y) << 4;
    to[12] = (x ^ y) + 0x1234;
    to[13] = (x & 0xffffff) * (y & 0xffffff) + 5;
    to[14] = x < y ? x : y;
    to[15] = (u32)((i32)x > (i32)y ? (i32)x : (i32)y);
    u64 sum = xy + yx, difference = xy - yx * 3, product = xy * yx;
    to[16] = (u32)(sum >> 32);
    to[17] = (u32)difference ^ (u32)(difference >> 32);
    to[18] = (u32)product ^ (u32)(product >> 32);
    u64 shifted = xy << (y & 63);
    to[19] = (u32)shifted ^ (u32)(shifted >> 32);
    i64 signed_shift = (i64)xy >> (x & 63);
    to[20] = (u32)signed_shift ^ (u32)(signed_shift >> 32);
    to[21] = xy ? (u32)__builtin_clzl(xy) : 64;
    to[22] = (u32)__builtin_popcountl(xy);
    u8 bx = (u8)(x >> 8), by = (u8)(y >> 16);
    i8 sx = (i8)(x >> 24), sy = (i8)y;
    to[23] = (u32)(u8)(bx + by) | (u32)(u8)(bx * by) << 8 | (u32)(u8)(sx >> (y & 7)) << 16;
    to[24] = (u32)(i32)(i8)(sx - sy);
    u16 hx = (u16)(x >> 16), hy = (u16)y;
    to[25] = (u32)(u16)(hx + hy) | (u32)(u16)((u32)hx * hy) << 16;
    to[26] = (u32)(u16)(hx >> (y & 15)) | (u32)(u16)((i16)hx >> (y & 15)) << 16;
    to[27] = (u32)(hx < hy ? hx : hy) | (u32)((i16)hx > (i16)hy ? (u16)(i16)hx : hy) << 16;
    to[28] = (u32)(i32)((i16)x * (i16)y);
    u32 saturated = x + y < x ? ~0u : x + y;
    to[29] = saturated;
    u32 wrapped;
    to[30] = (u32)__builtin_add_overflow((i32)x, (i32)y, (i32 *)&wrapped) ^ wrapped;
    to[31] = (u32)__builtin_mul_overflow(x, y, &wrapped) ^ wrapped;
    u32 middle = x < y ? (y < 0x40000000   ? y
                          : x < 0x40000000 ? 0x40000000
                                           : x)
                       : (x < 0x40000000   ? x
                          : y < 0x40000000 ? 0x40000000
                                           : y);
    to[32] = middle;
    to[33] = __builtin_amdgcn_perm(x, y, 0x0c010704u);
    to[34] = __builtin_amdgcn_sad_u8(x, y, 7);
    to[35] = (u32)__builtin_amdgcn_alignbit(x, y, n);
    to[36] = (u32)__builtin_amdgcn_ubfe(x, y & 15, 9);
    to[37] = (u32)__builtin_amdgcn_sbfe((i32)x, y & 15, 9);
    to[38] = (u32)__builtin_amdgcn_sdot4((i32)x, (i32)y, 100, false);
    to[39] = __builtin_amdgcn_udot4(x, y, 100, false);
}
