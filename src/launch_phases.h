/* launch_phases.h - the statistics of each launch's own phases.
 *
 * A trace can have very many launches, and few are asked for: a launch's are made then, and stay with the trace.
 */
#ifndef KT_LAUNCH_PHASES_H
#define KT_LAUNCH_PHASES_H

#include "trace.h"

struct kt_launch_phases {
    uint64_t count;
    struct ktrace_phase_info phases[]; /* those that occur in the launch, in the order of the trace's */
};

/* The trace's, for as long as it lives. Any thread may ask. NULL when memory ran out (the error is set). */
const struct kt_launch_phases *kt_launch_phases(const struct ktrace_trace *trace, uint64_t launch);

void kt_launch_phases_destroy(struct ktrace_trace *trace);

#endif
