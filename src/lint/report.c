#include "report.h"

#include "../array.h"
#include "events.h"
#include "ktrace/record.h"
#include "name.h"

int lint_module_open(struct lint_module *out, bool is_nvidia, const void *data, size_t bytes)
{
    *out = (struct lint_module){0};
    int status = lint_elf_open(&out->elf, data, bytes);
    if (status == KTRACE_OK)
        status = is_nvidia ? lint_sites_nvidia(&out->sites, &out->elf) : lint_sites_amdgcn(&out->sites, &out->elf);
    if (status == KTRACE_OK)
        status =
            is_nvidia ? lint_kernels_nvidia(&out->kernels, &out->elf) : lint_kernels_amdgcn(&out->kernels, &out->elf);
    return status;
}

void lint_module_free(struct lint_module *module)
{
    for (size_t i = 0; i < module->function_count; i++)
        free(module->functions[i].rows);
    free(module->functions);
    lint_sites_free(&module->sites);
    lint_kernels_free(&module->kernels);
    lint_listing_free(&module->listing);
    *module = (struct lint_module){0};
}

/* ---- Rows ---------------------------------------------------------------------------------------------------------- */

/* Copies of one annotation may have descriptors of their own. Ends have no name: they are one row a kind. */
static bool is_same_annotation(const struct lint_site *a, const struct lint_site *b)
{
    const bool has_name = *a->name || *b->name;
    return a->kind == b->kind && strcmp(a->name, b->name) == 0 &&
           (!has_name || (a->line == b->line && strcmp(a->file, b->file) == 0));
}

static struct lint_row *row_of(struct lint_function *function, const struct lint_site *site)
{
    for (size_t i = 0; i < function->row_count; i++)
        if (is_same_annotation(function->rows[i].site, site))
            return &function->rows[i];
    if (kt_array_reserve(&function->rows, &function->row_capacity, function->row_count + 1, sizeof *function->rows) < 0)
        return NULL;
    struct lint_row *row = &function->rows[function->row_count++];
    *row = (struct lint_row){.site = site, .least = UINT32_MAX, .least_work = UINT32_MAX};
    row->is_range = site->kind == KTRACE_KIND_PUSH || site->kind == KTRACE_KIND_START || site->kind == KTRACE_KIND_NEXT;
    return row;
}

static void add_range(struct lint_function *function, struct lint_row *row, const struct lint_range *range)
{
    if (range->examined != LINT_EXAMINED) {
        function->not_examined[range->examined]++;
        return;
    }
    row->examined++;
    row->empty += range->inside == 0;
    row->least = range->inside < row->least ? range->inside : row->least;
    row->most = range->inside > row->most ? range->inside : row->most;
    row->least_work = range->work < row->least_work ? range->work : row->least_work;
    row->most_work = range->work > row->most_work ? range->work : row->most_work;
}

/* By where they are in the source, ends last. */
static int by_place(const void *left, const void *right)
{
    const struct lint_site *a = ((const struct lint_row *)left)->site, *b = ((const struct lint_row *)right)->site;
    if (!*a->name != !*b->name)
        return !*a->name - !*b->name;
    if (!*a->name)
        return a->kind - b->kind;
    const int order = strcmp(a->file, b->file);
    if (order)
        return order;
    return a->line != b->line ? (a->line < b->line ? -1 : 1) : strcmp(a->name, b->name);
}

static int add_rows(struct lint_function *function)
{
    const struct lint_code *code = function->code;
    struct lint_range *ranges;
    size_t range_count;
    for (uint32_t i = 0; i < code->event_count; i++) {
        const struct lint_event *event = &code->events[i];
        struct lint_row *row = row_of(function, event->site);
        if (!row)
            return KTRACE_ERROR_MEMORY;
        row->copies++;
        row->bytes += event->bytes;
        if (event->instructions > row->instructions)
            row->instructions = event->instructions;
    }
    const int status = lint_find_ranges(&ranges, &range_count, code);
    if (status < 0)
        return status;
    for (size_t i = 0; i < range_count; i++)
        add_range(function, row_of(function, code->events[ranges[i].begin].site), &ranges[i]);
    free(ranges);
    if (function->row_count)
        qsort(function->rows, function->row_count, sizeof *function->rows, by_place);
    return KTRACE_OK;
}

/* ---- Functions ----------------------------------------------------------------------------------------------------- */

/* Clang makes two functions of an OpenCL kernel; one may only call the other. */
static const char opencl_prefix[] = "__clang_ocl_kern_imp_";

static const char *kernel_of_code(const struct lint_code *code)
{
    const size_t length = sizeof opencl_prefix - 1;
    return strncmp(code->name, opencl_prefix, length) == 0 ? code->name + length : code->name;
}

static struct lint_function *function_of(struct lint_module *module, const struct lint_code *code)
{
    for (size_t i = 0; i < module->function_count; i++)
        if (strcmp(module->functions[i].name, kernel_of_code(code)) == 0)
            return &module->functions[i];
    return NULL;
}

static int add_functions(struct lint_module *module)
{
    module->functions = kt_array_new_zeroed(module->kernels.count + module->listing.count, sizeof *module->functions);
    if (!module->functions)
        return KTRACE_ERROR_MEMORY;
    for (size_t i = 0; i < module->kernels.count; i++)
        module->functions[module->function_count++] =
            (struct lint_function){.name = module->kernels.kernels[i].name, .kernel = &module->kernels.kernels[i]};
    for (size_t i = 0; i < module->listing.count; i++) {
        const struct lint_code *code = &module->listing.codes[i];
        struct lint_function *function = function_of(module, code);
        const bool is_traced = code->begins_wave || code->event_count > 0 || code->unnamed > 0;
        if (!function && is_traced) {
            function = &module->functions[module->function_count++];
            function->name = code->name;
        }
        if (!function || (function->code && !is_traced))
            continue;
        function->code = code;
        function->is_traced = is_traced;
        const int status = add_rows(function);
        if (status < 0)
            return status;
    }
    return KTRACE_OK;
}

/* KTRACE_KERNEL_IF: kernels of one template that differ in one bool, of which one has annotations. Where several fit, none is it. */
static void match_instances(struct lint_module *module)
{
    for (size_t i = 0; i < module->function_count; i++) {
        struct lint_function *traced = &module->functions[i];
        uint32_t fits = 0;
        for (size_t k = 0; k < module->function_count && traced->kernel && traced->is_traced; k++) {
            const struct lint_function *other = &module->functions[k];
            if (other->kernel && !other->is_traced && lint_differ_in_one_bool(traced->name, other->name)) {
                traced->untraced = other->kernel;
                fits++;
            }
        }
        if (fits > 1)
            traced->untraced = NULL;
        module->ambiguous += fits > 1;
    }
}

int lint_module_examine(struct lint_module *module, bool is_nvidia, char *listing)
{
    int status = is_nvidia ? lint_read_sass(&module->listing, listing) : lint_read_gcn(&module->listing, listing);
    for (size_t i = 0; i < module->listing.count && status == KTRACE_OK; i++) {
        struct lint_code *code = &module->listing.codes[i];
        status = is_nvidia ? lint_find_sass_events(code, &module->sites, &module->elf)
                           : lint_find_gcn_events(code, &module->sites);
    }
    if (status == KTRACE_OK)
        status = add_functions(module);
    if (status == KTRACE_OK)
        match_instances(module);
    return status;
}

size_t lint_module_compare(struct lint_module *module, const struct lint_kernels *untraced)
{
    size_t matched = 0;
    for (size_t i = 0; i < module->function_count; i++) {
        struct lint_function *function = &module->functions[i];
        for (size_t k = 0; k < untraced->count && function->kernel && function->is_traced; k++) {
            if (strcmp(untraced->kernels[k].name, function->name) != 0)
                continue;
            function->untraced = &untraced->kernels[k];
            matched++;
        }
    }
    return matched;
}
