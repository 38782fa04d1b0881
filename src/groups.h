/* groups.h - statistics of a part of a trace, grouped by what the waves and phases have in common.
 *
 * With `ranges`, or by phase, what is described are the ranges that are selected; otherwise the spans of the waves, from begin
 * to end of their handles.
 */
#ifndef KT_GROUPS_H
#define KT_GROUPS_H

#include "selection.h"
#include "statistics.h"

enum kt_group_key {
    KT_BY_DEVICE,
    KT_BY_KERNEL,
    KT_BY_LAUNCH,
    KT_BY_PHASE, /* and with it by kernel */
    KT_BY_PLACE, /* SM or CU, and with it by device */
    KT_BY_WORKGROUP,
    KT_BY_WAVE, /* number within the workgroup */
    KT_GROUP_KEYS
};

/* What a group has in common; 0 where it is not a key. */
struct kt_group_of {
    uint32_t device, kernel, launch, phase, place, workgroup[3], wave;
};

struct kt_group {
    struct kt_group_of of;
    uint64_t marks, unclosed; /* ranges that nothing closed, or waves that did not finish: in no statistics */
    struct kt_statistics statistics;
};

/* How evenly a group by the other keys is spread over its places. */
struct kt_imbalance {
    struct kt_group_of of;     /* without place; device 0 unless that is a key */
    uint64_t places;           /* that recorded any */
    double mean_ns, max_ns;    /* of the places' totals */
    const struct kt_group *at; /* the largest */
};

struct kt_groups {
    unsigned keys; /* bit 1 << enum kt_group_key */
    bool ranges;
    struct kt_group *groups; /* by total, largest first */
    size_t count;
    struct kt_imbalance *imbalances; /* with KT_BY_PLACE; the largest mean first */
    size_t imbalance_count;
    uint64_t waves, waves_selected;
    double wave_ns;                       /* time of all selected waves */
    uint64_t ranges_all, ranges_selected; /* ranges and marks of the whole trace, and of what was selected */
};

/* `selection` was begun. KTRACE_ERROR_MEMORY. */
int kt_groups_make(struct kt_groups *out, const struct ktrace_trace *trace, unsigned keys, bool ranges,
                   struct kt_selection *selection);
void kt_groups_free(struct kt_groups *groups);

#endif
