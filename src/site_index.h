/* site_index.h - from the 16 bits of an event to its site, in one look-up, and equal names as equal numbers.
 *
 * An event of a NEXT site is two: the end of one range and the begin of another. So each NEXT site gets two halves here, of
 * kinds STOP and START; decoding puts those into its events, and behind it nothing knows of NEXT.
 */
#ifndef KT_SITE_INDEX_H
#define KT_SITE_INDEX_H

#include "snapshot.h"

/* Made once a trace. */
struct kt_site_index {
    const struct kt_snapshot *snapshot;
    uint64_t *first_site; /* one a module: the running number of its first site */
    uint32_t *name_ids;   /* one a site, by running number; halves come last */
    uint32_t name_count;
    uint64_t site_count;             /* halves included */
    struct kt_site *halves;          /* two a NEXT site: its stop, then its start. The trace's: events point there */
    uint64_t half_count, first_half; /* running number of the first */
    int halves_taken;
    uint32_t *halves_of;            /* one a site, by running number: of a NEXT site, where its halves are */
    int indexed;                    /* amdgcn: sites are found by their index, and by_distance is not used */
    const struct kt_module *module; /* whose sites by_distance holds */
    uint64_t module_first_site;
    uint16_t
        by_distance[0x10000]; /* distance from the control block: 1 + position in module->sites; 0: no event site */
};

/* Of a snapshot that passed kt_check_snapshot. NULL: no memory. */
struct kt_site_index *kt_site_index_new(const struct kt_snapshot *snapshot);
/* The halves are the caller's from now on: free() them when no event points there any more. */
struct kt_site *kt_site_index_take_halves(struct kt_site_index *index, uint64_t *count);
void kt_site_index_destroy(struct kt_site_index *index);

/* Turn to a wave's module. A number without a module is one without sites. Cheap where it stays the same. */
void kt_site_index_select(struct kt_site_index *index, uint32_t module);

/* The site of an event of the selected module; NULL: none, or one that names a kernel. On amdgcn the bits are an index. */
static inline const struct kt_site *kt_site_index_event(const struct kt_site_index *index, uint32_t control_offset,
                                                        uint16_t bits)
{
    if (index->indexed) {
        const struct kt_site *site = index->module ? kt_module_indexed_site(index->module, control_offset, bits) : NULL;
        return site && site->kind != KTRACE_KIND_KERNEL ? site : NULL;
    }
    uint16_t position = index->by_distance[(uint16_t)(bits - control_offset)];
    return position ? &index->module->sites[position - 1] : NULL;
}
const struct kt_site *kt_site_index_wide_event(const struct kt_site_index *index, uint64_t address);

/* Of a site of the selected module, or of a half. */
static inline uint64_t kt_site_index_number(const struct kt_site_index *index, const struct kt_site *site)
{
    if (site->half)
        return index->first_half + (uint64_t)(site - index->halves);
    return index->module_first_site + (uint64_t)(site - index->module->sites);
}
/* Of a NEXT site of the selected module: its stop, and behind that its start. */
static inline const struct kt_site *kt_site_index_halves(const struct kt_site_index *index, const struct kt_site *site)
{
    return &index->halves[index->halves_of[kt_site_index_number(index, site)]];
}
static inline uint32_t kt_site_index_name(const struct kt_site_index *index, const struct kt_site *site)
{
    return index->name_ids[kt_site_index_number(index, site)];
}

#endif
