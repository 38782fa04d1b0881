/* process.h - who recorded a snapshot: the process, its host, its captures; and what tells its devices from others.
 *
 * A capture fills one in (origin.c), a trace file keeps it in its sections ORIG and PROC, and merging (merge.c) relates traces
 * by it. What is not known, as of files from before there was such a section, is 0 and "".
 */
#ifndef KT_PROCESS_H
#define KT_PROCESS_H

#include "ktrace/ktrace.h"

enum { KT_ID_BYTES = 16 };

/* What identifies a physical device wherever it is seen from, CUDA_VISIBLE_DEVICES or not. */
struct kt_device_identity {
    uint8_t uuid[KT_ID_BYTES]; /* of CUDA or HIP; zeros: not known */
    char pci_bus_id[32];       /* "0000:17:00.0"; "" */
};

/* The host's clocks read together: CLOCK_MONOTONIC between two readings of CLOCK_REALTIME. Their distance changes only where
 * somebody sets the latter. */
struct kt_clock_reading {
    uint64_t real_before_ns, monotonic_ns, real_after_ns;
};

/* Reads number `first` to `last` of capture number `capture` of the process, both counted from 1, and what they recorded. */
struct kt_reads {
    uint32_t capture;
    uint64_t first, last;
    char *filter; /* as KTRACE_BLOCKS; "all" */
};

struct kt_process {
    uint8_t id[KT_ID_BYTES]; /* random, its own; zeros: not known */
    uint32_t pid;
    char *label;   /* "rank 3"; "" */
    char *host;    /* its name */
    char *boot;    /* /proc/sys/kernel/random/boot_id: equal where the kernel is, containers or not */
    char *program; /* its path */
    char *version; /* of libktrace */
    uint32_t read_count;
    struct kt_reads *reads; /* ordered by capture, then first */
    uint32_t reading_count;
    struct kt_clock_reading *readings; /* in the order of time */

    /* What decoding needs. */
    uint32_t main_ring_slots, lane_ring_slots;
    uint64_t buffer_bytes; /* of each device */
    uint32_t first_module; /* numbers of its modules count from here; those of the next process begin behind them */
    /* Clocks relate the processes of one timeline, each of which begins where the snapshot says, counted from the begin of
     * timeline 0. `host_shift_ns` is what to add to this process's host clock to have the timeline's, which is known to within
     * `host_shift_uncertainty_ns`. */
    uint32_t timeline;
    int64_t host_shift_ns;
    uint32_t host_shift_uncertainty_ns;
};

/* With empty strings. KTRACE_ERROR_MEMORY: what there is of it can be freed. */
int kt_process_init(struct kt_process *process);
void kt_process_free(struct kt_process *process);
/* Deep; `out` holds nothing. On failure it can be freed. */
int kt_process_copy(struct kt_process *out, const struct kt_process *process);

/* One and the same, as far as is known. */
int kt_process_is_same(const struct kt_process *a, const struct kt_process *b);
/* Whether some read of a capture is in both. KTRACE_ERROR_MEMORY. */
int kt_process_reads_overlap(const struct kt_process *a, const struct kt_process *b);
/* What `more`, the same process, has beyond. KTRACE_ERROR_MEMORY: `process` is as it was. */
int kt_process_join(struct kt_process *process, const struct kt_process *more);

/* What CLOCK_REALTIME was ahead of CLOCK_MONOTONIC. */
struct kt_clock_distance {
    int64_t low_ns, high_ns;
    int was_set; /* readings contradict each other, as somebody set the clock between two: this is the first one's */
};
/* 0: the clocks were not read. */
int kt_process_clock_distance(struct kt_clock_distance *out, const struct kt_process *process);

int kt_id_is_known(const uint8_t id[KT_ID_BYTES]);
/* "f05ffc01-4a82-5c2c-a8a7-fd6b2a5b7b3a"; "" where it is not known. */
enum { KT_ID_TEXT_BYTES = 37 };
void kt_id_text(char out[KT_ID_TEXT_BYTES], const uint8_t id[KT_ID_BYTES]);

#endif
