#include "phase.h"

#include "array.h"

#define KINDS (KTRACE_KIND_STOP + 1u)

struct slot {
    const struct kt_site *site; /* NULL: free */
    uint32_t kernel, phase;
};

/* Open addressing, at most half full. */
struct kt_phase_index {
    struct slot *slots;
    size_t mask, used;
};

struct kt_phase_pair {
    const struct kt_site *site;
    uint32_t kernel;
    uint32_t name; /* equal names have equal numbers */
    size_t number; /* order of appearance */
};

/* ---- The index -------------------------------------------------------------------------------------------------- */

/* The pair's slot, or the free one where it belongs. */
static struct slot *find(const struct kt_phase_index *index, uint32_t kernel, const struct kt_site *site)
{
    uint64_t hash = ((uint64_t)(uintptr_t)site + kernel * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    size_t i = (size_t)(hash >> 32) & index->mask;
    while (index->slots[i].site && (index->slots[i].site != site || index->slots[i].kernel != kernel))
        i = (i + 1) & index->mask;
    return &index->slots[i];
}

static int make_room(struct kt_phase_index *index)
{
    struct kt_phase_index larger = {.mask = index->slots ? index->mask * 2 + 1 : 63, .used = index->used};
    if (index->slots && index->used * 2 <= index->mask)
        return 0;
    larger.slots = kt_array_new_zeroed(larger.mask + 1, sizeof *larger.slots);
    if (!larger.slots)
        return KTRACE_ERROR_MEMORY;
    for (size_t i = 0; index->slots && i <= index->mask; i++)
        if (index->slots[i].site)
            *find(&larger, index->slots[i].kernel, index->slots[i].site) = index->slots[i];
    free(index->slots);
    *index = larger;
    return 0;
}

void kt_phase_index_destroy(struct kt_phase_index *index)
{
    if (index)
        free(index->slots);
    free(index);
}

uint32_t kt_trace_phase_of(const struct ktrace_trace *trace, uint32_t kernel, const struct kt_site *site)
{
    const struct kt_phase_index *index = trace->phase_index;
    const struct slot *slot = index && index->slots ? find(index, kernel, site) : NULL;
    return slot && slot->site ? slot->phase : KT_NONE;
}

/* ---- Notes ------------------------------------------------------------------------------------------------------ */

static int note(struct kt_phase_notes *notes, uint32_t kernel, const struct kt_site *site, uint32_t name)
{
    if (make_room(notes->index) < 0)
        return KTRACE_ERROR_MEMORY;
    struct slot *slot = find(notes->index, kernel, site);
    if (slot->site)
        return 0;
    size_t number = notes->pair_count;
    if (kt_array_reserve(&notes->pairs, &notes->pair_capacity, number + 1, sizeof *notes->pairs) < 0)
        return KTRACE_ERROR_MEMORY;
    notes->pairs[notes->pair_count++] =
        (struct kt_phase_pair){.site = site, .kernel = kernel, .name = name, .number = number};
    *slot = (struct slot){.site = site, .kernel = kernel, .phase = KT_NONE};
    notes->index->used++;
    return 0;
}

static int begin_notes(struct kt_phase_notes *notes, const struct kt_site_index *sites)
{
    if (!notes->index)
        notes->index = kt_array_new_zeroed(1, sizeof *notes->index);
    if (!notes->last_kernel)
        notes->last_kernel = kt_array_new_zeroed((size_t)sites->site_count, sizeof *notes->last_kernel);
    return notes->index && notes->last_kernel ? 0 : KTRACE_ERROR_MEMORY;
}

int kt_phases_note(struct kt_phase_notes *notes, const struct kt_site_index *sites, uint32_t kernel,
                   const struct kt_event *events, uint32_t count)
{
    if (count && begin_notes(notes, sites) < 0)
        return KTRACE_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const struct kt_site *site = events[i].site;
        uint32_t *last = &notes->last_kernel[kt_site_index_number(sites, site)];
        if (*last == kernel + 1 || site->kind == KTRACE_KIND_POP || site->kind == KTRACE_KIND_STOP)
            continue;
        if (note(notes, kernel, site, kt_site_index_name(sites, site)) < 0)
            return KTRACE_ERROR_MEMORY;
        *last = kernel + 1;
    }
    return 0;
}

void kt_phases_release(struct kt_phase_notes *notes)
{
    kt_phase_index_destroy(notes->index);
    free(notes->pairs);
    free(notes->last_kernel);
    *notes = (struct kt_phase_notes){0};
}

/* ---- Phases ----------------------------------------------------------------------------------------------------- */

static int by_kernel(const void *a, const void *b)
{
    const struct kt_phase_pair *left = a, *right = b;
    if (left->kernel != right->kernel)
        return left->kernel < right->kernel ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

/* The first phase of the kernel or of one behind it. */
static uint32_t first_phase_from(const struct ktrace_trace *trace, uint32_t kernel)
{
    uint32_t low = 0, high = trace->phase_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (trace->phases[middle].kernel < kernel)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void kt_phases_of_kernel(uint32_t *first, uint32_t *count, const struct ktrace_trace *trace, uint32_t kernel)
{
    *first = first_phase_from(trace, kernel);
    *count = first_phase_from(trace, kernel + 1) - *first;
}

int kt_phases_make(struct ktrace_trace *trace, struct kt_phase_notes *notes, const struct kt_site_index *sites)
{
    struct known {
        uint32_t kernel; /* 1 + the last kernel that had a phase of this name and kind */
        uint32_t phase;
    } *known = kt_array_new_zeroed((size_t)sites->name_count * KINDS, sizeof *known);
    trace->phases = kt_array_new(notes->pair_count, sizeof *trace->phases);
    if (!known || !trace->phases) {
        free(known);
        return KTRACE_ERROR_MEMORY;
    }
    if (notes->pair_count)
        qsort(notes->pairs, notes->pair_count, sizeof *notes->pairs, by_kernel);
    for (size_t i = 0; i < notes->pair_count; i++) {
        const struct kt_phase_pair *pair = &notes->pairs[i];
        struct known *its = &known[(size_t)pair->name * KINDS + pair->site->kind];
        if (its->kernel != pair->kernel + 1) {
            *its = (struct known){pair->kernel + 1, trace->phase_count};
            trace->phases[trace->phase_count++] =
                (struct kt_phase){.kernel = pair->kernel, .kind = pair->site->kind, .name = pair->site->name};
        }
        find(notes->index, pair->kernel, pair->site)->phase = its->phase;
    }
    free(known);
    trace->phase_index = notes->index;
    notes->index = NULL;
    return 0;
}
