/* A machine of 16 operations: one program a lane, so that a switch takes many ways in a wave. */
#include "kernel.h"

KERNEL interpret(u32 *results, const u8 *programs, u32 program_bytes, u32 steps)
{
    u32 i = global_x();
    const u8 *program = programs + (u64)i * program_bytes;
    u32 stack[8] = {i, 1, 2, 3, 4, 5, 6, 7};
    u32 top = 0, at = 0;
    for (u32 n = 0; n < steps; n++) {
        u8 code = program[at];
        at = (at + 1) % program_bytes;
        u32 a = stack[top], b = stack[(top + 7) % 8], result = a;
        switch (code & 15) {
        case 0: result = a + b; break;
        case 1: result = a - b; break;
        case 2: result = a * b; break;
        case 3: result = a / (b | 1); break;
        case 4: result = a & b; break;
        case 5: result = a | b; break;
        case 6: result = a ^ b; break;
        case 7: result = a << (b & 31); break;
        case 8: result = a >> (b & 31); break;
        case 9: result = (u32)((i32)a >> (b & 31)); break;
        case 10: top = (top + 1) % 8; break;
        case 11: top = (top + 7) % 8; break;
        case 12: at = (at + code / 16) % program_bytes; break;
        case 13: result = a > b ? a : b; break;
        case 14: result = (u32)__builtin_popcount(a); break;
        default: result = ~a; break;
        }
        if ((code & 15) != 10 && (code & 15) != 11)
            stack[top] = result;
    }
    u32 hash = top;
    for (u32 n = 0; n < 8; n++)
        hash = hash * 31 + stack[n];
    results[i] = hash;
}

/* A dense switch to constants becomes a table. */
KERNEL interpret_table(u32 *results, const u32 *values)
{
    u32 i = global_x(), result;
    switch (values[i] % 20) {
    case 0: result = 17; break;
    case 1: result = 99; break;
    case 2: result = 1234567; break;
    case 3: result = 42; break;
    case 4: result = 7; break;
    case 5: result = 0x80000000; break;
    case 6: result = 3; break;
    case 7: result = 1000; break;
    case 8: result = 65535; break;
    case 9: result = 11; break;
    case 10: result = 13; break;
    case 11: result = 5; break;
    default: result = 0; break;
    }
    results[i] = result;
}
