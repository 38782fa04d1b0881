/* peek.h - reading through pinned memory of a fixed size, for backends: nothing may be allocated beside a hung kernel. */
#ifndef KT_PEEK_H
#define KT_PEEK_H

#include <stddef.h>
#include <stdint.h>

#define KT_STAGING_BYTES ((size_t)4 << 20)

/* `context`'s own, with pinned memory of KT_STAGING_BYTES. */
struct kt_peek {
    /* Copies `rows` pieces of `row_bytes`, `pitch_bytes` apart on the device, packed to the pinned memory, and waits for that
     * alone. 0, or the driver's error. */
    int (*stage)(void *context, uint64_t address, size_t row_bytes, size_t pitch_bytes, uint64_t rows);
    void *context;
    const void *staging;
};

/* The same, packed to `data`, however much it is; `row_bytes` is not 0. 0, or the first error of `stage`. */
int kt_peek_rows(const struct kt_peek *peek, void *data, uint64_t address, size_t row_bytes, size_t pitch_bytes,
                 uint64_t rows);

#endif
