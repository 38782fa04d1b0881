/* vector_integer.c and vector_bits.c against native C that computes the same in another way: exactly in 128 bits, or bit by
 * bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "check_cases.h"

#define M16 0xFFFFull
#define M24 0xFFFFFFull
#define M32 0xFFFFFFFFull
/* Parts of a source as exact numbers: 32 bits, 16 bits, signed ones, 24 bits. */
#define W(x) ((wide)(x))
#define U(x) ((signed_wide)(uint32_t)(x))
#define I(x) ((signed_wide)(int32_t)(x))
#define H(x) ((signed_wide)(uint16_t)(x))
#define IH(x) ((signed_wide)(int16_t)(x))
#define I24(x) (I(x) % 0x1000000 - ((x) >> 23 & 1) * 0x1000000 + (I(x) % 0x1000000 < 0) * 0x1000000)

static signed_wide limited(signed_wide x, signed_wide low, signed_wide high)
{
    if (x < low)
        return low;
    return x > high ? high : x;
}
static uint64_t keep(wide old, wide low)
{
    return (uint64_t)(old / 65536 * 65536 + low % 65536);
}
static uint64_t power(uint64_t exponent)
{
    uint64_t result = 1;
    while (exponent--)
        result *= 2;
    return result;
}
static signed_wide floor_divided(signed_wide x, uint64_t exponent)
{
    const signed_wide divisor = (signed_wide)power(exponent);
    return x / divisor - (x % divisor < 0);
}

/* The smallest, middle or largest of three. */
static signed_wide nth(int n, signed_wide x, signed_wide y, signed_wide z)
{
    signed_wide values[3] = {x, y, z};
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 2; i++)
            if (values[i] > values[i + 1]) {
                const signed_wide swapped = values[i];
                values[i] = values[i + 1];
                values[i + 1] = swapped;
            }
    return values[n];
}

static signed_wide differences(uint64_t x, uint64_t y, unsigned bits, int masked)
{
    signed_wide sum = 0;
    x &= M32, y &= M32;
    for (unsigned i = 0; i < 32 / bits; i++) {
        const uint64_t p = x % power(bits), q = y % power(bits);
        x /= power(bits), y /= power(bits);
        if (!masked || q != 0)
            sum += p > q ? p - q : q - p;
    }
    return sum;
}
static uint64_t four_differences(uint64_t a, uint64_t b, uint64_t c, int masked, int clamp)
{
    uint64_t result = 0;
    for (unsigned i = 4; i-- > 0;) {
        const uint64_t sum = (uint64_t)differences(a >> 8 * i, b, 8, masked) + (c >> 16 * i) % 65536;
        result = result * 65536 + (clamp && sum > 65535 ? 65535 : sum % 65536);
    }
    return result;
}

static signed_wide dot(uint64_t x, uint64_t y, unsigned bits, int is_signed)
{
    signed_wide sum = 0;
    const int64_t modulus = (int64_t)power(bits);
    for (unsigned i = 0; i < 32; i += bits) {
        int64_t p = (int64_t)(x >> i) % modulus, q = (int64_t)(y >> i) % modulus;
        if (is_signed && p >= modulus / 2)
            p -= modulus;
        if (is_signed && q >= modulus / 2)
            q -= modulus;
        sum += (signed_wide)p * q;
    }
    return sum;
}

static int bit(uint64_t x, unsigned i)
{
    return (int)(x >> i & 1);
}
static uint64_t bitwise(uint64_t a, uint64_t b, uint64_t c, unsigned table)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 32; i++)
        result |= (uint64_t)(table >> (bit(a, i) * 4 + bit(b, i) * 2 + bit(c, i)) & 1) << i;
    return result;
}
static uint64_t reversed(uint64_t x)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 32; i++)
        result |= (uint64_t)bit(x, i) << (31 - i);
    return result;
}
static int first_bit(uint64_t x)
{
    for (unsigned i = 0; i < 32; i++)
        if (bit(x, i))
            return (int)i;
    return -1;
}
static uint64_t ones(uint64_t x)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < 32; i++)
        count += (uint64_t)bit(x, i);
    return count;
}
static int64_t field(uint64_t x, uint64_t first, uint64_t bits)
{
    int64_t result = 0;
    for (unsigned i = 0; i < bits; i++) {
        const uint64_t at = first + i;
        result += (int64_t)power(i) * bit(x, at < 32 ? (unsigned)at : 31); /* past the end: the sign */
    }
    return bits && bit((uint64_t)result, (unsigned)bits - 1) ? result - (int64_t)power(bits) : result;
}
static uint64_t permuted(uint64_t a, uint64_t b, uint64_t selectors)
{
    unsigned char bytes[8];
    uint64_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        bytes[i] = (unsigned char)(b >> 8 * i);
        bytes[4 + i] = (unsigned char)(a >> 8 * i);
    }
    for (unsigned i = 4; i-- > 0;) {
        const unsigned selector = selectors >> 8 * i & 255;
        unsigned chosen;
        switch (selector) {
        case 8: chosen = bytes[1] & 0x80 ? 255 : 0; break;
        case 9: chosen = bytes[3] & 0x80 ? 255 : 0; break;
        case 10: chosen = bytes[5] & 0x80 ? 255 : 0; break;
        case 11: chosen = bytes[7] & 0x80 ? 255 : 0; break;
        case 12: chosen = 0; break;
        default: chosen = selector < 8 ? bytes[selector] : 255;
        }
        result = result * 256 + chosen;
    }
    return result;
}
static uint64_t averages(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t result = 0;
    for (unsigned i = 4; i-- > 0;)
        result = result * 256 + ((a >> 8 * i & 255) + (b >> 8 * i & 255) + (c >> 8 * i & 1)) / 2;
    return result;
}

static const uint64_t edges_32[] = {
    0,          1,          2,          3,          7,          15,         16,         31,         32,
    33,         63,         64,         0x7F,       0x80,       0xFF,       0x7FFF,     0x8000,     0xFFFF,
    0x10000,    0x7FFFFF,   0x800000,   0xFFFFFF,   0x1000000,  0x12345678, 0x0C0B0A09, 0x08070503, 0x0D010602,
    0x55555555, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x80008000, 0xFFFF0000, 0xFFFFFFFE, 0xFFFFFFFF,
};
static const uint64_t edges_64[] = {
    0,
    1,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x100000000,
    0x123456789ABCDEF0,
    0x7FFFFFFFFFFFFFFF,
    0x8000000000000000,
    0x8000000000000001,
    0xC000000000000000,
    0xFFFFFFFF00000000,
    0xFFFFFFFF80000000,
    0xFFFFFFFFFFFFFFFE,
    0xFFFFFFFFFFFFFFFF,
};
#define EDGES(values) \
    { \
        values, sizeof values / sizeof *values \
    }
static const struct edges edges[2] = {EDGES(edges_32), EDGES(edges_64)};

#define CASES_FILE "integer_cases.inc"
#define CASES_NAME integer_cases
#include "define_cases.h"

#define CASES_FILE "bits_cases.inc"
#define CASES_NAME bits_cases
#include "define_cases.h"

static void test_integer(void **state)
{
    (void)state;
    check_cases(SIM_GFX950, integer_cases, sizeof integer_cases / sizeof *integer_cases, edges);
}

static void test_bits(void **state)
{
    (void)state;
    check_cases(SIM_GFX950, bits_cases, sizeof bits_cases / sizeof *bits_cases, edges);
}

/* Four registers of result: more than a case has. */
static void test_mqsad_u32(void **state)
{
    (void)state;
    static struct fixture fixture;
    static struct registers before;
    fixture_init(&fixture);
    sim_set_sgpr64(&fixture.wave, SIM_EXEC_LO, 0xFFFF0000FFFF1234);
    save_registers(&before, &fixture);
    fixture_run(&fixture, "v_mqsad_u32_u8 v[8:11], v[2:3], v4, v[12:15]");
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        for (unsigned i = 0; i < 4; i++) {
            const uint64_t a = before.vector[2][lane] | (uint64_t)before.vector[3][lane] << 32;
            const uint64_t sum = (uint64_t)differences(a >> 8 * i, before.vector[4][lane], 8, 1);
            const int active = 0xFFFF0000FFFF1234 >> lane & 1;
            assert_int_equal(fixture.vector[8 + i][lane],
                             active ? (uint32_t)(sum + before.vector[12 + i][lane]) : before.vector[8 + i][lane]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integer),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_mqsad_u32),
    };
    skip_without_llvm_mc();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
