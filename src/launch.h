/* launch.h - which waves make a launch.
 *
 * Waves of one launch agree in module, kernel, grid id and shape. Every replay of a CUDA graph repeats the grid ids of its
 * nodes, but cannot overlap itself: in order of their starts, the first wave that is there again begins the next occurrence.
 * On amdgcn the grid id is the dispatch id, which is unique in its queue, replayed or not; the queue is part of the identity.
 * A queue that is made anew at the same address counts from 0 again, and is taken for a replay.
 */
#ifndef KT_LAUNCH_H
#define KT_LAUNCH_H

#include "site_index.h"
#include "trace.h"

/* From the headers of trace->snapshot, after the clock fit: sets kernels, launches and waves, in their final order, with
 * begin_ps and end_ps from the anchors. Events and what follows from them are left at 0. */
int kt_make_launches(struct ktrace_trace *trace, const struct kt_site_index *sites);

/* Once the waves are decoded: the launches' ends, events and losses, and what the devices have of launches. */
void kt_finish_launches(struct ktrace_trace *trace);

#endif
