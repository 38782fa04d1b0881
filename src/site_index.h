/* site_index.h - from the 16 bits of an event to its site, in one look-up, and equal names as equal numbers. */
#ifndef KT_SITE_INDEX_H
#define KT_SITE_INDEX_H

#include "snapshot.h"

/* Made once a trace. */
struct kt_site_index {
    const struct kt_snapshot *snapshot;
    uint64_t *first_site; /* one a module: the running number of its first site */
    uint32_t *name_ids;   /* one a site, by running number */
    uint32_t name_count;
    uint64_t site_count;
    const struct kt_module *module; /* whose sites by_distance holds */
    uint64_t module_first_site;
    uint16_t
        by_distance[0x10000]; /* distance from the control block: 1 + position in module->sites; 0: no event site */
};

/* Of a snapshot that passed kt_check_snapshot. NULL: no memory. */
struct kt_site_index *kt_site_index_new(const struct kt_snapshot *snapshot);
void kt_site_index_destroy(struct kt_site_index *index);

/* Turn to a wave's module. A number without a module is one without sites. Cheap where it stays the same. */
void kt_site_index_select(struct kt_site_index *index, uint32_t module);

/* The site of an event of the selected module; NULL: none, or one that names a kernel. */
static inline const struct kt_site *kt_site_index_event(const struct kt_site_index *index, uint32_t control_offset,
                                                        uint16_t bits)
{
    uint16_t position = index->by_distance[(uint16_t)(bits - control_offset)];
    return position ? &index->module->sites[position - 1] : NULL;
}
const struct kt_site *kt_site_index_wide_event(const struct kt_site_index *index, uint64_t address);

/* Of a site of the selected module. */
static inline uint64_t kt_site_index_number(const struct kt_site_index *index, const struct kt_site *site)
{
    return index->module_first_site + (uint64_t)(site - index->module->sites);
}
static inline uint32_t kt_site_index_name(const struct kt_site_index *index, const struct kt_site *site)
{
    return index->name_ids[kt_site_index_number(index, site)];
}

#endif
