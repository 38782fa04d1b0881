#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 128 };

/* A(m, n) in closed form. */
void check_calls_recursive(void **state)
{
    (void)state;
    uint32_t out[LANES], expected[LANES], limit = 4;
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t m = i % limit, n = i / limit % 3;
        expected[i] = m == 0 ? n + 1 : m == 1 ? n + 2 : m == 2 ? 2 * n + 3 : (1u << (n + 3)) - 3;
    }
    void *d_out = device_zeros(sizeof out);
    LAUNCH("calls_recursive", SHAPE_1D(2, LANES / 2), &d_out, &limit);
    device_read(out, d_out, sizeof out);
    check_equal("Ackermann's function", out, expected, LANES, 4);
}

void check_calls_values(void **state)
{
    (void)state;
    uint64_t out[LANES][2], expected[LANES][2];
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t low = i;
        uint64_t high = (uint64_t)i * i, x = i + 1, sum = 0;
        float scale = (float)i;
        for (uint32_t n = 0; n < i % 5; n++) {
            low = low * 3 + n + i;
            high ^= (uint64_t)(n + i) << 40;
            scale /= 2;
        }
        const uint64_t factors[18] = {1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59};
        const uint64_t terms[18] = {x, x * x, x + 1,  x + 2, x * 3,  x ^ 5, x << 3, x << 20, x,
                                    9, 10,    x * 11, 12,    x + 13, 14,    15,     x,       17};
        for (int t = 0; t < 18; t++)
            sum += factors[t] * terms[t];
        expected[i][0] = sum;
        expected[i][1] = (high ^ low) + (uint64_t)(scale * 16);
    }
    void *d_out = device_zeros(sizeof out);
    LAUNCH("calls_values", SHAPE_1D(2, LANES / 2), &d_out);
    device_read(out, d_out, sizeof out);
    check_equal("{18 arguments, structs by value}", out, expected, LANES * 2, 8);
}

void check_calls_indirect(void **state)
{
    (void)state;
    uint8_t choice[64];
    uint32_t out[LANES], expected[LANES], steps = 12;
    random_fill(choice, sizeof choice, 30);
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t value = i + 1;
        for (uint32_t n = 0; n < steps; n++) {
            uint32_t b = n + 3;
            switch (choice[(i + n * 7) % 64] % 4) {
            case 0: value += b; break;
            case 1: value *= b; break;
            case 2: value = value << b % 32 | (uint32_t)((uint64_t)value << b % 32 >> 32); break;
            default: value += b * 77; break;
            }
        }
        expected[i] = value;
    }
    void *d_out = device_zeros(sizeof out), *d_choice = device_copy(choice, sizeof choice);
    LAUNCH("calls_indirect", SHAPE_1D(2, LANES / 2), &d_out, &d_choice, &steps);
    device_read(out, d_out, sizeof out);
    check_equal("values", out, expected, LANES, 4);
}

static int compare_u16(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

void check_calls_private_sort(void **state)
{
    (void)state;
    enum { EACH = 29 };
    uint16_t values[LANES][EACH], expected[LANES][EACH];
    uint32_t each = EACH;
    random_fill(values, sizeof values, 31);
    memcpy(expected, values, sizeof expected);
    for (int i = 0; i < LANES; i++)
        qsort(expected[i], EACH, 2, compare_u16);
    void *d_values = device_copy(values, sizeof values);
    LAUNCH("calls_private_sort", SHAPE_1D(1, LANES), &d_values, &each);
    device_read(values, d_values, sizeof values);
    check_equal("sorted", values, expected, LANES * EACH, 2);
}

static uint32_t queens(uint32_t *place, uint32_t row, uint32_t size)
{
    if (row == size)
        return 1;
    uint32_t count = 0;
    for (place[row] = 0; place[row] < size; place[row]++) {
        uint32_t free = 1;
        for (uint32_t other = 0; other < row; other++) {
            int apart = (int)place[row] - (int)place[other];
            free &= apart != 0 && abs(apart) != (int)(row - other);
        }
        if (free)
            count += queens(place, row + 1, size);
    }
    return count;
}

/* Lane i has the queens of its first two rows given. */
void check_calls_queens(void **state)
{
    (void)state;
    uint32_t size = 7, out[64], expected[64], all = 0;
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t place[8] = {i % size, i / size % size};
        int apart = (int)place[0] - (int)place[1];
        expected[i] = abs(apart) < 2 ? 0 : queens(place, 2, size);
        all += i < size * size ? expected[i] : 0;
    }
    assert_int_equal(all, 40); /* OEIS A000170 */
    void *d_out = device_zeros(sizeof out);
    LAUNCH("calls_queens", SHAPE_1D(1, 64), &d_out, &size);
    device_read(out, d_out, sizeof out);
    check_equal("solutions", out, expected, 64, 4);
}
