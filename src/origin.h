/* origin.h - what a capture tells of its process and host: see process.h. */
#ifndef KT_ORIGIN_H
#define KT_ORIGIN_H

#include "process.h"

enum { KT_MAX_CLOCK_READINGS = 64 };

/* Of a capture. Begins under the operation lock, changes under the state lock, as a peek tells of it. */
struct kt_recording_origin {
    uint32_t number;                                         /* of the captures of this process, from 1 */
    uint64_t reads;                                          /* that are over; a peek is of the next one; atomic */
    struct kt_clock_reading readings[KT_MAX_CLOCK_READINGS]; /* the first, then the latest */
    uint32_t reading_count;
    char *label; /* of its process, as the environment was when it began */
};

/* The capture begins: it gets its number, its label, and the clocks are read. KTRACE_ERROR_MEMORY. */
int kt_origin_begin(struct kt_recording_origin *origin);
void kt_origin_end(struct kt_recording_origin *origin);
/* What was recorded so far was handed over, or forgotten. */
static inline void kt_origin_read_is_over(struct kt_recording_origin *origin)
{
    __atomic_fetch_add(&origin->reads, 1, __ATOMIC_RELAXED);
}
static inline uint64_t kt_origin_reads(const struct kt_recording_origin *origin)
{
    return __atomic_load_n(&origin->reads, __ATOMIC_RELAXED);
}
/* Again, at each read. */
void kt_origin_read_clocks(struct kt_recording_origin *origin);

/* Fills in what `process` does not say yet, of the read that is at hand. KTRACE_ERROR_MEMORY. */
int kt_origin_tell(struct kt_process *process, const struct kt_recording_origin *origin,
                   const struct ktrace_filter *filter, uint32_t arch);

/* The label of a process with that environment: KTRACE_LABEL, or "rank 3" by a launcher's variables; "" where there is none.
 * `*out` is the caller's. */
int kt_origin_label(char **out, const char *(*variable)(const char *name));
/* The number that a launcher gave this process, in digits; NULL: none. It is the environment's. */
const char *kt_origin_rank(void);

#endif
