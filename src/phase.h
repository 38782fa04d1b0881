/* phase.h - the phases of a trace: sites of one kernel that agree in kind and name are one phase to the user.
 *
 * While waves are decoded, kt_phases_note is shown their events and remembers each pair of kernel and site that occurs. From
 * these, kt_phases_make numbers the phases.
 */
#ifndef KT_PHASE_H
#define KT_PHASE_H

#include "site_index.h"
#include "trace.h"

/* Zeroed, it is ready. */
struct kt_phase_notes {
    struct kt_phase_index *index;
    struct kt_phase_pair *pairs; /* in order of appearance */
    size_t pair_count, pair_capacity;
    uint32_t *last_kernel; /* one a site: 1 + the kernel it was last noted for */
};

/* A wave's events, whose sites are of the module that `sites` has selected. */
int kt_phases_note(struct kt_phase_notes *notes, const struct kt_site_index *sites, uint32_t kernel,
                   const struct kt_event *events, uint32_t count);
/* Sets trace->phases, phase_count and phase_index. */
int kt_phases_make(struct ktrace_trace *trace, struct kt_phase_notes *notes, const struct kt_site_index *sites);
/* Those of one kernel lie together, from `*first` on. */
void kt_phases_of_kernel(uint32_t *first, uint32_t *count, const struct ktrace_trace *trace, uint32_t kernel);
void kt_phases_release(struct kt_phase_notes *notes);

void kt_phase_index_destroy(struct kt_phase_index *index);

#endif
