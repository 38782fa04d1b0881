/* copy.h - copies and fills as operations, for graph nodes. */
#ifndef SIM_COPY_H
#define SIM_COPY_H

#include "stream.h"

hipError_t sim_copy_operation(struct sim_operation *out, void *to, const void *from, size_t bytes, hipMemcpyKind kind);
/* `width` and `pitch` in bytes; the value's low `element_bytes` (1, 2, 4) repeat. */
hipError_t sim_fill_operation(struct sim_operation *out, void *to, size_t pitch, uint32_t value, uint32_t element_bytes,
                              size_t width, size_t height);

#endif
