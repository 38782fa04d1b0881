/* ranges.h - what lies between the clock reads of a range, along every way through the code. */
#ifndef LINT_RANGES_H
#define LINT_RANGES_H

#include "code.h"
#include "sites.h"

enum lint_examined {
    LINT_EXAMINED,
    LINT_NO_END,    /* no end of it was found in its function */
    LINT_LEFT,      /* a way leads where it cannot be followed: a return, a computed jump */
    LINT_TOKEN,     /* where its token goes cannot be told */
    LINT_NOT_NAMED, /* the function has events whose annotation cannot be told: a debug build */
    LINT_TOO_DEEP
};

struct lint_range {
    uint32_t begin; /* event */
    uint8_t examined;
    uint32_t ends; /* events that end it */
    uint32_t
        inside; /* the kernel's own instructions on any way from the begin to an end, each once, without jumps and NOPs */
    uint32_t work; /* those of them that are more than moves and integer arithmetic */
};

/* One for each event that begins a range, in their order; free() it. */
int lint_find_ranges(struct lint_range **out, size_t *count, const struct lint_code *code);

#endif
