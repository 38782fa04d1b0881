#include "site_rows.h"

#include "../array.h"

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

/* Sites that recorded events, by kernel; open addressing, at most half full. */
struct counts {
    struct site_row *slots; /* site NULL: free */
    size_t slot_count, used;
};

static struct site_row *find(const struct counts *counts, uint32_t kernel, const struct kt_site *site)
{
    const uint64_t hash = ((uint64_t)(uintptr_t)site + kernel * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    size_t i = (size_t)(hash >> 32) & (counts->slot_count - 1);
    while (counts->slots[i].site && (counts->slots[i].site != site || counts->slots[i].kernel != kernel))
        i = (i + 1) & (counts->slot_count - 1);
    return &counts->slots[i];
}

static int make_room(struct counts *counts)
{
    struct counts larger = {.slot_count = counts->slots ? counts->slot_count * 2 : 64, .used = counts->used};
    if (counts->slots && counts->used * 2 < counts->slot_count)
        return KTRACE_OK;
    larger.slots = kt_array_new_zeroed(larger.slot_count, sizeof *larger.slots);
    if (!larger.slots)
        return KTRACE_ERROR_MEMORY;
    for (size_t i = 0; i < counts->slot_count; i++)
        if (counts->slots[i].site)
            *find(&larger, counts->slots[i].kernel, counts->slots[i].site) = counts->slots[i];
    free(counts->slots);
    *counts = larger;
    return KTRACE_OK;
}

static int count_event(struct counts *counts, uint32_t kernel, const struct kt_site *site)
{
    if (make_room(counts) < 0)
        return KTRACE_ERROR_MEMORY;
    struct site_row *slot = find(counts, kernel, site);
    if (!slot->site) {
        *slot = (struct site_row){.kernel = kernel, .site = site, .copies = 1};
        counts->used++;
    }
    slot->events++;
    return KTRACE_OK;
}

static int count_events(struct counts *counts, const struct ktrace_trace *trace)
{
    for (uint64_t w = 0; w < trace->wave_count; w++) {
        const struct kt_wave *wave = &trace->waves[w];
        const uint32_t kernel = trace->launches[wave->launch].kernel;
        for (uint32_t i = 0; i < wave->event_count; i++)
            if (count_event(counts, kernel, trace->events[wave->first_event + i].site) < 0)
                return KTRACE_ERROR_MEMORY;
    }
    return KTRACE_OK;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

/* Of a next, its start half tells what it recorded: a stop half is left out where there was nothing to stop. */
static const struct kt_site *recorded_as(const struct ktrace_trace *trace, const struct kt_site *site, uint64_t *nexts)
{
    if (site->kind != KTRACE_KIND_NEXT)
        return site;
    const uint64_t half = 2 * (*nexts)++ + 1; /* halves lie in the order of modules and sites */
    return half < trace->half_count ? &trace->halves[half] : site;
}

static int append_row(struct site_rows *out, size_t *capacity, const struct kt_site *site, uint32_t kernel,
                      uint64_t events)
{
    if (kt_array_reserve(&out->rows, capacity, out->count + 1, sizeof *out->rows) < 0)
        return KTRACE_ERROR_MEMORY;
    out->rows[out->count++] = (struct site_row){.kernel = kernel, .site = site, .copies = 1, .events = events};
    return KTRACE_OK;
}

static int by_site(const void *a, const void *b)
{
    const struct site_row *left = a, *right = b;
    const uintptr_t left_site = (uintptr_t)left->site, right_site = (uintptr_t)right->site;
    if (left_site != right_site)
        return left_site < right_site ? -1 : 1;
    return (left->kernel > right->kernel) - (left->kernel < right->kernel);
}

/* A table no more: what was counted of one site lies together. */
static void sort_counts(struct counts *counts)
{
    size_t used = 0;
    for (size_t i = 0; i < counts->slot_count; i++)
        if (counts->slots[i].site)
            counts->slots[used++] = counts->slots[i];
    if (used)
        qsort(counts->slots, used, sizeof *counts->slots, by_site);
}

/* Index of the first that was counted of the site, or of one behind it. */
static size_t first_of(const struct counts *counts, const struct kt_site *site)
{
    size_t low = 0, high = counts->used;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)counts->slots[middle].site < (uintptr_t)site)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* One for each kernel that it recorded in; one without a kernel where there is none. */
static int append_site(struct site_rows *out, size_t *capacity, const struct counts *counts, const struct kt_site *site,
                       const struct kt_site *recorded)
{
    const size_t before = out->count;
    for (size_t i = first_of(counts, recorded); i < counts->used && counts->slots[i].site == recorded; i++)
        if (append_row(out, capacity, site, counts->slots[i].kernel, counts->slots[i].events) < 0)
            return KTRACE_ERROR_MEMORY;
    return out->count > before ? KTRACE_OK : append_row(out, capacity, site, KT_NONE, 0);
}

static int append_sites(struct site_rows *out, const struct ktrace_trace *trace, const struct counts *counts)
{
    size_t capacity = 0;
    uint64_t nexts = 0;
    for (uint64_t m = 0; m < trace->snapshot->module_count; m++) {
        const struct kt_module *module = &trace->snapshot->modules[m];
        for (uint32_t s = 0; s < module->site_count; s++) {
            const struct kt_site *site = &module->sites[s], *recorded = recorded_as(trace, site, &nexts);
            if (site->kind != KTRACE_KIND_KERNEL && append_site(out, &capacity, counts, site, recorded) < 0)
                return KTRACE_ERROR_MEMORY;
        }
    }
    return KTRACE_OK;
}

/* ---- Equal ones -------------------------------------------------------------------------------------------------- */

static int compare_annotations(const struct kt_site *a, const struct kt_site *b)
{
    const int file = strcmp(a->file, b->file), name = strcmp(a->name, b->name);
    if (file)
        return file;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return name ? name : a->payload_type - b->payload_type;
}

static int compare_rows(const void *a, const void *b)
{
    const struct site_row *left = a, *right = b;
    if (left->kernel != right->kernel)
        return left->kernel < right->kernel ? -1 : 1;
    return compare_annotations(left->site, right->site);
}

static int compare_with_none_behind(const void *a, const void *b)
{
    const struct site_row *left = a, *right = b;
    const int same = compare_annotations(left->site, right->site);
    return same ? same : left->kernel < right->kernel ? -1 : left->kernel > right->kernel;
}

/* Of an annotation that recorded in some kernel, copies that recorded nothing are not told apart by kernel: they are left out. */
static void leave_out_idle_copies(struct site_rows *rows)
{
    size_t kept = 0;
    qsort(rows->rows, rows->count, sizeof *rows->rows, compare_with_none_behind);
    for (size_t i = 0; i < rows->count; i++) {
        const int idle = rows->rows[i].kernel == KT_NONE;
        if (idle && kept > 0 && rows->rows[kept - 1].kernel != KT_NONE &&
            compare_annotations(rows->rows[kept - 1].site, rows->rows[i].site) == 0)
            continue;
        rows->rows[kept++] = rows->rows[i];
    }
    rows->count = kept;
}

static void merge(struct site_rows *rows)
{
    size_t kept = 0;
    qsort(rows->rows, rows->count, sizeof *rows->rows, compare_rows);
    for (size_t i = 0; i < rows->count; i++) {
        if (kept > 0 && compare_rows(&rows->rows[kept - 1], &rows->rows[i]) == 0) {
            rows->rows[kept - 1].copies += rows->rows[i].copies;
            rows->rows[kept - 1].events += rows->rows[i].events;
        } else {
            rows->rows[kept++] = rows->rows[i];
        }
    }
    rows->count = kept;
}

int site_rows_make(struct site_rows *out, const struct ktrace_trace *trace)
{
    struct counts counts = {0};
    *out = (struct site_rows){0};
    int status = count_events(&counts, trace);
    if (status == KTRACE_OK) {
        sort_counts(&counts);
        status = append_sites(out, trace, &counts);
    }
    free(counts.slots);
    if (status == KTRACE_OK && out->count) {
        leave_out_idle_copies(out);
        merge(out);
    }
    if (status < 0)
        site_rows_free(out);
    return status;
}

void site_rows_free(struct site_rows *rows)
{
    free(rows->rows);
    *rows = (struct site_rows){0};
}
