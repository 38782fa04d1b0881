/* options.h - options structs of the public API, as callers have them that were compiled with an older or a newer header. */
#ifndef KT_OPTIONS_H
#define KT_OPTIONS_H

#include <stddef.h>

/* Copies as many fields over the defaults in `out`, of `bytes` bytes, as `given` has; NULL has none. `type` is the struct's name for
 * the sentence. KTRACE_ERROR_ARGUMENT: its struct_size was never set. KTRACE_ERROR_VERSION: it is of a newer header and has
 * something other than zeros behind what `out` has. */
int kt_options_read(void *out, size_t bytes, const void *given, const char *type);

#endif
