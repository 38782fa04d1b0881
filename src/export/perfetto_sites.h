/* perfetto_sites.h - the sites and names of a trace as the events of its waves need them. Part of the Perfetto exporter: see
 * perfetto.h. */
#ifndef KT_PERFETTO_SITES_H
#define KT_PERFETTO_SITES_H

#include "../trace.h"

/* Interned in every wave's sequence: numbers are fixed, names are sent when a wave first needs them. */
enum kt_pf_category {
    KT_PF_CATEGORY_RANGE = 1,
    KT_PF_CATEGORY_TOKEN,
    KT_PF_CATEGORY_MARK,
    KT_PF_CATEGORY_WAVE,
    KT_PF_CATEGORY_END
};
enum kt_pf_argument {
    KT_PF_ARGUMENT_PAYLOAD = 1,
    KT_PF_ARGUMENT_END_PAYLOAD,
    KT_PF_ARGUMENT_LANE,
    KT_PF_ARGUMENT_END_LANE,
    KT_PF_ARGUMENT_END
};

/* A name of any site of the trace. It is event name i + 1; that of an unclosed range comes behind all names. */
struct kt_pf_name {
    char *text;                         /* owned, UTF-8 */
    uint32_t sent_by, sent_unclosed_by; /* the last sequence that has it */
};

/* What an event needs to know of its site. */
struct kt_pf_site {
    uint32_t name;                      /* index into names */
    uint32_t used_by, used_unclosed_by; /* the last sequence with everything sent that this site needs */
    uint8_t type;                       /* of the TrackEvent; 0: such a site has no events */
    uint8_t category, payload_type;
    uint8_t payload_argument;
};

struct kt_pf_site_range {
    uintptr_t begin, bytes; /* of kt_sites: a module's, or the trace's halves */
    struct kt_pf_site *sites;
};

struct kt_pf_sites {
    uint32_t name_count, site_count, range_count;
    struct kt_pf_name *names;
    struct kt_pf_site *sites;
    struct kt_pf_site_range *ranges;
    struct kt_pf_site_range current; /* of the last event */
    struct kt_pf_site_range halves;
};

/* One entry a site, one a distinct name. Once a trace: events only follow pointers. `out` is zeroed; free it with
 * kt_pf_sites_free, also after a failure. */
int kt_pf_sites_make(struct kt_pf_sites *out, const struct ktrace_trace *trace);
void kt_pf_sites_free(struct kt_pf_sites *sites);

/* NULL: no site of the trace. */
struct kt_pf_site *kt_pf_find_elsewhere(struct kt_pf_sites *sites, uintptr_t address);
static inline struct kt_pf_site *kt_pf_find(struct kt_pf_sites *sites, const struct kt_site *site)
{
    uintptr_t offset = (uintptr_t)site - sites->current.begin;
    if (offset < sites->current.bytes)
        return &sites->current.sites[offset / sizeof *site];
    offset = (uintptr_t)site - sites->halves.begin;
    if (offset < sites->halves.bytes)
        return &sites->halves.sites[offset / sizeof *site];
    return kt_pf_find_elsewhere(sites, (uintptr_t)site);
}

#endif
