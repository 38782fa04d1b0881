/* look.h - everything that reads a trace reads one: for fuzzers, and for tests that damage files.
 *
 * Whatever a file held, a trace that was made of it can be summarized, listed, exported, saved and merged: what fails, but for lack of
 * memory, aborts the program with the sentence. */
#ifndef LOOK_H
#define LOOK_H

#include "trace.h"

enum look {
    LOOK_FACTS = 1,   /* every function of ktrace.h that tells of one thing: devices, launches, phases, waves, events */
    LOOK_TEXTS = 2,   /* summary and launches, as text and JSON */
    LOOK_EXPORTS = 4, /* every exporter but that of the page */
    LOOK_VIEWS = 8,   /* the command's: groups, annotations, lines of events */
    LOOK_FILE = 16,   /* saved, and read again: it has to be the same trace */
    LOOK_MERGED = 32, /* as one of two processes */
    LOOK_PAGE = 64    /* of `ktrace report`: large */
};
#define LOOK_ALL (LOOK_FACTS | LOOK_TEXTS | LOOK_EXPORTS | LOOK_VIEWS | LOOK_FILE | LOOK_MERGED)

/* A digest of all that was seen: equal traces have equal ones. `looks`: of enum look. */
uint64_t look_at(const struct ktrace_trace *trace, unsigned looks);

#endif
