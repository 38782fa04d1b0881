/* Quotients and remainders of every integer width, which are sequences of instructions; high halves of products. */
#include "kernel.h"

KERNEL divide_64(u64 *out, const u64 *a, const u64 *b)
{
    u32 i = global_x();
    u64 x = a[i], y = b[i];
    i64 sx = (i64)x, sy = (i64)y;
    if (sx == -0x7fffffffffffffff - 1 && sy == -1)
        sy = 1;
    out[i * 6] = x / y;
    out[i * 6 + 1] = x % y;
    out[i * 6 + 2] = (u64)(sx / sy);
    out[i * 6 + 3] = (u64)(sx % sy);
    out[i * 6 + 4] = (u64)((unsigned __int128)x * y >> 64);
    out[i * 6 + 5] = (u64)((__int128)(i64)x * (i64)y >> 64);
}

KERNEL divide_32(u32 *out, const u32 *a, const u32 *b)
{
    u32 i = global_x();
    u32 x = a[i], y = b[i];
    i32 sx = (i32)x, sy = (i32)y;
    if (sx == -0x7fffffff - 1 && sy == -1)
        sy = 1;
    u16 hx = (u16)x, hy = (u16)y | 1;
    i16 shx = (i16)x, shy = (i16)(hy | 2);
    u8 bx = (u8)x, by = (u8)y | 1;
    out[i * 10] = x / y;
    out[i * 10 + 1] = x % y;
    out[i * 10 + 2] = (u32)(sx / sy);
    out[i * 10 + 3] = (u32)(sx % sy);
    out[i * 10 + 4] = (u32)(hx / hy);
    out[i * 10 + 5] = (u32)(shx % shy);
    out[i * 10 + 6] = (u32)(bx / by);
    out[i * 10 + 7] = x / 7;
    out[i * 10 + 8] = (u32)(sx % 1000);
    out[i * 10 + 9] = (u32)((u64)x * y >> 32);
}

/* Correctly rounded division and square roots of floats. */
KERNEL divide_float(float *f, double *d, const float *fa, const float *fb, const double *da, const double *db)
{
    u32 i = global_x();
    f[i * 2] = fa[i] / fb[i];
    f[i * 2 + 1] = __builtin_sqrtf(fa[i]);
    d[i * 2] = da[i] / db[i];
    d[i * 2 + 1] = __builtin_sqrt(da[i]);
}
