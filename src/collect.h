/* collect.h - from the device's buffer to a snapshot. */
#ifndef KT_COLLECT_H
#define KT_COLLECT_H

#include "arming.h"
#include "buffer.h"

/* Copies what `usage` says was used of its half and makes a snapshot of it with the sites of `arming`; device facts, name, flags
 * and anchors are the caller's to fill in. `peek`: without waiting. Completes `*usage` from the headers, also when a later step
 * fails. */
int kt_collect(struct kt_snapshot **out, struct kt_usage *usage, struct kt_backend *backend,
               const struct kt_buffer *buffer, const struct kt_arming *arming, int peek);

#endif
