/* explain.h - why a capture recorded nothing, or not all: the sentence that its trace carries. */
#ifndef KT_EXPLAIN_H
#define KT_EXPLAIN_H

#include "recorder.h"

struct kt_explanation {
    const struct kt_recorder *const *recorders; /* at least one */
    uint32_t recorder_count;
    struct kt_usage usage; /* summed over them */
    uint32_t modules_late; /* armed since the capture began, and not yet spoken of */
    uint32_t devices_late;
};

/* "" when there is nothing to say. The string is the caller's; NULL when memory ran out. With the state lock held. */
char *kt_explain(const struct kt_explanation *explanation);

#endif
