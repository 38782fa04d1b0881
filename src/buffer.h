/* buffer.h - a capture's memory on one device: two halves, one that waves record into, and one that is clean or being read. */
#ifndef KT_BUFFER_H
#define KT_BUFFER_H

#include "backend/backend.h"
#include "layout.h"

struct kt_buffer {
    struct kt_layout layout;
    uint64_t allocation;                      /* owned */
    uint64_t counters;                        /* owned; struct ktrace_counters, then struct ktrace_dropped */
    uint64_t main_rings, lane_rings, headers; /* within allocation */
    uint32_t half;                            /* that waves record into */
    int other_is_clean;                       /* the other half was cleared since it was last used, or allocated */
};

/* What counters tell of one half, later those of dropped waves, and its headers. */
struct kt_usage {
    uint32_t half;
    uint64_t rows; /* regions [0, rows * partitions) of the half were given out */
    uint64_t waves_recorded, waves_dropped, waves_filtered;
    uint64_t headers_missing; /* regions that were claimed without a header, or in a peek without a whole one */
    uint64_t most_main_slots,
        most_lane_slots; /* received by the fullest ring of each kind; what dropped waves counted, too */
};

/* Allocates both halves and clears the first. */
int kt_buffer_make(struct kt_buffer *out, struct kt_backend *backend, const struct kt_layout *layout);
void kt_buffer_free(struct kt_buffer *buffer, struct kt_backend *backend);

/* What the half in use holds so far, dropped waves apart. `peek`: without waiting for kernels. */
int kt_buffer_look(struct kt_usage *out, struct kt_backend *backend, const struct kt_buffer *buffer, int peek);

/* Waves that start from now on record into the other half. `*out` tells of the one that is left: once the waves that record
 * into it are waited for it can be collected, and must be cleared before the next turn. Each wave is in exactly one half,
 * whatever runs meanwhile, if the backend can exchange counters. */
int kt_buffer_turn(struct kt_usage *out, struct kt_backend *backend, struct kt_buffer *buffer);

/* Adds the waves that found no region in the half of `usage`, and the most that they recorded. What those that did find one
 * recorded is for kt_collect to add. Final once they were waited for. */
int kt_buffer_count_dropped(struct kt_usage *usage, struct kt_backend *backend, const struct kt_buffer *buffer,
                            int peek);

/* Zeroes what `usage` says was used of its half, which is not the one in use. */
int kt_buffer_clear(struct kt_buffer *buffer, struct kt_backend *backend, const struct kt_usage *usage);

/* Device addresses of a half's first region. */
struct kt_half {
    uint64_t main_rings, lane_rings, headers;
};
struct kt_half kt_buffer_half(const struct kt_buffer *buffer, uint32_t half);

#endif
