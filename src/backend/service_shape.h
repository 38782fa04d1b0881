/* service_shape.h - how the kernel that exchanges counters is launched: a thread a line of struct ktrace_counters. */
#ifndef KT_SERVICE_SHAPE_H
#define KT_SERVICE_SHAPE_H

#include "ktrace/record.h"

#define KT_SERVICE_BLOCKS 5u
#define KT_SERVICE_THREADS 64u
KTRACE_STATIC_ASSERT(KT_SERVICE_BLOCKS *KT_SERVICE_THREADS * sizeof(struct ktrace_counter_line) >=
                         sizeof(struct ktrace_counters),
                     "a thread for each line");

#endif
