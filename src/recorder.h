/* recorder.h - one device of a capture: its buffer, its modules, what is taken from it. */
#ifndef KT_RECORDER_H
#define KT_RECORDER_H

#include "arming.h"
#include "buffer.h"
#include "filter_text.h"

/* What all devices of a capture record. */
struct kt_recording {
    uint64_t buffer_bytes; /* 0, and the others: the defaults of ktrace_capture_options */
    uint32_t events_per_wave, events_per_lane;
    int keep_last;
    struct kt_filter filter;
};

#define KT_MAX_ANCHORS 64

struct kt_recorder {
    struct kt_backend *backend; /* owned */
    struct kt_device_facts facts;
    struct kt_recording recording;
    struct kt_buffer buffer;
    struct kt_arming arming;
    struct kt_host_anchor anchors[KT_MAX_ANCHORS]; /* the first, then the latest */
    uint32_t anchor_count;
    struct kt_usage left; /* of the half that waves no longer start in, as long as `has_left` */
    int has_left;
};

/* Allocates on the idle device of `backend`, which it takes over, also on failure. No module is armed. `next_module` counts the
 * modules of all captures of the process. */
int kt_recorder_open(struct kt_recorder **out, struct kt_backend *backend, const struct kt_recording *recording,
                     uint32_t *next_module);
/* `keep_memory`: kernels may still write to the buffer, so it stays allocated. Freeing waits for the device. NULL is allowed. */
void kt_recorder_close(struct kt_recorder *recorder, int keep_memory);

/* Host and device clock together, for the next snapshot. */
void kt_recorder_anchor(struct kt_recorder *recorder);

/* Waves that start from now on are of the next snapshot; those before are in what is left, once they have been waited for. */
int kt_recorder_turn(struct kt_recorder *recorder);
/* What is left becomes a snapshot and its memory clean, also on failure. Without something left: what the half in use holds, of a
 * device on which nothing records. `*usage` is for explaining. KTRACE_ERROR_OVERFLOW names what would have held it. */
int kt_recorder_take(struct kt_snapshot **out, struct kt_usage *usage, struct kt_recorder *recorder);
/* Forgets what is left. */
int kt_recorder_drop(struct kt_recorder *recorder);
/* What is there, without waiting or changing anything. */
int kt_recorder_peek(struct kt_snapshot **out, struct kt_usage *usage, struct kt_recorder *recorder);

#endif
