/* program.h - programs besides the public API. */
#ifndef KT_PROGRAM_PROGRAM_H
#define KT_PROGRAM_PROGRAM_H

#include "ktrace/ktrace.h"
#include "target.h"

/* ktrace_program_create for a given target. */
int kt_program_create_for(struct ktrace_program **out, const char *source, const struct ktrace_program_options *options,
                          const struct kt_program_target *target);

#endif
