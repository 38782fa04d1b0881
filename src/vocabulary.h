/* vocabulary.h - each vendor's own words, for labels. */
#ifndef KT_VOCABULARY_H
#define KT_VOCABULARY_H

#include "ktrace/ktrace.h"

struct kt_vocabulary {
    uint32_t arch;
    void (*place)(char *text, size_t capacity_bytes, uint32_t place);
    const char *workgroup; /* "CTA": followed by (x, y, z) */
    const char *wave;      /* "Warp ": followed by the number */
    const char *waves;     /* "warps" */
    const char *span;      /* "Warp Span" */
    const char *places;    /* "SMs" */
};

/* Never NULL: the unknown is spoken of as the host is. */
const struct kt_vocabulary *kt_vocabulary_of(uint32_t arch);

#endif
