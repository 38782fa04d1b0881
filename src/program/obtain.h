/* obtain.h - a compiled specialization, from the disk cache or from the compiler. */
#ifndef KT_PROGRAM_OBTAIN_H
#define KT_PROGRAM_OBTAIN_H

#include "compile.h"
#include "self_contained.h"

/* What it took. */
struct kt_obtained {
    int compiled, found, written, write_failed;   /* 0 or 1 */
    char not_cached[KT_NOT_SELF_CONTAINED_BYTES]; /* why it is kept from the disk cache; "": it is not */
};

/* With no lock held: a compilation takes its time. `out->log` is there on failure, too: whatever is returned, kt_binary_free. */
int kt_obtain(struct kt_binary *out, struct kt_obtained *obtained, const struct kt_program_source *source,
              const struct kt_program_target *target, const char *architecture, int traced, const char *kernel);

#endif
