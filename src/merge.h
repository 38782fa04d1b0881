/* merge.h - several traces become one, for merge.c and its parts.
 *
 *   merge_check.c   may they be one trace, and is nothing in two of them?
 *   merge_relate.c  what relates their times
 *   merge.c         the options, which processes there are, and the snapshot of all
 *
 * Traces that have a process in common, reads of one program, are one body: their times are of the same clocks already. Bodies are
 * what is related.
 */
#ifndef KT_MERGE_H
#define KT_MERGE_H

#include "trace.h"

/* A process of the merged trace. */
struct kt_merge_process {
    const struct kt_process *first; /* of the first trace that has it */
    uint32_t body;
    uint32_t modules; /* that its numbers take */
    uint32_t first_module;
    uint32_t timeline;
    int64_t host_shift_ns;
    uint32_t host_shift_uncertainty_ns;
};

struct kt_merge {
    const struct ktrace_trace *const *traces;
    uint64_t count;
    struct ktrace_merge_options options; /* all of them, whatever the caller's version */
    uint32_t *bodies;                    /* one a trace: the first trace of its body */
    uint32_t **processes;                /* one a trace: for each of its processes, the index of that here */
    struct kt_merge_process *all;
    uint32_t process_count;
    int64_t *timeline_begins_ns;
    uint32_t timeline_count;
};

/* "trace 2 (gemm, rank 1)": what an error calls a trace. Good until the next call of this thread but one. */
const char *kt_merge_words(const struct kt_merge *merge, uint64_t trace);
static inline const struct kt_snapshot *kt_merge_snapshot(const struct kt_merge *merge, uint64_t trace)
{
    return merge->traces[trace]->snapshot;
}
/* What the options move it by. */
static inline int64_t kt_merge_offset_ns(const struct kt_merge *merge, uint64_t trace)
{
    return merge->options.offsets_ns ? merge->options.offsets_ns[trace] : 0;
}

/* KTRACE_ERROR_ARGUMENT where they cannot be one. */
int kt_merge_check(const struct kt_merge *merge);
/* Sets timelines and shifts. KTRACE_ERROR_ARGUMENT where nothing relates two of them. */
int kt_merge_relate(struct kt_merge *merge);

#endif
