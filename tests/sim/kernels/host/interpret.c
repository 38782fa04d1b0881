#include "check.h"

static uint32_t run(uint32_t lane, const uint8_t *program, uint32_t bytes, uint32_t steps)
{
    uint32_t stack[8], top = 0, at = 0;
    for (uint32_t n = 0; n < 8; n++)
        stack[n] = n ? n : lane;
    while (steps-- > 0) {
        uint8_t code = program[at];
        uint32_t *a = &stack[top], b = stack[top ? top - 1 : 7];
        at = at + 1 == bytes ? 0 : at + 1;
        switch (code % 16) {
        case 0: *a += b; break;
        case 1: *a -= b; break;
        case 2: *a *= b; break;
        case 3: *a /= b | 1; break;
        case 4: *a &= b; break;
        case 5: *a |= b; break;
        case 6: *a ^= b; break;
        case 7: *a <<= b % 32; break;
        case 8: *a >>= b % 32; break;
        case 9: *a = *a >> b % 32 | (*a >> 31 && b % 32 ? ~0u << (32 - b % 32) : 0); break;
        case 10: top = top == 7 ? 0 : top + 1; break;
        case 11: top = top == 0 ? 7 : top - 1; break;
        case 12: at = (at + code / 16) % bytes; break;
        case 13: *a = b > *a ? b : *a; break;
        case 14: {
            uint32_t bits = 0;
            for (uint32_t left = *a; left; left &= left - 1)
                bits++;
            *a = bits;
            break;
        }
        default: *a = ~*a; break;
        }
    }
    for (uint32_t n = 0; n < 8; n++)
        top = top * 31 + stack[n];
    return top;
}

void check_interpret(void **state)
{
    (void)state;
    enum { LANES = 128, BYTES = 24 };
    uint8_t programs[LANES][BYTES];
    uint32_t results[LANES], expected[LANES], values[LANES], bytes = BYTES, steps = 60;
    random_fill(programs, sizeof programs, 33);
    for (uint32_t i = 0; i < LANES; i++)
        expected[i] = run(i, programs[i], BYTES, steps);
    void *d_results = device_zeros(sizeof results), *d_programs = device_copy(programs, sizeof programs);
    LAUNCH("interpret", SHAPE_1D(2, LANES / 2), &d_results, &d_programs, &bytes, &steps);
    device_read(results, d_results, sizeof results);
    check_equal("hashes of stacks", results, expected, LANES, 4);

    static const uint32_t table[20] = {17, 99, 1234567, 42, 7, 0x80000000, 3, 1000, 65535, 11, 13, 5};
    random_fill(values, sizeof values, 34);
    for (uint32_t i = 0; i < LANES; i++)
        expected[i] = table[values[i] % 20];
    void *d_values = device_copy(values, sizeof values);
    LAUNCH("interpret_table", SHAPE_1D(2, LANES / 2), &d_results, &d_values);
    device_read(results, d_results, sizeof results);
    check_equal("the table", results, expected, LANES, 4);
}
