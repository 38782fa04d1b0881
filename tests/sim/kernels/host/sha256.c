/* Written from FIPS 180-4 alone: the constants are computed, and the padded message is hashed as a whole. */
#include "check.h"

#include <string.h>

/* The first 32 bits of the fractional part of a prime's root: the greatest r with r^power <= prime * 2^(32 * power). */
static uint32_t root_fraction(unsigned prime, int power)
{
    __extension__ typedef unsigned __int128 u128;
    uint64_t low = 0, high = UINT64_C(1) << 37;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        /* power 3: middle^3 of up to 111 bits, prime * 2^96 of up to 105 */
        u128 raised = (u128)middle * middle, target = (u128)prime << 32 * power;
        if (power == 3)
            raised *= middle;
        if (raised <= target)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void hash(uint8_t digest[32], const uint8_t *message, size_t length)
{
    uint32_t h[8], k[64];
    for (unsigned prime = 2, found = 0; found < 64; prime++) {
        unsigned divisor = 2;
        while (prime % divisor != 0)
            divisor++;
        if (divisor != prime)
            continue;
        if (found < 8)
            h[found] = root_fraction(prime, 2);
        k[found++] = root_fraction(prime, 3);
    }
    uint8_t padded[512] = {0};
    size_t all = (length + 9 + 63) / 64 * 64;
    assert_true(all <= sizeof padded);
    memcpy(padded, message, length);
    padded[length] = 0x80;
    padded[all - 2] = (uint8_t)(length * 8 >> 8);
    padded[all - 1] = (uint8_t)(length * 8);
    for (size_t block = 0; block < all; block += 64) {
        uint32_t w[64], v[8];
        memcpy(v, h, sizeof v);
        for (int t = 0; t < 64; t++) {
            if (t < 16) {
                const uint8_t *at = padded + block + 4 * t;
                w[t] = ((uint32_t)at[0] << 24) + ((uint32_t)at[1] << 16) + ((uint32_t)at[2] << 8) + at[3];
            } else {
                uint32_t a = w[t - 15], b = w[t - 2];
                w[t] = w[t - 16] + w[t - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ (a >> 3)) +
                       (rotate(b, 17) ^ rotate(b, 19) ^ (b >> 10));
            }
            uint32_t choose = (v[4] & v[5]) | (~v[4] & v[6]);
            uint32_t majority = (v[0] & v[1]) | (v[0] & v[2]) | (v[1] & v[2]);
            uint32_t first = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) + choose + k[t] + w[t];
            uint32_t second = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + majority;
            memmove(v + 1, v, 7 * sizeof v[0]);
            v[0] = first + second;
            v[4] += first;
        }
        for (int i = 0; i < 8; i++)
            h[i] += v[i];
    }
    for (int i = 0; i < 32; i++)
        digest[i] = (uint8_t)(h[i / 4] >> (24 - i % 4 * 8));
}

void check_sha256(void **state)
{
    (void)state;
    enum { COUNT = 70 };
    static const uint8_t abc[8] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea}; /* FIPS 180-4's example begins so */
    uint8_t bytes[COUNT * 150], digests[COUNT][32], expected[COUNT][32];
    uint32_t starts[COUNT + 1] = {0}, count = COUNT;
    random_fill(bytes, sizeof bytes, 17);
    memcpy(bytes, "abc", 3);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t length = i == 0 ? 3 : i * 2 - 2; /* 0 to 136: padding of one block and of two */
        starts[i + 1] = starts[i] + length;
        hash(expected[i], bytes + starts[i], length);
    }
    check_equal("the reference", expected, abc, 1, sizeof abc);
    void *d_digests = device_zeros(sizeof digests), *d_bytes = device_copy(bytes, sizeof bytes),
         *d_starts = device_copy(starts, sizeof starts);
    LAUNCH("sha256", SHAPE_1D(2, 64), &d_digests, &d_bytes, &d_starts, &count);
    device_read(digests, d_digests, sizeof digests);
    check_equal("digests", digests, expected, COUNT * 8, 4);
}
