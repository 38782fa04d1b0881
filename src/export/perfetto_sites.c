#include "perfetto_sites.h"

#include "../error.h"
#include "../string_builder.h"
#include "perfetto_fields.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int is_named(const struct kt_site *site)
{
    return site->kind == KTRACE_KIND_MARK || site->kind == KTRACE_KIND_PUSH || site->kind == KTRACE_KIND_START;
}

static uint32_t find_name(const char **names, uint32_t count, const char *name)
{
    uint32_t low = 0;
    while (low < count) {
        uint32_t middle = low + (count - low) / 2;
        if (strcmp(names[middle], name) < 0)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static void describe_site(struct kt_pf_site *to, const struct kt_site *from)
{
    *to = (struct kt_pf_site){.payload_type = from->payload_type, .payload_argument = KT_PF_ARGUMENT_PAYLOAD};
    switch (from->kind) {
    case KTRACE_KIND_MARK:
        to->type = KT_PF_TYPE_INSTANT;
        to->category = KT_PF_CATEGORY_MARK;
        break;
    case KTRACE_KIND_PUSH:
        to->type = KT_PF_TYPE_SLICE_BEGIN;
        to->category = KT_PF_CATEGORY_RANGE;
        break;
    case KTRACE_KIND_START:
        to->type = KT_PF_TYPE_SLICE_BEGIN;
        to->category = KT_PF_CATEGORY_TOKEN;
        break;
    case KTRACE_KIND_POP:
    case KTRACE_KIND_STOP:
        to->type = KT_PF_TYPE_SLICE_END;
        to->payload_argument = KT_PF_ARGUMENT_END_PAYLOAD;
        break;
    default: break;
    }
}

/* The sites that events can have: those of module `i`, and after the last module the trace's halves. */
static uint64_t sites_of(const struct kt_site **sites, const struct ktrace_trace *trace, uint64_t i)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    *sites = i < snapshot->module_count ? snapshot->modules[i].sites : trace->halves;
    return i < snapshot->module_count ? snapshot->modules[i].site_count : trace->half_count;
}

static void collect_names(struct kt_pf_sites *out, const struct ktrace_trace *trace, const char **texts)
{
    const struct kt_site *sites;
    uint32_t names = 0;
    for (uint64_t i = 0; i <= trace->snapshot->module_count; i++)
        for (uint64_t s = 0, count = sites_of(&sites, trace, i); s < count; s++)
            if (is_named(&sites[s]))
                texts[names++] = sites[s].name;
    if (names > 0)
        qsort(texts, names, sizeof *texts, compare_names);
    for (uint32_t i = 0; i < names; i++)
        if (i == 0 || strcmp(texts[i], texts[out->name_count - 1]) != 0)
            texts[out->name_count++] = texts[i];
}

static int by_address(const void *a, const void *b)
{
    const struct kt_pf_site_range *left = a, *right = b;
    return (left->begin > right->begin) - (left->begin < right->begin);
}

static void describe_sites(struct kt_pf_sites *out, const struct ktrace_trace *trace, const char **texts)
{
    const struct kt_site *sites;
    for (uint64_t i = 0; i <= trace->snapshot->module_count; i++) {
        uint64_t count = sites_of(&sites, trace, i);
        if (count == 0)
            continue;
        out->ranges[out->range_count++] =
            (struct kt_pf_site_range){(uintptr_t)sites, (uintptr_t)count * sizeof *sites, out->sites + out->site_count};
        for (uint64_t s = 0; s < count; s++) {
            struct kt_pf_site *site = &out->sites[out->site_count++];
            describe_site(site, &sites[s]);
            if (is_named(&sites[s]))
                site->name = find_name(texts, out->name_count, sites[s].name);
        }
    }
    if (trace->half_count)
        out->halves = out->ranges[out->range_count - 1];
    if (out->range_count)
        qsort(out->ranges, out->range_count, sizeof *out->ranges, by_address);
}

int kt_pf_sites_make(struct kt_pf_sites *out, const struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    const struct kt_site *sites;
    uint64_t count = 0;
    for (uint64_t i = 0; i <= snapshot->module_count; i++)
        count += sites_of(&sites, trace, i);
    if (count > UINT32_MAX / 4 || snapshot->module_count > UINT32_MAX / 4)
        return kt_fail(KTRACE_ERROR_FORMAT, "perfetto: %llu sites are too many", (unsigned long long)count);

    const char **texts = malloc((size_t)(count + 1) * sizeof *texts);
    out->sites = malloc((size_t)(count + 1) * sizeof *out->sites);
    out->ranges = malloc((size_t)(snapshot->module_count + 1) * sizeof *out->ranges);
    if (!texts || !out->sites || !out->ranges) {
        free(texts);
        return kt_fail_memory((size_t)(count + 1) * sizeof *out->sites);
    }
    collect_names(out, trace, texts);
    int status = KTRACE_OK;
    out->names = calloc((size_t)out->name_count + 1, sizeof *out->names);
    if (!out->names)
        status = kt_fail_memory(((size_t)out->name_count + 1) * sizeof *out->names);
    for (uint32_t i = 0; i < out->name_count && !status; i++) {
        struct kt_string text = KT_STRING_INIT;
        kt_string_append_utf8(&text, texts[i]);
        status = kt_string_take(&out->names[i].text, &text);
    }
    if (!status)
        describe_sites(out, trace, texts);
    free(texts);
    return status;
}

void kt_pf_sites_free(struct kt_pf_sites *sites)
{
    for (uint32_t i = 0; sites->names && i < sites->name_count; i++)
        free(sites->names[i].text);
    free(sites->names);
    free(sites->sites);
    free(sites->ranges);
    *sites = (struct kt_pf_sites){0};
}

struct kt_pf_site *kt_pf_find_elsewhere(struct kt_pf_sites *sites, uintptr_t address)
{
    uint32_t low = 0, high = sites->range_count; /* the last range that begins there or before is below `high` */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (sites->ranges[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (high == 0 || address - sites->ranges[high - 1].begin >= sites->ranges[high - 1].bytes)
        return NULL;
    sites->current = sites->ranges[high - 1];
    return &sites->current.sites[(address - sites->current.begin) / sizeof(struct kt_site)];
}
