/* lint.c - `ktrace doctor --lint`: from a file to what is said of it. */
#include "lint.h"

#include "../array.h"
#include "ktrace/record.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

/* The modules of a file. Free it in any case. */
struct lint_modules {
    struct lint_module *modules;
    size_t count;
};

static void free_modules(struct lint_modules *modules)
{
    for (size_t i = 0; i < modules->count; i++)
        lint_module_free(&modules->modules[i]);
    free(modules->modules);
}

static int open_modules(struct lint_modules *out, const struct lint_file *file)
{
    *out = (struct lint_modules){.modules = kt_array_new_zeroed(file->objects.count, sizeof *out->modules)};
    if (!out->modules)
        return cli_error_library();
    for (size_t i = 0; i < file->objects.count; i++) {
        const struct lint_object *object = &file->objects.objects[i];
        if (lint_module_open(&out->modules[out->count++], object->is_nvidia, object->data, object->bytes) < 0)
            return cli_error_in_file(file->path);
    }
    return CLI_OK;
}

static size_t kernel_count(const struct lint_modules *modules)
{
    size_t count = 0;
    for (size_t i = 0; i < modules->count; i++)
        count += modules->modules[i].kernels.count;
    return count;
}

/* ---- What cannot be linted ----------------------------------------------------------------------------------------- */

static size_t site_count(const struct lint_modules *modules)
{
    size_t count = 0;
    for (size_t i = 0; i < modules->count; i++)
        count += modules->modules[i].sites.count;
    return count;
}

static int fail_not_annotated(const struct lint_file *file, const struct lint_modules *modules)
{
    for (size_t i = 0; i < modules->count; i++)
        if (modules->modules[i].sites.other_version)
            return cli_error(
                "%s was compiled with wire version %u of ktrace/device.h, this command reads %u: recompile it "
                "with the header that belongs to the command",
                file->path, modules->modules[i].sites.other_version, KTRACE_WIRE_VERSION);
    const size_t kernels = kernel_count(modules);
    if (kernels == 0)
        return cli_error("%s has device code, but no kernel in it", file->path);
    if (kernels == 1)
        return cli_error("%s has no annotation in its kernel: was it compiled without KTRACE_ENABLE=1?", file->path);
    return cli_error("%s has no annotation in any of its %zu kernels: was it compiled without KTRACE_ENABLE=1?",
                     file->path, kernels);
}

/* ---- The untraced build -------------------------------------------------------------------------------------------- */

/* The kernels of `untraced` with those of the same name and target. */
static size_t compare(struct lint_modules *modules, const struct lint_modules *untraced)
{
    size_t matched = 0;
    for (size_t i = 0; i < modules->count; i++) {
        struct lint_module *module = &modules->modules[i];
        for (size_t k = 0; k < untraced->count; k++)
            if (strcmp(untraced->modules[k].kernels.target, module->kernels.target) == 0)
                matched += lint_module_compare(module, &untraced->modules[k].kernels);
    }
    return matched;
}

static int compare_with_file(struct lint_modules *modules, struct lint_modules *untraced, struct lint_file *file,
                             const struct lint_options *options)
{
    int status = lint_file_open(file, options->untraced_path, options->limit_s);
    if (status == CLI_OK)
        status = open_modules(untraced, file);
    if (status != CLI_OK)
        return status;
    if (site_count(untraced) > 0)
        return cli_error("%s, which --untraced names, has annotations: compile it without KTRACE_ENABLE=1", file->path);
    if (compare(modules, untraced) == 0)
        return cli_error("%s, which --untraced names, has none of the annotated kernels of %s for the same GPU",
                         file->path, options->path);
    return CLI_OK;
}

/* ---- The file ------------------------------------------------------------------------------------------------------ */

static int examine(struct lint_modules *modules, const struct lint_file *file, const struct lint_options *options)
{
    int status = CLI_OK;
    for (size_t i = 0; i < modules->count && status == CLI_OK; i++) {
        struct lint_module *module = &modules->modules[i];
        const struct lint_object *object = &file->objects.objects[i];
        char *listing;
        if (module->sites.count == 0)
            continue;
        cli_progress_begin("disassembling", file->path);
        status = lint_disassemble(&listing, object, file->path, module->kernels.target, options->limit_s);
        if (status == CLI_OK && lint_module_examine(module, object->is_nvidia, listing) < 0) {
            cli_progress_end();
            return cli_error_in_file(file->path);
        }
        cli_progress_end();
    }
    return status;
}

static int judge(struct lint_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        if (lint_judge(&result->findings, &result->modules[i]) < 0)
            return cli_error_library();
    const int status = result->options->json ? lint_print_json(result) : lint_print_text(result);
    if (status != CLI_OK)
        return status;
    return result->options->strict && result->findings.warnings ? LINT_FOUND : CLI_OK;
}

int cli_lint(const struct lint_options *options)
{
    struct lint_file file, untraced_file = {0};
    struct lint_modules modules = {0}, untraced = {0};
    struct lint_result result = {.options = options, .objects = &file.objects};
    int status = lint_file_open(&file, options->path, options->limit_s);
    if (status == CLI_OK)
        status = open_modules(&modules, &file);
    if (status == CLI_OK && site_count(&modules) == 0)
        status = fail_not_annotated(&file, &modules);
    if (status == CLI_OK)
        status = examine(&modules, &file, options);
    if (status == CLI_OK && options->untraced_path)
        status = compare_with_file(&modules, &untraced, &untraced_file, options);
    if (status == CLI_OK) {
        result.modules = modules.modules;
        result.count = modules.count;
        status = judge(&result);
    }
    lint_findings_free(&result.findings);
    free_modules(&modules);
    free_modules(&untraced);
    lint_file_close(&file);
    lint_file_close(&untraced_file);
    return status;
}

/* ---- What both ways to say it need --------------------------------------------------------------------------------- */

const struct lint_module *lint_module_of(const struct lint_result *result, const struct lint_finding *finding)
{
    for (size_t i = 0; i < result->count; i++) {
        const struct lint_module *module = &result->modules[i];
        if (finding->function >= module->functions && finding->function < module->functions + module->function_count)
            return module;
    }
    return NULL;
}

uint32_t lint_not_examined(uint32_t by_reason[LINT_TOO_DEEP + 1], const struct lint_result *result)
{
    uint32_t all = 0;
    memset(by_reason, 0, (LINT_TOO_DEEP + 1) * sizeof *by_reason);
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->modules[i].function_count; k++)
            for (int reason = 0; reason <= LINT_TOO_DEEP; reason++) {
                by_reason[reason] += result->modules[i].functions[k].not_examined[reason];
                all += result->modules[i].functions[k].not_examined[reason];
            }
    return all;
}
