#include "site_index.h"

#include "array.h"

struct named {
    const char *name;
    uint64_t site;
};

static int by_name(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    int order = left->name == right->name ? 0 : strcmp(left->name, right->name);
    return order ? order : (left->site > right->site) - (left->site < right->site);
}

static int number_names(struct kt_site_index *index)
{
    struct named *sorted = kt_array_new(index->site_count, sizeof *sorted);
    uint64_t site = 0;
    if (!sorted)
        return KTRACE_ERROR_MEMORY;
    for (uint64_t m = 0; m < index->snapshot->module_count; m++)
        for (uint32_t s = 0; s < index->snapshot->modules[m].site_count; s++, site++)
            sorted[site] = (struct named){index->snapshot->modules[m].sites[s].name, site};
    for (uint64_t i = 0; i < index->half_count; i++, site++)
        sorted[site] = (struct named){index->halves[i].name, site};
    qsort(sorted, index->site_count, sizeof *sorted, by_name);
    for (uint64_t i = 0; i < index->site_count; i++) {
        index->name_count += i == 0 || strcmp(sorted[i - 1].name, sorted[i].name) != 0;
        index->name_ids[sorted[i].site] = index->name_count - 1;
    }
    free(sorted);
    return 0;
}

static uint64_t count_sites(struct kt_site_index *index)
{
    uint64_t nexts = 0;
    for (uint64_t m = 0; m < index->snapshot->module_count; m++) {
        const struct kt_module *module = &index->snapshot->modules[m];
        index->first_site[m] = index->site_count;
        index->site_count += module->site_count;
        for (uint32_t s = 0; s < module->site_count; s++)
            nexts += module->sites[s].kind == KTRACE_KIND_NEXT;
    }
    return nexts;
}

static void halve(struct kt_site_index *index, const struct kt_site *next)
{
    static char no_name[] = "";
    struct kt_site *stop = &index->halves[index->half_count++], *start = &index->halves[index->half_count++];
    *stop = *start = *next;
    stop->half = start->half = 1;
    stop->kind = KTRACE_KIND_STOP;
    stop->payload_type = KTRACE_PAYLOAD_NONE;
    stop->name = no_name;
    start->kind = KTRACE_KIND_START;
}

static int make_halves(struct kt_site_index *index, uint64_t nexts)
{
    uint64_t site = 0;
    index->halves = kt_array_new(2 * nexts, sizeof *index->halves);
    index->halves_of = kt_array_new_zeroed(nexts ? index->site_count : 0, sizeof *index->halves_of);
    if (!index->halves || !index->halves_of)
        return KTRACE_ERROR_MEMORY;
    for (uint64_t m = 0; nexts && m < index->snapshot->module_count; m++)
        for (uint32_t s = 0; s < index->snapshot->modules[m].site_count; s++, site++)
            if (index->snapshot->modules[m].sites[s].kind == KTRACE_KIND_NEXT) {
                index->halves_of[site] = (uint32_t)index->half_count;
                halve(index, &index->snapshot->modules[m].sites[s]);
            }
    index->first_half = index->site_count;
    index->site_count += index->half_count;
    return 0;
}

struct kt_site_index *kt_site_index_new(const struct kt_snapshot *snapshot)
{
    struct kt_site_index *index = kt_array_new_zeroed(1, sizeof *index);
    if (!index)
        return NULL;
    index->snapshot = snapshot;
    index->indexed = snapshot->arch == KTRACE_ARCH_AMDGCN;
    index->first_site = kt_array_new(snapshot->module_count, sizeof *index->first_site);
    int status = index->first_site ? make_halves(index, count_sites(index)) : KTRACE_ERROR_MEMORY;
    if (status == 0)
        index->name_ids = kt_array_new(index->site_count, sizeof *index->name_ids);
    if (!index->name_ids || number_names(index) < 0) {
        kt_site_index_destroy(index);
        return NULL;
    }
    return index;
}

struct kt_site *kt_site_index_take_halves(struct kt_site_index *index, uint64_t *count)
{
    index->halves_taken = 1;
    *count = index->half_count;
    return index->halves;
}

void kt_site_index_destroy(struct kt_site_index *index)
{
    if (!index)
        return;
    if (!index->halves_taken)
        free(index->halves);
    free(index->halves_of);
    free(index->name_ids);
    free(index->first_site);
    free(index);
}

void kt_site_index_select(struct kt_site_index *index, uint32_t number)
{
    const struct kt_module *old = index->module;
    if (old && old->number == number)
        return;
    for (uint32_t s = 0; !index->indexed && old && s < old->site_count && !old->sites[s].wide; s++)
        index->by_distance[old->sites[s].id] = 0;

    const struct kt_module *module = kt_snapshot_module(index->snapshot, number);
    index->module = module;
    index->module_first_site = module ? index->first_site[module - index->snapshot->modules] : 0;
    for (uint32_t s = 0; !index->indexed && module && s < module->site_count && !module->sites[s].wide; s++)
        if (module->sites[s].kind != KTRACE_KIND_KERNEL)
            index->by_distance[module->sites[s].id] = (uint16_t)(s + 1);
}

const struct kt_site *kt_site_index_wide_event(const struct kt_site_index *index, uint64_t address)
{
    const struct kt_site *site = index->module ? kt_module_site(index->module, 0, address, 1) : NULL;
    return site && site->kind != KTRACE_KIND_KERNEL ? site : NULL;
}
