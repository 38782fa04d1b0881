/* bytes.h - reading bytes that nobody vouches for: every access is checked against the end. */
#ifndef SIM_BYTES_H
#define SIM_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
    const unsigned char *data;
    size_t count;
};

/* `count` bytes at `offset` of `all`: 0, or -1 if they are not all there. */
static inline int bytes_slice(struct bytes *out, struct bytes all, uint64_t offset, uint64_t count)
{
    if (offset > all.count || count > all.count - offset)
        return -1;
    *out = (struct bytes){all.data + offset, (size_t)count};
    return 0;
}

/* Little-endian, of memory that was checked. */
static inline uint16_t load_le16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint32_t load_le32(const unsigned char *p)
{
    return load_le16(p) | (uint32_t)load_le16(p + 2) << 16;
}
static inline uint64_t load_le64(const unsigned char *p)
{
    return load_le32(p) | (uint64_t)load_le32(p + 4) << 32;
}
static inline uint64_t load_be(const unsigned char *p, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | p[i];
    return value;
}

#endif
