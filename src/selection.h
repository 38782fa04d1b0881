/* selection.h - a part of a trace, by kernel, launch, wave, name, kind and time: what the commands' filters choose.
 *
 *     struct kt_selection selection = KT_SELECTION_ALL;
 *     selection.kernel = "gemm*";
 *     kt_selection_begin(&selection, trace);
 *     ... kt_selects_wave, kt_selects_event
 *     kt_selection_end(&selection);
 */
#ifndef KT_SELECTION_H
#define KT_SELECTION_H

#include "trace.h"

#include <stdbool.h>

enum { KT_SELECTION_CACHE = 512 };

struct kt_selection {
    const char *kernel; /* the name, or a pattern of fnmatch; NULL: any */
    const char *name;   /* of phases; an end has the name of its begin */
    /* Ends of all are included. */
    uint64_t launch_first, launch_last;
    uint64_t wave_first, wave_last; /* numbers within the workgroup */
    uint32_t workgroup_first[3], workgroup_last[3];
    uint32_t kinds; /* bit 1 << enum ktrace_kind; 0: any */
    int64_t from_ps, last_ps;

    /* Of kt_selection_begin. */
    const struct ktrace_trace *trace;
    bool *kernels;
    struct {
        const struct kt_site *site;
        bool matches;
    } * sites; /* what was asked of names lately */
};
#define KT_SELECTION_ALL \
    { \
        .launch_last = UINT64_MAX, .wave_last = UINT64_MAX, .workgroup_last = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, \
        .from_ps = INT64_MIN, .last_ps = INT64_MAX \
    }

/* `trace` outlives the selection. KTRACE_ERROR_NOT_FOUND: no kernel has that name, or there is no such launch. */
int kt_selection_begin(struct kt_selection *selection, const struct ktrace_trace *trace);
void kt_selection_end(struct kt_selection *selection);

bool kt_selects_wave(const struct kt_selection *selection, const struct kt_wave *wave);
/* Of a wave that is selected. */
bool kt_selects_event(struct kt_selection *selection, const struct kt_wave *wave, const struct kt_event *event);

/* Equal, or matched as a pattern: so that names with brackets can be given as they are. */
bool kt_name_matches(const char *pattern, const char *name);

/* The site that names an event: a matched end has its begin's. */
const struct kt_site *kt_event_name_site(const struct ktrace_trace *trace, const struct kt_wave *wave,
                                         const struct kt_event *event);

#endif
