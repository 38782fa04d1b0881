/* Calls: recursion, function pointers that differ between lanes, structs by value, arguments on the stack, private arrays. */
#include "kernel.h"

NOINLINE DEVICE u32 ackermann(u32 m, u32 n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

KERNEL calls_recursive(u32 *out, u32 limit)
{
    u32 i = global_x();
    out[i] = ackermann(i % limit, i / limit % 3);
}

struct calls_pair {
    u32 low;
    u64 high;
    float scale;
};

NOINLINE DEVICE struct calls_pair twist(struct calls_pair pair, u32 by)
{
    struct calls_pair result = {pair.low * 3 + by, pair.high ^ (u64)by << 40, pair.scale * 0.5f};
    return result;
}

/* More arguments than there are registers for. */
NOINLINE DEVICE u64 many(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i, u64 j, u64 k, u64 l, u64 m,
                         u64 n, u64 o, u64 p, u64 q, u64 r)
{
    return a + b * 2 + c * 3 + d * 5 + e * 7 + f * 11 + g * 13 + h * 17 + i * 19 + j * 23 + k * 29 + l * 31 + m * 37 +
           n * 41 + o * 43 + p * 47 + q * 53 + r * 59;
}

KERNEL calls_values(u64 *out)
{
    u32 i = global_x();
    struct calls_pair pair = {i, (u64)i * i, (float)i};
    for (u32 n = 0; n < i % 5; n++)
        pair = twist(pair, n + i);
    u64 x = i + 1;
    out[i * 2] =
        many(x, x * x, x + 1, x + 2, x * 3, x ^ 5, x << 3, x << 20, x, 9, 10, x * 11, 12, x + 13, 14, 15, x, 17);
    out[i * 2 + 1] = (pair.high ^ pair.low) + (u64)(pair.scale * 16);
}

typedef u32 (*calls_operation)(u32, u32);
NOINLINE DEVICE u32 operation_add(u32 a, u32 b)
{
    return a + b;
}
NOINLINE DEVICE u32 operation_multiply(u32 a, u32 b)
{
    return a * b;
}
NOINLINE DEVICE u32 operation_rotate(u32 a, u32 b)
{
    return a << (b & 31) | a >> (-b & 31);
}
NOINLINE DEVICE u32 operation_nested(u32 a, u32 b)
{
    return operation_add(a, operation_multiply(b, 77));
}

KERNEL calls_indirect(u32 *out, const u8 *choice, u32 steps)
{
    calls_operation operations[4] = {operation_add, operation_multiply, operation_rotate, operation_nested};
    u32 i = global_x(), value = i + 1;
    for (u32 n = 0; n < steps; n++)
        value = operations[choice[(i + n * 7) % 64] & 3](value, n + 3);
    out[i] = value;
}

/* A quicksort in private memory, with the stack of a recursion. */
NOINLINE DEVICE void sort_private(u16 *values, i32 low, i32 high)
{
    while (low < high) {
        u16 pivot = values[(low + high) / 2];
        i32 i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i <= j) {
                u16 swap = values[i];
                values[i++] = values[j];
                values[j--] = swap;
            }
        }
        sort_private(values, low, j);
        low = i;
    }
}

KERNEL calls_private_sort(u16 *values, u32 count)
{
    u16 mine[32];
    u16 *from = values + (u64)global_x() * count;
    for (u32 i = 0; i < count; i++)
        mine[i] = from[i];
    sort_private(mine, 0, (i32)count - 1);
    for (u32 i = 0; i < count; i++)
        from[i] = mine[i];
}

/* The queens problem by an explicit stack: private memory indexed by lanes' own values. */
KERNEL calls_queens(u32 *solutions, u32 size)
{
    u32 i = global_x(), count = 0, all = (1u << size) - 1;
    u32 free[12], column[12], left[12], right[12];
    u32 first = i % size, second = i / size % size;
    u32 a = 1u << first, b = 1u << second;
    if ((b & (a | a << 1 | a >> 1)) == 0) {
        i32 depth = 0;
        column[0] = a | b;
        left[0] = (a << 2 | b << 1) & all;
        right[0] = a >> 2 | b >> 1;
        free[0] = all & ~(column[0] | left[0] | right[0]);
        while (depth >= 0) {
            if (column[depth] == all) {
                count++;
                depth--;
                continue;
            }
            u32 bit = free[depth] & -free[depth];
            if (bit == 0) {
                depth--;
                continue;
            }
            free[depth] &= ~bit;
            column[depth + 1] = column[depth] | bit;
            left[depth + 1] = (left[depth] | bit) << 1 & all;
            right[depth + 1] = (right[depth] | bit) >> 1;
            depth++;
            free[depth] = all & ~(column[depth] | left[depth] | right[depth]);
        }
    }
    solutions[i] = count;
}
