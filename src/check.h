/* check.h - what everything behind it may rely on: a snapshot comes from a device's memory or from a file, and neither is
 * trusted. Afterwards indices are inside their arrays, products do not overflow, and sites are sorted. */
#ifndef KT_CHECK_H
#define KT_CHECK_H

#include "snapshot.h"

/* More than any host has. */
#define KT_DEVICES_MAX 1024u

/* 0, KTRACE_ERROR_FORMAT or KTRACE_ERROR_VERSION with a sentence that names what is wrong. Linear in the snapshot. */
int kt_check_snapshot(const struct kt_snapshot *snapshot);

/* The same for one wave header, on its own: a peek can meet one that is half written. `arch` is the capture's. */
int kt_check_header(const struct ktrace_wave_header *header, uint32_t arch, uint64_t number);

/* Of a header that passed. */
uint64_t kt_waves_per_workgroup(const struct ktrace_wave_header *header);
uint64_t kt_waves_of_grid(const struct ktrace_wave_header *header);

#endif
