/* objects.h - the modules of device code that a file holds. */
#ifndef LINT_OBJECTS_H
#define LINT_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One cubin, or one code object of AMD's. */
struct lint_object {
    bool is_nvidia;
    const uint8_t *data; /* in the file, or owned */
    size_t bytes;
    uint8_t *owned;
};

struct lint_objects {
    struct lint_object *objects; /* owned */
    size_t count, capacity;
    bool has_fatbin;      /* of NVIDIA, whose format only cuobjdump reads */
    uint32_t compressed;  /* of AMD, as hipcc makes with --offload-compress: not read */
    uint32_t relocatable; /* not linked yet: not read */
};

/* Looks through `data`. Free `out` in any case. KTRACE_ERROR_FORMAT: it is no file that could have any, and the sentence says what it
 * is. Nothing is copied: `data` must outlive `out`. */
int lint_find_objects(struct lint_objects *out, const void *data, size_t bytes);
/* A cubin that was taken out of a file: it is `out`'s from now on, in any case. */
int lint_add_cubin(struct lint_objects *out, uint8_t *data, size_t bytes);
void lint_objects_free(struct lint_objects *objects);

#endif
