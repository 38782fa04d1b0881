/* float_reference.h - floats of tests: bits to values and back, f16 computed as integers, and sources worth trying. */
#ifndef FLOAT_REFERENCE_H
#define FLOAT_REFERENCE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline float f32(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}
static inline uint32_t bits32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline double f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline uint64_t bits64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

__extension__ typedef __int128 fixed;

/* How MODE numbers roundings. */
enum { NEAREST, UP, DOWN, ZERO };

/* A finite f16 as a multiple of 2^-24. */
static inline int64_t units_of_half(uint32_t half)
{
    const int64_t fraction = half & 0x3FF, exponent = half >> 10 & 31;
    const int64_t magnitude = exponent ? (fraction + 1024) << (exponent - 1) : fraction;
    return half & 0x8000 ? -magnitude : magnitude;
}
static inline double value_of_half(uint32_t half)
{
    if ((half & 0x7C00) == 0x7C00)
        return half & 0x3FF ? (double)f32(0x7FC00000) : (double)f32(half & 0x8000 ? 0xFF800000 : 0x7F800000);
    const double value = (double)units_of_half(half) / 16777216;
    return half & 0x8000 && value == 0 ? -0.0 : value;
}

/* An integer multiple of 2^-48 to f16, by search for the two halves around it. The sign of 0 is `negative_zero`. */
static inline uint32_t half_of_fixed(fixed value, int round, int negative_zero)
{
    if (value == 0)
        return negative_zero ? 0x8000 : 0;
    const int negative = value < 0;
    const fixed magnitude = negative ? -value : value;
    uint32_t low = 0, high = 0x7C00; /* as if 65536 were the half after 65504 */
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        const fixed at = (fixed)(middle == 0x7C00 ? 1ll << 40 : units_of_half(middle)) << 24;
        if (at <= magnitude)
            low = middle;
        else
            high = middle;
    }
    const fixed below = (fixed)units_of_half(low) << 24;
    const fixed above = (fixed)(high == 0x7C00 ? 1ll << 40 : units_of_half(high)) << 24;
    int up = 0;
    if (magnitude >= above)
        up = round == NEAREST || round == (negative ? DOWN : UP); /* beyond 65536 */
    else if (magnitude > below) {
        const fixed twice = 2 * magnitude - below - above;
        up = round == NEAREST ? twice > 0 || (twice == 0 && low % 2 == 1) : round == (negative ? DOWN : UP);
    }
    return low + (uint32_t)up + (negative ? 0x8000 : 0);
}

static const uint64_t edges_f16[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x0002, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x0401, 0x1000, 0x3BFF, 0x3C00,
    0xBC00, 0x3C01, 0x3E00, 0x4000, 0x4248, 0x6400, 0x6401, 0x7BFF, 0xFBFF, 0x7BFE, 0x7C00, 0xFC00, 0x7C01,
    0x7E00, 0xFE55, 0xFD12, 0x3555, 0x3800, 0xB800, 0x3801, 0x2E66, 0x5640, 0x1400, 0x0C00, 0x4900,
};
static const uint64_t edges_f32[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000, 0x00800001,
    0x01000000, 0x1F800000, 0x33800000, 0x34000000, 0x3F000000, 0xBF000000, 0x3F7FFFFF, 0x3F800000, 0xBF800000,
    0x3F800001, 0x3FC00000, 0x40000000, 0x40490FDB, 0x4B000000, 0x4B000001, 0xCB7FFFFF, 0x4B800000, 0x4F000000,
    0xCF000000, 0x4F800000, 0x7E800000, 0x7F000000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001,
    0x7FC00000, 0xFFC12345, 0xFF812345, 0x477FE000, 0x477FF000, 0x38800000, 0x387FC000, 0x33000000, 0x33000001,
    0x43E80000, 0x43700000, 0x43780000, 0x3B000000, 0x5F800000,
};
static const uint64_t edges_f64[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000FFFFFFFFFFFFF,
    0x0010000000000000, 0x8010000000000000, 0x0010000000000001, 0x0020000000000000, 0x1FF0000000000000,
    0x3CA0000000000000, 0x3CB0000000000000, 0x3FE0000000000000, 0xBFE0000000000000, 0x3FEFFFFFFFFFFFFF,
    0x3FF0000000000000, 0xBFF0000000000000, 0x3FF0000000000001, 0x3FF8000000000000, 0x400921FB54442D18,
    0x4330000000000001, 0x41DFFFFFFFC00000, 0x41EFFFFFFFE00000, 0x41F0000000000000, 0xC1E0000000000000,
    0x7FD0000000000000, 0x7FE0000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000,
    0xFFF0000000000000, 0x7FF0000000000001, 0x7FF8000000000000, 0xFFF8123456789ABC, 0x380FFFFFFFFFFFFF,
    0x47EFFFFFEFFFFFFF, 0x47EFFFFFF0000000, 0x3690000000000000, 0x3690000000000001,
};

#endif
