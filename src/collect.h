/* collect.h - from the device's buffer to a snapshot. */
#ifndef KT_COLLECT_H
#define KT_COLLECT_H

#include "arming.h"
#include "layout.h"

/* A capture's memory on the device. */
struct kt_buffer {
    struct kt_layout layout;
    uint64_t allocation;                      /* owned */
    uint64_t counters;                        /* owned; struct ktrace_counters */
    uint64_t main_rings, lane_rings, headers; /* within allocation */
};

/* Allocates and clears. */
int kt_buffer_make(struct kt_buffer *out, struct kt_backend *backend, const struct kt_layout *layout);
void kt_buffer_free(struct kt_buffer *buffer, struct kt_backend *backend);

/* What a look at counters and headers tells, before rings are copied. */
struct kt_usage {
    uint64_t rows; /* regions [0, rows * partitions) were given out */
    uint64_t waves_recorded, waves_dropped, waves_filtered;
    uint64_t headers_missing; /* regions that were claimed without a header, or in a peek without a whole one */
    uint64_t most_main_slots, most_lane_slots; /* received by the fullest ring of each kind */
};

/* Copies what was used and makes a snapshot of it with the sites of `arming`; device facts, name, flags and anchors are the
 * caller's to fill in. `peek`: without waiting. `*usage` is written also when a later step fails. */
int kt_collect(struct kt_snapshot **out, struct kt_usage *usage, struct kt_backend *backend,
               const struct kt_buffer *buffer, const struct kt_arming *arming, int peek);

/* Zeroes what `usage` says was used, and the counters. */
int kt_buffer_clear(const struct kt_buffer *buffer, struct kt_backend *backend, const struct kt_usage *usage);

/* Reads the counters only. */
int kt_buffer_usage(struct kt_usage *out, struct kt_backend *backend, const struct kt_buffer *buffer, int peek);

#endif
