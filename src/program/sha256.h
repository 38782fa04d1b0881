/* sha256.h - SHA-256 (FIPS 180-4), which tells programs of the cache apart. */
#ifndef KT_SHA256_H
#define KT_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define KT_SHA256_BYTES 32
#define KT_SHA256_TEXT_BYTES (2 * KT_SHA256_BYTES + 1)

struct kt_sha256 {
    uint32_t state[8];
    uint64_t bytes; /* so far */
    unsigned char block[64];
};

void kt_sha256_begin(struct kt_sha256 *hash);
void kt_sha256_add(struct kt_sha256 *hash, const void *data, size_t bytes);
void kt_sha256_end(struct kt_sha256 *hash, unsigned char digest[KT_SHA256_BYTES]);

/* In hexadecimal. */
void kt_sha256_text(char text[KT_SHA256_TEXT_BYTES], const unsigned char digest[KT_SHA256_BYTES]);

#endif
