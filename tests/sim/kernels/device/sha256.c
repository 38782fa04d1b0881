/* SHA-256 (FIPS 180-4) of one message a lane; lengths differ. */
#include "kernel.h"

TABLE u32 sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

DEVICE inline u32 rotate_right(u32 x, u32 n)
{
    return x >> n | x << (32 - n);
}

DEVICE void sha256_block(u32 state[8], const u8 block[64])
{
    u32 w[64];
    for (u32 i = 0; i < 16; i++)
        w[i] = (u32)block[4 * i] << 24 | (u32)block[4 * i + 1] << 16 | (u32)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (u32 i = 16; i < 64; i++) {
        u32 s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
        u32 s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    u32 a = state[0], b = state[1], c = state[2], d = state[3];
    u32 e = state[4], f = state[5], g = state[6], h = state[7];
    for (u32 i = 0; i < 64; i++) {
        u32 s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        u32 t1 = h + s1 + ((e & f) ^ (~e & g)) + sha256_k[i] + w[i];
        u32 s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        u32 t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

/* Message i is bytes[starts[i] .. starts[i + 1]). */
KERNEL sha256(u8 *digests, const u8 *bytes, const u32 *starts, u32 count)
{
    u32 message = global_x();
    if (message >= count)
        return;
    u32 state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const u8 *at = bytes + starts[message];
    u32 length = starts[message + 1] - starts[message], left = length;
    for (; left >= 64; left -= 64, at += 64)
        sha256_block(state, at);
    u8 last[128];
    u32 padded = left < 56 ? 64 : 128;
    for (u32 i = 0; i < padded; i++)
        last[i] = i < left ? at[i] : i == left ? 0x80 : 0;
    for (u32 i = 0; i < 8; i++)
        last[padded - 1 - i] = (u8)((u64)length * 8 >> 8 * i);
    sha256_block(state, last);
    if (padded == 128)
        sha256_block(state, last + 64);
    for (u32 i = 0; i < 32; i++)
        digests[message * 32 + i] = (u8)(state[i / 4] >> (24 - 8 * (i % 4)));
}
