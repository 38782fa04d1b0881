/* overflow.h - whether everything was recorded, and under which options it would have been. */
#ifndef KT_OVERFLOW_H
#define KT_OVERFLOW_H

#include "buffer.h"

/* How the sentence ends. */
#define KT_OVERFLOW_TAIL "; nothing of this read is kept"

/* KTRACE_ERROR_OVERFLOW if waves found no region, or a ring wrapped without `keep_last`: the sentence names the least options that
 * would have held what was recorded. */
int kt_check_overflow(const struct kt_layout *layout, const struct kt_usage *usage, int keep_last);

#endif
