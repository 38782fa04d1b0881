#include "peek.h"

#include <string.h>

int kt_peek_rows(const struct kt_peek *peek, void *data, uint64_t address, size_t row_bytes, size_t pitch_bytes,
                 uint64_t rows)
{
    unsigned char *to = data;
    if (row_bytes > KT_STAGING_BYTES) { /* long rows: piece by piece */
        for (uint64_t row = 0; row < rows; row++)
            for (size_t done = 0; done < row_bytes; done += KT_STAGING_BYTES) {
                const size_t part = row_bytes - done < KT_STAGING_BYTES ? row_bytes - done : KT_STAGING_BYTES;
                const int error =
                    kt_peek_rows(peek, to + row * row_bytes + done, address + row * pitch_bytes + done, part, part, 1);
                if (error)
                    return error;
            }
        return 0;
    }
    const uint64_t chunk = KT_STAGING_BYTES / row_bytes;
    for (uint64_t row = 0; row < rows; row += chunk) {
        const uint64_t count = rows - row < chunk ? rows - row : chunk;
        const int error = peek->stage(peek->context, address + row * pitch_bytes, row_bytes, pitch_bytes, count);
        if (error)
            return error;
        memcpy(to + row * row_bytes, peek->staging, count * row_bytes);
    }
    return 0;
}
