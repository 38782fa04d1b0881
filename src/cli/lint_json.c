#include "kinds.h"
#include "lint.h"

#include "../json.h"
#include "../lint/name.h"

#include <string.h>

enum { NAME_BYTES = 256 };

static void put_resources(struct kt_json *json, const char *name, const struct lint_resources *r, const char *target)
{
    const bool is_amd = strncmp(target, "sm_", 3) != 0;
    if (!r) {
        kt_json_null(json, name);
        return;
    }
    kt_json_key(json, name);
    kt_json_open(json, '{');
    kt_json_count(json, "registers", r->registers);
    if (is_amd) {
        kt_json_count(json, "accumulation_registers", r->accumulators);
        kt_json_count(json, "scalar_registers", r->scalar_registers);
        kt_json_count(json, "spilled_registers", r->spills);
    }
    kt_json_count(json, is_amd ? "waves_per_simd" : "warps_per_sm", lint_waves(target, r));
    kt_json_count(json, "stack_bytes", r->stack_bytes);
    kt_json_count(json, "shared_bytes", r->shared_bytes);
    kt_json_count(json, "code_bytes", r->code_bytes);
    kt_json_close(json, '}');
}

static void put_row(struct kt_json *json, const struct lint_row *row)
{
    const bool is_named = *row->site->name != 0;
    kt_json_separate(json);
    kt_json_open(json, '{');
    kt_json_string(json, "kind", cli_kind_name(row->site->kind));
    kt_json_string(json, "name", is_named ? row->site->name : NULL);
    kt_json_string(json, "file", is_named ? row->site->file : NULL);
    if (is_named)
        kt_json_count(json, "line", row->site->line);
    else
        kt_json_null(json, "line");
    kt_json_count(json, "copies", row->copies);
    kt_json_count(json, "instructions", row->instructions);
    kt_json_count(json, "bytes", row->bytes);
    if (row->is_range) {
        kt_json_count(json, "examined_copies", row->examined);
        kt_json_count(json, "empty_copies", row->empty);
        if (row->examined) {
            kt_json_count(json, "least_instructions_inside", row->least);
            kt_json_count(json, "most_instructions_inside", row->most);
        } else {
            kt_json_null(json, "least_instructions_inside");
            kt_json_null(json, "most_instructions_inside");
        }
    }
    kt_json_close(json, '}');
}

static void put_function(struct kt_json *json, const struct lint_function *function, const char *target)
{
    char name[NAME_BYTES];
    lint_readable_name(name, sizeof name, function->name);
    kt_json_separate(json);
    kt_json_open(json, '{');
    kt_json_string(json, "name", name);
    kt_json_string(json, "symbol", function->name);
    put_resources(json, "traced", function->kernel ? &function->kernel->resources : NULL, target);
    put_resources(json, "untraced", function->untraced ? &function->untraced->resources : NULL, target);
    kt_json_key(json, "sites");
    kt_json_open(json, '[');
    for (size_t i = 0; i < function->row_count; i++)
        put_row(json, &function->rows[i]);
    kt_json_close(json, ']');
    kt_json_close(json, '}');
}

static void put_module(struct kt_json *json, const struct lint_module *module)
{
    kt_json_separate(json);
    kt_json_open(json, '{');
    kt_json_string(json, "target", module->kernels.target);
    kt_json_count(json, "kernels", module->kernels.count);
    kt_json_count(json, "not_compared", module->ambiguous);
    kt_json_key(json, "annotated");
    kt_json_open(json, '[');
    for (size_t i = 0; i < module->function_count; i++)
        if (module->functions[i].is_traced)
            put_function(json, &module->functions[i], module->kernels.target);
    kt_json_close(json, ']');
    kt_json_close(json, '}');
}

static void put_finding(struct kt_json *json, const struct lint_result *result, const struct lint_finding *finding)
{
    const struct lint_module *module = lint_module_of(result, finding);
    const struct lint_site *site = finding->row ? finding->row->site : NULL;
    kt_json_separate(json);
    kt_json_open(json, '{');
    kt_json_string(json, "severity", finding->severity == LINT_WARNING ? "warning" : "note");
    kt_json_string(json, "rule", finding->rule);
    kt_json_string(json, "target", module ? module->kernels.target : NULL);
    kt_json_string(json, "symbol", finding->function->name);
    kt_json_string(json, "name", site ? site->name : NULL);
    kt_json_string(json, "file", site ? site->file : NULL);
    if (site)
        kt_json_count(json, "line", site->line);
    else
        kt_json_null(json, "line");
    kt_json_string(json, "sentence", finding->sentence);
    kt_json_close(json, '}');
}

static void put_not_examined(struct kt_json *json, const struct lint_result *result)
{
    static const char *const names[LINT_TOO_DEEP + 1] = {[LINT_NO_END] = "without_end",
                                                         [LINT_LEFT] = "left",
                                                         [LINT_TOKEN] = "token",
                                                         [LINT_NOT_NAMED] = "debug_build",
                                                         [LINT_TOO_DEEP] = "too_deep"};
    uint32_t counts[LINT_TOO_DEEP + 1];
    lint_not_examined(counts, result);
    kt_json_key(json, "not_examined");
    kt_json_open(json, '{');
    for (int i = LINT_EXAMINED + 1; i <= LINT_TOO_DEEP; i++)
        kt_json_count(json, names[i], counts[i]);
    kt_json_close(json, '}');
}

int lint_print_json(const struct lint_result *result)
{
    struct kt_string out = KT_STRING_INIT;
    struct kt_json json = kt_json_of(&out);
    kt_json_open(&json, '{');
    kt_json_string(&json, "file", result->options->path);
    kt_json_string(&json, "untraced_file", result->options->untraced_path);
    kt_json_count(&json, "warnings", result->findings.warnings);
    kt_json_count(&json, "notes", result->findings.count - result->findings.warnings);
    kt_json_key(&json, "findings");
    kt_json_open(&json, '[');
    for (size_t i = 0; i < result->findings.count; i++)
        put_finding(&json, result, &result->findings.findings[i]);
    kt_json_close(&json, ']');
    put_not_examined(&json, result);
    kt_json_count(&json, "relocatable_modules", result->objects->relocatable);
    kt_json_count(&json, "compressed_bundles", result->objects->compressed);
    kt_json_key(&json, "modules");
    kt_json_open(&json, '[');
    for (size_t i = 0; i < result->count; i++)
        if (result->modules[i].sites.count > 0)
            put_module(&json, &result->modules[i]);
    kt_json_close(&json, ']');
    kt_json_close(&json, '}');
    kt_string_append_char(&out, '\n');
    return cli_print_string(&out);
}
