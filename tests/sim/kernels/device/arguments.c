/* Arguments of every size and alignment, structs by value among them. */
#include "kernel.h"

struct argument_inner {
    u8 tag;
    double value;
};
struct argument_struct {
    u8 a;
    u16 b;
    struct argument_inner inner[2];
    float c[3];
    u64 d;
};

KERNEL arguments(u64 *out, u8 a, i16 b, struct argument_struct s, float c, u8 d, double e, u32x4 f, const u32 *g, i8 h)
{
    u32 i = global_x();
    u64 *to = out + (u64)i * 16;
    to[0] = a;
    to[1] = (u64)(i64)b;
    to[2] = s.a;
    to[3] = s.b;
    to[4] = s.inner[i % 2].tag;
    to[5] = __builtin_bit_cast(u64, s.inner[(i + 1) % 2].value);
    to[6] = __builtin_bit_cast(u32, s.c[i % 3]);
    to[7] = s.d;
    to[8] = __builtin_bit_cast(u32, c);
    to[9] = d;
    to[10] = __builtin_bit_cast(u64, e);
    to[11] = f[i % 4];
    to[12] = g[i];
    to[13] = (u64)(i64)h;
    to[14] = (u64)block_x() << 32 | thread_x();
    to[15] = (u64)blocks_x() << 32 | threads_x();
}
